"""How regret grows with the rounds, the dimension and the least eigenvalue, next to the theorems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.core.policy import Policy
from tacit.environments import Bias
from tacit.policies.local_linucb import LocalLinUCB
from tacit.policies.online import AnytimeLinUCB, Combiner, OnlineLinUCB
from tacit.reproduce.experiment import Cell, Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    finish,
    legend_below,
    line,
    panels,
    points,
)
from tacit.reproduce.judge import Sample, found, log_log_slope, lower, untested
from tacit.reproduce.local.common import (
    ARMS,
    DELTA,
    FAILURE,
    PAPER,
    ROUNDS,
    least_eigenvalue_of_best,
    uniform_loss,
    world,
)
from tacit.simulation import Job, Result
from tacit.simulation.result import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONLINE, PERTURBED, ANYTIME, COMBINER = "OnlineLinUCB", "OnlineLinUCB, perturbed", "AnytimeLinUCB", "Combiner"
ZHENG, ZHENG_WIDE = "LocalLinUCB", "LocalLinUCB, published width"
_STYLE = {
    ONLINE: (BLUE, "o"),
    PERTURBED: (SKY, "s"),
    ANYTIME: (GREEN, "^"),
    COMBINER: (PINK, "D"),
    ZHENG: (ORANGE, "v"),
    ZHENG_WIDE: (BLACK, "x"),
}
#: Above this share of what drawing arms at random loses, regret is called linear: its slope tells of no learning.
LINEAR = 0.5
#: A 95 % interval wider than this settles nothing about a slope.
WIDEST = 1.0
#: Actions to choose from in the sweep of eigenvalues.
_FEW = 5


class Point(NamedTuple):
    """Where a theorem is evaluated."""

    rounds: float  # T
    dim: float  # d
    least: float  # λ_min
    epsilon: float  # ε


def rate_of_algorithm_1(at: Point) -> float:
    """min{√d·T^¾/ε, √(dT)/(ε·λ_min)}: Corollary 3.6, without constants and logarithms."""
    return min(rate_of_perturbed(at), math.sqrt(at.dim * at.rounds) / (at.epsilon * at.least))


def rate_of_perturbed(at: Point) -> float:
    """√d·T^¾/ε: the same for λ_min = 0."""
    return math.sqrt(at.dim) * math.pow(at.rounds, 0.75) / at.epsilon


def rate_of_theorem_e1(at: Point) -> float:
    """√d·t^¾ + √d·t^⅝/ε."""
    return math.sqrt(at.dim) * (math.pow(at.rounds, 0.75) + math.pow(at.rounds, 0.625) / at.epsilon)


def rate_of_theorem_41(at: Point) -> float:
    """√(dT)/(ε·λ_min²) if λ_min ≥ T^(−1/8), else √d·T^(5/6) + √d·T^(17/24)/ε."""
    if at.least >= math.pow(at.rounds, -0.125):
        return math.sqrt(at.dim * at.rounds) / (at.epsilon * at.least**2)
    return math.sqrt(at.dim) * (math.pow(at.rounds, 5 / 6) + math.pow(at.rounds, 17 / 24) / at.epsilon)


def rate_of_zheng(at: Point) -> float:
    """d√T + d^¾·T^¾/√ε, as the paper quotes Zheng et al. (2020)."""
    return at.dim * math.sqrt(at.rounds) + math.pow(at.dim * at.rounds, 0.75) / math.sqrt(at.epsilon)


THEOREMS: Mapping[str, tuple[str, Callable[[Point], float]]] = {
    ONLINE: ("min{√d·T^¾/ε, √(dT)/(ε·λ)}", rate_of_algorithm_1),
    PERTURBED: ("√d·T^¾/ε", rate_of_perturbed),
    ANYTIME: ("Theorem E.1", rate_of_theorem_e1),
    COMBINER: ("Theorem 4.1", rate_of_theorem_41),
    ZHENG: ("d√T + d^¾·T^¾/√ε", rate_of_zheng),
    ZHENG_WIDE: ("d√T + d^¾·T^¾/√ε", rate_of_zheng),
}


@dataclass(frozen=True, kw_only=True)
class Sizes(Scale):
    """What is swept; `rounds` is the T of the sweeps in d and in λ_min."""

    horizons: tuple[int, ...] = (5000, 10_000, 20_000)
    dims: tuple[int, ...] = (3, 5, 9)
    spreads: tuple[float, ...] = (0.1, 0.2, 0.4)
    epsilon: float = 10.0
    generous: float = 100.0  # ε of the sweep in λ_min


SCALES = {
    "quick": Sizes(name="quick", rounds=ROUNDS, trials=4, time="about a minute"),
    "paper": Sizes(
        name="paper",
        rounds=ROUNDS,
        trials=20,
        horizons=(5000, 10_000, 20_000, 40_000, 80_000, 160_000),
        dims=(3, 5, 9, 17),
        spreads=(0.1, 0.2, 0.4, 0.8),
        time="about 10 minutes",
    ),
}


class Step(NamedTuple):
    """One size of a sweep."""

    size: float  # what the slope is taken in
    environment: Bias
    rounds: int
    epsilon: float


class Sweep(NamedTuple):
    """Sizes in one direction."""

    what: str
    across: str
    steps: Sequence[Step]


def sweeps(scale: Sizes, seed: int) -> dict[str, Sweep]:
    """T and d in the world of figure 1; 1/λ_min with Gaussian actions, whose spread is its root."""
    in_rounds = [Step(n, world(), n, scale.epsilon) for n in scale.horizons]
    in_dim = [Step(dim, world(dim), scale.rounds, scale.epsilon) for dim in scale.dims]
    in_least = []
    for spread in sorted(scale.spreads, reverse=True):
        place = world(arms=_FEW, variant="gaussian", spread=spread)
        in_least.append(Step(1 / _least(place, seed), place, scale.rounds, scale.generous))
    return {
        "T": Sweep("T", "rounds T", in_rounds),
        "d": Sweep("d", "dimension d", in_dim),
        "1/λ_min": Sweep("1/λ_min", "1/λ_min", in_least),
    }


@lru_cache(maxsize=64)
def _least(place: Bias, seed: int) -> float:
    return least_eigenvalue_of_best(place, seed, 2000)


@lru_cache(maxsize=64)
def _loss(place: Bias, seed: int) -> float:
    return uniform_loss(place, seed)


def configurations(step: Step) -> dict[str, Policy]:
    """The least noise that keeps the promise for the bounds of the world; widths as they come."""
    place = step.environment
    common: dict[str, Any] = {"dim": place.dim, "epsilon": step.epsilon, "delta": DELTA, **place.bounds}
    timed: dict[str, Any] = {**common, "horizon": step.rounds, "failure": FAILURE}
    return {
        ONLINE: OnlineLinUCB(**timed),
        PERTURBED: OnlineLinUCB(**timed, lambda_min=0.0),
        ANYTIME: AnytimeLinUCB(**common),
        COMBINER: Combiner(**timed),
        ZHENG: LocalLinUCB(**timed),
        ZHENG_WIDE: LocalLinUCB(**timed, width="published"),
    }


def _name(sweep: str, policy: str, size: float) -> str:
    return f"{policy}, {sweep} = {size:.4g}"


class Fitted(NamedTuple):
    """The growth of one policy over one sweep."""

    finals: list[Floats]
    slopes: Floats  # one per trial
    theorem: float  # the slope of the theorem over the same sizes
    share: float  # the largest share of what drawing arms at random loses

    @property
    def linear(self) -> bool:
        return self.share > LINEAR


class Rates(Experiment[Sizes]):
    """Slopes on logarithmic axes, with their standard errors."""

    name: ClassVar[str] = "local/rates"
    title: ClassVar[str] = "How regret grows with rounds, dimension and least eigenvalue"
    paper: ClassVar[str] = PAPER.replace("Section 5", "Corollary 3.6, Theorems 4.1 and E.1")
    question: ClassVar[str] = (
        "Does regret grow as the theorems say: min{√d·T^¾/ε, √(dT)/(ε·λ_min)} for Algorithm 1, √d·t^¾ + √d·t^⅝/ε for "
        "Algorithm 9, Theorem 4.1 for the combiner, and d^¼ less than Zheng et al.?"
    )
    choices: ClassVar[tuple[str, ...]] = (
        "The theorems are upper bounds with unnamed constants, and they hold for a width that explores for ever. What "
        "is measured is the practical width. So a slope above the theorem's is no refutation of it, and one below no "
        "proof: it says whether the rate describes what happens.",
        f"Where regret is above {LINEAR:.0%} of what drawing arms at random loses, at any size, a slope tells of no "
        "learning: such claims are not tested. ε = 10 in T and d, where something is learned in 20,000 rounds, with "
        "the least noise that keeps it.",
        "λ_min cannot be chosen in the world of figure 1. It is swept with Gaussian actions of spread s, K = 5, where "
        "the best arms have λ_min = s² but for those longer than 1, which are shrunk. Rewards shrink with s, too, and "
        "regret with them. ε = 100 there, no promise worth making: only the slope is wanted.",
        "Lengths of at most 1 force λ_min ≤ 1/d = 0.2, and T^(−1/4) is 0.084 at T = 20,000: the favourable case of the "
        "theorem spans a factor of two and a half.",
        "λ_min of the theorems is the measured one, given θ*, where the best arm is always played.",
        "Seed 1 of the quick scale was looked at when the spreads and the widest interval that settles something were "
        "set: another seed is an independent check.",
    )
    scales: Mapping[str, Sizes] = SCALES

    def describe(self, scale: Sizes) -> str:
        horizons, dims = ", ".join(f"{n:,}" for n in scale.horizons), ", ".join(map(str, scale.dims))
        spreads = ", ".join(f"{spread:g}" for spread in scale.spreads)
        return (
            f"T = {horizons}; d = {dims}; spreads {spreads}; K = {ARMS} (spreads: {_FEW}), {len(THEOREMS)} policies, "
            f"{scale.trials} trials"
        )

    def jobs(self, scale: Sizes, seed: int) -> dict[str, Job]:
        jobs = {}
        for name, sweep in sweeps(scale, seed).items():
            for step in sweep.steps:
                for policy, config in configurations(step).items():
                    label = _name(name, policy, step.size)
                    jobs[label] = Job(config, step.environment, step.rounds, scale.trials, seed, label)
        return jobs

    def measure(self, evidence: Evidence[Sizes]) -> Table:
        rows: list[Sequence[Cell]] = []
        for name in sweeps(evidence.scale, evidence.seed):
            for policy, (theorem, _) in THEOREMS.items():
                fitted = _fit(evidence, name, policy)
                rows.append(
                    (
                        name,
                        policy,
                        float(fitted.slopes.mean()),
                        standard_error(fitted.slopes),
                        f"{round(fitted.theorem, 2) + 0.0:.2f}",  # no "-0.00"
                        theorem,
                        float(fitted.finals[0].mean()),
                        float(fitted.finals[-1].mean()),
                        f"{fitted.share:.0%}",
                        "linear: no slope to speak of" if fitted.linear else "",
                    )
                )
        head = ("in", "policy", "slope", "± s.e.", "theorem's", "theorem", "first", "last", "of uniform play", "")
        return Table(head, rows)

    def judge(self, evidence: Evidence[Sizes]) -> list[Verdict]:
        verdicts = []
        for name in sweeps(evidence.scale, evidence.seed):
            for policy in (ONLINE, PERTURBED, ANYTIME, COMBINER):
                verdicts.append(_grows_no_faster(evidence, name, policy))
        verdicts.append(_favourable(evidence))
        verdicts.append(_gain(evidence))
        return verdicts

    def draw(self, evidence: Evidence[Sizes]) -> Figure:
        made = sweeps(evidence.scale, evidence.seed)
        figure, axes = panels(len(made), width=13.2, height=5.4)
        for panel, (name, sweep) in zip(axes, made.items(), strict=True):
            across = [step.size for step in sweep.steps]
            for policy, (colour, marker) in _STYLE.items():
                fitted = _fit(evidence, name, policy)
                points(panel, across, fitted.finals, colour=colour, label=policy, marker=marker)
            most = [_loss(step.environment, evidence.seed) * step.rounds for step in sweep.steps]
            line(panel, across, most, colour=GREY, label="drawing arms at random", style=":")
            for policy, style in ((ONLINE, "--"), (ZHENG, "-.")):
                shape = np.array(_theorem(policy, sweep, evidence.seed))
                anchor = float(_fit(evidence, name, policy).finals[-1].mean())
                label = f"rate of {policy}, scaled"
                line(panel, across, shape / shape[-1] * anchor, colour=_STYLE[policy][0], label=label, style=style)
            epsilon = sweep.steps[0].epsilon
            finish(panel, title=f"in {name}, ε = {epsilon:g}", across=sweep.across, up="")
            panel.set_xticks([], minor=True)
            panel.set_xticks(across, [f"{size:,.0f}" for size in across], fontsize=8)
        axes[0].set_ylabel("final pseudo-regret")
        figure.suptitle(f"δ = {DELTA:g}, {evidence.scale.trials} trials, the least noise that keeps ε", fontsize=10)
        legend_below(figure, axes, columns=5)
        return figure


def _result(evidence: Evidence[Sizes], sweep: str, policy: str, step: Step) -> Result:
    return evidence.results[_name(sweep, policy, step.size)]


def _theorem(policy: str, sweep: Sweep, seed: int) -> list[float]:
    _, rate = THEOREMS[policy]
    return [
        rate(Point(step.rounds, step.environment.dim, _least(step.environment, seed), step.epsilon))
        for step in sweep.steps
    ]


def slopes_of(sizes: Sequence[float], finals: Sequence[Floats]) -> Floats:
    """The slope of log(final) in log(size), trial by trial."""
    logs = np.log(np.asarray(sizes, float))
    centred = logs - logs.mean()
    slopes: Floats = (np.log(np.column_stack(finals)) @ centred) / (centred @ centred)
    return slopes


def _fit(evidence: Evidence[Sizes], name: str, policy: str) -> Fitted:
    sweep = sweeps(evidence.scale, evidence.seed)[name]
    finals = [_result(evidence, name, policy, step).regret for step in sweep.steps]
    sizes = [step.size for step in sweep.steps]
    shares = [
        float(values.mean()) / (_loss(step.environment, evidence.seed) * step.rounds)
        for values, step in zip(finals, sweep.steps, strict=True)
    ]
    theorem = slopes_of(sizes, [np.array([value]) for value in _theorem(policy, sweep, evidence.seed)])
    return Fitted(finals, slopes_of(sizes, finals), float(theorem[0]), max(shares))


def _grows_no_faster(evidence: Evidence[Sizes], name: str, policy: str) -> Verdict:
    fitted = _fit(evidence, name, policy)
    theorem, _ = THEOREMS[policy]
    claim = Claim(f"{policy} grows in {name} no faster than {theorem}.")
    return _at_most(claim, evidence, name, fitted, fitted.theorem)


def _favourable(evidence: Evidence[Sizes]) -> Verdict:
    """What the paper says of its own experiment: λ_min = O(1)."""
    claim = Claim("In the paper's experiment OnlineLinUCB grows like √T, its favourable case.")
    return _at_most(claim, evidence, "T", _fit(evidence, "T", ONLINE), 0.5)


def _at_most(claim: Claim, evidence: Evidence[Sizes], name: str, fitted: Fitted, most: float) -> Verdict:
    down = round(most, 2) + 0.0
    criterion = (
        f"the 95 % interval of the slope, over trials, reaches down to {down:.2f} and is at most {WIDEST:g} wide"
    )
    sizes = [step.size for step in sweeps(evidence.scale, evidence.seed)[name].steps]
    slope = log_log_slope(sizes, fitted.finals)
    if fitted.linear:
        share = f"{fitted.share:.0%} of what drawing arms at random loses"
        return untested(claim, criterion, f"regret is linear, {share}: a slope of {slope} means nothing")
    if not math.isfinite(slope.low):
        return untested(claim, criterion, "a single trial gives no interval")
    if slope.high - slope.low > WIDEST:
        return untested(claim, criterion, f"slope {slope}: too wide to say")
    return found(claim, slope.low <= most, criterion, f"slope {slope}", slope=slope.estimate, low=slope.low)


def _gain(evidence: Evidence[Sizes]) -> Verdict:
    """√d against d^¾."""
    claim = Claim("OnlineLinUCB grows more slowly in d than Zheng et al., by d^¼.")
    online, zheng = _fit(evidence, "d", PERTURBED), _fit(evidence, "d", ZHENG)
    if online.linear or zheng.linear:
        criterion = "mean difference of the slopes in d, trial by trial, above 2 standard errors"
        numbers = (
            f"regret is linear, {max(online.share, zheng.share):.0%} of what drawing arms at random loses; slopes "
            f"{online.slopes.mean():.2f} and {zheng.slopes.mean():.2f}"
        )
        return untested(claim, criterion, numbers)
    return lower(claim, Sample(PERTURBED, online.slopes), Sample(ZHENG, zheng.slopes), of="the slope in d")
