"""What an array more in the params costs: in the compiled loop, and in the time to compile it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Cell, Report, best_of, seconds
from benchmarks.settings import ARMS, DELTA, DIM, EPSILON, GAP
from tacit import JointLinUCB, simulate
from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.environments import Sphere
from tacit.explorations import Optimism, explore, optimistic_arm


class OneMore(NamedTuple):
    """Optimism beside an array that nothing reads."""

    first: Floats


class FourMore(NamedTuple):
    """Optimism beside four of them."""

    first: Floats
    second: Floats
    third: Floats
    fourth: Floats


@implements(explore, OneMore, FourMore)
@kernel
def _optimistic(exploration: Any, view: Any, slate: Any, noise: Any) -> int:
    return optimistic_arm(Optimism(1.0), view, slate, noise)


@dataclass(frozen=True, kw_only=True)
class Padded(JointLinUCB):
    """`JointLinUCB` with so many arrays more in its params."""

    more: int = 0

    def explorer(self) -> Any:
        arrays = [np.zeros(8) for _ in range(self.more)]
        return {0: Optimism, 1: OneMore, 4: FourMore}[self.more](*arrays)


def measure(quick: bool) -> Report:
    """µs per round with none, one and four arrays more, as a ratio to none within one run."""
    report = Report("params", f"µs per round of geometric releases at d = {DIM}, K = {ARMS}, by arrays in the params")
    report.begin()
    rounds, repeats = (200_000, 3) if quick else (1_000_000, 7)
    compiled = {more: seconds(partial(time_of_a_round, more, 10)) for more in (0, 1, 4)}
    best = best_of(repeats, **{str(more): partial(time_of_a_round, more, rounds) for more in compiled})
    rows: list[dict[str, Cell]] = [
        {
            "arrays more": more,
            "µs": best[str(more)],
            "ratio": best[str(more)] / best["0"],
            "first call, s": compiled[more],
        }
        for more in compiled
    ]
    report.table(rows)
    report.note("The first call with none may find its code on disk; the others are compiled in every process.")
    return report


def time_of_a_round(more: int, rounds: int) -> float:
    """µs per round of one simulated trial, compilation not counted."""
    config = Padded(dim=DIM, epsilon=EPSILON, delta=DELTA, horizon=max(rounds, 2), width="theory", more=more)
    world = Sphere(dim=DIM, arms=ARMS, gap=GAP)
    return simulate(config, world, rounds=rounds, seed=1, threads=1, progress=False).seconds / rounds * 1e6
