"""Maler: one learner for losses of unknown curvature.

Experts for convex, strongly convex and exp-concave losses run side by side, the latter two for a grid of learning
rates, and a meta-learner plays their mean, weighted by how each has done. Wang, Lu and Zhang (2019), "Adaptivity and
optimality: a universal algorithm for online convex optimization". The constants of the three regret bounds below are
our own; `docs/online-learners.md` proves them.

The algorithm has no scale of its own: it is run in the ball of radius 1 on gradients divided by G (so that their length
is at most 1 and the diameter of the ball is 2), and only the point that is played is multiplied by D. With e = θ_t − θ
for an expert at θ, the losses of the experts are

    convex            c = −η_c<e, g> + (2η_c)²,       η_c = 1/(4√T)
    strongly convex   s = −η<e, g> + η²‖e‖²,          η = 2⁻ⁱ/10 for i = 0, …, ⌈½·log2 T⌉
    exp-concave       ℓ = −η<e, g> + η²<e, g>²,       the same η

and each follows the gradient of its own: descent with steps 1/√t and 1/t, and a Newton step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.errors import BadInput
from tacit.estimators.online.learner import LONGEST, Online, descend, member, restart, size
from tacit.estimators.online.projection import project, projection_rows

#: β = ½·min{1/(4·G_ℓ·diameter), 1}, where G_ℓ = 7/(25·diameter) bounds the gradient of ℓ. Any β up to 1.02 has a bound.
_NEWTON = 25 / 56
#: S_i starts as I/(β·diameter)²: its inverse.
_FIRST_INVERSE = (2 * _NEWTON) ** 2

_STEPS, _GRID = 0, 1  # places in `clock`
#: Places in `experts` and `log_weights`: one convex expert, then two of the others for each learning rate.
CONVEX, STRONGLY_CONVEX, EXP_CONCAVE = 0, 1, 2


class Maler(NamedTuple):
    """Params of Maler."""

    radius: float  # D
    clip: float  # G
    horizon: int  # the longest T it can be started for
    rates: Floats  # (n,) η_i, as many as the longest horizon needs; a shorter one uses the first of them


class MalerState(NamedTuple):
    """Where it stands. Points of experts are in the ball of radius 1; unused rows of a longer grid hold anything."""

    point: Floats  # (d,) θ_t, to play next
    clock: Ints  # (2,) t − 1: steps taken; n: learning rates in use
    convex_rate: Floats  # (1,) η_c
    centre: Floats  # (d,) θ_t/D
    experts: Floats  # (1 + 2n, d) convex; then, for each η, strongly convex and exp-concave
    log_weights: Floats  # (1 + 2n,) ln π, the largest 0
    inverses: Floats  # (n, d, d) S_i⁻¹ of the exp-concave experts
    scratch: Floats  # (d + 3, d)


def maler(dim: int, radius: float, clip: float, horizon: int) -> Online[Maler, MalerState]:
    """Maler in the ball of `radius`, for gradients clipped to the length `clip` and at most `horizon` steps."""
    whole("dim", dim)
    steps = whole("horizon", horizon)
    if steps > LONGEST:
        raise BadInput(f"Expected horizon <= {LONGEST}, got horizon={horizon}.")
    count = grid_size(steps)
    rates = np.array([0.1 * 0.5**i for i in range(count)])
    params = Maler(size("radius", radius), size("clip", clip), steps, rates)

    def fresh() -> MalerState:
        state = MalerState(
            point=np.zeros(dim),
            clock=np.zeros(2, np.int64),
            convex_rate=np.zeros(1),
            centre=np.zeros(dim),
            experts=np.zeros((1 + 2 * count, dim)),
            log_weights=np.zeros(1 + 2 * count),
            inverses=np.zeros((count, dim, dim)),
            scratch=np.zeros((projection_rows(dim) + 1, dim)),
        )
        restart(params, state, steps)
        return state

    return Online(params, fresh)


def convex_regret_bound(radius: float, clip: float, horizon: int) -> float:
    """(2 ln 3 + 2)·G·2D·√T: what Σ <g_t, θ_t − u> cannot exceed in `horizon` steps or fewer, for any u in the ball."""
    return (2 * math.log(3) + 2) * clip * 2 * radius * math.sqrt(horizon)


def strongly_convex_regret_bound(radius: float, clip: float, horizon: int, curvature: float) -> float:
    """(10·G·2D + 9G²/2μ)·A, A = 2 ln(√3·(½·log2 T + 3)) + ½·(1 + ln T): the regret for losses f with

    f(u) ≥ f(θ) + <g, u − θ> + μ/2·‖u − θ‖², `curvature` being μ.
    """
    amount = _meta_regret(horizon) + 0.5 * (1 + math.log(horizon))
    return (10 * clip * 2 * radius + 4.5 * clip**2 / curvature) * amount


def exp_concave_regret_bound(dim: int, radius: float, clip: float, horizon: int, curvature: float) -> float:
    """(10·G·2D + 9/2ρ)·A, A = 2 ln(√3·(½·log2 T + 3)) + 1.12·d·ln(1 + T/64d) + 0.28: the regret for losses f with

    f(u) ≥ f(θ) + <g, u − θ> + ρ/2·<g, u − θ>², `curvature` being ρ. For the square of a residual of at most r that is
    1/2r²; for α-exp-concave losses ½·min{1/(4·G·2D), α} (Hazan, Agarwal and Kale 2007, Lemma 3).
    """
    amount = _meta_regret(horizon) + 1.12 * dim * math.log1p(horizon / (64 * dim)) + 0.28
    return (10 * clip * 2 * radius + 4.5 / curvature) * amount


def _meta_regret(horizon: int) -> float:
    """ln 1/π for the least of the priors: what following the best expert costs."""
    return 2 * math.log(math.sqrt(3) * (0.5 * math.log2(horizon) + 3))


@kernel
def grid_size(horizon: int) -> int:
    """n = 1 + ⌈½·log2 T⌉, in whole numbers: the smallest n with 4ⁿ⁻¹ ≥ T."""
    count, power = 1, 1
    while power < horizon:
        power *= 4
        count += 1
    return count


def expert_weights(state: MalerState) -> Floats:
    """π: how much each expert in use is believed. They sum to one; the order is that of `state.experts`."""
    weights = np.exp(state.log_weights[: 1 + 2 * state.clock[_GRID]])
    total: Floats = weights / weights.sum()
    return total


@implements(restart, Maler)
@kernel
def _restart(online: Maler, state: MalerState, horizon: int) -> None:
    if horizon < 1 or horizon > online.horizon:
        raise RuntimeError("Expected 1 <= horizon <= that of the params, which the grid was made for.")
    dim, count = state.point.shape[0], grid_size(horizon)
    state.clock[_STEPS], state.clock[_GRID] = 0, count
    state.convex_rate[0] = 0.25 / math.sqrt(horizon)
    for i in range(dim):
        state.point[i] = 0.0
        state.centre[i] = 0.0
    for row in range(1 + 2 * count):
        for i in range(dim):
            state.experts[row, i] = 0.0
    # π_c = 1/3, and C/(3(i + 1)(i + 2)) for both experts of η_i, C = 1 + 1/n: they sum to one.
    state.log_weights[CONVEX] = -math.log(3.0)
    for i in range(count):
        prior = (1.0 + 1.0 / count) / (3.0 * (i + 1) * (i + 2))
        state.log_weights[STRONGLY_CONVEX + 2 * i] = math.log(prior)
        state.log_weights[EXP_CONCAVE + 2 * i] = math.log(prior)
        for j in range(dim):
            for k in range(dim):
                state.inverses[i, j, k] = 0.0
            state.inverses[i, j, j] = _FIRST_INVERSE


@implements(descend, Maler)
@kernel
def _descend(online: Maler, state: MalerState, gradient: Floats) -> None:
    length = math.sqrt(linalg.dot(gradient, gradient))
    if not length < math.inf:
        return
    dim, experts, weights = gradient.shape[0], state.experts, state.log_weights
    unit = state.scratch[projection_rows(dim)]  # g/G, at most 1 long
    scale = 1.0 / max(length, online.clip)
    for k in range(dim):
        unit[k] = scale * gradient[k]
    state.clock[_STEPS] += 1
    share = 1.0 / state.clock[_STEPS]
    weights[CONVEX] -= _convex_step(experts[CONVEX], state.centre, unit, state.convex_rate[0], math.sqrt(share))
    for i in range(state.clock[_GRID]):
        rate, strong, newton = online.rates[i], STRONGLY_CONVEX + 2 * i, EXP_CONCAVE + 2 * i
        weights[strong] -= _strongly_convex_step(experts[strong], state.centre, unit, rate, share)
        weights[newton] -= _exp_concave_step(
            experts[newton], state.centre, unit, rate, state.inverses[i], state.scratch
        )
    _mix(online, state)


@kernel
def _convex_step(expert: Floats, centre: Floats, gradient: Floats, rate: float, share: float) -> float:
    """θ ← Π(θ − (2/√t)·g), the diameter over √t being the step (`share` is 1/√t). Returns c at the old θ."""
    advantage, length = 0.0, 0.0
    for k in range(expert.shape[0]):
        advantage += (centre[k] - expert[k]) * gradient[k]
        expert[k] -= 2.0 * share * gradient[k]
        length += expert[k] * expert[k]
    _shorten(expert, length)
    return 4.0 * rate * rate - rate * advantage


@kernel
def _strongly_convex_step(expert: Floats, centre: Floats, gradient: Floats, rate: float, share: float) -> float:
    """θ ← Π(θ − ∇s(θ)/(2η²t)), ∇s(θ) = ηg + 2η²(θ − θ_t): s is 2η²-strongly convex (`share` is 1/t).

    Returns s at the old θ.
    """
    advantage, distance, length = 0.0, 0.0, 0.0
    step = 0.5 * share / rate
    for k in range(expert.shape[0]):
        gap = centre[k] - expert[k]
        advantage += gap * gradient[k]
        distance += gap * gap
        expert[k] += share * gap - step * gradient[k]
        length += expert[k] * expert[k]
    _shorten(expert, length)
    return rate * rate * distance - rate * advantage


@kernel
def _exp_concave_step(
    expert: Floats, centre: Floats, gradient: Floats, rate: float, inverse: Floats, scratch: Floats
) -> float:
    """S ← S + qqᵀ, θ ← Π^S(θ − S⁻¹q/β), q = ∇ℓ(θ) = (η − 2η²<θ_t − θ, g>)·g: a Newton step (Hazan, Agarwal and Kale
    2007). Returns ℓ at the old θ.
    """
    advantage, length = 0.0, 0.0
    dim, product = expert.shape[0], scratch[0]
    for k in range(dim):
        advantage += (centre[k] - expert[k]) * gradient[k]
    slope = rate - 2.0 * rate * rate * advantage
    step = slope / _NEWTON * linalg.add_outer_to_inverse(inverse, gradient, slope * slope, product)
    for k in range(dim):
        expert[k] -= step * product[k]
        length += expert[k] * expert[k]
    if length > 1.0:
        project(inverse, 1.0, expert, scratch)
    return rate * advantage * (rate * advantage - 1.0)


@kernel
def _shorten(expert: Floats, square: float) -> None:
    """The nearest point of the ball; `square` is ‖θ‖²."""
    if square > 1.0:
        shrink = 1.0 / math.sqrt(square)
        for k in range(expert.shape[0]):
            expert[k] *= shrink


@kernel
def _mix(online: Maler, state: MalerState) -> None:
    """θ_t = Σ π·η·θ / Σ π·η over all experts; logarithms of weights are kept with the largest at zero."""
    dim, count = state.point.shape[0], 1 + 2 * state.clock[_GRID]
    weights, centre, experts = state.log_weights, state.centre, state.experts
    largest = weights[CONVEX]
    for row in range(1, count):
        largest = max(largest, weights[row])
    weights[CONVEX] -= largest
    total = state.convex_rate[0] * math.exp(weights[CONVEX])
    for k in range(dim):
        centre[k] = total * experts[CONVEX, k]
    for row in range(1, count):
        weights[row] -= largest
        share = online.rates[(row - 1) // 2] * math.exp(weights[row])
        total += share
        for k in range(dim):
            centre[k] += share * experts[row, k]
    for k in range(dim):
        centre[k] /= total
        state.point[k] = online.radius * centre[k]


@implements(member, Maler)
def _member(online: Maler, bank: MalerState, index: int) -> MalerState:
    return MalerState(
        bank.point[index],
        bank.clock[index],
        bank.convex_rate[index],
        bank.centre[index],
        bank.experts[index],
        bank.log_weights[index],
        bank.inverses[index],
        bank.scratch[index],
    )
