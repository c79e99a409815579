"""Persons: who is learned from how often, and that nothing else decides it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.core import learner as room
from tacit.core.people import People
from tacit.errors import BadInput

from .worlds import config, contents


def test_a_person_is_learned_from_at_most_k_times():
    people = People(3)
    assert [people.admit("ann", 0) for _ in range(5)] == [True, True, True, False, False]
    assert [people.admit("bob", 0) for _ in range(4)] == [True, True, True, False]
    assert len(people) == 2


def test_one_row_per_segment_drops_the_second_and_does_not_count_it():
    people = People(2, one_per_segment=True)
    assert [people.admit("ann", segment) for segment in (0, 0, 0, 1, 1, 2)] == [True, False, False, True, False, False]


def test_ids_of_different_types_are_different_persons():
    people = People(1)
    ids = [1, "1", b"1", "i1", b"i1", -1, 10**30, "", b"", "\ud800", "ä", "ä".encode()]
    assert all(people.admit(person, 0) for person in ids)
    assert not any(people.admit(person, 0) for person in ids)
    assert not people.admit(np.int64(1), 0), "a whole number is the same person in every width"


@pytest.mark.parametrize("person", [None, 1.5, True, ("secret-name",), ["secret-name"], object()])
def test_whoever_cannot_be_named_is_refused_and_not_shown(person):
    with pytest.raises(BadInput, match="Expected person to be a str, an int or bytes") as caught:
        People(1).token(person)
    assert "secret-name" not in str(caught.value)
    assert "1.5" not in str(caught.value)


def test_ids_are_not_kept_and_tokens_differ_between_learners():
    first, second = People(1), People(1)
    for people in (first, second):
        people.admit("a-very-particular-name", 0)
    kept = repr(vars(first)) + "".join(repr(array.tobytes()) for array in first.arrays().values())
    assert "particular" not in kept
    assert first.token("ann") != second.token("ann")
    assert len(first.token("ann")) == 16


@pytest.mark.parametrize("one_per_segment", [False, True])
def test_people_travel_as_arrays(one_per_segment):
    people = People(2, one_per_segment)
    for step in range(60):
        people.admit(f"p{step % 7}", step // 10)
    twin = People.from_arrays(2, one_per_segment, people.arrays())
    later = [(f"p{step % 9}", 5 + step // 10) for step in range(60)]
    assert [people.admit(*step) for step in later] == [twin.admit(*step) for step in later]
    assert len(people) == len(twin) == 9


def test_nobody_travels_as_empty_arrays():
    assert len(People.from_arrays(2, True, People(2, True).arrays())) == 0


def test_rows_beyond_the_limit_are_learned_as_zeros():
    """The sums, the clock and the view are those of a run where the extra rows are zeros."""
    rows = np.random.default_rng(3).uniform(-0.5, 0.5, (40, 3))
    counting, plain = config(person_rounds=2).start(seed=1), config(person_rounds=2).start(seed=1)
    for t, row in enumerate(rows):
        counting.learn(row, 0.5, person=f"p{t % 5}")
        learned = t < 10  # the first two rows of each of five persons
        plain.learn(row if learned else np.zeros(3), 0.5 if learned else 0.0, person=f"q{t}")
    for room_ in ("vault", "view"):
        for a, b in zip(getattr(counting._session, room_), getattr(plain._session, room_), strict=True):
            assert np.array_equal(a, b)
    found = counting.diagnostics()
    assert (found.rows, found.people, found.dropped) == (40, 5, 30)
    assert found.views > 0
    assert str(counting.guarantee.unit) == "one person with at most 2 rounds"
    assert counting.guarantee == config(person_rounds=2).start(seed=1).guarantee


def test_a_person_is_required_where_persons_are_counted():
    learner = config(person_rounds=2).start(seed=1)
    before = contents(learner)
    with pytest.raises(BadInput, match="Expected a person"):
        learner.learn(np.zeros(3), 0.0)
    with pytest.raises(BadInput, match="Expected a person"):
        learner.decide(np.eye(3))
    with pytest.raises(BadInput, match="Expected person to be a str, an int or bytes, got float"):
        learner.learn(np.zeros(3), 0.0, person=0.5)
    assert contents(learner) == before


@pytest.mark.parametrize("policy", [config(), tacit.LinUCB(dim=3)], ids=["private", "not private"])
def test_a_person_is_refused_where_the_unit_is_the_round(policy):
    learner = policy.start(seed=1)
    for attempt in (lambda: learner.learn(np.zeros(3), 0.0, person="ann"), lambda: learner.decide(np.eye(3), "ann")):
        with pytest.raises(BadInput, match=r"the unit is the round.*Configure person_rounds=k") as caught:
            attempt()
        assert "ann" not in str(caught.value)
    assert learner.diagnostics().rows == 0


def test_a_refused_row_does_not_count_for_its_person_and_a_row_of_zeros_does():
    learner = config(person_rounds=2, strict=True).start(seed=1)
    before = contents(learner)
    for row, reward in ((np.zeros(4), 0.0), (np.zeros(3), "1")):
        with pytest.raises(BadInput):
            learner.learn(row, reward, person="ann")
    assert contents(learner) == before
    learner.learn(np.full(3, np.nan), 0.5, person="ann")
    learner.learn(np.full(3, 0.5), float("nan"), person="ann")
    learner.learn(np.full(3, 0.5), 0.5, person="ann")
    assert learner.diagnostics().dropped == 1
    assert not learner._session.vault.sums.any()


def test_a_spent_horizon_does_not_count_for_anybody():
    learner = config(person_rounds=2, horizon=3).start(seed=1)
    for t in range(3):
        learner.learn(np.zeros(3), 0.0, person=f"p{t}")
    before = contents(learner)
    with pytest.raises(tacit.errors.HorizonSpent):
        learner.learn(np.zeros(3), 0.0, person="p0")
    assert contents(learner) == before


# What one person can move ----------------------------------------------------------------------------------------


class OneTooMany(People):
    """A broken twin: k + 1 rows."""

    def __init__(self, limit, *arguments, **options):
        super().__init__(limit + 1, *arguments, **options)


class BlindToSegments(People):
    """A broken twin: as many rows in a segment as there are left."""

    def __init__(self, limit, one_per_segment=False, **options):
        super().__init__(limit, False, **options)


def shift_of_one_person(policy, comings: int) -> float:
    """How far the sums of the first segment move, in standard deviations of one release's fresh noise, when every row
    of a person who comes so often is replaced by its worst opposite. The rows attain the sensitivity of the event."""
    sums = []
    for reward in (1.0, -1.0):
        learner = policy.start(seed=1)
        for _ in range(comings):
            learner.learn(np.eye(3)[0], reward, person="ann")
        assert learner.view.stage[0] == 0, "all rows must lie in one segment"
        sums.append(learner._session.vault.sums.copy())
    change = (sums[0] - sums[1]) ** 2
    change[[0, 3, 5]] /= 2  # the diagonal has twice the variance
    return math.sqrt(change.sum()) / policy.plan().event.event.scale


@pytest.mark.parametrize("comings", [1, 3, 9])
def test_the_rows_of_one_person_move_the_sums_by_no_more_than_the_price(comings, monkeypatch):
    """In one segment the shift is κ_R·(rows learned)·L̃²/s, and the price is that for k rows: reached, not passed."""
    policy = config(person_rounds=3, width="theory")  # whose first segment is longer
    column = policy.plan().event.event.design.column_norm(policy.views)
    price = policy.plan().guarantee.mu
    assert shift_of_one_person(policy, comings) * column <= price * (1 + 1e-9)
    assert shift_of_one_person(policy, 9) * column == pytest.approx(price)
    monkeypatch.setattr(room, "People", OneTooMany)
    assert shift_of_one_person(policy, 9) * column > price * 1.3


def test_with_one_row_per_segment_a_segment_holds_one_row_of_a_person(monkeypatch):
    """Over segments with independent noise the price is √k·L̃²/s: one row each, reached after k segments."""
    policy = config(person_rounds=4, one_row_per_segment=True, window=5, width="theory")
    price = policy.plan().guarantee.mu
    assert shift_of_one_person(policy, 6) * math.sqrt(4) == pytest.approx(price)
    monkeypatch.setattr(room, "People", BlindToSegments)
    assert shift_of_one_person(policy, 6) > price * 1.9


def test_a_new_segment_begins_with_a_release():
    learner = config(person_rounds=3, one_row_per_segment=True).start(seed=1)
    first = int(learner.config.plan().params.schedule.times[0])
    for t in range(first):
        learner.learn(np.eye(3)[0], 1.0, person="ann" if t in (0, 1) else f"p{t}")
    assert learner.view.stage[0] == 1
    assert learner.diagnostics().dropped == 1
    learner.learn(np.eye(3)[0], 1.0, person="ann")
    assert learner.diagnostics().dropped == 1
    learner.learn(np.eye(3)[0], 1.0, person="ann")
    assert learner.diagnostics().dropped == 2
