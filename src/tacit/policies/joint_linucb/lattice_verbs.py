"""The verbs of `JointLinUCB` with secure noise: the same clipping and choices, sums and releases on a lattice.

What leaves the vault is a vector of whole numbers with discrete noise; the view is fitted on it. What it costs, and why
rounding is covered: mechanisms/lattice/proof.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.core.round import CLIPPED_ACTIONS, CLIPPED_REWARDS, COUNTERS, REPAIRS, ROWS
from tacit.core.verbs import absorb, choose, encode, release
from tacit.estimators.ridge import Confidence, Optimism, Thompson, View, fit
from tacit.mechanisms.lattice import Lattice, add_row
from tacit.mechanisms.lattice.toeplitz import Coder, release_prefix
from tacit.mechanisms.lattice.tree import release_node
from tacit.mechanisms.lattice.window import release_segment
from tacit.policies.joint_linucb.verbs import Bounds, choose_arm, clip_row


class LatticePrefixParams(NamedTuple):
    """Params of `JointLinUCB(releases="geometric")` and `releases="toeplitz"` with secure noise."""

    bounds: Bounds
    confidence: Confidence
    lattice: Lattice
    coder: Coder
    times: Ints  # t_1 < t_2 < …; empty: after every row below the horizon
    horizon: int
    exploration: Optimism | Thompson


class LatticeTreeParams(NamedTuple):
    """Params of `JointLinUCB(releases="tree")` with secure noise."""

    bounds: Bounds
    confidence: Confidence
    lattice: Lattice
    horizon: int
    exploration: Optimism | Thompson


class LatticeWindowParams(NamedTuple):
    """Params of `JointLinUCB(window=w)` with secure noise."""

    bounds: Bounds
    confidence: Confidence
    lattice: Lattice
    times: Ints
    exploration: Optimism | Thompson


class LatticeVault(NamedTuple):
    """Secret: sums since the last release, what the mechanism carries, counts."""

    sums: Floats  # (2, size) packed Σ x xᵀ, then Σ x·ζy, in steps: pairs of doubles, high and low
    memory: Floats
    counters: Ints


def first_vault(size: int, memory_rows: int) -> LatticeVault:
    """Before anyone has come. Public rows are no secret, and are not in here."""
    return LatticeVault(np.zeros((2, size)), np.zeros((memory_rows, size)), np.zeros(COUNTERS, np.int64))


_ALL = (LatticePrefixParams, LatticeTreeParams, LatticeWindowParams)

implements(choose, *_ALL)(choose_arm)
implements(encode, *_ALL)(clip_row)


@implements(absorb, *_ALL)
@kernel
def absorb_row(params: Any, vault: Any, report: Floats) -> None:
    """Into the sums in steps, and what was clipped into the counters."""
    dim = report.shape[0] - 2
    add_row(params.lattice, report, report[dim], dim, vault.sums)
    clipped = int(report[dim + 1])
    vault.counters[ROWS] += 1
    vault.counters[CLIPPED_ACTIONS] += clipped & 1
    vault.counters[CLIPPED_REWARDS] += clipped >> 1


@implements(release, LatticePrefixParams)
@kernel
def _release_prefix(params: LatticePrefixParams, vault: LatticeVault, view: View, noise: Any) -> None:
    """Publish all rows so far, if this row ends a segment, or every round but the last.

    Formal guarantee: the views are μ-GDP for one replaced row, μ the price of `LatticeEvent(ToeplitzEvent(...))`.
    Proof: mechanisms/lattice/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    stage, row = view.stage[0], vault.counters[ROWS]
    if params.times.shape[0] > 0:
        if stage >= params.times.shape[0] or row != params.times[stage]:
            return
    elif row >= params.horizon:
        return
    at = release_prefix(params.coder, params.lattice, vault.memory, vault.sums, noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, params.lattice.known, vault.memory[at], unscale, view)


@implements(release, LatticeTreeParams)
@kernel
def _release_tree(params: LatticeTreeParams, vault: LatticeVault, view: View, noise: Any) -> None:
    """Publish the node this row closes, every round but the last, and fit all rows so far.

    Formal guarantee: the views are μ-GDP for one replaced row, μ the price of `LatticeEvent(TreeEvent(...))`.
    Proof: mechanisms/lattice/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    row = vault.counters[ROWS]
    if row >= params.horizon:
        return
    at = release_node(params.lattice, vault.memory, row, vault.sums, noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, params.lattice.known, vault.memory[at], unscale, view)


@implements(release, LatticeWindowParams)
@kernel
def _release_window(params: LatticeWindowParams, vault: LatticeVault, view: View, noise: Any) -> None:
    """Publish this segment, if the row ends one, and fit the last few.

    Formal guarantee: the segments are μ-GDP for one replaced row, μ the price of `LatticeEvent(SegmentsEvent(...))`.
    Proof: mechanisms/lattice/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    stage = view.stage[0]
    if stage >= params.times.shape[0] or vault.counters[ROWS] != params.times[stage]:
        return
    at = release_segment(params.lattice, vault.memory, stage, vault.sums, noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, params.lattice.known, vault.memory[at], unscale, view)
