"""LinUCB under local differential privacy: every report is noised on the person's own device.

Zheng, Cai, Huang, Li and Wang (2020): a person sends x xᵀ and x·y under Gaussian noise, and the server adds. What is
published about the noise (`calibration="published"`) prices the two parts by the triangle inequality; they are one
Gaussian mechanism, which needs a fraction of it (`calibration="exact"`, `mechanisms/report/proof.md`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import one_of
from tacit.calibrations import Exact, Published
from tacit.core.plan import Draws, Plan
from tacit.core.round import ROWS
from tacit.core.settings import option, unfold
from tacit.counters.counter import EveryRow
from tacit.counters.exact import ExactSums
from tacit.errors import BadInput
from tacit.estimators.growing import Growing, Tail, ball_view, constant, proved
from tacit.explorations import Optimism
from tacit.mechanisms.report import PersonBounds, report_gram
from tacit.policies._reporting import SummingPolicy
from tacit.policies.linear import Linear, linear_vault, report_row, sum_row
from tacit.privacy.calibrate import calibrate
from tacit.privacy.event import ReportEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

#: c of the proved width: docs/decisions/0014-shuffle.md.
DEFAULT_SHIFT = 6.0


class NoisedRow(NamedTuple):
    """A row that leaves the device as x xᵀ and x·y under noise. Sums of such reports are no secret."""

    bounds: PersonBounds
    scale: float  # s
    step: float = 0.0  # of the lattice that reports are on; 0: none, and noise in doubles


@dataclass(frozen=True, kw_only=True)
class LocalLinUCB(SummingPolicy):
    """LinUCB on sums that people have noised themselves, for a server that nobody has to trust.

    Formal guarantee: one person's report is μ-GDP with μ = Δ/s for any two (action, reward), Δ from
    `privacy.sensitivity.gram_sensitivity` (√4.5 for the default bounds); all that the server does with it is
    post-processing. With `person_rounds=k` a person's k reports together are √k·μ-GDP, adaptively chosen ones too.

    `width`: "least-squares" (ours: shift s√(dt), width √(s√(dT)); no theorem), "theory" (proved, and wide),
    "published" (Zheng et al.'s); a number multiplies the calibration's own rule.
    """

    slug: ClassVar[str] = "local-linucb"
    summary: ClassVar[str] = "LinUCB under local DP: each device noises x·xᵀ and x·reward before they leave"
    trust: ClassVar[Trust] = Trust.LOCAL
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = "bounds on actions and rewards, and a horizon"
    rules: ClassVar[tuple[str, ...]] = ("theory", "published", "least-squares")

    arms: int | None = option("refused: a parameter per arm is not in the local model (see its guarantee)", None)
    calibration: str | Exact | Published = option(
        '"exact": the least noise that keeps the promise; "published": the constants of Zheng et al. (2020)', "exact"
    )
    width: float | str | None = option(
        '"least-squares" (heuristic; default), "theory" (proved), "published" (default of that calibration), or a '
        "number that multiplies the default",
        None,
    )
    shift: float | None = option(
        'with width="theory": regulariser c > 1 in units of the noise bound (default: 6)', None
    )

    def __post_init__(self) -> None:
        unfold(self, "calibration", (Exact, Published))
        if self.arms is not None:
            raise BadInput(
                "Expected no arms for local-linucb, got some: to hide which it was, each report would need noise in "
                "the blocks of all. Use features of tacit.features.per_arm, or ShuffleLinUCB(arms=…) with a shuffler."
            )
        super().__post_init__()
        one_of("calibration", self.calibration, ("exact", "published"))

    @classmethod
    def examples(cls, dim: int) -> tuple[LocalLinUCB, ...]:
        short: dict[str, Any] = {"dim": dim, "horizon": 1000}
        return (
            cls(**short, epsilon=1.0, delta=1e-6),
            cls(**short, epsilon=10.0, delta=0.1, width="theory", reward_low=0.0, constants=(0.5,), person_rounds=3),
            cls(**short, epsilon=10.0, delta=0.1, calibration="published", width=0.5),
        )

    @property
    def calibrated(self) -> str:
        return str(self.calibration)

    @property
    def default_rule(self) -> str:
        return "published" if self.calibration == "published" else "least-squares"

    def plan(self, sampler: str = "double") -> Plan:
        size = linalg.packed_size(self.dim) + self.dim
        scale = self._published_scale() if self.calibration == "published" else calibrate(self.promise, self._event)
        noise = self.noise_of_report(scale, self._event, self.private_numbers, sampler)
        scale, event = noise.scale, noise.event
        growing = self._growing(scale)
        guarantee = Guarantee.priced(
            event, trust=Trust.LOCAL, protects=Protects.EVERYTHING, unit=self.unit, delta=self.delta
        )
        return Plan(
            params=Linear(NoisedRow(self.bounds(), scale, noise.step), EveryRow(), ExactSums(), growing, Optimism()),
            vault=lambda: linear_vault(np.zeros(size), memory_rows=1),
            view=lambda: ball_view(self.dim, growing),
            report_size=size,
            event=event,
            guarantee=guarantee,
            draws=Draws(learn_normals=size),
            limit=self.horizon,
            limit_hint="start anew with a longer horizon: the widths are worked out for this one.",
            noise_scale=scale,
            noise_scales={"sums of all reports": scale * math.sqrt(self.horizon)},
            assumptions=self.said_of_bounds(),
            notes=self._notes(guarantee),
            report=self.reported("gram", size, noise.terms),
            law=noise.law,
        )

    def _event(self, scale: float) -> ReportEvent:
        return ReportEvent(scale=scale, sensitivity=self.sensitivity, reports=self.reports)

    def _published_scale(self) -> float:
        """s = 4·√(2 ln(1.25/δ))/ε for ‖x‖ ≤ 1 and |y| ≤ 1.

        The 4 is 2(L² + L·B), twice the largest ‖x xᵀ‖ and ‖x·y‖ together: their 6 for |y| ≤ 2. So it scales.
        """
        reach = 2 * self.action_norm * (self.action_norm + self.reward_size)
        return reach * math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon

    def _growing(self, scale: float) -> Growing:
        dim, horizon = self.dim, self.horizon
        if self.rule == "theory":
            growing = proved(
                dim,
                spread=scale,
                gaussian=True,
                shift=DEFAULT_SHIFT if self.shift is None else self.shift,
                ridge=self.ridge,
                failure=self.failure_probability,
                noise_level=self.reward_noise_level,
                parameter_norm=self.parameter_norm,
                releases=horizon,
            )
        elif self.rule == "published":
            growing = _published_width(scale, dim, horizon, self.failure_probability, self.parameter_norm, self.ridge)
        else:
            # Ours: the deviation of a row of the noised matrix as regulariser, its final root as width.
            width = self.parameter_norm * math.sqrt(scale * math.sqrt(dim * horizon))
            growing = constant(spread=scale, growth=math.sqrt(dim), ridge=self.ridge, width=width)
        return growing._replace(multiplier=self.multiplier)

    def _notes(self, guarantee: Guarantee) -> tuple[str, ...]:
        said = []
        if self.calibration == "published":
            said.append(_said_of_published(self.promise.mu / (guarantee.mu or math.inf)))
        said.append(
            {
                "theory": "The width is proved: at every round the true parameter lies in the confidence set, with "
                f"probability {1 - self.failure_probability:g} for all rounds together.",
                "published": "The width is Zheng et al.'s.",
                "least-squares": "The width is a heuristic of ours, without a theorem; privacy is unaffected.",
            }[self.rule]
        )
        if self.multiplier != 1:
            said.append(
                f"Width multiplied by {self.multiplier:g}: no guarantee on the confidence set; privacy is unaffected."
            )
        return tuple(said)


def _published_width(
    scale: float, dim: int, horizon: int, failure: float, parameter_norm: float, ridge: float
) -> Growing:
    """Υ_t = s√t·(4√d + 2 ln(2T/α)), shift 2Υ_t, β_t = 2s√(d ln T) + (√(3Υ_t) + s√(dt/Υ_t))·d ln T."""
    log = math.log(horizon)
    return Growing(
        spread=scale,
        matrix=Tail(4 * math.sqrt(dim) + 2 * math.log(2 * horizon / failure), 0.0, 1.0),
        vector=Tail(math.sqrt(dim), 0.0, 1.0),
        shift=2.0,
        ridge=float(ridge),
        failure=1.0,
        noise_level=0.0,
        parameter_norm=float(parameter_norm),
        base=2 * scale * math.sqrt(dim * log),
        stretch=dim * log,
        multiplier=1.0,
    )


def _said_of_published(excess: float) -> str:
    if excess < 1:
        return (
            f"Published constants: {1 / excess:.2f} times too little noise for what they claim. The accounted epsilon "
            'is the true one; calibration="exact" keeps the promise.'
        )
    return (
        f"Published constants: {excess:.2f} times the noise that the same promise needs. "
        'calibration="exact" keeps it with the least.'
    )


@implements(report_row, NoisedRow)
@kernel
def _report(row: NoisedRow, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Formal guarantee: μ-GDP, μ = Δ/s, whatever view there is. Proof: mechanisms/report/proof.md."""
    report_gram(row.bounds, row.scale, row.step, x, reward, report, noise)


@implements(sum_row, NoisedRow)
@kernel
def _sum(row: NoisedRow, counter: Any, report: Floats, sums: Floats, counters: Ints) -> None:
    for k in range(sums.shape[0]):
        sums[k] += report[k]
    counters[ROWS] += 1
