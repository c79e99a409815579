"""What the experiments on Rényi-private bandits share: the paper, budgets, scales, and rules of judging."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.report.tables import number
from tacit.reproduce.experiment import Claim, Scale, Verdict
from tacit.reproduce.judge import Sample, found, log_log_slope, untested
from tacit.simulation import Result

PAPER = "Azize and Basu, Rényi Differentially Private Bandits"

#: ρ of the noiseless twins.
NO_NOISE = math.inf

#: Reported seeds end here; see `runner.SEED_LIMIT`.
_SEEDS = 10**6
_APART = 10_007


@dataclass(frozen=True, kw_only=True)
class Settings(Scale):
    """All three settings of the paper. `rounds` and `trials` are those over plain arms."""

    budgets: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001, 1e-4)  # ρ over plain arms
    plain_rounds: int = 10**6  # of UCB1, which has no episodes and is run round by round
    plain_trials: int = 40
    lists: tuple[tuple[int, int, int], ...] = ((5, 20, 10**5), (5, 20, 10**6))  # d, K, T
    list_budgets: tuple[float, ...] = (0.1, 0.01, 0.001)
    instances: int = 10
    dim: int = 5  # of contexts
    horizons: tuple[int, ...] = (10**4, 3 * 10**4, 10**5)  # T, with contexts
    context_budgets: tuple[float, ...] = (1.0, 0.1, 0.01)
    context_trials: int = 20
    followed: int = 4  # trials with contexts whose every view is looked at


SCALES = {
    "quick": Settings(name="quick", rounds=10**7, trials=400, time="about a minute"),
    "paper": Settings(
        name="paper",
        rounds=10**7,
        trials=1000,
        plain_rounds=10**7,
        lists=((5, 20, 10**5), (5, 20, 10**6), (5, 20, 10**7), (10, 50, 10**6)),
        list_budgets=(1.0, 0.1, 0.01, 0.001),
        instances=20,
        horizons=(10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6),
        followed=20,
        time="about 6 minutes",
    ),
}


def budget(rho: float) -> str:
    """A budget in words."""
    return "no noise" if rho == NO_NOISE else f"ρ = {rho:g}"


def cell(rho: float) -> str:
    """A budget in a table."""
    return "∞" if rho == NO_NOISE else f"{rho:g}"


def instance_seed(seed: int, instance: int) -> int:
    """The seed of an instance: instances are jobs of their own, and must not share their luck."""
    return (seed + _APART * instance) % _SEEDS


def regret_at(result: Result, rounds: int) -> Floats:
    """Regret of each trial after so many rounds: on the line between two checkpoints, which are 1.6 % apart."""
    return np.array([np.interp(rounds, result.checkpoints, curve) for curve in result.curves])


def decades(rounds: int, first: int = 10**4) -> list[int]:
    """Powers of ten from `first` on, and `rounds` itself."""
    powers = [10**k for k in range(1, 19) if first <= 10**k < rounds]
    return [*powers, rounds]


class Grown(NamedTuple):
    """How regret grew with something, next to how a rate does."""

    name: str
    sizes: Sequence[float]
    finals: Sequence[Floats]  # one number per trial
    rates: Sequence[float]


def no_faster(claim: Claim, what: str, groups: Sequence[Grown]) -> Verdict:
    """Regret grows no faster than its rate, in every group."""
    criterion = (
        f"for each, the 95 % interval over trials of the slope of ln(regret/rate) in ln({what}) reaches down to 0, or "
        "lies below"
    )
    usable = [group for group in groups if len(group.sizes) > 1 and len(group.finals[0]) > 1]
    if not usable or len(usable) < len(groups):
        return untested(claim, criterion, "a slope needs two sizes, and two trials for its interval")
    parts, worst = [], -math.inf
    for group in usable:
        shares = [values / rate for values, rate in zip(group.finals, group.rates, strict=True)]
        slope = log_log_slope(group.sizes, shares)
        parts.append(f"{group.name}: {slope}")
        worst = max(worst, slope.low)
    return found(claim, worst <= 0, criterion, "; ".join(parts), largest_lower_end=worst)


def near(claim: Claim, sample: Sample | None, reference: float, share: float, runs: int) -> Verdict:
    """The mean is what was found before, up to a share of it."""
    criterion = f"mean within {share:.0%} of {reference:,.0f}, over at least {runs} runs"
    if sample is None:
        return untested(claim, criterion, "not run at this scale")
    if len(sample.values) < runs:
        return untested(claim, criterion, f"{len(sample.values)} runs")
    off = sample.mean / reference - 1
    return found(claim, abs(off) <= share, criterion, f"{sample}: {off:+.1%}", mean=sample.mean, off=off)


def extra(private: Sample, plain: Sample) -> Sample:
    """What privacy adds, trial by trial."""
    return Sample(private.name, private.values - plain.values)


def shares(parts: Mapping[str, float]) -> str:
    """Ratios, for reading."""
    return ", ".join(f"{name}: {number(value, 3)}" for name, value in parts.items())
