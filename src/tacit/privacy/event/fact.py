"""What every event is: a fact, with a sentence for people and a dictionary for JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from tacit._validate import positive

NO_DATA = "If no data is released use NothingReleased()."


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


class Noised(Protocol):
    """An event that knows how much noise there is, and how far one row moves what is noised."""

    @property
    def scale(self) -> float: ...

    @property
    def sensitivity(self) -> float: ...


def check_noise(event: Noised) -> None:
    """Scale and sensitivity as positive floats; for `__post_init__`."""
    scale = positive("scale", event.scale, hint="For a release without noise use ExactRelease.")
    object.__setattr__(event, "scale", scale)
    sensitivity = positive("sensitivity", event.sensitivity, hint=NO_DATA)
    object.__setattr__(event, "sensitivity", sensitivity)


def counted(count: int, noun: str, many: str | None = None) -> str:
    """A number and its noun: 1 row, 2,000 rows."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
