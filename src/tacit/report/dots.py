"""Dots with whiskers as data: named rows, one dot in each for every group. Drawn by script or matplotlib."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._types import Floats
from tacit.errors import BadInput
from tacit.report.charts import Mark, literal, plain, short, slug, svg_of, tick
from tacit.simulation.figure import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GREY = "#59636e"
#: Letters of a row's name beside a still picture: a longer one would leave no room for the picture.
_LONGEST = 44


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A number with its interval, if it has one."""

    value: float
    low: float | None = None
    high: float | None = None
    trials: Sequence[float] = ()  # what it is the mean of: drawn small

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise BadInput(f"Expected low and high, or neither, got low={self.low!r} and high={self.high!r}.")

    @property
    def ends(self) -> tuple[float, float]:
        """Of the interval; NaN where there is none, or half of one."""
        if self.low is None or self.high is None or not math.isfinite(self.high - self.low):
            return math.nan, math.nan
        return self.low, self.high

    @classmethod
    def of_trials(cls, values: Floats) -> Dot:
        """The mean with one standard error either way; a single trial has no error."""
        mean = float(values.mean())
        if len(values) < 2:
            return cls(value=mean)
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        return cls(value=mean, low=mean - error, high=mean + error, trials=values.tolist())


@dataclass(frozen=True, kw_only=True)
class Group:
    """Dots of one colour: one for each row, or None."""

    label: str
    dots: Sequence[Dot | None]


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Rows with a name, and in each the dots of the groups; values grow to the right."""

    title: str
    x_label: str
    rows: Sequence[str]
    groups: Sequence[Group]
    marks: Sequence[Mark] = ()  # upright ones
    log_x: bool = False
    zero: bool = False  # the axis begins at zero, because that is what no effect would be
    percent: bool = False  # values are shares, read in per cent
    caption: str = ""
    name: str = ""  # of its files, where the title makes a bad one

    def __post_init__(self) -> None:
        lengths = [len(group.dots) for group in self.groups]
        if not self.rows or not lengths or set(lengths) != {len(self.rows)}:
            raise BadInput(
                f"Expected rows, and groups with a dot or None for each, got {len(self.rows)} rows and groups of "
                f"{lengths} in the chart {self.title!r}."
            )
        if not any(math.isfinite(dot.value) for _, _, dot in self._each()):
            raise BadInput(f"Expected at least one finite value in the chart {self.title!r}, got none.")
        lying = [mark.label for mark in self.marks if mark.x is None]
        if lying:
            raise BadInput(f"Expected upright marks in the chart {self.title!r}, got y of {lying[0]!r}. Give x.")

    @property
    def slug(self) -> str:
        """The name of its files."""
        return slug(self.name or self.title)

    def to_dict(self) -> dict[str, Any]:
        """What the page's script reads: in six digits, gaps as null."""
        none = Dot(value=math.nan)
        return {
            "kind": "dots",
            "title": self.title,
            "x": {"label": self.x_label, "log": self.log_x, "percent": self.percent, "zero": self.zero},
            "y": {"label": "", "log": False, "percent": False},
            "rows": list(self.rows),
            "lines": [
                {
                    "label": group.label,
                    "xs": [short((dot or none).value) for dot in group.dots],
                    "low": [short((dot or none).ends[0]) for dot in group.dots],
                    "high": [short((dot or none).ends[1]) for dot in group.dots],
                    "trials": [[short(value) for value in (dot or none).trials] for dot in group.dots],
                    "dashed": False,
                }
                for group in self.groups
            ],
            "marks": [{"label": mark.label, "x": short(mark.x)} for mark in self.marks],
        }

    def csv(self) -> str:
        """Every dot, with its interval."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "group", self.x_label, "low", "high"])
        for row, label, dot in self._each():
            writer.writerow([row, label, *(plain(value) for value in (dot.value, *dot.ends))])
        return text.getvalue()

    def draw(self, axes: Axes) -> Axes:
        """The same picture by matplotlib, for files and for a page without scripts."""
        count = len(self.groups)
        for place, group in enumerate(self.groups):
            at = np.arange(len(self.rows)) + (place - (count - 1) / 2) * 0.7 / count
            colour = COLOURS[place % len(COLOURS)]
            kept = [(y, dot) for y, dot in zip(at.tolist(), group.dots, strict=True) if dot and self._shows(dot)]
            for y, dot in kept:
                small = [value for value in dot.trials if not self.log_x or value > 0]
                axes.plot(small, [y] * len(small), "o", color=colour, alpha=0.35, markersize=2.5)
                low, high = dot.ends
                if math.isfinite(low):
                    axes.plot([self._floor(low, dot.value), high], [y, y], "-", color=colour, linewidth=1.4)
            axes.plot(
                [dot.value for _, dot in kept], [y for y, _ in kept], "o", color=colour, label=literal(group.label)
            )
        for mark in self.marks:
            assert mark.x is not None
            axes.axvline(mark.x, color=_GREY, linestyle=":", linewidth=1.2)
            axes.annotate(
                literal(mark.label),
                (mark.x, 1.0),
                xycoords=axes.get_xaxis_transform(),
                xytext=(3, 3),
                textcoords="offset points",
                fontsize=8,
                color=_GREY,
            )
        if self.log_x:
            axes.set_xscale("log")
        elif self.zero and min(dot.value for _, _, dot in self._each() if math.isfinite(dot.value)) >= 0:
            axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %" if self.percent else tick(value))
        axes.set_yticks(range(len(self.rows)), [literal(_cut(row)) for row in self.rows])
        axes.set_ylim(len(self.rows) - 0.5, -0.5)
        axes.set_xlabel(literal(self.x_label))
        axes.set_title(literal(self.title), loc="left", fontsize=10, pad=18 if self.marks else 6)
        axes.grid(True, axis="x", which="major", color="#e0e0e0", linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if count > 1:
            axes.legend(frameon=False, fontsize=8)
        return axes

    def figure(self) -> Figure:
        """A figure of its own with this chart on it."""
        from matplotlib.figure import Figure

        tall = 1.5 + len(self.rows) * (0.25 + 0.17 * len(self.groups))
        figure = Figure(figsize=(7.2, min(tall, 40.0)), layout="constrained")
        self.draw(figure.subplots())
        return figure

    def svg(self, name: str = "") -> str:
        """The drawing as text; what it names is named after `name`, or the title, as in `Chart.svg`."""
        return svg_of(self.figure(), name or self.slug)

    def _each(self) -> list[tuple[str, str, Dot]]:
        return [
            (row, group.label, dot)
            for place, row in enumerate(self.rows)
            for group in self.groups
            if (dot := group.dots[place]) is not None
        ]

    def _shows(self, dot: Dot) -> bool:
        return math.isfinite(dot.value) and (not self.log_x or dot.value > 0)

    def _floor(self, low: float, value: float) -> float:
        # A whisker that reaches down to almost nothing must not flatten everything else.
        return max(low, value / 3) if self.log_x else low


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1].rstrip()}…"
