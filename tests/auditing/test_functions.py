"""Attacks on learners of functions: nothing is found of what keeps its promise, and every twin is found out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.auditing.attack import Attack
from tacit.auditing.attacks.functions import FAMILY, FUNCTION, small
from tacit.auditing.attacks.one_record import Draws, Functions, Solved, Sums, drawn_candidates
from tacit.auditing.claim import claim_of
from tacit.auditing.engine import FALSE_ALARM, Finding, Work, run
from tacit.mechanisms.exponential import draw_candidate, range_rate
from tacit.noise.plain import Numbers
from tacit.policies.kernel_baselines import FeatureLinUCB
from tacit.policies.kernel_baselines.one_shot import noise_bound, noised, solved_shifted
from tacit.policies.usca import USCA

FORMS = FAMILY.forms()
NAMES = [f"{form.slug}-{place}" for place, form in enumerate(FORMS)]
#: All bounds of all forms hold together with confidence 0.999: the chance that an honest form fails here.
LEVEL = 0.001
BOUNDS = 3 * sum(len(FAMILY.attacks(form)) for form in FORMS)


def judged(attack: Attack, config: USCA | FeatureLinUCB, runs: int, seed: int = 0, miss: float = LEVEL) -> Finding:
    with Work(0, 1, False) as work:
        return run(work, attack, claim_of(config), runs, seed, (0,), miss)


def test_draws_by_a_variance_without_its_tau_and_by_twice_the_rate_are_found_out() -> None:
    """A draw is not the first attack on features, so its twins are tried here."""
    config = FORMS[0]
    attack = FAMILY.attacks(config)[1]
    assert isinstance(attack.sampler, Draws)
    for twin in FAMILY.twins(config):
        assert judged(twin.spoil(attack), config, 20_000).refuted, twin.name


def test_released_statistics_show_four_fifths_of_what_is_promised() -> None:
    """At 100,000 runs, with bounds at 95 % for two observables of three bounds each."""
    for config in (FORMS[0], FORMS[4]):
        found = judged(FAMILY.attacks(config)[0], config, 100_000, miss=0.05 / 6)
        assert found.gaussian is not None
        assert 0.8 <= found.gaussian <= config.epsilon


def test_a_draw_shows_four_fifths_of_its_epsilon_without_any_assumption() -> None:
    config = FORMS[0]
    found = judged(FAMILY.attacks(config)[1], config, 100_000, miss=0.05 / 6)
    assert 0.8 <= found.epsilon <= config.epsilon


def test_a_draw_is_held_to_its_own_curve_and_a_function_to_that_of_a_gaussian() -> None:
    config = FORMS[0]
    released, drawn = FAMILY.attacks(config)
    assert claim_of(config).mu is None, "of everything there is a point"
    assert (released.claim.mu, released.claim.odds) == (config.promise.mu, None)
    assert (drawn.claim.mu, drawn.claim.odds) == (None, config.epsilon)
    found = judged(drawn, config, 100_000, miss=1e-5)
    assert not found.refuted
    assert 0.8 * config.epsilon < found.odds <= config.epsilon
    assert drawn.claim.power(FALSE_ALARM) == pytest.approx(0.1252, abs=1e-4)
    assert judged(replace(drawn, claim=released.claim), config, 100_000, miss=1e-5).refuted, (
        "a function's is not its own"
    )


class Predicted:
    """A learner as a user holds it: started, taught one record, asked once."""

    def __init__(self, config: USCA, sampler: Draws) -> None:
        self.config, self.case, self.choice = config, sampler.case, sampler.choice
        self.actions = np.array([sampler.choice.here, sampler.choice.there])

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> np.ndarray:
        seeds = np.random.SeedSequence(seed, spawn_key=path).generate_state(runs)
        return np.array([[self._asked(world, int(one))] for one in seeds])

    def _asked(self, world: int, seed: int) -> float:
        learner = self.config.start(seed=seed)
        learner.learn(self.case.point, 100.0 * (1 - 2 * world))
        drawn = learner.predict_once(self.choice.context, self.config.epsilon, self.actions)
        return float(drawn[0] == self.choice.there[0])


def test_a_draw_that_is_half_too_steep_is_found_out_through_predict_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its odds, and not by ε: of two candidates the likelier one has less than e times its other probability."""
    monkeypatch.setattr("tacit.auditing.engine.fit_runs", lambda runs: 200)
    config = FORMS[0]
    attack = FAMILY.attacks(config)[1]
    attack = replace(attack, sampler=Predicted(config, attack.sampler), batch=500)
    honest = judged(attack, config, 1000)
    assert not honest.refuted
    assert honest.odds > 0.4 * config.epsilon
    monkeypatch.setattr("tacit.policies.usca.learner.range_rate", lambda *given: 1.5 * range_rate(*given), raising=True)
    steep = judged(attack, config, 1000)
    assert steep.refuted
    assert steep.epsilon < config.epsilon < steep.odds


def test_batches_of_draws_are_calls_of_the_mechanism_to_the_bit() -> None:
    scores = np.random.default_rng(1).normal(size=32)
    one_by_one, at_once = np.random.default_rng(2), np.random.default_rng(2)
    expected = [draw_candidate(scores, 1.5, one_by_one) for _ in range(2000)]
    np.testing.assert_array_equal(drawn_candidates(scores, 1.5, at_once, 2000), expected)
    assert len(set(expected)) == 32


def test_the_score_of_a_draw_is_asked_where_the_learner_asks() -> None:
    """`predict_once` with the audit's candidates draws the same action from the same numbers."""
    config = FORMS[1]
    sampler = FAMILY.attacks(config)[1].sampler
    assert isinstance(sampler, Draws)
    actions = np.array([sampler.choice.here] + [sampler.choice.there] * (sampler.candidates - 1))
    for path in range(20):
        learner = sampler._ready(0)
        learner._numbers = Numbers(7, path, 0)
        drawn = learner.predict_once(sampler.choice.context, config.epsilon, actions)
        seen = sampler.sample(0, 1, 7, (path,))
        np.testing.assert_array_equal(drawn, sampler.choice.here if seen[0, 0] == 0 else sampler.choice.there)


def test_batches_of_functions_are_what_a_learner_releases() -> None:
    config = FORMS[1]
    sampler = FAMILY.attacks(config)[0].sampler
    assert isinstance(sampler, Functions)
    learner = sampler._ready(1)
    learner._numbers = Numbers(7, 3, 0)
    action, context = sampler.case.point[:1], sampler.case.point[1:]
    value = learner.release_function().predict(context, action[None, :]) - config.middle
    np.testing.assert_allclose(sampler.sample(1, 1, 7, (3,))[0], value, rtol=1e-9)


@pytest.mark.parametrize("features", [2, 25])
def test_batches_of_sums_are_calls_of_the_mechanism(features: int) -> None:
    config = FeatureLinUCB(
        **{**small(FeatureLinUCB, {}), "features": features, "epsilon": 1.0, "delta": 1e-5, "feature_map": "fourier"}
    )
    sampler = FAMILY.attacks(config)[0].sampler
    assert isinstance(sampler, Sums)
    learner, numbers = sampler._ready(0), Numbers(7, 3)
    expected = [noised(learner._moments, learner._event(None, None)[0], numbers) for _ in range(5)]
    matrices, vectors = sampler._noised(learner, 5, Numbers(7, 3))
    np.testing.assert_allclose(matrices, [matrix for matrix, _ in expected], atol=1e-10)
    np.testing.assert_allclose(vectors, [vector for _, vector in expected], atol=1e-10)


def test_batches_of_solved_functions_are_what_a_learner_releases() -> None:
    config = FORMS[4]
    attack = FAMILY.attacks(config)[1]
    assert attack.observed == FUNCTION
    for path in range(20):
        learner = attack.sampler._ready(0)
        learner._numbers = Numbers(7, path, 0)
        value = learner.release_function().predict(None, attack.sampler.case.point[None, :])
        np.testing.assert_allclose(attack.sampler.sample(0, 1, 7, (path,))[0], value / config.bound, rtol=1e-9)


def test_a_batch_repairs_the_matrices_that_a_learner_would_repair() -> None:
    config = FeatureLinUCB(
        **{**small(FeatureLinUCB, {}), "epsilon": 1.0, "delta": 1e-5, "shift": 1.0001, "failure": 0.99}
    )
    sampler = FAMILY.attacks(config)[1].sampler
    assert isinstance(sampler, Solved)
    bound = noise_bound(config, config.plan().noise_scale)
    matrices, vectors = sampler._noised(sampler._ready(0), 4000, Numbers(7, 0, 0))
    broken = np.flatnonzero(np.linalg.eigvalsh(matrices)[:, 0] <= -config.shift * bound)
    assert len(broken) > 0
    psi = config.map.psi(sampler.case.point[None, :])[0]
    seen = sampler.sample(0, 4000, 7, (0,))[:, 0]
    for at in [*broken, 0, 1, 2]:
        value = solved_shifted(matrices[at], vectors[at], config.shift * bound, bound) @ psi
        np.testing.assert_allclose(seen[at], value, rtol=1e-6)


def test_the_worst_record_attains_what_the_noise_is_set_for() -> None:
    """But for the published rate, which is set for twice the range that a record attains."""
    assert FAMILY.attacks(FORMS[0])[0].sampler.case.share == 1.0
    assert FAMILY.attacks(FORMS[0])[1].sampler.case.share > 0.99
    assert FAMILY.attacks(FORMS[1])[1].sampler.case.share > 0.9
    assert 0.5 < FAMILY.attacks(FORMS[3])[0].sampler.case.share < 0.65
    assert FAMILY.attacks(FORMS[4])[0].sampler.case.share > 0.999


def test_a_variance_without_its_tau_is_no_twin_where_tau_is_large() -> None:
    """It would add noise, and break nothing."""
    options = {**small(USCA, {}), "epsilon": 1.0, "delta": 1e-5}
    assert "sensitivity without 1/τ" in {twin.name for twin in FAMILY.twins(USCA(**options))}
    assert "sensitivity without 1/τ" not in {twin.name for twin in FAMILY.twins(USCA(**{**options, "tau": 10.0}))}


@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_options_that_are_left_out_are_found_for_any_promise(epsilon: float) -> None:
    for kind, given in ((USCA, {}), (FeatureLinUCB, {}), (FeatureLinUCB, {"mode": "releases"})):
        promised = {**given, "epsilon": epsilon, "delta": 1e-5, "reward_low": 0.0, "reward_high": 2.0}
        config = kind(**{**small(kind, promised), **promised})
        assert FAMILY.attacks(config)


def test_views_are_attacked_until_the_last_that_the_noise_is_set_for() -> None:
    config = FORMS[-1]
    assert config.mode == "releases"
    times = config.linear.plan().params.schedule.times
    assert len(times) == 2
    assert times[-1] == config.horizon
