"""Whose rounds are learned from: never a matter of what they answered, and never another's."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.service import settings
from tacit.service.deciding import Request
from tacit.service.live import Live
from tests.service.inside import Clock, bounded, reward, run, running

BOTH = {"epsilon": 1.0, "delta": 1e-5, "person_rounds": 1}
#: Policies over a list, which learn in the order of decisions.
LISTS = {"renyi-ucb": {"arms": 2, **BOTH}, "laplace-ucb": {"arms": 2, "epsilon": 1.0, "person_rounds": 2}}
OFUL = {"dim": 2, "horizon": 1000, **BOTH}


@pytest.fixture
def learned(monkeypatch):
    """What is learned, row by row: the row and its reward."""
    found = []
    learn = Live.learn

    def told(self, row, value):
        if not self._session.seeded:  # not the twin that the machine code is compiled with
            found.append((tuple(row), value))
        return learn(self, row, value)

    monkeypatch.setattr(Live, "learn", told)
    return found


def ask(engine, person, *, key=None, rows=None, ids=None):
    request = Request(None if rows is None else np.array(rows, float), person, key, ids)
    found = engine.find("one")
    return engine.submit(partial(found.decide, request, engine.now()), found)


async def made(engine, policy, parameters, **rest):
    return await engine.create("one", settings.ask(policy, parameters, **rest))


def play(path, policy, parameters, answers, people):
    """Everybody in turn; `answers` are rewards or None. Each closes when the next is decided."""

    async def main():
        async with running(path) as engine:
            await made(engine, policy, parameters, closes_after_decisions=1)
            rows = None if engine.find("one").live.list is not None else np.eye(2)
            for person, value in zip(people, answers, strict=True):
                decision = await bounded(ask(engine, person, rows=rows))
                if value is not None:
                    await bounded(reward(engine, decision.decision, value))
            await bounded(ask(engine, "last", rows=rows))

    run(main)


@pytest.mark.parametrize("policy", ["renyi-ucb", "renyi-oful", pytest.param("laplace-ucb", marks=pytest.mark.long)])
def test_in_order_a_persons_answers_change_no_more_rewards_than_the_promise_covers(tmp_path, learned, policy):
    """Ann has three rounds, and one or two of them count: which ones must not depend on what she answers."""
    parameters = LISTS.get(policy, OFUL)
    people = ["ann", "bob", "ann", "cid", "ann", "dan"]
    others = {1: 0.5, 3: 0.25, 5: 0.75}
    worlds = []
    for number, hers in enumerate([(1.0, 1.0, 1.0), (None, 1.0, 1.0), (1.0, None, 1.0), (None, None, None)]):
        learned.clear()
        answers = [others.get(place, hers[place // 2]) for place in range(6)]
        play(tmp_path / f"{number}.db", policy, parameters, answers, people)
        worlds.append([value for _, value in learned])
    limit = parameters["person_rounds"]
    assert all(len(world) == 6 for world in worlds)
    for one in worlds:
        assert [one[place] for place in others] == list(others.values())
        for two in worlds:
            changed = {place for place in range(6) if one[place] != two[place]}
            assert changed <= set([0, 2, 4][:limit])


def test_where_silence_is_not_counted_the_test_above_fails(tmp_path, learned, monkeypatch):
    """The twin: a round without a reward does not count for its person."""
    from tacit.service.deciding import Deciding

    admit = Deciding._admit
    monkeypatch.setattr(Deciding, "_close", _forgetful(Deciding._close, admit))
    with pytest.raises(AssertionError):
        test_in_order_a_persons_answers_change_no_more_rewards_than_the_promise_covers(tmp_path, learned, "renyi-ucb")


def _forgetful(close, admit):
    def closes(self, pending, now):
        self._admit = (lambda person: True) if pending.reward is None else partial(admit, self)
        close(self, pending, now)

    return closes


@pytest.mark.parametrize(("policy", "parameters"), [("renyi-ucb", LISTS["renyi-ucb"]), ("renyi-oful", OFUL)])
def test_an_erased_round_keeps_its_place_and_counts_for_its_person(tmp_path, learned, policy, parameters):
    """The others' rows stay where they were; of a list the arm stays, of contexts nothing."""

    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            found = await made(engine, policy, parameters, closes_after_decisions=3)
            listed = found.live.list is not None
            rows = None if listed else np.eye(2)
            decisions = [await bounded(ask(engine, person, rows=rows)) for person in ("ann", "bob")]
            for decision in decisions:
                await bounded(reward(engine, decision.decision, 1.0))
            assert await engine.erase(found, "ann") == 1
            assert await engine.erase(found, "ann") == 0  # once
            for person in ("ann", "cid", "dan", "eve", "fay", "gil"):
                decision = await bounded(ask(engine, person, rows=rows))
                await bounded(reward(engine, decision.decision, 1.0))
            assert [value for _, value in learned[:4]] == [0.0, 1.0, 0.0, 1.0]  # ann's one round was the erased one
            first = learned[0][0]
            assert first == (tuple(found.live.list[decisions[0].index]) if listed else (0.0, 0.0))
            assert found.live.clock == len(learned)

    run(main)


def test_a_key_belongs_to_the_person_it_was_used_for(tmp_path):
    parameters = {"dim": 2, "releases": "geometric", **BOTH}

    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            await made(engine, "joint-linucb", parameters)
            asked = {"key": "K1", "rows": np.eye(2), "ids": ["x", "y"]}
            first = await bounded(ask(engine, "ann", **asked))
            assert (await bounded(ask(engine, "ann", **asked))).decision == first.decision
            with pytest.raises(BadInput, match="Use a new key"):
                await bounded(ask(engine, "bob", **asked))
            with pytest.raises(BadInput, match="Expected a person"):
                await bounded(ask(engine, None, **asked))
            assert engine.find("one").made == 1

    run(main)


def test_a_key_of_a_list_belongs_to_its_person_too(tmp_path):
    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            await made(engine, "renyi-ucb", LISTS["renyi-ucb"])
            first = await bounded(ask(engine, "ann", key="K1"))
            assert await bounded(ask(engine, "ann", key="K1")) == replace(first, repeated=True)
            with pytest.raises(BadInput, match="Use a new key"):
                await bounded(ask(engine, "bob", key="K1"))

    run(main)


def test_what_is_over_is_forgotten_as_fast_as_it_comes(tmp_path):
    """More than one sweep removes in one go, of both kinds; and an erasure finds its keys without a search."""
    clock = Clock()

    async def main():
        async with running(tmp_path / "tacit.db", now=clock) as engine:
            found = await made(engine, "joint-linucb", {"dim": 2, **BOTH}, closes_after=10.0)
            many = 12_000
            await engine.submit(lambda: _keep(found, many, clock.time - 1))
            plan = engine.store.db.all(
                "EXPLAIN QUERY PLAN DELETE FROM client_keys WHERE uid = ? AND number = ?", (found.uid, 1)
            )
            assert "client_keys_number" in str(plan)
            async with asyncio.timeout(30):
                while await engine.submit(partial(_kept, engine.store)) != (0, 0):
                    await asyncio.sleep(0.1)

    run(main)


def _keep(found, many, until):
    db = found.store.db
    db.run_many(
        "INSERT INTO closed (uid, number, how, tag, until) VALUES (?, ?, 'reward', NULL, ?)",
        [(found.uid, number, until) for number in range(many)],
    )
    db.run_many(
        "INSERT INTO client_keys (uid, token, number, answer, until) VALUES (?, ?, ?, ?, ?)",
        [(found.uid, b"%16d" % number, number, b"", until) for number in range(many)],
    )


def _kept(store):
    return tuple(store.db.one(f"SELECT COUNT(*) FROM {table}")[0] for table in ("closed", "client_keys"))
