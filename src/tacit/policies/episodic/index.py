"""Index rules: play the arm that could be the best, for as long as it has been played before.

An *index* is an upper confidence bound on the mean of an arm, computed from one noised mean. Any index can be made
private this way; two are here, and one more is a NamedTuple and a kernel registered for `upper_bound`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel, verb
from tacit._types import Floats, Ints
from tacit.policies.episodic.verbs import follow


class UCBIndex(NamedTuple):
    """mean + √((Δ²/2n + 2s²/n²)·L), or with Laplace noise of scale b mean + Δ√(L/2n) + bL/n.

    Rewards in an interval of length Δ are Δ/2-sub-Gaussian, so the noised mean of n is with variance Δ²/4n + s²/n²:
    the first form. Auer, Cesa-Bianchi and Fischer (2002); Azize and Basu.
    """


class KLUCBIndex(NamedTuple):
    """The largest mean q that n rewards in [0, 1] do not rule out: n·kl(m, q) ≤ L.

    m is the noised mean moved up by the most the noise is likely to have taken from it, s√(2L)/n or bL/n, and brought
    into [0, 1]. kl is the relative entropy of coins. Garivier and Cappé (2011).
    """


class IndexRule(NamedTuple):
    """Which arm to play next, and for how long."""

    index: Any
    optimism: float  # β
    reward_low: float
    span: float  # Δ
    scale: float  # s or b: of the noise of one total
    laplace: bool
    doubling: bool  # play an arm as often again as it has been played; else once
    forgetting: bool  # compute its index from the last episode only


class IndexView(NamedTuple):
    """All that has been released, and the episode that is being played."""

    stage: Ints  # (1,) totals released
    arm: Ints  # (1,) that is being played
    length: Ints  # (1,) of its episode, in rounds
    totals: Floats  # (K,) per arm: noised total of its last episode, or of all of them
    sizes: Ints  # (K,) rewards in that total
    pulls: Ints  # (K,) rewards so far
    rounds: Ints  # (1,) rewards of all arms


def first_view(arms: int) -> Callable[[], IndexView]:
    """Arm 0 first, once."""

    def view() -> IndexView:
        def count(size: int) -> Ints:
            return np.zeros(size, np.int64)

        return IndexView(
            count(1), count(1), np.ones(1, np.int64), np.zeros(arms), count(arms), count(arms), np.zeros(1, np.int64)
        )

    return view


@verb
def upper_bound(  # type: ignore[empty-body]
    index: Any, mean: float, size: int, span: float, scale: float, laplace: bool, log_term: float
) -> float:
    """An upper confidence bound on the mean of an arm, in the unit of rewards above their least.

    `mean` is that of `size` rewards with noise of scale `scale`/`size` in it; `log_term` is L = β·ln t.
    """


@implements(upper_bound, UCBIndex)
@kernel
def _ucb(index: UCBIndex, mean: float, size: int, span: float, scale: float, laplace: bool, log_term: float) -> float:
    if laplace:
        return mean + span * math.sqrt(log_term / (2.0 * size)) + scale * log_term / size
    return mean + math.sqrt((span * span / (2.0 * size) + 2.0 * scale * scale / (size * size)) * log_term)


@implements(upper_bound, KLUCBIndex)
@kernel
def _kl_ucb(
    index: KLUCBIndex, mean: float, size: int, span: float, scale: float, laplace: bool, log_term: float
) -> float:
    lost = scale * (log_term if laplace else math.sqrt(2.0 * log_term)) / size
    low = min(max((mean + lost) / span, 0.0), 1.0)
    budget = log_term / size
    # Pinsker: kl(m, q) ≥ 2(q − m)².
    high = min(1.0, low + math.sqrt(0.5 * budget))
    start = low
    for _ in range(52):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if relative_entropy(start, middle) <= budget:
            low = middle
        else:
            high = middle
    # What lies above is what must not be cut off: optimism errs upwards.
    return span * high


@kernel
def relative_entropy(p: float, q: float) -> float:
    """kl(p, q) of two coins, in nats; infinite where q rules out what p allows."""
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return max(total, 0.0)


@implements(follow, IndexRule)
@kernel
def _follow(rule: IndexRule, view: IndexView, arm: int, size: int, total: float) -> None:
    """Every arm once, then whichever has the largest index; the lowest of equals."""
    if rule.forgetting:
        view.totals[arm] = 0.0
        view.sizes[arm] = 0
    view.totals[arm] += total
    view.sizes[arm] += size
    view.pulls[arm] += size
    view.rounds[0] += size
    arms = view.pulls.shape[0]
    log_term = rule.optimism * math.log(view.rounds[0] + 1.0)
    best, largest = -1, 0.0
    for k in range(arms):
        if view.pulls[k] == 0:
            best = k
            break
        mean = view.totals[k] / view.sizes[k] - rule.reward_low
        found = upper_bound(rule.index, mean, view.sizes[k], rule.span, rule.scale, rule.laplace, log_term)
        if best < 0 or found > largest:
            best, largest = k, found
    view.arm[0] = best
    view.length[0] = max(view.pulls[best], 1) if rule.doubling else 1
