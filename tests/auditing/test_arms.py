"""Attacks on the arms model: the pairs are the worst, what is watched is what is published, twins are found out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.auditing.attacks import arms, joint, sums
from tacit.auditing.claim import claim_of
from tacit.auditing.engine import Work, run
from tacit.auditing.live import live_of, run_live
from tacit.auditing.script import Script
from tacit.core.round import ROWS
from tacit.core.session import Session
from tacit.errors import BadInput
from tacit.estimators.by_arm import empty_arms_view, fit_arms
from tacit.preparation import Preparation
from tests.auditing.test_live import halved, laid

RUNS, TWIN_RUNS = 100_000, 20_000
POINT = {"epsilon": 1.0, "delta": 1e-5, "arms": 3, "dim": 2}
#: Where a few per cent of noise can be told apart.
LOUD = {**POINT, "epsilon": 10.0, "arms": 2, "ratio": 1.5}


@pytest.mark.parametrize("weight", [0.25, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("prepared", ["standard", "none"])
def test_the_two_rows_of_one_arm_are_as_far_apart_as_rows_may_be(weight: float, prepared: str) -> None:
    config = tacit.JointLinUCB(**POINT, reward_weight=weight, action_norm=2.0, preparation=prepared)
    first, second = arms.worst_rows(config)
    if prepared == "none" or weight >= 0.4:  # else the constant keeps contexts closer than they would have to be
        assert arms._apart(config, first, second) == pytest.approx(config.sensitivity, rel=1e-12)
    assert arms._apart(config, first, second) > 0.99 * config.sensitivity
    of_two = arms._apart(config, first, second._replace(arm=1))
    assert of_two == pytest.approx(4 * math.sqrt(1 + weight), rel=1e-12)
    assert of_two < config.sensitivity


@pytest.mark.parametrize("features", [1, 2, 4])
def test_prepared_contexts_point_where_they_should(features: int) -> None:
    """Beyond the bounds, within declared ones, and plain."""
    for prepared in (Preparation(), Preparation(low=-1.0, high=3.0), Preparation(normalise=False)):
        config = tacit.JointLinUCB(**{**POINT, "dim": features}, preparation=prepared)
        (first, _), session = arms.worst_rows(config), Session(config.plan(), features, seed=0)
        session.vault.learning[0] = session.view.stage[0] = 1
        session.absorb(np.append(arms.context(config, first.way), 1.0), 1e9)
        found = np.zeros(config.size)
        found[:] = session.vault.sums
        np.testing.assert_allclose(found, arms.image(config, first._replace(arm=1)), rtol=0, atol=1e-12)


OPTIONS = {
    "discounted": {},
    "geometric": {"releases": "geometric", "views": 8, "width": "theory"},
    "tree": {"releases": "tree", "horizon": 1000, "width": "theory"},
    "toeplitz": {"releases": "toeplitz", "horizon": 1000},
    "window": {"releases": "geometric", "window": 3, "views": 8},
}


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("discounted", "double"),
        ("discounted", "secure"),
        ("geometric", "double"),
        ("tree", "secure"),
        pytest.param("toeplitz", "double", marks=pytest.mark.long),
        ("window", "secure"),
    ],
)
def test_the_last_row_of_the_memory_is_what_the_estimate_is_given(name: str, sampler: str) -> None:
    every_round = name in ("tree", "toeplitz")  # which leave no rounds for a centre
    prepared = Preparation(centre_rounds=0 if every_round else 3)
    config = tacit.JointLinUCB(**POINT, **OPTIONS[name], preparation=prepared)
    plan = config.plan(sampler)
    session, rng = Session(plan, 2, seed=0), np.random.default_rng(1)
    first = next(t for t in range(10**6) if session.learn(np.append(rng.standard_normal(2), t % 3), 0.5) == 2 and t > 3)
    assert first < 1000
    view = empty_arms_view(3, 2, config.block)
    fit_arms(plan.params.estimate, session.vault.memory[-1].copy(), 0, view)
    assert np.array_equal(view.theta, session.view.theta)
    assert np.array_equal(view.spread, session.view.spread)
    assert view.theta.any()


@pytest.mark.parametrize("sampler", [pytest.param("double", marks=pytest.mark.long), "secure"])
def test_a_run_that_begins_late_shows_what_a_whole_one_does(sampler: str) -> None:
    config = tacit.JointLinUCB(**POINT)
    for attack in joint.attacks(config, sampler)[:3]:
        late = attack.sampler
        skipped = int(late.plan.vault().counters[ROWS])
        assert skipped >= 399

        def padded(script: Script, skipped: int = skipped) -> Script:
            before = np.repeat(script.offers[:1] * 0.0, skipped, axis=0)
            assert script.forced is not None
            return Script(
                np.concatenate([before, script.offers]),
                np.append(np.zeros(skipped), script.rewards),
                np.append(np.full(skipped, config.arms), script.forced),
            )

        whole = replace(
            late,
            plan=replace(late.plan, vault=config.plan(sampler).vault),
            scripts=tuple(map(padded, late.scripts)),
            watched=late.watched + skipped,
        )
        for world in (0, 1):
            one, other = (played.sample(world, 20, 1, (world,)) for played in (late, whole))
            assert np.array_equal(one, other)


def found_by(attack: object, config: object, runs: int, miss: float = 0.05 / 12, threads: int = 2) -> object:
    with Work(0, threads, False) as work:
        return run(work, attack, claim_of(config), runs, 0, (0,), miss)


def test_what_is_released_shows_four_fifths_of_what_is_promised() -> None:
    """At 100,000 runs, with bounds at 95 % for four observables of three bounds each. Twelve releases at a ratio of 1.1
    show 0.95 of μ, and the centre all of it."""
    config = tacit.JointLinUCB(**POINT)
    one, _, centre, _ = joint.attacks(config)
    for attack in (one, centre):
        assert 0.8 <= found_by(attack, config, RUNS).gaussian <= 1.0


def test_two_arms_show_less_than_one_and_a_person_all_of_theirs() -> None:
    """Of one arm, two rows of one person and the ratio of releases so large that all is seen; at ε = 10 a bound is off
    by a few per cent."""
    config = tacit.JointLinUCB(**LOUD, person_rounds=2, reward_weight=2.0)
    one, two, centre, _ = joint.attacks(config)
    shown = [found_by(attack, config, TWIN_RUNS).gaussian for attack in (one, two, centre)]
    assert all(0.75 * 10 <= most <= 10 for most in (shown[0], shown[2]))
    assert shown[1] < 0.95 * shown[0]


#: One form whose rewards alone are protected, in public contexts.
REWARDS = {**POINT, "horizon": 1000}


def test_a_replaced_reward_shows_four_fifths_of_what_is_promised_and_every_twin_is_found_out() -> None:
    config = tacit.RenyiOFUL(**REWARDS)
    released, chosen = sums.attacks(config)
    first, second = released.sampler.scripts
    assert np.array_equal(first.offers, second.offers), "contexts and arms are equal in both worlds"
    assert np.array_equal(first.forced, second.forced)
    assert (first.rewards != second.rewards).sum() == 1
    assert 0.8 <= found_by(released, config, RUNS).gaussian <= 1.0
    assert not found_by(chosen, config, TWIN_RUNS).refuted
    twins = sums.twins(config)
    assert [twin.name for twin in twins] == ["clipping off", "noise halved", "noise redrawn", "an arm without noise"]
    assert [twin.name for twin in twins if not found_by(twin.spoil(released), config, TWIN_RUNS, 0.001).refuted] == []


def test_a_run_without_a_release_is_no_attack() -> None:
    with pytest.raises(BadInput, match="a release within 50 rounds, got none"):
        sums.attacks(tacit.RenyiOFUL(**{**REWARDS, "horizon": 50}))


@pytest.mark.parametrize("options", [POINT, LOUD], ids=["quiet", "loud"])
def test_every_twin_is_found_out(options: dict) -> None:
    config = tacit.JointLinUCB(**options)
    attack = joint.attacks(config)[0]
    twins = joint.twins(config)
    assert ("sensitivity of two arms" in [twin.name for twin in twins]) == (options is LOUD)
    missed = [twin.name for twin in twins if not found_by(twin.spoil(attack), config, TWIN_RUNS, 0.001).refuted]
    assert missed == []


def test_twins_of_exact_noise_are_found_out() -> None:
    config = tacit.JointLinUCB(**LOUD)
    attack = joint.attacks(config, "secure")[0]
    assert not found_by(attack, config, 3000).refuted
    missed = [
        twin.name
        for twin in joint.twins(config, "secure")
        if twin.name != "sensitivity of two arms" and not found_by(twin.spoil(attack), config, 3000, 0.001).refuted
    ]
    assert missed == []


SHORT = Preparation(centre_rounds=20)


@pytest.mark.parametrize(
    ("config", "family"),
    [
        (tacit.JointLinUCB(**LOUD, preparation=SHORT), joint),
        (tacit.RenyiOFUL(**{**REWARDS, "epsilon": 10.0}, preparation=SHORT), sums),
    ],
    ids=["joint-linucb", "renyi-oful"],
)
def test_the_live_learner_of_arms_has_the_law_that_is_attacked(config, family, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one with half the noise has not. A right one is found wrong once in 10⁹ runs of this test."""
    live = live_of(config, family.attacks(config, "secure"), "secure")
    assert live is not None
    assert live.runs == 400
    with Work(0, 1, False) as work:
        assert run_live(work, live, claim_of(config), 0, (9,)).wrong == ()
        monkeypatch.setattr("tacit.core.session.refill", laid(halved))
        assert run_live(work, live, claim_of(config), 0, (9,)).wrong == ("its noise has not the law of its plan",)


# Actions with features ------------------------------------------------------------------------------------------------

#: With so much of the length for features, two rows of different arms weigh as much as two of one.
FEATURED = {**LOUD, "shared": 2, "preparation": Preparation(centre_rounds=8, shared=math.sqrt(0.5))}


def test_rows_with_features_are_as_far_apart_as_rows_may_be_and_mean_what_they_say() -> None:
    for options in (FEATURED, {**FEATURED, "preparation": "none", "reward_weight": 0.5}):
        config = tacit.JointLinUCB(**options)
        first, second = arms.worst_rows(config)
        session, shared = Session(config.plan(), 2, seed=0), 2
        session.vault.learning[0] = session.view.stage[0] = 1
        session.absorb(np.concatenate([arms.context(config, first.way), [1.0, 1e9], np.zeros(shared - 1)]), 1e9)
        np.testing.assert_allclose(session.vault.sums, arms.image(config, first._replace(arm=1)), rtol=0, atol=1e-12)
        most = max(arms._apart(config, first, second._replace(arm=arm)) for arm in (0, 1))
        assert most <= config.sensitivity * (1 + 1e-12)
        if options is FEATURED:
            assert most == pytest.approx(config.sensitivity, rel=1e-12), "features of two arms, and opposite rewards"


@pytest.mark.parametrize("sampler", [pytest.param("double", marks=pytest.mark.long), "secure"])
def test_every_twin_of_a_hybrid_is_found_out(sampler: str) -> None:
    config = tacit.JointLinUCB(**FEATURED)
    one, two, *_ = joint.attacks(config, sampler)
    runs = TWIN_RUNS if sampler == "double" else 3000
    for attack in (one, two):
        assert not found_by(attack, config, runs).refuted
    twins = joint.twins(config, sampler)
    assert {"a common part without noise", "ties without noise", "an arm without noise"} <= {
        twin.name for twin in twins
    }
    assert "sensitivity of two arms" not in [twin.name for twin in twins], "it is that of one"
    missed = [twin.name for twin in twins if not found_by(twin.spoil(one), config, runs, 0.001).refuted]
    assert missed == []
    if sampler == "double":
        # Noise for two arms that have nothing in common: found out by two that have.
        first, second = arms.worst_rows(config)
        longer = arms._on_sums(config, config.planned(sampler), first, second._replace(arm=1), arms.OF_TWO)
        bare = arms.with_noise(math.sqrt(2.0) / 1.5, arms._scaled)
        assert found_by(bare(longer), config, runs, 0.001).refuted


def test_the_live_learner_of_features_has_the_law_that_is_attacked() -> None:
    config = tacit.JointLinUCB(**FEATURED)
    live = live_of(config, joint.attacks(config, "secure"), "secure")
    with Work(0, 1, False) as work:
        assert run_live(work, live, claim_of(config), 0, (9,)).wrong == ()
