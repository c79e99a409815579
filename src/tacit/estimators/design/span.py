"""Actions in coordinates of their own span: as combinations of a few of them.

A design needs Σ π x xᵀ to be invertible, and a list of actions may span less than the whole space, above all when some
of them are out of play. So r actions are picked as *pivots*, each the one that sticks out most from the span of those
before (Gram and Schmidt with pivoting), and every action is written as a combination of them:

    x_a = Σ_p c_pa · x_p,     so     <θ, x_a> = Σ_p c_pa · <θ, x_p>.

In these coordinates the pivots are the basis vectors and θ is the vector of their mean rewards. No basis of the space
is ever needed, and neither the scale of the actions nor how they lie in space matters to anything computed from c.
"""

from __future__ import annotations

import math

from tacit._kernel import kernel
from tacit._types import Floats, Ints

#: What sticks out by less than this share of the longest action is rounding, and left out. Then a mean reward is off by
#: at most this share of ‖θ‖ times that length.
FLAT = 1e-9
_LONGER = 1.0 + 1e-9


@kernel
def write_coordinates(
    actions: Floats, chosen: Ints, count: int, coordinates: Floats, pivots: Ints, residual: Floats, triangle: Floats
) -> int:
    """c of the first `count` of the `chosen` rows of `actions`, as columns of `coordinates`. Returns the rank r.

    `pivots` becomes the columns that are basis vectors. Room: coordinates (m, K), m = min(K, d); pivots (m,); residual
    (d, K); triangle (m, m).
    """
    dim = actions.shape[1]
    for i in range(dim):
        for k in range(count):
            residual[i, k] = actions[chosen[k], i]
    rank, smallest = 0, 0.0
    while rank < min(count, dim):
        # The row is needed for lengths first, and then for how far each action goes along the pivot.
        row = coordinates[rank]
        pivot = _longest(residual, count, row)
        length = math.sqrt(row[pivot])
        if rank == 0:
            smallest = FLAT * length
        if length <= smallest:
            break
        _take_out(residual, count, pivot, length, row)
        pivots[rank] = pivot
        rank += 1
    # Along orthogonal directions the pivots are a triangle R, and c = R⁻¹y.
    for j in range(rank):
        for i in range(j, rank):
            triangle[j, i] = coordinates[j, pivots[i]]
    for j in range(rank - 1, -1, -1):
        for i in range(j + 1, rank):
            factor = triangle[j, i]
            for k in range(count):
                coordinates[j, k] -= factor * coordinates[i, k]
        for k in range(count):
            coordinates[j, k] /= triangle[j, j]
    return rank


@kernel
def _longest(residual: Floats, count: int, squares: Floats) -> int:
    """The column that is longest, the first of equals; `squares` become those of their lengths."""
    for k in range(count):
        squares[k] = 0.0
    for i in range(residual.shape[0]):
        for k in range(count):
            squares[k] += residual[i, k] * residual[i, k]
    best = 0
    for k in range(1, count):
        # Unit vectors are equally long but for rounding, which must not choose among them.
        if squares[k] > squares[best] * _LONGER:
            best = k
    return best


@kernel
def _take_out(residual: Floats, count: int, pivot: int, length: float, along: Floats) -> None:
    """How far each column goes in the direction of the pivot, and what is left of it then."""
    dim = residual.shape[0]
    for k in range(count):
        along[k] = 0.0
    for i in range(dim):
        share = residual[i, pivot] / length
        for k in range(count):
            along[k] += share * residual[i, k]
    along[pivot] = length
    for i in range(dim):
        share = residual[i, pivot] / length
        for k in range(count):
            residual[i, k] -= share * along[k]
        residual[i, pivot] = 0.0
