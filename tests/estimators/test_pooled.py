"""The pooled estimate: against NumPy, where there is nothing to learn, and where there is much."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.estimators.by_arm import empty_arms_view, fit_arms
from tacit.estimators.noise_aware import noise_aware
from tacit.estimators.pooled import CAUTION, HOPE, pooled

ARMS, WIDTH, CONSTANT, REACH, SCALE = 6, 5, 0.45, 0.5, 1.4
LENGTH = np.sqrt(1 - CONSTANT**2)


def numbers(tau):
    spread = np.array([tau])
    own = noise_aware(
        spread=spread, width=WIDTH, ridge=1.0, least=1.0, noise_level=0.5, norm=1.0, scale=SCALE, reach=0.5
    )
    return own, pooled(own, matrix=spread, vector=spread / SCALE, share=CONSTANT, norm=1.0, reach=REACH)


def sums(seed, theta, tau, rows=4000):
    """Published blocks of arms with these parameters: exact ones, and noise of deviation τ."""
    rng = np.random.default_rng(seed)
    matrices, vectors = [], []
    for one in theta:
        z = rng.normal(size=(rows, WIDTH))
        z[:, :-1] *= LENGTH / np.linalg.norm(z[:, :-1], axis=1, keepdims=True)
        z[:, -1] = CONSTANT
        noise = np.triu(rng.normal(size=(WIDTH, WIDTH)), 1)
        noise = tau * (noise + noise.T + np.sqrt(2) * np.diag(rng.normal(size=WIDTH)))
        matrices.append(z.T @ z + noise)
        vectors.append(z.T @ (z @ one) + tau / SCALE * rng.normal(size=WIDTH))
    return np.array(matrices), np.array(vectors)


def fitted(estimate, matrices, vectors):
    view = empty_arms_view(len(matrices), WIDTH - 1, WIDTH)
    upper = np.triu_indices(WIDTH)
    blocks = [np.concatenate([m[upper], v * SCALE]) for m, v in zip(matrices, vectors, strict=True)]
    assert fit_arms(estimate, np.concatenate(blocks), 0, view) == 0
    return view


def by_formula(matrices, vectors, tau):
    """θ̃ and M of all arms, and what an arm without rows is worth, as the docstring of the module has them."""
    vector_noise, features, least = (tau / SCALE) ** 2, WIDTH - 1, tau * np.sqrt(WIDTH) + 1.0
    gram, corners = matrices[:, :-1, :-1], np.maximum(matrices[:, -1, -1], 0)
    means = np.maximum(np.trace(gram, axis1=1, axis2=2) / features, 0)
    at_c, at_f = 1 / (corners + least) ** 2, 1 / (means + least) ** 2
    common = (at_c * corners * vectors[:, -1]).sum() / max((at_c * corners**2).sum(), 1e-9)
    common = np.clip(common, -REACH / CONSTANT, REACH / CONSTANT)
    rest = vectors - common * matrices[:, :, -1]
    privacy_f, privacy_c = vector_noise + tau**2 * common**2, vector_noise + 2 * tau**2 * common**2
    most = min(0.25, REACH**2 - (common * CONSTANT) ** 2)
    noise_f, noise_c = privacy_f + most * means, privacy_c + most * corners
    gain_f = (at_f * ((rest[:, :-1] ** 2).sum(axis=1) - features * noise_f)).sum()
    gain_c = (at_c * (rest[:, -1] ** 2 - noise_c)).sum()
    gain_f += CAUTION * np.sqrt(2 * features * ((at_f * noise_f) ** 2).sum())
    gain_c += CAUTION * np.sqrt(2 * ((at_c * noise_c) ** 2).sum())
    read_f = (at_f * ((gram**2).sum(axis=(1, 2)) - features * (features + 1) * tau**2)).sum()
    read_c = (at_c * (corners**2 - 2 * tau**2)).sum()
    s_f, s_c = max(gain_f, 1e-12) / max(read_f, 1e-9), max(gain_c, 1e-12) / max(read_c, 1e-9)
    hope = HOPE * np.sqrt(s_f * LENGTH**2 + s_c * CONSTANT**2) / CONSTANT
    worth = np.append(np.zeros(features), min(common + hope, max(0.0, common)))
    theta, spread = [], []
    for matrix, vector in zip(matrices, vectors, strict=True):
        values, turn = np.linalg.eigh(matrix)
        clipped = turn @ np.diag(np.maximum(values, 0)) @ turn.T
        mean = np.trace(matrix[:-1, :-1]) / features
        ridge = np.full(WIDTH, max(least, privacy_f / (max(mean, tau + 1e-9) * s_f)))
        ridge[-1] = max(least, privacy_c / (max(matrix[-1, -1], tau + 1e-9) * s_c))
        inverse = np.linalg.inv(clipped + np.diag(ridge))
        theta.append(worth + inverse @ (vector - clipped @ worth))
        spread.append(0.25 * inverse + (vector_noise + tau**2) * inverse @ inverse)
    return np.array(theta), np.array(spread), worth[-1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tau", [0.0, 3.0, 60.0])
def test_the_fit_is_the_formula(seed, tau):
    theta = np.random.default_rng(seed).normal(size=(ARMS, WIDTH)) * 0.2
    matrices, vectors = sums(seed, theta, tau, rows=500)
    view = fitted(numbers(tau)[1], matrices, vectors)
    expected, spread, _ = by_formula(matrices, vectors, tau)
    np.testing.assert_allclose(view.theta, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(view.spread, spread, rtol=1e-7, atol=1e-9)
    assert np.all(view.width == 0.5)


def test_without_noise_arms_are_told_apart_as_ever():
    theta = np.random.default_rng(5).normal(size=(ARMS, WIDTH)) * 0.4
    view = fitted(numbers(0.0)[1], *sums(5, theta, 0.0))
    np.testing.assert_allclose(view.theta, theta, atol=0.01)


def test_where_features_tell_nothing_less_is_made_of_their_noise():
    theta = np.zeros((ARMS, WIDTH))
    theta[:, -1] = -0.4 / CONSTANT
    found = [fitted(one, *sums(1, theta, 20.0)).theta for one in numbers(20.0)]
    alone, together = (np.linalg.norm(one[:, :-1]) for one in found)
    assert together < 0.6 * alone
    assert np.ptp(found[1][:, -1]) < np.ptp(found[0][:, -1]), "and arms that do not differ are less apart"


def test_an_arm_without_rows_is_worth_the_mean_and_some_hope():
    theta = np.random.default_rng(3).normal(size=(ARMS, WIDTH)) * 0.02
    theta[:, -1] -= 0.4 / CONSTANT
    matrices, vectors = sums(2, theta, 0.0)
    matrices[0], vectors[0] = 0.0, 0.0
    view = fitted(numbers(0.0)[1], matrices, vectors)
    assert -0.4 / CONSTANT < view.theta[0, -1] < 0.0
    np.testing.assert_allclose(view.theta[0, -1], by_formula(matrices, vectors, 0.0)[2], rtol=1e-9)
