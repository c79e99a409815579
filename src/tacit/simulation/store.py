"""Finished runs on disk, so that a stopped experiment goes on where it stopped.

A run lives in a folder named by a hash of everything its numbers follow from: the settings of policy and environment,
rounds, trials, seed, the version of tacit, and the params that were worked out from the settings (a noise scale that
is calibrated differently makes another run, whatever the version says). Runs of function learners live beside those
with regret. Two files: `curves.npz`, and `run.json`, which
is written last and holds the other's digest. What does not fit together is not used.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tacit._version import __version__
from tacit.simulation import Job, PredictionResult, Result
from tacit.simulation.engine import checkpoints
from tacit.simulation.prediction_job import PredictionJob, kept

#: Changes when stored runs of before can no longer be read.
_FORMAT = 1
_CURVES, _FACTS = "curves.npz", "run.json"

#: Rooms whose text decides what a run gives.
_DECISIVE = (
    "core",
    "environments",
    "estimators",
    "kernels",
    "linalg.py",
    "mechanisms",
    "noise",
    "policies",
    "simulation/loop.py",
    "simulation/opened.py",
    "simulation/predictions.py",
)

AnyJob: TypeAlias = Job | PredictionJob
AnyResult: TypeAlias = Result | PredictionResult


class Damaged(Exception):
    """A stored run cannot be used. Whoever looks runs up makes it again."""


@dataclass(frozen=True)
class Stored:
    """A run that was found."""

    result: AnyResult
    same_sources: bool  # made by exactly the sources that are installed now


class Store:
    """A folder of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, job: AnyJob) -> Stored | None:
        """The run if it was stored; None if not; `Damaged` if what is stored cannot be trusted."""
        place = self.folder / key(job)
        if not place.exists():
            return None
        try:
            facts = json.loads((place / _FACTS).read_text("utf-8"))
            raw = (place / _CURVES).read_bytes()
            if facts["digest"] != hashlib.sha256(raw).hexdigest() or facts["settings"] != _settings(job):
                raise Damaged(place.name)
            with np.load(io.BytesIO(raw), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            return Stored(restored(job, arrays, facts), same_sources=facts["sources"] == sources())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as problem:
            raise Damaged(place.name) from problem

    def keep(self, job: AnyJob, result: AnyResult) -> Path:
        """Store a finished run; a crash at any moment leaves the old one, the new one, or one that is not used."""
        place = self.folder / key(job)
        place.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any]
        more: dict[str, Any]
        if isinstance(result, Result):
            arrays, more = {name: getattr(result, name) for name in ("checkpoints", "curves", "counters")}, {}
        else:
            arrays, more = kept(result)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        raw = buffer.getvalue()
        facts = {
            "label": result.label,
            "settings": _settings(job),
            "seconds": result.seconds,
            **more,
            "sources": sources(),
            "digest": hashlib.sha256(raw).hexdigest(),
        }
        write_whole(place / _CURVES, raw)
        write_whole(place / _FACTS, json.dumps(facts, indent=1, allow_nan=False).encode())
        return place


def restored(job: AnyJob, arrays: dict[str, Any], facts: dict[str, Any]) -> AnyResult:
    """The run, from what was stored of it. Raises ValueError where the shapes are not this job's."""
    if not isinstance(job, Job):
        return job.restored(arrays, facts)
    marks, curves = arrays["checkpoints"], arrays["curves"]
    if not np.array_equal(marks, checkpoints(job.rounds)) or curves.shape != (job.trials, len(marks)):
        raise ValueError(curves.shape)
    return Result(
        config=job.config,
        environment=job.environment,
        rounds=job.rounds,
        trials_asked=job.trials,
        seed=job.seed,
        label=job.name,
        by=job.by,
        trial_numbers=tuple(range(job.trials)),
        checkpoints=marks,
        curves=curves,
        counters=arrays["counters"],
        guarantee=job.bound.plan().guarantee.with_seed(),
        seconds=float(facts["seconds"]),
    )


def key(job: AnyJob) -> str:
    """The name of a run: equal for equal runs, different for any others."""
    return hashlib.sha256(json.dumps(_settings(job), sort_keys=True).encode()).hexdigest()[:24]


def write_whole(path: Path, content: bytes) -> None:
    """All of it or nothing: beside the target first, then moved over it."""
    part = path.with_name(f".part-{secrets.token_hex(8)}")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _settings(job: AnyJob) -> dict[str, Any]:
    own: dict[str, Any]
    if isinstance(job, Job):
        # Stored runs from before `by` could be said stay valid.
        own = {**({} if job.by == "rounds" else {"by": job.by}), "params": _digest(job.bound.plan().params)}
    else:
        own = {"ways": job.ways, "params": _digest(job.worked_out())}
    settings = {
        "format": _FORMAT,
        "version": __version__,
        "policy": job.config.to_dict(),
        "environment": job.environment.to_dict(),
        "rounds": job.rounds,
        "trials": job.trials,
        "seed": job.seed,
        **own,
    }
    # As it will be read back: tuples are lists in JSON.
    plain: dict[str, Any] = json.loads(json.dumps(settings, allow_nan=False))
    return plain


def _digest(params: Any) -> str:
    digest = hashlib.sha256()

    def walk(part: Any) -> None:
        digest.update(type(part).__name__.encode() + b"\0")
        if isinstance(part, tuple):
            for inner in part:
                walk(inner)
        elif isinstance(part, np.ndarray):
            digest.update(repr((part.dtype.str, part.shape)).encode() + part.tobytes())
        else:
            digest.update(repr(part).encode() + b"\0")

    walk(params)
    return digest.hexdigest()[:24]


@cache
def sources() -> str:
    """A fingerprint of the sources that decide what a run gives: for saying so when they have been edited since."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for room in _DECISIVE:
        for path in sorted((root / room).rglob("*.py")) if (root / room).is_dir() else [root / room]:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:24]
