"""Ridge regression on sums to which every release adds noise of its own, so that the noise grows like a random walk.

Local and shuffle privacy noise each report, or each batch: after k of them an entry of the sums has noise of standard
deviation τ_k = s·√k. With failure probability α, shift c > 1 and α_k = 6α/(π²k²), which add up to α,

    Υ_k = max(A(α_k)·τ_k, ridge/c),   V_k = G + N_k + cΥ_k·I,   ρ_min = (c−1)Υ_k,   ρ_max = (c+1)Υ_k,
    γ_k = g(α_k)·τ_k/√ρ_min,   β_k = σ·√(2 ln(2/α_k) + ln det V_k − d ln ρ_min) + S·√ρ_max + γ_k,

and ‖θ* − θ̃_k‖_{V_k} ≤ β_k for all k at once with probability 1 − α, where A and g are tails with P(‖N_k‖ > A(a)·τ_k)
≤ a/4 and P(‖h_k‖ > g(a)·τ_k) ≤ a/4.

*Proof.* Let each view k pay its own α_k: a quarter for ‖N_k‖ ≤ Υ_k, a quarter for ‖h_k‖ ≤ g·τ_k, a half for the
rewards. On the first event ρ_min·I ⪯ H = N_k + cΥ_k·I ⪯ ρ_max·I. With η the noise of the rewards, V(θ̃ − θ*) =
Σ x·η + h − Hθ*, so ‖θ̃ − θ*‖_V is at most the sum of the three in the norm of V⁻¹. V ⪰ H makes the last at most
‖θ*‖_H ≤ S√ρ_max and the second at most ‖h‖/√ρ_min. V ⪰ W = G + ρ_min·I with a non-random ρ_min of this view alone, so
the self-normalised bound of Abbasi-Yadkori, Pál and Szepesvári (2011) for W at α_k/2 bounds the first; det W ≤ det V.
The noise of reports is drawn apart from η, so rewards stay sub-Gaussian given all that was seen before. ∎

The same few numbers express the widths that others have published and our heuristics: a constant in place of the
logarithm, or of everything. Nothing here has one entry per round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.estimators.ridge import View, empty_view, fit, solve


class Tail(NamedTuple):
    """What noise of unit deviation stays below but for a share α/4 of cases: start + √(slope·ln(weight/α))."""

    start: float
    slope: float
    weight: float


class Growing(NamedTuple):
    """The numbers of V_k and β_k."""

    spread: float  # s: deviation of the noise that one release adds to an entry
    matrix: Tail  # A
    vector: Tail  # g
    shift: float  # c
    ridge: float  # the least regulariser
    failure: float  # α
    noise_level: float  # σ; 0 leaves the logarithm out
    parameter_norm: float  # S
    base: float  # added to β
    stretch: float  # of S√ρ_max + γ: 1 is the theorem, 0 leaves it out
    multiplier: float  # of β: 1 is the rule itself


def proved(
    dim: int,
    *,
    spread: float,
    gaussian: bool,
    shift: float,
    ridge: float,
    failure: float,
    noise_level: float,
    parameter_norm: float,
    releases: int,
) -> Growing:
    """The theorem above, for Gaussian noise or for noise that is sub-Gaussian with `spread` as its deviation.

    Of the tails that hold, the one that is least at the last of so many `releases` is used throughout.
    """
    last = 6 * failure / (math.pi * releases) ** 2
    matrix = min(matrix_tails(dim, gaussian=gaussian), key=lambda bound: tail_at(bound, last))
    return Growing(
        spread=float(spread),
        matrix=matrix,
        vector=vector_tail(dim),
        shift=float(shift),
        ridge=float(ridge),
        failure=float(failure),
        noise_level=float(noise_level),
        parameter_norm=float(parameter_norm),
        base=0.0,
        stretch=1.0,
        multiplier=1.0,
    )


def constant(*, spread: float, growth: float, ridge: float, width: float) -> Growing:
    """A rule without a theorem: regulariser max(growth·τ_k, ridge), and one width for all views."""
    return Growing(
        spread=float(spread),
        matrix=Tail(float(growth) / 2, 0.0, 1.0),
        vector=Tail(0.0, 0.0, 1.0),
        shift=2.0,
        ridge=float(ridge),
        failure=1.0,
        noise_level=0.0,
        parameter_norm=0.0,
        base=float(width),
        stretch=0.0,
        multiplier=1.0,
    )


def matrix_tails(dim: int, *, gaussian: bool) -> list[Tail]:
    """Bounds on ‖N‖, N symmetric with independent entries of unit deviation on and above the diagonal.

    *Frobenius.* ‖N‖ ≤ ‖N‖_F, and ‖N‖_F² = Σ N_ii² + 2·Σ_{i<j} N_ij² is a quadratic form in sub-Gaussian numbers with
    weights of sum d², sum of squares 2d² − d and maximum 2: above d² + 2√((2d² − d)x) + 4x ≤ (d + 2√x)² with a
    probability of at most e^{−x} (Hsu, Kakade and Zhang 2012, Theorem 2.1).

    *Matrix Hoeffding.* N = Σ ξ_ij·A_ij with Σ A_ij² = d·I, and E exp(θξA) ⪯ exp(θ²A²/2) for every sub-Gaussian ξ, so
    ‖N‖ ≤ √(2d·x) but for 2d·e^{−x} (Tropp 2012, Theorem 7.1, which holds for martingales).

    *Gaussian.* vᵀNv has variance 2 − Σ v_i⁴ ≤ 2 − 1/d, so λ_max(N) is √(2 − 1/d)-Lipschitz in the entries; its mean is
    at most 2√d by comparison with 2<g, v>, since E(vᵀNv − wᵀNw)² = 4 − 4<v, w>² − Σ(v_i² − w_i²)² ≤ 4‖v − w‖². Hence
    ‖N‖ ≤ 2√d + √(2(2 − 1/d)x) but for 2e^{−x}.

    Public entries have no noise: that takes away from each bound, since each grows with every variance.
    """
    tails = [Tail(float(dim), 4.0, 4.0), Tail(0.0, 2.0 * dim, 8.0 * dim)]
    return [*tails, Tail(2 * math.sqrt(dim), 2 * (2 - 1 / dim), 8.0)] if gaussian else tails


def vector_tail(dim: int) -> Tail:
    """‖h‖ ≤ √d + √(2x) but for e^{−x}, for sub-Gaussian h too (Hsu, Kakade and Zhang 2012)."""
    return Tail(math.sqrt(dim), 2.0, 4.0)


@kernel
def tail_at(bound: Tail, failure: float) -> float:
    """The bound at one α."""
    return bound.start + math.sqrt(bound.slope * math.log(bound.weight / failure))


@kernel
def regulariser_at(growing: Growing, releases: float) -> float:
    """cΥ_k."""
    share = 6.0 * growing.failure / (math.pi * max(releases, 1.0)) ** 2
    return max(growing.shift * tail_at(growing.matrix, share) * growing.spread * math.sqrt(releases), growing.ridge)


@kernel
def width_at(growing: Growing, releases: float, dim: int, log_determinant: float) -> float:
    """β_k, given ln det V_k."""
    share = 6.0 * growing.failure / (math.pi * max(releases, 1.0)) ** 2
    bound = regulariser_at(growing, releases) / growing.shift
    low, high = (growing.shift - 1.0) * bound, (growing.shift + 1.0) * bound
    beta = growing.base
    if growing.noise_level > 0.0:
        growth = max(0.0, log_determinant - dim * math.log(low))
        beta += growing.noise_level * math.sqrt(2.0 * math.log(2.0 / share) + growth)
    if growing.stretch > 0.0:
        moved = tail_at(growing.vector, share) * growing.spread * math.sqrt(releases) / math.sqrt(low)
        beta += growing.stretch * (growing.parameter_norm * math.sqrt(high) + moved)
    return growing.multiplier * beta


@implements(fit, Growing)
@kernel
def fit_growing(estimate: Growing, published: Floats, view: View) -> int:
    """θ̃, V and β after one release more: a view is made after each, so its stage counts them.

    Where V is not positive definite the regulariser is added again, then twice as much, and so on.
    """
    releases = view.stage[0] + 1
    regulariser = regulariser_at(estimate, releases)
    repairs = solve(published, regulariser, regulariser, 1.0, view)
    view.width[0] = width_at(estimate, releases, view.theta.shape[0], linalg.log_determinant(view.factor))
    view.stage[0] = releases
    return repairs


def ball_view(dim: int, growing: Growing) -> View:
    """The view before anybody has come: V is the regulariser alone, and all directions are alike."""
    regulariser = regulariser_at(growing, 0.0)
    view = empty_view(dim)
    np.fill_diagonal(view.factor, math.sqrt(regulariser))
    np.fill_diagonal(view.whiten, 1 / math.sqrt(regulariser))
    view.width[0] = width_at(growing, 0.0, dim, dim * math.log(regulariser))
    return view
