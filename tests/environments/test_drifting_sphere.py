"""A sphere whose parameter is replaced: a sphere until then, and another one after."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.core.verbs import pay, show
from tacit.environments import DriftingSphere, Sphere
from tacit.environments.sphere import BEST
from tacit.errors import BadInput
from tacit.noise import stream
from tests.statistics import checks
from tests.statistics.checks import LEVEL

from .test_sphere import evenly_spread, shown


def parameter(world):
    """θ*, as the mirror reflects e_1: e_1 − 2·m·m_1."""
    mirror = world.params.sphere.mirror
    theta = -2 * mirror[0] * mirror
    theta[0] += 1
    return theta


def parameters(change, rounds, dim=3, seed=81, **options):
    """θ* of every round, with its actions and means."""
    source = stream(seed)
    world = DriftingSphere(dim=dim, change=change, **options).start(source)
    thetas, actions, means = [], [], []
    for _ in range(rounds):
        show(world.params, world.slate, world.means, source)
        thetas.append(parameter(world))
        actions.append(world.slate.columns.T.copy())
        means.append(world.means.copy())
    return world, np.array(thetas), np.array(actions), np.array(means)


@pytest.mark.parametrize("change", [1, 7, 20])
@pytest.mark.parametrize("arms", [1, 9])
def test_the_parameter_changes_after_so_many_rounds_again_and_again(change, arms):
    world, thetas, _, _ = parameters(change, 60, arms=arms)
    np.testing.assert_allclose(thetas[0], world.theta, atol=1e-12)
    for t in range(1, 60):
        assert np.array_equal(thetas[t], thetas[t - 1]) == (t % change != 0), t


@pytest.mark.parametrize("dim", [2, 3, 8])
def test_means_and_lengths_are_right_after_every_change(dim):
    world, thetas, actions, means = parameters(4, 40, dim=dim, gap=0.2)
    np.testing.assert_allclose(np.linalg.norm(thetas, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(actions, axis=2), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("tki,ti->tk", actions, thetas), means, atol=1e-12)
    assert ((means == BEST).sum(axis=1) == 1).all()
    assert means[means != BEST].max() <= BEST - 0.2 + 1e-15
    # The check can fail: against the first parameter later means are wrong.
    assert np.abs(actions[4:] @ world.theta - means[4:]).max() > 0.1


def test_before_the_first_change_it_is_the_sphere_to_the_bit():
    sources = stream(82), stream(82)
    worlds = Sphere(dim=4).start(sources[0]), DriftingSphere(dim=4, change=30).start(sources[1])
    found = [shown(world, source, 30) for world, source in zip(worlds, sources, strict=True)]
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
    later = [shown(world, source, 1)[0] for world, source in zip(worlds, sources, strict=True)]
    assert not np.array_equal(*later)


def test_fresh_parameters_are_uniform_and_owe_nothing_to_the_last():
    """Each check errs with probability LEVEL."""
    _, thetas, _, _ = parameters(1, 4000, dim=3, arms=2)
    assert evenly_spread(thetas) > LEVEL
    for i in range(3):
        assert checks.unrelated(thetas[1:, i], thetas[:-1, i]) > LEVEL
    halfway = thetas[1:] + 0.3 * thetas[:-1]
    assert checks.unrelated(halfway[:, 0], thetas[:-1, 0]) < LEVEL


@pytest.mark.parametrize("reward_noise", ["sign", "gaussian"])
def test_rewards_follow_the_mean_of_the_round(reward_noise):
    """Errs with probability LEVEL."""
    source = stream(83)
    world = DriftingSphere(dim=3, arms=4, change=5, reward_noise=reward_noise).start(source)
    luck = np.empty(20_000)
    for k in range(luck.size):
        show(world.params, world.slate, world.means, source)
        mean = world.means[k % 4]
        luck[k] = pay(world.params, mean, source) - mean
    assert checks.centre(luck, 0.0, luck.std()) > LEVEL
    assert checks.centre(luck + 0.05, 0.0, luck.std()) < LEVEL


def test_the_same_stream_gives_the_same_drift_and_another_trial_another():
    one, again, other = (parameters(10, 40, seed=seed)[1] for seed in (84, 84, 85))
    assert np.array_equal(one, again)
    assert not np.array_equal(one[20:], other[20:])


@pytest.mark.parametrize("change", [0, -5, 1.5, None, True])
def test_a_change_must_be_a_whole_number_of_rounds(change):
    with pytest.raises(BadInput, match="change="):
        DriftingSphere(change=change)


def test_what_the_sphere_refuses_is_refused_here():
    with pytest.raises(BadInput, match="gap=7"):
        DriftingSphere(gap=7)


def test_settings_travel_under_their_own_names():
    world = DriftingSphere(dim=7, arms=11, gap=0.25, reward_noise="gaussian", change=12)
    assert world.to_dict()["change"] == 12
    assert world.to_dict()["environment"] == "drifting-sphere"
    assert DriftingSphere.from_dict(world.to_dict()) == world
