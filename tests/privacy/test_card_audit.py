"""The record of an audit, and what a card says of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tacit.errors import BadInput
from tacit.privacy import Audited, Card, GaussianEvent, Guarantee, Promise, Protects, Trust, Unit, calibrate

PROMISE = Promise(1.0, 1e-5)
FORM = {"policy": "joint-linucb", "dim": 2, "horizon": 8, "window": None, "constants": (0.5, 0.5)}
FACTS = {
    "verdict": "consistent",
    "policy": "joint-linucb",
    "form": FORM,
    "epsilon": 1.0,
    "delta": 1e-5,
    "mu": 0.268,
    "lower_bound": 0.686,
    "gaussian_lower_bound": 0.989,
    "confidence": 0.95,
    "runs": 1_000_000,
    "seed": 7,
    "date": "2026-11-16",
    "version": "0.1.0",
    "observed": ("released statistics", "later actions"),
    "twins": ("half the noise", "noise redrawn"),
    "caught": ("noise redrawn",),
}
AUDITED = Audited(**FACTS)


def card(**settings) -> Card:
    event = GaussianEvent(calibrate(PROMISE, lambda scale: GaussianEvent(scale, 1.0)), 1.0)
    guarantee = Guarantee.priced(
        event, trust=Trust.JOINT, protects=Protects.EVERYTHING, unit=Unit.round(), delta=PROMISE.delta
    )
    return Card("joint-linucb", "exact", guarantee, PROMISE, events=[event], settings=settings or None)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_record_travels_as_json(tmp_path):
    facts = json.loads(json.dumps(AUDITED.to_dict(), allow_nan=False))
    assert Audited.from_dict(facts) == AUDITED
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(facts), "utf-8")
    assert Audited.load(path) == AUDITED
    path.write_text(json.dumps({"record": facts, "findings": []}), "utf-8")  # as `tacit audit` writes it
    assert Audited.load(path) == AUDITED
    assert isinstance(hash(AUDITED), int)


def test_a_record_says_what_was_found_how_and_when():
    for words in (
        "Consistent: attacks on released statistics and later actions showed epsilon >= 0.686",
        "(0.989 on a Gaussian curve) at delta = 1e-05; promised was 1.000.",
        "1,000,000 runs per neighbour, 95 % confidence; 1 of 2 broken twins were caught",
        "2026-11-16, tacit 0.1.0, seed 7.",
    ):
        assert words in AUDITED.text, words
    violated = replace(AUDITED, verdict="violated", lower_bound=1.5, gaussian_lower_bound=None, twins=(), caught=())
    assert violated.text.startswith("VIOLATED: ")
    assert "Gaussian" not in violated.text
    assert "no broken twin was attacked" in violated.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": "proved"}, "Expected verdict to be one of 'consistent', 'violated', 'not audited with power'"),
        ({"lower_bound": 1.5}, "Expected verdict='violated' for a lower bound of 1.5 above the promised epsilon=1"),
        ({"lower_bound": -1.0}, "Expected lower_bound >= 0"),
        ({"policy": ""}, "Expected policy to be a name"),
        ({"policy": "local-linucb"}, "Expected the form of local-linucb, got that of 'joint-linucb'"),
        ({"form": ["dim"]}, "Expected form to be settings by name"),
        ({"form": {"dim": object()}}, "Expected form to be ready for JSON"),
        ({"delta": 1.0}, "Expected 0 < delta < 1"),
        ({"confidence": 95}, "Expected 0 < confidence < 1"),
        ({"runs": 0}, "Expected runs >= 1"),
        ({"seed": -1}, "Expected seed >= 0"),
        ({"date": "yesterday"}, "Expected date as 2026-11-16"),
        ({"date": 20261116}, "Expected date as 2026-11-16"),
        ({"observed": "actions"}, "Expected observed to be a list of names"),
        ({"caught": ("clipping off",)}, "Expected caught to be among twins"),
    ],
)
def test_a_record_that_cannot_be_is_refused(changes, words):
    with pytest.raises(BadInput, match=words):
        Audited(**{**FACTS, **changes})


def test_a_file_that_is_no_record_is_refused_by_what_is_wrong(tmp_path):
    path = tmp_path / "audit.json"
    with pytest.raises(BadInput, match=r"as JSON in .*audit\.json"):
        Audited.load(path)
    facts = AUDITED.to_dict()
    path.write_text(json.dumps({**facts, "verdict": "fine"}), "utf-8")
    with pytest.raises(BadInput, match=r"In .*audit\.json.*Expected verdict"):
        Audited.load(path)
    del facts["seed"]
    path.write_text(json.dumps({**facts, "colour": 1}), "utf-8")
    with pytest.raises(BadInput, match=r"without \['seed'\] and with \['colour'\]"):
        Audited.load(path)
    path.write_text("[]", "utf-8")
    with pytest.raises(BadInput, match="got a list"):
        Audited.load(path)


def test_a_form_matches_its_own_settings_also_after_a_trip_through_json():
    assert AUDITED.matches(FORM)
    assert AUDITED.matches(json.loads(json.dumps(FORM)))
    assert not AUDITED.matches({**FORM, "horizon": 9})
    assert not AUDITED.matches({**FORM, "ratio": 2})
    assert not AUDITED.matches({**FORM, "policy": "linucb"})


def test_a_card_prints_its_audit_and_no_difference_where_there_is_none():
    audited = card(**FORM).with_audit(AUDITED)
    assert AUDITED.text in flat(audited.text())
    assert "An audit can refute a promise and never proves one." in flat(audited.text())
    assert "ANOTHER FORM" not in audited.text()
    assert audited.audit_differences == ()
    assert audited.to_dict()["audit"] == AUDITED.to_dict()
    assert card(**FORM).audit is None


def test_an_audit_of_a_smaller_form_names_every_setting_that_differs():
    audited = card(**{**FORM, "dim": 5, "horizon": 100_000}).with_audit(AUDITED)
    assert "ANOTHER FORM of this policy was audited, with dim 2 (here 5); horizon 8 (here 100000)." in flat(
        audited.text()
    )
    assert audited.to_dict()["audit_differences"] == [
        {"setting": "dim", "audited": 2, "here": 5},
        {"setting": "horizon", "audited": 8, "here": 100_000},
    ]
    long = card(**{**FORM, "constants": [0.25] * 100}).with_audit(AUDITED)
    assert max(map(len, long.text().splitlines())) <= 100
    assert "…" in long.text()


def test_without_known_settings_the_card_says_so():
    audited = card().with_audit(AUDITED)
    assert "Which settings the audited form shares with this card is not known." in flat(audited.text())
    assert audited.to_dict()["audit_differences"] is None


def test_a_violation_is_said_before_anything_else():
    violated = replace(AUDITED, verdict="violated", lower_bound=1.5)
    assert "WARNING, an audit found the promise VIOLATED." in card(**FORM).with_audit(violated).text().splitlines()[1]


def test_an_audit_of_another_policy_is_refused():
    other = Audited(**{**FACTS, "policy": "local-linucb", "form": {"policy": "local-linucb"}})
    with pytest.raises(BadInput, match="Expected an audit of joint-linucb, got one of local-linucb"):
        card().with_audit(other)
    with pytest.raises(BadInput, match=r"Use Audited\.load"):
        card().with_audit(AUDITED.to_dict())
