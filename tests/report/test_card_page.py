"""The card as a page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import tacit
from tacit.errors import BadInput
from tacit.privacy import Audited
from tacit.report.card_page import card_page, write_card_page
from tests.report.test_report import _Balance

CONFIG = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6)
CARDS = {
    "exact": CONFIG.card(),
    "seeded": CONFIG.card(seeded=True, sampler="secure"),
    "simulated": CONFIG.card(seeded=True),
    "published": tacit.OnlineLinUCB(dim=3, epsilon=10.0, delta=0.1, calibration="published").card(),
    "theorem": tacit.RandomisedResponse(dim=3, epsilon=1.0).card(),
    "open": tacit.LinUCB(dim=3).card(),
}


def words_of(page: str) -> str:
    """What a reader sees, without tags and style."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


@pytest.mark.parametrize("name", CARDS)
def test_a_page_is_whole_fetches_nothing_and_is_made_for_one_sheet(name):
    page = card_page(CARDS[name])
    checker = _Balance()
    checker.handle_startendtag = lambda *_: None
    checker.feed(page)
    assert checker.open == []
    assert checker.links == []
    for banned in ("http", "@import", "url(", "<script"):
        assert banned not in page
    assert "@page { size: A4" in page
    assert "prefers-color-scheme: dark" in page


def test_the_page_says_what_the_text_says():
    card = CARDS["exact"]
    words = words_of(card_page(card)).replace("&lt;", "<").replace("&gt;", ">").replace("&#x27;", "'")
    for said in (
        "ε ≤ 1.000 at δ = 1e-06, μ = 0.2368",
        card.protected_from,
        card.in_words,
        card.adaptivity,
        "dim = 3, epsilon = 1.0",
        "No audit is recorded on this card.",
        *card.assumptions,
        *card.not_covered,
    ):
        assert said in words, said


def test_what_is_wrong_stands_out():
    assert "claim NOT kept" in words_of(card_page(CARDS["published"]))
    assert 'class="alarm"' in card_page(CARDS["published"])
    assert "WARNING: seeded: no privacy" in words_of(card_page(CARDS["seeded"]))
    assert "simulation only" not in words_of(card_page(CARDS["seeded"]))
    assert "WARNING: simulation only: noise in double precision." in words_of(card_page(CARDS["simulated"]))
    assert 'class="alarm"' not in card_page(CARDS["exact"])
    assert "No privacy is promised." in words_of(card_page(CARDS["open"]))
    assert "<svg" not in card_page(CARDS["open"])
    assert "ε ≤ 1.000 at δ = 0, by theorem" in words_of(card_page(CARDS["theorem"]))


def test_an_audit_of_another_form_is_marked_as_one():
    audited = Audited(
        verdict="consistent",
        policy="joint-linucb",
        form={**CONFIG.to_dict(), "dim": 2, "sampler": "secure"},
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
    words = words_of(card_page(CARDS["exact"].with_audit(audited)))
    assert "audit: consistent, another form, 2026-11-16" in words
    assert "with dim 2 (here 3)." in words


def test_text_on_a_card_is_escaped():
    page = card_page(replace(CARDS["exact"], notes=("<b>bold</b>",), settings={"policy": "x", "name": "<i>"}))
    assert "<b>" not in page
    assert "<i>" not in page


def test_the_page_is_written_where_it_was_asked_for(tmp_path):
    path = write_card_page(tmp_path / "card.html", CARDS["exact"])
    assert path.read_text("utf-8") == card_page(CARDS["exact"])
    with pytest.raises(BadInput, match=r"ending in \.html"):
        write_card_page(tmp_path / "card.pdf", CARDS["exact"])
    with pytest.raises(BadInput, match="existing folder"):
        write_card_page(tmp_path / "nowhere" / "card.html", CARDS["exact"])
    assert [one.name for one in tmp_path.iterdir()] == ["card.html"]
