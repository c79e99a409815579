"""Randomness from the operating system, laid out before a kernel runs.

A kernel cannot call the operating system, so the learner lays out what one call may need and the kernel reads it once,
front to back. A value that has been read is overwritten, and a tape that runs out raises: noise is never used twice.

A normal number is the quantile of a 64-bit uniform: one sign bit, and 63 bits for the tail probability, which resolve
the tail to 9.1 standard deviations. These are double-precision numbers, not a discrete mechanism: the card says so.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.noise.source import fill_normals, fill_uniforms

_NORMALS, _UNIFORMS = 0, 1  # places in `at`


class Tape(NamedTuple):
    """Values drawn from the operating system. `tape(normals, uniforms)` makes one; `refill` before it runs out."""

    normals: Floats
    uniforms: Floats
    at: Ints  # (2,) how many normals and uniforms have been read


def tape(normals: int, uniforms: int) -> Tape:
    """An empty tape with room for so many values: `refill` lays them out."""
    return Tape(np.full(normals, np.nan), np.full(uniforms, np.nan), np.array([normals, uniforms], np.int64))


def refill(source: Tape, normals: int, uniforms: int) -> None:
    """Make sure that so many values can be read. What is left over of a tape too short is thrown away, unread."""
    if source.at[_NORMALS] + normals > len(source.normals):
        source.normals[:] = _secure_normals(len(source.normals))
        source.at[_NORMALS] = 0
    if source.at[_UNIFORMS] + uniforms > len(source.uniforms):
        words = np.frombuffer(os.urandom(8 * len(source.uniforms)), np.uint64)
        source.uniforms[:] = (words >> np.uint64(11)) * 2.0**-53
        source.at[_UNIFORMS] = 0


def _secure_normals(count: int) -> Floats:
    words = np.frombuffer(os.urandom(8 * count), np.uint64)
    tail = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-64  # (0, ½]
    sign = np.where(words & np.uint64(1), 1.0, -1.0)
    quantile: Floats = sign * ndtri(tail)
    return quantile


@implements(fill_normals, Tape)
@kernel
def _fill_normals(source: Tape, out: Floats) -> None:
    _hand_out(source.normals, source.at, _NORMALS, out)


@implements(fill_uniforms, Tape)
@kernel
def _fill_uniforms(source: Tape, out: Floats) -> None:
    _hand_out(source.uniforms, source.at, _UNIFORMS, out)


@kernel
def _hand_out(values: Floats, counts: Ints, which: int, out: Floats) -> None:
    at = counts[which]
    if at + out.shape[0] > values.shape[0]:
        raise RuntimeError("The tape of secure noise ran out: refusing to reuse noise.")
    counts[which] = at + out.shape[0]
    for i in range(out.shape[0]):
        out[i] = values[at + i]
        values[at + i] = np.nan
