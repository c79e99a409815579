"""Where a process listens: to whom it loses its patience, and in which words."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time

import pytest

pytest.importorskip("uvicorn")
import uvicorn

from tacit import _listening
from tacit._listening import bind, hear, listen, patient_protocol
from tacit.errors import BadInput
from tacit.service.logs import Lines, NotTooOften


async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def exchanged(*parts, pause=0.0, more=0.0):
    """What a server with little patience answers to bytes that are sent with pauses, and whether it hung up."""

    async def main():
        with listen("127.0.0.1", 0) as listener:
            server = uvicorn.Server(
                uvicorn.Config(app, http=patient_protocol(), log_config=None, lifespan="off", access_log=False)
            )
            running = asyncio.create_task(server.serve(sockets=[listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            found = bytearray()

            async def listening():
                while part := await reader.read(65536):
                    found.extend(part)

            hearing = asyncio.create_task(listening())
            for part in parts:
                writer.write(part)
                await asyncio.sleep(pause)
            await asyncio.sleep(more + 0.2)
            ended = hearing.done()
            writer.close()
            server.should_exit = True
            await asyncio.gather(running, hearing, return_exceptions=True)
            return bytes(found), ended

    return asyncio.run(main())


WHOLE = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


def test_half_a_head_is_told_and_hung_up_on(monkeypatch):
    monkeypatch.setattr(_listening, "PATIENCE", 0.3)
    found, ended = exchanged(b"GET / HTTP/1.1\r\nHos", more=0.6)
    head, _, body = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408")
    assert ended
    assert json.loads(body)["error"]["code"] == "too_slow"


def test_a_connection_on_which_nothing_comes_is_closed(monkeypatch):
    monkeypatch.setattr(_listening, "PATIENCE", 0.3)
    assert exchanged(more=0.6) == (b"", True)


def test_drops_of_a_head_or_a_body_do_not_buy_time(monkeypatch):
    monkeypatch.setattr(_listening, "PATIENCE", 0.3)
    for drops in ([b"GET / HTTP/1.1\r\n"] + [b"X: y\r\n"] * 8, [WHOLE[:-2]] + [b"{"] * 1 + [b""] * 7):
        found, ended = exchanged(*drops, pause=0.1)
        assert ended
        assert b" 204 " not in found


def test_a_request_that_comes_whole_is_answered_and_the_next_has_all_the_time(monkeypatch):
    monkeypatch.setattr(_listening, "PATIENCE", 0.5)
    found, ended = exchanged(WHOLE[:20], WHOLE[20:], b"", WHOLE[:20], WHOLE[20:], pause=0.2)
    assert found.count(b"HTTP/1.1 204") == 2
    assert not ended


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"\x16\x03\x01"])
def test_what_is_not_http_is_told_in_json(sent):
    found, ended = exchanged(sent)
    head, _, body = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"content-type: application/json" in head
    assert ended
    error = json.loads(body)["error"]
    assert (error["code"], error["field"]) == ("bad_request", None)
    assert b"nonsense" not in body


def test_a_head_without_end_is_not_read_to_its_end():
    """Joining its pieces would take everybody's time, and needs no key."""
    line = b"X-Y: " + b"z" * 1000 + b"\r\n"
    enough = _listening.MOST_HEAD // len(line) + 2
    for pieces in ([b"GET / HTTP/1.1\r\nHost: x\r\n" + line * enough], [b"GET / HTTP/1.1\r\n", *[line] * enough]):
        found, ended = exchanged(*pieces)
        head, _, body = found.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 431")
        assert ended
        assert json.loads(body)["error"]["code"] == "too_large"


def test_a_long_body_is_no_long_head_and_each_request_has_a_head_of_its_own():
    size = 3 * _listening.MOST_HEAD
    long = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"b" * size
    head = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"z" * (_listening.MOST_HEAD - 200) + b"\r\n\r\n"
    found, ended = exchanged(long, head, head + long, head[:1000], head[1000:] + long)
    assert (found.count(b"HTTP/1.1 204"), ended) == (6, False)


def test_whoever_does_not_read_is_hung_up_on_and_whoever_reads_slowly_is_not(monkeypatch):
    monkeypatch.setattr(_listening, "PATIENCE", 0.3)
    answer = b"a" * (16 * 2**20)

    async def long(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": answer})

    async def main(pause):
        with listen("127.0.0.1", 0) as listener:
            server = uvicorn.Server(
                uvicorn.Config(long, http=patient_protocol(), log_config=None, lifespan="off", access_log=False)
            )
            running = asyncio.create_task(server.serve(sockets=[listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname(), limit=2**16)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            found = 0
            try:
                await asyncio.sleep(pause)
                while part := await asyncio.wait_for(reader.read(2**20), 1.0):
                    found += len(part)
                    await asyncio.sleep(0.03)
            except (TimeoutError, ConnectionError):
                pass
            writer.close()
            server.should_exit = True
            await running
            return found

    assert asyncio.run(main(2.0)) < len(answer)
    assert asyncio.run(main(0.0)) >= len(answer)


def test_who_is_bound_is_not_heard_yet():
    with bind("127.0.0.1", 0) as found:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(found.getsockname(), 1)
        hear(found, 1)
        socket.create_connection(found.getsockname(), 1).close()
        with pytest.raises(BadInput, match="Address already in use"):
            listen(*found.getsockname())


def test_of_what_libraries_log_one_line_a_second_of_a_kind_is_kept(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    keep = NotTooOften().filter

    def record(name, problem=None):
        info = None if problem is None else (type(problem), problem, None)
        return logging.LogRecord(name, logging.ERROR, "f", 1, "said PRIVATE", (), info)

    assert [keep(record("asyncio", OSError())) for _ in range(1000)].count(True) == 1
    assert keep(record("asyncio", ValueError()))
    assert all(keep(record("tacit.service")) for _ in range(5))
    now[0] += 1.0
    assert keep(record("asyncio", OSError()))
    assert "PRIVATE" not in Lines().format(record("py.warnings"))
