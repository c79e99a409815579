"""Events: facts about what a mechanism releases, and never what it costs.

A mechanism records an event; `accountant.price` turns it into μ. The split keeps each claim in one place: the event
says how much noise there is and how often a datum appears in it, the accountant holds the theorem.

Noise scales and sensitivities are in the same unit. For the symmetric matrix [x; y][x; y]ᵀ with ‖x‖ ≤ L and |y| ≤ B̃,
noised symmetrically with variance s² off the diagonal and 2s² on it, the normalised replace-one sensitivity of one row
is L̃² = L² + B̃². With variance s² on the diagonal as well it would be √2·L̃²: whoever records an event must know
which noise was added.

An event class is final. The accountant prices types, so a subclass would be priced as something it may not be.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tacit._validate import one_of, positive, probability, whole
from tacit.errors import BadInput
from tacit.privacy.toeplitz import Design

_NO_DATA = "If no data is released use NothingReleased()."


class Event(ABC):
    """Something was, or will be, released. On its own it has no price."""

    kind: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in cls.__bases__:
            if base is not Event and issubclass(base, Event):
                raise TypeError(
                    f"Expected {cls.__name__} to derive from Event, got {base.__name__}. Event classes are final: "
                    "declare a new event and register its price."
                )

    @abstractmethod
    def describe(self) -> str:
        """One plain sentence for a reader who does not know the code."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The facts, ready for JSON."""


@dataclass(frozen=True)
class TreeEvent(Event):
    """A binary tree of partial sums, each closed node noised once; a datum lies in at most `nodes` of them."""

    kind: ClassVar[str] = "tree"
    scale: float  # s
    sensitivity: float  # L̃²
    nodes: int  # q

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "nodes", whole("nodes", self.nodes))

    def describe(self) -> str:
        return (
            f"A binary tree of sums; each closed node gets its own Gaussian noise of scale {self.scale:.6g}, and a row "
            f"of sensitivity {self.sensitivity:.6g} lies in at most {_counted(self.nodes, 'node')}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "scale": self.scale, "sensitivity": self.sensitivity, "nodes": self.nodes}


@dataclass(frozen=True)
class ToeplitzEvent(Event):
    """Prefix sums released at most `releases` times with noise correlated by a Toeplitz design.

    `rows_per_release="one"`: every row is followed by a release. `"many"`: a release closes a segment of rows, at times
    that are public.
    """

    kind: ClassVar[str] = "toeplitz"
    scale: float  # s
    sensitivity: float  # L̃²
    releases: int  # N
    design: Design
    rows_per_release: Literal["one", "many"]

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "releases", whole("releases", self.releases))
        if not isinstance(self.design, Design):
            raise BadInput(f"Expected design to be a toeplitz.Design, got design={self.design!r}.")
        one_of("rows_per_release", self.rows_per_release, ("one", "many"))

    def describe(self) -> str:
        what = "one row" if self.rows_per_release == "one" else "a segment of rows"
        return (
            f"Prefix sums released after {what}, at most {_counted(self.releases, 'time')}, with Gaussian noise of "
            f"scale {self.scale:.6g} per release correlated by {_counted(len(self.design.poles), 'buffer')}; a row has "
            f"sensitivity {self.sensitivity:.6g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "releases": self.releases,
            "rows_per_release": self.rows_per_release,
            "design": {"poles": list(self.design.poles), "zeros": list(self.design.zeros)},
        }


@dataclass(frozen=True)
class WishartTreeEvent(Event):
    """A binary tree of partial sums, each closed node masked once by a Wishart matrix.

    The degrees of freedom are the paper's for `promise_epsilon` and `promise_delta`; no price in μ is known for it.
    """

    kind: ClassVar[str] = "wishart-tree"
    degrees: int  # k
    sensitivity: float  # L̃²
    nodes: int  # m
    promise_epsilon: float
    promise_delta: float

    def __post_init__(self) -> None:
        for name in ("degrees", "nodes"):
            object.__setattr__(self, name, whole(name, getattr(self, name)))
        for name in ("sensitivity", "promise_epsilon"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        object.__setattr__(self, "promise_delta", probability("promise_delta", self.promise_delta))

    def describe(self) -> str:
        return (
            f"A binary tree of sums; each closed node is masked by its own Wishart matrix of {self.degrees:,} degrees "
            f"of freedom and parameter {self.sensitivity:.6g} times the identity; a row lies in at most "
            f"{_counted(self.nodes, 'node')}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "degrees": self.degrees,
            "sensitivity": self.sensitivity,
            "nodes": self.nodes,
            "promise": {"epsilon": self.promise_epsilon, "delta": self.promise_delta},
        }


@dataclass(frozen=True)
class SegmentsEvent(Event):
    """Disjoint segments of rows, each sum released once with independent noise."""

    kind: ClassVar[str] = "segments"
    scale: float  # s
    sensitivity: float  # L̃²

    def __post_init__(self) -> None:
        _check_noise(self)

    def describe(self) -> str:
        return (
            f"Sums of disjoint segments, each released once with independent Gaussian noise of scale {self.scale:.6g}; "
            f"a row of sensitivity {self.sensitivity:.6g} lies in one segment."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "scale": self.scale, "sensitivity": self.sensitivity}


@dataclass(frozen=True)
class GaussianEvent(Event):
    """One release with Gaussian noise."""

    kind: ClassVar[str] = "gaussian"
    scale: float  # σ
    sensitivity: float  # Δ

    def __post_init__(self) -> None:
        _check_noise(self)

    def describe(self) -> str:
        return (
            f"One release with Gaussian noise of scale {self.scale:.6g}; a row changes it by at most "
            f"{self.sensitivity:.6g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "scale": self.scale, "sensitivity": self.sensitivity}


@dataclass(frozen=True)
class ReportEvent(Event):
    """A person's own reports, each with independent Gaussian noise drawn on the person's device."""

    kind: ClassVar[str] = "report"
    scale: float  # σ
    sensitivity: float  # Δ
    reports: int = 1  # k

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "reports", whole("reports", self.reports))

    def describe(self) -> str:
        return (
            f"Each report gets its own Gaussian noise of scale {self.scale:.6g} on the person's device; a report "
            f"changes by at most {self.sensitivity:.6g}, and a person sends {_counted(self.reports, 'report')}."
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
        _check_noise(self)
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
            f"changes by at most {self.sensitivity:.6g}, and a person sends {_counted(self.reports, 'report')}. A "
            f"shuffler permutes batches of {_counted(self.batch, 'report')}, of which {self.honest * 100:g} % are "
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

    `sensitivity` is the Euclidean distance between a row and its replacement, in grid steps and before rounding.
    `delta` is where the bound is worked out.
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
        object.__setattr__(self, "sensitivity", positive("sensitivity", self.sensitivity, hint=_NO_DATA))
        for name in ("delta", "chance"):
            object.__setattr__(self, name, probability(name, getattr(self, name)))

    def describe(self) -> str:
        return (
            f"Sums over a batch of {_counted(self.coordinates, 'coordinate')} in whole grid steps, rounded at random, "
            f"each with the successes of {_counted(self.trials, 'trial')} of chance {self.chance:g} added by honest "
            f"devices; a row changes by at most {self.sensitivity:.6g} steps, and a person sends "
            f"{_counted(self.reports, 'row')}."
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


@dataclass(frozen=True)
class NothingReleased(Event):
    """No output depends on the data."""

    kind: ClassVar[str] = "nothing"

    def describe(self) -> str:
        return "Nothing that depends on the data is released."

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind}


@dataclass(frozen=True)
class ExactRelease(Event):
    """Data released without noise."""

    kind: ClassVar[str] = "exact"
    what: str

    def __post_init__(self) -> None:
        if not isinstance(self.what, str) or not self.what.strip():
            raise BadInput(f"Expected what to name the data that is released exactly, got what={self.what!r}.")

    def describe(self) -> str:
        return f"Released without noise: {self.what}."

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "what": self.what}


@dataclass(frozen=True)
class UncertifiedNoise(Event):
    """Data released with noise that no theorem here covers: as good as none, for whoever needs a guarantee."""

    kind: ClassVar[str] = "uncertified"
    what: str

    def __post_init__(self) -> None:
        if not isinstance(self.what, str) or not self.what.strip():
            raise BadInput(f"Expected what to name the data and its noise, got what={self.what!r}.")

    def describe(self) -> str:
        return f"Released with noise that no theorem covers: {self.what}."

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "what": self.what}


@dataclass(frozen=True)
class Together(Event):
    """Several releases about the same datum, each with its own independent noise."""

    kind: ClassVar[str] = "together"
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        events = tuple(self.events)
        if not events:
            raise BadInput("Expected at least one event, got none. If there is none to record use NothingReleased().")
        for event in events:
            if not isinstance(event, Event):
                raise BadInput(f"Expected events to be Event instances, got {event!r} among them.")
        object.__setattr__(self, "events", events)

    def describe(self) -> str:
        return " ".join(event.describe() for event in self.events)

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "events": [event.to_dict() for event in self.events]}


@dataclass(frozen=True)
class PersonEvent(Event):
    """The same releases, for a person who owns up to `rounds` rows placed as badly as possible.

    `one_per_segment`: at most one of them is learned in each segment, enforced by count and identity alone.
    """

    kind: ClassVar[str] = "person"
    event: Event
    rounds: int  # k
    one_per_segment: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise BadInput(f"Expected event to be an Event, got event={self.event!r}.")
        if isinstance(self.event, PersonEvent):
            raise BadInput(
                "Expected the event of a single row, got a PersonEvent. Give the total number of rounds once."
            )
        object.__setattr__(self, "rounds", whole("rounds", self.rounds))
        if not isinstance(self.one_per_segment, bool):
            raise BadInput(f"Expected one_per_segment to be True or False, got {self.one_per_segment!r}.")

    def describe(self) -> str:
        spread = ", at most one in each segment" if self.one_per_segment else ", placed anywhere"
        return f"{self.event.describe()} One person owns up to {_counted(self.rounds, 'row')}{spread}."

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "of": self.event.to_dict(),
            "rounds": self.rounds,
            "one_per_segment": self.one_per_segment,
        }


@dataclass(frozen=True)
class ForkedEvent(Event):
    """The same releases made by `copies` learners that share a past and draw fresh noise of their own since.

    What they released before they parted is the same release, not a second one.
    """

    kind: ClassVar[str] = "forked"
    event: Event
    copies: int

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise BadInput(f"Expected event to be an Event, got event={self.event!r}.")
        if isinstance(self.event, ForkedEvent):
            raise BadInput("Expected the event of one learner, got a ForkedEvent. Give the number of copies once.")
        object.__setattr__(self, "copies", whole("copies", self.copies))

    def describe(self) -> str:
        return (
            f"{self.event.describe()} {_counted(self.copies, 'copy', 'copies')} of the learner went on from one past."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "of": self.event.to_dict(), "copies": self.copies}


def _check_noise(
    event: TreeEvent | ToeplitzEvent | SegmentsEvent | GaussianEvent | ReportEvent | ShuffledReportsEvent,
) -> None:
    scale = positive("scale", event.scale, hint="For a release without noise use ExactRelease.")
    object.__setattr__(event, "scale", scale)
    sensitivity = positive("sensitivity", event.sensitivity, hint=_NO_DATA)
    object.__setattr__(event, "sensitivity", sensitivity)


def _counted(count: int, noun: str, many: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
