"""The two addresses that every request of a product goes through, without the framework in between.

A decision and its reward are answered by the same functions as the framework's routes, with the same types, roles,
limits and errors; only the way there is short. Measured in docs/results/serve.md.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from tacit.errors import BadInput, TacitError
from tacit.service.api import types
from tacit.service.api.failures import bad_body, described
from tacit.service.api.reading import JSON, is_json
from tacit.service.api.roles import Keys, refusal
from tacit.service.deciding import Decided, Deciding
from tacit.service.deciding import Request as Wanted
from tacit.service.engine import Engine

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_PATH = re.compile(r"/v1/deployments/([a-z0-9-]{1,63})/decisions(?:/([0-9a-f]{1,64})/reward)?")
_ask = msgspec.json.Decoder(types.Ask).decode
_reward = msgspec.json.Decoder(types.Reward).decode
_encode = msgspec.json.Encoder().encode
_TYPE = (b"content-type", JSON)


class TooLarge(Exception):
    """A body that grew beyond what is read."""


def deciding(engine: Engine, name: str) -> Deciding:
    """The deployment of this name, if it decides."""
    found = engine.find(name)
    if not isinstance(found, Deciding):
        raise BadInput(
            f"Expected a deployment that decides, got one of {found.config.slug}, whose people decide on their own "
            "devices. Use its view and its reports."
        )
    return found


async def decided(engine: Engine, found: Deciding, ask: types.Ask) -> tuple[bool, types.Decision]:
    """A decision, durable; and whether its key has had it before."""
    ids, features = None, None
    if ask.actions is not None:
        ids = [one if isinstance(one, str) else one.id for one in ask.actions]
        features = [None if isinstance(one, str) else one.features for one in ask.actions]
    rows = found.check(features, ask.context)
    if ids is not None and len(set(ids)) < len(ids):
        raise BadInput("Expected actions with ids of their own, got the same id twice. Send every action once.").about(
            "actions"
        )
    wanted = Wanted(rows, ask.person, ask.key, ids)
    made: Decided = await engine.submit(partial(found.decide, wanted, engine.now()), found)
    return made.repeated, types.Decision(made.decision, made.action, made.index, made.view)


async def rewarded(engine: Engine, found: Deciding, identity: str, value: float) -> types.Rewarded:
    """A reward, durable."""
    return types.Rewarded(identity, await engine.submit(partial(found.reward, identity, value, engine.now()), found))


class Fast:
    """Answers decisions and rewards; says no to everything else, which then goes the long way."""

    def __init__(self, engine: Engine, keys: Keys, most_bytes: int) -> None:
        self._engine = engine
        self._keys = keys
        self._most = most_bytes

    def takes(self, scope: dict[str, Any]) -> re.Match[str] | None:
        """The parts of the address, if it is one of the two."""
        method = scope["method"]
        if method != "POST" and method != "PUT":
            return None
        found = _PATH.fullmatch(scope["path"])
        if found is None or (found[2] is None) != (method == "POST"):
            return None
        for name, value in scope["headers"]:
            if name == b"content-type":
                return found if is_json(value) else None
        return None

    async def answer(self, place: re.Match[str], scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Read, ask the engine, answer."""
        try:
            if self._keys:
                header = next((value for name, value in scope["headers"] if name == b"authorization"), None)
                refused = refusal(self._keys, None if header is None else header.decode("latin-1"), "decide")
                if refused is not None:
                    await respond(send, refused[0], types.Failed(refused[1]))
                    return
            body = await _read(receive, self._most)
            found = deciding(self._engine, place[1])
            answer: Any
            if place[2] is None:
                repeated, answer = await decided(self._engine, found, _ask(body))
                status = 200 if repeated else 201
            else:
                answer = await rewarded(self._engine, found, place[2], _reward(body).value)
                status = 200
        except TacitError as problem:
            status, error = described(problem)
            answer = types.Failed(error)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            status, answer = 400, types.Failed(bad_body(problem, types.Ask if place[2] is None else types.Reward))
        except TooLarge:
            status = 413
            answer = types.Failed(
                types.Error("too_large", f"Expected a body of at most {self._most:,} bytes, got more. It was not read.")
            )
        await respond(send, status, answer)


async def _read(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise msgspec.DecodeError("cut short")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise TooLarge
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def respond(send: Send, status: int, answer: Any) -> None:
    """An answer as JSON."""
    body = _encode(answer)
    headers = [_TYPE, (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
