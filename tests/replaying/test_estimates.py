"""Each estimate is its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.replaying import Log
from tacit.replaying.doubly_robust import doubly_robust, predicted
from tacit.replaying.estimate import student, wilson
from tacit.replaying.fixed import Judged
from tacit.replaying.ips import by_propensity
from tacit.replaying.rejection import Run, by_rejection, run_over, thinned
from tacit.replaying.snips import self_normalised

from .worlds import best_of, value_of_run, write

#: Four rows by hand: weights 2, 0, 4 and 0.
HAND = Judged(
    Log(
        actions=[0, 1, 1, 0],
        rewards=[1.0, 1.0, 0.5, 0.0],
        propensities=[0.5, 0.5, 0.25, 0.75],
        contexts=np.ones((4, 1)),
        arms=2,
    ),
    chosen=np.array([0, 0, 1, 1]),
    learned=0,
    views=1,
)


def test_inverse_propensities_by_hand():
    found = by_propensity(HAND)
    assert found.value == pytest.approx((2 * 1.0 + 4 * 0.5) / 4)
    assert found.rows == 2
    spread = np.std([2.0, 0.0, 2.0, 0.0], ddof=1)
    assert found.high - found.value == pytest.approx(1.959964 * spread / 2, rel=1e-6)


def test_self_normalised_by_hand():
    found = self_normalised(HAND)
    value = (2 * 1.0 + 4 * 0.5) / 6
    assert found.value == pytest.approx(value)
    influence = np.array([2 * (1 - value), 0, 4 * (0.5 - value), 0]) / 1.5
    assert found.high - found.value == pytest.approx(1.959964 * influence.std(ddof=1) / 2, rel=1e-6)


def test_a_constant_added_to_rewards_moves_self_normalised_and_doubly_robust_by_it():
    log, shown = write(400, 1)
    more = Log(
        actions=log.actions,
        rewards=log.rewards + 10,
        propensities=log.propensities,
        contexts=log.contexts,
        arms=log.arms,
    )
    for estimate in (self_normalised, doubly_robust):
        before, after = estimate(best_of(log, shown)), estimate(best_of(more, shown))
        assert after.value == pytest.approx(before.value + 10)
        assert after.high - after.low == pytest.approx(before.high - before.low)


def test_doubly_robust_predicts_a_row_from_rows_it_is_not_in():
    """Another reward in one row changes predictions elsewhere, and never its own."""
    log, shown = write(50, 2)
    chosen = best_of(log, shown).chosen
    rewards = log.rewards.copy()
    rewards[7] += 100
    changed = Log(
        actions=log.actions, rewards=rewards, propensities=log.propensities, contexts=log.contexts, arms=log.arms
    )
    before, after = predicted(log, chosen), predicted(changed, chosen)
    assert before[7] == after[7]
    assert np.count_nonzero(before != after) > 30


def test_doubly_robust_is_right_where_the_model_is_and_the_propensities_are_not():
    """Rewards without noise, linear in the actions; propensities of half their size. IPS is off by a factor of two."""
    log, shown = write(2000, 3)
    theta = np.array([0.5, 0.1, 0.2, -0.2, 0.4, 0.1, 0.3, 0.3, -0.1])
    every = np.arange(len(log))
    wrong = Log(
        actions=log.actions,
        rewards=log.taken(every, log.actions) @ theta,
        propensities=log.propensities / 2,
        contexts=log.contexts,
        arms=log.arms,
    )
    best = best_of(wrong, shown)
    truth = float((log.taken(every, best.chosen) @ theta).mean())
    assert doubly_robust(best).value == pytest.approx(truth, abs=0.01)
    assert abs(by_propensity(best).value - truth) > 0.05


def test_nothing_matched_is_no_number():
    log, _ = write(50, 4)
    never = Judged(log, (log.actions + 1) % 3, learned=0, views=1)
    assert self_normalised(never).value is None
    assert by_propensity(never).value == 0.0
    assert by_rejection([Run(np.zeros(0, np.int64), np.zeros(0), 50, False)]).value is None


def test_wilson_is_the_set_of_shares_that_the_normal_test_does_not_reject():
    low, high = wilson(3, 20)
    for share in (low, high):
        assert abs(3 / 20 - share) == pytest.approx(1.959964 * math.sqrt(share * (1 - share) / 20), rel=1e-6)
    assert wilson(0, 20)[0] == pytest.approx(0.0, abs=1e-12)
    assert wilson(20, 20)[1] == pytest.approx(1.0)


def test_student_takes_the_degrees_of_the_part_that_matters():
    """One part alone has its own degrees of freedom: t of 9 at 97.5 % is 2.262157, of 999 it is 1.962341."""
    assert student((4.0, 0.0), (9, 999)) == pytest.approx(2 * 2.262157, rel=1e-6)
    assert student((0.0, 4.0), (9, 999)) == pytest.approx(2 * 1.962341, rel=1e-6)
    assert student((0.0,), (5,)) == 0.0


def test_several_runs_are_as_wide_as_one_log_and_their_own_differences():
    runs = [Run(np.arange(3), np.array(rewards), 3, False) for rewards in ([0.0, 1.0, 2.0], [1.0, 2.0, 6.0])]
    found = by_rejection(runs)
    assert found.value == 2.0
    within, between = np.mean([1 / 3, 7 / 3]), np.var([1.0, 3.0], ddof=1) / 2
    assert found.high - found.value == pytest.approx(student((within, between), (2, 1)))


def test_a_uniform_log_is_not_thinned():
    log, _ = write(100, 5)
    assert len(thinned(log, 0, 0)) == 100


def test_thinning_makes_a_leaning_log_uniform_in_every_context():
    """Error level: each of 12 shares is within 5 standard errors of 1/3, wrong by chance once in 140,000."""
    log, shown = write(60_000, 6, leaning=True)
    kept = thinned(log, 0, 0)
    for context in range(4):
        taken = log.actions[kept][shown[kept] == context]
        shares = np.bincount(taken, minlength=3) / len(taken)
        assert np.all(np.abs(shares - 1 / 3) < 5 * math.sqrt(2 / 9 / len(taken)))


def test_replay_accepts_what_a_learner_asked_row_by_row_would():
    """Blocks of rows are chosen for ahead: the same rows count as when every row is asked about by itself."""
    config = tacit.LinUCB(dim=9, width=0.3)
    log, _ = write(200, 7)
    learner, accepted = config.start(seed=0), []
    for row in range(len(log)):
        offers = log.offers(np.array([row]))[0]
        if learner.choose(offers) == log.actions[row]:
            learner.learn(offers[log.actions[row]], float(log.rewards[row]))
            accepted.append(row)
    assert run_over(config, log, seed=0).rows.tolist() == accepted


def test_replay_stops_at_the_rounds_that_were_asked_for():
    config = tacit.LinUCB(dim=9, width=0.3)
    log, _ = write(200, 8)
    everything, some = run_over(config, log, seed=0), run_over(config, log, seed=0, rounds=20)
    assert some.rows.tolist() == everything.rows[:20].tolist()
    assert some.full
    assert not everything.full
    assert 0 < value_of_run(config, log, some, 0) < 1
