"""One text of each algorithm: the live learner and the compiled loop are the same to the bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tacit
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.environments import CATALOGUE as ENVIRONMENTS
from tacit.environments import Sphere
from tacit.noise import stream
from tacit.policies.catalogue import CATALOGUE
from tacit.simulation import simulate
from tacit.simulation.engine import start_world
from tacit.simulation.loop import run
from tests.offers import ask, features, offered, world_for

from .conftest import CONTEXTS
from .runs import contents, play, same, slates

ROUNDS = 700


def compiled(config, rounds: int, seed: int, environment=None):
    """Vault, view and regret of trial 0 after `rounds` compiled rounds, in a world it can play in unless told."""
    plan = config.plan()
    source = stream(seed, 0, ENVIRONMENT)
    world = start_world(plan, environment or world_for(config), source)
    vault, view, total = plan.vault(), plan.view(), np.zeros(1)
    run(
        plan.params,
        vault,
        view,
        np.zeros(plan.report_size),
        stream(seed, 0, POLICY),
        world.params,
        world.slate,
        world.means,
        source,
        np.zeros(len(config.empty_row)),
        np.array([-1]),
        np.zeros(1),
        np.zeros(2, np.int64),
        total,
        rounds,
    )
    return [np.array(part) for part in (*vault, *view)], float(total[0])


def test_python_facade_and_compiled_loop_agree_to_the_bit(config):
    learner = config.start(seed=11)
    _, regret = play(learner, ROUNDS, seed=11)
    state, total = compiled(config, ROUNDS, seed=11)
    assert same(contents(learner), state)
    assert regret == total


@pytest.mark.parametrize("slug", [slug for slug, kind in ENVIRONMENTS.items() if kind().by_context.context_shape])
def test_every_world_with_one_context_is_the_same_round_by_round_and_compiled(slug):
    environment = ENVIRONMENTS[slug]()
    arms, dim = environment.by_context.context_shape
    config = dataclasses.replace(CONTEXTS[-1], arms=arms, dim=dim)
    learner = config.start(seed=12)
    _, regret = play(learner, ROUNDS, seed=12, environment=environment)
    state, total = compiled(config, ROUNDS, seed=12, environment=environment)
    assert same(contents(learner), state)
    assert regret == total
    assert regret > 0


@pytest.mark.parametrize("slug", list(ENVIRONMENTS))
def test_every_world_is_the_same_round_by_round_and_compiled(slug):
    environment = ENVIRONMENTS[slug]()
    config = tacit.RandomisedResponse(dim=environment.features, epsilon=1.0)
    learner = config.start(seed=12)
    _, regret = play(learner, ROUNDS, seed=12, environment=environment)
    state, total = compiled(config, ROUNDS, seed=12, environment=environment)
    assert same(contents(learner), state)
    assert regret == total
    assert regret > 0


def test_many_contexts_at_once_are_chosen_for_as_one_by_one(shown_config):
    config = shown_config
    one, many = config.start(seed=13), config.start(seed=13)
    for learner in (one, many):
        play(learner, 100, seed=13)
    offers = slates(40, 6, config.dim, seed=13)
    assert many.choose_many(offered(config, offers), **features(config, offers)).tolist() == [
        ask(one, actions) for actions in offers
    ]
    assert ask(one, offers[0]) == ask(many, offers[0]), "and they have drawn the same noise"


def test_trial_zero_of_a_simulation_is_the_seeded_learner(config):
    learner = config.start(seed=4)
    _, regret = play(learner, 300, seed=4)
    result = simulate(config, world_for(config), rounds=300, seed=4)
    assert result.regret[0] == regret


def test_same_seed_same_run_whatever_runs_beside_it(config):
    world = world_for(config)
    alone = [simulate(config, world, rounds=900, trials=3, seed=8, threads=threads).curves for threads in (1, 3)]
    more = simulate(config, world, rounds=900, trials=5, seed=8).curves
    assert np.array_equal(alone[0], alone[1])
    assert np.array_equal(alone[0], more[:3])
    other = simulate(config, world, rounds=900, trials=3, seed=9).curves
    assert not np.array_equal(alone[0], other)
    assert len({curve.tobytes() for curve in more}) == 5


def test_policies_under_one_seed_meet_the_same_world(vectors_config):
    """With one arm there is nothing to choose, so every policy sees the same regret."""
    config = vectors_config
    world = Sphere(dim=config.dim, arms=1)  # of a type that has been compiled for already
    assert simulate(config, world, rounds=50, seed=3).regret_mean == 0.0


def test_every_layout_and_dtype_of_actions_gives_the_same_arm(shown_config):
    config = shown_config
    learner = config.start(seed=6)
    play(learner, 200, seed=6)
    rng = np.random.default_rng(0)
    given = rng.integers(-1, 2, (6, config.dim)).astype(float) / 4
    actions, more = offered(config, given), features(config, given)
    forms = [actions, np.asfortranarray(actions), actions.astype(np.float32), actions.tolist(), actions[::1]]
    twin = [config.start(seed=6) for _ in forms]
    chosen = []
    for one, form in zip(twin, forms, strict=True):
        play(one, 200, seed=6)
        chosen.append(one.choose(form, **more))
    assert len(set(chosen)) == 1


def test_a_configuration_travels_as_a_dictionary(config):
    kind = CATALOGUE[config.slug]
    assert kind.from_dict(config.to_dict()) == config
    assert config.to_dict()["policy"] == config.slug
    with pytest.raises(AttributeError):
        config.slug = "another"
    with pytest.raises(tacit.errors.UnknownName, match="dimm"):
        kind.from_dict({**config.to_dict(), "dimm": 3})


def test_planning_twice_gives_the_same_plan(config):
    first, second = config.plan(), config.plan()
    assert first.guarantee == second.guarantee
    assert repr(first.params) == repr(second.params)


def test_every_policy_is_public_under_its_name():
    for kind in CATALOGUE.values():
        assert getattr(tacit, kind.__name__) is kind
