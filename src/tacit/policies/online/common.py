"""What the three private online policies have in common: their options, the price of a report, and the plan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._types import Floats
from tacit._validate import one_of, positive
from tacit.core.plan import Draws, Plan
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.estimators.online import Online, gradient_descent, maler
from tacit.explorations import Optimism
from tacit.policies._reporting import ReportingPolicy
from tacit.policies.online import words
from tacit.policies.online.combination import no_combination
from tacit.policies.online.params import Combination, OnlineParams, OnlineView, TheoryWidth, first_vault
from tacit.policies.online.verbs import best_base, width_at
from tacit.policies.online.widths import CLIP, NO_THEORY, STEP, published_scale, typical_gradient
from tacit.privacy.calibrate import calibrate
from tacit.privacy.event import ReportEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust
from tacit.privacy.sensitivity import report_sensitivity

#: No honest device sends a number so many standard deviations beyond its bound: it happens once in 10²³ reports.
_FARTHEST = 10.0


class Bank(NamedTuple):
    """Everything that follows from a configuration and a scale of noise, but the price."""

    params: OnlineParams
    online: Online[Any, Any]
    horizons: tuple[int, ...]  # what each base's learner is first started for


@dataclass(frozen=True, kw_only=True)
class OnlinePolicy(ReportingPolicy):
    """A LinUCB whose confidence set is built around the predictions of an online learner, from noised reports."""

    trust: ClassVar[Trust] = Trust.LOCAL
    protects: ClassVar[Protects] = Protects.EVERYTHING

    learner: str = option('the online learner: "ogd" (fast), or "maler": the one of the paper\'s theorem', "ogd")
    width: float | str = option(
        '"practical": a heuristic that is proved nowhere; a number: the same rule with this constant c', "practical"
    )
    calibration: str = option(
        '"exact": the least noise that keeps the promise; "published": the constants of the paper, which may not',
        "exact",
    )
    parameter_norm: float = option("bound D on the norm of the unknown parameter: the learner's ball", 1.0)
    noise_level: float | None = option(
        "sub-Gaussian level R of the reward noise (default: half the range of rewards)", None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("learner", self.learner, ("ogd", "maler"))
        one_of("calibration", self.calibration, ("exact", "published"))
        positive("parameter_norm", self.parameter_norm)
        if self.noise_level is not None:
            positive("noise_level", self.noise_level)
        self._check_width()
        if self.calibration == "published" and self.person_rounds is not None:
            raise BadInput(
                f'Expected no person_rounds with calibration="published", got person_rounds={self.person_rounds!r}: '
                "the paper assumes that every person is new."
            )

    def _check_width(self) -> None:
        if self.width != "practical":
            positive("width", self.width, hint='Use "practical" for the default rule.')

    @property
    def calibrated(self) -> str:
        return self.calibration

    @property
    def reward_noise_level(self) -> float:
        """R: as given, else half the range of rewards."""
        return self.default_noise_level() if self.noise_level is None else float(self.noise_level)

    @property
    def sensitivity(self) -> float:
        """How far apart two people's rows can be, before noise."""
        return report_sensitivity(self.radius, self.reward_low, self.reward_high)

    @cached_property
    def scale(self) -> float:
        """σ: the standard deviation of the noise on every private number of a report."""
        if self.calibration == "published":
            return published_scale(self.epsilon, self.delta, max(self.action_norm, self.reward_size))
        return calibrate(self.promise, self._event_at)

    def _event_at(self, scale: float) -> ReportEvent:
        return ReportEvent(scale=scale, sensitivity=self.sensitivity, reports=self.reports)

    @abstractmethod
    def bank(self, scale: float) -> Bank:
        """The bases, for noise of this scale. A scale other than the policy's own is for studies of its effect."""

    @abstractmethod
    def said(self) -> tuple[str, ...]:
        """What a reader should know of this policy besides the promise."""

    def plan(self, sampler: str = "double") -> Plan:
        noise = self.noise_of_report(self.scale, self._event_at, self.private_dim + 1, sampler)
        params, online, horizons = self.bank(noise.scale)
        params, event = params._replace(step=noise.step), noise.event
        guarantee = Guarantee.priced(event, trust=self.trust, protects=self.protects, unit=self.unit, delta=self.delta)
        size = self.dim + 1 + (len(horizons) > 1)
        largest = float(params.perturbation.max())
        return Plan(
            params=params,
            vault=lambda: first_vault(online, horizons),
            view=lambda: first_view(self.dim, params),
            report_size=size,
            event=event,
            guarantee=guarantee,
            # On a lattice the perturbation has draws of its own.
            draws=Draws(learn_normals=(1 if noise.law is None else 2) * self.private_dim + 1),
            noise_scale=noise.scale,
            noise_scales={"perturbation, at most": largest} if largest > 0 else {},
            assumptions=(*self.said_of_bounds(), words.WHETHER),
            notes=(*words.of_calibration(self, guarantee), *self.said()),
            report=self.reported("xy", size, noise.terms),
            law=noise.law,
        )


def first_view(dim: int, params: OnlineParams) -> OnlineView:
    """Before the first report: V = I, and the base that the combiner starts with."""
    bases = len(params.growth)
    none, all_of_them = np.zeros((bases, 3), np.int64), np.ones(bases, np.int64)
    base = best_base(params.combination, none, np.zeros((bases, 2)), all_of_them) if bases > 1 else 0
    return OnlineView(
        theta=np.zeros(dim),
        factor=np.eye(dim),
        whiten=np.eye(dim),
        width=np.array([width_at(params.theory, float(params.growth[base]), 1)]),
        perturbation=params.perturbation[base : base + 1].copy(),
        base=np.array([base]),
        plays=np.zeros(bases, np.int64),
        active=all_of_them,
        stage=np.zeros(1, np.int64),
    )


def bank_of(
    config: OnlinePolicy,
    scale: float,
    *,
    horizons: tuple[int, ...],
    longest: int,
    growth: Sequence[float] | Floats,
    perturbation: Sequence[float] = (0.0,),
    decay: Sequence[float] = (0.0,),
    restarts: Sequence[bool] = (False,),
    clip: float | None = None,
    debiased: bool = False,
    theory: TheoryWidth = NO_THEORY,
    combination: Combination | None = None,
) -> Bank:
    """A bank of bases, one entry of each sequence per base; learners can be restarted for at most `longest` rounds."""
    radius = float(config.parameter_norm)
    typical = typical_gradient(config.action_norm, config.reward_size, scale, config.private_dim, radius)
    most = CLIP * typical if clip is None else clip
    online: Online[Any, Any] = (
        maler(config.dim, radius, most, longest)
        if config.learner == "maler"
        else gradient_descent(config.dim, radius, STEP * radius / typical, most)
    )
    widest = float(np.hypot(scale, np.max(perturbation)))
    params = OnlineParams(
        bounds=config.bounds(),
        scale=float(scale),
        step=0.0,
        learner=online.params,
        debiased=int(debiased),
        shape=float(config.action_norm),
        perturbation=np.array(perturbation, np.float64),
        decay=np.array(decay, np.float64),
        restarts=np.array(restarts, np.int64),
        growth=np.array(growth, np.float64),
        theory=theory,
        combination=no_combination() if combination is None else combination,
        largest_action=float(config.action_norm) + _FARTHEST * widest,
        largest_reward=float(config.reward_size) + _FARTHEST * scale,
        exploration=Optimism(1.0),
    )
    return Bank(params, online, horizons)
