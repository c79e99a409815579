"""LinUCB under shuffle privacy: people add little noise, a shuffler mixes a batch, and the server sees the mixture.

Chowdhury and Zhou (2022), *Shuffle Private Linear Contextual Bandits*. Two protocols. In the *vector sum* a report is a
vector of counts with a few random ones on top, and only the totals of a batch get out; its price is a certified
numeric bound that works at every ε (default). *Amplification* mixes reports that have Gaussian noise of their own; the
bound that makes them cheaper together needs a small ε and a large batch, and where it does not help, the plan is
priced as if there were no shuffler.

How much noise there is: `noise`; the kernels: `verbs`; what is proved: `mechanisms/shuffle/proof.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit import linalg
from tacit._validate import one_of, real, whole
from tacit.core.plan import Draws, Plan
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.estimators.growing import Growing, constant, proved
from tacit.estimators.ridge import Optimism, empty_view
from tacit.mechanisms.shuffle import most_uniforms
from tacit.mechanisms.shuffle.binomial import PROPOSAL
from tacit.policies._reporting import SummingPolicy
from tacit.policies.shuffle_linucb import words
from tacit.policies.shuffle_linucb.noise import Noise, coordinates, noise_of
from tacit.policies.shuffle_linucb.verbs import Ones, ShuffleParams, first_vault
from tacit.privacy.calibrate import Promise
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

#: c of the proved width: docs/decisions/0014-shuffle.md.
DEFAULT_SHIFT = 3.0


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
    calibration: str = option(
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
        return self.calibration

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
        wanted = 10 * math.sqrt(max(mu * mu * self.batch_size, coordinates(self)))
        return max(4, math.ceil(wanted * 2 * self.largest_entry / self.sensitivity))

    def plan(self) -> Plan:
        noise = noise_of(self)
        size, batch = linalg.packed_size(self.dim) + self.dim, self.batch_size
        guarantee = Guarantee.priced(
            noise.event, trust=Trust.SHUFFLE, protects=Protects.EVERYTHING, unit=self.unit, delta=self.delta
        )
        expected = batch * noise.each * noise.probability
        params = ShuffleParams(
            bounds=self.bounds(),
            scale=noise.scale,
            grid=noise.grid,
            ones=Ones(0.0, float(batch * noise.each), noise.probability, expected),
            batch=batch,
            people=1,
            growing=self._growing(noise),
            no_noise=np.zeros(size),
            exploration=Optimism(1.0),
        )
        device = params._replace(ones=params.ones._replace(own=float(noise.each), together=0.0))
        server = params._replace(ones=params.ones._replace(together=0.0), people=batch if noise.counts else 1)
        return Plan(
            params=params,
            vault=lambda: first_vault(size),
            view=lambda: empty_view(self.dim),
            report_size=size + PROPOSAL if noise.counts else size,
            event=noise.event,
            guarantee=guarantee,
            draws=_draws(size, noise.counts),
            limit=self.horizon,
            limit_hint="start anew with a longer horizon: batches and widths are worked out for this one.",
            noise_scale=noise.deviation,
            noise_scales=words.scales(self, noise),
            assumptions=words.assumptions(self),
            notes=words.notes(self, noise, guarantee),
            report=self.reported("counts" if noise.counts else "gram", size, words.noise_terms(noise), batch),
            device=device if noise.counts else None,
            server=server if noise.counts else None,
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


def _draws(size: int, counts: bool) -> Draws:
    """Counts take a uniform number to round with, and proposals for their ones, of which some are rejected."""
    if counts:
        return Draws(choose_uniforms=1, learn_uniforms=size + most_uniforms(size))
    return Draws(choose_uniforms=1, learn_normals=size)
