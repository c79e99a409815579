"""The four verbs of the online policies. All noise is drawn in `encode`; the server computes, and draws nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.core.round import REPAIRS, ROWS
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.estimators.online import descend, member, restart
from tacit.estimators.ridge import solve
from tacit.explorations import optimistic_arm
from tacit.mechanisms.report import report_row
from tacit.policies.online.params import (
    AGE,
    EPOCH,
    MEAN,
    PLAYS,
    SHORT,
    Combination,
    OnlineParams,
    OnlineView,
    TheoryWidth,
    learners_of,
)

_SQRT3 = math.sqrt(3.0)


@implements(choose, OnlineParams)
@kernel
def _choose(params: OnlineParams, view: Any, slate: Slate, noise: Any) -> int:
    """The optimist's arm under the base in the view, which has what that needs under the same names."""
    return optimistic_arm(params.exploration, view, slate, noise)


@implements(encode, OnlineParams)
@kernel
def _encode(params: OnlineParams, view: OnlineView, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """On the device: the clipped action and reward under Gaussian noise, and which of several bases they belong to.

    Formal guarantee: μ-GDP with μ = Δ/σ for one replaced (x, reward), whatever the view says: its perturbation is drawn
    on top of the noise, and its base is copied from it. Proof: mechanisms/report/proof.md.
    """
    dim = x.shape[0]
    report_row(params.bounds, params.scale, params.step, view.perturbation[0], x, reward, report, noise)
    if report.shape[0] > dim + 1:
        report[dim + 1] = view.base[0]


@implements(absorb, OnlineParams)
@kernel
def _absorb(params: OnlineParams, vault: Any, report: Floats) -> None:
    """Give a report to its base: u += <θ_t, x̃>·x̃ with θ_t from before the step, then the learner's step.

    The gradient is that of (<x̃, θ> − ỹ)² − σ²‖θ‖² over the noisy coordinates: with the noise in x̃ it would otherwise
    pull θ towards zero. Numbers that no honest device sends are cut off, so that one liar cannot end the learning.
    """
    dim, most = vault.row.shape[0], params.largest_action
    row, gradient = vault.row, vault.gradient
    private = dim - params.bounds.constants.shape[0]
    base = _base_of(report, dim, vault.clock.shape[0])
    clock, sums = vault.clock[base], vault.sums[base]
    for i in range(dim):
        row[i] = min(max(report[i], -most), most)
    reward = min(max(report[dim], -params.largest_reward), params.largest_reward)
    state = member(params.learner, learners_of(params.learner, vault), base)
    if params.debiased != 0:
        linalg.add_outer(row, reward, dim, sums)
        extra = perturbation_of(params, vault.clock, base)
        at = 0
        for i in range(private):
            sums[at] -= params.scale * params.scale + extra * extra
            at += dim - i
    else:
        predicted = linalg.dot(state.point, row)
        linalg.add_outer(row, predicted, dim, sums)
        for i in range(dim):
            gradient[i] = 2.0 * (predicted - reward) * row[i]
        for i in range(private):
            gradient[i] -= 2.0 * params.scale * params.scale * state.point[i]
        descend(params.learner, state, gradient)
    clock[AGE] += 1
    clock[PLAYS] += 1
    if vault.clock.shape[0] > 1:
        _judge(params.combination, clock[PLAYS], vault.rewards[base], reward, vault.active, base)
    if params.restarts[base] != 0 and clock[AGE] == 1 << clock[EPOCH]:
        clock[AGE] = 0
        clock[EPOCH] += 1
        for i in range(sums.shape[0]):
            sums[i] = 0.0
        restart(params.learner, state, 1 << clock[EPOCH])
    vault.counters[ROWS] += 1


@implements(release, OnlineParams)
@kernel
def _release(params: OnlineParams, vault: Any, view: Any, noise: Any) -> None:
    """Show the base that is to be played next. A function of reports: nothing is drawn, and nothing is spent."""
    bases = vault.clock.shape[0]
    base = best_base(params.combination, vault.clock, vault.rewards, vault.active) if bases > 1 else 0
    age, extra = vault.clock[base, AGE], perturbation_of(params, vault.clock, base)
    regulariser = 1.0
    if params.debiased != 0:
        spread = math.sqrt(params.scale * params.scale + extra * extra)
        regulariser += (spread * spread + params.shape * spread) * math.sqrt(age)
    # Sums of x̃x̃ᵀ never need a repair; debiased ones have the noise's mean taken out, and may be indefinite.
    repairs = solve(vault.sums[base], regulariser, regulariser, 1.0, view)
    vault.counters[REPAIRS] += repairs
    view.width[0] = width_at(params.theory, params.growth[base], age + 1)
    view.perturbation[0] = extra
    view.base[0] = base
    for i in range(bases):
        view.plays[i] = vault.clock[i, PLAYS]
        view.active[i] = vault.active[i]
    view.stage[0] += 1


@kernel
def _base_of(report: Floats, dim: int, bases: int) -> int:
    """Which base a report belongs to: within the bank, whatever a device wrote."""
    if bases == 1:
        return 0
    return int(min(max(report[dim + 1], 0.0), bases - 1.0))


@kernel
def perturbation_of(params: OnlineParams, clock: Ints, base: int) -> float:
    """Δ_m = Δ·2^(−mk/2) in epoch m."""
    size: float = params.perturbation[base]
    if clock[base, EPOCH] == 0:
        return size
    return size * math.pow(2.0, -0.5 * params.decay[base] * clock[base, EPOCH])


@kernel
def width_at(theory: TheoryWidth, growth: float, t: int) -> float:
    """β_t in round t of a base: growth·√ln(1 + t), or √(M_N + K_N + D²) at N = t."""
    if theory.used == 0:
        return growth * math.sqrt(math.log(1.0 + t))
    log = math.log(t)
    grown = 2.0 * math.log(_SQRT3 * (0.5 * log / math.log(2.0) + 3.0)) + 1.0 + log
    regret = theory.regret_slope * grown + theory.regret_offset
    squares = theory.distance * regret
    return math.sqrt(regret + theory.cross * math.sqrt(t * squares) + theory.fixed + theory.squares * squares)


# The combiner ----------------------------------------------------------------------------------------------------


@kernel
def allowance(combination: Combination, base: int, plays: int) -> float:
    """L_i·n^a_i + p·√(n·s²·ln(T³M·max(1, ln(n·s²))/α)): by how much a base may fall short in n plays, and no more."""
    total = plays * combination.variance
    log = combination.log_term + math.log(max(1.0, math.log(total)))
    granted: float = combination.regret[base] * math.pow(float(plays), combination.power[base])
    return granted + combination.deviation * math.sqrt(total * log)


@kernel
def _judge(combination: Combination, plays: int, record: Floats, reward: float, active: Ints, base: int) -> None:
    """Add a reward to a base's record, and drop the base if it has fallen short by more than it was granted."""
    value = reward * combination.unit
    record[SHORT] += record[MEAN] - value
    record[MEAN] += (value - record[MEAN]) / plays
    if record[SHORT] >= allowance(combination, base, plays):
        active[base] = 0


@kernel
def best_base(combination: Combination, clock: Ints, rewards: Floats, active: Ints) -> int:
    """argmax mean_i + min(1, allowance_i/n_i) − R_i/T over the active bases; if none is, the one played most."""
    best, found, most = -1, -np.inf, 0
    for base in range(active.shape[0]):
        plays = clock[base, PLAYS]
        if plays > clock[most, PLAYS]:
            most = base
        if active[base] == 0:
            continue
        bonus = 1.0
        if plays > 0:
            bonus = min(1.0, allowance(combination, base, plays) / plays)
        value = rewards[base, MEAN] + bonus - combination.penalty[base]
        if value > found:
            best, found = base, value
    return best if best >= 0 else most
