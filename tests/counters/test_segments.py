"""Noise for a few prefix sums: the kernel is the dense matrix, its releases have that covariance, and one summand costs
what was priced.

Error level: each comparison of a covariance is at 1e-6 (chi-square); seeds are fixed.
"""

import numpy as np
import pytest

from tacit.counters.segments import noise_variances, prefix_noise, root_weights, sum_weights
from tacit.noise import first_normals, stream, tape_of
from tacit.privacy import RootToeplitzEvent, SegmentsEvent, price
from tests.statistics import checks
from tests.statistics.checks import LEVEL

WEIGHTS = {"root": root_weights, "sum": sum_weights}
SCALE = 2.5


def dense(weights):
    """The lower-triangular Toeplitz matrix of these weights."""
    steps = np.arange(len(weights))
    distance = np.subtract.outer(steps, steps)
    return np.where(distance >= 0, weights[np.abs(distance)], 0.0)


def releases(weights, source, dim, scale=SCALE):
    """The noise of each release, as the kernel makes it."""
    draws, out = np.zeros((len(weights), dim)), np.full((len(weights), dim), np.nan)
    for release, row in enumerate(out):
        prefix_noise(scale, weights, draws, release, row, source)
    return out


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_kernel_is_the_dense_matrix_applied_to_the_draws(name):
    weights = WEIGHTS[name](40)
    fresh = first_normals(stream(3), 120).reshape(40, 3)
    np.testing.assert_allclose(releases(weights, stream(3), 3), SCALE * dense(weights) @ fresh, rtol=0, atol=1e-12)


def test_the_root_applied_twice_is_the_prefix_sum():
    matrix = dense(root_weights(133))
    np.testing.assert_allclose(matrix @ matrix, np.tril(np.ones((133, 133))), atol=1e-13)


def test_each_release_draws_one_fresh_row_and_the_rows_before_it_stay():
    source = tape_of(np.random.default_rng(1).normal(size=60), np.empty(0))
    weights, draws, out = root_weights(20), np.zeros((20, 3)), np.zeros(3)
    for release in range(20):
        before = draws.copy()
        prefix_noise(SCALE, weights, draws, release, out, source)
        assert source.at[0] == 3 * (release + 1)
        assert np.array_equal(draws[:release], before[:release])
        assert np.array_equal(draws[release + 1 :], before[release + 1 :])
    assert np.isnan(source.normals).all(), "a draw cannot be read again"


# The law of the releases: coordinates are independent copies, so one run in dimension 400 holds 400 of them ---------

STEPS, COPIES = 12, 400


def redrawn(weights, seed):
    """The broken twin: noise of the right size, fresh at each release. Averaging the releases washes it out."""
    deviations = np.sqrt(noise_variances(SCALE, weights))
    return np.random.default_rng(seed).normal(size=(len(weights), COPIES)) * deviations[:, None]


@pytest.mark.parametrize("name", WEIGHTS)
def test_releases_have_the_covariance_and_each_the_variance_that_the_widths_are_told(name):
    weights = WEIGHTS[name](STEPS)
    covariance = SCALE**2 * dense(weights) @ dense(weights).T
    variances = noise_variances(SCALE, weights)
    np.testing.assert_allclose(variances, np.diag(covariance), rtol=1e-12)
    noise = releases(weights, stream(4), COPIES)
    assert checks.covariance(noise.T, covariance) > LEVEL
    assert min(checks.scale(row, np.sqrt(one)) for row, one in zip(noise, variances, strict=True)) > LEVEL


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_covariance_test_rejects_noise_that_is_drawn_again_or_off_by_a_fifth(name):
    weights = WEIGHTS[name](STEPS)
    covariance = SCALE**2 * dense(weights) @ dense(weights).T
    twin = redrawn(weights, 5)
    assert min(checks.scale(row, np.sqrt(one)) for row, one in zip(twin, np.diag(covariance), strict=True)) > LEVEL
    assert checks.covariance(twin.T, covariance) < LEVEL
    for factor in (0.8, 1.2):
        assert checks.covariance(releases(weights, stream(4), COPIES, factor * SCALE).T, covariance) < LEVEL


def test_the_variance_test_rejects_the_variances_of_the_other_noise():
    noise = releases(root_weights(STEPS), stream(6), COPIES)
    other = noise_variances(SCALE, sum_weights(STEPS))
    assert checks.scale(noise[0], np.sqrt(other[0])) > LEVEL, "the first release is one draw in both"
    assert checks.scale(noise[-1], np.sqrt(other[-1])) < LEVEL


# What one summand costs ---------------------------------------------------------------------------------------------

EVENTS = {
    "root": lambda count: RootToeplitzEvent(SCALE, 2.0, count),
    "sum": lambda count: SegmentsEvent(SCALE, 2.0),
}


def shift(weights, segment, change=2.0):
    """How far a summand of `segment` moves all releases together, in standard deviations: by the inverse of the noise's
    covariance, whatever was computed."""
    moved = np.zeros(len(weights))
    moved[segment:] = change  # prefix sums
    return np.linalg.norm(np.linalg.solve(SCALE * dense(weights), moved))


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("count", [1, 7, 72])
def test_a_replaced_summand_moves_the_releases_by_the_price_and_no_more(name, count):
    weights, cost = WEIGHTS[name](count), price(EVENTS[name](count))
    moves = [shift(weights, segment) for segment in range(count)]
    assert moves[0] == pytest.approx(cost, rel=1e-12)
    assert max(moves) <= cost * (1 + 1e-12)


@pytest.mark.parametrize("name", WEIGHTS)
def test_noise_of_the_same_size_drawn_again_would_cost_several_times_the_price(name):
    """The broken twin, priced: independent noise of these variances in 72 releases that all hold the summand."""
    weights = WEIGHTS[name](72)
    redrawn_price = np.sqrt(np.sum(4.0 / noise_variances(SCALE, weights)))
    assert redrawn_price > 2 * price(EVENTS[name](72))


def test_one_release_more_than_was_priced_costs_more():
    assert shift(root_weights(73), 0) > price(EVENTS["root"](72)) * (1 + 1e-4)


@pytest.mark.parametrize(("count", "factor"), [(50, 5.3), (72, 5.9), (100, 6.4), (133, 6.9)])
def test_at_the_same_price_the_last_release_has_the_variance_of_six_draws_and_not_of_all(count, factor):
    """Per unit of (Δ/μ)²: q² = (Σ w_k²)² against N of the plain sum."""
    root, plain = root_weights(count), sum_weights(count)
    unit = {"root": SCALE / np.linalg.norm(root), "sum": SCALE}  # s = Δ/μ, whatever noise it is spent on
    assert noise_variances(SCALE, root)[-1] / unit["root"] ** 2 == pytest.approx(factor, abs=0.05)
    assert noise_variances(SCALE, plain)[-1] / unit["sum"] ** 2 == pytest.approx(count)
