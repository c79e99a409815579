"""Phased elimination over a list of actions: time of whole runs, and regret by length of phases and by budget.

python -m benchmarks gope
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Cell, Goal, Report, best_of
from tacit import GOPE, Policy, RenyiGOPE, simulate
from tacit.environments import LinearActions

#: The run that has a budget: rounds, features, actions, and seconds.
ROUNDS, DIM, ARMS, BUDGET = 10**6, 10, 200, 1.0
#: Features and actions of the tables of regret; lists, and trials on each.
SETTINGS = ((5, 20), (10, 50))
LISTS, TRIALS = 20, 5
#: Regret is reported on seeds below those that anything was chosen on.
SEED = 1
VARIANTS: dict[str, dict[str, Any]] = {
    "exact": {},
    "exact, tolerance 0.1": {"tolerance": 0.1},
    "exact, tolerance 0.001": {"tolerance": 0.001},
    "Equation 8": {"phases": "published"},
}


def measure(quick: bool) -> Report:
    """Seconds of one run, and mean regret ± standard error over random lists."""
    report = Report("gope", f"whole runs of {ROUNDS:,} rounds, environment included, one thread")
    report.begin()
    policies: dict[str, Policy] = {
        "gope": GOPE(horizon=ROUNDS),
        "renyi-gope, rho = 0.1": RenyiGOPE(rho=0.1, horizon=ROUNDS),
        "renyi-gope, laplace, epsilon = 1": RenyiGOPE(epsilon=1.0, noise="laplace", horizon=ROUNDS),
    }
    rows: list[dict[str, Cell]] = []
    slowest = 0.0
    for name, config in policies.items():
        times = {}
        for by in ("rounds", "episodes"):
            _seconds(config, by, 1000)
            times[by] = best_of(3 if quick else 10, run=partial(_seconds, config, by, ROUNDS))["run"]
        slowest = max(slowest, *times.values())
        rows.append({"policy": name, "ms by rounds": times["rounds"] * 1e3, "ms by episodes": times["episodes"] * 1e3})
    report.table(rows)
    report.goal(Goal.at_most(f"a run at d = {DIM}, K = {ARMS}", BUDGET, slowest, " s"))
    report.table([row for dim, arms in SETTINGS[: 1 if quick else 2] for row in _regret(dim, arms)])
    return report


def _seconds(config: Policy, by: str, rounds: int) -> float:
    """Of one trial, without compilation. The first phase is laid out once for all trials, and not counted either."""
    return simulate(config, LinearActions(dim=DIM, arms=ARMS), rounds, seed=1, by=by, threads=1, progress=False).seconds


def _regret(dim: int, arms: int) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for label, options in VARIANTS.items():
        row: dict[str, Cell] = {"d, K": f"{dim}, {arms}", "phases": label}
        row["no noise"] = _shown(GOPE(horizon=ROUNDS, **options), dim, arms)
        for rho in (1.0, 0.1, 0.01, 0.001):
            row[f"rho = {rho:g}"] = _shown(RenyiGOPE(rho=rho, horizon=ROUNDS, **options), dim, arms)
        if "phases" not in options:
            pure = RenyiGOPE(epsilon=0.1, noise="laplace", horizon=ROUNDS, **options)
            row["laplace, epsilon = 0.1"] = _shown(pure, dim, arms)
        rows.append(row)
    return rows


def _shown(config: Policy, dim: int, arms: int) -> str:
    means = [
        simulate(
            config,
            LinearActions(dim=dim, arms=arms, actions_seed=place),
            ROUNDS,
            TRIALS,
            SEED + place,
            by="episodes",
            threads=1,
            progress=False,
        ).regret_mean
        for place in range(LISTS)
    ]
    return f"{np.mean(means):,.0f} ± {np.std(means, ddof=1) / math.sqrt(LISTS):,.0f}"
