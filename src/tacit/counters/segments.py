"""A sum of vectors published a few times, every draw remembered: noise correlated by the square root of the prefix
sum, or drawn for each segment and plainly added up. What each costs and why: `segments.md`; on a lattice, `lattice.md`.

On a lattice what is published is B(Cx + Z) with B·C the prefix sum. With the square root of the prefix sum both factors
are that root; with independent noise on each segment C is the identity, and B sums up.

Fichtenberger, Henzinger and Upadhyay (2023); Denisov, McMahan, Rush, Smith and Thakurta (2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.counters.counter import Counter, add, publish
from tacit.noise import fill_normals
from tacit.pairs import added, added_one, nearest, scaled
from tacit.privacy.event import Event, RootToeplitzEvent, SegmentsEvent
from tacit.privacy.toeplitz import square_root_coefficients


@dataclass(frozen=True)
class SegmentsCounter(Counter):
    """A vector published at most so many times, whenever its owner says."""

    most: int
    plain: bool = False  #: noise of its own for each segment, plainly added up

    @property
    def weights(self) -> Floats:
        """Of the draw k releases ago in the noise."""
        return sum_weights(self.most) if self.plain else root_weights(self.most)

    def event(self, scale: float, sensitivity: float) -> Event:
        return SegmentsEvent(scale, sensitivity) if self.plain else RootToeplitzEvent(scale, sensitivity, self.most)

    def deviations(self) -> Floats:
        found: Floats = np.sqrt(noise_variances(1.0, self.weights))
        return found

    def draws(self) -> Floats:
        return np.cumsum(self.weights)

    def in_doubles(self, scale: float) -> Segments:
        return Segments(scale, self.weights)

    def on_lattice(self, scale: float, step: float) -> LatticeSegments:
        """The kernels' side on a lattice of this step; noise is drawn in steps."""
        encoder = identity_weights(self.most) if self.plain else self.weights
        return LatticeSegments(scale, step, encoder, self.weights)

    def sums(self, dim: int, lattice: bool) -> Floats:
        """Before anyone has come: one sum, or on a lattice a pair for each segment."""
        return np.zeros((2, self.most + 1, dim) if lattice else (1, 1, dim))

    def memory(self, dim: int) -> Floats:
        """What is remembered of each release, and a row for what is published."""
        return np.zeros((self.most + 1, dim))


class Segments(NamedTuple):
    """The kernels' side in double precision. The secret sum is `sums[0, 0]`; memory holds the draws, then a row for
    what is published."""

    scale: float  # of one draw; 0: no noise
    weights: Floats  # (L,) w_k: how much of the draw k releases ago is in the noise


class LatticeSegments(NamedTuple):
    """The kernels' side on a lattice. Secret sums are pairs, one per segment: (2, L + 1, d); memory holds what was
    released in whole numbers, then a row for what is published."""

    scale: float  # of one draw, in the unit of the sums
    step: float  # h
    encoder: Floats  # (L,) of C
    weights: Floats  # (L,) of B


@implements(add, Segments)
@kernel
def _add(counter: Segments, x: Floats, y: float, dim: int, sums: Floats) -> None:
    for i in range(dim):
        sums[0, i] += x[i] * y


@implements(add, LatticeSegments)
@kernel
def _add_in_steps(counter: LatticeSegments, x: Floats, y: float, dim: int, sums: Floats) -> None:
    for i in range(dim):
        sums[0, i], sums[1, i] = added_one(sums[0, i], sums[1, i], x[i] * y / counter.step)


@implements(publish, Segments)
@kernel
def _publish(counter: Segments, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:
    """Formal guarantee: μ-GDP for one replaced summand, μ = √(Σ w_k²)·Δ/scale, or Δ/scale with the plain sum. Proof:
    segments.md."""
    last: int = memory.shape[0] - 1
    out, secret = memory[last], sums[0, 0]
    if counter.scale > 0.0:
        prefix_noise(counter.scale, counter.weights, memory, stage, out, noise)
    else:
        for i in range(dim):
            out[i] = 0.0
    for i in range(dim):
        out[i] = secret[i] + out[i]
    return last


@implements(publish, LatticeSegments)
@kernel
def _publish_whole(
    counter: LatticeSegments, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any
) -> int:
    """Priced by `LatticeEvent` of `RootToeplitzEvent`, or of `SegmentsEvent` with the plain sum. Proof: lattice.md."""
    last: int = memory.shape[0] - 1
    release_root(counter.encoder, counter.weights, counter.step, sums, memory, stage, memory[last], noise)
    return last


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


def identity_weights(releases: int) -> Floats:
    """1, 0, 0, …: of C where every increment is released by itself."""
    weights = np.zeros(releases)
    weights[0] = 1.0
    return weights


@kernel
def release_root(
    encoder: Floats,
    decoder: Floats,
    step: float,
    segments: Floats,
    released: Floats,
    release: int,
    out: Floats,
    noise: Any,
) -> None:
    """Overwrite `out` with the prefix sum published by release number `release` (0-based).

    `segments`, of shape (2, N, d), holds what came in before each release, in steps and as pairs, this one included;
    row l of `released` becomes the whole numbers of this release, the rows before it stay.

    Formal guarantee: N calls are priced by `LatticeEvent` of `RootToeplitzEvent`, or of `SegmentsEvent` with
    `identity_weights`. Proof: lattice.md.
    Requires: calls with release = 0, 1, 2, … < N, once each; `noise` a tape of discrete Gaussians.
    """
    fresh = released[release]
    fill_normals(noise, fresh)
    for k in range(out.shape[0]):
        high, low = 0.0, 0.0
        for m in range(release + 1):
            part_high, part_low = scaled(segments[0, m, k], segments[1, m, k], encoder[release - m])
            high, low = added(high, low, part_high, part_low)
        fresh[k] += nearest(high, low)
    # From here on nothing is secret.
    for k in range(out.shape[0]):
        total = 0.0
        for m in range(release + 1):
            total += decoder[release - m] * released[m, k]
        out[k] = step * total
