"""Runs that survive an interruption: what has finished is kept, and the same call goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.errors import Interrupted
from tacit.simulation.engine import Job, simulate_all
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.prediction_result import PredictionResult
from tacit.simulation.result import Result
from tacit.simulation.store import AnyJob, AnyResult, Damaged, Store


def play(jobs: Sequence[Job], folder: Path | None, threads: int | None, progress: bool | None) -> list[Result]:
    """The results of all jobs in their order. Those that `folder` has are read, the others are made and kept there."""
    store, found = _look_up(jobs, folder)
    missing = [place for place in range(len(jobs)) if place not in found]

    def finished(index: int, result: Result) -> None:
        place = missing[index]
        if store is not None:
            store.keep(jobs[place], result)
        found[place] = result

    try:
        simulate_all([jobs[place] for place in missing], threads=threads, progress=progress, finished=finished)
    except (Interrupted, KeyboardInterrupt):
        raise stopped(len(found), len(jobs), folder) from None
    return [result for place in range(len(jobs)) if isinstance(result := found[place], Result)]


def predict(
    jobs: Sequence[PredictionJob], folder: Path | None, threads: int | None, progress: bool | None
) -> list[PredictionResult]:
    """The same for learners of functions, one after the other."""
    store, found = _look_up(jobs, folder)
    try:
        for place, job in enumerate(jobs):
            if place in found:
                continue
            made = job.run(threads=threads, progress=progress)
            if made.interrupted:
                raise Interrupted(job.name)
            if store is not None:
                store.keep(job, made)
            found[place] = made
    except (Interrupted, KeyboardInterrupt):
        raise stopped(len(found), len(jobs), folder) from None
    return [result for place in range(len(jobs)) if isinstance(result := found[place], PredictionResult)]


def stopped(done: int, count: int, folder: Path | None) -> Interrupted:
    """What is said after Ctrl-C."""
    if folder is None:
        return Interrupted(
            f"Stopped by hand: {done} of {count} runs had finished, and are lost. Say runs=FOLDER to keep them."
        )
    return Interrupted(
        f"Stopped by hand: {done} of {count} runs are stored in {folder}. The same command goes on from there."
    )


def _look_up(jobs: Sequence[AnyJob], folder: Path | None) -> tuple[Store | None, dict[int, AnyResult]]:
    """Runs of before. One that is damaged, or was made by other sources, is made again."""
    if folder is None:
        return None, {}
    store, found = Store(folder), {}
    if folder.is_dir():
        for place, job in enumerate(jobs):
            try:
                stored = store.find(job)
            except Damaged:
                continue
            if stored is not None and stored.same_sources:
                found[place] = stored.result
    return store, found
