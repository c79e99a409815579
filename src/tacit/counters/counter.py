"""What a counter is: three verbs in kernels, and in Python what its noise costs and how large it is.

A row is added by `add`, and when `due` says so, `publish` writes the sums of all rows so far under noise into the
counter's memory. What comes after reads that row of memory and nothing else.

Noise is drawn in double precision, or exactly and in whole numbers, on a lattice: sums are then kept in steps, in pairs
of doubles that lose far less than a step, rounded, and noised by a discrete Gaussian. All arithmetic after that is
post-processing, so no low bit of a double can tell anything that the price does not cover (`lattice.md`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel, verb
from tacit._types import Floats, Ints
from tacit.errors import BadInput
from tacit.noise import LARGEST_SCALE, DiscreteGaussian, DiscreteLaplace, Law
from tacit.pairs import added_one
from tacit.privacy.accountant import SMOOTHING, price
from tacit.privacy.calibrate import calibrate
from tacit.privacy.event import EitherEvent, Event, LaplaceEvent, LatticeEvent
from tacit.privacy.promise import AnyPromise

# Verbs ----------------------------------------------------------------------------------------------------------------


@verb
def due(schedule: Any, row: int, stage: int) -> bool:  # type: ignore[empty-body]
    """Whether there is a release after row number `row` (1-based), after so many releases. A function of public numbers
    alone."""


@verb
def add(counter: Any, x: Floats, y: float, dim: int, sums: Floats) -> None:
    """Add a row to the exact sums: the first `dim` numbers of `x`, and y. Sums that are larger than a packed matrix and
    a vector have columns beside the matrix, for the numbers of `x` that come next."""


@verb
def publish(counter: Any, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:  # type: ignore[empty-body]
    """Release the sums of all rows so far; returns the row of `memory` that holds what is published.

    The last function that sees an exact sum. Called once per release, in order, when `due` says so.
    """


# When -----------------------------------------------------------------------------------------------------------------


class EveryRow(NamedTuple):
    """After every row, or where there is a horizon after every row but the last."""

    horizon: int = 2**62


class AtTimes(NamedTuple):
    """At public times, fixed before anyone arrives."""

    times: Ints  # t_1 < t_2 < …


class EveryBatch(NamedTuple):
    """Whenever so many rows are complete."""

    batch: int


@implements(due, EveryRow)
@kernel
def _due_every_row(schedule: EveryRow, row: int, stage: int) -> bool:
    return row < schedule.horizon


@implements(due, AtTimes)
@kernel
def _due_at_times(schedule: AtTimes, row: int, stage: int) -> bool:
    return stage < schedule.times.shape[0] and bool(row == schedule.times[stage])


@implements(due, EveryBatch)
@kernel
def _due_every_batch(schedule: EveryBatch, row: int, stage: int) -> bool:
    return row % schedule.batch == 0


#: Release times beyond this are out of reach and are left out of the plan.
_LAST = 2**62


def release_times(first: int, ratio: Fraction, views: int) -> Ints:
    """t_1 = first, t_{k+1} = max(t_k + 1, ⌈ratio·t_k⌉), in whole numbers (floats would round some of them up).

    Public, so each datum lies in one segment, and no price is paid for when: `geometric.md`.
    """
    if first > _LAST:
        raise BadInput(
            f"Expected a first release within 2**62 rows, got one after {float(first):.3g}. So much noise drowns every "
            "row: ask for a larger epsilon, or declare an action_norm closer to the actions' true length."
        )
    times = [first]
    while len(times) < views:
        last = times[-1]
        following = max(last + 1, -(-ratio.numerator * last // ratio.denominator))
        if following > _LAST:
            break
        times.append(following)
    return np.array(times, np.int64)


def within(schedule: Any, rows: int) -> Any:
    """The schedule as far as so many rows can reach: of release times the first in any case."""
    if not isinstance(schedule, AtTimes):
        return schedule
    times = schedule.times
    if times[0] > MOST_ROWS:
        raise BadInput(
            f"Expected a first release within {MOST_ROWS:,} rows, which are the most on a lattice, got one after "
            f"{times[0]:,}. Ask for a larger epsilon."
        )
    return AtTimes(times[: max(1, int(np.searchsorted(times, rows, "right")))])


def rows_within(horizon: int | None) -> int:
    """How many rows a learner on a lattice takes."""
    return MOST_ROWS if horizon is None else min(MOST_ROWS, horizon)


# What is declared -----------------------------------------------------------------------------------------------------


class Load(NamedTuple):
    """What a lattice must hold."""

    weight: float  # how many rows' worth one released number is at most
    rows: int  # how many rows there are at most
    releases: int  # how many releases a number of the memory goes through
    slack: float = 1.0  # by how much the weight may grow: with more noise the first release is later, segments longer


@dataclass(frozen=True)
class Counter(ABC):
    """A way to publish sums: what is released about a row, how much noise is in each release, and the kernels.

    Noise has a scale s; a number of release k has noise of standard deviation s·deviations()[k − 1]. Who writes a
    counter owes the proof of its event.
    """

    @abstractmethod
    def event(self, scale: float, sensitivity: float) -> Event:
        """What all releases together say about one row that moves its sums by at most `sensitivity`."""

    @abstractmethod
    def deviations(self) -> Floats:
        """τ_k/s of each release; the last entry serves all later ones."""

    @abstractmethod
    def draws(self) -> Floats:
        """How many draws, each with the size of its weight, are in a number of each release."""

    @abstractmethod
    def in_doubles(self, scale: float) -> Any:
        """The kernels' side, with noise of scale s in double precision."""


@dataclass(frozen=True)
class PrefixCounter(Counter):
    """A counter of packed rows [x xᵀ, x·y], and when it publishes: what a linear policy releases.

    Noise is symmetric: entries of view k have standard deviation τ_k, √2·τ_k on the diagonal.
    """

    shift: ClassVar[float]  #: c: the regulariser in units of the noise bound, unless it is told
    every_row: ClassVar[bool] = False  #: whether there is a view after every row
    one_martingale: ClassVar[bool] = True  #: whether all views hold all rows; if not, each has a martingale of its own

    @property
    @abstractmethod
    def views(self) -> int:
        """How many views there can be."""

    @abstractmethod
    def schedule(self, first: int) -> Any:
        """When, if a view before row `first` is not worth its name."""

    def timed(self, schedule: Any) -> PrefixCounter:
        """The counter for exactly these release times, where its noise or its kernels depend on them."""
        return self

    @abstractmethod
    def load(self, schedule: Any) -> Load:
        """What a lattice must hold."""

    @abstractmethod
    def on_lattice(self, lattice: Lattice) -> Any:
        """The kernels' side on a lattice; noise is drawn in steps."""

    @abstractmethod
    def memory_rows(self, schedule: Any, lattice: bool) -> int:
        """Rows of the memory that the kernels need."""

    @abstractmethod
    def scales(self, scale: float, spread: Floats, schedule: Any) -> dict[str, float]:
        """What the card says of the noise, the scale of a draw first; `spread` is τ_k of each view."""


# Double precision -----------------------------------------------------------------------------------------------------


@kernel
def add_exactly(counter: Any, x: Floats, y: float, dim: int, sums: Floats) -> None:
    """sums += (upper triangle of x xᵀ, x·y)."""
    linalg.add_outer(x, y, dim, sums, columns_beside(dim, sums))


@kernel
def columns_beside(dim: int, sums: Floats) -> int:
    """How many columns a block of these sums has beside its matrix."""
    count: int = (sums.shape[sums.ndim - 1] - linalg.block_size(dim)) // dim
    return count


# A lattice ------------------------------------------------------------------------------------------------------------

#: ρ: by how many steps at most a number is rounded: half a step, and a hundredth for what pairs of doubles lose.
ROUNDING = 0.51
#: Rows that a learner on a lattice learns from at most: the fewer there may be, the finer its steps.
MOST_ROWS = 2**34
#: What to do when as many rows have come as a lattice holds.
ROWS_HINT = "start a new epoch (its budget adds): no more rows fit on a lattice."
#: Noised whole numbers stay below twice this, where doubles are exact.
_LARGEST = 2.0**52
#: A finer lattice than sensitivity/2³⁰ buys nothing: its rounding costs less than calibration keeps in hand. A coarser
#: one than sensitivity/2⁸ would cost too much to be meant.
_FINEST, _COARSEST = 30, 8
#: By so many steps at most discrete noise lies off the continuous one (and a sum off its rounding), but for 10⁻³⁰.
_OFF = 25.0


class Lattice(NamedTuple):
    """The public side of a packed matrix and vector: what a number is in steps, and a step in its own unit.

    Steps on the diagonal are √2 times as long, so that noise of one scale in steps is symmetric noise.
    """

    weights: Floats  # (size,) steps per unit
    steps: Floats  # (size,) units per step
    known: Floats  # (size,) sums of public rows: never noised


def lattice_of(dim: int, step: float, known: Floats, shared: int = 0) -> Lattice:
    """The lattice of step h for packed sums, or for those of several arms in turn: `known` has as many numbers. With
    `shared` columns beside each matrix, and a block of their own at the end."""
    own, common = _steps_of_block(dim, step, shared), _steps_of_block(shared, step, 0)
    steps = np.append(np.tile(own, (len(known) - len(common)) // len(own)), common)
    return Lattice(1.0 / steps, steps, known)


def _steps_of_block(dim: int, step: float, beside: int) -> Floats:
    steps = np.full(linalg.block_size(dim, beside), step)
    steps[[beside * i + dim * i - i * (i - 1) // 2 for i in range(dim)]] *= math.sqrt(2.0)
    return steps


@kernel
def add_in_steps(counter: Any, x: Floats, y: float, dim: int, sums: Floats) -> None:
    """`add_row` for a counter that has a lattice."""
    add_row(counter.lattice, x, y, dim, sums)


@kernel
def add_row(lattice: Lattice, x: Floats, y: float, dim: int, sums: Floats) -> None:
    """sums += (upper triangle of x xᵀ, x·y) in steps, as pairs: row 0 of `sums` is high, row 1 low. Of several blocks
    `sums` is one: all have the same steps, those of the first number on a diagonal and of the last one elsewhere."""
    diagonal, other = lattice.weights[0], lattice.weights[lattice.weights.shape[0] - 1]
    columns = dim + columns_beside(dim, sums)
    at = 0
    for i in range(dim):
        for j in range(i, columns):
            weight = diagonal if i == j else other
            sums[0, at], sums[1, at] = added_one(sums[0, at], sums[1, at], x[i] * x[j] * weight)
            at += 1
    for i in range(dim):
        sums[0, at], sums[1, at] = added_one(sums[0, at], sums[1, at], x[i] * y * other)
        at += 1


def resolution(*, weight: float, rows: int, releases: int, deviation: float) -> float:
    """How many steps the sensitivity of a row has: the largest power of two for which everything stays exact.

    `weight` bounds how many rows' worth one released number is, `rows` how many rows there are, `deviation` is the
    scale of the noise over the sensitivity. Noise and sums must stay below what doubles hold, and what pairs of doubles
    lose, (rows + releases + 8)·2⁻¹⁰³·rows·steps, below a hundredth of a step.
    """
    lost = 103 - 8 - math.log2((rows + releases + 8) * rows)
    bits = min(
        _FINEST,
        math.floor(math.log2(_LARGEST) - math.log2(weight) - 1e-6),
        math.floor(math.log2(LARGEST_SCALE) - math.log2(deviation) - 0.1),
        math.floor(lost),
    )
    if bits < _COARSEST:
        raise BadInput(
            f"Expected noise of at most 2**36 times what a row weighs, got {deviation:.3g} times, and sums of at most "
            f"2**44 rows, got {weight:.3g}: whole numbers of a double cannot hold more. Promise a larger epsilon."
        )
    return 2.0**bits


def refuse_heavy(load: Load, steps: float) -> None:
    """Whole numbers must stay exact when segments have grown with the noise, as the slack of the load foresaw."""
    if load.slack > 1.0 and load.weight * (steps + 1) >= _LARGEST:
        raise AssertionError("Sums on the lattice may grow beyond what doubles hold: the plan is wrong.")


def noise_offset(dim: int, step: float, draws: Floats | float) -> Floats | float:
    """What to add to the deviation τ of continuous noise so that its tail bounds hold for discrete noise as well.

    `draws`: how many draws, each with its weight, are in the noise of a number. A draw differs from the continuous one
    it is smoothed from, rounding included, by less than 25 steps but for 10⁻³⁰: the matrix by at most 25√2·d·h per
    draw, the vector by 25√d·h. The bounds multiply τ by 2√d at least for the matrix, by √d + 1 for the vector.
    """
    assert _OFF > 12 * SMOOTHING + ROUNDING
    return _OFF * math.sqrt(dim / 2.0) * step * draws


class CalibratedLattice(NamedTuple):
    """A calibrated lattice."""

    scale: float  # s, in the unit of the sums
    step: float  # h
    event: Event

    @property
    def steps(self) -> float:
        """s in steps."""
        return self.scale / self.step

    @property
    def law(self) -> Law:
        """What noise is drawn from."""
        one: Any = self.event
        while not isinstance(one, LatticeEvent):
            one = one.events[-1] if isinstance(one, EitherEvent) else one.event
        return (
            DiscreteLaplace(round(self.steps)) if isinstance(one.event, LaplaceEvent) else DiscreteGaussian(self.steps)
        )


def calibrate_lattice(
    promise: AnyPromise | None,
    event_at: Callable[[float], Event],
    for_unit: Callable[[Event], Event],
    *,
    rough: float,
    sensitivity: float,
    coordinates: int,
    load: Load,
    rounded: str = "sums",
) -> CalibratedLattice:
    """`event_at(s)` on the finest lattice for these sums, and the least discrete noise that keeps the promise. `rough`
    is the scale of continuous noise, which is close. Without a promise, as for noise that was published, as little more
    than it as costs no more than it does. Laplace noise has a whole number of steps.

    `rounded`: "sums", which are rounded when they are released; "rows", each of which is and is in no sum before: a row
    then weighs 2ρ√m steps more (2ρm by its L1 norm), and sums are exact; "rewards", which are rounded within their
    interval, at no price.
    """
    step = sensitivity / resolution(
        weight=load.slack * load.weight, rows=load.rows, releases=load.releases, deviation=rough / sensitivity
    )
    laplace = isinstance(event_at(rough), LaplaceEvent)
    far = float(coordinates) if laplace else math.sqrt(coordinates)  # by its norm, what each number may be rounded by
    more = 2 * ROUNDING * far * step if rounded == "rows" else 0.0

    def on_lattice(scale: float) -> Event:
        inner: Any = event_at(scale)
        inner = replace(inner, sensitivity=inner.sensitivity + more)
        rounding = ROUNDING if rounded == "sums" else 0.0
        return for_unit(LatticeEvent(inner, step=step, coordinates=coordinates, rounding=rounding))

    if promise is not None:
        scale = rough * calibrate(promise, lambda times: on_lattice(times * rough))
    else:
        scale, wanted = rough, price(for_unit(event_at(rough)))
        while (excess := price(on_lattice(scale)) / wanted) > 1:
            scale *= excess
    if laplace:
        scale = math.ceil(scale / step) * step
    return CalibratedLattice(scale, step, on_lattice(scale))
