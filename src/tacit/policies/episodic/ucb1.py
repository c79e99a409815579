"""UCB1 without privacy: the line that private bandits over arms are measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit._validate import flag, positive
from tacit.core.plan import Plan
from tacit.core.settings import option
from tacit.policies._rewards import RewardPolicy
from tacit.policies.episodic.arms import THEOREM, ArmsPolicy, index_plan
from tacit.policies.episodic.index import UCBIndex
from tacit.privacy.event import ExactRelease
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust


@dataclass(frozen=True, kw_only=True)
class UCB1(ArmsPolicy, RewardPolicy):
    """Optimism over K arms: mean + √(Δ²/2n·β·ln(t + 1)) (Auer, Cesa-Bianchi and Fischer 2002).

    With `doubling` it plays in the episodes of `RenyiUCB`, forgets as it does, and adds no noise: what privacy costs is
    the distance from there. Not private either way: every choice depends on everybody's exact rewards.
    """

    slug: ClassVar[str] = "ucb1"
    summary: ClassVar[str] = "UCB1 without privacy: the baseline over arms"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "the interval of rewards"

    optimism: float = option("beta, which multiplies ln t in the index", THEOREM)
    doubling: bool = option("play in doubling episodes and forget, like renyi-ucb without its noise", False)

    def __post_init__(self) -> None:
        ArmsPolicy.__post_init__(self)
        RewardPolicy.__post_init__(self)
        positive("optimism", self.optimism)
        flag("doubling", self.doubling)

    @classmethod
    def examples(cls, dim: int) -> tuple[UCB1, ...]:
        return (cls(arms=dim), cls(arms=dim, doubling=True, optimism=1.0))

    def plan(self, sampler: str = "double") -> Plan:
        return index_plan(
            self,
            UCBIndex(),
            optimism=self.optimism,
            scale=0.0,
            episodes=self.doubling,
            event=ExactRelease("choices computed from everybody's exact rewards"),
            guarantee=Guarantee.none(),
        )
