"""`tacit run` and `tacit compare` for learners of functions: error rates in place of regret."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.cli.options import files, print_json

if TYPE_CHECKING:
    from tacit.core.functions import FunctionPolicy
    from tacit.environments import FunctionEnvironment
    from tacit.simulation import PredictionResult


@dataclass(frozen=True)
class Asked:
    """One learner that a command line asks for."""

    label: str
    config: FunctionPolicy
    ways: tuple[str, ...] | None


def read_ways(text: str | None) -> tuple[str, ...] | None:
    """`function,once`; with semicolons after a colon, where a comma starts the next option."""
    return None if text is None else tuple(word.strip() for word in text.replace(";", ",").split(",") if word.strip())


def run_predictions(parsed: argparse.Namespace, world: FunctionEnvironment, asked: Asked) -> int:
    """`tacit run POLICY` for a learner of functions."""
    from tacit.report.run import write_prediction_run
    from tacit.report.tables import number
    from tacit.simulation.result import check_table_path, standard_error

    if parsed.output:
        check_table_path(parsed.output)
    result = _simulate(parsed, world, asked)
    if parsed.output:
        result.save(parsed.output)
    paths = write_prediction_run(result, parsed.report, parsed.command_line) if parsed.report else []
    if parsed.json:
        print_json({**result.to_dict(), **files(paths)})
        return 130 if result.interrupted else 0
    print(f"{asked.label} in {world.slug}: {result.rounds:,} records, {result.trials} trials, seed {result.seed}")
    for way, guarantee in zip(result.ways, result.guarantees, strict=True):
        errors = result.errors_of(way)
        spread = standard_error(errors)
        error = "" if spread is None else f" ± {number(spread, 2)}"
        print(f"  error rate {number(float(errors.mean()))}{error} ({way})")
        print(f"  guarantee  {guarantee}")
    print(f"  at random  {number(result.random_error_rate)}")
    print(f"  speed      {result.records_per_second:,.0f} records/s ({result.seconds:.1f} s)")
    for note in result.notes:
        print(f"  note       {note}")
    if parsed.output:
        print(f"  errors     {parsed.output}")
    if paths:
        print(f"  page       {paths[-1]}")
    return 130 if result.interrupted else 0


def compare_predictions(parsed: argparse.Namespace, world: FunctionEnvironment, every: Sequence[Asked]) -> int:
    """`tacit compare POLICY…` for learners of functions."""
    from tacit.report.predictions import PredictionComparison
    from tacit.report.tables import number

    results = []
    for asked in every:
        results.append(_simulate(parsed, world, asked))
        if results[-1].interrupted:
            break
    comparison = PredictionComparison(results, parsed.command_line)
    paths = comparison.write(parsed.report)
    if parsed.json:
        print_json({**comparison.to_dict(), **files(paths)})
        return 130 if results[-1].interrupted else 0
    first = results[0]
    print(f"{world.slug}: {first.rounds:,} records, {first.trials} trials, seed {first.seed}\n")
    print(comparison.text())
    for result in results:
        for note in result.notes:
            print(f"\n{result.label}: {note}")
    print(f"\nA random action loses {number(first.random_error_rate)}.")
    print("epsilon is accounted from the noise and rounded up; the runs are seeded simulations, not deployments.")
    print(f"figure  {paths[0]}\npage    {paths[-1]}")
    return 130 if results[-1].interrupted else 0


def _simulate(parsed: argparse.Namespace, world: FunctionEnvironment, asked: Asked) -> PredictionResult:
    from tacit.simulation import simulate

    return simulate(
        asked.config,
        world,
        parsed.rounds,
        parsed.trials,
        parsed.seed,
        label=asked.label,
        by=parsed.by,
        ways=asked.ways,
        threads=parsed.threads,
    )
