"""`prior=…`: public rows are known from the start, cost no privacy, and keep the width proved if they are honest."""

import json
import math

import numpy as np
import pytest

import tacit
from tacit.core.learner import ENVIRONMENT
from tacit.environments import Sphere
from tacit.errors import BadInput
from tacit.noise import stream
from tests.estimators.coverage import covered, inside

DIM = 3
THETA = np.array([0.6, -0.48, 0.64])


def public_rows(count, theta=THETA, seed=41):
    """Unit vectors and ±1 rewards of mean <x, θ>: rows that obey the model."""
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(count, len(theta)))
    actions /= np.linalg.norm(actions, axis=1, keepdims=True)
    return actions, np.where(rng.uniform(-1, 1, count) < actions @ theta, 1.0, -1.0)


ACTIONS, REWARDS = public_rows(400)
PRIOR = tacit.Prior.from_rows(ACTIONS, REWARDS)
GRAM, VECTOR = np.array(PRIOR.gram), np.array(PRIOR.vector)


def joint(**changes):
    return tacit.JointLinUCB(**({"dim": DIM, "epsilon": 1.0, "delta": 1e-6, "width": "theory"} | changes))


def plain(**changes):
    return tacit.LinUCB(**({"dim": DIM, "width": "theory"} | changes))


CONFIGS = {
    "geometric": (joint, {}),
    "large rewards": (joint, {"reward_low": -4.0, "reward_high": 4.0}),
    "persons": (joint, {"person_rounds": 2}),
    "tree": (joint, {"releases": "tree", "horizon": 1000}),
    "toeplitz": (joint, {"releases": "toeplitz", "horizon": 1000}),
    "linucb": (plain, {"ridge": 0.5}),
}
each_config = pytest.mark.parametrize("name", CONFIGS)


def with_prior(name, prior=PRIOR):
    make, options = CONFIGS[name]
    return make(**options, prior=prior)


def without(name):
    make, options = CONFIGS[name]
    return make(**options)


# What is known at the start --------------------------------------------------------------------------------------


@each_config
def test_the_sums_start_at_the_prior_and_every_learner_has_its_own(name):
    plan = with_prior(name).plan()
    scale = getattr(with_prior(name), "reward_scale", 1.0)
    first, second = plan.vault(), plan.vault()
    np.testing.assert_array_equal(first.sums, PRIOR.packed(scale))
    first.sums[:] = 0.0
    np.testing.assert_array_equal(second.sums, PRIOR.packed(scale))


@each_config
def test_the_first_view_is_ridge_regression_on_the_prior(name):
    """Before any row: θ̃ = (G + regulariser·I)⁻¹u, and the width that goes with it."""
    config = with_prior(name)
    view, found = config.plan().view(), config.plan().params.estimate
    matrix = GRAM + found.regulariser[0] * np.eye(DIM)
    factor = np.triu(view.factor)
    np.testing.assert_allclose(factor.T @ factor, matrix, rtol=1e-12)
    np.testing.assert_allclose(view.theta, np.linalg.solve(matrix, VECTOR), rtol=1e-9)
    growth = np.linalg.slogdet(matrix)[1] - found.log_floor[0]
    width = found.noise_level * math.sqrt(found.log_term[0] + growth) + found.bias[0]
    assert view.width[0] == pytest.approx(width, rel=1e-12)
    assert view.stage[0] == 0  # nothing has been released


@each_config
def test_the_first_choice_is_the_optimists(name):
    learner = with_prior(name).start(seed=1)
    actions, _ = public_rows(20, seed=42)
    view = learner.view
    scores = actions @ view.theta + view.width[0] * np.linalg.norm(actions @ view.whiten.T, axis=1)
    assert {learner.choose(actions) for _ in range(10)} == {scores.argmax()}


def test_without_a_prior_the_first_choice_is_anybodys():
    """The broken twin of the test above: one arm would be chosen ten times in a row with probability 20⁻⁹."""
    learner = joint().start(seed=1)
    actions, _ = public_rows(20, seed=42)
    assert len({learner.choose(actions) for _ in range(10)}) > 1


@pytest.mark.parametrize("name", ["geometric", "large rewards", "tree", "toeplitz"])
def test_a_released_view_holds_the_prior_and_the_rows_under_the_same_noise(name):
    """The noise of a learner does not know of the prior: two of one seed, with and without it, differ by its sums."""
    rows = 200
    actions, rewards = public_rows(rows, seed=43)
    sums = []
    for config in (with_prior(name), without(name)):
        learner = config.start(seed=3)
        for x, reward in zip(actions, rewards, strict=True):
            learner.learn(x, reward)
        view = learner.view
        assert view.stage[0] > 0
        matrix = np.triu(view.factor).T @ np.triu(view.factor)
        sums.append((matrix, matrix @ view.theta))
    np.testing.assert_allclose(sums[0][0] - sums[1][0], GRAM, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(sums[0][1] - sums[1][1], VECTOR, rtol=1e-6, atol=1e-6)


# What it costs ---------------------------------------------------------------------------------------------------


@each_config
def test_a_prior_costs_nothing_and_changes_no_noise(name):
    one, other = with_prior(name).plan(), without(name).plan()
    assert one.guarantee == other.guarantee
    assert one.event == other.event
    assert one.noise_scale == other.noise_scale
    assert dict(one.noise_scales) == dict(other.noise_scales)
    assert repr(one.params) == repr(other.params)


def test_the_card_says_whose_word_it_is_that_the_rows_are_public():
    notes = " ".join(joint(prior=PRIOR).card().notes)
    assert "Warm start from 400 rows declared public: they cost nothing and are not protected" in notes
    assert "proved only if they follow the same parameter" in notes
    assert "Warm start" not in " ".join(joint().card().notes)


# The width -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("releases", ["geometric", "tree"])
def test_the_true_parameter_stays_inside_every_view_if_public_rows_obey_the_model(releases):
    """Fails with probability at most α = 10⁻⁴ per run, twenty runs; and from the first view on, before any row."""
    world, rounds = Sphere(dim=5, gap=0.1), 3000

    def plan_for(theta):
        prior = tacit.Prior.from_rows(*public_rows(2000, theta))
        return joint(dim=5, releases=releases, horizon=rounds, failure=1e-4, prior=prior).plan()

    runs = [covered(plan_for, world, rounds, 44, trial) for trial in range(20)]
    assert all(run.first for run in runs)
    assert sum(run.outside for run in runs) == sum(run.repairs for run in runs) == 0
    assert min(run.views for run in runs) > 100


def test_public_rows_of_another_parameter_throw_it_out():
    """The broken twin: the test above would see a set that misses θ*."""
    world, rounds = Sphere(dim=5, gap=0.1), 3000

    def plan_for(theta):
        prior = tacit.Prior.from_rows(*public_rows(20_000, -theta))
        return joint(dim=5, horizon=rounds, failure=1e-4, prior=prior).plan()

    run = covered(plan_for, world, rounds, 44, 0)
    assert not run.first
    assert run.outside == run.views > 100


def test_linucb_keeps_the_true_parameter_inside_too():
    """α = 10⁻⁴ in each of ten runs of 300 rows, looked at after every row."""
    for seed in range(10):
        learner = plain(failure=1e-4, prior=tacit.Prior.from_rows(*public_rows(200, seed=seed))).start(seed=seed)
        assert inside(learner.view, THETA)
        for x, reward in zip(*public_rows(300, seed=100 + seed), strict=True):
            learner.learn(x, reward)
            assert inside(learner.view, THETA)


def test_public_rows_save_regret():
    """2,000 rounds, four seeds: what is known need not be explored."""
    world, rounds = Sphere(dim=5, gap=0.1), 2000
    for make in (joint, plain):
        cold, warm = [], []
        for seed in range(4):
            theta = world.start(stream(seed, 0, ENVIRONMENT)).theta
            prior = tacit.Prior.from_rows(*public_rows(20_000, theta))
            for found, known in ((cold, None), (warm, prior)):
                config = make(dim=5, horizon=rounds, prior=known)
                found.append(tacit.simulate(config, world, rounds, seed=seed).regret_mean)
        assert np.mean(warm) < 0.5 * np.mean(cold)


# How it travels, and what is refused -----------------------------------------------------------------------------


@each_config
def test_a_prior_travels_with_its_configuration(name):
    config = with_prior(name)
    facts = json.loads(json.dumps(config.to_dict(), allow_nan=False))
    assert facts["prior"] == PRIOR.to_dict()
    back = type(config).from_dict(facts)
    assert back == config
    assert back.prior == PRIOR
    assert type(config).from_dict(without(name).to_dict()).prior is None


def test_a_prior_that_was_saved_is_the_same_prior(tmp_path):
    assert joint(prior=tacit.Prior.load(PRIOR.save(tmp_path / "public.json"))) == joint(prior=PRIOR)


@pytest.mark.parametrize("make", [joint, plain])
@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (tacit.Prior.from_rows(np.eye(4), np.ones(4)), "a prior of 3 features, got one of 4"),
        (GRAM, r"prior to be a tacit\.Prior, got ndarray"),
        (0, r"prior to be a tacit\.Prior, got int"),
        ({"gram": [[1.0]], "vector": [0.0]}, "exactly"),
        ({"gram": np.diag([1.0, 1.0, -1.0]).tolist(), "vector": [0.0] * 3, "rows": 3}, "negative eigenvalues"),
    ],
    ids=["other features", "a matrix", "a number", "half a dictionary", "no sum of squares"],
)
def test_what_is_no_prior_of_these_features_is_refused(make, prior, message):
    with pytest.raises(BadInput, match=message):
        make(prior=prior)
