"""Many features, many actions: where NumPy's matrix products are at their best."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.numpy_loop import NumpySphere, numpy_policy, numpy_run
from benchmarks.report import Cell, Goal, Report, best_of, seconds
from benchmarks.settings import GAP, LARGE_ARMS, LARGE_DIM, policy
from tacit import simulate
from tacit.environments import Sphere

#: The compiled loop should not lose to either.
NO_SLOWER = 1.0


def measure(quick: bool) -> Report:
    """ms per round of the compiled loop on one thread, and of the NumPy loop with one BLAS thread and with all."""
    rounds, repeats = (120, 2) if quick else (400, 5)
    report = Report("large", f"ms per round at d = {LARGE_DIM}, K = {LARGE_ARMS}, environment included")
    report.begin()
    rows: list[dict[str, Cell]] = []
    goals: list[Goal] = []
    for name in ("linucb", "geometric"):
        _compiled(name, 2)
        best = best_of(
            repeats,
            compiled=partial(_compiled, name, rounds),
            one=partial(_numpy, name, rounds, 1),
            all=partial(_numpy, name, rounds, None),
        )
        one, every = best["one"] / best["compiled"], best["all"] / best["compiled"]
        rows.append(
            {
                "policy": name,
                "compiled": best["compiled"],
                "NumPy, 1 thread": best["one"],
                "NumPy, all threads": best["all"],
                "1 thread / compiled": one,
                "all threads / compiled": every,
            }
        )
        goals.append(Goal.at_least(f"{name}: against NumPy on 1 thread", NO_SLOWER, one, "x"))
        goals.append(Goal.at_least(f"{name}: against NumPy on all threads", NO_SLOWER, every, "x"))
    report.table(rows)
    first = int(policy("geometric", rounds, LARGE_DIM).plan().params.schedule.times[0])
    report.note(f"{rounds} rounds. Both loops of geometric choose at random up to round {first}, its first view.")
    for goal in goals:
        report.goal(goal)
    return report


def _compiled(name: str, rounds: int) -> float:
    world = Sphere(dim=LARGE_DIM, arms=LARGE_ARMS, gap=GAP)
    config = policy(name, rounds, LARGE_DIM)
    return simulate(config, world, rounds=rounds, seed=1, threads=1, progress=False).seconds / rounds * 1e3


def _numpy(name: str, rounds: int, threads: int | None) -> float:
    rng = np.random.default_rng(1)
    learner = numpy_policy(policy(name, rounds, LARGE_DIM), rng)
    world = NumpySphere(LARGE_DIM, LARGE_ARMS, GAP, rng)
    with threadpool_limits(threads) if threads is not None else nullcontext():
        return seconds(lambda: numpy_run(learner, world, rounds)) / rounds * 1e3
