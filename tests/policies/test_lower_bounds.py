"""Lower bounds that run: the formulas, the two policies of plain privacy, and the worlds they were made for.

Error level: each statistical check is two-sided at `LEVEL` = 1e-6, with fixed seeds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit._kernel import kernel
from tacit.core.slate import slate
from tacit.core.verbs import choose
from tacit.environments import OrthogonalArms, TwoContexts
from tacit.errors import BadInput
from tacit.noise import stream, tape
from tacit.policies.context_blind import ContextBlind
from tacit.policies.lower_bounds import plain_dp_floor, private_arms_floor, randomised_response_regret
from tacit.policies.randomised_response import RandomisedResponse
from tacit.privacy.accountant import theorem_for
from tacit.privacy.scope import Trust
from tacit.simulation import simulate
from tests.statistics import checks
from tests.statistics.checks import LEVEL

ROUNDS = 200_000


# Formulas ----------------------------------------


def test_the_floors_are_the_published_ones():
    assert plain_dp_floor(1000) == 250
    assert private_arms_floor(5, 10**6, 0.5) == pytest.approx(4 * math.log(10**6) / 100)
    assert private_arms_floor(1, 10**6, 0.5) == 0
    assert randomised_response_regret(1000, math.log(3)) == pytest.approx(500)


def test_floors_are_lines_over_time_too():
    rounds = np.array([1, 10, 100])
    np.testing.assert_allclose(plain_dp_floor(rounds), [0.25, 2.5, 25])
    np.testing.assert_allclose(private_arms_floor(3, rounds, 1.0), np.log(rounds) / 100)
    np.testing.assert_allclose(randomised_response_regret(rounds, 1e-12), rounds)


def test_randomised_response_respects_the_floor_wherever_the_claim_holds():
    """2/(1 + e^ε) ≥ 1/4 up to ε = ln 7, far beyond the ln 2 of the claim: the claim is true and loose."""
    for epsilon in (0.01, 0.3, math.log(2)):
        assert randomised_response_regret(1, epsilon) >= plain_dp_floor(1)
    assert randomised_response_regret(1, math.log(7) + 0.01) < plain_dp_floor(1)


@pytest.mark.parametrize("epsilon", [0.1, 0.69, 2.0])
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.24])
def test_no_pair_of_error_rates_that_plain_privacy_allows_is_below_the_floors(epsilon, delta):
    """Every (p, q) on a grid that satisfies the four inequalities of (ε, δ)-DP on two arms."""
    p, q = np.meshgrid(np.linspace(0, 1, 501), np.linspace(0, 1, 501))
    odds = math.exp(epsilon)
    # Arms' probabilities under the two contexts are (1 − p, p) and (q, 1 − q).
    allowed = np.ones_like(p, dtype=bool)
    for one, other in ((1 - p, q), (q, 1 - p), (p, 1 - q), (1 - q, p)):
        allowed &= one <= odds * other + delta
    cost = (p + q)[allowed].min()
    assert cost >= (1 - delta) * randomised_response_regret(1, epsilon) - 1e-12
    assert cost <= (1 - delta) * randomised_response_regret(1, epsilon) + 0.01, "the bound is attained"
    if epsilon < math.log(2):
        assert cost > plain_dp_floor(1)


def test_a_huge_epsilon_pays_nothing_and_overflows_nothing():
    assert randomised_response_regret(10**6, 1e4) == 0


@pytest.mark.parametrize("rounds", [0, -1, math.nan, math.inf, "many", None, [10, 0]])
def test_rounds_must_be_numbers_from_one_up(rounds):
    with pytest.raises(BadInput, match="rounds"):
        plain_dp_floor(rounds)


def test_nonsense_is_refused_with_the_value():
    with pytest.raises(BadInput, match="epsilon=0"):
        randomised_response_regret(10, 0)
    with pytest.raises(BadInput, match="arms=0"):
        private_arms_floor(0, 10, 1.0)
    with pytest.raises(BadInput, match="epsilon=-1"):
        RandomisedResponse(dim=2, epsilon=-1)
    with pytest.raises(BadInput, match="ContextBlind"):
        RandomisedResponse(dim=2, epsilon=0)
    for kind in (ContextBlind, lambda dim: RandomisedResponse(dim=dim, epsilon=1.0)):
        with pytest.raises(BadInput, match="dim=0"):
            kind(dim=0)


# Randomised response: the mechanism ----------------------------------------


@kernel
def _arms(params, view, slate, noise, chosen):
    for k in range(chosen.shape[0]):
        chosen[k] = choose(params, view, slate, noise)


def answers(config, coordinates, seed, odds=1.0):
    """How often each arm is named, of `ROUNDS` answers to one context; `odds` spoils the twin."""
    plan = config.plan()
    params = plan.params._replace(odds=plan.params.odds * odds)
    room = slate(config.dim, len(coordinates))
    room.columns[0] = coordinates
    chosen = np.zeros(ROUNDS, np.int64)
    _arms(params, plan.view(), room, stream(seed), chosen)
    return np.bincount(chosen, minlength=len(coordinates))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("arms", [2, 3, 6])
@pytest.mark.parametrize("best", [0, 1])
def test_arms_are_named_with_the_probabilities_of_randomised_response(epsilon, arms, best):
    config = RandomisedResponse(dim=2, epsilon=epsilon)
    coordinates = np.linspace(-1, 0.5, arms)
    coordinates[best] = 0.75
    law = np.full(arms, 1.0)
    law[best] = math.exp(epsilon)
    law /= law.sum()
    assert checks.counts(answers(config, coordinates, seed=61), law) > LEVEL
    assert checks.counts(answers(config, coordinates, seed=61, odds=0.9), law) < LEVEL


def exact_law(config, coordinates, odds=1.0, cells=2000):
    """The probability of each arm, by trying uniform numbers from a fine grid instead of drawing them."""
    plan = config.plan()
    params = plan.params._replace(odds=plan.params.odds * odds)
    arms = len(coordinates)
    room = slate(config.dim, arms)
    room.columns[0] = coordinates
    found = np.zeros(arms)
    places = (np.arange(cells) + 0.5) / cells
    for first in places:
        for second in (np.arange(arms - 1) + 0.5) / (arms - 1):
            noise = tape(1, 2)
            noise.uniforms[:] = first, second
            noise.at[:] = 0
            found[choose(params, plan.view(), room, noise)] += 1
    return found / found.sum()


@pytest.mark.parametrize("arms", [2, 4])
def test_no_two_contexts_are_told_apart_by_more_than_the_promised_odds(arms):
    config = RandomisedResponse(dim=2, epsilon=1.0)

    def worst(odds):
        laws = [exact_law(config, np.eye(arms)[best], odds) for best in range(arms)]
        return max((one / other).max() for one in laws for other in laws)

    assert worst(1.0) <= math.exp(1.0) * 1.01
    assert worst(1.0) >= math.exp(1.0) * 0.99, "noise nobody asked for costs regret"
    assert worst(0.95) > math.exp(1.0) * 1.01, "a twin with a twentieth less noise is caught"
    assert theorem_for(config.plan().event).epsilon == 1.0


def test_no_arm_is_impossible_however_large_epsilon_is():
    """e^−1000 is 0 in a double: an arm of probability 0 would prove a context."""
    for epsilon in (10.0, 40.0, 1000.0):
        plan = RandomisedResponse(dim=1, epsilon=epsilon).plan()
        room = slate(1, 2)
        room.columns[0] = 1.0, -1.0
        noise = tape(1, 2)
        noise.uniforms[:], noise.at[:] = 0.0, 0
        assert choose(plan.params, plan.view(), room, noise) == 1


def test_a_tiny_epsilon_never_turns_the_odds_round():
    assert RandomisedResponse(dim=1, epsilon=1e-15).plan().params.odds <= 1.0


def test_a_single_arm_is_taken():
    learner = RandomisedResponse(dim=2, epsilon=0.1).start(seed=1)
    assert [learner.choose([[0.3, 0.1]]) for _ in range(50)] == [0] * 50


def test_only_the_first_coordinate_is_looked_at():
    config = RandomisedResponse(dim=3, epsilon=30.0)
    learner = config.start(seed=1)
    assert learner.choose([[0.1, 9.0, 9.0], [0.2, -9.0, 0.0], [0.1, 0.0, 0.0]]) == 1


# Context-blind ----------------------------------------


def test_the_blind_policy_names_arms_evenly_whatever_they_are():
    plan = ContextBlind(dim=2).plan()
    chosen = []
    for scale in (0.0, 1.0):
        room = slate(2, 5)
        room.columns[:] = scale * np.arange(10.0).reshape(2, 5)
        arms = np.zeros(ROUNDS, np.int64)
        _arms(plan.params, plan.view(), room, stream(62), arms)
        chosen.append(arms)
    counts = np.bincount(chosen[0], minlength=5)
    assert checks.counts(counts) > LEVEL
    assert checks.counts(counts + 2000 * (np.arange(5) == 0)) < LEVEL
    assert np.array_equal(chosen[0], chosen[1]), "the same noise gives the same arms: actions are not read"


def test_the_blind_policy_promises_everything_and_the_guarantee_says_so():
    guarantee = ContextBlind(dim=2).guarantee
    assert guarantee.mu == 0
    assert guarantee.epsilon == 0
    assert guarantee.trust is Trust.CENTRAL
    assert ContextBlind(dim=2).promise is None


def test_randomised_response_is_pure_and_local():
    config = RandomisedResponse(dim=2, epsilon=0.7)
    guarantee = config.guarantee
    assert guarantee.mu is None
    assert (guarantee.theorem.epsilon, guarantee.theorem.delta) == (0.7, 0.0)
    assert guarantee.trust is Trust.LOCAL
    assert guarantee.epsilon_at(1e-300) == 0.7
    assert config.promise is None
    text = config.card().text()
    assert "epsilon <= 0.7000 at delta = 0" in text
    assert "Pure DP was asked for: epsilon = 0.7 at delta = 0." in text


# The worlds ----------------------------------------


def wrong_arms(config, seed):
    """How many of `ROUNDS` arms were wrong in `TwoContexts`."""
    result = simulate(config, TwoContexts(dim=config.dim), rounds=ROUNDS, seed=seed, progress=False)
    return round(result.regret_mean / 2)


def test_a_blind_policy_pays_one_per_round():
    wrong = wrong_arms(ContextBlind(dim=3), seed=63)
    assert checks.share(wrong, ROUNDS, 0.5) > LEVEL
    assert checks.share(wrong, ROUNDS, 0.49) < LEVEL


@pytest.mark.parametrize("epsilon", [0.5, 0.99 * math.log(2), 2.0])
def test_randomised_response_pays_two_over_one_plus_e_to_the_epsilon(epsilon):
    wrong = wrong_arms(RandomisedResponse(dim=2, epsilon=epsilon), seed=64)
    expected = float(randomised_response_regret(ROUNDS, epsilon))
    assert checks.share(wrong, ROUNDS, expected / 2 / ROUNDS) > LEVEL
    assert checks.share(wrong, ROUNDS, 1.03 * expected / 2 / ROUNDS) < LEVEL


def test_both_stay_above_the_floor_of_plain_privacy_where_it_applies():
    for config in (ContextBlind(dim=2), RandomisedResponse(dim=2, epsilon=0.69)):
        result = simulate(config, TwoContexts(), rounds=20_000, trials=3, seed=65, progress=False)
        assert (result.curves[:, -1] > plain_dp_floor(20_000)).all()


def test_a_blind_policy_pays_the_gap_for_every_wrong_arm():
    """In `OrthogonalArms` K − 1 of K arms are wrong."""
    world = OrthogonalArms(arms=4, gap=0.2)
    result = simulate(ContextBlind(dim=4), world, rounds=ROUNDS, seed=66, progress=False)
    wrong = round(result.regret_mean / 0.2)
    assert checks.share(wrong, ROUNDS, 3 / 4) > LEVEL
    assert checks.share(wrong, ROUNDS, 0.76) < LEVEL
