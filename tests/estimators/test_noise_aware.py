"""The noise-aware fit: against NumPy, on matrices that noise has made indefinite too."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.estimators.by_arm import empty_arms_view, fit_arms
from tacit.estimators.noise_aware import NoiseAware, noise_aware
from tacit.estimators.ridge import empty_view, fit
from tacit.linalg import block_size

DIM = 5
NUMBERS = NoiseAware(
    unscale=1.7,
    ridge=np.array([0.9, 2.5]),
    reward_variance=0.36,
    parameter_variance=np.array([0.8, 4.0]),
    multiplier=0.3,
)


def symmetric(seed, least=-1.0):
    """A matrix with eigenvalues from `least` to 4, and a vector."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    return turn @ np.diag(np.linspace(least, 4.0, DIM)) @ turn.T, rng.normal(size=DIM)


def packed(matrix, vector):
    return np.concatenate([matrix[np.triu_indices(len(matrix))], vector])


def expected(matrix, vector, stage):
    """θ̃, H, and the covariance of θ̃, by formula."""
    values, vectors = np.linalg.eigh(matrix)
    ridge, more = NUMBERS.ridge[min(stage, 1)], NUMBERS.parameter_variance[min(stage, 1)]
    whole = vectors @ np.diag(np.maximum(values, 0.0) + ridge) @ vectors.T
    inverse = np.linalg.inv(whole)
    return inverse @ vector * NUMBERS.unscale, whole, NUMBERS.reward_variance * inverse + more * inverse @ inverse


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("least", [-1.0, 0.5])
def test_the_fit_is_the_formula(seed, least):
    matrix, vector = symmetric(seed, least)
    view = empty_view(DIM)
    for stage in range(3):
        assert fit(NUMBERS, packed(matrix, vector), view) == 0, "clipping is no repair"
        theta, whole, covariance = expected(matrix, vector, stage)
        assert view.stage[0] == stage + 1
        assert view.width[0] == NUMBERS.multiplier
        np.testing.assert_allclose(view.theta, theta, rtol=1e-9, atol=1e-12)
        upper = np.triu(view.factor)
        np.testing.assert_allclose(upper.T @ upper, whole, rtol=1e-9, atol=1e-12)
        assert np.array_equal(view.whiten, np.tril(view.whiten))
        np.testing.assert_allclose(view.whiten.T @ view.whiten, covariance, rtol=1e-9, atol=1e-12)


def test_a_spread_is_what_an_estimate_is_off_by():
    """Rewards and noise drawn anew 4,000 times: <x, θ̃> has the deviation that is said, but for what the ridge shrinks.

    Error level: the deviation of 4,000 numbers is within 8 % of its law's but once in 10⁹.
    """
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(400, DIM))
    theta, tau, level = rng.normal(size=DIM) / np.sqrt(DIM), 6.0, 0.5
    numbers = NoiseAware(1.0, np.array([1e-9]), level**2, np.array([tau**2 * (1 + theta @ theta)]), 1.0)
    gram, x, found = rows.T @ rows, rng.normal(size=DIM), []
    view = empty_view(DIM)
    for _ in range(4000):
        noise = np.triu(rng.normal(size=(DIM, DIM)), 1)
        noise = tau * (noise + noise.T + np.diag(np.sqrt(2.0) * rng.normal(size=DIM)))
        vector = rows.T @ (rows @ theta + level * rng.normal(size=400)) + tau * rng.normal(size=DIM)
        view.stage[0] = 0
        fit(numbers, packed(gram + noise, vector), view)
        found.append(x @ (view.theta - theta))
    view.stage[0] = 0
    fit(numbers, packed(gram, rows.T @ rows @ theta), view)
    said = np.linalg.norm(view.whiten @ x)
    assert np.std(found) == pytest.approx(said, rel=0.2)


def test_the_numbers_are_the_formulas():
    found = noise_aware(
        spread=np.array([2.0, 3.0]),
        width=4,
        ridge=0.7,
        least=1.0,
        noise_level=0.5,
        norm=2.0,
        scale=0.8,
        reach=0.3,
    )
    np.testing.assert_allclose(found.ridge, [0.7 * 2.0 * 2.0 + 1.0, 0.7 * 3.0 * 2.0 + 1.0])
    np.testing.assert_allclose(found.parameter_variance, [4.0 * (1 / 0.64 + 4.0), 9.0 * (1 / 0.64 + 4.0)])
    assert (found.unscale, found.reward_variance, found.multiplier) == (1.25, 0.25, 0.3)


def test_every_arm_is_fitted_to_its_own_block_at_one_stage():
    blocks = [symmetric(seed) for seed in range(3)]
    view = empty_arms_view(3, DIM, DIM)
    published = np.concatenate([packed(*block) for block in blocks])
    assert len(published) == 3 * block_size(DIM)
    assert fit_arms(NUMBERS, published, 1, view) == 0
    for arm, block in enumerate(blocks):
        theta, _, covariance = expected(*block, 1)
        np.testing.assert_allclose(view.theta[arm], theta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(view.spread[arm], covariance, rtol=1e-9, atol=1e-12)
        assert view.width[arm] == NUMBERS.multiplier
    assert view.stage[0] == 0, "the clock of releases is the caller's"
