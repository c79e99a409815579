"""AdaR-UCB over plain arms: its runs, and what they are held against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit.environments import Arms
from tacit.policies.episodic import UCB1, RenyiUCB
from tacit.policies.episodic.arms import THEOREM
from tacit.policies.lower_bounds import private_arms_floor
from tacit.policies.renyi_bounds import conjectured_floor, corollary_6_rate, fitted_constant, theorem_5
from tacit.reproduce.experiment import By, Cell, Claim, Verdict
from tacit.reproduce.figures import BLACK, BLUE, GREY, ORANGE, curve, finish, line
from tacit.reproduce.judge import Sample, below_line
from tacit.reproduce.renyi.common import (
    NO_NOISE,
    Grown,
    Settings,
    budget,
    cell,
    decades,
    near,
    no_faster,
    regret_at,
)
from tacit.simulation import Job, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORLD = Arms()
PLAIN = "UCB1"

#: Mean regret after 10⁶ rounds at β = 3.1, from an independent implementation (200 runs, standard errors up to 26).
REFERENCES: Mapping[float, float] = {NO_NOISE: 936.0, 0.1: 978.0, 0.01: 1324.0, 0.001: 2824.0}
REFERENCE_ROUNDS = 10**6
REFERENCE_RUNS = 400

#: Rates are asymptotic: they are not held against the first rounds.
_SINCE = 1000
_COLOURS = (BLACK, BLUE, ORANGE)


def ada_ucb(rho: float, optimism: float = THEOREM) -> UCB1 | RenyiUCB:
    """AdaR-UCB at this budget; without noise its twin that doubles and forgets all the same."""
    if rho == NO_NOISE:
        return UCB1(doubling=True, optimism=optimism)
    return RenyiUCB(rho=rho, optimism=optimism)


def name(rho: float) -> str:
    """What a run is called."""
    return f"AdaR-UCB, {budget(rho)}"


def budgets(scale: Settings) -> tuple[float, ...]:
    """All of them, the noiseless twin first."""
    return (NO_NOISE, *scale.budgets)


def jobs(scale: Settings, seed: int) -> dict[str, Job]:
    """By episodes, and UCB1 itself round by round."""
    made = {PLAIN: Job(UCB1(), WORLD, scale.plain_rounds, min(scale.plain_trials, scale.trials), seed, PLAIN)}
    for rho in budgets(scale):
        label = name(rho)
        made[label] = Job(ada_ucb(rho), WORLD, scale.rounds, scale.trials, seed, label, by="episodes")
    return made


def sample(results: Mapping[str, Result], rho: float, rounds: int) -> Sample:
    """Regret after so many rounds."""
    return Sample(budget(rho), regret_at(results[name(rho)], rounds))


def bound(rho: float, rounds: ArrayLike) -> Floats:
    """Theorem 5."""
    return theorem_5(ada_ucb(rho), WORLD.means, rounds)


def rows(scale: Settings, results: Mapping[str, Result]) -> list[Sequence[Cell]]:
    """Of the table: regret at powers of ten next to the theorem."""
    found: list[Sequence[Cell]] = []
    for rounds in decades(scale.rounds, 10**5):
        if rounds <= scale.plain_rounds:
            plain = Sample(PLAIN, regret_at(results[PLAIN], rounds))
            found.append(("arms", PLAIN, "∞", rounds, plain.mean, plain.error, None, None, ""))
        for rho in budgets(scale):
            measured, at_most = sample(results, rho, rounds), float(bound(rho, rounds))
            found.append(
                (
                    "arms",
                    "AdaR-UCB",
                    cell(rho),
                    rounds,
                    measured.mean,
                    measured.error,
                    at_most,
                    at_most / measured.mean,
                    "Theorem 5",
                )
            )
    return found


def verdicts(scale: Settings, results: Mapping[str, Result]) -> list[Verdict]:
    """The theorem at every checkpoint, the rate over T, and what was found before."""
    lines = [
        (budget(rho), results[name(rho)].curves.mean(axis=0), bound(rho, results[name(rho)].checkpoints))
        for rho in budgets(scale)
    ]
    sizes = decades(scale.rounds)
    grown = [
        Grown(
            budget(rho),
            sizes,
            [sample(results, rho, rounds).values for rounds in sizes],
            [float(corollary_6_rate(WORLD.features, rounds, rho)) for rounds in sizes],
        )
        for rho in budgets(scale)
    ]
    judged = [
        below_line(Claim("The regret of AdaR-UCB stays below Theorem 5, with its constants."), lines),
        no_faster(Claim("The regret of AdaR-UCB grows in T no faster than the rate of Corollary 6."), "T", grown),
    ]
    for rho, reference in REFERENCES.items():
        runs = None
        if name(rho) in results and scale.rounds >= REFERENCE_ROUNDS:
            runs = sample(results, rho, REFERENCE_ROUNDS)
        said = f"After {REFERENCE_ROUNDS:,} rounds the regret of AdaR-UCB is about {reference:,.0f}, {budget(rho)}."
        claim = Claim(said, By.OURS)
        judged.append(near(claim, runs, reference, 0.05, REFERENCE_RUNS))
    return judged


def draw(axes: Axes, scale: Settings, results: Mapping[str, Result]) -> None:
    """Regret over T with Theorem 5, the rate of Corollary 6, the conjecture and Corollary 15."""
    since = min(_SINCE, scale.rounds)
    shown = list(dict.fromkeys((NO_NOISE, scale.budgets[len(scale.budgets) // 3], scale.budgets[-2:][0])))
    marks = results[name(NO_NOISE)].checkpoints
    late = marks[marks >= since]
    curve(axes, results[PLAIN], colour=GREY, label=f"{PLAIN}, every round", since=since)
    for rho, colour in zip(shown, _COLOURS, strict=False):
        result = results[name(rho)]
        curve(axes, result, colour=colour, label=name(rho), since=since)
        line(axes, late, bound(rho, late), colour=colour, label="Theorem 5 (thin, same colour)", style="-")
    last, colour = shown[-1], _COLOURS[len(shown) - 1]
    rate = corollary_6_rate(WORLD.features, late, last)
    measured = results[name(last)].curves.mean(axis=0)[marks >= since]
    fitted = fitted_constant(rate, measured)
    label = "rate of the corollary or theorem, one fitted constant"
    line(axes, late, fitted * rate, colour=colour, label=label, style="--")
    if last != NO_NOISE:
        line(
            axes,
            late,
            conjectured_floor(last, late),
            colour=colour,
            label="√(ln T/ρ): conjecture, not proved",
            style=":",
        )
        # ε-DP is (ε²/2)-zCDP: of all pure promises this is the weakest that would keep ρ.
        floor = private_arms_floor(WORLD.features, late, math.sqrt(2 * last))
        label = "Corollary 15 at pure ε = √(2ρ)"
        line(axes, late, floor, colour=GREY, label=label, style="-.")
    finish(axes, title=f"K = {WORLD.features} arms: AdaR-UCB, Corollary 6", across="rounds T", up="pseudo-regret")
    axes.set_xlim(since, float(np.max(marks)))
