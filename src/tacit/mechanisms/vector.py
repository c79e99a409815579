"""A vector that is released once: a sum of rows under Gaussian noise, drawn exactly, in whole steps.

The sum is kept in doubles. Rows of length R at most, T of them, make numbers that are off by at most (T + 2)·T·R·2⁻⁵³,
in whatever order they were added (Higham 2002, 3.1), in either of two neighbouring worlds; the step h is so long that
this is a quarter of it. Rounding to whole steps adds a half: ρ = 0.75 of `LatticeEvent`, whose price is proved in
`counters/lattice.md` for n = 1 release.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tacit._types import Floats
from tacit.errors import BadInput
from tacit.noise import LARGEST_SCALE
from tacit.noise.plain import Numbers
from tacit.privacy.accountant import price
from tacit.privacy.calibrate import calibrate
from tacit.privacy.event import GaussianEvent, LatticeEvent
from tacit.privacy.promise import Promise

#: ρ: steps that a number may be off by before its noise.
ROUNDING = 0.75
#: A finer lattice than sensitivity/2³⁰ buys nothing, a coarser one than sensitivity/2⁸ costs too much.
_FINEST, _COARSEST = 30, 8


def vector_event(
    sensitivity: float, numbers: int, rows: int, wanted: Promise | float, sampler: str
) -> GaussianEvent | LatticeEvent:
    """What releasing a sum of so many rows, as a vector of so many numbers, is: with the least noise that keeps the
    promise, or whose price in μ is what is `wanted`. `sampler="double"`: with noise in double precision."""

    def plain(scale: float) -> GaussianEvent:
        return GaussianEvent(scale, sensitivity)

    rough = calibrate(wanted, plain) if isinstance(wanted, Promise) else sensitivity / wanted * (1 + 1e-9)
    if sampler == "double":
        return plain(rough)
    on_lattice = _lattice(plain, rough, sensitivity, numbers, rows)
    if isinstance(wanted, Promise):
        return on_lattice(rough * calibrate(wanted, lambda times: on_lattice(times * rough)))
    scale = rough
    while (excess := price(on_lattice(scale)) / wanted) > 1:
        scale *= excess
    return on_lattice(scale)


def _lattice(
    plain: Callable[[float], GaussianEvent], rough: float, sensitivity: float, numbers: int, rows: int
) -> Callable[[float], LatticeEvent]:
    bits = min(
        _FINEST,
        math.floor(52 - math.log2(max(rows, 1) * (rows + 2))),
        math.floor(math.log2(LARGEST_SCALE) - math.log2(rough / sensitivity) - 1),
    )
    if bits < _COARSEST:
        raise BadInput(
            f"Expected at most 4 million records and noise of at most 2**35 times what one weighs, got {rows:,} "
            "records: sums in doubles are not exact enough for more. Learn from fewer, or promise a larger epsilon."
        )
    step = sensitivity / 2.0**bits
    return lambda scale: LatticeEvent(plain(scale), step=step, coordinates=numbers, rounding=ROUNDING)


def scale_of(event: GaussianEvent | LatticeEvent) -> float:
    """s: of the noise on every number."""
    inner = event.event if isinstance(event, LatticeEvent) else event
    assert isinstance(inner, GaussianEvent)
    return inner.scale


def released(vector: Floats, event: GaussianEvent | LatticeEvent, numbers: Numbers) -> Floats:
    """The vector under a fresh draw of noise.

    Formal guarantee: that of the event. Requires: it was spent; the vector is a sum of rows as the event was told.
    """
    if isinstance(event, GaussianEvent):
        return vector + event.scale * numbers.normals(len(vector))
    found: Floats = event.step * (np.rint(vector / event.step) + numbers.discrete(event.steps, len(vector)))
    return found
