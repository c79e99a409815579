"""What a sweep shall run, from a TOML file: read, checked, and varied, with the place of every mistake."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit._validate import known, one_of, positive, probability, whole
from tacit.errors import BadInput, TacitError
from tacit.simulation.prediction_result import WAYS

_KEYS = ("rounds", "trials", "seeds", "delta", "epsilons", "budget", "policy", "environment")
_PROMISES = ("epsilon", "delta", "rho", "alpha")
_SEE = "docs/how-to/run-on-a-cluster.md explains the file."


@dataclass(frozen=True)
class Budget:
    """What is promised, as it was asked for: (ε, δ), ε alone, ρ, or ε at the order α."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    alpha: float | None = None

    @property
    def given(self) -> dict[str, float]:
        """What was said, by its name."""
        every = {name: getattr(self, name) for name in _PROMISES}
        return {name: value for name, value in every.items() if value is not None}

    @property
    def text(self) -> str:
        """A few characters for a label. δ is left out: it is mostly the same one everywhere."""
        return " ".join(f"{name}={value:g}" for name, value in self.given.items() if name != "delta")


@dataclass(frozen=True)
class Entry:
    """One [[policy]] or [[environment]], with one choice of what it varies."""

    place: str  #: where it stands in the file
    name: str
    label: str
    options: Mapping[str, Any]
    ways: tuple[str, ...] | None = None
    by: str = "rounds"


@dataclass(frozen=True)
class Spec:
    """A sweep as it was asked for."""

    title: str
    rounds: int
    trials: int
    seeds: tuple[int, ...]
    delta: float | None
    budgets: tuple[Budget, ...]
    policies: tuple[Entry, ...]
    environments: tuple[Entry, ...]
    folder: Path = field(default_factory=Path)  #: what paths in it are relative to
    source: bytes | None = None  #: the file as it was read


@contextmanager
def at(place: str) -> Iterator[None]:
    """Put the place before the message of whatever is refused in here."""
    try:
        yield
    except TacitError as problem:
        raise type(problem)(f"{place}: {problem}") from None


def read_spec(source: str | Path | Mapping[str, Any]) -> Spec:
    """The sweep that a TOML file describes, or a dictionary of the same shape."""
    if isinstance(source, Mapping):
        return _spec("sweep", dict(source), Path.cwd(), None)
    path = Path(source)
    if not path.is_file():
        raise BadInput(f"Expected a TOML file that describes a sweep, got {str(source)!r}, which is none. {_SEE}")
    content = path.read_bytes()
    try:
        described = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadInput(f"{path.name}: Expected TOML, got what cannot be read: {problem}.") from None
    return _spec(path.stem, described, path.resolve().parent, content)


def _spec(title: str, described: dict[str, Any], folder: Path, source: bytes | None) -> Spec:
    file = title if source is None else f"{title}.toml"
    with at(file):
        for name in described:
            known("key of a sweep", name, _KEYS, see=_SEE)
        if "rounds" not in described:
            raise BadInput("Expected rounds, such as rounds = 20_000, got none.")
        delta = None if described.get("delta") is None else probability("delta", described["delta"])
        read: dict[str, Any] = {
            "rounds": whole("rounds", described["rounds"]),
            "trials": whole("trials", described.get("trials", 10)),
            "seeds": _seeds(described.get("seeds", [0])),
            "delta": delta,
        }
    return Spec(
        title=title,
        **read,
        budgets=_budgets(file, described, delta),
        policies=_entries(file, "policy", described.get("policy")),
        environments=_entries(file, "environment", described.get("environment")),
        folder=folder,
        source=source,
    )


def _seeds(given: object) -> tuple[int, ...]:
    seeds = tuple(whole("seeds", seed, low=0) for seed in _list("seeds", given, "[1, 2]"))
    if len(set(seeds)) < len(seeds):
        raise BadInput(f"Expected every seed once, got seeds={list(seeds)}: the same seed gives the same numbers.")
    return seeds


def _budgets(file: str, described: Mapping[str, Any], delta: float | None) -> tuple[Budget, ...]:
    budgets = []
    with at(file):
        if "epsilons" in described:
            tested = [positive("epsilons", value) for value in _list("epsilons", described["epsilons"], "[0.3, 1, 3]")]
            budgets += [Budget(epsilon=value, delta=delta) for value in tested]
        tables = _tables("budget", described.get("budget", []))
    for number, table in enumerate(tables, 1):
        with at(f"{file}, [[budget]] {number}"):
            for name in table:
                known("key of a budget", name, _PROMISES, see="Give epsilon (with delta or alpha), or rho.")
            if ("epsilon" in table) == ("rho" in table) or ("rho" in table and len(table) > 1):
                raise BadInput(
                    f"Expected epsilon (with delta or alpha), or rho alone, got {', '.join(table) or 'none'}."
                )
            values = {name: positive(name, value) for name, value in table.items()}
            if "delta" in values:
                probability("delta", values["delta"])
            budgets.append(Budget(**values))
    with at(file):
        twice = [one.text for one, times in ((one, budgets.count(one)) for one in budgets) if times > 1]
        if twice:
            raise BadInput(f"Expected every budget once, got {twice[0]} more than once.")
    return tuple(budgets)


def _entries(file: str, kind: str, given: object) -> tuple[Entry, ...]:
    with at(file):
        tables = _tables(kind, given or [])
        if not tables:
            raise BadInput(f"Expected a [[{kind}]] or more, got none: there is nothing to run.")
        names = [table.get("name") for table in tables]
    found: list[Entry] = []
    for number, table in enumerate(tables, 1):
        place = f"{file}, [[{kind}]] {number}"
        with at(place):
            found += _varied(place, kind, table, alone=names.count(table.get("name")) == 1)
    for one, another in itertools.combinations(found, 2):
        if one.label == another.label:
            raise BadInput(f"{another.place}: Expected a label of its own, got {one.label!r} again. Give it a label.")
    return tuple(found)


def _varied(place: str, kind: str, table: Mapping[str, Any], *, alone: bool) -> list[Entry]:
    rest = dict(table)
    name, label, vary = rest.pop("name", None), rest.pop("label", None), rest.pop("vary", {})
    ways, by = (rest.pop("ways", None), rest.pop("by", "rounds")) if kind == "policy" else (None, "rounds")
    if not isinstance(name, str):
        raise BadInput(f'Expected a name, such as name = "{"linucb" if kind == "policy" else "sphere"}", got {name!r}.')
    if label is not None and (not isinstance(label, str) or not label.strip()):
        raise BadInput(f"Expected label to be text, got label={label!r}.")
    one_of("by", by, ("rounds", "episodes"))
    if ways is not None:
        ways = tuple(one_of("ways", way, WAYS) for way in _list("ways", ways, '["function"]'))
    if not isinstance(vary, Mapping):
        raise BadInput(f"Expected [{kind}.vary] to be a table of lists, got vary={vary!r}.")
    for option, values in vary.items():
        _list(f"vary.{option}", values, "[1, 2]")
        if option in rest:
            raise BadInput(f"Expected {option} once, got it under [{kind}.vary] too. Keep one of them.")
    stem = label or (name if alone else _named(name, rest))
    return [
        Entry(
            place,
            name,
            _named(stem, dict(zip(vary, chosen, strict=True))),
            {**_frozen(rest), **_frozen(dict(zip(vary, chosen, strict=True)))},
            ways,
            by,
        )
        for chosen in itertools.product(*vary.values())
    ]


def _named(stem: str, options: Mapping[str, Any]) -> str:
    return " ".join([stem, *(f"{key}={_word(value)}" for key, value in options.items())])


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _frozen(value: Any) -> Any:
    """Lists as tuples, as configurations have them."""
    if isinstance(value, list):
        return tuple(_frozen(part) for part in value)
    return {name: _frozen(part) for name, part in value.items()} if isinstance(value, dict) else value


def _list(name: str, given: object, example: str) -> Sequence[Any]:
    if not isinstance(given, list | tuple) or not given:
        raise BadInput(f"Expected {name} to be a list such as {name.rpartition('.')[2]} = {example}, got {given!r}.")
    return given


def _tables(name: str, given: object) -> list[Mapping[str, Any]]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in given):
        raise BadInput(f"Expected tables under [[{name}]], with two brackets, got {name}={given!r}.")
    return list(given)
