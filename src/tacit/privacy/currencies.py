"""What an event costs in each currency that adds up over releases: μ², ρ and pure ε.

A Gaussian release has an exact μ, and by it a ρ; it has no pure ε. A draw of the exponential mechanism has a pure ε,
and because the log-odds between candidates move by no more than that ε it has a better ρ and μ than pure DP alone.
The proofs stand in `mechanisms/exponential/proof.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar  # type: ignore[import-untyped,unused-ignore]

from tacit._validate import probability
from tacit.errors import UnknownEvent
from tacit.privacy import rdp
from tacit.privacy.accountant import price, theorem_for
from tacit.privacy.conversions import cks_multiplier
from tacit.privacy.event import ExponentialEvent, ForkedEvent, PersonEvent, Together
from tacit.privacy.gdp import cost

_LOWEST_EXCESS = 1e-4  # of α over 1 in the search for the best order
_STEPS = 200


@dataclass(frozen=True)
class Cost:
    """One release in every currency; ∞ where nothing is known. Each of the three adds up over releases."""

    mu_squared: float  # μ²
    rho: float  # ρ
    epsilon: float  # ε at δ = 0

    def times(self, count: int) -> Cost:
        return Cost(count * self.mu_squared, count * self.rho, count * self.epsilon)


def costs(event: object) -> tuple[Cost, ...]:
    """The cost of every release in the event, for one replaced unit.

    Raises `UnknownEvent` for what the accountant does not know, and for what is bounded at one δ only: such bounds do
    not add up with curves.
    """
    if isinstance(event, Together):
        return tuple(one for part in event.events for one in costs(part))
    if isinstance(event, ForkedEvent):
        return tuple(one.times(event.copies) for one in costs(event.event))
    if isinstance(event, PersonEvent):
        inner = event.event
        if isinstance(inner, Together):
            return tuple(one for part in inner.events for one in costs(replace(event, event=part)))
        if isinstance(inner, ExponentialEvent):
            return costs(replace(inner, epsilon=event.rounds * inner.epsilon))
    if isinstance(event, ExponentialEvent):
        mu = bounded_range_to_mu(event.epsilon)
        return (Cost(mu * mu, bounded_range_to_zcdp(event.epsilon), event.epsilon).times(event.draws),)
    theorem = theorem_for(event)
    if theorem is None:
        mu = price(event)
        return (Cost(mu * mu, rdp.zcdp(mu), 0.0 if mu == 0 else math.inf),)
    if theorem.delta > 0:
        raise UnknownEvent(
            f"Expected an event with a curve or of pure DP, got {type(event).__name__}, which is bounded at "
            f"delta={theorem.delta:g} only: its cost does not add up with others. Give it a budget of its own."
        )
    # Pure DP bounds the log-odds between two outputs by 2ε.
    mu = bounded_range_to_mu(2 * theorem.epsilon)
    return (Cost(mu * mu, rdp.pure_to_zcdp(theorem.epsilon), theorem.epsilon),)


def bounded_range_to_zcdp(epsilon: float) -> float:
    """ρ of a draw whose log-odds between any two outputs move by at most ε.

        ρ = ε²/8

    Cesar and Rogers (2021); Dong, Durfee and Rogers (2020) for the exponential mechanism. A quarter of what pure ε-DP
    alone implies. A bound, tight as ε → 0.
    """
    move = cost("epsilon", epsilon)
    return move * move / 8


def bounded_range_to_mu(epsilon: float) -> float:
    """μ such that a draw whose log-odds between any two outputs move by at most ε is μ-GDP.

        μ = √(2π)/4 · ε

    The exact value, 2Φ⁻¹(1/(1 + e^{−ε/2})), is at most this, and within half a per cent of it for ε ≤ 1.
    """
    return math.sqrt(2 * math.pi) / 4 * cost("epsilon", epsilon)


def mu_to_bounded_range(mu: float) -> float:
    """The largest ε for which `bounded_range_to_mu` stays within μ."""
    return cost("mu", mu) * 4 / math.sqrt(2 * math.pi)


def concentrated_budget(epsilon: float, delta: float) -> float:
    """The largest ρ for which ρ-zCDP implies (ε, δ)-DP by `concentrated_epsilon`."""
    multiplier = cks_multiplier(epsilon, delta)
    return 0.5 / multiplier / multiplier


def concentrated_epsilon(rho: float, delta: float) -> float:
    """ε such that ρ-zCDP implies (ε, δ)-DP: the best order α of `rdp.rdp_to_epsilon`.

        ε = min over α of ρα + ln(1/(αδ))/(α − 1) + ln(1 − 1/α),  and never below 0

    Canonne, Kamath and Steinke (2020), Proposition 12. Every order is valid, so a search that stops a little beside the
    best one errs on the safe side. Not tight for a Gaussian alone: use `gdp`.
    """
    total, failure = cost("rho", rho), probability("delta", delta)
    if total == 0 or math.isinf(total):
        return total

    def at(log_excess: float) -> float:
        alpha = 1 + math.exp(log_excess)
        return rdp.rdp_to_epsilon(alpha, total * alpha, failure)

    highest = math.log(10 * (1 + math.sqrt(-math.log(failure) / total)))
    grid = np.linspace(math.log(_LOWEST_EXCESS), highest, _STEPS).tolist()
    best = min(range(_STEPS), key=lambda place: at(grid[place]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, _STEPS - 1)])
    found = minimize_scalar(at, bounds=around, method="bounded", options={"xatol": 1e-10})
    return min(float(found.fun), at(grid[best]))
