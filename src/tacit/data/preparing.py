"""From a table to vectors in the unit ball, by steps that are public: each is stated in a sentence.

Scale by *declared* bounds, never by those of the rows: the smallest and the largest value of a column are two people's
data. The same goes for categories and for the projection, which is drawn from a seed of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.data import checking
from tacit.data.categories import one_hot
from tacit.data.reading import Raw
from tacit.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

NOT_PRIVATE = "Computed from raw data: not private, do not publish."


@dataclass(frozen=True)
class Recipe:
    """What shall be made of a table. Everything in here is public."""

    target: str  #: the column of classes; in a table of actions, of rewards
    group: str | None = None  #: a table of actions: the column that says which rows belong to one round
    columns: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    low: float | tuple[float, ...] | None = None
    high: float | tuple[float, ...] | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: bool = True  #: features may be missing: then the middle stands for them, with a column that says so
    projection: int | None = None
    projection_seed: int = 0
    intercept: bool = True


@dataclass(frozen=True)
class Prepared:
    """Rounds to be played: what is shown in each, and what each action pays. Raw data: not in its repr."""

    contexts: Floats = field(repr=False)  #: (rounds, 1, m) one context for all actions, or (rounds, K, m)
    rewards: Floats = field(repr=False)  #: (rounds, K)
    actions: tuple[str, ...]  #: the classes; in a table of actions, their places
    notes: tuple[str, ...]


def prepare(raw: Raw, recipe: Recipe) -> Prepared:
    """Check the table, scale it, and say what was done. Nothing is computed from a table that is refused."""
    frame = raw.frame
    every = _features(raw, recipe)
    checking.refuse_few(len(frame), "rows")
    answers = [recipe.target, *([recipe.group] if recipe.group else [])]
    checking.refuse_missing(frame, answers if recipe.missing else [*every, *answers], choice=not recipe.missing)
    dropped = checking.constant(frame, every) if raw.own else []  # pictures have corners that are always white
    names = [name for name in every if name not in dropped]
    measured = [name for name in names if name not in recipe.categories]
    checking.refuse_words(frame, measured)
    arranged = _by_class(raw, recipe) if recipe.group is None else _by_action(raw, recipe, recipe.group)
    # Bounds are declared for the columns of numbers of the file, whether they vary or not.
    declared = [name for name in every if name not in recipe.categories and checking.numeric(frame[name])]
    vectors, notes = _vectors(raw, recipe, names, _bounds(raw, recipe, declared, measured))
    if dropped:
        notes.insert(0, f"Left out, as the same value stands in every row: {checking.listed(dropped)}.")
    width = vectors.shape[1]
    return Prepared(
        contexts=np.ascontiguousarray(vectors[arranged.rows].reshape(len(arranged.rows), -1, width)),
        rewards=arranged.rewards,
        actions=arranged.actions,
        notes=(
            NOT_PRIVATE,
            arranged.note,
            *notes,
            "Rounds are rows in a fresh order, pass after pass: a row that comes again counts as somebody else. The "
            "unit of privacy is the round, not the row.",
        ),
    )


@dataclass(frozen=True)
class _Arranged:
    """Which rows make a round, and what its actions pay."""

    rows: Ints  # (rounds,) or (rounds, K) places in the table
    rewards: Floats
    actions: tuple[str, ...]
    note: str


def _features(raw: Raw, recipe: Recipe) -> list[str]:
    """The feature columns, in the order of the recipe or else of the table."""
    found = list(raw.frame.columns)
    apart = [recipe.target, *([recipe.group] if recipe.group else [])]
    checking.existing("the target", recipe.target, found)
    for what, names in (
        ("`group`", [recipe.group] if recipe.group else []),
        ("`columns`", recipe.columns or ()),
        ("`ignore`", recipe.ignore),
        ("`categories`", recipe.categories),
    ):
        for name in names:
            checking.existing(what, name, found)
    if len(set(apart)) < len(apart):
        raise BadInput(f"Expected `target` and `group` to be two columns, got {recipe.target!r} for both.")
    names = [name for name in (recipe.columns or found) if name not in recipe.ignore]
    if recipe.columns is not None:
        for name in apart:
            if name in names:
                raise BadInput(
                    f"Expected features in `columns`, got {name!r} among them, which is not known before the choice. "
                    "Leave it out."
                )
    names = [name for name in names if name not in apart]
    unused = [name for name in recipe.categories if name not in names]
    if unused:
        raise BadInput(
            f"Expected `categories` of feature columns, got {checking.listed(unused)}, which "
            f"{'is' if len(unused) == 1 else 'are'} not among the features. Leave them out."
        )
    if not names:
        raise BadInput("Expected at least one feature column, got none. Name some in `columns`, or ignore fewer.")
    return names


def _by_class(raw: Raw, recipe: Recipe) -> _Arranged:
    """Every row is a round; the actions are the classes."""
    places, labels = _told_apart(raw.frame, recipe.target, sort=True)
    rows, classes = len(places), len(labels)
    if classes < 2:
        raise BadInput(
            f"Expected at least two classes in column {recipe.target!r}, got one in all {rows:,} rows: there is "
            "nothing to choose. Take another target."
        )
    if classes > min(rows // 2, checking.MOST_CLASSES):
        raise BadInput(
            f"Expected column {recipe.target!r} to hold classes, at most {checking.MOST_CLASSES} and on average two "
            f"rows of each, got {classes:,} different values in {rows:,} rows. Cut a measured quantity into a few "
            "classes at points that you declare, or take another target."
        )
    rewards = np.zeros((rows, classes))
    rewards[np.arange(rows), places] = 1.0
    return _Arranged(
        rows=np.arange(rows),
        rewards=rewards,
        actions=tuple(str(label) for label in labels),
        note=f"{rows:,} rows of {raw.name}; an action is one of the {classes} classes in {recipe.target!r}, and pays 1 "
        "if it is the row's own, else 0.",
    )


def _by_action(raw: Raw, recipe: Recipe, group: str) -> _Arranged:
    """Every group of rows is a round; each of its rows is an action, which pays what the row says."""
    frame = raw.frame
    checking.refuse_words(frame, [recipe.target])
    pays = _numbers(frame, recipe.target)
    beyond = int((np.abs(pays) > 1).sum())
    if beyond:
        raise BadInput(
            f"Expected rewards from -1 to 1 in column {recipe.target!r}, got {beyond:,} beyond (of {len(pays):,} "
            "rows). Rescale them by bounds that you declare."
        )
    places, labels = _told_apart(frame, group)
    sizes = np.bincount(places)
    arms = int(np.bincount(sizes).argmax())  # the most common number of rows
    odd = int((sizes != arms).sum())
    if odd:
        raise BadInput(
            f"Expected every group of column {group!r} to have the same number of rows, got groups of "
            f"{sizes.min()} to {sizes.max()}: {len(sizes) - odd:,} of {arms}, and {odd:,} of another number. Drop or "
            "complete those."
        )
    if arms < 2:
        raise BadInput(
            f"Expected at least two rows (actions) in every group of column {group!r}, got one: there is nothing to "
            "choose."
        )
    checking.refuse_few(len(labels), "groups")
    rows = np.argsort(places, kind="stable").reshape(-1, arms)
    return _Arranged(
        rows=rows,
        rewards=np.ascontiguousarray(pays[rows]),
        actions=tuple(str(place) for place in range(arms)),
        note=f"{len(rows):,} groups of {arms} rows of {raw.name}; an action is a row of the group, and pays what "
        f"{recipe.target!r} says.",
    )


def _vectors(
    raw: Raw, recipe: Recipe, names: list[str], bounds: tuple[dict[str, float], dict[str, float]]
) -> tuple[Floats, list[str]]:
    """One vector of norm at most 1 per row, and what was done to get it."""
    frame, notes, (lows, highs) = raw.frame, [], bounds
    blocks, outside, holes = [], np.zeros(len(frame), bool), []
    for name in names:
        absent = frame[name].isna().to_numpy()
        if name in recipe.categories:
            block = np.zeros((len(frame), len(recipe.categories[name])))
            block[~absent] = one_hot(frame[~absent], name, recipe.categories[name])
        else:
            low, high, values = lows[name], highs[name], _numbers(frame, name)
            outside |= (values < low) | (values > high)
            # Halved first: the span of two huge bounds may be beyond what a float can hold.
            centre, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
            block = np.where(absent, 0.0, (np.clip(values, low, high) - centre) / half)[:, None]
        if absent.any():
            holes.append(name)
            block = np.hstack([block, absent[:, None]])  # where this is 1 the others are 0: no row gets longer
        blocks.append(block)
    # Every column brings at most 1: so divided, the whole is in the unit ball.
    vectors: Floats = np.hstack(blocks) / math.sqrt(len(names))
    if holes:
        count = int(frame[holes].isna().any(axis=1).sum())
        notes.append(
            f"Missing values ({count:,} of {len(frame):,} rows have one): 0 stands for them, which is the middle of a "
            f"column's bounds, and a column of 0 and 1 says where, for {checking.listed(holes)}."
        )
    if lows:
        notes.append(
            f"Numbers are scaled by {'declared' if raw.own or recipe.low is not None else 'built-in'} bounds "
            "to the unit ball, not by the rows."
        )
        clipped = int(outside.sum())
        notes.append(
            f"{clipped:,} of {len(frame):,} rows held a value outside the bounds, and were clipped."
            if clipped
            else "No row held a value outside the bounds."
        )
    words = [name for name in names if name in recipe.categories]
    if words:
        notes.append(f"Declared categories became columns of 0 and 1: {checking.listed(words)}.")
    width, wanted = vectors.shape[1], recipe.projection
    if wanted is not None and wanted < width:
        vectors, shortened = _project(vectors, wanted, recipe.projection_seed)
        notes.append(
            f"{width} columns were projected to {wanted} by a public Gaussian matrix (seed {recipe.projection_seed}); "
            f"{shortened:,} of {len(frame):,} vectors came out longer than 1 and were shortened to it."
        )
    if recipe.intercept:
        vectors = np.hstack([vectors, np.ones((len(vectors), 1))]) / math.sqrt(2)
        notes.append("A constant coordinate was added, so that mean rewards can be linear in the features.")
    return vectors, notes


def _bounds(
    raw: Raw, recipe: Recipe, measured: list[str], used: list[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """What each measured column can be, as declared or built in; checked where it is used."""
    found = []
    for place, (what, given) in enumerate((("low", recipe.low), ("high", recipe.high))):
        if given is None:
            if any(name not in raw.bounds for name in used):
                raise BadInput(
                    f"Expected `{what}`, a bound that you declare for the columns {checking.listed(measured)}, got "
                    "none. Say what can occur: one number for all, or one for each in this order. A bound read "
                    "from the rows would tell on whoever holds it."
                )
            found.append({name: raw.bounds[name][place] for name in used})
        elif isinstance(given, tuple):
            if len(given) != len(measured):
                raise BadInput(
                    f"Expected one number in `{what}` for each of the {len(measured)} columns of numbers "
                    f"({checking.listed(measured)}), got {len(given)}."
                )
            found.append(dict(zip(measured, given, strict=True)))
        else:
            found.append(dict.fromkeys(measured, given))
    lows, highs = ({name: values[name] for name in used} for values in found)
    for name in used:
        if lows[name] >= highs[name]:
            raise BadInput(
                f"Expected low < high for column {name!r}, got low={lows[name]!r}, high={highs[name]!r}. "
                "Is it the wrong way round?"
            )
    return lows, highs


def _numbers(frame: pd.DataFrame, name: str) -> Floats:
    """The column, with NaN for what is missing and nothing else that is not finite."""
    values: Floats = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    checking.refuse_infinite(name, values[~frame[name].isna().to_numpy()])
    return values


def _told_apart(frame: pd.DataFrame, name: str, *, sort: bool = False) -> tuple[Ints, list[Any]]:
    """For each row the place of its value among the different ones, and these."""
    try:
        places, values = frame[name].factorize(sort=sort)
    except TypeError:  # lists and the like
        raise BadInput(
            f"Expected single values in column {name!r}, got {frame[name].dtype} that cannot be told apart. Make one "
            "number or word of each."
        ) from None
    return places.astype(np.int64), list(values)


def _project(vectors: Floats, wanted: int, seed: int) -> tuple[Floats, int]:
    """Independent N(0, 1/k) entries keep lengths on average (Johnson and Lindenstrauss 1984); what is longer than 1
    afterwards is shortened, and counted."""
    matrix = np.random.default_rng(seed).standard_normal((vectors.shape[1], wanted)) / math.sqrt(wanted)
    image = vectors @ matrix
    lengths = np.sqrt((image * image).sum(axis=1))
    inside: Floats = image / np.maximum(lengths, 1.0)[:, None]
    return inside, int((lengths > 1).sum())
