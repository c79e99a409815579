"""The last few segments on a lattice, each rounded and noised once (`proof.md`)."""

from __future__ import annotations

from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.mechanisms.lattice import Lattice
from tacit.mechanisms.lattice.pairs import nearest
from tacit.noise import fill_normals


def memory_rows(window: int) -> int:
    """A ring of the last `window` segments as released, in whole numbers, and a row for their sum."""
    return window + 1


@kernel
def release_segment(lattice: Lattice, memory: Floats, segment: int, sums: Floats, noise: Any) -> int:
    """Release segment number `segment` (0-based) and forget its exact sums; returns the row of `memory` that holds the
    sum of the last segments.

    Formal guarantee: priced by `LatticeEvent(SegmentsEvent(...))` for one replaced row. Proof: proof.md.
    Requires: called once per segment, in order, with the sums of that segment alone; `noise` a tape of discrete
    Gaussians.
    """
    window = memory.shape[0] - 1
    slot, out = memory[segment % window], memory[window]
    fill_normals(noise, slot)
    for k in range(slot.shape[0]):
        slot[k] += nearest(sums[0, k], sums[1, k])
        sums[0, k] = 0.0
        sums[1, k] = 0.0
        out[k] = 0.0
    for place in range(min(window, segment + 1)):
        row = memory[place]
        for k in range(out.shape[0]):
            out[k] += row[k]
    for k in range(out.shape[0]):
        out[k] *= lattice.steps[k]
    return int(window)
