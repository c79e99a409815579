"""Options of policies and environments: from the words on the command line to a configuration."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._validate import known
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.core.policy import Policy
    from tacit.environments import Environment


def whole_number(text: str) -> int:
    """A whole number, also as 1e6 or 1_000_000."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        whole = int(number)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None
    if whole != number:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
    return whole


class Once(argparse.Action):
    """An option with two names: the second of two answers would silently win."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        mark = f"{self.dest}_given"
        names, given = " or ".join(self.option_strings), getattr(namespace, mark, None)
        if given is not None and given != values:
            what = "folder" if self.metavar == "DIR" else self.metavar
            raise argparse.ArgumentError(self, f"expected one {what} by {names}, got {given} and {values}")
        setattr(namespace, mark, values)
        setattr(namespace, self.dest, values)


def report_folder(text: str | Path) -> Path:
    """A folder for a report, there or not yet, that can be written to: better said before a long run than after it."""
    path = Path(text)
    # The first of it and its parents that is there: everything below it will be made.
    there = next((one for one in (path, *path.parents) if os.path.lexists(one)), Path())
    if not there.is_dir():
        raise BadInput(f"Expected a folder for the report, got the file {str(there)!r}. Give another name.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(f"Expected a folder that can be written to, got {str(there)!r}. Give another.")
    return path


def read_settings(rest: Sequence[str], sets: Sequence[str]) -> dict[str, str]:
    """`--key value`, `--key=value`, `--flag` and `--set key=value`, as written."""
    settings: dict[str, str] = {}
    words = list(rest)
    while words:
        word = words.pop(0)
        if not word.startswith("--") or len(word) == 2:
            raise BadInput(f"Expected an option like --epsilon 1, got {word!r}.")
        key, equals, value = word[2:].partition("=")
        if not equals:
            value = words.pop(0) if words and not words[0].startswith("--") else "true"
        settings[key.replace("-", "_")] = value
    for pair in sets:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"Expected --set KEY=VALUE, got --set {pair!r}.")
        settings[key.strip().replace("-", "_")] = value.strip()
    return settings


def read_value(name: str, annotation: str, text: str) -> Any:
    """Read an option's text as its type says."""
    kinds = [kind.strip() for kind in annotation.split("|")]
    if text.lower() == "none" and "None" in kinds:
        return None
    if "Prior" in annotation:
        from tacit.estimators.prior import Prior

        # A public warm start is too long for a command line: the text is the file that holds it.
        return Prior.load(text)
    if annotation.startswith("tuple[float"):
        # Semicolons too: in `compare` a comma starts the next option.
        try:
            return tuple(float(word) for word in text.replace(";", ",").split(",") if word.strip())
        except ValueError:
            raise BadInput(f"Expected {name} to be numbers like 0.5,0.5, got {name}={text!r}.") from None
    if "bool" in kinds:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() in words:
            return words[text.lower()]
        raise BadInput(f"Expected {name} to be true or false, got {name}={text!r}.")
    readers: tuple[tuple[str, Callable[[str], Any], str], ...] = (
        ("int", whole_number, "a whole number"),
        ("float", float, "a number"),
    )
    for kind, reader, words_for in readers:
        if kind in kinds:
            try:
                return reader(text)
            except (ValueError, argparse.ArgumentTypeError):
                if "str" not in kinds:
                    raise BadInput(f"Expected {name} to be {words_for}, got {name}={text!r}.") from None
    return text


def fields(kind: type) -> dict[str, dataclasses.Field[Any]]:
    """The options of a configuration by name."""
    return {field.name: field for field in dataclasses.fields(kind)}


def typed(kind: Any, settings: Mapping[str, str]) -> dict[str, Any]:
    """The settings that a configuration knows, read as its options say."""
    known_fields = fields(kind)
    return {
        name: read_value(name, str(known_fields[name].type), text)
        for name, text in settings.items()
        if name in known_fields
    }


def build(
    kind: Any,
    settings: Mapping[str, str],
    required_hint: str,
    *,
    make: Callable[[Any, dict[str, Any]], Any] | None = None,
    **defaults: Any,
) -> Any:
    """Make a configuration of the settings it knows, and of `defaults` where it was given none. `make` is who makes it
    where a horizon that was not given follows from a run."""
    values = {**defaults, **typed(kind, settings)}
    for name, field in fields(kind).items():
        if field.default is dataclasses.MISSING and name not in values and not (make and name == "horizon"):
            raise BadInput(f"Expected --{name.replace('_', '-')}, got none. {required_hint}")
    return kind(**values) if make is None else make(kind, values)


def refuse_unknown(settings: dict[str, str], *kinds: type[Policy] | type[Environment]) -> None:
    """An option that none of these has is an error, with the nearest names offered."""
    names = {name for kind in kinds for name in fields(kind)}
    for name in settings:
        where = " or ".join(dict.fromkeys(kind.slug for kind in kinds))
        flags = {f"--{option.replace('_', '-')}" for option in names}
        known(
            f"option of {where}",
            f"--{name.replace('_', '-')}",
            flags,
            see=f"`tacit policies {kinds[0].slug}` lists them.",
        )


def files(paths: Sequence[Path]) -> dict[str, list[str]]:
    """What was written, for JSON; nothing where nothing was."""
    return {"files": [str(path) for path in paths]} if paths else {}


def print_json(facts: object) -> None:
    """One object, standard JSON: no NaN, no infinities."""
    print(json.dumps(facts, indent=2, allow_nan=False, ensure_ascii=False))
