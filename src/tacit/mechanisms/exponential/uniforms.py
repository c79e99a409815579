"""Uniform numbers fine enough for rare candidates."""

from __future__ import annotations

import os

import numpy as np

from tacit._types import Floats, Words

_LARGEST = 1 - 2.0**-53


def uniforms(count: int, rng: np.random.Generator | None) -> Floats:
    """Independent numbers uniform on (0, 1), each from 128 random bits of the operating system.

    Close to zero 128 bits resolve probabilities down to 2⁻¹²⁸; with the usual 53 a candidate that should be drawn once
    in 10¹⁷ times never would be, and a probability of zero is what pure DP forbids. `rng` is for simulation: whoever
    knows its seed knows the draw.
    """
    return from_words(_words(2 * count, rng))


def from_words(words: Words) -> Floats:
    """Two words each: the first half of `words` leads, the second half fills in."""
    high, low = words.reshape(2, -1).astype(np.float64)
    found: Floats = np.minimum(high * 2.0**-64 + (low + 0.5) * 2.0**-128, _LARGEST)
    return found


def _words(count: int, rng: np.random.Generator | None) -> Words:
    if rng is None:
        return np.frombuffer(os.urandom(8 * count), np.uint64)
    return rng.integers(0, 2**64, size=count, dtype=np.uint64)
