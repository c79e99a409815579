"""Decisions: each is one row, whenever its reward comes, and if it never does."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import tacit
from tacit.core.decisions import Decision, Decisions
from tacit.errors import AlreadyClosed, BadInput, HorizonSpent, OutOfBounds, UnknownDecision

from .worlds import config, contents, sets


def test_a_decision_shows_its_id_and_its_arm_and_nothing_else():
    learner = config(person_rounds=1).start(seed=1)
    decision = learner.decide(np.full((2, 3), 0.123456), person="ann")
    assert repr(decision) == f"Decision(id='{decision.id}', arm={decision.arm})"
    assert len(bytes.fromhex(decision.id)) == 16
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.arm = 0


def test_deciding_is_choosing():
    deciding, choosing = config().start(seed=1), config().start(seed=1)
    for actions in sets(30, 4, 3, seed=2):
        assert deciding.decide(actions).arm == choosing.choose(actions)
        choosing.learn(np.zeros(3), 0.0)  # no reward, and a tick all the same
    assert deciding.pending == 30
    assert deciding.view.stage[0] == choosing.view.stage[0] > 2
    assert deciding._served == choosing._served == 30


def test_a_reward_is_learned_for_the_action_that_was_taken():
    deciding, learning = config().start(seed=1), config().start(seed=1)
    for actions in sets(60, 4, 3, seed=2):
        kept = actions.copy()
        decision = deciding.decide(actions)
        actions[...] = np.nan  # the caller's array is the caller's
        deciding.reward(decision, 0.5)
        learning.choose(kept)
        learning.learn(kept[decision.arm], 0.5)
    deciding.decide(np.eye(3))  # the tick of the last one is made before the next
    learning.choose(np.eye(3))
    for a, b in zip(
        (*deciding._session.vault, *deciding._session.view),
        (*learning._session.vault, *learning._session.view),
        strict=True,
    ):
        assert np.array_equal(a, b)
    assert deciding.pending == 1
    assert deciding.diagnostics().views > 2


def test_rewards_may_come_late_in_any_order_and_across_releases():
    """The sums are those of the rows that have come, whatever has been released in between."""
    learner = config().start(seed=1)
    offers = sets(200, 4, 3, seed=3)
    rng = np.random.default_rng(4)
    open_decisions, rows = [], []
    for actions in offers:
        decision = learner.decide(actions)
        open_decisions.append((decision, actions[decision.arm]))
        while len(open_decisions) > 50:
            late, x = open_decisions.pop(int(rng.integers(len(open_decisions))))
            reward = float(rng.uniform(-1, 1))
            learner.reward(late, reward)
            rows.append(np.append(x, reward))
    assert learner.pending == 50
    assert learner.view.stage[0] == np.searchsorted(learner.config.plan().params.schedule.times, 199, side="right")
    table = np.array(rows)
    np.testing.assert_allclose(learner._session.vault.sums[6:], table[:, :3].T @ table[:, 3], atol=1e-12)


@pytest.mark.parametrize("again", [0.5, -0.5])
def test_a_second_reward_is_refused_whatever_it_says(again):
    learner = config().start(seed=1)
    decision = learner.decide(np.eye(3))
    learner.reward(decision, 0.5)
    before = contents(learner)
    for form in (decision, decision.id):
        with pytest.raises(AlreadyClosed, match=r"counted. Nothing was changed"):
            learner.reward(form, again)
        with pytest.raises(AlreadyClosed):
            learner.expire(form)
    assert contents(learner) == before
    assert learner.diagnostics().rows == 1


def test_a_second_reward_is_refused_before_a_row_has_its_turn_too():
    """Where rows come in order a decision that is closed waits, and its row can still be found."""
    learner = tacit.RenyiUCB(arms=3, rho=1.0).start(seed=1, closes_after_decisions=5)
    decision = learner.decide()
    learner.reward(decision, 0.25)
    with pytest.raises(AlreadyClosed):
        learner.reward(decision, 0.75)
    with pytest.raises(AlreadyClosed):
        learner.expire(decision)
    for _ in range(5):
        learner.reward(learner.decide(), 0.0)
    assert learner.diagnostics().expired == 0
    with pytest.raises(AlreadyClosed):
        learner.reward(decision, 0.75)


def test_an_unknown_id_is_refused_and_not_shown():
    learner, other = config().start(seed=1), config().start(seed=1)
    foreign = other.decide(np.eye(3)).id
    mine = learner.decide(np.eye(3)).id
    flipped = [mine[:at] + ("0" if mine[at] != "0" else "1") + mine[at + 1 :] for at in range(len(mine))]
    before = contents(learner)
    for unknown in ("ann@example.org", "", "0" * 32, "f" * 32, foreign, mine.upper() + " ", mine[:-2], *flipped):
        with pytest.raises(UnknownDecision) as caught:
            learner.reward(unknown, 0.5)
        assert not unknown or unknown not in str(caught.value)
    for nonsense in (None, 7, b"ann", Decision):
        with pytest.raises(BadInput, match="Expected a Decision"):
            learner.reward(nonsense, 0.5)
    assert contents(learner) == before
    learner.reward(mine, 0.5)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200, 10**400, "1", None, True])
def test_a_bad_reward_leaves_the_decision_open(value):
    learner = config().start(seed=1)
    decision = learner.decide(np.eye(3))
    before = contents(learner)
    with pytest.raises(BadInput):
        learner.reward(decision, value)
    assert contents(learner) == before
    learner.reward(decision, 1)
    assert learner.diagnostics().rows == 1


def test_strict_refuses_actions_when_they_are_offered_and_rewards_never():
    learner = config(strict=True).start(seed=1)
    with pytest.raises(OutOfBounds, match="norm <= 1"):
        learner.decide(np.diag([0.5, 0.5, 2.0]))
    assert learner.pending == learner._served == 0
    learner.reward(learner.decide(np.eye(3)), 1.5)
    assert learner.pending == 0
    assert learner.diagnostics().clipped_rewards == 1


def test_an_expired_decision_is_a_row_of_zeros():
    learner = config().start(seed=1)
    decision = learner.decide(np.eye(3))
    learner.expire(decision)
    found = learner.diagnostics()
    assert (found.rows, found.expired, found.pending) == (1, 1, 0)
    assert not learner._session.vault.sums.any()
    with pytest.raises(AlreadyClosed):
        learner.reward(decision, 0.5)
    assert not learner._session.vault.sums.any()


def test_whether_a_reward_came_does_not_change_the_clock():
    """Releases come after the same decisions, rewarded or expired: when a view comes says nothing about rewards."""
    rewarded, expired = config().start(seed=1), config().start(seed=1)
    for t, actions in enumerate(sets(80, 4, 3, seed=2)):
        rewarded.reward(rewarded.decide(actions), 0.5)
        decision = expired.decide(actions)
        if t % 3:
            expired.reward(decision, 0.5)
        else:
            expired.expire(decision)
        assert rewarded.view.stage[0] == expired.view.stage[0]


def test_expire_all_closes_what_is_old_in_order():
    learner = config(horizon=100).start(seed=1)
    decisions = [learner.decide(np.eye(3)) for _ in range(10)]
    learner.reward(decisions[1], 0.5)
    assert learner.expire_all(older_than=10) == 0
    assert learner.expire_all(older_than=7) == 2  # the first and the third
    with pytest.raises(AlreadyClosed):
        learner.reward(decisions[2], 0.5)
    learner.reward(decisions[3], 0.5)
    assert learner.expire_all(older_than=0) == 6
    assert learner.pending == 0
    assert learner.expire_all(older_than=0) == 0
    assert learner.diagnostics().expired == 8
    for bad in (-1, 1.5, "1"):
        with pytest.raises(BadInput, match="older_than"):
            learner.expire_all(older_than=bad)


def test_a_decision_keeps_a_place_for_its_row():
    """Rows learned beside the books leave one for what was decided: nothing is refused after its decision was made."""
    learner = config(horizon=12).start(seed=1)
    decisions = [learner.decide(np.eye(3)) for _ in range(6)]
    for _ in range(6):
        learner.learn(np.zeros(3), 0.0)
    before = contents(learner)
    for more in (lambda: learner.learn(np.zeros(3), 0.0), lambda: learner.decide(np.eye(3))):
        with pytest.raises(HorizonSpent, match="12 rows are learned, or kept for decisions"):
            more()
    assert contents(learner) == before
    learner.reward(decisions[0], 0.5)
    assert learner.expire_all(older_than=0) == 5


def test_a_person_is_counted_when_the_row_comes_reward_or_not():
    learner = config(person_rounds=2).start(seed=1)
    decisions = [learner.decide(np.eye(3), person="ann") for _ in range(4)]
    assert learner.diagnostics().people == 0
    learner.expire(decisions[3])
    learner.reward(decisions[0], 1.0)
    sums = learner._session.vault.sums.copy()
    assert sums.any()
    learner.reward(decisions[1], 1.0)
    learner.expire(decisions[2])
    found = learner.diagnostics()
    assert np.array_equal(learner._session.vault.sums, sums)
    assert (found.rows, found.people, found.dropped, found.expired) == (4, 1, 2, 2)


def test_a_person_is_not_kept_by_name_while_a_decision_waits():
    learner = config(person_rounds=2).start(seed=1)
    learner.decide(np.eye(3), person="a-very-particular-name")
    assert "particular" not in repr(vars(learner._decisions))


def test_the_horizon_holds_for_decisions():
    learner = config(horizon=5).start(seed=1)
    decisions = [learner.decide(np.eye(3)) for _ in range(5)]
    with pytest.raises(HorizonSpent, match="5 rounds are served"):
        learner.decide(np.eye(3))
    for decision in decisions:
        learner.reward(decision, 0.5)
    assert learner.diagnostics().rows == 5


def test_of_many_threads_with_the_same_reward_exactly_one_counts():
    learner = config().start(seed=1)
    for _ in range(20):
        decision = learner.decide(np.eye(3))
        together = Barrier(4)

        def work(_, decision=decision, together=together):
            together.wait()
            try:
                learner.reward(decision.id, 1.0)
            except AlreadyClosed:
                return 0
            return 1

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(work, range(4))) == 1
    assert learner.diagnostics().rows == 20
    assert learner._session.vault.sums[[0, 3, 5]].sum() == 20


def test_closed_decisions_are_not_remembered():
    """Only what is open takes memory, and every closed id is still told from an unknown one."""
    books = Decisions()
    ids = [books.open(np.zeros(3), None) for _ in range(2000)]
    assert len(set(ids)) == 2000
    for identity in ids:
        books.close(identity)
    assert len(books) == len(books._kept) == 0
    for identity in ids[::97]:
        with pytest.raises(AlreadyClosed):
            books.find(identity)


def test_ids_do_not_tell_how_many_came_before():
    """All bytes of an id vary from decision to decision, those that hold the number included."""
    books = Decisions()
    table = np.array([list(bytes.fromhex(books.open(np.zeros(1), None))) for _ in range(300)])
    assert all(len(set(column)) > 100 for column in table.T)


def test_a_fork_issues_ids_its_siblings_do_not_know():
    books = Decisions()
    shared_open, shared_closed = books.open(np.zeros(1), None), books.open(np.zeros(1), None)
    books.close(shared_closed)
    fork = Decisions.from_arrays(books.arrays(1))
    fork.turn_key()
    ours, theirs = books.open(np.zeros(1), None), fork.open(np.zeros(1), None)
    assert ours != theirs
    for one, foreign in ((books, theirs), (fork, ours)):
        assert one.find(shared_open)[1].number == 0
        with pytest.raises(AlreadyClosed):
            one.find(shared_closed)
        with pytest.raises(UnknownDecision):
            one.find(foreign)


def test_books_travel_as_arrays():
    books = Decisions()
    ids = [books.open(np.arange(3) + number, bytes([number]) * 16) for number in range(6)]
    books.close(ids[2])
    books.keep(ids[5], np.zeros(3), 0.25)
    twin = Decisions.from_arrays(books.arrays(3))
    assert [identity for identity, _ in twin.older_than(0)] == [ids[at] for at in (0, 1, 3, 4, 5)]
    for at in (0, 1, 3, 4):
        found = twin.find(ids[at])[1]
        assert (found.number, found.x.tolist(), found.person) == (at, [at, at + 1, at + 2], bytes([at]) * 16)
    for at in (2, 5):
        with pytest.raises(AlreadyClosed):
            twin.find(ids[at])
    assert len(twin) == len(books) == 4
    kept = twin.older_than(0)[-1][1]
    assert (kept.open, kept.reward, kept.x.tolist()) == (False, 0.25, [0.0] * 3)
    assert twin.open(np.zeros(3), None) == books.open(np.zeros(3), None)
