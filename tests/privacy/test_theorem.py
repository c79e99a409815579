"""Guarantees that are one point and no curve: the theorem, the guarantee and the card, and two events with no more."""

import json
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from tacit.errors import BadInput, PrivacyRefusal, UnknownEvent
from tacit.privacy import (
    Card,
    GaussianEvent,
    Guarantee,
    Neighbours,
    NothingReleased,
    PersonEvent,
    Promise,
    Protects,
    RandomisedResponseEvent,
    Theorem,
    Together,
    Trust,
    Unit,
    WishartTreeEvent,
    price,
    theorem_for,
)

WARNING = "seeded: no privacy against anyone who knows the seed"
ONE = GaussianEvent(4.0, 1.0)


def masks(epsilon, delta, horizon, dim=5, **changes):
    """The published Wishart tree: m = 1 + ⌈log2 n⌉ nodes, k = d + 1 + ⌈224·m·ε⁻²·ln(8m/δ)·ln(2/δ)⌉ degrees."""
    nodes = 1 + math.ceil(math.log2(horizon))
    degrees = dim + 1 + math.ceil(224 * nodes / epsilon**2 * math.log(8 * nodes / delta) * math.log(2 / delta))
    facts = {
        "degrees": degrees,
        "sensitivity": 2.0,
        "nodes": nodes,
        "promise_epsilon": epsilon,
        "promise_delta": delta,
    }
    return WishartTreeEvent(**(facts | changes))


def bound(epsilon=0.5, delta=1e-5, source="somebody (1999), Theorem 1"):
    return Theorem(epsilon, delta, source)


def by(theorem, **changes):
    facts = {
        "trust": Trust.JOINT,
        "protects": Protects.EVERYTHING,
        "neighbours": Neighbours.REPLACE_ONE,
        "unit": Unit.round(),
        "mu": None,
        "delta": 1e-5,
        "theorem": theorem,
    }
    return Guarantee(**(facts | changes))


# A theorem -------------------------------------------------------------------------------------------------------


def test_a_theorem_is_one_point_and_says_nothing_below_it():
    theorem = bound()
    assert [theorem.epsilon_at(delta) for delta in (1e-9, 1e-5, 0.1)] == [math.inf, 0.5, 0.5]
    assert [theorem.delta_at(epsilon) for epsilon in (0.0, 0.49, 0.5, 3.0)] == [1.0, 1.0, 1e-5, 1e-5]


def test_pure_privacy_is_a_theorem_at_delta_zero():
    pure = bound(delta=0.0)
    assert pure.epsilon_at(1e-300) == pure.epsilon_at(0.0) == 0.5
    assert pure.delta_at(0.5) == 0.0
    assert pure.composed(7).delta == 0.0


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.1, 0.6])
def test_power_is_that_of_the_best_test_between_the_two_most_different_laws(epsilon, delta):
    """Four answers, of which one gives the world away with probability δ and two have odds of e^ε: nothing that is
    (ε, δ)-DP is easier to tell apart. The best test takes answers in the order of their likelihood ratio."""
    kept, other = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    here, there = np.array([delta, kept, other, 0.0]), np.array([0.0, other, kept, delta])
    false_alarms, detections = np.append(0, np.cumsum(there)), np.append(0, np.cumsum(here))
    for false_alarm in (1e-9, 1e-3, 0.05, 0.3, 0.5, 0.9, 1 - 1e-9):
        expected = np.interp(false_alarm, false_alarms, detections)
        assert bound(epsilon, delta).power(false_alarm) == pytest.approx(expected, rel=1e-12)


def test_power_of_a_useless_bound_is_one_and_does_not_overflow():
    assert bound(epsilon=1e5).power(0.05) == 1.0
    assert bound(epsilon=0.0, delta=0.0).power(0.05) == pytest.approx(0.05)


def test_composing_adds_epsilons_and_deltas_and_says_so():
    twice = bound(0.5, 0.1).composed(3)
    assert (twice.epsilon, twice.delta) == (1.5, pytest.approx(0.3))
    assert twice.source.endswith("composed 3 times")
    assert bound(0.5, 0.4).composed(5).delta < 1  # (ε, 1)-DP is no statement, and no probability here


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ((-0.1, 0.1, "a"), "epsilon"),
        ((math.nan, 0.1, "a"), "epsilon"),
        ((math.inf, 0.1, "a"), "epsilon"),
        ((1.0, 1.0, "a"), "delta"),
        ((1.0, -1e-9, "a"), "delta"),
        ((1.0, math.nan, "a"), "delta"),
        ((1.0, 0.1, " "), "source"),
        ((1.0, 0.1, None), "source"),
    ],
)
def test_impossible_theorems_are_refused(facts, word):
    with pytest.raises(BadInput, match=word):
        Theorem(*facts)


def test_a_theorem_cannot_be_changed_and_travels_as_json():
    with pytest.raises(FrozenInstanceError):
        bound().epsilon = 0.1
    facts = bound().to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert Theorem(**facts) == bound()


# The guarantee made of it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{"mu": 0.3}, {"theorem": None}])
def test_a_guarantee_has_either_a_curve_or_a_theorem(changes):
    with pytest.raises(BadInput, match="either mu or a theorem"):
        by(**({"theorem": bound()} | changes))


def test_a_theorem_must_be_one():
    with pytest.raises(BadInput, match=r"theorem=0\.5"):
        by(0.5)


def test_a_guarantee_by_theorem_reads_as_the_theorem_does():
    guarantee = by(bound())
    assert guarantee.private
    assert guarantee.epsilon == 0.5
    assert guarantee.epsilon_at(1e-6) == math.inf
    assert guarantee.epsilon_at(0.1) == 0.5
    assert guarantee.delta_at(0.4) == 1.0
    assert guarantee.delta_at(0.6) == 1e-5
    assert guarantee.power(0.05) == bound().power(0.05)
    assert guarantee.rho == guarantee.rdp(2.0) == math.inf
    assert by(bound(), delta=1e-6).epsilon == math.inf


def test_the_sentence_names_the_bound_its_source_and_no_mu():
    text = str(by(bound()))
    assert text.startswith("joint DP: contexts and rewards of one round (replace one) are protected with")
    assert "epsilon <= 0.5000 at delta = 1e-05 (by theorem, an upper bound: somebody (1999), Theorem 1)" in text
    assert "mu" not in text
    assert str(by(bound()).with_seed()).endswith(WARNING)
    assert "at delta = 0 " in str(by(bound(delta=0.0), delta=None))


@pytest.mark.parametrize(
    "guarantee",
    [by(bound()), by(bound()).with_seed(), by(bound(), delta=1e-9), by(bound(delta=0.0), delta=None)],
    ids=["plain", "seeded", "below its delta", "pure"],
)
def test_json_of_a_guarantee_by_theorem_is_standard_and_leaves_out_what_is_not_known(guarantee):
    facts = guarantee.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["mu"] is facts["rho"] is None
    assert facts["by_theorem"] == guarantee.theorem.to_dict()
    assert facts["epsilon"] == (0.5 if guarantee.delta in (0, 1e-5) else None)


def test_a_theorem_without_trust_protects_nobody():
    guarantee = by(bound(), trust="none", protects="nothing", neighbours="none")
    assert not guarantee.private
    assert guarantee.epsilon is None
    assert guarantee.epsilon_at(0.1) == math.inf
    assert guarantee.delta_at(9.0) == 1.0
    assert guarantee.power(0.05) == 1.0
    assert str(guarantee) == "no privacy is promised"


@pytest.mark.parametrize("bad", [0.0, 1.0, -1.0, math.nan])
def test_a_guarantee_by_theorem_checks_its_arguments(bad):
    with pytest.raises(BadInput, match="delta"):
        by(bound()).epsilon_at(bad)
    with pytest.raises(BadInput, match="false_alarm"):
        by(bound()).power(bad)
    if not bad >= 0:
        with pytest.raises(BadInput, match="epsilon"):
            by(bound()).delta_at(bad)


# The card made of it ---------------------------------------------------------------------------------------------


CLAIM = Promise(1.0, 1e-5)


def card(claimed=CLAIM):
    return Card("JointLinUCB", "published", by(bound()), claimed)


def flat(one):
    return " ".join(one.text().split())


def test_the_card_leaves_the_true_epsilon_and_mu_open_and_shows_the_theorem():
    facts = card().to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["true_epsilon"] is facts["mu"] is facts["rho"] is None
    assert facts["by_theorem"] == {"epsilon": 0.5, "delta": 1e-5, "source": "somebody (1999), Theorem 1"}
    assert facts["keeps_its_claim"] is True
    table = {entry["delta"]: entry["epsilon"] for entry in facts["epsilon_at"]}
    assert table == {1e-3: 0.5, 1e-5: 0.5, 1e-6: None, 1e-9: None}


def test_the_text_of_the_card_says_that_it_is_only_a_bound():
    text = flat(card())
    for words in (
        "by theorem epsilon <= 0.5000 at delta = 1e-05, an upper bound only",
        "source somebody (1999), Theorem 1",
        "claimed epsilon = 1 at delta = 1e-05",
        "one point and no curve: mu, rho and the true epsilon are not known",
        "the best attacker detects a changed round with probability at most",
    ):
        assert words in text, words
    assert "accounted epsilon" not in text
    for line in card().text().splitlines():
        assert len(line) <= 100


@pytest.mark.parametrize(
    ("claimed", "kept"),
    [
        (Promise(0.5, 1e-5), True),
        (Promise(0.49, 1e-5), False),
        (Promise(1.0, 0.9e-5), False),  # below the theorem's δ nothing is known
        (Promise(1.0, 0.1), True),
        (None, None),
    ],
)
def test_a_claim_is_kept_if_the_theorem_reaches_it(claimed, kept):
    assert card(claimed=claimed).keeps_its_claim is kept
    assert ("NOT kept" in card(claimed=claimed).text()) is (kept is False)


# Wishart masks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "horizon", "total", "half_digit"),
    [
        (1.0, 0.1, 5 * 10**7, 0.543, 5e-4),
        (1.0, 1e-5, 10**5, 0.510, 5e-4),
        (10.0, 0.1, 10**5, 10.36, 5e-3),
    ],
)
def test_listed_values_of_the_composition(epsilon, delta, horizon, total, half_digit):
    theorem = theorem_for(masks(epsilon, delta, horizon))
    assert theorem.epsilon == pytest.approx(total, abs=half_digit)
    assert theorem.delta == delta
    assert "Shariff and Sheffet (2018), Theorem 8" in theorem.source


def test_the_bound_is_advanced_composition_of_the_promise_of_each_node():
    event = masks(2.0, 1e-3, 1000)
    each = 2.0 / math.sqrt(8 * event.nodes * math.log(2 / 1e-3))
    slack = 1e-3 / 2
    rule = math.sqrt(2 * event.nodes * math.log(1 / slack)) * each + event.nodes * each * (math.exp(each) - 1)
    assert theorem_for(event).epsilon == pytest.approx(rule, rel=1e-12)


def test_a_node_of_epsilon_one_or_more_is_not_covered():
    nodes, delta = 3, 0.1
    limit = math.sqrt(8 * nodes * math.log(2 / delta))
    facts = {"degrees": 10**6, "sensitivity": 2.0, "nodes": nodes, "promise_delta": delta}
    assert theorem_for(WishartTreeEvent(promise_epsilon=limit * (1 - 1e-9), **facts)).epsilon > 1
    with pytest.raises(UnknownEvent, match=r"below 1, got .* over 3 nodes.*smaller epsilon"):
        theorem_for(WishartTreeEvent(promise_epsilon=limit * (1 + 1e-9), **facts))


def test_too_few_degrees_of_freedom_are_not_covered():
    event = masks(1.0, 0.1, 1000)
    least = event.degrees - 6  # d + 1 of the degrees are for the dimension, which the event does not know
    assert theorem_for(masks(1.0, 0.1, 1000, degrees=least)).epsilon > 0
    with pytest.raises(UnknownEvent, match=rf"at least {least:,} degrees .* got {least - 1:,}"):
        theorem_for(masks(1.0, 0.1, 1000, degrees=least - 1))


@pytest.mark.parametrize("event", [masks(1.0, 0.1, 1000), RandomisedResponseEvent(1.0)], ids=lambda event: event.kind)
def test_what_only_a_theorem_bounds_has_no_price_alone_or_inside_another_event(event):
    assert theorem_for(event) is not None
    with pytest.raises(UnknownEvent, match=r"accountant\.theorem_for"):
        price(event)
    for one in (PersonEvent(event, 3), Together((ONE, event))):
        with pytest.raises(UnknownEvent):
            Guarantee.priced(one, trust=Trust.JOINT, protects=Protects.EVERYTHING, unit=Unit.round(), delta=0.1)


@pytest.mark.parametrize("event", [ONE, Together((ONE, ONE)), PersonEvent(ONE, 3), NothingReleased()])
def test_what_has_a_price_needs_no_theorem(event):
    assert theorem_for(event) is None
    guarantee = Guarantee.priced(event, trust=Trust.JOINT, protects=Protects.EVERYTHING, unit=Unit.round(), delta=0.1)
    assert guarantee.mu == price(event)
    assert guarantee.theorem is None


def test_a_guarantee_of_wishart_masks_is_priced_by_theorem():
    event = masks(1.0, 1e-5, 10**5)
    guarantee = Guarantee.priced(event, trust=Trust.JOINT, protects=Protects.EVERYTHING, unit=Unit.round(), delta=1e-5)
    assert guarantee.mu is None
    assert guarantee.theorem == theorem_for(event)
    assert guarantee.epsilon == pytest.approx(0.510, abs=5e-4)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"degrees": 0}, "degrees"),
        ({"degrees": 10.5}, "degrees"),
        ({"nodes": 0}, "nodes"),
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"promise_epsilon": 0.0}, "promise_epsilon"),
        ({"promise_epsilon": math.inf}, "promise_epsilon"),
        ({"promise_delta": 0.0}, "promise_delta"),
        ({"promise_delta": 1.0}, "promise_delta"),
    ],
)
def test_impossible_masks_are_refused(changes, word):
    with pytest.raises(BadInput, match=word):
        masks(1.0, 0.1, 1000, **changes)


@pytest.mark.parametrize("event", [masks(1.0, 0.1, 1000), RandomisedResponseEvent(1.0)], ids=lambda event: event.kind)
def test_these_events_describe_themselves_too(event):
    assert event.describe().endswith(".")
    assert json.loads(json.dumps(event.to_dict(), allow_nan=False))["event"] == event.kind
    assert "mu" not in event.to_dict()


# Randomised response ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0])
def test_randomised_response_is_pure_at_its_own_epsilon(epsilon):
    theorem = theorem_for(RandomisedResponseEvent(epsilon))
    assert (theorem.epsilon, theorem.delta) == (epsilon, 0.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, None])
def test_randomised_response_needs_an_epsilon(bad):
    with pytest.raises(BadInput, match="epsilon"):
        RandomisedResponseEvent(bad)


def test_refusals_are_refusals_of_privacy():
    assert issubclass(UnknownEvent, PrivacyRefusal)
