"""The shuffler over HTTP, as a bare ASGI application: two addresses need no framework.

    POST /v1/reports    a sealed report; 202 {"taken": true, "stage": n}
    GET  /health        200 {"ready": true, "stage": n, "why_not": null}, or 503 with the reason as long as the server
                        has not been heard of, and once it has learned all the batches of its horizon

Errors are {"error": {"code", "message", "field"}}. Nothing about a request is logged or kept: not its address, not its
headers, not its time.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

from tacit.errors import BadMessage, HorizonSpent, RepeatedReport, ServiceUnavailable, StaleReport, TacitError
from tacit.shuffling.mixing import Mixing

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_LOG = logging.getLogger("tacit.shuffling")
#: Requests at a time; more are told to come again. Connections that ask for nothing are none.
_MOST = 1000
#: Seconds that a body may take to arrive.
_PATIENCE = 10.0


class _Answer(NamedTuple):
    status: int
    body: dict[str, Any]
    headers: tuple[tuple[bytes, bytes], ...] = ()


class _Gone(Exception):
    """Whoever asked has hung up."""


class App:
    """What uvicorn calls."""

    def __init__(self, mixing: Mixing) -> None:
        self._mixing = mixing
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            if self._open >= _MOST:
                await _send(_busy(), send)
                return
            self._open += 1
            try:
                answer = await self._answer(scope, receive)
            except _Gone:
                return
            except Exception as problem:
                # Its words, and the lines it went through, may show what was sent.
                _LOG.error("a request failed (%s)", type(problem).__name__)
                answer = _error(500, "internal", "Expected to answer, got a mistake of the shuffler. Send it again.")
            finally:
                self._open -= 1
            await _send(answer, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._mixing.start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._mixing.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive) -> _Answer:
        method, path = scope["method"], scope["path"]
        allowed = {"/v1/reports": "POST", "/health": "GET"}.get(path)
        if allowed is None:
            return _error(404, "not_found", "Expected /v1/reports or /health, got another address.")
        if method != allowed:
            answer = _error(405, "method_not_allowed", f"Expected {allowed} here, got another method.")
            return answer._replace(headers=((b"allow", allowed.encode()),))
        if path == "/health":
            stage, why_not = self._mixing.stage, self._mixing.why_not
            found = {"ready": why_not is None, "stage": stage, "why_not": why_not}
            return _Answer(200 if why_not is None else 503, found)
        return await self._report(scope, receive)

    async def _report(self, scope: Scope, receive: Receive) -> _Answer:
        if any(name == b"origin" for name, _ in scope["headers"]):
            # Browsers name the page with every POST, and devices are programs: no page enlists its visitors to report.
            return _error(403, "wrong_origin", "Expected a report of a device's own program, got one from a page.")
        longest = self._mixing.longest
        try:
            async with asyncio.timeout(_PATIENCE):
                body = await _body(scope, receive, longest)
        except TimeoutError:
            return _error(408, "too_slow", f"Expected a report within {_PATIENCE:g} seconds, got half of one.")
        if body is None:
            return _error(
                413, "too_large", f"Expected a report of at most {longest:,} bytes, got more. It was not read."
            )
        try:
            return _Answer(202, {"taken": True, "stage": self._mixing.take(body)})
        except RepeatedReport as problem:
            return _error(409, "repeated_report", str(problem))
        except StaleReport as problem:
            return _error(409, "stale_report", str(problem))
        except HorizonSpent as problem:
            return _error(409, "horizon_spent", str(problem))
        except ServiceUnavailable as problem:
            return _error(503, problem.code or "unavailable", str(problem))._replace(headers=((b"retry-after", b"1"),))
        except BadMessage as problem:
            return _error(400, "bad_message", str(problem))
        except TacitError as problem:
            return _error(400, "bad_input", str(problem))


async def _body(scope: Scope, receive: Receive, longest: int) -> bytes | None:
    """The body of a request; None if it is too long, of which no more than that is read."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            digits = value.lstrip(b"0")  # a number of thousands of digits is not worked out
            if len(digits) > 18 or int(digits or b"0") > longest:
                return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Gone
        body += message.get("body", b"")
        if len(body) > longest:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _error(status: int, code: str, message: str) -> _Answer:
    return _Answer(status, {"error": {"code": code, "message": message, "field": None}})


def _busy() -> _Answer:
    text = "Expected fewer reports at a time, got more than can be read. Nothing was taken; send it again."
    return _error(503, "busy", text)._replace(headers=((b"retry-after", b"1"),))


async def _send(answer: _Answer, send: Send) -> None:
    body = json.dumps(answer.body).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
