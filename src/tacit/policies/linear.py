"""The linear machine: the four verbs of every policy that publishes sums of rows and fits a regression to them.

    Linear(row, schedule, counter, estimate, exploration)

Each part is a value with a verb of its own, and a policy is a choice of parts:

    row           what a person's row is on its way into the sums      report_row · sum_row
    schedule      when there is a release                              due
    counter       how sums are published, with which noise             add · publish
    estimate      what is made of what was published                   fit
    exploration   how an arm is picked from that                       explore

The privacy argument is in the signatures. `due` is given public numbers; `publish` is the last function that sees an
exact sum or a draw of noise; `fit` and `explore` are given what was published and nothing else. Noise in double
precision and exact noise differ in the type of the counter alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel, verb
from tacit._types import Floats, Ints
from tacit.core.round import CLIPPED_ACTIONS, CLIPPED_REWARDS, COUNTERS, REPAIRS, ROWS
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.counters.counter import add, due, publish
from tacit.estimators.ridge import fit
from tacit.explorations import explore, uniform_arm
from tacit.mechanisms.report import within_ball, within_interval

#: Rounding may leave a unit vector a hair too long: it is scaled, but not counted as clipped.
_ROUNDING = 1.0 + 1e-9


class Linear(NamedTuple):
    """Params of every linear policy: what it is made of."""

    row: Any
    schedule: Any
    counter: Any
    estimate: Any
    exploration: Any


class LinearVault(NamedTuple):
    """Secret: exact sums, what the counter carries (its noise, and what it has published), counts."""

    sums: Floats  # packed Σ x xᵀ, then Σ x·ζy; on a lattice in steps, as pairs
    memory: Floats
    counters: Ints


def linear_vault(sums: Floats, memory_rows: int) -> LinearVault:
    """Before anyone has come: `sums` of public rows, or zeros."""
    return LinearVault(sums, np.zeros((memory_rows, sums.shape[-1])), np.zeros(COUNTERS, np.int64))


# The verbs ------------------------------------------------------------------------------------------------------------


@implements(choose, Linear)
@kernel
def _choose(params: Linear, view: Any, slate: Slate, noise: Any) -> int:
    if view.width[0] == 0.0:  # nothing is known yet, not even in public
        return uniform_arm(slate, noise)
    return explore(params.exploration, view, slate, noise)


@implements(encode, Linear)
@kernel
def _encode(params: Linear, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    report_row(params.row, x, reward, report, noise)


@implements(absorb, Linear)
@kernel
def _absorb(params: Linear, vault: LinearVault, report: Floats) -> None:
    sum_row(params.row, params.counter, report, vault.sums, vault.counters)


@implements(release, Linear)
@kernel
def _release(params: Linear, vault: LinearVault, view: Any, noise: Any) -> None:
    """Publish all rows so far, if it is time, and the view that follows from what is published.

    Formal guarantee: what the counter's event says of all releases together, for one replaced row; its proof stands
    beside the counter.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    row, stage = vault.counters[ROWS], view.stage[0]
    if due(params.schedule, row, stage):
        at = publish(params.counter, view.theta.shape[0], row, stage, vault.sums, vault.memory, noise)
        vault.counters[REPAIRS] += fit(params.estimate, vault.memory[at], view)


# A row ----------------------------------------------------------------------------------------------------------------


@verb
def report_row(row: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """On the person's side: the row within its bounds, in the local model under noise."""


@verb
def sum_row(row: Any, counter: Any, report: Floats, sums: Floats, counters: Ints) -> None:
    """Into the exact sums, and count it."""


class Bounds(NamedTuple):
    """A row (x, y) as it is, clipped: for a curator who may see it."""

    action_norm: float  # L
    reward_low: float
    reward_high: float
    reward_middle: float  # c: taken off rewards
    reward_scale: float  # ζ: rewards are summed times this


#: Where no bounds are declared a row is clipped here: rounding of a sum of squares is 10^24 a row, and the largest
#: repair of a matrix 10^60 regularisers.
BEYOND = 1e20

#: A report has the row, and what of it was clipped.
REPORTED = 2


@implements(report_row, Bounds)
@kernel
def clip_row(row: Bounds, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Clip to the bounds: the guarantee must hold for every input, and a bound only assumed is none.

    Numbers up to `LARGEST` have squares that do not overflow; larger ones were refused before they came here.
    """
    dim = x.shape[0]
    clipped = 0
    shrink = within_ball(x, dim, row.action_norm)
    if shrink * _ROUNDING < 1.0:
        clipped += 1
    for i in range(dim):
        report[i] = x[i] * shrink
    y = within_interval(reward, row.reward_low, row.reward_high)
    if y != reward:
        clipped += 2
    report[dim] = (y - row.reward_middle) * row.reward_scale
    report[dim + 1] = clipped


@implements(sum_row, Bounds)
@kernel
def add_row(row: Bounds, counter: Any, report: Floats, sums: Floats, counters: Ints) -> None:
    """Into the exact sums, and what was clipped into the counters."""
    dim = report.shape[0] - REPORTED
    add(counter, report, report[dim], dim, sums)
    count_row(report, counters)


@kernel
def count_row(report: Floats, counters: Ints) -> None:
    """One row more, and whether its action or its reward was clipped."""
    clipped = int(report[report.shape[0] - 1])
    counters[ROWS] += 1
    counters[CLIPPED_ACTIONS] += clipped & 1
    counters[CLIPPED_REWARDS] += clipped >> 1


def no_bounds() -> Bounds:
    """For a policy without privacy: a row counts as it comes, but for numbers that would end the learning. With a row
    of 1e100 the sums are finite and singular to the last bit, and no repair is large enough."""
    return Bounds(BEYOND, -BEYOND, BEYOND, 0.0, 1.0)
