"""The application: routes, error shape, documentation, and a thin shell around them that measures and limits."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from litestar import Litestar, Request, get
from litestar.datastructures import State
from litestar.enums import MediaType, OpenAPIMediaType
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin

from tacit._version import __version__
from tacit.errors import TacitError
from tacit.service import api_page, dashboard, pages
from tacit.service.api import failures
from tacit.service.api.description import document
from tacit.service.api.fast import Fast, respond
from tacit.service.api.operations import health, prometheus, status
from tacit.service.api.reading import Asked, BadBody
from tacit.service.api.roles import Keys
from tacit.service.api.routes import V1
from tacit.service.api.types import Error, Failed
from tacit.service.engine import Engine
from tacit.service.metrics import Metrics
from tacit.service.settings import MOST_BATCH

_log = logging.getLogger("tacit.requests")

#: Bytes of a body at most.
MOST_BYTES = 4 * 2**20

_PAGES = ("/", "/docs", "/docs/")
_DOCS = ("/docs/", "/docs/openapi.json")
_PAGE_HEADERS = [(name.lower().encode(), value.encode()) for name, value in pages.HEADERS.items()]

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


def application(
    engine: Engine, keys: Keys, *, allow_seed: bool = False, most_bytes: int = MOST_BYTES, log_requests: bool = False
) -> Shell:
    """The service as an ASGI application."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        await engine.start()
        try:
            yield
        finally:
            await engine.stop()

    @get("/", include_in_schema=False, media_type=MediaType.HTML)
    async def front() -> bytes:
        return dashboard.page()

    app = Litestar(
        route_handlers=[V1, health, prometheus, status, front],
        lifespan=[lifespan],
        state=State({"engine": engine, "callers": keys, "metrics": metrics, "allow_seed": allow_seed}),
        exception_handlers={
            TacitError: failures.on_tacit_error,
            BadBody: failures.on_bad_body,
            HTTPException: failures.on_http_error,
            Exception: failures.on_any_error,
        },
        openapi_config=OpenAPIConfig(
            title="tacit",
            version=__version__,
            description="Decisions that learn from people without revealing them.",
            path="/docs",
            use_handler_docstrings=True,
            render_plugins=[_Page(path="/", keyed=bool(keys)), _Json(path="/openapi.json", keyed=bool(keys))],
        ),
        request_class=Asked,
        request_max_body_size=most_bytes,
        logging_config=None,
    )
    return Shell(app, Fast(engine, keys, most_bytes), metrics, most_bytes, log_requests)


class _Described(OpenAPIRenderPlugin):
    """The document in one form or another."""

    def __init__(self, *, keyed: bool, **options: Any) -> None:
        super().__init__(**options)
        self._keyed = keyed
        self._text: bytes | None = None

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        if self._text is None:
            self._text = self.write(document(request.app, keyed=self._keyed))
        return self._text

    def write(self, found: dict[str, Any]) -> bytes:
        raise TypeError


class _Page(_Described):
    """As a page that fetches nothing."""

    def write(self, found: dict[str, Any]) -> bytes:
        return api_page.page(found)


class _Json(_Described):
    """As JSON, for generators of clients."""

    def __init__(self, **options: Any) -> None:
        super().__init__(media_type=OpenAPIMediaType.OPENAPI_JSON, **options)

    def write(self, found: dict[str, Any]) -> bytes:
        return msgspec.json.encode(found)


class Shell:
    """Around the application: the time each request took, and bodies that are refused unread."""

    def __init__(self, app: Litestar, fast: Fast, metrics: Metrics, most_bytes: int, log_requests: bool) -> None:
        self.app = app
        self._fast = fast
        self.metrics = metrics
        self._most = most_bytes
        self._log = log_requests
        self._open = not app.state.callers  # no keys: everybody on this machine may do everything

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)  # type: ignore[arg-type]
            return
        if scope["method"] == "HEAD":  # what GET answers, of which the server leaves out the body
            scope = {**scope, "method": "GET"}
        started, status = time.perf_counter(), 500

        async def counted(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if scope["path"] in _PAGES:
                    message = {**message, "headers": [*message["headers"], *_PAGE_HEADERS]}
            await send(message)

        try:
            place = self._fast.takes(scope)
            if self._open and not _from_here(scope):
                text = "Expected a request of this machine's own programs, got one of a page, of a proxy or under "
                text += "another name. "
                await respond(counted, 403, Failed(Error("wrong_origin", text + "Make a key with `tacit keys add`.")))
            elif (most := self._too_large(scope)) is not None:
                text = f"Expected a body of at most {most:,} bytes, got more. It was not read."
                await respond(counted, 413, Failed(Error("too_large", text)))
            elif scope["path"].startswith("/docs/") and scope["path"] not in _DOCS:
                text = "Expected an address of the service, got another. /docs lists them."
                await respond(counted, 404, Failed(Error("not_found", text)))
            elif place is not None:
                await self._fast.answer(place, scope, receive, counted)
            else:
                await self.app(scope, receive, counted)  # type: ignore[arg-type]
        finally:
            seconds, what = time.perf_counter() - started, _what(scope["method"], scope["path"])
            self.metrics.observe(what, status, seconds)
            if self._log or status >= 500:
                # What was asked for and how it ended: no address, no id, no header, nothing of a body.
                _log.info({"what": what, "status": status, "ms": round(1000 * seconds, 2)})

    def _too_large(self, scope: Scope) -> int | None:
        """How many bytes are read at most, if the body is said to have more."""
        for name, value in scope["headers"]:
            if name == b"content-length":
                most = max(self._most, MOST_BATCH) if scope["path"].endswith("/batches") else self._most
                digits = value.lstrip(b"0") or b"0"  # a number of thousands of digits is not worked out
                return most if not digits.isdigit() or len(digits) > 18 or int(digits) > most else None
        return None


def _from_here(scope: Scope) -> bool:
    """Without keys a page in this machine's browser could ask too, under our address or, by a name that it lets point
    here, under its own; and so could whoever comes through a proxy on this machine, which is found out only if the
    proxy says so. Programs send no origin, call us by an address of this machine, and come by themselves."""
    host = origin = b""
    for name, value in scope["headers"]:
        if name == b"host":
            host = value.lower()
        elif name == b"origin":
            origin = value
        elif name in _PASSED_ON:
            return False
    name = host.rsplit(b":", 1)[0] if not host.endswith(b"]") else host
    return (name in _HERE or _is_loopback(name)) and (not origin or origin == b"http://" + host)


_HERE = frozenset({b"127.0.0.1", b"localhost", b"[::1]"})
#: What proxies say about whom they ask for.
_PASSED_ON = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})


def _is_loopback(name: bytes) -> bool:
    """Whether it is an address of 127.0.0.0/8 in digits. A name that begins so may point anywhere."""
    if not name.startswith(b"127."):
        return False
    try:
        return ipaddress.IPv4Address(name.decode("latin-1")).is_loopback
    except ValueError:
        return False


_LAST = {
    "decisions",
    "reward",
    "rewards",
    "batch",
    "view",
    "card",
    "ledger",
    "reports",
    "batches",
    "contract",
    "pause",
    "resume",
    "actions",
}


def _what(method: str, path: str) -> str:
    """A request by its kind: nothing that a caller made up, so that logs and metrics hold no ids."""
    if not path.startswith("/v1/"):
        known = path in ("/", "/health", "/metrics", "/docs", "/docs/openapi.json")
        return f"{method} {path}" if known and method == "GET" else "other"
    if method not in ("GET", "POST", "PUT", "DELETE"):
        return "other"
    parts = path.split("/")[2:]
    if parts[-1] in _LAST and len(parts) > 2:
        return f"{method} {parts[-1]}"
    if len(parts) == 4 and parts[2] == "persons":
        return f"{method} person"
    return f"{method} {parts[0]}" if parts[0] in ("deployments", "status") else "other"
