"""Sums in pairs of doubles: high + low, about 106 bits. What a sum loses is then far below one step of the lattice.

An operation is off by at most so many u² of its exact result, u = 2⁻⁵³, and a hair: `added_one` by 2, `added` by 3,
`scaled` by 2 (Joldes, Muller and Popescu 2017, their Algorithms 4, 6 and 7). They need rounding to nearest and no
reordering, which kernels have.
"""

from __future__ import annotations

import numpy as np

from tacit._kernel import kernel

_SPLIT = 134217729.0  # 2²⁷ + 1: Veltkamp's, which cuts a double into two halves


@kernel
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b without error: the double next to it, and what that is off by. Knuth."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel
def _fast_two_sum(a: float, b: float) -> tuple[float, float]:
    """The same for |a| ≥ |b|. Dekker."""
    total = a + b
    return total, b - (total - a)


@kernel
def _two_product(a: float, b: float) -> tuple[float, float]:
    """a·b without error, for numbers below 2⁹⁹⁶. Dekker."""
    product = a * b
    part = _SPLIT * a
    a_high = part - (part - a)
    a_low = a - a_high
    part = _SPLIT * b
    b_high = part - (part - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def added_one(high: float, low: float, number: float) -> tuple[float, float]:
    """The pair plus a double."""
    total, rest = _two_sum(high, number)
    return _fast_two_sum(total, low + rest)


@kernel
def added(high: float, low: float, other_high: float, other_low: float) -> tuple[float, float]:
    """The sum of two pairs."""
    total, rest = _two_sum(high, other_high)
    small, smaller = _two_sum(low, other_low)
    total, rest = _fast_two_sum(total, rest + small)
    return _fast_two_sum(total, smaller + rest)


@kernel
def scaled(high: float, low: float, factor: float) -> tuple[float, float]:
    """The pair times a double."""
    product, rest = _two_product(high, factor)
    total, left = _fast_two_sum(product, low * factor)
    return _fast_two_sum(total, left + rest)


@kernel
def nearest(high: float, low: float) -> float:
    """The whole number next to the pair, or where it lies in the middle to within 2⁻⁵³ one of the two."""
    whole: float = np.rint(high)
    rest: float = np.rint((high - whole) + low)
    return whole + rest
