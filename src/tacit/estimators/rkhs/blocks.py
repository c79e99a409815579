"""Triangular solves on blocks of rows: what turns O(m²) per record into matrix work, in memory that stays."""

from __future__ import annotations

from collections.abc import Iterator

from scipy.linalg import solve_triangular

from tacit._types import Floats

#: Rows of a block: enough for LAPACK to be fast, few enough for a block of 400 features to stay in the cache.
BLOCK = 1024


def blocks(rows: Floats) -> Iterator[tuple[slice, Floats]]:
    """The rows in blocks, and where each block stands."""
    for at in range(0, len(rows), BLOCK):
        part = slice(at, min(at + BLOCK, len(rows)))
        yield part, rows[part]


def solved(triangle: Floats, rows: Floats) -> Floats:
    """L⁻¹x in place of each row x, for lower triangular L. The rows are used up."""
    if len(rows) == 0:
        return rows
    found: Floats = solve_triangular(triangle, rows.T, lower=True, overwrite_b=True, check_finite=False).T
    return found
