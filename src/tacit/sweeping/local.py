"""Runs on the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tacit.errors import Interrupted, TacitError
from tacit.simulation import Job, simulate_all
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.store import AnyJob, AnyResult

#: Told the place of a job, and its result or what was wrong with it.
Finished: TypeAlias = Callable[[int, AnyResult], None]
Failed: TypeAlias = Callable[[int, str], None]

#: Jobs run together. Their results are in memory until the last of them is done.
_TOGETHER = 200


def run_local(
    jobs: Sequence[AnyJob], finished: Finished, failed: Failed, *, threads: int | None, progress: bool | None
) -> None:
    """Run the jobs, the trials of many side by side. A job that is refused costs no other; Ctrl-C raises
    `Interrupted` after every complete job has been handed over."""
    played = [place for place, job in enumerate(jobs) if isinstance(job, Job)]
    for first in range(0, len(played), _TOGETHER):
        _together(jobs, played[first : first + _TOGETHER], finished, failed, threads, progress)
    for place, job in enumerate(jobs):
        if isinstance(job, PredictionJob):
            _alone(place, job, finished, failed, threads, progress)


def _together(
    jobs: Sequence[AnyJob],
    places: Sequence[int],
    finished: Finished,
    failed: Failed,
    threads: int | None,
    progress: bool | None,
) -> None:
    done: set[int] = set()

    def hand_over(place: int, result: AnyResult) -> None:
        finished(place, result)
        done.add(place)

    try:
        simulate_all(
            [job for place in places if isinstance(job := jobs[place], Job)],
            threads=threads,
            progress=progress,
            finished=lambda index, result: hand_over(places[index], result),
        )
    except (Interrupted, OSError):
        raise
    except Exception:
        # One of them cannot be run, and it took the others along: each by itself says which.
        for place in places:
            if place not in done:
                _alone(place, jobs[place], hand_over, failed, threads, progress)


def _alone(
    place: int, job: AnyJob, finished: Finished, failed: Failed, threads: int | None, progress: bool | None
) -> None:
    try:
        result = run_one(job, threads=threads, progress=progress)
    except (Interrupted, OSError):
        raise
    except Exception as problem:
        failed(place, told_of(problem))
    else:
        finished(place, result)


def run_one(job: AnyJob, *, threads: int | None, progress: bool | None) -> AnyResult:
    """The whole run, or `Interrupted`."""
    if isinstance(job, Job):
        [played] = simulate_all([job], threads=threads, progress=progress)
        return played
    result = job.run(threads=threads, progress=progress)
    if result.interrupted:
        raise Interrupted(job.name)
    return result


def told_of(problem: BaseException) -> str:
    """What was wrong, in one line: our own words, or the kind of error before those of others."""
    text = " ".join(str(problem).split())
    return text if isinstance(problem, TacitError) else f"{type(problem).__name__}: {text}"
