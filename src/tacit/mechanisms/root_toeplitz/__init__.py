"""Noise for a few prefix sums, every draw remembered: correlated by the square root of the prefix sum, or plainly added
up. What each costs and why: `proof.md`.

Fichtenberger, Henzinger and Upadhyay (2023); Denisov, McMahan, Rush, Smith and Thakurta (2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.noise import fill_normals
from tacit.privacy.toeplitz import square_root_coefficients


def root_weights(releases: int) -> Floats:
    """c_0, …, c_{N−1} of the square root: price √(Σ c_k²)·Δ/σ, `RootToeplitzEvent`."""
    return square_root_coefficients(releases)


def sum_weights(releases: int) -> Floats:
    """Ones: each increment is released with a draw of its own, and the draws add up. Price Δ/s, `SegmentsEvent`."""
    return np.ones(releases)


def noise_variances(scale: float, weights: Floats) -> Floats:
    """Of one coordinate of the noise in each release: scale²·Σ_{k<l} c_k² for l = 1, …, N."""
    variances: Floats = scale**2 * np.cumsum(weights**2)
    return variances


@kernel
def prefix_noise(scale: float, weights: Floats, draws: Floats, release: int, out: Floats, noise: Any) -> None:
    """Overwrite `out` with the noise of release number `release` (0-based), scale·Σ_{m≤l} c_{l−m} z_m.

    Row l of `draws` becomes z_l, the only fresh one; the rows before it stay. They are as secret as the sums.

    Formal guarantee: N calls, one per release, make the releases μ-GDP for one replaced summand of length ≤ Δ:
    μ = √(Σ_{k<N} c_k²)·Δ/scale with `root_weights`, μ = Δ/scale with `sum_weights`.
    Requires: calls with release = 0, 1, 2, … < N, once each, and every call's `out` is released.
    """
    fresh = draws[release]
    fill_normals(noise, fresh)
    for i in range(out.shape[0]):
        out[i] = 0.0
    for m in range(release + 1):
        weight, draw = scale * weights[release - m], draws[m]
        for i in range(out.shape[0]):
            out[i] += weight * draw[i]
