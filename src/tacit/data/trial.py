"""ACTG 175: a trial of four treatments of HIV, drawn by lot for each of its people."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from tacit.data.installed import fingerprint, located, refuse_other_columns
from tacit.data.reading import Raw

NAME = "actg175"
PACKAGE, FILE = "lifelines", "datasets/ACTG175.csv"

#: The arms, by their number.
TREATMENTS = (
    "zidovudine",
    "zidovudine and didanosine",
    "zidovudine and zalcitabine",
    "didanosine",
)

#: What was known of a person before the lot was drawn, and round numbers about what it can be: none is read from rows.
_KNOWN: Mapping[str, tuple[str, float, float]] = {
    "x_age": ("age", 10, 80),  # years
    "x_weight": ("wtkg", 30, 160),  # kg
    "x_karnofsky": ("karnof", 60, 100),  # how well somebody manages a day, 100 is best
    "x_symptoms": ("symptom", 0, 1),
    "x_days_treated": ("preanti", 0, 3000),  # with antiretroviral drugs, before the trial
    "x_treated_lately": ("z30", 0, 1),  # with zidovudine, in the 30 days before
    "x_cd4": ("cd40", 0, 1000),  # cells per mm³
    "x_cd8": ("cd80", 0, 4000),
    "x_male": ("gender", 0, 1),
    "x_nonwhite": ("race", 0, 1),
    "x_hemophilia": ("hemo", 0, 1),
    "x_homosexual": ("homo", 0, 1),
    "x_injected_drugs": ("drugs", 0, 1),
}
_BEFORE, _AFTER = "cd40", "cd420"
#: A change of the count by so many cells per mm³ is the best, or the worst, that a reward can tell.
CHANGE = 200.0


def actg175() -> Raw:
    """The trial, one row per person: `person`, `action`, `reward`, `propensity`, and what was known of them as `x_…`.

    - `action`: which of `TREATMENTS`, 0 to 3. It was drawn by lot, each with the same chance: `propensity` is 1/4.
    - `reward`: the change of the CD4 count (the cells that HIV destroys) from entry to week 20 (± 5), from a loss of
      200 cells per mm³ or more (0) over no change (½) to a gain of 200 or more (1).
    - `x_age`, `x_cd4`, …: 13 facts from before the lot. Bounds are built in, and not read from the rows.

    Why this outcome: the count at week 20 is there for every row. The trial itself compared the time to a loss of half
    the CD4 cells, AIDS or death, and 9 % of the rows are censored within two years: event-free at two years is unknown
    for them, and to drop them would favour a treatment that people leave early. CD4 is a surrogate; it does not say who
    lived longer. Counts after week 20 (`cd496`) are missing for 37 %, and whether treatment was stopped is known only
    afterwards: neither is used.

    2,467 people were randomised (Hammer et al. 1996); the published set has 2,139. The lot was the same for all, but
    who is missing may depend on how it went. When anybody entered is not in the set: rows are in an order that a public
    hash of the ids makes, so that the first half is as good as the second.

    Read from the installed package lifelines (MIT), which has it from speff2trial (GPL-2 or later; Juraska et al.).
    Nothing of it ships with tacit.

    Example:
        ```python
        import tacit

        trial = tacit.read_log("actg175")  # the same as a log, for `tacit.replay` and `tacit.frontier`
        ```
    """
    return _read(located(NAME, PACKAGE, FILE))


@lru_cache(maxsize=1)
def _read(file: Path) -> Raw:
    import pandas as pd

    found = pd.read_csv(file)
    refuse_other_columns(found, file, ["pidnum", "arms", _AFTER, *(name for name, _, _ in _KNOWN.values())])
    places = sorted(range(len(found)), key=[_lot(person) for person in found["pidnum"]].__getitem__)
    found = found.iloc[places].reset_index(drop=True)
    change = (found[_AFTER] - found[_BEFORE]).to_numpy(np.float64)
    frame = pd.DataFrame(
        {
            "person": found["pidnum"],
            "action": found["arms"],
            "reward": np.clip(change / CHANGE, -1, 1) / 2 + 0.5,
            "propensity": 1 / len(TREATMENTS),
            **{name: found[column] for name, (column, _, _) in _KNOWN.items()},
        }
    )
    bounds = {name: (float(low), float(high)) for name, (_, low, high) in _KNOWN.items()}
    return Raw(NAME, frame, fingerprint([file]), bounds, own=False)


def _lot(person: object) -> bytes:
    return hashlib.blake2b(str(person).encode()).digest()
