"""Prefix sums under correlated noise, on a lattice: what is noised is C·x, and B is post-processing (`proof.md`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.mechanisms.lattice import Lattice
from tacit.mechanisms.lattice.pairs import added, nearest, scaled
from tacit.noise import fill_normals
from tacit.privacy.toeplitz import Design


class Coder(NamedTuple):
    """The public side: C as a recurrence over what comes in, and B as one over what was released."""

    poles: Floats  # (p,) g
    pole_weights: Floats  # (p,) ω
    zeros: Floats  # (p,) ĝ
    zero_weights: Floats  # (p,) λ
    floor: float  # b_∞


def coder(design: Design) -> Coder:
    """Both recurrences of `design`."""
    return Coder(
        np.array(design.poles),
        np.array(design.pole_weights),
        np.array(design.zeros),
        np.array(design.zero_weights),
        float(design.floor),
    )


def memory_rows(design: Design) -> int:
    """q_1..q_p as pairs (secret); E_1..E_p and P of what was released, the whole numbers last released, their prefix
    sum."""
    return 3 * len(design.poles) + 3


def heaviest(design: Design, lengths: Floats) -> float:
    """max_t Σ_s c_{t−s}·lengths_s: how many rows' worth a released number is at most, for segments of these lengths."""
    poles, weights = np.array(design.poles), design.pole_weights
    states, most = np.zeros(len(poles)), 0.0
    for length in lengths:
        most = max(most, float(length + weights @ states))
        states += length - poles * states
    return most * (1 + 1e-9)


@kernel
def release_prefix(coder: Coder, lattice: Lattice, memory: Floats, sums: Floats, noise: Any) -> int:
    """Release what has come in since the last release; returns the row of `memory` that holds the prefix sum published.

        ŷ_t = [x_t + Σ_i ω_i q_i] + Z_t,   q_i ← q_i − g_i q_i + x_t,   published: B ŷ

    [·] is the nearest whole number, Z a discrete Gaussian; everything before it is in pairs of doubles.

    Formal guarantee: N calls are priced by `LatticeEvent(ToeplitzEvent(...))` for one replaced row. Proof: proof.md.
    Requires: one call per release and never more than N; rows clipped and added by `add_row`; `noise` a tape of
    discrete Gaussians.
    """
    count, size = coder.poles.shape[0], sums.shape[1]
    plain, released, out = memory[3 * count], memory[3 * count + 1], memory[3 * count + 2]
    fill_normals(noise, released)
    for k in range(size):
        x_high, x_low = sums[0, k], sums[1, k]
        high, low = x_high, x_low
        for i in range(count):
            q_high, q_low = memory[i, k], memory[count + i, k]
            part_high, part_low = scaled(q_high, q_low, coder.pole_weights[i])
            high, low = added(high, low, part_high, part_low)
            part_high, part_low = scaled(q_high, q_low, -coder.poles[i])
            part_high, part_low = added(q_high, q_low, part_high, part_low)
            memory[i, k], memory[count + i, k] = added(part_high, part_low, x_high, x_low)
        sums[0, k] = 0.0
        sums[1, k] = 0.0
        released[k] += nearest(high, low)
    # From here on nothing is secret.
    for k in range(size):
        plain[k] += released[k]
        total = coder.floor * plain[k]
        for i in range(count):
            buffer = memory[2 * count + i]
            buffer[k] = (buffer[k] - coder.zeros[i] * buffer[k]) + released[k]
            total += coder.zero_weights[i] * buffer[k]
        out[k] = lattice.steps[k] * total
    return int(3 * count + 2)
