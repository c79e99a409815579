"""A policy that must know its horizon takes the rounds of the run, in every command and in Python."""

from __future__ import annotations

import dataclasses

import pytest

import tacit
from tacit.cli import main
from tacit.environments import Sphere
from tacit.errors import BadInput
from tacit.policies.catalogue import CATALOGUE
from tacit.simulation import Job
from tacit.simulation.configured import configured

PROMISE = {"dim": 3, "epsilon": 3.0, "delta": 1e-6}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (tacit.LocalLinUCB, {}),
        (tacit.JointLinUCB, {"releases": "tree"}),
        (tacit.JointLinUCB, {"releases": "toeplitz", "horizon": None}),
        (tacit.OnlineLinUCB, {"learner": "maler"}),
    ],
)
def test_a_policy_that_needs_a_horizon_takes_the_rounds_of_the_run(kind, options):
    assert configured(kind, {**PROMISE, **options}, 700).horizon == 700
    assert configured(kind, {**PROMISE, **options, "horizon": 900}, 700).horizon == 900


@pytest.mark.parametrize("kind", [tacit.LinUCB, tacit.JointLinUCB])
def test_a_policy_that_can_do_without_is_left_alone(kind):
    options = PROMISE if kind is tacit.JointLinUCB else {"dim": 3}
    assert configured(kind, options, 700, comparable=False) == kind(**options)


def test_widths_are_made_comparable_where_nothing_was_said():
    assert configured(tacit.LinUCB, {"dim": 3}, 500).failure == 1 / 500
    assert configured(tacit.LinUCB, {"dim": 3, "failure": 0.2}, 500).failure == 0.2
    assert configured(tacit.LinUCB, {"dim": 3}, 1).failure == 0.5


def test_what_is_wrong_besides_is_refused_for_what_it_is():
    with pytest.raises(BadInput, match="epsilon"):
        configured(tacit.JointLinUCB, {**PROMISE, "epsilon": -1.0, "releases": "tree"}, 700)
    with pytest.raises(BadInput, match="ratio"):
        configured(tacit.JointLinUCB, {**PROMISE, "releases": "tree", "ratio": 2.0}, 700)


@pytest.mark.parametrize("kind", CATALOGUE.values(), ids=lambda kind: kind.slug)
def test_no_policy_is_refused_for_a_horizon_that_it_was_not_given(kind):
    for example in kind.examples(dim=3)[:2]:
        options = example.get_params()
        if "horizon" in options:
            assert configured(kind, {**options, "horizon": None}, 1000, comparable=False).horizon in (None, 1000)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Knowing(tacit.LinUCB):
    """A policy that has something to gain from knowing the rounds."""

    slug = "knowing"

    def for_rounds(self, rounds):
        return self if self.horizon else dataclasses.replace(self, horizon=rounds)


def test_a_policy_may_make_use_of_the_rounds_wherever_it_is_run():
    assert configured(Knowing, {"dim": 2}, 300).horizon == 300
    assert Job(Knowing(dim=2), Sphere(dim=2), 300).config.horizon == 300
    result = tacit.simulate(Knowing(dim=2), Sphere(dim=2), 40, progress=False)
    assert result.to_dict()["settings"]["policy"]["horizon"] == 40
    assert "Planned with horizon=40, the rounds of the run." in result.notes
    assert tacit.LinUCB(dim=2).for_rounds(40) == tacit.LinUCB(dim=2)


WORLD = ["--environment", "sphere", "--dim", "2", "--epsilon", "3", "--delta", "1e-6", "--rounds", "60"]


def test_the_commands_need_no_horizon_and_say_which_they_took(capsys, tmp_path):
    said = "Planned with horizon=60, the rounds of the run"
    assert main(["run", "local-linucb", *WORLD, "--trials", "1"]) == 0
    assert said in capsys.readouterr().out
    policies = ["linucb", "joint-linucb:releases=tree"]
    assert main(["compare", *policies, *WORLD, "--trials", "1", "--report", str(tmp_path / "compare")]) == 0
    assert f"joint-linucb releases=tree: {said}" in capsys.readouterr().out
    world = [word for word in WORLD if word not in ("--epsilon", "3")]
    assert main(["frontier", policies[1], *world[:-4], "--rounds", "60", "--epsilons", "3", "--trials", "1",
                 "--report", str(tmp_path / "frontier")]) == 0  # fmt: skip
    assert f"{said}: joint-linucb releases=tree." in capsys.readouterr().out
