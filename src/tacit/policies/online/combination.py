"""The constants of the combiner (Algorithm 2 and Theorem 4.1, corrected as in docs/errata.md)."""

from __future__ import annotations

import math

import numpy as np

from tacit._types import Floats
from tacit.policies.online.params import Combination

#: a_1 of the base that restarts, and a_i of the others: regret grows as n^a.
_POWERS = (0.75, 0.5)
#: 8·6², for the 6 of Cutkosky, Das and Purohit (2020) and rewards within [−1, 1].
PUBLISHED_PENALTY = 288.0


def default_bases(horizon: int) -> int:
    """M = ⌈log2(T)/8⌉ + 1: with guesses that double from T^(−1/8) on, the last is at least 1."""
    return math.ceil(math.log2(horizon) / 8) + 1


def guesses(horizon: int, bases: int) -> Floats:
    """λ_i = 2^(i−1)·T^(−1/8)."""
    found: Floats = 2.0 ** np.arange(bases) * horizon ** (-1 / 8)
    return found


def no_combination() -> Combination:
    """Of a single base."""
    nothing = np.zeros(1)
    return Combination(nothing, nothing, nothing, 0.0, 1.0, 0.0, 1.0)


def combination_of(
    *,
    bases: int,
    dim: int,
    epsilon: float,
    horizon: int,
    failure: float,
    first: float,
    other: float,
    deviation: float,
    penalty: float,
    penalty_constant: float | None,
    scale: float,
    reward: float,
) -> Combination:
    """What the combiner grants its bases, and holds against them from the start. With q = εT^(1/8) and ℓ = ln(T)^1.5,

        L_1 = Pℓ√d·(q + 1)/q,   L_i = P′ℓ√d/(ελ_i),   η_1 = q/(Pℓ√(dT)·(q + 1)),   η_i = ε/(P′ℓ√(dT)),
        R_i = L_i·T^a + k_a·L_i^(1/a)·T·η_i^((1−a)/a) + c·ln(T³M/α)·T·η_i + Σ_{k≠i} 1/η_k,
        k_a = (1 − a)^((1−a)/a)·(1 + a)^(1/a)/a^((1−a)/a).

    `first` is P, `other` P′, `deviation` p; c is `penalty_constant`, or 8p²s² with s² = 1 + σ²/Y² where it is None.
    """
    power = np.array([_POWERS[0]] + [_POWERS[1]] * (bases - 1))
    log, root = math.log(horizon) ** 1.5, math.sqrt(dim)
    q = epsilon * horizon ** (1 / 8)
    regret = other * log * root / (epsilon * guesses(horizon, bases))
    regret[0] = first * log * root * (q + 1) / q
    rate = np.full(bases, epsilon / (other * log * root * math.sqrt(horizon)))  # η_i
    rate[0] = q / (first * log * root * math.sqrt(horizon) * (q + 1))
    variance = 1 + (scale / reward) ** 2
    log_term = 3 * math.log(horizon) + math.log(bases / failure)
    constant = 8 * deviation**2 * variance if penalty_constant is None else penalty_constant
    ratio = (1 - power) / power
    shape = (1 - power) ** ratio * (1 + power) ** (1 / power) / power**ratio  # k_a
    total = regret * horizon**power + shape * regret ** (1 / power) * horizon * rate**ratio
    total += constant * log_term * horizon * rate + (1 / rate).sum() - 1 / rate
    return Combination(
        regret=regret,
        power=power,
        penalty=penalty * total / horizon,
        deviation=float(deviation),
        variance=variance,
        log_term=log_term,
        unit=1 / reward,
    )
