"""Options as values: `tacit.releases`, `tacit.calibrations`, `tacit.explorations`. The words stay what they were."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import tacit
from tacit._kernel import implements, kernel
from tacit.calibrations import Exact, Published, Script
from tacit.counters.tree import TreeCounter
from tacit.errors import BadInput, UnknownName
from tacit.explorations import Optimism, Thompson, explore
from tacit.releases import Geometric, Releases, Toeplitz, Tree

PROMISE = {"dim": 3, "epsilon": 2.0, "delta": 1e-5}

SAME = [
    ({"releases": Tree(horizon=100)}, {"releases": "tree", "horizon": 100}),
    ({"releases": Toeplitz(horizon=100)}, {"releases": "toeplitz", "horizon": 100}),
    ({"releases": Geometric()}, {}),
    ({"releases": Geometric(ratio=1.2, window=7, views=30)}, {"ratio": 1.2, "window": 7, "views": 30}),
    (
        {"releases": Geometric(one_row_per_segment=True, horizon=500), "person_rounds": 4},
        {"one_row_per_segment": True, "horizon": 500, "person_rounds": 4},
    ),
    ({"calibration": Exact(shift=4.0), "width": "theory"}, {"shift": 4.0, "width": "theory"}),
    (
        {"releases": Tree(horizon=100), "calibration": Published(noise="wishart", rho_min=3.0), "delta": 0.1},
        {
            "releases": "tree",
            "horizon": 100,
            "calibration": "published",
            "noise": "wishart",
            "rho_min": 3.0,
            "delta": 0.1,
        },
    ),
    ({"exploration": Optimism()}, {"exploration": "optimism"}),
    ({"exploration": Thompson()}, {"exploration": "thompson"}),
]


@pytest.mark.parametrize(("values", "words"), SAME)
def test_a_value_is_the_words_it_stands_for(values, words):
    by_value, by_words = (tacit.JointLinUCB(**{**PROMISE, **options}) for options in (values, words))
    assert by_value == by_words
    assert by_value.to_dict() == by_words.to_dict()
    assert json.loads(json.dumps(by_value.to_dict())) == by_value.to_dict()
    assert tacit.JointLinUCB.from_dict(by_value.to_dict()) == by_value
    assert repr(by_value.plan().params) == repr(by_words.plan().params)


def test_a_configuration_made_of_values_can_be_changed_by_words():
    config = tacit.JointLinUCB(**PROMISE, releases=Tree(horizon=100))
    assert replace(config, horizon=200).plan().limit == 200
    assert replace(config, releases=Geometric(views=5), horizon=None).plan().params.schedule.times.size == 5


def test_other_policies_take_calibrations_too():
    local = {"dim": 3, "epsilon": 2.0, "delta": 1e-5, "horizon": 100}
    assert tacit.LocalLinUCB(**local, calibration=Published()) == tacit.LocalLinUCB(**local, calibration="published")
    assert tacit.ShuffleLinUCB(**local, calibration=Script()).promise is None
    assert tacit.RenyiUCB(arms=2, rho=0.1, calibration=Exact()) == tacit.RenyiUCB(arms=2, rho=0.1)


REFUSED = {
    "a tree without an end": (lambda: Tree(), r'a horizon \(number of rounds\) with releases="tree", got none'),
    "a ratio below one": (lambda: Geometric(ratio=0.5), r"ratio > 1, got ratio=0\.5"),
    "a shift below one": (lambda: Exact(shift=1), r"shift > 1, got shift=1"),
    "unshifted and shifted": (lambda: Published(noise="wishart-unshifted", rho_min=1.0), r"got rho_min=1\.0"),
    "a horizon twice": (
        lambda: tacit.JointLinUCB(**PROMISE, releases=Tree(horizon=100), horizon=200),
        r"Expected horizon once, got horizon=200 beside releases=Tree\(horizon=100\)",
    ),
    "views of a tree": (
        lambda: tacit.JointLinUCB(**PROMISE, releases=Tree(horizon=100), views=5),
        r'views with releases="geometric" only, got releases="tree"',
    ),
    "a shift for a policy without one": (
        lambda: tacit.RenyiUCB(arms=2, rho=0.1, calibration=Exact(shift=2.0)),
        r"calibration of renyi-ucb without shift, got calibration=Exact\(shift=2\.0\)",
    ),
    "a rule without a kernel": (
        lambda: tacit.JointLinUCB(**PROMISE, exploration=("thompson",)),
        r"exploration to be one of 'optimism', 'thompson'",
    ),
    "a rule with other fields": (
        lambda: tacit.JointLinUCB(**PROMISE, exploration={"Thompson": {"m4rk3r": 1}}),
        r"exploration with the fields of Thompson, got others",
    ),
    "a rule with words for numbers": (
        lambda: tacit.JointLinUCB(**PROMISE, exploration={"Optimism": {"reach": "far"}}),
        r"Expected reach to be a number",
    ),
    "a rule of another policy": (
        lambda: tacit.JointLinUCB(**PROMISE, exploration={"HeldOptimism": {}}),
        r"exploration of a kind that is known here",
    ),
    "releases with other fields": (
        lambda: tacit.JointLinUCB(**PROMISE, releases={"tree": {"m4rk3r": 1}}),
        r"releases with the fields of tree, got others",
    ),
    "releases without fields": (
        lambda: tacit.JointLinUCB(**PROMISE, releases={"tree": 3}),
        r"releases with the fields of tree, got others",
    ),
    "a rule that nothing defines": (
        lambda: tacit.JointLinUCB(**PROMISE, exploration={"Greedy": {}}),
        r"Import the module that defines it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_means_nothing_cannot_be_written(case):
    make, message = REFUSED[case]
    with pytest.raises((BadInput, UnknownName), match=message) as refused:
        make()
    assert "\n" not in str(refused.value)


# Values of one's own ----------------------------------------------------------------------------------------------


class Nearest(NamedTuple):
    """The action with the largest estimate; now and then another."""

    share: float

    uniforms = 2


@implements(explore, Nearest)
@kernel
def _nearest(exploration, view, slate, noise):
    return 0


class Normal(NamedTuple):
    """Draws normal numbers, and does not say in which unit."""

    unused: float = 0.0

    @staticmethod
    def normals(dim):
        return dim


implements(explore, Normal)(_nearest)


@dataclass(frozen=True, kw_only=True)
class Own(Releases):
    """A tree under another name."""

    word: ClassVar[str] = "own-tree"

    def counter(self):
        return TreeCounter(self.horizon)


def test_a_rule_of_ones_own_travels_and_declares_its_draws():
    config = tacit.JointLinUCB(**PROMISE, exploration=Nearest(0.1))
    assert config.to_dict()["exploration"] == {"Nearest": {"share": 0.1}}
    again = tacit.JointLinUCB.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again.exploration == Nearest(0.1)
    assert config.plan().draws.choose_uniforms == 2
    assert config.planned("secure").params.exploration == Nearest(0.1)


def test_a_rule_that_draws_normal_numbers_says_in_which_unit():
    config = tacit.JointLinUCB(**PROMISE, exploration=Normal())
    assert config.plan().draws.choose_normals == 3
    with pytest.raises(BadInput, match="Expected a field `deviation` of Normal"):
        config.planned("secure")
    steps = tacit.JointLinUCB(**PROMISE, exploration="thompson").planned("secure")
    assert steps.params.exploration.deviation == steps.law.scale


def test_releases_of_ones_own_travel_and_cost_what_their_counter_says(tmp_path):
    own = tacit.JointLinUCB(**PROMISE, releases=Own(horizon=50))
    tree = tacit.JointLinUCB(**PROMISE, releases="tree", horizon=50)
    assert own.plan().event == tree.plan().event
    assert own.horizon == 50
    assert tree.rows_may_come_late
    assert not own.rows_may_come_late, "the lemma has not been shown for it"
    again = tacit.JointLinUCB.from_dict(json.loads(json.dumps(own.to_dict())))
    assert again == own
    learner, key = own.start(seed=1), tacit.new_key()
    learner.learn(np.ones(3) / 2, 1.0)
    resumed = tacit.resume(learner.checkpoint(tmp_path / "own", key), key)
    assert resumed.view.stage[0] == 1
    assert "own-tree" in json.dumps(own.card().to_dict())
