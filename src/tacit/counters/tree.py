"""The binary tree: prefix sums after every row from nodes noised once. What it costs and why: `tree.md`.

Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011); as used by Shariff and Sheffet (2018), Section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.counters.counter import EveryRow, Lattice, Load, PrefixCounter, add, add_exactly, add_in_steps, publish
from tacit.mechanisms.binary import closed_level, levels, next_active
from tacit.noise import draw_symmetric, fill_normals
from tacit.pairs import added, nearest
from tacit.privacy.event import Event, TreeEvent


@dataclass(frozen=True)
class TreeCounter(PrefixCounter):
    """Nodes noised once: τ = s·√q in every view. Counting the nodes of each prefix is valid too, and no better."""

    horizon: int

    shift: ClassVar[float] = 2.0
    every_row: ClassVar[bool] = True

    def event(self, scale: float, sensitivity: float) -> Event:
        return TreeEvent(scale=scale, sensitivity=sensitivity, nodes=levels(self.horizon))

    def deviations(self) -> Floats:
        return np.array([math.sqrt(levels(self.horizon))])

    def draws(self) -> Floats:
        return np.array([float(levels(self.horizon))])

    @property
    def views(self) -> int:
        return self.horizon

    def schedule(self, first: int) -> EveryRow:
        return EveryRow(self.horizon)

    def load(self, schedule: Any) -> Load:
        return Load(self.horizon, self.horizon, levels(self.horizon))

    def in_doubles(self, scale: float) -> Nodes:
        return Nodes(scale)

    def on_lattice(self, lattice: Lattice) -> LatticeNodes:
        return LatticeNodes(lattice)

    def memory_rows(self, schedule: Any, lattice: bool) -> int:
        # In doubles: per level the noise of its active node and of all above it, then what is published. On a lattice:
        # per level the exact node as a pair (secret) and the noised sum of it and all above; the whole numbers last
        # released; what is published.
        return 3 * levels(self.horizon) + 2 if lattice else levels(self.horizon) + 1

    def scales(self, scale: float, spread: Floats, schedule: Any) -> dict[str, float]:
        return {"each node": scale, "each view": float(spread[0])}


class Nodes(NamedTuple):
    """The kernels' side in double precision."""

    scale: float  # s of a node
    shared: int = 0  # columns beside each matrix, which have a block of their own at the end


class LatticeNodes(NamedTuple):
    """The kernels' side on a lattice."""

    lattice: Lattice


implements(add, Nodes)(add_exactly)
implements(add, LatticeNodes)(add_in_steps)


@implements(publish, Nodes)
@kernel
def publish_prefix(counter: Nodes, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:
    """All rows so far under the noise of the closed nodes.

    Formal guarantee: μ-GDP for one replaced row, μ = √q·L̃²/s. Proof: tree.md.
    """
    held = memory[tree_noise(counter.scale, memory, row, dim, noise, counter.shared)]
    last: int = memory.shape[0] - 1
    out = memory[last]
    for k in range(out.shape[0]):
        out[k] = sums[k] + held[k]
    return last


def empty_memory(horizon: int, size: int) -> Floats:
    """Row ℓ will hold the noise of the active node of level ℓ *and of all active nodes above it*."""
    return np.zeros((levels(horizon), size))


@kernel
def tree_noise(scale: float, memory: Floats, row: int, dim: int, noise: Any, shared: int = 0) -> int:
    """Draw the node closed by `row` (1-based); returns the level of `memory` that now holds the prefix sum's noise.

    The node closed by row j is (j − lowbit(j), j]. Keeping, per level, the sum of this node and all above makes a
    release one addition; a running total with subtractions would drift.

    Formal guarantee: rows 1..n−1 released in order make μ-GDP with μ = √q·L̃²/s for one replaced row.
    Requires: called once per row, in order, for rows below the horizon; that level is read before the next call.
    """
    level = closed_level(row)
    node = memory[level]
    draw_symmetric(noise, scale, dim, node, shared)
    above = next_active(row, level)
    if above >= 0:
        upper = memory[above]
        for k in range(node.shape[0]):
            node[k] += upper[k]
    return level


@implements(publish, LatticeNodes)
@kernel
def publish_whole(
    counter: LatticeNodes, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any
) -> int:
    """Release the node closed by `row`, which `sums` holds alone; what is published is the prefix sum.

    A node is summed up from its own rows, never as a difference of prefixes: a row that is not in it cannot change how
    it is rounded.

    Formal guarantee: priced by `LatticeEvent(TreeEvent(...))` for one replaced row. Proof: lattice.md.
    Requires: called once per row, in order, for rows below the horizon; `noise` a tape of discrete Gaussians.
    """
    lattice = counter.lattice
    depth, size = (memory.shape[0] - 2) // 3, sums.shape[1]
    level = closed_level(row)
    above = next_active(row, level)
    released, out, prefix = memory[3 * depth], memory[3 * depth + 1], memory[2 * depth + level]
    fill_normals(noise, released)
    for k in range(size):
        high, low = sums[0, k], sums[1, k]
        for below in range(level):
            high, low = added(high, low, memory[below, k], memory[depth + below, k])
        memory[level, k], memory[depth + level, k] = high, low
        sums[0, k] = 0.0
        sums[1, k] = 0.0
        released[k] += nearest(high, low)
        prefix[k] = released[k]
    if above >= 0:
        upper = memory[2 * depth + above]
        for k in range(size):
            prefix[k] += upper[k]
    for k in range(size):
        out[k] = lattice.known[k] + lattice.steps[k] * prefix[k]
    return int(3 * depth + 1)
