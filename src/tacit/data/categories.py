"""Words as numbers: one column of 0 and 1 for each value that was declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._types import Floats
from tacit.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

#: Stands for every value that was not declared.
REST = "*"
_FORM = "'column=value|value'"


def read_categories(given: Any) -> tuple[str, ...]:
    """Declared categories in one form, ("colour=red|green|*", …), from that, from one text with `;` between columns,
    or from a mapping of columns to values."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        given = [f"{name}={'|'.join(map(str, values))}" for name, values in given.items()]
    parts = given.split(";") if isinstance(given, str) else list(given)
    written = tuple(part.strip() if isinstance(part, str) else part for part in parts)
    declared: dict[str, tuple[str, ...]] = {}
    for part in written:
        name, values = _split(part)
        if name in declared:
            raise BadInput(f"Expected each column once in `categories`, got {name!r} again. Join them into one.")
        declared[name] = values
    return written


def as_mapping(written: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Columns and their declared values."""
    return dict(_split(part) for part in written)


def _split(part: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(part, str) or "=" not in part:
        raise BadInput(f"Expected `categories` to be texts like {_FORM}, got {part!r}.")
    # The last sign: a column may have one in its name, a value seldom does.
    name, _, text = part.rpartition("=")
    values = tuple(value.strip() for value in text.split("|"))
    if len(set(values)) < max(2, len(values)) or not all(values):
        raise BadInput(f"Expected two or more different values in `categories` like {_FORM}, got {part!r}.")
    return name.strip(), values


def one_hot(frame: pd.DataFrame, name: str, values: tuple[str, ...]) -> Floats:
    """Shape (rows, values): a 1 in the place of the row's own value. `*` takes the rows that hold no other."""
    words = np.array([_word(cell) for cell in frame[name].tolist()], dtype=object)
    block = np.stack([words == value for value in values], axis=1).astype(np.float64)
    undeclared = block.sum(axis=1) == 0
    if REST in values:
        block[undeclared, values.index(REST)] = 1.0
    elif undeclared.any():
        raise BadInput(
            f"Expected only the {len(values)} declared categories in column {name!r}, got others in "
            f"{int(undeclared.sum()):,} of {len(frame):,} rows. Declare them too, or add {REST!r}, which stands for "
            "all others."
        )
    return block


def _word(cell: Any) -> str:
    """A cell as one would write it: a whole number has no decimal point, whatever type the column was read as."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
