"""JointLinUCB: its calibration, its confidence sets, and the regret it was built for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.environments import FixedArms, Sphere
from tacit.errors import BadInput
from tacit.privacy import gdp
from tests.estimators.coverage import covered


def promise(**changes):
    """With the proved width, which is what is tested here; the usual one is tested in test_widths.py."""
    return tacit.JointLinUCB(**{"dim": 5, "epsilon": 1.0, "delta": 0.1, "width": "theory", **changes})


# Calibration ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.1, 0.5])
@pytest.mark.parametrize("schedule", ["geometric", "window", "toeplitz", "tree"])
def test_extreme_promises_are_planned_for_and_kept(epsilon, delta, schedule):
    options = {"window": {"window": 10}, "geometric": {}}.get(schedule, {"releases": schedule, "horizon": 10**6})
    config = promise(epsilon=epsilon, delta=delta, **options)
    plan = config.plan()
    assert plan.guarantee.epsilon_at(delta) <= epsilon
    for numbers in (plan.params.estimate.regulariser, plan.params.estimate.bias):
        assert np.isfinite(numbers).all()
        assert (numbers > 0).all()
    learner = config.start(seed=1)
    learner.choose(np.eye(5))
    learner.learn(np.eye(5)[0], 1.0)


def test_tree_scale_is_the_closed_form():
    plan = promise(releases="tree", horizon=100_000).plan()
    levels = 17
    assert plan.params.counter.scale == pytest.approx(math.sqrt(levels) * 2 / gdp.mu_for(1.0, 0.1), rel=3e-6)
    assert plan.noise_scales["each view"] == pytest.approx(plan.params.counter.scale * math.sqrt(levels))


@pytest.mark.parametrize(("horizon", "levels"), [(2, 1), (3, 2), (4, 2), (5, 3), (1024, 10), (1025, 11), (10**6, 20)])
def test_tree_levels(horizon, levels):
    assert promise(releases="tree", horizon=horizon).plan().event.nodes == levels


def test_noise_of_geometric_releases_grows_with_the_views_that_fit_the_horizon_and_with_nothing_else():
    """As many as are planned for without a horizon cost the most; where they are told, a horizon changes nothing."""
    scales = [promise(horizon=horizon).plan().noise_scale for horizon in (10**4, 10**8, None)]
    assert scales == sorted(scales)
    assert scales[0] < 0.95 * scales[2]
    told = {promise(horizon=horizon, views=2048).plan().noise_scale for horizon in (10**4, 10**8, None)}
    assert told == {scales[2]}


def test_rewards_larger_than_actions_are_scaled_before_they_are_summed():
    """ζ = L/B̃: the sensitivity is 2L² whatever B̃ is, and the released vector is scaled back."""
    config = promise(reward_low=-10.0, reward_high=10.0)
    assert config.sensitivity == pytest.approx(2.0)
    assert config.plan().noise_scale == promise().plan().noise_scale
    gamma = [one.plan().params.estimate.bias - promise_bias(one) for one in (config, promise())]
    np.testing.assert_allclose(gamma[0], 10 * gamma[1])


def promise_bias(config):
    confidence = config.plan().params.estimate
    shift = config.shift_factor
    return config.parameter_norm * np.sqrt((shift + 1) * confidence.regulariser / shift)


def test_large_epsilon_brings_the_ridge_back():
    """As ε grows the regulariser falls to `ridge` and never below."""
    plan = promise(epsilon=1e7, delta=0.5, ridge=2.0).plan()
    np.testing.assert_allclose(plan.params.estimate.regulariser, 2.0)


def test_confidence_numbers_are_the_formulas():
    config = promise(failure=5e-6, shift=2.5, parameter_norm=0.7, noise_level=0.4)
    plan = config.plan()
    found = plan.params.estimate
    spread = plan.noise_scale * np.array([plan.event.design.row_norm(k) for k in (1, 2, 2048)])
    top = (2 * math.sqrt(5) + 2 * math.sqrt(math.log(8 * 2048 / 5e-6))) * spread
    gamma = (math.sqrt(5) + math.sqrt(2 * math.log(4 * 2048 / 5e-6))) * spread / np.sqrt(1.5 * top)
    at = [0, 1, 2047]
    np.testing.assert_allclose(found.regulariser[at], 2.5 * top)
    np.testing.assert_allclose(found.repair[at], top)
    np.testing.assert_allclose(found.bias[at], 0.7 * np.sqrt(3.5 * top) + gamma)
    assert found.log_floor[0] == pytest.approx(5 * math.log(1.5 * top[0]))
    assert found.noise_level == 0.4
    assert found.log_term[0] == pytest.approx(2 * math.log(2 / 5e-6))


def test_failure_probability_defaults_to_one_over_the_horizon():
    assert promise().failure_probability == 0.001
    assert promise(horizon=5000).failure_probability == 1 / 5000
    assert promise(horizon=5000, failure=0.05).failure_probability == 0.05


BAD = {
    "epsilon": [0, -1, math.nan, math.inf, "1", None],
    "delta": [0, 1, -0.1, 1.5, math.nan],
    "dim": [0, -1, 2.5, True],
    "horizon": [0, 1, 1.5],
    "releases": ["trees"],
    "calibration": ["loose"],
    "noise": ["laplace", None],
    "person_rounds": [0, -1, 2.5, True],
    "window": [0, 1.5, "3"],
    "one_row_per_segment": [1, "yes"],
    "rho_min": [0, -1, math.nan],
    "action_norm": [0, -1, math.inf],
    "reward_high": [-1, math.inf],
    "parameter_norm": [0],
    "noise_level": [0],
    "failure": [0, 1],
    "width": [0, -1, "theorem"],
    "shift": [1, 0.5],
    "ridge": [0],
    "exploration": ["greedy"],
    "ratio": [1, 0.5],
    "views": [0],
    "strict": ["yes"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_nonsense_is_refused_with_its_name_and_value(name, value):
    with pytest.raises(BadInput) as caught:
        promise(**{name: value})
    message = str(caught.value)
    assert name in message
    assert repr(value) in message
    assert "\n" not in message


@pytest.mark.parametrize("releases", ["tree", "toeplitz"])
def test_releases_every_round_without_a_horizon_are_refused_with_the_way_out(releases):
    with pytest.raises(
        BadInput, match=rf'with releases="{releases}", got none.* releases="geometric", which needs none'
    ):
        promise(releases=releases)


@pytest.mark.parametrize("releases", ["tree", "toeplitz"])
def test_bounds_of_a_view_every_round_are_what_its_width_is_made_of(releases):
    """ρ_min, ρ_max and γ, by formula, and as the width of the plan has them."""
    config = promise(releases=releases, horizon=1000, shift=2.5, parameter_norm=0.7, reward_low=-2.0, reward_high=2.0)
    plan, bounds = config.plan(), config.regulariser_bounds()
    spread = plan.noise_scales["each view" if releases == "tree" else "last view"]
    share = 1000 * 1000  # R/α
    top = (2 * math.sqrt(5) + 2 * math.sqrt(math.log(8 * share))) * spread
    assert bounds.rho_min == pytest.approx(1.5 * top)
    assert bounds.rho_max == pytest.approx(3.5 * top)
    vector = (math.sqrt(5) + math.sqrt(2 * math.log(4 * share))) * spread / 0.5
    assert bounds.gamma == pytest.approx(vector / math.sqrt(bounds.rho_min))
    found = plan.params.estimate
    assert found.regulariser == pytest.approx(2.5 * top)
    assert found.log_floor == pytest.approx(5 * math.log(bounds.rho_min))
    assert found.bias == pytest.approx(0.7 * math.sqrt(bounds.rho_max) + bounds.gamma)


@pytest.mark.parametrize("options", [{}, {"window": 10}])
def test_there_are_no_such_bounds_where_views_are_frozen(options):
    with pytest.raises(BadInput, match=r'releases="tree" or "toeplitz", got a (geometric|window) schedule'):
        promise(**options).regulariser_bounds()


# Confidence sets --------------------------------------------------------------------------------------------------


def runs_of(config, environment, rounds, runs):
    plan = config.plan()
    return [covered(lambda _theta: plan, environment, rounds, 77, trial) for trial in range(runs)]


@pytest.mark.parametrize("environment", [Sphere(dim=5, gap=0.1), FixedArms(dim=5, gap=0.1)], ids=lambda it: it.slug)
@pytest.mark.parametrize("releases", ["geometric", "tree"])
@pytest.mark.parametrize("failure", [pytest.param(1e-5, marks=pytest.mark.long), 0.05])
def test_the_true_parameter_is_inside_every_view_of_almost_all_runs(environment, releases, failure):
    """At least a share 1 − α of runs has θ* inside the confidence set of every view, and V is never repaired."""
    rounds, runs = 5_000, 40
    found = runs_of(promise(releases=releases, horizon=rounds, failure=failure), environment, rounds, runs)
    assert sum(run.views for run in found) > 100 * runs
    assert sum(run.outside > 0 for run in found) <= failure * runs
    assert all(run.repairs == 0 and run.least > 0 for run in found)


PUBLISHED = {"releases": "tree", "calibration": "published"}
OTHERS = {
    "toeplitz": {"releases": "toeplitz"},
    "window": {"window": 12, "ratio": 1.05},
    "published": PUBLISHED,
    "wishart": PUBLISHED | {"noise": "wishart"},
    "unshifted": PUBLISHED | {"noise": "wishart-unshifted"},
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("failure", [pytest.param(1e-5, marks=pytest.mark.long), 0.05])
def test_the_true_parameter_is_inside_under_the_other_calibrations_too(name, failure):
    """Twenty runs each; at α = 0.05 one of them may fail, and none does."""
    rounds, runs = 3_000, 20
    found = runs_of(promise(horizon=rounds, failure=failure, **OTHERS[name]), Sphere(dim=5, gap=0.1), rounds, runs)
    assert sum(run.views for run in found) >= (50 if name == "window" else rounds - 1) * runs
    assert sum(run.outside > 0 for run in found) <= failure * runs
    assert all(run.repairs == 0 and run.least > 0 for run in found)


@pytest.mark.parametrize("name", ["toeplitz", "window"])
def test_a_width_a_hundred_times_too_small_is_found_out(name):
    """The broken twin of the tests above: `width` is a multiplier without a proof."""
    found = runs_of(promise(horizon=3_000, width=0.01, **OTHERS[name]), Sphere(dim=5, gap=0.1), 3_000, 3)
    assert all(run.outside > 0 for run in found)


# Regret -----------------------------------------------------------------------------------------------------------


def regret(config, environment, rounds, trials=12, seed=2018):
    return tacit.simulate(config, environment, rounds, trials, seed)


@pytest.mark.long
def test_regret_on_the_sphere_is_what_the_calibrations_promise():
    """ε = 1, δ = 0.1, gap 0.1, theory width, same α, 2·10⁵ rounds, ten trials of seed 1."""
    rounds, world = 200_000, Sphere(dim=5, gap=0.1)
    kinds = {
        "none": tacit.LinUCB(dim=5, horizon=rounds),
        "published": promise(horizon=rounds, **PUBLISHED),
        "tree": promise(horizon=rounds, releases="tree"),
        "toeplitz": promise(horizon=rounds, releases="toeplitz"),
        "geometric": promise(horizon=rounds),
    }
    mean = {name: regret(config, world, rounds, trials=10, seed=1).regret_mean for name, config in kinds.items()}
    assert 35 < mean["none"] < 70
    assert 4000 < mean["published"] < 5500
    assert 550 < mean["tree"] < 800
    assert mean["geometric"] <= 260
    assert mean["published"] >= 5 * mean["tree"]
    assert mean["published"] >= 15 * mean["geometric"]
    assert mean["geometric"] < mean["toeplitz"] < mean["tree"]


@pytest.mark.long
def test_regret_at_a_small_delta():
    rounds = 1_000_000
    result = regret(promise(delta=1e-6, horizon=rounds), Sphere(dim=5, gap=0.1), rounds, trials=10)
    assert result.regret_mean <= 700


@pytest.mark.long
def test_on_fixed_arms_geometric_releases_beat_the_exact_tree():
    rounds, world = 1_000_000, FixedArms(dim=5, gap=0.1)
    tree = regret(promise(releases="tree", horizon=rounds), world, rounds, trials=16).regret_mean
    geometric = regret(promise(horizon=rounds), world, rounds, trials=16).regret_mean
    assert tree >= 1.8 * geometric


def test_without_a_gap_and_in_two_dimensions_it_still_learns():
    for world in (Sphere(dim=2, arms=4, gap=0.0), Sphere(dim=3, arms=50, gap=0.5)):
        config = tacit.JointLinUCB(dim=world.dim, epsilon=2.0, delta=1e-3)
        result = tacit.simulate(config, world, 20_000, trials=4, seed=3)
        first, second = result.curves[:, np.searchsorted(result.checkpoints, [10_000, 20_000]) - 1].mean(axis=0)
        assert second - first < 0.5 * first


def test_a_frozen_view_repeats_its_choice_and_thompson_does_not():
    actions = np.random.default_rng(1).standard_normal((30, 5))
    actions /= np.linalg.norm(actions, axis=1, keepdims=True)
    arms = {}
    for exploration in ("optimism", "thompson"):
        learner = promise(exploration=exploration).start(seed=1)
        for _ in range(60):
            learner.learn(actions[0], 0.5)
        assert learner.view.stage[0] > 0
        arms[exploration] = {learner.choose(actions) for _ in range(50)}
    assert len(arms["optimism"]) == 1
    assert len(arms["thompson"]) > 3


def test_before_the_first_view_every_arm_is_as_likely():
    """Error level 1e-6 (chi-square), seed fixed."""
    from scipy import stats

    learner = promise().start(seed=3)
    counts = np.bincount([learner.choose(np.eye(5)) for _ in range(5_000)], minlength=5)
    assert stats.chisquare(counts).pvalue > 1e-6
