"""Arrays as callers give them, and as the rest of the package wants them. Messages never show a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit._types import Floats
from tacit.errors import BadInput


def numbers(name: str, values: Any, *, hint: str = "", kinds: str = "fiu") -> Floats:
    """A copy as float64, C-contiguous; refused if it is ragged, masked or holds anything but real numbers."""
    tail, kind = f" {hint}" if hint else "", type(values).__name__
    if _masked(values):
        raise BadInput(
            f"Expected {name} without a mask, got {kind} with masked entries: a mask says a value is missing."
        )
    try:
        found = np.asarray(values)
    except ValueError:
        found = None
    if found is None:  # not where it is caught: another library's words would hang on to this error
        raise BadInput(f"Expected {name} to be an array of numbers, got a ragged {kind}.")
    if found.dtype.kind not in kinds:
        # Its type and not its dtype: that of texts says how long the longest is.
        of = found.dtype.type.__name__
        raise BadInput(f"Expected {name} to be an array of numbers, got {kind} of {of}.{tail}")
    return np.array(found, dtype=np.float64, order="C")


def finite(name: str, values: Any, *, limit: float = math.inf, hint: str = "") -> Floats:
    """`numbers` that are all finite, and within `limit` of zero."""
    found = numbers(name, values, hint=hint)
    flat = found.ravel()
    wrong = np.flatnonzero(~(np.isfinite(flat) & (np.abs(flat) <= limit)))
    if wrong.size:
        raise not_finite(name, float(flat[wrong[0]]), int(wrong[0]), limit)
    return found


def not_finite(name: str, value: float, at: int, limit: float) -> BadInput:
    """The error for a number that is NaN, infinite or beyond the limit: says which and where, and not what."""
    what = "NaN" if math.isnan(value) else "an infinity" if math.isinf(value) else f"a number beyond {_short(limit)}"
    return BadInput(f"Expected {name} to be finite numbers, got {what} at position {at}. Nothing was changed.")


def each(function: Callable[[float], float], values: Any) -> Floats:
    """A function of the C library at every element: NumPy's own have other last bits where a processor has AVX-512,
    and one last bit is enough for two runs of one seed to part."""
    found = np.asarray(values, dtype=np.float64)
    return np.array([function(value) for value in found.ravel().tolist()]).reshape(found.shape)


def logarithm(value: float) -> float:
    """ln, with ln 0 = −∞."""
    return math.log(value) if value else -math.inf


def _masked(values: Any) -> bool:
    """Whether a value in there is masked: NumPy would read what stands under the mask."""
    if isinstance(values, list | tuple):
        return any(map(_masked, values))
    return isinstance(values, np.ma.MaskedArray) and bool(np.ma.is_masked(values))


def _short(limit: float) -> str:
    return f"{limit:g}".replace("e+", "e")
