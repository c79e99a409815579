"""The rules claims are judged by. Each says in words what it does, next to doing it.

Runs that are compared share a seed: trial i of both meets the same contexts. So differences are taken trial by trial,
which is what their standard error is about. A single trial has none: what needs one is then not tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from tacit._types import Floats
from tacit.report.tables import number
from tacit.reproduce.experiment import Claim, Finding, Verdict
from tacit.simulation import Result
from tacit.simulation.result import standard_error

#: How many standard errors a difference must exceed.
SIGMAS = 2.0


class Sample(NamedTuple):
    """A name, and one number per trial."""

    name: str
    values: Floats

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def error(self) -> float | None:
        return standard_error(self.values)

    def __str__(self) -> str:
        error = "" if self.error is None else f" ± {number(self.error, 2)}"
        return f"{self.name} {number(self.mean)}{error}"


class Interval(NamedTuple):
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}]"


def final(result: Result, name: str | None = None) -> Sample:
    """Final regret, trial by trial."""
    return Sample(name or result.label, result.regret)


def untested(claim: Claim, criterion: str, why: str) -> Verdict:
    """The scale cannot say."""
    return Verdict(claim, Finding.UNTESTED, criterion, why)


def found(claim: Claim, holds: bool, criterion: str, numbers: str, **values: float) -> Verdict:
    """The scale can say, and this is what it says."""
    finite = {name: float(value) for name, value in values.items() if math.isfinite(value)}
    return Verdict(claim, Finding.HOLDS if holds else Finding.FAILS, criterion, numbers, finite)


def highest(claim: Claim, large: Sample, *others: Sample, of: str = "final regret") -> Verdict:
    """`large` is above every one of the others: the mean difference exceeds two standard errors, trial by trial."""
    pairs = [(other, large) for other in others]
    each = "each of " if len(others) > 1 else ""
    between = f"{large.name} minus {each}{', '.join(other.name for other in others)}"
    criterion = f"mean difference in {of}, {between}, trial by trial, above {SIGMAS:g} standard errors"
    if min(len(small.values) for small, _ in pairs) < 2:
        return untested(claim, criterion, "a single trial has no standard error")
    parts, least = [], math.inf
    for small, large in pairs:
        difference = large.values - small.values
        mean, error = float(difference.mean()), standard_error(difference) or 0.0
        parts.append(f"difference {number(mean)} ± {number(error, 2)}")
        if len(pairs) > 1:
            parts[-1] += f" to {small.name}"
        least = min(least, mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0)
    named = {sample.name: str(sample) for pair in pairs for sample in pair}
    numbers = "; ".join([", ".join(named.values()), *parts])
    return found(claim, least > SIGMAS, criterion, numbers, least_standard_errors=least)


def lower(claim: Claim, small: Sample, large: Sample, *, of: str = "final regret") -> Verdict:
    """`small` is below `large`."""
    return highest(claim, large, small, of=of)


def at_least_times(claim: Claim, small: Sample, large: Sample, factor: float) -> Verdict:
    """The mean of `large` is at least `factor` times that of `small`."""
    criterion = f"mean of {large.name} at least {factor:g} times that of {small.name}"
    ratio = large.mean / small.mean if small.mean > 0 else math.inf
    numbers = f"{large}, {small}: {number(ratio, 3) if math.isfinite(ratio) else 'infinitely many'} times"
    return found(claim, ratio >= factor, criterion, numbers, ratio=ratio)


def alike(claim: Claim, one: Sample, other: Sample, share: float) -> Verdict:
    """The means differ by at most a share of the larger one."""
    criterion = f"means of {one.name} and {other.name} differ by at most {share:.0%} of the larger one"
    top = max(one.mean, other.mean)
    apart = abs(one.mean - other.mean) / top if top > 0 else 0.0
    return found(claim, apart <= share, criterion, f"{one}, {other}: {apart:.1%} apart", relative_difference=apart)


def below_line(
    claim: Claim, lines: Sequence[tuple[str, Floats, Floats]], *, above: bool = False, where: str = "every checkpoint"
) -> Verdict:
    """Every curve stays below its line (or `above` it) at every point it is given for.

    `lines`: name, curve, line; curves are means over trials.
    """
    side = "above" if above else "below"
    criterion = f"mean regret {side} the line at {where}"
    worst, parts = math.inf, []
    for name, curve, line in lines:
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = curve / line if above else line / curve
        closest = float(np.nanmin(margin))
        parts.append(f"{name}: at the closest {number(closest, 3)} times")
        worst = min(worst, closest)
    return found(claim, worst > 1, criterion, "; ".join(parts), closest=worst)


def log_log_slope(sizes: Sequence[float], finals: Sequence[Floats]) -> Interval:
    """The slope of log(final) against log(size), and its 95 % interval.

    Trials at different sizes are independent, so trial i over all sizes gives one slope, and the slopes of the trials
    are independent: Student's interval for their mean. Needs two trials for an interval; with one it is the whole line.
    """
    logs = np.log(np.asarray(sizes, float))
    centred = logs - logs.mean()
    slopes = (np.log(np.column_stack(finals)) @ centred) / (centred @ centred)
    mean, error = float(slopes.mean()), standard_error(slopes)
    if error is None:
        return Interval(mean, -math.inf, math.inf)
    reach = float(student.ppf(0.975, len(slopes) - 1)) * error
    return Interval(mean, mean - reach, mean + reach)


def slope_near(claim: Claim, slope: Interval, low: float, high: float) -> Verdict:
    """The slope's 95 % interval meets [low, high]."""
    criterion = f"the 95 % interval of the fitted slope, over trials, meets [{low:g}, {high:g}]"
    if not math.isfinite(slope.low):
        return untested(claim, criterion, "a single trial gives no interval")
    meets = slope.low <= high and slope.high >= low
    return found(claim, meets, criterion, f"slope {slope}", slope=slope.estimate, low=slope.low, high=slope.high)
