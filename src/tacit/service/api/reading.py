"""Bodies as their types say. The framework by itself would take "1" for a number, and any body for JSON."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from litestar import Request
from litestar.exceptions import ClientException

from tacit.core.messages import read

#: What a body must say it is.
JSON = b"application/json"


def is_json(content_type: bytes) -> bool:
    """Whether a `Content-Type` header names JSON, with whatever parameters."""
    return content_type.partition(b";")[0].strip().lower() == JSON


class BadBody(Exception):
    """A body that is not of its kind; the problem is its cause."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind


def body_kind(request: Request[Any, Any, Any]) -> Any:
    """The type that the handler of a request has for its body."""
    field = request.route_handler.parsed_data_field
    return Any if field is None else field.annotation


class Asked(Request[Any, Any, Any]):
    """A request whose body is read by the type its handler has for it."""

    async def json(self) -> Any:
        if not is_json(self.headers.get("content-type", "").encode("latin-1", "replace")):
            raise ClientException(status_code=415)
        body = await self.body()
        kind = body_kind(self)
        if kind == dict[str, Any]:  # a message of the protocol, which has rules of its own
            return read(body)
        try:
            return _decoder(kind).decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise BadBody(kind) from problem


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
