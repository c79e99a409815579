"""Bounds from counts: against an independent implementation, and against their own error level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binomtest

from tacit.auditing import bounds
from tacit.auditing.attack import Attack, Claim
from tacit.auditing.scores import linear, table
from tacit.privacy import gdp
from tests.auditing.common import Coin, Normal, attacked, gaussian_claim


@pytest.mark.parametrize(("hits", "runs"), [(0, 50), (1, 50), (37, 100), (50, 50), (3, 10**6)])
def test_the_interval_is_that_of_clopper_and_pearson(hits: int, runs: int) -> None:
    interval = binomtest(hits, runs).proportion_ci(0.98, "exact")
    assert bounds.at_least(hits, runs, 0.01) == pytest.approx(interval.low, rel=1e-9)
    assert bounds.at_most(hits, runs, 0.01) == pytest.approx(interval.high, rel=1e-9)


def test_what_never_happened_may_still_happen() -> None:
    assert bounds.at_most(0, 1000, 0.05) == pytest.approx(1 - 0.05 ** (1 / 1000))
    assert bounds.epsilon_from(1000, 0, 1000, 0.0, 0.1) < math.log(1000)


def test_equal_counts_and_rare_ones_prove_nothing() -> None:
    assert bounds.epsilon_from(500, 500, 1000, 0.0, 0.05) == 0
    assert bounds.epsilon_from(5, 0, 10**6, 1e-3, 0.05) == 0  # delta covers it
    assert bounds.mu_from(500, 500, 1000, 0.05) == 0
    assert bounds.mu_from(0, 0, 1000, 0.05) == 0


def test_bounds_miss_no_more_often_than_they_say() -> None:
    """2,000 experiments at an allowed miss of 5 %: more than 7 % of misses has probability 1e-4 if 5 % is right."""
    rng = np.random.default_rng(5)
    mu, runs = 1.0, 400
    rate, false_rate = gdp.power(mu, 0.2), 0.2
    hits, false_hits = rng.binomial(runs, rate, 2000), rng.binomial(runs, false_rate, 2000)
    assert np.mean(bounds.mu_from(hits, false_hits, runs, 0.05) > mu) < 0.07
    true = math.log(rate / false_rate)
    assert np.mean(bounds.epsilon_from(hits, false_hits, runs, 0.0, 0.05) > true) < 0.07
    # The same test has to notice a bound that ignores chance.
    assert np.mean(np.log(hits / false_hits) > true) > 0.4


@pytest.mark.parametrize("threshold", [-0.5, 0.1, 0.5, 1.3])
def test_the_curve_is_missed_as_often_as_it_says_and_no_more(threshold: float) -> None:
    """200,000 experiments of 5,000 runs at an allowed miss of 1 %: four standard errors are 0.0009. Less than a half of
    the allowed misses would be a bound that gives away strength."""
    rng = np.random.default_rng(6)
    mu, runs = 0.3, 5000
    hits = rng.binomial(runs, float(ndtr(mu - threshold)), 200_000)
    false_hits = rng.binomial(runs, float(ndtr(-threshold)), 200_000)
    missed = np.mean(bounds.mu_from(hits, false_hits, runs, 0.01) > mu)
    assert 0.005 < missed < 0.0109


@pytest.mark.parametrize(
    ("epsilon", "runs", "plain", "gaussian"),
    [(1.0, 10**6, 0.77, 0.989), (10.0, 10**6, 6.5, 9.98), (1.0, 10**5, 0.59, 0.965)],
)
def test_what_a_number_of_runs_buys(epsilon: float, runs: int, plain: float, gaussian: float) -> None:
    found = bounds.within_reach(gdp.mu_for(epsilon, 1e-5), epsilon, 1e-5, runs, 0.05)
    assert found == pytest.approx((plain, gaussian), rel=0.01)


def test_a_pure_promise_is_within_reach_without_a_curve() -> None:
    plain, gaussian = bounds.within_reach(None, 1.0, 0.0, 10**5, 0.05)
    assert 0.97 < plain < 1.0
    assert gaussian == 0


# The engine, on mechanisms whose privacy is known ------------------------------------------------------------------


def test_an_exact_gaussian_is_measured_and_not_refuted() -> None:
    """Error level: 3 bounds that miss with 1e-5 each."""
    claim = gaussian_claim(1.0, 1e-5)
    found = attacked(Attack("numbers", Normal(claim.mu), "", linear), claim, 100_000, miss=1e-5)
    assert not found.refuted
    plain, gaussian = bounds.within_reach(claim.mu, 1.0, 1e-5, 100_000, 1e-5)
    assert found.gaussian > 0.95 * gaussian  # what the best attack could be expected to show
    assert found.epsilon > 0.8 * plain
    assert found.detected == pytest.approx(gdp.power(claim.mu, 0.05), abs=0.005)


def test_a_gaussian_with_ten_percent_too_little_noise_is_refuted() -> None:
    claim = gaussian_claim(1.0, 1e-5)
    found = attacked(Attack("numbers", Normal(claim.mu / 0.9), "", linear), claim, 100_000)
    assert found.curve.bound > claim.mu
    assert found.refuted


def test_a_randomised_answer_is_measured_without_a_curve() -> None:
    claim = Claim(1.0, 0.0, None)
    attack = Attack("answer", Coin(1.0), "", table, smooth=False)
    found = attacked(attack, claim, 50_000, miss=1e-5)
    assert 0.9 < found.epsilon <= 1.0
    assert found.gaussian is None
    assert found.detected == pytest.approx(0.05 * math.e, abs=0.005)  # a coin is tossed between equal scores
    worse = attacked(Attack("answer", Coin(1.1), "", table, smooth=False), claim, 50_000)
    assert worse.refuted


def test_a_score_is_fitted_on_runs_that_are_not_counted() -> None:
    sampler = Normal(0.0)
    found = attacked(Attack("numbers", sampler, "", linear), gaussian_claim(1.0, 1e-5), 4000)
    assert len(set(sampler.paths)) == len(sampler.paths)  # no stream of noise is used twice
    assert {path[1] for path in sampler.paths} == {0, 1}
    # With nothing to tell apart, a score counted on the runs it was fitted on would show something.
    assert found.epsilon == 0
    assert found.gaussian == 0


def test_the_number_of_threads_changes_nothing() -> None:
    claim, attack = gaussian_claim(1.0, 1e-5), Attack("numbers", Normal(0.5), "", linear, batch=700)
    one, two = (attacked(attack, claim, 5000, threads=threads) for threads in (1, 2))
    assert (one.forward, one.backward, one.curve) == (two.forward, two.backward, two.curve)
    assert np.array_equal(one.first, two.first)


def test_a_direction_without_noise_outweighs_all_others() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal((2, 1000, 2))
    first[:, 1], second[:, 1] = 0.0, 1e-9
    score = linear(first, second)
    assert score(second).min() > score(first).max()
