"""Logs of the service: one JSON object a line, and never anything that somebody has sent.

Our own lines are written without values. What libraries log may quote a request or an exception's text, so of theirs
only the kind is kept: who, how bad, and which exception.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from pathlib import Path
from typing import Any


def place_of(problem: BaseException) -> str:
    """Where an exception came from: files and lines, no values."""
    frames = traceback.extract_tb(problem.__traceback__)[-3:]
    return ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)


class Lines(logging.Formatter):
    """A record as one line."""

    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "from": record.name,
        }
        if record.name.split(".")[0] == "tacit":
            said = record.msg if isinstance(record.msg, dict) else {"message": record.getMessage()}
            facts.update(said)
        elif record.exc_info and record.exc_info[0] is not None:
            facts["exception"] = record.exc_info[0].__name__
        return json.dumps(facts)


class NotTooOften(logging.Filter):
    """Of what libraries log, one line a second of a kind: a system without room for connections says so for each."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, int, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.split(".")[0] == "tacit":
            return True
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] is not None else ""
        what, now = (record.name, record.levelno, kind), time.monotonic()
        if now - self._last.get(what, -1.0) < 1.0:
            return False
        self._last[what] = now
        return True


def set_up() -> None:
    """Everything that is logged, and every warning, goes to standard error, in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    handler.addFilter(NotTooOften())
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("tacit").setLevel(logging.INFO)
