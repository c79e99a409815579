"""The world of random functions: their size, their optimum, their rewards and their contexts."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import special

import tacit
from tacit.environments import CATALOGUE, FUNCTION_CATALOGUE, RKHS, Sphere, environment, refuse_other_world
from tacit.environments.functions import CONTEXTS, LUCK, drawn
from tacit.errors import BadInput, UnknownName
from tacit.estimators.rkhs import bracket
from tacit.kernels import Matern, SquaredExponential
from tacit.simulation import simulate
from tests.statistics import checks
from tests.statistics.checks import LEVEL

WORLDS = {
    "as published": RKHS(),
    "rough": RKHS(kernel="matern-1/2"),
    "without contexts": RKHS(context_dim=0),
    "two and two": RKHS(action_dim=2, context_dim=2, length_scale=0.5, actions=144),
    "unlike scales": RKHS(kernel="matern-5/2", length_scale=(0.1, 0.8)),
}


def points_of(environment, count, seed):
    """Actions and contexts drawn evenly."""
    rng = np.random.default_rng(seed)
    contexts = None if environment.context_box is None else environment.context_box.uniform(rng, count)
    return environment.action_box.uniform(rng, count), contexts


# The function ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_a_function_is_its_kernels_times_their_weights(name):
    environment = WORLDS[name]
    world = environment.start(3, 1)
    actions, contexts = points_of(environment, 20, 1)
    rows = actions if contexts is None else np.hstack([actions, contexts])
    expected = [
        sum(
            weight * environment.covariance(row[None, :], centre[None, :])[0, 0]
            for weight, centre in zip(world.weights, world.centres, strict=True)
        )
        for row in rows
    ]
    np.testing.assert_allclose(world.values(actions, contexts), expected, rtol=0, atol=1e-13)
    assert world.centres.shape == (8, environment.dim)
    assert environment.domain.contains(world.centres)


@pytest.mark.parametrize("name", WORLDS)
def test_the_largest_value_is_one(name):
    environment = WORLDS[name]
    for trial in range(3):
        world = environment.start(5, trial)
        found = np.abs(world.values(*points_of(environment, 50_000, trial))).max()
        # A random search in four dimensions stays a little below.
        assert 0.97 < max(found, np.abs(world._at(world.centres)).max()) <= 1 + 1e-6


@pytest.mark.parametrize("kernel", ["squared-exponential", "matern-5/2"])
def test_in_two_dimensions_a_certificate_agrees_with_the_search(kernel):
    environment = RKHS(kernel=kernel)
    for trial in range(5):
        world = environment.start(6, trial)
        found = bracket(
            lambda points, world=world: np.abs(world._at(points)),
            lambda half, world=world: world.rkhs_norm * environment.covariance.distance_bound(half),
            environment.domain,
            lambda lower: 1.001 * lower,
        )
        assert 0.999 < found.lower <= 1 + 1e-6
        assert found.upper < 1.0011


@pytest.mark.parametrize("norm", [0.5, 2.0])
def test_a_given_norm_is_the_norm_and_bounds_the_function(norm):
    environment = RKHS(norm=norm)
    assert environment.reward_bound == norm + 0.3
    for trial in range(3):
        world = environment.start(7, trial)
        assert world.rkhs_norm == pytest.approx(norm, rel=1e-12)
        assert np.abs(world.values(*points_of(environment, 10_000, 2))).max() <= norm


def test_the_norm_is_that_of_the_smallest_function_through_the_same_values():
    """‖f‖² is the largest f_Wᵀ K_WW⁻¹ f_W over all sets of points W: what any points show of it is less."""
    environment = RKHS(kernel="matern-3/2")
    world = environment.start(8)

    def shown(points):
        values = world._at(points)
        return math.sqrt(values @ np.linalg.solve(environment.covariance(points, points), values))

    others = environment.domain.halton(12)
    assert shown(world.centres) == pytest.approx(world.rkhs_norm, rel=1e-9)
    assert shown(others) < world.rkhs_norm
    assert shown(np.vstack([others, world.centres])) == pytest.approx(world.rkhs_norm, rel=1e-9)


def test_norms_are_those_of_the_setting_it_is_made_for():
    """Eight centres, a largest value of one: norms from about 1.05 to 1.8 in the published table's functions."""
    norms = [RKHS().start(1, trial).rkhs_norm for trial in range(20)]
    assert min(norms) >= 1
    assert 1.0 < np.median(norms) < 1.5
    assert max(norms) < 2.5


def test_a_function_depends_on_seed_and_trial_and_on_nothing_else():
    world = RKHS().start(4, 2)
    same = RKHS(noise=0.0, contexts="beta(2,5)", actions=11, queries=3).start(4, 2)
    np.testing.assert_array_equal(world.centres, same.centres)
    np.testing.assert_array_equal(world.weights, same.weights)
    for seed, trial in ((4, 3), (5, 2), (2, 4)):
        assert not np.array_equal(RKHS().start(seed, trial).centres, world.centres)


# Its optimum ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_the_best_candidate_is_the_best_of_all_looked_at_one_by_one(name):
    environment = WORLDS[name]
    world = environment.start(9)
    queries = environment.ask(np.random.default_rng(1))
    actions, values = world.best(queries)
    rows = [None] if queries is None else [row[None, :] for row in queries]
    assert len(actions) == len(values) == len(rows) == (1 if queries is None else 30)
    for row, action, value in zip(rows, actions, values, strict=True):
        every = [world.values(one[None, :], row)[0] for one in environment.candidates]
        np.testing.assert_allclose(world.table(row, environment.candidates)[0], every, rtol=0, atol=1e-14)
        assert value == pytest.approx(max(every), abs=1e-14)
        assert world.values(action[None, :], row)[0] == pytest.approx(value, abs=1e-14)


@pytest.mark.parametrize("name", WORLDS)
def test_the_certified_optimum_is_above_every_action_and_not_far_above(name):
    environment = WORLDS[name]
    world = environment.start(10)
    queries = environment.ask(np.random.default_rng(2))
    context = None if queries is None else queries[0]
    found = world.certified_best(context)
    fine = environment.action_box.grid(2001 if environment.action_dim == 1 else 101)
    reached = world.table(None if queries is None else queries[:1], fine).max()
    assert reached <= found.upper
    assert found.lower <= found.upper <= found.lower + (0.005 if name == "rough" else 0.0011)
    assert reached >= found.lower - 0.01


def test_candidates_are_the_largest_even_grid():
    for world, count in (
        (RKHS(), 101),
        (RKHS(actions=1), 1),
        (RKHS(action_dim=2), 100),
        (RKHS(action_dim=2, actions=144), 144),
        (RKHS(action_dim=2, actions=143), 121),
        (RKHS(action_dim=3, actions=1000), 1000),
        (RKHS(action_dim=3, actions=7), 1),
    ):
        assert world.candidates.shape == (count, world.action_dim)
        assert world.action_box.contains(world.candidates)
        with pytest.raises(ValueError, match="read-only"):
            world.candidates[0, 0] = 2.0


# Laws: every check errs with probability at most LEVEL = 1e-6 ----------------------------------------


def test_luck_is_even_between_plus_and_minus_the_noise():
    environment = RKHS(noise=0.4)
    world = environment.start(11)
    actions, contexts = points_of(environment, 20_000, 3)
    paid = world.pay(actions, contexts, drawn(11, 0, LUCK))
    luck = paid - world.values(actions, contexts)
    assert checks.law(luck / 0.8 + 0.5, checks.uniform) > LEVEL
    assert checks.law(luck / 0.84 + 0.5, checks.uniform) < LEVEL
    assert checks.unrelated(luck[1:], luck[:-1]) > LEVEL
    assert checks.unrelated(luck, world.values(actions, contexts)) > LEVEL
    assert np.abs(paid).max() <= environment.reward_bound


@pytest.mark.parametrize(
    ("contexts", "first", "second"), [("uniform", 1, 1), ("beta(2, 5)", 2, 5), ("beta(.5;1)", 0.5, 1)]
)
def test_contexts_have_the_law_that_was_asked_for(contexts, first, second):
    environment = RKHS(context_dim=2, contexts=contexts)
    rows = environment.sample_contexts(drawn(12, 0, CONTEXTS), 20_000)
    assert rows.shape == (20_000, 2)
    for column in rows.T:
        assert checks.law(column, lambda at: special.betainc(first, second, at)) > LEVEL
        assert checks.law(column, lambda at: special.betainc(first + 0.2, second, at)) < LEVEL
    assert checks.unrelated(rows[:, 0], rows[:, 1], rows.mean()) > LEVEL


def test_contexts_in_blocks_are_the_contexts_in_one():
    for contexts in ("uniform", "beta(2,5)"):
        environment = RKHS(contexts=contexts)
        whole, parts = drawn(13, 0, CONTEXTS), drawn(13, 0, CONTEXTS)
        together = np.vstack([environment.sample_contexts(parts, count) for count in (1, 10, 89)])
        np.testing.assert_array_equal(environment.sample_contexts(whole, 100), together)


# The configuration ----------------------------------------------------------------------------------


def test_what_is_public_is_what_a_policy_may_be_told():
    told = RKHS(kernel="matern-5/2", action_dim=2, noise=0.5, contexts="beta(2,2)").public()
    assert told["kernel"] == Matern(2.5, length_scale=0.2)
    assert told["action_box"] == ((0.0, 1.0), (0.0, 1.0))
    assert told["context_box"] == ((0.0, 1.0),)
    assert told["reward_bound"] == 1.5
    assert told["contexts"] == "beta(2,2)"
    alone = RKHS(context_dim=0).public()
    assert alone["context_box"] is None
    assert alone["contexts"] is None
    assert RKHS().covariance == SquaredExponential(length_scale=0.2)


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_travels_as_json(name):
    environment = WORLDS[name]
    assert RKHS.from_dict(json.loads(json.dumps(environment.to_dict()))) == environment


def test_a_list_of_one_length_scale_is_that_length_scale():
    assert RKHS(length_scale=(0.3,)) == RKHS(length_scale=0.3)


def test_it_has_a_catalogue_of_its_own():
    assert environment("rkhs") is RKHS
    assert environment("sphere") is Sphere
    assert FUNCTION_CATALOGUE == {"rkhs": RKHS}
    assert "rkhs" not in CATALOGUE
    with pytest.raises(UnknownName, match="Did you mean rkhs"):
        environment("rhks")


def test_lists_of_actions_and_functions_do_not_mix():
    slates, sphere = tacit.LinUCB(dim=2), Sphere(dim=2)
    refuse_other_world(slates, sphere)
    for policy, world in ((slates, RKHS()), (tacit.LinUCB, RKHS)):
        with pytest.raises(BadInput, match="Expected a learner of functions in rkhs, such as usca, got linucb"):
            refuse_other_world(policy, world)
    with pytest.raises(BadInput, match="Expected a learner of functions in rkhs"):
        simulate(slates, RKHS(), rounds=5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "matern"}, "There is no kernel 'matern'"),
        ({"kernel": 5}, "name of a kernel"),
        ({"length_scale": 0.0}, "length_scale > 0, got length_scale=0.0"),
        ({"length_scale": (0.1, 0.2, 0.3)}, r"each of 2 coordinates, got 3"),
        ({"action_dim": 0}, "action_dim >= 1, got action_dim=0"),
        ({"action_dim": 11}, "action_dim <= 10, got action_dim=11"),
        ({"context_dim": -1}, "context_dim >= 0, got context_dim=-1"),
        ({"context_dim": 11}, "context_dim <= 10"),
        ({"centres": 0}, "centres >= 1, got centres=0"),
        ({"norm": 0}, "norm > 0, got norm=0"),
        ({"norm": math.nan}, "norm to be finite"),
        ({"noise": -0.1}, "noise >= 0, got noise=-0.1"),
        ({"contexts": "normal"}, 'contexts to be "uniform" or like "beta\\(2,5\\)", got contexts=\'normal\''),
        ({"contexts": "beta(1)"}, "got contexts='beta\\(1\\)'"),
        ({"contexts": "beta(1,-2)"}, "Expected b of beta"),
        ({"contexts": "beta(1,2e)"}, "got contexts='beta\\(1,2e\\)'"),
        ({"contexts": None}, "got contexts=None"),
        ({"actions": 0}, "actions >= 1, got actions=0"),
        ({"queries": 2.5}, "queries to be a whole number, got queries=2.5"),
    ],
)
def test_options_that_cannot_be_are_refused(options, words):
    with pytest.raises(BadInput, match=words):
        RKHS(**options)


def test_points_of_the_wrong_shape_are_refused():
    world, alone = RKHS().start(1), RKHS(context_dim=0).start(1)
    one = np.zeros((1, 1))
    for actions, contexts, words in (
        (np.zeros((1, 2)), one, r"actions of shape \(n, 1\)"),
        (one, None, r"contexts of shape \(n, 1\), got none"),
        (one, np.zeros((2, 1)), "one context for each of 1 actions, got 2"),
        (np.array([[math.nan]]), one, "NaN at position 0"),
    ):
        with pytest.raises(BadInput, match=words):
            world.values(actions, contexts)
    with pytest.raises(BadInput, match="Expected no contexts"):
        alone.values(one, one)
    assert alone.values(one).shape == (1,)
    assert "norm" in repr(world)
    with pytest.raises(BadInput, match="seed >= 0"):
        RKHS().start(-1)
