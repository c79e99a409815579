"""GP-UCB without privacy: optimism on the posterior of a Gaussian process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import positive
from tacit.core.functions import FunctionPlan
from tacit.core.settings import drawn_by, option
from tacit.kernels import Matern, SquaredExponential
from tacit.policies.kernel_baselines.common import Unprotected, open_plan
from tacit.policies.kernel_baselines.gp_mean import NOTHING_TO_SPEND
from tacit.policies.kernel_baselines.learner import BaselineLearner, refuse_budget
from tacit.policies.kernel_baselines.moments import Posterior
from tacit.policies.usca.function import FeatureFunction
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

#: The failure probability of the published β.
_FAILURE = 0.1


@dataclass(frozen=True, kw_only=True)
class GPUCB(Unprotected):
    """argmax over the public candidates of μ(x, c) + √β·σ(x, c), the posterior of a Gaussian process on features.

    The process has prior variance B²·k and noise of variance τB², B the bound on rewards (1 if none was given), so that
    nothing depends on the units of rewards. With β = None, for K candidates in round t,

        β_t = 2·ln(K·t²π²/6δ),  δ = 0.1

    Srinivas, Krause, Kakade and Seeger (2010), Theorem 1, there for functions drawn from the process itself, Gaussian
    noise and one set of candidates; Krause and Ong (2011) for contexts. For other functions a rule, not a theorem.

    Not private: every choice depends on everybody's exact records. Predictions are by the posterior mean.
    """

    slug: ClassVar[str] = "gp-ucb"
    summary: ClassVar[str] = "optimism on the posterior of a Gaussian process, without privacy"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "a kernel, boxes of actions and contexts"

    tau: float = option("regulariser: the variance of the noise over that of the function", 0.1)
    beta: float | None = option("square of the width in standard deviations (default: 2*ln(K*t^2*pi^2/0.6))", None)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("tau", self.tau)
        if self.beta is not None:
            positive("beta", self.beta, hint="Exploration without width is gp-mean's, by chance.")

    @classmethod
    def examples(cls) -> tuple[GPUCB, ...]:
        smooth: dict[str, Any] = {"kernel": SquaredExponential(length_scale=0.3), "action_box": ((0.0, 1.0),)}
        return (
            cls(**smooth, context_box=((0.0, 1.0),), features=49, horizon=500, reward_bound=1.3, candidates=21),
            cls(**smooth, features=12, feature_map="fourier", tau=10.0, beta=4.0),
            cls(
                action_box=((-1.0, 1.0),),
                context_box=((0.0, 2.0),),
                kernel=Matern(2.5, length_scale=0.5),
                features=36,
                reward_low=0.0,
                reward_high=1.0,
                candidates=11,
            ),
        )

    @property
    def adaptive(self) -> bool:
        return True

    def width(self, number: int) -> float:
        """√β in this round, counted from 1, in units of rewards."""
        beta = self.beta
        if beta is None:
            beta = 2 * math.log(len(self.grid) * number**2 * math.pi**2 / (6 * _FAILURE))
        return self.in_units(math.sqrt(beta))

    def plan(self, sampler: str = "double") -> FunctionPlan:
        return open_plan("choices and a function computed from everybody's exact records")

    def start(self, *, seed: int | None = None, sampler: str | None = None) -> GPUCBLearner:
        seed, sampler = drawn_by(seed, sampler)
        return GPUCBLearner(self, seed=seed, sampler=sampler)


class GPUCBLearner(BaselineLearner):
    """The posterior after every record."""

    def __init__(self, config: GPUCB, *, seed: int | None, sampler: str) -> None:
        super().__init__(config, seed=seed, sampler=sampler)
        self._optimist = config
        self._posterior = Posterior(config.map, float(config.tau))

    def choose(self, context: ArrayLike | None = None) -> Floats:
        """The candidate that may be best in this context, by what has been learned so far; the first of equals."""
        points = self._candidates(context)
        with self._lock:
            mean, deviation = self._posterior.mean_and_deviation(points)
            place = int(np.argmax(mean + self._optimist.width(self._rows + 1) * deviation))
        found: Floats = self._config.grid[place].copy()
        return found

    def _absorb(self, points: Floats, rewards: Floats) -> None:
        self._posterior.add(points, rewards)

    def release_function(self, epsilon: float | None = None, delta: float | None = None) -> FeatureFunction:
        """The posterior mean of the records so far. Not private."""
        refuse_budget(self._config.slug, epsilon, delta, NOTHING_TO_SPEND)
        with self._lock:
            return self._function(self._posterior.coefficients(self._posterior.tau), Guarantee.none())
