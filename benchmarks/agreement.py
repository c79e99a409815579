"""Do both loops do the same thing? Their mean regret must agree, or their speed cannot be compared."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.numpy_loop import NumpySphere, numpy_policy, numpy_run
from benchmarks.report import Cell, Goal, Report
from benchmarks.settings import ARMS, DIM, GAP, POLICIES, RANK_ONE, policy
from tacit import simulate
from tacit.environments import Sphere

#: A wide promise: at this horizon a private policy with ε = 1 has hardly begun to learn, and any two would agree.
EPSILON = 30.0
#: Standard errors that the means may differ by; by chance one of three policies exceeds it once in 700 runs.
LIMIT = 3.5


def measure(quick: bool) -> Report:
    """Mean regret over independent trials, and the difference in standard errors."""
    rounds, numpy_trials, trials = 1500, (5 if quick else 20), (100 if quick else 400)
    report = Report("agreement", f"mean regret of both loops after {rounds:,} rounds, epsilon = {EPSILON:g}")
    report.begin()
    rows: list[dict[str, Cell]] = []
    worst = 0.0
    for name in (*POLICIES, RANK_ONE):
        config = policy(name, rounds, epsilon=EPSILON)
        result = simulate(config, Sphere(dim=DIM, arms=ARMS, gap=GAP), rounds=rounds, trials=trials, progress=False)
        regrets = [_numpy_regret(name, rounds, trial) for trial in range(numpy_trials)]
        mean, error = float(np.mean(regrets)), float(np.std(regrets, ddof=1)) / math.sqrt(numpy_trials)
        # The spread is tacit's for both: five trials of a NumPy loop do not tell theirs well.
        spread = float(result.regret.std(ddof=1))
        distance = (mean - result.regret_mean) / (spread * math.sqrt(1 / numpy_trials + 1 / trials))
        worst = max(worst, abs(distance))
        rows.append(
            {
                "policy": name,
                "NumPy": mean,
                "NumPy s.e.": error,
                "tacit": result.regret_mean,
                "tacit s.e.": result.regret_se,
                "distance in s.e.": distance,
            }
        )
    report.table(rows)
    report.note(f"{numpy_trials} trials of the NumPy loop, {trials} of tacit.")
    report.goal(Goal.at_most("means apart by", LIMIT, worst, " s.e."))
    return report


def _numpy_regret(name: str, rounds: int, trial: int) -> float:
    rng = np.random.default_rng([1, trial])
    world = NumpySphere(DIM, ARMS, GAP, rng)
    learner = numpy_policy(policy(name, rounds, epsilon=EPSILON), rng, rank_one=name == RANK_ONE)
    return numpy_run(learner, world, rounds)
