"""What policies over K plain arms have in common: their number, and a plan made of one rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tacit._types import Floats
from tacit._validate import whole
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.policies.episodic.index import IndexRule, first_view
from tacit.policies.episodic.verbs import episode_plan

#: Nothing here is made for more: the list of K arms is a K×K matrix.
MOST_ARMS = 1000

#: β of the regret theorem, which asks for more than 3; and the one that does better in practice, without a theorem.
THEOREM, PRACTICAL = 3.1, 1.0


@dataclass(frozen=True, kw_only=True)
class ArmsPolicy(Policy):
    """A policy over K arms that have no features: arm k is the k-th basis vector."""

    list_option: ClassVar[str | None] = "arms"

    arms: int | None = option("number of arms K (default: the environment's)", None)

    def __post_init__(self) -> None:
        if self.arms is not None and whole("arms", self.arms) > MOST_ARMS:
            raise BadInput(f"Expected arms <= {MOST_ARMS:,}, got arms={self.arms}.")

    @property
    def dim(self) -> int:  # type: ignore[override]
        """The length of an action: K, as the k-th arm is the k-th basis vector."""
        if self.arms is None:
            raise BadInput(f"Expected {self.slug} to know its arms, got none. Give arms=K.")
        return self.arms

    @property
    def fixed_actions(self) -> Floats | None:
        return None if self.arms is None else np.eye(self.arms)

    def offered(self, actions: Floats) -> Self:
        if self.arms is not None:
            return self
        if not np.array_equal(actions, np.eye(len(actions))):
            raise BadInput(
                f"Expected an environment of plain arms for {self.slug}, got one whose actions have features. "
                'Use "arms" or "orthogonal-arms".'
            )
        return replace(self, arms=len(actions))


def index_plan(
    config: Any,
    index: Any,
    *,
    optimism: float,
    scale: float,
    laplace: bool = False,
    episodes: bool = True,
    **rest: Any,
) -> Plan:
    """The plan of a policy that follows an index. `episodes`: in doubling ones that are forgotten, as privacy needs;
    else every round, from all rewards."""
    arms, low, span = config.dim, float(config.reward_low), float(config.reward_high) - float(config.reward_low)
    rule = IndexRule(index, float(optimism), low, span, scale, laplace, episodes, episodes)
    return episode_plan(config, np.eye(arms), rule, first_view(arms), scale=scale, laplace=laplace, **rest)
