"""The posterior mean of a Gaussian process, without privacy: the line every private function is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._types import Floats
from tacit._validate import positive
from tacit.core.functions import FunctionPlan
from tacit.core.settings import drawn_by, option
from tacit.kernels import Matern, SquaredExponential
from tacit.policies.kernel_baselines.common import Unprotected, open_plan
from tacit.policies.kernel_baselines.learner import BaselineLearner, refuse_budget
from tacit.policies.kernel_baselines.moments import Moments
from tacit.policies.usca.function import FeatureFunction
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

#: What is said to whoever names a budget.
NOTHING_TO_SPEND = "it promises no privacy, so there is nothing to spend. Leave both out."


@dataclass(frozen=True, kw_only=True)
class GPMean(Unprotected):
    """μ(w) = ψ(w)ᵀ(Σψψᵀ + τI)⁻¹Σψ·y from evenly drawn actions: ridge regression on the features of a kernel, which is
    the posterior mean of a Gaussian process whose noise has τ times the prior's variance.

    Not private: the function is computed from everybody's exact records. Unlike `USCA` it uses the covariance of the
    records themselves, which is where its accuracy comes from and what a private learner has to do without.
    """

    slug: ClassVar[str] = "gp-mean"
    summary: ClassVar[str] = "the posterior mean of a Gaussian process, without privacy: the baseline of usca"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "a kernel, boxes of actions and contexts"

    tau: float = option("regulariser: the variance of the noise over that of the function", 0.1)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("tau", self.tau)

    @classmethod
    def examples(cls) -> tuple[GPMean, ...]:
        smooth: dict[str, Any] = {"kernel": SquaredExponential(length_scale=0.3), "action_box": ((0.0, 1.0),)}
        return (
            cls(**smooth, context_box=((0.0, 1.0),), features=49, horizon=500, reward_bound=1.3),
            cls(**smooth, features=12, feature_map="fourier", tau=10.0),
            cls(
                action_box=((-1.0, 1.0),),
                context_box=((0.0, 2.0),),
                kernel=Matern(2.5, length_scale=0.5),
                features=36,
                reward_low=0.0,
                reward_high=1.0,
            ),
        )

    def plan(self, sampler: str = "double") -> FunctionPlan:
        return open_plan("a function computed from everybody's exact records")

    def start(self, *, seed: int | None = None, sampler: str | None = None) -> GPMeanLearner:
        seed, sampler = drawn_by(seed, sampler)
        return GPMeanLearner(self, seed=seed, sampler=sampler)


class GPMeanLearner(BaselineLearner):
    """Sums of features; the function is solved for when it is asked for."""

    def __init__(self, config: GPMean, *, seed: int | None, sampler: str) -> None:
        super().__init__(config, seed=seed, sampler=sampler)
        self._tau = float(config.tau)
        self._moments = Moments(config.map)

    def _absorb(self, points: Floats, rewards: Floats) -> None:
        self._moments.add(points, rewards)

    def release_function(self, epsilon: float | None = None, delta: float | None = None) -> FeatureFunction:
        """The posterior mean of the records so far. Not private."""
        refuse_budget(self._config.slug, epsilon, delta, NOTHING_TO_SPEND)
        with self._lock:
            return self._function(self._moments.coefficients(self._tau), Guarantee.none())
