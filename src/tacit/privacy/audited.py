"""The record of an audit: what was attacked, what was found, and when. It travels on a card.

An audit falsifies and never proves. It runs a configuration on two neighbouring inputs many times and bounds from
below how well they can be told apart; a bound above the promise refutes the promise, a bound below it refutes nothing.
How much an audit could have seen is shown by its broken twins: those it was given, and those of them it caught.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date as calendar_date
from pathlib import Path
from typing import Any

from tacit._validate import at_least, one_of, probability, whole
from tacit.errors import BadInput
from tacit.privacy.guarantee import round_up, short_delta

CONSISTENT = "consistent"
VIOLATED = "violated"
POWERLESS = "not audited with power"
VERDICTS = (CONSISTENT, VIOLATED, POWERLESS)

_LONGEST = 40  # characters of a setting that is shown


@dataclass(frozen=True)
class Difference:
    """A setting in which the form that was audited is not the one at hand."""

    setting: str
    audited: Any
    here: Any

    def __str__(self) -> str:
        return f"{self.setting} {_shown(self.audited)} (here {_shown(self.here)})"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"setting": self.setting, "audited": self.audited, "here": self.here}


@dataclass(frozen=True, kw_only=True)
class Audited:
    """One audit of one configuration, with everything needed to run it again.

    `lower_bound` rests on no assumption about the mechanism, `gaussian_lower_bound` on its being Gaussian; all bounds
    hold together with probability `confidence`.
    """

    verdict: str
    policy: str
    form: Mapping[str, Any] = field(hash=False)  # settings of the configuration that was attacked
    epsilon: float | None  # ε that was promised, at `delta`
    delta: float  # δ; 0 for pure DP
    mu: float | None  # μ that was promised, where the promise is a Gaussian curve
    lower_bound: float  # ε: the largest found, over everything that was observed
    gaussian_lower_bound: float | None  # ε; None where privacy is no Gaussian curve
    confidence: float
    runs: int  # per neighbour
    seed: int
    date: str  # ISO, such as 2026-11-16
    version: str  # of tacit
    observed: tuple[str, ...]
    twins: tuple[str, ...] = ()  # deliberately broken variants, attacked in the same way
    caught: tuple[str, ...] = ()  # those of them that were found in violation

    def __post_init__(self) -> None:
        one_of("verdict", self.verdict, VERDICTS)
        for name in ("policy", "version"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name).strip():
                raise BadInput(f"Expected {name} to be a name, got {name}={getattr(self, name)!r}.")
        object.__setattr__(self, "form", _settings("form", self.form))
        named = self.form.get("policy", self.policy)
        if named != self.policy:
            raise BadInput(f"Expected the form of {self.policy}, got that of {named!r}. Record what was attacked.")
        for name in ("epsilon", "mu", "gaussian_lower_bound"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, at_least(name, getattr(self, name), 0))
        object.__setattr__(self, "lower_bound", at_least("lower_bound", self.lower_bound, 0))
        if self.delta != 0:
            object.__setattr__(self, "delta", probability("delta", self.delta, hint="For pure DP give delta=0."))
        object.__setattr__(self, "confidence", probability("confidence", self.confidence))
        object.__setattr__(self, "runs", whole("runs", self.runs))
        object.__setattr__(self, "seed", whole("seed", self.seed, low=0))
        _check_date(self.date)
        for name in ("observed", "twins", "caught"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        for name in self.caught:
            if name not in self.twins:
                raise BadInput(f"Expected caught to be among twins={list(self.twins)}, got {name!r}.")
        if self.verdict == CONSISTENT and self.epsilon is not None and self.lower_bound > self.epsilon:
            raise BadInput(
                f"Expected verdict={VIOLATED!r} for a lower bound of {self.lower_bound:g} above the promised "
                f"epsilon={self.epsilon:g}, got verdict={self.verdict!r}."
            )

    @property
    def text(self) -> str:
        """What the card says of it."""
        found = f"epsilon >= {self.lower_bound:.4g}"
        if self.gaussian_lower_bound is not None:
            found += f" ({self.gaussian_lower_bound:.4g} on a Gaussian curve)"
        promised = "no epsilon was promised" if self.epsilon is None else f"promised was {round_up(self.epsilon, 4)}"
        at = "0" if self.delta == 0 else short_delta(self.delta)
        shown = self.verdict.upper() if self.verdict == VIOLATED else self.verdict.capitalize()
        return (
            f"{shown}: attacks on {_listed(self.observed)} showed {found} at delta = {at}; {promised}. "
            f"{self.runs:,} runs per neighbour, {self.confidence * 100:g} % confidence; {self._twins()}; {self.date}, "
            f"tacit {self.version}, seed {self.seed}."
        )

    def matches(self, settings: Mapping[str, Any]) -> bool:
        """Whether the form that was attacked has exactly these settings."""
        return not self.differences(settings)

    def differences(self, settings: Mapping[str, Any]) -> tuple[Difference, ...]:
        """The settings in which the two differ, in the order of the form."""
        here = _settings("settings", settings)
        names = [*self.form, *(name for name in here if name not in self.form)]
        pairs = ((name, self.form.get(name), here.get(name)) for name in names if name != "policy")
        found = tuple(Difference(name, then, now) for name, then, now in pairs if then != now)
        other = here.get("policy", self.policy)
        return found if other == self.policy else (Difference("policy", self.policy, other), *found)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, and for `from_dict`."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        lists = {name: list(found[name]) for name in ("observed", "twins", "caught")}
        return {**found, "form": dict(self.form), **lists}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Audited:
        """The record that `to_dict` described."""
        if not isinstance(facts, Mapping):
            raise BadInput(f"Expected the record of an audit as an object, got a {type(facts).__name__}.")
        names = {one.name for one in fields(cls)}
        missing, unknown = sorted(names - {"twins", "caught"} - set(facts)), sorted(set(facts) - names)
        if missing or unknown:
            raise BadInput(
                f"Expected the record of an audit, got one without {missing} and with {unknown}. Write it with "
                "Audited.to_dict or `tacit audit`."
            )
        return cls(**facts)

    @classmethod
    def load(cls, path: str | Path) -> Audited:
        """Read a record from a JSON file: of the record alone, or of the audit as `tacit audit` writes it."""
        try:
            facts = json.loads(Path(path).read_text("utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
            raise BadInput(f"Expected the record of an audit as JSON in {str(path)!r}, got: {problem}.") from None
        if isinstance(facts, dict) and isinstance(facts.get("record"), dict):
            facts = facts["record"]
        try:
            return cls.from_dict(facts)
        except BadInput as problem:
            raise BadInput(f"In {str(path)!r}: {problem}") from None

    def _twins(self) -> str:
        if not self.twins:
            return "no broken twin was attacked"
        return f"{len(self.caught)} of {len(self.twins)} broken twins were caught"


def _settings(name: str, value: object) -> dict[str, Any]:
    """Settings as JSON has them: a tuple and the list it becomes are the same setting."""
    if not isinstance(value, Mapping):
        raise BadInput(f"Expected {name} to be settings by name, as config.to_dict() gives them, got {value!r}.")
    try:
        found: dict[str, Any] = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError) as problem:
        raise BadInput(f"Expected {name} to be ready for JSON, got: {problem}.") from None
    return found


def _names(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) and one.strip() for one in value):
        raise BadInput(f"Expected {name} to be a list of names, got {name}={value!r}.")
    return tuple(value)


def _check_date(value: object) -> None:
    try:
        calendar_date.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise BadInput(f"Expected date as 2026-11-16, got date={value!r}.") from None


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "nothing"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
