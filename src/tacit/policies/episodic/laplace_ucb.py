"""AdaP-UCB: arms in episodes under pure DP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit._validate import positive
from tacit.core.plan import Plan
from tacit.core.settings import option
from tacit.policies._rewards import ONE_REWARD, PUBLIC, PurePolicy
from tacit.policies.episodic.arms import PRACTICAL, THEOREM, ArmsPolicy, index_plan
from tacit.policies.episodic.index import UCBIndex

OUR_READING = "Our reading of the algorithm: its publication was not at hand, and its own experiments may differ."


@dataclass(frozen=True, kw_only=True)
class LaplaceUCB(ArmsPolicy, PurePolicy):
    """AdaP-UCB: the episodes of `RenyiUCB` with Laplace noise of scale b = Δ/ε on each total, and the index

        m + Δ√(β·ln(t + 1)/2n) + b·β·ln(t + 1)/n.

    Formal guarantee: (ε, 0)-DP of the rewards for all actions together, one reward replaced; with `person_rounds=k` all
    rewards of one person (b = kΔ/ε). Contexts, actions and the number of rounds are not protected.

    *Our reading* of Azize and Basu (2022). Compare it with Rényi policies at equal (ε, δ), never at an equal letter.
    """

    slug: ClassVar[str] = "laplace-ucb"
    summary: ClassVar[str] = "AdaP-UCB: the same episodes under pure DP, with Laplace noise (our reading)"
    needs: ClassVar[str] = "the interval of rewards"

    optimism: float = option(
        f"beta, which multiplies ln t in the index: {THEOREM}, or {PRACTICAL:g} (practical)", THEOREM
    )

    def __post_init__(self) -> None:
        ArmsPolicy.__post_init__(self)
        PurePolicy.__post_init__(self)
        positive("optimism", self.optimism)

    @classmethod
    def examples(cls, dim: int) -> tuple[LaplaceUCB, ...]:
        return (cls(arms=dim, epsilon=1.0), cls(arms=dim, epsilon=0.5, reward_low=-2.0, person_rounds=3))

    def plan(self, sampler: str = "double") -> Plan:
        scale, event, laid = self.laplace_noise(sampler)
        return index_plan(
            self,
            UCBIndex(),
            optimism=self.optimism,
            scale=scale,
            laplace=True,
            laid=laid,
            event=event,
            guarantee=self.priced(event),
            assumptions=(PUBLIC, ONE_REWARD),
            notes=(OUR_READING,),
        )
