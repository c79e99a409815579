"""A card out of its JSON, checked against itself.

Few numbers on a card are facts: the guarantee, the claim, the noise. All others follow from them. Reading a card works
them out again and refuses one that says otherwise, since somebody edited it. A card is not signed: whoever edits all of
its numbers alike is believed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from tacit.errors import BadInput
from tacit.privacy.audited import Audited
from tacit.privacy.card.paths import SpendingPath
from tacit.privacy.card.record import SCHEMA, Card
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Bill, Left
from tacit.privacy.promise import AnyPromise, ConcentratedPromise, Promise, PurePromise, RenyiPromise
from tacit.privacy.scope import Neighbours, Protects, Trust, Unit
from tacit.privacy.theorem import Theorem

_ALIKE = 1e-9
"""Relative room for numbers that another machine worked out."""

_DERIVED = (
    "private",
    "mu",
    "trust",
    "protects",
    "neighbours",
    "unit",
    "keeps_its_claim",
    "true_epsilon",
    "delta",
    "rho",
    "epsilon_at",
    "contribution_bound",
    "published",
    "paths",
    "audit_differences",
    "not_covered",
    "warning",
)
_OPTIONAL = {"by_theorem", "warning", "settings"}
_CLAIMS: dict[frozenset[str], type[Promise | RenyiPromise | ConcentratedPromise]] = {
    frozenset({"epsilon", "delta"}): Promise,
    frozenset({"alpha", "epsilon", "rho"}): RenyiPromise,
    frozenset({"rho"}): ConcentratedPromise,
}
_PERSON = re.compile(r"one person with at most ([1-9][0-9]*) rounds?")


def read(facts: Mapping[str, Any]) -> Card:
    """The card that `Card.to_dict` described."""
    if not isinstance(facts, Mapping):
        raise BadInput(f"Expected a privacy card as an object, got a {type(facts).__name__}.")
    if facts.get("schema") != SCHEMA:
        raise BadInput(
            f"Expected a privacy card with schema={SCHEMA!r}, got schema={facts.get('schema')!r}. Write it again with "
            "`tacit privacy POLICY --json`."
        )
    _check_keys(facts)
    for name in ("noise_scales", "settings"):
        if name in facts and not isinstance(facts[name], Mapping):
            raise BadInput(f"Expected {name} to be an object, got {name}={facts[name]!r}.")
    card = Card(
        policy=facts["policy"],
        calibration=facts["calibration"],
        guarantee=_guarantee(facts, facts.get("by_theorem")),
        claimed=_claimed(facts["claimed"]),
        noise_scale=facts["noise_scale"],
        noise_scales=facts["noise_scales"],
        events=facts["events"],
        assumptions=facts["assumptions"],
        notes=facts["notes"],
        what=facts["what"],
        settings=facts.get("settings"),
        audit=None if facts["audit"] is None else Audited.from_dict(facts["audit"]),
        version=facts["version"],
        excluded=facts["not_covered"],  # what follows from the rest of the card is not listed twice
        paths=tuple(_path(stated, facts) for stated in _objects("paths", facts["paths"], _PATH)),
        spent=None if facts["spent"] is None else _bill(facts["spent"]),
    )
    again = card.to_dict()
    for name in _DERIVED:
        if not _alike(again.get(name), facts.get(name)):
            raise BadInput(
                f"Expected {name}={again.get(name)!r}, which follows from the rest of the card, got "
                f"{facts.get(name)!r}. The card was edited: print it again with `tacit privacy POLICY --json`."
            )
    return card


_KEYS = set(Card("any", "any", Guarantee.none()).to_dict())


def _check_keys(facts: Mapping[str, Any]) -> None:
    missing, unknown = sorted(_KEYS - set(facts)), sorted(set(facts) - _KEYS - _OPTIONAL)
    if missing or unknown:
        raise BadInput(f"Expected the facts of a card, got one without {missing} and with {unknown}.")


def _guarantee(facts: Mapping[str, Any], stated: object) -> Guarantee:
    theorem = None if stated is None else _theorem(stated)
    mu = math.inf if theorem is None and facts["mu"] is None else facts["mu"]
    if facts["trust"] == Trust.NONE:
        return Guarantee.none()
    return Guarantee(
        _word("trust", facts["trust"], Trust),
        _word("protects", facts["protects"], Protects),
        _word("neighbours", facts["neighbours"], Neighbours),
        _unit(facts["unit"]),
        mu,
        facts["delta"],
        facts["seeded"],
        theorem,
    )


_PATH = {"path", "asked", "epsilon", "delta", "mu", "epsilon_at", "in_words", "by_theorem"}


def _path(stated: Mapping[str, Any], facts: Mapping[str, Any]) -> SpendingPath:
    """The path; whom it protects, and from whom, stands on the card."""
    own = {**facts, "mu": stated["mu"], "delta": stated["delta"]}
    return SpendingPath(stated["path"], stated["asked"], _guarantee(own, stated["by_theorem"]))


def _bill(stated: object) -> Bill:
    (found,) = _objects("spent", [stated], {"events", "epsilon", "delta", "left"})
    (left,) = _objects("left", [found["left"]], {"epsilon", "mu"})
    return Bill(found["events"], found["epsilon"], found["delta"], Left(left["epsilon"], left["mu"]))


def _objects(name: str, stated: object, keys: set[str]) -> list[Mapping[str, Any]]:
    """A list of objects with just these keys."""
    listed = stated if isinstance(stated, list | tuple) else [stated]
    for one in listed:
        if not isinstance(one, Mapping) or set(one) != keys:
            raise BadInput(f"Expected {name} with {sorted(keys)}, got {one!r}.")
    return list(listed)


def _word(name: str, value: object, kind: Any) -> Any:
    listed = [word.value for word in kind]
    if value not in listed:
        raise BadInput(f"Expected {name} to be one of {listed}, got {name}={value!r}.")
    return kind(value)


def _theorem(stated: object) -> Theorem:
    if not isinstance(stated, Mapping) or set(stated) != {"epsilon", "delta", "source"}:
        raise BadInput(f"Expected by_theorem with epsilon, delta and source, got by_theorem={stated!r}.")
    return Theorem(**stated)


def _unit(text: object) -> Unit:
    if text == str(Unit.round()):
        return Unit.round()
    found = _PERSON.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise BadInput(f"Expected unit to be 'one round' or 'one person with at most k rounds', got unit={text!r}.")
    return Unit.person(int(found[1]))


def _claimed(stated: object) -> AnyPromise | None:
    if stated is None:
        return None
    kind = _CLAIMS.get(frozenset(stated)) if isinstance(stated, Mapping) else None
    if kind is None or not isinstance(stated, Mapping):
        raise BadInput(f"Expected claimed with epsilon and delta, alpha and epsilon, or rho, got claimed={stated!r}.")
    if kind is Promise and stated["delta"] == 0:
        return PurePromise(stated["epsilon"])
    if kind is RenyiPromise:
        found = RenyiPromise(stated["alpha"], stated["epsilon"])
        if not _alike(found.rho, stated["rho"]):
            raise BadInput(f"Expected claimed rho={found.rho!r}, epsilon over alpha, got rho={stated['rho']!r}.")
        return found
    return kind(**stated)


def _alike(one: object, other: object) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return set(one) == set(other) and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_ALIKE)
    return one == other
