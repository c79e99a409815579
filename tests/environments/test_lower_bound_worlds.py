"""The worlds of the lower bounds: two contexts that swap two arms, and orthogonal arms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit._kernel import kernel
from tacit.core.verbs import pay, show
from tacit.environments import CATALOGUE, OrthogonalArms, TwoContexts
from tacit.errors import BadInput
from tacit.noise import stream
from tests.statistics import checks
from tests.statistics.checks import LEVEL

from .test_sphere import shown


@kernel
def _first_means_and_rewards(params, slate, means, source, arm, first, rewards):
    for k in range(first.shape[0]):
        show(params, slate, means, source)
        first[k] = means[0]
        rewards[k] = pay(params, means[arm], source)


def played(environment, arm, rounds, seed):
    source = stream(seed)
    world = environment.start(source)
    first, rewards = np.empty(rounds), np.empty(rounds)
    _first_means_and_rewards(world.params, world.slate, world.means, source, arm, first, rewards)
    return world, first, rewards


# Two contexts ----------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_two_contexts_offer_the_parameter_and_its_opposite(dim):
    source = stream(71)
    world = TwoContexts(dim=dim).start(source)
    assert world.theta.tolist() == [1.0] + [0.0] * (dim - 1)
    actions, means = shown(world, source, 50)
    np.testing.assert_array_equal(actions @ world.theta, means)
    np.testing.assert_array_equal(np.abs(actions[..., 0]), 1.0)
    np.testing.assert_array_equal(actions[..., 1:], 0.0)
    np.testing.assert_array_equal(means.sum(axis=1), 0.0)
    assert {tuple(row) for row in means} == {(1.0, -1.0), (-1.0, 1.0)}


def test_the_coin_between_two_contexts_is_fair_and_has_no_memory():
    """Each check errs with probability LEVEL."""
    _, first, _ = played(TwoContexts(), 0, 100_000, seed=72)
    heads = np.count_nonzero(first > 0)
    assert checks.share(heads, first.size, 0.5) > LEVEL
    assert checks.share(heads, first.size, 0.51) < LEVEL
    assert checks.unrelated(first[1:], first[:-1]) > LEVEL


def test_an_arm_of_two_contexts_pays_its_mean():
    for arm, sign in ((0, 1.0), (1, -1.0)):
        _, first, rewards = played(TwoContexts(), arm, 1000, seed=73)
        np.testing.assert_array_equal(rewards, sign * first)


# Orthogonal arms ----------------------------------------


@pytest.mark.parametrize("arms", [1, 2, 5, 6, 40, 1000])
@pytest.mark.parametrize("gap", [0.001, 0.1, 0.5])
def test_orthogonal_arms_are_the_basis_one_better_by_exactly_the_gap(arms, gap):
    source = stream(74)
    world = OrthogonalArms(arms=arms, gap=gap).start(source)
    actions, means = shown(world, source, 3)
    np.testing.assert_array_equal(actions, np.broadcast_to(np.eye(arms), (3, arms, arms)))
    np.testing.assert_array_equal(means, np.broadcast_to(world.theta, (3, arms)))
    assert np.linalg.norm(world.theta) <= 1 + 1e-12
    ordered = np.sort(world.theta)
    if arms > 1:
        np.testing.assert_allclose(ordered[-1] - ordered[:-1], gap, rtol=1e-12)
        assert ordered[0] >= 0
    assert ordered[-1] <= 0.5


def test_means_are_lowered_only_as_far_as_the_unit_ball_asks():
    assert OrthogonalArms(arms=5, gap=0.1).best == 0.5
    for arms in (6, 20, 500):
        many = OrthogonalArms(arms=arms, gap=0.1)
        assert many.best < 0.5
        assert np.linalg.norm(many.start(stream(1)).theta) == pytest.approx(1.0, abs=1e-12)


def test_the_best_orthogonal_arm_stands_at_any_index_evenly():
    """Errs with probability LEVEL."""
    best = [OrthogonalArms(arms=4).start(stream(75, trial)).theta.argmax() for trial in range(4000)]
    assert checks.counts(np.bincount(best, minlength=4)) > LEVEL
    assert checks.counts(np.bincount(best, minlength=4) + 300 * (np.arange(4) == 0)) < LEVEL


def test_orthogonal_arms_pay_plus_or_minus_one_with_their_mean():
    """Each check errs with probability LEVEL."""
    environment = OrthogonalArms(arms=3, gap=0.2)
    for arm in range(3):
        world, _, rewards = played(environment, arm, 100_000, seed=76)
        assert set(np.unique(rewards)) == {-1.0, 1.0}
        hits, mean = np.count_nonzero(rewards > 0), world.theta[arm]
        assert checks.share(hits, rewards.size, (1 + mean) / 2) > LEVEL
        assert checks.share(hits, rewards.size, (1 + mean - 0.03) / 2) < LEVEL
        assert checks.unrelated(rewards[1:] - mean, rewards[:-1] - mean) > LEVEL


# Both ----------------------------------------


@pytest.mark.parametrize("environment", [TwoContexts(), OrthogonalArms()], ids=lambda one: one.slug)
def test_the_same_stream_gives_the_same_rounds_and_another_trial_others(environment):
    def rounds(trial):
        source = stream(77, trial)
        world = environment.start(source)
        rewards = []
        for _ in range(64):
            show(world.params, world.slate, world.means, source)
            rewards.append(pay(world.params, world.means[0], source))
        return rewards

    assert rounds(0) == rounds(0)
    assert rounds(0) != rounds(1)


@pytest.mark.parametrize(
    ("kind", "options", "shown_value"),
    [
        (TwoContexts, {"dim": 0}, "dim=0"),
        (TwoContexts, {"dim": 1.5}, "dim=1.5"),
        (OrthogonalArms, {"arms": 0}, "arms=0"),
        (OrthogonalArms, {"arms": 1001}, "arms=1001"),
        (OrthogonalArms, {"arms": 2.0}, "arms=2.0"),
        (OrthogonalArms, {"gap": 0}, "gap=0"),
        (OrthogonalArms, {"gap": -0.1}, "gap=-0.1"),
        (OrthogonalArms, {"gap": 0.51}, "gap=0.51"),
        (OrthogonalArms, {"gap": math.nan}, "gap=nan"),
    ],
)
def test_bad_settings_are_refused_with_the_value_in_the_message(kind, options, shown_value):
    with pytest.raises(BadInput) as caught:
        kind(**options)
    assert shown_value in str(caught.value)


@pytest.mark.parametrize("kind", list(CATALOGUE.values()), ids=list(CATALOGUE))
def test_every_environment_can_be_made_without_options_and_travels_as_a_dictionary(kind):
    environment = kind()
    assert CATALOGUE[kind.slug].from_dict(environment.to_dict()) == environment
    world = environment.start(stream(78))
    assert world.theta.shape == (environment.features,)
    assert world.slate.columns.shape[0] == environment.features
    assert world.means.shape == (world.slate.columns.shape[1],)
