"""The linear machine of the arms model: K arms share a context and have a parameter each.

    ByArm(row, preparation, centre, schedule, counter, estimate, exploration)

The parts are those of `linear`, and so is the privacy argument. A row is a context and the number of an arm, added
to the sums of that arm alone. What would stand between two arms is zero whatever the data: nothing there is drawn,
stored, multiplied or sent. One row replaced by another moves the blocks of one arm, or those of two; how far is the
sensitivity of `joint_linucb`.

In the hybrid model (Li, Chu, Langford and Schapire 2010) actions have features, whose parameter all arms share. They
are part of the row, and no row is longer for it. What they make with the context stands beside the matrix of the arm,
and what they make with each other and with rewards in one block behind those of all arms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel, verb
from tacit._types import Floats, Ints
from tacit.core.round import COUNTERS, REPAIRS, ROWS
from tacit.core.slate import ArmsSlate, HybridSlate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.counters.counter import add, due, publish
from tacit.estimators.by_arm import fit_arms
from tacit.explorations import explore_arms
from tacit.mechanisms.report import within_interval
from tacit.noise import fill_uniforms
from tacit.policies.linear import Bounds, count_row
from tacit.preparation import add_context, prepare, prepare_features, publish_centre

#: A report has the prepared context and features, the reward, the arm, and what was clipped.
REPORTED = 3


class ByArm(NamedTuple):
    """Params of a linear policy with a parameter per arm."""

    row: Bounds  # its `action_norm` is that of a prepared context
    preparation: Any
    centre: Any
    schedule: Any
    counter: Any
    estimate: Any
    exploration: Any


class ByArmVault(NamedTuple):
    """Secret: exact sums of each arm, what the counter carries, the sum of contexts that a centre comes from."""

    sums: Floats  # each arm's packed Σ z zᵀ with Σ z uᵀ beside it, then Σ z·ζ(y − c); last the same of u alone
    memory: Floats
    contexts: Floats  # (2, dim)
    learning: Ints  # (1,) 0 while rows go into the centre
    counters: Ints


def by_arm_vault(sums: Floats, memory_rows: int, dim: int, centred: bool) -> ByArmVault:
    """Before anyone has come."""
    return ByArmVault(
        sums,
        np.zeros((memory_rows, sums.shape[-1])),
        np.zeros((2, dim)),
        np.array([0 if centred else 1], np.int64),
        np.zeros(COUNTERS, np.int64),
    )


@implements(choose, ByArm)
@kernel
def choose_arm(params: Any, view: Any, slate: Any, noise: Any) -> int:
    """The arm that a rule picks for the prepared context."""
    if view.width[0] == 0.0:  # nothing is known yet
        return uniform_allowed(slate, noise)
    prepare(params.preparation, slate.context, view.centre, True, slate.prepared)
    prepare_offer(slate, params.preparation)
    return explore_arms(params.exploration, view, slate, noise)


@verb
def prepare_offer(slate: Any, steps: Any) -> None:
    """Prepare the features of all arms, where they have some."""


@implements(prepare_offer, ArmsSlate)
@kernel
def _prepare_nothing(slate: ArmsSlate, steps: Any) -> None:
    pass


@implements(prepare_offer, HybridSlate)
@kernel
def _prepare_offer(slate: HybridSlate, steps: Any) -> None:
    for k in range(slate.features.shape[0]):
        prepare_features(steps, slate.features[k], slate.shared[k])


@kernel
def uniform_allowed(slate: Any, noise: Any) -> int:
    """Any of the arms that are there, evenly."""
    fill_uniforms(noise, slate.scratch[:1])
    allowed = slate.allowed
    count = 0
    for k in range(allowed.shape[0]):
        if allowed[k] != 0.0:
            count += 1
    place = min(int(slate.scratch[0] * count), count - 1)
    for k in range(allowed.shape[0]):
        if allowed[k] != 0.0:
            if place == 0:
                return k
            place -= 1
    return 0


@implements(encode, ByArm)
@kernel
def prepare_row(params: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Prepare and clip: the guarantee must hold for every input. `x` is a context, behind it the number of an arm, and
    behind that its features, if it has any; any other number makes it a row that adds nothing."""
    bounds, arms, own, dim = params.row, view.theta.shape[0], view.theta.shape[1], view.centre.shape[0]
    width = report.shape[0] - REPORTED
    for i in range(report.shape[0]):
        report[i] = 0.0
    report[width + 1] = -1.0
    arm = x[dim]
    if not (0.0 <= arm < arms) or arm != math.floor(arm):
        return
    learning = params.preparation.centred == 0.0 or view.stage[0] > 0
    clipped = 1.0 if prepare(params.preparation, x, view.centre, learning, report) else 0.0
    if learning and width > own and prepare_features(params.preparation, x[dim + 1 :], report[own:width]):
        clipped = 1.0
    y = within_interval(reward, bounds.reward_low, bounds.reward_high)
    if y != reward:
        clipped += 2.0
    report[width] = (y - bounds.reward_middle) * bounds.reward_scale
    report[width + 1] = arm
    report[width + 2] = clipped


@implements(absorb, ByArm)
@kernel
def _absorb(params: ByArm, vault: ByArmVault, report: Floats) -> None:
    """Into the sums of its arm; or, while there is no centre yet, into the sum of contexts and nothing else."""
    width = report.shape[0] - REPORTED
    count_row(report, vault.counters)
    arm = int(report[width + 1])
    if arm < 0:
        return
    if vault.learning[0] == 0:
        add_context(params.centre, report, vault.contexts)
        return
    own = vault.contexts.shape[1] + (1 if params.preparation.constant != 0.0 else 0)
    shared, y = width - own, report[width]
    size = linalg.block_size(own, shared)
    add(params.counter, report, y, own, vault.sums[..., arm * size : (arm + 1) * size])
    if shared > 0:
        common: int = vault.sums.shape[-1] - linalg.block_size(shared)
        add(params.counter, report[own:], y, shared, vault.sums[..., common:])


@implements(release, ByArm)
@kernel
def release_arms(params: Any, vault: ByArmVault, view: Any, noise: Any) -> None:
    """Publish the centre, once; then the sums of all arms, when it is time.

    Formal guarantee: a row is in the centre or in the sums and never in both, so all releases together are as telling
    as the dearer of the two, for one replaced row; `preparation.md`, and the proof beside the counter.
    Requires: rows prepared and clipped by `encode`; called once per tick.
    """
    row, stage = vault.counters[ROWS], view.stage[0]
    if params.centre.rounds > 0:
        if stage == 0:
            if row == params.centre.rounds:
                publish_centre(params.centre, vault.contexts, view.centre, noise)
                vault.learning[0] = 1
                view.stage[0] = 1
            return
        stage -= 1
    if due(params.schedule, row, stage):
        at = publish(params.counter, view.theta.shape[1], row, stage, vault.sums, vault.memory, noise)
        vault.counters[REPAIRS] += fit_arms(params.estimate, vault.memory[at], stage, view)
        view.stage[0] += 1
