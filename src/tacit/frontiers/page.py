"""The page that answers "what does privacy cost?"."""

from __future__ import annotations

from pathlib import Path

from tacit.data import NOT_PRIVATE
from tacit.frontiers.result import Frontier, Point
from tacit.frontiers.shares import ENOUGH
from tacit.privacy.guarantee import round_up, short_delta
from tacit.report.charts import Chart, Line, Mark, regret_chart
from tacit.report.charts import frontier as frontier_chart
from tacit.report.page import Section
from tacit.report.reports import Report, settings_section
from tacit.report.tables import number
from tacit.simulation.result import Result

_HEAD = ("policy", "epsilon asked for", "epsilon", "regret", "± s.e.", "kept", "from", "to", "rounds to 90 %")


def write(found: Frontier, directory: Path, command: str) -> list[Path]:
    """Write the page, its charts and tables; return their paths, the page last."""
    first = found.evenly
    title = f"What privacy costs: {first.environment.slug}, {first.rounds:,} rounds, {first.trials} trials"
    sections = [
        Section("Advice", paragraphs=found.advice()),
        Section("What is kept", chart=_kept(found)),
        Section("Regret", chart=_regret(found)),
        Section("Over time", chart=regret_chart([found.without_privacy, *_tightest(found), found.evenly])),
        Section("All numbers", head=_HEAD, rows=_rows(found), right=tuple(range(1, 9)), paragraphs=_reading(found)),
    ]
    sections += [
        Section(f"Privacy card: {point.label} at epsilon = {point.asked:g}", text=_card(point))
        for point in _tightest_points(found)
    ]
    sections.append(settings_section(dict(first.environment.options()), "Settings of the world"))
    sections += [
        settings_section(dict(point.result.config.options()), f"Settings: {point.label}")
        for point in _tightest_points(found)
    ]
    return Report(
        title=title, command=command, sections=sections, lead=_lead(found), warning=NOT_PRIVATE if found.raw else ""
    ).write(directory)


def _card(point: Point) -> str:
    return point.result.bound.card(seeded=True).text()


def _lead(found: Frontier) -> str:
    first, promises = found.evenly, len({point.asked for point in found.points})
    return (
        f"How much is lost by learning privately? Every policy played {first.rounds:,} rounds in {first.trials} trials "
        f"(seed {first.seed}) at {promises} promises. “Kept” is what it gained over choosing evenly, as a "
        f"share of what {found.without_privacy.config.slug} gained without privacy."
    )


def _reading(found: Frontier) -> tuple[str, ...]:
    notes = dict.fromkeys(note for point in found.points for note in point.result.environment.notes)
    return (
        f"Epsilon is accounted from the noise that was added, at delta = {short_delta(found.delta)}, and rounded up. "
        "Bands are about 95 % over trials.",
        *notes,
    )


def _kept(found: Frontier) -> Chart:
    lines = [
        Line(
            label=label,
            xs=[point.true for point in points],
            ys=[point.share.mean for point in points],
            low=[point.share.low for point in points],
            high=[point.share.high for point in points],
            points=True,
        )
        for label, points in _drawn(found)
    ]
    return frontier_chart(
        "What is kept of the non-private gain",
        lines,
        nonprivate=1.0,
        uniform=0.0,
        y_label="share of the non-private gain",
        percent=True,
        marks=[Mark(label=f"{100 * ENOUGH:.0f} %", y=ENOUGH)],
    )


def _regret(found: Frontier) -> Chart:
    lines = [
        Line(
            label=label,
            xs=[point.true for point in points],
            ys=[point.result.regret_mean for point in points],
            low=[point.result.regret_mean - (point.result.regret_se or 0.0) for point in points],
            high=[point.result.regret_mean + (point.result.regret_se or 0.0) for point in points],
            points=True,
        )
        for label, points in _drawn(found)
    ]
    return frontier_chart(
        "Regret",
        lines,
        nonprivate=found.without_privacy.regret_mean,
        uniform=found.evenly.regret_mean,
        y_label="regret",
    )


def _drawn(found: Frontier) -> list[tuple[str, list[Point]]]:
    """Points by policy, those left out that no log axis can show, or that share their true ε with another."""
    drawn = []
    for label in found.labels:
        points: list[Point] = []
        for point in found.of(label):
            if point.true > 0 and (not points or point.true > points[-1].true):
                points.append(point)
        if points:
            drawn.append((label, points))
    return drawn


def _tightest_points(found: Frontier) -> list[Point]:
    """Of each policy the strictest promise that keeps enough, or else the loosest that was tested."""
    return [found.smallest(label) or found.of(label)[-1] for label in found.labels]


def _tightest(found: Frontier) -> list[Result]:
    return [point.result for point in _tightest_points(found)]


def _rows(found: Frontier) -> list[list[str]]:
    rows = [
        [
            point.label,
            f"{point.asked:g}",
            round_up(point.true, 4),
            number(point.result.regret_mean),
            number(point.result.regret_se, 2),
            f"{100 * point.share.mean:.1f} %",
            f"{100 * point.share.low:.1f} %",
            f"{100 * point.share.high:.1f} %",
            "–" if point.needed is None else f"{point.needed:,}",
        ]
        for label in found.labels
        for point in found.of(label)
    ]
    for line, kept in ((found.without_privacy, "100 %"), (found.evenly, "0 %")):
        regret = [number(line.regret_mean), number(line.regret_se, 2)]
        rows.append([line.config.slug, "–", "–", *regret, kept, "–", "–", "–"])
    return rows
