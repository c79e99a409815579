"""Logs in which people come back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.core.people import People
from tacit.errors import BadInput
from tacit.replaying import Log, read_log, replay
from tests.replaying.worlds import ARMS, CONTEXTS, write

LIMIT = 3
CONFIG = {"epsilon": 1.0, "delta": 1e-6, "person_rounds": LIMIT}


def coming_back(rows, people, seed=1):
    """A log of so many people, each with as many rows as any other."""
    log, _ = write(rows, seed)
    return Log(
        actions=log.actions,
        rewards=log.rewards,
        propensities=log.propensities,
        contexts=log.contexts,
        arms=ARMS,
        persons=np.arange(rows) % people,
    )


@pytest.fixture
def learned(monkeypatch):
    """How many rows were admitted of those that were told, of all learners there are."""
    answers = []
    admit = People.admit_token

    def watched(people, token, segment):
        answers.append(admit(people, token, segment))
        return answers[-1]

    monkeypatch.setattr(People, "admit_token", watched)
    return answers


def test_no_more_rows_of_a_person_are_learned_than_promised(learned):
    log = coming_back(200, people=10)
    found = replay(tacit.JointLinUCB(dim=log.dim, **CONFIG), log)
    # By rejection, and by the half that the fixed policy learns from: 30 rows of ten people each.
    assert sum(learned) == 2 * 10 * LIMIT
    assert len(learned) > sum(learned)
    assert any(f"at most {LIMIT} rows of each" in note for note in found.notes)
    assert any("too short" in note for note in found.notes)


def test_without_ids_every_row_is_somebody_else(learned):
    log, _ = write(200, 1)
    found = replay(tacit.JointLinUCB(dim=log.dim, **CONFIG), log)
    assert learned
    assert all(learned)
    assert any("every row is taken to be a different person" in note for note in found.notes)


def test_a_policy_that_protects_rounds_learns_all_and_is_told_that_rows_hang_together():
    notes = replay(tacit.LinUCB(dim=coming_back(60, 5).dim), coming_back(60, 5)).notes
    assert any("of 5 persons" in note for note in notes)
    assert not any("The unit is a person" in note for note in notes)


def test_a_part_of_a_log_keeps_its_persons():
    assert coming_back(20, 7).part(5, 9).persons.tolist() == [5, 6, 0, 1]


@pytest.mark.parametrize(("given", "told"), [({}, True), ({"person": "who"}, True), ({"features": ["person"]}, False)])
def test_persons_of_a_file_are_numbered_and_their_ids_forgotten(tmp_path, given, told):
    name = given.get("person", "person")
    ids = [907, 411, 907, 655]
    frame = pd.DataFrame({"action": [0, 1, 0, 1], "reward": 1.0, "propensity": 0.5, name: ids})
    frame.to_csv(tmp_path / "log.csv", index=False)
    log = read_log(tmp_path / "log.csv", low=0, high=1000, **given)
    assert (None if log.persons is None else log.persons.tolist()) == ([0, 1, 0, 2] if told else None)


@pytest.mark.parametrize(
    ("persons", "message"),
    [(np.zeros(3), "one per row"), (np.full(4, 0.5), "whole numbers, got 4 of 4")],
)
def test_persons_that_are_no_numbers_of_rows_are_refused(persons, message):
    with pytest.raises(BadInput, match=message):
        Log(
            actions=np.zeros(4),
            rewards=np.zeros(4),
            propensities=np.ones(4),
            contexts=CONTEXTS,
            arms=2,
            persons=persons,
        )
