"""Ridge regression with a changing regulariser, its confidence ellipsoid, and the optimist's choice.

With V = G + H (H the regulariser, noise included) and ũ = u + h, the estimate θ̃ = V⁻¹ũ satisfies, with probability
1 − α and for every view at once, ‖θ* − θ̃‖_V ≤ β,

    β = σ·√(2 ln(2/α) + ln det V − d ln ρ_min) + S·√ρ_max + γ,

whenever ρ_min I ⪯ H ⪯ ρ_max I and ‖h‖_{H⁻¹} ≤ γ hold in all views (Shariff and Sheffet 2018, Proposition 4; ρ_min
must be one non-random number for all views, unless the martingale behind it starts anew with each view). `Confidence`
holds these numbers per stage; who fills it in owes the proof that they hold.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._arrays import each, logarithm
from tacit._kernel import implements, kernel, verb
from tacit._types import Floats, Ints
from tacit.core.slate import Slate
from tacit.noise import fill_normals, fill_uniforms

#: A matrix that is not positive definite is repaired by adding to its diagonal, twice as much each time, so often.
_REPAIRS = 200


class Confidence(NamedTuple):
    """The numbers of β. Arrays have one entry per stage; the last entry serves all later ones."""

    noise_level: float  # σ
    multiplier: float  # of β: 1 is the theorem
    log_term: Floats  # 2 ln(2/α)
    log_floor: Floats  # d ln ρ_min, ρ_min the smallest over all stages that share a martingale
    regulariser: Floats  # added to the diagonal of V
    repair: Floats  # Υ: added again, if V is not positive definite
    bias: Floats  # S√ρ_max + γ


class View(NamedTuple):
    """What has been released: all that `choose` may look at."""

    theta: Floats  # (d,) θ̃
    factor: Floats  # (d, d) upper triangular, V = UᵀU
    whiten: Floats  # (d, d) lower triangular, U⁻ᵀ: ‖whiten·x‖ = ‖x‖_{V⁻¹}
    width: Floats  # (1,) β
    stage: Ints  # (1,) how many views have been released


def empty_view(dim: int) -> View:
    """Before the first release."""
    return View(np.zeros(dim), np.zeros((dim, dim)), np.zeros((dim, dim)), np.zeros(1), np.zeros(1, np.int64))


def confidence_of(
    dim: int,
    *,
    noise_level: float,
    multiplier: float,
    failure: Floats | float,
    floor: Floats | float,
    regulariser: Floats,
    repair: Floats,
    bias: Floats,
) -> Confidence:
    """The numbers of β from α and ρ_min (`floor`), each one number for all stages or one per stage."""
    stages = np.zeros(len(regulariser))
    return Confidence(
        noise_level=float(noise_level),
        multiplier=float(multiplier),
        log_term=stages + 2 * each(math.log, 2 / np.asarray(failure)),
        log_floor=stages + dim * each(logarithm, floor),
        regulariser=stages + regulariser,
        repair=stages + repair,
        bias=stages + bias,
    )


def first_view(dim: int, confidence: Confidence, sums: Floats, unscale: float = 1.0) -> View:
    """The view before any row, from what is known in public: `sums` of a prior, or zeros."""
    view = empty_view(dim)
    fit(confidence, sums, np.zeros(len(sums)), unscale, view)
    view.stage[0] = 0
    return view


@kernel
def fit(confidence: Confidence, sums: Floats, noise: Floats, unscale: float, view: View) -> int:
    """Write the next view from packed sums plus packed noise. Returns how often V had to be repaired.

    Everything here is post-processing of `sums + noise`; the two are added, never used apart.
    """
    stage = min(view.stage[0], confidence.regulariser.shape[0] - 1)
    repairs = solve(sums, noise, confidence.regulariser[stage], confidence.repair[stage], unscale, view)
    growth = max(0.0, linalg.log_determinant(view.factor) - confidence.log_floor[stage])
    beta = confidence.noise_level * math.sqrt(confidence.log_term[stage] + growth) + confidence.bias[stage]
    view.width[0] = confidence.multiplier * beta
    view.stage[0] += 1
    return repairs


@kernel
def solve(sums: Floats, noise: Floats, regulariser: float, repair: float, unscale: float, view: View) -> int:
    """Write V = sums + noise + regulariser·I into the view, factored, and θ̃ with it. Returns how often V was repaired:
    where it is not positive definite, `repair` is added to its diagonal, twice as much each time."""
    dim = view.theta.shape[0]
    repairs = 0
    while True:
        at = 0
        for i in range(dim):
            for j in range(i, dim):
                view.factor[i, j] = sums[at] + noise[at]
                at += 1
            view.factor[i, i] += regulariser
        if linalg.cholesky(view.factor):
            break
        if repairs == _REPAIRS:
            raise RuntimeError("The noised matrix stayed indefinite: the sums are not finite.")
        regulariser += repair
        repair *= 2.0
        repairs += 1
    linalg.invert_transpose(view.factor, view.whiten)
    # θ̃ = Wᵀ(W ũ), row by row.
    for i in range(dim):
        view.theta[i] = 0.0
    for row in range(dim):
        total = 0.0
        for i in range(row + 1):
            total += view.whiten[row, i] * ((sums[at + i] + noise[at + i]) * unscale)
        for i in range(row + 1):
            view.theta[i] += view.whiten[row, i] * total
    return repairs


@kernel
def first_best(scores: Floats) -> int:
    """The first maximum: ties are certain in round 1 (all norms are equal), and runs must be comparable."""
    best, arm = scores[0], 0
    for k in range(1, scores.shape[0]):
        if scores[k] > best:
            best, arm = scores[k], k
    return arm


class Optimism(NamedTuple):
    """Score an action by the best it may be."""

    reach: float  # in widths: 1 is the confidence set


class Thompson(NamedTuple):
    """Score an action by a parameter drawn around the estimate."""

    shrink: float  # the width is divided by this: √d puts a typical draw at the edge of the confidence set


@verb
def explore(exploration: Any, view: View, slate: Slate, noise: Any) -> int:  # type: ignore[empty-body]
    """Pick an arm from the view."""


@implements(explore, Optimism)
@kernel
def optimistic_arm(exploration: Optimism, view: View, slate: Slate, noise: Any) -> int:
    """argmax <θ̃, x> + β·‖x‖_{V⁻¹}."""
    linalg.inner_products(view.theta, slate.columns, slate.scores)
    linalg.whitened_norms(view.whiten, slate.columns, slate.spread, slate.scratch, slate.product)
    width = exploration.reach * view.width[0]
    for k in range(slate.scores.shape[0]):
        slate.scores[k] += width * math.sqrt(slate.spread[k])
    return first_best(slate.scores)


@implements(explore, Thompson)
@kernel
def sampled_arm(exploration: Thompson, view: View, slate: Slate, noise: Any) -> int:
    """argmax <θ, x> for one θ = θ̃ + (β/shrink)·Wᵀz, z standard normal."""
    dim = view.theta.shape[0]
    z, theta = slate.scratch[:dim], slate.scratch[dim : 2 * dim]
    fill_normals(noise, z)
    scale = view.width[0] / exploration.shrink
    for i in range(dim):
        theta[i] = view.theta[i]
    for row in range(dim):
        for i in range(row + 1):
            theta[i] += scale * view.whiten[row, i] * z[row]
    linalg.inner_products(theta, slate.columns, slate.scores)
    return first_best(slate.scores)


@kernel
def uniform_arm(slate: Slate, noise: Any) -> int:
    """Any arm, evenly: the choice before the first view."""
    fill_uniforms(noise, slate.scratch[:1])
    arms = len(slate.scores)
    return min(int(slate.scratch[0] * arms), arms - 1)
