"""What takes part: a policy of some library, with its settings, and what of it can be compared."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Protocol

from benchmarks.peers.install import reason, refusals
from benchmarks.peers.worlds import Recording


class Player(Protocol):
    """Made for one recording, which it has put into its library's own form before the clock starts."""

    def choose(self, now: int) -> int:
        """The action of round `now`."""

    def learn(self, now: int, arm: int, reward: float) -> None:
        """What it paid."""


@dataclass(frozen=True)
class Contestant:
    """A row of the table."""

    library: str
    policy: str
    settings: str
    compares: str  #: what it has in common with tacit's LinUCB, and what not
    start: Callable[[Recording], Player] | None  #: None: not run, and `compares` says why

    @property
    def name(self) -> str:
        """Who it is, in one line."""
        return f"{self.library} {self.policy}, {self.settings}"


def peer(library: str, module: str) -> Any:
    """The module of a peer. `Absent` if there is none: the row then says why."""
    try:
        return importlib.import_module(module)
    except Exception as error:  # a library built against another NumPy raises whatever it likes
        why = refusals().get(library)
        failed = f"could not be imported: {type(error).__name__}: {reason(str(error))}"
        raise Absent(f"could not be installed: {why}" if why else failed) from error


def version(library: str) -> str | None:
    """The version of what is installed."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


class Absent(Exception):
    """A library that is not here, and why."""
