"""Small tables with known contents."""

from __future__ import annotations

import numpy as np
import pandas as pd

ROWS = 40


def labelled(rows: int = ROWS, seed: int = 1) -> pd.DataFrame:
    """Two columns of numbers from 0 to 10, one of words, and a class."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.uniform(0, 10, rows),
            "height": rng.uniform(0, 10, rows),
            "colour": np.array(["red", "green", "blue"])[np.arange(rows) % 3],
            "bought": np.array(["tea", "milk"])[np.arange(rows) % 2],
        }
    )


def offers(groups: int = 12, arms: int = 3, seed: int = 2) -> pd.DataFrame:
    """A long table: groups of offers with two features; the first of each group is the one that pays."""
    rng = np.random.default_rng(seed)
    size = groups * arms
    return pd.DataFrame(
        {
            "visit": np.repeat([f"v{number}" for number in range(groups)], arms),
            "price": rng.uniform(0, 1, size),
            "age": rng.uniform(0, 1, size),
            "click": np.tile([1.0] + [0.0] * (arms - 1), groups),
        }
    )


def raw_of(frame: pd.DataFrame, **facts):
    """The table as if it had been read from somebody's file."""
    from tacit.data import Raw

    return Raw("people.csv", frame, "0" * 64, **facts)
