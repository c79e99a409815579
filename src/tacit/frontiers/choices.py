"""What a policy would do on the rows of a log that it has not learned from, after ever more of the others.

Choices are kept on disk like the runs of a simulation, under a hash of all they follow from. They tell what a policy
learned from raw data, so the folder is as little to be published as the log.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tacit._types import Ints
from tacit._version import __version__
from tacit.core.policy import Policy
from tacit.replaying.choosing import Chooser
from tacit.replaying.log import Log
from tacit.replaying.teaching import rows_of, started, teach
from tacit.simulation.store import sources, write_whole

#: Looks at a learner on its way: after all rows, half of them, a quarter, …
LOOKS = 6


def marks_of(rows: int) -> Ints:
    """After how many rows a learner is looked at, the last after all."""
    halves = {max(1, rows >> power) for power in range(LOOKS)}
    return np.array(sorted(halves), np.int64)


def choices_after(
    config: Policy, log: Log, first: int, *, seed: int, run: int, step: Callable[[int], None] = lambda _: None
) -> Ints:
    """The arms that the policy chooses on the rows from `first` on, one line for each of `marks_of(first)`.

    The learner is told the logged actions and rewards as they are, in the order of the log, up to its horizon. The last
    line is what `tacit.replay` judges.
    """
    learner, rest = started(config, seed, run), log.part(first, len(log))
    limit = config.plan().limit
    views, marks, at = [], marks_of(first).tolist(), 0
    for mark in marks:
        most = mark if limit is None else min(limit, mark)
        for start in range(at, most, log.block_size):
            rows = np.arange(start, min(start + log.block_size, most))
            for row, x in rows_of(config, log, rows):
                teach(learner, log, row, x)
            step(len(rows))
        at = max(at, most)
        views.append(learner.view)
    chooser = Chooser(config, rest, seed, run)
    # The last first: a policy that draws its choices then draws what it would have drawn alone.
    chosen = [np.concatenate([chooser.choose(view, rows) for rows in rest.blocks()]) for view in reversed(views)]
    return np.array(chosen[::-1], np.int64)


class ChoiceStore:
    """A folder of choices."""

    def __init__(self, folder: Path | None, log: Log, first: int) -> None:
        self._folder = folder
        self._log = _fingerprint(log) if folder is not None else ""
        self._shape = (len(marks_of(first)), len(log) - first)
        self._first = first

    def find(self, config: Policy, seed: int, run: int) -> Ints | None:
        """What was kept; None if nothing was, or nothing that can be used."""
        if self._folder is None:
            return None
        try:
            with np.load(io.BytesIO(self._place(config, seed, run).read_bytes()), allow_pickle=False) as file:
                chosen: Ints = file["chosen"].astype(np.int64)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return chosen if chosen.shape == self._shape else None

    def keep(self, config: Policy, seed: int, run: int, chosen: Ints) -> None:
        """Keep them, whole or not at all."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, chosen=chosen.astype(np.int32))
        write_whole(self._place(config, seed, run), buffer.getvalue())

    def _place(self, config: Policy, seed: int, run: int) -> Path:
        assert self._folder is not None
        facts = {
            "version": __version__,
            "sources": sources(),
            "policy": config.to_dict(),
            "log": self._log,
            "first": self._first,
            "seed": seed,
            "run": run,
        }
        name = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:24]
        return self._folder / f"choices-{name}.npz"


def _fingerprint(log: Log) -> str:
    digest = hashlib.sha256(f"{log.model} {log.arms}".encode())
    for values in (log.actions, log.rewards, log.propensities, log.contexts, log.arm_features, log.persons):
        if values is not None:
            digest.update(repr(values.shape).encode() + np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
