"""LinUCB under shuffle privacy: people add little noise, a shuffler mixes a batch, and the server sees the mixture.

Chowdhury and Zhou (2022), *Shuffle Private Linear Contextual Bandits*. Two protocols. In the *vector sum* a report is a
vector of counts with a few random ones on top, and only the totals of a batch get out; its price is a certified
numeric bound that works at every ε (default). *Amplification* mixes reports that have Gaussian noise of their own; the
bound that makes them cheaper together needs a small ε and a large batch, and where it does not help, the plan is
priced as if there were no shuffler.

Who draws the ones of the vector sum: in one process `publish`, once for a whole batch; a device its own share, in
`report_row`; a server none. Roles differ in numbers only. With `arms` a report has a block of counts for every arm
(`shuffled_arms`). What is proved: `mechanisms/shuffle/proof.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import linalg, preparation
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import one_of, real, whole
from tacit.calibrations import Exact, Published, Script
from tacit.core.plan import Draws, Plan
from tacit.core.round import ROWS
from tacit.core.settings import option, unfold
from tacit.core.slate import arms_slate
from tacit.counters.batches import MEMORY_ROWS, Batches
from tacit.counters.counter import EveryBatch
from tacit.errors import BadInput
from tacit.estimators.by_arm import empty_arms_view
from tacit.estimators.growing import Growing, constant, proved
from tacit.estimators.noise_aware import NoiseAware, noise_aware
from tacit.estimators.ridge import empty_view
from tacit.explorations import Optimism
from tacit.mechanisms.report import PersonBounds, clip_reward, report_gram, shrink_to_radius
from tacit.mechanisms.shuffle import Grid, Ones, draw_ones, most_uniforms, round_randomly
from tacit.mechanisms.shuffle.binomial import PROPOSAL
from tacit.noise import fill_uniforms
from tacit.policies._options import REACH
from tacit.policies._reporting import SummingPolicy
from tacit.policies._shuffle_noise import Noise, noise_of
from tacit.policies.by_arm import by_arm_vault
from tacit.policies.joint_linucb import RIDGE
from tacit.policies.linear import Bounds, Linear, linear_vault, report_row, sum_row
from tacit.policies.shuffled_arms import BESIDE, Mixing, ShuffledArms, room
from tacit.preparation import NoCentre, Preparation
from tacit.privacy.calibrate import Promise
from tacit.privacy.guarantee import Guarantee, round_up
from tacit.privacy.scope import Protects, Trust
from tacit.privacy.sensitivity import row_sensitivity

#: c of the proved width: docs/decisions/0014-shuffle.md.
DEFAULT_SHIFT = 3.0
#: Batches of a horizon with arms, unless told: docs/decisions/0028-arms.md.
BATCHES_OF_ARMS = 12


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

    With `arms=K` all arms share a context and have a parameter each: `choose(context)`, `learn(context, arm, reward)`.
    A report has counts for every arm, so which arm it was is protected like everything else; noise is that of rewards
    about their middle, and does not grow with K.
    """

    slug: ClassVar[str] = "shuffle-linucb"
    summary: ClassVar[str] = "LinUCB under shuffle DP: a shuffler mixes batches of lightly noised reports"
    trust: ClassVar[Trust] = Trust.SHUFFLE
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = "bounds on actions and rewards, a horizon, and a shuffler"
    rules: ClassVar[tuple[str, ...]] = ("least-squares", "noise-aware", "script", "theory")
    by_arm: ClassVar[bool] = True

    arms: int | None = option(
        "number of arms that share a context and have a parameter each (vector sum); none: actions are vectors", None
    )
    preparation: Any = option(
        'how contexts are prepared, with arms: "standard", "none", or a tacit.Preparation without a centre', None
    )
    reward_low: float = option("least reward; smaller ones are clipped on the device (default: -1, with arms 0)", None)
    protocol: str = option(
        '"vector-sum": counts, of which only totals get out (any epsilon); "amplification": mixed Gaussian reports',
        "vector-sum",
    )
    batch: int | None = option(
        "people in a batch B (default: T^(3/5)·d^(-1/5)·epsilon^(-2/5), which balances noise and delay; with arms a "
        "twelfth of the horizon)",
        None,
    )
    honest: float = option("assumed share of the people in a batch who add their noise", 1.0)
    calibration: str | Exact | Published | Script = option(
        '"exact": the least noise that keeps the promise; "published": the constants of the paper; "script": those of '
        "a public script, without any guarantee",
        "exact",
    )
    width: float | str | None = option(
        '"least-squares" (heuristic; default), "script" (heuristic; default of the other calibrations), "theory" '
        '(proved), or a number that multiplies the default; with arms "noise-aware"',
        None,
    )
    grid: int | None = option("vector sum: grid steps g that a number is rounded to (default: enough)", None)
    shift: float | None = option(
        'with width="theory": regulariser c > 1 in units of the noise bound (default: 3)', None
    )

    def __post_init__(self) -> None:
        unfold(self, "calibration", (Exact, Published, Script))
        if self.reward_low is None:
            object.__setattr__(self, "reward_low", -1.0 if self.arms is None else 0.0)
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
        self._check_arms()

    def _check_arms(self) -> None:
        """What goes with arms, and what does not."""
        if self.arms is None:
            if self.preparation is not None:
                raise BadInput(
                    "Expected preparation with arms only, got it without. Prepare actions before they are offered."
                )
            if self.width == "noise-aware":
                raise BadInput('Expected width="noise-aware" with arms only, got it without. Leave it out.')
            return
        whole("arms", self.arms, low=2)
        standard = Preparation(centre_rounds=0) if self.preparation in (None, "standard") else self.preparation
        object.__setattr__(self, "preparation", preparation.as_option(standard))
        if self.prepared.centre_rounds:
            raise BadInput(
                f"Expected preparation without a centre, got centre_rounds={self.prepared.centre_rounds}: people who "
                "trust no server send it no contexts. Use tacit.Preparation(centre_rounds=0)."
            )
        for name, wanted in (("protocol", "vector-sum"), ("calibration", "exact"), ("constants", ())):
            if getattr(self, name) != wanted:
                raise BadInput(
                    f"Expected {name}={wanted!r} with arms, got {name}={getattr(self, name)!r}. "
                    + ("Contexts get a constant by their preparation." if name == "constants" else "Leave it out.")
                )
        if self.width not in (None, "noise-aware"):
            raise BadInput(f'Expected width="noise-aware" with arms, got width={self.width!r}. Leave it out.')
        if self.grid is not None and self.grid % 2:
            raise BadInput(f"Expected an even grid with arms, got grid={self.grid}: zero must be one of its steps.")

    @classmethod
    def examples(cls, dim: int) -> tuple[ShuffleLinUCB, ...]:
        short: dict[str, Any] = {"dim": dim, "horizon": 1000, "batch": 20}
        return (
            cls(**short, epsilon=1.0, delta=1e-6, honest=0.9),
            cls(**short, epsilon=10.0, delta=0.1, width="theory", reward_low=0.0, constants=(0.5,), person_rounds=2),
            cls(**short, epsilon=1.0, delta=1e-6, protocol="amplification", width="script"),
            cls(**short, epsilon=10.0, delta=0.1, protocol="amplification", calibration="script", width=0.5),
            cls(**short, epsilon=1.0, delta=1e-6, arms=3, honest=0.9),
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
        if self.arms is not None:
            return max(1, self.horizon // BATCHES_OF_ARMS)
        balanced: float = self.horizon**0.6 * self.dim**-0.2 * self.epsilon**-0.4
        return min(self.horizon, max(2, round(balanced)))

    @property
    def honest_people(self) -> int:
        """How many people of a batch are counted on, the one who is protected among them."""
        return max(1, math.floor(self.honest * self.batch_size))

    @property
    def default_rule(self) -> str:
        if self.arms is not None:
            return "noise-aware"
        return "least-squares" if self.calibration == "exact" else "script"

    @cached_property
    def prepared(self) -> Preparation:
        """What is done to contexts, with arms."""
        assert isinstance(self.preparation, Preparation)
        return self.preparation

    # What follows from it --------------------------------------------------------------------------------------------

    @property
    def block(self) -> int:
        """p: rows of a matrix."""
        return self.dim if self.arms is None else self.prepared.width(self.dim)

    @property
    def blocks(self) -> int:
        """How many matrices there are: one, or one for each arm."""
        return 1 if self.arms is None else self.arms

    @property
    def size(self) -> int:
        """Numbers of a report: for each matrix a packed triangle and a vector."""
        return self.blocks * linalg.block_size(self.block)

    @property
    def changed_numbers(self) -> int:
        """How many of them one replaced person can change: with arms those of two arms at most, the rest is as it would
        be for anybody."""
        return self.private_numbers if self.arms is None else 2 * linalg.block_size(self.block)

    @property
    def reward_middle(self) -> float:
        """c: taken off every reward, with arms."""
        return (self.reward_low + self.reward_high) / 2

    @property
    def reward_reach(self) -> float:
        """B: how far a reward may be from the middle."""
        return (self.reward_high - self.reward_low) / 2

    @property
    def reward_scale(self) -> float:
        """ζ = L/(√2·B), with arms: the largest reward then weighs in a report what the longest context does."""
        return self.action_norm / (BESIDE * self.reward_reach)

    @property
    def sensitivity(self) -> float:
        """Δ: how far replacing a row can move a report, before rounding and noise; with arms √2·L̃², of one or two."""
        if self.arms is None:
            return super().sensitivity
        return BESIDE * row_sensitivity(self.action_norm, self.reward_scale * self.reward_reach)

    @property
    def largest_entry(self) -> float:
        """What no private number of a report exceeds in absolute value: |x_i·x_j|, |x_i·c|, |x_i·y| and |c·y|; with
        arms z_i², √2·|z_i·z_j| ≤ L²/√2 and √2·ζ·|y·z_i| ≤ L²."""
        if self.arms is not None:
            return float(self.action_norm**2)
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
        wanted = 10 * math.sqrt(max(mu * mu * self.batch_size, self.changed_numbers))
        steps = max(4, math.ceil(wanted * 2 * self.largest_entry / self.sensitivity))
        # With arms zero lies on the grid: what adds nothing is written without rounding.
        return steps if self.arms is None else steps + steps % 2

    def plan(self, sampler: str = "double") -> Plan:
        noise = noise_of(self, sampler)
        size, batch = self.size, self.batch_size
        guarantee = Guarantee.priced(
            noise.event, trust=Trust.SHUFFLE, protects=Protects.EVERYTHING, unit=self.unit, delta=self.delta
        )
        return Plan(
            params=self._params(noise, together=batch * noise.each),
            **self._rooms(noise),
            event=noise.event,
            guarantee=guarantee,
            draws=_draws(size, size // self.blocks, noise),
            limit=self.horizon,
            limit_hint="start anew with a longer horizon: batches and widths are worked out for this one.",
            noise_scale=noise.deviation,
            noise_scales=_scales(self, noise),
            assumptions=_assumptions(self),
            notes=_notes(self, noise, guarantee),
            report=replace(
                self.reported("counts" if noise.counts else "gram", size, _noise_terms(noise), batch),
                arms=_arms_terms(self),
            ),
            device=self._params(noise, each=noise.each) if noise.counts else None,
            server=self._params(noise, people=batch) if noise.counts else None,
            law=noise.law(batch * noise.each),
            device_law=noise.law(noise.each),
        )

    def _params(self, noise: Noise, *, each: int = 0, together: int = 0, people: int = 1) -> Any:
        """What the kernels are given: of one process, which draws the ones of a batch `together`; of a device, which
        draws `each` of its own; or of a server, which draws none and absorbs the totals of so many `people`."""
        batch, no_arms = self.batch_size, self.arms is None
        schedule = EveryBatch(batch)
        counter = Batches(
            people=batch,
            grid=noise.grid,
            ones=noise.ones(together),
            expected=batch * noise.each * noise.probability,
            constants=self.bounds().constants,
            beside=1.0 if no_arms else 1.0 / BESIDE,
        )
        if no_arms:
            row = MixedRow(self.bounds(), noise.scale, noise.step, noise.grid, noise.ones(each), people)
            return Linear(row, schedule, counter, self._growing(noise), Optimism())
        low, high, length = float(self.reward_low), float(self.reward_high), float(self.action_norm)
        return ShuffledArms(
            row=Bounds(length, low, high, float(self.reward_middle), float(self.reward_scale)),
            mixing=Mixing(noise.grid, noise.ones(each), people),
            preparation=self.prepared.steps(self.dim, length),
            centre=NoCentre(),
            schedule=schedule,
            counter=counter,
            estimate=self._noise_aware(noise),
            exploration=Optimism(),
        )

    def _rooms(self, noise: Noise) -> dict[str, Any]:
        """Empty rooms."""
        arms, dim, block, size = self.arms, self.dim, self.block, self.size
        if arms is None:
            return {
                "vault": lambda: linear_vault(np.zeros(size), MEMORY_ROWS),
                "view": lambda: empty_view(dim),
                "report_size": size + PROPOSAL if noise.counts else size,
            }
        return {
            "vault": lambda: by_arm_vault(np.zeros(size), MEMORY_ROWS, dim, centred=False),
            "view": lambda: empty_arms_view(arms, dim, block),
            "report_size": room(arms, block),
            "arms": arms,
            "slate": lambda offered: arms_slate(dim, arms, block),
        }

    def _noise_aware(self, noise: Noise) -> NoiseAware:
        """For the noise of one batch, of two, and so on; beside a diagonal it is 1/√2 of that on it."""
        batches = np.arange(1.0, max(1, self.horizon // self.batch_size) + 1)
        return noise_aware(
            spread=noise.deviation / BESIDE * np.sqrt(batches),
            width=self.block,
            ridge=RIDGE,
            least=self.ridge,
            noise_level=self.reward_noise_level,
            norm=self.parameter_norm,
            scale=self.reward_scale,
            reach=REACH,
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


def _draws(size: int, rounded: int, noise: Noise) -> Draws:
    """So many counts take a uniform number to round with, and all their ones, or proposals for them, of which some are
    rejected."""
    if noise.counts and noise.exact:
        return Draws(choose_uniforms=1, learn_uniforms=rounded, learn_normals=size)
    if noise.counts:
        return Draws(choose_uniforms=1, learn_uniforms=rounded + most_uniforms(size))
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


def _arms_terms(config: ShuffleLinUCB) -> dict[str, Any] | None:
    """What a device needs to know of the arms: how many, and how a row becomes the numbers of a block."""
    if config.arms is None:
        return None
    steps = config.prepared.steps(config.dim, config.action_norm)
    return {
        "count": config.arms,
        "reward_middle": float(config.reward_middle),
        "reward_scale": float(config.reward_scale),
        "beside": BESIDE,
        "middle": steps.middle.tolist(),
        "stretch": steps.stretch.tolist(),
        "bounded": bool(steps.bounded),
        "normalise": bool(steps.normalise),
        "share": float(steps.share),
        "constant": float(steps.constant),
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
    prepared = () if config.arms is None else (config.prepared.describe(),)
    return (
        *config.said_of_bounds(),
        *prepared,
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
            "noise-aware": "Noise-aware width: no theorem on regret; privacy is unaffected.",
        }[config.rule]
    )
    if config.multiplier != 1:
        said.append(
            f"Width multiplied by {config.multiplier:g}: no guarantee on the confidence set; privacy is unaffected."
        )
    return tuple(said)
