"""What every environment can do."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit._types import Floats
from tacit._validate import known
from tacit.core.slate import Slate
from tacit.noise import Stream


@dataclass(frozen=True)
class World:
    """An environment at work in one trial: what `show` and `pay` dispatch on, and the truth only the simulator sees."""

    params: Any
    slate: Slate
    means: Floats  # (arms,) mean rewards of the actions on the slate
    theta: Floats  # (dim,) the parameter to be learned


@dataclass(frozen=True, kw_only=True)
class Environment(ABC):
    """An environment's configuration: immutable, printable, serialisable."""

    slug: ClassVar[str]
    summary: ClassVar[str]

    @property
    @abstractmethod
    def features(self) -> int:
        """d: the length of an action."""

    @abstractmethod
    def start(self, stream: Stream) -> World:
        """Draw what stays the same over one trial."""

    def to_dict(self) -> dict[str, Any]:
        """The settings under their own names, with the environment's slug."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"environment": self.slug, **settings}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """The configuration that `to_dict` described. Unknown settings are refused by name."""
        names = [field.name for field in dataclasses.fields(cls)]
        given = {name: value for name, value in settings.items() if name != "environment"}
        for name in given:
            known(f"option of {cls.slug}", name, names, see=f"`tacit environments {cls.slug}` lists them.")
        return cls(**given)
