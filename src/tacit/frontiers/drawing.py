"""The two charts of a frontier: what is kept, and what was measured, over the true ε."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tacit._validate import one_of
from tacit.errors import BadInput
from tacit.frontiers.result import Frontier, Level, Point
from tacit.frontiers.shares import ENOUGH
from tacit.report.charts import WITHOUT_LEARNING, Chart, Line, Mark
from tacit.report.charts import frontier as frontier_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def kept_chart(found: Frontier) -> Chart | None:
    """What is kept of the non-private gain; None where there is no gain, or no ε to stand on."""
    lines = _lines(found, lambda point: (point.share.mean, point.share.low, point.share.high))
    if not lines or all(math.isnan(point.share.mean) for point in found.points):
        return None
    return frontier_chart(
        "What is kept of the non-private gain",
        lines,
        nonprivate=1.0,
        uniform=0.0,
        floor=WITHOUT_LEARNING if found.floor is found.evenly else found.floor.label,
        y_label="share of the non-private gain",
        percent=True,
        marks=[Mark(label=f"{100 * ENOUGH:.0f} %", y=ENOUGH)],
        caption=_bands(found),
    )


def value_chart(found: Frontier) -> Chart | None:
    """Regret, reward or error at each ε; None where there is no ε to stand on."""
    lines = _lines(found, lambda point: (point.value.mean, point.value.low, point.value.high))
    if not lines:
        return None
    axis = found.setting.measure.axis
    return frontier_chart(
        axis.capitalize(),
        lines,
        nonprivate=found.without_privacy.value.mean,
        uniform=found.evenly.value.mean,
        y_label=axis,
        marks=[Mark(label=level.label, y=level.value.mean) for level in (*_single(found), *found.others)],
        caption=_bands(found),
    )


def learning_chart(found: Frontier) -> Chart | None:
    """On a log: the value of each policy after ever more rows."""
    lines = [
        Line(label=label, xs=path.rows.tolist(), ys=path.values.tolist(), points=True)
        for label, path in [
            (found.without_privacy.label, found.without_privacy.learning),
            *((f"{point.label} at ε = {point.asked:g}", point.learning) for point in found.chosen()),
        ]
        if path is not None
    ]
    if not lines:
        return None
    return Chart(
        title="While learning",
        x_label="rows learned from",
        y_label=found.setting.measure.axis,
        lines=lines,
        marks=[
            Mark(label=WITHOUT_LEARNING, y=found.evenly.value.mean),
            *(Mark(label=level.label, y=level.value.mean) for level in _single(found)),
        ],
        log_x=True,
        caption="Each point is the policy held fixed after so many rows, judged on the same rows of the other part.",
    )


def draw(found: Frontier, axes: Axes | None, what: str) -> Axes:
    """One of the two, by matplotlib."""
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(figsize=(7.2, 4.4), layout="constrained").subplots()
    one_of("what", what, ("kept", "value"))
    chart = kept_chart(found) if what == "kept" else value_chart(found)
    if chart is None:
        raise BadInput(
            'Expected a gain to have a share of, got none: nothing was gained without privacy. Use what="value".'
        )
    drawn = chart.draw(axes)
    if found.raw:
        drawn.annotate(
            "not private, do not publish", (1, 1), xycoords="axes fraction", ha="right", va="bottom", fontsize=8
        )
    return drawn


def _single(found: Frontier) -> list[Level]:
    return [] if found.single is None else [found.single]


def _lines(found: Frontier, read: Callable[[Point], tuple[float, float, float]]) -> list[Line]:
    lines = []
    for label in found.labels:
        points = _drawn(found.of(label))
        if points:
            means, lows, highs = zip(*(read(point) for point in points), strict=True)
            banded = not all(math.isnan(low) for low in lows)
            lines.append(
                Line(
                    label=label,
                    xs=[point.true for point in points],
                    ys=means,
                    low=lows if banded else (),
                    high=highs if banded else (),
                    points=True,
                )
            )
    return lines


def _drawn(points: tuple[Point, ...]) -> list[Point]:
    """Those that a log axis can show, and of several with one true ε the first."""
    drawn: list[Point] = []
    for point in points:
        if 0 < point.true < math.inf and (not drawn or point.true > drawn[-1].true):
            drawn.append(point)
    return drawn


def _bands(found: Frontier) -> str:
    if found.setting.trials < 2 and found.setting.unit != "rows":
        return "One trial: how much another would differ is not known."
    over = "rows and runs" if found.setting.unit == "rows" else f"{found.setting.trials} trials"
    return f"Bands are about 95 % over {over}."
