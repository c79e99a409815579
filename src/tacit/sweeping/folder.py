"""Where a sweep lives on disk: its runs, its table as far as it has come, and a lock so that there is one writer.

spec.toml       the file as it was read
runs/           one folder per finished run
table.csv       one row per run, in the order of the file; rewritten as runs finish
table.parquet   the same
progress.json   how far it has come, and what failed
"""

from __future__ import annotations

import io
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.errors import BadInput
from tacit.simulation.store import Store, write_whole
from tacit.sweeping.rows import frame_of

try:
    import fcntl
except ImportError:  # no such lock on this system: two sweeps in one folder then waste work, and lose none
    fcntl = None  # type: ignore[assignment]

#: Seconds between two writes of the table.
_PACE = 1.0
#: The table is written so seldom that it takes at most this share of the time.
_SHARE = 0.05


class Folder:
    """The folder of one sweep."""

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise BadInput(f"Expected a folder to write to, got the file {str(path)!r}.")
        self.path = path
        self.store = Store(path / "runs")
        self._next = 0.0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes here meanwhile. The lock goes with the process, however that ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("a+") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    file.seek(0)
                    raise BadInput(
                        f"Expected a folder that no other sweep is using, got {str(self.path)!r}, in which one runs "
                        f"({file.read().strip() or 'unknown'}). Wait for it, or choose another folder by --output."
                    ) from None
            file.seek(0)
            file.truncate()
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.flush()
            yield

    def begin(self, source: bytes | None) -> None:
        """Keep the description of the sweep beside its results."""
        if source is not None:
            write_whole(self.path / "spec.toml", source)

    def write(self, records: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], *, now: bool = False) -> None:
        """Write table and progress, unless that was done a moment ago."""
        began = time.monotonic()
        if began < self._next and not now:
            return
        frame = frame_of(records)
        parquet = io.BytesIO()
        frame.to_parquet(parquet, index=False)
        write_whole(self.path / "table.csv", frame.to_csv(index=False, lineterminator="\n").encode())
        write_whole(self.path / "table.parquet", parquet.getvalue())
        write_whole(self.path / "progress.json", json.dumps(facts, indent=1, ensure_ascii=False).encode())
        ended = time.monotonic()
        self._next = ended + max(_PACE, (ended - began) / _SHARE)
