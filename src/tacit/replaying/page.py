"""The page of estimates on a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.policy import Policy
from tacit.data import NOT_PRIVATE
from tacit.replaying.estimate import CONFIDENCE, Estimate
from tacit.replaying.result import Evaluation
from tacit.replaying.single import SINGLE
from tacit.report.charts import Mark
from tacit.report.dots import Dot, Dots, Group
from tacit.report.page import Section
from tacit.report.parts import card_section, write_facts
from tacit.report.reports import Report, settings_section
from tacit.report.tables import number
from tacit.simulation.best_single import BEST_SINGLE

#: What is the same for every policy, and so a mark and not a row.
_MARKS = {"logged": "the log itself", SINGLE: BEST_SINGLE}
_HEAD = ("policy", "estimate", "reward", "low", "high", "rows", "interval")
_SUPPORT = ("policy", "rows", "same action", "effective rows", "largest share", "mean weight", "never logged")


def write(found: Sequence[Evaluation], directory: Path, command: str, name: str) -> list[Path]:
    """Write the page about the log of this name, its chart and tables, and result.json; return the paths, the page
    last."""
    first = found[0]
    chart = estimates_chart(found, f"{name}: reward per round")
    sections = []
    warned = list(_said(found, "warnings"))
    if warned:
        sections.append(Section("What this log cannot say", paragraphs=warned))
    sections += [
        Section("Reward per round", chart=chart, paragraphs=_meanings(found)),
        Section("Estimates", head=_HEAD, rows=_rows(found), right=(2, 3, 4, 5), paragraphs=list(_said(found, "notes"))),
    ]
    support = _support(found)
    if support:
        sections.append(Section("Support", head=_SUPPORT, rows=support, right=tuple(range(1, 7)), paragraphs=_READ))
    sections += [card_section(one.label, _bound(one).card(seeded=True)) for one in found if one.guarantee.private]
    sections += [settings_section(one.config.options(), f"Settings: {one.label}") for one in found]
    *beside, page = Report(
        title=f"What policies would have earned: {name}",
        command=command,
        sections=sections,
        lead=(
            f"Estimated from {first.rows:,} rows with {first.arms} actions and {first.dim} features, "
            f"{first.runs} {'run' if first.runs == 1 else 'runs'} of each policy, seed {first.seed}. The epsilon of a "
            "policy protects people from what the policy shows. It does not cover these numbers."
        ),
        warning=NOT_PRIVATE,
    ).write(directory)
    return [*beside, write_facts(directory / "result.json", facts(found, command)), page]


def facts(found: Sequence[Evaluation], command: str) -> dict[str, Any]:
    """Ready for JSON."""
    return {"command": command, "warning": NOT_PRIVATE, "results": [one.to_dict() for one in found]}


def estimates_chart(found: Sequence[Evaluation], title: str) -> Dots | None:
    """Every estimate with its interval, beside what the log earned; None where nothing could be estimated."""
    names = list(dict.fromkeys(one.name for each in found for one in each.estimates if one.name not in _MARKS))
    groups = []
    for each in found:
        of = {one.name: one for one in each.estimates}
        groups.append(Group(label=each.label, dots=[_dot(of.get(name)) for name in names]))
    if not any(dot is not None for group in groups for dot in group.dots):
        return None
    every = {one.name: one.value for each in found for one in each.estimates}
    marks = [Mark(label=label, x=value) for name, label in _MARKS.items() if (value := every.get(name)) is not None]
    return Dots(
        title=title,
        x_label="reward per round",
        rows=names,
        groups=groups,
        marks=marks,
        caption=f"Whiskers are {100 * CONFIDENCE:g} % intervals.",
        name="estimates-chart",
    )


def _bound(one: Evaluation) -> Policy:
    """The configuration as it played: a policy over a fixed list has one action per arm."""
    return one.config.offered(np.eye(one.arms))


def _dot(estimate: Estimate | None) -> Dot | None:
    if estimate is None or estimate.value is None or not math.isfinite(estimate.value):
        return None
    return Dot(value=estimate.value, low=estimate.low, high=estimate.high)


def _rows(found: Sequence[Evaluation]) -> list[list[str]]:
    return [
        [
            each.label,
            one.name,
            number(one.value),
            number(one.low),
            number(one.high),
            f"{one.rows:,}",
            one.interval,
        ]
        for each in found
        for one in each.estimates
    ]


def _support(found: Sequence[Evaluation]) -> list[list[str]]:
    return [
        [
            each.label,
            f"{each.support.rows:,}",
            f"{each.support.matched:,}",
            f"{each.support.effective_rows:,.0f}",
            f"{100 * each.support.largest_share:.2g} %",
            f"{number(each.support.mean_weight, 3)} ± {number(each.support.mean_weight_error, 2)}",
            f"{100 * each.support.unseen_share:.2g} %",
        ]
        for each in found
        if each.support is not None
    ]


_READ = (
    "Effective rows: rows of equal weight that would say as much. Largest share: of one row in all weight. The mean "
    "weight is 1 on average if every choice could have been logged. Never logged: choices of which the log has no row.",
)


def _meanings(found: Sequence[Evaluation]) -> list[str]:
    lines: dict[str, list[str]] = {}
    for each in found:
        for one in each.estimates:
            names = lines.setdefault(one.of, [])
            if one.name not in names:
                names.append(one.name)
    return [f"{', '.join(names)}: {of}." for of, names in lines.items()]


def _said(found: Sequence[Evaluation], kind: str) -> list[str]:
    """Every sentence once, with whom it is about where it is not about all."""
    said: dict[str, list[str]] = {}
    for each in found:
        for sentence in getattr(each, kind):
            said.setdefault(sentence, []).append(each.label)
    return [
        sentence if len(labels) == len(found) else f"{', '.join(labels)}: {sentence}"
        for sentence, labels in said.items()
    ]
