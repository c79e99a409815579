"""Worlds with one list of actions for every round: the list, the means, and many rewards in one draw."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import integrate, special, stats

from tacit._kernel import kernel
from tacit.cli.options import build, read_settings
from tacit.core.verbs import pay, pay_many, show
from tacit.environments import CATALOGUE, Arms, LinearActions, OrthogonalArms
from tacit.environments.arms import clipped_mean
from tacit.errors import BadInput
from tacit.noise import stream
from tests.statistics import checks
from tests.statistics.checks import LEVEL

from .test_sphere import evenly_spread, shown

LISTS = [Arms(), Arms(reward_noise="gaussian"), LinearActions(), OrthogonalArms()]


@kernel
def _totals(params, slate, means, source, mean, count, one_by_one, at_once):
    """The total of `count` rewards of this mean, again and again: paid one by one, and at once."""
    for k in range(one_by_one.shape[0]):
        one_by_one[k] = 0.0
        for _ in range(count):
            show(params, slate, means, source)
            one_by_one[k] += pay(params, mean, source)
        at_once[k] = pay_many(params, mean, count, source)


def totals(environment, arm, count, size, seed):
    """The mean of the arm, and its totals."""
    source = stream(seed)
    world = environment.start(source)
    one_by_one, at_once = np.empty(size), np.empty(size)
    mean = world.means[arm]
    _totals(world.params, world.slate, world.means, source, mean, count, one_by_one, at_once)
    return mean, one_by_one, at_once


# The list ----------------------------------------


@pytest.mark.parametrize("kind", list(CATALOGUE.values()), ids=list(CATALOGUE))
def test_a_list_that_is_announced_is_what_every_round_of_every_trial_offers(kind):
    environment = kind()
    announced = environment.fixed_actions
    assert (announced is not None) == (kind in (Arms, LinearActions, OrthogonalArms))
    for trial in range(2):
        source = stream(101, trial)
        actions, _ = shown(environment.start(source), source, 3)
        if announced is not None:
            np.testing.assert_array_equal(actions, np.broadcast_to(announced, actions.shape))
        elif kind.slug == "fixed-arms":
            assert (actions == actions[0]).all(), "it has a list in each trial, but not beforehand"


def test_a_list_can_be_written_to_without_harm():
    for environment in LISTS:
        before = environment.fixed_actions.copy()
        environment.fixed_actions[:] = 7.0
        np.testing.assert_array_equal(environment.fixed_actions, before)


@pytest.mark.parametrize("environment", LISTS, ids=lambda one: one.slug)
def test_means_are_products_with_the_parameter(environment):
    world = environment.start(stream(102))
    np.testing.assert_allclose(environment.fixed_actions @ world.theta, world.means, rtol=0, atol=1e-15)


def test_linear_actions_are_unit_vectors_that_point_anywhere():
    """Errs with probability LEVEL; a list in which one axis is longer is rejected."""
    actions = LinearActions(dim=5, arms=10_000).fixed_actions
    np.testing.assert_allclose(np.linalg.norm(actions, axis=1), 1.0, rtol=0, atol=1e-15)
    assert evenly_spread(actions) > LEVEL
    longer = actions * [1.2, 1, 1, 1, 1]
    assert evenly_spread(longer / np.linalg.norm(longer, axis=1, keepdims=True)) < LEVEL


def test_the_list_of_linear_actions_depends_on_its_own_seed_alone():
    first, other = LinearActions(), LinearActions(actions_seed=1)
    np.testing.assert_array_equal(first.fixed_actions, LinearActions(parameter_norm=0.5).fixed_actions)
    np.testing.assert_array_equal(first.fixed_actions, LinearActions(arms=30).fixed_actions[:20])
    assert not (first.fixed_actions == other.fixed_actions).any()
    assert not np.array_equal(first.start(stream(103, 0)).theta, first.start(stream(103, 1)).theta)


def test_the_parameter_of_linear_actions_is_uniform_on_its_sphere():
    """Errs with probability LEVEL."""
    thetas = np.array([LinearActions(dim=3, arms=2).start(stream(104, trial)).theta for trial in range(3000)])
    np.testing.assert_allclose(np.linalg.norm(thetas, axis=1), 0.9, rtol=1e-14)
    assert evenly_spread(thetas / 0.9) > LEVEL


# Means of arms ----------------------------------------


def test_arms_keep_the_order_of_their_means():
    means = (0.2, 0.9, 0.0, 1.0, 0.9)
    world = Arms(means=means).start(stream(105))
    assert world.means.tolist() == list(means)
    assert Arms(means=means).true_means == means


@pytest.mark.parametrize("spread", [1e-3, 0.1, 0.5, 4.0, 1e3])
@pytest.mark.parametrize("location", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_the_mean_of_a_clipped_normal_is_the_integral_of_its_tail(location, spread):
    """E = ∫₀¹ P(X > x) dx."""
    tail, error = integrate.quad(
        lambda x: special.ndtr((location - x) / spread), 0, 1, points=[location], epsabs=1e-13, limit=500
    )
    assert clipped_mean(location, spread) == pytest.approx(tail, abs=1e-12 + 10 * error)
    assert clipped_mean(location, spread) == pytest.approx(1 - clipped_mean(1 - location, spread), abs=1e-13)


def test_clipping_moves_means_towards_a_half_and_keeps_their_order():
    environment = Arms(reward_noise="gaussian")
    world = environment.start(stream(106))
    assert tuple(world.means) == environment.true_means
    true, given = world.means - 0.5, np.array(environment.means) - 0.5
    assert (np.abs(true) < np.abs(given))[given != 0].all()
    assert sorted(world.means, reverse=True) == world.means.tolist()
    assert Arms(reward_noise="gaussian", spread=1e-4).true_means == pytest.approx(environment.means, abs=1e-12)


# Rewards: every check errs with probability at most LEVEL = 1e-6 ----------------------------------------


def binomial(totals, count, success, low):
    """Pearson's χ² of totals of rewards of `low` or 1 against the binomial law, rare totals taken together."""
    hits = np.rint((totals - low * count) / (1 - low))
    np.testing.assert_array_equal(low * count + (1 - low) * hits, totals)
    chances = stats.binom.pmf(np.arange(count + 1), count, success)
    often = np.flatnonzero(chances * totals.size >= 5)
    seen = np.bincount(hits.astype(int), minlength=count + 1)
    inside = slice(often[0], often[-1] + 1)
    observed, expected = seen[inside], chances[inside]
    if 1 - expected.sum() > 1e-9:
        observed, expected = np.append(observed, totals.size - observed.sum()), np.append(expected, 1 - expected.sum())
        # What is left over may be too rare to stand alone: the last bin takes it in.
        if expected[-1] * totals.size < 5:
            observed = np.append(observed[:-2], observed[-2:].sum())
            expected = np.append(expected[:-2], expected[-2:].sum())
    else:
        assert observed.sum() == totals.size
    return checks.counts(observed, expected / expected.sum())


@pytest.mark.parametrize("arm", [0, 4], ids=["often", "rarely"])
@pytest.mark.parametrize("count", [1, 12, 150])
@pytest.mark.parametrize("environment", [Arms(), LinearActions(), OrthogonalArms()], ids=lambda one: one.slug)
def test_a_total_is_binomial_whether_rewards_are_paid_one_by_one_or_at_once(environment, count, arm):
    size, low = 20_000, 0.0 if environment.slug == "arms" else -1.0
    mean, one_by_one, at_once = totals(environment, arm, count, size, seed=107)
    success = (mean - low) / (1 - low)
    for drawn in (one_by_one, at_once):
        assert binomial(drawn, count, success, low) > LEVEL
        assert binomial(drawn, count, success + 0.03, low) < LEVEL
    assert checks.unrelated(at_once[1:] - mean * count, at_once[:-1] - mean * count) > LEVEL
    assert checks.unrelated(one_by_one - mean * count, at_once - mean * count) > LEVEL


def test_arms_that_always_or_never_pay_do_so_in_any_number_of_rounds():
    for count in (1, 37, 10_000):
        for arm, mean in enumerate((0.0, 1.0)):
            _, one_by_one, at_once = totals(Arms(means=(0.0, 1.0)), arm, count, 3, seed=108)
            assert one_by_one.tolist() == at_once.tolist() == [count * mean] * 3


def test_a_long_episode_is_paid_by_one_draw_of_the_right_spread():
    """10⁹ rounds, which one by one would take a minute: the total is normal to all practical ends."""
    source = stream(109)
    world = Arms().start(source)
    for arm, mean in ((0, 0.75), (4, 0.25)):
        at_once = np.array([pay_many(world.params, world.means[arm], 10**9, source) for _ in range(5000)])
        scaled = (at_once - 1e9 * mean) / math.sqrt(1e9 * mean * (1 - mean))
        assert checks.law(scaled, checks.normal) > LEVEL
        assert checks.scale(scaled, 1.0) > LEVEL
        assert checks.scale(1.1 * scaled, 1.0) < LEVEL


@lru_cache
def gaussian_totals(arm, count):
    return totals(Arms(reward_noise="gaussian", means=(0.9, 0.5, 0.1)), arm, count, 20_000, seed=110)


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_gaussian_rewards_are_clipped_normals(arm):
    location = (0.9, 0.5, 0.1)[arm]
    mean, *drawn = gaussian_totals(arm, 1)
    below, above = special.ndtr(-location / 0.5), special.ndtr((location - 1) / 0.5)
    for rewards in drawn:
        assert checks.share(np.count_nonzero(rewards == 0), rewards.size, below) > LEVEL
        assert checks.share(np.count_nonzero(rewards == 1), rewards.size, above) > LEVEL
        between = rewards[(rewards > 0) & (rewards < 1)]
        assert checks.law(between, lambda r: (special.ndtr((r - location) / 0.5) - below) / (1 - below - above)) > LEVEL
        assert checks.centre(rewards, mean, rewards.std()) > LEVEL
        if arm != 1:
            assert checks.centre(rewards, location, rewards.std()) < LEVEL, "the mean is not where clipping began"


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_many_gaussian_rewards_at_once_have_the_law_of_their_sum(arm):
    """300 of them: more than are drawn at a time."""
    mean, one_by_one, at_once = gaussian_totals(arm, 300)
    assert stats.ks_2samp(one_by_one, at_once).pvalue > LEVEL
    assert stats.ks_2samp(one_by_one, at_once + 0.1 * at_once.std()).pvalue < LEVEL
    assert checks.centre(at_once, 300 * mean, at_once.std()) > LEVEL


# What is refused, and how it travels ----------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "shown_value"),
    [
        (Arms, {"means": ()}, "got 0"),
        (Arms, {"means": (0.5,) * 1001}, "got 1001"),
        (Arms, {"means": (0.5, 1.1)}, "1.1"),
        (Arms, {"means": (0.5, -0.1)}, "-0.1"),
        (Arms, {"means": (0.5, math.nan)}, "means=nan"),
        (Arms, {"means": (0.5, "high")}, "means='high'"),
        (Arms, {"means": "0.5"}, "means='0.5'"),
        (Arms, {"means": 0.5}, "means=0.5"),
        (Arms, {"reward_noise": "sign"}, "reward_noise='sign'"),
        (Arms, {"spread": 0.1}, "spread=0.1"),
        (Arms, {"spread": 0, "reward_noise": "gaussian"}, "spread=0"),
        (LinearActions, {"dim": 0}, "dim=0"),
        (LinearActions, {"dim": 1001}, "dim=1001"),
        (LinearActions, {"arms": 0}, "arms=0"),
        (LinearActions, {"arms": 2.0}, "arms=2.0"),
        (LinearActions, {"parameter_norm": 0}, "parameter_norm=0"),
        (LinearActions, {"parameter_norm": 1.01}, "parameter_norm=1.01"),
        (LinearActions, {"actions_seed": -1}, "actions_seed=-1"),
    ],
)
def test_bad_settings_are_refused_with_the_value_in_the_message(kind, options, shown_value):
    with pytest.raises(BadInput) as caught:
        kind(**options)
    assert shown_value in str(caught.value)


def test_means_come_from_the_command_line_and_from_json():
    assert build(Arms, read_settings(["--means", ".9,.5"], []), "") == Arms(means=(0.9, 0.5))
    assert Arms.from_dict({"means": [0.9, 0.5]}) == Arms(means=(0.9, 0.5))
