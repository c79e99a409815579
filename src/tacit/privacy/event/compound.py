"""Events made of others: several at once, for a person, by several learners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._validate import whole
from tacit.errors import BadInput
from tacit.privacy.event.fact import Event, counted
from tacit.privacy.event.lattice import LatticeEvent


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
class EitherEvent(Event):
    """Two releases of sums, of which a row is in one: in which is a matter of when it came. The first is one release.

    A row may come at another time than the one it replaces; it then leaves one release and enters the other. Whoever
    records this event vouches that leaving or entering moves either by at most 1/√2 of what a replaced row does.
    """

    kind: ClassVar[str] = "either"
    events: tuple[Event, Event]

    def __post_init__(self) -> None:
        events = tuple(self.events)
        if len(events) != 2 or not all(isinstance(event, Event) for event in events):
            raise BadInput("Expected two events, got others. Use Together for releases that share rows.")
        for event in events:
            inner = event.event if isinstance(event, LatticeEvent) else event
            if not hasattr(inner, "sensitivity"):
                raise BadInput(
                    f"Expected events of sums with a sensitivity, got {type(inner).__name__}. Wrap the EitherEvent in "
                    "what is about several rows or several learners."
                )
        object.__setattr__(self, "events", events)

    def describe(self) -> str:
        first, second = self.events
        return f"{first.describe()} {second.describe()} A row is in one of these two, and never in both."

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
        return f"{self.event.describe()} One person owns up to {counted(self.rounds, 'row')}{spread}."

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
        return f"{self.event.describe()} {counted(self.copies, 'copy', 'copies')} of the learner went on from one past."

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "of": self.event.to_dict(), "copies": self.copies}
