"""The page of one policy in one world."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.report.charts import Chart, regret_chart
from tacit.report.dots import Dots
from tacit.report.page import Section
from tacit.report.parts import all_settings, card_section, notes_of, raw_warning
from tacit.report.predictions import error_chart
from tacit.report.reports import Report
from tacit.report.tables import number
from tacit.simulation.prediction_result import PredictionResult
from tacit.simulation.result import Result, standard_error


def write_run(result: Result, directory: Path, command: str) -> list[Path]:
    """Regret over rounds, numbers, card and settings; return the paths, the picture first and the page last."""
    title = f"{result.label} in {result.environment.slug}: {_size(result, 'rounds')}"
    facts = [
        ["regret", _spread(result.regret_mean, result.regret_se)],
        ["guarantee", str(result.guarantee)],
        ["speed", f"{result.rounds_per_second:,.0f} rounds/s ({result.seconds:.1f} s)"],
    ]
    trials = [[str(trial), number(regret)] for trial, regret in zip(result.trial_numbers, result.regret, strict=True)]
    return Report(
        title=title,
        command=command,
        lead=(
            f"{result.label} played {result.rounds:,} rounds of {result.environment.slug} in {result.trials} trials "
            f"(seed {result.seed}). Regret is what the best action of each round would have earned on average, minus "
            "what the chosen one did, summed up."
        ),
        sections=[
            *_found("Regret over time", regret_chart([result], title, name="regret"), facts, [result]),
            Section("Trials", head=("trial", "final regret"), rows=trials, right=(0, 1), folded=True),
            card_section(result.label, result.bound.card(seeded=True)),
            all_settings([result]),
        ],
        warning=raw_warning(result.environment),
    ).write(directory)


def write_prediction_run(result: PredictionResult, directory: Path, command: str) -> list[Path]:
    """Error rates by way, numbers, card and settings; return the paths, the picture first and the page last."""
    title = f"{result.label} in {result.environment.slug}: {_size(result, 'records')}"
    facts = []
    for way, guarantee in zip(result.ways, result.guarantees, strict=True):
        errors = result.errors_of(way)
        facts += [
            [f"error rate ({way})", _spread(float(errors.mean()), standard_error(errors))],
            [f"guarantee ({way})", str(guarantee)],
        ]
    facts += [
        ["error rate of a random action", number(result.random_error_rate)],
        ["speed", f"{result.records_per_second:,.0f} records/s ({result.seconds:.1f} s)"],
    ]
    trials = [
        [str(trial), *(number(float(error)) for error in errors), number(float(evenly))]
        for trial, errors, evenly in zip(result.trial_numbers, result.by_way, result.random_errors, strict=True)
    ]
    return Report(
        title=title,
        command=command,
        lead=(
            f"{result.label} learned from {result.rounds:,} records of {result.environment.slug} in {result.trials} "
            f"trials (seed {result.seed}), and then predicted the best action for contexts it had not seen. The error "
            "rate is what the best candidate would have earned on average, minus what the predicted one did."
        ),
        sections=[
            *_found("Errors", error_chart([result], title), facts, [result]),
            Section(
                "Trials",
                head=("trial", *result.ways, "random"),
                rows=trials,
                right=tuple(range(len(result.ways) + 2)),
                folded=True,
            ),
            card_section(result.label, result.config.card(seeded=True)),
            all_settings([result]),
        ],
        warning=raw_warning(result.environment),
    ).write(directory)


def _found(
    title: str, chart: Chart | Dots, facts: list[list[str]], results: Sequence[Result | PredictionResult]
) -> list[Section]:
    return [
        Section(title, chart=chart),
        Section("Numbers", head=("number", "value"), rows=facts, wrap=True, paragraphs=notes_of(results)),
    ]


def _size(result: Result | PredictionResult, unit: str) -> str:
    trials = "1 trial" if result.trials == 1 else f"{result.trials} trials"
    return f"{result.rounds:,} {unit}, {trials}"


def _spread(mean: float, error: float | None) -> str:
    return number(mean) if error is None else f"{number(mean)} ± {number(error, 2)}"
