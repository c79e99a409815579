"""A log from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.data import Raw, actg175
from tacit.data.trial import NAME as ACTG175
from tacit.data.trial import TREATMENTS
from tacit.errors import BadInput
from tacit.replaying.columns import ITEM, ITEM_FEATURES, Columns, recognise
from tacit.replaying.encoding import Bound, contexts_of, item_features
from tacit.replaying.log import Log

if TYPE_CHECKING:
    import pandas as pd


def read_log(
    path: str | Path,
    *,
    action: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    features: Sequence[str] | None = None,
    low: Bound = None,
    high: Bound = None,
    buckets: int | None = None,
    arms: int | None = None,
    items: str | Path | None = None,
    model: str | None = None,
    position: int | None = None,
    person: str | None = None,
) -> Log:
    """A log from a CSV or Parquet file, one row per round in the order of time; or the trial "actg175".

    Columns are named by `action`, `reward`, `propensity` (or propensity="uniform") and `features`; those left out are
    recognised by their names, plain ones and those of the Open Bandit Dataset. Numbers among the features need declared
    bounds `low` and `high`, words need `buckets`.

    `arms` says how many actions there are, if some may be missing in the log. `items` is a second file, with item_id
    and item_feature_*: what is publicly known of the actions. `model` says how context and action come together:
    "per-arm" (a parameter vector for each; the default), "shared" (the default with item features) or "hybrid".
    `position` keeps the rows of one position on the page, where the log has several. `person` is the column that says
    who it was: a policy with `person_rounds` learns no more rows of a person than that.

    `read_log("actg175")` is a trial with known propensities, from the installed package lifelines: see
    `tacit.data.actg175`. Its bounds are built in, and it has four actions; `features=()` leaves out what was known of
    people.
    """
    named = actg175() if str(path) == ACTG175 else None
    frame = _table(path) if named is None else named.frame
    if named is not None:
        low, high = _declared(low, named, 0), _declared(high, named, 1)
        arms = len(TREATMENTS) if arms is None else arms
    columns = recognise(
        list(frame.columns),
        action=action,
        reward=reward,
        propensity=propensity,
        features=features,
        person=person,
    )
    notes: list[str] = []
    frame = _at_position(frame, columns, position, notes)
    _refuse_missing(frame, [columns.action, columns.reward, columns.propensity, columns.person, *columns.features])
    if len(frame) == 0:
        raise BadInput("Expected a log with at least one row, got none.")
    known, catalogue = _items(items)
    taken, count = _numbered(frame[columns.action], columns.action, arms, catalogue, notes)
    contexts, said = contexts_of(frame, columns.features, low=low, high=high, buckets=buckets)
    if not columns.features:
        notes.append("The log has no features: every round looks the same to a policy.")
    if columns.propensity is None:
        propensities = np.full(len(frame), 1.0 / count)
    else:
        propensities = _numbers(frame, columns.propensity)
    chosen = model if model is not None else "per-arm" if known is None else "shared"
    return Log(
        actions=taken,
        rewards=_numbers(frame, columns.reward),
        propensities=propensities,
        contexts=contexts,
        arms=count,
        arm_features=None if chosen == "per-arm" else known,
        model=chosen,
        persons=None if columns.person is None else _told_apart(frame[columns.person]),
        notes=(*notes, *said),
    )


def _declared(given: Bound, named: Raw, place: int) -> Bound:
    """The built-in bounds of a set known by name, where no others are declared."""
    built_in = {name: bounds[place] for name, bounds in named.bounds.items()}
    if given is None or isinstance(given, Mapping):
        return {**built_in, **(given or {})}
    return given


def _told_apart(column: pd.Series) -> Ints:
    """Persons by number, in the order in which they first came: ids are not kept."""
    import pandas as pd

    return pd.factorize(column)[0].astype(np.int64)


def _table(path: str | Path) -> pd.DataFrame:
    import pandas as pd

    source = Path(path)
    if source.suffix not in (".csv", ".parquet"):
        raise BadInput(f"Expected a file ending in .csv or .parquet, got {source.name!r}.")
    if not source.is_file():
        raise BadInput(f"Expected the file of a log, got {str(source)!r}, which is not there.")
    try:
        frame = pd.read_csv(source) if source.suffix == ".csv" else pd.read_parquet(source)
    except (ValueError, OSError) as problem:
        frame, kind = None, type(problem).__name__
    if frame is None:
        # Not where it is caught: what pandas and pyarrow say may quote a cell, and would hang on to this one.
        raise BadInput(
            f"Expected {source.name!r} to be a table in {source.suffix[1:].upper()}, got something else ({kind})."
        )
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _at_position(frame: pd.DataFrame, columns: Columns, position: int | None, notes: list[str]) -> pd.DataFrame:
    if position is None:
        count = 0 if columns.position is None else len(frame[columns.position].unique())
        if count > 1:
            notes.append(
                f"Rows of {count} positions are pooled, each as a round of its own. position=… keeps those of one."
            )
        return frame
    if columns.position is None:
        raise BadInput(f"Expected a column named position with position={position!r}, got none in this log.")
    kept = frame[frame[columns.position] == position]
    if len(kept) == 0:
        raise BadInput(f"Expected rows at position={position!r}, got none of {len(frame):,}.")
    return kept


def _refuse_missing(frame: pd.DataFrame, names: Sequence[str | None]) -> None:
    for name in names:
        if name is not None and (missing := int(frame[name].isna().sum())):
            raise BadInput(
                f"Expected a value in every row of column {name!r}, got {missing:,} of {len(frame):,} rows without. "
                "Fill them by a rule that does not look at other rows, or leave these rows out."
            )


def _numbers(frame: pd.DataFrame, name: str) -> Floats:
    import pandas as pd

    column = frame[name]
    if not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
        raise BadInput(f"Expected numbers in column {name!r}, got {column.dtype}.")
    return column.to_numpy(np.float64)


def _items(path: str | Path | None) -> tuple[Floats | None, list[Any] | None]:
    """Features of the items, and their names in the same order."""
    if path is None:
        return None, None
    frame = _table(path)
    if ITEM not in frame.columns:
        raise BadInput(f"Expected a column {ITEM!r} in the file of items, got none.")
    names = [str(name) for name in frame.columns if str(name).startswith(ITEM_FEATURES)]
    if not names:
        raise BadInput(f"Expected columns {ITEM_FEATURES}0, {ITEM_FEATURES}1, … in the file of items, got none.")
    _refuse_missing(frame, [ITEM, *names])
    twice = int(frame[ITEM].duplicated().sum())
    if twice:
        raise BadInput(f"Expected one row per item, got {twice:,} items that are there before.")
    ordered = frame.sort_values(ITEM)
    return item_features(ordered, names), ordered[ITEM].tolist()


def _numbered(
    column: pd.Series, name: str, arms: int | None, catalogue: list[Any] | None, notes: list[str]
) -> tuple[Ints, int]:
    """The actions as numbers from 0, and how many there are."""
    import pandas as pd

    if catalogue is not None:
        places = pd.Index(catalogue).get_indexer(pd.Index(column))
        strangers = int(np.count_nonzero(places < 0))
        if strangers:
            raise BadInput(
                f"Expected every action of column {name!r} in the file of items, got {strangers:,} of {len(column):,} "
                "rows with another."
            )
        if arms is not None and arms != len(catalogue):
            raise BadInput(f"Expected arms={len(catalogue)}, as many as there are items, got arms={arms!r}.")
        return places.astype(np.int64), len(catalogue)
    whole_numbers = _whole_numbers(column)
    if whole_numbers is not None and (arms is not None or _dense(whole_numbers)):
        taken, count = whole_numbers, int(whole_numbers.max()) + 1 if arms is None else whole("arms", arms, low=2)
        wrong = int(np.count_nonzero((taken < 0) | (taken >= count)))
        if wrong:
            raise BadInput(
                f"Expected actions from 0 to {count - 1} in column {name!r}, got {wrong:,} of {len(taken):,} rows with "
                "another."
            )
    else:
        codes, found = pd.factorize(column, sort=True)
        if arms is not None and arms < len(found):
            raise BadInput(f"Expected at most arms={arms} different actions in {name!r}, got {len(found):,}.")
        taken, count = codes.astype(np.int64), len(found) if arms is None else whole("arms", arms, low=2)
    if arms is None:
        notes.append(f"That there are {count} actions was read from the log. Say arms=… if there are more.")
    return taken, count


def _whole_numbers(column: pd.Series) -> Ints | None:
    """The column as whole numbers, if that is what it holds."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        return None
    values = column.to_numpy(np.float64)
    return values.astype(np.int64) if np.all(values == np.floor(values)) else None


def _dense(numbers: Ints) -> bool:
    """Whether these are places in a list, and not the numbers of articles in a shop."""
    return int(numbers.min()) >= 0 and int(numbers.max()) < 2 * len(np.unique(numbers)) + 10
