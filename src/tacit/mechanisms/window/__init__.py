"""The last few segments, each released once with noise of its own: for worlds that drift. Its price: `proof.md`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.noise import draw_symmetric


def empty_memory(window: int, size: int) -> Floats:
    """A ring of the last `window` segments *as released*, and a row for their sum."""
    return np.zeros((window + 1, size))


@kernel
def release_segment(scale: float, memory: Floats, segment: int, dim: int, sums: Floats, noise: Any) -> int:
    """Release segment number `segment` (0-based) and forget its exact sums; returns the row of `memory` that holds the
    sum of the last segments.

    Formal guarantee: the released segments are μ-GDP with μ = L̃²/s for one replaced row. Everything in `memory` is
    post-processing of them.
    Requires: called once per segment, in order, with the exact sums of that segment alone.
    """
    window = memory.shape[0] - 1
    slot, out = memory[segment % window], memory[window]
    draw_symmetric(noise, scale, dim, slot)
    for k in range(slot.shape[0]):
        slot[k] += sums[k]
        sums[k] = 0.0
        out[k] = 0.0
    # Summed up afresh: a running sum with subtractions would drift.
    for place in range(min(window, segment + 1)):
        row = memory[place]
        for k in range(out.shape[0]):
            out[k] += row[k]
    return int(window)
