"""DP-SE: successive elimination of arms under pure DP."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import probability, whole
from tacit.core.plan import Plan
from tacit.core.settings import option
from tacit.policies._options import failure_or_default
from tacit.policies._rewards import ONE_REWARD, PUBLIC, PurePolicy
from tacit.policies.episodic.arms import ArmsPolicy
from tacit.policies.episodic.laplace_ucb import OUR_READING
from tacit.policies.episodic.verbs import FOREVER, episode_plan, follow


class EliminationRule(NamedTuple):
    """When an arm is out."""

    failure: float
    span: float  # Δ
    scale: float  # b


class EliminationView(NamedTuple):
    """All that has been released, and the episode that is being played."""

    stage: Ints  # (1,) totals released
    arm: Ints  # (1,) that is being played
    length: Ints  # (1,) of its episode, in rounds
    means: Floats  # (K,) of this epoch, noised
    active: Ints  # (K,) 1 for arms that are still in
    epoch: Ints  # (1,) e


@dataclass(frozen=True, kw_only=True)
class SuccessiveElimination(ArmsPolicy, PurePolicy):
    """DP-SE: all arms that are left are played alike, in epochs that halve the gap they can tell, with forgetting.

    In epoch e, with D = Δ·2^−e and |S| arms left, each is played R = ⌈max(32Δ²·ln(8|S|e²/β)/D², 8b·ln(4|S|e²/β)/D) + 1⌉
    times; its mean gets Laplace noise of scale b/R, b = Δ/ε, once; arms behind the best by more than 2h + 2c are out,
    h = Δ√(ln(8|S|e²/β)/2R), c = b·ln(4|S|e²/β)/R. A single arm left is played to the end. β is `failure`.

    Formal guarantee: (ε, 0)-DP of the rewards for all actions together, one reward replaced; with `person_rounds=k` all
    rewards of one person (b = kΔ/ε). Contexts, actions and the number of rounds are not protected.

    *Our reading* of Sajed and Sheffet (2019).
    """

    slug: ClassVar[str] = "successive-elimination"
    summary: ClassVar[str] = "DP-SE: arms eliminated in epochs under pure DP, with Laplace noise (our reading)"
    needs: ClassVar[str] = "the interval of rewards; a horizon or a failure probability"

    horizon: int | None = option("number of rounds, if known: sets the default failure probability to 1/horizon", None)
    failure: float | None = option("failure probability beta (default: 1/horizon, or 0.001)", None)

    def __post_init__(self) -> None:
        ArmsPolicy.__post_init__(self)
        PurePolicy.__post_init__(self)
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2)
        if self.failure is not None:
            probability("failure", self.failure)

    @classmethod
    def examples(cls, dim: int) -> tuple[SuccessiveElimination, ...]:
        return (cls(arms=dim, epsilon=20.0, failure=0.5),)

    @property
    def failure_probability(self) -> float:
        """β: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    def plan(self, sampler: str = "double") -> Plan:
        arms = self.dim
        scale, event, laid = self.laplace_noise(sampler)
        rule = EliminationRule(self.failure_probability, self.reward_range, scale)
        return episode_plan(
            self,
            np.eye(arms),
            rule,
            _first_view(arms, rule),
            scale=scale,
            laplace=True,
            laid=laid,
            event=event,
            guarantee=self.priced(event),
            assumptions=(PUBLIC, ONE_REWARD),
            notes=(OUR_READING,),
        )


def _first_view(arms: int, rule: EliminationRule) -> Callable[[], EliminationView]:
    def view() -> EliminationView:
        one = np.ones(1, np.int64)
        length = FOREVER if arms == 1 else _rounds_per_arm(rule, 1, arms)
        return EliminationView(
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            length * one,
            np.zeros(arms),
            np.ones(arms, np.int64),
            one.copy(),
        )

    return view


@kernel
def _logarithm(rule: EliminationRule, times: float, epoch: int, left: int) -> float:
    return math.log(times * left * epoch * epoch / rule.failure)


@kernel
def _rounds_per_arm(rule: EliminationRule, epoch: int, left: int) -> int:
    """R, or a number that no run will ever reach."""
    gap = rule.span * 2.0 ** -float(epoch)
    by_luck = 32.0 * rule.span * rule.span * _logarithm(rule, 8.0, epoch, left) / (gap * gap)
    by_noise = 8.0 * rule.scale * _logarithm(rule, 4.0, epoch, left) / gap
    rounds: float = min(max(by_luck, by_noise), 1e15)
    return math.ceil(rounds) + 1


@implements(follow, EliminationRule)
@kernel
def _follow(rule: EliminationRule, view: EliminationView, arm: int, size: int, total: float) -> None:
    """The next arm of this epoch; after the last one drop those behind, and begin the next epoch."""
    view.means[arm] = total / size
    arms = view.active.shape[0]
    for k in range(arm + 1, arms):
        if view.active[k] == 1:
            view.arm[0] = k
            return
    epoch, left, largest = view.epoch[0], 0, -math.inf
    for k in range(arms):
        if view.active[k] == 1:
            left += 1
            largest = max(largest, view.means[k])
    rounds = view.length[0]
    luck = rule.span * math.sqrt(_logarithm(rule, 8.0, epoch, left) / (2.0 * rounds))
    masked = rule.scale * _logarithm(rule, 4.0, epoch, left) / rounds
    first = -1
    for k in range(arms):
        if view.active[k] == 1:
            if largest - view.means[k] > 2.0 * luck + 2.0 * masked:
                view.active[k] = 0
                left -= 1
            elif first < 0:
                first = k
    view.arm[0] = first
    view.epoch[0] = epoch + 1
    view.length[0] = FOREVER if left == 1 else _rounds_per_arm(rule, epoch + 1, left)
