"""Arrays as callers give them, and as kernels want them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit.core.round import LARGEST
from tacit.errors import BadInput

_FLOAT64 = np.dtype(np.float64)


def as_floats(name: str, values: ArrayLike) -> Floats:
    """The values as float64, C-contiguous and aligned: what the kernels were compiled for, and nothing else will do."""
    if type(values) is np.ndarray and values.dtype is _FLOAT64 and values.flags.carray:
        return values
    try:
        found = np.asarray(values)
    except ValueError:
        raise BadInput(f"Expected {name} to be an array of numbers, got a ragged {type(values).__name__}.") from None
    if found.dtype.kind not in "fiu":
        raise BadInput(f"Expected {name} to be an array of numbers, got {type(values).__name__} of {found.dtype}.")
    return np.array(found, dtype=np.float64, order="C")


def not_finite(name: str, values: Floats) -> BadInput:
    """The error for numbers that `first_unfit` found: says which and where, and not what."""
    flat = values.ravel()
    at = int(np.flatnonzero(~(np.abs(flat) <= LARGEST))[0])
    what = "NaN" if np.isnan(flat[at]) else "an infinity" if np.isinf(flat[at]) else "a number beyond 1e100"
    return BadInput(f"Expected {name} to be finite numbers, got {what} at position {at}. Nothing was changed.")
