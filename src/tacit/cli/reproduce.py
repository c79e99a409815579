"""`tacit reproduce`."""

from __future__ import annotations

import argparse
import sys

from tacit.cli.options import print_json


def reproduce(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit reproduce list` or `tacit reproduce NAME`."""
    if parsed.experiment == "list":
        return _list(parsed)
    from tqdm import tqdm

    from tacit.reproduce import run

    outcome = run(
        parsed.experiment,
        scale=parsed.scale,
        output=parsed.output,
        seed=parsed.seed,
        trials=parsed.trials,
        threads=parsed.threads,
        fresh=parsed.fresh,
        say=lambda line: tqdm.write(line, file=sys.stderr),  # above the bar, not through it
        command=parsed.command_line,
    )
    if parsed.json:
        print_json(outcome.to_dict())
    else:
        print(outcome.text())
    return 0


def _list(parsed: argparse.Namespace) -> int:
    from tacit.reproduce import EXPERIMENTS

    if parsed.json:
        print_json(
            {
                "experiments": [
                    {
                        "name": one.name,
                        "title": one.title,
                        "paper": one.paper,
                        "scales": {
                            name: {"what": one.describe(scale), "time": scale.time, "settings": scale.settings()}
                            for name, scale in one.scales.items()
                        },
                    }
                    for one in EXPERIMENTS.values()
                ]
            }
        )
        return 0
    for one in EXPERIMENTS.values():
        print(f"{one.name}: {one.title}")
        for name, scale in one.scales.items():
            print(f"    {name:<7}{one.describe(scale)}; {scale.time}")
    print("\nTimes are for two cores. `tacit reproduce NAME --scale quick` runs one; a stopped run goes on later.")
    return 0
