"""From a promise to a noise scale: the least noise whose accounted cost keeps the promise."""

from __future__ import annotations

import math
from collections.abc import Callable

from tacit.errors import BadInput, PrivacyRefusal, UnknownEvent
from tacit.privacy.accountant import price, theorem_for
from tacit.privacy.event import Event
from tacit.privacy.promise import AnyPromise, Promise, PurePromise

__all__ = ["SAFETY", "Promise", "calibrate"]

SAFETY = 1e-6
"""Relative noise added on top of the exact solution.

It covers what exact formulas leave out: the last digits of the root finder, a clipped norm that rounding leaves a few
units in the last place above its bound, and the eight decimal digits of the Toeplitz gaps.
"""

_ATTEMPTS = 200


def calibrate(promise: AnyPromise, event_at: Callable[[float], Event]) -> float:
    """The noise scale s for which `event_at(s)` keeps the promise.

    What an event costs is its μ; for a promise of pure DP it is the ε of its theorem. Both are proportional to 1/s for
    every event of this package, so one evaluation at s = 1 solves it; `SAFETY` is added, the event is priced again, and
    s is raised until the accounted cost is at most the promised one. The returned scale always has been accounted. A
    cost that falls more slowly than 1/s is still solved, with more noise than needed; one that does not fall is
    refused.
    """
    if not isinstance(promise, AnyPromise):
        raise BadInput(
            f"Expected a promise such as Promise(epsilon, delta) or ConcentratedPromise(rho), got {promise!r}."
        )
    if isinstance(promise, PurePromise):
        return _solved(promise, promise.epsilon, _pure_epsilon, lambda _: True, event_at)
    return _solved(promise, promise.mu, price, promise.kept_by, event_at)


def _solved(
    promise: AnyPromise,
    target: float,
    cost_of: Callable[[Event], float],
    kept_by: Callable[[float], bool],
    event_at: Callable[[float], Event],
) -> float:
    scale = 1.0
    for attempt in range(_ATTEMPTS):
        cost = cost_of(event_at(scale))
        if cost == 0 and attempt == 0:
            raise BadInput("Expected an event with noise to calibrate, got one that costs nothing. It needs no noise.")
        if attempt > 0 and cost <= target and kept_by(cost):
            return scale
        scale *= (cost / target if attempt == 0 else max(cost / target, 1.0)) * (1 + SAFETY)
        if not 0 < scale < math.inf:
            break
    raise PrivacyRefusal(
        f"No noise scale was found that keeps {promise.text}: the event's price does not fall enough as its noise "
        "grows. Check that event_at(scale) passes the scale on to its noise."
    )


def _pure_epsilon(event: Event) -> float:
    """ε of the event's theorem at δ = 0."""
    theorem = theorem_for(event)
    if theorem is None or theorem.delta > 0:
        raise UnknownEvent(
            f"Expected an event of pure DP such as LaplaceEvent, got {type(event).__name__}: no epsilon at delta = 0 "
            "is known of it. Use Laplace noise, or promise epsilon with a delta."
        )
    return theorem.epsilon
