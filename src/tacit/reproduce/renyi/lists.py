"""AdaR-GOPE over a public list of actions: random instances, the paper's phase lengths and the exact ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.environments import LinearActions
from tacit.policies.gope import GOPE, RenyiGOPE
from tacit.policies.renyi_bounds import fitted_constant, theorem_8_rate
from tacit.reproduce.experiment import By, Cell, Claim, Verdict
from tacit.reproduce.figures import BLACK, BLUE, ORANGE, finish, line, points
from tacit.reproduce.judge import Sample, found
from tacit.reproduce.renyi.common import NO_NOISE, Grown, Settings, budget, cell, instance_seed, no_faster, shares
from tacit.simulation import Job, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What the phases are as long as.
EQUATION, EXACT = "Eq. 8", "exact width"
RULES: Mapping[str, str] = {EQUATION: "published", EXACT: "exact"}
#: How far below Equation 8 exact phases are at least, from so many rounds on: in fewer hardly an action is eliminated.
LEAST_GAIN, GAIN_ROUNDS = 2.5, 10**6

_MARKERS = {EQUATION: "s", EXACT: "o"}
_COLOURS = (BLACK, BLUE, ORANGE)


class Size(NamedTuple):
    """One size of the problem."""

    dim: int
    arms: int
    rounds: int

    @property
    def shape(self) -> str:
        return f"d = {self.dim}, K = {self.arms}"

    def __str__(self) -> str:
        return f"{self.shape}, T = {self.rounds:,}"


def sizes(scale: Settings) -> list[Size]:
    """All of them."""
    return [Size(*each) for each in scale.lists]


def budgets(scale: Settings) -> tuple[float, ...]:
    """All of them, the noiseless twin first."""
    return (NO_NOISE, *scale.list_budgets)


def gope(rho: float, rule: str, rounds: int) -> GOPE | RenyiGOPE:
    """δ = 1/T."""
    if rho == NO_NOISE:
        return GOPE(phases=RULES[rule], horizon=rounds)
    return RenyiGOPE(rho=rho, phases=RULES[rule], horizon=rounds)


def name(size: Size, rule: str, rho: float, instance: int) -> str:
    """What a run is called."""
    return f"AdaR-GOPE, {rule}, {size}, {budget(rho)}, instance {instance}"


def jobs(scale: Settings, seed: int, rules: Sequence[str] = tuple(RULES)) -> dict[str, Job]:
    """Each instance is a list of actions and a parameter of its own."""
    made = {}
    for size in sizes(scale):
        for instance in range(scale.instances):
            place = LinearActions(dim=size.dim, arms=size.arms, actions_seed=instance)
            for rule in rules:
                for rho in budgets(scale):
                    label = name(size, rule, rho, instance)
                    config, luck = gope(rho, rule, size.rounds), instance_seed(seed, instance)
                    made[label] = Job(config, place, size.rounds, 1, luck, label, by="episodes")
    return made


def sample(scale: Settings, results: Mapping[str, Result], size: Size, rule: str, rho: float) -> Sample:
    """Final regret, one number per instance."""
    values = [results[name(size, rule, rho, instance)].regret_mean for instance in range(scale.instances)]
    return Sample(budget(rho), np.array(values))


def rate(size: Size, rho: float) -> float:
    """Theorem 8."""
    return float(theorem_8_rate(size.dim, size.arms, size.rounds, rho))


def constant(scale: Settings, results: Mapping[str, Result], rule: str) -> float:
    """The one constant for all sizes and budgets."""
    every = [(size, rho) for size in sizes(scale) for rho in budgets(scale)]
    measured = [sample(scale, results, size, rule, rho).mean for size, rho in every]
    return fitted_constant([rate(size, rho) for size, rho in every], measured)


def rows(scale: Settings, results: Mapping[str, Result]) -> list[Sequence[Cell]]:
    """Of the table: regret next to the scaled rate."""
    made: list[Sequence[Cell]] = []
    for rule in RULES:
        fitted = constant(scale, results, rule)
        for size in sizes(scale):
            for rho in budgets(scale):
                measured, scaled = sample(scale, results, size, rule, rho), fitted * rate(size, rho)
                made.append(
                    (
                        f"list, {size.shape}",
                        f"AdaR-GOPE, {rule}",
                        cell(rho),
                        size.rounds,
                        measured.mean,
                        measured.error,
                        scaled,
                        scaled / measured.mean,
                        f"rate of Theorem 8, C = {fitted:.3g} fitted",
                    )
                )
    return made


def verdicts(scale: Settings, results: Mapping[str, Result]) -> list[Verdict]:
    """The rate over T and over budgets, and what exact phases gain."""
    judged = []
    for rule in RULES:
        claim = Claim(f"The regret of AdaR-GOPE, {rule}, grows in T no faster than the rate of Theorem 8.")
        judged.append(no_faster(claim, "T", _over_rounds(scale, results, rule)))
        claim = Claim(f"The regret of AdaR-GOPE, {rule}, grows in 1/ρ no faster than the rate of Theorem 8.")
        judged.append(no_faster(claim, "1/ρ", _over_budgets(scale, results, rule)))
    for size in (size for size in sizes(scale) if size.rounds >= GAIN_ROUNDS):
        gains = {}
        for rho in budgets(scale):
            slow, fast = (sample(scale, results, size, rule, rho).mean for rule in (EQUATION, EXACT))
            gains[budget(rho)] = slow / fast
        least = min(gains.values())
        claim = Claim(f"Eq. 8 has at least {LEAST_GAIN:g} times the regret of phases of exact width, {size}.", By.OURS)
        criterion = f"mean regret with Eq. 8 at least {LEAST_GAIN:g} times that with exact width, at each budget"
        judged.append(found(claim, least >= LEAST_GAIN, criterion, shares(gains), least=least))
    return judged


def _over_rounds(scale: Settings, results: Mapping[str, Result], rule: str) -> list[Grown]:
    """Shapes that are run at several T."""
    groups = []
    for shape in dict.fromkeys(size.shape for size in sizes(scale)):
        same = [size for size in sizes(scale) if size.shape == shape]
        if len(same) > 1:
            for rho in budgets(scale):
                finals: list[Floats] = [sample(scale, results, size, rule, rho).values for size in same]
                rates = [rate(size, rho) for size in same]
                groups.append(Grown(f"{shape}, {budget(rho)}", [size.rounds for size in same], finals, rates))
    return groups


def _over_budgets(scale: Settings, results: Mapping[str, Result], rule: str) -> list[Grown]:
    return [
        Grown(
            str(size),
            [1 / rho for rho in scale.list_budgets],
            [sample(scale, results, size, rule, rho).values for rho in scale.list_budgets],
            [rate(size, rho) for rho in scale.list_budgets],
        )
        for size in sizes(scale)
    ]


def draw(axes: Axes, scale: Settings, results: Mapping[str, Result]) -> None:
    """Final regret over T, for the first shape, with the scaled rate."""
    first = sizes(scale)[0]
    same = [size for size in sizes(scale) if size.shape == first.shape]
    across = [float(size.rounds) for size in same]
    shown = list(dict.fromkeys((NO_NOISE, scale.list_budgets[len(scale.list_budgets) // 3], scale.list_budgets[-1])))
    for rule, marker in _MARKERS.items():
        for rho, colour in zip(shown, _COLOURS, strict=False):
            finals = [sample(scale, results, size, rule, rho).values for size in same]
            label = f"AdaR-GOPE, {rule}, {budget(rho)}"
            points(axes, across, finals, colour=colour, label=label, marker=marker)
    fitted = constant(scale, results, EQUATION)  # the theorem is about these lengths
    for rho, colour in zip(shown, _COLOURS, strict=False):
        scaled = [fitted * rate(size, rho) for size in same]
        label = "rate of the corollary or theorem, one fitted constant"
        line(axes, across, scaled, colour=colour, label=label, style="--")
    finish(axes, title=f"list of actions, {first.shape}: AdaR-GOPE, Theorem 8", across="rounds T", up="")
