"""What a configuration fixes before anyone comes: the operator, the leverage that records are clipped at, τ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tacit._types import Floats
from tacit.estimators.rkhs import ExactForm, Operator, certified_maximum, certified_sup_sigma2, sampled_gain
from tacit.estimators.rkhs.exact import refuse_large
from tacit.kernels import Box

if TYPE_CHECKING:
    from tacit.policies.usca import USCA


@dataclass(frozen=True, eq=False)
class Public:
    """Nothing in it depends on data. `operator` is None for the exact form, `exact` for features."""

    actions: Box
    contexts: Box | None
    operator: Operator | None
    exact: ExactForm | None
    clip: float | None  # quantile of the leverage; None: no clipping, and its certified supremum instead

    @property
    def size(self) -> int:
        """Length of v."""
        return 0 if self.operator is None else self.operator.size

    @property
    def domain(self) -> Box:
        """Actions and contexts, side by side."""
        return self.actions if self.contexts is None else self.actions.times(self.contexts)

    @cached_property
    def supremum(self) -> float:
        """An upper bound on σ² = ‖u‖² over the whole domain, certified."""
        form = self.exact if self.operator is None else self.operator
        assert form is not None
        return certified_sup_sigma2(form, self.domain)

    @cached_property
    def leverage(self) -> float:
        """S: what ‖u‖ of a record is at most. A public quantile that it is clipped to, or the certified supremum, which
        no point of the domain exceeds; records are then clipped to it all the same, which moves none."""
        if self.clip is None or self.operator is None:
            return float(np.sqrt(self.supremum))
        return self.operator.leverage_quantile(self.clip)

    def upper_bound(self, vector: Floats, context: Floats | None, tolerance: float) -> float:
        """An upper bound on μ(x, c) over all actions x. Vault: it depends on v."""
        assert self.operator is not None
        return certified_maximum(self.operator, vector, self.actions, context, tolerance=tolerance)


def public_of(config: USCA) -> Public:
    """What follows from a configuration, worked out from synthetic draws alone."""
    contexts = None if config.context_box is None else Box(config.context_box)
    clip = None if config.calibration == "published" else config.clip
    if config.form == "exact":
        return Public(config.actions, contexts, None, _exact(config), None)
    return Public(config.actions, contexts, config.operator(config.regulariser), None, clip)


def _exact(config: USCA) -> ExactForm:
    """The published form: K = ⌈T/γ_T⌉ synthetic points per record."""
    horizon, kernel, tau = config.records, config.covariance, config.regulariser
    if horizon > 1000:
        # Only to say what it would take: γ_T of a thousand draws is below that of more.
        points = horizon * ExactForm.copies_needed(horizon, sampled_gain(kernel, config.synthetic[:1000], tau))
        refuse_large(horizon, points)
    gain = sampled_gain(kernel, config.synthetic_draws(horizon, 1), tau)
    copies = ExactForm.copies_needed(horizon, gain)
    return ExactForm(kernel, config.synthetic_draws(horizon * copies, 2), copies, tau)
