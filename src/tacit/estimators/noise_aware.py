"""A score that knows how much noise there is: how far an estimate may be off, from rewards and from privacy noise.

With H the published matrix, its eigenvalues clipped at 0, plus a ridge λ, and θ̃ = H⁻¹ũ,

    θ̃ − θ* = H⁻¹(S + n − Nθ* − λθ*),

S the noise of rewards, n and N the noise of the published vector and matrix. The spread of <x, θ̃> is then known but
for the error of the model:

    spread² = σ²·‖x‖²_{H⁻¹} + (τ_v² + S²τ²)·‖H⁻¹x‖²,

σ the level of the reward noise, τ_v and τ the standard deviations of the noise of the vector and the matrix: public
numbers. An action is scored by <x, θ̃> + κ₁·spread, or by a draw from the normal law with this covariance (Thompson).

No theorem on regret is claimed for it. Everything here is computed from what was published, so the promise does not
depend on it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel, library_kernel
from tacit._types import Floats
from tacit.estimators.ridge import fit


class NoiseAware(NamedTuple):
    """The numbers of the score. Arrays have one entry per stage; the last one serves all later ones."""

    unscale: float  # 1/ζ: what the published vector is multiplied by
    ridge: Floats  # λ
    reward_variance: float  # σ²
    parameter_variance: Floats  # τ_v² + S²τ²
    multiplier: float  # κ₁


def noise_aware(
    *,
    spread: Floats,
    width: int,
    ridge: float,
    least: float,
    noise_level: float,
    norm: float,
    scale: float,
    reach: float,
) -> NoiseAware:
    """The numbers for p×p matrices, p the `width`, whose entries have noise of standard deviations `spread`: λ = κ·τ√p
    + the least ridge. `scale`: ζ."""
    return NoiseAware(
        unscale=1.0 / scale,
        ridge=ridge * spread * math.sqrt(width) + least,
        reward_variance=float(noise_level) ** 2,
        parameter_variance=spread**2 * (1.0 / scale**2 + norm**2),
        multiplier=float(reach),
    )


@implements(fit, NoiseAware)
@kernel
def fit_noise_aware(estimate: NoiseAware, published: Floats, view: Any) -> int:
    """θ̃, and W with ‖Wx‖ the spread of <x, θ̃>."""
    stage = min(view.stage[0], estimate.ridge.shape[0] - 1)
    solve_clipped(
        published,
        estimate.ridge[stage],
        estimate.unscale,
        estimate.reward_variance,
        estimate.parameter_variance[stage],
        view.theta,
        view.factor,
        view.whiten,
    )
    view.width[0] = estimate.multiplier
    view.stage[0] += 1
    return 0  # clipping is what is meant, and no repair


@library_kernel
def solve_clipped(
    published: Floats,
    ridge: float,
    unscale: float,
    reward_variance: float,
    parameter_variance: float,
    theta: Floats,
    factor: Floats,
    whiten: Floats,
) -> None:
    """Write θ̃, U with H = UᵀU, and the lower triangular W with WᵀW = σ²H⁻¹ + t²H⁻²."""
    dim = theta.shape[0]
    matrix, vector = np.zeros((dim, dim)), np.zeros(dim)
    at = 0
    for i in range(dim):
        for j in range(i, dim):
            matrix[i, j] = matrix[j, i] = published[at]
            at += 1
    for i in range(dim):
        vector[i] = published[at + i] * unscale
    values, vectors = np.linalg.eigh(matrix)
    for k in range(dim):
        values[k] = max(values[k], 0.0) + ridge
    turned = np.dot(vectors.T, vector)
    for i in range(dim):
        theta[i] = 0.0
    for k in range(dim):
        weight = turned[k] / values[k]
        for i in range(dim):
            theta[i] += vectors[i, k] * weight
    scaled = np.zeros((dim, dim))
    for i in range(dim):
        for k in range(dim):
            scaled[i, k] = vectors[i, k] * math.sqrt(values[k])
    matrix[:] = np.dot(scaled, scaled.T)
    factor[:] = matrix
    linalg.cholesky(factor)
    for i in range(dim):
        for k in range(dim):
            deviation = math.sqrt(reward_variance / values[k] + parameter_variance / (values[k] * values[k]))
            scaled[i, k] = vectors[i, k] * deviation
    matrix[:] = np.dot(scaled, scaled.T)
    linalg.lower_root(matrix, whiten)
