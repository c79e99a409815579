"""The binary tree with Wishart masks, as published. What it claims, and on whose word: `wishart.md`.

Shariff and Sheffet (2018), Section 4.1; Sheffet (2019) for one node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.counters.counter import Counter, add, add_exactly, publish
from tacit.mechanisms.binary import closed_level, levels, next_active
from tacit.noise import fill_normals, fill_uniforms
from tacit.privacy.event import Event, WishartTreeEvent

#: Numbers laid aside for rejected proposals of one call: far more than ever needed, one in a thousand is rejected.
SPARE = 64


@dataclass(frozen=True)
class WishartCounter(Counter):
    """Masks in every slot of a tree, as published. There is no exact sampler for them, and so no lattice."""

    horizon: int
    degrees: int  #: k of a mask
    slots: int  #: m
    promise_epsilon: float
    promise_delta: float

    def event(self, scale: float, sensitivity: float) -> Event:
        return WishartTreeEvent(
            degrees=self.degrees,
            sensitivity=sensitivity,
            nodes=self.slots,
            promise_epsilon=self.promise_epsilon,
            promise_delta=self.promise_delta,
        )

    def deviations(self) -> Floats:
        return np.array([math.sqrt(self.slots * self.degrees)])

    def draws(self) -> Floats:
        return np.array([float(self.slots)])

    def in_doubles(self, scale: float) -> Masks:
        return Masks(scale, self.degrees, self.slots)

    @property
    def memory_rows(self) -> int:
        """Rows of the memory that the kernels need."""
        return len(empty_memory(levels(self.horizon), self.slots, 1))


class Masks(NamedTuple):
    """The public side: every slot of the tree carries a Wishart matrix W(L̃²·I, k)."""

    parameter: float  # L̃²
    degrees: int  # k
    slots: int  # m


def empty_memory(levels: int, slots: int, size: int) -> Floats:
    """The secret side, rows of `size` numbers.

    Per level the active node minus the pad it displaced, *and all active levels above*; then the pads, their sum, the
    published sums, and two rows of scratch.
    """
    return np.zeros((levels + slots + 4, size))


implements(add, Masks)(add_exactly)


@implements(publish, Masks)
@kernel
def publish_prefix(counter: Masks, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:
    """All rows so far under the masks of all slots.

    Formal guarantee: (ε', δ)-DP for one row by the paper's theorem, quoted and not proved again: see wishart.md.
    """
    at = wishart_noise(counter, memory, row, dim, noise)
    out = memory[at]
    for k in range(out.shape[0]):
        out[k] = sums[k] + out[k]
    return at


@kernel
def wishart_noise(masks: Masks, memory: Floats, row: int, dim: int, noise: Any) -> int:
    """Draw the node closed by `row` (1-based); returns the row of `memory` with the noise of the prefix sum.

    There are m slots, one per level. A slot holds its node's mask while the level is occupied, and otherwise a *pad*: a
    mask of the same law, drawn once at the start. The sum over all slots is W(L̃²·I, mk) in every round, which the
    bounds of the paper assume; pads know nothing of data, so they are free.

    Requires: called once per row, in order, for rows below the horizon; that row is read before the next call.
    """
    slots = masks.slots
    levels = memory.shape[0] - slots - 4
    base, out = memory[levels + slots], memory[levels + slots + 1]
    factor, scratch = memory[levels + slots + 2], memory[levels + slots + 3]
    if row == 1:
        for k in range(base.shape[0]):
            base[k] = 0.0
        for slot in range(slots):
            pad = memory[levels + slot]
            draw_mask(masks, dim, factor, scratch, pad, noise)
            for k in range(base.shape[0]):
                base[k] += pad[k]
    level = closed_level(row)
    node, displaced = memory[level], memory[levels + level]
    draw_mask(masks, dim, factor, scratch, node, noise)
    for k in range(node.shape[0]):
        node[k] -= displaced[k]
    above = next_active(row, level)
    if above >= 0:
        upper = memory[above]
        for k in range(node.shape[0]):
            node[k] += upper[k]
    for k in range(node.shape[0]):
        out[k] = base[k] + node[k]
    return int(levels + slots + 1)


@kernel
def draw_mask(masks: Masks, dim: int, factor: Floats, scratch: Floats, out: Floats, noise: Any) -> None:
    """Overwrite `out` with the block and the column of one W_{d+1}(L̃²·I, k): packed d×d triangle, then d numbers.

    Bartlett (1933): W = L̃²·TTᵀ, T lower triangular with T_ii² ~ χ²(k − i + 1) and N(0, 1) below the diagonal: O(d²)
    draws instead of k Gaussian vectors. The corner of W is never used, so neither is T's last diagonal entry.
    """
    fill_normals(noise, factor)
    fill_uniforms(noise, scratch[:dim])
    for i in range(dim):
        # Row i of T starts at i(i+1)/2; the normal on its diagonal is the first proposal for χ.
        at = i * (i + 1) // 2 + i
        factor[at] = _chi(masks.degrees - i, factor[at], scratch[i], scratch[dim : dim + 1], noise)
    last = dim * (dim + 1) // 2
    place = 0
    for i in range(dim):
        row = i * (i + 1) // 2
        for j in range(i, dim):
            other = j * (j + 1) // 2
            total = 0.0
            for k in range(i + 1):
                total += factor[row + k] * factor[other + k]
            out[place] = masks.parameter * total
            place += 1
    for i in range(dim):
        row = i * (i + 1) // 2
        total = 0.0
        for k in range(i + 1):
            total += factor[row + k] * factor[last + k]
        out[place] = masks.parameter * total
        place += 1


@kernel
def _chi(degrees: int, normal: float, uniform: float, spare: Floats, noise: Any) -> float:
    """The root of a χ² of so many degrees (≥ 2), by Marsaglia and Tsang (2000); exact, rejected once in a thousand."""
    shape = 0.5 * degrees - 1.0 / 3.0
    slope = 1.0 / math.sqrt(9.0 * shape)
    while True:
        root = 1.0 + slope * normal
        if root > 0.0:
            cube = root * root * root
            square = normal * normal
            if uniform < 1.0 - 0.0331 * square * square:
                return math.sqrt(2.0 * shape * cube)
            if math.log(max(uniform, 1e-300)) < 0.5 * square + shape * (1.0 - cube + math.log(cube)):
                return math.sqrt(2.0 * shape * cube)
        fill_normals(noise, spare)
        normal = spare[0]
        fill_uniforms(noise, spare)
        uniform = spare[0]
