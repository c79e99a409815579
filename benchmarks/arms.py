"""Policies over plain arms: time per round, and whole runs by episodes, within one run.

python -m benchmarks arms
"""

from __future__ import annotations

from functools import partial

from benchmarks.report import Cell, Goal, Report, best_of
from tacit import UCB1, Episodic, LaplaceUCB, Policy, RenyiUCB, SuccessiveElimination, simulate
from tacit.environments import Arms

WORLD = Arms()
#: µs per round that `RenyiUCB` may take round by round, environment included.
BUDGET = 0.2
#: Seconds that a run of so many rounds may take by episodes.
LONG, SECONDS = 10**7, 1.0
#: The longest run against the shortest: a round does not grow with the number of rounds.
GROWTH = 1.25

POLICIES: dict[str, Policy] = {
    "ucb1": UCB1(),
    "ucb1, doubling": UCB1(doubling=True),
    "renyi-ucb": RenyiUCB(rho=0.1),
    "episodic, KL-UCB": Episodic(rho=0.1),
    "laplace-ucb": LaplaceUCB(epsilon=1.0),
    "successive-elimination": SuccessiveElimination(epsilon=1.0, horizon=LONG),
}


def measure(quick: bool) -> Report:
    """µs per round both ways, and whether a round costs more in a longer run."""
    report = Report("arms", f"K = {WORLD.features} plain arms, environment included, one thread")
    report.begin()
    rounds, repeats = (10**6, 3) if quick else (5 * 10**6, 5)
    names = tuple(POLICIES)
    for name in names:
        seconds(name, 1000, "rounds")
        if name != "ucb1":
            seconds(name, 1000, "episodes")
    by_rounds = best_of(repeats, **{name: partial(seconds, name, rounds, "rounds") for name in names})
    by_episodes = best_of(repeats, **{name: partial(seconds, name, LONG, "episodes") for name in names[1:]})
    rows: list[dict[str, Cell]] = [
        {
            "policy": name,
            "µs per round": time / rounds * 1e6,
            "against ucb1": time / by_rounds["ucb1"],
            f"ms for {LONG:,} rounds by episodes": by_episodes[name] * 1e3 if name in by_episodes else "–",
        }
        for name, time in by_rounds.items()
    ]
    report.table(rows)
    report.goal(Goal.at_most("renyi-ucb round by round", BUDGET, by_rounds["renyi-ucb"] / rounds * 1e6, " µs"))
    report.goal(Goal.at_most(f"renyi-ucb by episodes, {LONG:,} rounds", SECONDS, by_episodes["renyi-ucb"], " s"))
    short, long = 10**5, 10**6 if quick else 10**7
    pair = best_of(
        repeats,
        short=lambda: seconds("renyi-ucb", short, "rounds") / short,
        long=lambda: seconds("renyi-ucb", long, "rounds") / long,
    )
    report.goal(Goal.at_most("renyi-ucb: longest against shortest run", GROWTH, pair["long"] / pair["short"], "x"))
    return report


def seconds(name: str, rounds: int, by: str) -> float:
    """Seconds of one simulated trial, compilation not counted."""
    return simulate(POLICIES[name], WORLD, rounds, seed=1, by=by, threads=1, progress=False).seconds
