"""Cards as JSON: the schema that is shipped, and reading them back."""

from __future__ import annotations

import copy
import json
from functools import cache

import jsonschema
import pytest

from tacit.errors import BadInput
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS
from tacit.privacy import Audited, Card, Promise, card_schema

SCHEMA = card_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DIM = 4


@pytest.fixture(scope="module")
def cards() -> list[Card]:
    """The card of every example of every policy and of every learner of functions."""
    configs = [config for kind in CATALOGUE.values() for config in kind.examples(DIM)]
    configs += [config for kind in FUNCTIONS.values() for config in kind.examples()]
    return [config.card() for config in configs]


@cache
def audited_joint() -> str:
    """An audited card with settings, as JSON."""
    config = CATALOGUE["joint-linucb"](dim=3, epsilon=1.0, delta=1e-6)
    facts = json.loads(json.dumps(config.card().to_dict()))
    audited = Audited(
        verdict="consistent",
        policy="joint-linucb",
        form={**facts["settings"], "dim": 2},
        epsilon=1.0,
        delta=1e-6,
        mu=facts["mu"],
        lower_bound=0.5,
        gaussian_lower_bound=None,
        confidence=0.95,
        runs=1000,
        seed=1,
        date="2026-11-16",
        version="0.1.0",
        observed=("later actions",),
    )
    return json.dumps(Card.from_dict(facts).with_audit(audited).to_dict())


def joint(**changes) -> dict:
    return {**json.loads(audited_joint()), **changes}


def without(name: str) -> dict:
    return {key: value for key, value in joint().items() if key != name}


def test_the_schema_is_a_schema_and_closed():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["additionalProperties"] is False
    assert SCHEMA["$id"] == SCHEMA["properties"]["schema"]["const"] == "tacit-card-2"


def test_every_card_of_the_catalogue_keeps_the_schema_and_can_be_read_back(cards):
    assert {card.policy for card in cards} == {*CATALOGUE, *FUNCTIONS}
    for card in cards:
        facts = json.loads(json.dumps(card.to_dict(), allow_nan=False))
        VALIDATOR.validate(facts)
        again = Card.from_dict(facts)
        assert again.to_dict() == facts
        assert again.text() == card.text()
        assert facts["what"] or not facts["private"] or facts["mu"] == 0, card.policy  # the mechanism is named


def test_seeded_and_audited_cards_keep_the_schema_too(cards):
    VALIDATOR.validate(joint())
    assert Card.from_dict(joint()).to_dict() == joint()
    seeded = CATALOGUE["joint-linucb"](dim=3, epsilon=1.0, delta=1e-6).card(seeded=True)
    VALIDATOR.validate(seeded.to_dict())
    assert Card.from_dict(seeded.to_dict()) == seeded


AUDIT = joint()["audit"]
BROKEN = {
    "without a schema": without("schema"),
    "of another schema": joint(schema="tacit-card-1"),
    "without who is protected from whom": without("protected_from"),
    "with an unknown key": joint(colour="green"),
    "with a negative mu": joint(mu=-1.0),
    "with mu as a word": joint(mu="small"),
    "with an unknown trust": joint(trust="blind"),
    "private without a trust model": joint(trust="none"),
    "with neither mu nor theorem": joint(mu=None),
    "with mu and theorem": joint(by_theorem={"epsilon": 1.0, "delta": 0.0, "source": "t"}),
    "with a delta of one": joint(delta=1.0),
    "with another unit": joint(unit="some people"),
    "without a contribution bound": joint(contribution_bound=None),
    "with a claim of no kind": joint(claimed={"sigma": 1.0}),
    "with a claim nobody judged": joint(keeps_its_claim=None),
    "with too few deltas": joint(epsilon_at=joint()["epsilon_at"][:2]),
    "seeded without a warning": joint(seeded=True),
    "with a warning but no seed": joint(warning="seeded"),
    "of no privacy that claims some": joint(private=False),
    "with an unknown verdict": joint(audit={**AUDIT, "verdict": "proved"}),
    "with an audit of no date": joint(audit={**AUDIT, "date": "yesterday"}),
    "with differences but no audit": joint(audit=None),
    "with a noise scale of zero": joint(noise_scale=0.0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_schema_rejects_a_card(name):
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(BROKEN[name])


@pytest.mark.parametrize("name", BROKEN)
def test_reading_refuses_a_card(name):
    with pytest.raises(BadInput):
        Card.from_dict(BROKEN[name])


def halve(facts: dict, *path) -> dict:
    """The card with one number halved."""
    changed = copy.deepcopy(facts)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = at[path[-1]] / 2
    return changed


@pytest.mark.parametrize(
    "path",
    [("mu",), ("rho",), ("true_epsilon",), ("delta",), *((("epsilon_at", place, "epsilon")) for place in range(4))],
    ids=str,
)
def test_a_card_whose_numbers_disagree_was_edited(path):
    edited = halve(joint(), *path)
    with pytest.raises(BadInput, match="The card was edited"):
        Card.from_dict(edited)


@pytest.mark.parametrize(
    "changes",
    [
        {"keeps_its_claim": False},
        {"claimed": {"epsilon": 0.5, "delta": 1e-6}},
        {"contribution_bound": 3},
        {"unit": "one person with at most 3 rounds"},
        {"audit_differences": []},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_card_whose_words_disagree_with_its_numbers_was_edited(changes):
    with pytest.raises(BadInput, match="The card was edited"):
        Card.from_dict(joint(**changes))


def test_a_published_card_cannot_be_told_better_than_it_is():
    config = CATALOGUE["online-linucb"](dim=3, epsilon=10.0, delta=0.1, calibration="published")
    facts = config.card().to_dict()
    assert facts["published"]["kept"] is facts["keeps_its_claim"] is False
    assert facts["published"]["epsilon"] == pytest.approx(26.95, abs=0.01)
    better = {**facts["published"], "kept": True}
    with pytest.raises(BadInput, match="The card was edited"):
        Card.from_dict({**facts, "published": better})


def test_claims_of_every_currency_are_read_back(cards):
    kinds = {type(card.claimed) for card in cards}
    assert Promise in kinds
    assert len(kinds) == 5, "four currencies, and none"
    for card in cards:
        assert Card.from_dict(card.to_dict()).claimed == card.claimed


def test_files_are_named_in_errors(tmp_path):
    path = tmp_path / "card.json"
    with pytest.raises(BadInput, match=r"as JSON in .*card\.json.*tacit privacy POLICY --json"):
        Card.load(path)
    path.write_text(json.dumps(joint(trust="blind")), "utf-8")
    with pytest.raises(BadInput, match=r"In .*card\.json.*trust='blind'"):
        Card.load(path)
    path.write_text("3", "utf-8")
    with pytest.raises(BadInput, match="got a int"):
        Card.load(path)
