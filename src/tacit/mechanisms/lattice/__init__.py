"""Sums published as whole numbers: rounded to a lattice, and noised by whole numbers. What it costs: `proof.md`.

    pairs     sums in pairs of doubles, which lose far less than a step
    toeplitz  prefix sums under correlated noise
    root      the same for a few releases, with the square root of the prefix sum
    tree      prefix sums from nodes noised once
    window    the last few segments, each noised once

Every number that leaves the vault here is a whole number plus a discrete Gaussian. All arithmetic after that is
post-processing, so no low bit of a double can tell anything that the price does not cover.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import kernel
from tacit._types import Floats
from tacit.errors import BadInput
from tacit.mechanisms.lattice.pairs import added_one
from tacit.noise import LARGEST_SCALE
from tacit.privacy.accountant import SMOOTHING

#: ρ: by how many steps at most a number is rounded: half a step, and a hundredth for what pairs of doubles lose.
ROUNDING = 0.51
#: Rows that a learner on a lattice learns from at most: the fewer there may be, the finer its steps.
MOST_ROWS = 2**34
#: Noised whole numbers stay below twice this, where doubles are exact.
_LARGEST = 2.0**52
#: A finer lattice than sensitivity/2³⁰ buys nothing: its rounding costs less than calibration keeps in hand. A coarser
#: one than sensitivity/2⁸ would cost too much to be meant.
_FINEST, _COARSEST = 30, 8
#: By so many steps at most discrete noise lies off the continuous one (and a sum off its rounding), but for 10⁻³⁰.
_OFF = 25.0


class Lattice(NamedTuple):
    """The public side of a packed matrix and vector: what a number is in steps, and a step in its own unit.

    Steps on the diagonal are √2 times as long, so that noise of one scale in steps is symmetric noise.
    """

    weights: Floats  # (size,) steps per unit
    steps: Floats  # (size,) units per step
    known: Floats  # (size,) sums of public rows: never noised


def lattice_of(dim: int, step: float, known: Floats) -> Lattice:
    """The lattice of step h for packed sums."""
    steps = np.full(linalg.packed_size(dim) + dim, step)
    steps[np.cumsum([0, *range(dim, 1, -1)])] *= math.sqrt(2.0)
    return Lattice(1.0 / steps, steps, known)


def resolution(*, weight: float, rows: int, releases: int, deviation: float) -> float:
    """How many steps the sensitivity of a row has: the largest power of two for which everything stays exact.

    `weight` bounds how many rows' worth one released number is, `rows` how many rows there are, `deviation` is the
    scale of the noise over the sensitivity. Noise and sums must stay below what doubles hold, and what pairs of doubles
    lose, (rows + releases + 8)·2⁻¹⁰³·rows·steps, below a hundredth of a step.
    """
    lost = 103 - 8 - math.log2((rows + releases + 8) * rows)
    bits = min(
        _FINEST,
        math.floor(math.log2(_LARGEST) - math.log2(weight) - 1e-6),
        math.floor(math.log2(LARGEST_SCALE) - math.log2(deviation) - 0.1),
        math.floor(lost),
    )
    if bits < _COARSEST:
        raise BadInput(
            f"Expected noise of at most 2**36 times what a row weighs, got {deviation:.3g} times, and sums of at most "
            f"2**44 rows, got {weight:.3g}: whole numbers of a double cannot hold more. Promise a larger epsilon."
        )
    return 2.0**bits


def noise_offset(dim: int, step: float, draws: Floats | float) -> Floats | float:
    """What to add to the deviation τ of continuous noise so that its tail bounds hold for discrete noise as well.

    `draws`: how many draws, each with its weight, are in the noise of a number. A draw differs from the continuous one
    it is smoothed from, rounding included, by less than 25 steps but for 10⁻³⁰: the matrix by at most 25√2·d·h per
    draw, the vector by 25√d·h. The bounds multiply τ by 2√d at least for the matrix, by √d + 1 for the vector.
    """
    assert _OFF > 12 * SMOOTHING + ROUNDING
    return _OFF * math.sqrt(dim / 2.0) * step * draws


@kernel
def add_row(lattice: Lattice, x: Floats, y: float, dim: int, sums: Floats) -> None:
    """sums += (upper triangle of x xᵀ, x·y) in steps, as pairs: row 0 of `sums` is high, row 1 low."""
    weights = lattice.weights
    at = 0
    for i in range(dim):
        for j in range(i, dim):
            sums[0, at], sums[1, at] = added_one(sums[0, at], sums[1, at], x[i] * x[j] * weights[at])
            at += 1
    for i in range(dim):
        sums[0, at], sums[1, at] = added_one(sums[0, at], sums[1, at], x[i] * y * weights[at])
        at += 1
