"""The nearest point of a ball in the norm of a matrix: what a Newton step must be followed by.

    argmin (x − z)ᵀS(x − z)  over ‖x‖ ≤ D   is   x(ν) = (S + νI)⁻¹S z = (I + νS⁻¹)⁻¹z,   ν ≥ 0 such that ‖x(ν)‖ = D,

or z itself inside the ball. S⁻¹ is enough: S is never formed. 1/‖x(ν)‖ is concave and increasing in ν, as in
trust-region methods, where the same equation is solved (Moré and Sorensen 1983): Newton's method on 1/‖x(ν)‖ = 1/D
climbs from ν = 0 to the root and never passes it, however ill-conditioned S is. Halley's longer step and rounding may
pass it; a bracket brings them back.
"""

from __future__ import annotations

import math

from tacit import linalg
from tacit._kernel import kernel
from tacit._types import Floats

#: Matrices factored at most. One or two are usual; where rounding has the last word the bracket closes within fifty.
_MOST = 100
#: What the last stretch may leave out, as a share of the radius.
_TOLERANCE = 1e-13


@kernel
def projection_rows(dim: int) -> int:
    """How many rows of d numbers `project` needs to work in."""
    return dim + 2


@kernel
def project(inverse: Floats, radius: float, point: Floats, scratch: Floats) -> int:
    """Move `point` to the nearest point of the ball in the norm of S. Returns how many matrices were factored for it.

    `inverse` is S⁻¹, stored whole; `scratch` has `projection_rows(d)` rows. With N = (I + νS⁻¹)⁻¹S⁻¹ the derivatives of
    x are −Nx, 2N²x, …, so that w = Nx gives two derivatives of ‖x(ν)‖², −2<x, w> and 6‖w‖², hence Halley's step h. It
    also gives the last stretch, x − h·w, for nothing: what that leaves out is about ‖h·w‖·h/ν, as ‖N‖ ≤ 1/ν.

    The answer is as good as the inverse: off by about 10⁻¹³ + 10⁻¹⁶·cond(S) of the radius, and in the ball in any case.
    """
    dim = point.shape[0]
    factor, x, change = scratch[:dim], scratch[dim], scratch[dim + 1]
    length = math.sqrt(linalg.dot(point, point))
    if length <= radius:
        return 0
    # At ν = 0 nothing has to be factored: x is the point itself.
    linalg.symmetric_product(inverse, point, change)
    shift = _halley(length, radius, linalg.dot(point, change), linalg.dot(change, change))
    low, high = 0.0, math.inf
    for i in range(dim):
        x[i] = point[i]
    count = 0
    while count < _MOST and high - low > _TOLERANCE * shift:
        for i in range(dim):
            for k in range(i, dim):
                factor[i, k] = shift * inverse[i, k]
            factor[i, i] += 1.0
        count += 1
        if not linalg.cholesky(factor):
            break
        for i in range(dim):
            x[i] = point[i]
        linalg.solve(factor, x)
        linalg.symmetric_product(inverse, x, change)
        linalg.solve(factor, change)
        length = math.sqrt(linalg.dot(x, x))
        square = linalg.dot(change, change)
        step = _halley(length, radius, linalg.dot(x, change), square)
        if step * step * math.sqrt(square) <= _TOLERANCE * radius * shift:
            for i in range(dim):
                x[i] -= step * change[i]
            break
        if step > 0.0:
            low = shift
        else:
            high = shift
        shift += step
        if not low < shift < high:
            shift = 0.5 * (low + high) if high < math.inf else 2.0 * low
    for i in range(dim):
        point[i] = x[i]
    linalg.shrink_to_ball(point, radius)
    return count


@kernel
def _halley(length: float, radius: float, product: float, square: float) -> float:
    """The step in ν towards 1/‖x‖ = 1/D, from ‖x‖, <x, w> and ‖w‖².

    Newton's is (‖x‖/D − 1)·‖x‖²/<x, w>. Halley's divides it by 1 − ½·f·f″/f′², which is taken where it is safe.
    """
    excess = length / radius - 1.0
    newton = excess * length * length / product
    bend = 1.5 * excess * (length * length * square / (product * product) - 1.0)
    return newton / (1.0 - bend) if bend < 0.5 else newton
