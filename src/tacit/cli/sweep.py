"""`tacit sweep`: policies × budgets × environments × seeds, here or on a cluster."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tacit.cli.options import print_json

if TYPE_CHECKING:
    from tacit.sweeping import Sweep


def sweep(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit sweep SPEC`."""
    from tqdm import tqdm

    from tacit.sweeping import sweep as run_all
    from tacit.sweeping.page import write

    looking = parsed.status or parsed.dry_run
    found = run_all(
        parsed.spec,
        output=parsed.output,
        engine=parsed.engine,
        scheduler=parsed.scheduler,
        workers=parsed.workers,
        threads=parsed.threads,
        run=not looking,
        fresh=parsed.fresh,
        say=lambda line: tqdm.write(line, file=sys.stderr),  # above the bar, not through it
    )
    any_done = any(record["status"] == "done" for record in found.records)
    paths = write(found, parsed.report, parsed.command_line) if parsed.report is not None and any_done else []
    if parsed.json:
        print_json({"command": parsed.command_line, **found.to_dict(), "files": [str(path) for path in paths]})
    elif parsed.dry_run:
        _list(found)
    else:
        print(found.text(), end="")
        print("epsilon is accounted from the noise and rounded up; the runs are seeded simulations, not deployments.")
        if not looking:
            print(f"table   {found.folder / 'table.csv'}")
        if paths:
            print(f"page    {paths[-1]}")
    return 1 if found.problems and not looking else 0


def _list(found: Sweep) -> None:
    stored = {record["run"] for record in found.records if record["status"] == "done"}
    for run in found.runs:
        print(f"{'found' if run.key in stored else 'to run':<8}{run.name}")
    print(f"\n{found.summary()}")
