"""Arms that share the parameter of what actions have besides: what is summed where, and what is made of it."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.core.session import Session
from tacit.environments import SharedContext
from tacit.errors import BadInput, OutOfBounds
from tacit.estimators.by_arm import empty_arms_view, fit_arms
from tacit.explorations import of_features
from tacit.linalg import block_size
from tacit.preparation import Preparation
from tacit.simulation import simulate

ARMS, DIM, SHARED = 3, 2, 4
FIRST = ARMS * block_size(DIM, SHARED)  # of the numbers that all arms have in common
SHARE = Preparation().shared


def config(**changes):
    return tacit.JointLinUCB(
        **{
            "arms": ARMS,
            "dim": DIM,
            "shared": SHARED,
            "epsilon": 10.0,
            "delta": 0.1,
            "preparation": "none",
            "releases": "toeplitz",
            "horizon": 100,
            **changes,
        }
    )


def rows(count, seed=1):
    """Contexts, arms, features and rewards, all within their bounds."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        x, u = rng.normal(size=DIM), rng.normal(size=SHARED)
        found.append((x / np.linalg.norm(x) / 1.01, int(rng.integers(ARMS)), u / np.linalg.norm(u) / 1.5, rng.random()))
    return found


def dense(told, middle=0.0):
    """Σ w wᵀ and Σ w·(y − c) of all arms, one after the other, and of what they share."""
    size = ARMS * DIM + SHARED
    gram, vector = np.zeros((size, size)), np.zeros(size)
    for z, arm, u, y in told:
        w = place(arm, np.sqrt(1 - SHARE**2) * z, SHARE * u)
        gram += np.outer(w, w)
        vector += w * (y - middle)
    return gram, vector


def place(arm, z, u):
    w = np.zeros(ARMS * DIM + SHARED)
    w[arm * DIM : (arm + 1) * DIM], w[ARMS * DIM :] = z, u
    return w


def said(view, arm, z, u):
    """Mean and squared spread of an arm by a view."""
    slate = config().plan().slate(1)
    slate.prepared[:], slate.shared[arm] = z, u
    mean, square = of_features(slate, view, arm)
    return view.theta[arm] @ z + mean, z @ view.spread[arm] @ z + square


def packed(gram, vector, scale):
    """The numbers of these sums that can be other than zero, in the order in which they are kept."""
    found, common = [], slice(ARMS * DIM, None)
    for arm in range(ARMS):
        mine = slice(arm * DIM, (arm + 1) * DIM)
        beside = np.hstack([gram[mine, mine], gram[mine, common]])
        found += [beside[np.triu_indices(DIM, 0, DIM + SHARED)], scale * vector[mine]]
    return np.concatenate([*found, gram[common, common][np.triu_indices(SHARED)], scale * vector[common]])


# Sums -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["double", "secure"])
def test_sums_are_those_of_whole_rows_and_nothing_is_kept_that_is_always_zero(sampler):
    one, told = config(), rows(12)
    plan = one.plan(sampler)
    vault = plan.vault()
    session = Session(plan, DIM, seed=1)
    session.vault = vault
    for z, arm, u, y in told:
        session.absorb(np.concatenate([z, [arm], u]), y)
    sums = vault.sums if sampler == "double" else vault.sums.sum(axis=0) * plan.params.counter.lattice.steps
    np.testing.assert_allclose(sums, packed(*dense(told, 0.5), one.reward_scale), rtol=0, atol=1e-9)
    assert one.size == len(sums) == FIRST + block_size(SHARED)
    assert plan.draws.learn_normals == len(sums)


@pytest.mark.parametrize("length", [1.0, 2.5])
def test_no_row_is_longer_than_the_bound_whatever_comes(length):
    rng = np.random.default_rng(3)
    for prepared in ("none", Preparation(), Preparation(normalise=False, centre_rounds=3)):
        one = config(preparation=prepared, action_norm=length, releases="discounted", horizon=None)
        session, width = Session(one.plan(), DIM, seed=1), one.block + SHARED
        session.vault.learning[0] = session.view.stage[0] = 1
        session.view.centre[:] = (0.1, -0.3)
        longest = 0.0
        for _ in range(200):
            z, u = (rng.normal(size=size) * 10.0 ** rng.uniform(-170, 90) for size in (DIM, SHARED))
            session.absorb(np.concatenate([z, [1], u]), rng.normal())
            longest = max(longest, np.linalg.norm(session.report[:width]))
        assert 0.99 * length <= longest <= length * (1 + 1e-12)


# What is published ----------------------------------------------------------------------------------------------------


def test_without_noise_the_view_is_the_regression_on_all_rows():
    """With positive eigenvalues alone and nothing taken for noise: the inverse of the whole matrix, in blocks."""
    told, ridge = rows(40), 0.3
    gram, vector = dense(told, 0.5)
    estimate = config().plan().params.estimate
    plain = estimate._replace(
        ridge=np.array([ridge]),
        shared_ridge=np.array([ridge]),
        deviation=np.zeros(1),
        parameter_variance=np.array([3.0]),
    )
    view = empty_arms_view(ARMS, DIM, DIM, SHARED)
    fit_arms(plain, packed(gram, vector, 1 / plain.unscale), 0, view)
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    covariance = plain.reward_variance * inverse + 3.0 * inverse @ inverse
    rng = np.random.default_rng(5)
    for arm in range(ARMS):
        z, u = rng.normal(size=DIM), rng.normal(size=SHARED)
        w = place(arm, z, u)
        np.testing.assert_allclose(said(view, arm, z, u), (w @ inverse @ vector, w @ covariance @ w), rtol=1e-9)
        assert view.width[arm] == plain.multiplier


def test_noise_beside_the_matrices_is_not_taken_for_rows():
    """Where contexts and features have nothing to do with each other, what is left of the shared matrix is on average
    what it is without noise, and not the less for how much noise there was: the twin, which takes it for data, is."""
    tau, mass, rng = 12.0, 2000.0, np.random.default_rng(2)
    estimate = (
        config()
        .plan()
        .params.estimate._replace(ridge=np.array([30.0]), shared_ridge=np.array([1e-9]), deviation=np.array([tau]))
    )
    kept = {True: [], False: []}
    for _ in range(200):
        gram = np.kron(np.eye(ARMS + 2), np.eye(DIM)) * 100.0
        gram[ARMS * DIM :, ARMS * DIM :] = np.eye(SHARED) * mass
        beside = tau * rng.normal(size=(ARMS * DIM, SHARED))
        gram[: ARMS * DIM, ARMS * DIM :], gram[ARMS * DIM :, : ARMS * DIM] = beside, beside.T
        for knows, numbers in ((True, estimate), (False, estimate._replace(deviation=np.zeros(1)))):
            view = empty_arms_view(ARMS, DIM, DIM, SHARED)
            # The shared parameter is (1, 0, 0, 0): what is estimated of it is mass over what is left of the matrix.
            vector = np.zeros(ARMS * DIM + SHARED)
            vector[ARMS * DIM] = mass
            fit_arms(numbers, packed(gram, vector, 1 / numbers.unscale), 0, view)
            kept[knows].append(view.shared[0])
    assert abs(np.mean(kept[True]) - 1) < 0.5 * abs(np.mean(kept[False]) - 1)
    assert abs(np.mean(kept[True]) - 1) < 0.002


@pytest.mark.parametrize("place_of", ["own", "beside", "common"])
@pytest.mark.parametrize("releases", ["toeplitz", "tree", "discounted", "window"])
def test_every_number_has_noise_and_its_share_of_it(place_of, releases):
    """Doubled on diagonals, in double precision; on a lattice a step is longer there.

    Error level: of 600 draws a variance is within 35 % of its law's but once in 10⁷.
    """
    options = {"discounted": {"horizon": None}, "window": {"releases": "geometric", "window": 3, "horizon": None}}
    one = config(**{"releases": releases, **options.get(releases, {})})
    counter = one.plan().params.counter
    from tacit.counters.counter import publish
    from tacit.noise import stream

    found = []
    source, rows_of_memory = stream(3), one.plan().vault().memory.shape[0]
    for _ in range(600):
        memory = np.zeros((rows_of_memory, one.size))
        at = publish(counter, DIM, 1, 0, np.zeros(one.size), memory, source)
        found.append(memory[at].copy())
    variances = np.var(found, axis=0)
    columns = np.triu_indices(DIM, 0, DIM + SHARED)
    diagonal = np.append(columns[0] == columns[1], np.zeros(DIM, bool))
    beside = np.append(columns[1] >= DIM, np.zeros(DIM, bool))
    above = np.triu_indices(SHARED)
    last = np.append(above[0] == above[1], np.zeros(SHARED, bool))
    diagonal, kind = np.concatenate([np.tile(diagonal, ARMS), last]), np.repeat("own", one.size)
    kind[:FIRST][np.tile(beside, ARMS)] = "beside"
    kind = np.where(np.arange(one.size) >= FIRST, "common", kind)
    scaled = variances / np.where(diagonal, 2.0, 1.0) / np.median(variances[~diagonal])
    assert np.all(np.abs(scaled[kind == place_of] - 1) < 0.35)
    lattice = one.plan("secure").params.counter.lattice
    np.testing.assert_allclose(lattice.steps / lattice.steps[-1], np.where(diagonal, np.sqrt(2.0), 1.0))


# Learning -------------------------------------------------------------------------------------------------------------


def test_linucb_row_by_row_is_the_regression_on_all_rows():
    told, ridge = rows(60), 0.3
    learner = tacit.LinUCB(arms=ARMS, dim=DIM, shared=SHARED, preparation="none", ridge=ridge).start(seed=1)
    for z, arm, u, y in told:
        learner.learn(z, arm, y, features=u)
    gram, vector = dense(told)
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    rng = np.random.default_rng(5)
    for arm in range(ARMS):
        z, u = rng.normal(size=DIM), rng.normal(size=SHARED)
        w = place(arm, z, u)
        np.testing.assert_allclose(said(learner.view, arm, z, u), (w @ inverse @ vector, w @ inverse @ w), rtol=1e-9)


def test_what_is_learned_of_one_arm_is_known_of_all():
    """Features that pay with arm 0 are chosen with arm 1, which was never taken."""
    learner = tacit.LinUCB(arms=2, dim=1, shared=2, preparation="none").start(seed=1)
    for _ in range(50):
        learner.learn([0.1], 0, 1.0, features=[1.0, 0.0])
        learner.learn([0.1], 0, 0.0, features=[0.0, 1.0])
    offer = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert learner.choose([0.1], features=offer) == 1
    assert learner.choose([0.1], features=offer, allowed=[0]) == 0
    assert learner.choose_many([[0.1]] * 2, features=[offer, offer[::-1]]).tolist() == [1, 0]


def test_a_hybrid_earns_more_than_arms_where_actions_have_features():
    world = SharedContext(arms=4, context_dim=3, features_of_actions=2)
    shape = world.shape(tacit.LinUCB, {})
    assert shape == {"arms": 4, "dim": 3, "shared": 2}
    both = [tacit.LinUCB(**{**shape, "shared": shared}) for shared in (2, None)]
    hybrid, arms = (simulate(one, world, rounds=3000, seed=4, progress=False).regret_mean for one in both)
    assert hybrid < 0.7 * arms


def test_an_action_as_one_vector_is_no_longer_than_one_and_means_the_same():
    from tacit.core.verbs import show
    from tacit.noise import stream

    source = stream(1)
    world = SharedContext(arms=4, context_dim=3, features_of_actions=2).start(source)
    for _ in range(20):
        show(world.params, world.slate, world.means, source)
        np.testing.assert_allclose(np.linalg.norm(world.slate.columns, axis=0), 1.0)
        np.testing.assert_allclose(world.theta @ world.slate.columns, world.means, atol=1e-12)


# What is refused ------------------------------------------------------------------------------------------------------


def test_what_does_not_go_with_features_is_refused():
    with pytest.raises(BadInput, match="arms only"):
        tacit.JointLinUCB(dim=2, shared=2, epsilon=1, delta=0.1)
    with pytest.raises(BadInput, match='width="noise-aware"'):
        config(width="theory")
    with pytest.raises(BadInput, match="shared"):
        tacit.LinUCB(arms=2, dim=2, shared=0)
    with pytest.raises(BadInput, match="Expected shared to be the environment's"):
        simulate(tacit.LinUCB(arms=10, dim=21, shared=3), SharedContext(), rounds=2, progress=False)
    learner, plain = config().start(seed=1), config(shared=None).start(seed=1)
    for call in (lambda: learner.choose([0.1, 0.1]), lambda: learner.learn([0.1, 0.1], 0, 0.5)):
        with pytest.raises(BadInput, match=r"features of shape \(.*4.*\), got none"):
            call()
    with pytest.raises(BadInput, match="Expected no features"):
        plain.choose([0.1, 0.1], features=np.zeros((ARMS, SHARED)))
    with pytest.raises(BadInput, match="finite"):
        learner.choose([0.1, 0.1], features=np.full((ARMS, SHARED), np.inf))
    strict = config(strict=True).start(seed=1)
    with pytest.raises(OutOfBounds, match="features of norm <= 1"):
        strict.choose([0.1, 0.1], features=np.ones((ARMS, SHARED)))


@pytest.mark.parametrize("sampler", [pytest.param("double", marks=pytest.mark.long), "secure"])
def test_a_learner_of_features_goes_on_elsewhere(sampler, tmp_path):
    key, options = tacit.new_key(), {"releases": "discounted", "horizon": None, "person_rounds": 2}
    learners = [config(**options).start(seed=7, sampler=sampler) for _ in range(2)]
    told = rows(40)
    for number, (z, arm, u, y) in enumerate(told):
        if number == 20:
            learners[1] = tacit.resume(learners[1].checkpoint(tmp_path / "one", key), key)
        for one in learners:
            made = one.decide(z, person=f"p{number}", features=np.tile(u, (ARMS, 1)))
            one.reward(made, y)
            one.learn(z, arm, y, person=f"p{number}", features=u)
    straight, moved = learners
    assert straight.view.stage[0] > 0
    assert all(np.array_equal(one, other) for one, other in zip(straight.view, moved.view, strict=True))
