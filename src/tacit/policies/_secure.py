"""Secure noise: the finest lattice that holds a policy's sums, and the least discrete noise that keeps its promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from tacit.errors import NoSecureSampler
from tacit.mechanisms.lattice import MOST_ROWS, ROUNDING, resolution
from tacit.privacy.calibrate import calibrate
from tacit.privacy.event import Event, LatticeEvent
from tacit.privacy.promise import AnyPromise

#: What to do when as many rows have come as a lattice holds.
ROWS_HINT = "start a new epoch (its budget adds): no more rows fit on a lattice."


class Laid(NamedTuple):
    """A calibrated lattice."""

    scale: float  # s, in the unit of the sums
    step: float  # h
    event: Event

    @property
    def steps(self) -> float:
        """s in steps: what the sampler is asked for."""
        return self.scale / self.step


def lay(
    promise: AnyPromise,
    event_at: Callable[[float], Event],
    for_unit: Callable[[Event], Event],
    *,
    rough: float,
    sensitivity: float,
    coordinates: int,
    weight: float,
    rows: int,
    releases: int,
    rounded: str = "sums",
) -> Laid:
    """`event_at(s)` on the finest lattice for these sums. `rough` is the scale of continuous noise, which is close; the
    rest as `mechanisms.lattice.resolution` and `LatticeEvent` have it.

    `rounded`: "sums", which are rounded when they are released; "rows", each of which is and is in no sum before: a row
    then weighs 2ρ√m steps more, and sums are exact; "rewards", which are rounded within their interval, at no price.
    """
    step = sensitivity / resolution(weight=weight, rows=rows, releases=releases, deviation=rough / sensitivity)
    more = 2 * ROUNDING * math.sqrt(coordinates) * step if rounded == "rows" else 0.0

    def on_lattice(scale: float) -> Event:
        inner: Any = event_at(scale)
        inner = replace(inner, sensitivity=inner.sensitivity + more)
        rounding = ROUNDING if rounded == "sums" else 0.0
        return for_unit(LatticeEvent(inner, step=step, coordinates=coordinates, rounding=rounding))

    scale = rough * calibrate(promise, lambda times: on_lattice(times * rough))
    return Laid(scale, step, on_lattice(scale))


def rows_within(horizon: int | None) -> int:
    """How many rows a learner on a lattice takes."""
    return MOST_ROWS if horizon is None else min(MOST_ROWS, horizon)


def refuse_published(calibration: str, slug: str) -> None:
    """A paper's constants are there to be compared with, in double precision."""
    if calibration == "published":
        raise NoSecureSampler(
            f'Expected calibration="exact" for noise="secure", got {slug} with calibration="published", whose noise '
            'is the paper\'s. Use calibration="exact".'
        )
