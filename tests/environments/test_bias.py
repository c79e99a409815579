"""The world with a public feature: geometry to rounding, laws at a stated level, the bounds it declares."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special

import tacit
from tacit._kernel import kernel
from tacit.core.verbs import pay, show
from tacit.environments import CATALOGUE, Bias, environment
from tacit.environments._draws import measure
from tacit.errors import BadInput
from tacit.noise import stream
from tests.statistics import checks
from tests.statistics.checks import LEVEL

from .test_sphere import below, evenly_spread, shown

VARIANTS = ["paper", "script", "gaussian"]
DIMS = [2, 3, 5, 64]
ROOT_HALF = math.sqrt(0.5)


def means_below(mean, dim):
    """P(<x, θ*> ≤ m) where the mean is (1 + <u, v>)/2: u and v on the sphere of dimension d − 1."""
    return below(np.clip(2 * mean - 1, -1, 1), dim - 1)


@kernel
def _play(params, slate, means, source, arm, expected, rewards):
    for k in range(expected.shape[0]):
        show(params, slate, means, source)
        expected[k] = means[arm]
        rewards[k] = pay(params, means[arm], source)


def played(world, arm, rounds, seed):
    """The mean and the reward of one arm, round by round."""
    source = stream(seed)
    place = world.start(source)
    expected, rewards = np.empty(rounds), np.empty(rounds)
    _play(place.params, place.slate, place.means, source, arm, expected, rewards)
    return expected, rewards


# Geometry ----------------------------------------


@pytest.mark.parametrize("contexts", ["fresh", "fixed"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dim", [*DIMS, 4, 41])
def test_actions_have_their_length_and_public_feature_and_means_are_their_products(variant, contexts, dim):
    config = Bias(dim=dim, arms=70, contexts=contexts, variant=variant)
    source = stream(81, dim)
    world = config.start(source)
    actions, means = shown(world, source, 40)
    lengths = np.linalg.norm(actions, axis=2)
    if variant == "script":
        np.testing.assert_allclose(np.delete(lengths, dim - 1, axis=1), math.sqrt(2), rtol=0, atol=1e-14)
    elif variant == "paper":
        np.testing.assert_allclose(lengths, 1.0, rtol=0, atol=1e-14)
    assert lengths.max() <= config.action_norm + 1e-14
    tail = len(config.constants)
    assert tail == (0 if variant == "gaussian" else 1)
    assert (actions[..., dim - tail :] == config.constants).all()
    assert np.linalg.norm(world.theta) == pytest.approx(config.parameter_norm, abs=1e-14)
    np.testing.assert_allclose(actions @ world.theta, means, rtol=0, atol=1e-14)
    assert means.min() >= config.reward_low
    assert means.max() <= config.reward_high


@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("contexts", ["fresh", "fixed"])
def test_the_first_arms_of_the_script_are_basis_vectors_beside_the_public_feature(dim, contexts):
    source = stream(82)
    world = Bias(dim=dim, arms=dim + 3, contexts=contexts, variant="script").start(source)
    actions, means = shown(world, source, 5)
    basis = np.eye(dim)
    basis[:, -1] = 1
    np.testing.assert_array_equal(actions[:, :dim], np.broadcast_to(basis, (5, dim, dim)))
    np.testing.assert_array_equal(means[:, :dim], np.broadcast_to(0.5 + np.append(world.theta[:-1], 0), (5, dim)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_fixed_arms_stay_and_fresh_ones_do_not(variant):
    for contexts in ("fresh", "fixed"):
        source = stream(83)
        world = Bias(arms=9, contexts=contexts, variant=variant).start(source)
        actions, means = shown(world, source, 20)
        free = slice(5 if variant == "script" else 0, None)
        same = (actions[1:, free, 0] == actions[0, free, 0]) & (means[1:, free] == means[0, free])
        assert same.all() if contexts == "fixed" else not same.any()


def test_arms_are_fresh_unless_told_and_fixed_in_the_script():
    assert [Bias(variant=variant).fresh for variant in VARIANTS] == [True, False, True]
    assert not Bias(contexts="fixed").fresh
    assert Bias(contexts="fresh", variant="script").fresh


def test_the_script_is_the_paper_in_another_scale_beyond_its_basis_vectors():
    """From one stream both draw the same directions, so the same means."""
    variants = ("paper", "script")
    paper, script = (Bias(dim=6, arms=40, contexts="fixed", variant=name).start(stream(84)) for name in variants)
    scaled = math.sqrt(2) * paper.slate.columns[:, 6:]
    np.testing.assert_allclose(scaled, script.slate.columns[:, 6:], rtol=0, atol=1e-14)
    np.testing.assert_allclose(paper.theta, math.sqrt(2) * script.theta, rtol=0, atol=1e-14)
    np.testing.assert_allclose(paper.means[6:], script.means[6:], rtol=0, atol=1e-14)


@pytest.mark.parametrize("contexts", ["fresh", "fixed"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_stream_gives_the_same_world_and_another_trial_another_one(variant, contexts):
    def first(trial):
        source = stream(85, trial)
        world = Bias(arms=12, contexts=contexts, variant=variant).start(source)
        return world.theta, *shown(world, source, 3)

    for one, other in zip(first(0), first(0), strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(first(0)[0], first(1)[0])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_columns_are_measured_over_as_many_rows_as_there_are_weights(count):
    rng = np.random.default_rng(86)
    rows, weights, length, along = rng.normal(size=(8, 11)), rng.normal(size=count), np.empty(11), np.empty(11)
    rows[:, 3] = 0.0
    measure(rows, weights, length, along)
    np.testing.assert_allclose(length, (rows[:count] ** 2).sum(axis=0), rtol=1e-14, atol=1e-299)
    np.testing.assert_allclose(along, weights @ rows[:count], rtol=1e-13, atol=1e-13)
    assert length[3] > 0


# What a local policy needs to know ----------------------------------------


def test_the_bounds_are_those_of_the_variant():
    assert Bias().bounds == {"action_norm": 1.0, "reward_low": 0.0, "reward_high": 1.0, "constants": (ROOT_HALF,)}
    assert Bias(variant="script").bounds == {
        "action_norm": math.sqrt(2),
        "reward_low": 0.0,
        "reward_high": 1.0,
        "constants": (1.0,),
    }
    assert Bias(variant="gaussian").bounds == {
        "action_norm": 1.0,
        "reward_low": -1.0,
        "reward_high": 1.0,
        "constants": (),
    }
    norms = [Bias(variant=variant).parameter_norm for variant in VARIANTS]
    assert norms == pytest.approx([1.0, ROOT_HALF, 1.0], abs=1e-15)


def test_two_people_differ_by_at_most_the_square_root_of_three_in_the_paper():
    """Δ² = (2r)² + (high − low)², where r is what the public feature leaves of the norm."""
    for variant, square in (("paper", 3), ("script", 5), ("gaussian", 8)):
        bounds = Bias(variant=variant).bounds
        radius = math.sqrt(bounds["action_norm"] ** 2 - sum(c * c for c in bounds["constants"]))
        change = (2 * radius) ** 2 + (bounds["reward_high"] - bounds["reward_low"]) ** 2
        assert change == pytest.approx(square, rel=1e-14)


# Laws: every check errs with probability at most LEVEL = 1e-6 ----------------------------------------


@lru_cache
def sample(dim, variant):
    """θ*, and 20,000 actions with their means; no basis vectors."""
    source = stream(87, dim)
    world = Bias(dim=dim, arms=500 + dim, contexts="fresh", variant=variant).start(source)
    actions, means = shown(world, source, 40)
    return world.theta, actions[:, dim:].reshape(-1, dim), means[:, dim:].ravel()


@pytest.mark.parametrize("variant", ["paper", "script"])
@pytest.mark.parametrize("dim", DIMS)
def test_an_action_points_anywhere_beside_the_public_feature(dim, variant):
    _, actions, _ = sample(dim, variant)
    units = actions[:, :-1] / np.linalg.norm(actions[:, :-1], axis=1, keepdims=True)
    assert units.shape == (20_000, dim - 1)
    assert evenly_spread(units) > LEVEL
    if dim == 5:
        assert evenly_spread(np.abs(units)) < LEVEL


@pytest.mark.parametrize("variant", ["paper", "script"])
@pytest.mark.parametrize("dim", [3, 5, 64])
def test_means_have_the_same_law_in_the_paper_and_in_the_script(dim, variant):
    _, _, means = sample(dim, variant)
    assert checks.law(means, lambda mean: means_below(mean, dim)) > LEVEL
    wrong = {3: 4, 5: 6, 64: 50}[dim]
    assert checks.law(means, lambda mean: means_below(mean, wrong)) < LEVEL


def test_with_one_direction_left_a_mean_is_zero_or_one_evenly():
    for variant in ("paper", "script"):
        _, _, means = sample(2, variant)
        assert np.minimum(means, 1 - means).max() <= 1e-15
        assert checks.share(np.count_nonzero(means > 0.5), means.size, 0.5) > LEVEL


def test_a_basis_vector_of_the_script_pays_as_any_other_arm_over_trials_but_the_last_pays_a_half():
    means = np.array([Bias(arms=5, variant="script").start(stream(88, trial)).means for trial in range(3000)])
    for arm in range(4):
        assert checks.law(means[:, arm], lambda mean: means_below(mean, 5)) > LEVEL
    assert (means[:, 4] == 0.5).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_parameter_points_anywhere(dim, variant):
    thetas = np.array([Bias(dim=dim, arms=dim, variant=variant).start(stream(89, t)).theta for t in range(3000)])
    private = thetas if variant == "gaussian" else thetas[:, :-1]
    assert evenly_spread(private / np.linalg.norm(private, axis=1, keepdims=True)) > LEVEL
    if variant != "gaussian":
        assert (thetas[:, -1] == (ROOT_HALF if variant == "paper" else 0.5)).all()


@pytest.mark.parametrize("dim", DIMS)
def test_gaussian_actions_are_normal_up_to_the_unit_ball(dim):
    """Length min(1, σ·χ_d), and a direction that is uniform and unrelated to it."""
    _, actions, _ = sample(dim, "gaussian")
    lengths = np.linalg.norm(actions, axis=1)
    spread = 0.5 / math.sqrt(dim)

    def shorter(length, sigma=spread):
        return special.chdtr(dim, (length / sigma) ** 2)

    inside = lengths < 1 - 1e-12
    reach = shorter(1.0)
    assert checks.share(np.count_nonzero(inside), inside.size, reach) > LEVEL
    assert checks.law(lengths[inside], lambda length: shorter(length) / reach) > LEVEL
    wide = shorter(1.0, 1.1 * spread)
    assert checks.law(lengths[inside], lambda length: shorter(length, 1.1 * spread) / wide) < LEVEL
    units = actions / lengths[:, None]
    assert evenly_spread(units) > LEVEL
    assert checks.unrelated(lengths - lengths.mean(), units[:, 0] ** 2 - 1 / dim) > LEVEL


def test_gaussian_actions_have_the_covariance_that_was_asked_for():
    """So far inside the ball that none is shrunk: E xxᵀ = σ²I."""
    source = stream(90)
    world = Bias(dim=4, arms=500, variant="gaussian", spread=0.05).start(source)
    rows = shown(world, source, 40)[0].reshape(-1, 4)
    assert np.linalg.norm(rows, axis=1).max() < 1
    assert checks.covariance(rows, 0.05**2 * np.eye(4)) > LEVEL
    assert checks.covariance(rows, 0.06**2 * np.eye(4)) < LEVEL
    assert checks.law(rows.ravel() / 0.05, checks.normal) > LEVEL


def test_gaussian_actions_far_too_long_end_on_the_unit_sphere():
    source = stream(91)
    world = Bias(arms=50, variant="gaussian", spread=1e6).start(source)
    np.testing.assert_allclose(np.linalg.norm(shown(world, source, 5)[0], axis=2), 1.0, rtol=0, atol=1e-14)


@pytest.mark.parametrize("variant", VARIANTS)
def test_neither_arms_nor_rounds_know_each_other(variant):
    source = stream(92)
    world = Bias(arms=12, contexts="fresh", variant=variant).start(source)
    _, means = shown(world, source, 20_000)
    centred = means[:, 5:] - (0.0 if variant == "gaussian" else 0.5)
    assert checks.unrelated(centred[1:, 0], centred[:-1, 0]) > LEVEL
    assert checks.unrelated(centred[:, 0], centred[:, 1]) > LEVEL
    assert checks.unrelated(centred[1:, 0], centred[:-1, 6]) > LEVEL


@pytest.mark.parametrize("contexts", ["fresh", "fixed"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_reward_is_one_of_two_and_has_the_mean_of_its_action(variant, contexts):
    config = Bias(arms=8, contexts=contexts, variant=variant)
    expected, rewards = played(config, 6, 100_000, seed=93)
    low, high = config.reward_low, config.reward_high
    assert set(np.unique(rewards)) == {low, high}
    luck = rewards - expected
    # Var = (mean − low)(high − mean), which differs from round to round.
    spread = math.sqrt(np.mean((expected - low) * (high - expected)))
    assert checks.centre(luck, 0.0, spread) > LEVEL
    assert checks.centre(luck + 0.02, 0.0, spread) < LEVEL
    assert checks.unrelated(luck[1:], luck[:-1]) > LEVEL
    assert checks.unrelated(luck[1:] + 0.05 * luck[:-1], luck[:-1]) < LEVEL
    if contexts == "fresh":
        assert checks.unrelated(luck, expected - expected.mean()) > LEVEL
        assert checks.unrelated(rewards, expected - expected.mean()) < LEVEL
        assert checks.unrelated(luck[:-1], expected[1:] - expected.mean()) > LEVEL
    else:
        hits, share = np.count_nonzero(rewards == high), (expected[0] - low) / (high - low)
        assert checks.share(hits, rewards.size, share) > LEVEL


# Uniform play ----------------------------------------


def best_mean(dim, arms):
    """E max of the means of `arms` fresh actions of the paper: ∫ (1 − F^K)."""
    return integrate.quad(lambda mean: 1 - means_below(mean, dim) ** arms, 0, 1, epsabs=1e-10)[0]


def test_uniform_play_pays_nine_thousand_four_hundred_and_nine():
    """Σ (best − mean of a uniform arm) over 20,000 rounds of the published setting; the simulation errs at LEVEL.

    Randomised response with a promise of next to nothing is uniform play. A round costs best − mean, with a variance of
    Var <u, v>/4 = 1/16 for the arm and less than 0.021² for the best one, which are all but independent.
    """
    rounds, trials = 20_000, 4
    regret = rounds * (best_mean(5, 100) - 0.5)
    assert regret == pytest.approx(9409.2, abs=0.05)
    config = tacit.RandomisedResponse(dim=5, epsilon=1e-9)
    result = tacit.simulate(config, Bias(), rounds=rounds, trials=trials, seed=94, progress=False)
    spread = math.sqrt(rounds * (1 / 16 + 0.021**2))
    assert checks.centre(result.regret, regret, spread) > LEVEL
    assert checks.centre(result.regret, rounds * (best_mean(5, 60) - 0.5), spread) < LEVEL
    assert checks.centre(result.regret, rounds * (best_mean(6, 100) - 0.5), spread) < LEVEL


# What is refused, and how it travels ----------------------------------------


@pytest.mark.parametrize(
    ("options", "shown_value"),
    [
        ({"dim": 1}, "dim=1"),
        ({"dim": 1001}, "dim=1001"),
        ({"dim": 2.5}, "dim=2.5"),
        ({"arms": 0}, "arms=0"),
        ({"arms": True}, "arms=True"),
        ({"contexts": "iid"}, "contexts='iid'"),
        ({"variant": "text"}, "variant='text'"),
        ({"variant": None}, "variant=None"),
        ({"variant": "script", "arms": 4}, "arms=4"),
        ({"spread": 0.1}, "spread=0.1"),
        ({"variant": "gaussian", "spread": 0}, "spread=0"),
        ({"variant": "gaussian", "spread": math.inf}, "spread=inf"),
    ],
)
def test_bad_settings_are_refused_with_the_value_in_the_message(options, shown_value):
    with pytest.raises(BadInput) as caught:
        Bias(**options)
    assert shown_value in str(caught.value)


def test_settings_travel_as_a_dictionary():
    world = Bias(dim=7, arms=11, contexts="fixed", variant="gaussian", spread=0.2)
    settings = world.to_dict()
    assert settings == {
        "environment": "bias",
        "dim": 7,
        "arms": 11,
        "contexts": "fixed",
        "variant": "gaussian",
        "spread": 0.2,
    }
    assert CATALOGUE["bias"].from_dict(settings) == world
    assert environment("bias") is Bias
    assert world.features == 7


def test_every_environment_is_on_its_page_and_the_bounds_there_are_those_of_bias():
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text("utf-8")
    for slug in CATALOGUE:
        assert f"| `{slug}` |" in page
    for variant in VARIANTS:
        assert f"| `{variant}` |" in page
    assert f"# {Bias().bounds}\n" in page
