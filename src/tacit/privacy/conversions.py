"""How much Gaussian noise (ε, δ) asks for, by each way of getting there: σ/Δ, the noise per unit of sensitivity.

Only the exact curve is used to set noise. The others are what papers use, here so that what they cost can be shown:
each is a valid bound with more noise, and none gives more privacy than its own exact curve.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar  # type: ignore[import-untyped,unused-ignore]

from tacit._validate import above, positive, probability
from tacit.errors import BadInput
from tacit.privacy import gdp

_LOWEST_EXCESS = 1e-4  # of α over 1 in the search for the best order
_STEPS = 200


def exact_multiplier(epsilon: float, delta: float) -> float:
    """1/μ of the exact Gaussian curve: the least noise there is. Balle and Wang (2018), Theorem 8."""
    return 1 / gdp.mu_for(epsilon, delta)


def cks_multiplier(epsilon: float, delta: float) -> float:
    """The noise for which some Rényi order reaches (ε, δ) by the sharper conversion.

        ε = min over α of ρα + ln(1/(αδ))/(α − 1) + ln(1 − 1/α),   σ/Δ = 1/√(2ρ)

    Canonne, Kamath and Steinke (2020), Proposition 12. Any order is valid, so a search that stops a little beside the
    best one errs on the side of more noise.
    """
    epsilon, delta = _checked(epsilon, delta)

    def negative_rho(log_excess: float) -> float:
        excess = math.exp(log_excess)  # α − 1
        slack = math.log((1 + excess) * delta) / excess + math.log1p(1 / excess)
        return -(epsilon + slack) / (1 + excess)

    # For a large δ the best order is far below Mironov's: a coarse look first, then a fine one.
    grid = np.linspace(math.log(_LOWEST_EXCESS), math.log(10 * mironov_order(epsilon, delta)), _STEPS).tolist()
    best = min(range(_STEPS), key=lambda place: negative_rho(grid[place]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, _STEPS - 1)])
    found = minimize_scalar(negative_rho, bounds=around, method="bounded", options={"xatol": 1e-10})
    return 1 / math.sqrt(-2 * min(float(found.fun), negative_rho(grid[best])))


def mironov_order(epsilon: float, delta: float) -> float:
    """α* = 1 + √(L/ρ), L = ln(1/δ): the order at which `mironov_multiplier` converts."""
    epsilon, delta = _checked(epsilon, delta)
    tail = -math.log(delta)
    return 1 + math.sqrt(tail) * (math.sqrt(tail + epsilon) + math.sqrt(tail)) / epsilon


def mironov_multiplier(epsilon: float, delta: float) -> float:
    """The noise for which the best Rényi order reaches (ε, δ) by the first conversion.

        ε = min over α of ρα + L/(α − 1) = ρ + 2√(ρL),   so   √ρ = √(L + ε) − √L,   L = ln(1/δ)

    Mironov (2017), Proposition 3; Bun and Steinke (2016), Proposition 1.3.
    """
    epsilon, delta = _checked(epsilon, delta)
    tail = -math.log(delta)
    # √(L + ε) − √L without the subtraction, which would cancel for small ε.
    return (math.sqrt(tail + epsilon) + math.sqrt(tail)) / (math.sqrt(2) * epsilon)


def fixed_order_multiplier(epsilon: float, delta: float, alpha: float) -> float:
    """The noise for which one given Rényi order reaches (ε, δ): ρ = (ε − L/(α − 1))/α, L = ln(1/δ).

    Mironov (2017), Proposition 3. No noise is enough where L/(α − 1) ≥ ε: refused.
    """
    epsilon, delta = _checked(epsilon, delta)
    order = above("alpha", alpha, 1)
    spent = -math.log(delta) / (order - 1)
    if spent >= epsilon:
        raise BadInput(
            f"Expected epsilon > ln(1/delta)/(alpha - 1) = {spent:.4g} for the order alpha={order:g} at "
            f"delta={delta:g}, got epsilon={epsilon:g}: this order does not reach it with any noise. Use an "
            f"order above {1 - math.log(delta) / epsilon:.4g}, or exact_multiplier, which needs none."
        )
    return math.sqrt(order / (2 * (epsilon - spent)))


def classic_multiplier(epsilon: float, delta: float) -> float:
    """σ/Δ = √(2 ln(1.25/δ))/ε. Dwork and Roth (2014), Theorem A.1: for ε up to 1 only, and refused beyond."""
    epsilon, delta = _checked(epsilon, delta)
    if epsilon > 1:
        raise BadInput(
            f"Expected epsilon <= 1 for the classic formula, got epsilon={epsilon!r}: its theorem ends there. "
            "Use exact_multiplier."
        )
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _checked(epsilon: float, delta: float) -> tuple[float, float]:
    return positive("epsilon", epsilon), probability("delta", delta)
