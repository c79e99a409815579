"""Rarely-switching OFUL without privacy: what `RenyiOFUL` is measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._validate import at_least, positive, probability, whole
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.policies._options import failure_or_default, width_multiplier
from tacit.policies.oful.switching import growth_factor
from tacit.policies.oful.verbs import OFULParams, RowBounds, Width, first_vault, first_view
from tacit.privacy.event import ExactRelease
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

#: Views without end: nothing is spent on one.
_NO_END = 2**62


@dataclass(frozen=True, kw_only=True)
class OFUL(Policy):
    """Optimism on ridge regression with a new view only when det V has grown by the factor 1 + C; with `switch=0` after
    every row (Abbasi-Yadkori, Pál and Szepesvári 2011, Section 5.1).

    Not private: every choice depends on everybody's exact data. It differs from `LinUCB` in switching rarely, and in
    β = σ√(2 ln(1/δ) + ln det V − d ln λ) + S√λ, which spends its failure probability δ on one event.
    """

    slug: ClassVar[str] = "oful"
    summary: ClassVar[str] = "rarely-switching OFUL without privacy: the baseline of renyi-oful"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "nothing"

    dim: int = option("number of features d")
    switch: float = option("C: a new view when det V has grown by the factor 1 + C; 0: after every row", 1.0)
    noise_level: float = option("sub-Gaussian level of the reward noise, sigma", 1.0)
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    ridge: float = option("regulariser added to the Gram matrix, lambda", 1.0)
    horizon: int | None = option("number of rounds, if known: sets the default failure probability to 1/horizon", None)
    failure: float | None = option("failure probability of the confidence sets", None)
    width: float | str = option('"theory", or a number that multiplies the proved width (no guarantee then)', "theory")

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        at_least("switch", self.switch, 0)
        for name in ("noise_level", "parameter_norm", "ridge"):
            positive(name, getattr(self, name))
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2)
        if self.failure is not None:
            probability("failure", self.failure)
        width_multiplier(self.width)

    @classmethod
    def examples(cls, dim: int) -> tuple[OFUL, ...]:
        return (cls(dim=dim), cls(dim=dim, switch=0.0, ridge=0.5))

    @property
    def failure_probability(self) -> float:
        """δ: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    def plan(self) -> Plan:
        dim, ridge = self.dim, float(self.ridge)
        width = Width(
            multiplier=width_multiplier(self.width),
            noise_level=float(self.noise_level),
            log_term=2 * math.log(1 / self.failure_probability),
            log_floor=dim * math.log(ridge),
            bias=self.parameter_norm * math.sqrt(ridge),
            tail=0.0,
            from_gram=True,
            eigenvalue=0.0,
            log_rows=0.0,
        )
        params = OFULParams(
            bounds=RowBounds(math.inf, -math.inf, math.inf, math.inf, 1.0),
            ridge=ridge,
            growth=growth_factor(self.switch),
            most=_NO_END,
            scale=0.0,
            weights=np.zeros(1),
            variances=np.zeros(1),
            width=width,
        )
        return Plan(
            params=params,
            vault=lambda: first_vault(dim, ridge, 1),
            view=lambda: first_view(dim, ridge, width),
            report_size=dim + 2,
            event=ExactRelease("choices computed from everybody's exact data"),
            guarantee=Guarantee.none(),
        )
