"""`tacit audit`: what it prints, writes and returns, and what it refuses."""

from __future__ import annotations

import json

import pytest

from tacit.auditing.attacks import local
from tacit.auditing.families import families
from tacit.cli import main

#: Noise that can only be simulated.
WISHART = (
    *("joint-linucb", "--epsilon", "1", "--delta", "1e-5", "--horizon", "100", "--releases", "tree"),
    *("--calibration", "published", "--noise", "wishart"),
)
SAMPLERS = {None: (), "secure": ("--sampler", "secure"), "double": ("--sampler", "double")}


def ask(capsys, *words):
    code = main(["audit", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def facts(capsys, *words):
    code, out, _ = ask(capsys, *words, "--json")
    return code, json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_a_promise_that_is_kept_returns_zero_and_leaves_a_record_for_the_card(capsys, tmp_path):
    record, figure = tmp_path / "new" / "audit.json", tmp_path / "scores.svg"
    words = ("randomised-response", "--epsilon", "1", "--runs", "3000", "--output", str(record))
    code, out, _ = ask(capsys, *words, "--plot", str(figure))
    assert code == 0
    assert "CONSISTENT: nothing was found against the promise, while 2 broken twins" in out
    assert str(record) in out
    assert "<svg" in figure.read_text("utf-8")
    assert main(["privacy", "randomised-response", "--epsilon", "1", "--dim", "2", "--audit", str(record)]) == 0
    card = capsys.readouterr().out
    assert "Consistent: attacks on own action and live program showed epsilon >= " in card
    assert "ANOTHER FORM" not in card


def test_a_promise_that_is_broken_returns_one(capsys):
    published = ("online-linucb", "--epsilon", "10", "--delta", "0.1", "--calibration", "published")
    code, found = facts(capsys, *published, "--runs", "20000", "--no-twins")
    assert code == 1
    assert found["verdict"] == "violated"
    assert "The accountant agrees: it has epsilon = 26.95" in found["sentence"]
    assert found["record"]["gaussian_lower_bound"] > 20


def test_runs_that_can_show_nothing_return_three(capsys):
    code, out, _ = ask(capsys, "randomised-response", "--epsilon", "0.001", "--runs", "200", "--no-twins")
    assert code == 3
    assert "NOT AUDITED WITH POWER" in out


def test_what_a_service_draws_is_attacked_too(capsys, tmp_path):
    record, asked = tmp_path / "audit.json", ("renyi-ucb", "--epsilon", "1", "--delta", "1e-5", "--arms", "2")
    # At this confidence one honest policy in ten thousand is called violated.
    words = ("--sampler", "secure", "--runs", "20000", "--confidence", "0.9999", "--output", str(record))
    code, out, _ = ask(capsys, *asked, *words)
    assert code == 0, out
    assert "sampler=secure" in out
    for default in ((), ("--sampler", "secure")):
        assert main(["privacy", *asked, *default, "--audit", str(record)]) == 0
        card = capsys.readouterr().out
        assert "Noise is drawn exactly, in whole numbers" in card
        assert "ANOTHER FORM" not in card
    assert main(["privacy", *asked, "--sampler", "double", "--audit", str(record)]) == 0
    card = capsys.readouterr().out
    assert 'ANOTHER FORM of this policy was audited, with sampler "secure" (here "double")' in card


def test_what_is_attacked_is_drawn_as_for_people_unless_told_otherwise(capsys):
    words = ("renyi-ucb", "--epsilon", "1", "--delta", "1e-5", "--arms", "2", "--runs", "500", "--no-twins")
    found = {sampler: facts(capsys, *words, *given)[1]["findings"] for sampler, given in SAMPLERS.items()}
    assert found[None] == found["secure"] != found["double"]


def test_the_same_seed_gives_the_same_audit(capsys):
    words = ("randomised-response", "--epsilon", "1", "--runs", "500", "--seed", "7", "--no-twins")
    one, two = (facts(capsys, *words)[1] for _ in range(2))
    assert one["findings"] == two["findings"]
    assert facts(capsys, *words[:-3], "--seed", "8", "--no-twins")[1]["findings"] != one["findings"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Expected a policy, or --all"),
        (("linucb",), "linucb, which promises nothing"),
        (("joint-linucbb",), "Did you mean joint-linucb"),
        (("--all", "--epsilon", "1"), "Expected neither a policy nor options of one with --all"),
        (("--all", "--plot", "x.png"), "Expected no --plot with --all"),
        (("joint-linucb", "--epsilon", "1", "--delta", "1e-5", "--runs", "10"), "Expected runs >= 100"),
        (("joint-linucb", "--epsilon", "1", "--delta", "1e-5", "--confidence", "2"), "0 < confidence < 1"),
        (("joint-linucb", "--epsilon", "1", "--delta", "1e-5", "--ratios", "2"), "Did you mean --ratio"),
        (("joint-linucb", "--delta", "1e-5"), "--epsilon"),
        ((*WISHART, "--sampler", "secure"), "got joint-linucb, which is for simulation only"),
        (("renyi-ucb", "--epsilon", "1", "--delta", "1e-5", "--sampler", "best"), "one of 'secure', 'double'"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_a_reason(capsys, words, said):
    code, _, err = ask(capsys, *words)
    assert code == 2
    assert said in err


def test_all_goes_through_every_form(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tacit.auditing.catalogue.all_forms", lambda: local.forms()[-2:])
    words = ("--all", "--runs", "3000", "--output", str(tmp_path))
    code, out, err = ask(capsys, *words)
    assert code in (0, 3)
    assert "randomised-response" in out
    assert "2 of 2: context-blind" in err
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert "(done before)" in ask(capsys, *words)[2]
    assert len(families()) == 6


@pytest.mark.long
def test_arms_are_attacked_from_the_command_line(capsys):
    words = ("joint-linucb", "--epsilon", "1", "--delta", "1e-5", "--arms", "3", "--dim", "2", "--no-twins")
    code, found = facts(capsys, *words, "--runs", "2000")
    assert code in (0, 3)  # so few runs need not show enough
    seen = [finding["observed"] for finding in found["findings"]]
    assert seen == ["released statistics", "released statistics, two arms", "released centre", "later actions"]
    assert found["live"]["face"] == "learner"
    assert found["verdict"] != "violated"
