"""Randomness from the operating system, laid out before a kernel runs.

A kernel cannot call the operating system, so the learner lays out what one call may need and the kernel reads it once,
front to back. A value that has been read is overwritten, and a tape that runs out raises: noise is never used twice.

A normal number is the quantile of a 64-bit uniform: one sign bit, and 63 bits for the tail probability, which resolve
the tail to 9.1 standard deviations. These are double-precision numbers, not a discrete mechanism: the card says so.
For whole numbers of an exact law, which `refill` lays out as well, see `lattice`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from tacit._types import Floats
from tacit.noise.source import NORMALS, UNIFORMS, Source


def tape(normals: int, uniforms: int) -> Source:
    """An empty tape with room for so many values: `refill` lays them out before it runs out."""
    source = tape_of(np.full(normals, np.nan), np.full(uniforms, np.nan))
    source.at[:] = normals, uniforms
    return source


def tape_of(normals: Floats, uniforms: Floats) -> Source:
    """A tape with these values on it. For tests: values that somebody knows protect nobody."""
    return Source(
        state=np.zeros((4, 0), np.uint64),
        words=np.zeros(0, np.uint64),
        normals=normals,
        uniforms=uniforms,
        at=np.zeros(2, np.int64),
    )


def refill(source: Source, normals: int, uniforms: int, draw: Callable[[int], Floats] | None = None) -> None:
    """Make sure that so many values can be read. What is left over of a tape too short is thrown away, unread.

    `draw` makes the normals; without it they are standard normal numbers in double precision.
    """
    if source.state.shape[1]:
        raise ValueError("Expected a tape to lay noise on, got a stream: it draws its own, from its seed.")
    if source.at[NORMALS] + normals > len(source.normals):
        source.normals[:] = (draw or secure_normals)(len(source.normals))
        source.at[NORMALS] = 0
    if source.at[UNIFORMS] + uniforms > len(source.uniforms):
        source.uniforms[:] = secure_uniforms(len(source.uniforms))
        source.at[UNIFORMS] = 0


def secure_uniforms(count: int) -> Floats:
    """Numbers uniform on [0, 1), of 53 bits each, from the operating system."""
    words = np.frombuffer(os.urandom(8 * count), np.uint64)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def secure_normals(count: int) -> Floats:
    """Standard normal numbers from the operating system."""
    words = np.frombuffer(os.urandom(8 * count), np.uint64)
    tail = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-64  # (0, ½]
    sign = np.where(words & np.uint64(1), 1.0, -1.0)
    quantile: Floats = sign * ndtri(tail)
    return quantile
