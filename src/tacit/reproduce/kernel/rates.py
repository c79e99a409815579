"""Error against the number of records, with fitted slopes next to the paper's rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tacit._types import Floats
from tacit.reproduce.experiment import Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW, finish, legend_below
from tacit.reproduce.figures import line as draw_line
from tacit.reproduce.figures import points as draw_points
from tacit.reproduce.kernel import methods, rules
from tacit.reproduce.kernel.common import DELTA, KERNELS, PAPER, WORLD, fitted
from tacit.reproduce.kernel.methods import Line
from tacit.reproduce.kernel.operators import known
from tacit.simulation import Job
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.result import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Horizons(Scale):
    """At which numbers of records errors are measured; `rounds` is the largest. A trial is one function."""

    horizons: tuple[int, ...]  # T
    budgets: tuple[float, ...] = (0.5, 1.0, 5.0)  # ε
    features: int | None = None  # m; None: as many as the kernel has by default

    @property
    def lines(self) -> list[Line]:
        """Every method at every budget."""
        return methods.lines(self.budgets, self.features)


SCALES = {
    "quick": Horizons(name="quick", rounds=3000, horizons=(500, 1000, 3000), trials=6, time="about a minute"),
    "paper": Horizons(
        name="paper", rounds=30_000, horizons=(500, 1000, 3000, 10_000, 30_000), trials=20, time="about 10 minutes"
    ),
}

_STYLE = {
    methods.GP_SMALL: (GREY, "s", ":"),
    methods.GP_LARGE: (GREY, "o", "-"),
    methods.ARGMAX_SMALL: (BLACK, "s", ":"),
    methods.ARGMAX_LARGE: (BLACK, "o", "-"),
    methods.PUBLISHED: (PINK, "s", ":"),
    methods.PUBLISHED_LARGE: (ORANGE, "o", "-"),
    methods.DRAW: (SKY, "o", "-"),
    methods.FUNCTION: (BLUE, "D", "-"),
    methods.LINEAR: (GREEN, "^", "-"),
}


class ErrorRates(Experiment[Horizons]):
    """USCA, its published and its default rules, and what else can be done with the same records."""

    name: ClassVar[str] = "kernel/rates"
    title: ClassVar[str] = "How the error of a prediction falls with the records"
    paper: ClassVar[str] = f"{PAPER}, Theorem 4.1, Lemmas 4.2 and 6.1."
    question: ClassVar[str] = (
        "By how much is a predicted action worse than the best, as records grow, under each budget? The paper bounds "
        "it by √(γ_T/T) for the estimate and γ_T/(Tε) for the draw, up to constants and logarithms."
    )
    choices: ClassVar[tuple[str, ...]] = (
        WORLD,
        "All lines share functions, records and contexts, trial by trial. The error of a draw is averaged over its "
        "probabilities. Lines without privacy (ε = ∞) take the largest estimate. Functions and noised Gram matrices "
        f"are released at δ = {DELTA:g}; draws are pure, and each is priced as the only one.",
        "τ = 100·B/ε and clipping at the 95 % quantile were chosen on seeds that no result uses. The published rule "
        "has the certified supremum of σ², which lies above the true one; features are 196 (SE) and 400 (Matérn-5/2).",
        "γ_T is that of the operator at τ = 0.1. A rate in the figure has one constant, fitted: the least that puts it "
        "above what it is shown with. A slope is of the logarithm of the mean; its standard error is the jackknife's "
        "over functions.",
        "Where the error is more than half of a random action's, nothing much has been learned, and how it falls says "
        "little: slopes of the published rule are judged from there on.",
        "What a draw gives away is a lower bound on its ε, from one set of records per kernel and all points of a grid "
        "at which the replaced one may stand.",
        "Numbers to compare with, and the room around them, were set knowing those of a prototype on other functions. "
        "The claims on the estimate and on the draw were one, and were told apart after a look at the quick scale.",
    )
    scales: Mapping[str, Horizons] = SCALES

    def describe(self, scale: Horizons) -> str:
        horizons = ", ".join(f"{horizon:,}" for horizon in scale.horizons)
        budgets = ", ".join(f"{epsilon:g}" for epsilon in scale.budgets)
        return f"{' and '.join(KERNELS)}, T = {horizons}, ε = {budgets} and ∞, {scale.trials} functions"

    def jobs(self, scale: Horizons, seed: int) -> dict[str, Job]:
        return {}

    def predictions(self, scale: Horizons, seed: int) -> dict[str, PredictionJob]:
        return methods.jobs(scale.lines, scale.horizons, scale.trials, seed)

    def measure(self, evidence: Evidence[Horizons]) -> Table:
        scale = evidence.scale
        rows: list[tuple[str | float | None, ...]] = []
        for kernel in KERNELS:
            gains = [known(kernel, horizon).gain for horizon in scale.horizons]
            sups = [known(kernel, horizon).supremum for horizon in scale.horizons]
            for line in scale.lines:
                errors = errors_of(evidence, line, kernel)
                slope = fitted(scale.horizons, errors)
                last = standard_error(errors[-1])
                means = (float(one.mean()) for one in errors)
                rows.append((kernel, line.method, line.budget, *means, last, *_slope(slope)))
            shapes = {
                "√(γ_T/T)": [np.sqrt(gain / T) for gain, T in zip(gains, scale.horizons, strict=True)],
                "γ_T/T": [gain / T for gain, T in zip(gains, scale.horizons, strict=True)],
                "γ_T": gains,
                "sup σ²": sups,
            }
            for name, values in shapes.items():
                slope = fitted(scale.horizons, [np.array([value]) for value in values])
                rows.append((kernel, name, "", *(float(value) for value in values), None, *_slope(slope)))
            random = [random_errors(evidence, kernel, horizon) for horizon in scale.horizons]
            rows.append((kernel, "a random action", "", *(float(one.mean()) for one in random), None, None, None))
        heads = (f"T = {horizon:,}" for horizon in scale.horizons)
        return Table(("kernel", "method", "ε", *heads, "± s.e. at the last", "slope", "± s.e."), rows)

    def judge(self, evidence: Evidence[Horizons]) -> list[Verdict]:
        scale = evidence.scale
        every = scale.lines
        measured = {
            (line.method, line.epsilon, kernel): errors_of(evidence, line, kernel)
            for line in every
            for kernel in KERNELS
        }
        random = {
            kernel: [float(random_errors(evidence, kernel, T).mean()) for T in scale.horizons] for kernel in KERNELS
        }
        return rules.verdicts(rules.Measured(scale.horizons, measured, random, evidence.seed))

    def draw(self, evidence: Evidence[Horizons]) -> Figure:
        from matplotlib.figure import Figure

        scale = evidence.scale
        budgets = [*scale.budgets, math.inf]
        figure = Figure(figsize=(3.4 * len(budgets), 7.6), layout="constrained")
        grid = figure.subplots(len(KERNELS), len(budgets), sharex=True, sharey=True, squeeze=False)
        for row, kernel in zip(grid, KERNELS, strict=True):
            gains = np.array([known(kernel, horizon).gain for horizon in scale.horizons])
            sizes = np.array(scale.horizons, float)
            random = [float(random_errors(evidence, kernel, horizon).mean()) for horizon in scale.horizons]
            for axes, epsilon in zip(row, budgets, strict=True):
                shown: dict[str, list[Floats]] = {}
                for line in scale.lines:
                    if line.epsilon == epsilon:
                        shown[line.method] = errors_of(evidence, line, kernel)
                        colour, marker, style = _STYLE[line.method]
                        draw_points(
                            axes,
                            scale.horizons,
                            shown[line.method],
                            colour=colour,
                            label=line.method,
                            marker=marker,
                            linestyle=style,
                        )
                draw_line(axes, sizes, random, colour=GREY, label="a random action", style=(0, (1, 3)))
                private = math.isfinite(epsilon)
                means = [one.mean() for one in shown[methods.FUNCTION if private else methods.ARGMAX_LARGE]]
                for label, rate, style in (
                    ("√(γ_T/T), scaled", np.sqrt(gains / sizes), "--"),
                    ("γ_T/(Tε), scaled", gains / sizes, "-."),
                ):
                    if private or style == "--":
                        scaled = rate * max(mean / one for mean, one in zip(means, rate, strict=True))
                        draw_line(axes, sizes, scaled, colour=YELLOW, label=label, style=style)
                title = f"{kernel}, ε = {epsilon:g}" if private else f"{kernel}, no privacy"
                finish(axes, title=title, across="", up="")
            row[0].set_ylabel("error rate")
        for axes in grid[-1]:
            axes.set_xlabel("records T")
            axes.set_xticks([], minor=True)
            axes.set_xticks(scale.horizons, [f"{horizon:,}" for horizon in scale.horizons], fontsize=8)
        figure.suptitle(
            f"error of a prediction, {scale.trials} functions; releases at δ = {DELTA:g}, draws pure",
            fontsize=10,
        )
        legend_below(figure, [grid[0][0], grid[0][-1]], columns=4)
        return figure


def errors_of(evidence: Evidence[Horizons], line: Line, kernel: str) -> list[Floats]:
    """Error rates at every horizon, one number per function."""
    every = evidence.scale.lines
    return [
        evidence.predictions[methods.run_name(line, kernel, horizon, every)].errors_of(line.way)
        for horizon in evidence.scale.horizons
    ]


def random_errors(evidence: Evidence[Horizons], kernel: str, horizon: int) -> Floats:
    """What a random action loses, one number per function."""
    every = evidence.scale.lines
    return evidence.predictions[methods.run_name(every[0], kernel, horizon, every)].random_errors


def _slope(slope: tuple[float, float | None] | None) -> tuple[float | None, float | None]:
    return (None, None) if slope is None else (slope[0], slope[1])
