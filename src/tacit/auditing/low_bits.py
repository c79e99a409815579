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
#: Parts of a step that may be lost in what is made of a number after its release: whole numbers of 2⁴⁰ steps in doubles
#: lose a tenth of it, noise in doubles is as close to a whole step once in fifty times.
_HAIR = 0.01


def ruled_out(seen: Floats, exact: Floats | float, step: Floats | float = 0.0) -> Bools:
    """Whether no noise at all can have made these numbers of `exact`: with noise in doubles; with `step`, with whole
    steps on an exact number that lies on the lattice itself. On a lattice a number that has no step has no noise."""
    if np.any(step):
        steps = np.asarray(step, dtype=np.float64)
        noised = steps > 0.0
        moved = (seen - exact) / np.where(noised, steps, 1.0)
        off: Bools = np.abs(moved - np.rint(moved)) > _HAIR
        return np.where(noised, off, seen != exact)
    noise = seen - exact
    possible: Bools = exact + noise == seen
    for toward in (-np.inf, np.inf):
        near = noise
        for _ in range(_NEIGHBOURS):
            near = np.nextafter(near, toward)
            possible |= exact + near == seen
    return ~possible


def told(first: Bools, second: Bools) -> Floats:
    """A number for each run, of which inputs were ruled out: 0 for none, 1 for the first, −1 for the second, 2 for
    both."""
    found: Floats = np.where(first & second, 2.0, first.astype(np.float64) - second)
    return found


def certain(first: Floats, second: Floats) -> int:
    """In how many runs on the first input, and on the second, the other one was ruled out."""
    return int(np.sum((first < 0) | (first > 1)) + np.sum(second > 0))
