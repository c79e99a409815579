"""LinUCB under shuffle privacy: people add little noise, a shuffler mixes a batch, and the server sees the mixture.

Chowdhury and Zhou (2022), *Shuffle Private Linear Contextual Bandits*. Two protocols. In the *vector sum* a report is a
vector of counts with a few random ones on top, and only the totals of a batch get out; its price is a certified
numeric bound that works at every ε (default). *Amplification* mixes reports that have Gaussian noise of their own; the
bound that makes them cheaper together needs a small ε and a large batch, and where it does not help, the plan is
priced as if there were no shuffler.

Who draws the ones of the vector sum: in one process `publish`, once for a whole batch; a device its own share, in
`report_row`; a server none. Roles differ in numbers only. What is proved: `mechanisms/shuffle/proof.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import one_of, real, whole
from tacit.calibrations import Exact, Published, Script
from tacit.core.plan import Draws, Plan
from tacit.core.round import ROWS
from tacit.core.settings import option, unfold
from tacit.counters.batches import MEMORY_ROWS, Batches
from tacit.counters.counter import EveryBatch, Load, calibrate_lattice
from tacit.errors import BadInput, PrivacyRefusal
from tacit.estimators.growing import Growing, constant, proved
from tacit.estimators.ridge import empty_view
from tacit.explorations import Optimism
from tacit.mechanisms.report import PersonBounds, clip_reward, report_gram, shrink_to_radius
from tacit.mechanisms.shuffle import Grid, Ones, draw_ones, grid_of, most_uniforms, round_randomly
from tacit.mechanisms.shuffle.binomial import PROPOSAL
from tacit.noise import Binomial, DiscreteGaussian, Law, fill_uniforms
from tacit.policies._reporting import SummingPolicy
from tacit.policies.linear import Linear, linear_vault, report_row, sum_row
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
from tacit.privacy.guarantee import Guarantee, round_up
from tacit.privacy.scope import Protects, Trust
from tacit.privacy.shuffle import amplified_scale

#: c of the proved width: docs/decisions/0014-shuffle.md.
DEFAULT_SHIFT = 3.0


class MixedRow(NamedTuple):
    """A row that leaves the device as counts, or as x xᵀ and x·y under noise, to be mixed with others."""

    bounds: PersonBounds
    scale: float  # σ of a report's Gaussian noise; not used with a grid
    step: float  # of the lattice that a Gaussian report is on; 0: none, and noise in doubles
    grid: Grid  # no steps: reports are Gaussian, not counts
    ones: Ones  # of b trials on a device, of none elsewhere: drawn with the report
    people: int  # whose reports are absorbed at once: 1, or B


@dataclass(frozen=True, kw_only=True)
class ShuffleLinUCB(SummingPolicy):
    """LinUCB that sees people in batches only, mixed by somebody it does not control.

    Formal guarantee: (ε, δ)-shuffle DP: what the shuffler hands on, over all batches, is (ε, δ)-indistinguishable when
    one person's action and reward are replaced, if the shuffler mixes and hands on full batches only, and if at least
    the share `honest` of the people in each batch add their noise. Whoever trusts no shuffler has less: a Gaussian
    report alone keeps its local price, counts alone have none to speak of.

    `calibration="published"` uses the constants of the paper and says what they truly give; `calibration="script"`
    those of a public script, which nothing covers: it promises no privacy, and is here to reproduce figures.
    """

    slug: ClassVar[str] = "shuffle-linucb"
    summary: ClassVar[str] = "LinUCB under shuffle DP: a shuffler mixes batches of lightly noised reports"
    trust: ClassVar[Trust] = Trust.SHUFFLE
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = "bounds on actions and rewards, a horizon, and a shuffler"
    rules: ClassVar[tuple[str, ...]] = ("least-squares", "script", "theory")

    protocol: str = option(
        '"vector-sum": counts, of which only totals get out (any epsilon); "amplification": mixed Gaussian reports',
        "vector-sum",
    )
    batch: int | None = option(
        "people in a batch B (default: T^(3/5)·d^(-1/5)·epsilon^(-2/5), which balances noise and delay)", None
    )
    honest: float = option("assumed share of the people in a batch who add their noise", 1.0)
    calibration: str | Exact | Published | Script = option(
        '"exact": the least noise that keeps the promise; "published": the constants of the paper; "script": those of '
        "a public script, without any guarantee",
        "exact",
    )
    width: float | str | None = option(
        '"least-squares" (heuristic; default), "script" (heuristic; default of the other calibrations), "theory" '
        "(proved), or a number that multiplies the default",
        None,
    )
    grid: int | None = option("vector sum: grid steps g that a number is rounded to (default: enough)", None)
    shift: float | None = option(
        'with width="theory": regulariser c > 1 in units of the noise bound (default: 3)', None
    )

    def __post_init__(self) -> None:
        unfold(self, "calibration", (Exact, Published, Script))
        super().__post_init__()
        one_of("protocol", self.protocol, ("vector-sum", "amplification"))
        one_of("calibration", self.calibration, ("exact", "published", "script"))
        if self.batch is not None and whole("batch", self.batch) > self.horizon:
            raise BadInput(
                f"Expected batch <= horizon={self.horizon}, got batch={self.batch}: no batch would ever be full."
            )
        if not 0 < real("honest", self.honest) <= 1:
            raise BadInput(f"Expected 0 < honest <= 1, got honest={self.honest!r}. It is a share of the people.")
        if self.grid is not None:
            whole("grid", self.grid)
            if self.protocol != "vector-sum" or self.calibration != "exact":
                raise BadInput(
                    'Expected grid with protocol="vector-sum" and calibration="exact" only, got '
                    f'grid={self.grid!r} with protocol="{self.protocol}", calibration="{self.calibration}". Leave it '
                    "out."
                )

    @classmethod
    def examples(cls, dim: int) -> tuple[ShuffleLinUCB, ...]:
        short: dict[str, Any] = {"dim": dim, "horizon": 1000, "batch": 20}
        return (
            cls(**short, epsilon=1.0, delta=1e-6, honest=0.9),
            cls(**short, epsilon=10.0, delta=0.1, width="theory", reward_low=0.0, constants=(0.5,), person_rounds=2),
            cls(**short, epsilon=1.0, delta=1e-6, protocol="amplification", width="script"),
            cls(**short, epsilon=10.0, delta=0.1, protocol="amplification", calibration="script", width=0.5),
        )

    # What was asked for --------------------------------------------------------------------------------------------

    @property
    def promise(self) -> Promise | None:  # type: ignore[override]
        """What is promised; nothing by the constants of a script."""
        return None if self.calibration == "script" else Promise(self.epsilon, self.delta)

    @property
    def calibrated(self) -> str:
        return str(self.calibration)

    @property
    def batch_size(self) -> int:
        """B: as given, else what balances the noise of many batches against the delay of long ones."""
        if self.batch is not None:
            return self.batch
        balanced: float = self.horizon**0.6 * self.dim**-0.2 * self.epsilon**-0.4
        return min(self.horizon, max(2, round(balanced)))

    @property
    def honest_people(self) -> int:
        """How many people of a batch are counted on, the one who is protected among them."""
        return max(1, math.floor(self.honest * self.batch_size))

    @property
    def default_rule(self) -> str:
        return "least-squares" if self.calibration == "exact" else "script"

    # What follows from it --------------------------------------------------------------------------------------------

    @property
    def largest_entry(self) -> float:
        """What no private number of a report exceeds in absolute value: |x_i·x_j|, |x_i·c|, |x_i·y| and |c·y|."""
        constant = max((abs(value) for value in self.constants), default=0.0)
        return max(self.radius, constant) * max(self.radius, constant, self.reward_size)

    @property
    def grid_steps(self) -> int:
        """g: as given, else so many that rounding adds a few thousandths to the noise at most.

        In steps the noise has variance N/4 with N ≈ 4S²/μ², S the sensitivity; rounding adds B/4 to it at most, and
        each of D coordinates then moves by a step more or less, as if S² were larger by D/4. So S ≥ 10·max(μ√B, √D).
        """
        if self.grid is not None:
            return self.grid
        mu = Promise(self.epsilon, self.delta).mu
        wanted = 10 * math.sqrt(max(mu * mu * self.batch_size, self.private_numbers))
        return max(4, math.ceil(wanted * 2 * self.largest_entry / self.sensitivity))

    def plan(self, sampler: str = "double") -> Plan:
        noise = noise_of(self, sampler)
        size, batch = linalg.packed_size(self.dim) + self.dim, self.batch_size
        guarantee = Guarantee.priced(
            noise.event, trust=Trust.SHUFFLE, protects=Protects.EVERYTHING, unit=self.unit, delta=self.delta
        )
        params = Linear(
            row=MixedRow(self.bounds(), noise.scale, noise.step, noise.grid, noise.ones(0), people=1),
            schedule=EveryBatch(batch),
            counter=Batches(
                people=batch,
                grid=noise.grid,
                ones=noise.ones(batch * noise.each),
                expected=batch * noise.each * noise.probability,
                constants=self.bounds().constants,
            ),
            estimate=self._growing(noise),
            exploration=Optimism(),
        )
        nothing = params.counter._replace(ones=noise.ones(0))
        device = params._replace(row=params.row._replace(ones=noise.ones(noise.each)), counter=nothing)
        server = params._replace(row=params.row._replace(people=batch), counter=nothing)
        return Plan(
            params=params,
            vault=lambda: linear_vault(np.zeros(size), MEMORY_ROWS),
            view=lambda: empty_view(self.dim),
            report_size=size + PROPOSAL if noise.counts else size,
            event=noise.event,
            guarantee=guarantee,
            draws=_draws(size, noise),
            limit=self.horizon,
            limit_hint="start anew with a longer horizon: batches and widths are worked out for this one.",
            noise_scale=noise.deviation,
            noise_scales=_scales(self, noise),
            assumptions=_assumptions(self),
            notes=_notes(self, noise, guarantee),
            report=self.reported("counts" if noise.counts else "gram", size, _noise_terms(noise), batch),
            device=device if noise.counts else None,
            server=server if noise.counts else None,
            law=noise.law(batch * noise.each),
            device_law=noise.law(noise.each),
        )

    def _growing(self, noise: Noise) -> Growing:
        dim, horizon, batch = self.dim, self.horizon, self.batch_size
        batches = max(1, horizon // batch)
        if self.rule == "theory":
            growing = proved(
                dim,
                spread=noise.proxy,
                gaussian=not noise.counts,
                shift=DEFAULT_SHIFT if self.shift is None else self.shift,
                ridge=self.ridge,
                failure=self.failure_probability,
                noise_level=self.reward_noise_level,
                parameter_norm=self.parameter_norm,
                releases=batches,
            )
        elif self.rule == "script":
            growing = self._script_width(noise)
        else:
            width = self.parameter_norm * math.sqrt(noise.deviation * math.sqrt(dim * batches))
            growing = constant(spread=noise.deviation, growth=math.sqrt(dim), ridge=self.ridge, width=width)
        return growing._replace(multiplier=self.multiplier)

    def _script_width(self, noise: Noise) -> Growing:
        """Regulariser 2Γ and width √Γ·S + R·√(d ln((1 + TL²/Γ)·T)) in every view, Γ = σ√(Td): σ is the noise of a sum,
        spread over its people. For its own counts the script has Γ = ¼·σ√(Td) with σ = ln(d/δ)/(ε√B)."""
        dim, horizon, batch = self.dim, self.horizon, self.batch_size
        each = noise.deviation / math.sqrt(batch)
        if noise.counts and self.calibration == "script":
            each = 0.25 * math.log(dim / self.delta) / (self.epsilon * math.sqrt(batch))
        bound = max(each * math.sqrt(horizon * dim), self.ridge / 2)
        log = math.log((1 + horizon * self.action_norm**2 / bound) * horizon)
        width = math.sqrt(bound) * self.parameter_norm + self.reward_noise_level * math.sqrt(dim * log)
        return constant(spread=noise.deviation, growth=0.0, ridge=2 * bound, width=width)


def _draws(size: int, noise: Noise) -> Draws:
    """Counts take a uniform number to round with, and their ones, or proposals for them, of which some are rejected."""
    if noise.counts and noise.exact:
        return Draws(choose_uniforms=1, learn_uniforms=size, learn_normals=size)
    if noise.counts:
        return Draws(choose_uniforms=1, learn_uniforms=size + most_uniforms(size))
    return Draws(choose_uniforms=1, learn_normals=size)


# The kernels ----------------------------------------------------------------------------------------------------------


@implements(report_row, MixedRow)
@kernel
def _report(row: MixedRow, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Clip, then noise the report (amplification) or round it at random and add ones of one's own (vector sum).

    Formal guarantee: none of a report alone but its Gaussian noise; of a batch, see mechanisms/shuffle/proof.md.
    """
    if row.grid.steps == 0.0:
        report_gram(row.bounds, row.scale, row.step, x, reward, report, noise)
        return
    dim = x.shape[0]
    size = dim * (dim + 3) // 2
    constants = row.bounds.constants
    private = dim - constants.shape[0]
    shrink = shrink_to_radius(row.bounds, x)
    y = clip_reward(row.bounds, reward)
    fill_uniforms(noise, report[:size])
    at = 0
    for i in range(dim):
        a = shrink * x[i] if i < private else constants[i - private]
        for j in range(i, dim):
            b = shrink * x[j] if j < private else constants[j - private]
            # What is made of constants alone is known to the server, and not counted.
            report[at] = round_randomly(row.grid, a * b, report[at]) if i < private else 0.0
            at += 1
    for i in range(dim):
        a = shrink * x[i] if i < private else constants[i - private]
        report[at + i] = round_randomly(row.grid, a * y, report[at + i])
    if row.ones.trials > 0.0:
        scratch = report[size : size + PROPOSAL]
        public = at - constants.shape[0] * (constants.shape[0] + 1) // 2  # the last entries of the triangle
        for k in range(size):
            if k < public or k >= at:
                report[k] += draw_ones(row.ones, scratch, noise)
        for k in range(PROPOSAL):
            scratch[k] = 0.0  # it made the noise, and must not stay beside it


@implements(sum_row, MixedRow)
@kernel
def _sum(row: MixedRow, counter: Any, report: Floats, sums: Floats, counters: Ints) -> None:
    for k in range(sums.shape[0]):
        sums[k] += report[k]
    counters[ROWS] += row.people


# How much noise a batch has -------------------------------------------------------------------------------------------


# Everything is per coordinate of a report: the upper triangle of x xᵀ, and x·y.

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
    trials = binomial_trials(wanted, _in_steps(config, grid), config.private_numbers, config.reports)
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
        coordinates=config.private_numbers,
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

# What a plan says of itself, on the card and to a device --------------------------------------------------------------


def _scales(config: ShuffleLinUCB, noise: Noise) -> dict[str, float]:
    """Noise besides that of a batch's sum."""
    batches = max(1, config.horizon // config.batch_size)
    found = {"sums of all batches": noise.deviation * math.sqrt(batches)}
    if not noise.counts:
        found["each report"] = noise.scale
    return found


def _noise_terms(noise: Noise) -> dict[str, float]:
    """The numbers a device needs to make its noise."""
    if not noise.counts:
        return {"scale": noise.scale, "step": noise.step}
    grid = noise.grid
    return {
        "steps": grid.steps,
        "step": grid.step,
        "offset": grid.offset,
        "ones": float(noise.each),
        "probability": noise.probability,
    }


def _assumptions(config: ShuffleLinUCB) -> tuple[str, ...]:
    """What the guarantee needs, and what it does not."""
    if config.promise is None:
        return ()
    batch, honest = config.batch_size, config.honest_people
    followed = (
        "Everybody in a batch adds the noise of the protocol (honest=1)."
        if honest == batch
        else f"At least {honest:,} of the {batch:,} people in every batch add the noise of the protocol "
        f"(honest={config.honest:g}); of the others nothing is assumed."
    )
    return (
        *config.said_of_bounds(),
        f"A shuffler mixes {batch:,} reports at a time, hands on full batches only, and keeps who sent what to itself.",
        followed,
        "Who reports, and when, does not depend on what is in the report.",
    )


def _notes(config: ShuffleLinUCB, noise: Noise, guarantee: Guarantee) -> tuple[str, ...]:
    """What a reader should know besides the promise."""
    said = []
    if config.calibration == "script":
        said.append(
            "UNCERTIFIED: the noise of a public script, which no theorem covers. No privacy is promised; use it to "
            "reproduce figures, not for people."
        )
    elif config.calibration == "published":
        proved = guarantee.epsilon_at(config.delta)
        said.append(
            'Published constants: they keep what they claim. calibration="exact" keeps it with less noise.'
            if proved <= config.epsilon
            else f"Published constants: nothing proved here shows their claim. The true epsilon is at most "
            f'{round_up(proved, 4)}, as far as is known; calibration="exact" keeps the promise.'
        )
    if guarantee.theorem is not None:
        said.append(f"Priced by: {guarantee.theorem.source}.")
    said.append(
        f"The view changes once per batch, {config.horizon // config.batch_size:,} times in all; in the first batch "
        "arms are drawn evenly."
    )
    said.append(
        {
            "theory": "The width is proved: in every view the true parameter lies in the confidence set, with "
            f"probability {1 - config.failure_probability:g} for all views together.",
            "script": "The width is that of a public script: a heuristic, without a theorem; privacy is unaffected.",
            "least-squares": "The width is a heuristic of ours, without a theorem; privacy is unaffected.",
        }[config.rule]
    )
    if config.multiplier != 1:
        said.append(
            f"Width multiplied by {config.multiplier:g}: no guarantee on the confidence set; privacy is unaffected."
        )
    return tuple(said)
