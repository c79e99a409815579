"""USCA: what is learned, what leaves, what it costs, and what is refused.

Error level: each comparison of a law is at 1e-6, on fixed seeds, and has a twin that fails it.
"""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput, BudgetSpent, HorizonSpent, VaultSealed
from tacit.kernels import Matern, SquaredExponential
from tacit.mechanisms.exponential import diameter, probabilities, range_rate
from tacit.policies.usca import USCA, FeatureFunction
from tacit.privacy.accountant import price
from tests.statistics import checks
from tests.statistics.checks import LEVEL

SMOOTH = SquaredExponential(length_scale=0.2)


def config(**changes) -> USCA:
    """One action and one context in [0, 1]; small and quick."""
    given = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "action_box": ((0, 1),),
        "context_box": ((0, 1),),
        "kernel": SMOOTH,
        "horizon": 400,
        "reward_bound": 1.3,
        "features": 64,
        "candidates": 21,
    }
    return USCA(**{**given, **changes})


CONFIG = config()


def records(count: int, seed: int = 1):
    """Actions, contexts and rewards of a hill that moves with the context."""
    rng = np.random.default_rng(seed)
    x, c = rng.random((count, 1)), rng.random((count, 1))
    y = np.exp(-(((x - c) / 0.3) ** 2))[:, 0] + rng.uniform(-0.3, 0.3, count)
    return x, y, c


def taught(one: USCA = CONFIG, seed: int | None = 1, count: int | None = None):
    x, y, c = records(count or one.records)
    learner = one.start(seed=seed)
    learner.learn_many(x, y, c)
    return learner


# What is learned --------------------------------------------------------------------------------------------------


def test_exploration_is_uniform_and_reads_nothing():
    one, other = CONFIG.start(seed=3), taught(seed=3)
    drawn = np.array([one.choose(0.5) for _ in range(2000)])
    assert np.array_equal(drawn, [other.choose(0.1) for _ in range(2000)]), "whatever was learned, whatever the context"
    assert checks.law(drawn[:, 0], checks.uniform) > LEVEL


def test_one_by_one_and_at_once_is_the_same():
    x, y, c = records(50)
    one, many = CONFIG.start(seed=1), CONFIG.start(seed=1)
    many.learn_many(x, y, c)
    for row in range(50):
        one.learn(x[row], float(y[row]), c[row])
    assert np.allclose(one._sum, many._sum, rtol=1e-9, atol=1e-12)
    assert one.diagnostics() == many.diagnostics()


def test_what_is_learned_is_found_again():
    long = config(horizon=20_000, epsilon=5.0)
    function = taught(long).release_function()
    contexts = np.linspace(0.2, 0.8, 13)
    found = [long.grid[function.best(context, long.grid)][0] for context in contexts]
    assert np.abs(np.array(found) - contexts).max() <= 0.15
    assert function.predict(0.5, [[0.5]])[0] == pytest.approx(1.0, abs=0.3)
    assert function.rank(0.5, long.grid)[0] == function.best(0.5, long.grid)


def test_fewer_records_than_the_horizon_say_the_same_in_value():
    long = config(horizon=20_000, epsilon=50.0)
    function = taught(long, count=10_000).release_function()
    assert function.predict(0.5, [[0.5]])[0] == pytest.approx(1.0, abs=0.3)


def test_without_contexts_it_is_the_plain_bandit():
    plain = config(context_box=None, reward_bound=None, reward_low=0.0, reward_high=1.0, horizon=5000, epsilon=5.0)
    rng = np.random.default_rng(1)
    x = rng.random((5000, 1))
    learner = plain.start(seed=1)
    learner.learn_many(x, np.exp(-(((x - 0.3) / 0.2) ** 2))[:, 0])
    function = learner.release_function()
    assert abs(plain.grid[function.best(None, plain.grid)][0] - 0.3) <= 0.1
    with pytest.raises(BadInput, match="Expected no context, got one"):
        function.predict(0.5, plain.grid)


def test_bad_records_are_refused_whole():
    learner = taught(count=10)
    before, x = learner._sum.copy(), np.full((3, 1), 0.5)
    for rewards, contexts, message in (
        ([0.0, 1.0], x, "one reward for each of 3 actions"),
        ([0.0, 1.0, 0.0], x[:2], "one context for each"),
        ([0.0, 1.0, 0.0], None, "Expected contexts"),
        ([0.0, 1.0, 0.0], np.zeros((3, 2)), "contexts of shape"),
    ):
        with pytest.raises(BadInput, match=message):
            learner.learn_many(x, rewards, contexts)
    with pytest.raises(HorizonSpent, match="at most 390 more of 400 records, got 391"):
        learner.learn_many(np.full((391, 1), 0.5), np.zeros(391), np.full((391, 1), 0.5))
    assert np.array_equal(before, learner._sum)
    assert learner.diagnostics().rows == 10


def test_what_lies_outside_is_moved_and_counted():
    learner = CONFIG.start(seed=1)
    learner.learn_many([[1.5], [0.5], [0.5]], [0.0, 9.0, -1.3], [[0.5], [-2.0], [0.5]])
    found = learner.diagnostics()
    assert (found.clipped_actions, found.clipped_contexts, found.clipped_rewards) == (1, 1, 1)
    inside = CONFIG.start(seed=1)
    inside.learn_many([[1.0], [0.5], [0.5]], [0.0, 1.3, -1.3], [[0.5], [0.0], [0.5]])
    assert np.array_equal(learner._sum, inside._sum)


# What it costs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes", [{}, {"calibration": "published", "tau": 0.1}, {"kernel": Matern(1.5, length_scale=0.3)}]
)
def test_whatever_comes_one_record_moves_the_sum_by_its_sensitivity_at_most(changes):
    one = config(**changes)
    rng = np.random.default_rng(2)
    largest = 0.0
    for _ in range(300):
        sums = []
        for _ in range(2):
            learner = one.start(seed=1)
            reach = 10.0 ** rng.uniform(-1, 3)
            learner.learn(rng.normal(size=1) * reach, float(rng.normal() * reach), rng.normal(size=1) * reach)
            sums.append(learner._sum)
        largest = max(largest, float(np.linalg.norm(sums[0] - sums[1])))
    assert largest <= one.sensitivity * (1 + 1e-9)
    assert largest >= 0.5 * one.sensitivity, "and the bound is not far off"


def test_without_clipping_leverage_the_bound_is_broken():
    """Broken twin: records in a corner, summed as they are, weigh more than the quantile that was priced."""
    operator = CONFIG.public.operator
    corner = operator.weighted_sum([[0.0, 0.0]], [1.3]) - operator.weighted_sum([[0.0, 0.0]], [-1.3])
    assert np.linalg.norm(corner) > CONFIG.sensitivity


def test_the_noise_of_a_function_is_drawn_once_and_has_its_scale():
    operator, event = CONFIG.public.operator, CONFIG.plan().events[0]
    draws = []
    for seed in range(40):
        learner = taught(seed=seed)
        function = learner.release_function()
        released = operator._root.T @ function.coefficients  # C^T applied to C^-T v~
        draws.append((released - learner._sum) / event.scale)
    assert checks.scale(np.concatenate(draws), 1.0) > LEVEL
    assert checks.law(np.concatenate(draws), checks.normal) > LEVEL
    assert checks.scale(0.9 * np.concatenate(draws), 1.0) < LEVEL, "a tenth less is told apart"
    assert price(event) == pytest.approx(CONFIG.promise.mu, rel=1e-5)


def test_a_function_spends_everything_and_a_second_is_refused():
    learner = taught()
    learner.release_function()
    before = learner.left
    for refused in (
        lambda: learner.release_function(0.1, 1e-6),
        learner.release_function,
        lambda: learner.predict_once(0.5, 0.1),
    ):
        with pytest.raises(BudgetSpent):
            refused()
    assert learner.left == before
    assert learner.spent.epsilon_at(1e-6) <= 1.0


def test_a_budget_can_be_shared_out():
    learner = taught()
    learner.release_function(0.4, 1e-6)
    learner.release_function()  # the rest
    assert learner.spent.epsilon_at(1e-6) == pytest.approx(1.0, rel=1e-6)
    assert learner.spent.epsilon_at(1e-6) <= 1.0


def test_single_predictions_add_up_and_are_refused_in_the_end():
    learner = taught()
    for _ in range(10):
        learner.predict_once(0.5, 0.1)
    with pytest.raises(BudgetSpent, match="Nothing was spent"):
        learner.predict_once(0.5, 0.9)
    assert learner.diagnostics().releases == 10


def test_a_single_prediction_has_the_law_it_is_priced_for():
    learner = taught(config(epsilon=3000.0, delta=0.01, tau=130.0))
    points = np.column_stack([CONFIG.grid, np.full(21, 0.5)])
    law = probabilities(learner._means(points), learner._rate(1.0, points))
    counts = np.zeros(21)
    for _ in range(2000):
        counts[round(learner.predict_once(0.5, 1.0)[0] * 20)] += 1
    common = law * 2000 >= 5
    assert counts[~common].sum() <= 20 * max(1, (~common).sum())
    assert checks.counts(counts[common], law[common] / law[common].sum()) > LEVEL
    steeper = probabilities(learner._means(points), 1.5 * learner._rate(1.0, points))
    assert checks.counts(counts[common], steeper[common] / steeper[common].sum()) < LEVEL, (
        "half as steep again is not it"
    )


def test_other_candidates_must_be_declared_public():
    learner = taught()
    learner.predict_once(0.5, 0.1, [[0.1], [0.9]])
    with pytest.raises(BadInput, match="say public_candidates=True"):
        learner.predict_once(0.5, 0.1, [[0.2], [0.9]])
    assert learner.diagnostics().releases == 1
    learner.predict_once(0.5, 0.1, [[0.2], [0.9]], public_candidates=True)
    for empty in ([], np.zeros((0, 1))):
        with pytest.raises(BadInput, match=r"at least one action|Expected actions"):
            learner.predict_once(0.5, 0.1, empty, public_candidates=True)


def test_a_continuous_draw_is_in_the_box_and_costs_the_same():
    learner = taught()
    found = learner.predict_once(0.5, 0.5, "continuous")
    assert 0 <= found[0] <= 1
    assert learner.left.epsilon < 0.51


# The forms --------------------------------------------------------------------------------------------------------


def test_the_exact_form_predicts_and_is_refused_for_more():
    exact = config(form="exact", horizon=60, tau=10.0, calibration="published")
    learner = taught(exact)
    assert 0 <= learner.predict_once(0.5, 0.5)[0] <= 1
    with pytest.raises(BadInput, match="features"):
        learner.release_function()
    with pytest.raises(BadInput, match="continuous"):
        learner.predict_once(0.5, 0.1, "continuous")
    assert learner.diagnostics().releases == 1, "what is refused is not spent"
    with pytest.raises(BadInput, match="GB"):
        config(form="exact", horizon=5000, tau=10.0).start()


def test_the_published_rule_keeps_its_promise_and_draws_flatter():
    ours, theirs = taught(config(tau=5.0)), taught(config(tau=5.0, calibration="published"))
    points = np.column_stack([CONFIG.grid, np.full(21, 0.5)])
    assert theirs._rate(1.0, points) < ours._rate(1.0, points)


def test_tau_is_tuned_without_data_and_the_same_for_everybody():
    tuned = config(tau="tuned", horizon=2000)
    assert tuned.regulariser == config(tau="tuned", horizon=2000).regulariser
    assert 3 * 1.3 <= tuned.regulariser <= 1000 * 1.3
    assert "tuned on public synthetic functions" in " ".join(tuned.card().text().split())
    assert "heuristic" in " ".join(CONFIG.card().text().split())


@pytest.mark.parametrize("contexts", ["uniform", "beta(2,5)", lambda rng, n: rng.beta(2, 5, (n, 1))])
def test_contexts_may_have_any_public_distribution(contexts):
    one = config(contexts=contexts)
    assert one.synthetic.shape == (2**14, 2)
    middle = 0.5 if contexts == "uniform" else 2 / 7
    assert one.synthetic[:, 1].mean() == pytest.approx(middle, abs=0.01)


def test_unbounded_rewards_are_clipped_where_none_should_fall():
    one = config(reward_bound=None, function_bound=1.0, noise_level=0.5, failure=0.01)
    assert one.bound == pytest.approx(1.0 + 0.5 * math.sqrt(2 * math.log(2 * 400 / 0.01)))


# What it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action_box": ((1, 0),)}, "low < high"),
        ({"kernel": "matern-7/2:0.2"}, "kernel"),
        ({"kernel": "rough"}, "matern-5/2:0.2"),
        ({"reward_low": 0.0}, "one way to bound rewards"),
        ({"reward_bound": None, "reward_low": 0.0}, "together"),
        ({"reward_bound": None, "reward_low": 1.0, "reward_high": 0.0}, "reward_low < reward_high"),
        ({"horizon": 0}, "horizon"),
        ({"tau": 0.0}, "tau"),
        ({"tau": "guessed"}, "tau"),
        ({"clip": 1.5}, "clip"),
        ({"contexts": "gamma(1,2)"}, "beta"),
        ({"form": "dense"}, "form"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"feature_map": "fourier", "kernel": Matern(2.5, length_scale=0.2)}, "squared exponential"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(changes, message):
    with pytest.raises(BadInput, match=message):
        config(**changes)


def test_a_sampler_of_the_wrong_shape_is_refused_with_the_shape_it_should_have():
    with pytest.raises(BadInput, match=r"\(n, 1\), here \(16,384, 1\), got shape \(16384,\)"):
        config(contexts=lambda rng, n: rng.random(n)).start()


def test_what_is_missing_is_named():
    with pytest.raises(BadInput, match="Expected action_box, got none"):
        USCA(epsilon=1.0, delta=1e-6).start()


# What leaves ------------------------------------------------------------------------------------------------------


def test_a_released_function_travels(tmp_path):
    function = taught().release_function()
    path = function.save(tmp_path / "one.npz")
    again = FeatureFunction.load(path)
    actions = CONFIG.grid
    assert np.array_equal(again.predict(0.3, actions), function.predict(0.3, actions))
    assert again.guarantee == function.guarantee
    with pytest.raises(BadInput, match="a new file"):
        function.save(path)
    with pytest.raises(BadInput, match="npz"):
        function.save(tmp_path / "one.txt")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(BadInput, match="damaged"):
        FeatureFunction.load(path)


def test_a_learner_stays_where_it_is():
    learner = taught(seed=None)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(VaultSealed):
            attempt(learner)
    assert "array" not in repr(learner)
    assert not learner.guarantee.seeded
    assert taught(seed=1).guarantee.seeded
    assert "do not publish" in repr(learner.diagnostics())


def test_noise_comes_from_the_operating_system_unless_a_seed_is_given():
    one, two = (taught(seed=None).release_function() for _ in range(2))
    assert not np.array_equal(one.coefficients, two.coefficients)
    assert not one.guarantee.seeded


def test_a_configuration_travels_as_a_dictionary():
    assert USCA.from_dict(CONFIG.to_dict()) == CONFIG
    assert tacit.USCA is USCA


@pytest.mark.parametrize("apart", [0.3, 1e-9, 1e-12, 2e-15])
def test_odds_of_candidates_that_nearly_coincide_do_not_follow_rounding_errors(apart):
    """One reward flipped moves the log-odds of two candidates by ε at most, however close they are."""
    one = config(features=4, context_box=None, horizon=1000, tau=0.1, kernel=SquaredExponential(length_scale=0.3))
    x, learners = np.random.default_rng(0).random((999, 1)), []
    for reward in (1.3, -1.3):
        learners.append(one.start(seed=1))
        learners[-1].learn_many(np.vstack([x, [[0.5]]]), np.append(np.full(999, 1.3), reward))
    beyond = 0.0
    for place in np.linspace(0.05, 0.85, 100):  # which errors there are differs between processors: many places
        points, odds, bare = np.array([[place], [place + apart]]), [], []
        for learner in learners:
            gap = float(np.subtract(*learner._means(points)))
            odds.append(learner._rate(1.0, points) * gap)
            leverage, spread = learner._public.leverage, diameter(learner._public.operator.u(points))
            bare.append(range_rate(1.0, one.bound, leverage, spread) * gap)
        assert abs(odds[0] - odds[1]) <= 1.0
        beyond = max(beyond, abs(bare[0] - bare[1]))
    if apart == 2e-15:  # without the allowance for rounding they do
        assert beyond > 2.0


def test_a_draw_from_the_whole_box_needs_no_context_where_there_is_none():
    """It spent its ε and was then refused."""
    learner = config(context_box=None).start(seed=1)
    learner.learn([0.3], 0.5)
    assert 0 <= learner.predict_once(None, 0.5, "continuous")[0] <= 1
