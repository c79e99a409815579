"""The price of privacy: what it adds to the regret of the noiseless twin, against √(1/ρ)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tacit.report.tables import number
from tacit.reproduce.experiment import By, Cell, Claim, Evidence, Experiment, Table, Verdict
from tacit.reproduce.figures import BLUE, GREEN, GREY, ORANGE, PINK, SKY, finish, legend_below, line, panels, points
from tacit.reproduce.judge import SIGMAS, Sample, found, lower, untested
from tacit.reproduce.renyi import arms, contexts, lists
from tacit.reproduce.renyi.common import NO_NOISE, PAPER, SCALES, Settings, budget, decades, extra, regret_at
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: "Almost free" and "negligible", for budgets from `MODERATE` up: privacy adds at most this share of the regret.
ALMOST_FREE = 0.12
MODERATE = 0.1
#: Extra regret of AdaR-UCB over √(1/ρ) after 10⁶ rounds, and its standard error, from an independent implementation.
REFERENCES: Mapping[float, tuple[float, float]] = {
    0.1: (13.0, 4.3),
    0.01: (39.0, 1.5),
    0.001: (60.0, 0.9),
    1e-4: (68.0, 0.4),
}
REFERENCE_ROUNDS = 10**6
#: What doubling and forgetting cost without any noise, in regrets of UCB1.
DOUBLING = (2.4, 2.9)
_TOLERANCE = 0.10
_SIGMAS = 3.0

ARMS, LISTS, CONTEXTS = "AdaR-UCB", "AdaR-GOPE", "AdaR-OFUL"
_STYLE = {ARMS: (BLUE, "o"), LISTS: (ORANGE, "s"), CONTEXTS: (PINK, "^")}


class Point(NamedTuple):
    """What privacy cost at one budget after so many rounds."""

    rho: float
    rounds: int
    private: Sample
    plain: Sample

    @property
    def extra(self) -> Sample:
        return extra(self.private, self.plain)

    @property
    def share(self) -> Sample:
        """As a share of the noiseless twin's mean."""
        return Sample(f"T = {self.rounds:,}", self.extra.values / self.plain.mean)

    @property
    def root(self) -> float:
        return 1 / math.sqrt(self.rho)


def points_of(evidence: Evidence[Settings]) -> dict[str, list[Point]]:
    """Every budget and every T, by setting."""
    scale, results = evidence.scale, evidence.results
    over_arms = [
        Point(rho, rounds, arms.sample(results, rho, rounds), arms.sample(results, NO_NOISE, rounds))
        for rounds in decades(scale.rounds, 10**5)
        for rho in scale.budgets
    ]
    first = lists.sizes(scale)[0]
    over_lists = [
        Point(
            rho,
            size.rounds,
            lists.sample(scale, results, size, lists.EXACT, rho),
            lists.sample(scale, results, size, lists.EXACT, NO_NOISE),
        )
        for size in lists.sizes(scale)
        if size.shape == first.shape
        for rho in scale.list_budgets
    ]
    over_contexts = [
        Point(
            rho,
            rounds,
            contexts.sample(results, contexts.TOEPLITZ, rho, rounds),
            contexts.sample(results, contexts.PLAIN, NO_NOISE, rounds),
        )
        for rounds in scale.horizons
        for rho in scale.context_budgets
    ]
    return {ARMS: over_arms, LISTS: over_lists, CONTEXTS: over_contexts}


class PriceOfPrivacy(Experiment[Settings]):
    """Extra regret over the noiseless twin, trial by trial."""

    name: ClassVar[str] = "renyi/price"
    title: ClassVar[str] = "What Rényi privacy adds to regret"
    paper: ClassVar[str] = f"{PAPER}, Theorem 5 and the discussions of Theorems 5, 8 and 10."
    question: ClassVar[str] = (
        "Is the price of privacy an additive term that grows like √(1/ρ) = √(α/ε), and negligible beside the regret "
        "that is paid anyway?"
    )
    choices: ClassVar[tuple[str, ...]] = (
        "Worlds, budgets and trials are those of renyi/table-1, whose runs are used. AdaR-GOPE has phases of exact "
        "width (its noiseless twin too), AdaR-OFUL the public width and Toeplitz noise: the cheapest there is.",
        f"The paper gives no number for negligible: at most {ALMOST_FREE:.0%} of the noiseless twin's regret at "
        f"budgets ρ ≥ {MODERATE:g} is ours. ρ = 0.1 is (2, 0.2)-Rényi privacy, and ε = 2.0 at δ = 1e-6.",
        "Both runs of a difference have the same seed, but luck that is drawn by episodes drifts apart: its standard "
        "error is hardly less than that of two independent runs.",
    )
    scales: Mapping[str, Settings] = {
        "quick": dataclasses.replace(SCALES["quick"], time="under a minute, seconds after table-1"),
        "paper": dataclasses.replace(SCALES["paper"], time="about 3 minutes, seconds after table-1"),
    }

    def describe(self, scale: Settings) -> str:
        budgets = ", ".join(f"{rho:g}" for rho in scale.budgets)
        return (
            f"{arms.WORLD.features} arms, T = {scale.rounds:,}, ρ = {budgets}, {scale.trials} trials; lists, "
            f"{scale.instances} instances; contexts, {scale.context_trials} trials"
        )

    def jobs(self, scale: Settings, seed: int) -> dict[str, Job]:
        return {
            **arms.jobs(scale, seed),
            **lists.jobs(scale, seed, (lists.EXACT,)),
            **contexts.jobs(scale, seed, (contexts.TOEPLITZ,)),
        }

    def measure(self, evidence: Evidence[Settings]) -> Table:
        rows: list[Sequence[Cell]] = []
        for policy, found_points in points_of(evidence).items():
            for point in found_points:
                cost = point.extra
                rows.append(
                    (
                        policy,
                        point.rounds,
                        f"{point.rho:g}",
                        point.root,
                        point.plain.mean,
                        cost.mean,
                        cost.error,
                        f"{point.share.mean:.1%}",
                        cost.mean / point.root,
                        _theory(point) / point.root if policy == ARMS else None,
                    )
                )
        head = (
            "policy",
            "T",
            "ρ",
            "√(1/ρ)",
            "without noise",
            "extra",
            "± s.e.",
            "share",
            "extra/√(1/ρ)",
            "Theorem 5's",
        )
        return Table(head, rows)

    def judge(self, evidence: Evidence[Settings]) -> list[Verdict]:
        every = points_of(evidence)
        return [
            _additive(every[ARMS]),
            *(_negligible(policy, listed) for policy, listed in every.items()),
            *(_fades(policy, listed) for policy, listed in every.items()),
            *(_reference(every[ARMS], rho) for rho in REFERENCES),
            *_doubling(evidence, every[ARMS]),
        ]

    def draw(self, evidence: Evidence[Settings]) -> Figure:
        every = points_of(evidence)
        figure, [over_arms, of_all] = panels(2, width=11.0, height=5.6)
        times = sorted({point.rounds for point in every[ARMS]})
        # The last has the colour that AdaR-UCB has in the other panel, which shows the same runs.
        for rounds, colour in zip(reversed(times), (BLUE, GREEN, SKY), strict=False):
            same = [point for point in every[ARMS] if point.rounds == rounds]
            roots = [point.root for point in same]
            label = f"AdaR-UCB, T = {rounds:,}"
            points(over_arms, roots, [point.extra.values for point in same], colour=colour, label=label)
        last = [point for point in every[ARMS] if point.rounds == times[-1]]
        roots = [point.root for point in last]
        label = f"Theorem 5's, T = {times[-1]:,}"
        line(over_arms, roots, [_theory(point) for point in last], colour=GREY, label=label, style="-")
        paid = last[0].plain.mean
        label = f"all regret without noise, T = {times[-1]:,}"
        line(over_arms, [min(roots), max(roots)], [paid, paid], colour=GREY, label=label, style="--")
        finish(over_arms, title="AdaR-UCB over arms", across="√(1/ρ)", up="extra regret over the noiseless twin")
        low = min(point.extra.mean for point in every[ARMS] if point.extra.mean > 0)
        over_arms.set_ylim(bottom=0.5 * low)
        for policy, (colour, marker) in _STYLE.items():
            rounds = max(point.rounds for point in every[policy])
            same = [point for point in every[policy] if point.rounds == rounds]
            label = f"{policy}, T = {rounds:,}"
            across = [point.root for point in same]
            points(of_all, across, [point.share.values for point in same], colour=colour, label=label, marker=marker)
        label = f"{ALMOST_FREE:.0%}: what we call almost free"
        of_all.axhline(ALMOST_FREE, color=GREY, linestyle=":", linewidth=1.2, label=label)
        finish(of_all, title="all three, as a share", across="√(1/ρ)", up="extra regret / regret without noise")
        of_all.set_yscale("symlog", linthresh=0.1)
        of_all.axhline(0, color=GREY, linewidth=0.6)
        legend_below(figure, [over_arms, of_all], columns=4)
        return figure


def _theory(point: Point) -> float:
    """What noise adds to Theorem 5: 8√(β ln T/ρ) for every arm but the best."""
    return float(arms.bound(point.rho, point.rounds) - arms.bound(NO_NOISE, point.rounds))


def _additive(listed: Sequence[Point]) -> Verdict:
    claim = Claim("The price of AdaR-UCB is at most the additive term of Theorem 5, 8√(β ln T/ρ) per arm but the best.")
    criterion = "mean extra regret at most this term, at every ρ and T"
    ratios = [point.extra.mean / _theory(point) for point in listed]
    largest = max(ratios)
    worst = listed[ratios.index(largest)]
    numbers = f"at most {largest:.2f} of it, at ρ = {worst.rho:g}, T = {worst.rounds:,}"
    return found(claim, largest <= 1, criterion, numbers, largest=largest)


def _negligible(policy: str, listed: Sequence[Point]) -> Verdict:
    rounds = max(point.rounds for point in listed)
    claim = Claim(f"Privacy is almost free for {policy} at moderate budgets, T = {rounds:,}.")
    criterion = f"mean extra regret at most {ALMOST_FREE:.0%} of the noiseless twin's, at every ρ ≥ {MODERATE:g}"
    moderate = [point for point in listed if point.rounds == rounds and point.rho >= MODERATE]
    if not moderate:
        return untested(claim, criterion, f"no budget ρ ≥ {MODERATE:g} was run")
    numbers = ", ".join(f"ρ = {point.rho:g}: {_percent(point.share)}" for point in moderate)
    largest = max(point.share.mean for point in moderate)
    return found(claim, largest <= ALMOST_FREE, criterion, numbers, largest=largest)


def _fades(policy: str, listed: Sequence[Point]) -> Verdict:
    """Negligible as T grows: at the budget in the middle."""
    budgets = sorted({point.rho for point in listed})
    rho = budgets[(len(budgets) - 1) // 2]
    claim = Claim(f"The share of the price in the regret of {policy} falls as T grows, ρ = {rho:g}.")
    same = sorted((point for point in listed if point.rho == rho), key=lambda point: point.rounds)
    if len(same) < 2:
        return untested(claim, "the share at the last T below that at the first", "only one T was run")
    return lower(claim, same[-1].share, same[0].share, of="the share")


def _reference(listed: Sequence[Point], rho: float) -> Verdict:
    reference, uncertain = REFERENCES[rho]
    root = 1 / math.sqrt(rho)
    claim = Claim(
        f"After {REFERENCE_ROUNDS:,} rounds the price of AdaR-UCB is about {reference:g}·√(1/ρ), {budget(rho)}.",
        By.OURS,
    )
    criterion = (
        f"within {_TOLERANCE:.0%} of it, or {_SIGMAS:g} standard errors of both if that is more, over at least "
        f"{arms.REFERENCE_RUNS} runs"
    )
    same = [point for point in listed if point.rho == rho and point.rounds == REFERENCE_ROUNDS]
    if not same:
        return untested(claim, criterion, "not run at this scale")
    cost = same[0].extra
    if len(cost.values) < arms.REFERENCE_RUNS or cost.error is None:
        return untested(claim, criterion, f"{len(cost.values)} runs")
    measured, error = cost.mean / root, cost.error / root
    reach = max(_TOLERANCE * reference, _SIGMAS * math.hypot(error, uncertain))
    numbers = f"{number(measured, 3)} ± {number(error, 2)}"
    return found(claim, abs(measured - reference) <= reach, criterion, numbers, measured=measured, reach=reach)


def _doubling(evidence: Evidence[Settings], listed: Sequence[Point]) -> list[Verdict]:
    """What UCB1 pays less than its doubling twin."""
    scale = evidence.scale
    rounds = min(scale.plain_rounds, scale.rounds, REFERENCE_ROUNDS)
    plain = Sample(arms.PLAIN, regret_at(evidence.results[arms.PLAIN], rounds))
    twin = arms.sample(evidence.results, NO_NOISE, rounds)
    low, high = DOUBLING
    claim = Claim(f"Doubling and forgetting alone cost about 2.5 to 2.7 times UCB1's regret, T = {rounds:,}.", By.OURS)
    criterion = f"mean regret without noise from {low:g} to {high:g} times that of UCB1"
    if rounds < REFERENCE_ROUNDS:
        return [untested(claim, criterion, f"{rounds:,} rounds")]
    ratio = twin.mean / plain.mean
    verdicts = [found(claim, low <= ratio <= high, criterion, f"{plain}, {twin}: {ratio:.2f} times", ratio=ratio)]
    for rho in (rho for rho in scale.budgets if rho >= 0.01):
        point = next(point for point in listed if point.rho == rho and point.rounds == rounds)
        # What is paid for one minus what is paid for the other: both have the twin in them.
        rest = Sample("", 2 * twin.values - point.private.values)
        claim = Claim(f"They cost more than privacy does, ρ = {rho:g}, T = {rounds:,}.", By.OURS)
        criterion = f"their difference exceeds {SIGMAS:g} standard errors"
        if plain.error is None or rest.error is None:
            verdicts.append(untested(claim, criterion, "a single trial has no standard error"))
            continue
        apart, error = rest.mean - plain.mean, math.hypot(plain.error, rest.error)
        paid, cost = number(twin.mean - plain.mean), number(point.extra.mean)
        numbers = f"{paid} against {cost}; difference {number(apart)} ± {number(error, 2)}"
        verdicts.append(found(claim, apart > SIGMAS * error, criterion, numbers, standard_errors=apart / error))
    return verdicts


def _percent(sample: Sample) -> str:
    error = "" if sample.error is None else f" ± {sample.error:.1%}"
    return f"{sample.mean:.1%}{error}"
