"""The regret figure, drawn from tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Told apart by people who do not see red and green apart (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def draw_regret(frames: Sequence[pd.DataFrame], axes: Axes | None = None) -> Axes:
    """Mean regret over rounds, one line per label, with a band of one standard error; both axes logarithmic."""
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(figsize=(7.2, 4.4), layout="constrained").subplots()
    place = 0
    for frame in frames:
        for label, rows in frame.groupby("label", sort=False):
            summary = rows.groupby("round")["regret"].agg(["mean", "sem"])
            at, mean = summary.index.to_numpy(), summary["mean"].to_numpy()
            error = np.nan_to_num(summary["sem"].to_numpy())
            colour = COLOURS[place % len(COLOURS)]
            axes.plot(at, mean, label=str(label), color=colour, linewidth=1.8)
            axes.fill_between(at, np.maximum(mean - error, 1e-3), mean + error, color=colour, alpha=0.18, linewidth=0)
            place += 1
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rounds")
    axes.set_ylabel("pseudo-regret")
    axes.grid(True, which="major", color="#e0e0e0", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False)
    return axes
