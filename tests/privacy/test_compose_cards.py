"""The same people in several deployments: what the cards promise together."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.errors import BadInput
from tacit.privacy import (
    Audited,
    Card,
    GaussianEvent,
    Guarantee,
    Neighbours,
    Promise,
    Protects,
    Theorem,
    Trust,
    Unit,
    compose_cards,
    gdp,
)

ROUND, PERSON = Unit.round(), Unit.person(3)


def gaussian(mu: float, *, delta: float = 1e-6, policy: str = "joint-linucb", **more) -> Card:
    scope = {"trust": Trust.JOINT, "protects": Protects.EVERYTHING, "unit": ROUND, **more}
    return Card(policy, "exact", Guarantee.priced(GaussianEvent(1 / mu, 1.0), delta=delta, **scope))


def point(epsilon: float, delta: float = 0.0, *, trust: Trust = Trust.LOCAL, unit: Unit = ROUND) -> Card:
    theorem = Theorem(epsilon, delta, "a theorem")
    guarantee = Guarantee(trust, Protects.EVERYTHING, Neighbours.REPLACE_ONE, unit, None, None, theorem=theorem)
    return Card("shuffle-linucb" if delta else "randomised-response", "exact", guarantee)


MIXTURES = [
    [gaussian(0.5), gaussian(1.2)],
    [point(1.0), point(0.5)],
    [point(1.0, 1e-5), point(0.5, 1e-6)],
    [gaussian(0.3), point(0.7)],
    [gaussian(0.3), gaussian(0.4), point(0.7), point(0.7, 1e-6), point(2.0)],
]


def test_gaussian_curves_compose_as_one_gaussian():
    together = compose_cards([gaussian(0.3), gaussian(0.4, delta=1e-5), gaussian(1.2)])
    assert together.mu == pytest.approx(1.3)
    assert together.delta == pytest.approx(1.2e-5)
    for delta in (1e-3, 1e-6, 1e-9):
        assert together.epsilon_at(delta) == gdp.epsilon_at(together.mu, delta)
    assert together.power(0.05) == gdp.power(together.mu, 0.05)


def test_pure_epsilons_add_up_at_a_delta_of_zero():
    together = compose_cards([point(1.0), point(0.5), point(0.25)])
    assert (together.epsilon, together.delta, together.mu) == (1.75, 0.0, None)
    assert together.epsilon_at(1e-3) < 1.75


def test_points_compose_as_two_coins_do():
    """The definition, on the four outcomes of two randomised responses."""
    first, second = 1.0, 0.4
    together = compose_cards([point(first), point(second)])

    def chances(sign: int) -> list[float]:
        return [
            math.prod(1 / (1 + math.exp(-sign * way * eps)) for way, eps in zip(ways, (first, second), strict=True))
            for ways in itertools.product((1, -1), repeat=2)
        ]

    for epsilon in (0.0, 0.3, 0.6, 1.0, 1.39):
        pairs = zip(chances(1), chances(-1), strict=True)
        by_hand = sum(max(0.0, p - math.exp(epsilon) * q) for p, q in pairs)
        assert together.delta_at(epsilon) == pytest.approx(by_hand, abs=1e-14)


@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_mixtures_agree_with_an_independent_accountant(delta):
    """dp-accounting rounds losses up to a grid of 1e-4 each: it must lie above us, and by no more than that."""
    mu, pure, epsilon, failure = 0.5, 0.7, 1.0, 1e-5
    together = compose_cards([gaussian(mu), point(pure), point(epsilon, failure)])
    # Replace-one sensitivities are ours: normalised, the oracle's add-or-remove is the same pair of Gaussians.
    oracle = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-4)
    for one, chance in ((pure, 0.0), (epsilon, failure)):
        parameters = pld.common.DifferentialPrivacyParameters(one, chance)
        oracle = oracle.compose(pld.from_privacy_parameters(parameters, value_discretization_interval=1e-4))
    theirs = oracle.get_epsilon_for_delta(delta)
    assert together.epsilon_at(delta) <= theirs + 1e-9
    assert together.epsilon_at(delta) == pytest.approx(theirs, abs=5e-4)


@pytest.mark.parametrize("cards", MIXTURES)
def test_a_sum_is_never_above_adding_epsilon_and_delta_nor_below_any_part(cards):
    together = compose_cards(cards)
    parts = [card.guarantee.theorem.epsilon if card.mu is None else card.true_epsilon for card in cards]
    assert together.epsilon <= sum(parts) * (1 + 1e-9)
    for card in cards:
        assert together.epsilon >= card.guarantee.epsilon_at(max(together.delta, 1e-12)) * (1 - 1e-9)
        assert together.power(0.05) >= card.guarantee.power(0.05) * (1 - 1e-9)


@pytest.mark.parametrize("cards", MIXTURES)
def test_what_is_answered_lies_under_the_curve_and_hardly_below_it(cards):
    together = compose_cards(cards)
    for delta in (1e-2, 1e-4):
        epsilon = together.epsilon_at(delta)
        assert together.delta_at(epsilon) <= delta * (1 + 1e-9)
        assert together.delta_at(epsilon * 0.999) > delta


def test_below_the_deltas_of_the_points_there_is_no_bound():
    together = compose_cards([gaussian(0.3), point(1.0, 1e-5)])
    assert together.epsilon_at(1e-6) == math.inf
    assert {"delta": 1e-6, "epsilon": None} in together.to_dict()["epsilon_at"]
    assert "no bound" in together.text()


@pytest.mark.parametrize("delta", [0.1, 1e-3, 3e-5, 1e-6, 7e-9, 1e-12, 1e-300])
def test_at_the_delta_of_the_only_point_that_has_one_epsilons_add_up(delta):
    """1 − (1 − δ) is not always δ in doubles: rounding must not turn a bound into none."""
    together = compose_cards([point(1.0, delta), point(0.5)])
    assert together.delta == delta
    assert together.epsilon == 1.5


def test_many_equal_points_compose_exactly():
    together = compose_cards([point(0.7)] * 12)
    weights = [math.comb(12, k) * math.exp(0.7 * (12 - k)) for k in range(13)]
    mirrored = [math.comb(12, k) * math.exp(0.7 * k) for k in range(13)]
    found = sum(max(0.0, p - math.exp(3.0) * q) for p, q in zip(weights, mirrored, strict=True))
    assert together.delta_at(3.0) == pytest.approx(found / (1 + math.exp(0.7)) ** 12, rel=1e-9)


def test_of_very_many_points_the_smallest_are_added_up_first():
    """A bound: never below what the largest give exactly, never above adding everything up."""
    cards = [point(0.1 * k) for k in range(1, 15)]
    together, largest = compose_cards(cards), compose_cards(cards[-9:])
    assert largest.epsilon_at(1e-6) < together.epsilon_at(1e-6) <= sum(0.1 * k for k in range(1, 15)) + 1e-9


def test_order_does_not_matter():
    for cards in MIXTURES:
        forwards, backwards = compose_cards(cards), compose_cards(cards[::-1])
        assert forwards.epsilon_at(1e-3) == pytest.approx(backwards.epsilon_at(1e-3), rel=1e-9)


def test_text_and_json_name_every_card_and_every_trust_model():
    together = compose_cards([gaussian(0.3), point(0.5, 1e-6, trust=Trust.SHUFFLE), point(1.0)])
    text = " ".join(together.text().split())
    for words in (
        "The same people in 3 deployments",
        "1. joint-linucb (exact): joint DP",
        "trust joint and shuffle and local",
        "unit one round in each deployment",
        "2 of 3 cards give a point",
        "Whom one must trust differs",
        "somebody with several rounds",
        "At 5 % false alarms the best attacker, who sees all deployments",
        "no other deployment has the same people",
    ):
        assert words in text, words
    assert max(map(len, together.text().splitlines())) <= 100
    facts = together.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["policies"] == ["joint-linucb", "shuffle-linucb", "randomised-response"]
    assert facts["trust"] == ["joint", "shuffle", "local"]
    assert str(together) == together.text()


def test_cards_compose_from_json_too():
    cards = [gaussian(0.3), point(1.0, 1e-5)]
    assert compose_cards([card.to_dict() for card in cards]).epsilon == compose_cards(cards).epsilon


def test_persons_compose_with_the_rounds_of_each_deployment():
    together = compose_cards([gaussian(0.3, unit=PERSON), gaussian(0.4, unit=Unit.person(5))])
    assert together.unit == "one person with at most 3 and 5 rounds, in the order of the cards"
    assert together.mu == pytest.approx(0.5)
    assert not any("several rounds" in note for note in together.notes)


def test_a_person_with_one_round_is_that_round_and_no_other_person_is():
    assert compose_cards([gaussian(0.3, unit=Unit.person(1)), gaussian(0.4)]).unit == "one round in each deployment"
    with pytest.raises(BadInput, match=r"Expected one unit, got joint-linucb.* beside .* at most 3 rounds.*--person"):
        compose_cards([gaussian(0.3), gaussian(0.4, unit=PERSON)])


def test_where_one_deployment_protects_rewards_only_so_does_the_sum():
    together = compose_cards([gaussian(0.3), gaussian(0.4, protects=Protects.REWARDS, policy="renyi-ucb")])
    assert together.protects is Protects.REWARDS
    assert "Contexts are public in renyi-ucb, so the sum is about rewards only." in together.notes


def audited(card: Card, verdict: str) -> Card:
    return card.with_audit(
        Audited(
            verdict=verdict,
            policy=card.policy,
            form={},
            epsilon=1.0,
            delta=1e-6,
            mu=None,
            lower_bound=2.0 if verdict == "violated" else 0.5,
            gaussian_lower_bound=None,
            confidence=0.95,
            runs=1000,
            seed=1,
            date="2026-11-16",
            version="0.1.0",
            observed=("later actions",),
        )
    )


def test_a_claim_that_is_not_kept_is_counted_at_what_it_gives_and_said_loudly():
    broken = replace(gaussian(3.0), claimed=Promise(1.0, 1e-6))
    for card, warnings in ((broken, 1), (audited(broken, "violated"), 2)):
        together = compose_cards([card, gaussian(4.0)])
        assert together.mu == pytest.approx(5.0)
        assert together.text().count("WARNING") == warnings


@pytest.mark.parametrize(
    ("card", "words"),
    [
        (Card("linucb", "none", Guarantee.none()), r"card 2 \(linucb\), which promises none"),
        (replace(gaussian(0.3), guarantee=gaussian(0.3).guarantee.with_seed()), "which is seeded"),
        (audited(gaussian(0.3), "violated"), "promises that no audit has refuted.*VIOLATED"),
        ({**gaussian(0.3).to_dict(), "mu": 0.1}, "The card was edited"),
        ({"policy": "linucb"}, "schema='tacit-card-2'"),
        (3, "got a int"),
    ],
)
def test_cards_that_cannot_be_added_up_are_refused(card, words):
    with pytest.raises(BadInput, match=words):
        compose_cards([gaussian(0.3), card])


def test_consistent_audits_are_no_obstacle():
    assert compose_cards([audited(gaussian(0.3), "consistent"), gaussian(0.4)]).mu == pytest.approx(0.5)


def test_a_single_card_is_no_sum():
    with pytest.raises(BadInput, match="at least two cards"):
        compose_cards([gaussian(0.3)])
    with pytest.raises(BadInput, match="a list of cards"):
        compose_cards(gaussian(0.3))
