"""What an event costs, in μ.

One function per event, dispatched on its exact type; an event without a theorem here has no price and is refused.
Each price is the largest shift, in standard deviations, that replacing one unit can cause in everything released, along
every path of adaptive inputs. It is the μ of one Gaussian mechanism (Denisov et al. 2022), so `gdp` then gives the
whole curve exactly.

It holds when noise scale, design, clipping bounds and release times were fixed without looking at the data, and when
each sum is noised once. The accountant cannot check that; mechanisms must guarantee it.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import NoReturn

from tacit.errors import UnknownEvent
from tacit.privacy.event import (
    ExactRelease,
    GaussianEvent,
    NothingReleased,
    PersonEvent,
    SegmentsEvent,
    ToeplitzEvent,
    Together,
    TreeEvent,
)


@singledispatch
def price(event: object) -> float:
    """μ of the event for one replaced unit: 0 if nothing is released, ∞ if data is released exactly.

    Raises `UnknownEvent` for everything without a registered price, `Event` itself included.
    """
    _refuse(event, "price.register")


@singledispatch
def price_for_person(event: object, rounds: int, one_per_segment: bool) -> float:
    """μ of the event for a person with up to `rounds` rows in the worst placement: the price times M_k."""
    _refuse(event, "price_for_person.register")


@price.register
def _(event: TreeEvent) -> float:
    """μ = L̃²·√q / s: a datum is in q nodes with independent noise."""
    return event.sensitivity * math.sqrt(event.nodes) / event.scale


@price_for_person.register
def _(event: TreeEvent, rounds: int, _one_per_segment: bool) -> float:
    """μ = L̃²·T_k / s, T_k² = Σ_{ℓ<q} (⌊k/2^ℓ⌋·4^ℓ + (k mod 2^ℓ)²): at each level, full nodes and a remainder.

    All nodes of a tree with q levels are counted, also those that are never released: a bound, a few per
    cent loose while k is far below the number of rows.
    """
    total = sum((rounds >> level) * 4**level + (rounds % 2**level) ** 2 for level in range(event.nodes))
    return event.sensitivity * math.sqrt(total) / event.scale


@price.register
def _(event: ToeplitzEvent) -> float:
    """μ = κ_N·L̃² / s: a datum is in one row of x, and the longest column of C has length κ_N."""
    return event.design.column_norm(event.releases) * event.sensitivity / event.scale


@price_for_person.register
def _(event: ToeplitzEvent, rounds: int, one_per_segment: bool) -> float:
    """μ = κ_{N,k}·L̃² / s if the person's rows are in different rows of x; k·κ_N·L̃² / s if they may share one."""
    if event.rows_per_release == "many" and not one_per_segment:
        return rounds * price(event)
    return event.design.burst_norm(event.releases, rounds) * event.sensitivity / event.scale


@price.register
def _(event: SegmentsEvent) -> float:
    """μ = L̃² / s: a datum is in one segment, released once."""
    return event.sensitivity / event.scale


@price_for_person.register
def _(event: SegmentsEvent, rounds: int, one_per_segment: bool) -> float:
    """M_k = √k over different segments with independent noise, k within one."""
    return (math.sqrt(rounds) if one_per_segment else rounds) * price(event)


@price.register
def _(event: GaussianEvent) -> float:
    """μ = Δ / σ."""
    return event.sensitivity / event.scale


@price_for_person.register
def _(event: GaussianEvent, rounds: int, _one_per_segment: bool) -> float:
    """M_k = k: all rows may be in the one release."""
    return rounds * price(event)


@price.register
def _(_event: NothingReleased) -> float:
    return 0.0


@price_for_person.register
def _(_event: NothingReleased, _rounds: int, _one_per_segment: bool) -> float:
    return 0.0


@price.register
def _(_event: ExactRelease) -> float:
    return math.inf


@price_for_person.register
def _(_event: ExactRelease, _rounds: int, _one_per_segment: bool) -> float:
    return math.inf


@price.register
def _(event: Together) -> float:
    """μ² adds over independent Gaussian releases. Dong, Roth and Su (2022)."""
    return math.hypot(*(price(part) for part in event.events))


@price_for_person.register
def _(event: Together, rounds: int, one_per_segment: bool) -> float:
    return math.hypot(*(price_for_person(part, rounds, one_per_segment) for part in event.events))


@price.register
def _(event: PersonEvent) -> float:
    return price_for_person(event.event, event.rounds, event.one_per_segment)


@price_for_person.register
def _(_event: PersonEvent, _rounds: int, _one_per_segment: bool) -> float:
    raise UnknownEvent("Expected the event of a single row, got a PersonEvent inside another: give all rounds at once.")


def _refuse(event: object, how: str) -> NoReturn:
    # Only harmless values are shown: an object nobody knows may hold data in its repr.
    shown = repr(event) if event is None or isinstance(event, str | int | float | type) else "an instance"
    raise UnknownEvent(
        f"Expected a recorded event such as TreeEvent or GaussianEvent, got {shown} of type {type(event).__name__}, "
        f"for which no price has been proved. Record one of the events in tacit.privacy.event, or add a theorem with "
        f"accountant.{how}."
    )
