"""The page of a sweep: curves of each environment, regret against ε where several budgets were tried, the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tacit.data import NOT_PRIVATE
from tacit.privacy.guarantee import short_delta
from tacit.report.charts import Chart, Line, Mark, regret_chart
from tacit.report.page import Section
from tacit.report.reports import Report, settings_section
from tacit.report.tables import number
from tacit.simulation import PredictionResult, Result
from tacit.sweeping.result import Sweep
from tacit.sweeping.rows import DONE
from tacit.sweeping.runs import Run

#: Lines that can be told apart in one chart.
_MOST_LINES = 24
#: Where ε is read for the chart if the sweep names no δ.
_SHOWN_DELTA = 1e-6


def write(found: Sweep, directory: Path, command: str) -> list[Path]:
    """Write the page, its charts and tables; return their paths, the page last."""
    head, rows, right = found.rows()
    pooled = _pooled(found)
    sections = []
    for world in dict.fromkeys(run.world for run, _ in pooled):
        here = [(run, result) for run, result in pooled if run.world == world]
        played = [result for _, result in here if isinstance(result, Result)]
        if played:
            sections.append(Section(f"Over time: {world}", chart=_curves(world, played)))
        chart = _against_epsilon(world, here, found.spec.delta or _SHOWN_DELTA)
        if chart is not None:
            sections.append(Section(f"Against epsilon: {world}", chart=chart))
    sections.append(Section("All runs", head=head, rows=rows, right=right, paragraphs=_reading(found)))
    if found.problems:
        wrong = [[name, problem] for name, problem in found.problems.items()]
        sections.append(Section("What failed", head=("run", "problem"), rows=wrong, wrap=True))
    sections += _cards(pooled)
    sections += _settings(found)
    return Report(
        title=f"Sweep {found.spec.title}: {len(found.runs):,} runs of {found.spec.rounds:,} rounds",
        command=command,
        sections=sections,
        lead=_lead(found),
        warning=NOT_PRIVATE if found.raw else "",
    ).write(directory)


def _lead(found: Sweep) -> str:
    spec = found.spec
    sizes = (
        _count(len(spec.policies), "policy", "policies"),
        _count(len(spec.budgets), "budget", "budgets"),
        _count(len(spec.environments), "environment", "environments"),
        _count(len(spec.seeds), "seed", "seeds"),
    )
    return (
        f"{' × '.join(sizes)}, with {spec.rounds:,} rounds and {_count(spec.trials, 'trial', 'trials')} each. "
        f"{found.counted(DONE):,} runs are done."
    )


def _count(number_of: int, one: str, many: str) -> str:
    return f"{number_of:,} {one if number_of == 1 else many}"


def _reading(found: Sweep) -> tuple[str, ...]:
    notes = dict.fromkeys(note for run in found.runs for note in run.job.environment.notes)
    return (
        "Epsilon is accounted from the noise that was added, and rounded up; what was asked for stands beside it. The "
        "runs are seeded simulations, not deployments.",
        *notes,
    )


def _pooled(found: Sweep) -> list[tuple[Run, Result | PredictionResult]]:
    """Results with the trials of all seeds together, as far as they are there."""
    grouped: dict[tuple[str, str], list[tuple[Run, Result | PredictionResult]]] = {}
    for run, result in zip(found.runs, found.results, strict=True):
        if result is not None:
            grouped.setdefault((run.world, run.job.name), []).append((run, result))
    return [(group[0][0], _together([result for _, result in group])) for group in grouped.values()]


def _together(results: Sequence[Result | PredictionResult]) -> Result | PredictionResult:
    first = results[0]
    numbers = tuple(range(sum(result.trials for result in results)))
    if isinstance(first, Result):
        played = [result for result in results if isinstance(result, Result)]
        return replace(
            first,
            trial_numbers=numbers,
            curves=np.concatenate([result.curves for result in played]),
            counters=np.concatenate([result.counters for result in played]),
        )
    predicted = [result for result in results if isinstance(result, PredictionResult)]
    return replace(
        first,
        trial_numbers=numbers,
        by_way=np.concatenate([result.by_way for result in predicted]),
        random_errors=np.concatenate([result.random_errors for result in predicted]),
    )


def _curves(world: str, played: Sequence[Result]) -> Chart:
    chart = regret_chart(played[:_MOST_LINES], f"Regret over rounds: {world}")
    if len(played) <= _MOST_LINES:
        return chart
    return replace(chart, caption=f"{chart.caption} The first {_MOST_LINES} of {len(played)}; the table has all.")


def _outcome(result: Result | PredictionResult) -> tuple[float, float]:
    if isinstance(result, Result):
        return result.regret_mean, result.regret_se or 0.0
    return result.error_rate, result.error_rate_se or 0.0


def _against_epsilon(world: str, here: Sequence[tuple[Run, Result | PredictionResult]], delta: float) -> Chart | None:
    """One line per policy over the true ε; those without privacy as marks. None where no policy has two budgets."""
    points: dict[str, dict[float, tuple[float, float]]] = {}
    marks = []
    for run, result in here:
        mean, error = _outcome(result)
        true = result.guarantee.epsilon_at(delta) if result.guarantee.private else np.inf
        if np.isfinite(true) and true > 0:
            points.setdefault(run.label, {})[float(true)] = mean, error
        elif not result.guarantee.private:
            marks.append(Mark(label=run.label, y=mean))
    lines = []
    for label, by_epsilon in points.items():
        xs = sorted(by_epsilon)
        means, errors = zip(*(by_epsilon[x] for x in xs), strict=True)
        low = [mean - error for mean, error in zip(means, errors, strict=True)]
        high = [mean + error for mean, error in zip(means, errors, strict=True)]
        lines.append(Line(label=label, xs=xs, ys=means, low=low, high=high, points=True))
    if not any(len(line.xs) > 1 for line in lines):
        return None
    alone = f"{lines[0].label}. " if len(lines) == 1 else ""  # a chart of one line has no legend
    what = "regret" if isinstance(here[0][1], Result) else "error rate"
    return Chart(
        title=f"{what.capitalize()} against epsilon: {world}",
        x_label="true ε",
        y_label=what,
        lines=lines[:_MOST_LINES],
        marks=tuple(marks[:_MOST_LINES]),
        log_x=True,
        caption=f"{alone}ε is accounted at δ = {short_delta(delta)}; the band is one standard error of the mean.",
    )


def _cards(pooled: Sequence[tuple[Run, Result | PredictionResult]]) -> list[Section]:
    """One card per policy, at the first of its budgets that was run."""
    first: dict[str, Result | PredictionResult] = {}
    for run, result in pooled:
        first.setdefault(run.label, result)
    return [
        Section(
            f"Privacy card: {result.label}",
            text=(result.bound if isinstance(result, Result) else result.config).card(seeded=True).text(),
        )
        for result in first.values()
    ]


def _settings(found: Sweep) -> list[Section]:
    policies = {run.label: run.settings for run in found.runs}
    worlds = {run.world: run.world_settings for run in found.runs}
    every = {f"policy {label}": dict(settings) for label, settings in policies.items()}
    every |= {f"environment {label}": dict(settings) for label, settings in worlds.items()}
    shown = {label: json.dumps(settings, ensure_ascii=False) for label, settings in every.items()}
    sizes = {"rounds": number(found.spec.rounds, 12), "trials": found.spec.trials, "seeds": list(found.spec.seeds)}
    return [settings_section({**sizes, **shown})]
