"""The multi-armed bandit as a linear one: k orthogonal arms, one of them better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._types import Floats
from tacit._validate import positive, whole
from tacit.core.settings import option
from tacit.core.slate import slate
from tacit.environments._fixed_list import two_rewards
from tacit.environments.environment import Environment, World
from tacit.errors import BadInput
from tacit.noise import Source, first_normals

#: The best mean reward, where ‖θ*‖ ≤ 1 allows it.
BEST = 0.5


@dataclass(frozen=True, kw_only=True)
class OrthogonalArms(Environment):
    """The k basis vectors in every round: nothing learned about one arm says anything about another.

    The best arm, at an index drawn once per trial, has mean 0.5 and the others 0.5 − gap, as long as that keeps
    ‖θ*‖ ≤ 1. With more arms all means are lowered alike until ‖θ*‖ = 1: the gap is what makes arms hard to tell apart,
    and stays as asked for. Rewards are ±1.

    Shariff and Sheffet (2018), Claim 14 and Corollary 15.
    """

    slug: ClassVar[str] = "orthogonal-arms"
    summary: ClassVar[str] = "the multi-armed bandit: basis vectors, one better by a gap (Shariff and Sheffet 2018)"

    arms: int = option("number of arms k, and of features", 5)
    gap: float = option("distance between the best mean reward and the others, above 0 and at most 0.5", 0.1)

    def __post_init__(self) -> None:
        whole("arms", self.arms)
        if self.arms > 1000:
            raise BadInput(f"Expected arms <= 1000, got arms={self.arms}. Nothing here is made for more features.")
        positive("gap", self.gap, hint="Without a gap every arm is the best one.")
        if self.gap > BEST:
            raise BadInput(
                f"Expected 0 < gap <= {BEST:g}, got gap={self.gap!r}. Beyond it other means fall below zero."
            )

    @property
    def features(self) -> int:
        return self.arms

    @property
    def fixed_actions(self) -> Floats:
        return np.eye(self.arms)

    @property
    def best(self) -> float:
        """The best mean: 0.5, or the largest b with b² + (k − 1)(b − gap)² ≤ 1 if that is less."""
        arms, gap = self.arms, self.gap
        other = (math.sqrt(arms - (arms - 1) * gap * gap) - gap) / arms
        return min(BEST, other + gap)

    def start(self, stream: Source) -> World:
        # The largest of k equal chances stands at any index evenly.
        best = int(first_normals(stream, self.arms).argmax())
        theta = np.full(self.arms, self.best - self.gap)
        theta[best] = self.best
        room = slate(self.arms, self.arms)
        room.columns[:] = self.fixed_actions
        return World(two_rewards(-1.0), room, theta.copy(), theta)
