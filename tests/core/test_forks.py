"""Forks: copies that go on from one past are priced together, and share neither noise nor ids since."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.core import checkpoint as room
from tacit.core.checkpoint import resume
from tacit.core.learner import POLICY
from tacit.core.session import Session
from tacit.errors import AlreadyClosed, CheckpointSpent, UnknownDecision
from tacit.noise import stream
from tacit.privacy.accountant import price
from tacit.privacy.event import ForkedEvent
from tacit.privacy.scope import Trust

from .worlds import LIVE, config, name_of, sets

KEY = bytes(range(32))
PRIVATE = [policy for policy in LIVE if policy.guarantee.private]


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Each test is a process of its own, as far as checkpoints know."""
    monkeypatch.setattr(room, "_RESUMED", {})


def practised(seed, rounds=25):
    learner = config().start(seed=seed)
    for actions in sets(rounds, 4, 3, seed=2):
        learner.learn(actions[learner.choose(actions)], 0.5)
    return learner


# The price -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", PRIVATE, ids=name_of)
def test_a_fork_is_priced_for_all_copies_and_says_so(policy, tmp_path):
    path = policy.start().checkpoint(tmp_path / "one", KEY)
    assert resume(path, KEY).guarantee == policy.guarantee
    for copies in (2, 3):
        fork = resume(path, KEY, fork=True)
        assert fork.copies == copies
        assert fork.guarantee == policy.planned().guarantee_for(copies)
        card = fork.card()
        assert card.guarantee == fork.guarantee
        if policy.trust is Trust.LOCAL:  # noised before it left: copies of what arrived reveal nothing more
            assert fork.guarantee == policy.guarantee
            continue
        if policy.guarantee.mu is not None:
            assert fork.guarantee.mu == pytest.approx(math.sqrt(copies) * policy.guarantee.mu)
        assert f"Resumed as a fork: {copies} copies" in " ".join(card.text().split())
        if policy.promise is not None and policy.calibrated == "exact":  # which leaves nothing to spare
            assert card.keeps_its_claim is False


def test_agreeing_to_a_fork_that_is_none_costs_nothing(tmp_path):
    path = config().start().checkpoint(tmp_path / "one", KEY)
    learner = resume(path, KEY, fork=True)
    assert learner.copies == 1
    assert learner.guarantee == config().guarantee


def test_a_price_is_inherited(tmp_path):
    """A fork's own checkpoint carries its copies on; its fork adds to them."""
    path = config().start().checkpoint(tmp_path / "one", KEY)
    resume(path, KEY)
    second = resume(path, KEY, fork=True)
    onward = second.checkpoint(tmp_path / "two", KEY)
    moved = resume(onward, KEY)
    assert moved.copies == 2
    with pytest.raises(CheckpointSpent, match="with 3 copies priced together"):
        resume(onward, KEY)
    assert resume(onward, KEY, fork=True).copies == 3


def test_a_policy_without_privacy_forks_for_nothing_but_not_by_accident(tmp_path):
    path = tacit.LinUCB(dim=3).start().checkpoint(tmp_path / "one", KEY)
    resume(path, KEY)
    with pytest.raises(CheckpointSpent, match="no privacy is promised"):
        resume(path, KEY)
    assert not resume(path, KEY, fork=True).guarantee.private


def shift(design, releases: int, row: int, parted: int, copies: int) -> float:
    """How far one unit row, in at release `row`, moves everything `copies` learners release that part after release
    `parted`, in standard deviations: its column of C, the shared part once and the rest once per copy."""
    column = np.zeros(releases)
    column[row:] = design.column_coefficients(releases - row)
    return math.sqrt((column[:parted] ** 2).sum() + copies * (column[parted:] ** 2).sum())


def test_the_price_of_a_fork_bounds_every_row_and_every_parting():
    """And no less would do: a row not yet released when the copies part reaches √copies times the price of one."""
    event = config().plan().event
    releases, design = event.releases, event.design
    unit = replace(event, scale=1.0, sensitivity=1.0)
    for copies in (2, 3, 7):
        forked = price(ForkedEvent(unit, copies))
        found = [
            shift(design, releases, row, parted, copies)
            for row in range(releases)
            for parted in (0, 1, row, row + 1, releases // 2, releases)
        ]
        assert max(found) == pytest.approx(forked)
        assert max(found) > price(unit) * 1.4, "the price of one learner does not cover copies"


# The noise -------------------------------------------------------------------------------------------------------


def share_noise(one, other) -> bool:
    """Whether two learners, fed the same rows to their next release, publish the same view."""
    before = one.view.stage[0]
    while one.view.stage[0] == before:
        for learner in (one, other):
            learner.learn(np.full(3, 0.25), 0.5)
    return np.array_equal(one.view.factor, other.view.factor)


@pytest.mark.parametrize("seed", [None, 7])
def test_copies_do_not_share_noise(seed, tmp_path):
    path = practised(seed).checkpoint(tmp_path / "one", KEY)
    copies = [resume(path, KEY, fork=True) for _ in range(3)]
    assert {copy.view.factor.tobytes() for copy in copies} == {copies[0].view.factor.tobytes()}, "one past"
    assert not share_noise(copies[0], copies[1])
    assert not share_noise(copies[0], copies[2])
    assert not share_noise(copies[1], copies[2])


def test_a_twin_that_goes_on_with_the_old_stream_is_caught(tmp_path, monkeypatch):
    """The broken twin: every copy of a seeded learner reads on in the same stream."""
    learner = practised(7)
    kept = [np.array(part) for part in learner._session.noise]
    path = learner.checkpoint(tmp_path / "one", KEY)
    first = resume(path, KEY)
    same = type(learner._session.noise)(*[part.copy() for part in kept])
    monkeypatch.setattr(Session, "read_anew", lambda session, *path: session.read_from(same))
    assert share_noise(first, resume(path, KEY, fork=True))


def test_forks_of_a_seeded_learner_can_be_repeated(tmp_path, monkeypatch):
    """A simulation of a fork is reproducible, though its noise is nobody else's."""
    views = []
    for name in ("one", "two"):
        monkeypatch.setattr(room, "_RESUMED", {})
        path = practised(7).checkpoint(tmp_path / name, KEY)
        resume(path, KEY)
        fork = resume(path, KEY, fork=True)
        for _ in range(40):
            fork.learn(np.full(3, 0.25), 0.5)
        views.append(fork.view.factor.tobytes())
        assert fork.guarantee.seeded
    assert views[0] == views[1]


def test_forks_at_different_times_do_not_share_noise(tmp_path):
    """Two checkpoints of one running learner, each forked once: three learners, and two of the cards say so."""
    learner = practised(7)
    early = learner.checkpoint(tmp_path / "early", KEY, keep_running=True)
    learner.learn(np.zeros(3), 0.0)
    late = learner.checkpoint(tmp_path / "late", KEY, keep_running=True)
    one, other = resume(early, KEY, fork=True), resume(late, KEY, fork=True)
    assert (one.copies, other.copies, learner.copies) == (2, 3, 3)
    assert learner.guarantee.mu == pytest.approx(math.sqrt(3) * learner._plan.guarantee.mu)
    assert "3 copies" in learner.card().text()
    assert not np.array_equal(one._session.noise.state, other._session.noise.state)
    assert not np.array_equal(one._session.noise.state, stream(7, 0, POLICY).state)
    # A fork of the early fork is of the same number as the late one, and of another time.
    again = resume(one.checkpoint(tmp_path / "again", KEY, keep_running=True), KEY, fork=True)
    assert again.copies == other.copies
    assert not np.array_equal(again._session.noise.state, other._session.noise.state)


# The books -------------------------------------------------------------------------------------------------------


def test_copies_know_the_decisions_of_their_past_and_not_those_of_each_other(tmp_path):
    learner = practised(7)
    shared, closed = learner.decide(np.eye(3)), learner.decide(np.eye(3))
    learner.reward(closed, 0.5)
    path = learner.checkpoint(tmp_path / "one", KEY)
    first, second = resume(path, KEY), resume(path, KEY, fork=True)
    ours, theirs = first.decide(np.eye(3)), second.decide(np.eye(3))
    for one, own, foreign in ((first, ours, theirs), (second, theirs, ours)):
        with pytest.raises(UnknownDecision):
            one.reward(foreign, 0.5)
        with pytest.raises(AlreadyClosed):
            one.reward(closed, 0.5)
        one.reward(own, 0.5)
        one.reward(shared, 0.5)  # a row of the past in every copy: the price of the fork covers it
        with pytest.raises(AlreadyClosed):
            one.reward(shared, 0.5)


def test_copies_go_on_counting_the_same_persons(tmp_path):
    learner = config(person_rounds=2).start()
    learner.learn(np.eye(3)[0], 0.5, person="ann")
    path = learner.checkpoint(tmp_path / "one", KEY)
    for fork in (resume(path, KEY), resume(path, KEY, fork=True)):
        for _ in range(3):
            fork.learn(np.eye(3)[0], 0.5, person="ann")
        assert fork.diagnostics().dropped == 2
        assert fork.diagnostics().people == 1
