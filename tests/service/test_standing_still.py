"""A deployment that cannot be read, or has failed: it stands still, goes on from what is stored or not at all, and
keeps nobody else waiting."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import numpy as np
import pytest

from tacit.core.sealed import new_key
from tacit.errors import BadInput, DeploymentFailed, StoreUnavailable, TacitError, UnknownDeployment
from tacit.service import engine as engine_module
from tacit.service import settings
from tacit.service.deciding import Deciding, Request
from tacit.service.live import Live
from tacit.service.writing import Writer
from tests.service.inside import (
    IN_ORDER,
    Clock,
    asked,
    bounded,
    decide,
    expected_sums,
    held_up,
    once,
    recovered,
    releases,
    reward,
    run,
    running,
    stored_sums,
)

DAMAGED = b"\x01" + b"x" * 40


def failing(real, name="one", times=1):
    """Instead of a method of a deployment: raises so many times for this one."""
    left = {"times": times}

    def method(self, *arguments):
        if self.name == name and left["times"]:
            left["times"] -= 1
            raise MemoryError
        return real(self, *arguments)

    return method


async def until(condition):
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError


async def served(engine, name="one", rounds=1):
    found = []
    for _ in range(rounds):
        made = await bounded(decide(engine, name))
        await bounded(reward(engine, made.decision, 0.5, name))
        found.append((made.index, 0.5))
    return found


# Going on -------------------------------------------------------------------------------------------------------------


def test_whoever_is_resumed_after_it_could_not_be_read_goes_on_from_what_is_stored(tmp_path, monkeypatch):
    """From empty sums it would release the same numbers once more, and write over everything that was learned."""
    path, rows = tmp_path / "s.db", []

    async def first():
        async with running(path) as engine:
            await engine.create("one", asked())
            rows.extend(await served(engine, rounds=4))
            assert releases(engine) == [(1, 1), (2, 2), (3, 3)]

    run(first)
    monkeypatch.setattr(Deciding, "read", failing(Deciding.read, times=2))

    async def second():
        async with running(path) as engine:
            found = engine.find("one")
            assert found.failed
            with pytest.raises(DeploymentFailed):
                found.check_read()  # nothing was read, and so nothing is shown
            await engine.set_state("one", "paused")
            assert found.failed
            with pytest.raises(DeploymentFailed, match="Nothing was changed"):
                await engine.set_state("one", "serving")
            assert (found.failed, found.state) == (True, "paused")
            await engine.set_state("one", "serving")
            found.check_read()
            rows.extend(await served(engine, rounds=2))
            assert np.array_equal(stored_sums(engine), expected_sums(rows))
            assert releases(engine) == [(n, n) for n in range(1, 6)]

    run(second)


def test_a_release_that_could_not_be_published_is_published_by_whoever_resumes(tmp_path, monkeypatch):
    """It waited for a commit that had happened, for ever, and so did everybody else."""

    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            await engine.create("two", asked())
            await bounded(decide(engine))
            real, failed = Live.publish, []

            def publish(self):
                if not failed:
                    failed.append(self)
                    raise MemoryError
                real(self)

            monkeypatch.setattr(Live, "publish", publish)
            with pytest.raises(DeploymentFailed):
                await bounded(decide(engine))
            await engine.set_state("one", "serving")
            assert (await bounded(decide(engine))).view == 2
            await bounded(decide(engine, "two"))
            assert releases(engine) == [(1, 1)]

    run(main)


# Nobody else ----------------------------------------------------------------------------------------------------------


def test_one_that_cannot_be_read_again_keeps_nobody_else_from_being_served(tmp_path):
    """Any hiccup makes everything be read again; one damaged record must not make that impossible."""

    async def main():
        async with running(tmp_path / "s.db", key=new_key()) as engine:
            await engine.create("one", asked())
            bad = await engine.create("bad", asked())
            await served(engine, "bad", 3)
            before = engine.store.leaves(bad.uid)
            sums = {**before, "vault/sums": DAMAGED}

            def damage():
                engine.store.db.run(
                    "UPDATE leaves SET data = ? WHERE uid = ? AND name = 'vault/sums'", (DAMAGED, bad.uid)
                )

            await bounded(engine.submit(damage))
            engine.store.db.before = once()
            with pytest.raises(StoreUnavailable):
                await bounded(decide(engine, "bad"))
            await recovered(engine)
            await served(engine)
            assert bad.failed
            assert bad.unread
            with pytest.raises(DeploymentFailed):
                await bounded(decide(engine, "bad"))
            assert engine.store.leaves(bad.uid) == sums, "nothing was written over what could not be read"

    run(main)


def test_one_that_cannot_be_warmed_keeps_nobody_else_from_being_served(tmp_path, monkeypatch):
    path = tmp_path / "s.db"

    async def first():
        async with running(path) as engine:
            await engine.create("one", asked())
            await engine.create("two", asked())

    run(first)
    monkeypatch.setattr(Deciding, "warm", failing(Deciding.warm))

    async def second():
        async with running(path) as engine:
            assert engine.find("one").failed
            await served(engine, "two")
            await engine.set_state("one", "serving")
            await served(engine)

    run(second)


def test_an_erasure_that_fails_is_its_own_deployments_trouble(tmp_path):
    async def main():
        async with running(tmp_path / "s.db", key=new_key()) as engine:
            await engine.create("one", asked())
            config = {"arms": 3, "epsilon": 1.0, "delta": 1e-6, "person_rounds": 2}
            bad = await engine.create("bad", settings.ask("renyi-ucb", config))
            await bounded(engine.submit(partial(bad.decide, Request(None, "p"), engine.now()), bad))
            await bounded(engine.submit(lambda: engine.store.db.run("UPDATE pending SET record = ?", (DAMAGED,))))
            async with held_up(engine):
                before = decide(engine)
                erasing = asyncio.ensure_future(engine.erase(bad, "p"))
                await asyncio.sleep(0)
                after = decide(engine)
            await bounded(asyncio.gather(before, after))
            with pytest.raises(TacitError):
                await bounded(erasing)
            assert bad.failed
            assert engine.available

    run(main)


def test_what_was_made_in_a_transaction_that_failed_is_asked_nothing(tmp_path, monkeypatch):
    """Somebody may find it before everything has been read again. A decision of it would be written nowhere."""
    real = Writer._reload

    def slowly(self):
        time.sleep(0.3)
        real(self)

    monkeypatch.setattr(Writer, "_reload", slowly)

    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("zero", asked())

            def half():
                engine.store.set_meta("half", "done")
                raise BadInput("Expected better.")

            async with held_up(engine):
                creating = asyncio.ensure_future(engine.create("one", asked()))
                await until(lambda: any("create" in repr(work.run) for work in engine._writer._queue))
                bad = engine.submit(half)
            await until(lambda: "one" in engine.deployments)
            ghost = engine.find("one")
            early = [decide(engine), decide(engine)]
            other = decide(engine, "zero")
            with pytest.raises(BadInput):
                await bounded(bad)
            made = await bounded(creating)
            assert made is not ghost
            await bounded(other)
            for one in early:
                with pytest.raises(UnknownDeployment):
                    await bounded(one)
            await served(engine)

    run(main)


def test_what_waits_for_its_own_commits_keeps_nobody_else_waiting(tmp_path, monkeypatch):
    """In order, a release for each of many decisions that are over: another deployment is served meanwhile."""
    monkeypatch.setattr(engine_module, "_SWEEP", 1000.0)
    clock = Clock()

    async def main():
        async with running(tmp_path / "s.db", now=clock) as engine:
            await engine.create("one", asked(IN_ORDER, closes_after=100.0))
            await engine.create("two", asked())
            await bounded(asyncio.gather(*[decide(engine) for _ in range(50)]))
            clock.time += 101.0
            before = engine.store.db.commits
            late, later, other = decide(engine), decide(engine), decide(engine, "two")
            await bounded(other)
            assert engine.store.db.commits - before <= 2
            first, second = await bounded(asyncio.gather(late, later))
            found = engine.find("one")
            numbers = [found.secret.number(one.decision) for one in (first, second)]
            assert numbers == [50, 51], "in the order in which they came"
            assert len(releases(engine)) == 50

    run(main)


# Before anything is written -------------------------------------------------------------------------------------------


def test_features_beyond_all_bounds_are_refused_before_anything_is_written(tmp_path, monkeypatch):
    """Found out in the middle of a decision they would cost everybody a rollback."""

    async def main():
        async with running(tmp_path / "s.db") as engine:
            found = await engine.create("one", asked(closes_after_decisions=1))
            for value in (1e200, -1e101):
                await bounded(decide(engine))
                with pytest.raises(BadInput, match=r"Expected actions\[1\]\.features\[0\] .* within 1e100") as refused:
                    found.check([[0.0, 1.0], [value, 0.0]])
                assert refused.value.field == "actions[1].features[0]"
                assert str(value) not in str(refused.value)
            assert found.check([[1e100, 0.0]]) is not None

    run(main)


def test_repeats_are_forgotten_in_time_though_a_clock_was_ahead(tmp_path):
    clock = Clock()

    async def main():
        async with running(tmp_path / "s.db", now=clock) as engine:
            found = await engine.create("one", asked(closes_after=10.0))
            clock.time += 365 * 86_400
            await served(engine, rounds=3)
            clock.time -= 365 * 86_400
            await served(engine, rounds=3)

            def forget():
                while engine.store.forget(found.uid, clock.time, 2, clock.time + 80.0):
                    pass
                return engine.store.db.one("SELECT COUNT(*) FROM closed")[0]

            clock.time += 21.0
            assert await bounded(engine.submit(forget)) == 6, "those of the future come first, and are over soon"
            clock.time += 81.0
            assert await bounded(engine.submit(forget)) == 0

    run(main)
