"""More than one prediction from one budget: draws that share it, or a function that is released once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit._types import Floats
from tacit.errors import BudgetSpent
from tacit.policies.usca import USCA
from tacit.privacy.currencies import concentrated_budget, concentrated_epsilon
from tacit.privacy.event import ExponentialEvent
from tacit.privacy.ledger import Ledger
from tacit.privacy.promise import Promise
from tacit.reproduce.experiment import By, Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import BLUE, GREEN, GREY, ORANGE, PINK, finish, line, points
from tacit.reproduce.judge import Sample, found, lower
from tacit.reproduce.kernel.common import DELTA, PAPER, SE, WORLD, world
from tacit.reproduce.kernel.picture import Map, draws, mapped
from tacit.simulation import Job
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.prediction_result import ONCE, RELEASED
from tacit.simulation.result import standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The whole budget.
EPSILON = 1.0
#: What each of so many draws may cost, as it was found before.
BEFORE = {10: 0.1396, 100: 0.0441}
FUNCTION = "function, any number of predictions"
_COLOURS = (ORANGE, GREEN, BLUE, PINK)


@dataclass(frozen=True, kw_only=True)
class Counts(Scale):
    """Numbers of records and of predictions; `rounds` is the largest T. A trial is one function."""

    horizons: tuple[int, ...]  # T
    counts: tuple[int, ...] = (1, 3, 10, 30, 100)  # k


SCALES = {
    "quick": Counts(name="quick", rounds=10_000, horizons=(3000, 10_000), trials=8, time="half a minute"),
    "paper": Counts(name="paper", rounds=30_000, horizons=(3000, 10_000, 30_000), trials=20, time="about 3 minutes"),
}


def each(count: int) -> float:
    """The most that each of so many equal draws may cost within (1, 10⁻⁶): by pure ε, which adds up, or by ρ = ε²/8."""
    return max(EPSILON / count, math.sqrt(8 * concentrated_budget(EPSILON, DELTA) / count))


def admitted(epsilon: float, most: int) -> int:
    """How many draws of this ε a ledger of (1, 10⁻⁶) takes, looking no further than `most`."""
    ledger = Ledger(Promise(EPSILON, DELTA))
    for count in range(most):
        try:
            ledger.spend(ExponentialEvent(epsilon))
        except BudgetSpent:
            return count
    return most


class ManyPredictions(Experiment[Counts]):
    """Draws at k-th parts of a budget, next to one function for all of it."""

    name: ClassVar[str] = "kernel/predictions"
    title: ClassVar[str] = "What more than one prediction costs"
    paper: ClassVar[str] = f"{PAPER}, Sections 1 and 3."
    question: ClassVar[str] = (
        "The paper's mechanism draws one action for one context. How large is the error if k contexts share one "
        f"budget, ({EPSILON:g}, {DELTA:g}), and how large if the whole function is released for all of it?"
    )
    choices: ClassVar[tuple[str, ...]] = (
        WORLD,
        "Squared exponential kernel. Each of k draws costs what a ledger lets k of them cost: 1/k, or √(8ρ/k) with the "
        "ρ that (1, 10⁻⁶) has room for, whichever is more. τ = 100·B/ε with the ε of a single draw. A function costs "
        "the same however often it is asked.",
        f"The map shows trial 0 at the largest T. Its {draws()} draws are made by one learner, from one budget; its "
        "function is another learner's, from the same records and a budget of the same size.",
    )
    scales: Mapping[str, Counts] = SCALES

    def describe(self, scale: Counts) -> str:
        horizons = ", ".join(f"{horizon:,}" for horizon in scale.horizons)
        return f"{SE}, T = {horizons}, k = {', '.join(map(str, scale.counts))}, {scale.trials} functions"

    def jobs(self, scale: Counts, seed: int) -> dict[str, Job]:
        return {}

    def predictions(self, scale: Counts, seed: int) -> dict[str, PredictionJob]:
        found: dict[str, PredictionJob] = {}
        place = world(SE)
        for horizon in scale.horizons:
            for count in scale.counts:
                config, label = USCA(epsilon=each(count), delta=DELTA), _draws(count, horizon)
                # k = 1 is the run of `kernel/rates` at ε = 1, both ways in one.
                ways = (RELEASED, ONCE) if count == 1 else (ONCE,)
                found[label] = PredictionJob(config, place, horizon, scale.trials, seed, ways, label)
            if 1 not in scale.counts:
                config, label = USCA(epsilon=EPSILON, delta=DELTA), _function(horizon)
                found[label] = PredictionJob(config, place, horizon, scale.trials, seed, (RELEASED,), label)
        return found

    def measure(self, evidence: Evidence[Counts]) -> Table:
        scale = evidence.scale
        rows: list[tuple[Any, ...]] = []
        for horizon in scale.horizons:
            for count in scale.counts:
                errors = draw_errors(evidence, count, horizon)
                rows.append((horizon, "draws", f"{count}", each(count), float(errors.mean()), standard_error(errors)))
            errors = function_errors(evidence, horizon)
            rows.append((horizon, "function", "any", EPSILON, float(errors.mean()), standard_error(errors)))
        return Table(("T", "way", "predictions k", "ε each", "error rate", "± s.e."), rows)

    def judge(self, evidence: Evidence[Counts]) -> list[Verdict]:
        scale = evidence.scale
        most, last = max(scale.counts), max(scale.horizons)
        verdicts = [one_budget(max(10, most)), *(as_before(count, value) for count, value in BEFORE.items())]
        for horizon in scale.horizons:
            function = Sample("function", function_errors(evidence, horizon))
            few, many = (
                Sample(f"{count} draws" if count > 1 else "1 draw", draw_errors(evidence, count, horizon))
                for count in (min(scale.counts), most)
            )
            text = f"The more predictions share a budget, the more each errs: T = {horizon:,}."
            verdicts.append(lower(Claim(text, By.OURS), few, many, of="error rate"))
            text = f"A released function errs less than {most} draws at the same price: T = {horizon:,}."
            verdicts.append(lower(Claim(text, By.OURS), function, many, of="error rate"))
            if horizon == last:
                text = f"A released function errs less than even a single draw: T = {horizon:,}."
                verdicts.append(lower(Claim(text, By.OURS), function, few, of="error rate"))
        return verdicts

    def draw(self, evidence: Evidence[Counts]) -> Figure:
        from matplotlib.figure import Figure

        scale = evidence.scale
        horizon = max(scale.horizons)
        figure = Figure(figsize=(12.6, 8.6), layout="constrained")
        parts = figure.add_gridspec(2, 1, height_ratios=(0.82, 1))
        above, below = figure.add_subfigure(parts[0]), figure.add_subfigure(parts[1])
        axes = above.subplots()
        for one, colour in zip(scale.horizons, _COLOURS, strict=False):
            errors = [draw_errors(evidence, count, one) for count in scale.counts]
            points(axes, scale.counts, errors, colour=colour, label=f"draws, T = {one:,}")
            level = float(function_errors(evidence, one).mean())
            ends = (min(scale.counts), max(scale.counts))
            line(axes, ends, (level, level), colour=colour, label=f"one function, T = {one:,}")
        first = evidence.predictions[_draws(scale.counts[0], horizon)]
        ends = (min(scale.counts), max(scale.counts))
        line(axes, ends, (first.random_error_rate,) * 2, colour=GREY, label="a random action", style=":")
        title = (
            f"k predictions from one budget of ε = {EPSILON:g}, δ = {DELTA:g}; {scale.trials} functions, {SE} kernel"
        )
        finish(axes, title=title, across="predictions k", up="error rate")
        axes.set_xticks([], minor=True)
        axes.set_xticks(scale.counts, [str(count) for count in scale.counts])
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
        maps = list(below.subplots(1, 3, sharey=True))
        _draw_maps(maps, mapped(horizon, EPSILON, each(draws()), evidence.seed), horizon)
        return figure


def _draw_maps(axes: list[Axes], seen: Map, horizon: int) -> None:
    truth, private, taken = axes
    low, high = float(seen.truth.min()), float(seen.truth.max())
    how: dict[str, Any] = {"cmap": "RdYlBu_r", "vmin": low, "vmax": high, "shading": "gouraud", "rasterized": True}
    mark: dict[str, Any] = {"linestyle": "none", "markeredgecolor": "black", "markeredgewidth": 0.7, "clip_on": False}
    for panel, values in ((truth, seen.truth), (private, seen.private), (taken, seen.truth)):
        image = panel.pcolormesh(seen.contexts, seen.actions, values, **how)
        # Dots, not a line: where two actions are as good, the best one jumps.
        panel.plot(seen.contexts, seen.best, ".", color="black", markersize=3, label="best action")
        panel.set_xlabel("context")
        panel.set_xlim(0, 1)
        panel.set_ylim(0, 1)
    shown = slice(None, None, 4)
    private.plot(
        seen.contexts[shown],
        seen.chosen[shown],
        "o",
        color="white",
        markersize=5.5,
        label="chosen by the function",
        **mark,
    )
    taken.plot(seen.asked, seen.drawn, "D", color="white", markersize=5, label=f"{len(seen.asked)} draws", **mark)
    truth.set_ylabel("action")
    titles = (
        "the true function",
        f"the private function, ε = {EPSILON:g}, T = {horizon:,}",
        f"{len(seen.asked)} draws for the same ε, over the true function",
    )
    for panel, title in zip(axes, titles, strict=True):
        panel.set_title(title, loc="left", fontsize=10)
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False, fontsize=8.5)
    taken.figure.colorbar(image, ax=axes, label="reward", shrink=0.9, pad=0.01)


def draw_errors(evidence: Evidence[Counts], count: int, horizon: int) -> Floats:
    """Error rates of one of so many draws, one number per function."""
    return evidence.predictions[_draws(count, horizon)].errors_of(ONCE)


def function_errors(evidence: Evidence[Counts], horizon: int) -> Floats:
    """Error rates of the released function, one number per function."""
    shared = evidence.predictions.get(_draws(1, horizon))
    return (shared or evidence.predictions[_function(horizon)]).errors_of(RELEASED)


def one_budget(most: int) -> Verdict:
    """How the paper's introduction can be read; what it proves is one prediction."""
    claim = Claim(
        f"As Section 1.1 reads, one ε buys a predictor: {most} draws at ε = {EPSILON:g} cost no more than one."
    )
    criterion = f"a ledger of ({EPSILON:g}, {DELTA:g}) takes {most} draws by the rule of ε = {EPSILON:g}"
    taken = admitted(EPSILON, most)
    together = min(most * EPSILON, concentrated_epsilon(most * EPSILON**2 / 8, DELTA))
    numbers = f"it takes {taken}; {most} of them cost ε = {together:.3g} at δ = {DELTA:g}"
    return found(claim, taken == most, criterion, numbers, taken=taken, epsilon=together)


def as_before(count: int, value: float, tried: float | None = None) -> Verdict:
    """What each of k draws may cost."""
    epsilon = each(count) if tried is None else tried
    claim = Claim(f"Each of {count} draws may cost ε = {value:g} within ({EPSILON:g}, {DELTA:g}).", By.OURS)
    criterion = (
        f"the largest ε that fits is {value:g} to its last digit, and a ledger takes {count} of them and no more"
    )
    taken = admitted(epsilon, count + 1)
    holds = abs(epsilon - value) <= 5e-5 and taken == count
    return found(claim, holds, criterion, f"ε = {epsilon:.5f}; the ledger takes {taken}", epsilon=epsilon, taken=taken)


def _draws(count: int, horizon: int) -> str:
    return f"{count} {'draw' if count == 1 else 'draws'}, T = {horizon:,}"


def _function(horizon: int) -> str:
    return f"{FUNCTION}, T = {horizon:,}"
