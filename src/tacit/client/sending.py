"""Two thin ways to send a call, and one rule for when to send it again.

httpx's transports are used without its clients: a client logs every address it asks for, and addresses here hold ids of
decisions and people.
"""

from __future__ import annotations

import asyncio
import importlib
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from tacit._validate import positive, whole
from tacit._version import __version__
from tacit.client.calls import LATER, Answer, Call
from tacit.errors import BadInput, ServiceError, ServiceUnavailable

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

#: The first pause between two tries, doubled with each; a service that asks for more gets at most the longest.
_FIRST, _LONGEST = 0.1, 5.0
#: Bytes of an answer that are read at most: a view of as many numbers as a message may have.
MOST = 2**26 + 2**20


class Address:
    """Where a service is and how it is spoken to. Never shows the key."""

    def __init__(self, url: str, key: str | None, timeout: float, retries: int) -> None:
        self.httpx = _httpx()
        self.url = _checked(url)
        self.timeout = positive("timeout", timeout)
        self.retries = whole("retries", retries, low=0)
        self._headers = {"Accept": "application/json", "User-Agent": f"tacit/{__version__}"}
        if key is not None:
            if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key or " " in key:
                raise BadInput("Expected key to be a text of visible characters, got something else.")
            self._headers["Authorization"] = f"Bearer {key}"

    def request(self, call: Call[Any]) -> httpx.Request:
        headers, content = {**self._headers, **call.headers}, call.content()
        if content is not None:
            headers["Content-Type"] = "application/json"
        patience = self.httpx.Timeout(self.timeout).as_dict()
        made: httpx.Request = self.httpx.Request(
            call.method, self.url + call.path, headers=headers, content=content, extensions={"timeout": patience}
        )
        return made

    def no_answer(self, problem: Exception) -> ServiceUnavailable:
        """The error for a failure on the way."""
        return ServiceUnavailable(
            f"Expected an answer of the service at {self.url}, got none ({type(problem).__name__}). Is it running, and "
            "can it be reached from here?"
        )


class Sender:
    """Sends calls one after the other. Safe to use from several threads."""

    def __init__(self, address: Address, transport: httpx.BaseTransport | None) -> None:
        self._address = address
        self._transport = address.httpx.HTTPTransport() if transport is None else transport

    def send(self, call: Call[T]) -> T:
        """The answer, read; repeated where that is safe and may help."""
        tries = 0
        while True:
            outcome = self._once(call)
            pause = pause_before(call, outcome, tries, self._address.retries)
            if pause is None:
                return call.result(outcome, again=tries > 0)
            time.sleep(pause)
            tries += 1

    def _once(self, call: Call[Any]) -> Answer | ServiceUnavailable:
        try:
            response = self._transport.handle_request(self._address.request(call))
            try:
                body = bytearray()
                for part in response.iter_bytes():
                    _add(body, part)
            finally:
                response.close()
        except self._address.httpx.HTTPError as problem:
            return self._address.no_answer(problem)
        return _answer(response, body)

    def close(self) -> None:
        self._transport.close()


class AsyncSender:
    """Sends calls from an event loop."""

    def __init__(self, address: Address, transport: httpx.AsyncBaseTransport | None) -> None:
        self._address = address
        self._transport = address.httpx.AsyncHTTPTransport() if transport is None else transport

    async def send(self, call: Call[T]) -> T:
        """The answer, read; repeated where that is safe and may help."""
        tries = 0
        while True:
            outcome = await self._once(call)
            pause = pause_before(call, outcome, tries, self._address.retries)
            if pause is None:
                return call.result(outcome, again=tries > 0)
            await asyncio.sleep(pause)
            tries += 1

    async def _once(self, call: Call[Any]) -> Answer | ServiceUnavailable:
        try:
            response = await self._transport.handle_async_request(self._address.request(call))
            try:
                body = bytearray()
                async for part in response.aiter_bytes():
                    _add(body, part)
            finally:
                await response.aclose()
        except self._address.httpx.HTTPError as problem:
            return self._address.no_answer(problem)
        return _answer(response, body)

    async def close(self) -> None:
        await self._transport.aclose()


def pause_before(call: Call[Any], outcome: Answer | ServiceUnavailable, tries: int, retries: int) -> float | None:
    """Seconds to wait before the same call is sent again; None if its outcome stands.

    Only calls that may arrive twice are sent twice. Pauses double, and differ by chance: clients that were cut off
    together should not come back together.
    """
    later = isinstance(outcome, ServiceUnavailable) or outcome.status in LATER
    if not (later and call.repeatable and tries < retries):
        return None
    pause = _FIRST * float(2**tries) * random.uniform(0.5, 1.0)
    if isinstance(outcome, Answer):
        with suppress(ValueError):  # a date, which is as good as nothing here
            pause = max(pause, float(outcome.headers.get("retry-after", 0)))
    return min(pause, _LONGEST)


def _add(body: bytearray, part: bytes) -> None:
    body += part
    if len(body) > MOST:
        raise ServiceError(f"Expected an answer of at most {MOST:,} bytes, got more. The rest was not read.")


def _answer(response: httpx.Response, body: bytearray) -> Answer:
    return Answer(response.status_code, {key.lower(): value for key, value in response.headers.items()}, bytes(body))


def _checked(url: object) -> str:
    """The address without a slash at its end, if it is one."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        port = None if parts is None else parts.port
    except ValueError:
        parts = port = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise BadInput("Expected url to be an address like http://127.0.0.1:8420, got something else.")
    if parts.username is not None or parts.password is not None:
        raise BadInput("Expected url without a user or a password, got one with them. Pass a key: key=….")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    found = f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"
    try:
        parts.hostname.encode("idna")
        _httpx().Request("GET", found)
    except (ValueError, _httpx().InvalidURL):  # a name with two dots in a row, a character that no address has
        raise BadInput("Expected url to be an address like http://127.0.0.1:8420, got something else.") from None
    return found


def _httpx() -> Any:
    try:
        return importlib.import_module("httpx")
    except ImportError:
        raise BadInput(
            "Expected httpx to be installed for a client of a service, got none. `pip install 'tacit[client]'`."
        ) from None
