"""Bad input gets a clear error, and nothing is lost or half-changed."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import BadInput

from .runs import contents, learn, learn_that, play, same

BAD_ACTIONS = {
    "wrong width": (lambda d: np.zeros((4, d + 1)), r"Expected actions of shape \(K, 4\), got \(4, 5\)"),
    "a vector": (lambda d: np.zeros(d), r"Expected actions of shape \(K, 4\), got \(4,\)"),
    "empty": (lambda d: np.zeros((0, d)), r"Expected at least one action, got an empty set"),
    "NaN": (lambda d: np.full((2, d), np.nan), "got NaN at position 0"),
    "infinite": (lambda d: np.array([[0.0] * d, [0.0] * (d - 1) + [np.inf]]), "got an infinity at position 7"),
    "huge": (lambda d: np.full((1, d), 1e200), "beyond 1e100"),
    "words": (lambda d: [["a"] * d], "Expected actions to be an array of numbers"),
    "numbers in words": (lambda d: [["1"] * d], "Expected actions to be an array of numbers"),
    "ragged": (lambda d: [[1.0] * d, [1.0]], "Expected actions to be an array of numbers"),
    "nothing": (lambda d: None, "Expected actions"),
    "complex": (lambda d: np.ones((2, d)) * 1j, "Expected actions to be an array of numbers"),
}

BAD_ROWS = {
    "wrong width": (lambda d: (np.zeros(d + 1), 0.0), r"Expected x of shape \(4,\), got \(5,\)"),
    "a matrix": (lambda d: (np.zeros((1, d)), 0.0), r"Expected x of shape \(4,\), got \(1, 4\)"),
    "no reward": (lambda d: (np.zeros(d), None), "Expected reward to be a number, got NoneType"),
    "a word": (lambda d: (np.zeros(d), "1"), "Expected reward to be a number, got str"),
    "an array": (lambda d: (np.zeros(d), np.zeros(2)), "Expected reward to be a number"),
}


def everything(learner) -> list[np.ndarray]:
    """Vault, view and noise."""
    return [*contents(learner), *(np.array(part) for part in learner._session.noise)]


def test_bad_actions_are_refused_and_change_nothing(shown_config):
    learner = shown_config.start(seed=1)
    play(learner, 30, seed=1)
    before = everything(learner)
    for case, (make, message) in BAD_ACTIONS.items():
        with pytest.raises(BadInput, match=message):
            learner.choose(make(shown_config.dim))
        assert same(before, everything(learner)), case


def test_bad_rows_are_refused_and_change_nothing(shown_config):
    learner = shown_config.start(seed=1)
    play(learner, 30, seed=1)
    before = everything(learner)
    for case, (make, message) in BAD_ROWS.items():
        with pytest.raises(BadInput, match=message):
            learn_that(learner, *make(shown_config.dim))
        assert same(before, everything(learner)), case


BAD_ARMS = {
    "too large": (4, 0.0, "Expected an arm from 0 to"),
    "negative": (-1, 0.0, "Expected an arm from 0 to"),
    "a fraction": (0.5, 0.0, "Expected an arm from 0 to"),
    "a word": ("0", 0.0, "Expected an arm from 0 to"),
    "an action": (np.zeros(4), 0.0, "Expected an arm from 0 to"),
    "no reward": (0, None, "Expected reward to be a number, got NoneType"),
}


def test_bad_arms_are_refused_and_change_nothing(listed_config):
    learner = listed_config.start(seed=1)
    play(learner, 30, seed=1)
    before = everything(learner)
    for case, (arm, reward, message) in BAD_ARMS.items():
        with pytest.raises(BadInput, match=message):
            learn_that(learner, len(listed_config.fixed_actions) if case == "too large" else arm, reward)
        assert same(before, everything(learner)), case
    with pytest.raises(BadInput, match=r"choose\(\) without actions"):
        learner.choose(listed_config.fixed_actions)
    assert same(before, everything(learner))


def test_a_seed_must_be_a_whole_number(config):
    for seed in (-1, 1.5, "1", True):
        with pytest.raises(BadInput, match="seed"):
            config.start(seed=seed)


def test_rewards_of_any_real_type_are_taken(config):
    learner = config.start(seed=1)
    for reward in (1, 0.5, np.float32(0.5), np.int64(1), True and 1):
        learn(learner, np.zeros(config.dim), reward)
    assert learner.diagnostics().rows == 5


def test_rows_as_large_as_can_be_do_not_end_the_learning(config):
    """They did, without bounds: the sums of such a row are finite, and singular whatever is added to them."""
    learner = config.start(seed=1)
    for number in range(20):
        learn(learner, np.full(config.dim, 1e100) * (-1) ** number, 1e100)
        learn(learner, np.eye(config.dim)[number % config.dim] * 1e100, -1e100)
        play(learner, 1, seed=number)
    assert learner.diagnostics().rows == 60
    assert all(np.isfinite(part).all() for part in learner.view)
