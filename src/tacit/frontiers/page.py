"""The page that answers "what does privacy cost?"."""

from __future__ import annotations

import json
import math
from pathlib import Path

from tacit.frontiers.drawing import kept_chart, learning_chart, value_chart
from tacit.frontiers.result import Frontier, Point, epsilon_text, percent
from tacit.privacy.guarantee import short_delta
from tacit.report.charts import Chart, regret_chart
from tacit.report.page import Section
from tacit.report.reports import Report, settings_section
from tacit.report.tables import number
from tacit.simulation.best_single import BestSingle
from tacit.simulation.result import Result
from tacit.simulation.store import write_whole


def write(found: Frontier, directory: Path, command: str) -> list[Path]:
    """Write the page, its charts and tables, and frontier.json; return their paths, the page last."""
    setting = found.setting
    report = Report(
        title=f"What privacy costs: {setting.place}, {setting.rounds:,} {setting.unit}, {_trials(found)}",
        command=command,
        sections=sections(found),
        lead=_lead(found),
        warning=found.warning or "",
    )
    *others, page = report.write(directory)
    facts = directory / "frontier.json"
    text = json.dumps({"command": command, **found.to_dict()}, indent=2, allow_nan=False, ensure_ascii=False)
    write_whole(facts, f"{text}\n".encode())
    return [*others, facts, page]


def sections(found: Frontier) -> list[Section]:
    """Advice, charts, the table, and folded away the cards and settings of what the advice is about."""
    setting = found.setting
    parts = [Section("Advice", paragraphs=found.advice())]
    if setting.warnings:
        parts.append(Section("When not to believe it", paragraphs=setting.warnings))
    charts = (
        ("What is kept", kept_chart(found)),
        (setting.measure.axis.capitalize(), value_chart(found)),
        ("Over time", _over_time(found)),
    )
    parts += [Section(title, chart=chart) for title, chart in charts if chart is not None]
    head = ("policy", "asked", "ε", setting.measure.name, "± s.e.", "kept", "band", found.needed_head)
    parts.append(
        Section("All numbers", head=head, rows=_rows(found), right=(1, 2, 3, 4, 5, 7), paragraphs=_reading(found))
    )
    chosen = found.chosen()
    parts += [
        Section(f"Privacy card: {point.label} at epsilon = {point.asked:g}", text=_card(point)) for point in chosen
    ]
    parts.append(settings_section(_flat(found), "Settings of the world" if setting.unit != "rows" else "The log"))
    parts += [settings_section(point.config.options(), f"Settings: {point.label}") for point in chosen]
    return parts


def _over_time(found: Frontier) -> Chart | None:
    if found.setting.unit == "rows":
        return learning_chart(found)
    single = None if found.curve is None or found.curve.optimal else found.curve
    every = [found.without_privacy.result, *(point.result for point in found.chosen()), single, found.evenly.result]
    results = [result for result in every if isinstance(result, Result | BestSingle)]
    return regret_chart(results) if results else None


def _card(point: Point) -> str:
    config = point.result.bound if isinstance(point.result, Result) else point.config
    return config.card(seeded=True).text()


def _lead(found: Frontier) -> str:
    setting, promises = found.setting, len({point.asked for point in found.points})
    how = {
        "rounds": f"Every policy played {setting.rounds:,} rounds in {_trials(found)} (seed {setting.seed})",
        "records": f"Every learner had {setting.rounds:,} records in each of {_trials(found)} (seed {setting.seed})",
        "rows": f"Every policy learned from {setting.rounds:,} rows of a log, in {_trials(found)} with fresh noise "
        f"(seed {setting.seed})",
    }[setting.unit]
    return (
        f"How much is lost by learning privately? {how} at {promises} promises. “Kept” is what it gained over "
        f"{'choosing evenly' if found.floor is found.evenly else f'the {found.floor.label}'}, as a share of what "
        f"{found.without_privacy.label} gained without privacy."
    )


def _reading(found: Frontier) -> tuple[str, ...]:
    return (
        "ε is accounted from the noise that was added, whatever was asked for, at delta = "
        f"{short_delta(found.delta)}, and rounded up. {found.setting.measure.meaning} The band is one of about 95 % "
        "around what is kept. Below zero is below what shares are counted from.",
        *([found.single_note] if found.single_note else []),
        *found.horizons(),
        *found.setting.notes,
    )


def _trials(found: Frontier) -> str:
    count, word = found.setting.trials, "run" if found.setting.unit == "rows" else "trial"
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _flat(found: Frontier) -> dict[str, object]:
    facts = dict(found.setting.facts)
    nested = facts.pop("log", None)
    return dict(nested) if isinstance(nested, dict) else facts


def _rows(found: Frontier) -> list[list[str]]:
    rows = [
        [
            point.label,
            f"{point.asked:g}",
            epsilon_text(point.true, 4),
            number(point.value.mean),
            number(point.value.se, 2),
            percent(point.share.mean),
            "–" if math.isnan(point.share.low) else f"{percent(point.share.low)} to {percent(point.share.high)}",
            "–" if point.needed is None else f"{point.needed:,}",
        ]
        for label in found.labels
        for point in found.of(label)
    ]
    for level, name, kept in found.levels():
        label = f"{level.label} ({name})" if name else level.label
        value = [number(level.value.mean), number(level.value.se, 2)]
        rows.append([label, "–", "–", *value, percent(kept), "–", "–"])
    return rows
