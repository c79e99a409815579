"""Telling the witness how far the store has come, and remembering it: a store may be put back while it is served."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tacit.errors import StoreRefused, StoreUnavailable, TacitError
from tacit.service.store import Store
from tacit.service.witness import Witness, compare

_log = logging.getLogger("tacit.service")


class Telling:
    """What this process has seen of the store, in memory and in the witness's file.

    The file is written after the store, so that it is never ahead of it, and by a thread of its own: nobody waits for
    its disk, and a witness that is behind does no harm.
    """

    def __init__(self, store: Store, path: Path) -> None:
        self._store, self._path = store, path
        self._seen = Witness.of(store)
        self._told: Witness | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tacit-witness")
        self.due = False  #: tell it after the next transaction, whether the ledger has grown or not

    def grown(self, seq: int, head: str) -> None:
        """The ledger has this head now, durably."""
        self._seen = replace(self._seen, seq=seq, head=head)

    def tell(self) -> None:
        """Look, and have it written."""
        self._store.grown = self.due = False
        try:
            compare(self._store, self._seen, "this process")  # it is never told to go back
            self._seen = Witness.of(self._store)
        except TacitError as problem:
            _log.warning({"witness not written": type(problem).__name__})
        else:
            self._thread.submit(self._write, self._seen)

    def stop(self) -> None:
        """Tell it a last time."""
        self.tell()
        self._thread.shutdown()

    def check(self) -> None:
        """Refuse a store that is not as far as it was: what was released since would be released again, under other
        noise. Only a start, with a witness and perhaps a fork, goes on from there."""
        try:
            compare(self._store, self._seen, "this process")
        except StoreRefused as problem:
            raise StoreUnavailable(f"{problem} This process serves nothing until it is started again.") from None

    def _write(self, now: Witness) -> None:
        if now == self._told:
            return
        try:
            now.save(self._path)
            self._told = now
        except (OSError, TacitError) as problem:
            _log.warning({"witness not written": type(problem).__name__})
