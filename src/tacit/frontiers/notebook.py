"""A frontier as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._html import panel
from tacit.frontiers.result import epsilon_text, percent
from tacit.privacy.guarantee import short_delta
from tacit.report.tables import number

if TYPE_CHECKING:
    from tacit.frontiers.result import Frontier


def frontier_html(found: Frontier) -> str:
    """The advice, what each policy keeps at each ε, and the whole table to unfold."""
    rows = [
        (
            f"{point.label} at epsilon = {epsilon_text(point.true, 3)}",
            f"keeps {percent(point.share.mean)}, {found.setting.measure.axis} {number(point.value.mean)}",
        )
        for label in found.labels
        for point in found.of(label)
    ]
    rows += [
        (f"{level.label}{f' ({name})' if name else ''}", f"{found.setting.measure.axis} {number(level.value.mean)}")
        for level, name, _ in found.levels()
    ]
    return panel(
        "What privacy costs",
        under=f"in {found.setting}, delta = {short_delta(found.delta)}",
        warnings=[*([found.warning] if found.warning else []), *found.setting.warnings],
        rows=rows,
        notes=found.advice(),
        folded=[("the whole table", found.text())],
    )
