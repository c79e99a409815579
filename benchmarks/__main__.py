"""`python -m benchmarks`: all of them, or the one that is named."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import (
    agreement,
    arms,
    audits,
    compile_times,
    design,
    device,
    exact,
    frontier,
    gope,
    large,
    local,
    mechanisms,
    memory,
    oful,
    one_step,
    online,
    params,
    rkhs,
    rounds,
    sweeps,
)
from benchmarks.report import Report, load, machine


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the numbers if asked to. Goals are reported, not enforced."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure tacit against NumPy.")
    names = (
        "agreement",
        "rounds",
        "mechanisms",
        "params",
        "one_step",
        "online",
        "device",
        "exact",
        "local",
        "arms",
        "design",
        "gope",
        "oful",
        "rkhs",
        "audits",
        "frontier",
        "sweeps",
        "large",
        "compile_times",
        "memory",
    )
    parser.add_argument("only", nargs="?", choices=names, help="one benchmark (default: all)")
    parser.add_argument("--quick", action="store_true", help="shorter runs, rougher numbers")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers here")
    parser.add_argument("--rounds", type=int, help="length of the long run of `memory` (default: 50,000,000)")
    options = parser.parse_args(arguments)
    benchmarks: dict[str, Callable[[bool], Report]] = {
        "agreement": agreement.measure,
        "rounds": rounds.measure,
        "mechanisms": mechanisms.measure,
        "params": params.measure,
        "one_step": one_step.measure,
        "online": online.measure,
        "device": device.measure,
        "exact": exact.measure,
        "local": local.measure,
        "arms": arms.measure,
        "design": design.measure,
        "gope": gope.measure,
        "oful": oful.measure,
        "rkhs": rkhs.measure,
        "audits": audits.measure,
        "frontier": frontier.measure,
        "sweeps": sweeps.measure,
        "large": large.measure,
        "compile_times": compile_times.measure,
        "memory": partial(memory.measure, rounds=options.rounds),
    }
    facts = machine()
    print("  ".join(f"{name}: {fact}" for name, fact in facts.items()))
    chosen = [options.only] if options.only else list(names)
    reports = [benchmarks[name](options.quick) for name in chosen]
    facts["load after"] = load()
    print(f"\nload: {facts['load']} before, {facts['load after']} after")
    if options.json:
        numbers = {
            "machine": facts,
            "quick": options.quick,
            "benchmarks": {report.name: report.to_dict() for report in reports},
        }
        options.json.write_text(json.dumps(numbers, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
