"""The live learner: clipping, strictness, threads, late rewards, noise on the tape, diagnostics."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tacit
from tacit.core.learner import Diagnostics
from tacit.core.round import ROWS
from tacit.errors import OutOfBounds
from tests.offers import ask, some_row, tell

from .worlds import LIVE, counts_people, name_of


def config(**changes):
    return tacit.JointLinUCB(**{"dim": 3, "epsilon": 1.0, "delta": 1e-6, **changes})


def test_inputs_outside_the_bounds_are_clipped_and_counted():
    learner = config(action_norm=2.0, reward_low=-0.5, reward_high=0.5).start(seed=1)
    learner.learn([2.0, 0, 0], 0.5)
    learner.learn([0, 30.0, 40.0], 0.1)
    learner.learn([0, 0, 1.0], -7.0)
    found = learner.diagnostics()
    assert (found.rows, found.clipped_actions, found.clipped_rewards) == (3, 1, 1)
    sums = learner._session.vault.sums
    np.testing.assert_allclose(sums[:6], [4, 0, 0, 1.2**2, 1.2 * 1.6, 1.6**2 + 1])
    np.testing.assert_allclose(sums[6:], [1.0, 0.12, 0.16 - 0.5])


def test_unit_vectors_a_hair_too_long_are_not_counted_as_clipped():
    learner = config().start(seed=1)
    learner.learn(np.array([1 + 1e-12, 0, 0]), 1.0)
    assert learner.diagnostics().clipped_actions == 0


def test_strict_refuses_actions_before_the_choice_and_keeps_the_value_out_of_the_message():
    learner = config(strict=True).start(seed=1)
    long = np.array([[0.0, 1, 0], [0.0, 1.2345, 0]])
    for offer, actions in ((learner.choose, long), (learner.choose_many, long[None]), (learner.decide, long)):
        with pytest.raises(OutOfBounds, match=r"norm <= 1 \(strict\)") as caught:
            offer(actions)
        assert "2345" not in str(caught.value)
    assert learner._served == learner.pending == 0
    assert learner.choose(long[:1]) == 0


def test_strict_clips_what_is_learned_a_refusal_would_not_tick():
    """It was: a reward outside the bound was refused, and the next view came a row later."""
    learners = [config(strict=True, ratio=1.5).start(seed=1) for _ in range(3)]
    for row in range(40):
        odd = [(np.eye(3)[0], 0.5), (np.eye(3)[0], 1.5), (np.full(3, 1e200), 0.5)]
        for learner, one in zip(learners, odd, strict=True):
            learner.learn(*(one if row == 17 else (np.eye(3)[row % 3], 0.5)))
        assert len({int(learner.view.stage[0]) for learner in learners}) == 1
    found = [learner.diagnostics() for learner in learners]
    assert [(one.rows, one.clipped_rewards, one.unfit) for one in found] == [(40, 0, 0), (40, 1, 0), (40, 0, 1)]


def test_rewards_may_come_late_and_out_of_order():
    """Sums do not depend on the order of rows within a segment."""
    rows = np.random.default_rng(2).standard_normal((40, 3)) / 3
    learners = [config().start(seed=1) for _ in range(2)]
    for i in range(40):
        learners[0].learn(rows[i], float(rows[i, 0]))
    for i in reversed(range(40)):
        learners[1].learn(rows[i], float(rows[i, 0]))
    np.testing.assert_allclose(learners[0]._session.vault.sums, learners[1]._session.vault.sums)


def test_calls_from_many_threads_lose_nothing():
    learner = config(epsilon=100.0, delta=0.1).start(seed=1)
    actions = np.eye(3)

    def work(_):
        for _ in range(200):
            arm = learner.choose(actions)
            learner.learn(actions[arm], 0.5)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert learner.diagnostics().rows == 1600
    times = learner._plan.params.schedule.times
    assert learner.view.stage[0] == np.searchsorted(times, 1600, side="right")
    np.testing.assert_allclose(learner._session.vault.sums[[0, 3, 5]].sum(), 1600)


def test_many_sizes_of_action_sets_do_not_pile_up():
    learner = config().start(seed=1)
    for arms in range(1, 100):
        assert 0 <= learner.choose(np.ones((arms, 3)) / 2) < arms
    assert len(learner._session._slates) <= 16


def test_a_learner_says_what_it_is():
    learner = config().start()
    assert "0 views released" in repr(learner)
    assert "epsilon <= 1.000" in str(learner.guarantee)
    assert learner.guarantee.to_dict()["unit"] == "one round"


def test_strict_refuses_huge_actions_without_a_warning():
    learner = config(strict=True).start(seed=1)
    with pytest.raises(OutOfBounds):
        learner.choose(np.full((1, 3), 1e200))


@pytest.mark.parametrize("policy", LIVE, ids=name_of)
def test_noise_laid_out_for_a_call_is_enough_for_it(policy):
    """The first row, later ones, and choices in between: a tape that runs out raises. And noise beyond what the plan
    announces for one row is never asked for: the tape has no more than that on it when the row comes."""
    learner = policy.start()
    draws, noise = learner._plan.draws, learner._session.noise
    for t in range(40):
        normals, uniforms = draws.learn_normals, draws.learn_uniforms
        noise.at[:] = len(noise.normals) - normals, len(noise.uniforms) - uniforms
        noise.normals[len(noise.normals) - normals :] = 3.0
        noise.uniforms[len(noise.uniforms) - uniforms :] = 0.3
        row = some_row(learner, np.full(policy.dim, 0.3))
        tell(learner, row, 0.5, **({"person": t} if counts_people(policy) else {}))
        ask(learner, np.eye(policy.dim))
    assert learner.diagnostics().rows == 40


def test_diagnostics_say_that_they_are_not_private():
    found = config().start(seed=1).diagnostics()
    for text in (repr(found), str(found), f"{found}"):
        assert text.startswith("Diagnostics(VAULT, not private, do not publish: rows=0,")
    assert "Do not publish" in Diagnostics.__doc__


@pytest.mark.parametrize("releases", ["geometric", "toeplitz"])
def test_the_age_of_a_view_is_the_rows_learned_since(releases):
    learner = config(epsilon=10.0, delta=0.1, releases=releases, horizon=200).start(seed=1)
    age = views = 0
    for _ in range(100):
        learner.learn(np.zeros(3), 0.0)
        age += 1
        if learner.view.stage[0] != views:
            age, views = 0, int(learner.view.stage[0])
        found = learner.diagnostics()
        assert (found.view_age, found.views) == (age, views)
    assert views > 5
    assert learner._session.vault.counters[ROWS] == 100
