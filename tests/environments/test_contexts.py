"""Worlds of fresh unit contexts: shared by all arms, or one for each arm with a parameter of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.environments import CATALOGUE, DisjointArms, UnitContexts
from tacit.errors import BadInput
from tacit.noise import stream
from tests.statistics import checks
from tests.statistics.checks import LEVEL

from .test_bias import played
from .test_sphere import below, evenly_spread, shown


def contexts_of(actions, arms):
    """The contexts inside block vectors (rounds, K, K·d): shape (rounds, K, d)."""
    rounds = actions.shape[0]
    blocks = actions.reshape(rounds, arms, arms, -1)
    return blocks[:, np.arange(arms), np.arange(arms)]


@pytest.mark.parametrize("norm", [0.9, 1.0, 0.1])
@pytest.mark.parametrize("dim", [1, 2, 5, 41])
def test_unit_contexts_are_unit_vectors_and_means_are_their_products(dim, norm):
    source = stream(121, dim)
    world = UnitContexts(dim=dim, arms=7, parameter_norm=norm).start(source)
    assert np.linalg.norm(world.theta) == pytest.approx(norm, rel=1e-14)
    actions, means = shown(world, source, 30)
    np.testing.assert_allclose(np.linalg.norm(actions, axis=2), 1.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(actions @ world.theta, means, rtol=0, atol=1e-14)
    assert np.abs(means).max() <= 1


@pytest.mark.parametrize("arms", [1, 4])
@pytest.mark.parametrize("dim", [1, 3, 6])
def test_a_disjoint_arm_has_a_unit_context_in_its_own_block_and_nothing_elsewhere(arms, dim):
    source = stream(122, dim)
    world = DisjointArms(arms=arms, context_dim=dim).start(source)
    np.testing.assert_allclose(np.linalg.norm(world.theta.reshape(arms, dim), axis=1), 0.9, rtol=1e-14)
    actions, means = shown(world, source, 30)
    assert actions.shape == (30, arms, arms * dim)
    np.testing.assert_allclose(np.linalg.norm(contexts_of(actions, arms), axis=2), 1.0, rtol=0, atol=1e-14)
    assert np.count_nonzero(actions) == 30 * arms * dim
    np.testing.assert_allclose(actions @ world.theta, means, rtol=0, atol=1e-14)


# Laws: every check errs with probability at most LEVEL = 1e-6 ----------------------------------------


def test_unit_contexts_point_anywhere_and_so_does_the_parameter():
    source = stream(123)
    world = UnitContexts(arms=500).start(source)
    actions, means = shown(world, source, 40)
    assert evenly_spread(actions.reshape(-1, 5)) > LEVEL
    assert evenly_spread(np.abs(actions.reshape(-1, 5))) < LEVEL
    assert checks.law(means.ravel() / 0.9, lambda c: below(np.clip(c, -1, 1), 5)) > LEVEL
    assert checks.law(means.ravel(), lambda c: below(np.clip(c, -1, 1), 5)) < LEVEL
    thetas = np.array([UnitContexts(dim=3, arms=1).start(stream(124, trial)).theta for trial in range(3000)])
    assert evenly_spread(thetas / 0.9) > LEVEL


def test_disjoint_contexts_point_anywhere_and_do_not_know_each_other():
    source = stream(125)
    world = DisjointArms(arms=4, context_dim=3).start(source)
    actions, means = shown(world, source, 10_000)
    contexts = contexts_of(actions, 4)
    for k in range(4):
        assert evenly_spread(contexts[:, k]) > LEVEL
        assert checks.law(means[:, k] / 0.9, lambda c: below(np.clip(c, -1, 1), 3)) > LEVEL
        assert checks.unrelated(means[1:, k], means[:-1, k]) > LEVEL
        for other in range(k):
            assert checks.unrelated(means[:, k], means[:, other]) > LEVEL
            assert checks.unrelated(contexts[:, k, 0], contexts[:, other, 0]) > LEVEL
    assert checks.unrelated(means[:, 0], means[:, 0] + means[:, 1]) < LEVEL


def test_the_parameters_of_disjoint_arms_point_anywhere_and_do_not_know_each_other():
    thetas = np.array([DisjointArms(arms=2, context_dim=3).start(stream(126, trial)).theta for trial in range(3000)])
    assert evenly_spread(thetas[:, :3] / 0.9) > LEVEL
    assert evenly_spread(thetas[:, 3:] / 0.9) > LEVEL
    assert checks.unrelated(thetas[:, 0], thetas[:, 3]) > LEVEL


@pytest.mark.parametrize("environment", [UnitContexts(arms=3), DisjointArms(arms=3)], ids=lambda one: one.slug)
def test_rewards_are_plus_or_minus_one_with_the_mean_of_their_action(environment):
    expected, rewards = played(environment, 1, 100_000, seed=127)
    assert set(np.unique(rewards)) == {-1.0, 1.0}
    luck = rewards - expected
    spread = math.sqrt(np.mean(1 - expected**2))
    assert checks.centre(luck, 0.0, spread) > LEVEL
    assert checks.centre(luck + 0.02, 0.0, spread) < LEVEL
    assert checks.unrelated(luck[1:], luck[:-1]) > LEVEL
    assert checks.unrelated(luck, expected) > LEVEL
    assert checks.unrelated(rewards, expected) < LEVEL
    assert checks.unrelated(luck[:-1], expected[1:]) > LEVEL


@pytest.mark.parametrize(
    ("kind", "options", "shown_value"),
    [
        (UnitContexts, {"dim": 0}, "dim=0"),
        (UnitContexts, {"dim": 1001}, "dim=1001"),
        (UnitContexts, {"arms": True}, "arms=True"),
        (UnitContexts, {"parameter_norm": -1}, "parameter_norm=-1"),
        (UnitContexts, {"parameter_norm": math.nan}, "parameter_norm=nan"),
        (DisjointArms, {"context_dim": 0}, "context_dim=0"),
        (DisjointArms, {"context_dim": 1001}, "context_dim=1001"),
        (DisjointArms, {"arms": 0}, "arms=0"),
        (DisjointArms, {"arms": 101, "context_dim": 10}, "arms=101, context_dim=10"),
        (DisjointArms, {"parameter_norm": 1.5}, "parameter_norm=1.5"),
    ],
)
def test_bad_settings_are_refused_with_the_value_in_the_message(kind, options, shown_value):
    with pytest.raises(BadInput) as caught:
        kind(**options)
    assert shown_value in str(caught.value)


def test_settings_travel_as_a_dictionary_under_their_own_names():
    settings = {"environment": "disjoint-arms", "arms": 3, "context_dim": 4, "parameter_norm": 0.5}
    assert DisjointArms(arms=3, context_dim=4, parameter_norm=0.5).to_dict() == settings
    assert CATALOGUE["disjoint-arms"].from_dict(settings).features == 12
