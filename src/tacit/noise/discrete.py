"""Whole numbers drawn exactly: discrete Gaussians and Laplace numbers, and binomial ones. `exact.md` has the proofs.

    DiscreteGaussian(s)   P(k) ∝ exp(−k²/2s²)       Canonne, Kamath and Steinke (2020), from discrete Laplace numbers
    DiscreteLaplace(t)    P(k) ∝ exp(−|k|/t)        t whole
    Binomial(n, p)        p = ½ or ¼                table by table of 2¹⁴ trials

Randomness is the operating system's. A draw is a *proposal* of four words, accepted or not; what a proposal comes to is
a function of its words, worked out in doubles where these decide it for certain and in whole numbers where they do not,
once in 10¹¹ proposals. Proposals cost the same time whatever comes of them, and how many there are says nothing of what
the last one is: the time that a draw takes is independent of what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Protocol

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats, Words
from tacit.errors import BadInput
from tacit.noise.coins import ERROR, WHOLES, Bounds, DrawWords, Uniform, exp_minus, falls, random_words

#: The largest scale of discrete noise, in steps.
LARGEST_SCALE = 2.0**44
#: Draws lie beyond this with a probability below e^−127 for every scale allowed here; up to 2⁵³ doubles are exact.
_LARGEST = 2**51
#: Words that make a proposal.
_WORDS = 4
#: Of proposals about so many are accepted: (1 − 1/e)·0.76 of a Gaussian's.
_ACCEPTED = 0.45
#: Trials that can be drawn exactly at most: 2²⁶ tables take a few seconds.
MOST_TRIALS = 2**40

_REJECTED, _UNDECIDED = math.nan, math.inf


class Law(Protocol):
    """What noise is drawn from."""

    @property
    def deviation(self) -> float:
        """The standard deviation, or what is close to it."""

    def draw(self, count: int, words: DrawWords = random_words) -> Floats:
        """So many independent numbers, whole, as doubles."""

    def scaled(self, factor: float) -> Law:
        """The law of noise of `factor` times the deviation: for mechanisms that are broken on purpose."""


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(k) ∝ exp(−k²/2s²) on the whole numbers, `scale` = s.

    >>> DiscreteGaussian(3.0).draw(4).shape
    (4,)
    """

    scale: float

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    @property
    def deviation(self) -> float:
        return self.scale

    def draw(self, count: int, words: DrawWords = random_words) -> Floats:
        """So many independent numbers."""
        return _draw(self, math.floor(self.scale) + 1, self.scale, count, words)

    def scaled(self, factor: float) -> Law:
        """The same law, `factor` times as wide."""
        return DiscreteGaussian(self.scale * factor)

    def keeps(self, size: int, top: int, uniform: Uniform) -> bool:
        """Whether a discrete Laplace number of scale `top` and this size is kept: a coin of e^−(size − s²/top)²/2s²."""
        square = Fraction(self.scale) ** 2
        return uniform.below_exp((size - square / top) ** 2 / (2 * square))


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(k) ∝ exp(−|k|/t) on the whole numbers, `scale` = t, a whole number.

    >>> DiscreteLaplace(3).draw(4).shape
    (4,)
    """

    scale: int

    def __post_init__(self) -> None:
        _check_scale(self.scale)
        if self.scale != math.floor(self.scale):
            raise BadInput(f"Expected a whole number of steps, got scale={self.scale!r}.")

    @property
    def deviation(self) -> float:
        return math.sqrt(2.0) * self.scale

    def draw(self, count: int, words: DrawWords = random_words) -> Floats:
        """So many independent numbers."""
        return _draw(self, int(self.scale), 0.0, count, words)

    def scaled(self, factor: float) -> Law:
        """The same law, `factor` times as wide."""
        return DiscreteLaplace(max(1, round(self.scale * factor)))

    def keeps(self, size: int, top: int, uniform: Uniform) -> bool:
        """Every Laplace number is one."""
        return True


@dataclass(frozen=True)
class Binomial:
    """How many of `trials` succeed, each with `chance` ½ or ¼.

    >>> Binomial(10, 0.5).draw(4).shape
    (4,)
    """

    trials: int
    chance: float

    def __post_init__(self) -> None:
        if self.chance not in (0.5, 0.25):
            raise BadInput(f"Expected a chance of 1/2 or 1/4, got chance={self.chance!r}.")
        if not 0 <= self.trials <= MOST_TRIALS or self.trials != math.floor(self.trials):
            raise BadInput(f"Expected at most 2**40 trials, which can be drawn exactly, got trials={self.trials!r}.")

    @property
    def deviation(self) -> float:
        return math.sqrt(self.trials * self.chance * (1 - self.chance))

    def scaled(self, factor: float) -> Law:
        """As many trials as make it `factor` times as wide."""
        return Binomial(round(self.trials * factor**2), self.chance)

    def draw(self, count: int, words: DrawWords = random_words) -> Floats:
        """So many independent numbers."""
        found = np.zeros(count)
        rest = int(self.trials)
        for size in _TABLES:
            tables, rest = divmod(rest, size)
            if tables:
                found += _from_tables(size, self.chance, tables, count, words)
        return found


def _check_scale(scale: float) -> None:
    if not 0 < scale <= LARGEST_SCALE:
        raise BadInput(f"Expected a scale above 0 and at most 2**44 steps, got scale={scale!r}.")


# Gaussian and Laplace -------------------------------------------------------------------------------------------------

_Wide = DiscreteGaussian | DiscreteLaplace


def _draw(law: _Wide, top: int, scale: float, count: int, draw: DrawWords) -> Floats:
    out = np.empty(count)
    centre = float(Fraction(scale) ** 2 / top)
    done = 0
    while done < count:
        words = draw(_WORDS * (math.ceil((count - done) / _ACCEPTED) + 8))
        at = 0
        while done < count and at < len(words):
            at, done = _fill(words, at, top, scale, centre, out, done)
            if done < count and at < len(words):
                found = proposed_exactly(law, top, words[at : at + _WORDS], draw)
                at += _WORDS
                if found is not None:
                    out[done] = found
                    done += 1
    if count and np.abs(out).max() > _LARGEST:
        raise RuntimeError("A draw of discrete noise is beyond 128 times its scale: the sampler is broken.")
    return out


@kernel
def _fill(words: Words, at: int, top: int, scale: float, centre: float, out: Floats, done: int) -> tuple[int, int]:
    """Numbers from proposals, until there are enough, or no words, or one is undecided: where that left `words` and
    `out`."""
    while done < out.shape[0] and at < words.shape[0]:
        found = _proposed(words, at, top, scale, centre)
        if found == _UNDECIDED:
            return at, done
        at += _WORDS
        if not np.isnan(found):
            out[done] = found
            done += 1
    return at, done


@kernel
def _proposed(words: Words, at: int, top: int, scale: float, centre: float) -> float:
    """What a proposal comes to: a number, `_REJECTED` or `_UNDECIDED`. Every step is taken, whatever the others say.

    Word 0 gives U even on 0, …, t − 1, and the sign; it is kept with probability e^−U/t (word 1); V has P(V ≥ k) = e^−k
    (word 2). U + tV is the size of a discrete Laplace number, kept for a Gaussian as `keeps` says (word 3).
    """
    number = np.int64(words[at] >> np.uint64(11))
    negative = words[at] & np.uint64(1) == np.uint64(1)
    even = number < (np.int64(2**53) // top) * top
    u = number % top
    kept = falls(words[at + 1], exp_minus(u / top))
    v = 0
    open_ = False
    leading = float(np.int64(words[at + 2] >> np.uint64(11))) * 2.0**-53
    for k in range(1, WHOLES.shape[0]):
        v += int(leading < WHOLES[k])
        open_ = open_ or abs(leading - WHOLES[k]) <= ERROR
    size = u + top * v
    taken = 1
    if scale > 0.0:
        z = (float(size) - centre) / scale
        taken = falls(words[at + 3], exp_minus(0.5 * z * z))
    # A rejection that is certain stands, whatever is open; the Gaussian's coin is only known if V is.
    if not even or kept == 0 or (not open_ and (taken == 0 or (negative and size == 0))):
        return _REJECTED
    if open_ or kept < 0 or taken < 0:
        return _UNDECIDED
    return -float(size) if negative else float(size)


def proposed_exactly(law: _Wide, top: int, words: Words, draw: DrawWords) -> int | None:
    """What a proposal comes to, in whole numbers alone; None: rejected. `_proposed` gives the same where it decides."""
    first, second, third, fourth = (int(word) for word in words)
    number, negative = first >> 11, first & 1
    if number >= 2**53 // top * top:
        return None
    u, v = number % top, 0
    if not Uniform(second, draw).below_exp(Fraction(u, top)):
        return None
    leading = Uniform(third, draw)
    while leading.below_exp(Fraction(v + 1)):
        v += 1
    size = u + top * v
    if (negative and size == 0) or not law.keeps(size, top, Uniform(fourth, draw)):
        return None
    return -size if negative else size


# Binomial -------------------------------------------------------------------------------------------------------------

#: Trials that are drawn at once, by one word and a table.
_TABLES = (2**14, 2**10, 2**7, 2**4, 1)


@cache
def _cumulated(size: int, chance: float) -> tuple[int, ...]:
    """(1/chance)^size·P(at most k of `size` succeed), whole numbers, for k = 0, 1, …"""
    odds = round(1 / chance) - 1
    ways, terms = odds**size, []
    for k in range(size + 1):
        terms.append(ways)
        ways = ways * (size - k) // ((k + 1) * odds)
    return tuple(accumulate(terms))


@cache
def _thresholds(size: int, chance: float) -> Words:
    """⌊2⁶⁴·P(at most k succeed)⌋ for k < size."""
    shift = size * round(math.log2(1 / chance)) - 64
    return np.array([_shifted(value, shift) for value in _cumulated(size, chance)[:-1]], np.uint64)


def _shifted(value: int, shift: int) -> int:
    return value >> shift if shift >= 0 else value << -shift


#: Words that are drawn and looked up at a time.
_PORTION = 2**20


def _from_tables(size: int, chance: float, tables: int, count: int, draw: DrawWords) -> Floats:
    """Sums of so many independent numbers, each of how many of `size` trials succeed."""
    thresholds = _thresholds(size, chance)
    found = np.zeros(count)
    each = max(1, _PORTION // max(count, 1))
    while tables:
        now = min(tables, each)
        words = draw(now * count)
        successes = np.searchsorted(thresholds, words, "right")
        # A word below the threshold of k and above that of k − 1 decides; one that equals a threshold is looked at.
        for place in np.flatnonzero(thresholds[np.maximum(successes, 1) - 1] == words):
            successes[place] = successes_exactly(size, chance, int(words[place]), draw)
        found += successes.reshape(now, count).sum(axis=0)
        tables -= now
    return found


def successes_exactly(size: int, chance: float, word: int, draw: DrawWords) -> int:
    """How many of `size` trials succeed, by the number that begins with this word, in whole numbers alone."""
    cumulated, uniform = _cumulated(size, chance), Uniform(word, draw)
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if uniform.below(_scaled(cumulated[middle], cumulated[-1])):
            high = middle
        else:
            low = middle + 1
    return low


def _scaled(part: int, whole: int) -> Callable[[int], Bounds]:
    """Bounds of 2^bits·part/whole."""
    return lambda bits: ((part << bits) // whole, -(-(part << bits) // whole))
