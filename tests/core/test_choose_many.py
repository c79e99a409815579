"""Many contexts on one view: what as many calls of `choose` would give."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput, HorizonSpent
from tests.offers import ask, features, offered, taken, tell

from .worlds import DIM, EXAMPLES, behaviour, config, contents, counts_people, name_of, sets


def practised(policy, seed, rounds=60):
    """A learner with a view, if it comes early, and half-used noise."""
    learner = policy.start(seed=seed)
    for t, actions in enumerate(sets(rounds, 5, policy.dim, seed=1)):
        arm = ask(learner, actions)
        tell(learner, taken(learner, actions, arm), 0.5, **({"person": f"p{t}"} if counts_people(policy) else {}))
    return learner


@pytest.mark.parametrize("policy", [one for one in EXAMPLES if one.fixed_actions is None], ids=name_of)
@pytest.mark.parametrize("rounds", [0, 60])
def test_many_choices_are_that_many_calls_of_choose(policy, rounds):
    """To the bit: the arms, and the noise that was drawn for them."""
    one, many = (practised(policy, seed=3, rounds=rounds) for _ in range(2))
    offers = sets(200, 6, DIM, seed=2)
    arms = many.choose_many(offered(policy, offers), **features(policy, offers))
    assert arms.dtype == np.int64
    assert arms.tolist() == [ask(one, actions) for actions in offers]
    assert behaviour(one) == behaviour(many)


def test_the_tape_does_not_grow_with_the_number_of_contexts():
    """Thompson draws at each choice: 5,000 of them from a tape of at most 256, a whole number of calls."""
    policy = config(exploration="thompson", width="theory")  # wide draws
    learner = practised(policy, seed=None)
    size = len(learner._session.noise.normals)
    arms = learner.choose_many(np.broadcast_to(np.eye(3), (5000, 3, 3)))
    assert len(learner._session.noise.normals) == size <= 256
    assert set(arms.tolist()) == {0, 1, 2}
    assert learner._served == 5060


def test_no_number_on_the_tape_serves_two_rounds():
    """Before the first view an arm is one uniform number. A tape read twice would repeat all arms after 256 rounds.

    Error level: two arms of fifty agree by chance once in 50; a share of 0.08 of 4,744 is 29 standard errors away.
    """
    learner = config().start()
    arms = learner.choose_many(np.zeros((5000, 50, 3)))
    assert (arms[256:] == arms[:-256]).mean() < 0.08
    assert len(set(arms.tolist())) == 50


BAD = {
    "too flat": (np.zeros((4, 3)), r"Expected actions of shape \(N, K, 3\), got \(4, 3\)"),
    "too wide": (np.zeros((2, 4, 4)), r"Expected actions of shape \(N, K, 3\), got \(2, 4, 4\)"),
    "no actions": (np.zeros((2, 0, 3)), "at least one action in each set"),
    "words": ([[["a"] * 3]], "Expected actions to be an array of numbers"),
    "ragged": ([[[1.0] * 3], [[1.0]]], "Expected actions to be an array of numbers"),
    "NaN in the last set": (np.append(np.zeros(11), np.nan).reshape(2, 2, 3), "got NaN at position 11"),
    "infinite": (np.append(np.zeros(11), np.inf).reshape(2, 2, 3), "got an infinity at position 11"),
    "huge": (np.append(np.zeros(11), 1e200).reshape(2, 2, 3), "beyond 1e100 at position 11"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_bad_entry_serves_nobody(case):
    offers, message = BAD[case]
    for learner in (config().start(seed=1), config().start()):
        before = contents(learner)
        with pytest.raises(BadInput, match=message):
            learner.choose_many(offers)
        assert contents(learner) == before


def test_a_horizon_too_near_serves_nobody_and_says_what_is_left():
    learner = config(horizon=10).start(seed=1)
    learner.choose_many(np.zeros((7, 2, 3)))
    before = contents(learner)
    with pytest.raises(HorizonSpent, match="at most 3 more rounds of 10, got 4 sets"):
        learner.choose_many(np.zeros((4, 2, 3)))
    assert contents(learner) == before
    learner.choose_many(np.zeros((3, 2, 3)))
    with pytest.raises(HorizonSpent, match="at most 0 more rounds"):
        learner.choose_many(np.zeros((1, 2, 3)))


def test_nobody_asks_nobody_is_served():
    learner = config(horizon=10).start()
    assert learner.choose_many(np.zeros((0, 5, 3))).shape == (0,)
    assert learner._served == 0


def test_every_layout_gives_the_same_arms():
    offers = sets(40, 5, 3, seed=4).astype(np.float32).astype(float)
    forms = [offers, np.asfortranarray(offers), offers.astype(np.float32), offers.tolist(), offers[:, :, ::1]]
    frozen = offers.copy()
    frozen.setflags(write=False)
    chosen = {tuple(practised(config(), seed=5).choose_many(form).tolist()) for form in (*forms, frozen)}
    assert len(chosen) == 1


def test_features_of_many_contexts_go_in_as_they_come():
    learner = tacit.LinUCB(dim=6).start(seed=1)
    assert learner.choose_many(sets(9, 2, 6, seed=1)).shape == (9,)
