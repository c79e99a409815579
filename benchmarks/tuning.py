"""How the defaults of `JointLinUCB` were chosen: shift c, release ratio, windows, and the kind of exploration.

    python -m benchmarks.tuning defaults --rounds 1000000 --trials 20 --json tuning.json
    python -m benchmarks.tuning widths --rounds 1000000 --trials 20
    python -m benchmarks.tuning aware --rounds 1000000 --trials 20
    python -m benchmarks.tuning windows --rounds 200000 --trials 20

Every run uses seeds from 10⁶ up; results that are reported elsewhere use seeds below. α = 1/n throughout; `defaults`
compares at the theorem's width, `widths` below it, where no theorem holds, and `aware` at the widths that know the
noise and at the split one; `windows` adds a world that changes halfway.
They take about half an hour, ten, five and five minutes on two cores; `--rounds 100000` gives a rough picture.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import tacit
from tacit.environments import DriftingSphere, Environment, FixedArms, Sphere
from tacit.report.tables import number, table

FIRST_SEED = 10**6
#: (ratio, views): each schedule lasts for at least 10¹⁰ rounds.
SCHEDULES = ((1.01, 2048), (1.02, 1024), (1.05, 512), (1.2, 128))
SHIFTS = (2.0, 3.0, 4.0, 6.0)
SPLIT_SHIFTS = (1.3, 2.0, 3.0)
DELTAS = (0.1, 1e-6)


#: (ratio, segments).
WINDOWS = ((1.2, 4), (1.2, 10), (1.2, 20), (1.1, 10), (1.05, 10), (1.01, 40))
WIDTHS = (0.05, 0.1, 0.2, 0.4)


def narrower(rounds: int, delta: float) -> list[tuple[str, tacit.Policy]]:
    """Optimism and Thompson draws at a fraction of the proved width."""
    promise: dict[str, Any] = {"dim": 5, "epsilon": 1.0, "delta": delta, "horizon": rounds}
    found: list[tuple[str, tacit.Policy]] = []
    for exploration, (ratio, views) in (
        ("optimism", SCHEDULES[0]),
        ("thompson", SCHEDULES[0]),
        ("thompson", SCHEDULES[-1]),
    ):
        for width in WIDTHS:
            config = tacit.JointLinUCB(**promise, ratio=ratio, views=views, width=width, exploration=exploration)
            found.append((f"{exploration} r = {ratio:g}, width = {width:g}", config))
    return found


def aware(rounds: int, delta: float) -> list[tuple[str, tacit.Policy]]:
    """The noise-aware width: optimism and draws, and how often sums are released; and the split width by its shift."""
    promise: dict[str, Any] = {"dim": 5, "epsilon": 1.0, "delta": delta, "horizon": rounds}
    found: list[tuple[str, tacit.Policy]] = [("non-private", tacit.LinUCB(dim=5))]
    for exploration in ("thompson", "optimism"):
        for ratio in (1.01, 1.05, 1.1):
            config = tacit.JointLinUCB(**promise, exploration=exploration, ratio=ratio)
            found.append((f"{exploration}, r = {ratio:g}", config))
    for shift in SPLIT_SHIFTS:
        found.append((f"split, c = {shift:g}", tacit.JointLinUCB(**promise, width="split", shift=shift)))
    return found


def windowed(rounds: int, delta: float) -> list[tuple[str, tacit.Policy]]:
    """Windows from a third to all of the rounds so far, next to no window at all."""
    promise: dict[str, Any] = {"dim": 5, "epsilon": 1.0, "delta": delta, "horizon": rounds, "width": "theory"}
    found: list[tuple[str, tacit.Policy]] = [("geometric, no window", tacit.JointLinUCB(**promise))]
    for ratio, window in WINDOWS:
        for shift in (2.0, 3.0, 6.0):
            config = tacit.JointLinUCB(**promise, ratio=ratio, window=window, shift=shift)
            share = 1 - ratio**-window
            found.append((f"r = {ratio:g}, w = {window} (last {share:.0%}), c = {shift:g}", config))
    return found


def candidates(rounds: int, delta: float) -> list[tuple[str, tacit.Policy]]:
    """Everything that is compared at one δ and the proved width."""
    promise: dict[str, Any] = {"dim": 5, "epsilon": 1.0, "delta": delta, "horizon": rounds, "width": "theory"}
    found: list[tuple[str, tacit.Policy]] = [("non-private", tacit.LinUCB(dim=5, horizon=rounds, width="theory"))]
    for shift in SHIFTS:
        config = tacit.JointLinUCB(**promise, releases="tree", shift=shift)
        found.append((f"tree, c = {shift:g}", config))
    for ratio, views in SCHEDULES:
        for shift in SHIFTS:
            config = tacit.JointLinUCB(**promise, ratio=ratio, views=views, shift=shift)
            found.append((f"geometric r = {ratio:g}, R = {views}, c = {shift:g}", config))
    for ratio, views in (SCHEDULES[0], SCHEDULES[-1]):
        for shift in (2.0, 3.0):
            config = tacit.JointLinUCB(**promise, ratio=ratio, views=views, shift=shift, exploration="thompson")
            found.append((f"thompson r = {ratio:g}, R = {views}, c = {shift:g}", config))
    return found


PARTS = {"defaults": candidates, "widths": narrower, "aware": aware, "windows": windowed}


def main() -> None:
    """Run the sweep and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=tuple(PARTS))
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    policies = PARTS[options.part]
    other: Environment = FixedArms(dim=5, gap=0.1)
    if options.part == "windows":
        other = DriftingSphere(dim=5, gap=0.1, change=options.rounds // 2)
    worlds: list[Environment] = [Sphere(dim=5, gap=0.1), other]
    cells: dict[str, list[str]] = {}
    facts: list[dict[str, Any]] = []
    for world in worlds:
        for delta in DELTAS:
            for name, config in policies(options.rounds, delta):
                result = tacit.simulate(
                    config, world, options.rounds, options.trials, FIRST_SEED, label=f"{world.slug} {delta:g} {name}"
                )
                cells.setdefault(name, []).append(f"{number(result.regret_mean)} ± {number(result.regret_se, 2)}")
                facts.append({"name": name, "delta": delta, **result.to_dict()})
                if options.json:
                    options.json.write_text(json.dumps(facts, indent=1), "utf-8")
    head = ["policy", *(f"{world.slug}, δ = {delta:g}" for world in worlds for delta in DELTAS)]
    print(f"{options.rounds:,} rounds, {options.trials} trials, seed {FIRST_SEED}, ε = 1, gap 0.1, α = 1/n\n")
    print(table(head, [[name, *row] for name, row in cells.items()], right=(1, 2, 3, 4)))


if __name__ == "__main__":
    main()
