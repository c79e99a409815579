"""The operator: what it computes, that records enter one by one, what one record can move, and what is refused."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.estimators.rkhs import (
    FEWEST_DRAWS,
    Nystrom,
    Operator,
    QuadratureFourier,
    inducing_points,
    sampled_gain,
)
from tacit.kernels import Box, Matern, SquaredExponential
from tests.estimators.rkhs_reference import MATERN, SE, SQUARE, records_of

DRAWS = SQUARE.sobol(FEWEST_DRAWS)
FEATURES = Nystrom(MATERN, inducing_points(SQUARE, 64))
POINTS = SQUARE.uniform(np.random.default_rng(9), 40)


@pytest.fixture(params=["nystrom", "fourier"])
def operator(request):
    features = FEATURES if request.param == "nystrom" else QuadratureFourier(SE, SQUARE, 10)
    return Operator(features, DRAWS, horizon=5000, tau=2.0)


def defined(operator, points):
    """ψ of the points, and T·E[ψψᵀ] + τI, as they are defined."""
    drawn = operator.features.psi(DRAWS)
    covariance = operator.horizon * (drawn.T @ drawn) / len(drawn) + operator.tau * np.eye(operator.size)
    return operator.features.psi(points), covariance


# What it computes ----------------------------------------------------------------------------------------------------


def test_estimates_are_those_of_the_operator_as_it_is_defined(operator):
    points, rewards = records_of(SE, 3000, seed=1)
    seen, covariance = defined(operator, points)
    asked, _ = defined(operator, POINTS)
    vector = operator.weighted_sum(points, rewards)
    expected = asked @ np.linalg.solve(covariance, seen.T @ rewards)
    np.testing.assert_allclose(operator.mean(POINTS, vector), expected, atol=1e-8)
    np.testing.assert_allclose(operator.u(POINTS) @ vector, expected, atol=1e-8)
    np.testing.assert_allclose(asked @ operator.coefficients(vector), expected, atol=1e-8)
    cross = asked @ np.linalg.solve(covariance, asked.T)
    np.testing.assert_allclose(operator.u(POINTS) @ operator.u(POINTS).T, cross, atol=1e-10)
    np.testing.assert_allclose(operator.sigma2(POINTS), np.diag(cross), rtol=1e-8)


def test_sigma2_is_at_most_one_over_tau(operator):
    """And not at most one: the variance of a posterior, divided by τ."""
    everywhere = np.vstack([SQUARE.grid(30), np.random.default_rng(1).uniform(-4, 4, (500, 2))])
    assert operator.sigma2(everywhere).max() <= 1 / operator.tau
    lonely = Operator(FEATURES, DRAWS, horizon=1, tau=0.01)
    assert lonely.sigma2(FEATURES.points).max() > 40


def test_gain_is_the_sum_over_eigenvalues(operator):
    drawn = operator.features.psi(DRAWS)
    values = np.linalg.eigvalsh(drawn.T @ drawn / len(drawn))
    expected = np.log1p(operator.horizon * np.maximum(values, 0) / operator.tau).sum() / 2
    assert operator.gain == pytest.approx(expected, rel=1e-8)


def test_gain_from_features_is_what_synthetic_draws_have():
    """Squared exponential, T = 1000, τ = 0.1: 85 either way."""
    operator = Operator(Nystrom(SE, inducing_points(SQUARE, 196)), DRAWS, horizon=1000, tau=0.1)
    sampled = [sampled_gain(SE, SQUARE.uniform(np.random.default_rng(seed), 1000), 0.1) for seed in (1, 2)]
    assert operator.gain == pytest.approx(np.mean(sampled), rel=0.01)
    assert operator.gain == pytest.approx(85.3, rel=0.01)


def test_a_quantile_of_leverage_is_exceeded_by_so_many_draws(operator):
    lengths = np.sqrt(operator.sigma2(DRAWS))
    for share in (0.5, 0.95, 1.0):
        assert np.mean(lengths <= operator.leverage_quantile(share)) == pytest.approx(share, abs=1e-3)
    assert operator.leverage_quantile(0.5) < operator.leverage_quantile(0.95)


# Records enter one by one --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [None, 0.5])
def test_records_in_blocks_are_the_sum_of_records_alone(operator, share):
    leverage = None if share is None else operator.leverage_quantile(share)
    points, rewards = records_of(SE, 2100, seed=1)
    whole = operator.weighted_sum(points, rewards, leverage)
    parts = [
        operator.weighted_sum(points[part], rewards[part], leverage)
        for part in (slice(0, 1), slice(1, 1), slice(1, 1024), slice(1024, 2100))
    ]
    np.testing.assert_allclose(np.sum(parts, axis=0), whole, atol=1e-9)
    rows = operator.u(points)
    if leverage is not None:
        assert 0.4 < np.mean(np.linalg.norm(rows, axis=1) > leverage) < 0.6
        rows *= np.minimum(1, leverage / np.linalg.norm(rows, axis=1))[:, None]
    np.testing.assert_allclose(rewards @ rows, whole, atol=1e-9)


def test_memory_does_not_grow_with_the_records():
    operator = Operator(FEATURES, DRAWS, horizon=10**5, tau=2.0)
    points, rewards = records_of(SE, 60_000, seed=1)
    operator.weighted_sum(points[:2000], rewards[:2000], 0.1)
    tracemalloc.start()
    operator.weighted_sum(points, rewards, 0.1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The records themselves are copied twice at most (1.9 MB); all u at once would be 31 MB.
    assert peak < 6e6


# What one record can move --------------------------------------------------------------------------------------------


def extremes(bound, seed):
    """Records anywhere: corners, far outside, and inside; rewards at the ends of [−bound, bound]."""
    rng = np.random.default_rng(seed)
    points = np.vstack([SQUARE.grid(2), rng.uniform(-5, 5, (40, 2)), SQUARE.uniform(rng, 40)])
    return points, rng.choice([-bound, bound], len(points))


def largest_move(operator, leverage, bound):
    """‖v − v'‖ over pairs of worlds that differ in one record."""
    points, rewards = extremes(bound, seed=1)
    terms = np.array(
        [operator.weighted_sum(points[place : place + 1], rewards[place : place + 1], leverage) for place in range(84)]
    )
    terms = np.vstack([terms, -terms])
    return np.linalg.norm(terms[:, None, :] - terms, axis=2).max()


def test_one_replaced_record_moves_the_sum_by_no_more_than_twice_bound_times_leverage(operator):
    leverage, bound = operator.leverage_quantile(0.9), 1.3
    moved = largest_move(operator, leverage, bound) / (2 * bound * leverage)
    assert 0.98 <= moved <= 1 + 1e-12


def test_without_clipping_one_record_moves_it_further(operator):
    leverage, bound = operator.leverage_quantile(0.9), 1.3
    assert largest_move(operator, None, bound) > 1.2 * (2 * bound * leverage)


# Other domains -------------------------------------------------------------------------------------------------------


def test_a_function_of_the_action_alone_is_learned():
    line = Box(((-1, 3),))
    kernel = SquaredExponential(length_scale=0.5)
    operator = Operator(Nystrom(kernel, inducing_points(line, 40)), line.sobol(FEWEST_DRAWS), horizon=20_000, tau=1.0)
    points = line.uniform(np.random.default_rng(1), 20_000)
    vector = operator.weighted_sum(points, np.sin(3 * points[:, 0]))
    asked = line.grid(50)
    assert np.abs(operator.mean(asked, vector) - np.sin(3 * asked[:, 0])).max() < 0.1


def test_four_dimensions_with_a_length_scale_each():
    box = Box.unit(4)
    kernel = Matern(3 / 2, length_scale=(0.5, 1.0, 2.0, 4.0))
    operator = Operator(Nystrom(kernel, inducing_points(box, 200)), box.sobol(FEWEST_DRAWS), horizon=1000, tau=10.0)
    assert operator.u(box.halton(5)).shape == (5, 200)
    assert operator.dim == 4
    assert repr(kernel) in repr(operator)


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0, -1.0, math.nan, math.inf, None])
def test_tau_is_positive(tau):
    with pytest.raises(BadInput, match="tau"):
        Operator(FEATURES, DRAWS, horizon=10, tau=tau)


def test_a_tau_that_rounding_swallows_is_refused():
    one_point = np.full((FEWEST_DRAWS, 2), 0.3)
    with pytest.raises(BadInput, match=r"Cholesky factor, got tau=1e-290 .*Use a larger tau"):
        Operator(FEATURES, one_point, horizon=10**6, tau=1e-290)


@pytest.mark.parametrize("horizon", [0, -5, 10.5, None])
def test_the_horizon_is_a_number_of_records(horizon):
    with pytest.raises(BadInput, match="horizon"):
        Operator(FEATURES, DRAWS, horizon=horizon, tau=1.0)


def test_too_few_draws_are_refused_unless_told():
    with pytest.raises(BadInput, match=r"at least 16,384 synthetic draws, got 100\. .*least_draws"):
        Operator(FEATURES, DRAWS[:100], horizon=10, tau=1.0)
    assert Operator(FEATURES, DRAWS[:100], horizon=10, tau=1.0, least_draws=100).size == 64
    with pytest.raises(BadInput, match="least_draws >= 1"):
        Operator(FEATURES, DRAWS[:0], horizon=10, tau=1.0, least_draws=0)
    with pytest.raises(BadInput, match=r"synthetic draws of shape \(n, 2\)"):
        Operator(FEATURES, np.zeros((FEWEST_DRAWS, 3)), horizon=10, tau=1.0)


def test_bad_records_are_refused(operator):
    points, rewards = records_of(SE, 5, seed=1)
    with pytest.raises(BadInput, match=r"one reward for each of 5 points, got shape \(4,\)"):
        operator.weighted_sum(points, rewards[:4])
    with pytest.raises(BadInput, match=r"rewards .*NaN at position 2"):
        operator.weighted_sum(points, np.array([0, 0, math.nan, 0, 0]))
    with pytest.raises(BadInput, match=r"points of shape \(n, 2\)"):
        operator.weighted_sum(points[:, :1], rewards)
    with pytest.raises(BadInput, match="leverage > 0"):
        operator.weighted_sum(points, rewards, 0.0)
    with pytest.raises(BadInput, match="NaN"):
        operator.sigma2([[0.0, math.nan]])
    with pytest.raises(BadInput, match=rf"vector of shape \({operator.size},\)"):
        operator.mean(points, np.zeros(3))
    for share in (0, 1.1, math.nan):
        with pytest.raises(BadInput, match="share"):
            operator.leverage_quantile(share)
