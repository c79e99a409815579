"""Time of a whole frontier: what the question "what does privacy cost here?" takes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.report import Cell, Goal, Report, seconds
from benchmarks.settings import ARMS, DIM, GAP
from tacit import AnytimeLinUCB, Frontier, JointLinUCB, LocalLinUCB, ShuffleLinUCB, frontier
from tacit.environments import Sphere

POLICIES = (JointLinUCB, LocalLinUCB, ShuffleLinUCB, AnytimeLinUCB)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
DELTA = 1e-6
#: Seconds on two cores, after compilation.
BUDGET = 60.0
#: MB.
PAGE = 3.0


def measure(quick: bool) -> Report:
    """Runs, page and a second call that finds all runs, after a first call that compiles."""
    rounds, trials = (2_000, 4) if quick else (20_000, 10)
    report = Report(
        "frontier",
        f"seconds for {len(POLICIES)} policies x {len(EPSILONS)} budgets x {trials} trials x {rounds:,} rounds at "
        f"d = {DIM}, K = {ARMS}, {os.cpu_count()} threads",
    )
    report.begin()
    world = Sphere(dim=DIM, arms=ARMS, gap=GAP)
    frontier(POLICIES, world, epsilons=EPSILONS[:1], delta=DELTA, rounds=10, trials=1, progress=False)

    def trace(runs: Path | None) -> Frontier:
        return frontier(
            POLICIES, world, epsilons=EPSILONS, delta=DELTA, rounds=rounds, trials=trials, runs=runs, progress=False
        )

    with tempfile.TemporaryDirectory() as folder:
        runs, target = Path(folder, "runs"), Path(folder, "page")
        plain = seconds(lambda: trace(None))
        kept = seconds(lambda: trace(runs))
        again = seconds(lambda: trace(runs))
        found = trace(runs)
        page = seconds(lambda: found.write(target))
        size = (target / "report.html").stat().st_size / 1e6
    rows: list[dict[str, Cell]] = [
        {"what": "runs, nothing kept", "seconds": plain},
        {"what": "runs, kept on disk", "seconds": kept},
        {"what": "all runs found", "seconds": again},
        {"what": "page, charts and tables", "seconds": page},
    ]
    report.table(rows)
    if not quick:
        report.goal(Goal.at_most("runs and page", BUDGET, kept + page, " s"))
    report.goal(Goal.at_most("page", PAGE, size, " MB"))
    return report
