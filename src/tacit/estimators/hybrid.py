"""The estimate of the hybrid model: a part that all arms share and a part of each arm, from sums that have noise.

The matrix of all parts has an arrow's shape. Arms are eliminated one by one, what is left is a matrix of the size of
the shared part, and nothing of the size of all arms is ever made: K·p³ + K·p²·s + s³ a release. What is computed, how
noise is kept out of it, and what is said of errors: `hybrid.md`. No theorem on regret is claimed. Everything here is
computed from what was published, so the promise does not depend on it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel, library_kernel
from tacit._types import Floats
from tacit.estimators.by_arm import ArmsView, fit_arms
from tacit.estimators.noise_aware import NoiseAware


class Hybrid(NamedTuple):
    """The numbers of the estimate: those of noise-aware ones for each arm, and two of the shared part."""

    unscale: float  # 1/ζ
    ridge: Floats  # λ of the matrix of an arm
    reward_variance: float  # σ²
    parameter_variance: Floats  # t² = τ_v² + S²τ²
    multiplier: float  # κ₁
    shared_ridge: Floats  # λ_0
    deviation: Floats  # τ


def hybrid_of(own: NoiseAware, *, spread: Floats, shared: int, ridge: float, least: float) -> Hybrid:
    """For s shared features and sums whose entries have noise of standard deviations `spread`: λ_0 = κ·τ√s + the least
    ridge."""
    return Hybrid(*own, shared_ridge=ridge * spread * math.sqrt(shared) + least, deviation=spread)


@implements(fit_arms, Hybrid)
@kernel
def _fit_hybrid(estimate: Hybrid, published: Floats, stage: int, view: ArmsView) -> int:
    at = min(stage, estimate.ridge.shape[0] - 1)
    eliminate(
        published,
        estimate.unscale,
        estimate.ridge[at],
        estimate.shared_ridge[at],
        estimate.deviation[at],
        estimate.reward_variance,
        estimate.parameter_variance[at],
        view,
    )
    for arm in range(view.width.shape[0]):
        view.width[arm] = estimate.multiplier
    return 0  # clipping is what is meant, and no repair


@library_kernel
def eliminate(
    published: Floats,
    unscale: float,
    ridge: float,
    shared_ridge: float,
    deviation: float,
    reward_variance: float,
    parameter_variance: float,
    view: Any,
) -> None:
    """Write θ̃_k, T_k and M_k of each arm, θ̃_0 and M_0 of the shared part, and what their errors have in common."""
    arms, width = view.theta.shape
    shared = view.shared.shape[0]
    left, vector, ties_squared = np.zeros((shared, shared)), np.zeros(shared), np.eye(shared)
    at = unpack(published, arms * linalg.block_size(width, shared), left, np.zeros((shared, 0)), vector, unscale)
    matrix, beside, own = np.zeros((width, width)), np.zeros((width, shared)), np.zeros(width)
    at = 0
    for arm in range(arms):
        at = unpack(published, at, matrix, beside, own, unscale)
        inverse = clipped_inverse(matrix, ridge)
        bias = 0.0
        for i in range(width):
            kept = max(0.0, 1.0 - deviation * deviation * shared / max(linalg.dot(beside[i], beside[i]), 1e-300))
            bias += kept * kept * deviation * deviation * inverse[i, i]
            for j in range(shared):
                beside[i, j] *= kept
        view.theta[arm] = np.dot(inverse, own)
        view.ties[arm] = np.dot(inverse, beside)
        view.cross[arm] = parameter_variance * np.dot(inverse, view.ties[arm])
        view.spread[arm] = reward_variance * inverse + parameter_variance * np.dot(inverse, inverse)
        left -= np.dot(beside.T, view.ties[arm])
        for j in range(shared):
            left[j, j] += bias
        vector -= np.dot(beside.T, view.theta[arm])
        ties_squared += np.dot(view.ties[arm].T, view.ties[arm])
    inverse = clipped_inverse(left, shared_ridge)
    view.shared[:] = np.dot(inverse, vector)
    view.shared_spread[:] = reward_variance * inverse + parameter_variance * np.dot(
        np.dot(inverse, ties_squared), inverse
    )
    for arm in range(arms):
        view.cross[arm] = np.dot(view.cross[arm], inverse)


@kernel
def unpack(packed: Floats, at: int, matrix: Floats, beside: Floats, vector: Floats, unscale: float) -> int:
    """A block that begins `at` this number: its symmetric matrix, the columns beside it, its vector. Returns where the
    next one begins."""
    dim, columns = beside.shape
    for i in range(dim):
        for j in range(i, dim + columns):
            if j < dim:
                matrix[i, j] = matrix[j, i] = packed[at]
            else:
                beside[i, j - dim] = packed[at]
            at += 1
    for i in range(dim):
        vector[i] = packed[at + i] * unscale
    following: int = at + dim
    return following


@library_kernel
def clipped_inverse(matrix: Floats, ridge: float) -> Floats:
    """(matrix, with eigenvalues clipped at 0, + ridge·I)⁻¹."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    scaled = vectors / (np.maximum(values, 0.0) + ridge)
    inverse: Floats = np.dot(scaled, vectors.T)
    return inverse
