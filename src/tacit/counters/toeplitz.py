"""Prefix sums under correlated noise, after every row or at the end of each segment. What it costs and why:
`toeplitz.md`; for segments that end at public times, `geometric.md`; on a lattice, `lattice.md`.

Fichtenberger, Henzinger and Upadhyay (2023); Dvijotham, McMahan, Pillutla, Steinke and Thakurta (2024).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.counters.counter import (
    AtTimes,
    EveryRow,
    Lattice,
    Load,
    PrefixCounter,
    add,
    add_exactly,
    add_in_steps,
    publish,
    release_times,
)
from tacit.noise import draw_symmetric, fill_normals
from tacit.pairs import added, nearest, scaled
from tacit.privacy.event import Event, ToeplitzEvent
from tacit.privacy.toeplitz import EIGHT_BUFFERS, Design


@dataclass(frozen=True)
class _Correlated(PrefixCounter):
    """What the two schedules have in common."""

    def in_doubles(self, scale: float) -> Buffers:
        return buffers(EIGHT_BUFFERS, scale)

    def on_lattice(self, lattice: Lattice) -> LatticeBuffers:
        return LatticeBuffers(lattice, coder(EIGHT_BUFFERS))

    def memory_rows(self, schedule: Any, lattice: bool) -> int:
        return memory_rows(EIGHT_BUFFERS) if lattice else len(empty_memory(EIGHT_BUFFERS, 1))


@dataclass(frozen=True)
class ToeplitzCounter(_Correlated):
    """After every row: row n is never released, so N = n − 1, and τ is that of the last view for every one."""

    horizon: int

    shift: ClassVar[float] = 2.0
    every_row: ClassVar[bool] = True

    def event(self, scale: float, sensitivity: float) -> Event:
        return ToeplitzEvent(scale, sensitivity, self.horizon - 1, EIGHT_BUFFERS, "one")

    def deviations(self) -> Floats:
        return np.array([EIGHT_BUFFERS.row_norm(self.horizon - 1)])

    def draws(self) -> Floats:
        return np.array([EIGHT_BUFFERS.row_sum(self.horizon - 1)])

    @property
    def views(self) -> int:
        return self.horizon

    def schedule(self, first: int) -> EveryRow:
        return EveryRow(self.horizon)

    def load(self, schedule: Any) -> Load:
        return Load(EIGHT_BUFFERS.column_sum(self.horizon - 1), self.horizon, self.horizon - 1)

    def scales(self, scale: float, spread: Floats, schedule: Any) -> dict[str, float]:
        return {"each fresh draw": scale, "last view": float(spread[0])}


@dataclass(frozen=True)
class GeometricCounter(_Correlated):
    """At the end of segments that grow geometrically: τ_k grows with k, not with the number of rounds."""

    ratio: Fraction
    most_views: int

    shift: ClassVar[float] = 3.0

    def event(self, scale: float, sensitivity: float) -> Event:
        return ToeplitzEvent(scale, sensitivity, self.most_views, EIGHT_BUFFERS, "many")

    def deviations(self) -> Floats:
        return _of_each(Design.row_norm, self.most_views).copy()

    def draws(self) -> Floats:
        return _of_each(Design.row_sum, self.most_views).copy()

    @property
    def views(self) -> int:
        return self.most_views

    def schedule(self, first: int) -> AtTimes:
        return AtTimes(release_times(first, self.ratio, self.most_views))

    def load(self, schedule: AtTimes) -> Load:
        lengths = np.diff(schedule.times, prepend=0).astype(np.float64)
        return Load(heaviest(EIGHT_BUFFERS, lengths), int(lengths.sum()), self.most_views, slack=1.1)

    def scales(self, scale: float, spread: Floats, schedule: AtTimes) -> dict[str, float]:
        return {
            "each fresh draw": scale,
            "first view": float(spread[0]),
            "last view": float(spread[len(schedule.times) - 1]),
        }


@lru_cache(maxsize=16)
def _of_each(number: Callable[[Design, int], float], views: int) -> Floats:
    """A number of each release. Every plan asks for two thousand of them, which took most of its time."""
    return np.array([number(EIGHT_BUFFERS, view) for view in range(1, views + 1)])


class Buffers(NamedTuple):
    """The public side: how much of each buffer is forgotten at a step, and how much of it is in the release."""

    scale: float  # s: of the one fresh draw per release
    forget: Floats  # (p,) ĝ
    weights: Floats  # (p,) λ
    floor: float  # b_∞
    shared: int = 0  # columns beside each matrix, which have a block of their own at the end


def buffers(design: Design, scale: float) -> Buffers:
    """The recurrence of `design` with fresh draws of scale s."""
    return Buffers(scale, np.array(design.zeros), np.array(design.zero_weights), float(design.floor))


def empty_memory(design: Design, size: int) -> Floats:
    """The secret side: P and E_1..E_p for rows of `size` numbers, and room for a fresh draw and what is published."""
    return np.zeros((len(design.zeros) + 3, size))


implements(add, Buffers)(add_exactly)


@implements(publish, Buffers)
@kernel
def publish_prefix(counter: Buffers, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:
    """All rows so far under correlated noise.

    Formal guarantee: N releases are μ-GDP for one replaced row, μ = κ_N·L̃²/s. Proof: toeplitz.md, and geometric.md
    where they come at the end of segments.
    """
    at = correlated_noise(counter, memory, dim, noise)
    out = memory[at]
    for k in range(out.shape[0]):
        out[k] = sums[k] + out[k]
    return at


@kernel
def correlated_noise(params: Buffers, memory: Floats, dim: int, noise: Any) -> int:
    """Draw the noise of the next release; returns the row of `memory` that holds it.

    At the t-th release its standard deviation is s·√(Σ_{k<t} b_k²).

    Formal guarantee: N calls, one per release, make the releases μ-GDP with μ = κ_N·L̃²/s for one replaced row.
    Requires: one call per release and never more than N; the row is read before the next call.
    """
    count = len(params.forget)
    plain, fresh, out = memory[count], memory[count + 1], memory[count + 2]
    draw_symmetric(noise, params.scale, dim, fresh, params.shared)
    for k in range(fresh.shape[0]):
        plain[k] += fresh[k]
        out[k] = params.floor * plain[k]
    for b in range(count):
        forget, weight, buffer = params.forget[b], params.weights[b], memory[b]
        for k in range(fresh.shape[0]):
            # E − ĝE + Z, not θ̂E + Z: the smallest gap is 1e-8, and 1 − 1e-8 would lose half its digits.
            buffer[k] = (buffer[k] - forget * buffer[k]) + fresh[k]
            out[k] += weight * buffer[k]
    return count + 2


class Coder(NamedTuple):
    """The public side: C as a recurrence over what comes in, and B as one over what was released."""

    poles: Floats  # (p,) g
    pole_weights: Floats  # (p,) ω
    zeros: Floats  # (p,) ĝ
    zero_weights: Floats  # (p,) λ
    floor: float  # b_∞


def coder(design: Design) -> Coder:
    """Both recurrences of `design`."""
    return Coder(
        np.array(design.poles),
        np.array(design.pole_weights),
        np.array(design.zeros),
        np.array(design.zero_weights),
        float(design.floor),
    )


def memory_rows(design: Design) -> int:
    """q_1..q_p as pairs (secret); E_1..E_p and P of what was released, the whole numbers last released, their prefix
    sum."""
    return 3 * len(design.poles) + 3


def heaviest(design: Design, lengths: Floats) -> float:
    """max_t Σ_s c_{t−s}·lengths_s: how many rows' worth a released number is at most, for segments of these lengths."""
    poles, weights = np.array(design.poles), design.pole_weights
    states, most = np.zeros(len(poles)), 0.0
    for length in lengths:
        most = max(most, float(length + weights @ states))
        states += length - poles * states
    return most * (1 + 1e-9)


class LatticeBuffers(NamedTuple):
    """The kernels' side on a lattice."""

    lattice: Lattice
    coder: Coder


implements(add, LatticeBuffers)(add_in_steps)


@implements(publish, LatticeBuffers)
@kernel
def publish_whole(
    counter: LatticeBuffers, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any
) -> int:
    """Release what has come in since the last release; what is published is the prefix sum.

        ŷ_t = [x_t + Σ_i ω_i q_i] + Z_t,   q_i ← q_i − g_i q_i + x_t,   published: B ŷ

    [·] is the nearest whole number, Z a discrete Gaussian; everything before it is in pairs of doubles.

    Formal guarantee: N calls are priced by `LatticeEvent(ToeplitzEvent(...))` for one replaced row. Proof: lattice.md.
    Requires: one call per release and never more than N; rows clipped and added by `add_in_steps`; `noise` a tape of
    discrete Gaussians.
    """
    coder, lattice = counter.coder, counter.lattice
    count, size = coder.poles.shape[0], sums.shape[1]
    plain, released, out = memory[3 * count], memory[3 * count + 1], memory[3 * count + 2]
    fill_normals(noise, released)
    for k in range(size):
        x_high, x_low = sums[0, k], sums[1, k]
        high, low = x_high, x_low
        for i in range(count):
            q_high, q_low = memory[i, k], memory[count + i, k]
            part_high, part_low = scaled(q_high, q_low, coder.pole_weights[i])
            high, low = added(high, low, part_high, part_low)
            part_high, part_low = scaled(q_high, q_low, -coder.poles[i])
            part_high, part_low = added(q_high, q_low, part_high, part_low)
            memory[i, k], memory[count + i, k] = added(part_high, part_low, x_high, x_low)
        sums[0, k] = 0.0
        sums[1, k] = 0.0
        released[k] += nearest(high, low)
    # From here on nothing is secret.
    for k in range(size):
        plain[k] += released[k]
        total = coder.floor * plain[k]
        for i in range(count):
            buffer = memory[2 * count + i]
            buffer[k] = (buffer[k] - coder.zeros[i] * buffer[k]) + released[k]
            total += coder.zero_weights[i] * buffer[k]
        out[k] = lattice.known[k] + lattice.steps[k] * total
    return int(3 * count + 2)
