"""Many at once: every answer is clear, nothing that was acknowledged is lost, and memory does not grow."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tacit.service import writing
from tests.service.inside import live_sums
from tests.service.serving import JOINT, PATIENCE, named, serving, until

ROW = [0.5, 0.25, 0.125]
ASK = json.dumps({"actions": named([ROW])}).encode()
#: Much privacy: views are seldom released, and sums stay where they are for long.
PARAMETERS = {**JOINT, "epsilon": 0.01, "delta": 1e-6, "horizon": 10_000_000}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("store") / "tacit.db", sweep=60.0) as found:
        found.create("news", parameters=PARAMETERS)
        yield found


class Connection:
    """One client of its own, with the least there is: a thousand of a real one would measure the client."""

    def __init__(self, port):
        self._port = port

    async def __aenter__(self):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_):
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def ask(self, method, path, body):
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n"
        self._writer.write(head.encode() + b"\r\n" + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length"))
        return int(lines[0].split()[1]), json.loads(await self._reader.readexactly(length))

    async def decide(self, name="news"):
        return await self.ask("POST", f"/v1/deployments/{name}/decisions", ASK)

    async def reward(self, decision, value, name="news"):
        path = f"/v1/deployments/{name}/decisions/{decision}/reward"
        return await self.ask("PUT", path, json.dumps({"value": value}).encode())


def together(*work):
    async def all_of_it():
        async with asyncio.timeout(PATIENCE):
            return await asyncio.gather(*work)

    return asyncio.run(all_of_it())


def clients(wanted):
    """As many as descriptors allow: each takes one here and one in the service."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * wanted + 300:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * wanted + 300), hard))
    return min(wanted, (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 300) // 2)


def test_a_thousand_clients_at_once_get_clear_answers_and_nothing_is_lost(service):
    service.create("crowd", parameters=PARAMETERS)
    count = clients(1000)

    async def one(number):
        value = (number % 8) / 8  # sums of these are exact in whatever order
        async with Connection(service.port) as mine:
            status, made = await mine.decide("crowd")
            assert status == 201, made
            # Sent twice at once, as by a client that lost its patience.
            async with Connection(service.port) as other:
                answers = await asyncio.gather(
                    mine.reward(made["decision"], value, "crowd"), other.reward(made["decision"], value, "crowd")
                )
            assert [status for status, _ in answers] == [200, 200], answers
            status, refusal = await mine.reward(made["decision"], value + 1, "crowd")
            assert (status, refusal["error"]["code"]) == (409, "rewarded")
            return made["decision"], value

    done = together(*map(one, range(count)))
    assert len({decision for decision, _ in done}) == count
    shown = service.show("crowd")
    assert shown["decisions"] == count
    # No view was released meanwhile: the sums are those of x·xᵀ row by row, and of x·reward, of every row once.
    x, total = np.array(ROW), sum(value for _, value in done)
    sums = live_sums(service.engine.deployments["crowd"].live)
    np.testing.assert_array_equal(sums[-3:], x * total)
    np.testing.assert_array_equal(sums[0], count * x[0] ** 2)


async def true(holds):
    while not holds():
        await asyncio.sleep(0.005)


def listens(port):
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def holding(service, monkeypatch):
    """From now on no transaction ends: an event for the first one that would, and one to let them."""
    held, go_on, real = threading.Event(), threading.Event(), service.engine.store.db.commit

    def commit():
        held.set()
        assert go_on.wait(PATIENCE)
        real()

    monkeypatch.setattr(service.engine.store.db, "commit", commit)
    return held, go_on


def test_more_than_can_wait_are_refused_and_the_others_served(service, monkeypatch):
    service.create("narrow", parameters=PARAMETERS)
    monkeypatch.setattr(writing, "_WAITING", 20)
    held, go_on = holding(service, monkeypatch)

    async def one():
        async with Connection(service.port) as mine:
            return await mine.decide("narrow")

    async def many():
        first = asyncio.create_task(one())
        await true(held.is_set)  # from now on nobody is taken out of the queue
        others = [asyncio.create_task(one()) for _ in range(100)]
        await true(lambda: sum(task.done() for task in others) >= 80)
        go_on.set()
        return await asyncio.gather(first, *others)

    (answers,) = together(many())
    statuses = [status for status, _ in answers]
    assert statuses.count(503) >= 80
    assert set(statuses) == {201, 503}
    assert {body["error"]["code"] for status, body in answers if status == 503} == {"unavailable"}
    assert service.show("narrow")["decisions"] == statuses.count(201)
    assert service.decide("narrow", [ROW]).status_code == 201


def test_whoever_hangs_up_leaves_the_others_alone(service):
    async def gone():
        _, writer = await asyncio.open_connection("127.0.0.1", service.port)
        head = "POST /v1/deployments/news/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(ASK) + 10}\r\n\r\n".encode() + ASK)
        await writer.drain()
        writer.close()
        return None

    async def stays():
        async with Connection(service.port) as mine:
            return (await mine.decide())[0]

    statuses = together(*(gone() if number % 2 else stays() for number in range(100)))
    assert [status for status in statuses if status is not None] == [201] * 50
    assert service.http.get("/health").status_code == 200


def test_whoever_was_accepted_is_served_before_the_service_stops(tmp_path, monkeypatch):
    with serving(tmp_path / "tacit.db", sweep=60.0) as service:
        service.create("last", parameters=PARAMETERS)
        held, go_on = holding(service, monkeypatch)

        async def one():
            async with Connection(service.port) as mine:
                return await mine.decide("last")

        async def many():
            first = asyncio.create_task(one())
            await true(held.is_set)
            others = [asyncio.create_task(one()) for _ in range(49)]
            await true(lambda: len(service.engine._writer._queue) >= 49)
            service.ask_to_stop()
            await true(lambda: not listens(service.port))
            go_on.set()
            return await asyncio.gather(first, *others)

        (answers,) = together(many())
        assert [status for status, _ in answers] == [201] * 50
        monkeypatch.undo()
        service.restart()
        assert service.show("last")["decisions"] == 50
        for _, made in answers:
            assert service.reward("last", made["decision"], 1.0).status_code == 200


def resident():
    """Bytes of this process in memory."""
    text = Path("/proc/self/statm").read_text()
    return int(text.split()[1]) * 4096


def grown(service, name, count):
    """By how many bytes memory has grown after so many decisions with their rewards."""
    service.create(name, parameters=PARAMETERS)

    def work(rounds):
        for _ in range(rounds // 500):
            body = {"decisions": [{"actions": named([ROW])}] * 500}
            made = service.ask("POST", f"/v1/deployments/{name}/decisions/batch", body).json()["decisions"]
            body = {"rewards": [{"decision": one["decision"], "value": 0.5} for one in made]}
            told = service.ask("PUT", f"/v1/deployments/{name}/rewards", body).json()["rewards"]
            assert all(one["closed"] == "reward" for one in told)

    work(5000)
    gc.collect()
    before = resident()
    work(count)
    gc.collect()
    return resident() - before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_flat_over_twenty_thousand_decisions(service):
    assert grown(service, "short", 20_000) < 24 * 2**20


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_flat_over_a_million_decisions(service):
    assert grown(service, "long", 1_000_000) < 48 * 2**20


def test_nothing_waits_when_all_is_done(service):
    until(lambda: not service.engine._writer._queue)
