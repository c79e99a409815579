"""What the last bits of a released number say of the exact one under its noise.

A double that was made by adding noise to v is one that v plus *some* double rounds to, and not every double is. If it
is not, v is ruled out for certain, however much noise there is (Mironov 2012). On a lattice every number that can be
released can be released whatever the exact one is: nothing is ever ruled out.
"""

from __future__ import annotations

import numpy as np

from tacit._types import Bools, Floats

#: Doubles next to the difference that are tried: its own rounding is half a unit in the last place.
_NEIGHBOURS = 2


def ruled_out(seen: Floats, exact: Floats | float, step: float = 0.0) -> Bools:
    """Whether no noise at all can have made these numbers of `exact`: with noise in doubles; with `step`, with whole
    steps on whole steps."""
    if step > 0.0:
        whole = np.rint(seen / step)
        on_lattice: Bools = np.logical_or.reduce([step * (whole + near) == seen for near in (-1.0, 0.0, 1.0)])
        return ~on_lattice
    noise = seen - exact
    possible: Bools = exact + noise == seen
    for toward in (-np.inf, np.inf):
        near = noise
        for _ in range(_NEIGHBOURS):
            near = np.nextafter(near, toward)
            possible |= exact + near == seen
    return ~possible
