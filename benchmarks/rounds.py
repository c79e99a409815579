"""Time per simulated round, environment included, on one thread."""

from __future__ import annotations

from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.numpy_loop import NumpySphere, numpy_policy, numpy_run
from benchmarks.report import Cell, Goal, Report, best_of, seconds
from benchmarks.settings import ARMS, DIM, GAP, POLICIES, policy
from tacit import simulate
from tacit.environments import Sphere

#: µs per round of a loop vectorised by hand in C++, measured on two cores of an AMD EPYC (family 25). Another machine
#: has other figures: read the distance, not the time.
CPP = {"linucb": 0.15, "tree": 0.24, "geometric": 0.12}
#: µs per round that the tree may take.
BUDGET = 3.0
FASTER = 30.0
#: The tree has more levels for a longer horizon, yet a round touches one of them.
GROWTH = 1.25


def measure(quick: bool) -> Report:
    """Compiled loop against NumPy loop, and whether a round costs more in a longer run."""
    report = Report("rounds", f"µs per round at d = {DIM}, K = {ARMS}, environment included, one thread")
    report.begin()
    rounds, numpy_rounds, repeats = (200_000, 1000, 3) if quick else (1_000_000, 3000, 5)
    for name in POLICIES:
        compiled_round(name, 1000)
    rows: list[dict[str, Cell]] = []
    for name in POLICIES:
        best = best_of(
            repeats, compiled=partial(compiled_round, name, rounds), numpy=partial(numpy_round, name, numpy_rounds)
        )
        rows.append(
            {
                "policy": name,
                "compiled": best["compiled"],
                "NumPy": best["numpy"],
                "NumPy / compiled": best["numpy"] / best["compiled"],
                "C++": CPP[name],
                "compiled / C++": best["compiled"] / CPP[name],
            }
        )
    report.table(rows)
    growth = [_growth(name, quick) for name in POLICIES]
    report.table(growth)
    for row in rows:
        report.goal(Goal.at_least(f"{row['policy']}: against NumPy", FASTER, _number(row["NumPy / compiled"]), "x"))
    tree = next(row for row in rows if row["policy"] == "tree")
    report.goal(Goal.at_most("tree", BUDGET, _number(tree["compiled"]), " µs"))
    for row in growth:
        report.goal(Goal.at_most(f"{row['policy']}: longest against shortest run", GROWTH, _number(row["ratio"]), "x"))
    return report


def compiled_round(name: str, rounds: int) -> float:
    """µs per round of one simulated trial, compilation not counted."""
    config, world = policy(name, rounds), Sphere(dim=DIM, arms=ARMS, gap=GAP)
    return simulate(config, world, rounds=rounds, seed=1, threads=1, progress=False).seconds / rounds * 1e6


def numpy_round(name: str, rounds: int) -> float:
    """µs per round of the NumPy loop."""
    rng = np.random.default_rng(1)
    learner, world = numpy_policy(policy(name, rounds), rng), NumpySphere(DIM, ARMS, GAP, rng)
    with threadpool_limits(1):
        return seconds(lambda: numpy_run(learner, world, rounds)) / rounds * 1e6


def _growth(name: str, quick: bool) -> dict[str, Cell]:
    lengths = (10_000, 50_000, 200_000) if quick else (100_000, 1_000_000, 10_000_000)

    def mean(length: int) -> float:
        # Many short runs for one long one: a single short run would find a quiet moment that a long one cannot.
        times = [compiled_round(name, length) for _ in range(lengths[-1] // length)]
        return sum(times) / len(times)

    best = best_of(2, **{f"n = {length:,}": partial(mean, length) for length in lengths})
    times = list(best.values())
    return {"policy": name, **best, "ratio": times[-1] / times[0]}


def _number(cell: Cell) -> float:
    assert isinstance(cell, float)
    return cell
