"""How figures are drawn: one hand for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from tacit._types import Floats
from tacit.simulation import Result
from tacit.simulation.figure import COLOURS
from tacit.simulation.result import standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where no regret can be seen any more: a logarithmic axis has no zero.
_FLOOR = 1e-3

BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, BLACK = COLOURS
GREY = "#7f7f7f"


def panels(count: int, *, width: float, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False, **options)[0])


def finish(axes: Axes, *, title: str, across: str, up: str, log_x: bool = True, log_y: bool = True) -> None:
    """Name the axes and leave out what carries nothing."""
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(True, which="major", color="#e0e0e0", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def curve(axes: Axes, result: Result, *, colour: str, label: str, style: Any = "-", since: int = 1) -> None:
    """Mean regret over rounds with a band of one standard error, from round `since`."""
    shown = result.checkpoints >= since
    at, mean = result.checkpoints[shown], result.curves.mean(axis=0)[shown]
    axes.plot(at, np.maximum(mean, _FLOOR), color=colour, label=label, linestyle=style, linewidth=1.6)
    if result.trials > 1:
        error = result.curves.std(axis=0, ddof=1)[shown] / np.sqrt(result.trials)
        low, high = np.maximum(mean - error, _FLOOR), np.maximum(mean + error, _FLOOR)
        axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)


def points(
    axes: Axes, across: Sequence[float], finals: Sequence[Floats], *, colour: str, label: str, **how: Any
) -> None:
    """Mean final regret with bars of one standard error."""
    means = [float(values.mean()) for values in finals]
    errors = [standard_error(values) or 0.0 for values in finals]
    options: dict[str, Any] = {"marker": "o", "markersize": 4.5, "linewidth": 1.4, "capsize": 3, **how}
    axes.errorbar(across, means, yerr=errors, color=colour, label=label, **options)


def line(axes: Axes, across: Any, up: Any, *, colour: str, label: str, style: Any = "--") -> None:
    """A reference: a theorem, a rate, a floor."""
    axes.plot(across, up, color=colour, label=label, linestyle=style, linewidth=1.1)


def legend_below(figure: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One legend for all panels, under them: it cannot cover a curve there."""
    handles: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=8.5
    )
