"""`python -m benchmarks.peers`: measure, print the table, and write it if asked to."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.measuring import Plan, measure
from benchmarks.peers.page import render
from benchmarks.report import load


def main(arguments: Sequence[str] | None = None) -> int:
    """Progress goes to standard error, the page to standard output."""
    usual = Plan()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Measure tacit next to its peers.")
    parser.add_argument("--rounds", type=int, default=usual.rounds, help=f"of a trial (default: {usual.rounds:,})")
    parser.add_argument("--trials", type=int, default=usual.trials, help=f"(default: {usual.trials})")
    parser.add_argument("--seed", type=int, default=usual.seed, help=f"of the first trial (default: {usual.seed})")
    parser.add_argument("--quick", action="store_true", help="2 trials of 1,500 rounds: rough numbers in a minute")
    parser.add_argument("--write", type=Path, metavar="PATH", help="write the page here, too")
    options = parser.parse_args(arguments)
    try:
        if options.quick:
            plan = Plan(rounds=1_500, trials=2, seed=options.seed, longer=(1_500, 15_000))
        else:
            plan = Plan(rounds=options.rounds, trials=options.trials, seed=options.seed)
    except ValueError as refused:
        parser.error(str(refused))
    before = load()
    measured = measure(plan, lambda line: print(line, file=sys.stderr, flush=True))
    page = render(measured, before)
    print(page)
    if measured.interrupted:
        print("Stopped by hand: the page holds the complete trials, and was not written.", file=sys.stderr)
        return 130
    if options.write:
        # A page that is half written would be read as a whole one.
        beside = options.write.with_name(f".{options.write.name}.{os.getpid()}")
        beside.write_text(page, "utf-8")
        beside.replace(options.write)
        print(f"written: {options.write}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
