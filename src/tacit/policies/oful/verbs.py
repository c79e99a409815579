"""The verbs of rarely-switching OFUL on public actions: with noise `RenyiOFUL`, without `OFUL`.

Actions are public, and so is V = λI + Σ x xᵀ; only b = Σ x·r is secret. When det V has grown by the factor 1 + C since
the last view, b is released with noise and a new view is made of it; in between nothing changes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.core.round import CLIPPED_ACTIONS, CLIPPED_REWARDS, COUNTERS, REPAIRS, ROWS
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.estimators.ridge import Optimism, View, empty_view, optimistic_arm, solve
from tacit.mechanisms.root_toeplitz import prefix_noise
from tacit.policies.oful.eigenvalue import smallest_eigenvalue

#: Rounding may leave a unit vector a hair too long: it is scaled, but not counted as clipped.
_ROUNDING = 1.0 + 1e-9


class RowBounds(NamedTuple):
    """What a row may weigh."""

    action_norm: float  # L
    reward_low: float
    reward_high: float
    reward_bound: float  # B̃: the larger end, in absolute value
    reward_scale: float  # ζ: rewards are summed times this


class Width(NamedTuple):
    """The numbers of β_l = σ√(2 ln(1/δ') + ln det V − d ln λ) + S√λ + √(v_l·(d + 2√(dg) + 2g)/D), each l a release."""

    multiplier: float  # 1 is the theorem
    noise_level: float  # σ
    log_term: float  # 2 ln(1/δ')
    log_floor: float  # d ln λ
    bias: float  # S√λ
    tail: float  # d + 2√(dg) + 2g
    from_gram: bool  # D = λ_min(V), which is public; else the paper's bound on it
    eigenvalue: float  # λ0 of the paper's bound, for actions of length 1
    log_rows: float  # ln(d/δ') of the paper's bound


class OFULParams(NamedTuple):
    """Params of `RenyiOFUL` (rewards only) and `OFUL`."""

    bounds: RowBounds
    ridge: float  # λ
    growth: float  # 1 + C, and a hair more; 0: a view after every row
    most: int  # L_max: releases at most
    scale: float  # of one draw; 0: no noise
    weights: Floats  # (L_max,) w_k: how much of the draw k releases ago is in the noise
    variances: Floats  # (L_max,) v_l
    width: Width


class OFULVault(NamedTuple):
    """Secret: b and the noise drawn so far. What follows from the actions alone is public, and here for company."""

    sums: Floats  # packed Σ x xᵀ, then b
    noise: Floats  # packed like the sums: zeros for the public part, then N_l
    draws: Floats  # (L_max, d) z_m
    inverse: Floats  # (d, d) V⁻¹
    grown: Floats  # (1,) det V over that of the last view
    product: Floats  # (d,) scratch
    scratch: Floats  # (d, d)
    counters: Ints


def first_vault(dim: int, ridge: float, most: int) -> OFULVault:
    """Before anyone has come. `most`: draws that are remembered at most."""
    size = linalg.packed_size(dim) + dim
    return OFULVault(
        sums=np.zeros(size),
        noise=np.zeros(size),
        draws=np.zeros((most, dim)),
        inverse=np.eye(dim) / ridge,
        grown=np.ones(1),
        product=np.zeros(dim),
        scratch=np.zeros((dim, dim)),
        counters=np.zeros(COUNTERS, np.int64),
    )


def first_view(dim: int, ridge: float, width: Width) -> View:
    """Before any row: V = λI, θ̃ = 0, and nothing has been noised."""
    view = empty_view(dim)
    view.factor[...] = math.sqrt(ridge) * np.eye(dim)
    view.whiten[...] = np.eye(dim) / math.sqrt(ridge)
    view.width[0] = width.multiplier * (width.noise_level * math.sqrt(width.log_term) + width.bias)
    return view


@implements(choose, OFULParams)
@kernel
def choose_arm(params: Any, view: View, slate: Slate, noise: Any) -> int:
    return optimistic_arm(Optimism(1.0), view, slate, noise)


@kernel
def encode_row(params: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Scale an action to the bound and clip a reward to its interval, before anything is summed: the guarantee is for
    every input, and a bound only assumed is none."""
    dim = x.shape[0]
    bounds = params.bounds
    clipped = 0
    length = math.sqrt(linalg.dot(x, x))
    shrink = 1.0
    if length > bounds.action_norm:
        shrink = bounds.action_norm / length
        if length > bounds.action_norm * _ROUNDING:
            clipped += 1
    for i in range(dim):
        report[i] = x[i] * shrink
    y = min(max(reward, bounds.reward_low), bounds.reward_high)
    if y != reward:
        clipped += 2
    report[dim] = y * bounds.reward_scale
    report[dim + 1] = clipped


implements(encode, OFULParams)(encode_row)


@kernel
def add_row(vault: Any, report: Floats) -> None:
    """Into the exact sums, and what was clipped into the counters."""
    dim = report.shape[0] - 2
    linalg.add_outer(report, report[dim], dim, vault.sums)
    clipped = int(report[dim + 1])
    vault.counters[ROWS] += 1
    vault.counters[CLIPPED_ACTIONS] += clipped & 1
    vault.counters[CLIPPED_REWARDS] += clipped >> 1


@implements(absorb, OFULParams)
@kernel
def _absorb(params: OFULParams, vault: OFULVault, report: Floats) -> None:
    add_row(vault, report)
    x = report[: report.shape[0] - 2]
    vault.grown[0] /= linalg.add_outer_to_inverse(vault.inverse, x, 1.0, vault.product)


@implements(release, OFULParams)
@kernel
def _release(params: OFULParams, vault: OFULVault, view: View, noise: Any) -> None:
    """Publish b, if det V has grown enough since the last view, and the view it implies.

    Formal guarantee: the sequence of views is μ-GDP for one replaced reward, μ = √(Σ w_k²)·ΔL/scale with correlated
    noise, ΔL/scale with the plain sum. Proof: mechanisms/root_toeplitz/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.

    det V bounds the number of releases by L_max. Should rounding ever ask for one more, the last view stays: the price
    is for L_max of them.
    """
    stage = view.stage[0]
    if vault.grown[0] <= params.growth or stage >= params.most:
        return
    dim = view.theta.shape[0]
    if params.scale > 0.0:
        start = vault.noise.shape[0] - dim
        prefix_noise(params.scale, params.weights, vault.draws, stage, vault.noise[start:], noise)
    write_view(params, vault, view)


@kernel
def write_view(params: OFULParams, vault: Any, view: View) -> None:
    """The next view, of `vault.sums` and `vault.noise` together."""
    stage, dim = view.stage[0], view.theta.shape[0]
    vault.counters[REPAIRS] += solve(vault.sums, vault.noise, params.ridge, params.ridge, 1.0, view)
    view.width[0] = _width(params, vault, view, stage)
    view.stage[0] = stage + 1
    vault.grown[0] = 1.0
    # V⁻¹ anew from the factor: what rounding did to it between two views ends here.
    for i in range(dim):
        for j in range(i, dim):
            total = 0.0
            for row in range(j, dim):
                total += view.whiten[row, i] * view.whiten[row, j]
            vault.inverse[i, j] = vault.inverse[j, i] = total


@kernel
def _width(params: OFULParams, vault: Any, view: View, stage: int) -> float:
    """β of the view that is being made."""
    width = params.width
    grown = max(0.0, linalg.log_determinant(view.factor) - width.log_floor)
    beta = width.noise_level * math.sqrt(width.log_term + grown) + width.bias
    if params.scale > 0.0:
        beta += math.sqrt(params.variances[stage] * width.tail / _least_eigenvalue(params, vault))
    return width.multiplier * beta


@kernel
def _least_eigenvalue(params: OFULParams, vault: Any) -> float:
    """D: a lower bound on λ_min(V), as the matrix says or as the paper's assumption does; at least λ.

        D = λ + L²·(λ0·τ/4 − 8h − 2√(τh)),   h = ln((τ + 3)·d/δ'),   τ rows

    is the paper's for L = 1. For long it is below λ, even negative: λ then takes its place.
    """
    width, bounds = params.width, params.bounds
    if not width.from_gram:
        rows = float(vault.counters[ROWS])
        h = math.log(rows + 3.0) + width.log_rows
        gained = width.eigenvalue * rows / 4.0 - 8.0 * h - 2.0 * math.sqrt(rows * h)
        return params.ridge + max(0.0, bounds.action_norm * bounds.action_norm * gained)
    matrix, dim = vault.scratch, vault.scratch.shape[0]
    at = 0
    for i in range(dim):
        for j in range(i, dim):
            matrix[i, j] = matrix[j, i] = vault.sums[at]
            at += 1
        matrix[i, i] += params.ridge
    return max(params.ridge, smallest_eigenvalue(matrix))
