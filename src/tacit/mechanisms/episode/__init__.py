"""The episode: a sum of rewards that is noised once, published once, and forgotten. Its price: `proof.md`.

Azize and Basu, *Rényi differentially private bandits*; Azize and Basu (2022) for pure DP.
"""

from __future__ import annotations

from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats, Ints
from tacit.noise import draw_laplace, fill_normals


@kernel
def release_total(
    scale: float, laplace: bool, sums: Floats, sizes: Ints, place: int, draw: Floats, noise: Any
) -> float:
    """The noised sum at `place`. The exact one is forgotten, so no second draw can ever be made for it.

    Formal guarantee: all totals together are μ-GDP with μ = Δ/scale for one replaced reward, or with Laplace noise
    (Δ/scale, 0)-DP; Δ is the length of the interval that rewards were clipped to. With scale = 0 there is none.
    Requires: each reward was added to one place once; when a total is asked for depends on released values and on the
    number of rewards, never on what they are. `draw` has room for two numbers, and is wiped.
    """
    total: float = sums[place]
    sums[place] = 0.0
    sizes[place] = 0
    if scale == 0.0:
        return total
    if laplace:
        return total + draw_laplace(noise, scale, draw)
    fill_normals(noise, draw[:1])
    total += scale * draw[0]
    draw[0] = 0.0
    return total
