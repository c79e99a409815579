"""AdaR-OFUL with fresh public contexts: the paper's width and noise, and ours; how often it switches, and its sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.environments import UnitContexts
from tacit.noise import stream
from tacit.policies.oful import OFUL, RenyiOFUL
from tacit.policies.renyi_bounds import fitted_constant, switch_bound, theorem_10_rate
from tacit.reproduce.experiment import By, Cell, Claim, Verdict
from tacit.reproduce.figures import BLACK, BLUE, GREEN, GREY, ORANGE, finish, line, points
from tacit.reproduce.judge import Sample, final, found
from tacit.reproduce.local.common import side_by_side
from tacit.reproduce.renyi.common import NO_NOISE, Grown, Settings, budget, cell, near, no_faster
from tacit.simulation import Job, Result
from tacit.simulation.loop import run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: λ and C of every run: those that the paper's theorem is stated for.
RIDGE, SWITCH = 1.0, 1.0

PRINTED, SUM, TOEPLITZ = "paper's width and noise", "λ_min, summed noise", "λ_min, Toeplitz noise"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    PRINTED: {"width": "paper", "noise": "sum"},
    SUM: {"width": "gram", "noise": "sum"},
    TOEPLITZ: {"width": "gram", "noise": "toeplitz"},
}
PLAIN = "rarely-switching OFUL"

#: Mean regret at d = 5, T = 10⁵, ρ = 0.1, from an independent implementation (20 runs).
REFERENCES: Mapping[str, float] = {PRINTED: 10_900.0, TOEPLITZ: 294.0}
REFERENCE_DIM, REFERENCE_ROUNDS, REFERENCE_RHO, REFERENCE_RUNS = 5, 10**5, 0.1, 20

_STYLE = {PRINTED: (ORANGE, "s"), SUM: (BLUE, "^"), TOEPLITZ: (GREEN, "o")}


def world(dim: int) -> UnitContexts:
    """K = 20 fresh unit vectors a round, ‖θ*‖ = 0.9, rewards ±1."""
    return UnitContexts(dim=dim)


def oful(variant: str, rho: float, dim: int, rounds: int) -> OFUL | RenyiOFUL:
    """δ = 1/T, and λ0 = 1/d in the paper's width."""
    if rho == NO_NOISE:
        return OFUL(dim=dim, horizon=rounds, ridge=RIDGE, switch=SWITCH)
    return RenyiOFUL(dim=dim, horizon=rounds, rho=rho, ridge=RIDGE, switch=SWITCH, **VARIANTS[variant])


def name(variant: str, rho: float, rounds: int) -> str:
    """What a run is called."""
    if rho == NO_NOISE:
        return f"{PLAIN}, T = {rounds:,}"
    return f"AdaR-OFUL, {variant}, T = {rounds:,}, {budget(rho)}"


def pairs(scale: Settings, variants: Sequence[str] = tuple(VARIANTS)) -> list[tuple[str, float]]:
    """Variants and budgets; the noiseless twin once, first."""
    return [(PLAIN, NO_NOISE), *((variant, rho) for variant in variants for rho in scale.context_budgets)]


def jobs(scale: Settings, seed: int, variants: Sequence[str] = tuple(VARIANTS)) -> dict[str, Job]:
    """One for each horizon: noise and failure probability are set by it."""
    made = {}
    for rounds in scale.horizons:
        for variant, rho in pairs(scale, variants):
            label, config = name(variant, rho, rounds), oful(variant, rho, scale.dim, rounds)
            made[label] = Job(config, world(scale.dim), rounds, scale.context_trials, seed, label)
    return made


def sample(results: Mapping[str, Result], variant: str, rho: float, rounds: int) -> Sample:
    """Final regret."""
    return final(results[name(variant, rho, rounds)], f"{variant}, {budget(rho)}")


def constant(scale: Settings, results: Mapping[str, Result], variant: str) -> float:
    """The one constant for all horizons and budgets."""
    every = [(rho, rounds) for rho in scale.context_budgets for rounds in scale.horizons]
    measured = [sample(results, variant, rho, rounds).mean for rho, rounds in every]
    return fitted_constant([float(theorem_10_rate(scale.dim, rounds, rho)) for rho, rounds in every], measured)


def rows(scale: Settings, results: Mapping[str, Result]) -> list[Sequence[Cell]]:
    """Of the table: regret next to the scaled rate."""
    made: list[Sequence[Cell]] = []
    setting = f"contexts, d = {scale.dim}"
    fitted = {variant: constant(scale, results, variant) for variant in VARIANTS}
    for variant, rho in pairs(scale):
        for rounds in scale.horizons:
            measured = sample(results, variant, rho, rounds)
            head = (setting, variant if variant == PLAIN else f"AdaR-OFUL, {variant}", cell(rho), rounds)
            if variant == PLAIN:
                made.append((*head, measured.mean, measured.error, None, None, ""))
                continue
            scaled = fitted[variant] * float(theorem_10_rate(scale.dim, rounds, rho))
            said = f"rate of Theorem 10, C = {fitted[variant]:.3g} fitted"
            made.append((*head, measured.mean, measured.error, scaled, scaled / measured.mean, said))
    return made


def verdicts(scale: Settings, results: Mapping[str, Result], seed: int) -> list[Verdict]:
    """The rate over T and over budgets, switches, what was found before, and the confidence sets."""
    judged = []
    for variant in (PRINTED, TOEPLITZ):
        claim = Claim(f"The regret of AdaR-OFUL, {variant}, grows in T no faster than the rate of Theorem 10.")
        judged.append(no_faster(claim, "T", _over_rounds(scale, results, variant)))
        claim = Claim(f"The regret of AdaR-OFUL, {variant}, grows in 1/ρ no faster than the rate of Theorem 10.")
        judged.append(no_faster(claim, "1/ρ", _over_budgets(scale, results, variant)))
    judged.append(_switches(scale, seed))
    for variant, reference in REFERENCES.items():
        key, runs = name(variant, REFERENCE_RHO, REFERENCE_ROUNDS), None
        if scale.dim == REFERENCE_DIM and key in results:
            runs = sample(results, variant, REFERENCE_RHO, REFERENCE_ROUNDS)
        claim = Claim(
            f"The regret of AdaR-OFUL, {variant}, is about {reference:,.0f}, T = {REFERENCE_ROUNDS:,}, "
            f"ρ = {REFERENCE_RHO:g}.",
            By.OURS,
        )
        judged.append(near(claim, runs, reference, 0.15, REFERENCE_RUNS))
    judged.append(_covers(scale, seed))
    return judged


def _over_rounds(scale: Settings, results: Mapping[str, Result], variant: str) -> list[Grown]:
    return [
        Grown(
            budget(rho),
            scale.horizons,
            [sample(results, variant, rho, rounds).values for rounds in scale.horizons],
            [float(theorem_10_rate(scale.dim, rounds, rho)) for rounds in scale.horizons],
        )
        for rho in scale.context_budgets
    ]


def _over_budgets(scale: Settings, results: Mapping[str, Result], variant: str) -> list[Grown]:
    return [
        Grown(
            f"T = {rounds:,}",
            [1 / rho for rho in scale.context_budgets],
            [sample(results, variant, rho, rounds).values for rho in scale.context_budgets],
            [float(theorem_10_rate(scale.dim, rounds, rho)) for rho in scale.context_budgets],
        )
        for rounds in scale.horizons
    ]


# What views there were ------------------------------------------------------------------------------------------------


class Followed(NamedTuple):
    """All views of some trials."""

    rounds: Floats  # (looks,) when they were looked at
    counts: Floats  # (trials, looks) how many views there had been by then
    farthest: Floats  # (trials,) the largest ‖θ̃ − θ*‖_V over the width, of any view

    @property
    def switches(self) -> Floats:
        """How many views there were, in each trial."""
        last: Floats = self.counts[:, -1]
        return last


@lru_cache(maxsize=64)
def follow(config: OFUL | RenyiOFUL, rounds: int, trials: int, seed: int) -> Followed:
    """Play trials again, as they were run, and look at every view of them."""
    looked = side_by_side(lambda trial: _look(config, rounds, trial, seed), range(trials))
    seen = np.array([table for table, _ in looked])  # (trials, looks, 2): looks come at the same rounds in all trials
    return Followed(seen[0, :, 0], seen[:, :, 1], np.array([far for _, far in looked]))


def _look(config: OFUL | RenyiOFUL, rounds: int, trial: int, seed: int) -> tuple[Floats, float]:
    """The number of views after so many rounds, and how far θ* was from the worst of them.

    A view lasts until det V has doubled, by which time a seventh more rounds have passed at d = 5: looking after every
    round at first and then after every hundredth part misses none.
    """
    plan, environment = config.plan(), world(config.dim)
    luck, noise = stream(seed, trial, ENVIRONMENT), stream(seed, trial, POLICY)
    started = environment.start(luck)
    vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
    marks, curve, x = np.array([rounds, -1]), np.zeros(1), np.zeros(environment.features)
    clock, total = np.zeros(2, np.int64), np.zeros(1)
    farthest, seen = 0.0, []
    while clock[0] < rounds:
        apart = float(np.linalg.norm(view.factor @ (view.theta - started.theta))) / float(view.width[0])
        farthest = max(farthest, apart)
        portion = int(min(max(1, clock[0] // 100), rounds - clock[0]))
        run(
            plan.params,
            vault,
            view,
            report,
            noise,
            started.params,
            started.slate,
            started.means,
            luck,
            x,
            marks,
            curve,
            clock,
            total,
            portion,
        )
        seen.append((float(clock[0]), float(view.stage[0])))
    return np.array(seen), farthest


def _followed_rounds(scale: Settings) -> int:
    """The longest horizon, up to that of the references: these trials are played again, and nothing is stored."""
    return max((rounds for rounds in scale.horizons if rounds <= REFERENCE_ROUNDS), default=min(scale.horizons))


def _followed(scale: Settings, variant: str, rho: float, seed: int) -> Followed:
    rounds = _followed_rounds(scale)
    config = oful(variant, rho, scale.dim, rounds)
    return follow(config, rounds, min(scale.followed, scale.context_trials), seed)


def _switches(scale: Settings, seed: int) -> Verdict:
    rounds = _followed_rounds(scale)
    most = switch_bound(scale.dim, rounds, ridge=RIDGE, switch=SWITCH)
    counts = {
        f"{variant}, {budget(rho)}": float(_followed(scale, variant, rho, seed).switches.max())
        for variant, rho in pairs(scale)
    }
    claim = Claim(f"There are at most d·log_(1+C)(1 + T/(λd)) switches, T = {rounds:,}.")
    criterion = f"at most {most:.1f} in every trial followed"
    numbers = ", ".join(f"{key}: {count:.0f}" for key, count in counts.items())
    largest = max(counts.values())
    return found(claim, largest <= most, criterion, f"the most of any trial: {numbers}", most=largest, bound=most)


def _covers(scale: Settings, seed: int) -> Verdict:
    apart = {
        f"{variant}, {budget(rho)}": float(_followed(scale, variant, rho, seed).farthest.max())
        for variant, rho in pairs(scale)
    }
    claim = Claim("Every confidence set holds θ*.", By.OURS)
    criterion = "‖θ̃ − θ*‖_V at most the width, in every view of every trial followed"
    numbers = ", ".join(f"{key}: {value:.2f}" for key, value in apart.items())
    largest = max(apart.values())
    return found(claim, largest <= 1, criterion, f"at most so many widths apart: {numbers}", largest=largest)


def draw(axes: Axes, scale: Settings, results: Mapping[str, Result]) -> None:
    """Final regret over T, with the scaled rates."""
    across = [float(rounds) for rounds in scale.horizons]
    finals = [sample(results, PLAIN, NO_NOISE, rounds).values for rounds in scale.horizons]
    points(axes, across, finals, colour=BLACK, label=PLAIN, marker="o")
    rho = scale.context_budgets[len(scale.context_budgets) // 2]
    for variant, (colour, marker) in _STYLE.items():
        finals = [sample(results, variant, rho, rounds).values for rounds in scale.horizons]
        points(axes, across, finals, colour=colour, label=f"AdaR-OFUL, {variant}", marker=marker)
        if variant != SUM:
            fitted = constant(scale, results, variant)
            scaled = [fitted * float(theorem_10_rate(scale.dim, rounds, rho)) for rounds in scale.horizons]
            label = "rate of the corollary or theorem, one fitted constant"
            line(axes, across, scaled, colour=colour, label=label, style="--")
    title = f"contexts, d = {scale.dim}, {budget(rho)}: AdaR-OFUL, Theorem 10"
    finish(axes, title=title, across="rounds T", up="pseudo-regret")


def draw_switches(axes: Axes, scale: Settings, seed: int) -> None:
    """How many views there have been, under the bound."""
    rho = scale.context_budgets[len(scale.context_budgets) // 2]
    styles = {PLAIN: (BLACK, "-"), PRINTED: (ORANGE, "-"), TOEPLITZ: (GREEN, "--")}
    at: Floats = np.zeros(0)
    for variant, (colour, style) in styles.items():
        followed = _followed(scale, variant, NO_NOISE if variant == PLAIN else rho, seed)
        at, label = followed.rounds, PLAIN if variant == PLAIN else f"AdaR-OFUL, {variant}"
        axes.plot(at, followed.counts.mean(axis=0), color=colour, linestyle=style, linewidth=1.6, label=label)
    most = [switch_bound(scale.dim, int(rounds), ridge=RIDGE, switch=SWITCH) for rounds in at]
    line(axes, at, most, colour=GREY, label="switch bound d·log_(1+C)(1 + T/(λd))", style="-")
    title = f"contexts, d = {scale.dim}, {budget(rho)}: views so far"
    finish(axes, title=title, across="rounds", up="switches", log_y=False)
