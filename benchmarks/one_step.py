"""One step of a service: `choose` and `learn` called from Python, inputs validated, against the same step in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.numpy_loop import Floats, NumpySphere, numpy_policy
from benchmarks.report import Cell, Goal, Report, best_of, seconds
from benchmarks.settings import ARMS, DIM, GAP, POLICIES, RANK_ONE, policy

FASTER = 2.0
#: Steps before the first measured one: all policies have a view, and all code is compiled.
WARM = 500
_SETS = 64


class Steps(Protocol):
    """What a learner and its NumPy counterpart have in common."""

    def choose(self, actions: Floats) -> int:
        """The arm to take."""

    def learn(self, x: Floats, reward: float) -> None:
        """What it earned."""


def measure(quick: bool) -> Report:
    """µs per step. The three learners of a policy walk in step, so that releases fall into the same blocks."""
    report = Report("one_step", f"µs per choose + learn from Python at d = {DIM}, K = {ARMS}, no environment")
    report.begin()
    steps, repeats = (500, 4) if quick else (2000, 8)
    rows: list[dict[str, Cell]] = []
    goals: list[Goal] = []
    for name in (*POLICIES, RANK_ONE):
        config = policy(name, 1_000_000)
        contestants: dict[str, Steps] = {
            "OS noise": config.start(),
            "seeded": config.start(seed=1),
            "NumPy": numpy_policy(config, np.random.default_rng(1), rank_one=name == RANK_ONE),
        }
        for contestant in contestants.values():
            _walk(contestant, WARM)
        tasks: dict[str, Callable[[], float]] = {
            label: partial(_per_step, contestant, steps) for label, contestant in contestants.items()
        }
        with threadpool_limits(1):
            best = best_of(repeats, **tasks)
        secure, seeded = best["NumPy"] / best["OS noise"], best["NumPy"] / best["seeded"]
        rows.append({"policy": name, **best, "NumPy / OS noise": secure, "NumPy / seeded": seeded})
        goals.append(Goal.at_least(f"{name}: against NumPy, OS noise", FASTER, secure, "x"))
        goals.append(Goal.at_least(f"{name}: against NumPy, seeded", FASTER, seeded, "x"))
    report.table(rows)
    for goal in goals:
        report.goal(goal)
    return report


def _per_step(contestant: Steps, steps: int) -> float:
    return seconds(lambda: _walk(contestant, steps)) / steps * 1e6


def _walk(contestant: Steps, steps: int) -> None:
    offers = _OFFERS
    for step in range(steps):
        actions, reward = offers[step % _SETS]
        arm = contestant.choose(actions)
        contestant.learn(actions[arm], reward)


def _offers() -> list[tuple[Floats, float]]:
    rng = np.random.default_rng(2)
    world = NumpySphere(DIM, ARMS, GAP, rng)
    return [(world.show()[0], world.pay(0.5)) for _ in range(_SETS)]


_OFFERS = _offers()
