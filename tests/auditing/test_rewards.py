"""Attacks on policies that protect rewards only: what they watch is what there is, and what is known of it is exact.

That promises are not refuted and that twins are, form by form, is in test_catalogue.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import tacit
from tacit.auditing.attack import ACTIONS, RELEASED
from tacit.auditing.attacks import episodes, sums
from tacit.auditing.bounds import within_reach
from tacit.auditing.claim import claim_of
from tacit.auditing.engine import Work, run
from tacit.auditing.script import Script, Scripted
from tacit.errors import BadInput
from tacit.privacy import gdp

#: Every bound in this file fails with this probability; there are fewer than a hundred.
MISS = 1e-5
RUNS = 20_000
POINT = {"epsilon": 1.0, "delta": 1e-5}
ARMS = ((1.0, 0.0), (0.0, 1.0))
FAMILIES = {
    kind.slug: (kind, family) for family in (episodes.FAMILY, sums.FAMILY) for kind in family.kinds
}  # fmt: skip
PURE = {"laplace-ucb", "successive-elimination"}


def judged(family, config, runs=RUNS, seed=1, twins=True):
    """What the attacks found, and the names of twins that survived the first of them."""
    claim, attacks = claim_of(config), family.attacks(config)
    with Work(0, 1, False) as work:
        found = [run(work, attack, claim, runs, seed, (0, place), MISS) for place, attack in enumerate(attacks)]
        survived = [
            twin.name
            for place, twin in enumerate(family.twins(config) if twins else ())
            if not run(work, twin.spoil(attacks[0]), claim, runs, seed, (1, place), MISS).refuted
        ]
    return claim, found, survived


@pytest.mark.parametrize(
    ("family", "config"),
    [
        (episodes.FAMILY, tacit.RenyiUCB(arms=3, **POINT)),
        (episodes.FAMILY, tacit.LaplaceUCB(arms=2, epsilon=2.0, reward_low=-3.0, person_rounds=4)),
        (sums.FAMILY, tacit.LinPriv(dim=3, arms=3, horizon=4, action_norm=3.0, epsilon=2.0)),
        (sums.FAMILY, tacit.RenyiOFUL(dim=2, horizon=8, noise="sum", ridge=0.5, action_norm=3, reward_low=-2, **POINT)),
    ],
    ids=["gaussian-total", "laplace-total", "laplace-tree", "gaussian-sums"],
)  # fmt: skip
def test_what_is_promised_is_all_but_reached_and_not_exceeded(family, config) -> None:
    """Settings that no form has. What the first attack shows must be above a bound that lies five of its deviations, or
    more, below what so many runs show on average; each twin is refuted."""
    claim, found, survived = judged(family, config)
    assert [one.refuted for one in found] == [False] * len(found)
    assert survived == []
    shown = found[0].epsilon if claim.mu is None else found[0].gaussian
    assert shown > 0.8 * max(within_reach(claim.mu, claim.epsilon, claim.delta, RUNS, MISS)) - 0.1


def test_the_later_actions_tell_less_than_the_totals_and_more_than_nothing() -> None:
    """A normal total against one other of the same law: the middle of the curve is at μ/√2."""
    claim, (released, actions), _ = judged(episodes.FAMILY, tacit.RenyiUCB(arms=2, rho=2.0), twins=False)
    assert (released.observed, actions.observed) == (RELEASED, ACTIONS)
    assert 0.5 * claim.mu < actions.curve.bound < released.curve.bound


def test_the_score_of_laplace_noise_is_the_log_likelihood_ratio() -> None:
    first, second, scale = np.array([0.0, 1.0]), np.array([2.0, 1.5]), 0.7
    seen = np.random.default_rng(0).normal(1.0, 3.0, (50, 2))
    law = [stats.laplace.logpdf(seen, centre, scale).sum(axis=1) for centre in (first, second)]
    score = episodes.laplace_score(first, second, scale)
    assert score(seen) == pytest.approx(law[1] - law[0], abs=1e-8)
    assert score(np.tile(seen, 3)) == pytest.approx(3 * (law[1] - law[0]), abs=1e-8)


@pytest.mark.parametrize(
    "config",
    [
        tacit.SuccessiveElimination(arms=3, epsilon=1.0, failure=0.9, reward_low=-1.0, person_rounds=2),
        tacit.RenyiGOPE(actions=ARMS, epsilon=1.0, noise="laplace", failure=0.9),
    ],
    ids=lambda config: config.slug,
)
def test_a_run_that_begins_late_shows_what_a_whole_one_does(config) -> None:
    """All rewards of the first phase played in their turn, from the same seed, with those of the attack last."""
    attack, plan = episodes.attacks(config)[0].sampler, config.plan()
    opening = episodes._opening(config, plan)
    rounds = opening.size
    rewards = np.full(rounds, float(config.reward_low))
    offers = np.broadcast_to(plan.params.actions, (rounds, *plan.params.actions.shape)).copy()
    for world, reward in enumerate(episodes.extremes(config)):
        rewards[rounds - len(opening.own) :] = reward
        script = Script(offers, rewards)
        whole = Scripted(plan, (script, script), attack.see, watched=np.array([rounds - 1]))
        shown = attack.sample(world, 20, 5, (3,))
        assert shown == pytest.approx(whole.sample(world, 20, 5, (3,)), abs=1e-9)
        assert len(np.unique(shown)) == 20


@pytest.mark.parametrize("switch", [0.01, 1.0])
def test_sums_are_watched_exactly_when_they_are_released(switch) -> None:
    config = tacit.RenyiOFUL(dim=2, horizon=40, switch=switch, ridge=1.0, **POINT)
    attack = sums.attacks(config)[0].sampler
    learner, found = config.start(seed=0), []
    for place in range(int(attack.watched[-1]) + 1):
        before = int(learner.view.stage[0])
        learner.learn(attack.scripts[0].offers[place, 0], 0.0)
        if int(learner.view.stage[0]) > before:
            found.append(place)
    assert found == attack.watched.tolist()


def test_nodes_of_a_tree_are_told_apart() -> None:
    """A person with three rewards: nodes end at rows 1, 2, 3 and 4. Their noise is independent, of the scale of a node,
    around the sums that the score has. Correlations and deviations of 20,000 runs are within five deviations."""
    config = tacit.LinPriv(dim=2, arms=1, horizon=8, person_rounds=3, epsilon=1.0)
    attack = sums.attacks(config)[0]
    assert attack.sampler.watched.tolist() == [0, 1, 2, 3]
    seen = attack.sampler.sample(1, RUNS, 1, (0,))
    scale = config.plan().params.scale
    context = np.full(2, np.sqrt(0.5))
    expected = np.concatenate([count * context for count in (1, 2, 1, 3)])
    room = 5 / np.sqrt(RUNS)
    assert np.abs(seen.mean(axis=0) - expected).max() < room * scale * np.sqrt(2)
    assert np.abs(seen.std(axis=0) / scale / np.sqrt(2) - 1).max() < room * np.sqrt(5) / 2
    assert np.abs(np.corrcoef(seen.T) - np.eye(8)).max() < room


def test_constants_that_are_too_small_are_refuted() -> None:
    """The published noise is stated for rewards in [0, 1]: for a longer interval it keeps less than it says."""
    config = tacit.RenyiUCB(arms=2, alpha=2.0, epsilon=0.1, reward_high=2.0, calibration="published")
    _, found, _ = judged(episodes.FAMILY, config, twins=False)
    assert found[0].refuted
    assert found[0].gaussian <= gdp.epsilon_at(config.guarantee.mu, 1e-5)


def test_of_constants_that_are_too_large_twins_are_spoiled_until_they_break_the_promise() -> None:
    config = tacit.RenyiUCB(arms=2, alpha=2.0, epsilon=0.1, reward_high=0.5, calibration="published")
    _, found, survived = judged(episodes.FAMILY, config)
    assert not found[0].refuted
    assert survived == []


@pytest.mark.parametrize("slug", FAMILIES)
def test_a_promise_alone_is_enough_for_a_small_form(slug) -> None:
    kind, family = FAMILIES[slug]
    promise = {"epsilon": 1.0} if slug in PURE else POINT
    config = kind(**{**family.small(kind, promise), **promise})
    assert [attack.observed for attack in family.attacks(config)] == [RELEASED, ACTIONS]


@pytest.mark.parametrize("options", [{}, {"switch": 0.5}, {"ridge": 30.0}, {"person_rounds": 3}, {"reward_low": 0.0}])
def test_a_shorter_horizon_still_has_releases(options) -> None:
    config = tacit.RenyiOFUL(dim=5, horizon=100_000, **POINT, **options)
    shorter, changes = sums.FAMILY.shrunk(config)
    assert changes["horizon"] == (100_000, shorter.horizon)
    assert shorter.horizon <= sums.MOST_ROUNDS
    assert len(sums.attacks(shorter)[0].sampler.watched) >= 2


def test_a_horizon_too_short_for_later_choices_is_attacked_without_them() -> None:
    config = tacit.LinPriv(dim=2, arms=1, horizon=4, person_rounds=2, reward_low=0.0, **POINT)
    assert [attack.observed for attack in sums.attacks(config)] == [RELEASED]


@pytest.mark.parametrize(
    ("family", "config", "said"),
    [
        (episodes, tacit.SuccessiveElimination(arms=1, epsilon=1.0), "one is played for ever"),
        (sums, tacit.RenyiOFUL(dim=2, horizon=8, ridge=100.0, **POINT), "a release within 8 rounds, got none"),
    ],
    ids=["one-arm", "no-release"],
)
def test_where_nothing_is_released_there_is_nothing_to_attack(family, config, said) -> None:
    with pytest.raises(BadInput, match=said):
        family.attacks(config)
