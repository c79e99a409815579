"""Who may do what: keys with roles, stored as hashes.

    decide   decisions, rewards, and what is published
    report   reports and batches, and what is published
    admin    everything

Without any key the service listens on loopback only, and everybody there may do everything.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException, PermissionDeniedException
from litestar.handlers.base import BaseRouteHandler

from tacit._validate import one_of
from tacit.errors import BadInput
from tacit.service.api.types import Error
from tacit.service.store import Store

ROLES = ("decide", "report", "admin")


def new_key(store: Store, name: str, role: str) -> str:
    """A fresh key, shown once. Stored is its hash: 256 random bits need no slow one."""
    check_new(name, role)
    key = "tacit_" + secrets.token_urlsafe(32)
    if not store.add_api_key(name, role, _hash(key)):
        raise BadInput(f"Expected a name that no key has, got {name!r}. Remove that key first, or choose another name.")
    return key


def check_new(name: str, role: str) -> None:
    """Refuse a name or a role that no key may have."""
    one_of("role", role, ROLES)
    if not 1 <= len(name) <= 128 or not name.isprintable() or name != name.strip():
        raise BadInput(
            f"Expected a name of 1 to 128 visible characters, got {name!r}. Choose another: it says whose key it is."
        )


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Keys:
    """The keys there are."""

    def __init__(self, rows: list[tuple[str, str, str]]) -> None:
        self._rows = [(role, digest.encode()) for _, role, digest in rows]

    def __bool__(self) -> bool:
        return bool(self._rows)

    def role(self, header: str | None) -> str | None:
        """The role of whoever sends this `Authorization` header; compared in constant time with every key."""
        if not self._rows:
            return "admin"
        scheme, _, key = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            return None
        digest, found = _hash(key.strip()).encode(), None
        for role, stored in self._rows:
            if hmac.compare_digest(stored, digest):
                found = role
        return found


def refusal(keys: Keys, header: str | None, *roles: str) -> tuple[int, Error] | None:
    """Why whoever sends this header may not do what these roles, or admin, may; None if they may."""
    role = keys.role(header)
    if role == "admin" or role in roles:
        return None
    if role is None:
        text = (
            "Expected a key of this service, got none or another. Send Authorization: Bearer KEY; `tacit` takes it by "
            "--key or TACIT_KEY, tacit.Client as key=."
        )
        return 401, Error("no_key", text)
    wanted = " or ".join(sorted({*roles, "admin"}))
    return 403, Error("wrong_role", f"Expected a key with the role {wanted}, got one with the role {role}.")


def needs(*roles: str) -> Any:
    """A guard: one of these roles, or admin."""

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        found = refusal(connection.app.state.callers, connection.headers.get("authorization"), *roles)
        if found is not None:
            status, error = found
            if status == 401:
                raise NotAuthorizedException(error.message, headers={"WWW-Authenticate": "Bearer"})
            raise PermissionDeniedException(error.message)

    told: Any = guard
    told.roles = roles  # for the documentation
    return guard
