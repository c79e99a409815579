"""One width per policy and ε for `tacit reproduce local/figure-1`: what stands in `tacit.reproduce.local.tuned`.

    python -m benchmarks.local_widths --trials 10 --json widths.json

Every run uses seeds from 10⁶ up; figure 1 is reported on seeds below. The least mean regret wins, and nothing else is
looked at: with ten trials neighbours on the grid may well be equally good. About ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tacit.report.tables import number, table
from tacit.reproduce.local.common import ROUNDS, world
from tacit.reproduce.local.over_time import EPSILONS
from tacit.reproduce.local.policies import MAKERS, TUNED
from tacit.reproduce.local.tuned import GRID, ONLINE_GRID
from tacit.simulation import Job, simulate_all

FIRST_SEED = 10**6


def main() -> None:
    """Run the grid, print it, and print what won."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tried = [
        (name, epsilon, width)
        for name in TUNED
        for epsilon in EPSILONS
        for width in (ONLINE_GRID if name.startswith("OnlineUCB") else GRID)
    ]
    jobs = [
        Job(
            MAKERS[name](epsilon, options.rounds, width=width),
            world(),
            options.rounds,
            options.trials,
            FIRST_SEED,
            f"{name}, ε = {epsilon:g}, width {width:g}",
        )
        for name, epsilon, width in tried
    ]
    results = simulate_all(jobs, threads=options.threads)
    rows: list[list[str]] = []
    best: dict[str, dict[float, tuple[float, float]]] = {}
    facts: list[dict[str, Any]] = []
    for (name, epsilon, width), result in zip(tried, results, strict=True):
        mean = result.regret_mean
        rows.append([name, f"{epsilon:g}", f"{width:g}", number(mean), number(result.regret_se, 2)])
        facts.append({"policy": name, "epsilon": epsilon, "width": width, "mean": mean, "error": result.regret_se})
        found = best.setdefault(name, {})
        found[epsilon] = min(found.get(epsilon, (mean, width)), (mean, width))
    if options.json:
        options.json.write_text(json.dumps(facts, indent=1), "utf-8")
    print(f"{options.rounds:,} rounds, {options.trials} trials, seed {FIRST_SEED}\n")
    print(table(("policy", "ε", "width", "regret", "± s.e."), rows, right=(3, 4)))
    print("\nThe least of each:")
    for name, found in best.items():
        print(f'    "{name}": {{{", ".join(f"{epsilon}: {width}" for epsilon, (_, width) in found.items())}}},')


if __name__ == "__main__":
    main()
