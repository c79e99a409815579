"""Time per step of the online learners, against gradient descent within one run."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Cell, Goal, Report, best_of, seconds
from tacit._kernel import kernel
from tacit._types import Floats
from tacit.estimators.online import Online, descend, gradient_descent, maler

DIMS = (5, 20)
HORIZON = 20_000
#: µs per step at d = 5.
BUDGETS = {"descent": 0.1, "maler": 3.0}
#: A step touches as much after a million others as at the start.
GROWTH = 1.25


@kernel
def _run(online: Any, state: Any, rows: Floats) -> None:
    for t in range(rows.shape[0]):
        descend(online, state, rows[t])


def measure(quick: bool) -> Report:
    """µs per step on noise, where points wander, and on drift, where nearly every expert is held at the edge."""
    report = Report("online", f"µs per step inside a kernel, horizon {HORIZON:,}")
    report.begin()
    repeats = 5 if quick else 20
    rows: list[dict[str, Cell]] = []
    goals: list[Goal] = []
    for dim in DIMS:
        for label, gradients in _streams(dim).items():
            best = best_of(
                repeats,
                **{name: partial(_step, learner, gradients) for name, learner in _learners(dim, HORIZON).items()},
            )
            for name, time in best.items():
                rows.append(
                    {"learner": name, "d": dim, "stream": label, "µs": time, "against descent": time / best["descent"]}
                )
                if dim == DIMS[0] and label == "noise":
                    goals.append(Goal.at_most(f"{name} at d = {dim}", BUDGETS[name], time, " µs"))
    report.table(rows)
    growth = [_growth(name, quick) for name in BUDGETS]
    report.table(growth)
    for goal in goals:
        report.goal(goal)
    for row in growth:
        ratio = row["ratio"]
        assert isinstance(ratio, float)
        report.goal(Goal.at_most(f"{row['learner']}: late steps against early ones", GROWTH, ratio, "x"))
    return report


def _learners(dim: int, horizon: int) -> dict[str, Online[Any, Any]]:
    """In the unit ball, for gradients of about the length 1; the longest are clipped."""
    clip = 1.25
    return {
        "descent": gradient_descent(dim, 1.0, math.sqrt(2) / clip, clip),
        "maler": maler(dim, 1.0, clip, horizon),
    }


def _streams(dim: int) -> dict[str, Floats]:
    noise: Floats = np.random.default_rng(1).normal(size=(HORIZON, dim)) / math.sqrt(dim)
    return {"noise": noise, "drift": np.abs(noise)}


def _step(learner: Online[Any, Any], gradients: Floats) -> float:
    """µs per step of a fresh learner, compilation not counted."""
    _run(learner.params, learner.state(), gradients[:1])
    state = learner.state()
    return seconds(lambda: _run(learner.params, state, gradients)) / len(gradients) * 1e6


def _growth(name: str, quick: bool) -> dict[str, Cell]:
    """The first steps of a long run, and as many after a million others (a tenth of that in a quick run)."""
    late = 100_000 if quick else 1_000_000
    learner = _learners(DIMS[0], 2 * late)[name]
    gradients = _streams(DIMS[0])["noise"]
    old = learner.state()
    for _ in range(late // HORIZON):
        _run(learner.params, old, gradients)

    def later() -> float:
        return seconds(lambda: _run(learner.params, old, gradients)) / HORIZON * 1e6

    early, old_steps = best_of(5 if quick else 20, early=partial(_step, learner, gradients), late=later).values()
    return {"learner": name, "early": early, f"after {late:,}": old_steps, "ratio": old_steps / early}
