"""Sections that several pages share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.data import NOT_PRIVATE
from tacit.environments import Environment, FunctionEnvironment
from tacit.privacy import Card
from tacit.report.page import Section
from tacit.simulation.prediction_result import PredictionResult
from tacit.simulation.result import Result


def raw_warning(environment: Environment | FunctionEnvironment) -> str:
    """What stands above the page of a world made of people's rows; nothing for any other."""
    return NOT_PRIVATE if environment.raw else ""


def card_section(label: str, card: Card) -> Section:
    """The card as it is printed, folded away."""
    return Section(f"Privacy card: {label}", text=card.text())


def all_settings(results: Sequence[Result | PredictionResult]) -> Section:
    """The options of every policy, and those of the world once, folded away."""
    rows = [[result.label, *row] for result in results for row in _listed(result.config)]
    rows += [["environment", *row] for row in _listed(results[0].environment)]
    return Section("Settings", head=("of", "setting", "value"), rows=rows, wrap=True, folded=True)


def notes_of(results: Sequence[Result | PredictionResult]) -> list[str]:
    """Every note once, under the label of whom it is about where it is not about all of them."""
    said: dict[str, list[str]] = {}
    for result in results:
        for note in result.notes:
            said.setdefault(note, []).append(result.label)
    return [
        note if len(labels) == len(results) else f"{', '.join(labels)}: {note}"
        for note, labels in said.items()
        if note != NOT_PRIVATE  # stands above everything already
    ]


def write_facts(path: Path, facts: object) -> Path:
    """Standard JSON beside a page: no NaN, no infinities."""
    path.write_text(json.dumps(facts, indent=2, allow_nan=False, ensure_ascii=False) + "\n", "utf-8")
    return path


def _listed(settings: Any) -> list[list[str]]:
    return [
        [name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)]
        for name, value in {settings.kind: settings.slug, **settings.options()}.items()
    ]
