"""Arrays as callers give them, and as kernels want them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tacit import _arrays
from tacit._arrays import numbers
from tacit._types import Floats
from tacit.core.round import LARGEST
from tacit.errors import BadInput

_FLOAT64 = np.dtype(np.float64)


def as_floats(name: str, values: ArrayLike) -> Floats:
    """The values as float64, C-contiguous and aligned: what the kernels were compiled for, and nothing else will do."""
    if type(values) is np.ndarray and values.dtype is _FLOAT64 and values.flags.carray:
        return values
    return numbers(name, values)


def not_finite(name: str, values: Floats) -> BadInput:
    """The error for numbers that `first_unfit` found."""
    flat = values.ravel()
    at = int(np.flatnonzero(~(np.abs(flat) <= LARGEST))[0])
    return _arrays.not_finite(name, float(flat[at]), at, LARGEST)


def as_rows(actions: ArrayLike | None, dim: int) -> Floats:
    """A set of actions of shape (K, dim)."""
    if actions is None:
        raise BadInput(f"Expected actions of shape (K, {dim}), got none.")
    rows = as_floats("actions", actions)
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise BadInput(f"Expected actions of shape (K, {dim}), got {rows.shape}.")
    if rows.shape[0] == 0:
        raise BadInput(f"Expected at least one action, got an empty set of shape {rows.shape}.")
    return rows


def as_row(x: ArrayLike, dim: int) -> Floats:
    """One action of shape (dim,), as a copy. Kernels read it twice without the interpreter's lock, and what was clipped
    must be what is summed, whatever another thread writes to the caller's array meanwhile."""
    row = as_floats("x", x)
    if row.shape != (dim,):
        raise BadInput(f"Expected x of shape ({dim},), got {row.shape}. Pass the chosen action itself: actions[arm].")
    return row.copy()


def no_rows(actions: object, fixed: Floats) -> Floats:
    """The fixed list of actions, if none were passed."""
    if actions is not None:
        raise BadInput(
            f"Expected choose() without actions, got some: this policy has a fixed list of {len(fixed)} of them."
        )
    return fixed


def as_arm(arm: object, fixed: Floats) -> Floats:
    """The action of an arm that is given by its number."""
    if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < len(fixed):
        got = "another number" if isinstance(arm, int | np.integer) else type(arm).__name__
        raise BadInput(
            f"Expected an arm from 0 to {len(fixed) - 1}, got {got}. Pass what choose() returned: learn(arm, reward)."
        )
    row: Floats = fixed[arm]
    return row
