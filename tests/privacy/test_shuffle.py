"""The numeric clone bound: against its definition, against shuffles worked out exactly, and where it must not help."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from tacit.errors import BadInput
from tacit.privacy import Promise, gdp
from tacit.privacy import shuffle as module
from tacit.privacy.shuffle import (
    amplified_scale,
    clone_delta,
    clone_epsilon,
    gaussian_shuffled,
    gaussian_shuffled_epsilon,
)


def by_definition(epsilon: float, local: float, reports: int) -> float:
    """E of the hockey stick between P and Q, summed over every pair of counts without any thought."""
    kept = 1 / (1 + math.exp(-local))
    total = 0.0
    for clones in range(reports):
        coins = np.zeros(clones + 2)
        coins[:-1] = binom.pmf(np.arange(clones + 1), clones, 0.5)
        one_more = np.roll(coins, 1)
        p, q = kept * one_more + (1 - kept) * coins, (1 - kept) * one_more + kept * coins
        chance = binom.pmf(clones, reports - 1, math.exp(-local))
        total += chance * np.maximum(p - math.exp(epsilon) * q, 0).sum()
    return total


def shuffled_answers(epsilon: float, local: float, ones: int, reports: int) -> float:
    """δ of randomised response, exactly: the count of ones with `ones` honest yeses, and with one more.

    After a shuffle the count is all there is to see.
    """
    kept = 1 / (1 + math.exp(-local))

    def counts(yes: int) -> np.ndarray:
        first = binom.pmf(np.arange(yes + 1), yes, kept)
        return np.convolve(first, binom.pmf(np.arange(reports - yes + 1), reports - yes, 1 - kept))

    p, q = counts(ones), counts(ones + 1)
    factor = math.exp(epsilon)
    return max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum())


# Pure reports ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reports", "local", "listed", "half_digit"),
    [(1000, 1, 0.182, 5e-4), (20_000, 1, 0.0365, 5e-5), (20_000, 4, 0.407, 5e-4), (100_000, 4, 0.170, 5e-4)],
)
def test_listed_values(reports, local, listed, half_digit):
    assert clone_epsilon(local, reports, 1e-6) == pytest.approx(listed, abs=half_digit)


@pytest.mark.parametrize(("local", "reports"), [(0.1, 2), (1.0, 1), (1.0, 2), (1.0, 30), (3.0, 100), (6.0, 40)])
def test_the_bound_is_the_expected_hockey_stick(local, reports):
    for share in (0.0, 0.05, 0.3, 0.7, 0.99):
        exact = by_definition(share * local, local, reports)
        assert clone_delta(share * local, local, reports) == pytest.approx(exact, rel=1e-5, abs=1e-15)
        assert clone_delta(share * local, local, reports) >= exact


@pytest.mark.parametrize(("local", "reports"), [(0.5, 3000), (2.0, 20_000), (4.0, 10**6)])
def test_bins_err_upwards_and_hardly_at_all(local, reports, monkeypatch):
    for delta in (1e-12, 1e-9, 1e-6):
        epsilon = clone_epsilon(local, reports, delta)
        binned = clone_delta(epsilon, local, reports)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_BINS", 10**6)
            every = clone_delta(epsilon, local, reports)
            assert every <= binned <= delta
            # In ε that is less than a thousandth.
            assert clone_delta(epsilon * (1 - 1e-3), local, reports) > delta
        with monkeypatch.context() as patch:
            patch.setattr(module, "_BINS", 16)
            assert clone_delta(epsilon, local, reports) >= binned


@pytest.mark.parametrize("local", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("reports", [2, 10, 60])
def test_no_shuffle_of_randomised_response_exceeds_the_bound(local, reports):
    for share in (0.0, 0.1, 0.4, 0.9):
        bound = clone_delta(share * local, local, reports)
        truth = max(shuffled_answers(share * local, local, ones, reports) for ones in range(reports))
        assert truth <= bound


def test_counting_on_more_company_than_there_is_breaks_the_bound():
    # Broken twin: half of the batch is dishonest and adds nothing, but was counted.
    truth = max(shuffled_answers(0.3, 1.0, ones, 30) for ones in range(30))
    assert clone_delta(0.3, 1.0, 30) >= truth > clone_delta(0.3, 1.0, 300)


def test_alone_there_is_nothing_to_hide_among():
    for share in (0.0, 0.5, 0.9):
        odds = math.exp(1.0)
        assert clone_delta(share, 1.0, 1) == pytest.approx((odds - math.exp(share)) / (1 + odds), rel=1e-6)


def test_the_bound_moves_the_right_way():
    in_epsilon = [clone_delta(epsilon, 2.0, 5000) for epsilon in np.linspace(0, 2.2, 23)]
    assert in_epsilon == sorted(in_epsilon, reverse=True)
    assert in_epsilon[-1] == clone_delta(2.0, 2.0, 5000) == 0.0
    in_reports = [clone_epsilon(2.0, reports, 1e-6) for reports in (1, 2, 5, 30, 300, 10**4, 10**6)]
    assert in_reports == sorted(in_reports, reverse=True)
    in_local = [clone_epsilon(local, 5000, 1e-6) for local in (0.01, 0.1, 1, 3, 8, 50)]
    assert in_local == sorted(in_local)
    in_delta = [clone_epsilon(2.0, 5000, delta) for delta in (1e-30, 1e-9, 1e-6, 0.1, 0.9)]
    assert in_delta == sorted(in_delta, reverse=True)


@pytest.mark.parametrize("local", [0.01, 1.0, 7.0, 50.0, 900.0])
@pytest.mark.parametrize("reports", [1, 2, 1000, 10**6])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_a_pure_report_is_never_worse_off_for_being_shuffled(local, reports, delta):
    epsilon = clone_epsilon(local, reports, delta)
    assert 0 <= epsilon <= local
    assert clone_delta(epsilon, local, reports) <= delta


# Gaussian reports ------------------------------------------------------------------------------------------------

GRID = list(itertools.product([0.01, 0.3, 1.0, 3.0, 12.0], [1, 2, 380, 10**4, 10**6], [1e-6, 0.1]))


@pytest.mark.parametrize(("mu", "reports", "delta"), GRID)
def test_a_shuffled_report_costs_at_most_its_local_price_and_at_least_that_of_the_sum(mu, reports, delta):
    """Whoever sees the batch can add it up, and the sum is a Gaussian release of its own: no bound may be below that.

    A report is one-dimensional in the worst case, and its sum has √n times the noise.
    """
    found = gaussian_shuffled(mu, reports, delta)
    local = gdp.epsilon_at(mu, delta)
    assert found.epsilon <= local
    assert found.amplified == (found.epsilon < local)
    assert found.epsilon >= gdp.epsilon_at(mu / math.sqrt(reports), delta)


def test_many_reports_with_much_noise_are_amplified_and_few_or_loud_ones_are_not():
    assert gaussian_shuffled(0.3, 10**4, 1e-6).epsilon < 0.2 * gdp.epsilon_at(0.3, 1e-6)
    for mu, reports in ((0.3, 2), (12.0, 10**6)):
        assert not gaussian_shuffled(mu, reports, 1e-6).amplified


def test_the_bound_pays_for_the_failure_of_every_report():
    """With the definition spelt out: for the ε that is granted there is an ε0 whose two terms fit under δ."""
    mu, reports, delta = 0.3, 10**4, 1e-6
    epsilon = gaussian_shuffled_epsilon(mu, reports, delta)

    def total(local: float) -> float:
        extra = (math.exp(epsilon) + 1) * (1 + math.exp(-local) / 2) * reports * gdp.delta_at(mu, local)
        return clone_delta(epsilon, local, reports) + extra

    best = min(total(local) for local in np.linspace(1.2, 2.2, 100))
    assert best <= delta * (1 + 1e-6)
    # Nothing much better was to be had: at 2 % less ε no ε0 would do.
    epsilon *= 0.98
    assert min(total(local) for local in np.linspace(1.2, 2.2, 100)) > delta


def test_forgetting_the_failures_of_the_others_would_grant_too_much():
    # Broken twin: ε0 read off at the δ of the whole batch, as if the reports were pure.
    local = gdp.epsilon_at(0.3, 1e-6)
    assert clone_epsilon(local, 10**4, 1e-6) < 0.8 * gaussian_shuffled_epsilon(0.3, 10**4, 1e-6)


def test_more_reports_more_noise_and_a_larger_delta_never_cost_more():
    in_reports = [gaussian_shuffled_epsilon(0.3, reports, 1e-6) for reports in (1, 10, 100, 10**3, 10**4, 10**5)]
    assert in_reports == sorted(in_reports, reverse=True)
    in_noise = [gaussian_shuffled_epsilon(mu, 10**4, 1e-6) for mu in (0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 2.0)]
    assert in_noise == sorted(in_noise)
    in_delta = [gaussian_shuffled_epsilon(0.3, 10**4, delta) for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.1)]
    assert in_delta == sorted(in_delta, reverse=True)


# Several reports of one person -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 5])
def test_several_reports_are_a_group(count):
    """k reports are (kε, δ·(e^{kε} − 1)/(e^ε − 1))-DP if one is (ε, δ)-DP, wherever they are."""
    mu, reports, delta = 0.1, 10**4, 1e-6
    together = gaussian_shuffled(mu, reports, delta, count)
    each = together.epsilon / count
    share = delta * math.expm1(each) / math.expm1(together.epsilon)
    assert together.amplified
    assert gaussian_shuffled_epsilon(mu, reports, share) == pytest.approx(each, rel=1e-3)
    # More than merely adding up, which holds only if no two are in one batch.
    assert together.epsilon > count * gaussian_shuffled_epsilon(mu, reports, delta / count)
    assert together.epsilon <= gdp.epsilon_at(mu * math.sqrt(count), delta)


def test_a_group_in_one_batch_costs_more_than_it_would_over_several():
    """Why ε and δ are not just added: two answers of one person in one batch, worked out exactly."""
    local, reports, epsilon = 2.0, 12, 0.6
    kept = 1 / (1 + math.exp(-local))

    def counts(yes: int) -> np.ndarray:
        first = binom.pmf(np.arange(yes + 1), yes, kept)
        return np.convolve(first, binom.pmf(np.arange(reports - yes + 1), reports - yes, 1 - kept))

    p, q = counts(5), counts(7)
    pair = np.maximum(q - math.exp(2 * epsilon) * p, 0).sum()
    one = max(shuffled_answers(epsilon, local, ones, reports) for ones in (5, 6))
    assert pair > 2 * one
    assert pair <= one * (1 + math.exp(epsilon))


# The noise that keeps a promise ----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 10.0, 50.0])
@pytest.mark.parametrize("reports", [2, 380, 10**6])
@pytest.mark.parametrize("delta", [1e-6, 0.1])
def test_the_amplified_scale_keeps_the_promise_with_no_more_noise_than_locally(epsilon, reports, delta):
    promise = Promise(epsilon, delta)
    scale = amplified_scale(promise, 2.0, reports)
    assert gaussian_shuffled_epsilon(2.0 / scale, reports, delta) <= epsilon
    assert scale <= 2.0 / promise.mu * (1 + 2e-6)
    # A tenth less noise does not: the broken twin.
    assert gaussian_shuffled_epsilon(2.0 / (0.9 * scale), reports, delta) > epsilon


def test_the_amplified_scale_is_the_least():
    promise = Promise(1.0, 1e-6)
    for reports, count in ((10**4, 1), (10**4, 5), (380, 1)):
        scale = amplified_scale(promise, 1.0, reports, count)
        assert scale < 0.9 * math.sqrt(count) / promise.mu
        assert gaussian_shuffled_epsilon(1.0 / scale, reports, 1e-6, count) <= 1.0
        assert gaussian_shuffled_epsilon(1.0 / (scale * (1 - 1e-5)), reports, 1e-6, count) > 1.0


def test_the_scale_is_proportional_to_the_sensitivity():
    promise = Promise(0.5, 1e-6)
    assert amplified_scale(promise, 3.0, 5000) == pytest.approx(3 * amplified_scale(promise, 1.0, 5000), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: clone_delta(-0.1, 1.0, 10), "epsilon"),
        (lambda: clone_delta(0.1, 0.0, 10), "local_epsilon"),
        (lambda: clone_delta(0.1, 1.0, 0), "reports"),
        (lambda: clone_delta(0.1, 1.0, 10.5), "reports"),
        (lambda: clone_epsilon(1.0, 10, 0.0), "delta"),
        (lambda: clone_epsilon(math.nan, 10, 0.1), "local_epsilon"),
        (lambda: gaussian_shuffled_epsilon(0.0, 10, 0.1), "mu"),
        (lambda: gaussian_shuffled_epsilon(1.0, 10, 1.0), "delta"),
        (lambda: gaussian_shuffled_epsilon(1.0, 10, 0.1, 0), "person_reports"),
        (lambda: amplified_scale(Promise(1.0, 0.1), 0.0, 10), "sensitivity"),
        (lambda: amplified_scale(Promise(1.0, 0.1), 1.0, 0), "reports"),
    ],
)
def test_impossible_batches_are_refused(call, word):
    with pytest.raises(BadInput, match=word):
        call()
