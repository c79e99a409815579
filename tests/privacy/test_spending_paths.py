"""Several ways to ask for one promise: the card has each, and what it says of all is broken by none.

The oracle is exact. A draw of range ε has p/(1 − p) ≤ e^ε·q/(1 − q) for every test, and a pair of coins attains it; two
deployments with a draw in each are two such coins.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tacit.auditing.attacks.functions import FAMILY
from tacit.errors import BadInput
from tacit.mechanisms.exponential import probabilities
from tacit.policies.kernel_baselines import FeatureLinUCB
from tacit.policies.usca import USCA
from tacit.privacy import Card, Guarantee, Promise, Protects, Trust, Unit, compose_cards, gdp
from tacit.privacy.card import SpendingPath
from tacit.privacy.event import ExponentialEvent, GaussianEvent, NothingReleased
from tacit.privacy.ledger import Ledger
from tacit.report.card_page import card_page

CONFIG, _, EXACT = USCA.examples()
PROMISE = CONFIG.promise
SCOPE = {"trust": Trust.JOINT, "protects": Protects.EVERYTHING, "unit": Unit.round()}


def coin(epsilon: float, false_alarm: float) -> float:
    """How often the best test of a draw of range ε detects, at so many false alarms."""
    return 1 / (1 + (1 / false_alarm - 1) * math.exp(-epsilon))


def delta_of(first: list[float], second: list[float], epsilon: float) -> float:
    """δ at ε between two laws on finitely many outcomes: the definition."""
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(first, second, strict=True))


def twice(law: list[float]) -> list[float]:
    """The law of two independent draws."""
    return [one * other for one, other in product(law, law)]


def two_draws(range_of_each: float, epsilon: float) -> float:
    """The largest δ at ε that one draw in each of two deployments has, over equal pairs of coins."""
    coins = [(coin(range_of_each, q), q) for q in np.geomspace(1e-4, 0.9999, 400)]
    return max(delta_of(twice([p, 1 - p]), twice([q, 1 - q]), epsilon) for p, q in coins)


def laws_of_a_draw(config: USCA) -> list[list[float]]:
    """Exact laws of `predict_once` at the whole ε, on two neighbouring records: those of the attack on it."""
    sampler = FAMILY.attacks(config)[-1].sampler
    actions = np.array([sampler.choice.here] + [sampler.choice.there] * 12)
    laws = []
    for world in (0, 1):
        learner = sampler._ready(world)
        laws.append(probabilities(learner._means(actions), learner._rate(config.epsilon, actions)).tolist())
    return laws


def test_the_oracle_has_the_curve_of_one_draw():
    """In closed form (Dong, Durfee and Rogers 2020): e^ε′·(e^{(ε−ε′)/2} − 1)²/(e^ε − 1)."""
    for epsilon, at in ((1.0, 0.3), (2.0, 1.0)):
        coins = [(coin(epsilon, q), q) for q in np.linspace(1e-4, 0.9999, 4000)]
        by_hand = max(delta_of([p, 1 - p], [q, 1 - q], at) for p, q in coins)
        closed = math.exp(at) * math.expm1((epsilon - at) / 2) ** 2 / math.expm1(epsilon)
        assert by_hand == pytest.approx(closed, rel=1e-5)


def test_two_cards_claim_no_less_than_one_draw_in_each_costs():
    """By the Gaussian curve of a function they would claim ε = 1.404 at δ = 2e-6, which a draw in each breaks."""
    together = compose_cards([CONFIG.card(), CONFIG.card()])
    claimed_before = gdp.epsilon_at(math.sqrt(2) * PROMISE.mu, 2e-6)
    assert claimed_before == pytest.approx(1.403, abs=1e-3)
    assert two_draws(1.0, claimed_before) > 0.014
    for epsilon in (0.2, 0.7, claimed_before, 1.8, 1.99):
        assert together.delta_at(epsilon) >= two_draws(1.0, epsilon)
    assert two_draws(1.0, together.epsilon) <= together.delta
    for false_alarm in (0.001, 0.05, 0.5):
        assert together.power(false_alarm**2) >= coin(1.0, false_alarm) ** 2


@pytest.mark.parametrize(("changes", "shown"), [({}, 6e-4), ({"tau": 0.1}, 3e-3)], ids=["default tau", "small tau"])
def test_two_cards_claim_no_less_than_two_learners_give(changes, shown):
    config = replace(CONFIG, context_box=None, features=20, **changes)
    laws = [twice(law) for law in laws_of_a_draw(config)]

    def spread(epsilon: float) -> float:
        return max(delta_of(*laws, epsilon), delta_of(*laws[::-1], epsilon))

    together = compose_cards([config.card(), config.card()])
    assert together.delta_at(1.404) >= spread(1.404) > shown, "where the curve of a function has 2e-6"
    assert spread(together.epsilon) <= together.delta


def test_a_card_claims_no_less_than_a_draw_detects():
    card = CONFIG.card()
    assert card.guarantee.power(0.05) >= coin(1.0, 0.05) > gdp.power(PROMISE.mu, 0.05)
    assert "0.136" in (card.in_words or "")
    assert card.mu is None
    assert card.true_epsilon is None


def test_each_path_has_its_own_guarantee():
    function, draws, mixed = CONFIG.card().paths
    assert function.guarantee.mu == PROMISE.mu
    assert (draws.guarantee.theorem.epsilon, draws.guarantee.theorem.delta) == (1.0, 0.0)
    assert (mixed.guarantee.theorem.epsilon, mixed.guarantee.theorem.delta) == (1.0, 1e-6)
    text = " ".join(CONFIG.card().text().split())
    for words in ("Ways of asking", "(mu = 0.2368); detected with probability 0.0796", "at delta = 0; detected"):
        assert words in text
    for shown in (card_page(CONFIG.card()), CONFIG.card()._repr_html_()):
        assert all(path.price.replace("<", "&lt;") in shown for path in CONFIG.card().paths)


def test_the_exact_form_has_draws_only():
    card = EXACT.card()
    assert [path.name for path in card.paths] == ["draws", "mixed"]
    assert card.noise_scale is None
    assert "Gaussian" not in card.text()
    assert "release_function" not in card.text()


def test_a_guarantee_that_a_path_breaks_is_refused():
    function, draws, mixed = CONFIG.card().paths
    with pytest.raises(BadInput, match="the path 'draws' breaks"):
        Card("usca", "exact", function.guarantee, paths=(function, draws))
    with pytest.raises(BadInput, match="different names"):
        Card("usca", "exact", mixed.guarantee, paths=(draws, draws))
    with pytest.raises(BadInput, match="of a path in words"):
        SpendingPath("", "asked", function.guarantee)


def test_paths_that_were_edited_are_refused():
    facts = json.loads(json.dumps(CONFIG.card().to_dict()))
    assert Card.from_dict(facts).paths == CONFIG.card().paths
    facts["paths"][0]["mu"] /= 2
    with pytest.raises(BadInput, match="The card was edited"):
        Card.from_dict(facts)
    del facts["paths"][0]["mu"]
    with pytest.raises(BadInput, match="Expected paths with"):
        Card.from_dict(facts)


# What was really asked for ------------------------------------------------------------------------------------------


def ways_after(*events) -> tuple[str, ...]:
    ledger = Ledger(PROMISE)
    for event in events:
        ledger.spend(event)
    return ledger.ways


def test_the_first_event_that_costs_anything_says_what_can_hold_at_the_end():
    everything = ("pure", "curve", "concentrated")
    draw, function = ExponentialEvent(0.1), GaussianEvent(10.0, 1.0)
    assert ways_after() == ways_after(NothingReleased()) == everything
    assert ways_after(function) == ways_after(NothingReleased(), function) == ways_after(function, draw) == ("curve",)
    assert ways_after(ExponentialEvent(0.9)) == ("pure",)
    assert ways_after(draw) == ways_after(draw, function) == ("pure", "concentrated")


def asked(config: USCA = CONFIG):
    learner = config.start()
    learner.learn([0.5], 1.0, [0.5])
    return learner


def test_after_a_function_a_learner_counts_by_its_curve():
    learner = asked()
    learner.release_function(0.5, 1e-7)
    learner.predict_once([0.5], 0.1)
    card = learner.card()
    assert card.guarantee.mu == PROMISE.mu
    assert [path.name for path in card.paths] == ["function"]
    together = compose_cards([card, json.loads(json.dumps(card.to_dict()))])
    assert together.epsilon == pytest.approx(1.403, abs=1e-3)
    assert any("first asked in" in note for note in together.notes)


def test_after_one_large_draw_a_learner_counts_as_pure():
    learner = asked()
    learner.predict_once([0.5], 1.0)
    card = learner.card()
    assert card.guarantee.theorem.delta == 0.0
    assert card.noise_scale is None
    assert compose_cards([card, card]).delta == 0.0
    assert compose_cards([card, card]).epsilon == 2.0


def test_after_small_draws_a_learner_lists_them_and_what_is_left():
    learner = asked()
    assert learner.card().spent.events == ()
    assert "Spent so far: nothing" in learner.card().text()
    for _ in range(2):
        learner.predict_once([0.5], 0.1)
    card = learner.card()
    assert [path.name for path in card.paths] == ["draws", "mixed"]
    assert card.spent.epsilon == pytest.approx(0.2)
    assert card.spent.left == learner.left
    assert "So often: 2." in card.text()
    assert Card.from_dict(json.loads(json.dumps(card.to_dict()))).text() == card.text()


def test_baselines_have_the_paths_they_have():
    assert [[path.name for path in config.card().paths] for config in FeatureLinUCB.examples()] == [
        ["function"],
        ["function"],
        ["function"],
        ["views"],
    ]
    config = FeatureLinUCB.examples()[0]
    learner = config.start()
    learner.release_function(0.5, 1e-7)
    learner.release_function()
    assert len(learner.card().spent.events) == 2
    assert learner.card().guarantee.mu == config.promise.mu == pytest.approx(learner.spent.mu)


def test_a_seed_voids_every_path():
    for learner in (CONFIG.start(seed=1), FeatureLinUCB.examples()[0].start(seed=1)):
        assert all(path.guarantee.seeded for path in learner.card().paths)


def test_a_path_keeps_the_promise_of_its_ledger():
    """Guarantee of a Gaussian path: not of one calibrated release, but of all that the ledger lets pass."""
    planned = Guarantee.priced(CONFIG.plan().events[0], delta=1e-6, **SCOPE)
    assert planned.mu < CONFIG.plan().paths[0].guarantee.mu == PROMISE.mu
    assert Promise(1.0, 1e-6).kept(CONFIG.plan().paths[0].guarantee)
