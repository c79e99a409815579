"""Binary trees over sums of vectors, one tree for each arm: nodes noised once, Gaussian or Laplace. See `proof.md`.

Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011); one tree per arm as in Neel and Roth (2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.mechanisms.binary import closed_level, levels, next_active
from tacit.noise import LAPLACE_UNIFORMS, draw_laplace, fill_normals

__all__ = ["LAPLACE_UNIFORMS", "active_nodes", "empty_memory", "vector_noise"]


def empty_memory(trees: int, horizon: int, dim: int) -> Floats:
    """Row ℓ of a tree will hold the noise of its active node of level ℓ *and of all active nodes above it*.

    Any one tree may get all rows, so each has the levels of the horizon.
    """
    return np.zeros((trees, levels(horizon), dim))


@kernel
def vector_noise(scale: float, laplace: bool, memory: Floats, row: int, scratch: Floats, noise: Any) -> int:
    """Draw the node closed by `row` (1-based) of this tree; returns the level of `memory` that now holds the noise of
    the prefix sum. `scratch` has room for two numbers, and is wiped.

    Formal guarantee, with rows released in order, fewer than n over all trees, q = ⌈log2 n⌉: for one replaced row that
    moves its sum by Δ at most, μ-GDP with μ = √q·Δ/s (Δ in the Euclidean norm), or pure DP with ε = q·Δ/b (in L1).
    Requires: called once per row of a tree, in order; that level is read before the next call.
    """
    level = closed_level(row)
    node = memory[level]
    if laplace:
        for i in range(node.shape[0]):
            node[i] = draw_laplace(noise, scale, scratch)
    else:
        fill_normals(noise, node)
        for i in range(node.shape[0]):
            node[i] *= scale
    above = next_active(row, level)
    if above >= 0:
        upper = memory[above]
        for i in range(node.shape[0]):
            node[i] += upper[i]
    return level


@kernel
def active_nodes(row: int) -> int:
    """How many nodes the prefix of `row` rows is made of: the ones in its binary form."""
    count = 0
    while row > 0:
        row &= row - 1
        count += 1
    return count
