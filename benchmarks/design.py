"""G-optimal designs: time, iterations and support.

python -m benchmarks design
"""

from __future__ import annotations

import numpy as np

from benchmarks.report import Cell, Goal, Report, best_of, seconds
from tacit._types import Floats
from tacit.estimators.design import g_optimal_design

SIZES = ((50, 5), (200, 10), (1000, 20))
TOLERANCES = (0.01, 0.001)
#: Seconds that the largest list may take to one per cent of the optimum.
BUDGET = 2.0


def measure(quick: bool) -> Report:
    """Lists on the sphere, where nearly every action is worth playing, and in the ball, where few are."""
    report = Report("design", "G-optimal designs of random actions, one thread")
    report.begin()
    g_optimal_design(np.eye(2))
    rows: list[dict[str, Cell]] = []
    slowest = 0.0
    for arms, dim in SIZES:
        for place, actions in _lists(arms, dim).items():
            for tolerance in TOLERANCES:
                design = g_optimal_design(actions, tolerance)
                took = _time(actions, tolerance, 3 if quick else 10)
                rows.append(
                    {
                        "actions": f"K = {arms}, d = {dim}, {place}",
                        "tolerance": str(tolerance),
                        "ms": took * 1e3,
                        "iterations": design.iterations,
                        "g/d": f"{design.value / dim:.5f}",
                        "support": len(design.support),
                        "d(d+1)/2": dim * (dim + 1) // 2,
                    }
                )
                if (arms, dim) == SIZES[-1] and tolerance == TOLERANCES[0]:
                    slowest = max(slowest, took)
    report.table(rows)
    arms, dim = SIZES[-1]
    report.goal(Goal.at_most(f"K = {arms:,}, d = {dim} to one per cent", BUDGET, slowest, " s"))
    return report


def _lists(arms: int, dim: int) -> dict[str, Floats]:
    rng = np.random.default_rng([arms, dim])
    rows = rng.standard_normal((arms, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {"sphere": rows, "ball": rows * rng.random((arms, 1)) ** (1 / dim)}


def _time(actions: Floats, tolerance: float, repeats: int) -> float:
    return best_of(repeats, design=lambda: seconds(lambda: g_optimal_design(actions, tolerance)))["design"]
