"""Contexts and fixed arms as actions: what each coordinate holds, how long actions are, and what is refused."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit import features
from tacit.errors import BadInput
from tacit.features import hybrid, hybrid_dim, per_arm, per_arm_dim, scaled, shared, shared_dim

RNG_SEED = 41


def contexts(count, size):
    return np.random.default_rng(RNG_SEED).standard_normal((count, size))


def arms_in_the_ball(count, size):
    found = np.random.default_rng(RNG_SEED + 1).standard_normal((count, size))
    return found / np.maximum(1.0, np.linalg.norm(found, axis=1))[:, None]


def test_the_examples_in_the_docstrings_print_what_they_say():
    found = doctest.testmod(features)
    assert found.attempted >= 8
    assert found.failed == 0


def test_every_public_function_shows_an_example():
    for function in (per_arm, shared, hybrid, scaled, per_arm_dim, shared_dim, hybrid_dim):
        assert ">>>" in function.__doc__


# Models: an action times a parameter is what the docstring says ----------------------------------------


def test_per_arm_scores_each_arm_by_a_parameter_of_its_own():
    context, parameters = contexts(1, 3)[0], np.random.default_rng(1).standard_normal((4, 3))
    np.testing.assert_allclose(per_arm(context, 4) @ parameters.ravel(), parameters @ context)


def test_shared_scores_each_arm_by_one_matrix():
    context, arms = contexts(1, 3)[0], arms_in_the_ball(5, 2)
    matrix = np.random.default_rng(2).standard_normal((3, 2))
    np.testing.assert_allclose(shared(context, arms) @ matrix.ravel(), arms @ (context @ matrix))


@pytest.mark.parametrize("mix", [0.0, 0.2, 0.5, 1.0])
def test_hybrid_is_the_sum_of_both(mix):
    context, arms = contexts(1, 3)[0], arms_in_the_ball(5, 2)
    rng = np.random.default_rng(3)
    matrix, parameters = rng.standard_normal((3, 2)), rng.standard_normal((5, 3))
    score = hybrid(context, arms, mix) @ np.concatenate([matrix.ravel(), parameters.ravel()])
    expected = math.sqrt(mix) * (arms @ (context @ matrix)) + math.sqrt(1 - mix) * (parameters @ context)
    np.testing.assert_allclose(score, expected)


# Lengths: L stays what it was ----------------------------------------


def test_no_action_is_longer_than_its_context():
    rows, arms = contexts(20, 4), arms_in_the_ball(6, 3)
    lengths = np.linalg.norm(rows, axis=1)[:, None]
    np.testing.assert_allclose(np.linalg.norm(per_arm(rows, 6), axis=2), np.repeat(lengths, 6, axis=1))
    np.testing.assert_allclose(np.linalg.norm(shared(rows, arms), axis=2), lengths * np.linalg.norm(arms, axis=1))
    for mix in (0.0, 0.3, 0.5, 1.0):
        assert (np.linalg.norm(hybrid(rows, arms, mix), axis=2) <= lengths * (1 + 1e-12)).all()


def test_without_the_roots_hybrid_actions_would_be_too_long():
    """The test above can fail: simply side by side, arms on the sphere make actions √2 times their context."""
    row, arms = contexts(1, 4)[0], np.eye(3)
    plain = np.concatenate([shared(row, arms), per_arm(row, 3)], axis=1)
    np.testing.assert_allclose(np.linalg.norm(plain, axis=1), math.sqrt(2) * np.linalg.norm(row))
    np.testing.assert_allclose(np.linalg.norm(hybrid(row, arms), axis=1), np.linalg.norm(row))


# Shapes ----------------------------------------


@pytest.mark.parametrize(
    ("make", "dim"),
    [
        (lambda rows: per_arm(rows, 5), per_arm_dim(3, 5)),
        (lambda rows: shared(rows, arms_in_the_ball(5, 2)), shared_dim(3, 2)),
        (lambda rows: hybrid(rows, arms_in_the_ball(5, 2), 0.3), hybrid_dim(3, 2, 5)),
    ],
    ids=["per_arm", "shared", "hybrid"],
)
def test_many_contexts_give_what_each_gives_alone(make, dim):
    rows = contexts(7, 3)
    together = make(rows)
    assert together.shape == (7, 5, dim)
    assert together.dtype == np.float64
    assert together.flags.c_contiguous
    for row, actions in zip(rows, together, strict=True):
        assert make(row).shape == (5, dim)
        np.testing.assert_array_equal(make(row), actions)
    assert make(rows[:0]).shape == (0, 5, dim)


def test_one_arm_and_one_feature_are_enough():
    assert per_arm([0.5], 1).tolist() == [[0.5]]
    assert shared([0.5], [[1.0]]).tolist() == [[0.5]]
    assert scaled([1], 0, 1).tolist() == [1.0]


def test_a_learner_takes_the_actions_as_they_are():
    context = scaled([40, 3, 0.2], low=[18, 0, 0], high=[99, 10, 1], constant=True)
    actions = per_arm(context, 3)
    learner = tacit.LinUCB(dim=per_arm_dim(len(context), 3)).start(seed=1)
    arm = learner.choose(actions)
    learner.learn(actions[arm], 1.0)
    assert learner.diagnostics().rows == 1


def test_what_is_given_is_not_changed_or_shared():
    context, arms = contexts(1, 3)[0], arms_in_the_ball(2, 2)
    before, arms_before = context.copy(), arms.copy()
    for actions in (per_arm(context, 2), shared(context, arms), hybrid(context, arms), scaled(context, -1, 1)):
        actions[...] = 9.0
    np.testing.assert_array_equal(context, before)
    np.testing.assert_array_equal(arms, arms_before)


# Scaling ----------------------------------------

NUMBERS = st.floats(min_value=-1e300, max_value=1e300)


@given(values=st.lists(NUMBERS, min_size=1, max_size=6), constant=st.booleans())
@settings(max_examples=200, deadline=None)
def test_scaled_values_are_in_the_unit_ball_whatever_they_were(values, constant):
    found = scaled(values, -2.0, 7.5, constant)
    assert np.linalg.norm(found) <= 1 + 1e-12
    assert found.shape == (len(values) + constant,)


def test_the_corners_of_the_box_reach_the_sphere():
    """The bound is not slack: no part of the ball is given away."""
    for constant in (False, True):
        assert np.linalg.norm(scaled([0, 10, 5], [0, 0, 5], [1, 10, 9], constant)) == pytest.approx(1.0)


def test_scaling_is_linear_inside_the_box_and_clips_outside():
    found = scaled([[0], [25], [50], [100], [150], [-3]], 0, 100)
    np.testing.assert_allclose(found[:, 0], [-1, -0.5, 0, 1, 1, -1])


def test_the_constant_is_the_same_for_everybody():
    found = scaled(contexts(30, 3), -1, 1, constant=True)
    assert found.shape == (30, 4)
    np.testing.assert_array_equal(found[:, -1], np.full(30, 0.5))


def test_one_persons_scaling_says_nothing_about_another():
    """Scaled together or alone: the same numbers. A scale taken from the data, the tempting mistake, has no such
    property: the twin below fails this test."""
    rows = contexts(10, 3)
    alone = np.array([scaled(row, -4, 4) for row in rows])
    np.testing.assert_array_equal(scaled(rows, -4, 4), alone)

    def twin(values):
        return scaled(values, np.min(values, axis=0) - 1e-9, np.max(values, axis=0) + 1e-9)

    assert not np.array_equal(twin(rows)[:5], twin(rows[:5]))


# What is refused ----------------------------------------

REFUSED = {
    "no feature": (lambda: per_arm([], 2), r"Expected context of shape \(p,\) or \(N, p\) with p >= 1, got \(0,\)"),
    "a number": (lambda: per_arm(0.5, 2), r"Expected context of shape .* got \(\)"),
    "a cube": (lambda: per_arm(np.zeros((2, 2, 2)), 2), r"got \(2, 2, 2\)"),
    "NaN": (lambda: per_arm([0.1, math.nan], 2), "Expected context to be finite numbers, got NaN at position 1"),
    "an infinity": (lambda: shared([0.1, -math.inf], [[1.0]]), "got an infinity at position 1"),
    "words": (lambda: per_arm(["a"], 2), "Expected context to be an array of numbers, got list of str_"),
    "booleans": (lambda: per_arm([True], 2), "Expected context to be an array of numbers, got list of bool"),
    "ragged": (lambda: shared([[1.0], [1.0, 2.0]], [[1.0]]), "got a ragged list"),
    "no arm": (lambda: per_arm([0.1], 0), "Expected arms >= 1, got arms=0"),
    "half an arm": (lambda: per_arm([0.1], 1.5), "Expected arms to be a whole number, got arms=1.5"),
    "arm features": (lambda: per_arm([0.1], [[1.0]]), "per_arm takes how many arms there are"),
    "a count": (lambda: shared([0.1], 3), r"Expected arms of shape \(K, q\) .* got \(\)\. .*use per_arm"),
    "flat arms": (lambda: shared([0.1], [1.0, 2.0]), r"Expected arms of shape \(K, q\) .* got \(2,\)"),
    "empty arms": (lambda: shared([0.1], np.zeros((0, 2))), r"with K >= 1 and q >= 1, got \(0, 2\)"),
    "featureless arms": (lambda: shared([0.1], np.zeros((2, 0))), r"got \(2, 0\)"),
    "NaN arms": (lambda: shared([0.1], [[math.nan]]), "Expected arms to be finite numbers, got NaN at position 0"),
    "mix above": (lambda: hybrid([0.1], [[1.0]], 1.1), r"Expected 0 <= mix <= 1, got mix=1\.1"),
    "mix below": (lambda: hybrid([0.1], [[1.0]], -0.1), r"got mix=-0\.1"),
    "mix word": (lambda: hybrid([0.1], [[1.0]], "half"), "Expected mix to be a number, got mix='half'"),
    "mix NaN": (lambda: hybrid([0.1], [[1.0]], math.nan), "Expected mix to be finite"),
    "empty box": (
        lambda: scaled([0.1, 2], [0, 5], [1, 5]),
        "got low=5 and high=5 at position 1",
    ),
    "box upside down": (lambda: scaled([0.1], 1, 0), "got low=1 and high=0 at position 0"),
    "endless box": (lambda: scaled([0.1], -1.7e308, 1.7e308), "Expected low < high for every feature, got low=-1.7e"),
    "NaN bound": (lambda: scaled([0.1], math.nan, 1), "Expected low to be finite numbers, got NaN at position 0"),
    "bounds of another": (lambda: scaled([0.1], [0, 0], 1), r"Expected low to be one number or of shape \(1,\)"),
    "NaN value": (lambda: scaled([math.nan], 0, 1), "Expected values to be finite numbers, got NaN"),
    "constant": (
        lambda: scaled([0.1], 0, 1, constant=1.5),
        r"Expected constant to be True or False, got .*1\.5",
    ),
    "dims": (lambda: per_arm_dim(0, 3), "Expected features >= 1, got features=0"),
    "no arm features": (lambda: shared_dim(2, 0), "Expected arm_features >= 1"),
    "no arms at all": (lambda: hybrid_dim(2, 2, 0), "Expected arms >= 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nonsense_is_refused_with_what_was_expected(case):
    call, message = REFUSED[case]
    with pytest.raises(BadInput, match=message):
        call()


def test_messages_never_show_a_persons_values():
    secret = 0.123456789
    for call in (
        lambda: per_arm([[secret], [math.nan]], 2),
        lambda: shared([secret, math.inf], [[1.0]]),
        lambda: scaled([secret, math.nan], 0, 1),
        lambda: scaled([[[secret]]], 0, 1),
        lambda: per_arm([str(secret)], 2),
    ):
        with pytest.raises(BadInput) as caught:
            call()
        assert "1234567" not in str(caught.value)
