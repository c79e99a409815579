"""`tacit reproduce`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tacit.cli.options import files, print_json
from tacit.errors import BadInput


def reproduce(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit reproduce list` or `tacit reproduce NAME`."""
    if parsed.experiment == "list":
        if parsed.report:
            raise BadInput("Expected an experiment with --report, got list, which runs nothing.")
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
    paths = _copied(outcome.files, parsed.report) if parsed.report else []
    if parsed.json:
        print_json({**outcome.to_dict(), **files(paths)})
    else:
        print(outcome.text())
        if paths:
            print(f"\npage  {parsed.report / 'report.html'}")
    return 0


def _copied(made: Sequence[Path], folder: Path) -> list[Path]:
    """The files of an outcome in a folder that was asked for. They stay beside the stored runs as well: a later call
    finds both there."""
    folder.mkdir(parents=True, exist_ok=True)
    return [path if path.parent.resolve() == folder.resolve() else Path(shutil.copy(path, folder)) for path in made]


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
