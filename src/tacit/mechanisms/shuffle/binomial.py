"""Binomial numbers from uniform ones, exact up to double precision for up to 2⁵¹ trials.

Few successes are counted one probability at a time; many are drawn by transformed rejection with a squeeze (Hörmann
1993, algorithm BTRS). The quotient of probabilities it compares with is computed by Loader's (2000) deviances: written
with factorials, terms of size n·ln n would cancel and leave an error of n·10⁻¹⁶.

What "exact" means: a uniform number has 52 or 53 bits, so a probability is right to about √n·10⁻¹⁵ of itself as far
as 8 standard deviations out, and what lies further out has at most 10⁻¹⁵ in all. The probabilities in use, ½ and ¼,
times 2⁵¹ trials are still whole quarters in double precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.noise import fill_uniforms

#: A proposal takes so many uniform numbers.
PROPOSAL = 2
#: Rejected proposals per draw, at most: 0.43 where ten successes are expected, 0.13 in the limit of many.
REJECTED = 0.46
#: Proposals laid aside beyond two per draw.
_SPARE = 96

#: Fewer expected successes than this are counted.
_FEW = 10.0
_HALF_LOG_TURN = 0.5 * math.log(2.0 * math.pi)


def most_uniforms(draws: int) -> int:
    """Uniform numbers that so many draws take at most, but for once in 10³⁰ times.

    With n = 2·draws + 96 proposals, each accepted with probability 1/1.46 or more (`REJECTED`), the probability
    P(Bin(n, 1/1.46) < draws) is below 10⁻³⁰ for every number of draws.
    """
    return PROPOSAL * (2 * draws + _SPARE)


@kernel
def draw_binomial(trials: float, probability: float, scratch: Floats, noise: Any) -> float:
    """How many of so many trials succeed, each with `probability` ≤ ½. Draws nothing if there are none.

    `scratch` has room for a proposal, and holds noise afterwards.
    """
    if trials <= 0.0:
        return 0.0
    if trials * probability < _FEW:
        fill_uniforms(noise, scratch[:1])
        return _counted(trials, probability, scratch[0])
    spread = math.sqrt(trials * probability * (1.0 - probability))
    middle = np.floor((trials + 1.0) * probability)
    top = _log_probability(middle, trials, probability)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    height = (2.83 + 5.1 / b) * spread
    inside = 0.92 - 4.2 / b
    while True:
        fill_uniforms(noise, scratch[:2])
        u, v = scratch[0] - 0.5, scratch[1]
        edge = 0.5 - abs(u)
        k = np.floor((2.0 * a / edge + b) * u + trials * probability + 0.5) if edge > 0.0 else -1.0
        if edge >= 0.07 and v <= inside:
            return k
        if k < 0.0 or k > trials:
            continue
        # v = 0 is accepted: it stands for all numbers below the smallest uniform one.
        if v * height <= (a / (edge * edge) + b) * math.exp(_log_probability(k, trials, probability) - top):
            return k


@kernel
def _counted(trials: float, probability: float, uniform: float) -> float:
    """Where `uniform` falls among the cumulated probabilities of 0, 1, 2, …"""
    odds = probability / (1.0 - probability)
    chance = math.exp(trials * math.log1p(-probability))
    k = 0.0
    while uniform >= chance and k < trials:
        uniform -= chance
        k += 1.0
        chance *= odds * (trials - k + 1.0) / k
    return k


@kernel
def _log_probability(k: float, trials: float, probability: float) -> float:
    """ln P(Bin(n, p) = k) by saddle point: Loader (2000), *Fast and accurate computation of binomial probabilities*."""
    if k == 0.0:
        return trials * math.log1p(-probability)
    rest = trials - k
    if rest == 0.0:
        return trials * math.log(probability)
    return (
        _stirling_error(trials)
        - _stirling_error(k)
        - _stirling_error(rest)
        - _deviance(k, trials * probability)
        - _deviance(rest, trials * (1.0 - probability))
        - _HALF_LOG_TURN
        - 0.5 * math.log(k * (rest / trials))
    )


@kernel
def _stirling_error(n: float) -> float:
    """ln n! − ½ ln(2πn) − n ln n + n."""
    if n < 16.0:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TURN
    square = n * n
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / (1188 * square)) / square) / square) / square) / n


@kernel
def _deviance(k: float, mean: float) -> float:
    """k·ln(k/m) + m − k, without cancellation where k is near m."""
    gap = k - mean
    if abs(gap) >= 0.1 * (k + mean):
        return k * math.log(k / mean) + mean - k
    # ln(k/m) = 2·artanh v, v = (k − m)/(k + m), by its series.
    v = gap / (k + mean)
    square = v * v
    term, total, place = 2.0 * k * v, gap * v, 1.0
    while True:
        term *= square
        place += 2.0
        more = total + term / place
        if more == total:
            return total
        total = more
