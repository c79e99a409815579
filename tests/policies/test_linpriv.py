"""LinPriv: what its trees release, what one reward can do to it, and whether its widths hold.

Statistical checks err with probability LEVEL = 1e-6 each, with fixed seeds.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.core.round import learn_round
from tacit.core.verbs import absorb, choose, encode, pay, show
from tacit.environments import DisjointArms
from tacit.errors import BadInput, HorizonSpent
from tacit.mechanisms.binary import levels
from tacit.mechanisms.vector_tree import active_nodes
from tacit.noise import stream
from tacit.policies.linpriv import LinPriv
from tacit.policies.linpriv.tails import gaussian_lengths, laplace_lengths
from tacit.policies.linucb import LinUCB
from tacit.privacy.event import LaplaceEvent, PersonEvent, TreeEvent
from tacit.privacy.scope import Protects, Trust
from tacit.simulation import simulate
from tests.statistics import checks
from tests.statistics.checks import LEVEL

SMALL = {"dim": 4, "arms": 2, "horizon": 17}
GAUSSIAN = LinPriv(**SMALL, rho=0.1)
LAPLACE = LinPriv(**SMALL, epsilon=1.0)


def nodes_of(row: int) -> set[tuple[int, int]]:
    """The nodes (start, end] that the prefix of `row` rows is made of."""
    found = set()
    while row:
        found.add((row & (row - 1), row))
        row &= row - 1
    return found


def shared(rows: int) -> np.ndarray:
    """How many nodes each two of the prefixes 1, …, rows have in common."""
    prefixes = [nodes_of(row) for row in range(1, rows + 1)]
    return np.array([[len(one & other) for other in prefixes] for one in prefixes], dtype=float)


@lru_cache
def released_noise(config, rows=8, runs=800):
    """Noise of the prefix sums of both arms, shape (arm, row, run, coordinate): rewards are 0, so the sums are noise.

    Arms take turns. Contexts are (0.6, 0): V is known, and V·θ̂ is what was released.
    """
    plan = config.plan()
    params = plan.params
    x = np.zeros((2, 4))
    x[0, 0] = x[1, 2] = 0.6
    found = np.empty((2, rows, runs, 2))
    noise, report = stream(201), np.zeros(plan.report_size)
    for run in range(runs):
        vault, view = plan.vault(), plan.view()
        for row in range(rows):
            for arm in range(2):
                learn_round(params, vault, view, x[arm], 0.0, report, noise)
                found[arm, row, run] = view.theta[arm] * (1 + 0.36 * (row + 1), 1)
    return found


# Noise ----------------------------------------


def test_gaussian_prefix_sums_share_the_noise_of_their_common_nodes():
    """One draw per node, kept: the covariance over rows is s² times the number of common nodes, in every coordinate of
    either arm, and nothing is common to two coordinates or two arms."""
    noise, scale = released_noise(GAUSSIAN), GAUSSIAN.plan().noise_scale
    matrix = scale**2 * shared(8)
    for arm in range(2):
        for coordinate in range(2):
            rows = noise[arm, :, :, coordinate].T
            assert checks.covariance(rows, matrix) > LEVEL
            assert checks.covariance(1.2 * rows, matrix) < LEVEL
            assert checks.covariance(rows, scale**2 * np.diag(np.diag(shared(8)))) < LEVEL, "drawn anew each time"
            for row in (1, 3, 7, 8):
                single = rows[:, row - 1] / (scale * math.sqrt(active_nodes(row)))
                assert checks.law(single, checks.normal) > LEVEL
    for row in range(8):
        assert checks.unrelated(noise[0, row, :, 0], noise[0, row, :, 1]) > LEVEL
        assert checks.unrelated(noise[0, row, :, 0], noise[1, row, :, 0]) > LEVEL


def test_laplace_prefix_sums_are_sums_of_one_laplace_number_per_node():
    noise, scale = released_noise(LAPLACE), LAPLACE.plan().noise_scale
    rng = np.random.default_rng(202)
    for row in (1, 2, 3, 4, 7, 8):
        nodes = active_nodes(row)
        expected = rng.laplace(scale=scale, size=(200_000, nodes)).sum(axis=1)
        for arm in range(2):
            drawn = noise[arm, row - 1].ravel()
            assert stats.ks_2samp(drawn, expected).pvalue > LEVEL
            assert stats.ks_2samp(1.5 * drawn, expected).pvalue < LEVEL
    single = noise[:, 0].ravel()
    assert checks.law(single, lambda z: stats.laplace.cdf(z, scale=scale)) > LEVEL
    assert checks.law(single, lambda z: stats.norm.cdf(z, scale=scale * math.sqrt(2))) < LEVEL
    # Rows 2 and 3 share node (0, 2]: what row 3 adds knows nothing of it. Row 4 has a node of its own.
    for arm in range(2):
        two, three, four = (noise[arm, row - 1].ravel() for row in (2, 3, 4))
        assert checks.unrelated(three - two, two) > LEVEL
        assert checks.unrelated(three, two) < LEVEL
        assert checks.unrelated(three, four) > LEVEL


# Privacy ----------------------------------------


def test_the_guarantee_is_for_rewards_and_keeps_its_promise_in_every_currency():
    every = {"dim": 6, "arms": 3, "horizon": 1000}
    for options in (
        {"rho": 0.1},
        {"epsilon": 1.0, "delta": 1e-6},
        {"alpha": 2.0, "epsilon": 0.1},
        {"epsilon": 1.0},
        {"rho": 0.1, "person_rounds": 3},
        {"epsilon": 1.0, "person_rounds": 3},
    ):
        config = LinPriv(**every, **options)
        assert config.promise.kept(config.guarantee), options
        assert config.guarantee.trust is Trust.CENTRAL
        assert config.guarantee.protects is Protects.REWARDS
        assert config.noise_kind == ("laplace" if set(options) <= {"epsilon", "person_rounds"} else "gaussian")
        kind = LaplaceEvent if config.noise_kind == "laplace" else TreeEvent
        event = config.plan().event
        assert isinstance(event.event if isinstance(event, PersonEvent) else event, kind)
        # And no less noise would do.
        assert not config.promise.kept(
            config.priced(config.for_unit(config.event_at(0.9999 * config.plan().noise_scale)))
        )


def test_whatever_comes_one_reward_moves_the_sums_by_at_most_its_declared_sensitivity():
    rng = np.random.default_rng(203)
    config = LinPriv(dim=6, arms=2, horizon=16, rho=0.1, action_norm=2.0, reward_low=-1.0, reward_high=3.0)
    pure = LinPriv(dim=6, arms=2, horizon=16, epsilon=1.0, action_norm=2.0, reward_low=-1.0, reward_high=3.0)
    plan = config.plan()
    farthest = np.zeros(2)
    for case in range(300):
        x = np.zeros(6)
        x[3 * (case % 2) : 3 * (case % 2) + 3] = rng.normal(size=3) * 10.0 ** rng.uniform(-3, 50)
        if case == 0:
            x[:3] = 1e60
        sums = []
        for reward in (rng.normal(), -1e99) if case else (1e99, -1e99):
            vault, report = plan.vault(), np.zeros(plan.report_size)
            encode(plan.params, plan.view(), x, reward, report, stream(1))
            absorb(plan.params, vault, report)
            sums.append(vault.sums.copy())
        moved = sums[0] - sums[1]
        assert not (moved[0].any() and moved[1].any())
        farthest = np.maximum(farthest, [np.linalg.norm(moved), np.abs(moved).sum()])
    declared = config.event_at(1.0).sensitivity, pure.event_at(1.0).sensitivity
    assert farthest[0] == pytest.approx(declared[0], rel=1e-9)
    assert farthest[1] == pytest.approx(declared[1], rel=1e-9)


@pytest.mark.parametrize("horizon", [2, 3, 4, 5, 8, 9, 16, 100])
def test_a_reward_is_in_no_more_released_nodes_than_are_priced(horizon):
    """Whichever arms are played: by brute force over the nodes that rows before the last close."""
    rng = np.random.default_rng(204)
    config = LinPriv(dim=3, arms=3, horizon=horizon, rho=1.0)
    most = 0
    for case in range(20):
        arms = np.zeros(horizon - 1, int) if case == 0 else rng.integers(0, 3, horizon - 1)
        for arm in range(3):
            rows = np.count_nonzero(arms == arm)
            closed = [(j & (j - 1), j) for j in range(1, rows + 1)]
            most = max([most, *(sum(start < row <= end for start, end in closed) for row in range(1, rows + 1))])
    assert most == config.nodes == config.event_at(1.0).nodes == config.plan().vault().memory.shape[1]
    assert config.nodes == levels(horizon)


def separation(config, factor, runs=8000):
    """How many standard deviations apart the best statistic sees the first reward of +1 and of −1, others 0, with the
    noise of the params multiplied by `factor`.

    Rows 1, 2, 4 and 8 close the nodes that hold the first reward, and their prefix sums are these nodes alone.
    """
    plan = config.plan()
    params = plan.params._replace(scale=factor * plan.params.scale)
    x = np.array([1.0, 0, 0, 0])
    totals = np.zeros((2, runs))
    noise, report = stream(205), np.zeros(plan.report_size)
    for world, first in enumerate((1.0, -1.0)):
        for run in range(runs // 2):
            vault, view = plan.vault(), plan.view()
            for row in range(1, 9):
                learn_round(params, vault, view, x, first if row == 1 else 0.0, report, noise)
                if row & (row - 1) == 0:
                    # Both coordinates are released, and only the first knows of rewards.
                    totals[world, run] += view.theta[0, 0] * (1 + row)
    totals = totals[:, : runs // 2]
    return (totals[0].mean() - totals[1].mean()) / math.sqrt((totals[0].var() + totals[1].var()) / 2)


def test_the_best_attacker_sees_as_much_as_the_price_says_and_more_of_a_broken_twin():
    """μ = √q·Δ/s is attained. Errs with probability LEVEL: the estimate has a variance of (4 + μ²/2)/runs."""
    config = LinPriv(**{**SMALL, "horizon": 16}, rho=2.0)
    mu = config.guarantee.mu
    error = math.sqrt((4 + mu**2 / 2) / 8000) * stats.norm.isf(LEVEL / 2)
    assert config.nodes == 4
    assert abs(separation(config, 1.0) - mu) < error
    assert separation(config, 0.8) > mu + error, "too little noise is seen"


# The estimate and the index ----------------------------------------


def play(config, environment, rounds, seed):
    """A seeded learner in the world, round by round: the learner, the world, and what was played."""
    learner = config.start(seed=seed)
    source = stream(seed, 0, ENVIRONMENT)
    world = environment.start(source)
    rows = []
    for _ in range(rounds):
        show(world.params, world.slate, world.means, source)
        actions = world.slate.columns.T.copy()
        arm = learner.choose(actions)
        reward = pay(world.params, world.means[arm], source)
        learner.learn(actions[arm], reward)
        rows.append((arm, actions[arm], reward))
    return learner, world, rows


def test_without_noise_to_speak_of_each_arm_is_a_ridge_regression_of_its_own():
    config = LinPriv(dim=6, arms=2, horizon=1000, rho=1e16, ridge=0.7)
    learner, _, rows = play(config, DisjointArms(arms=2, context_dim=3), 300, seed=206)
    for arm in range(2):
        contexts = np.array([x[3 * arm : 3 * arm + 3] for played, x, _ in rows if played == arm])
        rewards = np.array([reward for played, _, reward in rows if played == arm])
        gram = 0.7 * np.eye(3) + contexts.T @ contexts
        np.testing.assert_allclose(learner.view.theta[arm], np.linalg.solve(gram, contexts.T @ rewards), atol=1e-7)
        np.testing.assert_allclose(learner.view.inverse[arm], np.linalg.inv(gram), rtol=1e-9, atol=1e-12)
        growth = np.linalg.slogdet(gram)[1] - 3 * math.log(0.7)
        assert learner.view.grown[arm] == pytest.approx(growth, rel=1e-9)
        beta = math.sqrt(2 * math.log(4 / config.failure_probability) + growth) + math.sqrt(0.7)
        assert learner.view.width[arm] == pytest.approx(beta, rel=1e-9)


@pytest.mark.parametrize("width", ["gram", "published", 0.3])
def test_the_index_is_the_one_that_is_written_down(width):
    config = LinPriv(dim=6, arms=2, horizon=1000, rho=1.0, ridge=2.0, width=width)
    environment = DisjointArms(arms=2, context_dim=3)
    learner, world, rows = play(config, environment, 100, seed=207)
    plan, view = config.plan(), learner.view
    counts = np.bincount([arm for arm, _, _ in rows], minlength=2)
    factor = width if isinstance(width, float) else 1.0
    failure = config.failure_probability / (2 * 2 * 999)
    source = stream(208)
    for _ in range(50):
        show(world.params, world.slate, world.means, source)
        scores = []
        for arm, action in enumerate(world.slate.columns.T):
            x = action[3 * arm : 3 * arm + 3]
            solved = view.inverse[arm] @ x
            length = plan.noise_scale * math.sqrt(active_nodes(counts[arm]) * stats.chi2.isf(failure, 3))
            shift = math.sqrt(x @ solved / 2.0) if width == "published" else np.linalg.norm(solved)
            scores.append(view.theta[arm] @ x + view.width[arm] * math.sqrt(x @ solved) + factor * length * shift)
        assert choose(plan.params, view, world.slate, source) == np.argmax(scores)
        np.testing.assert_allclose(world.slate.scores, scores, rtol=1e-9)


def test_the_published_width_is_never_below_the_other():
    environment = DisjointArms(arms=2, context_dim=3)
    config = LinPriv(dim=6, arms=2, horizon=1000, rho=1.0)
    learner, world, _ = play(config, environment, 60, seed=209)
    source = stream(210)
    for _ in range(20):
        show(world.params, world.slate, world.means, source)
        scores = []
        for width in ("gram", "published"):
            params = LinPriv(dim=6, arms=2, horizon=1000, rho=1.0, width=width).plan().params
            choose(params, learner.view, world.slate, source)
            scores.append(world.slate.scores.copy())
        assert (scores[1] >= scores[0]).all()
        assert (scores[1] > scores[0]).any()


def test_of_an_action_the_first_block_that_is_not_zero_counts():
    config = LinPriv(dim=6, arms=3, horizon=100, rho=1.0)
    both, one = config.start(seed=1), config.start(seed=1)
    both.learn([0, 0, 0.3, 0.4, 0.5, 0.5], 1.0)
    one.learn([0, 0, 0.3, 0.4, 0, 0], 1.0)
    assert all(np.array_equal(a, b) for a, b in zip(both.view, one.view, strict=True))
    assert one.view.theta[1].any()
    assert not one.view.theta[[0, 2]].any()


def test_an_action_of_zeros_counts_as_a_row_and_teaches_nothing():
    config = LinPriv(dim=6, arms=3, horizon=100, rho=1.0)
    learner = config.start(seed=1)
    learner.learn([0, 0, 0.3, 0.4, 0, 0], 1.0)
    before = [np.array(part) for part in learner.view]
    learner.learn(np.zeros(6), 1.0)
    assert learner.diagnostics().rows == 2
    assert learner.view.stage[0] == 2
    assert all(np.array_equal(a, b) for a, b in zip(before[:-1], learner.view[:-1], strict=True))
    assert learner.choose([[0, 0, 0.3, 0.4, 0, 0], np.zeros(6)]) == 0


def test_long_contexts_are_scaled_rewards_clipped_and_both_counted():
    config = LinPriv(dim=4, arms=2, horizon=100, rho=1.0, action_norm=0.5, reward_low=0.0)
    far, near = config.start(seed=1), config.start(seed=1)
    far.learn([0, 0, 3.0, 4.0], 7.0)
    near.learn([0, 0, 0.3, 0.4], 1.0)
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(far.view, near.view, strict=True))
    assert (far.diagnostics().clipped_actions, far.diagnostics().clipped_rewards) == (1, 1)
    assert (near.diagnostics().clipped_actions, near.diagnostics().clipped_rewards) == (0, 0)


def test_the_last_row_is_learned_and_never_released():
    config = LinPriv(dim=2, arms=1, horizon=16, rho=1.0)
    learner = config.start(seed=1)
    for _ in range(15):
        learner.learn([0.6, 0.0], 1.0)
    before = [np.array(part) for part in learner.view]
    assert learner.view.stage[0] == 15
    learner.learn([0.6, 0.0], 1.0)
    assert all(np.array_equal(a, b) for a, b in zip(before, learner.view, strict=True))
    with pytest.raises(HorizonSpent):
        learner.learn([0.6, 0.0], 1.0)


# Widths ----------------------------------------


def test_noise_is_as_long_as_the_tails_say_and_no_longer():
    rng = np.random.default_rng(211)
    for dim, failure in ((1, 0.01), (3, 0.02), (6, 0.001)):
        normal, laplace = gaussian_lengths(2.0, dim, 5, failure), laplace_lengths(2.0, dim, 5, failure)
        assert normal[0] == laplace[0] == 0
        for nodes in (1, 2, 5):
            size = (40_000, nodes, dim)
            lengths = np.linalg.norm(rng.normal(scale=2.0, size=size).sum(axis=1), axis=1)
            assert checks.share(np.count_nonzero(lengths > normal[nodes]), len(lengths), failure) > LEVEL
            assert checks.share(np.count_nonzero(lengths > 0.8 * normal[nodes]), len(lengths), failure) < LEVEL
            draws = np.abs(rng.laplace(scale=2.0, size=size).sum(axis=1))
            # The largest coordinate is what is bounded: from it to the length there is room.
            largest = draws.max(axis=1) * math.sqrt(dim)
            share = -math.expm1(dim * math.log1p(-failure / dim))
            assert checks.share(np.count_nonzero(largest > laplace[nodes]), len(largest), share) > LEVEL
            assert checks.share(np.count_nonzero(largest > 0.8 * laplace[nodes]), len(largest), share) < LEVEL
            assert (np.linalg.norm(draws, axis=1) <= largest * (1 + 1e-12)).all()


def test_tails_far_out_are_those_of_the_chi_law():
    for dim, failure in ((2, 1e-9), (10, 1e-16), (40, 1e-25)):
        assert gaussian_lengths(1.0, dim, 1, failure)[1] == pytest.approx(
            math.sqrt(stats.chi2.isf(failure, dim)), rel=1e-9
        )
        assert laplace_lengths(1.0, dim, 1, failure)[1] > gaussian_lengths(1.0, dim, 1, failure)[1]


def missed(config, runs, rounds=60, seed=212):
    """In how many runs a mean reward was ever outside the index's interval, for contexts shown in the world."""
    plan, environment = config.plan(), DisjointArms(arms=2, context_dim=2, parameter_norm=1.0)
    report, count = np.zeros(plan.report_size), 0
    for trial in range(runs):
        source, noise = stream(seed, trial, ENVIRONMENT), stream(seed, trial, POLICY)
        world, vault, view = environment.start(source), plan.vault(), plan.view()
        outside = False
        for _ in range(rounds):
            show(world.params, world.slate, world.means, source)
            arm = choose(plan.params, view, world.slate, noise)
            blocks = world.slate.columns.T.reshape(2, 2, 2)[[0, 1], [0, 1]]
            guess = (view.theta * blocks).sum(axis=1)
            outside |= bool((np.abs(world.means - guess) > world.slate.scores - guess).any())
            x = world.slate.columns[:, arm].copy()
            learn_round(plan.params, vault, view, x, pay(world.params, world.means[arm], source), report, noise)
        count += outside
    return count


@pytest.mark.parametrize(
    "options",
    [{"rho": 0.5}, {"rho": 0.5, "width": "published"}, {"epsilon": 2.0}],
    ids=["gram", "published", "laplace"],
)
def test_confidence_intervals_cover_the_means_in_all_but_a_share_alpha_of_runs(options):
    every = {**SMALL, "horizon": 64, "failure": 0.1}
    runs = 100
    assert stats.binom.sf(missed(LinPriv(**every, **options), runs) - 1, runs, 0.1) > LEVEL


def test_the_test_of_coverage_rejects_widths_that_are_too_narrow():
    """Broken twin: a tenth of the width."""
    every = {**SMALL, "horizon": 64, "failure": 0.1}
    assert stats.binom.sf(missed(LinPriv(**every, rho=0.5, width=0.1), 100) - 1, 100, 0.1) < LEVEL


# Regret ----------------------------------------


def regret(config, rounds=4000):
    environment = DisjointArms(arms=3, context_dim=2)
    return simulate(config, environment, rounds=rounds, trials=4, seed=213, progress=False).regret_mean


DISJOINT = {"dim": 6, "arms": 3, "horizon": 4000, "parameter_norm": 0.9}


@pytest.mark.long
def test_privacy_has_its_price_and_the_published_width_many_times_that():
    free, gram, published = (
        regret(LinPriv(**DISJOINT, **options))
        for options in ({"rho": 1e9}, {"rho": 1.0}, {"rho": 1.0, "width": "published"})
    )
    assert 1.2 * free < gram < 0.5 * published


@pytest.mark.long
def test_without_noise_to_speak_of_it_learns_as_fast_as_linucb():
    """LinUCB knows nothing of blocks: what it learns is the same, its width is somewhat larger."""
    linucb = regret(LinUCB(dim=6, parameter_norm=0.9 * math.sqrt(3), horizon=4000))
    assert 0.5 * linucb < regret(LinPriv(**DISJOINT, rho=1e9)) < 1.1 * linucb


# What is refused, and how it travels ----------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dim": 0}, "dim=0"),
        ({"arms": 0}, "arms=0"),
        ({"arms": 3}, "dim=4, arms=3"),
        ({"horizon": 1}, "horizon=1"),
        ({"rho": 0.0}, "rho=0.0"),
        ({"rho": None}, "Expected a promise"),
        ({"delta": 1e-6}, "delta=1e-06"),
        ({"rho": None, "epsilon": 1.0, "delta": 1e-6, "alpha": 2.0}, "alpha=2.0"),
        ({"noise": "laplace"}, "rho=0.1"),
        ({"rho": None, "epsilon": 1.0, "delta": 1e-6, "noise": "laplace"}, "delta=1e-06"),
        ({"rho": None, "epsilon": 1.0, "noise": "gaussian"}, "epsilon=1.0"),
        ({"noise": "wishart"}, "noise='wishart'"),
        ({"calibration": "published"}, "calibration='published'"),
        ({"width": "theory"}, "width='theory'"),
        ({"width": 0}, "width=0"),
        ({"ridge": 0}, "ridge=0"),
        ({"failure": 1}, "failure=1"),
        ({"parameter_norm": -1}, "parameter_norm=-1"),
        ({"action_norm": 0}, "action_norm=0"),
        ({"reward_low": 1.0}, "reward_low=1.0"),
        ({"person_rounds": 0}, "person_rounds=0"),
    ],
)
def test_bad_settings_are_refused_with_the_value_in_the_message(options, said):
    with pytest.raises(BadInput) as caught:
        LinPriv(**{**SMALL, "rho": 0.1, **options})
    assert said in str(caught.value)


def test_it_travels_as_a_dictionary_and_says_on_its_card_whose_reading_it_is():
    for config in LinPriv.examples(6):
        assert LinPriv.from_dict(config.to_dict()) == config
        text = str(config.card())
        assert "OUR READING" in text
        assert "rewards only" in text
    assert "square root of the rounds" in str(LinPriv.examples(6)[1].card())
    assert "no guarantee on the confidence set" in str(LinPriv(**SMALL, rho=1.0, width=0.5).card())
