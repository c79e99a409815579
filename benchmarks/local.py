"""Time per simulated round of the local policies at the size of the paper's experiments, against LinUCB in one run.

python -m benchmarks local
python -m benchmarks.local --rounds 20000 --trials 20      # how the defaults were chosen, on seeds from 10⁶ up
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from benchmarks.report import Cell, Goal, Report, best_of
from tacit import AnytimeLinUCB, Combiner, LinUCB, OnlineConfidence, OnlineLinUCB, Policy, simulate
from tacit.environments import Bias
from tacit.report.tables import number, table

DIM, ARMS = 5, 100
#: µs per round that an online learner may take, environment included.
BUDGET = {"online-linucb, OGD": 8.0, "online-linucb, Maler": 12.0}
#: The longest run against the shortest: a round does not grow with the number of rounds.
GROWTH = 1.25
FIRST_SEED = 10**6


def policies(rounds: int, **options: Any) -> dict[str, Policy]:
    """Everything that is timed, at the bounds of `bias`."""
    common: dict[str, Any] = {"dim": DIM, "epsilon": 10.0, "delta": 0.1, **Bias().bounds, **options}
    return {
        "linucb": LinUCB(dim=DIM, noise_level=0.5, horizon=rounds, width="theory"),
        "online-confidence": OnlineConfidence(dim=DIM, noise_level=0.5, horizon=rounds),
        "online-linucb, OGD": OnlineLinUCB(**common, horizon=rounds),
        "online-linucb, Maler": OnlineLinUCB(**common, horizon=rounds, learner="maler"),
        "online-linucb, debiased": OnlineLinUCB(**common, estimator="debiased"),
        "anytime-linucb, OGD": AnytimeLinUCB(**common),
        "anytime-linucb, Maler": AnytimeLinUCB(**common, learner="maler"),
        "combiner, OGD": Combiner(**common, horizon=rounds),
        "combiner, Maler": Combiner(**common, horizon=rounds, learner="maler"),
    }


def measure(quick: bool) -> Report:
    """µs per round, ratio to LinUCB, and whether a round costs more in a longer run."""
    report = Report("local", f"µs per round at d = {DIM}, K = {ARMS} fresh arms, environment included, one thread")
    report.begin()
    rounds, repeats = (20_000, 3) if quick else (100_000, 5)
    names = tuple(policies(2))
    for name in names:
        time_of_a_round(name, 1000)
    best = best_of(repeats, **{name: partial(time_of_a_round, name, rounds) for name in names})
    rows: list[dict[str, Cell]] = [
        {"policy": name, "µs": time, "against LinUCB": time / best["linucb"]} for name, time in best.items()
    ]
    report.table(rows)
    lengths = (5_000, 50_000) if quick else (20_000, 1_000_000)
    for name, most in BUDGET.items():
        report.goal(Goal.at_most(name, most, best[name], " µs"))
        longer = best_of(2, **{f"n = {length:,}": partial(time_of_a_round, name, length) for length in lengths})
        first, last = longer.values()
        report.goal(Goal.at_most(f"{name}: longest against shortest run", GROWTH, last / first, "x"))
    return report


def time_of_a_round(name: str, rounds: int) -> float:
    """µs per round of one simulated trial, compilation not counted."""
    config = policies(rounds)[name]
    world = Bias(dim=DIM, arms=ARMS)
    return simulate(config, world, rounds=rounds, seed=1, threads=1, progress=False).seconds / rounds * 1e6


def candidates(rounds: int, epsilon: float) -> dict[str, Policy]:
    """Learners and width constants that are compared, at the exact calibration and the bounds of `bias`."""
    common: dict[str, Any] = {"dim": DIM, "epsilon": epsilon, "delta": 0.1, **Bias().bounds}
    found: dict[str, Policy] = {}
    for width in (0.5, 1.0, 2.0, 4.0):
        for learner in ("ogd", "maler"):
            config = OnlineLinUCB(**common, horizon=rounds, learner=learner, width=width)
            found[f"online-linucb, {learner}, c = {width:g}"] = config
    for width in (0.1, 0.3, 1.0):
        found[f"debiased, c = {width:g}"] = OnlineLinUCB(**common, estimator="debiased", width=width)
    for width in (1.0, 2.0):
        found[f"perturbed, ogd, c = {width:g}"] = OnlineLinUCB(**common, horizon=rounds, lambda_min=0.0, width=width)
        found[f"anytime-linucb, ogd, c = {width:g}"] = AnytimeLinUCB(**common, width=width)
    for width in (0.5, 1.0, 2.0, 4.0):
        found[f"combiner, ogd, c = {width:g}"] = Combiner(**common, horizon=rounds, width=width)
    return found


def main() -> None:
    """Print regrets of all candidates on seeds from 10⁶ up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--trials", type=int, default=20)
    options = parser.parse_args()
    columns = {
        f"{contexts} arms, ε = {epsilon:g}": (Bias(dim=DIM, arms=ARMS, contexts=contexts), epsilon)
        for epsilon in (10.0, 1.0)
        for contexts in ("fresh", "fixed")
    }
    cells: dict[str, list[str]] = {}
    for world, epsilon in columns.values():
        for name, config in candidates(options.rounds, epsilon).items():
            result = simulate(config, world, options.rounds, options.trials, FIRST_SEED, label=name)
            assert result.regret_se is not None
            cells.setdefault(name, []).append(f"{number(result.regret_mean)} ± {number(result.regret_se, 2)}")
    print(f"{options.rounds:,} rounds, {options.trials} trials, seed {FIRST_SEED}, δ = 0.1, exact calibration\n")
    print(table(["policy", *columns], [[name, *row] for name, row in cells.items()], right=tuple(range(1, 5))))


if __name__ == "__main__":
    main()
