"""The sphere and its frozen twin: geometry to rounding, laws at a stated level, messages with the value."""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import special

from tacit._kernel import kernel
from tacit.core.verbs import pay, show
from tacit.environments import CATALOGUE, FixedArms, Sphere
from tacit.environments.band import STEPS, band, propose
from tacit.environments.sphere import BEST
from tacit.errors import BadInput
from tacit.noise import stream
from tests.statistics import checks
from tests.statistics.checks import LEVEL

WORLDS = [Sphere, FixedArms]
DIMS = [2, 3, 5, 64]
GAPS = [0.0, 0.1, 0.7, 1.2]


def shown(world, source, rounds):
    """Actions (rounds, arms, d) and means (rounds, arms)."""
    dim, arms = world.slate.columns.shape
    actions, means = np.empty((rounds, arms, dim)), np.empty((rounds, arms))
    for k in range(rounds):
        show(world.params, world.slate, world.means, source)
        actions[k], means[k] = world.slate.columns.T, world.means
    return actions, means


@kernel
def _best_and_rewards(params, slate, means, source, arm, best, rewards):
    for k in range(best.shape[0]):
        show(params, slate, means, source)
        best[k] = 0
        for i in range(1, means.shape[0]):
            if means[i] > means[best[k]]:
                best[k] = i
        rewards[k] = pay(params, means[best[k]] if arm < 0 else means[arm], source)


# Geometry ----------------------------------------


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("dim", [*DIMS, 4, 41])
@pytest.mark.parametrize("gap", GAPS)
def test_actions_are_unit_vectors_and_exactly_one_is_optimal(kind, dim, gap):
    source = stream(22, dim)
    world = kind(dim=dim, gap=gap, arms=30).start(source)
    assert np.linalg.norm(world.theta) == pytest.approx(1.0, abs=1e-14)
    actions, means = shown(world, source, 50)
    np.testing.assert_allclose(np.linalg.norm(actions, axis=2), 1.0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(actions @ world.theta, means, rtol=0, atol=1e-12)
    assert ((means == BEST).sum(axis=1) == 1).all()
    others = means[means != BEST]
    assert others.size == 50 * 29
    assert others.min() >= -BEST - 1e-15
    assert others.max() <= BEST - gap + 1e-15


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("dim", [2, 5, 8])
def test_there_are_as_many_actions_as_dimensions_squared_unless_told(kind, dim):
    assert kind(dim=dim).start(stream(0)).slate.columns.shape == (dim, dim**2)
    assert kind(dim=dim, arms=3).start(stream(0)).slate.columns.shape == (dim, 3)


@pytest.mark.parametrize("kind", WORLDS)
def test_a_single_action_is_the_optimal_one(kind):
    source = stream(0)
    world = kind(dim=3, arms=1).start(source)
    _, means = shown(world, source, 5)
    assert (means == BEST).all()


def test_fixed_arms_keeps_its_slate_and_the_sphere_does_not():
    for kind in WORLDS:
        source = stream(23)
        world = kind(dim=4).start(source)
        actions, means = shown(world, source, 20)
        same = (actions == actions[0]).all() and (means == means[0]).all()
        assert same == (kind is FixedArms)


@pytest.mark.parametrize("kind", WORLDS)
def test_the_same_stream_gives_the_same_world_and_another_trial_another_one(kind):
    def first(trial):
        source = stream(24, trial)
        world = kind(dim=5).start(source)
        return world.theta, *shown(world, source, 3)

    for one, other in zip(first(0), first(0), strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(first(0)[0], first(1)[0])


def test_worlds_survive_a_parameter_along_the_first_axis():
    """θ* = ±e_1: the reflection degenerates to the identity, or to turning the first axis round."""
    source = stream(25)
    world = Sphere(dim=4).start(source)
    for sign in (1.0, -1.0):
        mirror = np.array([1.0 - sign, 0, 0, 0])
        if sign < 0:
            mirror /= np.linalg.norm(mirror)
        world.params.mirror[:] = mirror
        actions, means = shown(world, source, 10)
        np.testing.assert_allclose(actions[..., 0], sign * means, rtol=0, atol=1e-15)
        np.testing.assert_allclose(np.linalg.norm(actions, axis=2), 1.0, rtol=0, atol=1e-14)


# Laws: every check errs with probability at most LEVEL = 1e-6 ----------------------------------------


def below(coordinate, dim):
    """P(<x, e> ≤ c) for x uniform on the sphere of dimension d: density ∝ (1 − c²)^((d−3)/2)."""
    tail = 0.5 * special.betainc((dim - 1) / 2, 0.5, 1 - coordinate**2)
    return np.where(coordinate < 0, tail, 1 - tail)


def on_band(dim, low, high):
    """The same law between two coordinates."""
    floor, mass = below(np.float64(low), dim), below(np.float64(high), dim) - below(np.float64(low), dim)
    return lambda c: np.clip((below(np.clip(c, low, high), dim) - floor) / mass, 0, 1)


@lru_cache
def sample(dim, gap):
    """θ*, and the actions that are not optimal with their coordinates."""
    source = stream(26, dim)
    world = Sphere(dim=dim, gap=gap, arms=501).start(source)
    actions, means = shown(world, source, 40)
    others = means != BEST
    return world.theta, actions[others], means[others]


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("gap", GAPS)
def test_the_coordinate_along_the_parameter_has_the_law_of_the_band(dim, gap):
    _, _, means = sample(dim, gap)
    assert means.size == 20_000
    assert checks.law(means, on_band(dim, -BEST, BEST - gap)) > LEVEL


@pytest.mark.parametrize(("dim", "wrong"), [(2, 3), (3, 4), (5, 6), (64, 50)])
def test_the_test_of_the_coordinate_rejects_the_law_of_another_dimension(dim, wrong):
    _, _, means = sample(dim, 0.1)
    assert checks.law(means, on_band(wrong, -BEST, BEST - 0.1)) < LEVEL


@pytest.mark.parametrize("dim", DIMS)
def test_the_test_of_the_coordinate_rejects_a_gap_twice_as_wide(dim):
    _, _, means = sample(dim, 0.7)
    assert checks.law(means, on_band(dim, -BEST, BEST - 1.2)) < LEVEL


def directions(theta, actions, means):
    """What is left of each action beside θ*, normalised, in an orthonormal basis of the complement."""
    basis = np.linalg.qr(np.column_stack([theta, np.eye(len(theta))]))[0][:, 1:]
    return (actions - means[:, None] * theta) @ basis / np.sqrt(1 - means**2)[:, None]


def evenly_spread(units):
    """Projections of uniform unit vectors, along every axis and along sums and differences of neighbours.

    With the projections on e_i, e_j and (e_i ± e_j)/√2, the second moments are checked too. On a line only the sign is
    left.
    """
    count, dim = units.shape
    if dim == 1:
        return checks.share(np.count_nonzero(units > 0), count, 0.5)
    chosen = range(min(dim, 8))
    axes = [units[:, i] for i in chosen]
    pairs = [(units[:, i] + s * units[:, i - 1]) / math.sqrt(2) for i in chosen for s in (1, -1) if i > 0]
    return checks.combined([checks.law(values, lambda c: below(np.clip(c, -1, 1), dim)) for values in axes + pairs])


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("gap", [0.0, 0.7])
def test_the_rest_of_an_action_points_anywhere_in_the_complement(dim, gap):
    units = directions(*sample(dim, gap))
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1.0, atol=1e-10)
    assert evenly_spread(units) > LEVEL


@pytest.mark.parametrize("dim", DIMS)
def test_the_second_moments_of_the_rest_are_those_of_the_uniform_law(dim):
    """E uuᵀ = I/(d − 1); Var u_i² = 2(d − 2)/((d − 1)²(d + 1)), Var u_i u_j = 1/((d − 1)(d + 1))."""
    units = directions(*sample(dim, 0.1))[:, :8]
    rest = dim - 1
    if rest == 1:
        np.testing.assert_allclose(units**2, 1.0)
        return
    spread = math.sqrt(2 * (rest - 1) / (rest**2 * (rest + 2)))
    each = [checks.centre(units[:, i] ** 2, 1 / rest, spread) for i in range(units.shape[1])]
    each += [
        checks.centre(units[:, i] * units[:, j], 0, 1 / math.sqrt(rest * (rest + 2)))
        for i in range(units.shape[1])
        for j in range(i)
    ]
    assert checks.combined(each) > LEVEL
    assert checks.centre((1.1 * units[:, 0]) ** 2, 1 / rest, spread) < LEVEL


@pytest.mark.parametrize("dim", [2, 4])
def test_the_test_of_directions_rejects_a_cube_and_an_ellipsoid(dim):
    rng = np.random.default_rng(27)
    if dim == 2:
        assert evenly_spread(np.where(rng.random((20_000, 1)) < 0.55, 1.0, -1.0)) < LEVEL
        return
    for points in (rng.uniform(-1, 1, (20_000, dim)), rng.normal(size=(20_000, dim)) * [1.1, 1, 1, 1]):
        assert evenly_spread(points / np.linalg.norm(points, axis=1)[:, None]) < LEVEL


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_parameter_is_uniform_on_the_sphere(dim):
    thetas = np.array([Sphere(dim=dim, arms=2).start(stream(28, trial)).theta for trial in range(3000)])
    assert evenly_spread(thetas) > LEVEL


def played(kind, arm, rounds, **options):
    source = stream(29)
    world = kind(dim=3, arms=9, **options).start(source)
    best, rewards = np.empty(rounds, np.int64), np.empty(rounds)
    _best_and_rewards(world.params, world.slate, world.means, source, arm, best, rewards)
    return world, best, rewards


def test_the_optimal_action_stands_at_any_index_evenly():
    _, best, _ = played(Sphere, -1, 100_000)
    chosen = np.bincount(best, minlength=9)
    assert checks.counts(chosen) > LEVEL
    assert checks.counts(chosen + 600 * (np.arange(9) == 0)) < LEVEL  # ties won by the first would give it away


def test_the_optimal_index_of_fixed_arms_is_even_over_trials():
    best = [FixedArms(dim=3, arms=5).start(stream(30, trial)).means.argmax() for trial in range(3000)]
    assert checks.counts(np.bincount(best, minlength=5)) > LEVEL


@pytest.mark.parametrize("kind", WORLDS)
def test_the_luck_of_one_round_says_nothing_about_the_next(kind):
    _, best, rewards = played(kind, -1, 100_000)
    luck = rewards - BEST
    assert checks.unrelated(luck[1:], luck[:-1]) > LEVEL
    assert checks.unrelated(luck[1:] + 0.05 * luck[:-1], luck[:-1]) < LEVEL
    if kind is Sphere:
        assert checks.unrelated(best[1:] - 4.0, luck[:-1]) > LEVEL


@pytest.mark.parametrize("kind", WORLDS)
def test_sign_rewards_are_plus_or_minus_one_with_the_right_mean(kind):
    _, _, rewards = played(kind, -1, 100_000)
    assert set(np.unique(rewards)) == {-1.0, 1.0}
    hits = np.count_nonzero(rewards > 0)
    assert checks.share(hits, rewards.size, (1 + BEST) / 2) > LEVEL
    assert checks.share(hits, rewards.size, (1 + BEST - 0.05) / 2) < LEVEL


@pytest.mark.parametrize("kind", WORLDS)
def test_gaussian_rewards_are_normal_about_the_mean(kind):
    _, _, rewards = played(kind, -1, 100_000, reward_noise="gaussian")
    assert checks.law(rewards - BEST, checks.normal) > LEVEL
    assert checks.scale(rewards - BEST, 1.0) > LEVEL
    assert checks.law(1.1 * (rewards - BEST), checks.normal) < LEVEL
    assert checks.law(rewards - BEST + 0.05, checks.normal) < LEVEL


@pytest.mark.parametrize("reward_noise", ["sign", "gaussian"])
def test_an_arm_that_is_not_optimal_is_paid_its_own_mean(reward_noise):
    world, _, rewards = played(FixedArms, 4, 100_000, reward_noise=reward_noise)
    mean = world.means[4]
    assert checks.centre(rewards, mean, 1.0 if reward_noise == "gaussian" else math.sqrt(1 - mean**2)) > LEVEL
    assert checks.centre(rewards, mean + 0.05, 1.0) < LEVEL


@pytest.mark.parametrize("reward_noise", ["sign", "gaussian"])
def test_the_mean_of_an_action_and_its_luck_are_unrelated(reward_noise):
    """The reward less its mean says nothing about the actions of the round."""
    source = stream(31)
    world = Sphere(dim=3, arms=4, reward_noise=reward_noise).start(source)
    means, rewards = np.empty(20_000), np.empty(20_000)
    for k in range(20_000):
        show(world.params, world.slate, world.means, source)
        means[k] = world.means[2]
        rewards[k] = pay(world.params, means[k], source)
    assert checks.unrelated(rewards - means, means - means.mean()) > LEVEL
    assert checks.unrelated(rewards, means - means.mean()) < LEVEL


# The staircase ----------------------------------------


@pytest.mark.parametrize("dim", [2, 3, 4, 5, 10, 64, 500])
@pytest.mark.parametrize("gap", [*GAPS, 1.45])
def test_the_staircase_lies_above_the_density_and_rarely_rejects(dim, gap):
    """A draw is kept with probability at most 1 (else the law is wrong), and in the usual dimensions almost surely."""
    table = band(dim, -BEST, BEST - gap)
    assert table.start[0] == -BEST
    assert table.start[-1] + table.width[-1] == pytest.approx(BEST - gap, abs=1e-15)
    np.testing.assert_allclose(table.start[:-1] + table.width[:-1], table.start[1:], rtol=0, atol=1e-15)
    assert (table.width > 0).all()
    places = np.linspace(0, 1, 101)
    coordinates = table.start[:, None] + places * table.width[:, None]
    keep = np.exp(table.power * np.log1p(-(coordinates**2)) + table.offset[:, None])
    assert keep.max() <= 1 + 1e-12
    assert (table.surely[:, None] <= keep + 1e-12).all()
    assert keep.mean() > (0.98 if dim <= 64 else 0.75)


def test_a_proposal_is_kept_with_the_probability_of_its_place():
    table = band(5, -BEST, 0.65)
    rng = np.random.default_rng(32)
    for first in [0.0, 0.1234, 0.5, 1 - 2.0**-52, *rng.random(200)]:
        step = int(first * STEPS)
        coordinate = table.start[step] + (first * STEPS - step) * table.width[step]
        keep = math.exp(table.power * math.log1p(-(coordinate**2)) + table.offset[step])
        for second, kept in ((0.0, True), (keep - 1e-9, True), (min(keep + 1e-9, 1.0), False)):
            assert propose(table, first, second) == (pytest.approx(coordinate, abs=1e-15), kept)


# What is refused ----------------------------------------


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize(
    ("options", "shown_value"),
    [
        ({"dim": 1}, "dim=1"),
        ({"dim": 2.5}, "dim=2.5"),
        ({"dim": True}, "dim=True"),
        ({"gap": -0.01}, "gap=-0.01"),
        ({"gap": 1.5}, "gap=1.5"),
        ({"gap": 7}, "gap=7"),
        ({"gap": math.nan}, "gap=nan"),
        ({"gap": "wide"}, "gap='wide'"),
        ({"arms": 0}, "arms=0"),
        ({"arms": -3}, "arms=-3"),
        ({"arms": 2.0}, "arms=2.0"),
        ({"reward_noise": "cauchy"}, "reward_noise='cauchy'"),
        ({"reward_noise": None}, "reward_noise=None"),
    ],
)
def test_bad_settings_are_refused_with_the_value_in_the_message(kind, options, shown_value):
    with pytest.raises(BadInput) as caught:
        kind(**options)
    assert shown_value in str(caught.value)


@pytest.mark.parametrize("kind", WORLDS)
def test_settings_travel_as_a_dictionary_under_their_own_names(kind):
    world = kind(dim=7, arms=11, gap=0.25, reward_noise="gaussian")
    settings = world.to_dict()
    assert settings == {"environment": kind.slug, "dim": 7, "arms": 11, "gap": 0.25, "reward_noise": "gaussian"}
    assert CATALOGUE[settings["environment"]].from_dict(settings) == world
    assert world.features == 7
    with pytest.raises(BadInput, match="gapp"):
        kind.from_dict({"gapp": 0.1})
