"""Time per simulated round of every release mechanism, against the Gaussian tree within one run."""

from __future__ import annotations

from functools import partial

from benchmarks.report import Cell, Goal, Report, best_of
from benchmarks.settings import ARMS, DELTA, DIM, EPSILON, GAP
from tacit import JointLinUCB, simulate
from tacit.environments import Sphere

#: The options that make each of them, on top of promise and horizon.
MECHANISMS: dict[str, dict[str, object]] = {
    "tree": {"releases": "tree"},
    "published Gaussian tree": {"releases": "tree", "calibration": "published"},
    "published Wishart tree": {"releases": "tree", "calibration": "published", "noise": "wishart"},
    "Toeplitz every round": {"releases": "toeplitz"},
    "geometric": {},
    "window of 20": {"window": 20},
}
#: How many times the tree's time a round may take.
MOST = {"published Wishart tree": 2.0, "Toeplitz every round": 1.5}


def measure(quick: bool) -> Report:
    """µs per round and ratio to the tree."""
    report = Report("mechanisms", f"µs per round at d = {DIM}, K = {ARMS}, environment included, one thread")
    report.begin()
    rounds, repeats = (200_000, 3) if quick else (1_000_000, 5)
    for name in MECHANISMS:
        time_of_a_round(name, 1000)
    best = best_of(repeats, **{name: partial(time_of_a_round, name, rounds) for name in MECHANISMS})
    rows: list[dict[str, Cell]] = [
        {"mechanism": name, "µs": time, "against the tree": time / best["tree"]} for name, time in best.items()
    ]
    report.table(rows)
    for name, most in MOST.items():
        report.goal(Goal.at_most(f"{name}: against the tree", most, best[name] / best["tree"], "x"))
    return report


def time_of_a_round(name: str, rounds: int) -> float:
    """µs per round of one simulated trial, compilation not counted."""
    options: dict[str, object] = {"dim": DIM, "epsilon": EPSILON, "delta": DELTA, "horizon": rounds}
    config = JointLinUCB.from_dict({**options, **MECHANISMS[name]})
    world = Sphere(dim=DIM, arms=ARMS, gap=GAP)
    return simulate(config, world, rounds=rounds, seed=1, threads=1, progress=False).seconds / rounds * 1e6
