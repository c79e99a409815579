"""Peak memory of a simulation, short and long."""

from __future__ import annotations

from benchmarks.process import run_python
from benchmarks.report import Cell, Goal, Report
from benchmarks.settings import ARMS, DELTA, DIM, EPSILON, GAP

SHORT, LONG, QUICK = 100_000, 50_000_000, 1_000_000
MOST, GROWTH = 300.0, 10.0  # MB

# A child's ru_maxrss starts at what its parent had; VmHWM, where there is one, is the process's own.
_CODE = f"""
import json, resource, sys
from pathlib import Path
import tacit
name, rounds = sys.argv[1], int(sys.argv[2])
config = tacit.JointLinUCB(dim={DIM}, epsilon={EPSILON}, delta={DELTA}, releases=name, horizon=rounds)
world = tacit.environments.Sphere(dim={DIM}, arms={ARMS}, gap={GAP})
result = tacit.simulate(config, world, rounds=rounds, threads=1, progress=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
status = Path("/proc/self/status")
if status.exists():
    lines = status.read_text().splitlines()
    peak = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), peak)
print(json.dumps({{"megabytes": peak / 1e6, "seconds": result.seconds}}))
"""


def measure(quick: bool, rounds: int | None = None) -> Report:
    """Peak resident memory of one process per run, interpreter and libraries included."""
    long = rounds or (QUICK if quick else LONG)
    report = Report("memory", f"peak resident memory of a process, MB, at d = {DIM}, K = {ARMS}")
    report.begin()
    rows: list[dict[str, Cell]] = []
    goals: list[Goal] = []
    for name in ("geometric", "tree", "toeplitz"):
        run_python(_CODE, name, 1000)  # compiles, which takes memory of its own
        short_run = run_python(_CODE, name, SHORT).answer
        long_run = run_python(_CODE, name, long).answer
        growth = long_run["megabytes"] - short_run["megabytes"]
        rows.append(
            {
                "policy": name,
                f"n = {SHORT:,}": short_run["megabytes"],
                f"n = {long:,}": long_run["megabytes"],
                "growth": growth,
                "seconds": long_run["seconds"],
            }
        )
        goals.append(Goal.at_most(f"{name}, n = {long:,}", MOST, long_run["megabytes"], " MB"))
        goals.append(Goal.at_most(f"{name}, growth from n = {SHORT:,}", GROWTH, growth, " MB"))
    report.table(rows)
    for goal in goals:
        report.goal(goal)
    return report
