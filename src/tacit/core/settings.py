"""Options with a name on the command line, which travel as a dictionary."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit._validate import known


def option(text: str, default: Any = dataclasses.MISSING) -> Any:
    """A field of a configuration, with the sentence that documents it on the command line."""
    return dataclasses.field(default=default, metadata={"help": text})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """An immutable, printable, serialisable configuration of something that has a slug."""

    kind: ClassVar[str]  #: what it configures: "policy" or "environment"
    slug: ClassVar[str]
    summary: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The settings under their own names, with the slug under its kind: ready for JSON, and for `from_dict`."""
        return {self.kind: self.slug, **self.options()}

    def options(self) -> dict[str, Any]:
        """The settings under their own names, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """The configuration that `to_dict` described. Unknown settings are refused by name."""
        names = [field.name for field in dataclasses.fields(cls)]
        given = {name: value for name, value in settings.items() if name != cls.kind}
        for name in given:
            known(f"option of {cls.slug}", name, names, see=f"The options of {cls.slug}: {', '.join(names)}.")
        return cls(**given)
