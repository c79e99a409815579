"""Correlated noise for prefix sums in a handful of buffers (BLT). What it costs and why: `proof.md`.

Fichtenberger, Henzinger and Upadhyay (2023); Dvijotham, McMahan, Pillutla, Steinke and Thakurta (2024).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.noise import draw_symmetric
from tacit.privacy.toeplitz import Design


class Buffers(NamedTuple):
    """The public side: how much of each buffer is forgotten at a step, and how much of it is in the release."""

    scale: float  # s: of the one fresh draw per release
    forget: Floats  # (p,) ĝ
    weights: Floats  # (p,) λ
    floor: float  # b_∞


def buffers(design: Design, scale: float) -> Buffers:
    """The recurrence of `design` with fresh draws of scale s."""
    return Buffers(scale, np.array(design.zeros), np.array(design.zero_weights), float(design.floor))


def empty_memory(design: Design, size: int) -> Floats:
    """The secret side: P and E_1..E_p for rows of `size` numbers, and room for fresh draw and released noise."""
    return np.zeros((len(design.zeros) + 3, size))


@kernel
def correlated_noise(params: Buffers, memory: Floats, dim: int, noise: Any) -> int:
    """Draw the noise of the next release; returns the row of `memory` that holds it.

    At the t-th release its standard deviation is s·√(Σ_{k<t} b_k²).

    Formal guarantee: N calls, one per release, make the releases μ-GDP with μ = κ_N·L̃²/s for one replaced row.
    Requires: one call per release and never more than N; the row is read before the next call.
    """
    count = len(params.forget)
    plain, fresh, out = memory[count], memory[count + 1], memory[count + 2]
    draw_symmetric(noise, params.scale, dim, fresh)
    for k in range(fresh.shape[0]):
        plain[k] += fresh[k]
        out[k] = params.floor * plain[k]
    for b in range(count):
        forget, weight, buffer = params.forget[b], params.weights[b], memory[b]
        for k in range(fresh.shape[0]):
            # E − ĝE + Z, not θ̂E + Z: the smallest gap is 1e-8, and 1 − 1e-8 would lose half its digits.
            buffer[k] = (buffer[k] - forget * buffer[k]) + fresh[k]
            out[k] += weight * buffer[k]
    return count + 2
