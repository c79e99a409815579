"""Where only rewards are protected: what one reward can change, and when.

`vault.sums` holds all that is secret, and nothing of a reward is anywhere else.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core.verbs import absorb, encode
from tacit.noise import stream
from tacit.privacy.event import LaplaceEvent
from tests.offers import ask, row_of, taken

from .conftest import REWARDS
from .runs import axis, contents, first_release, learn_that, opening, past_the_opening, row_event, same, slates


def change(config, x, one: float, other: float) -> float:
    """How far a replaced reward moves the sums: in the norm that the noise is priced by."""
    plan = config.plan()
    sums = []
    for reward in (one, other):
        (vault, view), report = past_the_opening(plan), np.zeros(plan.report_size)
        encode(plan.params, view, row_of(config, view, x), reward, report, stream(1))
        absorb(plan.params, vault, report)
        sums.append(vault.sums.ravel().copy())
    order = 1 if isinstance(row_event(config), LaplaceEvent) else 2
    return float(np.linalg.norm(sums[0] - sums[1], order))


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_comes_one_reward_weighs_at_most_its_declared_sensitivity(data):
    config = data.draw(st.sampled_from(REWARDS))
    numbers = st.floats(min_value=-1e100, max_value=1e100)
    x = np.array(data.draw(st.lists(numbers, min_size=config.dim, max_size=config.dim)))
    found = change(config, x, data.draw(numbers), data.draw(numbers))
    assert found <= row_event(config).sensitivity * (1 + 1e-9)


def test_the_sensitivity_of_a_reward_is_attained(reward_config):
    """The ends of the interval, for the action that spreads a reward most in that norm: the bound is not slack."""
    dim = reward_config.dim
    evenly = np.zeros(dim)
    evenly[: dim // (reward_config.arms or 1) if reward_config.fixed_actions is None else dim] = 1.0
    found = max(change(reward_config, x, 1e9, -1e9) for x in (axis(reward_config, 0), evenly))
    assert found == pytest.approx(row_event(reward_config).sensitivity, rel=1e-9)


def test_a_reward_shows_nowhere_before_a_release(reward_config):
    """Told other rewards, with the same noise, a learner has the same view and the same arms until one is counted."""
    learners = [reward_config.start(seed=6) for _ in range(2)]
    last = first_release(reward_config)
    for row, actions in enumerate(slates(min(last - 1, 300), 4, reward_config.dim, seed=6)):
        del row
        arms = [ask(learner, actions) for learner in learners]
        assert arms[0] == arms[1]
        if learners[0].view.stage[0] > (opening(reward_config) > 0):
            break
        assert same([*learners[0].view], [*learners[1].view])
        for reward, learner in zip((0.0, 1.0), learners, strict=True):
            learn_that(learner, taken(learner, actions, arms[0]), reward)


def test_actions_are_public_and_do_not_move_with_the_rewards_of_others(reward_config):
    """What is no reward is the same in both worlds: sizes, counters of rows, and all of the view but what was released.
    Told equal rewards, two learners with one seed are equal in everything."""
    learners = [reward_config.start(seed=7) for _ in range(2)]
    for actions in slates(50, 4, reward_config.dim, seed=7):
        for learner in learners:
            learn_that(learner, taken(learner, actions, ask(learner, actions)), 0.25)
    assert same(contents(learners[0]), contents(learners[1]))
