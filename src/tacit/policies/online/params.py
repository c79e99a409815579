"""What the online policies are made of: a bank of bases, one of which is played at a time.

`OnlineLinUCB` and `AnytimeLinUCB` have one base, `Combiner` has several. All are one type of params and one text of
verbs: what differs between bases is an array with an entry for each, and what differs between policies is a number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, verb
from tacit._types import Floats, Ints
from tacit.core.round import COUNTERS
from tacit.estimators.online import (
    GradientDescent,
    GradientDescentState,
    Maler,
    MalerState,
    Online,
    member,
    restart,
    states,
)
from tacit.explorations import Optimism
from tacit.linalg import packed_size
from tacit.mechanisms.report import PersonBounds


class TheoryWidth(NamedTuple):
    """The numbers of β² = M_N + K_N + D² as published: `widths.theory_width`."""

    used: int  # 1: this width, 0: the practical rule
    regret_slope: float  # 40GD + 18G²/μ, times the logarithms of N in M_N
    regret_offset: float  # 32G² ln(1/α)/μ
    distance: float  # 2/μ: S_N = 2M_N/μ
    cross: float  # DΔ² ln(T/α), times √(N·S_N)
    fixed: float  # (R + D√ln(1/δ)/ε + DΔ)² ln(T/α) + D²
    squares: float  # (ln(1/δ)/ε² + Δ²) ln(T/α), times S_N


class Combination(NamedTuple):
    """How the combiner judges its bases (Algorithm 2, corrected). With one base nothing here is looked at."""

    regret: Floats  # (M,) L_i of the regret L_i·n^a_i that a base is granted after n plays
    power: Floats  # (M,) a_i
    penalty: Floats  # (M,) R_i/T
    deviation: float  # p
    variance: float  # 1 + σ_y²/Y²
    log_term: float  # ln(T³M/α)
    unit: float  # 1/Y: rewards are judged in units of the largest


class OnlineParams(NamedTuple):
    """Params of all three policies; the type of `learner` is the online learner of every base."""

    bounds: PersonBounds
    scale: float  # σ: of the noise on every private number of a report
    step: float  # of the lattice that reports are on; 0: none, and noise in doubles
    learner: Any  # GradientDescent or Maler
    debiased: int  # 1: errors in variables instead of the learner's predictions
    shape: float  # of the debiased regulariser: L
    perturbation: Floats  # (M,) Δ of a base in its first epoch
    decay: Floats  # (M,) k: Δ² = 2^(−mk) in epoch m
    restarts: Ints  # (M,) 1: begins anew at every power of two of its own plays
    growth: Floats  # (M,) of the practical width growth·√ln(1 + t)
    theory: TheoryWidth
    combination: Combination
    largest_action: float  # what no honest device sends in a coordinate of an action
    largest_reward: float
    exploration: Optimism


#: Places in `clock`: rows since the last restart, the epoch m, and rows in all.
AGE, EPOCH, PLAYS = 0, 1, 2
#: Places in `rewards`: the mean of a base's rewards, and by how much they have fallen short of it.
MEAN, SHORT = 0, 1


class DescentVault(NamedTuple):
    """Sums of reports. Nothing in it is secret here: reports were noised before they came."""

    sums: Floats  # (M, packed + d) Σ x̃x̃ᵀ and Σ <θ_t, x̃>·x̃ of each base since its restart; debiased: Σ x̃·ỹ
    clock: Ints  # (M, 3)
    rewards: Floats  # (M, 2)
    active: Ints  # (M,) 1: not eliminated
    row: Floats  # (d,) scratch: x̃
    gradient: Floats  # (d,) scratch
    counters: Ints
    point: Floats  # the learner's state from here on, with an axis for the bases
    steps: Ints


class MalerVault(NamedTuple):
    """The same, with Maler's state."""

    sums: Floats
    clock: Ints
    rewards: Floats
    active: Ints
    row: Floats
    gradient: Floats
    counters: Ints
    point: Floats
    steps: Ints
    convex_rate: Floats
    centre: Floats
    experts: Floats
    log_weights: Floats
    inverses: Floats
    scratch: Floats


class OnlineView(NamedTuple):
    """What a device is sent: the base to play, how, and how the bases have fared."""

    theta: Floats  # (d,) θ̂ of the base to play
    factor: Floats  # (d, d) upper triangular, V = UᵀU
    whiten: Floats  # (d, d) lower triangular: ‖whiten·x‖ = ‖x‖_{V⁻¹}
    width: Floats  # (1,) β_t
    perturbation: Floats  # (1,) Δ: standard deviation of the further noise that a report's action shall have
    base: Ints  # (1,) which base this is; a report of several bases carries it
    plays: Ints  # (M,) reports of each base so far
    active: Ints  # (M,) 1: not eliminated
    stage: Ints  # (1,) how many views have been released


@verb
def learners_of(learner: Any, vault: Any) -> Any:
    """The states of all learners, as `member` takes them."""


@implements(learners_of, GradientDescent)
def _descent_bank(learner: GradientDescent, vault: DescentVault) -> GradientDescentState:
    return GradientDescentState(vault.point, vault.steps)


@implements(learners_of, Maler)
def _maler_bank(learner: Maler, vault: MalerVault) -> MalerState:
    return MalerState(
        vault.point,
        vault.steps,
        vault.convex_rate,
        vault.centre,
        vault.experts,
        vault.log_weights,
        vault.inverses,
        vault.scratch,
    )


def first_vault(online: Online[Any, Any], horizons: tuple[int, ...]) -> DescentVault | MalerVault:
    """Before the first report: one base per entry, its learner started for so many rounds."""
    bases = len(horizons)
    bank = states(online, bases)
    for base, horizon in enumerate(horizons):
        restart(online.params, member(online.params, bank, base), horizon)
    dim = bank.point.shape[1]
    common = (
        np.zeros((bases, packed_size(dim) + dim)),
        np.zeros((bases, 3), np.int64),
        np.zeros((bases, 2)),
        np.ones(bases, np.int64),
        np.zeros(dim),
        np.zeros(dim),
        np.zeros(COUNTERS, np.int64),
    )
    kind: Any = MalerVault if isinstance(online.params, Maler) else DescentVault
    made: DescentVault | MalerVault = kind(*common, *bank)
    return made
