"""Bad input gets a clear error, and nothing is lost or half-changed."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import BadInput
from tests.offers import features

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


def test_bad_actions_are_refused_and_change_nothing(vectors_config):
    learner = vectors_config.start(seed=1)
    play(learner, 30, seed=1)
    before = everything(learner)
    for case, (make, message) in BAD_ACTIONS.items():
        with pytest.raises(BadInput, match=message):
            learner.choose(make(vectors_config.dim))
        assert same(before, everything(learner)), case


def test_bad_rows_are_refused_and_change_nothing(vectors_config):
    learner = vectors_config.start(seed=1)
    play(learner, 30, seed=1)
    before = everything(learner)
    for case, (make, message) in BAD_ROWS.items():
        with pytest.raises(BadInput, match=message):
            learn_that(learner, *make(vectors_config.dim))
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


GOOD = np.full(4, 0.5)
BAD_CONTEXTS = {
    "too long": ((np.zeros(5),), r"Expected a context of shape \(4,\), got \(5,\)"),
    "many": ((np.zeros((2, 4)),), r"Expected a context of shape \(4,\), got \(2, 4\)"),
    "NaN": ((np.full(4, np.nan),), "Expected context to be finite numbers, got NaN at position 0"),
    "huge": ((np.full(4, 1e200),), "beyond 1e100"),
    "words": ((["a"] * 4,), "Expected context to be an array of numbers"),
    "nothing": ((None,), "Expected context"),
    "no arm left": ((GOOD, []), "Expected allowed to be numbers of arms from 0 to 2, or 3 truth values"),
    "none allowed": ((GOOD, [False] * 3), "Expected at least one arm to be allowed, got none"),
    "an arm too many": ((GOOD, [0, 3]), "Expected allowed to be numbers of arms from 0 to 2"),
    "a negative arm": ((GOOD, [-1]), "Expected allowed to be numbers of arms from 0 to 2"),
    "two truth values": ((GOOD, [True, False]), "Expected allowed to be numbers of arms from 0 to 2"),
    "half an arm": ((GOOD, [0.5]), "Expected allowed to be numbers of arms from 0 to 2"),
}
BAD_ROWS_OF_ARMS = {
    "too long": ((np.zeros(5), 0), 0.0, r"Expected a context of shape \(4,\), got \(5,\)"),
    "too large": ((GOOD, 3), 0.0, "Expected an arm from 0 to 2, got another number"),
    "negative": ((GOOD, -1), 0.0, "Expected an arm from 0 to 2, got another number"),
    "a fraction": ((GOOD, 0.5), 0.0, "Expected an arm from 0 to 2, got float"),
    "a truth value": ((GOOD, True), 0.0, "Expected an arm from 0 to 2, got bool"),
    "an action": ((GOOD, GOOD), 0.0, "Expected an arm from 0 to 2, got ndarray"),
    "no reward": ((GOOD, 0), None, "Expected reward to be a number, got NoneType"),
}


def test_bad_contexts_are_refused_in_one_line_and_change_nothing(context_config):
    learner = context_config.start(seed=1)
    play(learner, 30, seed=1)
    before, more = everything(learner), features(context_config, GOOD[None])
    for case, (offer, message) in BAD_CONTEXTS.items():
        for ask in (learner.choose, learner.decide):
            who = {"person": "ann"} if ask == learner.decide and context_config.person_rounds else {}
            with pytest.raises(BadInput, match=message) as refused:
                ask(offer[0], allowed=offer[1] if len(offer) > 1 else None, **who, **more)
            assert "\n" not in str(refused.value)
            assert same(before, everything(learner)), case


def test_bad_rows_of_arms_are_refused_in_one_line_and_change_nothing(context_config):
    learner = context_config.start(seed=1)
    play(learner, 30, seed=1)
    before, more = everything(learner), [GOOD] if context_config.shared else []
    for case, (what, reward, message) in BAD_ROWS_OF_ARMS.items():
        with pytest.raises(BadInput, match=message) as refused:
            learn_that(learner, (*what, *more), reward)
        assert "\n" not in str(refused.value)
        assert same(before, everything(learner)), case


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
