"""What a table must be before anything is computed from it.

Messages name columns and count rows. They never show a cell: it may be somebody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tacit._types import Floats
from tacit._validate import known
from tacit.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

#: Fewer rows are played through so often that a policy learns them by heart.
LEAST_ROWS = 10
#: Nothing here is made for more; and what has more is seldom a class.
MOST_CLASSES = 500
#: So many names are listed in a message, at most.
_LISTED = 8


def listed(names: Sequence[str]) -> str:
    """Names for a message: the first few, and how many more."""
    shown = ", ".join(map(repr, names[:_LISTED]))
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown


def existing(what: str, name: str, names: Iterable[str]) -> str:
    """The name, if there is such a column; else an error that offers the nearest ones."""
    columns = list(names)
    return known(f"column for {what}", name, columns, see=f"The table's columns: {listed(columns)}.")


def refuse_few(count: int, what: str) -> None:
    """`what`: rows, or groups of rows."""
    if count < LEAST_ROWS:
        raise BadInput(f"Expected at least {LEAST_ROWS} {what}, got {count}. Give a longer table.")


def refuse_missing(frame: pd.DataFrame, names: Sequence[str], *, choice: bool) -> None:
    """A row without an answer is no round; features may be missing, if the user so chooses."""
    holes = {name: int(frame[name].isna().sum()) for name in names}
    found = [f"{count:,} missing in {name!r}" for name, count in holes.items() if count]
    if found:
        more = f" and in {len(found) - _LISTED} more columns" if len(found) > _LISTED else ""
        raise BadInput(
            f"Expected a value in every row of the columns in use, got {', '.join(found[:_LISTED])}{more} (of "
            f"{len(frame):,} rows). "
            + (
                "Say missing=True, fill or drop those rows, or leave feature columns out with `ignore`."
                if choice
                else "A row without an answer is no round: fill or drop those rows."
            )
        )


def refuse_words(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Features are numbers, unless their categories were declared."""
    words = [name for name in names if not numeric(frame[name])]
    if words:
        raise BadInput(
            f"Expected numbers in the feature columns, got other things (strings, dates) in {listed(words)}. Declare "
            f"the values they can have, as in categories=({words[0] + '=first|second'!r},), which makes one column of "
            "0 and 1 for each; or leave them out with `ignore`. A missing number is an empty cell."
        )


def refuse_infinite(name: str, values: Floats) -> None:
    beyond = int((~np.isfinite(values)).sum())
    if beyond:
        raise BadInput(
            f"Expected finite numbers in column {name!r}, got {beyond:,} that are not (of {len(values):,} rows). "
            "Replace them, or drop those rows."
        )


def constant(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The columns that are the same for everybody: they tell nothing, and each feature costs noise."""
    same = [name for name in names if _same_everywhere(frame[name])]
    if len(same) == len(names):
        raise BadInput(
            f"Expected a feature that varies, got the same value in all {len(frame):,} rows of {listed(same)}. Name "
            "other columns."
        )
    return same


def _same_everywhere(column: pd.Series) -> bool:
    try:
        return int(column.nunique(dropna=False)) < 2
    except TypeError:  # lists and the like: refused later, as words
        return False


def numeric(column: pd.Series) -> bool:
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_complex_dtype(column)
