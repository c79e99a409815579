"""What is said about the regret of Rényi-private bandits: one theorem with all its constants, three rates, and a
conjecture. Lines to draw beside curves.

Privacy enters through ρ = ε/α alone, or through the noise s of a total, α/ε = 2s²/Δ² for rewards in an interval of
length Δ. Without noise ρ is infinite. `rounds` may be one number or an array of them, as for a line over time.

All of it is from Azize and Basu, *Rényi differentially private bandits*. How often `RenyiOFUL` switches at most is
`switch_bound`; what pure DP must cost is `lower_bounds.private_arms_floor`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import positive, real, whole
from tacit.errors import BadInput
from tacit.policies.episodic import UCB1, Episodic, RenyiUCB
from tacit.policies.lower_bounds import _rounds
from tacit.policies.switching import switch_bound

__all__ = [
    "conjectured_floor",
    "corollary_6_rate",
    "fitted_constant",
    "switch_bound",
    "theorem_5",
    "theorem_8_rate",
    "theorem_10_rate",
]


def theorem_5(config: RenyiUCB | Episodic | UCB1, means: Sequence[float], rounds: ArrayLike) -> Floats:
    """The expected regret of AdaR-UCB over arms of these means, at most

        Σ_{a: Δ_a > 0} 8β·ln T/Δ_a + 8√(2β·s²·ln T) + 2β/(β − 3).

    Theorem 5, for rewards in [0, 1] and β > 3, with α/ε = 2s². Without noise, `UCB1(doubling=True)`, s = 0. An upper
    bound with every constant in place, and several times what is measured; it says nothing about arms of nearly equal
    means, where `corollary_6_rate` is the better one. Its proof takes episodes of 1, 1, 2, 4, … rewards for granted.
    """
    beta, noise = _index_of(config)
    n = _rounds(rounds)
    found = [real("means", mean) for mean in means]
    if not found or min(found) < 0 or max(found) > 1:
        raise BadInput(f"Expected means from 0 to 1, one for each arm, got means={means!r}.")
    gaps = [max(found) - mean for mean in found if mean < max(found)]
    logs = np.log(n)
    private = 8 * math.sqrt(2 * beta) * noise * np.sqrt(logs)
    total: Floats = sum((8 * beta * logs / gap + private + 2 * beta / (beta - 3) for gap in gaps), np.zeros_like(n))
    return total


def corollary_6_rate(arms: int, rounds: ArrayLike, rho: float = math.inf) -> Floats:
    """√(KT·ln T) + K·√(ln T/ρ): the *rate* of AdaR-UCB's regret whatever the means are, without its constant.

    Corollary 6. A shape, not a bound: scale it (`fitted_constant`) before drawing it. Table 1 of the paper has ln T
    outside the second root, which is weaker.
    """
    count, n = whole("arms", arms), _rounds(rounds)
    logs = np.log(n)
    return np.sqrt(count * n * logs) + count * _inverse_root(rho) * np.sqrt(logs)


def theorem_8_rate(dim: int, arms: int, rounds: ArrayLike, rho: float = math.inf) -> Floats:
    """√(dT·ln(KT)) + d²·ln(KT)^{3/2}/√ρ: the *rate* of AdaR-GOPE's expected regret at δ = 1/T, without its constants.

    Theorem 8 with ln T outside the root, as its proof has it; the theorem itself prints it inside. It has a constant
    for each of the two terms; with one for both it is a shape, not a bound: scale it before drawing it.
    """
    size, logs = whole("dim", dim), np.log(whole("arms", arms) * _rounds(rounds))
    rate: Floats = np.sqrt(size * _rounds(rounds) * logs) + size**2 * _inverse_root(rho) * logs**1.5
    return rate


def theorem_10_rate(dim: int, rounds: ArrayLike, rho: float = math.inf) -> Floats:
    """d·ln T·√T + d²·(ln T)²/√ρ: the *rate* of AdaR-OFUL's regret, without its constants.

    Theorem 10, for contexts drawn at random whose squares hardly vary: uniform unit vectors do not qualify. A shape,
    not a bound: scale it before drawing it.
    """
    size, n = whole("dim", dim), _rounds(rounds)
    logs = np.log(n)
    rate: Floats = size * logs * np.sqrt(n) + size**2 * _inverse_root(rho) * logs**2
    return rate


def conjectured_floor(rho: float, rounds: ArrayLike) -> Floats:
    """√(ln T/ρ): what Rényi privacy may have to add to the regret, if Section 7 of the paper guesses right.

    A conjecture, not proved, of an order of growth and not of a number: no policy is judged by it.
    """
    return np.sqrt(np.log(_rounds(rounds))) * _inverse_root(rho)


def fitted_constant(rate: ArrayLike, measured: ArrayLike) -> float:
    """The least C for which C·rate is nowhere below what was measured: one constant for all points.

    What a rate leaves open is whether there is such a constant at all. For finitely many points there always is; that
    it is found proves nothing, and how far C·rate is above the *other* points tells how well the shape fits.
    """
    line, curve = np.asarray(rate, float), np.asarray(measured, float)
    if line.shape != curve.shape or line.size == 0:
        raise BadInput(f"Expected as many rates as measurements, got {line.shape} and {curve.shape}.")
    if not bool(np.isfinite(line).all() and (line > 0).all() and np.isfinite(curve).all()):
        raise BadInput("Expected finite measurements and rates above 0, got others: leave out the first rounds.")
    return float((curve / line).max())


def _index_of(config: RenyiUCB | Episodic | UCB1) -> tuple[float, float]:
    """β and s, of policies the theorem is about."""
    if isinstance(config, UCB1):
        covered, noise = config.doubling, 0.0
    else:
        covered = isinstance(config, RenyiUCB) or config.index == "ucb1"
        noise = config.noise_of_total
    if not covered:
        raise BadInput(
            f"Expected AdaR-UCB or its twin without noise, got {config!r}: Theorem 5 is proved for RenyiUCB, "
            'Episodic(index="ucb1") and UCB1(doubling=True).'
        )
    if (config.reward_low, config.reward_high) != (0, 1):
        raise BadInput(
            f"Expected rewards in [0, 1], got reward_low={config.reward_low!r}, reward_high={config.reward_high!r}: "
            "Theorem 5 is stated for those. Scale rewards and means to [0, 1]."
        )
    if not config.optimism > 3:
        raise BadInput(f"Expected optimism > 3, got optimism={config.optimism!r}: Theorem 5 needs beta above 3.")
    return float(config.optimism), noise


def _inverse_root(rho: float) -> float:
    """1/√ρ; 0 without noise."""
    return 0.0 if rho == math.inf else 1 / math.sqrt(positive("rho", rho))
