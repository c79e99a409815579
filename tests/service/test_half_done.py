"""What is refused leaves nothing behind, and what one deployment cannot read or write is nobody else's trouble."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from tacit.core.sealed import new_key
from tacit.errors import BadInput, DeploymentFailed, StoreRefused, StoreUnavailable, TacitError
from tacit.service import engine as engine_module
from tacit.service import settings, writing
from tacit.service.opening import open_store
from tests.service.inside import (
    IN_ORDER,
    Clock,
    asked,
    bounded,
    decide,
    expected_sums,
    held_up,
    reward,
    run,
    running,
    stored_sums,
)


def kinds(store):
    return [entry["kind"] for _, _, entry, _ in store.entries()]


# Refused deployments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "parameters"),
    [
        ("randomised-response", {"dim": 2, "epsilon": 1.0}),  # local, and a program of one piece
        ("local-linucb", {"dim": 400, "epsilon": 1.0, "delta": 1e-6, "horizon": 1000}),  # a report that is too long
        ("shuffle-linucb", {"dim": 2, "epsilon": 1.0, "delta": 1e-6, "horizon": 10**9, "batch": 700_000}),
        ("local-linucb", {"dim": 2, "epsilon": 1.0, "delta": 1e-6, "horizon": 1000, "parameter_norm": 1e101}),
        ("anytime-linucb", {"dim": 3, "epsilon": 1.0, "delta": 1e-6, "width": 1e308}),
        ("linucb", {"dim": 3, "width": 1e308, "noise_level": 1e308}),
        ("joint-linucb", {"dim": 4096, "epsilon": 1.0, "delta": 1e-6, "horizon": 10**6}),
        ("joint-linucb", {"dim": 3, "epsilon": 1.0, "delta": 1e-6, "views": 7_777_777}),
        ("joint-linucb", {"dim": 3, "epsilon": 10**400, "delta": 1e-6}),
        ("renyi-oful", {"dim": 3, "horizon": 100, "rho": 1.0, "parameter_norm": None}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_deployment_that_cannot_be_leaves_nothing_and_the_store_opens_again(tmp_path, policy, parameters):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())

            async def create():
                return await engine.create("other", settings.ask(policy, parameters))

            with pytest.raises(TacitError) as caught:
                await bounded(create())
            assert not isinstance(caught.value, StoreUnavailable)
            assert list(engine.deployments) == ["one"]
            await bounded(decide(engine))
            assert kinds(engine.store) == ["charged"]
        async with running(tmp_path / "s.db") as engine:
            assert list(engine.deployments) == ["one"]
            await bounded(decide(engine))

    run(main)


def test_a_work_that_is_refused_after_it_has_written_is_undone_and_the_others_are_done(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            made = await bounded(decide(engine))

            def half():
                engine.store.set_meta("half", "done")
                raise BadInput("Expected better, got this.")

            async with held_up(engine):
                before, wrong = reward(engine, made.decision, 0.5), engine.submit(half)
                after, refused = decide(engine), reward(engine, "f" * 32, 0.5)
            with pytest.raises(BadInput, match="Expected better"):
                await bounded(wrong)
            assert await bounded(before) == "reward"
            second = await bounded(after)
            with pytest.raises(BadInput, match="id of a decision"):
                await bounded(refused)
            assert engine.store.meta("half") is None
            assert engine.available
            await bounded(reward(engine, second.decision, 0.25))
            assert np.array_equal(stored_sums(engine), expected_sums([(made.index, 0.5), (second.index, 0.25)]))

    run(main)


def test_a_work_that_fails_whatever_is_done_about_it_is_given_up_and_the_others_go_on(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            await engine.create("two", asked())
            calls = []

            def stubborn():
                calls.append(1)
                raise RuntimeError

            async with held_up(engine):
                works = [decide(engine, "two"), engine.submit(stubborn, engine.find("one")), decide(engine, "two")]
            found = await bounded(asyncio.gather(*works, return_exceptions=True))
            assert isinstance(found[1], StoreUnavailable)
            assert len(calls) == writing._TRIES + 1
            assert len({found[0].decision, found[2].decision}) == 2
            assert engine.find("two").made == 2
            await bounded(decide(engine, "two"))

    run(main)


# Mistakes after the commit, and of the writer -------------------------------------------------------------------------


def test_whoever_fails_when_all_is_durable_stands_still_alone(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())
            bad = await engine.create("bad", asked())

            def committed():
                raise RuntimeError

            bad.committed = committed
            first = await bounded(decide(engine, "bad"))  # it is durable, and so it is answered
            assert first.index in (0, 1)
            assert bad.failed
            with pytest.raises(DeploymentFailed):
                await bounded(decide(engine, "bad"))
            await bounded(decide(engine))

    run(main)


def test_should_the_writer_end_nobody_waits_for_it_and_health_says_so(tmp_path):
    async def main():
        async with running(tmp_path / "s.db") as engine:
            await engine.create("one", asked())

            def end():
                raise RuntimeError

            engine._writer.committed = end
            await bounded(decide(engine))  # the one that ends it was durable
            for _ in range(100):
                if not engine.available:
                    break
                await asyncio.sleep(0.01)
            assert not engine.available
            with pytest.raises(StoreUnavailable):
                decide(engine)

    run(main)


# Records that do not open ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [None, IN_ORDER], ids=["arrival", "in order"])
def test_a_decision_that_does_not_open_fails_its_deployment_and_nothing_of_it_is_written(
    tmp_path, monkeypatch, parameters
):
    """Somebody has changed a byte of it in the store."""
    monkeypatch.setattr(engine_module, "_SWEEP", 0.02)
    path, key, clock = tmp_path / "s.db", new_key(), Clock()
    made = {}

    async def first():
        async with running(path, key=key, now=clock) as engine:
            options = {} if parameters is None else {"parameters": parameters}
            await engine.create("one", asked(**options, closes_after=10.0, default_reward=0.5))
            await engine.create("two", asked())
            made["ids"] = [(await bounded(decide(engine))).decision for _ in range(2)]

    async def second():
        async with running(path, key=key, now=clock) as engine:
            clock.time += 11.0
            for _ in range(500):
                if engine.find("one").failed:
                    break
                await asyncio.sleep(0.02)
            assert engine.find("one").failed
            with pytest.raises(DeploymentFailed):
                await bounded(decide(engine))
            await bounded(decide(engine, "two"))
            assert engine.available

    run(first)
    with closing(sqlite3.connect(path)) as connection:
        ((record,),) = connection.execute("SELECT record FROM pending WHERE number = 1").fetchall()
        changed = record[:-1] + bytes([record[-1] ^ 1])
        connection.execute("UPDATE pending SET record = ? WHERE number = 1", (changed,))
        connection.commit()
    run(second)
    with closing(sqlite3.connect(path)) as connection:
        left = dict(connection.execute("SELECT number, record FROM pending"))
        assert left[1] == changed, "what could not be read was not closed either"
        assert connection.execute("SELECT COUNT(*) FROM closed WHERE number = 1").fetchone() == (0,)


def test_a_deployment_that_cannot_be_read_stands_still_and_the_others_are_served(tmp_path, monkeypatch):
    path = tmp_path / "s.db"

    async def first():
        async with running(path) as engine:
            await engine.create("one", asked())
            await engine.create("two", asked())

    run(first)
    from tacit.service.deciding import Deciding

    real = Deciding.load

    def load(self):
        if self.name == "one":
            raise RuntimeError
        real(self)

    monkeypatch.setattr(Deciding, "load", load)

    async def second():
        async with running(path) as engine:
            with pytest.raises(DeploymentFailed):
                await bounded(decide(engine))
            await bounded(decide(engine, "two"))
            await engine.delete("one")
            assert list(engine.deployments) == ["two"]

    run(second)


def test_a_deployment_whose_noise_is_not_what_was_charged_stands_still_for_good(tmp_path):
    """As after an upgrade that plans otherwise: to go on would be another promise."""
    path = tmp_path / "s.db"

    async def first():
        async with running(path) as engine:
            await engine.create("one", asked())
            await engine.create("two", asked())

    run(first)
    with closing(sqlite3.connect(path)) as connection:
        ((planned,),) = connection.execute("SELECT planned FROM deployments WHERE name = 'one'").fetchall()
        connection.execute(
            "UPDATE deployments SET planned = ? WHERE name = 'one'", (planned.replace('"scale": ', '"scale": 1'),)
        )
        connection.commit()

    async def second():
        async with running(path) as engine:
            for _ in range(2):
                with pytest.raises(DeploymentFailed, match=r"Expected the noise that was charged .* or delete"):
                    await bounded(decide(engine))
                await engine.set_state("one", "serving")  # nobody can resume it
            await bounded(decide(engine, "two"))
            await engine.delete("one")

    run(second)


def test_a_view_is_sealed_too(tmp_path):
    """Of a policy without privacy it holds exact numbers."""
    path, key = tmp_path / "s.db", new_key()

    async def main():
        async with running(path, key=key) as engine:
            await engine.create("one", settings.ask("linucb", {"dim": 2, "horizon": 100}))
            made = await bounded(decide(engine))
            await bounded(reward(engine, made.decision, 0.5))
            await bounded(decide(engine))
            found = engine.find("one")
            assert found.version > 1
            return [leaf.tobytes() for leaf in found.live.public().values() if leaf.nbytes >= 16]

    exact = run(main)
    text = path.read_bytes()
    assert exact
    assert not [leaf for leaf in exact if leaf in text]
    opened = open_store(str(path), key=key)
    assert [leaf.tobytes() for leaf in opened.deployments["one"].live.public().values() if leaf.nbytes >= 16] == exact
    opened.store.db.close()
    with pytest.raises(StoreRefused):
        open_store(str(path), key=None)


# Clocks ---------------------------------------------------------------------------------------------------------------


def test_a_decision_made_while_a_clock_was_ahead_holds_nobody_back(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_module, "_SWEEP", 0.02)
    clock = Clock()

    async def main():
        async with running(tmp_path / "s.db", now=clock) as engine:
            found = await engine.create("one", asked(closes_after=10.0))

            async def until(condition):
                for _ in range(500):
                    if await bounded(engine.submit(condition)):
                        return
                    await asyncio.sleep(0.02)
                raise AssertionError

            for _ in range(5):
                await bounded(decide(engine))
            clock.time += 365 * 86_400
            await bounded(decide(engine))
            clock.time -= 365 * 86_400 - 1
            for _ in range(5):
                await bounded(decide(engine))
            clock.time += 9.5  # the first five are over, and the sixth comes from the future
            await until(lambda: engine.store.oldest(found.uid)[0] == 5)
            await until(lambda: engine.store.oldest(found.uid)[1] <= clock.time + 10.0)
            clock.time += 10.5
            await until(lambda: engine.store.oldest(found.uid) is None)

    run(main)
