"""What the configurations of the baselines have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from tacit.core.functions import FunctionPlan
from tacit.kernels import Box
from tacit.policies.usca.records import Domain
from tacit.policies.usca.shared import KernelPolicy
from tacit.privacy.card import SpendingPath
from tacit.privacy.event import ExactRelease
from tacit.privacy.guarantee import Guarantee

_WAYS_TO_BOUND = ("reward_bound", "reward_low", "function_bound")


@dataclass(frozen=True, kw_only=True)
class Baseline(KernelPolicy):
    """A learner on the features of a kernel."""

    @property
    def adaptive(self) -> bool:
        """Whether `choose` depends on what has been learned; if not, records can be learned in any number at once."""
        return False

    @cached_property
    def bounds(self) -> Domain:
        """Where records lie: what is outside is moved there."""
        contexts = None if self.context_box is None else Box(self.context_box)
        return Domain(self.actions, contexts, self.middle, self.reward_reach)

    @property
    def reward_reach(self) -> float:
        """B: how far a reward may be from the middle; what is beyond is clipped."""
        return self.bound


@dataclass(frozen=True, kw_only=True)
class Unprotected(Baseline):
    """A baseline without privacy. It needs no bound on rewards and no horizon; where they are given they hold."""

    @property
    def reward_reach(self) -> float:
        """B, or ∞ where no bound was given."""
        bounded = any(getattr(self, name) is not None for name in _WAYS_TO_BOUND)
        return self.bound if bounded else math.inf

    def in_units(self, value: float) -> float:
        """A number in units of B, or as it is without a bound."""
        return value * self.reward_reach if math.isfinite(self.reward_reach) else value


def open_plan(what: str) -> FunctionPlan:
    """The plan of a baseline that promises nothing, and releases this."""
    path = SpendingPath(
        "function", "A function (release_function), without noise", Guarantee.none(), ExactRelease(what)
    )
    return FunctionPlan(paths=(path,), guarantee=path.guarantee)
