"""The binary tree on a lattice: a node is rounded and noised once, when it closes (`proof.md`)."""

from __future__ import annotations

from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.mechanisms.binary import closed_level, levels, next_active
from tacit.mechanisms.lattice import Lattice
from tacit.mechanisms.lattice.pairs import added, nearest
from tacit.noise import fill_normals


def memory_rows(horizon: int) -> int:
    """Per level the exact node as a pair (secret), and the noised sum of it and all above; the whole numbers last
    released; their prefix sum."""
    return 3 * levels(horizon) + 2


@kernel
def release_node(lattice: Lattice, memory: Floats, row: int, sums: Floats, noise: Any) -> int:
    """Release the node closed by `row` (1-based); returns the row of `memory` that holds the prefix sum published.

    `sums` holds this row alone. A node is summed up from its own rows, never as a difference of prefixes: a row that is
    not in it cannot change how it is rounded.

    Formal guarantee: priced by `LatticeEvent(TreeEvent(...))` for one replaced row. Proof: proof.md.
    Requires: called once per row, in order, for rows below the horizon; `noise` a tape of discrete Gaussians.
    """
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
        out[k] = lattice.steps[k] * prefix[k]
    return int(3 * depth + 1)
