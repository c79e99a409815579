"""From the name of an experiment to its outcome, through runs that survive an interruption."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tacit._validate import known, whole
from tacit.errors import BadInput, Interrupted
from tacit.report.tables import number
from tacit.reproduce.experiment import Evidence, Experiment, Scale
from tacit.reproduce.joint_dp import EXPERIMENTS as JOINT_DP
from tacit.reproduce.kernel import EXPERIMENTS as KERNEL
from tacit.reproduce.local import EXPERIMENTS as LOCAL
from tacit.reproduce.outcome import Outcome
from tacit.reproduce.renyi import EXPERIMENTS as RENYI
from tacit.simulation import Job, PredictionResult, Result, simulate_all
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.store import AnyJob, AnyResult, Damaged, Store

#: Every experiment by its name.
EXPERIMENTS: Mapping[str, Experiment[Any]] = {
    experiment.name: experiment for experiment in (*JOINT_DP, *LOCAL, *RENYI, *KERNEL)
}

#: Seeds from here on are for tuning: what was chosen on a seed must not be reported on it.
SEED_LIMIT = 10**6

_SEE = "`tacit reproduce list` lists them."


def run(
    name: str,
    *,
    scale: str | Scale = "quick",
    output: str | Path | None = None,
    seed: int = 1,
    trials: int | None = None,
    threads: int | None = None,
    fresh: bool = False,
    progress: bool | None = None,
    say: Callable[[str], None] | None = None,
    command: str | None = None,
) -> Outcome:
    """Run an experiment and judge its claims.

    Runs are stored in `output`/runs as they finish, and found there by a later call (`fresh=True` makes them again);
    experiments of one paper share them. Figure, table, page and result.json go to `output`/<figure>. Ctrl-C raises
    `Interrupted`: the runs that had finished stay, and the same call goes on from there.

    `say` is told what is going on, line by line. `progress` shows a bar on standard error (default: if it is a
    terminal).
    """
    experiment = EXPERIMENTS[known("experiment", name, EXPERIMENTS, see=_SEE)]
    chosen = _scale(experiment, scale, trials)
    seed = whole("seed", seed, low=0)
    if seed >= SEED_LIMIT:
        raise BadInput(f"Expected seed < {SEED_LIMIT:,}, got seed={seed}: larger ones are for tuning.")
    folder = Path("tacit-reproduce", experiment.family, chosen.name) if output is None else Path(output)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"Expected a folder to write to, got the file {str(folder)!r}.")
    tell = say or (lambda _: None)
    began = time.perf_counter()
    jobs: dict[str, AnyJob] = {**experiment.jobs(chosen, seed), **experiment.predictions(chosen, seed)}
    store = Store(folder / "runs")
    tell(f"{experiment.name}: {experiment.describe(chosen)}")
    results, edited = ({}, 0) if fresh else _look_up(store, jobs, tell)
    found = len(results)
    _run_the_rest(store, jobs, results, threads, progress, tell)
    results = {label: results[label] for label in jobs}
    evidence = Evidence(
        chosen,
        seed,
        {label: result for label, result in results.items() if isinstance(result, Result)},
        {label: result for label, result in results.items() if isinstance(result, PredictionResult)},
    )
    outcome = Outcome(
        experiment=experiment,
        scale=chosen,
        seed=seed,
        command=command or f'tacit.reproduce.run("{name}", scale="{chosen.name}", seed={seed}, trials={chosen.trials})',
        results=results,
        table=experiment.measure(evidence),
        verdicts=experiment.judge(evidence),
        found=found,
        edited=edited,
        seconds=time.perf_counter() - began,
    )
    files = outcome.write(folder / experiment.short, experiment.draw(evidence))
    return dataclasses.replace(outcome, files=files)


def _scale(experiment: Experiment[Any], scale: str | Scale, trials: int | None) -> Scale:
    chosen: Scale
    if isinstance(scale, Scale):
        chosen = scale
    else:
        chosen = experiment.scales[known("scale", scale, experiment.scales, see=_SEE)]
    return chosen if trials is None else dataclasses.replace(chosen, trials=whole("trials", trials))


def _look_up(store: Store, jobs: Mapping[str, AnyJob], tell: Callable[[str], None]) -> tuple[dict[str, AnyResult], int]:
    """Runs of before, and how many of them come from sources that have been edited since."""
    results: dict[str, AnyResult] = {}
    edited = damaged = 0
    for label, job in jobs.items():
        try:
            stored = store.find(job)
        except Damaged:
            damaged += 1
            continue
        if stored is not None:
            results[label] = stored.result
            edited += not stored.same_sources
    if jobs:
        tell(f"{len(results)} of {len(jobs)} runs found from before in {store.folder}")
    if damaged:
        tell(f"{damaged} stored {'run was' if damaged == 1 else 'runs were'} damaged and will be made again")
    return results, edited


def _run_the_rest(
    store: Store,
    jobs: Mapping[str, AnyJob],
    results: dict[str, AnyResult],
    threads: int | None,
    progress: bool | None,
    tell: Callable[[str], None],
) -> None:
    """Make the runs that are missing, and store each as it finishes."""
    missing = [label for label in jobs if label not in results]
    if missing:
        tell(f"running {missing[0]}")

    def finished(label: str, result: AnyResult) -> None:
        store.keep(jobs[label], result)
        results[label] = result
        left = [other for other in missing if other not in results]
        then = f"; running {left[0]}" if left else ""
        tell(f"{len(results)} of {len(jobs)} runs: {label}: {_came_out(result)} ({result.seconds:.1f} s){then}")

    played = {label: job for label in missing if isinstance(job := jobs[label], Job)}
    labels = list(played)
    try:
        simulate_all(
            list(played.values()),
            threads=threads,
            progress=progress,
            finished=lambda index, result: finished(labels[index], result),
        )
        for label in missing:
            job = jobs[label]
            if isinstance(job, PredictionJob):
                result = job.run(threads=threads, progress=progress)
                if result.interrupted:
                    raise Interrupted(label)
                finished(label, result)
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(
            f"Stopped by hand: {len(results)} of {len(jobs)} runs are stored in {store.folder}. "
            "The same command goes on from there."
        ) from None


def _came_out(result: AnyResult) -> str:
    if isinstance(result, Result):
        what, mean, error = "regret", result.regret_mean, result.regret_se
    else:
        what, mean, error = "error rate", result.error_rate, result.error_rate_se
    return f"{what} {number(mean)}" + ("" if error is None else f" ± {number(error, 2)}")
