"""What sums of randomly rounded rows under binomial noise reveal: a certified bound, as a rule within a per mille.

Each person rounds numbers a_j, in grid steps, at random to whole numbers ⌊a_j + U⌋, U uniform on [0, 1). The sum of
each coordinate over a batch is shown with B ~ Binomial(N, p) added, fresh for each coordinate. Neighbours: one person's
rows are replaced, each by one at Euclidean distance S at most that differs from it in at most D of its numbers.

**Theorem.** Let F be the distribution function of B and ζ(i) = Φ⁻¹(F(i)) its normal scores. Fix L < H, let
c ≥ ζ(i) − ζ(i − 1) for L < i ≤ H, Z ≥ |ζ(L)|, |ζ(H)|, and r = min(Zc²/4, c). For a person with k rows, wherever they
fall, let K = k(⌈S⌉ + 1). Then for every ε

    δ(ε) ≤ k·D·(F(L + K) + 1 − F(H − K)) + δ_μ(ε),   μ = k·(c·S + r·√D),

δ_μ the curve of one Gaussian release (`gdp`). Scores of a binomial are almost evenly spaced, c ≈ 1/√(Np(1 − p)), so μ
is that of Gaussian noise of the same variance but for terms of order 1/N (N^{−½} where p is not ½). The grid costs r·√D
against c·S: nothing worth speaking of once S is some ten times √D.

**Proof.** T(P, Q) is the trade-off function between two laws, G_μ that of N(0, 1) and N(μ, 1).

1. *One row changes in one coordinate, from a to a' > a.* Everything else that is summed has one law in both worlds: the
   rest of the batch, which may as well be known, and the person's other rows, whose rounded sum R is random. Let F_R be
   the distribution function of B + R, interpolated linearly between whole numbers. As ⌊a + U⌋ + R + B is
   ⌊a + U + R + B⌋, it is ≤ x with probability exactly F_R(x − a): to round at random is to interpolate.
2. *Thresholds suffice.* ⌊a + U⌋ is below ⌊a' + U⌋ in the likelihood-ratio order, and adding an independent variable
   with a log-concave law keeps that order (Shaked and Shanthikumar 2007, Theorem 1.C.9). So the best tests are
   thresholds and T is linear between them, also after the two tails are each merged into one outcome. As G is convex,
   T ≥ G_m if that holds at the thresholds: if Φ⁻¹(F_R(x − a)) − Φ⁻¹(F_R(x − a')) ≤ m for all x between the tails.
3. *Scores of F_R.* ψ(t) = Φ(Φ⁻¹(t) + c) is increasing and concave. So F(i) ≤ ψ(F(i − 1)) carries over to mixtures of
   shifts of F and to interpolations of those: scores of F_R one step apart, at whole or broken places, differ by c at
   most. Hence m = c·⌈a' − a⌉ ≤ c·(a' − a) + c is enough. Also, between whole numbers F_R is linear, while its scores
   u < v there are at most c apart and at most Z from 0. As |(ln φ)'| ≤ Z, the share f of the mass of [u, v] that lies
   below u + t is at least what it is under a density ∝ e^{Zt}, so t ≤ ln(1 + f·(e^{Z(v−u)} − 1))/Z ≤ f·(v − u) + Zc²/8
   by Hoeffding's lemma: the score is at most Zc²/8 above its chord, and likewise below. Chords have slope c at most, so
   m = c·(a' − a) + Zc²/4 is enough as well. Either way, m = c·(a' − a) + r.
4. *All rows, coordinates and batches.* Replacing rows one after the other adds up the shifts within a coordinate: G_s,
   then G_t, is G_{s+t}. Coordinates are independent, so squares add: (Σ_j (Σ_i c·|d_ij| + r)²)^½ ≤ k(cS + r√D) by
   Minkowski. If the k rows fall into several batches, adaptively even, squares add over batches, which is no more.
   Dong, Roth and Su (2022); Smith and Thakurta (2022). A coordinate in which row i has the same number in both worlds
   has no shift for it, and no r: each row adds r in D coordinates at most, however many there are.
5. *The tails.* The person's rounded sum V lies in [v − K, v] for some v, in every world on the way. Merge the outcomes
   x ≤ L + v into one, and those x > H + v − K: all arguments of F in step 3 then lie in [L, H]. In the first world the
   merged outcomes have probability F(L + K) + 1 − F(H − K) at most, per coordinate and batch, and hiding what happened
   there adds no more than that to δ. A coordinate of a batch in which no row is replaced by one with another number has
   the same law in both worlds, and nothing is merged in it: k·D are left at most. ∎

N counts the ones of honest devices alone: further ones are post-processing.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri  # type: ignore[import-untyped,unused-ignore]

from tacit._validate import positive, probability, whole
from tacit.errors import PrivacyRefusal
from tacit.privacy import gdp

if TYPE_CHECKING:
    from tacit.privacy.calibrate import Promise

Array = NDArray[np.float64]

ROUNDING = 1e-6
"""Relative increase of μ for what exact arithmetic would not need: sums of 10⁵ doubles, and rows clipped in doubles."""

_SHARES = (2.0**-20, 2.0**-10, 2.0**-5, 0.25, 0.5)  # of δ for the tails: the least costs nothing once N is large
_POINTS = 2**17  # scores worked out one by one at most; beyond, the closed form is as good
_MOST_TRIALS = 2**53  # counts are exact in doubles up to here, and more ones are post-processing


def binomial_epsilon(
    trials: int, sensitivity: float, coordinates: int, delta: float, reports: int = 1, chance: float = 0.5
) -> float:
    """ε at δ of sums with Binomial(`trials`, `chance`) noise each (N, p), of which a replaced row changes `coordinates`
    at most (D), by the theorem above.

    `sensitivity` is S, in grid steps before rounding; `reports` is k, the rows of one person, in one batch or several.
    ∞ where there is too little noise for the theorem to say anything. The truth does not increase with N; the bound
    may, by less than a per cent where N is small and by a per mille where the closed form takes over.
    """
    facts = _checked(sensitivity, coordinates, reports, chance)
    return _epsilon(min(whole("trials", trials), _MOST_TRIALS), *facts, probability("delta", delta))


def binomial_trials(
    promise: Promise, sensitivity: float, coordinates: int, reports: int = 1, chance: float = 0.5
) -> int:
    """The least N for which `binomial_epsilon` keeps the promise: N keeps it as accounted, N − 1 does not.

    The search starts where Gaussian noise of the same variance would do, and bisects.
    """
    facts = _checked(sensitivity, coordinates, reports, chance)
    return _trials(promise.epsilon, promise.delta, promise.mu, *facts)


@lru_cache(maxsize=256)
def _trials(
    epsilon: float, delta: float, target: float, sensitivity: float, coordinates: int, reports: int, chance: float
) -> int:
    def keeps(trials: int) -> bool:
        return _epsilon(trials, sensitivity, coordinates, reports, chance, delta) <= epsilon

    ideal = (reports * sensitivity / target) * (reports * sensitivity / target) / (chance * (1 - chance))
    low, high = 0, max(1, math.ceil(min(ideal, 2.0 * _MOST_TRIALS)))
    step = max(1, high >> 20)
    while high <= _MOST_TRIALS and not keeps(high):
        low, high, step = high, high + step, 2 * step
    if high > _MOST_TRIALS:
        raise PrivacyRefusal(
            f"Expected a promise that counts up to 2**53 can keep, got epsilon={epsilon!r} at delta={delta!r} for "
            f"rows of {sensitivity:.6g} grid steps. Use a coarser grid."
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


@lru_cache(maxsize=1024)
def _epsilon(trials: int, sensitivity: float, coordinates: int, reports: int, chance: float, delta: float) -> float:
    """The best of a few ways to share δ between the tails and the curve. Each of them is a bound."""
    reach = reports * (math.ceil(sensitivity) + 1)  # K
    if reach > trials:
        return math.inf
    tails = [share * delta / (2 * reports * coordinates) for share in _SHARES]
    scores = _scores(trials, chance, reach, min(tails))
    best = math.inf
    for share, tail in zip(_SHARES, tails, strict=True):
        if scores is None:
            step, extent = _closed_form(trials, chance, reach, tail)
        else:
            step, extent = _largest_step(scores, reach, tail)
        if math.isinf(step) or math.isinf(extent):
            continue
        slack = min(extent * step * step / 4, step)  # r
        mu = reports * (step * sensitivity + slack * math.sqrt(coordinates)) * (1 + ROUNDING)
        best = min(best, gdp.epsilon_at(mu, delta * (1 - share)))
    return best


class _Scores(NamedTuple):
    """ζ over a range of counts, and the tails it was made of. `weights` are proportional to the probabilities."""

    weights: Array
    below: Array  # F
    above: Array  # 1 − F
    score: Array  # ζ
    cut_below: bool  # counts below the range exist
    cut_above: bool


def _scores(trials: int, chance: float, reach: int, tail: float) -> _Scores | None:
    """Scores as far out as the theorem reads them; None if they are too many.

    The range goes on until a count there is e^−34 times as likely as at L or H, and cuts off less than 1e-14 in all
    (Hoeffding). Ratios of neighbouring probabilities are added up in logarithms, from the mode outwards.
    """
    half = math.ceil(math.sqrt((_hoeffding(trials, tail) + reach) ** 2 + 17.0 * trials)) + 1
    if 2 * half > _POINTS:
        return None
    mode = min(trials, math.floor((trials + 1) * chance))
    low, high = max(0, mode - half), min(trials, mode + half)
    up, down = np.arange(mode, high, dtype=np.float64), np.arange(mode, low, -1, dtype=np.float64)
    odds = chance / (1 - chance)
    right = np.cumsum(np.log((trials - up) / (up + 1) * odds))
    left = np.cumsum(np.log(down / (trials - down + 1) / odds))
    weights = np.exp(np.concatenate((left[::-1], [0.0], right)))
    below, above = np.cumsum(weights), np.append(np.cumsum(weights[:0:-1])[::-1], 0.0)
    below, above = below / below[-1], above / below[-1]
    # The smaller tail of the two has all its digits.
    score = np.where(below < 0.5, ndtri(below), -ndtri(above))
    return _Scores(weights, below, above, score, low > 0, high < trials)


def _largest_step(scores: _Scores, reach: int, tail: float) -> tuple[float, float]:
    """c and Z of the theorem, with L as large as F(L + K) ≤ `tail` allows, and H likewise."""
    last = len(scores.score) - 1
    left = int(np.searchsorted(scores.below, tail, side="right")) - 1 - reach
    right = last + 1 - int(np.searchsorted(scores.above[::-1], tail, side="right")) + reach
    if left < 0 or right > last - 1:
        return math.inf, math.inf
    for cut, end, inside in ((scores.cut_below, 0, left), (scores.cut_above, -1, right)):
        # Log-concave: what was cut off is to the tail at L as these two weights at most.
        if cut and not scores.weights[end] <= 1e-12 * scores.weights[inside]:
            return math.inf, math.inf
    extent = max(-float(scores.score[left]), float(scores.score[right]))
    if math.isinf(extent):
        return math.inf, math.inf
    return float(np.diff(scores.score[left : right + 1]).max()), extent


def _closed_form(trials: int, chance: float, reach: int, tail: float) -> tuple[float, float]:
    """Bounds on c and Z without the scores, for many trials. With KL from p, q = i/N and h(i) = ±√(2N·KL(i/N)),

        h(i) ≤ ζ(i) ≤ h(i + 1)                                    Zubkov and Serov (2013), Theorem 1
        P(B = i) ≤ exp(−N·KL(q))/√(2πN·q(1 − q))                  Stirling's formula, Robbins (1955)

    and P(B = i) is the integral of φ from ζ(i − 1) to ζ(i), hence ≥ (ζ(i) − ζ(i − 1))·min{φ(h(i − 1)), φ(h(i + 1))}.
    With w ≥ 1/(v(1 − v)) over the range, KL' is at most w·|q − p|, and
    ζ(i) − ζ(i − 1) ≤ √(w/N)·exp(w·(N|q − p| + 1)/N). L and H by Hoeffding. The exponential costs a share of about Z·c.
    """
    out = _hoeffding(trials, tail) + reach + 2
    low, high = chance - out / trials, chance + out / trials
    if not (low > 0 and high < 1):
        return math.inf, math.inf
    most = 1 / min(low * (1 - low), high * (1 - high))  # w
    return math.sqrt(most / trials) * math.exp(most * out / trials), out * math.sqrt(most / trials)


def _hoeffding(trials: int, tail: float) -> float:
    """How far from its mean a binomial of any chance is with probability `tail` at most, to one side."""
    return math.sqrt(trials * -math.log(tail) / 2)


def _checked(sensitivity: float, coordinates: int, reports: int, chance: float) -> tuple[float, int, int, float]:
    return (
        positive("sensitivity", sensitivity),
        whole("coordinates", coordinates),
        whole("reports", reports),
        probability("chance", chance),
    )
