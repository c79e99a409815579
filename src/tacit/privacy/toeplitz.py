"""Buffered linear Toeplitz (BLT) factorisations of the prefix-sum matrix: the public design, no noise and no data.

Let A be the N×N lower triangle of ones, A = B·C with both factors lower-triangular Toeplitz. Releasing B(Cx + Z) with
independent rows Z of scale s publishes every prefix sum of x; the privacy cost is that of one Gaussian release of Cx.
In a BLT the generating function of C is rational,

    c(z) = Π_i (1 − θ̂_i z)/(1 − θ_i z),      b(z) = 1/((1 − z)·c(z)),

so B is applied with one running buffer per pole. Dvijotham, McMahan, Pillutla, Steinke and Thakurta (2024). The
square-root factorisation it approximates is that of Fichtenberger, Henzinger and Upadhyay (2023).

All sums below are closed forms: O(p²) for p buffers, whatever N is. Poles and zeros are held as gaps, g = 1 − θ, since
the smallest is near 1e-8 and would lose half its digits as θ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit._validate import real, whole
from tacit.errors import BadInput

Array = NDArray[np.float64]

MAX_RELEASES = 2**26
"""What `EIGHT_BUFFERS` was optimised for; beyond it the design is still correct but no longer near-optimal."""

_CHUNK = 2**16


@dataclass(frozen=True)
class Design:
    """A BLT factorisation, given by the gaps of its poles and zeros, and valid for any number of releases.

    The gaps must interlace, 0 < g_1 < ĝ_1 < g_2 < ĝ_2 < … < 1. Then every weight below is positive, so no sum cancels,
    and c is non-negative and decreasing, which makes the first column of C the longest.

    Claims nothing about optimality: that depends on the gaps and on N.
    """

    poles: tuple[float, ...]  # g_i = 1 − θ_i
    zeros: tuple[float, ...]  # ĝ_i = 1 − θ̂_i

    def __post_init__(self) -> None:
        poles = tuple(real(f"poles[{i}]", gap) for i, gap in enumerate(self.poles))
        zeros = tuple(real(f"zeros[{i}]", gap) for i, gap in enumerate(self.zeros))
        if not poles or len(poles) != len(zeros):
            raise BadInput(f"Expected as many poles as zeros, at least one, got {len(poles)} and {len(zeros)}.")
        chain = [0.0, *(gap for pair in zip(poles, zeros, strict=True) for gap in pair), 1.0]
        for low, high in pairwise(chain):
            if not low < high:
                raise BadInput(
                    f"Expected gaps that interlace, 0 < poles[0] < zeros[0] < poles[1] < ... < 1, got {low!r} before "
                    f"{high!r}. Pass gaps 1 - theta, smallest first."
                )
        object.__setattr__(self, "poles", poles)
        object.__setattr__(self, "zeros", zeros)

    @cached_property
    def pole_weights(self) -> Array:
        """ω_j = Π_i (ĝ_i − g_j) / Π_{i≠j} (g_i − g_j), so that c_k = Σ_j ω_j θ_j^{k−1} for k ≥ 1."""
        poles, zeros = np.array(self.poles), np.array(self.zeros)
        return _frozen(_residues(at=poles, over=zeros))

    @cached_property
    def zero_weights(self) -> Array:
        """λ_j = −(1/ĝ_j)·Π_i (g_i − ĝ_j) / Π_{i≠j} (ĝ_i − ĝ_j), so that b_k = b_∞ + Σ_j λ_j θ̂_j^k."""
        poles, zeros = np.array(self.poles), np.array(self.zeros)
        return _frozen(-_residues(at=zeros, over=poles) / zeros)

    @cached_property
    def floor(self) -> float:
        """b_∞ = Π_i g_i/ĝ_i, the limit of b_k."""
        return float(np.prod(np.array(self.poles) / np.array(self.zeros)))

    def column_norm(self, releases: int) -> float:
        """κ_N, the length of the longest column of C for N releases: the sensitivity of Cx to one unit row.

            κ_N² = 1 + Σ_ij ω_i ω_j G(g_i ⊕ g_j, N − 1)

        Right for every N. Near-optimal only up to the N the design was made for.
        """
        count = whole("releases", releases)
        return math.sqrt(1 + _pair_sum(self.pole_weights, np.array(self.poles), count - 1))

    def row_norm(self, step: int) -> float:
        """sqrt(Σ_{k<t} b_k²), the standard deviation of the noise in release t for rows of unit scale.

        Non-decreasing in t: the last release is the noisiest.
        """
        count = whole("step", step)
        weights, zeros, floor = self.zero_weights, np.array(self.zeros), self.floor
        cross = float(weights @ _geometric(zeros, count))
        return math.sqrt(floor * floor * count + 2 * floor * cross + _pair_sum(weights, zeros, count))

    def column_sum(self, releases: int) -> float:
        """Σ_{k<N} c_k: how many rows' worth an entry of Cx is at most, for N rows."""
        count = whole("releases", releases)
        return float(1 + self.pole_weights @ _geometric(np.array(self.poles), count - 1))

    def row_sum(self, step: int) -> float:
        """Σ_{k<t} b_k."""
        count = whole("step", step)
        return float(self.floor * count + self.zero_weights @ _geometric(np.array(self.zeros), count))

    def worst_step(self, releases: int) -> float:
        """κ_N·sqrt(Σ_{k<N} b_k²): the noise of the last of N releases at μ = 1 and unit row sensitivity."""
        return self.column_norm(releases) * self.row_norm(releases)

    def burst_norm(self, releases: int, rounds: int) -> float:
        """κ_{N,k}, the sensitivity of Cx to k unit rows of one person, placed as badly as possible.

            κ_{N,k}² = Σ_{t<N} (Σ_{j<k} c_{t−j})²,  c_{<0} = 0

        The worst placement is the first k rows: inner products of columns of C are non-negative and shrink with
        distance and with position. More rounds than releases are as bad as one row in every release.
        """
        count = whole("releases", releases)
        burst = min(whole("rounds", rounds), count)
        poles, weights = np.array(self.poles), self.pole_weights
        head = 0.0  # t < k: squares of the partial sums 1 + Σ_i ω_i G(g_i, t)
        for start in range(0, burst, _CHUNK):
            steps = np.arange(start, min(start + _CHUNK, burst), dtype=np.float64)
            partial = 1 + weights @ _geometric(poles[:, None], steps)
            head += float(partial @ partial)
        return math.sqrt(head + _pair_sum(weights * _geometric(poles, burst), poles, count - burst))

    def column_coefficients(self, n: int) -> Array:
        """c_0, …, c_{n−1}: the first column of C. For references; O(n) memory."""
        exponents = np.arange(whole("n", n) - 1, dtype=np.float64)
        decay = np.exp(exponents[:, None] * np.log1p(-np.array(self.poles)))
        return np.concatenate(([1.0], decay @ self.pole_weights))

    def row_coefficients(self, n: int) -> Array:
        """b_0, …, b_{n−1}: the last row of B, read backwards. For references; O(n) memory."""
        exponents = np.arange(whole("n", n), dtype=np.float64)
        decay = np.exp(exponents[:, None] * np.log1p(-np.array(self.zeros)))
        return np.asarray(self.floor + decay @ self.zero_weights, dtype=np.float64)


EIGHT_BUFFERS = Design(
    poles=(
        1.4123023e-08,
        2.5759408e-07,
        2.7877545e-06,
        2.9615951e-05,
        3.1446613e-04,
        3.3344327e-03,
        3.4848432e-02,
        3.1462193e-01,
    ),
    zeros=(
        7.2545570e-08,
        8.5401486e-07,
        9.0883086e-06,
        9.6509627e-05,
        1.0244066e-03,
        1.0825274e-02,
        1.0918431e-01,
        7.1869754e-01,
    ),
)
"""Eight buffers, optimised for 2^26 releases and within 0.1 % of the square-root factorisation for any fewer."""


def square_root_coefficients(n: int) -> Array:
    """f_0, …, f_{n−1}, the coefficients of (1 − z)^{−1/2}: B = C is the square root of the prefix-sum matrix.

        f_0 = 1,  f_k = f_{k−1}·(2k − 1)/(2k)

    Fichtenberger, Henzinger and Upadhyay (2023). As a mechanism it must remember the noise of every release: for few.
    """
    steps = np.arange(1, whole("n", n), dtype=np.float64)
    return np.concatenate(([1.0], np.cumprod((2 * steps - 1) / (2 * steps))))


def square_root_norm(releases: int) -> float:
    """√(Σ_{k<N} f_k²), the length of the longest column of that C for N releases. O(N)."""
    return math.sqrt(math.fsum(square_root_coefficients(releases) ** 2))


def _residues(*, at: Array, over: Array) -> Array:
    """Π_i (over_i − at_j) / Π_{i≠j} (at_i − at_j) for each j, factor by factor so that nothing under- or overflows."""
    numerator = over[:, None] - at[None, :]
    denominator = at[:, None] - at[None, :]
    np.fill_diagonal(denominator, 1.0)
    return np.asarray(np.prod(numerator / denominator, axis=0), dtype=np.float64)


def _geometric(gap: Array, count: int | Array) -> Array:
    """G(g, t) = (1 − (1 − g)^t)/g = Σ_{k<t} (1 − g)^k, to full relative precision for small g."""
    return np.asarray(-np.expm1(count * np.log1p(-gap)) / gap, dtype=np.float64)


def _pair_sum(weights: Array, gaps: Array, count: int) -> float:
    """Σ_{k<t} (Σ_i w_i (1 − g_i)^k)² = Σ_ij w_i w_j G(g_i ⊕ g_j, t), g ⊕ h = g + h − gh."""
    joined = gaps[:, None] + gaps[None, :] - gaps[:, None] * gaps[None, :]
    return float(weights @ _geometric(joined, count) @ weights)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
