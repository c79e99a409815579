"""Paper scale: run by `make test-long`."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tacit
from tacit.environments import FixedArms, Sphere

LIMIT_MB = 300

# A child's ru_maxrss starts at what its parent had; VmHWM, where there is one, is the process's own.
MEASURE = """
import pathlib, resource, sys, tacit
releases, rounds = sys.argv[1], int(sys.argv[2])
horizon = rounds if releases == "tree" else None
config = tacit.JointLinUCB(dim=5, epsilon=1.0, delta=0.1, releases=releases, horizon=horizon)
result = tacit.simulate(config, tacit.environments.Sphere(dim=5, gap=0.1), rounds, trials=2, seed=1)
assert len(result.checkpoints) <= 1000
peak, status = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, pathlib.Path("/proc/self/status")
if status.exists():
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
print(peak, result.regret_mean)
"""


def peak(releases: str, rounds: int) -> float:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, releases, str(rounds)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[0])


@pytest.mark.long
@pytest.mark.parametrize("releases", ["geometric", "tree"])
def test_fifty_million_rounds_stay_under_three_hundred_megabytes(releases):
    peak(releases, 1000)  # compiles, so that the compiler's memory is not counted below
    small, large = peak(releases, 1000), peak(releases, 50_000_000)
    assert large < LIMIT_MB
    assert large < small + 20


@pytest.mark.long
@pytest.mark.parametrize("environment", [Sphere(dim=5, gap=0.1), FixedArms(dim=5, gap=0.1)], ids=lambda it: it.slug)
def test_regret_flattens_at_ten_million_rounds(environment):
    """The last nine tenths cost less than the first tenth on the sphere, and than nine times it on fixed arms."""
    rounds = 10_000_000
    config = tacit.JointLinUCB(dim=5, epsilon=1.0, delta=0.1, horizon=rounds)
    result = tacit.simulate(config, environment, rounds, trials=4, seed=1)
    tenth = result.curves[:, np.searchsorted(result.checkpoints, rounds // 10)].mean()
    last = result.curves[:, -1].mean() - tenth
    assert last < tenth * (1 if environment.slug == "sphere" else 9)
