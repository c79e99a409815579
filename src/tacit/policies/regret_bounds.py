"""What the theorems of Shariff and Sheffet (2018) say about regret, from a configuration's own numbers.

All of them need a view every round and one ρ_min for all views: trees and Toeplitz, not geometric releases. With
ρ_min·I ⪯ H ⪯ ρ_max·I and ‖h‖_{H⁻¹} ≤ γ in every view (`JointLinUCB.regulariser_bounds`), |<θ*, x>| ≤ B = max(1, S·L),

    Λ = d·ln(1 + nL²/(dρ_min)),   X = 2 ln(2/α) + d·ln(ρ_max/ρ_min + nL²/(dρ_min)),   β̄ = σ√X + S√ρ_max + γ

they hold with probability 1 − α, for every number of rounds n up to the configuration's horizon: α and ρ are set by the
horizon, so one configuration gives a whole line. They are upper bounds with every constant in place, and far above what
is measured.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import positive
from tacit.errors import BadInput
from tacit.policies.joint_linucb import JointLinUCB


def theorem_5(config: JointLinUCB, rounds: ArrayLike) -> Floats:
    """Regret without a gap, at most

        B·√(8n)·[σX + (S√ρ_max + γ)·√Λ].

    Theorem 5 as printed; `theorem_5_sharper` is what its proof gives.
    """
    terms = _terms(config, rounds)
    return terms.largest * np.sqrt(8 * terms.rounds) * terms.bracket


def theorem_5_sharper(config: JointLinUCB, rounds: ArrayLike) -> Floats:
    """Regret without a gap, at most B·β̄·√(8nΛ): the last line of the proof of Theorem 5."""
    terms = _terms(config, rounds)
    return terms.largest * terms.width * np.sqrt(8 * terms.rounds * terms.elliptic)


def theorem_6(config: JointLinUCB, rounds: ArrayLike, gap: float) -> Floats:
    """Regret when the best action of every round is better than all others by `gap` = Δ, at most

        (8B/Δ)·[σX + (S√ρ_max + γ)·√Λ]².

    Theorem 6 as printed; `theorem_6_sharper` is what its proof gives.
    """
    terms = _terms(config, rounds)
    return 8 * terms.largest / _gap(gap) * terms.bracket**2


def theorem_6_sharper(config: JointLinUCB, rounds: ArrayLike, gap: float) -> Floats:
    """Regret under a gap Δ, at most (8B/Δ)·β̄²·Λ: the last line of the proof of Theorem 6."""
    terms = _terms(config, rounds)
    return 8 * terms.largest / _gap(gap) * terms.width**2 * terms.elliptic


def corollary_10(config: JointLinUCB, rounds: ArrayLike, gap: float | None = None) -> Floats:
    """The *rate* of regret under Wishart noise, without its constant:

        √n·[σ(ln(1/α) + d ln n) + S·L̃·√d·ln(n)^{3/4}·(d^{1/4} + ε^{−1/2} ln(1/δ)^{1/4})·(d^{1/4} + ln(n/α)^{1/4})],

    and with a gap Δ the bracket squared over Δ. Corollary 10. A shape, not a bound: scale it before drawing it.
    """
    n = _rounds(config, rounds)
    dim, alpha = config.dim, config.failure_probability
    noise = dim**0.25 + math.log(1 / config.delta) ** 0.25 / math.sqrt(config.epsilon)
    tail = dim**0.25 + np.log(n / alpha) ** 0.25
    private = math.sqrt(dim) * np.log(n) ** 0.75 * noise * tail
    return _rate(config, n, private, gap)


def corollary_12(config: JointLinUCB, rounds: ArrayLike, gap: float | None = None) -> Floats:
    """The *rate* of regret under Gaussian noise, without its constant:

        √n·[σ(d ln n + ln(1/α)) + S·L̃·ln n·√(d(√d + ln(n/α))·ln(1/δ)/ε)],

    and with a gap Δ the bracket squared over Δ. Corollary 12. A shape, not a bound: scale it before drawing it.
    """
    n = _rounds(config, rounds)
    dim, alpha = config.dim, config.failure_probability
    tail = math.sqrt(dim) + np.log(n / alpha)
    private = np.log(n) * np.sqrt(dim * tail * math.log(1 / config.delta) / config.epsilon)
    return _rate(config, n, private, gap)


class _Terms(NamedTuple):
    rounds: Floats  # n
    largest: float  # B
    bracket: Floats  # σX + (S√ρ_max + γ)·√Λ
    width: Floats  # β̄
    elliptic: Floats  # Λ


def _terms(config: JointLinUCB, rounds: ArrayLike) -> _Terms:
    n = _rounds(config, rounds)
    if config.width not in ("theory", "split") or config.explores != "optimism" or config.prior is not None:
        raise BadInput(
            "Expected the proved width, optimism and no prior, got otherwise: the regret theorems are proved for "
            'width="theory" or "split", exploration="optimism", prior=None.'
        )
    low, high, gamma = config.regulariser_bounds()  # refuses geometric releases
    dim, sigma = config.dim, config.reward_noise_level
    weight = n * config.action_norm**2 / (dim * low)
    elliptic = dim * np.log1p(weight)
    logs = 2 * math.log(2 / config.failure_probability) + dim * np.log(high / low + weight)  # X
    bias = config.parameter_norm * math.sqrt(high) + gamma
    return _Terms(
        rounds=n,
        largest=max(1.0, config.parameter_norm * config.action_norm),
        bracket=sigma * logs + bias * np.sqrt(elliptic),
        width=sigma * np.sqrt(logs) + bias,
        elliptic=elliptic,
    )


def _rate(config: JointLinUCB, n: Floats, private: Floats, gap: float | None) -> Floats:
    logs = config.dim * np.log(n) + math.log(1 / config.failure_probability)
    weight = config.parameter_norm * math.sqrt(config.sensitivity)  # S·L̃
    bracket = config.reward_noise_level * logs + weight * private
    rate: Floats = np.sqrt(n) * bracket if gap is None else bracket**2 / _gap(gap)
    return rate


def _rounds(config: JointLinUCB, rounds: ArrayLike) -> Floats:
    n = np.asarray(rounds, float)
    if n.size and not (np.isfinite(n).all() and (n >= 1).all()):
        raise BadInput("Expected rounds >= 1, got a number below or one that is not finite.")
    if n.size and config.horizon is not None and (n > config.horizon).any():
        raise BadInput(
            f"Expected rounds up to the horizon of {config.horizon:,}, got {n.max():,.0f}. "
            "The failure probability and the noise are set for the horizon."
        )
    return n


def _gap(gap: float) -> float:
    return positive("gap", gap, hint="Without a gap use theorem_5.")
