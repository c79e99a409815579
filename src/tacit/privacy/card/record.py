"""The facts of a card. Everything that can be derived from the guarantee is, so that the two cannot disagree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tacit._validate import positive
from tacit._version import __version__
from tacit.errors import BadInput
from tacit.privacy.audited import Audited, Difference
from tacit.privacy.card import words
from tacit.privacy.card.paths import SpendingPath, check_paths
from tacit.privacy.event import Event
from tacit.privacy.guarantee import SEEDED, Guarantee, finite_or_none
from tacit.privacy.ledger import Bill
from tacit.privacy.promise import AnyPromise
from tacit.privacy.scope import Trust

SCHEMA = "tacit-card-2"
DELTAS = (1e-3, 1e-5, 1e-6, 1e-9)

NOT_COVERED = (
    "Timing: how long a decision takes, and when people come.",
    "Side channels: logs, memory, crash dumps and anything else that is not an output of the policy.",
)
OWN_ACTION = "The person's own action: it may depend on that person's own context."


@dataclass(frozen=True)
class Card:
    """Everything that is claimed about one policy, and what the accountant makes of it.

    μ and the true ε are always derived from the guarantee, so the card cannot disagree with it. `claimed` is what was
    asked for or what a publication states; where the two differ, the true value is printed first. `events` are events,
    whose mechanisms are then named, or sentences about them. Where there are several ways of asking, `paths` has what
    each costs, and a guarantee that one of them breaks is refused.
    """

    policy: str
    calibration: str
    guarantee: Guarantee
    claimed: AnyPromise | None = None
    noise_scale: float | None = None
    noise_scales: Mapping[str, float] = field(default_factory=dict, hash=False)
    events: Sequence[str | Event] = ()  # kept as sentences
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    what: tuple[str, ...] = ()  #: the mechanisms, by name
    settings: Mapping[str, Any] | None = field(default=None, hash=False)  #: of the configuration: `config.to_dict()`
    audit: Audited | None = None
    version: str = __version__  #: of the program that made the card
    excluded: tuple[str, ...] = ()  #: what is not covered of whatever the policy is put to work in, such as a service
    paths: tuple[SpendingPath, ...] = ()  #: ways of asking; `guarantee` holds whichever is taken
    spent: Bill | None = None  #: of a learner at work that spends when it is asked

    def __post_init__(self) -> None:
        for name, kind in (("policy", str), ("calibration", str), ("guarantee", Guarantee), ("version", str)):
            if not isinstance(getattr(self, name), kind):
                raise BadInput(f"Expected {name} to be a {kind.__name__}, got {name}={getattr(self, name)!r}.")
        if self.claimed is not None:
            if not isinstance(self.claimed, AnyPromise):
                raise BadInput(f"Expected claimed to be a promise or None, got claimed={self.claimed!r}.")
            if not self.guarantee.private:
                raise BadInput(
                    f"Expected no claim for a policy without a guarantee, got claimed={self.claimed!r}. "
                    "Leave claimed out."
                )
        if self.noise_scale is not None:
            object.__setattr__(self, "noise_scale", positive("noise_scale", self.noise_scale))
        scales = {str(name): positive(f"noise_scales[{name!r}]", scale) for name, scale in self.noise_scales.items()}
        object.__setattr__(self, "noise_scales", scales)
        for name in ("assumptions", "notes", "what", "excluded"):
            object.__setattr__(self, name, _lines(name, getattr(self, name)))
        named = words.mechanism_names(event for event in _listed("events", self.events) if isinstance(event, Event))
        object.__setattr__(self, "what", tuple(dict.fromkeys((*self.what, *named))))
        object.__setattr__(self, "events", _lines("events", self.releases))
        if self.settings is not None and not isinstance(self.settings, Mapping):
            raise BadInput(f"Expected settings by name, as config.to_dict() gives them, got {self.settings!r}.")
        own = replace(self, excluded=(), audit=None).not_covered if self.excluded else ()
        object.__setattr__(self, "excluded", tuple(one for one in self.excluded if one not in own))
        if self.audit is not None:
            self._check_audit(self.audit)
        check_paths(self.paths, self.guarantee, self.deltas)

    @property
    def releases(self) -> tuple[str, ...]:
        """The events, as sentences."""
        return tuple(event.describe() if isinstance(event, Event) else event for event in self.events)

    @property
    def mu(self) -> float | None:
        return self.guarantee.mu if self.guarantee.private else None

    @property
    def delta(self) -> float | None:
        """Where the card reads the curve: the δ of the claim, else the guarantee's own."""
        claimed = None if self.claimed is None else self.claimed.delta
        return self.guarantee.delta if claimed is None else claimed

    @property
    def deltas(self) -> list[float]:
        """The δ at which ε is shown, the largest first."""
        own = [] if self.delta is None else [self.delta]
        return sorted({*DELTAS, *own}, reverse=True)

    @property
    def true_epsilon(self) -> float | None:
        """ε accounted afresh at `delta`; None without privacy, without a δ, or where a theorem gives only a bound."""
        if self.delta is None or self.mu is None:
            return None
        return self.guarantee.epsilon_at(self.delta)

    @property
    def keeps_its_claim(self) -> bool | None:
        """Whether what is accounted, or the theorem's bound, keeps what is claimed; None if nothing is claimed."""
        return None if self.claimed is None else self.claimed.kept(self.guarantee)

    @property
    def published(self) -> words.Published | None:
        """What was claimed for published constants against what they give; None for every other calibration."""
        if self.calibration != "published" or self.claimed is None or self.delta is None:
            return None
        return words.Published(self.claimed, self.guarantee, self.delta)

    @property
    def contribution_bound(self) -> int | None:
        """Rounds of one unit that are learned from at most; None without privacy."""
        return (self.guarantee.unit.rounds or 1) if self.guarantee.private else None

    @property
    def protected_from(self) -> str:
        """Who may see what, and whom one must trust."""
        return words.protected_from(self.guarantee)

    @property
    def in_words(self) -> str | None:
        """The promise as what an attacker can do; None without privacy."""
        return words.detection(self.guarantee) if self.guarantee.private else None

    @property
    def adaptivity(self) -> str:
        """Whether it holds for data that is chosen after seeing releases."""
        return words.adaptivity(self.guarantee)

    @property
    def floating_point(self) -> str | None:
        """What is to be known about the numbers the noise is made of; None without privacy."""
        noised = self.noise_scale is not None
        return words.floating_point(self.sampler, noised) if self.guarantee.private else None

    @property
    def sampler(self) -> str:
        """How noise is drawn: "secure", or "double", which is for simulation; that, too, where it is not known."""
        return str((self.settings or {}).get("sampler", "double"))

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the promise says nothing about."""
        joint, inexact = self.guarantee.trust is Trust.JOINT, self.floating_point == words.SIMULATION
        own = (*NOT_COVERED, *([OWN_ACTION] if joint else []), *([words.SIMULATION] if inexact else []))
        return tuple(dict.fromkeys((*own, *self.excluded)))

    @property
    def audit_differences(self) -> tuple[Difference, ...] | None:
        """Settings in which the audited form is not this one; None without an audit or without known settings."""
        if self.audit is None or self.settings is None:
            return None
        return self.audit.differences(self.settings)

    def with_audit(self, audited: Audited) -> Card:
        """The same card with the record of an audit of this policy, in this form or in a smaller one."""
        if not isinstance(audited, Audited):
            raise BadInput(f"Expected the record of an audit, got a {type(audited).__name__}. Use Audited.load(path).")
        return replace(self, audit=audited)

    def to_dict(self) -> dict[str, Any]:
        """Ready for standard JSON: no NaN, no infinity. `card_schema()` describes it, `from_dict` reads it back."""
        guarantee, differences = self.guarantee, self.audit_differences
        facts: dict[str, Any] = {
            "schema": SCHEMA,
            "version": self.version,
            "policy": self.policy,
            "calibration": self.calibration,
            "private": guarantee.private,
            "claimed": None if self.claimed is None else self.claimed.to_dict(),
            "keeps_its_claim": self.keeps_its_claim,
            "true_epsilon": finite_or_none(self.true_epsilon),
            "delta": self.delta,
            "mu": self.mu,
            "rho": finite_or_none(guarantee.rho),
            "epsilon_at": [
                {"delta": delta, "epsilon": finite_or_none(guarantee.epsilon_at(delta))} for delta in self.deltas
            ],
            "published": None if self.published is None else self.published.to_dict(),
            "paths": [path.to_dict(self.deltas) for path in self.paths],
            "spent": None if self.spent is None else self.spent.to_dict(),
            "trust": guarantee.trust.value,
            "protects": guarantee.protects.value,
            "protected_from": self.protected_from,
            "neighbours": guarantee.neighbours.value,
            "unit": str(guarantee.unit),
            "contribution_bound": self.contribution_bound,
            "in_words": self.in_words,
            "what": list(self.what),
            "noise_scale": self.noise_scale,
            "noise_scales": dict(self.noise_scales),
            "events": list(self.releases),
            "adaptivity": self.adaptivity,
            "floating_point": self.floating_point,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "not_covered": list(self.not_covered),
            "audit": None if self.audit is None else self.audit.to_dict(),
            "audit_differences": None if differences is None else [one.to_dict() for one in differences],
            "seeded": guarantee.seeded,
        }
        if guarantee.theorem is not None:
            facts["by_theorem"] = guarantee.theorem.to_dict()
        if guarantee.seeded:
            facts["warning"] = SEEDED
        if self.settings is not None:
            facts["settings"] = dict(self.settings)
        return facts

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Card:
        """The card that `to_dict` described. One whose numbers disagree with each other is refused."""
        from tacit.privacy.card.reading import read

        return read(facts)

    @classmethod
    def load(cls, path: str | Path) -> Card:
        """Read a card from a JSON file, such as `tacit privacy POLICY --json` or `tacit deployments show NAME --json`
        prints: the service's answers hold it as their card."""
        try:
            facts = json.loads(Path(path).read_text("utf-8"))
            while isinstance(facts, dict) and "schema" not in facts and isinstance(facts.get("card"), dict):
                facts = facts["card"]
        except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as problem:
            raise BadInput(
                f"Expected a privacy card as JSON in {str(path)!r}, got: {problem}. Write one with `tacit privacy "
                "POLICY --json`."
            ) from None
        try:
            return cls.from_dict(facts)
        except BadInput as problem:
            raise BadInput(f"In {str(path)!r}: {problem}") from None

    def text(self) -> str:
        """Plain text, at most 100 columns wide."""
        from tacit.privacy.card.text import text_of

        return text_of(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from tacit.privacy.notebook import card_html

        return card_html(self)

    def _check_audit(self, audited: Audited) -> None:
        if audited.policy != self.policy:
            raise BadInput(
                f"Expected an audit of {self.policy}, got one of {audited.policy}. An audit says nothing about another "
                "policy."
            )


def _lines(name: str, value: object) -> tuple[str, ...]:
    lines = _listed(name, value)
    for line in lines:
        if not isinstance(line, str):
            raise BadInput(f"Expected {name} to hold sentences, got {line!r} among them.")
    return lines


def _listed(name: str, value: object) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadInput(f"Expected {name} to be a list of sentences, got {name}={value!r}.")
    return tuple(value)
