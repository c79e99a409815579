"""How long a new process waits: with nothing compiled, and with compiled code on disk."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.process import run_python
from benchmarks.report import Cell, Goal, Report, seconds
from benchmarks.settings import DELTA, DIM, EPSILON, POLICIES

COLD, WARM, HELP = 10.0, 1.0, 1.0  # seconds

_START = f"""
import json, sys, time
began = time.perf_counter()
import numpy as np, tacit
name, rounds = sys.argv[1], 10
if name == "linucb":
    config = tacit.LinUCB(dim={DIM}, horizon=rounds)
else:
    config = tacit.JointLinUCB(dim={DIM}, epsilon={EPSILON}, delta={DELTA}, releases=name, horizon=rounds)
imported = time.perf_counter()
"""
_SIMULATE = f"""
tacit.simulate(config, tacit.environments.Sphere(dim={DIM}), rounds=rounds, progress=False)
"""
_STEP = f"""
learner = config.start()
actions = np.eye({DIM})
learner.learn(actions[learner.choose(actions)], 1.0)
"""
_END = """
print(json.dumps({"import": imported - began, "work": time.perf_counter() - imported}))
"""
_WORK = {"simulate": _SIMULATE, "one step": _STEP}


def measure(quick: bool) -> Report:
    """Seconds of a first simulation of ten rounds, and of a first step of a learner."""
    report = Report("compile_times", "seconds from the start of a process to its end, and inside its first call")
    report.begin()
    rows = [_measure_one(*case, repeats=2 if quick else 5) for case in _cases(quick)]
    report.table(rows)
    for row in rows:
        for column, limit in (("cold process", COLD), ("warm process", WARM)):
            value = row[column]
            assert isinstance(value, float)
            report.goal(Goal.at_most(f"{row['policy']}, {row['work']}, {column}", limit, value, " s"))
    _help(report, repeats=2 if quick else 5)
    return report


def _cases(quick: bool) -> list[tuple[str, str]]:
    cases = [(name, "simulate") for name in POLICIES] + [("geometric", "one step")]
    return cases[:1] if quick else cases


def _measure_one(name: str, work: str, *, repeats: int) -> dict[str, Cell]:
    code = _START + _WORK[work] + _END
    with tempfile.TemporaryDirectory() as directory:
        cache = Path(directory)
        cold = run_python(code, name, cache=cache)
        warm = min((run_python(code, name, cache=cache) for _ in range(repeats)), key=lambda run: run.wall)
    return {
        "policy": name,
        "work": work,
        "cold process": cold.wall,
        "cold CPU": cold.cpu,
        "cold call": cold.answer["work"],
        "warm process": warm.wall,
        "warm CPU": warm.cpu,
        "warm import": warm.answer["import"],
        "warm call": warm.answer["work"],
    }


def _help(report: Report, repeats: int) -> None:
    script = Path(sys.executable).parent / "tacit"
    if importlib.util.find_spec("tacit.cli") is None or not script.exists():
        report.note("tacit --help: skipped, the command is not installed.")
        return
    command = [str(script), "--help"]
    best = min(seconds(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(repeats))
    report.goal(Goal.at_most("tacit --help", HELP, best, " s"))
