"""What a notebook shows: well-formed, escaped, without scripts, and as honest as the text."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import tacit
from tacit._html import curve, panel, short
from tacit.auditing.attack import Claim
from tacit.auditing.engine import Counted, Finding
from tacit.auditing.notebook import audit_html
from tacit.auditing.result import Audit, Caught
from tacit.core.notebook import config_html
from tacit.core.round import CLIPPED_ACTIONS, COUNTERS
from tacit.environments import Sphere
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS
from tacit.privacy import Guarantee, Neighbours, Protects, Theorem, Trust, Unit
from tacit.privacy.notebook import card_html, guarantee_html
from tacit.simulation import Result
from tacit.simulation.notebook import prediction_html, result_html
from tacit.simulation.prediction_result import PredictionResult

CONFIG = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6)
SCOPE = (Trust.JOINT, Protects.EVERYTHING, Neighbours.REPLACE_ONE, Unit.round())


def read(html: str) -> str:
    """The words of a piece of HTML; fails if it is not well-formed, or holds what a notebook should not be given."""
    root = ElementTree.fromstring(html)
    tags = {element.tag for element in root.iter()}
    assert not tags & {"script", "style", "link", "iframe", "img"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not any(name.startswith("on") for name in attributes)
    # The notebook's own colours are the only ones that are right in both light and dark.
    styles = " ".join(element.get("style", "") for element in root.iter())
    assert "#" not in styles
    assert "rgb" not in styles
    assert all("color:inherit" in table.get("style", "") for table in root.iter("table"))
    return " ".join("".join(root.itertext()).split())


def result(**changes) -> Result:
    checkpoints = np.array([10, 100, 1000])
    facts = {
        "config": CONFIG,
        "environment": Sphere(dim=3),
        "rounds": 1000,
        "trials_asked": 2,
        "seed": 7,
        "label": "joint-linucb",
        "trial_numbers": (0, 1),
        "checkpoints": checkpoints,
        "curves": np.array([[5.0, 40.0, 100.0], [7.0, 60.0, 200.0]]),
        "counters": np.zeros((2, COUNTERS), np.int64),
        "guarantee": CONFIG.guarantee,
        "seconds": 1.0,
    }
    return Result(**{**facts, **changes})


def finding(bound: float) -> Finding:
    counted, empty = Counted(0.0, 1, 1, bound), np.zeros(2, np.int64)
    shown = (counted, counted, None, None, 0.05, np.zeros(3), empty, empty)
    return Finding("views", "one round", 100, 100, *shown, Claim(1.0, 1e-6, None))


def audit(bound: float, caught: bool = True) -> Audit:
    return Audit(
        policy="joint-linucb",
        calibration="exact",
        settings={},
        claim=Claim(1.0, 1e-6, None),
        promised="epsilon = 1 at delta = 1e-6",
        accounted=1.0,
        findings=(finding(bound),),
        twins=(Caught("half the noise", "half of it is missing", finding(2.0), caught),),
        runs=100_000,
        confidence=0.95,
        miss=0.01,
        seed=1,
        seconds=1.0,
        date="2026-01-01",
        version="0",
    )


@pytest.mark.parametrize("slug", [*CATALOGUE, *FUNCTIONS])
def test_every_configuration_shows_what_was_asked_for_and_what_it_gives(slug):
    kind = {**CATALOGUE, **FUNCTIONS}[slug]
    config = (kind.examples(4) if slug in CATALOGUE else kind.examples())[0]
    words = read(config_html(config))
    assert words.startswith(kind.__name__)
    assert str(config.guarantee) in words


def test_options_left_alone_are_folded_away():
    top, folded = config_html(CONFIG).split("left at their defaults")
    assert "epsilon" in top
    assert "reward_low" not in top
    assert "reward_low = " in folded


def test_an_option_that_follows_from_others_is_folded_away_and_one_that_was_given_is_not():
    arms = {"arms": 3, "dim": 2, "epsilon": 1.0, "delta": 1e-6}
    for changes, shown in (({}, False), ({"releases": "geometric"}, True)):
        top, folded = config_html(tacit.JointLinUCB(**arms, **changes)).split("left at their defaults")
        assert ("geometric" in top) == shown
        assert ("releases = discounted" in folded) != shown
        assert "width = noise-aware" in folded
        assert "preparation = " in folded


def test_environments_are_shown_without_a_guarantee():
    words = read(config_html(Sphere(dim=3)))
    assert words.startswith("Sphere")
    assert "gives" not in words


def test_a_policy_that_does_not_know_its_arms_yet_is_shown_all_the_same():
    assert "not known yet: Expected ucb1 to know its arms" in read(config_html(tacit.UCB1()))


def test_a_guarantee_shows_its_four_words_and_its_price():
    words = read(guarantee_html(CONFIG.guarantee))
    for part in ("joint DP", "ε ≤ 1.000 at δ = 1e-06", "μ = ", "contexts and rewards", "replace one", "one round"):
        assert part in words
    assert "WARNING" not in words


def test_guarantees_without_a_curve_without_a_delta_and_without_privacy_say_so():
    theorem = Guarantee(*SCOPE, None, None, theorem=Theorem(0.5, 1e-6, "a theorem"))
    assert "ε ≤ 0.5000 at δ = 1e-06, by theorem" in read(guarantee_html(theorem))
    assert "μ = 0.2000" in read(guarantee_html(Guarantee(*SCOPE, 0.2, None)))
    nothing = read(guarantee_html(Guarantee.none()))
    assert "No privacy is promised." in nothing
    assert "ε" not in nothing


def test_a_seed_is_warned_of_wherever_it_voids_the_promise():
    for html in (guarantee_html(CONFIG.guarantee.with_seed()), card_html(CONFIG.card(seeded=True))):
        assert "WARNING: seeded: no privacy against anyone who knows the seed" in read(html)


def test_a_card_shows_its_first_lines_and_unfolds_to_all_of_it():
    card = CONFIG.card()
    words = read(card_html(card))
    assert words.startswith("Privacy card: joint-linucb exact calibration ε ≤ 1.000")
    assert " ".join(card.text().split()) in words
    assert "No privacy is promised." in read(card_html(tacit.LinUCB(dim=3).card()))


def test_a_card_that_breaks_its_claim_says_so_at_the_top():
    card, dearer = CONFIG.card(), replace(CONFIG.guarantee, mu=2 * CONFIG.guarantee.mu)
    broken = replace(card, guarantee=dearer)
    assert broken.keeps_its_claim is False
    assert "WARNING: The claim is NOT kept" in read(card_html(broken)).split("the whole card")[0]
    assert "NOT kept" not in read(card_html(card))


def test_a_result_shows_regret_with_its_error_and_the_guarantee():
    words = read(result_html(result()))
    assert words.startswith("joint-linucb in sphere")
    for part in ("150 ± 50", "rounds1,000", "trials2", "seed7", str(CONFIG.guarantee)):
        assert part in words
    assert "±" not in read(result_html(result(curves=np.ones((1, 3)), trial_numbers=(0,), trials_asked=1)))


def test_what_a_reader_should_know_of_a_result_is_shown():
    counters = np.zeros((2, COUNTERS), np.int64)
    counters[0, CLIPPED_ACTIONS] = 3
    shown = result(counters=counters, interrupted=True, trials_asked=5)
    words = read(result_html(shown))
    assert shown.notes
    assert all(note in words for note in shown.notes)
    assert "2 of 5" in words


def test_predictions_show_every_way_with_its_guarantee():
    shown = PredictionResult(
        config=SimpleNamespace(promise=None, slug="usca"),
        environment=SimpleNamespace(slug="rkhs"),
        rounds=500,
        trials_asked=2,
        seed=3,
        label="usca",
        ways=("function", "mean"),
        trial_numbers=(0, 1),
        by_way=np.array([[0.1, 0.0], [0.3, 0.2]]),
        random_errors=np.array([0.5, 0.5]),
        clipped={},
        guarantees=(CONFIG.guarantee, Guarantee.none()),
        seconds=1.0,
    )
    words = read(prediction_html(shown))
    for part in ("error rate (function)0.2 ± 0.1", "error rate (mean)0.1", "no privacy is promised", "action0.5"):
        assert part in words


@pytest.mark.parametrize(("bound", "caught", "verdict"), [(0.9, True, "consistent"), (1.5, True, "violated")])
def test_an_audit_shows_its_verdict_first(bound, caught, verdict):
    shown = audit(bound, caught)
    assert shown.verdict == verdict
    words = read(audit_html(shown))
    assert f"{verdict}: {shown.sentence()}" in words
    assert ("WARNING: the promise is VIOLATED" in words) == (verdict == "violated")
    assert "broken twin: half the noisefound out" in words
    assert " ".join(shown.text().split()) in words


def test_an_audit_without_power_says_which_twin_got_away():
    words = read(audit_html(audit(0.1, caught=False)))
    assert "not audited with power" in words
    assert "NOT found out" in words


HOSTILE = '<script>alert("1")</script> & <b>'


def test_nothing_that_is_shown_can_become_markup():
    assert HOSTILE in read(result_html(result(label=HOSTILE)))
    everything = panel(
        HOSTILE,
        under=HOSTILE,
        warnings=[HOSTILE],
        headline=HOSTILE,
        drawing=curve([0, 1], [0, 1], HOSTILE),
        rows=[(HOSTILE, HOSTILE)],
        notes=[HOSTILE],
        folded=[(HOSTILE, HOSTILE)],
    )
    assert read(everything).count(HOSTILE) == 9


def test_long_values_are_cut():
    assert short("theory") == "theory"
    assert short((1.0, 2.0)) == "(1.0, 2.0)"
    assert len(short(tuple(range(1000)))) == 160


@pytest.mark.parametrize(("xs", "ys"), [([], []), ([1.0], [1.0]), ([1.0, 1.0], [1.0, 2.0]), ([0.0, 1.0], [0.0, 0.0])])
def test_a_curve_without_a_shape_is_not_drawn(xs, ys):
    assert curve(xs, ys, "nothing") == ""
