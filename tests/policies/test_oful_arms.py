"""RenyiOFUL with a parameter per arm: rewards alone are noised, and what is public is exact.

Error level: each comparison of a variance is at 1e-6 (chi-square); seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.core.session import Session
from tacit.environments import Sphere, Table
from tacit.errors import BadInput
from tacit.linalg import block_size
from tacit.noise import draw_vectors, stream, tape_of
from tacit.preparation import Preparation
from tacit.privacy.accountant import price
from tests.statistics import checks
from tests.statistics.checks import LEVEL

ARMS, DIM, OPENING = 3, 2, 6
SMALL = Preparation(centre_rounds=OPENING)
#: Numbers of a packed matrix of a prepared context, which has a constant, and of its vector.
WIDTH = DIM + 1
MATRIX = block_size(WIDTH) - WIDTH


def config(**changes):
    options = {"arms": ARMS, "dim": DIM, "horizon": 300, "epsilon": 1.0, "delta": 1e-6, "preparation": SMALL, **changes}
    return tacit.RenyiOFUL(**options)


def rows(count, seed=1):
    rng = np.random.default_rng(seed)
    return list(
        zip(rng.normal(size=(count, DIM)), rng.integers(ARMS, size=count), rng.uniform(0.0, 1.0, count), strict=True)
    )


def prepared(x, centre):
    """At one length, less the centre, at one length again with the constant."""
    z = x / np.linalg.norm(x) - centre
    return np.append(z / np.linalg.norm(z) * np.sqrt(1 - 0.45**2), 0.45)


def fed(one, told, noise, sampler="double"):
    session = Session(one.plan(sampler), DIM, source=noise)
    for x, arm, y in told:
        session.learn(np.append(x, arm), float(y))
    return session


def published(session):
    """Matrices and vectors of every arm, as they were published last."""
    blocks = session.vault.memory[-1].reshape(ARMS, -1)
    return blocks[:, :MATRIX], blocks[:, MATRIX:]


FIRST = int(config().plan().params.schedule.times[0])


# What is summed -------------------------------------------------------------------------------------------------------


def test_the_centre_is_the_exact_mean_and_rewards_before_it_are_nowhere():
    told = rows(OPENING)
    sessions = [
        fed(config(), [(x, arm, y if same else 1 - y) for x, arm, y in told], stream(1)) for same in (True, False)
    ]
    expected = np.mean([x / np.linalg.norm(x) for x, _, _ in told], axis=0)
    for session in sessions:
        np.testing.assert_allclose(session.view.centre, expected, rtol=0, atol=1e-15)
        assert not session.vault.sums.any()


def test_matrices_are_published_exactly_and_vectors_under_one_draw_of_noise():
    """The same noise on other rewards: vectors differ by what the rewards add, z·ζ(y − c) of their own arm."""
    told, one = rows(FIRST), config(reward_low=-1.0)
    quiet = [(x, arm, 0.0) for x, arm, _ in told]  # the middle
    noised, bare = (fed(one, some, stream(5)) for some in (told, quiet))
    centre = noised.view.centre
    grams, sums = np.zeros((ARMS, MATRIX)), np.zeros((ARMS, WIDTH))
    for x, arm, y in told[OPENING:]:
        z = prepared(x, centre)
        grams[arm] += np.outer(z, z)[np.triu_indices(WIDTH)]
        sums[arm] += y * z  # ζ = L/B = 1
    for session in (noised, bare):
        np.testing.assert_allclose(published(session)[0], grams, atol=1e-12)
    np.testing.assert_allclose(published(noised)[1] - published(bare)[1], sums, atol=1e-9)
    assert np.abs(published(bare)[1]).min() > 0


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.9, False)])
def test_the_first_vectors_have_the_noise_that_is_priced(factor, right):
    """Of 120 learners, nine numbers each; and with a tenth less it is noticed."""
    one = config()
    quiet = [(x, arm, 0.5) for x, arm, _ in rows(FIRST)]
    found = np.array([published(fed(one, quiet, stream(seed)))[1] for seed in range(120)])
    scale = one.plan().noise_scale
    assert price(one.plan().event) == pytest.approx(one.promise.mu, rel=1e-5)
    assert (checks.scale(found, scale / factor) > LEVEL) == right


def test_a_draw_of_vectors_has_zeros_on_matrices_and_uses_no_number_twice():
    out = np.full(2 * 5, 7.0)
    draw_vectors(tape_of(np.arange(1.0, 5.0), np.zeros(1)), 3.0, 2, out)
    assert out.tolist() == [0, 0, 0, 3, 6, 0, 0, 0, 9, 12]


def test_on_a_lattice_matrices_are_off_by_rounding_alone():
    told = rows(FIRST)
    one = config()
    numbers = np.zeros(10**4)
    exact, whole = fed(one, told, stream(5)), fed(one, told, tape_of(numbers, np.zeros(64)), "secure")
    np.testing.assert_allclose(published(whole)[0], published(exact)[0], atol=1e-5)
    assert np.isnan(whole.noise.normals).sum() == ARMS * WIDTH, "no number is drawn for a matrix"


# What is made of it ---------------------------------------------------------------------------------------------------


def test_the_estimate_knows_the_noise_there_is_and_that_matrices_have_none():
    """What is made of these numbers: tests/estimators/test_pooled.py, and for contexts without a centre below."""
    one = config(parameter_norm=2.0, ridge=0.5)
    estimate, counter = one.plan().params.estimate, one.plan().params.counter
    tau = np.sqrt(estimate.parameter_variance)
    expected = counter.scale * counter.factor * np.sqrt(np.cumsum(counter.mass**2))
    np.testing.assert_allclose(tau * one.reward_scale, expected, rtol=1e-12)
    np.testing.assert_allclose(estimate.vector_variance, tau**2, rtol=1e-12)
    assert not np.any(estimate.matrix_variance)
    np.testing.assert_allclose(estimate.ridge, 0.7 * tau * np.sqrt(WIDTH) / 2.0 + 0.5, rtol=1e-12)


def test_without_a_centre_the_estimate_is_the_regression_of_each_arm():
    one = config(parameter_norm=2.0, ridge=0.5, preparation=Preparation(centre_rounds=0))
    session = fed(one, rows(40), stream(3))
    estimate, view = one.plan().params.estimate, session.view
    tau = np.sqrt(estimate.parameter_variance[int(view.stage[0]) - 1])
    for arm, (packed, vector) in enumerate(zip(*published(session), strict=True)):
        gram = np.zeros((WIDTH, WIDTH))
        gram[np.triu_indices(WIDTH)] = packed
        gram += np.triu(gram, 1).T + (0.7 * tau * np.sqrt(WIDTH) / 2.0 + 0.5) * np.eye(WIDTH)
        inverse = np.linalg.inv(gram)
        np.testing.assert_allclose(view.theta[arm], inverse @ vector / one.reward_scale, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(view.spread[arm], 0.25 * inverse + tau**2 * inverse @ inverse, rtol=1e-8, atol=1e-12)


def test_it_learns_which_arm_is_best():
    """Arm 0 where the first feature is positive, arm 1 where it is not: of the last quarter nearly all, and a coin's
    toss without a view."""
    learner = config(arms=2, horizon=2000, epsilon=3.0).start(seed=2)
    rng, right = np.random.default_rng(4), []
    for x in rng.normal(size=(2000, DIM)):
        arm = learner.choose(x)
        right.append(arm == int(x[0] < 0))
        learner.learn(x, arm, float(right[-1]))
    assert 0.25 < np.mean(right[:FIRST]) < 1.0
    assert np.mean(right[-500:]) > 0.9


# What is promised -----------------------------------------------------------------------------------------------------


def test_one_reward_weighs_the_length_of_its_interval_and_a_person_all_of_theirs():
    one, several = config(reward_low=-3.0, action_norm=2.0), config(person_rounds=4)
    assert one.sensitivity == pytest.approx(2 * 2.0**2)  # ζ·Δ·L with ζ = L/B
    assert one.reward_scale == pytest.approx(2.0 / 2.0)
    assert several.plan().noise_scale == pytest.approx(4 * config().plan().noise_scale, rel=1e-5)
    for exact in (one, several):
        assert exact.promise.kept(exact.guarantee)


def test_a_silent_decision_counts_for_its_arm_and_moves_no_release():
    """Its context is public and its reward is zero: whether one came shows nowhere."""
    learners = [config().start(seed=1) for _ in range(2)]
    for learner, pays in zip(learners, (True, False), strict=True):
        for number, (x, _, _) in enumerate(rows(FIRST + 3)):
            decision = learner.decide(x)
            if pays or number != OPENING + 1:
                learner.reward(decision, 0.0)
            else:
                learner.expire(decision)
    assert all(np.array_equal(one, two) for one, two in zip(*(learner.view for learner in learners), strict=True))
    assert learners[0].view.stage[0] > 1


def test_a_table_is_played_with_a_parameter_per_arm_and_vectors_as_before():
    assert Table().shape(tacit.RenyiOFUL, {}) == {"arms": 10, "dim": 64}
    assert Table().shape(tacit.RenyiOFUL, {"dim": 650}) == {}
    assert Sphere(dim=4).shape(tacit.RenyiOFUL, {}) == {"dim": 4}
    plain = tacit.RenyiOFUL(dim=3, horizon=100, rho=1.0)
    assert (plain.reward_low, plain.arms_of_context, plain.preparation) == (-1.0, None, None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arms": 1}, "arms >= 2"),
        ({"protects": "contexts and rewards"}, r"Use tacit\.JointLinUCB\(arms=…\)"),
        ({"epsilon": 0.1, "delta": None, "alpha": 2.0, "calibration": "published"}, 'no calibration="published" with'),
        ({"noise": "sum"}, "no noise with arms"),
        ({"width": 0.5}, "no width with arms"),
        ({"width": "gram"}, "width to be one of 'noise-aware'"),
        ({"switch": 1.0}, "no switch with arms"),
        ({"preparation": "whitened"}, 'preparation to be "standard", "none" or a tacit.Preparation'),
        ({"arms": None}, "preparation with arms only"),
    ],
)
def test_nonsense_is_refused_with_the_reason(changes, message):
    with pytest.raises(BadInput, match=message):
        config(**changes)
