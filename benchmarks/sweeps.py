"""What a sweep costs beside the computing: many tiny runs, stored one by one."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report import Goal, Report, seconds
from tacit.simulation import Job, simulate_all
from tacit.sweeping import Spec, read_spec, sweep
from tacit.sweeping.runs import runs_of

#: Milliseconds beside the computing that one task may cost.
OVERHEAD = 50.0
#: Rounds of a run: as good as none.
ROUNDS = 10


def measure(quick: bool) -> Report:
    """ms per run of making it, and of reading, naming, storing, listing and looking it up."""
    seeds = 50 if quick else 500
    report = Report("sweeps", f"ms per run beside the computing, of runs of {ROUNDS} rounds")
    report.begin()
    asked = read_spec(_spec(seeds))
    jobs = [run.job for run in runs_of(asked) if isinstance(run.job, Job)]
    count = len(jobs)
    simulate_all(jobs[:1] + jobs[seeds : seeds + 1], threads=1, progress=False)  # compiled
    computing = seconds(lambda: simulate_all(jobs, threads=1, progress=False))
    with tempfile.TemporaryDirectory() as folder:
        making = seconds(lambda: _sweep(asked, folder))
        looking = seconds(lambda: _sweep(asked, folder))
    beside = 1e3 * (making - computing) / count
    report.table(
        [
            {"what": "computing", "ms per run": 1e3 * computing / count},
            {"what": "the sweep", "ms per run": 1e3 * making / count},
            {"what": "beside the computing", "ms per run": beside},
            {"what": "found from before", "ms per run": 1e3 * looking / count},
        ]
    )
    report.note(f"{count:,} runs of linucb and joint-linucb on one thread; each is stored, and flushed to the disk.")
    report.goal(Goal.at_most("a sweep's overhead per task", OVERHEAD, beside, " ms"))
    return report


def _spec(seeds: int) -> Mapping[str, Any]:
    return {
        "rounds": ROUNDS,
        "trials": 1,
        "seeds": list(range(seeds)),
        "delta": 1e-6,
        "epsilons": [1.0],
        "policy": [{"name": "linucb"}, {"name": "joint-linucb"}],
        "environment": [{"name": "sphere", "dim": 3}],
    }


def _sweep(asked: Spec, folder: str) -> None:
    sweep(asked, output=Path(folder), threads=1, progress=False)
