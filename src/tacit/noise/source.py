"""A source of randomness, and the two things a kernel may ask of it.

Every source has one type, so that a kernel is compiled once: a simulation and a live learner run the same machine code.
What a source *is* shows in what it holds. `stream` makes one with the state of a generator, which draws block after
block from its seed. `tape` makes one without: it can hand out what the operating system has laid on it, and nothing
else. There is no switch that could be in the wrong position; without a state there is nothing to draw from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit._kernel import verb
from tacit._types import Floats, Ints, Words

NORMALS, UNIFORMS = 0, 1  #: places in `at`


class Source(NamedTuple):
    """Where random numbers come from. Made by `stream`, for simulation, or by `tape`, for people."""

    state: Words  # of the generators of a stream; a tape has none, and its shape says so
    words: Words  # scratch of a stream
    normals: Floats  # drawn or laid out, in part handed out
    uniforms: Floats  # likewise
    at: Ints  # (2,) how many normals and uniforms have been handed out


# Both fill an array: a draw at a time would spend more on the call than on the number.


@verb
def fill_normals(source: Any, out: Floats) -> None:
    """Fill `out` with independent standard normal numbers, never handed out again."""


@verb
def fill_uniforms(source: Any, out: Floats) -> None:
    """Fill `out` with independent numbers uniform on [0, 1), never handed out again."""
