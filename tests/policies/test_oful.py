"""Rarely-switching OFUL: with noise on the rewards alone, with noise on contexts too, and without any."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.core.round import ROWS, learn_round
from tacit.counters.segments import root_weights
from tacit.environments import UnitContexts
from tacit.errors import BadInput, HorizonSpent
from tacit.linalg import smallest_eigenvalue
from tacit.noise import first_normals, stream
from tacit.policies.switching import most_views, switch_bound
from tacit.privacy import Protects, RootToeplitzEvent, SegmentsEvent, ToeplitzEvent, Trust, price
from tacit.simulation import simulate
from tacit.simulation.loop import run

DIM, SEED = 5, 31
CONTEXTS = "contexts and rewards"


def private(**changes):
    """A configuration of ours; a promise in `changes` takes the place of ρ."""
    settings = {"dim": DIM, "horizon": 1000, "rho": 0.1, "ridge": 1.0}
    if "epsilon" in changes:
        del settings["rho"]
    return tacit.RenyiOFUL(**(settings | changes))


def unit_vectors(*shape, seed):
    found = np.random.default_rng(seed).standard_normal(shape)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


# The algorithm -----------------------------------------------------------------------------------------------------


def beta(config, gram, rows, variance, most):
    """The width as it is written down, of V, τ, v_l and L_max."""
    dim, ridge, share = config.dim, config.regulariser, config.failure_probability / 3
    paper = config.width_kind == "paper"
    tail = math.log((config.horizon if paper else most) / share)
    floor = np.linalg.eigvalsh(gram)[0]
    if paper:
        h = math.log((rows + 3) * dim / share)
        floor = max(ridge, ridge + rows / dim / 4 - 8 * h - 2 * math.sqrt(rows * h))
    growth = math.log(np.linalg.det(gram) / ridge**dim)
    noise = variance * (dim + 2 * math.sqrt(dim * tail) + 2 * tail) / floor
    whole = math.sqrt(2 * math.log(1 / share) + growth) + math.sqrt(ridge) * config.parameter_norm + math.sqrt(noise)
    return config.width_factor * whole


@pytest.mark.parametrize(
    ("changes", "earlier"),
    [
        ({}, 0),
        ({"noise": "sum", "width": "paper", "ridge": 2.0, "failure": 0.3}, 0),
        ({"width": 0.2, "switch": 0.3, "rho": 10.0, "parameter_norm": 0.5}, 0),
        ({"alpha": 4.0, "epsilon": 0.1, "calibration": "published"}, 10**6),
    ],
    ids=["default", "paper", "narrow", "published"],
)
def test_it_is_the_algorithm_as_written_down(changes, earlier):
    """Arm for arm, release for release, width for width, against plain linear algebra that knows the draws.

    Actions have different lengths: among unit vectors the first round is all ties. The paper's bound on the eigenvalue
    rises above its fallback after some 50,000 rows: so many `earlier` ones are said to have been there.
    """
    config = private(horizon=1200 + earlier, **changes)
    learner, params = config.start(seed=SEED), config.plan().params
    learner._session.vault.counters[ROWS] = earlier
    draws = first_normals(stream(SEED, 0, POLICY), DIM * min(params.most, 200)).reshape(-1, DIM)
    ridge, growth, most = config.regulariser, 1 + config.growth, config.most_views
    weights = np.ones(most) if config.noise_kind == "sum" else root_weights(most)
    scale = config.plan().noise_scale
    theta = 0.9 * unit_vectors(DIM, seed=1)
    rng = np.random.default_rng(2)
    gram, sums = ridge * np.eye(DIM), np.zeros(DIM)
    estimate, held, width, count = np.zeros(DIM), gram.copy(), beta(config, gram, 0, 0.0, most), 0
    for row, actions in enumerate(unit_vectors(1200, 6, DIM, seed=3) * rng.uniform(0.5, 1, (1200, 6, 1))):
        if np.linalg.det(gram) > growth * np.linalg.det(held):
            noise = scale * sum(weights[count - m] * draws[m] for m in range(count + 1))
            count += 1
            held, estimate = gram.copy(), np.linalg.solve(gram, sums + noise)
            width = beta(config, gram, row + earlier, scale**2 * np.sum(weights[:count] ** 2), most)
        view = learner.view
        assert view.stage[0] == count
        assert view.width[0] == pytest.approx(width, rel=1e-9)
        np.testing.assert_allclose(view.theta, estimate, rtol=1e-7, atol=1e-9)
        spread = np.sqrt(np.einsum("ki,ij,kj->k", actions, np.linalg.inv(held), actions))
        arm = learner.choose(actions)
        assert arm == np.argmax(actions @ estimate + width * spread)
        reward = 1.0 if rng.uniform(-1, 1) < actions[arm] @ theta else -1.0
        learner.learn(actions[arm], reward)
        gram += np.outer(actions[arm], actions[arm])
        sums += actions[arm] * reward
    assert 2 < count <= most
    factor = np.triu(learner.view.factor)
    np.testing.assert_allclose(factor.T @ factor, held, rtol=1e-9, atol=1e-9)


def test_without_noise_it_is_the_textbook_and_with_switch_zero_it_changes_after_every_row():
    for switch in (0.0, 0.7):
        config = tacit.OFUL(dim=DIM, switch=switch, ridge=0.7, noise_level=0.5, parameter_norm=1.3, failure=0.01)
        learner = config.start(seed=0)
        gram, sums = 0.7 * np.eye(DIM), np.zeros(DIM)
        held, estimate, rng = gram.copy(), np.zeros(DIM), np.random.default_rng(4)
        for row, actions in enumerate(rng.standard_normal((200, 8, DIM))):
            if np.linalg.det(gram) > (1 + switch) * np.linalg.det(held):
                held, estimate = gram.copy(), np.linalg.solve(gram, sums)
            growth = math.log(np.linalg.det(held) / 0.7**DIM)
            width = 0.5 * math.sqrt(2 * math.log(1 / 0.01) + growth) + 1.3 * math.sqrt(0.7)
            spread = np.sqrt(np.einsum("ki,ij,kj->k", actions, np.linalg.inv(held), actions))
            arm = learner.choose(actions)
            assert arm == np.argmax(actions @ estimate + width * spread)
            assert switch > 0 or learner.view.stage[0] == row
            reward = float(rng.standard_normal())
            learner.learn(actions[arm], reward)
            gram += np.outer(actions[arm], actions[arm])
            sums += actions[arm] * reward
        assert learner.view.stage[0] == (200 if switch == 0 else learner.view.stage[0])
    assert 5 < learner.view.stage[0] < 60


def test_the_smallest_eigenvalue_is_found_from_below():
    rng = np.random.default_rng(5)
    for dim in (1, 2, 5, 30):
        turn, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
        for values in (np.ones(dim), rng.uniform(1, 2, dim), 10.0 ** rng.uniform(0, 8, dim)):
            matrix = (turn * values) @ turn.T
            found = smallest_eigenvalue(np.ascontiguousarray((matrix + matrix.T) / 2))
            assert found == pytest.approx(values.min(), rel=1e-12, abs=1e-12 * values.max())
            assert found <= values.min() + 1e-14 * values.max()


# How often it switches ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("switch", "ridge"), [(1.0, 1.0), (0.1, 1.0), (3.0, 0.01), (1.0, 1000.0)])
def test_views_never_exceed_the_bound_however_actions_are_picked(switch, ridge):
    """The direction that is known least, at full length, in every round: det V grows as fast as it can."""
    rounds = 2000
    learner = private(dim=3, horizon=rounds, switch=switch, ridge=ridge).start(seed=SEED)
    gram = ridge * np.eye(3)
    for _ in range(rounds):
        x = np.linalg.eigh(gram)[1][:, 0]
        learner.learn(x, 1.0)
        gram += np.outer(x, x)
    bound = switch_bound(3, rounds, ridge=ridge, switch=switch)
    assert bound / 3 < learner.view.stage[0] <= bound
    assert learner.config.most_views == math.ceil(bound)


def test_the_bound_is_what_was_measured_against():
    """d·log_{1+C}(1 + T/(λd)): 54.8, 71.4, 115.5, 398.8 and 7.9 in the settings it was first held against."""
    found = [
        switch_bound(5, 10**4),
        switch_bound(5, 10**5),
        switch_bound(10, 30_000),
        switch_bound(5, 10**4, switch=0.1),
        switch_bound(5, 10**4, ridge=1000.0),
    ]
    np.testing.assert_allclose(found, [54.8, 71.4, 115.5, 398.8, 7.9], atol=0.06)
    assert most_views(5, 20, ridge=1e-9, switch=0.01, action_norm=1.0) == 20, "no more than one per round"


def test_a_release_beyond_those_that_were_priced_is_refused_and_draws_nothing():
    """It cannot happen unless rounding makes it happen; so the plan is told that three are all."""
    plan = private().plan()
    params = plan.params._replace(most=3)
    vault, view, report, source = plan.vault(), plan.view(), np.zeros(plan.report_size), stream(1)
    for x in unit_vectors(200, DIM, seed=6):
        learn_round(params, vault, view, x, 1.0, report, source)
    assert view.stage[0] == 3
    assert source.at[0] == 3 * DIM
    assert not vault.memory[3:-1].any()


def test_basis_vectors_and_c_equal_to_one_give_arm_wise_doubling():
    """Remark 2, exactly. With one basis vector per arm det V = Π(λ + n_a), and a frozen view plays one arm: its episode
    ends with the first m for which (λ + n_a + m)/(λ + n_a) > 2, that is m = ⌊λ + n_a⌋ + 1. AdaR-UCB, which doubles n_a
    itself, has m = n_a: this is the same up to the λ that every arm starts with, and the strict inequality.

    At whole λ the ratio passes through exactly 2, and rounding must not decide it.
    """
    for ridge in (0.001, 1.0, 2.5):
        rounds = 3000
        learner = private(dim=3, horizon=rounds, ridge=ridge, switch=1.0, rho=10.0).start(seed=SEED)
        rng, pulls, episodes = np.random.default_rng(7), np.zeros(3, int), []
        for _ in range(rounds):
            arm, before = learner.choose(np.eye(3)), learner.view.stage[0]
            if not episodes or episodes[-1][1]:
                episodes.append([arm, False, 0, pulls[arm]])
            assert arm == episodes[-1][0], "one arm per episode"
            learner.learn(np.eye(3)[arm], 1.0 if rng.uniform(-1, 1) < 0.5 - 0.4 * arm else -1.0)
            pulls[arm] += 1
            episodes[-1][2] += 1
            episodes[-1][1] = learner.view.stage[0] > before
        for _, ended, length, before in episodes:
            assert length == math.floor(ridge + before) + 1 or not ended
        assert sum(ended for _, ended, _, _ in episodes) > 10


# What it regrets, and whether it knows what it claims to know ---------------------------------------------------------

WORLD = UnitContexts(dim=DIM, arms=20, parameter_norm=0.9)
#: λ = 1, C = 1, δ = 1/T, K = 20, ρ = 0.1; regrets of a prototype over 20 runs, standard errors up to 5 %.
REGRETS = {
    "without privacy": (93, 125),
    "paper's width, plain sum": (2727, 10_939),
    "smallest eigenvalue, plain sum": (457, 485),
    "smallest eigenvalue, Toeplitz": (244, 294),
}


def policies(rounds):
    options = {"horizon": rounds, "switch": 1.0}
    return {
        "without privacy": tacit.OFUL(dim=DIM, horizon=rounds),
        "paper's width, plain sum": private(**options, width="paper", noise="sum"),
        "smallest eigenvalue, plain sum": private(**options, noise="sum"),
        "smallest eigenvalue, Toeplitz": private(**options),
    }


@pytest.mark.parametrize(
    ("place", "rounds"), [(0, 10_000), pytest.param(1, 100_000, marks=pytest.mark.long)], ids=["short", "paper scale"]
)
def test_regret_is_that_of_the_reference(place, rounds):
    """Within 15 %: three standard errors of the difference of two means over 20 runs."""
    for name, config in policies(rounds).items():
        found = simulate(config, WORLD, rounds, trials=20, seed=1).regret_mean
        assert found == pytest.approx(REGRETS[name][place], rel=0.15), name


def outside(config, rounds, trials):
    """In how many runs some view leaves θ* out; views are looked at after every row at first, then now and then."""
    plan, found = config.plan(), 0
    for trial in range(trials):
        source, noise = stream(SEED, trial, ENVIRONMENT), stream(SEED, trial, POLICY)
        world = WORLD.start(source)
        vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
        curve, clock, total, x = np.zeros(1), np.zeros(2, np.int64), np.zeros(1), np.zeros(DIM)
        left, portion = rounds, 1
        covered = True
        while left > 0:
            run(
                plan.params,
                vault,
                view,
                report,
                noise,
                world.params,
                world.slate,
                world.means,
                source,
                x,
                np.array([-1]),
                curve,
                clock,
                total,
                portion,
            )
            left -= portion
            portion = 1 if rounds - left < 200 else 50
            distance = np.linalg.norm(np.triu(view.factor) @ (world.theta - view.theta))
            covered &= bool(distance <= view.width[0])
        found += not covered
    return found


@pytest.mark.parametrize("rounds", [2000, pytest.param(100_000, marks=pytest.mark.long)], ids=["short", "paper scale"])
@pytest.mark.parametrize("changes", [{}, {"noise": "sum"}, {"width": "paper", "noise": "sum"}, {"rho": 0.001}])
def test_the_ellipsoid_covers_the_parameter_in_every_run(changes, rounds):
    """The claim is 1 − δ with δ = 1/T: of 40 runs none fails, unless something of probability below 2 % happened."""
    assert outside(private(horizon=rounds, switch=1.0, **changes), rounds, trials=40) == 0


def test_the_coverage_test_rejects_a_width_of_three_tenths():
    rounds = 2000
    assert outside(private(horizon=rounds, switch=1.0, width=0.3), rounds, trials=40) > 8


# What is promised ---------------------------------------------------------------------------------------------------


def test_every_currency_of_one_promise_gives_the_same_noise():
    scales = [
        private(rho=0.05).plan().noise_scale,
        private(alpha=2.0, epsilon=0.1).plan().noise_scale,
        private(alpha=50.0, epsilon=2.5).plan().noise_scale,
    ]
    assert max(scales) == pytest.approx(min(scales), rel=1e-12)
    exact = private(epsilon=1.0, delta=1e-6, noise="sum").plan().noise_scale
    assert exact / 2 == pytest.approx(4.225, abs=5e-4), "the noise multiplier of (1, 1e-6), for an interval of length 2"


def test_both_noises_are_priced_alike_and_say_what_is_released():
    toeplitz, plain = private().plan(), private(noise="sum", switch=1.0).plan()
    assert toeplitz.event == RootToeplitzEvent(toeplitz.noise_scale, 2.0, private().most_views)
    assert plain.event == SegmentsEvent(plain.noise_scale, 2.0)
    assert toeplitz.guarantee.mu == pytest.approx(plain.guarantee.mu, rel=1e-5) == pytest.approx(math.sqrt(0.2))
    assert toeplitz.noise_scales["last release"] < 0.4 * plain.noise_scales["last release"]
    assert (toeplitz.guarantee.trust, toeplitz.guarantee.protects) == (Trust.CENTRAL, Protects.REWARDS)


def test_the_published_noise_is_the_papers_and_is_priced_for_what_it_meets():
    config = private(alpha=2.0, epsilon=0.1, calibration="published", ridge=None)
    plan = config.plan()
    assert plan.noise_scale == pytest.approx(math.sqrt(2 * 2.0 / 0.1))
    assert (config.noise_kind, config.width_kind, config.growth, config.regulariser) == ("sum", "paper", 3.0, 1.0)
    assert config.card().keeps_its_claim
    wider = private(alpha=2.0, epsilon=0.1, calibration="published", reward_high=3.0)
    assert wider.plan().guarantee.mu == pytest.approx(2 * plan.guarantee.mu)
    assert not wider.card().keeps_its_claim
    correlated = private(alpha=2.0, epsilon=0.1, calibration="published", noise="toeplitz")
    assert correlated.guarantee.mu == pytest.approx(plan.guarantee.mu)


def test_longer_actions_are_scaled_and_rewards_clipped_before_they_are_summed():
    """Two rewards as far apart as may be, at an action ten times too long: b moves by ΔL and no more."""
    config = private(action_norm=0.5, reward_low=-2.0, reward_high=1.0, ridge=0.01)
    assert config.sensitivity == 1.5
    moved, counts = [], []
    for reward in (1e9, -1e9):
        learner = config.start(seed=SEED)
        learner.learn([3.0, 4.0, 0.0, 0.0, 0.0], reward)
        factor = np.triu(learner.view.factor)
        moved.append(factor.T @ factor @ learner.view.theta)
        counts.append((learner.diagnostics().clipped_actions, learner.diagnostics().clipped_rewards))
    assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(config.sensitivity, rel=1e-9)
    assert price(config.plan().event) == pytest.approx(math.sqrt(0.2), rel=1e-5)
    assert counts == [(1, 1), (1, 1)]


def test_a_replaced_reward_changes_nothing_that_was_released_before_it():
    """Same noise, one reward replaced: every earlier view is the same to the bit, and later ones are not."""
    actions = unit_vectors(60, DIM, seed=8)
    views = []
    for reward in (-1.0, 1.0):
        learner = private().start(seed=SEED)
        views.append([])
        for row, x in enumerate(actions):
            learner.learn(x, reward if row == 30 else 0.5)
            views[-1].append(learner.view.theta)
    same = [np.array_equal(one, other) for one, other in zip(*views, strict=True)]
    assert same[:30] == [True] * 30
    assert not any(same[40:])


def test_several_rewards_of_one_person_are_priced_as_one_long_one():
    one, three = private(), private(person_rounds=3)
    assert three.plan().noise_scale == pytest.approx(3 * one.plan().noise_scale, rel=1e-5)
    assert three.guarantee.mu == pytest.approx(one.guarantee.mu, rel=1e-5)


def test_the_default_regulariser_balances_the_noise_and_keeps_to_the_scale_of_actions_and_rewards():
    """74 and 234 at ρ = 0.1 and 0.01 for unit norms; never below L²; and in other units the same policy."""
    assert private(horizon=10_000, ridge=None).regulariser == pytest.approx(74, abs=1)
    assert private(horizon=10_000, rho=0.01, ridge=None).regulariser == pytest.approx(234, abs=2)
    assert private(rho=1e6, ridge=None).regulariser == 1.0
    units = {"action_norm": 10.0, "reward_low": -3.0, "reward_high": 3.0, "parameter_norm": 0.3}
    scaled = private(horizon=10_000, ridge=None, **units)
    assert scaled.regulariser == pytest.approx(100 * private(horizon=10_000, ridge=None).regulariser, rel=1e-9)
    assert scaled.most_views == private(horizon=10_000, ridge=None).most_views


def test_memory_is_one_row_per_view_that_can_be_released():
    for rounds in (1000, 10**6, 10**9):
        config = private(horizon=rounds)
        assert config.plan().vault().memory.shape == (config.most_views + 1, DIM)
    assert config.most_views < 140


def test_a_horizon_is_never_overrun():
    learner = private(horizon=30).start(seed=SEED)
    for x in unit_vectors(30, DIM, seed=9):
        learner.choose(x[None, :])
        learner.learn(x, 0.0)
    with pytest.raises(HorizonSpent, match="30 rounds are served"):
        learner.choose(np.eye(DIM))
    with pytest.raises(HorizonSpent, match="30 rows are learned"):
        learner.learn(np.eye(DIM)[0], 0.0)


# Contexts protected too ---------------------------------------------------------------------------------------------


def test_with_contexts_protected_it_says_joint_and_that_no_regret_theorem_holds():
    config = private(protects=CONTEXTS, epsilon=1.0, delta=1e-6, ridge=None)
    assert config.protects is Protects.EVERYTHING is config.guarantee.protects
    assert config.trust is Trust.JOINT is config.guarantee.trust
    assert tacit.RenyiOFUL.trust is private().trust is Trust.CENTRAL
    assert tacit.RenyiOFUL.protects is private().protects is Protects.REWARDS
    for text in (config.card().text(), tacit.RenyiOFUL.__doc__, tacit.RenyiOFUL.summary):
        assert "no regret theorem" in " ".join(text.lower().split())
    assert type(config).from_dict(config.to_dict()) == config


@pytest.mark.parametrize("promise", [{"rho": 1e-9}, {"rho": 0.1}, {"rho": 50.0}, {"alpha": 3.0, "epsilon": 0.6}])
def test_contexts_and_rewards_together_get_the_promised_curve(promise):
    """The whole of what was asked for, and none more, whatever it was asked for in."""
    config = private(protects=CONTEXTS, ridge=None, **promise)
    assert isinstance(config.plan().event, ToeplitzEvent)
    assert config.promise.kept(config.guarantee)
    assert config.guarantee.mu == pytest.approx(config.promise.mu, rel=1e-5)
    bare = tacit.JointLinUCB(dim=DIM, epsilon=1.0, delta=1e-6, releases="toeplitz", horizon=1000)
    alike = private(protects=CONTEXTS, epsilon=1.0, delta=1e-6, ridge=None)
    assert alike.plan().params.counter.scale == pytest.approx(bare.plan().params.counter.scale, rel=1e-5)
    np.testing.assert_allclose(
        alike.plan().params.estimate.confidence.bias, bare.plan().params.estimate.bias, rtol=1e-5
    )


def test_the_played_view_is_replaced_when_the_released_determinant_has_grown_and_not_before():
    """A release after every row, from which the played view is computed and nothing else is."""
    config = private(protects=CONTEXTS, rho=50.0, horizon=400, ridge=None, switch=0.2)
    learner, replaced, held = config.start(seed=SEED), 0, -math.inf
    for row, actions in enumerate(unit_vectors(399, 5, DIM, seed=10)):
        before = learner.view
        learner.learn(actions[learner.choose(actions)], 0.5)
        view = learner.view
        assert view.stage[0] == row + 1
        size = np.linalg.slogdet(np.triu(view.factor))[1] * 2
        if size > held + math.log(1.2):
            held, replaced = size, replaced + 1
            assert np.array_equal(view.played_theta, view.theta)
            assert np.array_equal(view.played_whiten, np.tril(view.whiten))
            assert view.played_width[0] == view.width[0]
        else:
            for name in ("played_theta", "played_whiten", "played_width", "played_size"):
                assert np.array_equal(getattr(view, name), getattr(before, name))
    assert 5 < replaced < 200


def test_choices_come_from_the_played_view_alone():
    learners = [private(protects=CONTEXTS, rho=50.0, ridge=None).start(seed=SEED) for _ in range(2)]
    offers = unit_vectors(150, 8, DIM, seed=11)
    for learner in learners:
        for actions in offers[:100]:
            learner.learn(actions[0], 0.5)
    for part in (
        learners[1]._session.view.theta,
        learners[1]._session.view.whiten,
        learners[1]._session.view.factor,
        learners[1]._session.view.width,
    ):
        part[...] = 7.0
    for actions in offers[100:]:
        assert learners[0].choose(actions) == learners[1].choose(actions)


# What is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": 0}, "dim >= 1"),
        ({"horizon": 1}, "horizon >= 2"),
        ({"rho": 0.0}, "rho > 0"),
        ({"alpha": 1.0, "epsilon": 0.1}, "alpha > 1"),
        ({"alpha": 2.0, "epsilon": 0.1, "delta": 1e-6}, "a fixed order often cannot reach"),
        ({"reward_low": 1.0}, "reward_low < reward_high"),
        ({"switch": 0.0}, "switch > 0"),
        ({"ridge": -1.0}, "ridge > 0"),
        ({"failure": 1.0}, "0 < failure < 1"),
        ({"noise": "tree"}, "noise to be one of 'toeplitz', 'sum'"),
        ({"width": "theory"}, "width to be one of 'gram', 'paper'"),
        ({"width": 0.0}, "width > 0"),
        ({"protects": "contexts"}, "protects to be one of 'rewards only', 'contexts and rewards'"),
        ({"protects": "nothing"}, "protects to be one of"),
        ({"smallest_eigenvalue": 0.1}, 'smallest_eigenvalue with width="paper" only'),
        ({"smallest_eigenvalue": 0.21, "width": "paper"}, "smallest_eigenvalue <= 0.2"),
        ({"calibration": "published"}, "alpha and epsilon"),
        ({"protects": CONTEXTS, "noise": "sum"}, 'no noise="sum"'),
        ({"protects": CONTEXTS, "width": "paper"}, 'no width="paper"'),
        ({"protects": CONTEXTS, "calibration": "published", "alpha": 2.0, "epsilon": 0.1}, "published"),
    ],
)
def test_nonsense_is_refused_with_the_reason(changes, message):
    with pytest.raises(BadInput, match=message):
        private(**changes)


@pytest.mark.parametrize("changes", [{"dim": 0}, {"ridge": 0}, {"switch": -1}, {"failure": 2}, {"width": "wide"}])
def test_nonsense_is_refused_without_privacy_too(changes):
    with pytest.raises(BadInput, match=next(iter(changes))):
        tacit.OFUL(**{"dim": 2, **changes})


def test_the_view_that_is_held_before_any_release_can_be_sent():
    config = tacit.RenyiOFUL(dim=2, horizon=100, epsilon=1.0, delta=1e-6, protects="contexts and rewards")
    assert all(np.isfinite(part).all() for part in config.plan("secure").view())
