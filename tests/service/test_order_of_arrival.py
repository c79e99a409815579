"""Rows that are learned as they come: which release one belongs to depends on when it came, and on nothing else.

Not on how many came with it, on who absorbs it, or on when whoever learns finds the time. The same requests are sent
to one process, which absorbs a reward as it comes, and to a replica that looks at what has come only now and then; with
transactions of a few rows, so that there are many places at which a row could slip into the wrong one.
"""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest

from tacit.errors import AlreadyClosed
from tacit.service import engine as engine_module
from tacit.service import learning
from tests.service.inside import EVERY, Clock, asked, bounded, decide, expected_sums, live_sums, reward, run, running
from tests.service.test_replicas import until

#: Choices draw nothing: replicas choose from noise of their own, and only the noise of releases is to be the same.
SELDOM = {"dim": 2, "epsilon": 10.0, "delta": 0.1, "exploration": "optimism"}
PEOPLE = {**SELDOM, "person_rounds": 3}


@pytest.fixture(autouse=True)
def few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(learning, "PORTION", 3)
    monkeypatch.setattr(engine_module, "_SWEEP", 1000.0)


def story(seed, rounds=60):
    """What happens, in its order: decisions, their rewards in any order and after any time, looks, and time."""
    rng, waiting = random.Random(seed), []
    for number in range(rounds):
        yield "decide", number
        waiting.append(number)
        for _ in range(rng.choice((0, 0, 1, 2, 5))):
            if waiting:
                yield "reward", waiting.pop(rng.randrange(len(waiting)))
            if rng.random() < 0.3:
                yield "look", None
        if rng.random() < 0.1:
            yield "time", None
    yield "decide", rounds  # whatever came before it is released


def told(url, witness, parameters, seed, *, looks, silent=None, **rest):
    """Tell it; the exact sums of each release, and what the ledger says of them."""

    async def main():
        clock, held, made = Clock(), {0: np.zeros(5)}, {}
        async with running(url, witness=witness, now=clock) as engine:
            found = await engine.create("one", asked(parameters, seed=5, **rest))
            if engine.shared:
                await until(lambda: engine.leases == 1)
            follow = engine._replicas._follow
            engine._replicas._follow = lambda: False

            def after():
                held.setdefault(found.live.stage, live_sums(found.live))

            engine.store.db.after = after

            async def look():
                while engine.shared and await bounded(engine.submit(follow)):
                    pass

            for what, number in story(seed):
                if what == "decide":
                    person = f"p{number % 7}" if found.people is not None else None
                    rows = [[1.0, 0.0]] if number % 2 else [[0.0, 1.0]]
                    made[number] = (await bounded(decide(engine, rows=rows, person=person))).decision
                elif what == "reward" and number != silent:
                    with suppress(AlreadyClosed):  # too late, for whoever learns as for everybody
                        await bounded(reward(engine, made[number], number / 64))
                elif what == "look" and looks:
                    await look()
                elif what == "time" and rest:
                    await look()  # whoever learns is there when time is over, and has the lease
                    clock.time += rest["closes_after"] / 3
                    while await bounded(engine.submit(lambda: engine._close(found), found)):
                        pass
            await look()
            entries = [entry for _, _, entry, _ in engine.store.entries() if entry["kind"] == "release"]
            sums = [held[stage] for stage in sorted(held)]
            return np.diff(sums, axis=0), [(one["release"], one["clock"], one["view"]) for one in entries]

    return run(main)


CASES = {
    "a release with every decision": (EVERY, {}),
    "releases at growing times": (SELDOM, {}),
    "persons": (PEOPLE, {}),
    "a default for whoever says nothing": (EVERY, {"default_reward": -0.25, "closes_after": 30.0}),
}


@pytest.mark.parametrize(("parameters", "rest"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_replicas_release_what_one_process_does_whenever_they_look(server, tmp_path, parameters, rest, seed):
    _, alone = told(tmp_path / "s.db", None, parameters, seed, looks=False, **rest)
    assert len(alone) > 4
    for looks in (False, True):
        _, found = told(server.database(), tmp_path / f"w{looks}", parameters, seed, looks=looks, **rest)
        assert found == alone


EACH, GROWING = list(CASES)[:2]
SILENT = [
    pytest.param(*CASES[EACH], False, id=f"{EACH}-one process"),
    pytest.param(*CASES[GROWING], False, id=f"{GROWING}-one process"),
    pytest.param(*CASES[EACH], True, id=f"{EACH}-replica"),
    pytest.param(*CASES[GROWING], True, id=f"{GROWING}-replica", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("parameters", "rest", "shared"), SILENT)
def test_one_persons_silence_moves_no_other_row(server, tmp_path, parameters, rest, shared):
    def history(name, silent):
        url = server.database() if shared else tmp_path / f"{name}.db"
        return told(url, tmp_path / name, parameters, 3, looks=True, silent=silent, **rest)

    whole, clocks = history("a", None)
    for silent in (8, 21, 34):
        quiet, same = history(f"b{silent}", silent)
        assert [one[:2] for one in same] == [one[:2] for one in clocks]
        gaps = whole - quiet
        (moved,) = np.flatnonzero(gaps.any(axis=1))
        assert np.array_equal(gaps[moved], expected_sums([(silent % 2 == 0, silent / 64)]))


def test_of_many_who_say_nothing_all_defaults_come_before_the_next_release(tmp_path):
    """Where one transaction ends must not decide which release somebody's default belongs to."""
    clock = Clock()

    async def main():
        async with running(tmp_path / "s.db", now=clock) as engine:
            found = await engine.create("one", asked(default_reward=0.5, closes_after=10.0))
            answered = (await bounded(decide(engine))).decision
            for _ in range(10):
                await bounded(decide(engine))
            await bounded(reward(engine, answered, 0.25))
            clock.time += 11.0
            await bounded(engine.submit(lambda: engine._close(found), found))  # once: three rows at most are absorbed
            assert live_sums(found.live)[[0, 2]].sum() == 4
            with pytest.raises(AlreadyClosed, match="expired, with the configured default"):
                await bounded(reward(engine, found.secret.identity(10), 1.0))
            stage = found.live.stage
            held = []
            engine.store.db.after = lambda: held.append((found.live.stage, live_sums(found.live)[[0, 2]].sum()))
            await bounded(decide(engine))
            assert next(rows for now, rows in held if now == stage + 1) == 11
            engine.store.db.after = None

    run(main)


def test_rewards_that_came_before_the_horizon_was_spent_count_whoever_was_away(server, tmp_path):
    async def main(url):
        async with running(url, witness=tmp_path / "w") as engine:
            found = await engine.create("one", asked({**EVERY, "horizon": 10}))
            if engine.shared:
                await until(lambda: engine.leases == 1)
            follow, engine._replicas._follow = engine._replicas._follow, lambda: False  # away for a moment
            for _ in range(10):
                made = await bounded(decide(engine))
                await bounded(reward(engine, made.decision, 0.5))
            assert found.learning
            late = (await bounded(decide(engine))).decision
            await bounded(reward(engine, late, 0.5))
            while engine.shared and await bounded(engine.submit(follow)):
                pass
            assert live_sums(found.live)[[0, 2]].sum() == 10
            assert (found.rounds_left, found.learning) == (0, False)
            assert engine.store.count_pending(found.uid, 10) == 0
            return found.live.stage

    alone = run(lambda: main(tmp_path / "s.db"))
    (tmp_path / "w").unlink()
    assert run(lambda: main(server.database())) == alone > 8
