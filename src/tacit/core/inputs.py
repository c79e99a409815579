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
