"""`tacit privacy`: the card as a stranger asks for it, and several cards together."""

from __future__ import annotations

import json

import jsonschema
import pytest

from tacit.cli import main
from tacit.cli.privacy import COMPOSE
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS
from tacit.privacy import Audited, card_schema, gdp
from tests.cli.test_cli import ask, facts

JOINT = ["privacy", "joint-linucb", "--epsilon", "1", "--delta", "1e-6"]
#: Noise that can only be simulated.
WISHART = [*JOINT, *("--horizon", "100", "--releases", "tree", "--calibration", "published", "--noise", "wishart")]
LOCAL = ["privacy", "local-linucb", "--epsilon", "2", "--delta", "1e-6", "--horizon", "1000"]


def save(capsys, path, *arguments) -> str:
    path.write_text(json.dumps(facts(capsys, *arguments)), "utf-8")
    return str(path)


@pytest.fixture
def record(tmp_path):
    """An audit of a smaller form of what `JOINT` asks for."""
    form = {**CATALOGUE["joint-linucb"](dim=2, epsilon=1.0, delta=1e-6).to_dict(), "sampler": "secure"}
    audited = Audited(
        verdict="consistent",
        policy="joint-linucb",
        form=form,
        epsilon=1.0,
        delta=1e-6,
        mu=None,
        lower_bound=0.5,
        gaussian_lower_bound=None,
        confidence=0.95,
        runs=1000,
        seed=1,
        date="2026-11-16",
        version="0.1.0",
        observed=("later actions",),
    )
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(audited.to_dict()), "utf-8")
    return path


def test_no_policy_is_called_compose():
    assert COMPOSE not in {**CATALOGUE, **FUNCTIONS}


def test_what_is_printed_as_json_keeps_the_schema_settings_included(capsys):
    for arguments in (JOINT, ["privacy", "linucb"], ["privacy", "usca", "--epsilon", "1", "--delta", "1e-6"]):
        card = facts(capsys, *arguments)
        jsonschema.validate(card, card_schema())
        assert card["settings"]["policy"] == card["policy"]


def test_the_card_of_a_service_has_its_sampler(capsys):
    card = facts(capsys, *JOINT, "--sampler", "secure")
    jsonschema.validate(card, card_schema())
    assert card["settings"]["sampler"] == "secure"
    assert facts(capsys, *JOINT) == card, "what start() and a service take, unless told otherwise"
    text = ask(capsys, *JOINT, "--sampler", "secure")[1]
    assert "Noise is drawn exactly, in whole numbers" in text
    assert "simulation only" not in text


def test_the_card_of_a_simulation_says_so_first(capsys):
    card = facts(capsys, *JOINT, "--sampler", "double")
    jsonschema.validate(card, card_schema())
    assert {**facts(capsys, *JOINT)["settings"], "sampler": "double"} == card["settings"]
    text = ask(capsys, *JOINT, "--sampler", "double")[1]
    assert text.splitlines()[1] == "WARNING, simulation only: noise in double precision."
    assert "SIMULATION ONLY: noise is drawn in double precision" in text
    # Where noise can only be simulated there is no other card.
    assert facts(capsys, *WISHART)["settings"]["sampler"] == "double"


def test_an_audit_is_put_on_the_card_with_what_differs(capsys, record):
    card = facts(capsys, *JOINT, "--audit", str(record))
    assert card["audit"]["lower_bound"] == 0.5
    assert card["audit_differences"] == [{"setting": "dim", "audited": 2, "here": 5}]
    jsonschema.validate(card, card_schema())
    assert (
        "ANOTHER FORM of this policy was audited, with dim 2 (here 5)."
        in ask(capsys, *JOINT, "--audit", str(record))[1]
    )


def test_a_page_is_written_beside_the_text_or_the_json(capsys, tmp_path):
    path = tmp_path / "card.html"
    assert str(path) in ask(capsys, *JOINT, "--page", str(path))[1]
    assert "Privacy card: joint-linucb" in path.read_text("utf-8")
    assert facts(capsys, *JOINT, "--page", str(path))["policy"] == "joint-linucb"


def test_the_same_people_in_two_deployments(capsys, tmp_path):
    paths = [save(capsys, tmp_path / "a.json", *JOINT), save(capsys, tmp_path / "b.json", *LOCAL)]
    together = facts(capsys, "privacy", "compose", *paths)
    assert together["mu"] ** 2 == pytest.approx(gdp.mu_for(1, 1e-6) ** 2 + gdp.mu_for(2, 1e-6) ** 2, rel=1e-5)
    assert together["trust"] == ["joint", "local"]
    code, text, _ = ask(capsys, "privacy", "compose", *paths)
    assert code == 0
    assert "epsilon <= 2.213 at delta = 2e-06" in text


def test_an_edited_card_is_refused_by_name(capsys, tmp_path):
    paths = [save(capsys, tmp_path / "a.json", *JOINT), save(capsys, tmp_path / "b.json", *LOCAL)]
    card = json.loads((tmp_path / "b.json").read_text("utf-8"))
    (tmp_path / "b.json").write_text(json.dumps({**card, "mu": card["mu"] / 2}), "utf-8")
    code, out, err = ask(capsys, "privacy", "compose", *paths)
    assert (code, out) == (2, "")
    assert "b.json" in err
    assert "The card was edited" in err


ERRORS = {
    ("privacy", "compose"): "Expected at least two cards to add up, got 0",
    ("privacy", "compose", "nowhere.json", "b.json"): "Expected a privacy card as JSON in 'nowhere.json'",
    ("privacy", "compose", "a.json", "--epsilon", "1"): "Expected files of cards after compose, got '--epsilon'",
    ("privacy", "compose", "a.json", "--page", "p.html"): "Expected files of cards after compose, got '--page'",
    ("privacy", "compose", "a.json", "--sampler", "secure"): "Expected files of cards after compose, got '--sampler'",
    (*WISHART, "--sampler", "secure"): "got joint-linucb, which is for simulation only",
    (*JOINT, "--sampler", "best"): "Expected sampler to be one of 'secure', 'double', got sampler='best'",
    (*JOINT, "--audit", "nowhere.json"): "Expected the record of an audit as JSON in 'nowhere.json'",
    (*JOINT, "--page", "card.txt"): "Expected a path ending in .html, got 'card.txt'",
    (*JOINT, "stray.json"): "Expected an option like --epsilon 1, got 'stray.json'",
}


@pytest.mark.parametrize("arguments", ERRORS, ids=" ".join)
def test_bad_input_is_one_line(capsys, arguments):
    assert main(list(arguments)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert ERRORS[arguments] in printed.err
