"""Rarely switching: the machine of `OFUL` and of `RenyiOFUL` on public actions.

Actions are public, and so is V = λI + Σ x xᵀ; only b = Σ x·r is secret. When det V has grown by the factor 1 + C since
the last view, b is published with noise and a new view is made of it; in between nothing changes.

It is not `Linear`: when there is a release follows from V, which it must keep, and no counter of rows says it. It has
the rows, the counters and the explorations of the linear machine.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import at_least, positive, whole
from tacit.core.round import COUNTERS, REPAIRS, ROWS
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.counters.counter import add, publish
from tacit.estimators.ridge import View, empty_view, solve
from tacit.explorations import Optimism, optimistic_arm
from tacit.policies.linear import REPORTED, Bounds, clip_row, count_row

#: det V must grow by 1 + C and this much more: where it grows by exactly 1 + C (basis vectors do), rounding must not
#: decide. It is above what the running inverse loses in ten million rows, and nothing to the regret.
SLACK = 1e-9


def switch_bound(dim: int, rounds: int, *, ridge: float = 1.0, switch: float = 1.0, action_norm: float = 1.0) -> float:
    """d·log_{1+C}(1 + T·L²/(λd)): how many times det V can grow by more than 1 + C in T rounds.

    det V starts at λ^d, and ends at most at (λ + TL²/d)^d by the inequality of the means. Abbasi-Yadkori, Pál and
    Szepesvári (2011), Section 5.1. A bound on the number of views, for a line in a figure; `most_views` is a number.
    """
    total = whole("rounds", rounds, low=0) * positive("action_norm", action_norm) ** 2
    return dim * math.log1p(total / (positive("ridge", ridge) * dim)) / math.log1p(positive("switch", switch))


def most_views(dim: int, rounds: int, *, ridge: float, switch: float, action_norm: float) -> int:
    """L_max = ⌈`switch_bound`⌉, and never more than one per round."""
    bound = switch_bound(dim, rounds, ridge=ridge, switch=switch, action_norm=action_norm)
    return max(1, min(rounds, math.ceil(bound)))


def growth_factor(switch: float) -> float:
    """By how much det V must have grown for a new view; C = 0 asks for one after every row."""
    return (1.0 + switch) * (1.0 + SLACK) if at_least("switch", switch, 0) > 0 else 0.0


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


class Switching(NamedTuple):
    """Params of `RenyiOFUL` (rewards only) and `OFUL`."""

    row: Bounds
    ridge: float  # λ
    growth: float  # 1 + C, and a hair more; 0: a view after every row
    most: int  # L_max: releases at most
    counter: Any  # `Segments`, or on a lattice `LatticeSegments`
    variances: Floats  # (L_max,) v_l: of a coordinate of the noise
    width: Width


class SwitchingVault(NamedTuple):
    """Secret: b, and what the counter carries. What follows from the actions alone is public, and here for company."""

    sums: Floats  # (1, 1, d) b; on a lattice (2, L_max + 1, d), what has come in before each release
    memory: Floats  # of the counter
    published: Floats  # packed Σ x xᵀ, then b as it was published last: public
    inverse: Floats  # (d, d) V⁻¹
    grown: Floats  # (1,) det V over that of the last view
    product: Floats  # (d,) scratch
    scratch: Floats  # (d, d)
    place: Ints  # (1,) which of the sums is being summed up
    counters: Ints


def switching_vault(dim: int, ridge: float, sums: Floats, memory: Floats) -> SwitchingVault:
    """Before anyone has come."""
    return SwitchingVault(
        sums=sums,
        memory=memory,
        published=np.zeros(linalg.packed_size(dim) + dim),
        inverse=np.eye(dim) / ridge,
        grown=np.ones(1),
        product=np.zeros(dim),
        scratch=np.zeros((dim, dim)),
        place=np.zeros(1, np.int64),
        counters=np.zeros(COUNTERS, np.int64),
    )


def first_view(dim: int, ridge: float, width: Width) -> View:
    """Before any row: V = λI, θ̃ = 0, and nothing has been noised."""
    view = empty_view(dim)
    view.factor[...] = math.sqrt(ridge) * np.eye(dim)
    view.whiten[...] = np.eye(dim) / math.sqrt(ridge)
    view.width[0] = width.multiplier * (width.noise_level * math.sqrt(width.log_term) + width.bias)
    return view


@implements(choose, Switching)
@kernel
def _choose(params: Switching, view: View, slate: Slate, noise: Any) -> int:
    return optimistic_arm(Optimism(1.0), view, slate, noise)


@implements(encode, Switching)
@kernel
def _encode(params: Switching, view: View, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    clip_row(params.row, x, reward, report, noise)


@implements(absorb, Switching)
@kernel
def _absorb(params: Switching, vault: SwitchingVault, report: Floats) -> None:
    dim = report.shape[0] - REPORTED
    x = report[:dim]
    linalg.add_outer(x, 0.0, dim, vault.published)
    add(params.counter, x, report[dim], dim, vault.sums[:, vault.place[0]])
    count_row(report, vault.counters)
    vault.grown[0] /= linalg.add_outer_to_inverse(vault.inverse, x, 1.0, vault.product)


@implements(release, Switching)
@kernel
def _release(params: Switching, vault: SwitchingVault, view: View, noise: Any) -> None:
    """Publish b, if det V has grown enough since the last view, and the view it implies.

    Formal guarantee: the sequence of views is μ-GDP for one replaced reward, μ the price of the counter's event. Proof:
    counters/segments.md; on a lattice counters/lattice.md.
    Requires: rows clipped by `encode`; called once per `absorb`.

    det V bounds the number of releases by L_max. Should rounding ever ask for one more, the last view stays: the price
    is for L_max of them.
    """
    if vault.grown[0] <= params.growth or view.stage[0] >= params.most:
        return
    publish_sum(params, vault, view.stage[0], noise)
    vault.counters[REPAIRS] += fit_published(params, vault.published, vault.counters[ROWS], vault.scratch, view)
    _renew(vault, view)


@kernel
def publish_sum(params: Switching, vault: SwitchingVault, stage: int, noise: Any) -> None:
    """Write b, with noise, beside the public matrix: the last function that sees it exactly."""
    dim = vault.product.shape[0]
    at = publish(params.counter, dim, vault.counters[ROWS], stage, vault.sums, vault.memory, noise)
    start = vault.published.shape[0] - dim
    for i in range(dim):
        vault.published[start + i] = vault.memory[at, i]
    vault.place[0] = (stage + 1) % vault.sums.shape[1]


@kernel
def fit_published(params: Switching, published: Floats, rows: int, scratch: Floats, view: View) -> int:
    """The next view, of what is public and published; returns how often V had to be repaired."""
    stage = view.stage[0]
    repairs = solve(published, params.ridge, params.ridge, 1.0, view)
    width = params.width
    grown = max(0.0, linalg.log_determinant(view.factor) - width.log_floor)
    beta = width.noise_level * math.sqrt(width.log_term + grown) + width.bias
    if params.counter.scale > 0.0:
        least = _least_eigenvalue(params, published, rows, scratch)
        beta += math.sqrt(params.variances[stage] * width.tail / least)
    view.width[0] = width.multiplier * beta
    view.stage[0] = stage + 1
    return repairs


@kernel
def _renew(vault: SwitchingVault, view: View) -> None:
    """V⁻¹ anew from the factor: what rounding did to it between two views ends here."""
    dim = view.theta.shape[0]
    vault.grown[0] = 1.0
    for i in range(dim):
        for j in range(i, dim):
            total = 0.0
            for row in range(j, dim):
                total += view.whiten[row, i] * view.whiten[row, j]
            vault.inverse[i, j] = vault.inverse[j, i] = total


@kernel
def _least_eigenvalue(params: Switching, published: Floats, rows: int, scratch: Floats) -> float:
    """D: a lower bound on λ_min(V), as the matrix says or as the paper's assumption does; at least λ.

        D = λ + L²·(λ0·τ/4 − 8h − 2√(τh)),   h = ln((τ + 3)·d/δ'),   τ rows

    is the paper's for L = 1. For long it is below λ, even negative: λ then takes its place.
    """
    width, norm = params.width, params.row.action_norm
    if not width.from_gram:
        count = float(rows)
        h = math.log(count + 3.0) + width.log_rows
        gained = width.eigenvalue * count / 4.0 - 8.0 * h - 2.0 * math.sqrt(count * h)
        return params.ridge + max(0.0, norm * norm * gained)
    dim = scratch.shape[0]
    at = 0
    for i in range(dim):
        for j in range(i, dim):
            scratch[i, j] = scratch[j, i] = published[at]
            at += 1
        scratch[i, i] += params.ridge
    return max(params.ridge, linalg.smallest_eigenvalue(scratch))
