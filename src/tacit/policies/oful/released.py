"""Contexts protected too: V itself is released with noise, in every round, and what is played switches rarely.

The sums of [x; y][x; y]ᵀ go through the mechanism of `JointLinUCB(releases="toeplitz")`, at its price and with its
confidence sets. A stage is a release, and there is one after every row: that is where noise is drawn and budget spent.
The view that is *played* is replaced only when the determinant of the released V has grown by the factor 1 + C since it
was last replaced: post-processing. No regret theorem is known: the released V of the next round is not V plus one row,
and the analysis of rare switching rests on that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.core.plan import Plan
from tacit.core.round import REPAIRS, ROWS
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.estimators.ridge import Confidence, Optimism, View, empty_view, fit, optimistic_arm, uniform_arm
from tacit.mechanisms.toeplitz import Buffers, correlated_noise
from tacit.policies.joint_linucb import JointLinUCB
from tacit.policies.oful import words
from tacit.policies.oful.switching import growth_factor
from tacit.policies.oful.verbs import RowBounds, add_row, encode_row
from tacit.privacy import gdp

if TYPE_CHECKING:
    from tacit.policies.oful.renyi import RenyiOFUL


class ReleasedParams(NamedTuple):
    """Params of `RenyiOFUL(protects="contexts and rewards")`."""

    bounds: RowBounds
    confidence: Confidence
    buffers: Buffers
    horizon: int
    log_growth: float  # ln(1 + C)


class ReleasedView(NamedTuple):
    """All of it post-processing of releases: the latest, and the one that is played."""

    theta: Floats  # (d,) θ̃ of the latest release, as in `View`
    factor: Floats
    whiten: Floats
    width: Floats
    stage: Ints  # (1,) releases so far: one per row
    played_theta: Floats  # (d,) of the view that choices are made with
    played_whiten: Floats
    played_width: Floats  # (1,) 0 before the first release
    played_size: Floats  # (1,) ln det V of that view


def first_view(dim: int) -> ReleasedView:
    """Before any release: nothing is known, and arms are drawn evenly."""
    return ReleasedView(*empty_view(dim), np.zeros(dim), np.zeros((dim, dim)), np.zeros(1), np.full(1, -np.inf))


def as_joint(config: RenyiOFUL) -> JointLinUCB:
    """The policy whose mechanism and confidence sets these are.

    Its promise is (ε, δ): any point on the Gaussian curve of the promised μ says the same. At ε = μ²/2 + μ the curve is
    neither flat nor steep, so nothing is lost in rounding.
    """
    mu = config.promise.mu
    assert mu is not None, "a promise of pure DP is refused by the configuration"
    epsilon = mu * mu / 2 + mu
    bounds = config.row_bounds()
    return JointLinUCB(
        dim=config.dim,
        epsilon=epsilon,
        delta=gdp.delta_at(mu, epsilon),
        releases="toeplitz",
        horizon=config.horizon,
        person_rounds=config.person_rounds,
        action_norm=config.action_norm,
        reward_bound=bounds.reward_bound,
        parameter_norm=config.parameter_norm,
        noise_level=config.reward_range / 2,
        failure=config.failure_probability,
        width="theory" if config.width_factor == 1 else config.width_factor,
        ridge=config.regulariser,
    )


def plan_of(config: RenyiOFUL) -> Plan:
    """The joint policy's plan, with choices made from the played view."""
    joint = as_joint(config)
    plan = joint.plan()
    params = ReleasedParams(
        bounds=config.row_bounds(joint.reward_scale),
        confidence=plan.params.confidence,
        buffers=plan.params.buffers,
        horizon=config.horizon,
        log_growth=log_growth(config),
    )
    return around(config, plan, params)


def log_growth(config: RenyiOFUL) -> float:
    """ln(1 + C)."""
    return math.log(growth_factor(config.growth))


def around(config: RenyiOFUL, plan: Plan, params: Any) -> Plan:
    """The plan of these params, which the joint policy's `plan` is the rest of."""
    return Plan(
        params=params,
        vault=plan.vault,
        view=lambda: first_view(config.dim),
        report_size=plan.report_size,
        event=plan.event,
        guarantee=config.priced(plan.event),
        draws=plan.draws,
        limit=config.horizon,
        limit_hint=words.HORIZON_HINT,
        noise_scale=plan.noise_scale,
        noise_scales=plan.noise_scales,
        assumptions=words.assumptions(config),
        notes=words.notes(config, config.horizon - 1),
        lattice_scale=plan.lattice_scale,
    )


@implements(choose, ReleasedParams)
@kernel
def choose_played(params: Any, view: ReleasedView, slate: Slate, noise: Any) -> int:
    if view.played_width[0] == 0.0:
        return uniform_arm(slate, noise)
    played = View(view.played_theta, view.factor, view.played_whiten, view.played_width, view.stage)
    return optimistic_arm(Optimism(1.0), played, slate, noise)


implements(encode, ReleasedParams)(encode_row)


@implements(absorb, ReleasedParams)
@kernel
def _absorb(params: ReleasedParams, vault: Any, report: Floats) -> None:
    add_row(vault, report)


@implements(release, ReleasedParams)
@kernel
def _release(params: ReleasedParams, vault: Any, view: Any, noise: Any) -> None:
    """Publish all rows so far under correlated noise, every round but the last, and play what is published if its
    determinant has grown enough.

    Formal guarantee: the views are μ-GDP for one replaced row, μ = κ_N·L̃²/s with N = horizon − 1.
    Proof: mechanisms/toeplitz/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    if vault.counters[ROWS] >= params.horizon:
        return
    dim = view.theta.shape[0]
    at = correlated_noise(params.buffers, vault.memory, dim, noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, vault.sums, vault.memory[at], unscale, view)
    play_if_grown(params.log_growth, view)


@kernel
def play_if_grown(log_growth: float, view: Any) -> None:
    """Replace the view that is played by the latest, if ln det V has grown by so much since it was last replaced."""
    dim = view.theta.shape[0]
    size = linalg.log_determinant(view.factor)
    if size <= view.played_size[0] + log_growth:
        return
    view.played_size[0] = size
    view.played_width[0] = view.width[0]
    for i in range(dim):
        view.played_theta[i] = view.theta[i]
        for j in range(i + 1):
            view.played_whiten[i, j] = view.whiten[i, j]
