"""One context for all arms: rates linear in it and within their range, and one kernel that draws it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import features
from tacit.core.verbs import draw_context
from tacit.environments import CATALOGUE, DisjointArms, SharedContext, Sphere, Table
from tacit.errors import BadInput
from tacit.noise import stream
from tests.statistics import checks
from tests.statistics.checks import LEVEL

from .test_bias import played
from .test_sphere import shown


def drawn(world, source, rounds):
    """Contexts (rounds, p) and means (rounds, K), by the kernel that draws them."""
    size = len(world.theta) // len(world.means) if world.theta.any() else world.params.contexts.shape[2]
    contexts, means = np.empty((rounds, size)), np.empty((rounds, len(world.means)))
    for n in range(rounds):
        draw_context(world.params, contexts[n], means[n], source)
    return contexts, means


@pytest.mark.parametrize(("arms", "size", "relevant"), [(1, 2, 1), (4, 6, 5), (10, 21, 2), (50, 20, 3)])
def test_click_rates_are_linear_in_a_unit_context_and_never_leave_their_range(arms, size, relevant):
    source = stream(161, arms)
    config = SharedContext(arms=arms, context_dim=size, relevant=relevant, low=0.05, high=0.6)
    world = config.start(source)
    contexts, means = drawn(world, source, 200)
    np.testing.assert_allclose(np.linalg.norm(contexts, axis=1), 1.0, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(contexts[:, -1], 1 / math.sqrt(size))
    np.testing.assert_allclose(contexts @ world.theta.reshape(arms, size).T, means, rtol=0, atol=1e-14)
    assert means.min() >= 0.05
    assert means.max() <= 0.6
    assert (np.count_nonzero(world.theta.reshape(arms, size)[:, :-1], axis=1) == relevant).all()


@pytest.mark.parametrize("config", [SharedContext(), Table(projection=8)], ids=lambda one: one.slug)
def test_what_is_shown_is_the_drawn_context_in_one_block_per_arm(config):
    arms, size = config.context_shape
    assert config.features == arms * size
    one, other = stream(162), stream(162)
    actions, means = shown(config.start(one), one, 20)
    contexts, same_means = drawn(config.start(other), other, 20)
    np.testing.assert_array_equal(means, same_means)
    np.testing.assert_array_equal(actions, features.per_arm(contexts, arms))
    assert config.stable_arms


def test_worlds_without_one_context_for_all_arms_say_so():
    assert Sphere().context_shape is None
    assert not Sphere().stable_arms
    assert DisjointArms().context_shape is None
    assert DisjointArms().stable_arms
    world = Sphere().start(stream(0))
    with pytest.raises(TypeError, match="SharedContextParams, TableParams"):
        draw_context(world.params, np.zeros(5), world.means, stream(0))


def test_popularities_are_dealt_anew_in_every_trial_and_the_trial_says_nothing_of_them():
    config = SharedContext()
    last = np.array([config.start(stream(163, trial)).theta.reshape(10, 21)[:, -1] for trial in range(2000)])
    rates = last / math.sqrt(21)
    np.testing.assert_allclose(-np.sort(-rates, axis=1), np.tile(config.popularities, (2000, 1)), rtol=1e-13)
    first = np.bincount(rates.argmax(axis=1), minlength=10)
    assert checks.counts(first) > LEVEL
    assert checks.counts(np.bincount([*rates.argmax(axis=1)[:-400], *[3] * 400], minlength=10)) < LEVEL


# Laws: every check errs with probability at most LEVEL = 1e-6 ----------------------------------------


def test_features_are_fair_coins_that_do_not_know_each_other():
    source = stream(164)
    config = SharedContext(arms=2, context_dim=5)
    contexts, _ = drawn(config.start(source), source, 20_000)
    coins = contexts[:, :-1] * math.sqrt(5)
    assert set(np.unique(np.round(coins, 12))) == {-1.0, 1.0}
    for i in range(4):
        assert checks.centre(coins[:, i], 0.0, 1.0) > LEVEL
        assert checks.centre(coins[:, i] + 0.05, 0.0, 1.0) < LEVEL
        assert checks.unrelated(coins[1:, i], coins[:-1, i]) > LEVEL
        for other in range(i):
            assert checks.unrelated(coins[:, i], coins[:, other]) > LEVEL
    assert checks.unrelated(coins[:, 0], coins[:, 0] + coins[:, 1]) < LEVEL


def test_clicks_have_the_rate_of_their_arm():
    expected, clicks = played(SharedContext(low=0.1, high=0.9), 1, 100_000, seed=165)
    assert set(np.unique(clicks)) == {0.0, 1.0}
    luck = clicks - expected
    spread = math.sqrt(np.mean(expected * (1 - expected)))
    assert checks.centre(luck, 0.0, spread) > LEVEL
    assert checks.centre(luck + 0.02, 0.0, spread) < LEVEL
    assert checks.unrelated(luck[1:], luck[:-1]) > LEVEL
    assert checks.unrelated(luck[:-1], expected[1:]) > LEVEL


def test_the_most_popular_arm_beats_an_even_choice_and_the_best_of_each_round_beats_both():
    """The numbers of the docstring, within what 20,000 rounds of eight trials leave: six standard errors are 0.003."""
    found = []
    for trial in range(8):
        source = stream(166, trial)
        _, means = drawn(SharedContext().start(source), source, 20_000)
        found.append([means.mean(), means.mean(axis=0).max(), means.max(axis=1).mean()])
    even, single, best = np.mean(found, axis=0)
    assert even == pytest.approx(0.069, abs=0.003)
    assert single == pytest.approx(0.142, abs=0.003)
    assert best == pytest.approx(0.185, abs=0.005)


# Settings ----------------------------------------


@pytest.mark.parametrize(
    ("options", "shown_value"),
    [
        ({"arms": 0}, "arms=0"),
        ({"context_dim": 1}, "context_dim=1"),
        ({"arms": 100, "context_dim": 11}, "arms=100, context_dim=11"),
        ({"relevant": 21}, "relevant=21"),
        ({"relevant": 0}, "relevant=0"),
        ({"low": 0.2}, "low=0.2, high=0.2"),
        ({"high": 1.1}, "high=1.1"),
        ({"low": -0.1}, "low=-0.1"),
    ],
)
def test_bad_settings_are_refused_with_the_value_in_the_message(options, shown_value):
    with pytest.raises(BadInput) as caught:
        SharedContext(**options)
    assert shown_value in str(caught.value)


def test_settings_travel_as_a_dictionary_under_their_own_names():
    settings = {
        "environment": "shared-context",
        "arms": 3,
        "context_dim": 4,
        "relevant": 1,
        "low": 0.1,
        "high": 0.3,
        "features_of_actions": 2,
        "lift": 0.5,
    }
    config = CATALOGUE["shared-context"].from_dict(settings)
    assert config.to_dict() == settings
    assert config.context_shape == (3, 4)
    assert config.bounds["reward_low"] == 0.0
