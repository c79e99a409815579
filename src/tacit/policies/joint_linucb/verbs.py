"""The verbs of `JointLinUCB`: `choose`, `encode` and `absorb` once for all, `release` once per schedule."""

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
from tacit.estimators.ridge import Confidence, Optimism, Thompson, View, explore, fit, uniform_arm
from tacit.mechanisms.toeplitz import Buffers, correlated_noise
from tacit.mechanisms.tree import tree_noise
from tacit.mechanisms.window import release_segment
from tacit.mechanisms.wishart import Masks, wishart_noise

#: Rounding may leave a unit vector a hair too long: it is scaled, but not counted as clipped.
_ROUNDING = 1.0 + 1e-9


class Bounds(NamedTuple):
    """What a row may weigh."""

    action_norm: float  # L
    reward_bound: float  # B̃
    reward_scale: float  # ζ


class GeometricParams(NamedTuple):
    """Params of `JointLinUCB(releases="geometric")`."""

    bounds: Bounds
    confidence: Confidence
    buffers: Buffers
    times: Ints  # t_1 < t_2 < …: public, fixed before anyone arrives
    exploration: Optimism | Thompson


class TreeParams(NamedTuple):
    """Params of `JointLinUCB(releases="tree")`."""

    bounds: Bounds
    confidence: Confidence
    scale: float  # s
    horizon: int
    exploration: Optimism | Thompson


class ToeplitzParams(NamedTuple):
    """Params of `JointLinUCB(releases="toeplitz")`."""

    bounds: Bounds
    confidence: Confidence
    buffers: Buffers
    horizon: int
    exploration: Optimism | Thompson


class WishartParams(NamedTuple):
    """Params of `JointLinUCB(noise="wishart", calibration="published")`, shifted or not."""

    bounds: Bounds
    confidence: Confidence
    masks: Masks
    horizon: int
    exploration: Optimism | Thompson


class WindowParams(NamedTuple):
    """Params of `JointLinUCB(window=w)`."""

    bounds: Bounds
    confidence: Confidence
    scale: float  # s
    times: Ints
    no_noise: Floats  # zeros: what the ring holds is released already
    exploration: Optimism | Thompson


class JointVault(NamedTuple):
    """Secret: exact sums, the noise the mechanism carries, counts."""

    sums: Floats  # packed Σ x xᵀ, then Σ x·ζy
    memory: Floats
    counters: Ints


def first_vault(sums: Floats, memory: Floats) -> JointVault:
    """Before anyone has come: `sums` of public rows, or zeros."""
    return JointVault(sums, memory, np.zeros(COUNTERS, np.int64))


_ALL = (GeometricParams, TreeParams, ToeplitzParams, WishartParams, WindowParams)


@implements(choose, *_ALL)
@kernel
def choose_arm(params: Any, view: View, slate: Slate, noise: Any) -> int:
    if view.width[0] == 0.0:  # nothing is known yet, not even in public
        return uniform_arm(slate, noise)
    return explore(params.exploration, view, slate, noise)


@implements(encode, *_ALL)
@kernel
def clip_row(params: Any, view: View, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Clip to the bounds: the guarantee must hold for every input, and a bound only assumed is none.

    Numbers up to `LARGEST` have squares that do not overflow; larger ones were refused before they came here.
    """
    dim = x.shape[0]
    bounds = params.bounds
    clipped = 0
    total = 0.0
    for i in range(dim):
        total += x[i] * x[i]
    length = math.sqrt(total)
    shrink = 1.0
    if length > bounds.action_norm:
        shrink = bounds.action_norm / length
        if length > bounds.action_norm * _ROUNDING:
            clipped += 1
    for i in range(dim):
        report[i] = x[i] * shrink
    y = min(max(reward, -bounds.reward_bound), bounds.reward_bound)
    if y != reward:
        clipped += 2
    report[dim] = y * bounds.reward_scale
    report[dim + 1] = clipped


@implements(absorb, *_ALL)
@kernel
def _absorb(params: Any, vault: JointVault, report: Floats) -> None:
    dim = report.shape[0] - 2
    linalg.add_outer(report, report[dim], dim, vault.sums)
    clipped = int(report[dim + 1])
    vault.counters[ROWS] += 1
    vault.counters[CLIPPED_ACTIONS] += clipped & 1
    vault.counters[CLIPPED_REWARDS] += clipped >> 1


@implements(release, GeometricParams)
@kernel
def _release_geometric(params: GeometricParams, vault: JointVault, view: View, noise: Any) -> None:
    """Publish all rows so far, if this row ends a segment.

    Formal guarantee: the views are μ-GDP for one replaced row, μ = κ_R·L̃²/s. Proof: mechanisms/geometric/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    stage = view.stage[0]
    if stage >= params.times.shape[0] or vault.counters[ROWS] != params.times[stage]:
        return
    at = correlated_noise(params.buffers, vault.memory, view.theta.shape[0], noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, vault.sums, vault.memory[at], unscale, view)


@implements(release, TreeParams)
@kernel
def _release_tree(params: TreeParams, vault: JointVault, view: View, noise: Any) -> None:
    """Publish all rows so far under the noise of the closed nodes, every round but the last.

    Formal guarantee: the views are μ-GDP for one replaced row, μ = √q·L̃²/s. Proof: mechanisms/tree/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    row = vault.counters[ROWS]
    if row >= params.horizon:
        return
    at = tree_noise(params.scale, vault.memory, row, view.theta.shape[0], noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, vault.sums, vault.memory[at], unscale, view)


@implements(release, ToeplitzParams)
@kernel
def _release_toeplitz(params: ToeplitzParams, vault: JointVault, view: View, noise: Any) -> None:
    """Publish all rows so far under correlated noise, every round but the last.

    Formal guarantee: the views are μ-GDP for one replaced row, μ = κ_N·L̃²/s with N = horizon − 1.
    Proof: mechanisms/toeplitz/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    if vault.counters[ROWS] >= params.horizon:
        return
    at = correlated_noise(params.buffers, vault.memory, view.theta.shape[0], noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, vault.sums, vault.memory[at], unscale, view)


@implements(release, WishartParams)
@kernel
def _release_wishart(params: WishartParams, vault: JointVault, view: View, noise: Any) -> None:
    """Publish all rows so far under the masks of all slots, every round but the last.

    Formal guarantee: (ε', δ)-DP for one row by the paper's theorem, quoted and not proved again: see
    mechanisms/wishart/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    row = vault.counters[ROWS]
    if row >= params.horizon:
        return
    at = wishart_noise(params.masks, vault.memory, row, view.theta.shape[0], noise)
    vault.counters[REPAIRS] += fit(params.confidence, vault.sums, vault.memory[at], 1.0, view)


@implements(release, WindowParams)
@kernel
def _release_window(params: WindowParams, vault: JointVault, view: View, noise: Any) -> None:
    """Publish this segment, if the row ends one, and fit the last few.

    Formal guarantee: the segments are μ-GDP for one replaced row, μ = L̃²/s. Proof: mechanisms/window/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    stage = view.stage[0]
    if stage >= params.times.shape[0] or vault.counters[ROWS] != params.times[stage]:
        return
    at = release_segment(params.scale, vault.memory, stage, view.theta.shape[0], vault.sums, noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, vault.memory[at], params.no_noise, unscale, view)
