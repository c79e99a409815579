"""Time per simulated round of rarely-switching OFUL, and how the defaults of `RenyiOFUL` were chosen.

    python -m benchmarks oful
    python -m benchmarks.oful --trials 20      # regrets, on seeds from 10⁶ up: about eight minutes on two cores

Fresh unit contexts, K = 20, ‖θ*‖ = 0.9, rewards ±1, δ = 1/T.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from benchmarks.report import Cell, Goal, Report, best_of
from tacit import OFUL, Policy, RenyiOFUL, simulate
from tacit.environments import UnitContexts
from tacit.report.tables import number, table

DIM, ARMS = 5, 20
#: µs per round, environment included.
BUDGET = 6.0
#: The longest run against the shortest: a round does not grow with the number of rounds.
GROWTH = 1.25
FIRST_SEED = 10**6
#: (d, T) of the comparison.
SIZES = ((2, 100_000), (5, 10_000), (5, 100_000), (10, 30_000))
RHOS = (1.0, 0.1, 0.01)


def timed(rounds: int) -> dict[str, Policy]:
    """Everything that is timed."""
    common: dict[str, Any] = {"dim": DIM, "horizon": rounds, "rho": 0.1}
    return {
        "oful": OFUL(dim=DIM, horizon=rounds),
        "oful, every row": OFUL(dim=DIM, horizon=rounds, switch=0.0),
        "renyi-oful": RenyiOFUL(**common),
        "renyi-oful, as published": RenyiOFUL(dim=DIM, horizon=rounds, alpha=2, epsilon=0.2, calibration="published"),
        "renyi-oful, contexts too": RenyiOFUL(**common, protects="contexts and rewards"),
    }


def measure(quick: bool) -> Report:
    """µs per round, and whether a round costs more in a longer run."""
    report = Report(
        "oful", f"µs per round at d = {DIM}, K = {ARMS} fresh unit contexts, environment included, one thread"
    )
    report.begin()
    rounds, repeats = (20_000, 3) if quick else (200_000, 5)
    names = tuple(timed(2))
    for name in names:
        time_of_a_round(name, 1000)
    best = best_of(repeats, **{name: partial(time_of_a_round, name, rounds) for name in names})
    rows: list[dict[str, Cell]] = [{"policy": name, "µs": time} for name, time in best.items()]
    report.table(rows)
    lengths = (5_000, 50_000) if quick else (20_000, 2_000_000)
    for name in ("oful", "renyi-oful", "renyi-oful, as published"):
        report.goal(Goal.at_most(name, BUDGET, best[name], " µs"))
    longer = best_of(2, **{f"n = {length:,}": partial(time_of_a_round, "renyi-oful", length) for length in lengths})
    first, last = longer.values()
    report.goal(Goal.at_most("renyi-oful: longest against shortest run", GROWTH, last / first, "x"))
    return report


def time_of_a_round(name: str, rounds: int) -> float:
    """µs per round of one simulated trial, compilation not counted."""
    world = UnitContexts(dim=DIM, arms=ARMS)
    result = simulate(timed(rounds)[name], world, rounds=rounds, seed=1, threads=1, progress=False)
    return result.seconds / rounds * 1e6


def candidates(dim: int, rounds: int, rho: float) -> dict[str, Policy]:
    """Widths, noises, regularisers and switching constants that are compared at one ρ."""
    common: dict[str, Any] = {"dim": dim, "horizon": rounds, "rho": rho}
    found: dict[str, Policy] = {"no privacy": OFUL(dim=dim, horizon=rounds)}
    found["paper's width, sum, C = 1, λ = 1"] = RenyiOFUL(**common, width="paper", noise="sum", switch=1.0, ridge=1.0)
    for noise in ("sum", "toeplitz"):
        for ridge in (1.0, 10.0, 100.0, 1000.0):
            found[f"{noise}, C = 1, λ = {ridge:g}"] = RenyiOFUL(**common, noise=noise, switch=1.0, ridge=ridge)
        for switch in (0.1, 0.5, 1.0, 3.0):
            found[f"{noise}, C = {switch:g}, λ = balance"] = RenyiOFUL(**common, noise=noise, switch=switch)
    third = max(1.0, RenyiOFUL(**common).regulariser / 3)
    found["toeplitz, C = 1, λ = balance / 3"] = RenyiOFUL(**common, ridge=third)
    found["toeplitz, width × 0.3"] = RenyiOFUL(**common, width=0.3)
    found["contexts too"] = RenyiOFUL(**common, protects="contexts and rewards")
    return found


def main() -> None:
    """Print regrets of all candidates on seeds from 10⁶ up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    options = parser.parse_args()
    print(f"{options.trials} trials, seed {FIRST_SEED}: mean regret ± standard error")
    for dim, rounds in SIZES:
        cells: dict[str, list[str]] = {}
        for rho in RHOS:
            for name, config in candidates(dim, rounds, rho).items():
                result = simulate(config, UnitContexts(dim=dim, arms=ARMS), rounds, options.trials, FIRST_SEED)
                cells.setdefault(name, []).append(f"{number(result.regret_mean)} ± {number(result.regret_se, 2)}")
        head = [f"d = {dim}, T = {rounds:,}", *(f"ρ = {rho:g}" for rho in RHOS)]
        print(f"\n{table(head, [[name, *row] for name, row in cells.items()], right=(1, 2, 3))}", flush=True)


if __name__ == "__main__":
    main()
