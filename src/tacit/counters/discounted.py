"""Sums that forget: at the end of each segment what came before is discounted, and the result is released with noise of
its own. What is published is their best combination. Price and proof: `discounted.md`; on a lattice, `lattice.md`."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from tacit.noise import draw_symmetric, draw_vectors, fill_normals
from tacit.pairs import added, nearest, scaled
from tacit.privacy.event import DiscountedEvent, Event


@dataclass(frozen=True)
class DiscountedCounter(PrefixCounter):
    """At the end of segments that grow by `ratio`: D_k = ρ·D_{k−1} + x_k with ρ = 1/ratio, released as D_k + z_k.

    D_k holds m_k = ρ·m_{k−1} + n_k rows' worth, n_k the rows of segment k: public numbers. What is published after t_k
    rows in all is t_k·Σ_j m_j(D_j + z_j)/Σ_j m_j², whose noise is the least that weights can give it.
    """

    ratio: Fraction
    first: int  #: the row of the first release
    last: int  #: no release is later
    before: int = 0  #: rows that are in no segment
    times: tuple[int, ...] | None = None  #: of the releases, once they are known; until then the earliest there can be
    vectors_only: bool = False  #: matrices are public and released as they are; noise is on the vectors

    shift: ClassVar[float] = 3.0
    one_martingale: ClassVar[bool] = False

    @property
    def keep(self) -> float:
        """ρ."""
        return float(1 / self.ratio)

    def event(self, scale: float, sensitivity: float) -> Event:
        return DiscountedEvent(scale, sensitivity, self.views, self.keep)

    def deviations(self) -> Floats:
        mass, rows = self._masses()
        found: Floats = rows / np.sqrt(np.cumsum(mass**2))
        return found

    def draws(self) -> Floats:
        mass, rows = self._masses()
        found: Floats = rows * np.cumsum(mass) / np.cumsum(mass**2)
        return found

    @property
    def views(self) -> int:
        return len(self.schedule(self.first).times)

    def schedule(self, first: int) -> AtTimes:
        times = release_times(first - self.before, self.ratio, 4096) + self.before
        return AtTimes(times[: max(1, int(np.searchsorted(times, self.last, "right")))])

    def timed(self, schedule: AtTimes) -> DiscountedCounter:
        return replace(self, times=tuple(schedule.times.tolist()))

    def load(self, schedule: AtTimes) -> Load:
        mass, rows = self.timed(schedule)._masses()
        return Load(float(mass.max()) * (1 + 1e-9), int(rows[-1]), len(mass), slack=1.1)

    def in_doubles(self, scale: float) -> Discounted:
        return Discounted(scale, self.keep, *self._weights(), self.vectors_only)

    def on_lattice(self, lattice: Lattice) -> LatticeDiscounted:
        return LatticeDiscounted(lattice, self.keep, *self._weights(), self.vectors_only)

    def memory_rows(self, schedule: Any, lattice: bool) -> int:
        return 5 if lattice else 4

    def scales(self, scale: float, spread: Floats, schedule: AtTimes) -> dict[str, float]:
        return {"each segment": scale, "first view": float(spread[0]), "last view": float(spread[-1])}

    def _masses(self) -> tuple[Floats, Floats]:
        """m_k, and how many rows there are in all segments so far."""
        times = self.schedule(self.first).times if self.times is None else np.array(self.times)
        rows = (times - self.before).astype(np.float64)
        mass, kept = np.diff(rows, prepend=0.0), 0.0
        for k in range(len(mass)):
            kept = mass[k] = self.keep * kept + mass[k]
        return mass, rows

    def _weights(self) -> tuple[Floats, Floats]:
        """m_k, and what the combination is multiplied by."""
        mass, rows = self._masses()
        return mass, rows / np.cumsum(mass**2)


class Discounted(NamedTuple):
    """The kernels' side in double precision. Memory: D (secret), D + z, Σ m·(D + z), what is published."""

    scale: float  # s
    keep: float  # ρ
    mass: Floats  # (R,) m_k
    factor: Floats  # (R,) t_k/Σ m²
    vectors_only: bool
    shared: int = 0  # columns beside each matrix, which have a block of their own at the end


class LatticeDiscounted(NamedTuple):
    """The kernels' side on a lattice. Memory: D as a pair (secret), the whole numbers released, Σ m·them, what is
    published."""

    lattice: Lattice
    keep: float
    mass: Floats
    factor: Floats
    vectors_only: bool


implements(add, Discounted)(add_exactly)
implements(add, LatticeDiscounted)(add_in_steps)


@implements(publish, Discounted)
@kernel
def _publish(counter: Discounted, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:
    """Discount what came before, add this segment, release the result.

    Formal guarantee: all releases together are μ-GDP for one replaced row, μ = L̃²/(s√(1 − ρ²)). What is published is
    post-processing of them. Proof: discounted.md.
    Requires: called once per segment, in order; rows clipped and added by `add_exactly`.
    """
    mass, factor = counter.mass[stage], counter.factor[stage]
    kept, released, total, out = memory[0], memory[1], memory[2], memory[3]
    if counter.vectors_only:
        draw_vectors(noise, counter.scale, dim, released)
    else:
        draw_symmetric(noise, counter.scale, dim, released, counter.shared)
    for k in range(out.shape[0]):
        kept[k] = counter.keep * kept[k] + sums[k]
        sums[k] = 0.0
        released[k] += kept[k]
    # From here on nothing is secret.
    for k in range(out.shape[0]):
        total[k] += mass * released[k]
        out[k] = factor * total[k]
    return 3


@implements(publish, LatticeDiscounted)
@kernel
def _publish_whole(
    counter: LatticeDiscounted, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any
) -> int:
    """The same in whole steps: D is rounded and gets a discrete Gaussian. Priced by `LatticeEvent(DiscountedEvent(…))`.

    Proof: lattice.md. Requires: as above, with `add_in_steps`; `noise` a tape of discrete Gaussians.
    """
    lattice, mass, factor = counter.lattice, counter.mass[stage], counter.factor[stage]
    released, total, out = memory[2], memory[3], memory[4]
    if counter.vectors_only:
        draw_vectors(noise, 1.0, dim, released)
    else:
        fill_normals(noise, released)
    for k in range(out.shape[0]):
        high, low = scaled(memory[0, k], memory[1, k], counter.keep)
        high, low = added(high, low, sums[0, k], sums[1, k])
        memory[0, k], memory[1, k] = high, low
        sums[0, k] = 0.0
        sums[1, k] = 0.0
        released[k] += nearest(high, low)
    # From here on nothing is secret.
    for k in range(out.shape[0]):
        total[k] += mass * released[k]
        out[k] = lattice.known[k] + lattice.steps[k] * factor * total[k]
    return 4
