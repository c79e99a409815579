"""What stands on the axis: regret, reward, or the error rate of predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit._types import Floats
from tacit._validate import one_of
from tacit.environments import Environment
from tacit.environments.table import Table
from tacit.errors import BadInput
from tacit.simulation.result import standard_error

#: Standard errors to either side of a band: about 95 %.
WIDTH = 1.96


@dataclass(frozen=True)
class Measure:
    """A quantity by its name, and by the words on an axis."""

    name: str
    axis: str
    meaning: str  #: what it is, in a sentence

    def __str__(self) -> str:
        return self.name

    def better(self, one: float, other: float) -> bool:
        """Whether `one` is more reward, or less regret or error, than `other`."""
        return one > other if self.name == "reward" else one < other


REGRET = Measure(
    "regret",
    "regret",
    "Regret is what the best action of every round would have earned, minus what the chosen one did.",
)
RIGHT = Measure("reward", "reward per round", "The reward of a round is 1 for the right answer, else 0.")
ERROR = Measure(
    "error",
    "error rate",
    "The error rate is what the best candidate earns on average, minus what the predicted one does.",
)
ESTIMATED = Measure(
    "reward",
    "reward per round",
    "Reward per round is estimated, doubly robust, for the policy held fixed at what it had learned from the first "
    "part of the log, on the rows of the other.",
)


@dataclass(frozen=True)
class Value:
    """A mean with its standard error; none where a single trial has none."""

    mean: float
    se: float | None

    @property
    def low(self) -> float:
        """Of a band of about 95 %."""
        return math.nan if self.se is None else self.mean - WIDTH * self.se

    @property
    def high(self) -> float:
        """Of a band of about 95 %."""
        return math.nan if self.se is None else self.mean + WIDTH * self.se

    @classmethod
    def of_trials(cls, values: Floats) -> Value:
        """The mean over trials."""
        return cls(float(values.mean()), standard_error(values))


def measure_in(environment: Environment, asked: str | None) -> Measure:
    """Regret; or the reward, where it follows from the regret exactly: each round of a table of classes has one right
    answer, which pays 1. Elsewhere what the best action pays differs from round to round and is not kept."""
    if asked is None or one_of("measure", asked, ("regret", "reward")) == "regret":
        return REGRET
    if isinstance(environment, Table) and environment.model == "disjoint":
        return RIGHT
    raise BadInput(
        f"Expected measure='regret' in {environment.slug}, got measure='reward': what the best action pays differs "
        "from round to round there, so a reward cannot be told from the regret. A table of classes has both."
    )


def only(measure: Measure, asked: str | None, where: str) -> Measure:
    """The one measure there is in such a place."""
    if asked not in (None, measure.name):
        raise BadInput(f"Expected measure={measure.name!r} {where}, got measure={asked!r}.")
    return measure
