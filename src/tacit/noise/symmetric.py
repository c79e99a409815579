"""One symmetric Gaussian matrix and one Gaussian vector, packed: the draw every joint-DP mechanism here is made of; and
the vector alone, where matrices are public.

Off-diagonal entries and the vector have standard deviation s, the diagonal √2·s. Replacing one row [x; y] of squared
norm at most L̃² changes Σ [x;y][x;y]ᵀ by Δ with ‖Δ‖_F ≤ √2·L̃²; in units of this noise the change is

    √(Σ_i Δ_ii²/2 + Σ_{i<j} Δ_ij²)/s = ‖Δ‖_F/(√2·s) ≤ L̃²/s.

The doubled variance on the diagonal is what buys the √2 back. The corner Σ y² is neither kept nor noised.
"""

from __future__ import annotations

import math
from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.noise.source import fill_normals

_SQRT2 = math.sqrt(2.0)


@kernel
def draw_symmetric(noise: Any, scale: float, dim: int, out: Floats, shared: int = 0) -> None:
    """Overwrite `out` (packed d×d upper triangle, then a d-vector; or several of both in turn) with one fresh draw.

    With `shared` = s each row of a triangle goes on with s numbers more, and last comes a block of size s.
    """
    fill_normals(noise, out)
    at = 0
    while at < out.shape[0] - shared * (shared + 3) // 2:
        for i in range(dim):
            out[at] *= _SQRT2
            at += dim - i + shared
        at += dim
    for i in range(shared):
        out[at] *= _SQRT2
        at += shared - i
    for k in range(out.shape[0]):
        out[k] *= scale


@kernel
def draw_vectors(noise: Any, scale: float, dim: int, out: Floats) -> None:
    """The same of rows whose matrices are public: zeros there, and one fresh draw on each vector. Of a source of whole
    numbers with scale 1 they are whole."""
    at = 0
    while at < out.shape[0]:
        vector = at + dim * (dim + 1) // 2
        for k in range(at, vector):
            out[k] = 0.0
        at = vector + dim
        fill_normals(noise, out[vector:at])
        for k in range(vector, at):
            out[k] *= scale
