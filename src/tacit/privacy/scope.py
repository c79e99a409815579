"""The words of a guarantee: who is trusted, what is protected, which inputs count as neighbours, and for whom.

An ε without these four words means nothing; no guarantee in this package can be built without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tacit._validate import whole


class Trust(StrEnum):
    """Who may see exact data."""

    NONE = "none"
    JOINT = "joint"
    CENTRAL = "central"
    SHUFFLE = "shuffle"
    LOCAL = "local"

    @property
    def meaning(self) -> str:
        """One sentence for a reader who is not a specialist."""
        return _TRUST[self]


_TRUST = {
    Trust.NONE: "Nothing is hidden: whoever sees the decisions may learn about the data behind them.",
    Trust.JOINT: (
        "A trusted curator holds the exact data; what everybody else is shown says little about any one person, "
        "while a person's own decision may depend on that person's own context."
    ),
    Trust.CENTRAL: "A trusted curator holds the exact data; everything it publishes says little about any one person.",
    Trust.SHUFFLE: (
        "Each person randomises a little and a trusted shuffler mixes the reports; the learner sees the mixed batch."
    ),
    Trust.LOCAL: "Nobody is trusted: each person's data is randomised on that person's own device before it leaves.",
}


class Protects(StrEnum):
    """Which part of a round the guarantee covers."""

    NOTHING = "nothing"
    REWARDS = "rewards only"
    EVERYTHING = "contexts and rewards"

    @property
    def data(self) -> str:
        """The same inside a sentence: *only the rewards* of one round are protected."""
        return "only the rewards" if self is Protects.REWARDS else self.value


class Neighbours(StrEnum):
    """Which two inputs must look alike."""

    NONE = "none"
    REPLACE_ONE = "replace one"


@dataclass(frozen=True)
class Unit:
    """What is replaced between neighbours: one round, or all the rounds of one person."""

    rounds: int | None  # None: one round; k: one person with at most k rounds

    def __post_init__(self) -> None:
        if self.rounds is not None:
            object.__setattr__(self, "rounds", whole("rounds", self.rounds))

    @classmethod
    def round(cls) -> Unit:
        return cls(None)

    @classmethod
    def person(cls, rounds: int) -> Unit:
        return cls(whole("rounds", rounds, hint="For a single round use Unit.round()."))

    def __str__(self) -> str:
        if self.rounds is None:
            return "one round"
        return f"one person with at most {self.rounds} round{'s' if self.rounds > 1 else ''}"
