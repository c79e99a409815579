"""Online LinUCB without privacy (Algorithm 4): what the private ones are when the noise is taken away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import positive, probability, whole
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.round import COUNTERS, LARGEST, ROWS
from tacit.core.settings import option
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.estimators.online import GradientDescent, GradientDescentState, descend, gradient_descent
from tacit.estimators.ridge import View, empty_view, solve
from tacit.explorations import Optimism, optimistic_arm
from tacit.mechanisms.report import within_ball, within_interval
from tacit.policies._options import failure_or_default, width_multiplier
from tacit.policies.linear import BEYOND
from tacit.policies.online.widths import STEP, typical_gradient
from tacit.privacy.event import ExactRelease
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

#: The theorem holds for failure probabilities up to this; a larger one is kept by this one too.
_MOST_FAILURE = 0.25
#: Widths beyond this would not be finite for long.
_MOST_WIDTH = 1e150


class ConfidenceParams(NamedTuple):
    """Params of `OnlineConfidence`."""

    learner: GradientDescent
    fixed: float  # S² + 1
    noise_level: float  # R
    failure: float  # δ
    multiplier: float  # of the width: 1 is the theorem
    exploration: Optimism


class ConfidenceVault(NamedTuple):
    """Exact sums."""

    sums: Floats  # packed Σ x xᵀ, then Σ x·ŷ
    squares: Floats  # (2,) Σ ŷ², and Σ ‖g_t‖²/√t
    gradient: Floats  # (d,) scratch
    counters: Ints
    point: Floats  # the learner's state
    steps: Ints


@dataclass(frozen=True, kw_only=True)
class OnlineConfidence(Policy):
    """LinUCB with a confidence set around the *predictions* of online gradient descent, on exact data.

    Not private: every choice depends on everybody's exact data. It is what `OnlineLinUCB` is without noise, with a
    width that is proved. With probability 1 − δ the true parameter lies in every

        {θ : ‖θ‖² + Σ (ŷ_t − <θ, x_t>)² ≤ β²},   β² = S² + 1 + 2M_n + 32R² ln((R√8 + √(1 + M_n))/δ),

    where M_n bounds the learner's regret on the squared losses (Abbasi-Yadkori, Pál and Szepesvári 2012, Corollary 2).
    Descent with steps a/√t has, for whatever data came,

        M_n = 2S²√n/a + (a/2)·Σ ‖g_t‖²/√t,

    which is known in round n, so the width adapts to it; no bound on actions or rewards is needed. Maler's bound
    (`exp_concave_regret_bound`) grows only with ln n, but needs such bounds, and with unit bounds and d = 5 it is the
    larger one below some millions of rounds: it is not offered.
    """

    slug: ClassVar[str] = "online-confidence"
    summary: ClassVar[str] = "LinUCB with confidence sets from an online learner, without privacy"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "nothing"

    dim: int = option("number of features d")
    noise_level: float = option("sub-Gaussian level of the reward noise, R", 1.0)
    parameter_norm: float = option("bound S on the norm of the unknown parameter: the learner's ball", 1.0)
    action_norm: float = option("how long actions are: sets the learner's step, and is not assumed", 1.0)
    reward_size: float = option("how large rewards are: sets the learner's step, and is not assumed", 1.0)
    horizon: int | None = option("number of rounds, if known: sets the default failure probability to 1/horizon", None)
    failure: float | None = option("failure probability of the confidence sets (at most 1/4 is used)", None)
    width: float | str = option('"theory", or a number that multiplies the proved width (no guarantee then)', "theory")

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        for name in ("noise_level", "parameter_norm", "action_norm", "reward_size"):
            positive(name, getattr(self, name))
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2)
        if self.failure is not None:
            probability("failure", self.failure)
        width_multiplier(self.width)

    @classmethod
    def examples(cls, dim: int) -> tuple[OnlineConfidence, ...]:
        return (cls(dim=dim),)

    @property
    def failure_probability(self) -> float:
        """δ: as given, else 1/horizon, else 0.001; at most 1/4."""
        return min(failure_or_default(self.failure, self.horizon), _MOST_FAILURE)

    def plan(self, sampler: str = "double") -> Plan:
        size, dim = float(self.parameter_norm), self.dim
        typical = typical_gradient(self.action_norm, self.reward_size, 0.0, 0, size)
        # No clip: the gradients must be those of the losses for the regret bound to hold.
        online = gradient_descent(dim, size, STEP * size / typical, LARGEST)
        params = ConfidenceParams(
            learner=online.params,
            fixed=size**2 + 1,
            noise_level=float(self.noise_level),
            failure=self.failure_probability,
            multiplier=width_multiplier(self.width),
            exploration=Optimism(1.0),
        )
        return Plan(
            params=params,
            vault=lambda: ConfidenceVault(
                np.zeros(linalg.packed_size(dim) + dim),
                np.zeros(2),
                np.zeros(dim),
                np.zeros(COUNTERS, np.int64),
                *online.state(),
            ),
            view=lambda: empty_view(dim)._replace(
                factor=np.eye(dim), whiten=np.eye(dim), width=np.array([confidence_width(params, 0.0, 0.0)])
            ),
            report_size=dim + 1,
            event=ExactRelease("choices computed from everybody's exact data"),
            guarantee=Guarantee.none(),
        )


@implements(choose, ConfidenceParams)
@kernel
def _choose(params: ConfidenceParams, view: View, slate: Slate, noise: Any) -> int:
    return optimistic_arm(params.exploration, view, slate, noise)


@implements(encode, ConfidenceParams)
@kernel
def _encode(params: ConfidenceParams, view: View, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Action and reward as they are: nothing is hidden. Clipped where they would end the learning."""
    dim = x.shape[0]
    shrink = within_ball(x, dim, BEYOND)
    for i in range(dim):
        report[i] = x[i] * shrink
    report[dim] = within_interval(reward, -BEYOND, BEYOND)


@implements(absorb, ConfidenceParams)
@kernel
def _absorb(params: ConfidenceParams, vault: ConfidenceVault, report: Floats) -> None:
    dim = report.shape[0] - 1
    state = GradientDescentState(vault.point, vault.steps)
    predicted, length = 0.0, 0.0
    for i in range(dim):
        predicted += state.point[i] * report[i]
    for i in range(dim):
        vault.gradient[i] = 2.0 * (predicted - report[dim]) * report[i]
        length += vault.gradient[i] * vault.gradient[i]
    linalg.add_outer(report, predicted, dim, vault.sums)
    vault.squares[0] += predicted * predicted
    descend(params.learner, state, vault.gradient)
    vault.counters[ROWS] += 1
    vault.squares[1] += length / math.sqrt(vault.counters[ROWS])


@implements(release, ConfidenceParams)
@kernel
def _release(params: ConfidenceParams, vault: ConfidenceVault, view: View, noise: Any) -> None:
    """Centre and width of the set: ‖θ − θ̂‖²_V ≤ β² − (Σ ŷ² − <θ̂, Σ x·ŷ>), the square completed."""
    dim = view.theta.shape[0]
    solve(vault.sums, 1.0, 1.0, 1.0, view)
    explained, at = 0.0, vault.sums.shape[0] - dim
    for i in range(dim):
        explained += view.theta[i] * vault.sums[at + i]
    rows = float(vault.counters[ROWS])
    learner = params.learner
    regret = 2.0 * learner.radius**2 * math.sqrt(rows) / learner.step + 0.5 * learner.step * vault.squares[1]
    view.width[0] = confidence_width(params, regret, vault.squares[0] - explained)
    view.stage[0] += 1


@kernel
def confidence_width(params: ConfidenceParams, regret: float, misfit: float) -> float:
    """√(β² − misfit), β² = S² + 1 + 2M_n + 32R² ln((R√8 + √(1 + M_n))/δ).

    Should nothing be left, the set is empty, which has probability δ at most, and only its centre is played.
    """
    level = params.noise_level
    inside = (level * math.sqrt(8.0) + math.sqrt(1.0 + regret)) / params.failure
    square = params.fixed + 2.0 * regret + 32.0 * level * level * math.log(inside)
    return params.multiplier * min(math.sqrt(max(square - max(misfit, 0.0), 0.0)), _MOST_WIDTH)
