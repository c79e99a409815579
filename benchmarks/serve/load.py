"""A load from another process, on loopback, bounded in count and in time.

Requests are bytes that were made ready before the clock starts, and answers are read no further than needed, so that
the generator is not what is measured.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """What came of a load."""

    answers: int = 0
    failures: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return self.answers / self.seconds

    def quantile(self, share: float) -> float:
        """Seconds that so many of the answers took at most."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def request(method: str, path: str, body: bytes) -> bytes:
    """A request as it goes over the wire."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Connection(asyncio.Protocol):
    """One request at a time; `done` is called with the answer's status and body."""

    def __init__(self, done: Callable[[_Connection, int, bytes], None]) -> None:
        self._done = done
        self._data = b""
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._data[:end].lower()
        at = head.find(b"content-length:")
        size = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(self._data) < end + 4 + size:
            return
        body, status = self._data[end + 4 : end + 4 + size], int(self._data[9:12])
        self._data = b""
        self._done(self, status, body)


async def closed_loop(
    port: int, requests: Iterator[bytes], clients: int, seconds: float, *, keep: bool = False, most: int | None = None
) -> Outcome:
    """Every client sends its next request as soon as it has an answer."""
    loop = asyncio.get_running_loop()
    found, sent, finished = Outcome(), {}, loop.create_future()
    ends = time.perf_counter() + seconds
    open_ones = 0

    def send(connection: _Connection) -> None:
        nonlocal open_ones
        now = time.perf_counter()
        data = next(requests, None) if now < ends and (most is None or found.answers < most) else None
        if data is None:
            open_ones -= 1
            connection.transport.close()
            if not open_ones and not finished.done():
                finished.set_result(None)
            return
        sent[connection] = now
        connection.transport.write(data)

    def done(connection: _Connection, status: int, body: bytes) -> None:
        found.latencies.append(time.perf_counter() - sent[connection])
        found.answers += 1
        found.failures += status >= 300
        if keep:
            found.bodies.append(body)
        send(connection)

    began = time.perf_counter()
    for _ in range(clients):
        _, connection = await loop.create_connection(lambda: _Connection(done), "127.0.0.1", port)
        open_ones += 1
        send(connection)
    await asyncio.wait_for(finished, seconds + 60)
    found.seconds = time.perf_counter() - began
    return found


async def open_loop(port: int, requests: Iterator[bytes], per_second: float, seconds: float) -> Outcome:
    """Requests at fixed times, whether the answers have come or not: latencies count from when each was due."""
    loop = asyncio.get_running_loop()
    found = Outcome()
    idle: list[_Connection] = []
    due: dict[_Connection, float] = {}

    def done(connection: _Connection, status: int, body: bytes) -> None:
        found.latencies.append(time.perf_counter() - due.pop(connection))
        found.answers += 1
        found.failures += status >= 300
        idle.append(connection)

    began = time.perf_counter()
    count = int(per_second * seconds)
    for number in range(count):
        at = began + number / per_second
        wait = at - time.perf_counter()
        if wait > 0.0005:
            await asyncio.sleep(wait)
        elif number % 16 == 0:
            await asyncio.sleep(0)
        if idle:
            connection = idle.pop()
        else:
            _, connection = await loop.create_connection(lambda: _Connection(done), "127.0.0.1", port)
        due[connection] = at
        connection.transport.write(next(requests))
    for _ in range(6000):
        if found.answers == count:
            break
        await asyncio.sleep(0.01)
    found.seconds = time.perf_counter() - began
    for connection in idle:
        connection.transport.close()
    return found
