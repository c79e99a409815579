"""From the columns of a file to vectors in the unit ball, by rules that were there before the data.

What a policy is to do in production must not depend on the log it is tried on: bounds are declared, and words become
features by a public hash and not by a list of the words that happened to occur.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tacit._types import Floats
from tacit._validate import real, whole
from tacit.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

#: One number for all columns, or one for each by name.
Bound = float | Mapping[str, float] | None


def contexts_of(
    frame: pd.DataFrame, names: Sequence[str], *, low: Bound, high: Bound, buckets: int | None
) -> tuple[Floats, tuple[str, ...]]:
    """The features of each row in the unit ball, with a constant last; and what was done to them, in sentences.

    A number goes from [low, high] to [−1, 1], clipped. A word becomes one of `buckets` indicators, by the checksum of
    column and word (CRC-32; feature hashing: Weinberger et al. 2009). With m columns and the constant all is divided by
    √(m + 1), so that no vector is longer than 1.
    """
    import pandas as pd

    parts: list[Floats] = []
    clipped = words = 0
    for name in names:
        column = frame[name]
        if pd.api.types.is_bool_dtype(column):
            parts.append(2.0 * column.to_numpy(np.float64)[:, None] - 1.0)
        elif pd.api.types.is_numeric_dtype(column):
            part, beyond = _placed(
                name, column.to_numpy(np.float64), _bound("low", low, name), _bound("high", high, name)
            )
            parts.append(part)
            clipped += beyond
        else:
            if buckets is None:
                raise BadInput(
                    f"Expected numbers in column {name!r}, got words. Say buckets=16 to make indicators of them by a "
                    "public hash, or leave the column out: features=…."
                )
            parts.append(_hashed(name, column, whole("buckets", buckets, low=2)))
            words += 1
    joined = np.concatenate([*parts, np.ones((len(frame), 1))], axis=1) / math.sqrt(len(names) + 1)
    said = []
    if clipped:
        said.append(f"{clipped:,} feature values lay outside the declared bounds and were clipped to them.")
    if words:
        said.append(f"The words of {words} columns became {buckets} indicators each, by a public hash.")
    return joined, tuple(said)


def item_features(frame: pd.DataFrame, names: Sequence[str]) -> Floats:
    """The features of each item in the unit ball, with a constant last.

    A catalogue of items is public, so here bounds and words may be read from the file. A column with one value for all
    items says nothing, and is left out.
    """
    import pandas as pd

    parts: list[Floats] = []
    for name in names:
        column = frame[name]
        if column.nunique() < 2:
            continue
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(np.float64)
            _refuse_infinite(name, values)
            parts.append(_placed(name, values, float(values.min()), float(values.max()))[0])
        else:
            codes, found = pd.factorize(column, sort=True)
            parts.append(np.eye(len(found))[codes])
    return np.concatenate([*parts, np.ones((len(frame), 1))], axis=1) / math.sqrt(len(parts) + 1)


def _placed(name: str, values: Floats, low: float, high: float) -> tuple[Floats, int]:
    """Values on [−1, 1], and how many were clipped on the way."""
    if not low < high:
        raise BadInput(f"Expected low < high for column {name!r}, got low={low!r} and high={high!r}.")
    _refuse_infinite(name, values)
    beyond = int(np.count_nonzero((values < low) | (values > high)))
    return (2 * ((np.clip(values, low, high) - low) / (high - low)) - 1)[:, None], beyond


def _refuse_infinite(name: str, values: Floats) -> None:
    wrong = int(np.count_nonzero(~np.isfinite(values)))
    if wrong:
        raise BadInput(f"Expected finite numbers in column {name!r}, got {wrong:,} of {len(values):,} that are not.")


def _hashed(name: str, column: pd.Series, buckets: int) -> Floats:
    import pandas as pd

    codes, found = pd.factorize(column)
    places = np.array([zlib.crc32(f"{name}={word}".encode()) % buckets for word in found], np.int64)
    return np.eye(buckets)[places[codes]]


def _bound(which: str, bound: Bound, name: str) -> float:
    value = bound.get(name) if isinstance(bound, Mapping) else bound
    if value is None:
        raise BadInput(
            f"Expected a declared {which} bound for column {name!r}, got none. Give low=… and high=…, one number for "
            "all columns or one for each by name: what a value can be, known before the data and not read from it."
        )
    return real(which, value)
