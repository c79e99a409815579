"""The figure of error rates, drawn from tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tacit.simulation.figure import COLOURS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_COLUMNS = ["label", "way", "error", "random_error"]


def draw_errors(frames: Sequence[pd.DataFrame], axes: Axes | None = None) -> Axes:
    """One line per policy and way: a small dot for every trial, a large one for their mean with its standard error. A
    dashed line is what a random action loses. The axis is logarithmic; a trial without any error stands at its edge."""
    import pandas as pd

    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(figsize=(7.2, 3.6), layout="constrained").subplots()
    together = pd.concat([frame[_COLUMNS] for frame in frames], ignore_index=True)
    groups = list(together.groupby(["label", "way"], sort=False))
    positive = together["error"][together["error"] > 0]
    edge = 0.5 * float(positive.min()) if len(positive) else 1e-6
    for place, ((label, way), rows) in enumerate(groups):
        colour = COLOURS[place % len(COLOURS)]
        errors = rows["error"].to_numpy(dtype=float)
        axes.plot(np.maximum(errors, edge), np.full(len(errors), place), "o", color=colour, alpha=0.35, markersize=3)
        mean = max(float(errors.mean()), edge)
        spread = float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else 0.0
        axes.errorbar(
            [mean],
            [place],
            xerr=[[min(spread, mean - edge)], [spread]],
            fmt="o",
            color=colour,
            capsize=4,
            markersize=7,
            label=f"{label} ({way})",
        )
    random_error = float(together["random_error"].mean())
    if random_error > 0:
        axes.axvline(random_error, color="#808080", linestyle="--", linewidth=1)
        axes.annotate(
            "a random action",
            (random_error, 1.01),
            xycoords=("data", "axes fraction"),
            ha="right",
            color="#808080",
            fontsize=9,
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(groups)), [f"{label} ({way})" for (label, way), _ in groups])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlabel("error rate")
    axes.grid(True, axis="x", which="major", color="#e0e0e0", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes
