"""What a worker of a cluster does: a run from its settings, on one thread, and its numbers back.

Settings travel as text and results as arrays. Nothing else does: no learner, no plan, and no row of anybody's table.
"""

from __future__ import annotations

import json
import platform
from functools import cache
from typing import Any

import numba
import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from tacit._version import __version__
from tacit.environments import environment
from tacit.errors import BadInput
from tacit.policies.catalogue import policy
from tacit.simulation import Job, Result
from tacit.simulation.prediction_job import PredictionJob, kept
from tacit.simulation.store import AnyJob, sources
from tacit.sweeping.local import run_one


class OtherSources(BadInput):
    """A worker has another tacit than whoever asks it: its numbers could be others."""


@cache
def fingerprint() -> str:
    """What the bits of a result depend on beside its settings."""
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, numba {numba.__version__}"
    return f"tacit {__version__} ({sources()}), {versions}, {platform.machine()}"


def packed(job: AnyJob, expected: str) -> str:
    """A job as text, for workers that have `expected` as their fingerprint."""
    own = {"by": job.by} if isinstance(job, Job) else {"ways": job.ways}
    return json.dumps(
        {
            "fingerprint": expected,
            "policy": job.config.to_dict(),
            "environment": job.environment.to_dict(),
            "rounds": job.rounds,
            "trials": job.trials,
            "seed": job.seed,
            **own,
        },
        allow_nan=False,
    )


def play(packet: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a packed job; the arrays and facts that its result is made of."""
    asked = json.loads(packet)
    refuse_other_sources(asked["fingerprint"])
    _one_thread()
    result = run_one(_unpacked(asked), threads=1, progress=False)
    if isinstance(result, Result):
        return {"checkpoints": result.checkpoints, "curves": result.curves, "counters": result.counters}, {
            "seconds": result.seconds
        }
    arrays, facts = kept(result)
    return dict(arrays), {**facts, "seconds": result.seconds}


def refuse_other_sources(expected: str) -> None:
    """Refuse to compute for somebody who would get other bits by computing himself."""
    if expected != fingerprint():
        raise OtherSources(
            f"Expected a worker with {expected}, got one with {fingerprint()}. Install the same versions everywhere, "
            "and start the worker again."
        )


def _unpacked(asked: dict[str, Any]) -> AnyJob:
    kind: Any = policy(asked["policy"]["policy"])
    world_kind: Any = environment(asked["environment"]["environment"])
    config, world = kind.from_dict(_tuples(asked["policy"])), world_kind.from_dict(_tuples(asked["environment"]))
    sizes = {name: asked[name] for name in ("rounds", "trials", "seed")}
    if "ways" in asked:
        return PredictionJob(config, world, **sizes, ways=tuple(asked["ways"]))
    return Job(config, world, **sizes, by=asked["by"])


def _tuples(value: Any) -> Any:
    """Text has lists where configurations have tuples."""
    if isinstance(value, dict):
        return {name: _tuples(part) for name, part in value.items()}
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


@cache
def _one_thread() -> Any:
    # For good: tasks side by side in one worker would give each other the threads of the linear algebra back, and
    # sums of large matrices have other last digits on several.
    return threadpool_limits(1)
