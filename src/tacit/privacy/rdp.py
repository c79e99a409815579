"""Rényi and concentrated differential privacy: other currencies for the same Gaussian mechanism.

For one Gaussian release these are exact consequences of μ. The way back to (ε, δ) is not: converting through one
Rényi order gives away part of the curve that `gdp.epsilon_at` keeps.
"""

from __future__ import annotations

import math

from tacit._validate import above, probability
from tacit.privacy.gdp import cost


def zcdp(mu: float) -> float:
    """ρ such that a μ-GDP Gaussian release is ρ-zCDP.

        ρ = μ²/2

    Bun and Steinke (2016), Proposition 1.6. Stated for Gaussian releases; it is tight there.
    """
    shift = cost("mu", mu)
    return shift * shift / 2


def rdp(mu: float, alpha: float) -> float:
    """The Rényi divergence of order α > 1 between the outputs of a Gaussian release on neighbours.

        ε(α) = α μ²/2

    Mironov (2017), Corollary 3.
    """
    return above("alpha", alpha, 1) * zcdp(mu)


def pure_to_zcdp(epsilon: float) -> float:
    """ρ such that pure ε-DP implies ρ-zCDP.

        ρ = ε²/2

    Bun and Steinke (2016), Proposition 1.4. A bound: no mechanism's ρ is read off its ε exactly.
    """
    pure = cost("epsilon", epsilon)
    return pure * pure / 2


def pure_to_rdp(epsilon: float, alpha: float) -> float:
    """What pure ε-DP implies for the Rényi divergence of order α > 1.

        ε(α) = min(ε, α ε²/2)

    By `pure_to_zcdp`, and since the divergence of every order is at most that of order ∞ (van Erven and
    Harremoës 2014, Theorem 3).
    """
    return min(cost("epsilon", epsilon), above("alpha", alpha, 1) * pure_to_zcdp(epsilon))


def rdp_to_epsilon(alpha: float, rho: float, delta: float) -> float:
    """ε such that (α, ρ)-Rényi DP implies (ε, δ)-DP.

        ε = ρ + log(1 − 1/α) − log(αδ)/(α − 1),  and never below 0

    Canonne, Kamath and Steinke (2020), Proposition 12. Not tight for a Gaussian alone: use `gdp`.
    """
    order = above("alpha", alpha, 1)
    failure = probability("delta", delta)
    return max(0.0, cost("rho", rho) + math.log1p(-1 / order) - math.log(order * failure) / (order - 1))
