"""Figures 2 and 3: how regret grows with the dimension, without privacy. Both are drawn from the same runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tacit.reproduce.experiment import Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    YELLOW,
    curve,
    finish,
    legend_below,
    line,
    panels,
    points,
)
from tacit.reproduce.joint_dp.common import PAPER, non_private, world
from tacit.reproduce.judge import Interval, Sample, final, log_log_slope, lower, slope_near
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAP = 0.1
NOISES = {"gaussian": "Gaussian rewards", "sign": "±1 rewards"}
_COLOURS = (BLUE, ORANGE, GREEN, PINK, YELLOW, BLACK)


@dataclass(frozen=True, kw_only=True)
class Dimensions(Scale):
    """Which dimensions are run."""

    dims: tuple[int, ...]


SCALES = {
    "quick": Dimensions(name="quick", rounds=10_000, trials=24, dims=(4, 8, 16), time="about a minute"),
    "paper": Dimensions(name="paper", rounds=100_000, trials=4, dims=(4, 8, 16, 32, 64), time="about 20 minutes"),
}


def _name(noise: str, dim: int) -> str:
    return f"{NOISES[noise]}, d = {dim}"


def _slope(evidence: Evidence[Dimensions], noise: str) -> Interval:
    dims = evidence.scale.dims
    return log_log_slope(dims, [evidence.results[_name(noise, dim)].regret for dim in dims])


class _AgainstDimension(Experiment[Dimensions]):
    """What both figures share: the runs, the table, the claims."""

    paper: ClassVar[str] = PAPER
    question: ClassVar[str] = (
        "Is the regret of LinUCB quadratic in the dimension when there is a gap? Experiment 1, without privacy, "
        "regulariser 1, K = d², gap 0.1, once with rewards of Gaussian noise and once with rewards ±1."
    )
    choices: ClassVar[tuple[str, ...]] = (
        "The paper gives neither the dimensions between 4 and 64 nor the number of trials: both are our choice.",
        "Seed 1 was looked at when the number of trials of the quick scale was chosen: another seed is an independent "
        "check there.",
    )
    scales: Mapping[str, Dimensions] = SCALES

    def describe(self, scale: Dimensions) -> str:
        dims = ", ".join(map(str, scale.dims))
        return f"n = {scale.rounds:,}, d = {dims}, Gaussian and ±1 rewards, {scale.trials} trials"

    def jobs(self, scale: Dimensions, seed: int) -> dict[str, Job]:
        jobs = {}
        for dim in scale.dims:
            for noise in NOISES:
                name = _name(noise, dim)
                place = world(dim, GAP, reward_noise=noise)
                jobs[name] = Job(non_private(dim, scale.rounds), place, scale.rounds, scale.trials, seed, name)
        return jobs

    def measure(self, evidence: Evidence[Dimensions]) -> Table:
        rows = []
        for noise, words in NOISES.items():
            for dim in evidence.scale.dims:
                result = evidence.results[_name(noise, dim)]
                rows.append((words, dim, dim**2, result.regret_mean, result.regret_se, result.regret_mean / dim**2))
        return Table(("rewards", "d", "K", "regret", "± s.e.", "regret / d²"), rows)

    def judge(self, evidence: Evidence[Dimensions]) -> list[Verdict]:
        verdicts = [
            slope_near(
                Claim(f"With {words} final regret grows like d²: the slope on log–log axes is roughly 2."),
                _slope(evidence, noise),
                1.8,
                2.2,
            )
            for noise, words in NOISES.items()
        ]
        both = []
        for dim in evidence.scale.dims:
            sign, gaussian = (
                final(evidence.results[_name(noise, dim)], NOISES[noise]) for noise in ("sign", "gaussian")
            )
            both.append((sign, gaussian))
            claim = Claim(f"Regret is somewhat lower with ±1 rewards than with Gaussian ones, d = {dim}.")
            verdicts.append(lower(claim, sign, gaussian))
        # On a logarithmic scale, or the largest dimension alone would decide.
        sign, gaussian = (
            Sample(words, np.mean([np.log(pair[i].values) for pair in both], axis=0))
            for i, words in enumerate((NOISES["sign"], NOISES["gaussian"]))
        )
        claim = Claim("Regret is somewhat lower with ±1 rewards, over all dimensions.")
        verdicts.append(lower(claim, sign, gaussian, of="the mean over d of ln(final regret)"))
        return verdicts


class RegretForDimensions(_AgainstDimension):
    """Regret over time, one curve per dimension."""

    name: ClassVar[str] = "joint-dp/figure-2"
    title: ClassVar[str] = "Regret over time for varying dimensions"

    def draw(self, evidence: Evidence[Dimensions]) -> Figure:
        figure, axes = panels(2, width=9.6, height=4.6, sharey=True)
        for panel, (noise, words) in zip(axes, NOISES.items(), strict=True):
            for dim, colour in zip(evidence.scale.dims, _COLOURS, strict=False):
                curve(panel, evidence.results[_name(noise, dim)], colour=colour, label=f"d = {dim}, K = {dim**2}")
            finish(panel, title=words, across="rounds", up="pseudo-regret")
        axes[1].set_ylabel("")
        legend_below(figure, axes, columns=5)
        return figure


class FinalRegretAgainstDimension(_AgainstDimension):
    """Final regret against the dimension, with the fitted line."""

    name: ClassVar[str] = "joint-dp/figure-3"
    title: ClassVar[str] = "Final regret against dimension"

    def draw(self, evidence: Evidence[Dimensions]) -> Figure:
        scale = evidence.scale
        figure, [axes] = panels(1, width=6.4, height=4.6)
        dims = np.array(scale.dims, float)
        styles = ((BLUE, "--", "o"), (ORANGE, ":", "s"))
        for (noise, words), (colour, style, marker) in zip(NOISES.items(), styles, strict=True):
            finals = [evidence.results[_name(noise, dim)].regret for dim in scale.dims]
            slope = _slope(evidence, noise)
            points(axes, scale.dims, finals, colour=colour, label=words, linestyle="none", marker=marker)
            middle = np.mean([np.log(values).mean() for values in finals]) - slope.estimate * np.log(dims).mean()
            fitted = np.exp(middle) * dims**slope.estimate
            line(axes, dims, fitted, colour=colour, label=f"slope {slope.estimate:.2f}, {words}", style=style)
        finish(
            axes,
            title=f"non-private, n = {scale.rounds:,}, gap {GAP:g}, {scale.trials} trials",
            across="dimension d (K = d² actions)",
            up="final pseudo-regret",
        )
        axes.set_xticks(scale.dims, [str(dim) for dim in scale.dims])
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize=8.5, loc="upper left")
        return figure
