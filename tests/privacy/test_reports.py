"""Events of reports and batches: what they cost, what they say of themselves, and the laws every event obeys."""

import json
import math
from dataclasses import FrozenInstanceError, replace

import dp_accounting
import pytest
from dp_accounting import pld

from tacit.errors import BadInput, UnknownEvent
from tacit.privacy import (
    BinomialSumEvent,
    Card,
    DiscountedEvent,
    EitherEvent,
    Event,
    ExponentialEvent,
    ForkedEvent,
    GaussianEvent,
    Guarantee,
    LaplaceEvent,
    LatticeEvent,
    PersonEvent,
    Promise,
    Protects,
    RandomisedResponseEvent,
    ReportEvent,
    RootToeplitzEvent,
    ShuffledReportsEvent,
    Together,
    Trust,
    UncertifiedNoise,
    Unit,
    WishartTreeEvent,
    calibrate,
    gdp,
    price,
    price_for_person,
    theorem_for,
)
from tacit.privacy.sensitivity import gram_sensitivity, private_radius, report_sensitivity
from tests.privacy.test_accountant import EVENTS as PRICED

REPORT = ReportEvent(3.0, 2.0)
SHUFFLED = ShuffledReportsEvent(3.0, 1.0, batch=2000, honest=0.5, delta=1e-6)
SUMS = BinomialSumEvent(trials=10**5, sensitivity=30.0, coordinates=20, delta=1e-6)
SCRIPT = UncertifiedNoise("sums of a batch with the constants of a script")
NEW = [REPORT, SHUFFLED, SUMS, SCRIPT]
ALL = [
    *PRICED,
    *NEW,
    ForkedEvent(REPORT, 2),
    RandomisedResponseEvent(1.0),
    ExponentialEvent(0.5, 2),
    LaplaceEvent(3.0, 2.0),
    LatticeEvent(RootToeplitzEvent(3.0, 2.0, 72), step=0.01, coordinates=9, rounding=0.51),
    RootToeplitzEvent(3.0, 2.0, 72),
    DiscountedEvent(3.0, 2.0, 72, 0.9),
    EitherEvent((REPORT, DiscountedEvent(3.0, 2.0, 72, 0.9))),
    WishartTreeEvent(degrees=10**6, sensitivity=2.0, nodes=11, promise_epsilon=1.0, promise_delta=0.1),
]


def published(epsilon: float, delta: float) -> float:
    """The noise of x and of y in the paper, each set as if the other were not there."""
    return 2 * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def printed(value: float, text: str) -> bool:
    """Whether a value is what a table prints, to half a unit of the last printed place."""
    mantissa = text.partition("e")[0]
    unit = 10.0 ** -len(mantissa.partition(".")[2])
    unit *= 10.0 ** int(text.partition("e")[2] or 0)
    return abs(value - float(text)) <= 0.5 * unit * (1 + 1e-9)


# Local reports ---------------------------------------------------------------------------------------------------


def test_a_report_costs_its_sensitivity_over_its_noise_and_several_the_root_of_their_number():
    assert price(REPORT) == 2 / 3
    assert price(replace(REPORT, reports=9)) == pytest.approx(2.0)
    for rounds in (1, 4, 9):
        for rule in (False, True):
            assert price(PersonEvent(REPORT, rounds, rule)) == pytest.approx(math.sqrt(rounds) * 2 / 3)
    assert price(PersonEvent(replace(REPORT, reports=4), 9)) == pytest.approx(6 * 2 / 3)
    assert theorem_for(REPORT) is None


def test_an_independent_accountant_agrees_on_several_reports():
    accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_accounting.GaussianDpEvent(3.0 / 2.0), 5)
    assert 0 <= accountant.get_epsilon(1e-5) - gdp.epsilon_at(price(replace(REPORT, reports=5)), 1e-5) < 3e-3


def test_pricing_several_reports_as_one_breaks_the_promise():
    # Broken twin: noise for one report, a device that sends three.
    scale = calibrate(Promise(1.0, 1e-5), lambda s: ReportEvent(s, 1.0))
    assert gdp.epsilon_at(price(ReportEvent(scale, 1.0)), 1e-5) <= 1.0
    assert gdp.epsilon_at(price(ReportEvent(scale, 1.0, reports=3)), 1e-5) > 1.7


@pytest.mark.parametrize(
    ("delta", "epsilon", "sigma", "alone", "joint_5", "joint_8"),
    [
        (0.1, 0.2, "22.48", "0.0004", "0.0009", "0.0033"),
        (0.1, 1, "4.495", "0.0031", "0.0066", "0.024"),
        (0.1, 10, "0.450", "0.41", "0.61", "0.92"),
        (1e-5, 0.2, "48.45", "5.5e-9", "7.9e-8", "5.1e-6"),
        (1e-5, 1, "9.690", "4.1e-8", "5.9e-7", "3.7e-5"),
        (1e-5, 10, "0.969", "2.3e-5", "2.9e-4", "0.013"),
    ],
)
def test_true_delta_of_the_published_noise(delta, epsilon, sigma, alone, joint_5, joint_8):
    scale = published(epsilon, delta)
    assert printed(scale, sigma)
    for square, text in ((4, alone), (5, joint_5), (8, joint_8)):
        assert printed(gdp.delta_at(price(ReportEvent(scale, math.sqrt(square))), epsilon), text)


@pytest.mark.parametrize(
    ("delta", "epsilon", "scales"),
    [
        (0.1, 0.2, {8: "6.50", 5: "5.14", 3: "3.98", 6: "5.63", 4.5: "4.88"}),
        (0.1, 1, {8: "3.07", 5: "2.43", 3: "1.88", 6: "2.66", 4.5: "2.30"}),
        (0.1, 10, {8: "0.797", 5: "0.630", 3: "0.488", 6: "0.690", 4.5: "0.598"}),
        (1e-5, 0.2, {8: "46.1", 5: "36.5", 3: "28.2", 6: "39.9"}),
        (1e-5, 1, {8: "10.55", 5: "8.34", 3: "6.46", 6: "9.14"}),
        (1e-5, 10, {8: "1.414", 5: "1.118", 3: "0.866", 6: "1.224"}),
    ],
)
def test_exact_noise_of_a_report(delta, epsilon, scales):
    for square, text in scales.items():
        sensitivity = math.sqrt(square)
        scale = calibrate(Promise(epsilon, delta), lambda s, length=sensitivity: ReportEvent(s, length))
        assert printed(scale, text), (square, scale)


@pytest.mark.parametrize(
    ("epsilon", "delta", "true"), [(10, 0.1, "26.95"), (10, 1e-5, "16.10"), (1, 1e-5, "1.098"), (1, 0.1, "0.479")]
)
def test_true_epsilon_of_the_published_report_with_default_bounds(epsilon, delta, true):
    sensitivity = report_sensitivity(1.0, -1.0, 1.0)
    assert printed(gdp.epsilon_at(price(ReportEvent(published(epsilon, delta), sensitivity)), delta), true)


def test_true_epsilon_of_the_published_report_with_a_public_coordinate():
    half = math.sqrt(0.5)
    sensitivity = report_sensitivity(private_radius(1.0, (half,)), 0.0, 1.0)
    event = ReportEvent(published(10, 0.1), sensitivity)
    assert printed(gdp.epsilon_at(price(event), 0.1), "11.51")
    guarantee = Guarantee.priced(event, trust=Trust.LOCAL, protects=Protects.EVERYTHING, unit=Unit.round(), delta=0.1)
    card = Card("online-linucb", "published", guarantee, Promise(10.0, 0.1), events=(event.describe(),))
    assert card.keeps_its_claim is False
    assert "epsilon <= 11.51 at delta = 0.1" in card.text()
    assert event.describe()[:30] in " ".join(card.text().split())


def test_a_gram_report_needs_less_noise_than_its_two_parts_at_their_worst():
    assert gram_sensitivity(1.0, -1.0, 1.0) < math.sqrt(6)


# Batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [SHUFFLED, SUMS], ids=lambda event: event.kind)
def test_a_batch_is_bounded_at_one_delta_and_has_no_price_in_mu(event):
    theorem = theorem_for(event)
    assert (theorem.delta, theorem.epsilon > 0) == (1e-6, True)
    for one in (event, Together((GaussianEvent(1.0, 1.0), event))):
        with pytest.raises(UnknownEvent):
            price(one)
    with pytest.raises(UnknownEvent, match=r"accountant\.theorem_for"):
        price(event)
    guarantee = Guarantee.priced(
        event, trust=Trust.SHUFFLE, protects=Protects.EVERYTHING, unit=Unit.round(), delta=1e-6
    )
    assert guarantee.theorem == theorem
    assert guarantee.epsilon == theorem.epsilon


@pytest.mark.parametrize("event", [SHUFFLED, SUMS], ids=lambda event: event.kind)
def test_a_person_with_several_reports_is_the_event_with_as_many(event):
    three = theorem_for(PersonEvent(event, 3))
    assert three == theorem_for(replace(event, reports=3))
    assert three == theorem_for(PersonEvent(event, 3, one_per_segment=True))
    assert theorem_for(PersonEvent(replace(event, reports=2), 3)) == theorem_for(replace(event, reports=6))
    assert theorem_for(event).epsilon < three.epsilon
    with pytest.raises(UnknownEvent):
        price_for_person(event, 3, False)


@pytest.mark.parametrize("event", [SHUFFLED, SUMS], ids=lambda event: event.kind)
def test_forks_of_a_batch_add_up(event):
    one, forked = theorem_for(event), theorem_for(ForkedEvent(event, 2))
    assert (forked.epsilon, forked.delta) == (pytest.approx(2 * one.epsilon), pytest.approx(2e-6))
    both = theorem_for(ForkedEvent(PersonEvent(event, 3), 2))
    assert both.epsilon == pytest.approx(2 * theorem_for(PersonEvent(event, 3)).epsilon)


@pytest.mark.parametrize(("batch", "honest", "count"), [(2000, 0.5, 1000), (10, 1.0, 10), (3, 0.3, 1), (100, 0.29, 28)])
def test_only_whole_honest_reports_are_counted_and_ones_own_always(batch, honest, count):
    assert replace(SHUFFLED, batch=batch, honest=honest).honest_reports == count


def test_honest_company_is_worth_privacy_and_dishonest_none():
    epsilons = [theorem_for(replace(SHUFFLED, honest=share)).epsilon for share in (0.05, 0.2, 1.0)]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[0] > epsilons[-1]
    same = theorem_for(replace(SHUFFLED, batch=4000, honest=0.25))
    assert same == theorem_for(SHUFFLED)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (SHUFFLED, "amplified by shuffling"),
        (replace(SHUFFLED, batch=2), "local"),
        (replace(SHUFFLED, scale=0.3), "local"),
        (SUMS, "certified binomial noise"),
    ],
)
def test_a_theorem_says_by_which_way_it_was_found(event, words):
    assert theorem_for(event).source.startswith(words)


def test_the_local_way_is_the_local_price():
    few = replace(SHUFFLED, batch=2)
    for reports in (1, 5):
        local = gdp.epsilon_at(price(ReportEvent(few.scale, few.sensitivity, reports)), few.delta)
        assert theorem_for(replace(few, reports=reports)).epsilon == local


def test_too_few_ones_are_not_certified_and_get_no_guarantee():
    with pytest.raises(UnknownEvent, match=r"40 trials per coordinate for rows of 30 grid steps.*more trials"):
        theorem_for(replace(SUMS, trials=40))


# Noise that nobody has proved anything about ---------------------------------------------------------------------


def test_uncertified_noise_is_priced_as_none():
    for event in (SCRIPT, PersonEvent(SCRIPT, 3), ForkedEvent(SCRIPT, 2), Together((REPORT, SCRIPT))):
        assert price(event) == math.inf
    assert theorem_for(SCRIPT) is None
    guarantee = Guarantee.priced(
        SCRIPT, trust=Trust.SHUFFLE, protects=Protects.EVERYTHING, unit=Unit.round(), delta=0.1
    )
    assert not guarantee.private
    assert str(guarantee) == "no privacy is promised"
    card = Card("shuffle-linucb", "script", guarantee, events=(SCRIPT.describe(),))
    assert "No privacy is promised." in card.text()
    assert "no theorem covers" in card.text()


# Laws over all events --------------------------------------------------------------------------------------------


def test_every_kind_of_event_is_held_to_the_laws_below():
    kinds = {kind for kind in Event.__subclasses__() if kind.__module__.startswith("tacit.privacy.event.")}
    assert {type(event) for event in ALL} == kinds
    assert len({kind.kind for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.kind)
def test_every_event_says_in_a_sentence_and_in_json_what_is_released(event):
    assert event.describe().endswith(".")
    assert "\n" not in event.describe()
    facts = event.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["event"] == event.kind
    assert "mu" not in facts


@pytest.mark.parametrize("event", NEW, ids=lambda event: event.kind)
def test_new_events_state_no_price(event):
    words = event.describe().lower() + json.dumps(event.to_dict()).lower()
    assert "epsilon" not in words


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.kind)
def test_every_event_is_a_value_that_cannot_be_changed(event):
    assert event == replace(event)
    assert hash(event) == hash(replace(event))
    for name in event.__dataclass_fields__:
        with pytest.raises(FrozenInstanceError):
            setattr(event, name, 1)


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.kind)
def test_every_event_has_a_price_or_a_theorem_and_never_both(event):
    if theorem_for(event) is None:
        assert price(event) >= 0
    else:
        with pytest.raises(UnknownEvent):
            price(event)


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.kind)
def test_more_copies_and_more_rounds_are_never_cheaper(event):
    def cost(one: Event) -> float:
        theorem = theorem_for(one)
        return price(one) if theorem is None else theorem.epsilon

    if not isinstance(event, ForkedEvent):
        assert cost(event) <= cost(ForkedEvent(event, 2))
    if isinstance(event, PersonEvent | ForkedEvent | RandomisedResponseEvent | WishartTreeEvent):
        return
    assert cost(event) <= cost(PersonEvent(event, 2)) <= cost(PersonEvent(event, 5))


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            REPORT,
            "Gaussian noise of scale 3 on the person's device; a report changes by at most 2, and a person sends 1",
        ),
        (replace(SHUFFLED, reports=2), "a person sends 2 reports. A shuffler permutes batches of 2,000 reports"),
        (SHUFFLED, "50 % are assumed to be from honest devices"),
        (SUMS, "100,000 trials of chance 0.5 added by honest devices; a row changes by at most 30 steps"),
        (SCRIPT, "noise that no theorem covers: sums of a batch with the constants of a script."),
    ],
)
def test_a_reader_learns_what_matters(event, said):
    assert said in event.describe()


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: ReportEvent(0.0, 1.0), "scale"),
        (lambda: ReportEvent(1.0, math.inf), "sensitivity"),
        (lambda: ReportEvent(1.0, 1.0, 0), "reports"),
        (lambda: ReportEvent(1.0, 1.0, 1.5), "reports"),
        (lambda: replace(SHUFFLED, scale=-1.0), "scale"),
        (lambda: replace(SHUFFLED, batch=0), "batch"),
        (lambda: replace(SHUFFLED, honest=0.0), "honest"),
        (lambda: replace(SHUFFLED, honest=1.01), r"0 < honest <= 1.*1\.01"),
        (lambda: replace(SHUFFLED, delta=1.0), "delta"),
        (lambda: replace(SHUFFLED, reports=0), "reports"),
        (lambda: replace(SUMS, trials=0), "trials"),
        (lambda: replace(SUMS, trials=1e5), "trials"),
        (lambda: replace(SUMS, sensitivity=0.0), "NothingReleased"),
        (lambda: replace(SUMS, coordinates=0), "coordinates"),
        (lambda: replace(SUMS, delta=0.0), "delta"),
        (lambda: replace(SUMS, chance=1.0), "chance"),
        (lambda: replace(SUMS, reports=-1), "reports"),
        (lambda: UncertifiedNoise(""), "what"),
        (lambda: UncertifiedNoise(None), "what"),
    ],
)
def test_impossible_facts_are_refused(build, word):
    with pytest.raises(BadInput, match=word):
        build()
