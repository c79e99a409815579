"""How far the estimate of an action's mean reward can be off, and how long a phase must be for it to be close.

After a phase in which action j was played n_j times and its rewards had the noised total S_j + N_j, least squares has
θ̃ = V⁻¹ Σ_j x_j(S_j + N_j), V = Σ_j n_j x_j x_jᵀ. For any action a, with w_j = x_aᵀV⁻¹x_j,

    <θ̃ − θ*, x_a> = Σ_j w_j·(the luck in S_j) + Σ_j w_j·N_j.

Rewards in an interval of length Δ are h-sub-Gaussian, h = Δ/2 (Hoeffding), so the first part has the variance factor
h²·Σ_j n_j w_j² = h²·‖x_a‖²_{V⁻¹}, and ψ(λ) = ln E e^{λ·error} is at most

    λ²h²‖x_a‖²/2 + λ²s²‖w‖₂²/2                          with Gaussian noise of standard deviation s,
    λ²h²‖x_a‖²/2 − (‖w‖₂²/‖w‖∞²)·ln(1 − λ²s²‖w‖∞²)      with Laplace noise of scale s, for λ < 1/(s‖w‖∞).

The second because E e^{tN} = 1/(1 − t²s²), and because −ln(1 − u)/u grows with u: each −ln(1 − λ²s²w_j²) is at most
w_j²/‖w‖∞² times the one of the largest |w_j|. It is exact where all |w_j| that are not zero are equal.

By Chernoff's bound the error exceeds (L + ψ(λ))/λ with probability e^−L at most, on either side and for every λ. The
best λ gives the *width*: √(2L(h²‖x_a‖² + s²‖w‖₂²)) for Gaussian noise. For Laplace noise it is found numerically; since
every λ is valid, so is one that is not quite the best.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.estimators.design import invert, project_on

#: Steps of golden section: the interval shrinks to 10⁻¹⁰ of itself.
_SECTIONS = 48
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Errors(NamedTuple):
    """What estimates are off by, and with what probability."""

    level: float  # h
    scale: float  # s
    laplace: bool
    log_term: float  # L


class Influence(NamedTuple):
    """Per action, how much it matters to its estimate what was played how often."""

    spread: Floats  # (K,) ‖x_a‖²_{V⁻¹}
    square: Floats  # (K,) ‖w‖₂²
    peak: Floats  # (K,) ‖w‖∞


@kernel
def weigh(
    influence: Influence,
    coordinates: Floats,
    played: Floats,
    count: int,
    rank: int,
    inverse: Floats,
    vector: Floats,
    products: Floats,
) -> bool:
    """Work out V⁻¹ and the influence, `played` being n. False if V is singular."""
    if not invert(coordinates, played, count, rank, inverse):
        return False
    spread, square, peak = influence.spread, influence.square, influence.peak
    for k in range(count):
        spread[k] = 0.0
        square[k] = 0.0
        peak[k] = 0.0
    for j in range(count):
        if played[j] > 0.0:
            for i in range(rank):
                total = 0.0
                for k in range(rank):
                    total += inverse[i, k] * coordinates[k, j]
                vector[i] = total
            project_on(coordinates, count, rank, vector, products)
            for k in range(count):
                weight = products[k] * products[k]
                spread[k] += played[j] * weight
                square[k] += weight
                peak[k] = max(peak[k], abs(products[k]))
    return True


@kernel
def largest_width(errors: Errors, influence: Influence, count: int) -> float:
    """What the error of no action exceeds, each but for a probability of 2e^−L."""
    largest = 0.0
    for k in range(count):
        luck = errors.level * errors.level * influence.spread[k]
        reach = errors.scale * influence.peak[k]
        if errors.laplace and reach > 0.0:
            terms = influence.square[k] / (influence.peak[k] * influence.peak[k])
            found = _best_bound(errors.log_term, luck, 1.0, 0.0, terms, reach)
        else:
            found = math.sqrt(2.0 * errors.log_term * (luck + errors.scale * errors.scale * influence.square[k]))
        largest = max(largest, found)
    return largest


@kernel
def least_total(errors: Errors, influence: Influence, count: int, target: float) -> float:
    """The number of rounds c after which every width is at most the `target` b, if n_j = c·π_j could be fractions; the
    influence is that of the design π.

    ‖x_a‖² and w are then 1/c of theirs. Gaussian: b² = 2L(h²‖x_a‖²/c + s²‖w‖₂²/c²). Laplace: with λ = cτ the condition
    L + ψ(λ) ≤ λb reads c ≥ (L − (‖w‖₂²/‖w‖∞²)·ln(1 − τ²s²‖w‖∞²))/(τb − τ²h²‖x_a‖²/2), least over τ.
    """
    largest, factor = 0.0, errors.log_term / (target * target)
    for k in range(count):
        luck = errors.level * errors.level * influence.spread[k]
        reach = errors.scale * influence.peak[k]
        if errors.laplace and reach > 0.0:
            terms = influence.square[k] / (influence.peak[k] * influence.peak[k])
            found = _best_bound(errors.log_term, 0.0, target, luck, terms, reach)
        else:
            half = factor * luck
            found = half + math.sqrt(half * half + 2.0 * factor * (errors.scale * errors.scale * influence.square[k]))
        largest = max(largest, found)
    return largest


@kernel
def _best_bound(log_term: float, curve: float, slope: float, bend: float, terms: float, reach: float) -> float:
    """The least (L + τ²·curve/2 − terms·ln(1 − τ²·reach²))/(τ·slope − τ²·bend/2) over τ > 0 where both are positive.

    A positive convex function over a positive concave one has no minimum but one: golden section finds it. Without the
    logarithm it lies at √(2L/curve) or slope/bend, and the logarithm, which grows, only brings it nearer to zero.
    """
    edge = 1.0 / reach
    if curve > 0.0:
        edge = min(edge, math.sqrt(2.0 * log_term / curve))
    if bend > 0.0:
        edge = min(edge, slope / bend)
    low, high = 0.0, edge
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left = _bound(log_term, curve, slope, bend, terms, reach, left)
    at_right = _bound(log_term, curve, slope, bend, terms, reach, right)
    for _ in range(_SECTIONS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = _bound(log_term, curve, slope, bend, terms, reach, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = _bound(log_term, curve, slope, bend, terms, reach, right)
    return min(at_left, at_right)


@kernel
def _bound(log_term: float, curve: float, slope: float, bend: float, terms: float, reach: float, tilt: float) -> float:
    shifted = tilt * reach
    numerator = log_term + 0.5 * curve * tilt * tilt - terms * math.log1p(-shifted * shifted)
    return numerator / (tilt * slope - 0.5 * bend * tilt * tilt)
