"""When a linear policy releases its sums, and how: values for the option `releases`.

    releases=tacit.releases.Tree(horizon=10_000)          # or the words: releases="tree", horizon=10_000
    releases=tacit.releases.Geometric(ratio=1.05, window=10)

Release times are public and follow from the number of rows alone. Each value makes a counter, whose kernels, event and
proof stand in `tacit.counters`. A value of your own has a word of its own: docs/how-to/add-a-policy.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit._validate import above, flag, whole
from tacit.core.settings import Choice, from_fields
from tacit.counters.counter import MOST_ROWS, ROWS_HINT, AtTimes, PrefixCounter, release_times
from tacit.counters.discounted import DiscountedCounter
from tacit.counters.toeplitz import GeometricCounter, ToeplitzCounter
from tacit.counters.tree import TreeCounter
from tacit.counters.window import WindowCounter
from tacit.errors import BadInput

__all__ = ["Discounted", "Geometric", "Releases", "Toeplitz", "Tree"]


@dataclass(frozen=True, kw_only=True)
class Releases(Choice, ABC):
    """When, and by which counter.

    Parameters: `horizon`, the number of rounds served at most.
    """

    horizon: int | None = None

    def __post_init__(self) -> None:
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2, hint="A horizon is the number of rounds to be served.")

    @abstractmethod
    def counter(self) -> PrefixCounter:
        """How sums are published."""

    def counter_after(self, before: int, least: int) -> PrefixCounter:
        """The same, if the first so many rows are in no sum, and no view of fewer rows than `least` is worth its name:
        for those that plan for as many views as there can be."""
        return self.counter()

    @property
    def schedule(self) -> str:
        """What a card calls it."""
        return self.word

    def end(self, schedule: Any, lattice: bool) -> tuple[int, str]:
        """How many rows are learned at most, and what to do then."""
        assert self.horizon is not None
        return self.horizon, 'start a new epoch (its budget adds) or use releases="geometric", which needs no horizon.'

    def rows_may_come_late(self, person_rounds: int | None) -> bool:
        """Whether a row may be summed when its reward comes, under a clock that counts decisions: shown for the values
        here in docs/decisions/0024-service.md, and for no other."""
        return False

    def check(self, config: Any) -> None:
        """Refuse what does not go with it."""

    def notes(self, dim: int) -> tuple[str, ...]:
        """What a reader of the card should know."""
        return ()


@dataclass(frozen=True, kw_only=True)
class _Segments(Releases):
    """At public times that grow geometrically: rows between two of them are a segment."""

    ratio: float | None = None
    one_row_per_segment: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio is not None:
            above("ratio", self.ratio, 1)
        flag("one_row_per_segment", self.one_row_per_segment)

    @property
    @abstractmethod
    def usual_ratio(self) -> float:
        """The ratio unless it is told."""

    @property
    def release_ratio(self) -> Fraction:
        """r as an exact fraction. docs/decisions/0005-shift-and-ratio.md, 0011 and 0028."""
        return Fraction(self.usual_ratio if self.ratio is None else self.ratio).limit_denominator(10**6)

    def rows_may_come_late(self, person_rounds: int | None) -> bool:
        return True

    def check(self, config: Any) -> None:
        if self.one_row_per_segment and config.person_rounds is None:
            raise BadInput(
                "Expected person_rounds with one_row_per_segment, got none. Say how many rounds a person may have."
            )

    def notes(self, dim: int) -> tuple[str, ...]:
        ratio = float(self.release_ratio)
        return (
            "Geometric releases give up adversarially chosen contexts: a direction first seen inside a segment is "
            f"learned only when it ends (regret up to {1 - 1 / ratio:.1%} of the rounds).",
        )


@dataclass(frozen=True, kw_only=True)
class Discounted(_Segments):
    """At public times that grow geometrically, of sums in which older rows count less: the least noise, as much at any
    time as there ever is, and no horizon is needed. For noise-aware widths: the theory of the others is of plain sums.

    Parameters: `ratio`, each release time is this multiple of the last (default: 1.1); `one_row_per_segment`, learn at
    most one row of a person between two releases; `horizon`, if the end is known.

    >>> import tacit
    >>> tacit.JointLinUCB(arms=3, dim=2, epsilon=1, delta=1e-6, releases=tacit.releases.Discounted(ratio=1.2)).ratio
    1.2
    """

    word: ClassVar[str] = "discounted"

    @property
    def usual_ratio(self) -> float:
        return 1.1

    def counter(self) -> PrefixCounter:
        return self.counter_after(0, 1)

    def counter_after(self, before: int, least: int) -> PrefixCounter:
        last = MOST_ROWS if self.horizon is None else self.horizon
        return DiscountedCounter(self.release_ratio, before + least, last, before)

    def end(self, schedule: AtTimes, lattice: bool) -> tuple[int, str]:
        if self.horizon is None:
            return MOST_ROWS, ROWS_HINT
        return self.horizon, "start a new epoch (its budget adds) or leave the horizon out."

    def check(self, config: Any) -> None:
        super().check(config)
        if config.width != "noise-aware":
            raise BadInput(
                f'Expected width="noise-aware" with releases="discounted", got width={config.width!r}: no width is '
                'proved for sums in which older rows count less. Use releases="geometric".'
            )
        if config.prior is not None:
            raise BadInput(
                'Expected no prior with releases="discounted", got one: it would be forgotten as rows are. Use '
                'releases="geometric".'
            )


@dataclass(frozen=True, kw_only=True)
class Geometric(_Segments):
    """At public times that grow geometrically, of all rows alike: no horizon is needed, less noise with one. Not for
    contexts that are chosen adversarially.

    Parameters: `ratio`, each release time is this multiple of the last (default: 1.01; 1.05 with a window; 1.1 if the
    width is noise-aware and there is none); `views`, how many can ever be released; `window`, learn from the last so
    many segments only, for drifting worlds; `one_row_per_segment`, learn at most one row of a person between two
    releases; `horizon`, if the end is known.

    >>> import tacit
    >>> config = tacit.JointLinUCB(dim=2, epsilon=1, delta=1e-6, releases=tacit.releases.Geometric(ratio=1.2))
    >>> config.ratio
    1.2
    """

    word: ClassVar[str] = "geometric"

    views: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.views is not None:
            whole("views", self.views)
        if self.window is not None:
            whole("window", self.window)

    @property
    def usual_ratio(self) -> float:
        return 1.01 if self.window is None else 1.05

    @property
    def schedule(self) -> str:
        return self.word if self.window is None else "window"

    def counter(self) -> PrefixCounter:
        return self.counter_after(0, 1)

    def counter_after(self, before: int, least: int) -> PrefixCounter:
        views = self.views
        if views is None:  # each of them is paid for, whether it comes or not
            views = 2048
            times = release_times(before + least, self.release_ratio, views)
            if self.horizon is not None:
                views = max(1, int(np.searchsorted(times, self.horizon, "right")))
            elif self.window is None:
                views = len(times)  # later than that nobody is served
        if self.window is None:
            return GeometricCounter(self.release_ratio, views)
        return WindowCounter(self.release_ratio, views, self.window)

    def end(self, schedule: AtTimes, lattice: bool) -> tuple[int, str]:
        last = int(schedule.times[-1])
        limit = last if self.horizon is None else min(last, self.horizon)
        if self.views is None and self.horizon is not None:
            limit = self.horizon  # rows after the last release within it are in none, and cost nothing
        if lattice and limit > MOST_ROWS:
            return MOST_ROWS, ROWS_HINT
        way_out = "plan for more views." if self.horizon is None else "leave the horizon out."
        return limit, f"start a new epoch (its budget adds) or {way_out}"

    def check(self, config: Any) -> None:
        super().check(config)
        if self.window is not None and config.prior is not None:
            raise BadInput(
                f"Expected no prior with window={self.window!r}, got one: a window forgets, and the prior would not."
            )

    def notes(self, dim: int) -> tuple[str, ...]:
        ratio, said = float(self.release_ratio), list(super().notes(dim))
        if self.window is not None:
            said.append(
                f"Only the last {self.window} segments are learned from: about the last {1 - ratio**-self.window:.0%} "
                "of all rounds so far."
            )
            if self.window < 2 * dim:
                said.append(
                    f"A window below {2 * dim} segments (twice the number of features) explores too little: about one "
                    "direction is tried per segment."
                )
        return tuple(said)


@dataclass(frozen=True, kw_only=True)
class _EveryRound(Releases):
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon is None:
            raise BadInput(
                f'Expected a horizon (number of rounds) with releases="{self.word}", got none. '
                'Give horizon=…, or use releases="geometric", which needs none.'
            )

    @classmethod
    def refusal(cls, name: str, option: str, value: object, owners: str) -> str:
        return (
            f'Expected {option} with {name}={owners} only, got {name}="{cls.word}", which has a release every '
            "round and no segments."
        )

    def rows_may_come_late(self, person_rounds: int | None) -> bool:
        # A release every round is priced for one row of a person in each of them; late ones may come together.
        return person_rounds in (None, 1)

    @property
    def rounds(self) -> int:
        """The horizon, which is there."""
        assert self.horizon is not None
        return self.horizon


@dataclass(frozen=True, kw_only=True)
class Toeplitz(_EveryRound):
    """After every round, under correlated noise.

    >>> import tacit
    >>> tacit.JointLinUCB(dim=2, epsilon=1, delta=1e-6, releases=tacit.releases.Toeplitz(horizon=100)).horizon
    100
    """

    word: ClassVar[str] = "toeplitz"

    def counter(self) -> PrefixCounter:
        return ToeplitzCounter(self.rounds)


@dataclass(frozen=True, kw_only=True)
class Tree(_EveryRound):
    """After every round, from the nodes of a binary tree.

    >>> import tacit
    >>> tacit.JointLinUCB(dim=2, epsilon=1, delta=1e-6, releases=tacit.releases.Tree(horizon=100)).releases
    'tree'
    """

    word: ClassVar[str] = "tree"

    def counter(self) -> PrefixCounter:
        return TreeCounter(self.rounds)


def as_option(value: Any) -> Any:
    """What the option takes: a word, a value, or a value of your own as it travels, {its word: its fields}."""
    if not (isinstance(value, dict) and len(value) == 1):
        return value
    kinds = {kind.word: kind for kind in _kinds(Releases)}  # type: ignore[type-abstract]
    return from_fields(kinds, value, "releases")


def _kinds(base: type[Releases]) -> list[type[Releases]]:
    found = [base] if hasattr(base, "word") else []
    return [*found, *(kind for below in base.__subclasses__() for kind in _kinds(below))]
