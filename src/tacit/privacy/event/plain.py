"""Releases without noise, or without noise that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tacit.errors import BadInput
from tacit.privacy.event.fact import Event


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
