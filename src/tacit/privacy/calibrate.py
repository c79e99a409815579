"""From a promise to a noise scale: the least noise whose accounted cost keeps the promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tacit._validate import positive, probability
from tacit.errors import BadInput, PrivacyRefusal
from tacit.privacy import gdp
from tacit.privacy.accountant import price
from tacit.privacy.event import Event

SAFETY = 1e-6
"""Relative noise added on top of the exact solution.

It covers what exact formulas leave out: the last digits of the root finder, a clipped norm that rounding leaves a few
units in the last place above its bound, and the eight decimal digits of the Toeplitz gaps.
"""

_ATTEMPTS = 200


@dataclass(frozen=True)
class Promise:
    """(ε, δ) as the user asked for it, before any mechanism exists."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = positive("epsilon", self.epsilon, hint="Without a promise use a non-private policy.")
        delta = probability(
            "delta", self.delta, hint="Choose one well below 1 over the number of people, such as 1e-6."
        )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    @cached_property
    def mu(self) -> float:
        """The largest μ whose curve keeps the promise."""
        return gdp.mu_for(self.epsilon, self.delta)

    def kept_by(self, mu: float) -> bool:
        """Whether a μ-GDP mechanism keeps the promise, accounted afresh: ε(δ) ≤ ε."""
        return gdp.epsilon_at(mu, self.delta) <= self.epsilon


def calibrate(promise: Promise, event_at: Callable[[float], Event]) -> float:
    """The noise scale s for which `event_at(s)` keeps the promise.

    Every price of this package is proportional to 1/s, so one evaluation at s = 1 solves it; `SAFETY` is added, the
    event is priced again, and s is raised until the accounted ε is at most the promised one. The returned scale always
    has been accounted. A price that falls more slowly than 1/s is still solved, with more noise than needed; one that
    does not fall is refused.
    """
    if not isinstance(promise, Promise):
        raise BadInput(f"Expected a Promise(epsilon, delta), got {promise!r}.")
    target = promise.mu
    scale = 1.0
    for attempt in range(_ATTEMPTS):
        mu = price(event_at(scale))
        if mu == 0 and attempt == 0:
            raise BadInput("Expected an event with noise to calibrate, got one that costs nothing. It needs no noise.")
        if attempt > 0 and mu <= target and promise.kept_by(mu):
            return scale
        scale *= (mu / target if attempt == 0 else max(mu / target, 1.0)) * (1 + SAFETY)
        if not 0 < scale < math.inf:
            break
    raise PrivacyRefusal(
        f"No noise scale was found that keeps epsilon={promise.epsilon!r} at delta={promise.delta!r}: the event's "
        f"price does not fall enough as its noise grows. Check that event_at(scale) passes the scale on to its noise."
    )
