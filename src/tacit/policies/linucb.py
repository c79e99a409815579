"""LinUCB without privacy: the line every private policy is measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit import linalg
from tacit._validate import positive, probability, whole
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.counters.counter import EveryRow
from tacit.counters.exact import ExactCounter
from tacit.estimators.prior import Prior
from tacit.estimators.ridge import confidence_of, first_view
from tacit.explorations import Optimism
from tacit.policies._options import check_prior, failure_or_default, width_multiplier
from tacit.policies.linear import REPORTED, Linear, linear_vault, no_bounds
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust


@dataclass(frozen=True, kw_only=True)
class LinUCB(Policy):
    """Optimism in the face of uncertainty on ridge regression (Abbasi-Yadkori, Pál and Szepesvári 2011).

    Not private: every choice depends on everybody's exact data. Rows are taken as they come, but for numbers that would
    end the learning: they are clipped at 1e20.
    """

    slug: ClassVar[str] = "linucb"
    summary: ClassVar[str] = "LinUCB without privacy: the baseline"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "nothing"

    dim: int = option("number of features d")
    noise_level: float = option("sub-Gaussian level of the reward noise, sigma", 1.0)
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    ridge: float = option("regulariser added to the Gram matrix", 1.0)
    horizon: int | None = option("number of rounds, if known: sets the default failure probability to 1/horizon", None)
    failure: float | None = option("failure probability alpha of the confidence sets", None)
    width: float | str = option('"theory", or a number that multiplies the proved width (no guarantee then)', "theory")

    prior: Prior | None = option("sums of public rows to start from", None)

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        object.__setattr__(self, "prior", check_prior(self.prior, self.dim))
        positive("noise_level", self.noise_level)
        positive("parameter_norm", self.parameter_norm)
        positive("ridge", self.ridge)
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2)
        if self.failure is not None:
            probability("failure", self.failure)
        width_multiplier(self.width)

    @classmethod
    def examples(cls, dim: int) -> tuple[LinUCB, ...]:
        return (cls(dim=dim), cls(dim=dim, ridge=0.5, width=0.3))

    @property
    def rows_may_come_late(self) -> bool:
        return True  # nothing is promised that an order could break

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    def plan(self, sampler: str = "double") -> Plan:
        size, counter = linalg.packed_size(self.dim) + self.dim, ExactCounter()
        known = np.zeros(size) if self.prior is None else self.prior.packed()
        confidence = confidence_of(
            self.dim,
            noise_level=self.noise_level,
            multiplier=width_multiplier(self.width),
            failure=self.failure_probability,
            floor=self.ridge,
            regulariser=np.array([float(self.ridge)]),
            repair=np.array([float(self.ridge)]),
            bias=np.array([self.parameter_norm * math.sqrt(self.ridge)]),
        )
        return Plan(
            params=Linear(no_bounds(), EveryRow(), counter.in_doubles(0.0), confidence, Optimism()),
            vault=lambda: linear_vault(known.copy(), memory_rows=1),
            view=lambda: first_view(self.dim, confidence, known),  # with nothing known: V = ridge·I, a ball
            report_size=self.dim + REPORTED,
            event=counter.event(0.0, 0.0),
            guarantee=Guarantee.none(),
            notes=() if self.prior is None else (f"Warm start from {self.prior.rows:,} rows.",),
        )
