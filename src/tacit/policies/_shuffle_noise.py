"""How much noise a batch of `ShuffleLinUCB` has: of counts, and of reports that have Gaussian noise of their own.

Everything is per coordinate of a report: the upper triangle of x xᵀ, and x·y; with arms those of every arm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tacit.counters.counter import Load, calibrate_lattice
from tacit.errors import PrivacyRefusal
from tacit.mechanisms.shuffle import Grid, Ones, grid_of
from tacit.noise import Binomial, DiscreteGaussian, Law
from tacit.privacy.binomial import binomial_trials
from tacit.privacy.calibrate import SAFETY, Promise
from tacit.privacy.event import (
    BinomialSumEvent,
    Event,
    LatticeEvent,
    ReportEvent,
    ShuffledReportsEvent,
    UncertifiedNoise,
)
from tacit.privacy.shuffle import amplified_scale

if TYPE_CHECKING:
    from tacit.policies.shuffle_linucb import ShuffleLinUCB

#: Beyond this, counts times their probability are not exact in double precision.
_MOST_ONES = 2**51
NO_GRID = Grid(0.0, 1.0, 0.0)


@dataclass(frozen=True)
class Noise:
    """The noise of one batch, and the fact that is priced."""

    event: Event
    scale: float  # σ of one report (amplification); 0 with a grid
    grid: Grid
    each: int  # b: ones of one person
    probability: float  # p
    deviation: float  # of a batch's sum, per coordinate
    proxy: float  # the same for tails: the batch is sub-Gaussian with it
    step: float = 0.0  # of the lattice that Gaussian reports are on
    exact: bool = False  # whether it is drawn exactly

    @property
    def counts(self) -> bool:
        """Whether reports are counts."""
        return self.each > 0

    def ones(self, trials: int) -> Ones:
        """So many trials of the vector sum."""
        return Ones(float(trials), self.probability, self.exact)

    def law(self, trials: int) -> Law | None:
        """What the noise of a report is drawn from, or that of so many trials; None in double precision."""
        if not self.exact:
            return None
        return Binomial(trials, self.probability) if self.counts else DiscreteGaussian(self.scale / self.step)


def noise_of(config: ShuffleLinUCB, sampler: str = "double") -> Noise:
    """The noise of this configuration. What nothing is proved of stays in doubles: it protects nothing either way."""
    found = _NOISES[config.protocol, config.calibrated](config)
    if sampler != "secure" or config.calibration == "script":
        return found
    return replace(found, exact=True) if found.counts else _on_lattice(config, found)


# Vector sum -----------------------------------------------------------------------------------------------------------


def _exact_sum(config: ShuffleLinUCB) -> Noise:
    """The fewest fair ones whose sum keeps the promise, shared among the honest."""
    grid = grid_of(config.grid_steps, config.largest_entry)
    wanted = Promise(config.epsilon, config.delta)
    trials = binomial_trials(wanted, _in_steps(config, grid), config.changed_numbers, config.reports)
    return _certified(config, grid, math.ceil(trials / config.honest_people), 0.5)


def _published_sum(config: ShuffleLinUCB) -> Noise:
    """g = max(2√B, d, 4), p = ¼, b = 24·10⁴·g²·ln²(4(d² + 1)/δ)/(ε²B): Chowdhury and Zhou (2022)."""
    steps = _published_steps(config)
    log = math.log(4 * (config.dim**2 + 1) / config.delta)
    each = math.ceil(24e4 * steps**2 * log**2 / (config.epsilon**2 * config.batch_size))
    return _certified(config, grid_of(steps, config.largest_entry), each, 0.25)


def _certified(config: ShuffleLinUCB, grid: Grid, each: int, chance: float) -> Noise:
    event = BinomialSumEvent(
        trials=each * config.honest_people,
        sensitivity=_in_steps(config, grid),
        coordinates=config.changed_numbers,
        delta=config.delta,
        reports=config.reports,
        chance=chance,
    )
    return _counted(config, grid, each, chance, event)


def _script_sum(config: ShuffleLinUCB) -> Noise:
    """b = s·g²·ln²(d/δ)/(ε²B) with s = 1 at ε = 0.2 and 10 otherwise, as a public script has it: covered by nothing."""
    steps = _published_steps(config)
    grid = grid_of(steps, config.largest_entry)
    factor = 1 if config.epsilon == 0.2 else 10
    log = math.log(config.dim / config.delta)
    each = max(1, math.ceil(factor * steps**2 * log**2 / (config.epsilon**2 * config.batch_size)))
    return _counted(config, grid, each, 0.25, UncertifiedNoise("the ones of a public script"))


def _published_steps(config: ShuffleLinUCB) -> int:
    return max(math.ceil(2 * math.sqrt(config.batch_size)), config.dim, 4)


def _counted(config: ShuffleLinUCB, grid: Grid, each: int, probability: float, event: Event) -> Noise:
    batch = config.batch_size
    if batch * (each + grid.steps) > _MOST_ONES:
        raise PrivacyRefusal(
            f"Expected at most 2**51 ones in a batch, got {batch * each:.3g} for epsilon={config.epsilon:g}: more than "
            "can be counted exactly. Promise a larger epsilon, or use a coarser grid."
        )
    # Rounding adds at most a quarter of a step squared per person.
    variance = batch * (each * probability * (1 - probability) + 0.25)
    proxy = batch * (each + 1) / 4
    return Noise(
        event=event,
        scale=0.0,
        grid=grid,
        each=each,
        probability=probability,
        deviation=grid.step * math.sqrt(variance),
        proxy=grid.step * math.sqrt(proxy),
    )


def _in_steps(config: ShuffleLinUCB, grid: Grid) -> float:
    """How far replacing one person moves a report before rounding, in grid steps; a hair more, for the last digits."""
    return config.sensitivity / grid.step * (1 + SAFETY)


# Amplification --------------------------------------------------------------------------------------------------------


def _exact_reports(config: ShuffleLinUCB) -> Noise:
    """The least Gaussian noise per report that keeps the promise, with the shuffler's help or without."""
    wanted = Promise(config.epsilon, config.delta)
    scale = amplified_scale(wanted, config.sensitivity, config.honest_people, config.reports)
    return _gaussian(config, scale, _shuffled(config, scale))


def _published_reports(config: ShuffleLinUCB) -> Noise:
    """σ = 4·√(2 ln(2.5B/δ)·ln(2/δ))/(ε√B) for ‖x‖ ≤ 1 and |y| ≤ 1: Chowdhury and Zhou (2022).

    The 4 is twice the largest ‖x xᵀ‖ and ‖x·y‖ together, so it scales with the bounds. Priced by what it truly gives.
    """
    batch, reach = config.batch_size, 2 * config.action_norm * (config.action_norm + config.reward_size)
    tails = math.log(2.5 * batch / config.delta) * math.log(2 / config.delta)
    scale = reach * math.sqrt(2 * tails) / (config.epsilon * math.sqrt(batch))
    return _gaussian(config, scale, _shuffled(config, scale))


def _script_reports(config: ShuffleLinUCB) -> Noise:
    """σ = √ln(2.5B/δ)/(ε√B), as a public script has it: no theorem covers it, and it knows no sensitivity."""
    batch = config.batch_size
    scale = math.sqrt(math.log(2.5 * batch / config.delta)) / (config.epsilon * math.sqrt(batch))
    return _gaussian(config, scale, UncertifiedNoise("the Gaussian noise of a public script"))


def _shuffled(config: ShuffleLinUCB, scale: float) -> ShuffledReportsEvent:
    return ShuffledReportsEvent(
        scale=scale,
        sensitivity=config.sensitivity,
        batch=config.batch_size,
        honest=config.honest,
        delta=config.delta,
        reports=config.reports,
    )


def _on_lattice(config: ShuffleLinUCB, noise: Noise) -> Noise:
    """The same reports in whole steps. What rounding costs is made up for by noise, so that the shuffler is given
    reports of the same μ."""
    laid = calibrate_lattice(
        None,
        lambda scale: ReportEvent(scale, config.sensitivity),
        lambda event: event,
        rough=noise.scale,
        sensitivity=config.sensitivity,
        coordinates=config.private_numbers,
        load=Load(1.0, 1, 1),
    )
    assert isinstance(laid.event, LatticeEvent)
    event = replace(laid.event, event=_shuffled(config, laid.scale))
    return replace(_gaussian(config, laid.scale, event), step=laid.step, exact=True)


def _gaussian(config: ShuffleLinUCB, scale: float, event: Event) -> Noise:
    deviation = scale * math.sqrt(config.batch_size)
    return Noise(event=event, scale=scale, grid=NO_GRID, each=0, probability=0.5, deviation=deviation, proxy=deviation)


_NOISES = {
    ("vector-sum", "exact"): _exact_sum,
    ("vector-sum", "published"): _published_sum,
    ("vector-sum", "script"): _script_sum,
    ("amplification", "exact"): _exact_reports,
    ("amplification", "published"): _published_reports,
    ("amplification", "script"): _script_reports,
}
