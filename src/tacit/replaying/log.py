"""A log: what was seen, what was done, how likely that was, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit import features
from tacit._arrays import finite, numbers
from tacit._types import Floats, Ints
from tacit._validate import one_of, whole
from tacit.errors import BadInput

MODELS = ("per-arm", "shared", "hybrid")

#: How much of a hybrid action is shared.
_MIX = 0.5
#: Numbers in the actions of one block of rows: some megabytes, whatever the length of the log.
_BLOCK = 2**20
#: Rounding may lengthen a unit vector by so much.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """Rounds of a logging policy. Rows are taken to be independent of each other, and in the order of time.

    Messages name columns and counts and never show a value: the rows are people's.
    """

    actions: Ints  #: (n,) the arm that was taken, 0 … K − 1
    rewards: Floats  #: (n,)
    propensities: Floats  #: (n,) the probability with which that arm was taken
    contexts: Floats  #: (n, p) in the unit ball
    arms: int  #: K
    arm_features: Floats | None = None  #: (K, q) in the unit ball; public
    model: str = "per-arm"  #: how contexts become actions: `tacit.features`
    persons: Ints | None = None  #: (n,) who it was, by number; None: every row is a different person
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        count = whole("arms", self.arms, low=2, hint="With one action there is nothing to choose.")
        actions = _arms(self.actions, count)
        rows = len(actions)
        if rows == 0:
            raise BadInput("Expected a log with at least one row, got none.")
        rewards = _column("rewards", self.rewards, rows)
        propensities = _column("propensities", self.propensities, rows)
        wrong = int(np.count_nonzero(~((propensities > 0) & (propensities <= 1))))
        if wrong:
            raise BadInput(
                f"Expected propensities above 0 and at most 1, got {wrong:,} of {rows:,} that are not. A propensity is "
                "the probability with which the logged action was taken; rows without one cannot be used."
            )
        contexts = _in_the_ball("contexts", self.contexts, rows)
        one_of("model", self.model, MODELS)
        if (self.model != "per-arm") != (self.arm_features is not None):
            raise BadInput(
                f"Expected arm_features with the models shared and hybrid and with no other, got "
                f"model={self.model!r} and {'none' if self.arm_features is None else 'some'}."
            )
        persons = None if self.persons is None else _persons(self.persons, rows)
        known = None if self.arm_features is None else _in_the_ball("arm_features", self.arm_features, count)
        for name, value in (
            ("actions", actions),
            ("rewards", rewards),
            ("propensities", propensities),
            ("contexts", contexts),
            ("arm_features", known),
            ("persons", persons),
        ):
            if value is not None:
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return f"<Log: {len(self):,} rows, {self.arms} arms, model {self.model}, dim {self.dim}>"

    @property
    def dim(self) -> int:
        """d: the number of features of an action, and the `dim` of a policy without `arms`."""
        size = self.contexts.shape[1]
        if self.arm_features is None:
            return features.per_arm_dim(size, self.arms)
        given = self.arm_features.shape[1]
        return (
            features.shared_dim(size, given)
            if self.model == "shared"
            else features.hybrid_dim(size, given, arms=self.arms)
        )

    @property
    def context_dim(self) -> int:
        """p: the number of features of a context, and the `dim` of a policy with `arms`."""
        return int(self.contexts.shape[1])

    def shape(self, kind: Any, given: Mapping[str, Any]) -> dict[str, int]:
        """What a policy of this kind must be told of the log, where it was not: the number of features, and of arms
        where each has parameters of its own and the policy has a model for that."""
        if not kind.has_option("dim") or "dim" in given:
            return {}
        if self.model == "per-arm" and getattr(kind, "by_arm", False):
            return {"arms": self.arms, "dim": self.context_dim}
        return {"dim": self.dim}

    def person(self, row: int) -> int:
        """Who it was, as a learner is told."""
        return row if self.persons is None else int(self.persons[row])

    def who(self, person_rounds: int | None) -> tuple[str, ...]:
        """What to think of the rows of one person, in sentences; `person_rounds`: of the policy that learns."""
        if self.persons is None:
            return (
                ()
                if person_rounds is None
                else ("The unit is a person, and every row is taken to be a different person.",)
            )
        people = len(np.unique(self.persons))
        if people == len(self):
            return (
                () if person_rounds is None else (f"The unit is a person: the log has {people:,}, with one row each.",)
            )
        spread = (
            f"Rows are of {people:,} persons, and intervals take them to be independent: those of one person are "
            "not, so intervals are too short."
        )
        if person_rounds is None:
            return (spread,)
        return (f"The unit is a person, and at most {person_rounds:,} rows of each were learned.", spread)

    @property
    def fixed_actions(self) -> Floats | None:
        """The one list of actions of a log whose contexts are all the same; None where they differ."""
        same = bool(np.all(self.contexts == self.contexts[0]))
        return self.offers(np.zeros(1, np.int64))[0] if same else None

    def part(self, start: int, stop: int) -> Log:
        """The rows from `start` to before `stop`."""
        piece = slice(start, stop)
        return replace(
            self,
            actions=self.actions[piece],
            rewards=self.rewards[piece],
            propensities=self.propensities[piece],
            contexts=self.contexts[piece],
            persons=None if self.persons is None else self.persons[piece],
        )

    def blocks(self) -> Iterator[Ints]:
        """All rows in their order, in blocks whose actions fit comfortably into memory."""
        for start in range(0, len(self), self.block_size):
            yield np.arange(start, min(start + self.block_size, len(self)))

    @property
    def block_size(self) -> int:
        """Rows in a block."""
        return max(1, _BLOCK // (self.arms * self.dim))

    def offers(self, rows: Ints) -> Floats:
        """The actions that could have been taken in these rows: (m, K, d)."""
        contexts = self.contexts[rows]
        if self.arm_features is None:
            return features.per_arm(contexts, self.arms)
        if self.model == "shared":
            return features.shared(contexts, self.arm_features)
        return features.hybrid(contexts, self.arm_features, _MIX)

    def taken(self, rows: Ints, arms: Ints) -> Floats:
        """One action of each row, (m, d): `offers` at these arms, without the others."""
        contexts = self.contexts[rows]
        count, size = contexts.shape
        if self.arm_features is not None:
            products = contexts[:, :, None] * self.arm_features[arms][:, None, :]
            common: Floats = products.reshape(count, size * self.arm_features.shape[1])
            if self.model == "shared":
                return common
        own = np.zeros((count, self.arms, size))
        own[np.arange(count), arms] = contexts
        flat = own.reshape(count, self.arms * size)
        if self.arm_features is None:
            return flat
        return np.concatenate([math.sqrt(_MIX) * common, math.sqrt(1 - _MIX) * flat], axis=1)


def _arms(values: Ints, count: int) -> Ints:
    found = numbers("actions", values, hint="Number the actions 0, 1, …; read_log does it for a file.")
    if found.ndim != 1:
        raise BadInput(f"Expected actions of shape (n,), got {found.shape}.")
    wrong = int(np.count_nonzero(~((found >= 0) & (found < count) & (found == np.floor(found)))))
    if wrong:
        raise BadInput(
            f"Expected actions to be whole numbers from 0 to {count - 1}, got {wrong:,} of {len(found):,} that are "
            "not. Say how many actions there are with arms=…."
        )
    return found.astype(np.int64)


def _persons(values: Ints, rows: int) -> Ints:
    found = numbers("persons", values, hint="Number the persons 0, 1, …; read_log does it for a file.")
    if found.shape != (rows,):
        raise BadInput(f"Expected persons of shape ({rows},), one per row, got {found.shape}.")
    wrong = int(np.count_nonzero(found != np.floor(found)))
    if wrong:
        raise BadInput(f"Expected persons to be whole numbers, got {wrong:,} of {rows:,} that are not.")
    return found.astype(np.int64)


def _column(name: str, values: Floats, rows: int) -> Floats:
    found = finite(name, values)
    if found.shape != (rows,):
        raise BadInput(f"Expected {name} of shape ({rows},), one per row, got {found.shape}.")
    return found


def _in_the_ball(name: str, values: Floats, rows: int) -> Floats:
    found = finite(name, values)
    if found.ndim != 2 or found.shape[0] != rows or found.shape[1] == 0:
        raise BadInput(f"Expected {name} of shape ({rows}, p) with p >= 1, got {found.shape}.")
    long = int(np.count_nonzero(np.linalg.norm(found, axis=1) > 1 + _SLACK))
    if long:
        raise BadInput(
            f"Expected {name} no longer than 1, got {long:,} of {rows:,} that are. Bring them into the unit ball from "
            "declared bounds: tacit.features.scaled."
        )
    return found
