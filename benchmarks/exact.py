"""Exact noise against doubles, as ratios within one run: a release of a curator, and the report of a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.report import Cell, Goal, Report, best_of, seconds
from tacit import JointLinUCB, Learner, LocalLinUCB
from tacit.core.session import Session

RELEASES, REPORTS = (50, 200), (5, 50)
#: µs that an exact number may take, where many are drawn at once.
DRAW = 1.0
#: µs that a report at d = 5 may take on a device.
REPORT = 100.0
#: Calls before the first measured one: all code is compiled, and tables are made.
WARM = 4


def measure(quick: bool) -> Report:
    """ms of `learn` with a release after every row, and µs of a report; contestants take turns."""
    report = Report("exact", "exact noise against doubles; a release has the estimate in it")
    report.begin()
    repeats = 5 if quick else 20
    with threadpool_limits(1):
        releases = [_release(dim, repeats) for dim in RELEASES]
        reports = [_report(dim, repeats) for dim in REPORTS]
    report.table(releases)
    report.table(reports)
    each = _number(releases[-1], "of which draws") / _number(releases[-1], "numbers") * 1e3
    report.goal(Goal.at_most("an exact number", DRAW, each, " µs"))
    report.goal(Goal.at_most(f"report at d = {REPORTS[0]}", REPORT, _number(reports[0], "device, µs"), " µs"))
    return report


def _release(dim: int, repeats: int) -> dict[str, Cell]:
    calls = 4
    config = JointLinUCB(dim=dim, epsilon=1.0, delta=1e-6, releases="tree", horizon=4 * (WARM + calls * repeats))
    row = _row(dim)
    learners = {"exact": config.start(), "doubles": config.start(seed=1)}
    for learner in learners.values():
        _learn(learner, row, WARM)
    best = best_of(
        repeats,
        **{name: _timed(partial(_learn, learner, row, calls), calls / 1e3) for name, learner in learners.items()},
    )
    plan = config.planned()
    assert plan.law is not None
    numbers = plan.draws.learn_normals
    draw = best_of(repeats, draw=_timed(partial(plan.law.draw, numbers), 1e-3))["draw"]
    return {
        "release, d": dim,
        "numbers": numbers,
        "exact, ms": best["exact"],
        "of which draws": draw,
        "doubles, ms": best["doubles"],
        "ratio": best["exact"] / best["doubles"],
    }


def _report(dim: int, repeats: int) -> dict[str, Cell]:
    calls = 200
    config = LocalLinUCB(dim=dim, epsilon=4.0, delta=1e-6, horizon=10_000)
    row = _row(dim)
    device = config.device(limit=10**9)
    exact, doubles = Session(config.planned(), dim), Session(config.planned("double"), dim, seed=1)
    tasks: dict[str, Callable[[], object]] = {
        "device": lambda: [device.report(row, 0.5) for _ in range(calls)],
        "exact": partial(_encode, exact, row, calls),
        "doubles": partial(_encode, doubles, row, calls),
    }
    for task in tasks.values():
        task()
    best = best_of(repeats, **{name: _timed(task, calls / 1e6) for name, task in tasks.items()})
    return {
        "report, d": dim,
        "numbers": config.planned().draws.learn_normals,
        "device, µs": best["device"],
        "noise and clipping, exact, µs": best["exact"],
        "the same in doubles, µs": best["doubles"],
        "ratio": best["exact"] / best["doubles"],
    }


def _encode(session: Session, row: np.ndarray[tuple[int], np.dtype[np.float64]], calls: int) -> None:
    for _ in range(calls):
        session.prepare_encode(session.view, row, 0.5)
        session.encode(session.view, row, 0.5)


def _timed(task: Callable[[], object], unit: float) -> Callable[[], float]:
    """Wall time of a task, divided by a unit."""
    return lambda: seconds(task) / unit


def _learn(learner: Learner, row: np.ndarray[tuple[int], np.dtype[np.float64]], calls: int) -> None:
    for _ in range(calls):
        learner.learn(row, 0.5)


def _row(dim: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    row = np.random.default_rng(1).standard_normal(dim)
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = row / np.linalg.norm(row)
    return found


def _number(row: dict[str, Cell], name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float)
    return value
