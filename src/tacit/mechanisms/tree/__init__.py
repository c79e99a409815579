"""The binary tree: prefix sums every round from nodes noised once. What it costs and why: `proof.md`.

Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011); as used by Shariff and Sheffet (2018), Section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.mechanisms.binary import closed_level, levels, next_active
from tacit.noise import draw_symmetric


def empty_memory(horizon: int, size: int) -> Floats:
    """Row ℓ will hold the noise of the active node of level ℓ *and of all active nodes above it*."""
    return np.zeros((levels(horizon), size))


@kernel
def tree_noise(scale: float, memory: Floats, row: int, dim: int, noise: Any) -> int:
    """Draw the node closed by `row` (1-based); returns the level of `memory` that now holds the prefix sum's noise.

    The node closed by row j is (j − lowbit(j), j]. Keeping, per level, the sum of this node and all above makes a
    release one addition; a running total with subtractions would drift.

    Formal guarantee: rows 1..n−1 released in order make μ-GDP with μ = √q·L̃²/s for one replaced row.
    Requires: called once per row, in order, for rows below the horizon; that level is read before the next call.
    """
    level = closed_level(row)
    node = memory[level]
    draw_symmetric(noise, scale, dim, node)
    above = next_active(row, level)
    if above >= 0:
        upper = memory[above]
        for k in range(node.shape[0]):
            node[k] += upper[k]
    return level
