"""Charts as data: lines with bands, marks to hold them against. The page's script draws them, matplotlib the still."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._types import Floats
from tacit.errors import BadInput
from tacit.simulation.figure import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tacit.simulation.best_single import BestSingle
    from tacit.simulation.result import Result

#: Points of one line that reach the page: more cannot be told apart on a screen, and the page must stay small.
MOST_POINTS = 200
#: What the lowest line of a chart is called, unless told.
WITHOUT_LEARNING = "without learning"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line: points by growing x, and a band around them where `low` and `high` are given.

    A value that is not finite is a gap.
    """

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    dashed: bool = False
    points: bool = False  # show each point: few were measured, and what lies between is a guess

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in ("xs", "ys", "low", "high")}
        count = lengths["xs"]
        bands = {lengths["low"], lengths["high"]}
        if not count or lengths["ys"] != count or bands not in ({0}, {count}):
            raise BadInput(
                f"Expected as many ys as xs, at least one, and as many of low and high or none of both, got {lengths} "
                f"for the line {self.label!r}."
            )
        xs = np.asarray(self.xs, dtype=float)
        if not np.isfinite(xs).all() or (np.diff(xs) <= 0).any():
            raise BadInput(f"Expected finite and growing xs for the line {self.label!r}, got {_few(xs)}. Sort them.")

    @classmethod
    def of_trials(cls, label: str, xs: Sequence[float], curves: Floats, *, errors: float = 1.0, **look: Any) -> Line:
        """The mean over trials (the rows of `curves`), with a band of that many standard errors.

        A single trial has no error, and gets no band.
        """
        mean = curves.mean(axis=0)
        if len(curves) < 2:
            return cls(label=label, xs=xs, ys=mean.tolist(), **look)
        spread = errors * curves.std(axis=0, ddof=1) / math.sqrt(len(curves))
        low, high = (mean - spread).tolist(), (mean + spread).tolist()
        return cls(label=label, xs=xs, ys=mean.tolist(), low=low, high=high, **look)

    def thinned(self, most: int = MOST_POINTS) -> Line:
        """At most `most` of the points, none of them altered.

        Half are spread evenly over x and half over log x, because a reader may switch the axis. The ends are kept.
        """
        xs = np.asarray(self.xs, dtype=float)
        if len(xs) <= most:
            return self
        marks = [np.linspace(xs[0], xs[-1], most // 2)]
        positive = xs[xs > 0]
        if len(positive) > 1:
            # Rounding must not push the ends outside.
            marks.append(np.geomspace(positive[0], positive[-1], most - most // 2).clip(xs[0], xs[-1]))
        kept = np.unique(np.searchsorted(xs, np.concatenate(marks)).clip(0, len(xs) - 1))

        def pick(values: Sequence[float]) -> list[float]:
            return [values[i] for i in kept] if len(values) else []

        return Line(
            label=self.label,
            xs=pick(self.xs),
            ys=pick(self.ys),
            low=pick(self.low),
            high=pick(self.high),
            dashed=self.dashed,
            points=self.points,
        )


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A straight line to hold the others against: across the chart at `y`, or upright at `x`."""

    label: str
    x: float | None = None
    y: float | None = None
    low: float | None = None  # a band around a mark across
    high: float | None = None

    def __post_init__(self) -> None:
        if (self.x is None) == (self.y is None):
            raise BadInput(
                f"Expected either x or y for the mark {self.label!r}, got x={self.x!r} and y={self.y!r}. "
                "Give y for a level, x for an upright line."
            )
        given = [value for value in (self.x, self.y, self.low, self.high) if value is not None]
        if not all(math.isfinite(value) for value in given):
            raise BadInput(f"Expected finite numbers for the mark {self.label!r}, got {given}. Leave the mark out.")


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What is drawn, and how its axes begin; a reader of the page may switch them."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    log_x: bool = False
    log_y: bool = False
    percent: bool = False  # y is a share, read in per cent
    caption: str = ""
    name: str = ""  # of its files, where the title makes a bad one

    def __post_init__(self) -> None:
        if not self.lines:
            raise BadInput(f"Expected at least one line in the chart {self.title!r}, got none.")
        if self.log_x:
            for line in self.lines:
                if line.xs[0] <= 0:
                    raise BadInput(
                        f"Expected x > 0 on a logarithmic axis, got x={line.xs[0]!r} in the line {line.label!r}. "
                        "Leave the point out, or use log_x=False."
                    )

    @property
    def slug(self) -> str:
        """The name of its files."""
        return slug(self.name or self.title)

    def to_dict(self) -> dict[str, Any]:
        """What the page's script reads: thinned, in six digits, gaps as null."""
        return {
            "title": self.title,
            "x": {"label": self.x_label, "log": self.log_x},
            "y": {"label": self.y_label, "log": self.log_y, "percent": self.percent},
            "lines": [
                {
                    "label": line.label,
                    # Where a point stands is said in full: round 1,234,567 is not round 1,234,570.
                    "xs": [short(value, 15) for value in line.xs],
                    **{name: [short(value) for value in getattr(line, name)] for name in ("ys", "low", "high")},
                    "dashed": line.dashed,
                    "points": line.points,
                }
                for line in (line.thinned() for line in self.lines)
            ],
            "marks": [
                {"label": mark.label, **{name: short(getattr(mark, name)) for name in ("x", "y", "low", "high")}}
                for mark in self.marks
            ],
        }

    def csv(self) -> str:
        """Every point of every line, none left out."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        banded = any(len(line.low) for line in self.lines)
        writer.writerow(["line", self.x_label, self.y_label, *(("low", "high") if banded else ())])
        for line in self.lines:
            none = [math.nan] * len(line.xs)
            low, high = (line.low, line.high) if len(line.low) else (none, none)
            for x, y, *band in zip(line.xs, line.ys, low, high, strict=True):
                row = [x, y, *(band if banded else ())]
                writer.writerow([line.label, *(plain(value) for value in row)])
        return text.getvalue()

    def draw(self, axes: Axes) -> Axes:
        """The same picture by matplotlib, for files and for a page without scripts."""
        for place, line in enumerate(self.lines):
            _draw_line(axes, line.thinned(), place, self.log_y)
        for mark in self.marks:
            _draw_mark(axes, mark, self.lines)
        if self.log_x:
            axes.set_xscale("log")
        if self.log_y and any(np.any(np.asarray(line.ys) > 0) for line in self.lines):  # a regret may be 0 throughout
            axes.set_yscale("log", nonpositive="mask")
        axes.xaxis.set_major_formatter(lambda value, _: tick(value))
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %" if self.percent else tick(value))
        axes.set_title(literal(self.title), loc="left", fontsize=10)
        axes.set_xlabel(literal(self.x_label))
        axes.set_ylabel(literal(self.y_label))
        axes.grid(True, which="major", color="#e0e0e0", linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
        return axes

    def figure(self) -> Figure:
        """A figure of its own with this chart on it."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        self.draw(figure.subplots())
        return figure

    def svg(self, name: str = "") -> str:
        """The drawing as text. The same numbers give the same text; what it names is named after `name`, or the title.

        Two drawings in one page need different names: where one points at its own frame, it must not find the other's.
        """
        return svg_of(self.figure(), name or self.slug)


def svg_of(figure: Figure, name: str) -> str:
    """A figure as text: the same numbers give the same text, and what it names is named after `name`."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": f"tacit {name}", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def regret_chart(results: Sequence[Result | BestSingle], title: str = "Regret over rounds", *, name: str = "") -> Chart:
    """Mean regret of each result over rounds, with a band of one standard error; both axes logarithmic."""
    trials = {result.trials for result in results}
    many = trials.pop() if len(trials) == 1 else None
    band = "the band is one standard error of the mean."
    caption = "One trial." if many == 1 else f"Mean over {many or 'the finished'} trials; {band}"
    return Chart(
        title=title,
        x_label="rounds",
        y_label="pseudo-regret",
        lines=[Line.of_trials(result.label, result.checkpoints.tolist(), result.curves) for result in results],
        log_x=True,
        log_y=True,
        caption=caption,
        name=name,
    )


def frontier(
    title: str,
    lines: Sequence[Line],
    *,
    nonprivate: float,
    uniform: float,
    floor: str = WITHOUT_LEARNING,
    y_label: str,
    percent: bool = False,
    marks: Sequence[Mark] = (),
    caption: str = "",
) -> Chart:
    """What is kept (or lost) at each ε: one line per policy over the true ε, between no privacy and what
    has to be beaten: no learning, unless `floor` says otherwise."""
    return Chart(
        title=title,
        x_label="true ε",
        y_label=y_label,
        lines=[
            Line(label=line.label, xs=line.xs, ys=line.ys, low=line.low, high=line.high, points=True) for line in lines
        ],
        marks=(Mark(label="without privacy", y=nonprivate), Mark(label=floor, y=uniform), *marks),
        log_x=True,
        percent=percent,
        caption=caption,
    )


def slug(title: str) -> str:
    """A title as a file name: what is not a letter or digit becomes a dash."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "untitled"


def embedded(data: Any) -> str:
    """JSON for a script element: no text in it can close the element or open another."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _draw_line(axes: Axes, line: Line, place: int, log_y: bool) -> None:
    colour = COLOURS[place % len(COLOURS)]
    # Colours repeat after seven lines: the second round of them is dashed.
    style = "--" if line.dashed != bool(place // len(COLOURS) % 2) else "-"
    marker: dict[str, Any] = {"marker": "o", "markersize": 4.5, "markerfacecolor": "white"} if line.points else {}
    axes.plot(line.xs, line.ys, style, label=literal(line.label), color=colour, linewidth=1.8, **marker)
    if len(line.low):
        low, high = np.asarray(line.low, dtype=float), np.asarray(line.high, dtype=float)
        if log_y:
            # A band that reaches down to almost nothing must not flatten everything else.
            ys = np.asarray(line.ys, dtype=float)
            low = np.maximum(low, np.where(ys > 0, ys, np.nan) / 3)
        axes.fill_between(line.xs, low, high, color=colour, alpha=0.18, linewidth=0)


def _draw_mark(axes: Axes, mark: Mark, lines: Sequence[Line]) -> None:
    look: dict[str, Any] = {"color": "#59636e", "linestyle": ":", "linewidth": 1.2}
    beside: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": "#59636e"}
    if mark.y is None:
        assert mark.x is not None
        axes.axvline(mark.x, **look)
        place = axes.get_xaxis_transform()
        axes.annotate(literal(mark.label), (mark.x, 0.0), xycoords=place, xytext=(4, 4), **beside)
        return
    axes.axhline(mark.y, **look)
    if mark.low is not None and mark.high is not None:
        axes.axhspan(mark.low, mark.high, color="#59636e", alpha=0.1, linewidth=0)
    # Named at the end where the lines are further away from it.
    starts, ends = (min(abs(line.ys[i] - mark.y) for line in lines) for i in (0, -1))
    place = axes.get_yaxis_transform()
    if ends > starts:
        axes.annotate(literal(mark.label), (1.0, mark.y), xycoords=place, xytext=(-4, 3), ha="right", **beside)
    else:
        axes.annotate(literal(mark.label), (0.0, mark.y), xycoords=place, xytext=(4, 3), **beside)


def literal(text: str) -> str:
    """Text that matplotlib sets as it is."""
    # A column may be named in dollars: matplotlib would read a formula.
    return text.replace("$", r"\$")


def tick(value: float) -> str:
    """The number beside a tick."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.0e}"
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if size >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def short(value: float | None, digits: int = 6) -> float | int | None:
    """A number for the page's script: few digits, None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def plain(value: float) -> str:
    """A number for a CSV file: in full, and nothing for what is not finite."""
    if not math.isfinite(value):
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _few(values: Floats) -> str:
    shown = ", ".join(f"{value:g}" for value in values[:5])
    return f"[{shown}{', …' if len(values) > 5 else ''}]"
