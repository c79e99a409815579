"""How many reports a device has made, in a file that says so before any of them leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.core.sealed import locked, write
from tacit.errors import BadInput


class Count:
    """The number of reports made under one contract: written all or nothing, and on the disk before `put` returns."""

    def __init__(self, path: Path, contract: str) -> None:
        self._path, self._contract = path, contract

    def read(self) -> int:
        """What the file says; 0 if there is none."""
        try:
            found = json.loads(self._path.read_text("utf-8"))
            contract, made = found["contract"], found["made"]
            if type(made) is not int or made < 0:
                raise TypeError
        except FileNotFoundError:
            if not self._path.absolute().parent.is_dir():
                raise BadInput(
                    f"Expected made_file in a folder that is there, got {self._path}. Make the folder first: the count "
                    "of reports must be on the disk before one leaves."
                ) from None
            return 0
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            raise BadInput(
                f"Expected the number of reports made so far in {self._path}, got a file that cannot be read. Nothing "
                "is reported until it can: use an intact copy. Remove it only if this device has made no report."
            ) from None
        if contract != self._contract:
            raise BadInput(
                f"Expected a count of reports under this contract in {self._path}, got one under another: reports "
                "under both add up, and no guarantee here covers that. Give another made_file, and tell the person."
            )
        return made

    @contextmanager
    def held(self, made: int) -> Iterator[None]:
        """Alone with the file while a report is made, and sure that no other program has counted beyond `made`."""
        with locked(self._path):
            if self.read() > made:
                raise BadInput(
                    f"Expected to be the only program that counts in {self._path}, got a count that another one has "
                    "moved on. Nothing was reported; make a new DeviceClient, one per file."
                )
            yield

    def put(self, made: int) -> None:
        """Write it down."""
        write(self._path, json.dumps({"contract": self._contract, "made": made}).encode())
