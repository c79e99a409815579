"""Reports that people randomise themselves, alone or in batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._validate import positive, probability, whole
from tacit.errors import BadInput
from tacit.privacy.event.fact import NO_DATA, Event, check_noise, counted


@dataclass(frozen=True)
class ReportEvent(Event):
    """A person's own reports, each with independent Gaussian noise drawn on the person's device."""

    kind: ClassVar[str] = "report"
    scale: float  # σ
    sensitivity: float  # Δ
    reports: int = 1  # k

    def __post_init__(self) -> None:
        check_noise(self)
        object.__setattr__(self, "reports", whole("reports", self.reports))

    def describe(self) -> str:
        return (
            f"Each report gets its own Gaussian noise of scale {self.scale:.6g} on the person's device; a report "
            f"changes by at most {self.sensitivity:.6g}, and a person sends {counted(self.reports, 'report')}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "reports": self.reports,
        }


@dataclass(frozen=True)
class ShuffledReportsEvent(Event):
    """Reports with Gaussian noise of their own, permuted in batches by a shuffler before anyone sees them.

    At least a share `honest` of a batch adds its noise as agreed. `delta` is where the bound is worked out.
    """

    kind: ClassVar[str] = "shuffled-reports"
    scale: float  # σ
    sensitivity: float  # Δ
    batch: int  # B
    honest: float
    delta: float  # δ
    reports: int = 1  # k

    def __post_init__(self) -> None:
        check_noise(self)
        for name in ("batch", "reports"):
            object.__setattr__(self, name, whole(name, getattr(self, name)))
        object.__setattr__(self, "delta", probability("delta", self.delta))
        honest = positive("honest", self.honest)
        if honest > 1:
            raise BadInput(f"Expected 0 < honest <= 1, the share of honest devices in a batch, got honest={honest!r}.")
        object.__setattr__(self, "honest", honest)

    @property
    def honest_reports(self) -> int:
        """n: the reports of a batch one can hide among, one's own included."""
        return max(1, math.floor(self.honest * self.batch))

    def describe(self) -> str:
        return (
            f"Each report gets its own Gaussian noise of scale {self.scale:.6g} on the person's device; a report "
            f"changes by at most {self.sensitivity:.6g}, and a person sends {counted(self.reports, 'report')}. A "
            f"shuffler permutes batches of {counted(self.batch, 'report')}, of which {self.honest * 100:g} % are "
            "assumed to be from honest devices."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "batch": self.batch,
            "honest": self.honest,
            "delta": self.delta,
            "reports": self.reports,
        }


@dataclass(frozen=True)
class BinomialSumEvent(Event):
    """Sums of rows in whole grid steps, rounded at random, with binomial ones of honest devices in each coordinate.

    `sensitivity` is the Euclidean distance between a row and its replacement, in grid steps and before rounding, and
    `coordinates` how many of its numbers differ, both at most: of the sums there may be more. `delta` is where the
    bound is worked out.
    """

    kind: ClassVar[str] = "binomial-sum"
    trials: int  # N
    sensitivity: float  # S
    coordinates: int  # D
    delta: float  # δ
    reports: int = 1  # k
    chance: float = 0.5  # p

    def __post_init__(self) -> None:
        for name in ("trials", "coordinates", "reports"):
            object.__setattr__(self, name, whole(name, getattr(self, name)))
        object.__setattr__(self, "sensitivity", positive("sensitivity", self.sensitivity, hint=NO_DATA))
        for name in ("delta", "chance"):
            object.__setattr__(self, name, probability(name, getattr(self, name)))

    def describe(self) -> str:
        return (
            "Sums over a batch in whole grid steps, rounded at random, each with the successes of "
            f"{counted(self.trials, 'trial')} of chance {self.chance:g} added by honest devices; a row changes by at "
            f"most {self.sensitivity:.6g} steps, in at most {counted(self.coordinates, 'coordinate')}, and a person "
            f"sends {counted(self.reports, 'row')}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "trials": self.trials,
            "sensitivity": self.sensitivity,
            "coordinates": self.coordinates,
            "delta": self.delta,
            "reports": self.reports,
            "chance": self.chance,
        }


@dataclass(frozen=True)
class RandomisedResponseEvent(Event):
    """One of several answers given truthfully with odds e^ε against each other answer, by the person."""

    kind: ClassVar[str] = "randomised-response"
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))

    def describe(self) -> str:
        return (
            f"Each person's own answer, kept with odds of exp({self.epsilon:.6g}) against each other answer, once per "
            "round."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "epsilon": self.epsilon}
