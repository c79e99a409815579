"""The best single action: exact on a table, in hindsight elsewhere, and nothing where arm numbers mean nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tacit
from tacit import environments
from tacit.core.session import ENVIRONMENT
from tacit.noise import stream
from tacit.report.comparison import Comparison
from tacit.simulation.best_single import INSTEAD, best_single
from tacit.simulation.engine import checkpoints

from ..data.tables import labelled
from ..environments.test_sphere import shown

ROUNDS = 300


def by_hand(environment, trial, seed):
    """The arm and its regret, from what is shown in every round."""
    source = stream(seed, trial, ENVIRONMENT)
    _, means = shown(environment.start(source), source, ROUNDS)
    arm = int(means.sum(axis=0).argmax())
    return arm, (means.max(axis=1) - means[:, arm]).cumsum()


@pytest.mark.parametrize(
    "environment", [environments.SharedContext(), environments.DisjointArms(arms=3)], ids=lambda one: one.slug
)
def test_in_hindsight_it_is_the_arm_with_the_highest_mean_over_the_rounds_that_policies_meet(environment):
    found, note = best_single(environment, checkpoints(ROUNDS), (0, 2), 5)
    for place, trial in enumerate((0, 2)):
        arm, regret = by_hand(environment, trial, 5)
        assert found.arms[place] == arm
        np.testing.assert_allclose(found.curves[place], regret[found.checkpoints - 1], rtol=0, atol=1e-9)
    assert "in hindsight" in note
    assert not found.optimal
    assert found.regret_se > 0


def test_on_a_table_it_is_the_commonest_class_and_exact(tmp_path):
    frame = labelled().drop(index=0)  # of all rows either class has half
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    table = environments.Table(data=str(path), target="bought", low=0.0, high=10.0, ignore="colour")
    shares = frame["bought"].value_counts(normalize=True)
    found, note = best_single(table, checkpoints(ROUNDS), (0, 1), 0)
    assert found.regret_mean == pytest.approx(ROUNDS * (1 - shares.max()))
    assert table.actions[found.arms[0]] == str(shares.idxmax())
    assert found.exact
    assert found.regret_se is None
    assert f"always {str(shares.idxmax())!r}" in note


@pytest.mark.parametrize("slug", ["sphere", "drifting-sphere", "unit-contexts", "two-contexts", "bias"])
def test_where_arm_numbers_mean_nothing_it_is_said_not_to_apply(slug):
    found, note = best_single(environments.CATALOGUE[slug](), checkpoints(10), (0,), 0)
    assert found is None
    assert f"not applicable in {slug}" in note


@pytest.mark.parametrize(
    "environment",
    [
        environments.Arms(),
        environments.OrthogonalArms(),
        environments.LinearActions(),
        environments.FixedArms(),
        environments.Bias(contexts="fixed"),
    ],
    ids=lambda one: one.slug,
)
def test_where_actions_stay_it_is_the_best_of_every_round(environment):
    found, note = best_single(environment, checkpoints(50), (0, 1), 3)
    assert found.optimal
    assert "counted from an even choice" in note
    for trial, arm in enumerate(found.arms):
        assert arm == by_hand(environment, trial, 3)[0]


# In a comparison ----------------------------------------


@pytest.fixture(scope="module")
def clicks():
    """A policy that learns nothing, in a world where one arm is far more popular than the others."""
    world = environments.SharedContext(arms=3, context_dim=3, relevant=1)
    result = tacit.simulate(tacit.ContextBlind(dim=world.features), world, 200, 2, seed=1, progress=False)
    return Comparison([result], "tacit compare")


def test_a_comparison_has_its_line_and_says_what_stays_below_it(clicks, tmp_path):
    assert "best single action" in clicks.text()
    assert f"context-blind earns less than the best single action: {INSTEAD}." in clicks.text()
    facts = json.loads(json.dumps(clicks.to_dict(), allow_nan=False))["best_single_action"]
    assert facts["below"] == ["context-blind"]
    assert facts["regret_mean"] == clicks.single.regret_mean
    page = clicks.write(tmp_path)[-1].read_text("utf-8")
    assert page.count("best single action") > 3
    assert "best single action" in (tmp_path / "curves.csv").read_text("utf-8")


def test_a_comparison_says_where_it_does_not_apply():
    world = environments.Sphere(dim=2)
    result = tacit.simulate(tacit.ContextBlind(dim=2), world, 20, 1, progress=False)
    found = Comparison([result], "tacit compare")
    assert "not applicable in sphere" in found.text()
    assert found.below == ()
    assert found.to_dict()["best_single_action"]["applies"] is False
