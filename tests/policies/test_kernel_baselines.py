"""The lines a private function is measured against: gp-mean, gp-ucb and feature-linucb.

Error level: each comparison with a law is two-sided at 1e-6, and the seeds are fixed.
"""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest

from tacit.environments.rkhs import RKHS
from tacit.errors import BadInput, BudgetSpent, HorizonSpent, VaultSealed
from tacit.kernels import Matern, SquaredExponential
from tacit.noise.plain import Numbers
from tacit.policies.kernel_baselines import GPUCB, FeatureLinUCB, GPMean
from tacit.policies.kernel_baselines import moments as sums
from tacit.policies.kernel_baselines.moments import Moments, Posterior, unit_rows
from tacit.policies.kernel_baselines.one_shot import noise_bound, noised, solved_shifted
from tacit.policies.usca.function import FeatureFunction
from tacit.privacy.event import GaussianEvent
from tests.statistics import checks
from tests.statistics.checks import LEVEL

KINDS = (GPMean, GPUCB, FeatureLinUCB)
EVERY = [config for kind in KINDS for config in kind.examples()]
PRIVATE = list(FeatureLinUCB.examples())
ONE_SHOT = [config for config in PRIVATE if config.mode == "one-shot"]
SMOOTH = SquaredExponential(length_scale=0.3)
BOXES = {"action_box": ((0.0, 1.0),), "context_box": ((0.0, 1.0),), "kernel": SMOOTH, "reward_bound": 1.3}
RELEASES = PRIVATE[-1]

every_config = pytest.mark.parametrize("config", EVERY, ids=lambda config: f"{config.slug}-{EVERY.index(config)}")


def draws(config, count: int, seed: int = 1):
    """So many records of a function on the boxes of a configuration: actions, rewards, contexts."""
    rng = np.random.default_rng(seed)
    domain, dim = config.domain, config.actions.dim
    points = domain.uniform(rng, count)
    places = (points - domain.low) / domain.widths
    rewards = config.middle + 0.3 * np.sin(3 * places.sum(axis=1)) + rng.uniform(-0.1, 0.1, count)
    return points[:, :dim], rewards, points[:, dim:] if config.context_dim else None


def asked(config):
    """A context in the middle of its box, where there are any."""
    return None if config.context_box is None else config.bounds.contexts.centre


# Without privacy ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", GPMean.examples())
def test_the_mean_is_ridge_regression_on_the_features(config):
    actions, rewards, contexts = draws(config, 300)
    learner = config.start(seed=1)
    learner.learn_many(actions, rewards, contexts)
    points = actions if contexts is None else np.hstack([actions, contexts])
    psi = config.map.psi(points)
    system = psi.T @ psi + config.tau * np.eye(config.map.size)
    expected = np.linalg.solve(system, psi.T @ (rewards - config.middle))
    context = asked(config)
    beside = config.grid if context is None else np.hstack([config.grid, np.tile(context, (len(config.grid), 1))])
    values = learner.release_function().predict(context, config.grid)
    np.testing.assert_allclose(values, config.middle + config.map.psi(beside) @ expected, atol=1e-7)


def test_the_mean_is_that_of_a_gaussian_process_where_there_are_features_enough():
    config = GPMean(**BOXES, features=144, tau=0.5)
    actions, rewards, contexts = draws(config, 200)
    learner = config.start(seed=1)
    learner.learn_many(actions, rewards, contexts)
    points, queries = np.hstack([actions, contexts]), np.hstack([config.grid, np.full((101, 1), 0.4)])
    weights = np.linalg.solve(SMOOTH(points, points) + 0.5 * np.eye(200), rewards)
    np.testing.assert_allclose(
        learner.release_function().predict([0.4], config.grid), SMOOTH(queries, points) @ weights, atol=1e-4
    )


@pytest.mark.parametrize("kind", [GPMean, GPUCB])
def test_one_by_one_in_blocks_and_in_any_order_records_give_one_function(kind, monkeypatch):
    config = kind.examples()[0]
    actions, rewards, contexts = draws(config, 40)
    one, many, parts = (config.start(seed=1) for _ in range(3))
    for action, reward, context in zip(actions, rewards, contexts, strict=True):
        one.learn(action, reward, context)
    many.learn_many(actions[::-1], rewards[::-1], contexts[::-1])
    for part in (slice(0, 5), slice(5, 33), slice(33, 40)):
        parts.learn_many(actions[part], rewards[part], contexts[part])
    values = [learner.release_function().predict([0.3], config.grid) for learner in (one, many, parts)]
    np.testing.assert_allclose(values[0], values[1], atol=1e-8)
    np.testing.assert_allclose(values[0], values[2], atol=1e-8)


@pytest.mark.parametrize("refresh", [10, 10**9], ids=["refreshed", "updated alone"])
def test_the_updated_posterior_is_the_one_solved_for(refresh, monkeypatch):
    monkeypatch.setattr(sums, "_REFRESH", refresh)
    config = GPUCB(**BOXES, features=64, tau=0.1)
    actions, rewards, contexts = draws(config, 150)
    points = np.hstack([actions, contexts])
    posterior = Posterior(config.map, 0.1)
    for point, reward in zip(points, rewards, strict=True):
        posterior.add(point[None, :], np.array([reward]))
    psi, queries = config.map.psi(points), config.domain.grid(7)
    system = psi.T @ psi + 0.1 * np.eye(64)
    at = config.map.psi(queries)
    mean, deviation = posterior.mean_and_deviation(queries)
    np.testing.assert_allclose(mean, at @ np.linalg.solve(system, psi.T @ rewards), atol=1e-8)
    variance = 0.1 * np.einsum("ij,ji->i", at, np.linalg.solve(system, at.T))
    np.testing.assert_allclose(deviation, np.sqrt(variance), atol=1e-8)


def test_the_optimist_takes_the_largest_upper_bound():
    config = GPUCB(**BOXES, features=49, beta=4.0, candidates=31)
    learner = config.start(seed=1)
    learner.learn_many(*draws(config, 60))
    points = np.hstack([config.grid, np.full((31, 1), 0.7)])
    mean, deviation = learner._posterior.mean_and_deviation(points)
    # Prior variance B²: the deviation is in units of B, and the width is two of them.
    expected = config.grid[np.argmax(mean + 2 * 1.3 * deviation)]
    np.testing.assert_array_equal(learner.choose([0.7]), expected)


def test_the_published_width_grows_with_the_candidates_and_the_rounds():
    config = GPUCB(**BOXES, candidates=101)
    assert config.width(10) == pytest.approx(1.3 * math.sqrt(2 * math.log(101 * 100 * math.pi**2 / 0.6)))
    assert GPUCB(**{**BOXES, "reward_bound": None}).width(10) == pytest.approx(config.width(10) / 1.3)


def test_what_the_optimist_chooses_does_not_depend_on_the_units_of_rewards():
    chosen = []
    for unit in (1.0, 1000.0):
        config = GPUCB(**{**BOXES, "reward_bound": 1.3 * unit}, features=36, candidates=21)
        learner = config.start(seed=1)
        for context in np.linspace(0, 1, 25):
            action = learner.choose([context])
            learner.learn(action, unit * math.sin(3 * (action[0] + context)), [context])
            chosen.append(float(action[0]))
    assert chosen[:25] == chosen[25:]
    assert len(set(chosen)) > 3


def test_the_optimist_finds_the_top_of_a_hill_and_stays_there():
    config = GPUCB(action_box=((0.0, 1.0),), kernel=SMOOTH, features=25, reward_bound=1.0, candidates=51, beta=4.0)
    learner = config.start(seed=1)
    rng = np.random.default_rng(2)
    actions = []
    for _ in range(80):
        action = learner.choose()
        actions.append(float(action[0]))
        learner.learn(action, 1 - 4 * (action[0] - 0.7) ** 2 + rng.uniform(-0.1, 0.1))
    assert np.abs(np.array(actions[-20:]) - 0.7).max() < 0.15
    assert config.grid[learner.release_function().best(None, config.grid), 0] == pytest.approx(0.7, abs=0.06)


@pytest.mark.parametrize("kind", [GPMean, GPUCB])
def test_a_policy_without_privacy_says_so_and_has_no_budget_to_spend(kind):
    learner = kind.examples()[0].start()
    assert not learner.guarantee.private
    assert not learner.release_function().guarantee.private
    assert "No privacy is promised" in learner.card().text()
    with pytest.raises(BadInput, match="nothing to spend"):
        learner.release_function(1.0, 1e-6)


def test_without_a_bound_rewards_are_taken_as_they_come():
    config = GPMean(action_box=((0.0, 1.0),), kernel=SMOOTH, features=9, tau=1e-3)
    learner = config.start(seed=1)
    learner.learn_many(np.linspace(0, 1, 50)[:, None], np.full(50, 1e6))
    assert learner.diagnostics().clipped_rewards == 0
    assert learner.release_function().predict(None, [[0.5]])[0] == pytest.approx(1e6, rel=0.01)


# One release: what a record weighs, and the noise ------------------------------------------------------------------


def weight(config, first, second) -> float:
    """How far two records are apart in units of symmetric noise of deviation 1."""
    totals = []
    for action, reward, context in (first, second):
        learner = config.start(seed=1)
        learner.learn(action, reward, context)
        totals.append(learner._moments)
    matrix = totals[0].gram - totals[1].gram
    vector = totals[0].vector - totals[1].vector
    return math.sqrt((matrix * matrix).sum() / 2 + vector @ vector)


def strange_record(config, rng):
    """A record that may be anywhere, and may have any reward."""
    spread = 10 ** rng.uniform(-1, 4)
    context = None if config.context_box is None else rng.normal(0, spread, config.context_dim)
    return rng.normal(0, spread, config.actions.dim), float(rng.normal(0, spread)), context


@pytest.mark.parametrize("config", ONE_SHOT)
def test_no_replaced_record_weighs_more_than_the_declared_sensitivity(config):
    rng = np.random.default_rng(3)
    found = [weight(config, strange_record(config, rng), strange_record(config, rng)) for _ in range(60)]
    assert max(found) <= config.sensitivity * (1 + 1e-9)
    # The worst pair: one place, and the two ends of the interval of rewards.
    place = config.actions.centre
    worst = weight(config, (place, 1e9, asked(config)), (place, -1e9, asked(config)))
    assert config.sensitivity * 0.99 < worst <= config.sensitivity * (1 + 1e-9)


def test_a_learner_that_forgets_to_clip_is_found_out(monkeypatch):
    config = ONE_SHOT[0]
    learner_type = type(config.start(seed=1))
    clipped = learner_type._absorb
    monkeypatch.setattr(learner_type, "_absorb", lambda self, points, rewards: clipped(self, points, 1.1 * rewards))
    place = config.actions.centre
    assert weight(config, (place, 1e9, asked(config)), (place, -1e9, asked(config))) > config.sensitivity


class _Stretched:
    """Features that break their promise: ‖ψ‖ = 3."""

    size, dim, triangle, kernel = 2, 1, None, SMOOTH

    def psi(self, points):
        return np.hstack([3 * np.cos(points), 3 * np.sin(points)])


def test_features_that_are_too_long_are_cut():
    rows = unit_rows(_Stretched(), np.linspace(0, 1, 5)[:, None])
    np.testing.assert_allclose((rows**2).sum(axis=1), 1.0)


def _of_scale(moments, scale, numbers):
    return noised(moments, GaussianEvent(scale, 2.0), numbers)


def released_noise(scale: float, runs: int, draw=_of_scale) -> list[float]:
    """How probable the noise of so many releases of known sums is: diagonal, off the diagonal, vector, shape."""
    config = ONE_SHOT[1]
    actions, rewards, _ = draws(config, 30)
    exact = Moments(config.map)
    exact.add(actions, rewards)
    size = config.map.size
    matrices, vectors = np.empty((runs, size, size)), np.empty((runs, size))
    for run in range(runs):
        matrix, vector = draw(exact, scale, Numbers(run))
        np.testing.assert_array_equal(matrix, matrix.T)
        matrices[run], vectors[run] = matrix - exact.gram, vector - exact.vector
    upper = np.triu_indices(size, 1)
    groups = [
        np.diagonal(matrices, axis1=1, axis2=2) / (math.sqrt(2) * scale),
        matrices[:, upper[0], upper[1]] / scale,
        vectors / scale,
    ]
    everything = np.concatenate(groups, axis=1)
    found = [checks.scale(group, 1.0) for group in groups]
    # No entry goes with another, and every run has noise of its own.
    found += [checks.unrelated(everything[:, one].copy(), everything[:, two].copy()) for one, two in ((0, 1), (3, -1))]
    return [*found, checks.scale(everything.mean(axis=0) * math.sqrt(runs), 1.0), checks.law(everything, checks.normal)]


def test_the_noise_of_a_release_has_the_calibrated_law():
    assert min(released_noise(4.0, 400)) > LEVEL


def _plain_diagonal(moments, scale, numbers):
    """The broken twin: a diagonal like everything else, for which √2·L̃² would have to be paid."""
    matrix, vector = noised(moments, GaussianEvent(scale, 2.0), numbers)
    place = np.diag_indices(len(vector))
    matrix[place] = moments.gram[place] + (matrix[place] - moments.gram[place]) / math.sqrt(2)
    return matrix, vector


@pytest.mark.parametrize(
    "twin",
    [
        _plain_diagonal,
        lambda moments, scale, numbers: noised(moments, GaussianEvent(0.9 * scale, 2.0), numbers),
        lambda moments, scale, numbers: noised(moments, GaussianEvent(scale, 2.0), Numbers(1)),
    ],
    ids=["plain diagonal", "a tenth too little", "the same noise again"],
)
def test_the_noise_test_rejects_broken_twins(twin):
    assert min(released_noise(4.0, 400, twin)) < LEVEL


def test_the_function_that_is_released_carries_the_planned_noise():
    """Under an enormous regulariser a released function is the noised vector itself, so its law can be read off."""
    config = FeatureLinUCB(**BOXES, features=49, epsilon=1.0, delta=1e-6, tau=1e15)
    scale = config.plan().noise_scale
    found = np.array([config.start(seed=seed).release_function().coefficients for seed in range(200)]) * 1e15 / 1.3
    assert checks.scale(found, scale) > LEVEL
    assert checks.scale(found, 0.95 * scale) < LEVEL
    assert checks.law(found / scale, checks.normal) > LEVEL


def test_without_a_seed_noise_comes_from_the_operating_system():
    config = ONE_SHOT[0]
    one, two = (config.start().release_function() for _ in range(2))
    assert not one.guarantee.seeded
    assert not np.array_equal(one.coefficients, two.coefficients)


def test_the_noised_matrix_is_positive_definite_as_often_as_stated():
    """Without records there is nothing but noise: the worst case. At α = 0.001 two of 200 are not to be expected."""
    config = ONE_SHOT[1]
    bound, empty = noise_bound(config, 1.0), Moments(config.map)
    smallest = [np.linalg.eigvalsh(noised(empty, GaussianEvent(1.0, 2.0), Numbers(seed))[0])[0] for seed in range(200)]
    assert sum(value < -bound for value in smallest) <= 1
    assert min(smallest) < -0.3 * bound  # and the bound is no idle one


def test_a_matrix_that_is_not_positive_definite_is_repaired():
    vector = np.array([1.0, 2.0])
    found = solved_shifted(np.diag([-10.0, 1.0]), vector, 1.0, 2.0)
    np.testing.assert_allclose(found, vector / np.array([-10.0 + 15.0, 1.0 + 15.0]))


# One release: the budget ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", PRIVATE)
def test_the_accounted_cost_keeps_the_promise_and_uses_it(config):
    guarantee = config.guarantee
    assert guarantee.epsilon_at(config.delta) <= config.epsilon
    assert guarantee.epsilon_at(config.delta) > 0.999 * config.epsilon
    assert config.card().keeps_its_claim
    assert "stand-in" in config.card().text()


def test_a_second_release_is_refused_and_changes_nothing():
    learner = ONE_SHOT[0].start(seed=1)
    function = learner.release_function()
    assert function.guarantee.seeded
    assert learner.spent.epsilon <= 1.0
    with pytest.raises(BudgetSpent):
        learner.release_function()
    assert learner.diagnostics().releases == 1


def test_a_budget_can_be_spent_in_parts():
    learner = ONE_SHOT[0].start(seed=1)
    first = learner.release_function(0.5, 1e-6)
    assert first.guarantee.epsilon_at(1e-6) == pytest.approx(0.5, rel=1e-4)
    learner.release_function()
    assert learner.spent.epsilon == pytest.approx(1.0, rel=1e-6)
    assert learner.spent.epsilon <= 1.0
    with pytest.raises(BudgetSpent):
        learner.release_function(0.01, 1e-6)
    with pytest.raises(BadInput, match="together"):
        learner.release_function(0.5)


def test_with_a_large_budget_the_private_function_is_the_mean():
    config = FeatureLinUCB(**BOXES, features=49, epsilon=1e7, delta=0.5)
    private, plain = config.start(seed=1), GPMean(**BOXES, features=49, tau=0.1).start(seed=1)
    for learner in (private, plain):
        learner.learn_many(*draws(config, 400))
    values = [learner.release_function().predict([0.4], config.grid) for learner in (private, plain)]
    np.testing.assert_allclose(values[0], values[1], atol=0.02)


def test_a_private_function_of_many_records_finds_good_actions():
    world = RKHS(actions=51)
    config = FeatureLinUCB(epsilon=5.0, delta=1e-6, features=64).in_world(**world.public(), horizon=5000)
    rng = np.random.default_rng(5)
    truth, learner = world.start(5), config.start(seed=5)
    contexts = world.sample_contexts(rng, 5000)
    actions = config.actions.uniform(rng, 5000)
    learner.learn_many(actions, truth.pay(actions, contexts, rng), contexts)
    function, queries = learner.release_function(), world.ask(rng)
    table = truth.table(queries, world.candidates)
    chosen = [function.best(query, world.candidates) for query in queries]
    lost = (table.max(axis=1) - table[np.arange(len(table)), chosen]).mean()
    assert lost < 0.1 * (table.max(axis=1) - table.mean(axis=1)).mean()


# By way of JointLinUCB's releases ---------------------------------------------------------------------------------


def test_views_come_at_the_times_of_the_linear_policy():
    times = RELEASES.linear.plan().params.schedule.times
    assert times[-1] >= RELEASES.horizon > times[0]
    learner = RELEASES.start(seed=1)
    actions, rewards, contexts = draws(RELEASES, RELEASES.horizon)
    first = int(times[0])
    learner.learn_many(actions[: first - 1], rewards[: first - 1], contexts[: first - 1])
    assert not learner.release_function().coefficients.any()
    learner.learn(actions[first - 1], rewards[first - 1], contexts[first - 1])
    released = learner.release_function()
    assert released.coefficients.any()
    np.testing.assert_array_equal(released.coefficients, 1.3 * learner._linear.view.theta)


def test_as_few_views_are_paid_for_as_the_horizon_needs():
    linear = RELEASES.linear
    fewer = type(linear)(**{**linear.options(), "views": linear.views - 1})
    assert fewer.plan().params.schedule.times[-1] < RELEASES.horizon


def test_rows_are_those_of_the_linear_policy_to_the_bit():
    """The wrapper adds nothing and takes nothing away: it is JointLinUCB on features, with rewards in units of B."""
    learner, linear = RELEASES.start(seed=9), RELEASES.linear.start(seed=9)
    actions, rewards, contexts = draws(RELEASES, 300)
    learner.learn_many(actions, rewards, contexts)
    for row, reward in zip(RELEASES.map.psi(np.hstack([actions, contexts])), rewards / 1.3, strict=True):
        linear.learn(row, float(reward))
    np.testing.assert_array_equal(learner._linear.view.theta, linear.view.theta)


def test_between_views_choices_do_not_depend_on_records():
    first = int(RELEASES.linear.plan().params.schedule.times[0])
    chosen = []
    for luck in (0.0, 1.0):
        learner = RELEASES.start(seed=2)
        actions, rewards, contexts = draws(RELEASES, first + 3)
        learner.learn_many(actions[:first], rewards[:first], contexts[:first])
        learner.learn_many(actions[first:] * luck, rewards[first:] * luck, contexts[first:] * luck)
        chosen.append([float(learner.choose([place])[0]) for place in (0.1, 0.5, 0.9)])
    assert chosen[0] == chosen[1]


def test_choices_are_candidates_even_before_there_is_a_view_and_end_with_the_horizon():
    config = FeatureLinUCB(**{**RELEASES.options(), "horizon": 120})
    learner = config.start(seed=1)
    chosen = {float(learner.choose([0.5])[0]) for _ in range(120)}
    assert chosen <= set(config.grid[:, 0].tolist())
    assert len(chosen) > 5
    with pytest.raises(HorizonSpent, match="All 120 rounds"):
        learner.choose([0.5])


def test_a_horizon_before_the_first_view_is_refused():
    with pytest.raises(BadInput, match="at least") as caught:
        FeatureLinUCB(**{**RELEASES.options(), "epsilon": 0.1}).plan()
    assert "one-shot" in str(caught.value)


def test_asking_for_a_function_of_views_costs_nothing_more():
    learner = RELEASES.start(seed=1)
    learner.release_function()
    assert learner.release_function().guarantee == learner.guarantee
    with pytest.raises(BadInput, match="spent on the views"):
        learner.release_function(1.0, 1e-6)


# What all of them refuse ----------------------------------------------------------------------------------------------


def bad_records(config):
    good = config.domain.centre
    dim = config.actions.dim
    action, context = good[:dim], good[dim:] if config.context_dim else None
    one = None if context is None else context[None, :]
    yield action[None, :], [[0.0]], one
    yield np.vstack([action, action]), [0.0], one
    yield np.append(action, 0.0)[None, :], [0.0], one
    yield [["a"]], [0.0], one
    if context is None:
        yield action[None, :], [0.0], [[0.5]]
    else:
        yield action[None, :], [0.0], None
        yield action[None, :], [0.0], np.append(context, 0.0)[None, :]
        yield action[None, :], [0.0], np.vstack([context, context])


@every_config
def test_bad_records_are_refused_and_change_nothing(config):
    learner = config.start(seed=1)
    learner.learn_many(*draws(config, 3))
    before = learner.diagnostics()
    for actions, rewards, contexts in bad_records(config):
        with pytest.raises(BadInput):
            learner.learn_many(actions, rewards, contexts)
    assert learner.diagnostics() == before


@every_config
def test_what_is_outside_is_moved_and_counted(config):
    one, other = config.start(seed=1), config.start(seed=1)
    far = config.domain.high + 7.0
    dim, edge = config.actions.dim, config.domain.high
    beyond = config.middle + 1e9
    end = config.middle + config.reward_reach if math.isfinite(config.reward_reach) else beyond
    some = bool(config.context_dim)
    one.learn(far[:dim], beyond, far[dim:] if some else None)
    other.learn(edge[:dim], end, edge[dim:] if some else None)
    assert one.diagnostics().clipped_actions == 1
    assert one.diagnostics().clipped_contexts == int(some)
    assert one.diagnostics().clipped_rewards == int(end != beyond)
    assert "VAULT" in repr(one.diagnostics())
    np.testing.assert_array_equal(
        one.release_function().predict(asked(config), config.grid),
        other.release_function().predict(asked(config), config.grid),
    )


@every_config
def test_the_horizon_is_kept_where_there_is_one(config):
    learner = config.start(seed=1)
    if config.horizon is None:
        learner.learn_many(*draws(config, 2000))
        assert learner.diagnostics().rows == 2000
        return
    learner.learn_many(*draws(config, config.horizon - 1))
    with pytest.raises(HorizonSpent, match="at most 1 more"):
        learner.learn_many(*draws(config, 2))
    learner.learn_many(*draws(config, 1))
    with pytest.raises(HorizonSpent):
        learner.learn_many(*draws(config, 1))


@every_config
def test_choices_lie_in_their_box_and_bad_contexts_are_refused(config):
    learner = config.start(seed=1)
    learner.learn_many(*draws(config, 20))
    for _ in range(5):
        assert config.actions.contains(learner.choose(asked(config))[None, :])
    for context in ([math.nan], [0.5, 0.5, 0.5], "here") if config.context_dim else ([0.5],):
        with pytest.raises(BadInput):
            learner.choose(context)


@pytest.mark.parametrize("config", [config for config in EVERY if not config.adaptive])
def test_even_exploration_reads_nothing(config):
    one, other = config.start(seed=4), config.start(seed=4)
    one.learn_many(*draws(config, 50))
    np.testing.assert_array_equal(one.choose(asked(config)), other.choose(asked(config)))


@every_config
def test_learners_cannot_be_copied_and_show_nothing(config):
    learner = config.start(seed=1)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(VaultSealed):
            copied(learner)
    assert "array" not in repr(learner)


@every_config
def test_configurations_travel_as_json(config):
    assert type(config).from_dict(json.loads(json.dumps(config.to_dict()))) == config


@every_config
def test_a_function_can_be_saved_and_is_the_same_when_loaded(config, tmp_path):
    learner = config.start(seed=1)
    learner.learn_many(*draws(config, 200))
    function = learner.release_function()
    loaded = FeatureFunction.load(function.save(tmp_path / "function.npz"))
    np.testing.assert_array_equal(
        loaded.predict(asked(config), config.grid), function.predict(asked(config), config.grid)
    )
    assert loaded.guarantee == function.guarantee


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_said_comes_from_the_world(kind):
    promised = {"epsilon": 1.0, "delta": 1e-6} if kind is FeatureLinUCB else {}
    config = kind(**promised, features=16)
    with pytest.raises(BadInput, match="action_box"):
        config.start()
    told = config.in_world(**RKHS().public(), horizon=50)
    assert told.horizon == 50
    assert told.reward_reach == 1.3
    told.start(seed=1).learn([0.5], 0.1, [0.5])


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (GPMean, {"tau": 0.0}, "tau > 0"),
        (GPUCB, {"beta": -1.0}, "beta > 0"),
        (FeatureLinUCB, {"mode": "tree"}, "one of 'one-shot', 'releases'"),
        (FeatureLinUCB, {"shift": 1.0}, "shift > 1"),
        (FeatureLinUCB, {"ratio": 1.5}, 'mode="releases" only'),
        (FeatureLinUCB, {"width": 0.5}, 'mode="releases" only'),
        (FeatureLinUCB, {"mode": "releases", "ratio": 1.0}, "ratio > 1"),
        (FeatureLinUCB, {"delta": 0.0}, "delta"),
        (FeatureLinUCB, {"feature_map": "fourier", "kernel": Matern(2.5, length_scale=0.2)}, "squared exponential"),
    ],
)
def test_options_that_mean_nothing_are_refused(kind, options, message):
    promised = {"epsilon": 1.0, "delta": 1e-6} if kind is FeatureLinUCB else {}
    with pytest.raises(BadInput, match=message):
        kind(**{**BOXES, **promised, **options})
