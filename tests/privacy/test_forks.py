"""Learners that go on from one past: what all of them release together, against dense matrices."""

import json
import math

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.privacy import (
    ForkedEvent,
    GaussianEvent,
    NothingReleased,
    PersonEvent,
    SegmentsEvent,
    ToeplitzEvent,
    TreeEvent,
    price,
    theorem_for,
)
from tacit.privacy.toeplitz import EIGHT_BUFFERS

EVENTS = [
    TreeEvent(3.0, 2.0, 17),
    ToeplitzEvent(3.0, 2.0, 128, EIGHT_BUFFERS, "many"),
    SegmentsEvent(3.0, 2.0),
    GaussianEvent(4.0, 1.0),
    PersonEvent(TreeEvent(3.0, 2.0, 17), 5),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
@pytest.mark.parametrize("copies", [1, 2, 7])
def test_copies_cost_the_root_of_their_number(event, copies):
    assert price(ForkedEvent(event, copies)) == pytest.approx(math.sqrt(copies) * price(event))


def test_copies_of_nothing_cost_nothing():
    assert price(ForkedEvent(NothingReleased(), 9)) == 0.0


def released_nodes(levels):
    """C of the tree: one row per node that is ever released, in the order in which they close."""
    size = 2**levels - 1  # the last row is never released
    rows = np.zeros((size, size))
    for row in range(1, size + 1):
        rows[row - 1, row - (row & -row) : row] = 1.0
    return rows


def toeplitz_rows(size):
    distance = np.subtract.outer(np.arange(size), np.arange(size))
    return np.where(distance >= 0, EIGHT_BUFFERS.column_coefficients(size)[np.abs(distance)], 0.0)


DESIGNS = {
    "tree": (released_nodes(5), TreeEvent(1.0, 1.0, 5)),
    "toeplitz": (toeplitz_rows(40), ToeplitzEvent(1.0, 1.0, 40, EIGHT_BUFFERS, "one")),
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("copies", [2, 3])
def test_no_fork_moves_all_releases_together_by_more_than_its_price(name, copies):
    """What the copies release, as one matrix: the past once, then a future per copy. Every parting, every datum, even
    one that is brought to all copies after they parted."""
    matrix, event = DESIGNS[name]
    worst = 0.0
    for parting in range(len(matrix)):
        moved = np.sum(matrix[:parting] ** 2, axis=0) + copies * np.sum(matrix[parting:] ** 2, axis=0)
        worst = max(worst, math.sqrt(moved.max()))
    assert price(event) < worst <= price(ForkedEvent(event, copies)) * (1 + 1e-12)


def test_copies_bound_by_a_theorem_compose():
    event = tacit.JointLinUCB(
        dim=3, epsilon=1.0, delta=0.1, releases="tree", calibration="published", noise="wishart", horizon=1000
    )
    one = theorem_for(event.plan().event)
    four = theorem_for(ForkedEvent(event.plan().event, 4))
    assert (four.epsilon, four.delta) == (pytest.approx(4 * one.epsilon), pytest.approx(4 * one.delta))
    assert theorem_for(ForkedEvent(EVENTS[0], 4)) is None


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: ForkedEvent(None, 2), "event"),
        (lambda: ForkedEvent(EVENTS[0], 0), "copies"),
        (lambda: ForkedEvent(EVENTS[0], 1.5), "copies"),
        (lambda: ForkedEvent(ForkedEvent(EVENTS[0], 2), 2), "ForkedEvent"),
    ],
)
def test_impossible_forks_are_refused(build, word):
    with pytest.raises(BadInput, match=word):
        build()


@pytest.mark.parametrize(("copies", "said"), [(1, "1 copy of"), (3, "3 copies of")])
def test_a_fork_describes_itself(copies, said):
    event = ForkedEvent(EVENTS[0], copies)
    assert said in event.describe()
    assert json.loads(json.dumps(event.to_dict(), allow_nan=False)) == {
        "event": "forked",
        "of": EVENTS[0].to_dict(),
        "copies": copies,
    }


# The plan that is asked for it -----------------------------------------------------------------------------------


def test_a_plan_prices_its_copies_together_and_leaves_a_single_learner_alone():
    config = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6, person_rounds=3)
    plan = config.plan()
    assert plan.guarantee_for(1) is plan.guarantee
    assert plan.event_for(1) is plan.event
    three = plan.guarantee_for(3)
    assert three.mu == pytest.approx(math.sqrt(3) * plan.guarantee.mu)
    assert three.epsilon > plan.guarantee.epsilon
    assert (three.trust, three.protects, three.unit, three.delta) == (
        plan.guarantee.trust,
        plan.guarantee.protects,
        plan.guarantee.unit,
        plan.guarantee.delta,
    )


def test_copies_break_the_promise_and_the_card_says_so():
    config = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6)
    assert config.card().keeps_its_claim is True
    forked = config.card(copies=2)
    assert forked.keeps_its_claim is False
    assert forked.true_epsilon > 1.4
    assert "NOT kept" in forked.text()
    assert any("2 copies" in note for note in forked.notes)


def test_copies_by_theorem_add_up_in_the_plan_and_on_the_card():
    config = tacit.JointLinUCB(
        dim=3, epsilon=1.0, delta=0.1, releases="tree", calibration="published", noise="wishart", horizon=1000
    )
    one, two = config.guarantee.theorem, config.plan().guarantee_for(2).theorem
    assert (two.epsilon, two.delta) == (pytest.approx(2 * one.epsilon), pytest.approx(0.2))
    # At the promised δ nothing is known of two copies.
    assert config.card(copies=2).keeps_its_claim is False
    assert config.card(copies=2).to_dict()["by_theorem"]["delta"] == pytest.approx(0.2)


def test_copies_of_a_policy_without_privacy_promise_none_either():
    plan = tacit.LinUCB(dim=3).plan()
    assert plan.guarantee_for(5) is plan.guarantee
