"""A table of real data as a world: choose the class of a row, or one of the rows of a group."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import flag, one_of, real, whole
from tacit.core.settings import option
from tacit.core.slate import Slate, slate
from tacit.core.verbs import draw_context, pay, show
from tacit.data import Prepared, Raw, Recipe, load, prepare
from tacit.data.categories import as_mapping, read_categories
from tacit.environments._blocks import lay_out
from tacit.environments._directions import MOST_FEATURES
from tacit.environments.environment import Environment, World
from tacit.errors import BadInput
from tacit.noise import Source, fill_uniforms

_MODELS = ("disjoint", "actions")


class TableParams(NamedTuple):
    """The rounds of a table, which all trials share, and the order in which one trial plays them."""

    contexts: Floats  # (n, 1, m) one context for all actions, or (n, K, m) one for each; never written to
    rewards: Floats  # (n, K) never written to
    order: Ints  # (n,) the rounds of this pass
    played: Ints  # (1,) how many of them have been played
    luck: Floats  # (n,) scratch
    context: Floats  # (m,) scratch: the context of the round, where there is one for all actions


@dataclass(frozen=True, kw_only=True)
class Table(Environment):
    """Rows of a CSV or Parquet file, or of a data set known by name, as rounds of a bandit.

    `model="disjoint"`: an action is a class of the column `target`; it pays 1 if it is the row's own, else 0. With z
    the row's features, action k is the vector of K blocks that is z in block k and zero elsewhere, so each class has a
    parameter of its own. `model="actions"`: a round is the rows that have one value in the column `group`, an action is
    one of them with its own features, and it pays what the column `target` says, from −1 to 1. They share a parameter.

    Features come into the unit ball by public steps, which `notes` states: declared bounds, declared categories, a
    constant coordinate, and if asked for a random projection that does not depend on the rows. Columns that are the
    same in every row are left out, and a missing feature is 0, with a column that says where. Rounds are the rows in an
    order drawn by the trial, pass after pass; a row that comes again counts as somebody else: the unit is the round and
    not the row.

    There need be no θ* for which rewards are linear (`World.theta` is zero). Regret is counted against the right answer
    of every round, and no policy need reach 0. Nothing computed here is private: it is computed from raw data.
    """

    slug: ClassVar[str] = "table"
    raw: ClassVar[bool] = True  #: what is computed here is computed from people's data
    summary: ClassVar[str] = "rows of a CSV or Parquet file, or of a set known by name: choose the class, or the row"

    data: str = option("path of a CSV or Parquet file, or one of digits, breast_cancer, iris, wine", "digits")
    target: str = option('column of the classes; with model="actions", of the rewards', "target")
    model: str = option('"disjoint": choose the class of a row; "actions": choose a row of a group', "disjoint")
    group: str | None = option('with model="actions": column that says which rows are one round', None)
    columns: tuple[str, ...] | str | None = option("feature columns (default: all others)", None)
    ignore: tuple[str, ...] | str | None = option("columns to leave out", None)
    low: tuple[float, ...] | float | None = option(
        "declared lower bound: one for all columns of numbers, or each", None
    )
    high: tuple[float, ...] | float | None = option(
        "declared upper bound: one for all columns of numbers, or each", None
    )
    categories: tuple[str, ...] | str | None = option(
        'declared values of columns of words: "colour=red|green|*"; * stands for all others', None
    )
    missing: bool = option("features may be missing: 0 stands for them, and a column of 0 and 1 says where", True)
    projection: int | None = option("project to so many columns at random where there are more (default: never)", None)
    projection_seed: int = option("seed of the projection, which is public", 0)
    intercept: bool = option("add a constant coordinate", True)

    def __post_init__(self) -> None:
        settle = object.__setattr__
        if not isinstance(self.data, str | os.PathLike):
            raise BadInput(f"Expected data to be a path or a name, got {type(self.data).__name__}. Save it as Parquet.")
        settle(self, "data", os.fspath(self.data))
        _text("target", self.target)
        one_of("model", self.model, _MODELS)
        if (self.group is not None) != (self.model == "actions"):
            raise BadInput(
                f'Expected group with model="actions", and only then, got model={self.model!r}, group={self.group!r}. '
                "It is the column that says which rows are one round."
            )
        if self.group is not None:
            _text("group", self.group)
        for name in ("columns", "ignore"):
            settle(self, name, _names(name, getattr(self, name)))
        for name in ("low", "high"):
            settle(self, name, _bound(name, getattr(self, name)))
        settle(self, "categories", read_categories(self.categories) or None)
        if self.projection is not None:
            whole("projection", self.projection, hint="None keeps all columns.")
        whole("projection_seed", self.projection_seed, low=0)
        flag("intercept", self.intercept)
        flag("missing", self.missing)
        if self.features > MOST_FEATURES:
            raise BadInput(
                f"Expected at most {MOST_FEATURES} features, got {self.features:,} ({self.count} actions, "
                f"{self._prepared.contexts.shape[2]} columns). Project to fewer with `projection`, or leave some out."
            )

    @cached_property
    def _raw(self) -> Raw:
        return load(self.data)

    @cached_property
    def _prepared(self) -> Prepared:
        return prepare(self._raw, self._recipe)

    @property
    def _recipe(self) -> Recipe:
        return Recipe(
            target=self.target,
            group=self.group,
            columns=_settled(self.columns),
            ignore=_settled(self.ignore) or (),
            low=self.low,
            high=self.high,
            categories=as_mapping(_settled(self.categories) or ()),
            missing=self.missing,
            projection=self.projection,
            projection_seed=self.projection_seed,
            intercept=self.intercept,
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the data: who resumes a run or repeats it elsewhere learns of a file that has changed."""
        return self._raw.fingerprint

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table, and what follows for privacy, in sentences."""
        return self._prepared.notes

    @property
    def actions(self) -> tuple[str, ...]:
        """The classes in order; with `model="actions"`, places."""
        return self._prepared.actions

    @property
    def rows(self) -> int:
        """How many different rounds there are: rows, or groups of rows."""
        return len(self._prepared.rewards)

    @property
    def count(self) -> int:
        """K: how many actions there are in a round."""
        return len(self._prepared.actions)

    @property
    def features(self) -> int:
        width: int = self._prepared.contexts.shape[2]
        return width if self.model == "actions" else self.count * width

    @property
    def by_context(self) -> Table:
        return replace(self, intercept=False) if self.intercept and self.model == "disjoint" else self

    @property
    def context_shape(self) -> tuple[int, int] | None:
        return (self.count, self._prepared.contexts.shape[2]) if self.model == "disjoint" else None

    @property
    def exact_single(self) -> tuple[int, float, str] | None:
        if self.model != "disjoint":
            return None
        rewards = self._prepared.rewards
        means = rewards.mean(axis=0)
        arm = int(means.argmax())
        return (
            arm,
            float(rewards.max(axis=1).mean() - means[arm]),
            f"The best single action is always {self.actions[arm]!r}: right in {means[arm]:.3g} of the rows (exact).",
        )

    @property
    def bounds(self) -> dict[str, Any]:
        """What a policy may declare: no action is longer than 1, no reward beyond these. Where all actions share a
        parameter, the constant coordinate is the last feature, and public."""
        constants = (1 / math.sqrt(2),) if self.intercept and self.model == "actions" else ()
        low = -1.0 if self.model == "actions" else 0.0
        return {"action_norm": 1.0, "reward_low": low, "reward_high": 1.0, "constants": constants}

    def options(self) -> dict[str, Any]:
        """The settings under their own names, ready for JSON, and with them the fingerprint of the data."""
        return {**super().options(), "fingerprint": self.fingerprint}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """The configuration that `to_dict` described; refused if the data has changed since."""
        given = dict(settings)
        expected = given.pop("fingerprint", None)
        found = super().from_dict(given)
        if expected not in (None, found.fingerprint):
            raise BadInput(
                f"Expected data={found.data!r} with the fingerprint {str(expected)[:12]}…, got "
                f"{found.fingerprint[:12]}…: the data has changed since. Bring back the old file, or start afresh "
                "with the new one."
            )
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        # Rows do not travel in pickles and copies: whoever gets one reads the data, and has it compared.
        return type(self).from_dict, (self.to_dict(),)

    def start(self, stream: Source) -> World:
        contexts, rewards = self._prepared.contexts, self._prepared.rewards
        rounds = len(rewards)
        params = TableParams(
            contexts=contexts,
            rewards=rewards,
            order=np.arange(rounds),
            played=np.array([rounds]),  # a pass is over: the first round shuffles
            luck=np.zeros(rounds),
            context=np.zeros(contexts.shape[2]),
        )
        return World(params, slate(self.features, self.count), np.zeros(self.count), np.zeros(self.features))


def _text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise BadInput(f"Expected {name} to be the name of a column, got {name}={value!r}.")


def _names(option: str, given: Any) -> tuple[str, ...] | None:
    """Names of columns, also as one text with commas or semicolons between them."""
    if given is None:
        return None
    if isinstance(given, str):
        given = given.split(";" if ";" in given else ",")
    elif not isinstance(given, list | tuple):
        raise BadInput(f"Expected {option} to be names of columns, got {option}={given!r}.")
    names = tuple(name.strip() if isinstance(name, str) else name for name in given)
    for name in names:
        _text(option, name)
    if not names or len(set(names)) < len(names):
        raise BadInput(f"Expected {option} to be names of columns, each once, got {option}={names!r}.")
    return names


def _bound(option: str, given: Any) -> float | tuple[float, ...] | None:
    """One number for all columns, or one for each. The command line makes a tuple of a single one, too."""
    if given is None:
        return None
    if isinstance(given, Mapping | set | str):
        raise BadInput(
            f"Expected {option} to be a number, or one for each column in their order, got {option}={given!r}."
        )
    if not isinstance(given, list | tuple):
        return real(option, given)
    found = tuple(real(option, value) for value in given)
    return found[0] if len(found) == 1 else found


def _settled(names: tuple[str, ...] | str | None) -> tuple[str, ...] | None:
    """An option after `__post_init__`, which leaves no plain text in it."""
    return names if names is None or isinstance(names, tuple) else (names,)


@kernel
def _shuffle(order: Ints, luck: Floats, stream: Any) -> None:
    """Every order is equally likely (Fisher and Yates)."""
    fill_uniforms(stream, luck)
    for i in range(order.shape[0] - 1, 0, -1):
        other = min(int(luck[i] * (i + 1)), i)
        order[i], order[other] = order[other], order[i]


@kernel
def _next(environment: TableParams, stream: Any) -> int:
    """The row of the next round in this pass."""
    order, played = environment.order, environment.played
    if played[0] == order.shape[0]:
        _shuffle(order, environment.luck, stream)
        played[0] = 0
    row: int = order[played[0]]
    played[0] += 1
    return row


@implements(draw_context, TableParams)
@kernel
def _draw_context(environment: TableParams, context: Floats, means: Floats, stream: Any) -> None:
    """The next row of a table of classes, and what each class pays for it."""
    row = _next(environment, stream)
    for i in range(context.shape[0]):
        context[i] = environment.contexts[row, 0, i]
    for k in range(means.shape[0]):
        means[k] = environment.rewards[row, k]


@implements(show, TableParams)
@kernel
def _show(environment: TableParams, slate: Slate, means: Floats, stream: Any) -> None:
    contexts, rewards, columns = environment.contexts, environment.rewards, slate.columns
    if contexts.shape[1] == 1:
        draw_context(environment, environment.context, means, stream)
        lay_out(environment.context, slate)
        return
    row, arms, width = _next(environment, stream), columns.shape[1], contexts.shape[2]
    # Files tend to have the right answer in the same place, and early rounds are decided by ties: turn the list.
    turn = slate.scratch[:1]
    fill_uniforms(stream, turn)
    first = min(int(turn[0] * arms), arms - 1)
    for k in range(arms):
        place = (first + k) % arms
        means[k] = rewards[row, place]
        for i in range(width):
            columns[i, k] = contexts[row, place, i]


@implements(pay, TableParams)
@kernel
def _pay(environment: TableParams, mean: float, stream: Any) -> float:
    """The table says what an action pays: there is no luck."""
    return mean
