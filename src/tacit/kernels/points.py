"""Points as callers give them. Messages never show a value: a context may be somebody's."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tacit._arrays import finite
from tacit._types import Floats
from tacit.errors import BadInput

#: No coordinate is further from zero. Squares of distances then stay finite, whatever the length scale.
LARGEST = 1e100


def as_points(name: str, values: ArrayLike, dim: int | None = None) -> Floats:
    """A copy of shape (n, d), one point per row; of this width, if one is given."""
    rows = finite(name, values, limit=LARGEST)
    if rows.ndim != 2 or rows.shape[1] == 0 or dim not in (None, rows.shape[1]):
        raise BadInput(f"Expected {name} of shape (n, {dim or 'd'}), one point per row, got {rows.shape}.")
    return rows
