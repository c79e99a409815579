"""What a privacy officer reads."""

import json
import math
import pickle
from dataclasses import replace

import pytest

from tacit import JointLinUCB, __version__
from tacit.errors import BadInput
from tacit.privacy import (
    BinomialSumEvent,
    Card,
    ConcentratedPromise,
    Event,
    ExactRelease,
    ForkedEvent,
    GaussianEvent,
    Guarantee,
    LaplaceEvent,
    Neighbours,
    PersonEvent,
    Promise,
    Protects,
    PurePromise,
    RenyiPromise,
    SegmentsEvent,
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
    return Card("JointLinUCB", "exact", guarantee, claimed, events=[event], **more)


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
    titles = ["Promise", "In words", "Price", "Noise", "Adaptivity", "Assumptions", "Notes", "Audit", "Not covered"]
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
        "contribution one round; how many a person has is not limited",
        "Everybody else, alone or together, may see every released view",
        "mechanism correlated Gaussian noise on prefix sums (buffered linear Toeplitz)",
        "chosen after seeing everything released before",
        "No audit is recorded on this card.",
        "first view 2",
        "Release times are public.",
        "Nothing else.",
        "2,048 times",
        "Timing",
        "Side channels",
        "own action",
        "SIMULATION ONLY: noise is drawn in double precision",
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


def test_where_only_rewards_are_protected_the_attacker_looks_for_changed_rewards():
    for unit, words in ((Unit.round(), "detects a changed reward"), (Unit.person(7), "detects changed rewards of a")):
        guarantee = Guarantee.priced(
            GaussianEvent(4.0, 1.0), trust=Trust.CENTRAL, protects=Protects.REWARDS, unit=unit, delta=1e-5
        )
        assert words in flat(Card("renyi-ucb", "exact", guarantee))


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


def test_json_carries_what_a_privacy_officer_asks_for():
    facts = exact().to_dict()
    assert facts["schema"] == "tacit-card-2"
    assert facts["version"] == __version__
    assert facts["contribution_bound"] == 1
    assert facts["what"] == ["correlated Gaussian noise on prefix sums (buffered linear Toeplitz)"]
    assert facts["in_words"] in flat(exact())
    assert facts["protected_from"] in flat(exact())
    assert facts["adaptivity"] in flat(exact())
    assert facts["floating_point"] in flat(exact())
    assert facts["published"] is facts["audit"] is facts["audit_differences"] is None
    person = card_of(GaussianEvent(4.0, 1.0), Promise(2.0, 1e-6), unit=Unit.person(7))
    assert person.to_dict()["contribution_bound"] == 7
    assert "at most 7 rounds of a person, counted" in flat(person)


def test_who_may_see_what_depends_on_who_is_trusted():
    said = set()
    for trust in (Trust.JOINT, Trust.CENTRAL, Trust.SHUFFLE, Trust.LOCAL):
        guarantee = Guarantee.priced(
            GaussianEvent(4.0, 1.0), trust=trust, protects=Protects.EVERYTHING, unit=Unit.round(), delta=1e-5
        )
        card = Card("any", "exact", guarantee)
        said |= {card.protected_from, card.adaptivity}
        assert "the contexts and rewards of one round" in card.protected_from
        assert ("Nobody is trusted" in card.protected_from) == (trust is Trust.LOCAL)
    assert len(said) == 8
    assert OPEN.protected_from == "Nothing is protected from anybody."


def test_mechanisms_are_named_once_also_inside_compound_events():
    one, other = GaussianEvent(1.0, 1.0), LaplaceEvent(1.0, 1.0)
    every = [ForkedEvent(PersonEvent(Together((one, other, one)), 2), 3), other]
    card = Card("any", "exact", exact().guarantee, events=every)
    assert card.what == ("Gaussian noise on one release", "Laplace noise on sums")
    assert card.events == tuple(event.describe() for event in every)


def test_sums_of_whole_numbers_have_no_floating_point_noise():
    event = BinomialSumEvent(10**6, 10.0, 5, 1e-6)
    guarantee = Guarantee.priced(
        event, trust=Trust.SHUFFLE, protects=Protects.EVERYTHING, unit=Unit.round(), delta=None
    )
    card = Card("any", "exact", guarantee, noise_scale=3.0, events=[event], settings={"sampler": "secure"})
    assert "Noise is drawn exactly, in whole numbers" in flat(card)
    assert "simulation only" not in flat(card).lower()
    assert "WARNING, simulation only" in flat(replace(card, settings=None))


def test_published_constants_stand_against_what_they_give():
    card = replace(published(10.0, 0.1), calibration="published")
    facts = card.to_dict()["published"]
    assert facts["claimed"] == {"epsilon": 10.0, "delta": 0.1}
    assert facts["epsilon"] == card.true_epsilon
    assert facts["kept"] is False
    assert facts["exact"] is True
    assert facts["noise_ratio"] == pytest.approx(gdp.mu_for(10.0, 0.1) / card.mu)
    assert "claimed epsilon = 10 at delta = 0.1; true epsilon <= 26.96" in flat(card)
    assert "with 0.564 times the noise that the claim needs. The claim is NOT kept." in flat(card)
    assert published(10.0, 0.1).published is None, "a promise that was asked for is no publication"


def test_every_private_card_shows_epsilon_at_three_deltas_or_says_that_there_is_no_bound():
    theorem = Theorem(1.0, 1e-5, "t")
    guarantee = Guarantee(
        Trust.SHUFFLE, Protects.EVERYTHING, Neighbours.REPLACE_ONE, Unit.round(), None, None, theorem=theorem
    )
    lines = [line.split(maxsplit=1) for line in Card("any", "exact", guarantee).text().splitlines()]
    assert [line for line in lines if line and line[0] in ("0.001", "1e-05", "1e-06", "1e-09")] == [
        ["0.001", "1.000"],
        ["1e-05", "1.000"],
        ["1e-06", "no bound"],
        ["1e-09", "no bound"],
    ]


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


# Claims in other currencies --------------------------------------------------------------------------------------


def rewards_card(event: Event, claimed) -> Card:
    guarantee = Guarantee.priced(
        event, trust=Trust.CENTRAL, protects=Protects.REWARDS, unit=Unit.round(), delta=claimed.delta
    )
    return Card("renyi-ucb", "exact", guarantee, claimed, noise_scale=event.scale, events=[event.describe()])


def renyi_card(claimed, factor: float = 1.0) -> Card:
    scale = factor * calibrate(claimed, lambda s: SegmentsEvent(s, 1.0))
    return rewards_card(SegmentsEvent(scale, 1.0), claimed)


def test_a_renyi_claim_is_shown_in_its_own_currency_and_as_the_true_epsilon():
    card = renyi_card(RenyiPromise(2.0, 0.1))
    text = flat(card)
    for words in (
        "accounted epsilon <= 1.2",
        "at delta = 1e-05",
        "claimed (alpha, epsilon)-RDP = (2, 0.1), that is rho = 0.05",
        "trust central",
        "protects rewards only",
        "rho 0.05000 (alpha, rho·alpha)-RDP for every alpha > 1 delta",
        "Everybody may see all that is published, every action included",
        "Contexts and actions are public.",
    ):
        assert words in text, words
    facts = card.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["claimed"] == {"alpha": 2.0, "epsilon": 0.1, "rho": 0.05}
    assert facts["rho"] == pytest.approx(0.05, rel=1e-5)
    assert facts["mu"] == pytest.approx(math.sqrt(0.1), rel=1e-5)
    assert facts["true_epsilon"] == pytest.approx(1.20, abs=0.005)
    assert facts["delta"] == 1e-5
    assert facts["keeps_its_claim"] is True


def test_a_concentrated_claim_is_shown_as_rho():
    card = renyi_card(ConcentratedPromise(0.05))
    assert "claimed rho = 0.05 (zCDP)" in flat(card)
    assert "(alpha, rho·alpha)-RDP for every alpha > 1" in flat(card)
    assert card.to_dict()["claimed"] == {"rho": 0.05}
    assert card.keeps_its_claim is True


@pytest.mark.parametrize("claimed", [RenyiPromise(2.0, 0.1), ConcentratedPromise(0.05)], ids=repr)
def test_a_tenth_less_noise_does_not_keep_a_claimed_rho_and_the_card_says_so_first(claimed):
    card = renyi_card(claimed, 0.9)
    assert card.keeps_its_claim is False
    text = flat(card)
    assert "The claim is NOT kept: the accounted rho is larger than the claimed one." in text
    assert text.index("NOT kept") < text.index("accounted epsilon")


def test_a_claim_of_epsilon_and_delta_says_nothing_of_orders():
    assert "RDP" not in renyi_card(Promise(1.0, 1e-6)).text()


def test_a_pure_claim_reads_well():
    card = rewards_card(LaplaceEvent(1.0, 1.0), PurePromise(1.0))
    text = flat(card)
    for words in (
        "by theorem epsilon <= 1.000 at delta = 0",
        "claimed epsilon = 1 at delta = 0 (pure DP)",
        "source the Laplace mechanism of Dwork, McSherry, Nissim and Smith (2006)",
        "Pure DP: the same epsilon at every delta.",
        "independent Laplace noise of scale 1",
        "At 5 % false alarms the best attacker detects a changed reward with probability at most 0.136.",
    ):
        assert words in text, words
    assert "NOT kept" not in text
    facts = card.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["claimed"] == {"epsilon": 1.0, "delta": 0.0}
    assert facts["by_theorem"]["delta"] == facts["delta"] == 0.0
    assert facts["keeps_its_claim"] is True
    assert facts["mu"] is facts["rho"] is facts["true_epsilon"] is None
    assert {entry["epsilon"] for entry in facts["epsilon_at"]} == {1.0}


@pytest.mark.parametrize(
    ("event", "claimed", "reason"),
    [
        (LaplaceEvent(0.9, 1.0), PurePromise(1.0), "the theorem's epsilon is larger than the claimed one."),
        (
            SegmentsEvent(9.0, 1.0),
            PurePromise(1.0),
            "it is of pure DP, and Gaussian noise has no epsilon at delta = 0.",
        ),
        (LaplaceEvent(1.0, 1.0), ConcentratedPromise(0.1), "the theorem's bound does not give the claimed rho."),
    ],
)
def test_a_claim_that_is_not_kept_says_why(event, claimed, reason):
    card = rewards_card(event, claimed)
    assert card.keeps_its_claim is False
    assert f"The claim is NOT kept: {reason}" in flat(card)
    assert json.dumps(card.to_dict(), allow_nan=False)


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
        ({"what": "noise"}, "what"),
        ({"settings": "dim=5"}, "settings"),
        ({"version": 1}, "version"),
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


def test_what_a_service_excludes_stands_on_the_card_and_cannot_be_taken_off():
    card = replace(JointLinUCB(dim=3, epsilon=1.0, delta=1e-6).card(), excluded=("Request counts.",))
    assert card.not_covered[-1] == "Request counts."
    assert "Request counts." in card.text()
    facts = card.to_dict()
    assert Card.from_dict(facts) == card
    assert Card.from_dict(facts).excluded == ("Request counts.",)
    edited = {**facts, "not_covered": facts["not_covered"][1:]}
    with pytest.raises(BadInput, match="not_covered"):
        Card.from_dict(edited)


def test_the_answer_of_a_service_is_read_as_the_card_in_it(tmp_path):
    card = JointLinUCB(dim=3, epsilon=1.0, delta=1e-6).card()
    path = tmp_path / "shown.json"
    for facts in (card.to_dict(), {"text": "", "card": card.to_dict()}, {"card": {"text": "", "card": card.to_dict()}}):
        path.write_text(json.dumps(facts))
        assert Card.load(path) == card
    path.write_text('{"card":' * 100_000)
    with pytest.raises(BadInput, match="privacy card as JSON"):
        Card.load(path)
