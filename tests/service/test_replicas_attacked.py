"""What attacks on several processes have found: stores put back underneath them, and moments that fall together."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import subprocess
import threading
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import pytest

import tacit
from tacit.core.sealed import new_key
from tacit.errors import StoreRefused, StoreUnavailable, UnknownDeployment
from tacit.service import settings
from tacit.service.deciding import Deciding
from tacit.service.opening import make, open_store
from tacit.service.witness import Witness
from tests.service import inside
from tests.service.inside import asked, bounded, run, running
from tests.service.postgres_server import postgres_server
from tests.service.test_replicas import releases_seldom, until


def back_up(server, folder):
    server.stop()
    subprocess.run(["cp", "-a", server.folder, folder], check=True)  # owners too
    server.start()


def put_back(server, folder):
    server.crash()
    for one in server.folder.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    subprocess.run(["cp", "-a", f"{folder}/.", server.folder], check=True)
    server.start()


def test_a_store_put_back_under_a_running_service_is_refused_and_nothing_is_released_twice(tmp_path):
    """As by a restored backup, a point-in-time recovery, or a standby that was behind: no restart, the same server."""
    with postgres_server() as own:
        if not own.can_crash:
            pytest.skip("TACIT_TEST_POSTGRES is not ours to stop")
        url, witness, backup = own.database(), tmp_path / "w", tmp_path / "backup"

        async def served(engine, count):
            made = 0
            while made < count:
                try:
                    one = await bounded(inside.decide(engine))
                    await bounded(inside.reward(engine, one.decision, 0.5))
                    made += 1
                except StoreUnavailable:
                    await asyncio.sleep(0.05)

        async def main():
            async with running(url, witness=witness) as engine:
                await engine.create("one", asked())
                await until(lambda: engine.leases == 1)
                await served(engine, 3)
                await until(lambda: len(inside.releases(engine)) >= 2)
                back_up(own, backup)
                await served(engine, 4)  # it goes on where it was
                await until(lambda: Witness.load(witness).seq >= 7)
                put_back(own, backup)
                words = "This process serves nothing until it is started again"

                async def refused():
                    for _ in range(200):
                        try:
                            await bounded(inside.decide(engine))
                        except StoreUnavailable as problem:
                            if words in str(problem):
                                return True
                        await asyncio.sleep(0.02)
                    return False

                assert await refused()
                assert not engine.available
                for _ in range(5):
                    with pytest.raises(StoreUnavailable):
                        await bounded(inside.decide(engine))
                    await asyncio.sleep(0.1)

        run(main)
        assert Witness.load(witness).seq >= 7, "the witness was not lowered"
        with pytest.raises(StoreRefused, match="restored from a copy"):
            open_store(url, key=None, witness=witness)
        opened = open_store(url, key=None, witness=witness, fork=True)
        assert opened.deployments["one"].copies == 2
        opened.store.db.close()


def test_what_is_closed_in_the_transaction_that_reads_again_is_learned(server, tmp_path):
    """A queue that is full keeps this process from following; it closes decisions all the same."""
    url, clock = server.database(), inside.Clock()

    async def main():
        async with running(url, witness=tmp_path / "a", now=clock) as engine:
            found = await engine.create("one", asked(inside.IN_ORDER, closes_after=10.0))
            await until(lambda: engine.leases == 1)
            for _ in range(6):
                made = await bounded(inside.decide(engine))
                await bounded(inside.reward(engine, made.decision, 0.5))
            async with inside.held_up(engine):
                clock.time += 11
                closing = engine.submit(partial(engine._close, found), found)
                engine._replicas.held.clear()
                following = engine.submit(engine._replicas._follow)
            await bounded(asyncio.gather(closing, following))
            await until(lambda: found.live.clock == 6)
            assert engine.store.count_pending(found.uid, 100) == 0

    run(main)


def test_a_deployment_is_not_read_in_the_transaction_that_makes_it(server, tmp_path):
    url = server.database()

    async def main():
        async with running(url, witness=tmp_path / "a") as engine:
            async with inside.held_up(engine):
                creating = asyncio.ensure_future(engine.create("one", asked()))
                queue = engine._writer._queue
                await until(lambda: any("create" in repr(work.run) for work in queue))
                following = engine.submit(engine._replicas._follow)
            await bounded(asyncio.gather(creating, following))
            assert not engine.find("one").failed
            await until(lambda: engine.leases == 1)
            made = await bounded(inside.decide(engine))
            await bounded(inside.reward(engine, made.decision, 0.5))
            await until(lambda: inside.stored_sums(engine)[[0, 2]].sum() == 1)

    run(main)


def test_a_deployment_read_again_while_it_is_being_met_is_not_replaced(server, tmp_path, monkeypatch):
    url, warm, slow = server.database(), Deciding.warm, threading.Event()

    def slowly(self):
        slow.wait(20)
        warm(self)

    async def main():
        async with running(url, witness=tmp_path / "a") as a:
            shutil.copy(tmp_path / "a", tmp_path / "b")
            async with running(url, witness=tmp_path / "b") as b:
                with monkeypatch.context() as patched:
                    patched.setattr(Deciding, "warm", slowly)
                    creating = asyncio.ensure_future(a.create("one", asked()))
                    await until(lambda: b._replicas.meeting)
                    b.store.db.before = inside.once()
                    await until(lambda: "one" in b.deployments)
                    found = b.find("one")
                    slow.set()
                    await bounded(creating)
                    await until(lambda: not b._replicas.meeting)
                assert b.find("one") is found
                made = await bounded(inside.decide(b))
                assert await bounded(inside.reward(b, made.decision, 0.5)) == "reward"

    run(main)


def test_what_was_deleted_elsewhere_takes_no_report_has_one_tombstone_and_is_not_paused(server, tmp_path):
    url = server.database()
    config = tacit.LocalLinUCB(dim=2, epsilon=4.0, delta=1e-6, horizon=1200)

    async def main():
        async with running(url, witness=tmp_path / "a") as a:
            shutil.copy(tmp_path / "a", tmp_path / "b")
            async with running(url, witness=tmp_path / "b") as b:
                b._replicas._follow = lambda: False  # it has not heard yet
                await a.create("phones", settings.ask(config.slug, config.to_dict()))
                found = a.find("phones")
                (row,) = a.store.deployments()
                other = make(b.store, row, None)
                other.load()
                b.deployments["phones"] = other
                device = config.device()
                device.see(json.loads(other.view_text()))
                await a.delete("phones")
                with pytest.raises(UnknownDeployment):
                    await bounded(b.submit(partial(other.receive, device.report([0.3, 0.4], 0.5)), other))
                with pytest.raises(UnknownDeployment):
                    await b.set_state("phones", "paused")
                with pytest.raises(UnknownDeployment):
                    await b.delete("phones")
                for table in ("leaves", "views", "reports"):
                    assert a.store.db.one(f"SELECT COUNT(*) FROM {table} WHERE uid = ?", (found.uid,))[0] == 0
                assert [entry["kind"] for _, _, entry, _ in a.store.entries()] == ["charged", "deleted"]

    run(main)


def test_of_a_record_that_does_not_open_nobody_else_counts_twice(server, tmp_path):
    url, key = server.database(), new_key()

    async def main():
        async with running(url, witness=tmp_path / "w", key=key) as engine:
            found = await engine.create("one", asked(releases_seldom()))
            await until(lambda: engine.leases == 1)
            follow, engine._replicas._follow = engine._replicas._follow, lambda: False
            made = [await bounded(inside.decide(engine)) for _ in range(2)]
            for one in made:
                await bounded(inside.reward(engine, one.decision, 0.5))
            changed = bytearray(engine.store.pending(found.uid, 1).record)
            changed[-1] ^= 1

            def change():
                engine.store.db.run("UPDATE pending SET record = ? WHERE number = 1", (bytes(changed),))

            await bounded(engine.submit(change))
            engine._replicas._follow = follow
            await until(lambda: found.failed)
            await asyncio.sleep(0.5)
            sums = found.sealer.open(b"vault/sums", engine.store.leaves(found.uid)["vault/sums"])
            assert not np.frombuffer(sums, float).any(), "none of the two, rather than one of them again and again"
            assert engine.store.count_pending(found.uid, 10) == 2

    run(main)


def test_a_role_that_may_only_write_rows_can_serve_whatever_its_isolation(server, tmp_path):
    import psycopg

    url, role = server.database(), f"plain_{secrets.token_hex(4)}"
    opened = open_store(url, key=None, witness=tmp_path / "w")
    opened.store.db.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
        connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
        connection.execute(f"ALTER ROLE {role} SET default_transaction_isolation = 'repeatable read'")
    plain = urlsplit(url)
    host = "" if "@" not in plain.netloc else plain.netloc.rpartition("@")[2]
    theirs = urlunsplit(plain._replace(netloc=f"{role}:x@{host}"))

    async def main():
        async with running(theirs, witness=tmp_path / "w") as a:
            shutil.copy(tmp_path / "w", tmp_path / "v")
            async with running(theirs, witness=tmp_path / "v") as b:
                await a.create("one", asked())
                await until(lambda: "one" in b.deployments)
                for _ in range(20):
                    await bounded(asyncio.gather(inside.decide(a), inside.decide(b)))

    run(main)


def test_a_replica_that_joins_is_told_what_it_needs(server, tmp_path):
    url = server.database()

    async def main():
        async with running(url, witness=tmp_path / "a") as engine:
            await engine.create("one", asked())

    run(main)
    with pytest.raises(StoreRefused, match="needs a copy of the witness of one that runs: put it there"):
        open_store(url, key=None, witness=tmp_path / "b")
    shutil.copy(tmp_path / "a", tmp_path / "b")
    open_store(url, key=None, witness=tmp_path / "b").store.db.close()


def test_a_store_put_back_before_a_release_is_refused_by_whoever_has_only_served_from_it(tmp_path):
    """The one that released it may be dead. The others have told somebody what the view says, and would draw its noise
    again."""
    with postgres_server() as own:
        if not own.can_crash:
            pytest.skip("TACIT_TEST_POSTGRES is not ours to stop")
        url, backup = own.database(), tmp_path / "backup"

        async def main():
            async with running(url, witness=tmp_path / "a") as a:
                await a.create("one", asked())
                await until(lambda: a.leases == 1)
                shutil.copy(tmp_path / "a", tmp_path / "b")
                async with running(url, witness=tmp_path / "b") as b:
                    for _ in range(3):
                        await bounded(inside.decide(a))
                    await until(lambda: b.find("one").version == 3)
                    back_up(own, backup)
                    for one in (a, b):
                        await inside.recovered(one)
                        one._writer.telling.due = True  # everything that is written now and then has just been
                        await bounded(one.submit(lambda: None))
                    await until(lambda: a.leases + b.leases == 1)
                    holder, other = (a, b) if a.leases else (b, a)
                    await bounded(inside.decide(holder))
                    await until(lambda: other.find("one").version == 4)
                    assert (await bounded(inside.decide(other))).view == 4
                    put_back(own, backup)
                    holder._replicas._follow = lambda: False

                    async def words():
                        for _ in range(500):
                            try:
                                await bounded(inside.decide(other))
                            except StoreUnavailable as problem:
                                if "started again" in str(problem):
                                    return str(problem)
                            await asyncio.sleep(0.02)

                    assert "restored from a copy" in await words()

        run(main)


def test_a_replica_that_refuses_the_store_keeps_nobody_else_waiting(server, tmp_path):
    """It looks again five times a second, and holds the turn no longer than the look takes."""
    url = server.database()

    async def main():
        async with running(url, witness=tmp_path / "a") as a:
            await a.create("one", asked())
            await until(lambda: a.leases == 1)
            shutil.copy(tmp_path / "a", tmp_path / "b")
            async with running(url, witness=tmp_path / "b") as b:
                telling = b._writer.telling
                telling._seen = replace(telling._seen, seq=10**6)  # as if it had seen what was put back since
                b.store.db.before = inside.once()
                with pytest.raises(StoreUnavailable):
                    await bounded(inside.decide(b))

                def look():
                    with pytest.raises(StoreUnavailable, match="restored from a copy"):
                        b._writer._reload()
                    return b.store.db._database._connection.info.transaction_status.name

                assert await asyncio.get_running_loop().run_in_executor(b._writer._thread, look) == "IDLE"
                for _ in range(3):
                    await bounded(inside.decide(a))
                    await asyncio.sleep(0.25)
                assert len(b._writer._whys) <= 2, "one reason, whatever number it holds by now"

    run(main)


def test_what_another_replica_has_made_and_cannot_be_read_is_nobody_elses_trouble(server, tmp_path):
    url, key = server.database(), new_key()

    async def main():
        async with running(url, witness=tmp_path / "a", key=key) as a:
            await a.create("one", asked())
            await until(lambda: a.leases == 1)
            shutil.copy(tmp_path / "a", tmp_path / "b")
            async with running(url, witness=tmp_path / "b", key=key) as b:
                follow, b._replicas._follow = b._replicas._follow, lambda: False
                bad = await a.create("bad", asked())
                leaves = a.store.leaves(bad.uid)
                damage = "UPDATE leaves SET data = ? WHERE uid = ? AND name = 'vault/sums'"
                await bounded(a.submit(lambda: a.store.db.run(damage, (b"\x01" + b"x" * 40, bad.uid))))
                b._replicas._follow = follow
                await until(lambda: "bad" in b.deployments)
                assert b.find("bad").failed
                await bounded(inside.decide(b))
                b.store.db.before = inside.once()  # and when everything is read again
                with pytest.raises(StoreUnavailable):
                    await bounded(inside.decide(b))
                await inside.recovered(b)
                await bounded(inside.decide(b))
                # Put right, paused and resumed: wherever that was asked, every replica tries once more.
                await bounded(a.submit(lambda: a.store.db.run(damage, (leaves["vault/sums"], bad.uid))))
                await a.set_state("bad", "paused")
                await until(lambda: b.find("bad").state == "paused")
                await a.set_state("bad", "serving")
                await until(lambda: not b.find("bad").failed)
                await bounded(inside.decide(b, "bad"))

    run(main)
