"""The last few segments, each released once with noise of its own: for worlds that drift. Its price: `window.md`; on
a lattice, `lattice.md`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.counters.counter import (
    AtTimes,
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
from tacit.pairs import nearest
from tacit.privacy.event import Event, SegmentsEvent


@dataclass(frozen=True)
class WindowCounter(PrefixCounter):
    """Each segment released once with noise of its own, V from the last w of them: τ_k = s·√min(k, w)."""

    ratio: Fraction
    most_views: int
    window: int

    shift: ClassVar[float] = 3.0
    one_martingale: ClassVar[bool] = False

    def event(self, scale: float, sensitivity: float) -> Event:
        return SegmentsEvent(scale=scale, sensitivity=sensitivity)

    def deviations(self) -> Floats:
        found: Floats = np.sqrt(self.draws())
        return found

    def draws(self) -> Floats:
        found: Floats = np.minimum(np.arange(1.0, self.most_views + 1), self.window)
        return found

    @property
    def views(self) -> int:
        return self.most_views

    def schedule(self, first: int) -> AtTimes:
        return AtTimes(release_times(first, self.ratio, self.most_views))

    def load(self, schedule: AtTimes) -> Load:
        lengths = np.diff(schedule.times, prepend=0).astype(np.float64)
        return Load(float(lengths.max()), int(lengths.sum()), 1, slack=1.1)

    def in_doubles(self, scale: float) -> Ring:
        return Ring(scale)

    def on_lattice(self, lattice: Lattice) -> LatticeRing:
        return LatticeRing(lattice)

    def memory_rows(self, schedule: AtTimes, lattice: bool) -> int:
        return self._ring(schedule) + 1

    def scales(self, scale: float, spread: Floats, schedule: AtTimes) -> dict[str, float]:
        return {"each segment": scale, "full window": float(spread[self._ring(schedule) - 1])}

    def _ring(self, schedule: AtTimes) -> int:
        return min(self.window, len(schedule.times))


class Ring(NamedTuple):
    """The kernels' side in double precision."""

    scale: float  # s of a segment
    shared: int = 0  # columns beside each matrix, which have a block of their own at the end


class LatticeRing(NamedTuple):
    """The kernels' side on a lattice."""

    lattice: Lattice


implements(add, Ring)(add_exactly)
implements(add, LatticeRing)(add_in_steps)


def empty_memory(window: int, size: int) -> Floats:
    """A ring of the last `window` segments *as released*, and a row for their sum."""
    return np.zeros((window + 1, size))


@implements(publish, Ring)
@kernel
def publish_window(counter: Ring, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:
    """Release this segment and forget its exact sums; what is published is the sum of the last few.

    Formal guarantee: the released segments are μ-GDP with μ = L̃²/s for one replaced row. Everything in `memory` is
    post-processing of them. Proof: window.md.
    Requires: called once per segment, in order, with the exact sums of that segment alone.
    """
    window = memory.shape[0] - 1
    slot, out = memory[stage % window], memory[window]
    draw_symmetric(noise, counter.scale, dim, slot, counter.shared)
    for k in range(slot.shape[0]):
        slot[k] += sums[k]
        sums[k] = 0.0
    _add_up(memory, stage, out)
    return int(window)


@implements(publish, LatticeRing)
@kernel
def publish_whole(
    counter: LatticeRing, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any
) -> int:
    """The same in whole numbers. Priced by `LatticeEvent(SegmentsEvent(...))` for one replaced row; proof: lattice.md.

    Requires besides: `noise` a tape of discrete Gaussians.
    """
    window, lattice = memory.shape[0] - 1, counter.lattice
    slot, out = memory[stage % window], memory[window]
    fill_normals(noise, slot)
    for k in range(slot.shape[0]):
        slot[k] += nearest(sums[0, k], sums[1, k])
        sums[0, k] = 0.0
        sums[1, k] = 0.0
    _add_up(memory, stage, out)
    for k in range(out.shape[0]):
        out[k] = lattice.known[k] + lattice.steps[k] * out[k]
    return int(window)


@kernel
def _add_up(memory: Floats, stage: int, out: Floats) -> None:
    """Afresh: a running sum with subtractions would drift."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    for place in range(min(memory.shape[0] - 1, stage + 1)):
        segment = memory[place]
        for k in range(out.shape[0]):
            out[k] += segment[k]
