"""PostgreSQL, for more than one replica. Needs `psycopg` (in `tacit[serve]`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

from tacit.errors import BadInput, StoreUnavailable
from tacit.service.database import Row

try:
    import psycopg
except ImportError:
    raise BadInput(
        "Expected psycopg for a store at postgresql://, got none. Install it with pip install 'tacit[serve]'."
    ) from None


#: The lock of whoever writes: a number that nothing else on the server is likely to use.
_ALONE = 7340021


@lru_cache(maxsize=256)
def _translated(statement: str) -> bytes:
    return statement.replace("?", "%s").replace(" BLOB", " BYTEA").encode()


class Postgres:
    """One connection. After it was lost the next transaction opens another; what was in flight is not repeated."""

    kind = "postgresql"
    inline = False
    changes = 0
    connections = 0

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None
        self._identity = ""
        self._open()

    def _open(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed or self._connection.broken:
            try:
                self._connection = psycopg.connect(self._url, connect_timeout=5, autocommit=True)
                # Full durability whatever the server's default is: an acknowledged reward is on the disk.
                self._connection.execute("SET synchronous_commit = on")
                # A process that stands still in the middle of a transaction holds up everybody: not for long.
                self._connection.execute("SET idle_in_transaction_session_timeout = '10s'")
                if self._connection.info.server_version >= 170000:  # also in the middle of a statement
                    self._connection.execute("SET transaction_timeout = '20s'")
                found = self._connection.execute(
                    "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || "
                    "(SELECT oid FROM pg_database WHERE datname = current_database())::text"
                ).fetchone()
                self._identity = "" if found is None else str(found[0])
                self.connections += 1
            except psycopg.Error as problem:
                self._connection = None
                raise _unavailable(problem) from None
        return self._connection

    def recount(self, changes: int) -> None:
        self.changes = changes

    def begin(self) -> None:
        self._open()
        # One transaction at a time among all replicas. Rows of several deployments, the ledger's head and repeats of
        # one request would otherwise be locked in whatever order requests came in: replicas waited for each other
        # until the server ended one of them, and everybody in that transaction was told to come again.
        # Under another isolation, which a server may have for its default, what one sees would be older than the lock.
        self.run(f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({_ALONE})")

    def commit(self) -> None:
        try:
            answer = self._same().execute("COMMIT").statusmessage
        except psycopg.Error:
            raise StoreUnavailable(
                "Expected PostgreSQL to commit, got no answer: it was done or not. Send it again; it counts once."
            ) from None
        # What failed on the way is rolled back by COMMIT without an error: its answer says which of the two it was.
        if answer != "COMMIT":
            raise StoreUnavailable("Expected PostgreSQL to commit, got a rollback. Nothing was changed; try again.")

    def rollback(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _same(self) -> psycopg.Connection[Any]:
        """The connection that `begin` opened: another one would be outside of the transaction."""
        if self._connection is None:
            raise StoreUnavailable("Expected a working PostgreSQL server, got none. Nothing was changed; try again.")
        return self._connection

    def _execute(self, statement: str, values: Sequence[Any]) -> psycopg.Cursor[Any]:
        try:
            return self._same().execute(cast(Any, _translated(statement)), values)
        except psycopg.Error as problem:
            raise _unavailable(problem) from None

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        found = self._execute(statement, values).rowcount
        self.changes += found != 0
        return found

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self.changes += 1
        try:
            with self._same().cursor() as cursor:
                cursor.executemany(cast(Any, _translated(statement)), list(rows))
        except psycopg.Error as problem:
            raise _unavailable(problem) from None

    def one(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        return self._execute(statement, values).fetchone()

    def all(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def settle(self) -> None:
        """The server's own affair: its vacuum and its log."""

    def has_table(self, name: str) -> bool:
        found = self.one("SELECT to_regclass(?) IS NOT NULL", (name,))
        return found is not None and bool(found[0])

    def check(self) -> None:
        """The server's own affair, too."""

    def identity(self) -> str:
        return self._identity


def _unavailable(problem: psycopg.Error) -> StoreUnavailable:
    # The server's message may quote values: only its class and code are passed on.
    code = getattr(problem, "sqlstate", None)
    return StoreUnavailable(
        f"Expected a working PostgreSQL server, got {type(problem).__name__}"
        f"{'' if code is None else f' ({code})'}. Nothing was changed; try again."
    )
