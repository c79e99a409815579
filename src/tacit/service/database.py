"""One connection to SQLite or PostgreSQL, one way to speak to both.

Statements are written once, with `?` for values. A transaction is begun, filled and committed by whoever owns the
connection; nothing here retries. What the database raises becomes `StoreUnavailable`, whose text holds no values.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from tacit.core.sealed import belong
from tacit.errors import BadInput, StoreRefused, StoreUnavailable

Row = Sequence[Any]


class Database(Protocol):
    """A connection with at most one transaction open."""

    kind: str
    #: Whether statements may run in the event loop: they touch memory, and only `commit` waits for a disk.
    inline: bool
    #: How many statements have been run that changed something.
    changes: int
    #: How many connections there have been: behind another one the server may be another, or be as it was before.
    connections: int

    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...
    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Execute; how many rows it changed."""
        ...

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None: ...
    def recount(self, changes: int) -> None:
        """Take what was changed since for somebody else's."""
        ...

    def one(self, statement: str, values: Sequence[Any] = ()) -> Row | None: ...
    def all(self, statement: str, values: Sequence[Any] = ()) -> list[Row]: ...
    def settle(self) -> None:
        """After an erasure: leave no old pages behind in a log."""
        ...

    def has_table(self, name: str) -> bool: ...
    def check(self) -> None:
        """Look at every page, where that is ours to do; refuse a damaged store."""
        ...

    def identity(self) -> str:
        """What tells this server or file from another that holds a copy of it; "" if nothing does."""
        ...


def connect(url: str) -> Database:
    """The store at `url`: a path or `sqlite:///path`, or `postgresql://…`."""
    if url.startswith(("postgresql://", "postgres://")):
        from tacit.service.postgres import Postgres

        return Postgres(url)
    if "://" in url and not url.startswith("sqlite://"):
        raise BadInput(
            f"Expected a store such as tacit.db or postgresql://host/name, got the scheme {url.split('://')[0]!r}."
        )
    return SQLite(file_of(url))


def exists(url: str) -> bool:
    """Whether there may be a store; of a server it is not known before one asks."""
    return ("://" in url and not url.startswith("sqlite://")) or file_of(url).exists()


def file_of(url: str) -> Path:
    """The file of an embedded store."""
    return Path(url.removeprefix("sqlite:///").removeprefix("sqlite://"))


class SQLite:
    """A file of its own: WAL, every commit on the disk before it returns, one writer, readable by its owner alone."""

    kind = "sqlite"
    inline = True
    changes = 0
    connections = 1

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Made here and not by SQLite, so that there is no moment at which others may read it.
            new = not path.exists()
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            if new:  # made by an administrator, it is for whoever serves from this folder
                belong(handle, path.parent)
            os.close(handle)
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                path.chmod(0o600)
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=2.0
            )
            for pragma in (
                "locking_mode=EXCLUSIVE",  # one writer: a second process is refused, not interleaved
                "journal_mode=WAL",
                "synchronous=FULL",
                "foreign_keys=ON",
                "secure_delete=ON",  # what is erased leaves no bytes behind
                "temp_store=MEMORY",
                "wal_autocheckpoint=2000",
            ):
                self._connection.execute(f"PRAGMA {pragma}")
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as problem:
            raise _unavailable(problem, str(path)) from None

    def recount(self, changes: int) -> None:
        self.changes = changes

    def begin(self) -> None:
        self.run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.run("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def settle(self) -> None:
        with suppress(sqlite3.Error):  # a full disk: the log stays, and is read at the next start
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self.settle()
        self._connection.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        try:
            found = self._connection.execute(statement, values).rowcount
        except sqlite3.Error as problem:
            raise _unavailable(problem, str(self.path)) from None
        self.changes += found != 0
        return found

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self.changes += 1
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.Error as problem:
            raise _unavailable(problem, str(self.path)) from None

    def one(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        try:
            found: Row | None = self._connection.execute(statement, values).fetchone()
        except sqlite3.Error as problem:
            raise _unavailable(problem, str(self.path)) from None
        return found

    def all(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as problem:
            raise _unavailable(problem, str(self.path)) from None

    def has_table(self, name: str) -> bool:
        return self.one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)) is not None

    def check(self) -> None:
        if self.all("PRAGMA quick_check(1)")[0][0] != "ok":
            raise StoreRefused(
                f"Expected an intact store at {self.path}, got one with damaged pages. Put back a copy, and accept the "
                "price with `tacit ledger fork`."
            )

    def identity(self) -> str:
        return ""


def _unavailable(problem: Exception, where: str) -> StoreUnavailable:
    text = str(problem)
    if "locked" in text:
        return StoreUnavailable(
            f"Expected to be alone with the store {where}, got a lock: another process serves from it. Stop that one, "
            "or use postgresql:// for several."
        )
    if "full" in text:
        return StoreUnavailable(
            "Expected room on the disk of the store, got none: nothing was changed. Free some, and send it again."
        )
    if isinstance(problem, OSError):
        return StoreUnavailable(
            f"Expected to read and write the store {where}, got: {problem.strerror}. Check --store, and who owns its "
            "folder. Nothing was changed."
        )
    if isinstance(problem, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text):
        return StoreUnavailable(
            f"Expected a store at {where}, got a file that is damaged, or is none. Put back a copy, and accept the "
            "price with `tacit ledger fork`. Nothing was changed."
        )
    return StoreUnavailable(
        f"Expected a working store at {where}, got: {type(problem).__name__}: {text}. Nothing was changed; try again."
    )
