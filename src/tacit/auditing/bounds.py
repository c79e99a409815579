"""What counts of two kinds of runs prove about ε.

An event that happens in k of n runs under one input and in m of n under its neighbour bounds both probabilities
(Clopper and Pearson 1934), and (ε, δ)-DP bounds the one by the other:

    p ≤ e^ε·q + δ   for p the larger,   so   ε ≥ ln((p_low − δ)/q_high),

with the stated confidence and without any assumption. It cannot exceed ln n: an event that never happened in n runs may
still have probability 3/n.

Where what is claimed is a whole Gaussian curve, one point of it is as good as another (Dong, Roth and Su 2022), and the
middle is where counts say most:

    μ ≥ Φ⁻¹(p̂) − Φ⁻¹(q̂) − z·√(v_p + v_q),   v_p = p̂(1 − p̂)/(n·φ(Φ⁻¹(p̂))²),

read as an ε at δ on the curve of that μ. Half a run is taken off the hits and added to the false ones. This takes
counts for normal, which from a hundred of either kind on they are for all that matters here (below, the two intervals
of Clopper and Pearson take its place: that the errors add up in squares and not plainly is worth a third of the loss).
It assumes that the privacy lost *is* a Gaussian curve, and nothing about the score that was thresholded. As a
refutation of a claimed μ it does not even need that: no μ-GDP mechanism can show a larger one.

A draw by score whose log-odds move by ε at most has logit p ≤ logit q + ε for every test (mechanisms/exponential/
proof.md): its own curve, and there too the middle is where counts say most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betaincinv, logit, ndtr, ndtri

from tacit._types import Floats
from tacit.privacy import gdp

#: Thresholds that are looked at when one is chosen.
_GRID = 400
#: From so many runs of either kind on, counts are taken for normal.
_MANY = 100


def at_least(hits: Any, runs: int, miss: float) -> Any:
    """The smallest probability that so many hits leave open, but for a chance `miss`."""
    hits = np.asarray(hits, float)
    found = betaincinv(np.maximum(hits, 1e-300), runs - hits + 1, miss)
    return np.where(hits > 0, found, 0.0)


def at_most(hits: Any, runs: int, miss: float) -> Any:
    """The largest probability that so many hits leave open, but for a chance `miss`."""
    hits = np.asarray(hits, float)
    found = betaincinv(hits + 1, np.maximum(runs - hits, 1e-300), 1 - miss)
    return np.where(hits < runs, found, 1.0)


def epsilon_from(hits: Any, false_hits: Any, runs: int, delta: float, miss: float) -> Any:
    """ε that is exceeded, but for a chance `miss`, by whatever hits so often and so often falsely; at least 0."""
    low, high = at_least(hits, runs, miss / 2), at_most(false_hits, runs, miss / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log((low - delta) / high)
    return np.where(low > delta, np.maximum(found, 0.0), 0.0)


def mu_from(hits: Any, false_hits: Any, runs: int, miss: float) -> Any:
    """The same for μ of a Gaussian curve; at least 0."""
    hits, false_hits = np.asarray(hits, float), np.asarray(false_hits, float)
    low, high = at_least(hits, runs, miss / 2), at_most(false_hits, runs, miss / 2)
    with np.errstate(invalid="ignore"):
        few = ndtri(low) - ndtri(high)
    rate, false_rate = (np.clip(count, 0.5, runs - 0.5) / runs for count in (hits - 0.5, false_hits + 0.5))
    spread = np.sqrt(_probit_variance(rate, runs) + _probit_variance(false_rate, runs))
    many = ndtri(rate) - ndtri(false_rate) + ndtri(miss) * spread
    least = np.minimum.reduce([hits, runs - hits, false_hits, runs - false_hits])
    found = np.where(least >= _MANY, many, few)
    return np.maximum(np.where(np.isfinite(found), found, 0.0), 0.0)


def odds_from(hits: Any, false_hits: Any, runs: int, miss: float) -> Any:
    """The same for the range of a draw by score: log p/(1 − p) − log q/(1 − q) is at most that for every test of it."""
    low, high = at_least(hits, runs, miss / 2), at_most(false_hits, runs, miss / 2)
    return np.maximum(logit(low) - logit(high), 0.0)


def _probit_variance(rate: Any, runs: int) -> Any:
    """Of Φ⁻¹ of a share of so many runs."""
    density = np.exp(-0.5 * ndtri(rate) ** 2) / math.sqrt(2 * math.pi)
    return rate * (1 - rate) / (runs * density**2)


Bound = Callable[[Any, Any, int], Any]  #: of hits, false hits and runs


def best_threshold(first: Floats, second: Floats, runs: int, bound: Bound, *, smooth: bool) -> float:
    """The threshold t for which `bound` is expected to be largest in `runs` fresh runs, where hits are scores of the
    second kind above t and false hits those of the first.

    Chosen on scores of runs that are used for nothing else, so the bound that follows needs no correction for it. With
    `smooth` the scores are taken for normal ones: then tails can be chosen from that these few runs have not seen.
    """
    if smooth:
        means, spreads = (first.mean(), second.mean()), (first.std() or 1e-300, second.std() or 1e-300)
        grid = np.linspace(min(means) - 6 * max(spreads), max(means) + 6 * max(spreads), _GRID)
        with np.errstate(over="ignore"):  # scores without any spread are told apart anywhere between
            false_rate, rate = ndtr((means[0] - grid) / spreads[0]), ndtr((means[1] - grid) / spreads[1])
    else:
        # Halfway between two scores that were seen: a threshold on one of many equal scores would be a coin's toss.
        values: Any = np.unique(np.concatenate([first, second]))
        if len(values) > _GRID:
            values = values[np.linspace(0, len(values) - 1, _GRID).astype(np.int64)]
        grid = np.concatenate([[values[0] - 1.0], (values[1:] + values[:-1]) / 2, [values[-1] + 1.0]])
        rate = _share_above(second, grid)
        false_rate = _share_above(first, grid)
    found = bound(rate * runs, false_rate * runs, runs)
    return float(grid[int(np.argmax(found))])


def _share_above(scores: Floats, grid: Floats) -> Floats:
    """Shares of the scores above each threshold, half a run added on either side: nothing has probability 0."""
    above = len(scores) - np.searchsorted(np.sort(scores), grid, side="right")
    shares: Floats = (above.astype(np.float64) + 0.5) / (len(scores) + 1.0)
    return shares


@lru_cache(maxsize=256)
def within_reach(mu: float | None, epsilon: float, delta: float, runs: int, miss: float) -> tuple[float, float]:
    """(ε, ε by a Gaussian curve) that the best attack could be expected to prove in so many runs, if what is promised
    is exactly what is given: (ε, δ)-DP, or where `mu` is given its curve. What an audit cannot show, it cannot refute.
    """
    if mu is not None:
        grid = np.linspace(-12.0, 12.0 + mu, 4 * _GRID)
        rate, false_rate = ndtr(mu - grid), ndtr(-grid)
    else:
        # The worst case of (ε, δ)-DP: with probability δ nothing is hidden, and otherwise the odds are e^ε.
        false_rate = np.geomspace(1e-12, 1.0, 4 * _GRID)
        rate = np.minimum(
            delta + math.exp(min(epsilon, 600.0)) * false_rate,
            1 - math.exp(-min(epsilon, 600.0)) * (1 - delta - false_rate),
        )
        rate = np.clip(rate, false_rate, 1.0)
    plain = float(np.max(epsilon_from(rate * runs, false_rate * runs, runs, delta, miss)))
    if mu is None:
        return plain, 0.0
    shown = float(np.max(mu_from(rate * runs, false_rate * runs, runs, miss)))
    return plain, gaussian_epsilon(shown, delta)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """ε at δ on the curve of μ; 0 of nothing. A Gaussian curve has no ε at δ = 0."""
    return gdp.epsilon_at(mu, delta) if mu > 0 and delta > 0 else 0.0
