"""The two score distributions an attacker has to tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.report.tables import number
from tacit.simulation.figure import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tacit.auditing.result import Audit


def draw(audit: Audit) -> Figure:
    """One panel per observable: how often each score came under either input, with the thresholds that were counted."""
    from matplotlib.figure import Figure

    count = len(audit.findings)
    figure = Figure(figsize=(5.4 * count + 0.6, 4.0), layout="constrained")
    panels = figure.subplots(1, count, squeeze=False)[0]
    for axes, finding in zip(panels, audit.findings, strict=True):
        for counts, colour, label in (
            (finding.first, COLOURS[0], "first input"),
            (finding.second, COLOURS[1], "second input"),
        ):
            axes.stairs(counts / max(1, finding.runs), finding.edges, color=colour, fill=True, alpha=0.25)
            axes.stairs(counts / max(1, finding.runs), finding.edges, color=colour, linewidth=1.4, label=label)
        if finding.curve is not None:
            label = "counted for mu" if finding.odds is None else "counted for the odds"
            axes.axvline(finding.curve.threshold, color="#555555", linewidth=0.9, linestyle=":", label=label)
        low, high = finding.edges[0], finding.edges[-1]
        tails = [
            finding.forward.threshold if finding.forward.bound > 0 else np.nan,
            -finding.backward.threshold if finding.backward.bound > 0 else np.nan,
        ]
        for place, tail in enumerate(tails):
            if low <= tail <= high:
                once = {"label": "counted for epsilon"} if place == 0 or np.isnan(tails[0]) else {}
                axes.axvline(tail, color="#555555", linewidth=0.9, linestyle="--", **once)
        shown = f"ε ≥ {number(finding.epsilon, 3)}"
        if finding.gaussian is not None:
            shown += f", if Gaussian ≥ {number(finding.gaussian, 3)}"
        axes.set_title(f"{finding.observed}: {shown}", fontsize=10)
        axes.set_xlabel("score")
        axes.set_ylabel("share of runs")
        axes.grid(True, axis="y", color="#e0e0e0", linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    figure.suptitle(f"{audit.policy} promises {audit.promised}: {audit.verdict}", fontsize=11)
    return figure
