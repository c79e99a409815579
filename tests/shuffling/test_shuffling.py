"""The shuffler as a process: sealed reports in, full batches out, each once, and not a word about anybody."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn

import tacit
from tacit.client import sending
from tacit.client.clients import AsyncClient
from tacit.core.messages import write
from tacit.core.sealed_reports import SealedShuffler, new_sealing_key, seal_report
from tacit.errors import BadInput
from tacit.shuffling import app as application
from tacit.shuffling import mixing as mixture
from tacit.shuffling import running
from tacit.shuffling.app import App
from tacit.shuffling.mixing import Mixing
from tests.client.pretending import NAME, URL, Pretended, error
from tests.core.apart import DIM, LocalExample, ShuffleExample, actions, contents, reports_of

COUNTS = ShuffleExample(dim=DIM)
MIXED = ShuffleExample(dim=DIM, sends="xy")
BOTH = pytest.mark.parametrize("config", [MIXED, COUNTS], ids=["xy", "counts"])


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(sending, "_FIRST", 0.001)
    monkeypatch.setattr(mixture, "_FIRST", 0.001)
    monkeypatch.setattr(mixture, "_LAST", 0.2)


class Running:
    """A shuffler in this event loop, and ways to ask it."""

    def __init__(self, service, config):
        self.config, self.service = config, service
        self.mixing = Mixing(config, AsyncClient(URL, "secret", retries=0, transport=service.transport), NAME)
        self.app = App(self.mixing)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://shuffler.test")

    def sealed(self, count=4, seed=1, stage=0, key=None):
        reports = reports_of(self.config, count, seed=seed, stage=stage)
        return [seal_report(self.config, report, key or self.service.sealing_key) for report in reports]

    async def post(self, message):
        content = message if isinstance(message, bytes) else write(message).encode()
        return await self.http.post("/v1/reports", content=content)

    async def until(self, true):
        async with asyncio.timeout(5):
            while not true():
                await asyncio.sleep(0.001)


@asynccontextmanager
async def running_shuffler(config, *, follow=True, service=None):
    found = Running(Pretended(config) if service is None else service, config)
    found.mixing.start()
    try:
        if follow:
            await found.until(lambda: found.mixing.stage is not None)
        yield found
    finally:
        await found.mixing.stop()
        await found.http.aclose()


def shuffled(config, **options):
    """Run a test inside a shuffler's event loop."""

    def decorate(test):
        async def run():
            async with running_shuffler(config, **options) as found:
                await test(found)

        asyncio.run(run())

    return decorate


# Reports ------------------------------------------------------------------------------------------------------------


@BOTH
def test_a_full_batch_reaches_the_server_and_the_next_begins(config):
    plain = config.server()

    @shuffled(config)
    async def _(shuffler):
        for stage in range(3):
            for place, report in enumerate(shuffler.sealed(seed=stage + 1, stage=stage)):
                assert shuffler.service.server.stage == stage
                answer = await shuffler.post(report)
                assert (answer.status_code, answer.json()) == (202, {"taken": True, "stage": stage})
                assert place == 3 or len(shuffler.service.batches) == stage, "a batch left before it was full"
            await shuffler.until(lambda stage=stage: shuffler.service.server.stage == stage + 1)
            await shuffler.until(lambda stage=stage: shuffler.mixing.stage == stage + 1)
        text = json.dumps(shuffler.service.batches)
        for report in [*shuffler.sealed(seed=1), *shuffler.sealed(seed=2)]:
            assert report["id"] not in text
        mixed = config.shuffler()
        for stage in range(3):
            for report in reports_of(config, 4, seed=stage + 1, stage=stage):
                mixed.add(report)
            plain.receive_batch(mixed.batch())
        if config is COUNTS:
            assert contents(shuffler.service.server) == contents(plain)


@BOTH
def test_refusals_have_one_shape_and_no_values(config):
    @shuffled(config)
    async def _(shuffler):
        good, other = shuffler.sealed(2)
        assert (await shuffler.post(good)).status_code == 202
        cases = [
            (good, 409, "repeated_report"),
            ({**good, "id": "0" * 32}, 409, "repeated_report"),
            (b"somebody", 400, "bad_message"),
            (b"", 400, "bad_message"),
            ({**other, "sender": "somebody"}, 400, "bad_message"),
            ({**other, "sealed": "somebody"}, 400, "bad_message"),
            ({**other, "stage": 1}, 400, "bad_message"),
            (reports_of(config, 1)[0], 400, "bad_message"),
        ]
        for message, status, code in cases:
            answer = await shuffler.post(message)
            told = answer.json()
            assert (answer.status_code, told.keys(), told["error"].keys()) == (
                status,
                {"error"},
                {"code", "message", "field"},
            )
            assert told["error"]["code"] == code
            assert told["error"]["message"].startswith("Expected")
            assert "somebody" not in answer.text
        assert len(shuffler.mixing._shuffler._ids) == 1


def test_a_page_cannot_report_through_its_visitors():
    @shuffled(COUNTS)
    async def _(shuffler):
        (message,) = shuffler.sealed(1)
        for page in ("http://somebody.example", "null", "http://127.0.0.1:8421"):
            answer = await shuffler.http.post("/v1/reports", content=write(message), headers={"Origin": page})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong_origin")
            assert "somebody" not in answer.text
        assert not shuffler.mixing._shuffler._ids
        assert (await shuffler.post(message)).status_code == 202


def test_a_report_of_a_batch_that_has_left_is_stale():
    @shuffled(COUNTS)
    async def _(shuffler):
        *reports, late = shuffler.sealed(5)
        for report in reports:
            await shuffler.post(report)
        answer = await shuffler.post(late)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "stale_report")


def test_other_addresses_and_methods_are_refused():
    @shuffled(COUNTS)
    async def _(shuffler):
        assert (await shuffler.http.get("/")).json()["error"]["code"] == "not_found"
        answer = await shuffler.http.get("/v1/reports")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert (await shuffler.http.post("/health")).status_code == 405


def test_a_body_without_end_is_not_read_to_its_end():
    read = []

    async def endless():
        for _ in range(10_000):
            read.append(1)
            yield b"x" * 1000

    @shuffled(COUNTS)
    async def _(shuffler):
        longest = shuffler.mixing.longest
        answer = await shuffler.post(b"x" * (longest + 1))
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        # httpx's own transport would read the whole body first: the application is called as a server calls it.
        sent, body = [], endless()

        async def receive():
            return {"type": "http.request", "body": await anext(body), "more_body": True}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/v1/reports", "headers": []}
        await shuffler.app(scope, receive, send)
        assert sent[0]["status"] == 413
        assert len(read) <= longest / 1000 + 2


def test_a_body_that_never_comes_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(application, "_PATIENCE", 0.02)

    @shuffled(COUNTS)
    async def _(shuffler):
        sent = []

        async def receive():
            await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/v1/reports", "headers": []}
        await shuffler.app(scope, receive, send)
        assert sent[0]["status"] == 408


def test_somebody_who_hangs_up_leaves_nothing_behind():
    @shuffled(COUNTS)
    async def _(shuffler):
        async def receive():
            return {"type": "http.disconnect"}

        async def send(message):
            raise AssertionError("nobody is there")

        scope = {"type": "http", "method": "POST", "path": "/v1/reports", "headers": []}
        await shuffler.app(scope, receive, send)
        assert shuffler.mixing._shuffler._ids == set()


def test_health_says_whether_the_server_was_heard_of():
    service = Pretended(COUNTS)
    service.cut(10**6)

    @shuffled(COUNTS, follow=False, service=service)
    async def _(shuffler):
        answer = await shuffler.http.get("/health")
        assert (answer.status_code, answer.json()) == (
            503,
            {"ready": False, "stage": None, "why_not": "The server has not been heard of yet."},
        )
        answer = await shuffler.post(shuffler.sealed(1)[0])
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_ready")
        assert answer.headers["retry-after"] == "1"
        service.failures.clear()
        await shuffler.until(lambda: shuffler.mixing.stage == 0)
        answer = await shuffler.http.get("/health")
        assert (answer.status_code, answer.json()) == (200, {"ready": True, "stage": 0, "why_not": None})


@BOTH
def test_after_the_last_batch_of_the_horizon_no_report_is_taken(config):
    """The server would refuse the batch, and its people would have paid for nothing."""
    short = dataclasses.replace(config, horizon=6)

    @shuffled(short)
    async def _(shuffler):
        assert (await shuffler.http.get("/health")).status_code == 200
        for report in shuffler.sealed():
            assert (await shuffler.post(report)).status_code == 202
        await shuffler.until(lambda: shuffler.service.server.stage == 1)
        answer = await shuffler.post(shuffler.sealed(1, seed=2, stage=1)[0])
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "horizon_spent")
        assert (
            "All 4 reports that fit into batches of 4 within a horizon of 6 are learned"
            in answer.json()["error"]["message"]
        )
        assert not shuffler.mixing._shuffler._ids
        answer = await shuffler.http.get("/health")
        assert (answer.status_code, answer.json()["ready"], answer.json()["stage"]) == (503, False, 1)
        assert answer.json()["why_not"].startswith("All 4 reports")


def test_a_last_batch_that_is_given_up_is_filled_anew():
    @shuffled(dataclasses.replace(COUNTS, horizon=6))
    async def _(shuffler):
        for report in shuffler.sealed(4, seed=5, key=new_sealing_key()[1]):
            assert (await shuffler.post(report)).status_code == 202
        await shuffler.until(lambda: shuffler.mixing.stage == 0)
        assert (await shuffler.http.get("/health")).status_code == 200
        for report in shuffler.sealed(seed=7):
            assert (await shuffler.post(report)).status_code == 202
        await shuffler.until(lambda: shuffler.service.server.stage == 1)


# Delivery -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["cut", "lose", "503", "401", "paused"])
def test_a_batch_is_sent_until_the_server_has_it_and_counts_once(way):
    @shuffled(COUNTS)
    async def _(shuffler):
        service = shuffler.service
        failures = {
            "cut": lambda: service.cut(3),
            "lose": lambda: service.lose(1),
            "503": lambda: service.refuse(3, error(503, "unavailable")),
            "401": lambda: service.refuse(1, error(401, "no_key")),
            "paused": lambda: service.refuse(1, error(409, "paused")),
        }
        failures[way]()
        for report in shuffler.sealed():
            await shuffler.post(report)
        await shuffler.until(lambda: service.server.stage == 1 and shuffler.mixing.stage == 1)
        await shuffler.until(shuffler.mixing._still.is_set)
        assert len({json.dumps(batch) for batch in service.batches}) == 1, "it was mixed a second time"
        assert service.server.stage == 1
        assert shuffler.mixing._shuffler._left == (-1, frozenset())
        for report in shuffler.sealed(seed=2, stage=1):
            assert (await shuffler.post(report)).status_code == 202
        await shuffler.until(lambda: service.server.stage == 2)


def test_an_answer_lost_and_a_stage_taken_counts_as_delivered(caplog):
    caplog.set_level(logging.INFO, "tacit.shuffling")

    @shuffled(COUNTS)
    async def _(shuffler):
        shuffler.service.lose(1)
        for report in shuffler.sealed():
            await shuffler.post(report)
        await shuffler.until(lambda: "had arrived" in caplog.text)
        assert len(shuffler.service.batches) == 1


def test_a_batch_spoiled_by_somebody_is_given_up_and_its_stage_filled_anew():
    """Without those who were in it: the server has seen their total."""

    @shuffled(COUNTS)
    async def _(shuffler):
        service = shuffler.service
        honest = shuffler.sealed(3)
        spoiled = shuffler.sealed(1, seed=5, key=new_sealing_key()[1])
        for report in [*honest, *spoiled]:
            assert (await shuffler.post(report)).status_code == 202
        await shuffler.until(lambda: shuffler.mixing.stage == 0)
        assert service.server.stage == 0
        answer = await shuffler.post({**honest[0], "id": "0" * 32})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "repeated_report")
        for report in shuffler.sealed(seed=7):
            assert (await shuffler.post(report)).status_code == 202
        await shuffler.until(lambda: service.server.stage == 1)


def test_a_shuffler_begins_where_the_server_stands_and_follows_it(monkeypatch):
    monkeypatch.setattr(mixture, "_LOOK", 0.01)
    service = Pretended(COUNTS)

    def serve(stage):
        shuffler = COUNTS.shuffler(stage=stage)
        for report in reports_of(COUNTS, 4, seed=stage + 1, stage=stage):
            shuffler.add(report)
        service.server.receive_batch(shuffler.batch())

    serve(0)

    @shuffled(COUNTS, service=service)
    async def _(shuffler):
        assert shuffler.mixing.stage == 1
        serve(1)  # by another shuffler
        await shuffler.until(lambda: shuffler.mixing.stage == 2)


def test_an_old_view_of_the_server_drops_nothing(monkeypatch):
    """One of several processes may still answer with the view before: the batch that is being filled stays."""
    monkeypatch.setattr(mixture, "_LOOK", 0.005)
    monkeypatch.setattr(mixture, "_LOOK_BACK", 0.05)
    service = Pretended(COUNTS)
    old = httpx.Response(200, json=service.server.view())

    @shuffled(COUNTS, service=service)
    async def _(shuffler):
        for report in shuffler.sealed():
            await shuffler.post(report)
        await shuffler.until(lambda: service.server.stage == 1)
        await shuffler.until(shuffler.mixing._still.is_set)
        assert (await shuffler.post(shuffler.sealed(1, seed=2, stage=1)[0])).status_code == 202
        answered = outdated(service, old, times=3)
        await shuffler.until(lambda: answered[0])
        answer = await shuffler.post(shuffler.sealed(1, seed=3, stage=1)[0])
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_ready"), (
            "it may be kept, and sent again"
        )
        assert (await shuffler.http.get("/health")).json()["ready"] is False
        await shuffler.until(lambda: answered[0] == 3 and shuffler.mixing.why_not is None)
        assert (shuffler.mixing.stage, len(shuffler.mixing._shuffler._ids)) == (1, 1)
        assert (await shuffler.post(shuffler.sealed(1, seed=3, stage=1)[0])).status_code == 202


def outdated(service, answer, *, times):
    """Let the next answers about the view be this one; how many have been."""
    real, answered = service.view, [0]

    def view(request):
        if answered[0] == times:
            return real(request)
        answered[0] += 1
        return answer

    service.view = view
    return answered


def test_a_server_that_stays_behind_is_followed_back(monkeypatch):
    """As after a restore, whose price was accepted. Until then nobody's report is taken for nothing."""
    monkeypatch.setattr(mixture, "_LOOK", 0.005)
    monkeypatch.setattr(mixture, "_LOOK_BACK", 0.005)
    service = Pretended(COUNTS)

    @shuffled(COUNTS, service=service)
    async def _(shuffler):
        for report in shuffler.sealed():
            await shuffler.post(report)
        await shuffler.until(lambda: service.server.stage == 1 and shuffler.mixing._still.is_set())
        service.server = COUNTS.server()
        await shuffler.until(lambda: shuffler.mixing.stage == 0)
        assert shuffler.mixing.why_not is None
        for report in shuffler.sealed(seed=9):
            assert (await shuffler.post(report)).status_code == 202
        await shuffler.until(lambda: service.server.stage == 1)


@pytest.mark.parametrize("batch", ["none on its way", "one on its way"])
def test_a_deployment_that_was_made_anew_is_followed_with_its_new_key(monkeypatch, batch):
    monkeypatch.setattr(mixture, "_LOOK", 0.01 if batch == "none on its way" else 30.0)
    monkeypatch.setattr(mixture, "_LOOK_BACK", 0.005)
    service = Pretended(COUNTS)

    @shuffled(COUNTS, service=service)
    async def _(shuffler):
        for report in shuffler.sealed():
            await shuffler.post(report)
        await shuffler.until(lambda: service.server.stage == 1 and shuffler.mixing._still.is_set())
        old = shuffler.sealed(4, seed=2, stage=1)
        service.server = COUNTS.server()
        service.private, service.sealing_key = new_sealing_key()
        if batch == "one on its way":
            for report in old:
                await shuffler.post(report)
        await shuffler.until(lambda: shuffler.mixing.stage == 0 and shuffler.mixing._still.is_set())
        for report in shuffler.sealed(seed=9):
            assert (await shuffler.post(report)).status_code == 202
        await shuffler.until(lambda: service.server.stage == 1)


def test_a_crowd_is_told_to_come_again_in_the_same_shape(monkeypatch):
    monkeypatch.setattr(application, "_MOST", 0)

    @shuffled(COUNTS)
    async def _(shuffler):
        answer = await shuffler.post(shuffler.sealed(1)[0])
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "busy")
        assert answer.headers["retry-after"] == "1"
        assert not shuffler.mixing._shuffler._ids


def test_a_second_batch_waits_for_the_first():
    """Nobody honest is that early. Whoever is gets no room beyond one batch."""

    @shuffled(COUNTS)
    async def _(shuffler):
        shuffler.service.cut(10**6)
        for stage in (0, 1):
            for report in shuffler.sealed(seed=stage + 1, stage=stage):
                assert (await shuffler.post(report)).status_code == 202
            await asyncio.sleep(0.01)
        answer = await shuffler.post(shuffler.sealed(1, seed=3, stage=1)[0])
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "batch_full")
        shuffler.service.failures.clear()
        await shuffler.until(lambda: shuffler.service.server.stage == 2)


@pytest.mark.parametrize("why", ["contract", "key"])
def test_a_server_of_another_contract_or_without_a_key_ends_the_shuffler(why):
    service = Pretended(ShuffleExample(dim=DIM, ones=9) if why == "contract" else COUNTS)
    if why == "key":
        service.sealing_key = None

    @shuffled(COUNTS, follow=False, service=service)
    async def _(shuffler):
        called = []
        shuffler.mixing.stopped = lambda: called.append(True)
        await shuffler.until(lambda: shuffler.mixing.wrong is not None)
        assert called
        assert "Expected a server" in shuffler.mixing.wrong
        assert (await shuffler.http.get("/health")).status_code == 503


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_server_that_refuses_ends_the_shuffler_and_one_that_is_away_does_not(status):
    for answer, ends in ((error(status, "unknown_deployment", "nobody"), True), (error(503, "away", "nobody"), False)):
        service = Pretended(COUNTS)
        service.refuse(1, answer)

        @shuffled(COUNTS, follow=False, service=service)
        async def _(shuffler, ends=ends):
            await shuffler.until(lambda: shuffler.mixing.wrong is not None or shuffler.mixing.stage is not None)
            assert (shuffler.mixing.wrong is not None) == ends
            if ends:
                assert "Expected a deployment of this name that takes batches" in shuffler.mixing.wrong


# Logs ---------------------------------------------------------------------------------------------------------------

LINE = re.compile(
    r"following the server at stage \d+|the batch of stage \d+ (has arrived|had arrived)|"
    r"the batch of stage \d+ has not arrived yet \(\w+\)|no word from the server yet \(\w+\)|"
    r"the server refused the batch of stage \d+ \(\w+\): it is lost|a request failed \(\w+\)"
)


def test_a_log_holds_stages_and_codes_and_nothing_else(caplog):
    caplog.set_level(logging.INFO, "tacit.shuffling")

    @shuffled(COUNTS)
    async def _(shuffler):
        shuffler.service.refuse(1, error(503, "unavailable", "somebody"))
        reports = shuffler.sealed(4)
        for report in [*reports, *shuffler.sealed(1, seed=8)]:
            await shuffler.post(report)
        await shuffler.until(lambda: shuffler.service.server.stage == 1)
        await shuffler.until(shuffler.mixing._still.is_set)
        spoiled = shuffler.sealed(4, seed=5, stage=1, key=new_sealing_key()[1])
        for report in spoiled:
            await shuffler.post(report)
        await shuffler.until(lambda: "lost" in caplog.text)
        shuffler.mixing._shuffler.add = None  # a mistake of ours, with somebody's report in its trace
        assert (await shuffler.post(reports[0])).json()["error"]["code"] == "internal"
        lines = [record.getMessage() for record in caplog.records if record.name == "tacit.shuffling"]
        assert len(lines) >= 5
        assert all(LINE.fullmatch(line) for line in lines), lines
        assert not any(record.exc_info for record in caplog.records if record.name == "tacit.shuffling")


# A process ----------------------------------------------------------------------------------------------------------


class Listening:
    """An ASGI application on a port of its own, on loopback, in a thread that the test ends."""

    def __init__(self, app):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        options = {"access_log": False, "log_config": None, "log_level": "warning", "lifespan": "off"}
        self.server = uvicorn.Server(uvicorn.Config(app, **options))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})

    def __enter__(self):
        self.thread.start()
        while not self.server.started:
            time.sleep(0.005)
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join(10)
        self.socket.close()
        assert not self.thread.is_alive()


def served(service):
    """`Pretended` as an application."""

    async def app(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        request = httpx.Request(scope["method"], f"{URL}{scope['path']}", headers=scope["headers"], content=body)
        answer = service.handle(request)
        headers = [(name.lower(), value) for name, value in answer.headers.raw]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": answer.content})

    return app


DRIVER = """
import sys
from tacit.shuffling.running import run
from tests.core.apart import ShuffleExample
run(ShuffleExample(dim=3), server=sys.argv[1], deployment="news", port=0, started=lambda url: print(url, flush=True))
"""


def test_three_programs_over_the_wire():
    """Devices here, a shuffler in a process of its own, a service in a thread: all through loopback."""
    service = Pretended(COUNTS)
    with Listening(served(service)) as listening:
        command = [sys.executable, "-c", DRIVER, listening.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                mixer = process.stdout.readline().strip()
                assert mixer.startswith("http://127.0.0.1:")
                with tacit.Client(mixer, retries=20) as probe:
                    while not probe._sender.send(health()).get("ready"):
                        time.sleep(0.01)
                for stage, offered in enumerate(actions(2)):
                    for _ in range(4):
                        with tacit.DeviceClient(COUNTS, listening.url, NAME, shuffler=mixer) as device:
                            device.report(offered[device.choose(offered)], 1.0)
                    limit = time.monotonic() + 10
                    while service.server.stage == stage and time.monotonic() < limit:
                        time.sleep(0.005)
                assert service.server.stage == 2
            finally:
                process.terminate()
                out, err = process.communicate(timeout=10)
        assert process.returncode in (0, -15)
        assert (out, err) == ("", ""), "it said more than where it listens"


def health():
    from tacit.client.calls import Answer, Call

    return Call("GET", "/health", Answer.json, repeatable=True)


def test_a_process_with_a_server_of_another_contract_ends_with_words():
    service = Pretended(ShuffleExample(dim=DIM, ones=9))
    with Listening(served(service)) as listening, pytest.raises(BadInput, match="Expected a server under the contract"):
        running.run(COUNTS, server=listening.url, deployment=NAME, port=0)


def test_a_port_that_is_taken_or_none_is_said_in_words():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=rf"Expected to listen on 127\.0\.0\.1:{port}, got: .*Choose another --port"):
            running.run(COUNTS, server=URL, deployment=NAME, port=port)
    for port in (99999, -5):
        with pytest.raises(BadInput, match=f"Expected port to be from 0 to 65535, got {port}"):
            running.run(COUNTS, server=URL, deployment=NAME, port=port)


def test_only_policies_with_batches_are_shuffled():
    with pytest.raises(BadInput, match="whose reports are private one by one"):
        running.run(LocalExample(dim=DIM), server=URL, deployment=NAME)


def test_nothing_is_written_down_about_who_came():
    options = running._options()
    assert options["access_log"] is False
    assert options["proxy_headers"] is False
    assert (running.HOST, SealedShuffler(COUNTS).stage) == ("127.0.0.1", 0)


def test_without_uvicorn_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(running.importlib, "import_module", missing)
    with pytest.raises(BadInput, match=r"pip install 'tacit\[serve\]'"):
        running.run(COUNTS, server=URL, deployment=NAME)
