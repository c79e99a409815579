"""What a shuffled batch of local reports reveals: privacy amplified by hiding among clones.

**Pure reports.** Each of n people reports through an ε0-DP randomiser, and a shuffler permutes the n reports. Feldman,
McMillan and Talwar (2021), Section 3: whatever the randomiser, the shuffled batches of two inputs that differ in one
person are no easier to tell apart than P from Q,

    P = (A + D, C − A + 1 − D),   Q = (A + 1 − D, C − A + D),
    C ~ Bin(n − 1, e^{−ε0}),   A ~ Bin(C, ½),   D ~ Bern(1/(1 + e^{−ε0})).

Both directions are alike by symmetry. Given C = c, the likelihood ratio grows with the first count. With
q = (e^ε − e^{−ε0})/(1 − e^{ε−ε0}), e^ε·Q is the larger up to the count j = ⌊(c + 1)·q/(1 + q)⌋, so

    δ_c(ε) = (1 − e^{ε−ε0})/(1 + e^{−ε0})·P(A = j) − (e^ε − 1)·P(A > j),   and 0 if ε ≥ ε0.

δ_c does not increase with c, since another coin is post-processing. So δ(ε) = E δ_C is at most a sum over bins of C,
each taken at its least c, and over what lies below them, taken as 1: every approximation errs upwards. The later
"stronger clone" bounds carry an erratum and are not used.

**Gaussian reports.** By its exact curve a Gaussian report is (ε0, δ0)-DP for every ε0. The batch is then (ε, δ)-DP with

    δ = δ_clone(ε; ε0, n) + (e^ε + 1)(1 + e^{−ε0}/2)·n·δ0      (the same paper, for approximate DP)

for whichever ε0 we like best. It is also private without any shuffler, at the local price of a report; where that is
the smaller, it is what is granted.

**Several reports of one person.** If k reports of one batch are replaced, one after the other, the batch is (kε, δ')-DP
with δ' = δ·(e^{kε} − 1)/(e^ε − 1): group privacy. Over several batches their ε and δ add up, to no more than that.
Without a shuffler k reports cost √k·μ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, betaln  # type: ignore[import-untyped,unused-ignore]

from tacit._validate import at_least, positive, probability, whole
from tacit.privacy import gdp

if TYPE_CHECKING:
    from tacit.privacy.calibrate import Promise

ROUNDING = 1e-8
"""Relative to the terms of a sum, what is added for the digits of beta functions, which err by 1e-10 at n = 10⁶."""

_BINS = 512
_BELOW, _ABOVE = 14.0, 6.0  # standard deviations of C on either side of its mean that are told apart
_SHARES = (0.25, 0.5, 0.75)  # of δ for the δ0 of the reports: the best one is flat around a half
_RUNGS, _OCTAVES = 2, 5  # values of ε tried per factor of 2, and over how many such factors
_EXACT = 1e-8  # relative width at which a bisection ends
_MARGIN = 1e-6  # more noise than the bisection found
_LARGEST_EPSILON = 700.0  # e^ε is a double
_WORTHWHILE = 1.001  # by how much another ε must raise μ to be looked into


class Shuffled(NamedTuple):
    """What a shuffled batch of Gaussian reports is worth, and whether that is the shuffler's doing."""

    epsilon: float
    amplified: bool


def clone_delta(epsilon: float, local_epsilon: float, reports: int) -> float:
    """δ at ε of a shuffled batch of `reports` (n) reports, each `local_epsilon`-DP (ε0) on its own: an upper bound."""
    return _clone_delta(
        at_least("epsilon", epsilon, 0), positive("local_epsilon", local_epsilon), whole("reports", reports)
    )


def clone_epsilon(local_epsilon: float, reports: int, delta: float) -> float:
    """The least ε with `clone_delta` ≤ δ, from above. Never more than `local_epsilon`: that is pure DP."""
    local, count = positive("local_epsilon", local_epsilon), whole("reports", reports)
    limit = probability("delta", delta)
    return _least(local, lambda epsilon: _clone_delta(epsilon, local, count) <= limit)


def gaussian_shuffled_epsilon(mu: float, reports: int, delta: float, person_reports: int = 1) -> float:
    """ε at δ of a shuffled batch of `reports` (n) Gaussian reports, each μ-GDP on its own. See `gaussian_shuffled`."""
    return gaussian_shuffled(mu, reports, delta, person_reports).epsilon


def gaussian_shuffled(mu: float, reports: int, delta: float, person_reports: int = 1) -> Shuffled:
    """ε at δ, and by which way: amplified by the shuffler, or local because that is the smaller.

    `reports` counts those of honest devices in one batch. A person owns `person_reports` (k) of them, in one batch or
    several.
    """
    shift, count = positive("mu", mu), whole("reports", reports)
    return _gaussian(shift, count, probability("delta", delta), whole("person_reports", person_reports))


def amplified_scale(promise: Promise, sensitivity: float, reports: int, person_reports: int = 1) -> float:
    """The least noise scale σ of a Gaussian report with which a shuffled batch of `reports` keeps the promise.

    Found by bisection, raised by a millionth, and priced again. Where the shuffler does not help it is the local one.
    """
    length, count = positive("sensitivity", sensitivity), whole("reports", reports)
    rounds = whole("person_reports", person_reports)
    return length / _largest_mu(promise.epsilon, promise.delta, promise.mu, count, rounds)


@lru_cache(maxsize=256)
def _largest_mu(epsilon: float, delta: float, local_mu: float, reports: int, person_reports: int) -> float:
    found = local_mu / math.sqrt(person_reports)
    for rung in (epsilon, *_ladder(epsilon)):
        low, high = found, found * _WORTHWHILE
        while _keeps(high, reports, rung, delta, person_reports):
            low, high = high, 2 * high
        # Nothing is known of `low` where the first step failed, and then it stays as it was.
        while low > found and high - low > _EXACT * high:
            middle = (low + high) / 2
            low, high = (middle, high) if _keeps(middle, reports, rung, delta, person_reports) else (low, middle)
        found = low
    mu, margin = found / (1 + _MARGIN), _MARGIN
    while _gaussian(mu, reports, delta, person_reports).epsilon > epsilon:
        mu, margin = mu / (1 + margin), 2 * margin
    return mu


@lru_cache(maxsize=1024)
def _gaussian(mu: float, reports: int, delta: float, person_reports: int) -> Shuffled:
    def keeps(epsilon: float) -> bool:
        return _keeps(mu, reports, epsilon, delta, person_reports)

    local = gdp.epsilon_at(mu * math.sqrt(person_reports), delta)
    rungs = [] if local == 0 else [local, *_ladder(local)]
    found = next((rung for rung in rungs if keeps(rung)), None)
    if found is None:
        return Shuffled(local, amplified=False)
    return Shuffled(_least(found, keeps), amplified=True)


def _ladder(top: float) -> list[float]:
    """Values of ε below `top` at which amplification is tried, the largest first.

    A bound at a smaller ε is one at a larger ε as well, where the factor e^ε of δ0 can make the direct one fail.
    """
    first = math.ceil(_RUNGS * math.log2(top)) - 1
    return [2 ** (rung / _RUNGS) for rung in range(first, first - _OCTAVES * _RUNGS, -1)]


def _keeps(mu: float, reports: int, epsilon: float, delta: float, person_reports: int) -> bool:
    """Whether amplification alone shows that k reports together are (ε, δ)-DP."""
    if epsilon > _LARGEST_EPSILON:
        return False
    each = epsilon / person_reports
    group = math.expm1(epsilon) / math.expm1(each) if each > 0 else float(person_reports)
    limit = math.log(delta) - math.log(group)
    return any(
        _clone_delta(each, _local_epsilon(mu, reports, each, limit + math.log(share)), reports)
        <= (1 - share) * math.exp(limit)
        for share in _SHARES
    )


def _local_epsilon(mu: float, reports: int, epsilon: float, log_delta: float) -> float:
    """ε0 at which (e^ε + 1)(1 + e^{−ε0}/2)·n·δ0 = δ, from above."""
    limit = log_delta - math.log(reports) - epsilon - math.log1p(math.exp(-epsilon))

    def small_enough(local: float) -> bool:
        return gdp.log_delta(mu, local) + math.log1p(math.exp(-local) / 2) <= limit

    # δ0 < exp(−x²/2) with ε0 = μx + μ²/2, and the factor is below 3/2.
    enough = mu * (mu / 2 + math.sqrt(2 * (math.log(1.5) - limit)))
    return _least(enough, lambda local: local > 0 and small_enough(local))


def _clone_delta(epsilon: float, local_epsilon: float, reports: int) -> float:
    if epsilon >= local_epsilon:
        return 0.0
    epsilon = min(epsilon, _LARGEST_EPSILON)  # a bound at a smaller ε is one at a larger
    rare, keep = math.exp(-local_epsilon), -math.expm1(epsilon - local_epsilon)
    mean = (reports - 1) * rare
    spread = math.sqrt(mean * (1 - rare))
    low = max(0, math.floor(mean - _BELOW * spread) - 1)
    high = min(reports - 1, math.ceil(mean + _ABOVE * spread) + 1)
    clones = np.unique(np.floor(np.linspace(low, high, min(high - low + 1, _BINS))))
    ratio = (math.exp(epsilon) - rare) / keep
    last = np.minimum(np.floor((clones + 1) / (1 + 1 / ratio)), clones)
    at = keep / (1 + rare) * np.exp(-np.log1p(clones) - betaln(last + 1, clones - last + 1) - clones * math.log(2))
    # P(A > j); j = c leaves nothing above it.
    above = np.where(last < clones, betainc(last + 1, np.maximum(clones - last, 1.0), 0.5), 0.0)
    given = np.minimum(np.maximum(at - math.expm1(epsilon) * above, 0.0) + ROUNDING * at, 1.0)
    given = np.maximum.accumulate(given[::-1])[::-1]
    # Summed by parts, so that all terms are positive: P(C < c) times how much less there is to see from c on.
    fewer = np.where(clones > 0, betaincc(np.maximum(clones, 1.0), reports - clones, rare), 0.0)
    total = float(given[-1] + fewer @ (np.append(1.0, given[:-1]) - given))
    return min(1.0, total * (1 + ROUNDING))


def _least(enough: float, holds: Callable[[float], bool]) -> float:
    """The least number for which `holds`, from above; it holds from there on up to `enough`."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, enough
    while high - low > _EXACT * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
