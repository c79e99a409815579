"""The verbs of `LinPriv`: ridge regression on each arm apart, its reward sums from the arm's own noised tree."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.core.round import CLIPPED_ACTIONS, CLIPPED_REWARDS, COUNTERS, ROWS
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.explorations import first_best
from tacit.mechanisms.vector_tree import LAPLACE_UNIFORMS, active_nodes, empty_memory, vector_noise

#: Rounding may leave a unit vector a hair too long: it is scaled, but not counted as clipped.
_ROUNDING = 1.0 + 1e-9


class LinPrivParams(NamedTuple):
    """Params of `LinPriv`."""

    arms: int  # K
    size: int  # d: features of one arm
    action_norm: float  # L
    reward_low: float
    reward_high: float
    ridge: float  # λ
    horizon: int  # n: row n is never released
    scale: float  # of the noise of a node: s, or b; 1 on a lattice, whose tape has it
    laplace: bool
    noise_level: float  # σ
    log_term: float  # 2 ln(1/δ')
    bias: float  # S√λ
    lengths: Floats  # (q + 1,) l_m: how long the noise of m nodes may be
    from_gram: bool  # noise weighs ‖V⁻¹x‖; else, as published, ‖x‖_{V⁻¹}/√λ
    multiplier: float  # of the width: 1 is the theorem
    step: float = 0.0  # h of the lattice that rows are rounded to, before they are summed; 0: none


class LinPrivVault(NamedTuple):
    """Secret: exact sums, the noise of the nodes. What is kept of the actions alone is public, and here for company."""

    sums: Floats  # (K, d) b_i = Σ x·r
    memory: Floats  # (K, q, d) noise of the active nodes
    plays: Ints  # (K,) rows of each arm
    last: Ints  # (1,) the arm of the last row, −1 if it has none
    row: Floats  # (d,) its context
    scratch: Floats  # (max(d, 2),)
    counters: Ints


class LinPrivView(NamedTuple):
    """What has been released: all that `choose` may look at."""

    theta: Floats  # (K, d) θ̂_i
    inverse: Floats  # (K, d, d) V_i⁻¹, of public contexts
    grown: Floats  # (K,) ln det V_i − d ln λ
    width: Floats  # (K,) β_i: what ‖x‖_{V⁻¹} is multiplied by
    reach: Floats  # (K,) how long the noise in b_i may be
    stage: Ints  # (1,) how many views have been released


def first_vault(params: LinPrivParams) -> LinPrivVault:
    """Before anyone has come."""
    arms, size = params.arms, params.size
    return LinPrivVault(
        sums=np.zeros((arms, size)),
        memory=empty_memory(arms, params.horizon, size),
        plays=np.zeros(arms, np.int64),
        last=np.full(1, -1, np.int64),
        row=np.zeros(size),
        scratch=np.zeros(max(size, LAPLACE_UNIFORMS)),
        counters=np.zeros(COUNTERS, np.int64),
    )


def first_view(params: LinPrivParams) -> LinPrivView:
    """Before any row: V_i = λI, θ̂_i = 0, and no noise."""
    arms, size = params.arms, params.size
    width = params.multiplier * (params.noise_level * math.sqrt(params.log_term) + params.bias)
    return LinPrivView(
        theta=np.zeros((arms, size)),
        inverse=np.broadcast_to(np.eye(size) / params.ridge, (arms, size, size)).copy(),
        grown=np.zeros(arms),
        width=np.full(arms, width),
        reach=np.zeros(arms),
        stage=np.zeros(1, np.int64),
    )


@implements(choose, LinPrivParams)
@kernel
def _choose(params: LinPrivParams, view: LinPrivView, slate: Slate, noise: Any) -> int:
    """argmax <θ̂_i, x> + β_i·‖x‖_{V_i⁻¹} + reach_i·‖V_i⁻¹x‖, i the arm of the action and x its context."""
    columns, size = slate.columns, params.size
    x, solved = slate.scratch[:size], slate.scratch[size : 2 * size]
    for k in range(slate.scores.shape[0]):
        place = 0
        while place < columns.shape[0] and columns[place, k] == 0.0:
            place += 1
        if place == columns.shape[0]:
            slate.scores[k] = 0.0
            continue
        arm = place // size
        for i in range(size):
            x[i] = columns[arm * size + i, k]
        linalg.symmetric_product(view.inverse[arm], x, solved)
        spread = math.sqrt(max(0.0, linalg.dot(x, solved)))
        shift = math.sqrt(linalg.dot(solved, solved)) if params.from_gram else spread / math.sqrt(params.ridge)
        slate.scores[k] = linalg.dot(view.theta[arm], x) + view.width[arm] * spread + view.reach[arm] * shift
    return first_best(slate.scores)


@implements(encode, LinPrivParams)
@kernel
def _encode(params: LinPrivParams, view: LinPrivView, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """The context of the first block that is not zero, scaled to its bound, the arm, and the reward clipped to its
    interval: the guarantee must hold for every input, and a bound only assumed is none."""
    size = params.size
    place = 0
    while place < x.shape[0] and x[place] == 0.0:
        place += 1
    arm = place // size if place < x.shape[0] else -1
    clipped = 0
    for i in range(size):
        report[i] = x[arm * size + i] if arm >= 0 else 0.0
    context = report[:size]
    length = math.sqrt(linalg.dot(context, context))
    if length > params.action_norm:
        linalg.shrink_to_ball(context, params.action_norm)
        if length > params.action_norm * _ROUNDING:
            clipped += 1
    y = min(max(reward, params.reward_low), params.reward_high)
    if y != reward:
        clipped += 2
    report[size] = y
    report[size + 1] = arm
    report[size + 2] = clipped


@implements(absorb, LinPrivParams)
@kernel
def _absorb(params: LinPrivParams, vault: LinPrivVault, report: Floats) -> None:
    size = params.size
    arm = int(report[size + 1])
    vault.last[0] = arm
    if arm >= 0:
        vault.plays[arm] += 1
        for i in range(size):
            vault.row[i] = report[i]
            part = report[i] * report[size]
            vault.sums[arm, i] += part if params.step == 0.0 else np.rint(part / params.step)
    clipped = int(report[size + 2])
    vault.counters[ROWS] += 1
    vault.counters[CLIPPED_ACTIONS] += clipped & 1
    vault.counters[CLIPPED_REWARDS] += clipped >> 1


@implements(release, LinPrivParams)
@kernel
def _release(params: LinPrivParams, vault: LinPrivVault, view: LinPrivView, noise: Any) -> None:
    """Publish the reward sum of the arm that was played, under the noise of its closed nodes, every round but the last.

    Formal guarantee: the views are μ-GDP for one replaced reward, μ = √q·ΔL/s, or pure DP with ε = q·ΔL√d/b.
    Proof: mechanisms/vector_tree/proof.md. On a lattice sums and noise are whole numbers, and a prefix is the sum of
    noised nodes exactly: counters/lattice.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    if vault.counters[ROWS] >= params.horizon:
        return
    view.stage[0] += 1
    arm = vault.last[0]
    if arm < 0:
        return
    count, scratch, memory = vault.plays[arm], vault.scratch, vault.memory[arm]
    inverse = view.inverse[arm]
    share = linalg.add_outer_to_inverse(inverse, vault.row, 1.0, scratch[: params.size])
    view.grown[arm] -= math.log(share)
    level = vector_noise(params.scale, params.laplace, memory, count, scratch, noise)
    noised = scratch[: params.size]
    unit = 1.0 if params.step == 0.0 else params.step
    for i in range(params.size):
        noised[i] = (vault.sums[arm, i] + memory[level, i]) * unit
    linalg.symmetric_product(inverse, noised, view.theta[arm])
    beta = params.noise_level * math.sqrt(params.log_term + view.grown[arm]) + params.bias
    view.width[arm] = params.multiplier * beta
    view.reach[arm] = params.multiplier * params.lengths[active_nodes(count)]
