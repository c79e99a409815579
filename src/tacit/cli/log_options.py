"""How the columns of a log are named on the command line: the same words wherever a log is read."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.options import whole_number
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.replaying import Log

#: Name, what stands for its value, and what it says.
_FLAGS = (
    ("action", "COLUMN", "what was done"),
    ("reward", "COLUMN", "what it earned"),
    ("propensity", "COLUMN|uniform", "how likely it was"),
    ("features", "A,B", "columns of the context (default: x_…, user_feature_…)"),
    ("low", "NUMBER|A=0,B=0", "declared lower bounds of features"),
    ("high", "NUMBER|A=1,B=1", "declared upper bounds of features"),
    ("buckets", "N", "indicators per column of words"),
    ("arms", "N", "how many actions there are (default: those in the log)"),
    ("items", "FILE", "item_id and item_feature_…: public facts of actions"),
    ("model", "per-arm|shared|hybrid", "how context and action come together"),
    ("position", "N", "keep the rows of one position"),
    ("person", "COLUMN", "who it was, where people come back"),
)

#: The flags by name.
NAMES = tuple(name for name, _, _ in _FLAGS)


def add_log_flags(sub: argparse.ArgumentParser) -> None:
    """The flags as arguments of a command. Their values stay text: `read_log_as` reads them."""
    for name, stands_for, text in _FLAGS:
        # `action` is taken: it is what a command does.
        sub.add_argument(f"--{name}", dest=f"log_{name}", metavar=stands_for, help=text)


def log_flags(parsed: argparse.Namespace) -> dict[str, str]:
    """What was given of them."""
    given = {name: getattr(parsed, f"log_{name}") for name in NAMES}
    return {name: text for name, text in given.items() if text is not None}


def read_log_as(path: Path, given: Mapping[str, str]) -> Log:
    """The log in a file, with its columns named as on the command line."""
    from tacit.replaying import read_log

    options: dict[str, Any] = dict(given)
    if "features" in given:
        options["features"] = [word for word in given["features"].split(",") if word]
    for name in ("low", "high"):
        if name in given:
            options[name] = _bound(name, given[name])
    for name in ("buckets", "arms", "position"):
        if name in given:
            options[name] = _count(name, given[name])
    return read_log(path, **options)


def _count(name: str, text: str) -> int:
    try:
        return whole_number(text)
    except argparse.ArgumentTypeError as problem:
        raise BadInput(f"argument --{name}: {problem}.") from None


def _bound(name: str, text: str) -> float | dict[str, float]:
    """One number for all columns, or `age=0,income=0`."""
    try:
        if "=" not in text:
            return float(text)
        pairs = (pair.split("=", 1) for pair in text.split(",") if pair)
        return {column.strip(): float(value) for column, value in pairs}
    except ValueError:
        raise BadInput(f"Expected --{name} to be a number, or age=0,income=0 by column, got {text!r}.") from None
