"""Coins that fall with probability e^−x, decided for certain: what every exact sampler here is made of.

A uniform number u on [0, 1) has as many bits as are needed. Its first 53 are compared with a double p̂ that is known to
lie within `ERROR` of e^−x; only if u is closer to p̂ than that are more bits drawn, and e^−x is worked out in whole
numbers until the two part. So u < e^−x is decided as if both were real numbers, and almost always in doubles.

Why p̂ is that close: `exact.md`. It takes additions, multiplications and tables, whose last digits IEEE 754 fixes, and
no library's exponential, whose last digits nothing fixes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats, Words

#: What a comparison in doubles may be off by: proved is 2⁻⁴⁹.
ERROR = 2.0**-46
#: From here on e^−x, which is below 2⁻⁶³, is taken for 0.
FAR = 44.0
_PARTS = 64
#: Digits that whole-number arithmetic carries beyond those asked for.
_GUARD = 64

Bounds = tuple[int, int]  # whole numbers with the truth between them
DrawWords = Callable[[int], Words]  # so many words of 64 bits, evenly distributed and never given again


# In whole numbers -----------------------------------------------------------------------------------------------------


def exp_bounds(x: Fraction, bits: int) -> Bounds:
    """Whole numbers on both sides of 2^bits·e^−x, for x ≥ 0."""
    whole, part = divmod(x, 1)
    if whole > 2 * bits:
        return 0, 1  # e^−x < 2^−bits
    work = bits + _GUARD
    low, high = _times(_series(part, work), _power(_series(Fraction(1), work), int(whole), work), work)
    return low >> _GUARD, -(-high >> _GUARD)


def _series(x: Fraction, work: int) -> Bounds:
    """2^work·e^−x for x in [0, 1]: terms alternate and shrink, so the truth lies between two partial sums."""
    term, total, count = 1 << work, 0, 0
    while term:
        total += term if count % 2 == 0 else -term
        count += 1
        term = term * x.numerator // (x.denominator * count)
    # A term is off by at most two: what its own division and that of the one before it cut off.
    return max(total - 2 * count - 1, 0), min(total + 2 * count + 1, 1 << work)


def _times(one: Bounds, other: Bounds, work: int) -> Bounds:
    return one[0] * other[0] >> work, -(-one[1] * other[1] >> work)


def _power(base: Bounds, exponent: int, work: int) -> Bounds:
    found: Bounds = (1 << work, 1 << work)
    while exponent:
        if exponent & 1:
            found = _times(found, base, work)
        base = _times(base, base, work)
        exponent >>= 1
    return found


class Uniform:
    """A number uniform on [0, 1), known to lie in [head, head + 1)·2^−bits; more bits are drawn if needed."""

    def __init__(self, word: int, words: DrawWords) -> None:
        self.head, self.bits = int(word), 64
        self._words = words

    def refine(self) -> None:
        """64 more bits."""
        self.head, self.bits = self.head << 64 | int(self._words(1)[0]), self.bits + 64

    def below(self, bounds: Callable[[int], Bounds]) -> bool:
        """Whether it is below a number of which `bounds(bits)` gives whole bounds of 2^bits times it."""
        while True:
            low, high = bounds(self.bits + 16)
            if self.head + 1 << 16 <= low:
                return True
            if self.head << 16 >= high:
                return False
            self.refine()

    def below_exp(self, x: Fraction) -> bool:
        """Whether it is below e^−x: a coin that falls with that probability."""
        return x == 0 or self.below(lambda bits: exp_bounds(x, bits))


# In doubles -----------------------------------------------------------------------------------------------------------


def _table(count: int, per: int) -> Floats:
    """e^−k/per, each rounded once."""
    return np.array([float(Fraction(exp_bounds(Fraction(k, per), 200)[0], 1 << 200)) for k in range(count)])


#: e^−n and e^−k/64.
WHOLES, _FRACTIONS = _table(int(FAR), 1), _table(_PARTS, _PARTS)


@kernel
def exp_minus(x: float) -> float:
    """e^−x for x ≥ 0, within 2⁻⁴⁹ of it; from 44 on 0."""
    if not x < FAR:
        return 0.0
    whole = np.floor(x)
    rest = x - whole
    part = np.floor(rest * _PARTS)
    r = rest - part / _PARTS  # below 1/64: seven terms of the series
    series = 1.0 - r * (1.0 - r / 2 * (1.0 - r / 3 * (1.0 - r / 4 * (1.0 - r / 5 * (1.0 - r / 6)))))
    return float(WHOLES[int(whole)] * _FRACTIONS[int(part)] * series)


@kernel
def exp_minus_each(x: Floats, out: Floats) -> None:
    """`exp_minus` of each."""
    for i in range(x.shape[0]):
        out[i] = exp_minus(x[i])


@kernel
def falls(word: np.uint64, chance: float) -> int:
    """1 if the number that begins with this word is below `chance`, a double within half of `ERROR` of what is meant;
    0 if it is not; −1 if that cannot be told from 53 bits."""
    number = float(np.int64(word >> np.uint64(11))) * 2.0**-53
    if number < chance - ERROR:
        return 1
    return 0 if number > chance + ERROR else -1


def random_words(count: int) -> Words:
    """So many words of the operating system."""
    return np.frombuffer(os.urandom(8 * count), np.uint64)


def seeded_words(*path: int) -> DrawWords:
    """The words of a seed, which is the first of the path: for simulation and tests."""
    return RepeatedWords(first_place(*path))


def first_place(*path: int) -> Words:
    """Where the words of a seed and a path begin: key and counter."""
    key = np.random.SeedSequence(path[0], spawn_key=path[1:]).generate_state(1, np.uint64)
    return np.array([key[0], 0], np.uint64)


class RepeatedWords:
    """Words that can be recomputed: `at` holds key and counter, and is all there is to be kept."""

    def __init__(self, at: Words) -> None:
        self._at = at

    def __call__(self, count: int) -> Words:
        found = np.random.Philox(key=int(self._at[0]), counter=int(self._at[1])).random_raw(count)
        self._at[1] += np.uint64(-(-count // 4))  # Philox makes four words at a count
        return np.asarray(found, np.uint64)
