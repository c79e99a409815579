"""Appendix D.3: does the privacy of LinPriv cost log T or √T?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.environments import DisjointArms
from tacit.policies.linpriv import LinPriv
from tacit.reproduce.experiment import By, Cell, Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import BLACK, BLUE, GREEN, GREY, ORANGE, finish, legend_below, line, panels, points
from tacit.reproduce.judge import Interval, Sample, final, found, lower, slope_near, untested
from tacit.reproduce.local.common import uniform_loss
from tacit.reproduce.renyi.common import PAPER, extra
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRAM, PUBLISHED = "gram", "published"
WIDTHS: Mapping[str, str] = {PUBLISHED: "published width", GRAM: "Gram width"}

#: The promises, by name. Gaussian noise learns in fewer rounds; Laplace noise is what its authors have.
PROMISES: Mapping[str, Mapping[str, Any]] = {
    "ρ = 1": {"rho": 1.0},
    "ρ = 10": {"rho": 10.0},
    "pure ε = 10": {"epsilon": 10.0},
}
#: The twin: the same policy with noise too small to matter in 10⁷ rounds.
TWIN = "no noise"
_TWIN_RHO = 1e12

#: Where regret is above this share of what drawing arms at random loses, growth tells of no learning.
LINEAR = 0.5
#: A fit is clearly better than another of as many parameters if its χ² is less by more than this.
DECISIVE = 4.0
#: Slopes that are called √T, with room for logarithms.
ROOT = (0.4, 0.6)
#: 95 % of a normal law.
_NORMAL = 1.96
#: Where s is looked for, and how finely.
_EXPONENTS = (-1.0, 2.0)
_POINTS, _GRIDS = 101, 6

_STYLE = {PUBLISHED: (ORANGE, "s"), GRAM: (BLUE, "o")}


@dataclass(frozen=True, kw_only=True)
class Horizons(Scale):
    """Each T is a run of its own: nodes, noise and failure probability are set by it. `rounds` is the last."""

    horizons: tuple[int, ...]
    promises: tuple[str, ...] = tuple(PROMISES)
    arms: int = 5
    context_dim: int = 5


SCALES = {
    "quick": Horizons(
        name="quick",
        rounds=3 * 10**5,
        trials=6,
        horizons=(10**4, 3 * 10**4, 10**5, 3 * 10**5),
        time="about a minute",
    ),
    "paper": Horizons(
        name="paper",
        rounds=3 * 10**6,
        trials=20,
        horizons=(10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6),
        time="about 20 minutes",
    ),
}


def world(scale: Horizons) -> DisjointArms:
    """Arms that share nothing, with fresh unit contexts."""
    return DisjointArms(arms=scale.arms, context_dim=scale.context_dim)


def linpriv(scale: Horizons, rounds: int, promise: str, width: str) -> LinPriv:
    """δ = 1/T, λ = 1."""
    options: Mapping[str, Any] = {"rho": _TWIN_RHO} if promise == TWIN else PROMISES[promise]
    return LinPriv(dim=world(scale).features, arms=scale.arms, horizon=rounds, width=width, **options)


def name(rounds: int, promise: str, width: str) -> str:
    """What a run is called."""
    said = TWIN if promise == TWIN else f"{promise}, {WIDTHS[width]}"
    return f"LinPriv, {said}, T = {rounds:,}"


@lru_cache(maxsize=16)
def _loss(place: DisjointArms, seed: int) -> float:
    return uniform_loss(place, seed)


class Fit(NamedTuple):
    """How extra regret grows, over the horizons at which something was learned."""

    rounds: list[int]
    slope: Interval  # s of a·T^s, with its 95 % interval
    error: float
    power: tuple[float, float]  # a, s
    logarithm: tuple[float, float]  # a, b of a + b·ln T
    power_misfit: float  # χ²
    logarithm_misfit: float
    last: float  # the slope between the last two horizons


def fit(rounds: Sequence[int], extras: Sequence[Floats]) -> Fit:
    """a·T^s and a + b·ln T by least squares on the means, each weighed by its standard error.

    Two parameters both, so that χ² can be compared. The error of s comes from leaving out one trial at a time: trials
    are independent, and a trial may have the same luck at all horizons.
    """
    times = np.array(rounds, float)
    table = np.column_stack(extras)  # (trials, horizons)
    weights = 1 / np.maximum(table.std(axis=0, ddof=1) / math.sqrt(len(table)), 1e-12)
    means = table.mean(axis=0)
    power, power_misfit = _power(times, means, weights)
    logarithm, logarithm_misfit = _logarithm(times, means, weights)
    left_out = np.array([_power(times, np.delete(table, i, 0).mean(axis=0), weights)[0][1] for i in range(len(table))])
    count = len(table)
    error = math.sqrt((count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum()))
    slope = Interval(power[1], power[1] - _NORMAL * error, power[1] + _NORMAL * error)
    last = _slope(rounds[-2:], means[-2:])
    return Fit(list(rounds), slope, error, power, logarithm, power_misfit, logarithm_misfit, last)


def _slope(rounds: Sequence[float], means: Sequence[float] | Floats) -> float:
    """On logarithmic axes, between two points; not a number where one is not above 0."""
    if min(means) <= 0:
        return math.nan
    return math.log(means[1] / means[0]) / math.log(rounds[1] / rounds[0])


def _logarithm(times: Floats, means: Floats, weights: Floats) -> tuple[tuple[float, float], float]:
    rows = np.column_stack([np.ones_like(times), np.log(times)])
    solved, *_ = np.linalg.lstsq(rows * weights[:, None], means * weights)
    return (float(solved[0]), float(solved[1])), float((((rows @ solved - means) * weights) ** 2).sum())


def _power(times: Floats, means: Floats, weights: Floats) -> tuple[tuple[float, float], float]:
    """For a given s the best a is known, so that s alone is searched for."""

    def at(exponents: Floats) -> tuple[Floats, Floats]:
        shapes = (times / times[0]) ** exponents[:, None]
        factors = (shapes * means * weights**2).sum(axis=1) / ((shapes * weights) ** 2).sum(axis=1)
        return factors, (((factors[:, None] * shapes - means) * weights) ** 2).sum(axis=1)

    low, high = _EXPONENTS
    # Each time a finer grid around the best: ten digits after six of them.
    for _ in range(_GRIDS):
        grid = np.linspace(low, high, _POINTS)
        factors, misfits = at(grid)
        best = int(np.argmin(misfits))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, _POINTS - 1)]
    exponent = float(grid[best])
    return (float(factors[best]) * float(times[0]) ** -exponent, exponent), float(misfits[best])


class CostOfLinPriv(Experiment[Horizons]):
    """Extra regret over the noiseless twin, for two widths."""

    name: ClassVar[str] = "renyi/linpriv"
    title: ClassVar[str] = "Does the privacy of LinPriv cost log T or √T?"
    paper: ClassVar[str] = f"{PAPER}, Remark 3 and Appendix D.3, on Neel and Roth (2018), Theorem 5."
    question: ClassVar[str] = (
        "Neel and Roth claim regret d√T + K·d·log T/ε; Azize and Basu correct the second term to K·d·√T/ε. How does "
        "what privacy adds grow when it is measured?"
    )
    choices: ClassVar[tuple[str, ...]] = (
        "LinPriv is our reading: a tree of reward sums for each arm, optimism on each arm apart. The published width "
        "weighs the noise by ‖x‖ in the norm of V⁻¹; the Gram width, ours, by what V⁻¹ makes of it. Both are valid.",
        "Both statements are upper bounds for contexts that an adversary chooses. Here contexts are drawn at random, "
        "in a world without gaps: growth that is slower than a bound does not refute it.",
        f"Horizons at which regret is above {LINEAR:.0%} of what drawing arms at random loses are left out of the "
        "fits; with fewer than three left nothing is judged.",
        "a·T^s and a + b·ln T are fitted to the mean extra regret, weighed by its standard error; the error of s comes "
        "from leaving out one trial at a time. Over these horizons ln T itself has a slope of about 0.1, and such a "
        "power cannot be told from it: log T holds unless a power fits better. That rule was set after a look at seed "
        "7; others are independent of it.",
        "The twin is LinPriv at ρ = 10¹²: the same widths and trees, with noise too small to matter. ρ = 1 is ε = 7.3 "
        "at δ = 1e-6, ρ = 10 is 28: no promises worth making. Only growth is wanted, and what promises more learns "
        "nothing in these rounds.",
    )
    scales: Mapping[str, Horizons] = SCALES

    def describe(self, scale: Horizons) -> str:
        horizons = ", ".join(f"{rounds:,}" for rounds in scale.horizons)
        promises = ", ".join(scale.promises)
        shape = f"disjoint-arms, K = {scale.arms}, d = {scale.context_dim}"
        return f"{shape}, T = {horizons}, {promises}, {scale.trials} trials"

    def jobs(self, scale: Horizons, seed: int) -> dict[str, Job]:
        made = {}
        kinds = [(TWIN, GRAM), *((promise, width) for promise in scale.promises for width in WIDTHS)]
        for rounds in scale.horizons:
            for promise, width in kinds:
                label, config = name(rounds, promise, width), linpriv(scale, rounds, promise, width)
                made[label] = Job(config, world(scale), rounds, scale.trials, seed, label)
        return made

    def measure(self, evidence: Evidence[Horizons]) -> Table:
        rows: list[Sequence[Cell]] = []
        most = _loss(world(evidence.scale), evidence.seed)
        for promise in evidence.scale.promises:
            for width, words in WIDTHS.items():
                fitted = fit_of(evidence, promise, width)
                before: tuple[int, float] | None = None
                for rounds in evidence.scale.horizons:
                    run, cost = _run(evidence, rounds, promise, width), _extra(evidence, rounds, promise, width)
                    used = "yes" if fitted is not None and rounds in fitted.rounds else "no"
                    share = f"{run.mean / (most * rounds):.0%}"
                    slope = None
                    if before is not None and min(before[1], cost.mean) > 0:
                        slope = _slope((before[0], rounds), (before[1], cost.mean))
                    before = (rounds, cost.mean)
                    rows.append((promise, words, rounds, run.mean, cost.mean, cost.error, slope, share, used))
        head = ("promise", "width", "T", "regret", "extra", "± s.e.", "slope since", "of uniform play", "fitted")
        return Table(head, rows)

    def judge(self, evidence: Evidence[Horizons]) -> list[Verdict]:
        verdicts = []
        for promise in evidence.scale.promises:
            for width in WIDTHS:
                fitted = fit_of(evidence, promise, width)
                verdicts.append(like_log(fitted, promise, width))
                verdicts.append(like_root(fitted, promise, width))
        for promise in evidence.scale.promises:
            rounds = max(evidence.scale.horizons)
            claim = Claim(f"The Gram width costs less than the published one, {promise}, T = {rounds:,}.", By.OURS)
            small, large = (_extra(evidence, rounds, promise, width) for width in (GRAM, PUBLISHED))
            verdicts.append(lower(claim, small, large, of="extra regret"))
        return verdicts

    def draw(self, evidence: Evidence[Horizons]) -> Figure:
        scale = evidence.scale
        figure, axes = panels(len(scale.promises), width=4.6 * len(scale.promises) + 0.6, height=5.4, sharey=True)
        most = _loss(world(scale), evidence.seed)
        across = [float(rounds) for rounds in scale.horizons]
        twin = [_run(evidence, rounds, TWIN, GRAM).values for rounds in scale.horizons]
        for panel, promise in zip(axes, scale.promises, strict=True):
            points(panel, across, twin, colour=BLACK, label="regret of the noiseless twin", marker="x", linewidth=0.8)
            line(
                panel, across, [most * each for each in across], colour=GREY, label="drawing arms at random", style=":"
            )
            said = []
            for width, (colour, marker) in _STYLE.items():
                costs = [_extra(evidence, rounds, promise, width).values for rounds in scale.horizons]
                label = f"extra regret, {WIDTHS[width]}"
                points(panel, across, costs, colour=colour, label=label, marker=marker, linestyle="none")
                fitted = fit_of(evidence, promise, width)
                if fitted is None:
                    continue
                times = np.geomspace(fitted.rounds[0], fitted.rounds[-1], 50)
                power, logarithm = fitted.power, fitted.logarithm
                line(panel, times, power[0] * times ** power[1], colour=colour, label="a·T^s, fitted", style="--")
                curve = logarithm[0] + logarithm[1] * np.log(times)
                line(panel, times[curve > 0], curve[curve > 0], colour=GREEN, label="a + b·ln T, fitted", style="-.")
                said.append(f"{WIDTHS[width]}: s = {fitted.slope.estimate:.2f} ± {fitted.error:.2f}")
            finish(panel, title="\n".join([promise, *said]), across="rounds T", up="")
        axes[0].set_ylabel("pseudo-regret")
        figure.suptitle(
            f"LinPriv in disjoint-arms, K = {scale.arms}, d = {scale.context_dim}, {scale.trials} trials", fontsize=10
        )
        legend_below(figure, axes, columns=4)
        return figure


def _run(evidence: Evidence[Horizons], rounds: int, promise: str, width: str) -> Sample:
    return final(evidence.results[name(rounds, promise, width)], WIDTHS[width])


def _extra(evidence: Evidence[Horizons], rounds: int, promise: str, width: str) -> Sample:
    return extra(_run(evidence, rounds, promise, width), _run(evidence, rounds, TWIN, GRAM))


def fit_of(evidence: Evidence[Horizons], promise: str, width: str) -> Fit | None:
    """Over the horizons at which something was learned; None where they are too few, or the trials."""
    most = _loss(world(evidence.scale), evidence.seed)
    learned = [
        rounds
        for rounds in evidence.scale.horizons
        if _run(evidence, rounds, promise, width).mean <= LINEAR * most * rounds
    ]
    if len(learned) < 3 or evidence.scale.trials < 2:
        return None
    return fit(learned, [_extra(evidence, rounds, promise, width).values for rounds in learned])


_NOTHING = "regret is linear, or trials are too few: there are fewer than three horizons to fit"


def like_log(fitted: Fit | None, promise: str, width: str) -> Verdict:
    """Neel and Roth."""
    claim = Claim(f"The cost of privacy grows like log T (Neel and Roth): {promise}, {WIDTHS[width]}.")
    criterion = f"χ² of a + b·ln T at most that of a·T^s plus {DECISIVE:g}: no power fits clearly better"
    if fitted is None:
        return untested(claim, criterion, _NOTHING)
    ahead = fitted.power_misfit - fitted.logarithm_misfit
    numbers = (
        f"χ² {fitted.logarithm_misfit:.1f} against {fitted.power_misfit:.1f} over {len(fitted.rounds)} horizons; "
        f"s = {fitted.slope.estimate:.3f} ± {fitted.error:.3f}, {fitted.last:.2f} between the last two"
    )
    holds = ahead >= -DECISIVE
    return found(claim, holds, criterion, numbers, ahead=ahead, slope=fitted.slope.estimate, error=fitted.error)


def like_root(fitted: Fit | None, promise: str, width: str) -> Verdict:
    """Azize and Basu."""
    claim = Claim(f"The cost of privacy grows like √T (Azize and Basu): {promise}, {WIDTHS[width]}.")
    if fitted is None:
        criterion = f"the 95 % interval of the slope s of a·T^s meets [{ROOT[0]:g}, {ROOT[1]:g}]"
        return untested(claim, criterion, _NOTHING)
    return slope_near(claim, fitted.slope, *ROOT)
