"""The one writer: what is durable when, what a failing store leaves behind, and what a clock of decisions promises."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import asynccontextmanager

import numpy as np
import pytest

from tacit.errors import AlreadyClosed, BadInput, StoreUnavailable, UnknownDeployment
from tacit.service import chain, writing
from tests.service.inside import (
    EVERY,
    IN_ORDER,
    Clock,
    Gate,
    asked,
    bounded,
    decide,
    expected_sums,
    failed,
    held_up,
    live_sums,
    once,
    recovered,
    releases,
    reward,
    run,
    running,
    stored_sums,
)

GEOMETRIC = {"dim": 2, "epsilon": 10.0, "delta": 0.1}


# Group commit ---------------------------------------------------------------------------------------------------------


def test_requests_that_come_during_a_commit_share_the_next_one(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            made = [await bounded(decide(engine)) for _ in range(50)]
            async with held_up(engine):
                futures = [reward(engine, one.decision, 0.5) for one in made]
                before = engine.store.db.commits
            await bounded(asyncio.gather(*futures))
            # The one that was on its way, one for all fifty, and at most one of the sweep that runs beside them.
            assert engine.store.db.commits - before <= 3

    run(main)


def test_nobody_is_answered_before_the_commit(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            async with held_up(engine) as gate:
                future = decide(engine)
                engine.store.db.before = again = Gate()
                gate.opened.set()
                await again.is_reached()  # it is being committed
                assert not future.done()
                again.opened.set()
            await bounded(future)

    run(main)


def test_a_decision_keeps_its_number_when_a_reward_shares_its_transaction(tmp_path):
    # A reward writes down what has been decided before it; the count must be written with it.
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            first = await bounded(decide(engine))
            async with held_up(engine):
                second = decide(engine)
                later = reward(engine, first.decision, 0.5)
            await bounded(asyncio.gather(second, later))
            found = engine.find("one")
            assert engine.store.deployment(found.uid).made == found.made == 2
        async with running(tmp_path / "s.db") as engine:
            third = await bounded(decide(engine))
            assert third.decision not in (first.decision, second.result().decision)

    run(main)


# A release is durable before anybody is served from it ----------------------------------------------------------------


@asynccontextmanager
async def releasing(engine):
    """Inside, a second decision has made the clock release, and that release is on its way to the disk."""
    engine.store.db.before = gate = Gate()
    second = decide(engine)
    try:
        await gate.is_reached()
        yield second
    finally:
        engine.store.db.before = None
        gate.opened.set()


def test_a_choice_after_a_release_waits_until_the_release_is_durable(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            found = await engine.create("one", asked())
            await bounded(decide(engine))  # the tick of this one is made before the next is chosen
            async with releasing(engine) as second:
                assert found.live.stage == 1  # released, not yet durable
                assert found.live.published.stage[0] == 0
                assert found.version == 1
                assert not second.done()
            assert (await bounded(second)).view == 2
            assert found.live.published.stage[0] == 1

    run(main)


def test_what_is_shown_while_a_release_is_on_its_way_is_what_was_published(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            found = await engine.create("one", asked())
            await bounded(decide(engine))
            async with releasing(engine) as second:
                meanwhile = json.loads(found.view_text())
                assert meanwhile["version"] == 1
                assert meanwhile["arrays"]["stage"] == [0]
            await bounded(second)
            after = json.loads(found.view_text())
            assert after["version"] == 2
            assert after["arrays"]["stage"] == [1]

    run(main)


def test_a_release_that_did_not_become_durable_was_never_served_and_is_not_in_the_ledger(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            found = await engine.create("one", asked())
            await bounded(decide(engine))
            shown = found.view_text()
            engine.store.db.before = once()
            await failed(engine, decide(engine))
            assert found.version == 1
            assert found.view_text() == shown
            assert releases(engine) == []
            assert (await bounded(decide(engine))).view == 2
            assert releases(engine) == [(1, 1)]
            chain.verify(engine.store)

    run(main)


# A transaction that fails ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["before", "after"])
def test_after_a_failed_or_ambiguous_commit_the_store_says_what_is_true(tmp_path, lost):
    """`before`: the commit fails. `after`: it succeeds and the answer is lost; whoever sends it again counts once."""

    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            made = [await bounded(decide(engine, key=f"k{n}")) for n in range(4)]
            await bounded(reward(engine, made[0].decision, 0.25))
            async with held_up(engine) as gate:
                futures = [
                    reward(engine, made[1].decision, 0.5),
                    reward(engine, made[2].decision, -0.5),
                    decide(engine, key="new"),
                ]
                if lost == "before":
                    engine.store.db.before = once()
                else:
                    engine.store.db.after = once(after=1)  # the one that is on its way arrives
                gate.opened.set()
                await failed(engine, *futures)

            rows = [(made[0].index, 0.25)]
            if lost == "after":
                rows += [(made[1].index, 0.5), (made[2].index, -0.5)]
            assert np.array_equal(stored_sums(engine), expected_sums(rows))
            assert np.array_equal(live_sums(engine.find("one").live), stored_sums(engine))

            # Everything again, twice: each counts once, and a key has one decision.
            for _ in range(2):
                assert await bounded(reward(engine, made[1].decision, 0.5)) == "reward"
                assert await bounded(reward(engine, made[2].decision, -0.5)) == "reward"
            again = [await bounded(decide(engine, key="new")) for _ in range(2)]
            assert again[0].decision == again[1].decision
            assert again[1].repeated
            with pytest.raises(AlreadyClosed):
                await bounded(reward(engine, made[1].decision, 0.75))
            rows = [(made[n].index, value) for n, value in enumerate((0.25, 0.5, -0.5))]
            assert np.array_equal(stored_sums(engine), expected_sums(rows))
            assert [number for number, _ in releases(engine)] == list(range(1, len(releases(engine)) + 1))
            chain.verify(engine.store)

    run(main)


def test_a_mistake_inside_a_transaction_is_told_as_unavailable_and_leaves_nothing(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            found = await engine.create("one", asked())
            made = await bounded(decide(engine))

            def wrong():
                found.reward(made.decision, 0.5, engine.now())
                raise ZeroDivisionError

            await failed(engine, engine.submit(wrong))
            assert np.array_equal(live_sums(found.live), np.zeros(5))
            assert await bounded(reward(engine, made.decision, 0.25)) == "reward"
            assert np.array_equal(stored_sums(engine), expected_sums([(made.index, 0.25)]))

    run(main)


def test_the_writer_survives_a_store_that_cannot_even_roll_back(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            db = engine.store.db
            rollback, fail = db.rollback, once(sqlite3.OperationalError("disk I/O error"))

            def stubborn():
                fail()
                rollback()

            db.before, db.rollback = once(), stubborn
            await failed(engine, decide(engine))
            await bounded(decide(engine))
            assert not engine.available, "a failure is remembered for a moment"
            engine._writer._failed_at -= writing._STEADY
            assert engine.available

    run(main)


def test_while_the_store_is_away_a_deployment_is_unavailable_and_not_unknown(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            found = await engine.create("one", asked())
            load, away = found.load, once()
            seen = []

            def unlucky():
                away()
                seen.append(engine.find("one"))
                load()

            engine.store.db.before, found.load = once(), unlucky
            future = decide(engine)
            with pytest.raises(StoreUnavailable):
                await bounded(future)
            await recovered(engine)
            assert seen == [found]  # when it was read again, and all the time before
            assert engine.find("one") is found

    run(main)


def test_a_deployment_whose_making_or_deletion_failed_is_as_the_store_has_it(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            engine.store.db.before = once()
            with pytest.raises(StoreUnavailable):
                await engine.create("one", asked())
            await recovered(engine)
            with pytest.raises(UnknownDeployment):
                engine.find("one")
            await engine.create("one", asked())
            first = await bounded(decide(engine, key="k"))
            engine.store.db.before = once()
            with pytest.raises(StoreUnavailable):
                await engine.delete("one")
            await recovered(engine)
            assert (await bounded(decide(engine, key="k"))).decision == first.decision
            await engine.delete("one")
            with pytest.raises(UnknownDeployment):
                engine.find("one")
            kinds = [entry["kind"] for _, _, entry, _ in engine.store.entries()]
            assert kinds == ["charged", "deleted"]

    run(main)


# The clock counts decisions -------------------------------------------------------------------------------------------


def _history(path, parameters, silent, **rest):
    """Forty decisions, each rewarded when the next but one has been made; `silent` never is. What each release held,
    when it came, and the row of `silent`."""

    async def main():
        held = {}
        async with running(path) as engine:
            found = await engine.create("one", asked(parameters, seed=5, **rest))

            def after():
                held.setdefault(found.live.stage, live_sums(found.live))

            engine.store.db.after = after
            waiting = []
            for number in range(40):
                made = await bounded(decide(engine, rows=[[1.0, 0.0]] if number % 2 else [[0.0, 1.0]]))
                waiting.append((number, made))
                if len(waiting) > 2:
                    late, old = waiting.pop(0)
                    if late != silent:
                        await bounded(reward(engine, old.decision, late / 64))
            segments = np.diff([held[stage] for stage in sorted(held) if stage], axis=0)
            return segments, releases(engine)

    return run(main)


def _only_difference(tmp_path, parameters, silent, **rest):
    segments, clocks = _history(tmp_path / "a.db", parameters, None, **rest)
    quiet, same_clocks = _history(tmp_path / "b.db", parameters, silent, **rest)
    assert clocks == same_clocks
    assert len(clocks) > 3
    differing = np.flatnonzero((segments != quiet).any(axis=1))
    assert len(differing) == 1
    return segments[differing[0]] - quiet[differing[0]]


@pytest.mark.parametrize("parameters", [EVERY, GEOMETRIC], ids=["every decision", "geometric"])
def test_one_persons_silence_moves_no_release_and_no_other_row(tmp_path, parameters):
    assert np.array_equal(_only_difference(tmp_path, parameters, 16), expected_sums([(1, 16 / 64)]))


def test_in_order_too_a_silent_row_keeps_its_place_as_zeros(tmp_path):
    gap = _only_difference(tmp_path, IN_ORDER, 16, closes_after_decisions=4)
    assert np.array_equal(gap, expected_sums([(1, 16 / 64)]))


# Closing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("default", [None, 0.5])
@pytest.mark.parametrize("parameters", [EVERY, IN_ORDER], ids=["arrival", "in order"])
def test_a_decision_that_expires_closes_exactly_once(tmp_path, default, parameters):
    async def main():
        clock = Clock()
        async with running(tmp_path / "s.db", now=clock) as engine:
            found = await engine.create("one", asked(parameters, closes_after=10.0, default_reward=default))
            made = [await bounded(decide(engine)) for _ in range(3)]
            await bounded(reward(engine, made[1].decision, 0.25))
            clock.time += 11.0
            # Between its end and its closing nobody may reward it any more.
            with pytest.raises(AlreadyClosed) as caught:
                await bounded(reward(engine, made[0].decision, 0.25))
            assert caught.value.gone
            for _ in range(3):
                await bounded(engine.submit(lambda: engine._close(found)))
            rows = [(made[1].index, 0.25)]
            if default is not None:
                rows += [(made[n].index, default) for n in (0, 2)]
            assert np.array_equal(stored_sums(engine), expected_sums(rows))
            assert engine.store.count_pending(found.uid, 10) == 0
            for n in (0, 2):
                with pytest.raises(AlreadyClosed) as caught:
                    await bounded(reward(engine, made[n].decision, 0.25))
                assert caught.value.gone
            assert await bounded(reward(engine, made[1].decision, 0.25)) == "reward"
        async with running(tmp_path / "s.db", now=clock) as engine:
            await bounded(engine.submit(lambda: engine._close(engine.find("one"))))
            assert np.array_equal(stored_sums(engine), expected_sums(rows))

    run(main)


def test_what_was_kept_to_recognise_repeats_is_forgotten_in_time(tmp_path):
    async def main():
        clock = Clock()
        async with running(tmp_path / "s.db", now=clock) as engine:
            found = await engine.create("one", asked(closes_after=10.0))
            made = await bounded(decide(engine, key="k"))
            await bounded(reward(engine, made.decision, 0.5))
            clock.time += 21.0
            await bounded(engine.submit(lambda: engine.store.forget(found.uid, clock.time, 100, 1e18)))
            for table in ("closed", "client_keys", "pending"):
                assert engine.store.db.one(f"SELECT COUNT(*) FROM {table}")[0] == 0
            with pytest.raises(AlreadyClosed):  # and still it does not count twice
                await bounded(reward(engine, made.decision, 0.5))
            assert np.array_equal(stored_sums(engine), expected_sums([(made.index, 0.5)]))

    run(main)


# People ---------------------------------------------------------------------------------------------------------------


def test_no_more_rows_of_a_person_are_learned_than_the_promise_covers(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked(GEOMETRIC, person_rounds=2))
            with pytest.raises(BadInput):
                await bounded(decide(engine))
            made = [await bounded(decide(engine, person="ada", rows=[[1.0, 0.0]])) for _ in range(5)]
            other = await bounded(decide(engine, person="bob", rows=[[0.0, 1.0]]))
            for one in made:
                assert await bounded(reward(engine, one.decision, 0.5)) == "reward"
            await bounded(reward(engine, other.decision, 0.25))
            assert np.array_equal(stored_sums(engine), expected_sums([(0, 0.5), (0, 0.5), (1, 0.25)]))
        async with running(tmp_path / "s.db") as engine:  # the count outlives the process
            made = await bounded(decide(engine, person="ada"))
            await bounded(reward(engine, made.decision, 0.5))
            assert np.array_equal(stored_sums(engine), expected_sums([(0, 0.5), (0, 0.5), (1, 0.25)]))

    run(main)


def test_erasing_a_person_forgets_what_is_open_and_moves_nobody_else(tmp_path):
    async def main():
        clock = Clock()
        async with running(tmp_path / "s.db", now=clock) as engine:
            found = await engine.create("one", asked(GEOMETRIC, person_rounds=2))
            ada = [await bounded(decide(engine, person="ada", key=f"a{n}")) for n in range(2)]
            bob = await bounded(decide(engine, person="bob"))
            await bounded(reward(engine, ada[0].decision, 0.5))
            before = found.live.clock
            assert await bounded(engine.submit(lambda: found.erase("ada", clock.time))) == 1
            assert await bounded(engine.submit(lambda: found.erase("ada", clock.time))) == 0
            with pytest.raises(AlreadyClosed) as caught:
                await bounded(reward(engine, ada[1].decision, 0.5))
            assert caught.value.gone
            assert "erased" in str(caught.value)
            await bounded(reward(engine, bob.decision, 0.25))
            assert np.array_equal(stored_sums(engine), expected_sums([(ada[0].index, 0.5), (bob.index, 0.25)]))
            assert found.live.clock == before
            # Her count stays, as a hash: the limit still holds.
            for _ in range(2):
                one = await bounded(decide(engine, person="ada"))
                await bounded(reward(engine, one.decision, 0.125))
            assert stored_sums(engine)[[0, 2]].sum() == 3

    run(main)


# The end of the horizon -----------------------------------------------------------------------------------------------


def test_when_the_horizon_is_spent_decisions_go_on_and_learning_stops(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            found = await engine.create("one", asked({**EVERY, "horizon": 5}))
            for _ in range(5):
                made = await bounded(decide(engine))
                await bounded(reward(engine, made.decision, 0.5))
            assert found.learning
            sums = None
            for _ in range(5):
                made = await bounded(decide(engine))
                sums = stored_sums(engine) if sums is None else sums
                record = engine.store.pending(found.uid, found.made - 1).record
                assert record[1:] == b""  # nothing is kept of somebody nothing is learned from
                assert await bounded(reward(engine, made.decision, 0.5)) == "reward"
            assert not found.learning
            assert "horizon of 5" in found.why_not
            assert np.array_equal(stored_sums(engine), sums)
            assert releases(engine) == [(n, n) for n in range(1, 5)]
            assert found.guarantee.epsilon <= 10.0

    run(main)
