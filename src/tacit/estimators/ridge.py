"""Ridge regression with a changing regulariser, and its confidence ellipsoid.

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

#: A matrix that is not positive definite is repaired by adding to its diagonal, twice as much each time, so often.
_REPAIRS = 200


class Confidence(NamedTuple):
    """The numbers of β. Arrays have one entry per stage; the last entry serves all later ones."""

    noise_level: float  # σ
    multiplier: float  # of β: 1 is the theorem
    unscale: float  # 1/ζ: what the published vector is multiplied by
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
    width: Floats  # (1,) β; in `split` its shares behind it
    stage: Ints  # (1,) how many views have been released


def empty_view(dim: int, widths: int = 1) -> View:
    """Before the first release."""
    return View(np.zeros(dim), np.zeros((dim, dim)), np.zeros((dim, dim)), np.zeros(widths), np.zeros(1, np.int64))


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
    unscale: float = 1.0,
) -> Confidence:
    """The numbers of β from α and ρ_min (`floor`), each one number for all stages or one per stage."""
    stages = np.zeros(len(regulariser))
    return Confidence(
        noise_level=float(noise_level),
        multiplier=float(multiplier),
        unscale=float(unscale),
        log_term=stages + 2 * each(math.log, 2 / np.asarray(failure)),
        log_floor=stages + dim * each(logarithm, floor),
        regulariser=stages + regulariser,
        repair=stages + repair,
        bias=stages + bias,
    )


def first_view(dim: int, estimate: Any, known: Floats, widths: int = 1) -> View:
    """The view before any row, from what is known in public: sums of a prior, or zeros."""
    view = empty_view(dim, widths)
    fit(estimate, known, view)
    view.stage[0] = 0
    return view


@verb
def fit(estimate: Any, published: Floats, view: Any) -> int:  # type: ignore[empty-body]
    """Write the next view from packed sums as they were published. Returns how often V had to be repaired.

    Nothing here sees more than what was published: everything from here on is post-processing.
    """


@implements(fit, Confidence)
@kernel
def fit_ridge(estimate: Confidence, published: Floats, view: Any) -> int:
    """θ̃, V and β of the next stage."""
    stage = min(view.stage[0], estimate.regulariser.shape[0] - 1)
    repairs = solve(published, estimate.regulariser[stage], estimate.repair[stage], estimate.unscale, view)
    growth = max(0.0, linalg.log_determinant(view.factor) - estimate.log_floor[stage])
    beta = estimate.noise_level * math.sqrt(estimate.log_term[stage] + growth) + estimate.bias[stage]
    view.width[0] = estimate.multiplier * beta
    view.stage[0] += 1
    return repairs


@kernel
def solve(published: Floats, regulariser: float, repair: float, unscale: float, view: Any) -> int:
    """Write V = published matrix + regulariser·I into the view, factored, and θ̃ with it. Returns how often V was
    repaired: where it is not positive definite, `repair` is added to its diagonal, twice as much each time."""
    dim = view.theta.shape[0]
    repairs = 0
    while True:
        at = 0
        for i in range(dim):
            for j in range(i, dim):
                view.factor[i, j] = published[at]
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
            total += view.whiten[row, i] * (published[at + i] * unscale)
        for i in range(row + 1):
            view.theta[i] += view.whiten[row, i] * total
    return repairs
