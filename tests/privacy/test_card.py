"""What a privacy officer reads."""

import json
import math
import pickle

import pytest

from tacit.errors import BadInput
from tacit.privacy import (
    Card,
    Event,
    ExactRelease,
    GaussianEvent,
    Guarantee,
    Neighbours,
    Promise,
    Protects,
    Theorem,
    ToeplitzEvent,
    Together,
    TreeEvent,
    Trust,
    Unit,
    calibrate,
    gdp,
    price,
)
from tacit.privacy.toeplitz import EIGHT_BUFFERS

WARNING = "seeded: no privacy against anyone who knows the seed"


def card_of(event: Event, claimed: Promise, *, unit: Unit | None = None, seeded: bool = False, **more) -> Card:
    guarantee = Guarantee(
        Trust.JOINT,
        Protects.EVERYTHING,
        Neighbours.REPLACE_ONE,
        unit or Unit.round(),
        price(event),
        claimed.delta,
        seeded,
    )
    return Card("JointLinUCB", "exact", guarantee, claimed, events=[event.describe()], **more)


def exact(**more) -> Card:
    promise = Promise(1.0, 1e-7)

    def event_at(scale: float) -> Event:
        return ToeplitzEvent(scale, 2.0, 2048, EIGHT_BUFFERS, "many")

    scale = calibrate(promise, event_at)
    return card_of(
        event_at(scale),
        promise,
        noise_scale=scale,
        noise_scales={"first view": 2.0},
        assumptions=[
            "Release times are public.",
            "Rows are clipped to ‖x‖ ≤ 1 and |y| ≤ 1 before they are summed. " * 3,
        ],
        notes=["Nothing else."],
        **more,
    )


def published(epsilon: float, delta: float) -> Card:
    scale = 2 * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    event = Together((GaussianEvent(scale, 2.0), GaussianEvent(scale, 2.0)))
    return card_of(event, Promise(epsilon, delta), noise_scale=scale)


OPEN = Card("LinUCB", "exact", Guarantee.none(), events=[ExactRelease("the sums of every round").describe()])
CARDS = [exact(), exact(seeded=True), published(10.0, 0.1), OPEN]


def flat(card: Card) -> str:
    """The text with its line breaks undone."""
    return " ".join(card.text().split())


@pytest.mark.parametrize("card", CARDS)
def test_text_fits_in_a_hundred_columns_and_has_no_stray_spaces(card):
    for line in card.text().splitlines():
        assert len(line) <= 100
        assert line == line.rstrip()


def test_the_sections_come_in_order():
    lines = exact().text().splitlines()
    titles = ["Promise", "In words", "Price", "Noise", "Assumptions", "Notes", "Not covered"]
    assert [line for line in lines if line in titles] == titles


def test_the_text_says_what_is_promised_to_whom():
    text = flat(exact())
    for words in (
        "JointLinUCB (exact calibration)",
        "accounted epsilon <= 1.000 at delta = 1e-07",
        "claimed epsilon = 1 at delta = 1e-07",
        "protects contexts and rewards",
        "neighbours replace one",
        "unit one round",
        Trust.JOINT.meaning,
        "first view 2",
        "Release times are public.",
        "Nothing else.",
        "2,048 times",
        "Timing",
        "Side channels",
        "own action",
        "drawn in double precision, not by a discrete mechanism",
    ):
        assert words in text, words


def test_what_is_not_covered_depends_on_who_is_trusted_and_on_whether_there_is_noise():
    local = Guarantee(
        Trust.LOCAL,
        Protects.EVERYTHING,
        Neighbours.REPLACE_ONE,
        Unit.round(),
        None,
        None,
        theorem=Theorem(1.0, 0.0, "t"),
    )
    text = flat(Card("answers", "exact", local))
    assert "own action" not in text
    assert "double precision" not in text
    assert "Pure DP: the same epsilon at every delta." in text
    assert "Side channels" in text


def test_the_attackers_power_is_in_words_and_rounded_up():
    card = exact()
    sentence = "At 5 % false alarms the best attacker detects a changed round with probability at most "
    shown = float(flat(card).split(sentence)[1].split()[0].rstrip("."))
    assert 0 <= shown - gdp.power(card.mu, 0.05) < 1e-3


def test_a_person_is_named_as_the_unit():
    card = card_of(GaussianEvent(4.0, 1.0), Promise(2.0, 1e-6), unit=Unit.person(7))
    assert "one person with at most 7 rounds" in flat(card)
    assert "a changed person" in flat(card)


def test_the_price_table_has_the_usual_deltas_and_the_claimed_one_rounded_up():
    card = exact()
    rows = [entry["delta"] for entry in card.to_dict()["epsilon_at"]]
    assert rows == [1e-3, 1e-5, 1e-6, 1e-7, 1e-9]
    lines = [line.split() for line in card.text().splitlines()]
    for delta in rows:
        shown = next(float(words[1]) for words in lines if len(words) == 2 and words[0] == f"{delta:g}")
        true = gdp.epsilon_at(card.mu, delta)
        assert true <= shown <= true * 1.001


def test_a_claim_that_is_not_kept_is_said_before_anything_else():
    card = published(10.0, 0.1)
    assert card.keeps_its_claim is False
    assert card.true_epsilon == pytest.approx(26.95, abs=0.01)
    text = flat(card)
    assert text.index("NOT kept") < text.index("accounted") < text.index("claimed epsilon")
    assert "epsilon <= 26.9" in text


def test_a_claim_with_room_to_spare_leads_with_the_true_value():
    levels = 18
    event = TreeEvent(math.sqrt(16 * levels) * 2 * math.log(4e5), 2.0, levels)
    card = card_of(event, Promise(1.0, 1e-5))
    assert card.keeps_its_claim is True
    assert card.true_epsilon == pytest.approx(0.0566, abs=6e-5)
    assert "NOT kept" not in card.text()
    assert flat(card).index("epsilon <= 0.056") < flat(card).index("epsilon = 1 at")


def test_a_seeded_card_says_so_in_its_first_lines():
    card = exact(seeded=True)
    assert WARNING in "\n".join(card.text().splitlines()[:3])
    assert card.to_dict()["seeded"] is True
    assert card.to_dict()["warning"] == WARNING
    assert WARNING not in exact().text()


def test_a_policy_without_privacy_gets_an_honest_card():
    text = flat(OPEN)
    assert "No privacy is promised." in text
    assert "the sums of every round" in text
    assert "epsilon" not in text
    facts = OPEN.to_dict()
    assert facts["private"] is False
    assert facts["claimed"] is None
    for name in ("true_epsilon", "mu", "rho", "noise_scale", "keeps_its_claim"):
        assert facts[name] is None
    assert all(entry["epsilon"] is None for entry in facts["epsilon_at"])


@pytest.mark.parametrize("card", CARDS)
def test_json_round_trips_without_nan_or_infinity(card):
    facts = card.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    numbers = {"claimed", "true_epsilon", "mu", "rho", "noise_scale", "epsilon_at", "seeded"}
    words = {"trust", "protects", "neighbours", "unit", "events", "assumptions", "notes"}
    assert numbers | words <= set(facts)


def test_json_carries_the_numbers_unrounded():
    card = exact()
    facts = card.to_dict()
    assert facts["claimed"] == {"epsilon": 1.0, "delta": 1e-7}
    assert facts["mu"] == card.guarantee.mu
    assert facts["true_epsilon"] == gdp.epsilon_at(card.mu, 1e-7)
    assert facts["true_epsilon"] <= 1.0
    assert facts["noise_scales"] == {"first view": 2.0}


def test_without_a_delta_there_is_no_single_epsilon():
    guarantee = Guarantee(Trust.LOCAL, Protects.REWARDS, Neighbours.REPLACE_ONE, Unit.round(), 0.5, None)
    card = Card("Device", "exact", guarantee)
    assert card.true_epsilon is None
    assert card.to_dict()["true_epsilon"] is None
    assert "rewards only" in card.text()


def test_cards_print_as_their_text_and_can_be_sent_elsewhere():
    card = exact()
    assert str(card) == card.text()
    assert pickle.loads(pickle.dumps(card)) == card


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"policy": None}, "policy"),
        ({"calibration": 3}, "calibration"),
        ({"guarantee": "private"}, "guarantee"),
        ({"claimed": (1.0, 1e-6)}, "claimed"),
        ({"guarantee": Guarantee.none()}, "Leave claimed out"),
        ({"noise_scale": 0.0}, "noise_scale"),
        ({"noise_scales": {"first": math.inf}}, "noise_scales"),
        ({"events": "one sentence"}, "events"),
        ({"notes": [None]}, "notes"),
    ],
)
def test_malformed_cards_are_refused(changes, word):
    whole = exact()
    fields = {
        "policy": whole.policy,
        "calibration": whole.calibration,
        "guarantee": whole.guarantee,
        "claimed": whole.claimed,
    }
    with pytest.raises(BadInput, match=word):
        Card(**(fields | changes))
