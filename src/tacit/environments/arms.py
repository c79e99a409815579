"""The multi-armed bandit: K arms, each with a mean reward of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._types import Floats
from tacit._validate import one_of, positive, real
from tacit.core.settings import option
from tacit.core.slate import slate
from tacit.environments._fixed_list import clipped_rewards, two_rewards
from tacit.environments.environment import Environment, World
from tacit.errors import BadInput
from tacit.noise import Source


@dataclass(frozen=True, kw_only=True)
class Arms(Environment):
    """K arms of given means, rewards in [0, 1]. Arm k is the basis vector e_k, so that linear policies can play too.

    - "bernoulli": a reward is 1 with probability `means[k]`, else 0.
    - "gaussian": a reward is N(`means[k]`, spread²), clipped to [0, 1]. Clipping moves the mean towards a half;
      `true_means` holds where to, and regret is counted by it.

    Rewards in every round are independent, and arms keep the order of their means as given.
    """

    slug: ClassVar[str] = "arms"
    summary: ClassVar[str] = "the multi-armed bandit: K arms of given means, rewards in [0, 1]"

    means: tuple[float, ...] = option("mean reward of each arm, from 0 to 1", (0.75, 0.625, 0.5, 0.375, 0.25))
    reward_noise: str = option('"bernoulli": rewards are 0 or 1; "gaussian": normal, clipped to [0, 1]', "bernoulli")
    spread: float | None = option("standard deviation of Gaussian rewards before they are clipped (default: 0.5)", None)

    def __post_init__(self) -> None:
        if isinstance(self.means, str) or not hasattr(self.means, "__iter__"):
            raise BadInput(f"Expected means to be numbers such as (0.9, 0.5), got means={self.means!r}.")
        means = tuple(real("means", mean) for mean in self.means)
        if not 1 <= len(means) <= 1000:
            raise BadInput(f"Expected from 1 to 1000 means, one for each arm, got {len(means)}.")
        for mean in means:
            if not 0 <= mean <= 1:
                raise BadInput(
                    f"Expected means from 0 to 1, got means={self.means!r}. Rewards are in [0, 1]: scale them first."
                )
        object.__setattr__(self, "means", means)
        one_of("reward_noise", self.reward_noise, ("bernoulli", "gaussian"))
        if self.spread is not None:
            positive("spread", self.spread)
            if self.reward_noise != "gaussian":
                raise BadInput(
                    f"Expected spread with reward_noise='gaussian' only, got spread={self.spread!r} with "
                    f"reward_noise={self.reward_noise!r}. Leave it out: a reward of 0 or 1 has no other freedom."
                )

    @property
    def features(self) -> int:
        return len(self.means)

    @property
    def fixed_actions(self) -> Floats:
        return np.eye(self.features)

    @property
    def true_means(self) -> tuple[float, ...]:
        """The mean of each arm's rewards: as given, or what clipping makes of it."""
        if self.reward_noise == "bernoulli":
            return self.means
        return tuple(clipped_mean(mean, self._spread) for mean in self.means)

    @property
    def _spread(self) -> float:
        return 0.5 if self.spread is None else float(self.spread)

    def start(self, stream: Source) -> World:
        room = slate(self.features, self.features)
        room.columns[:] = self.fixed_actions
        means = np.array(self.true_means)
        params = (
            two_rewards(0.0)
            if self.reward_noise == "bernoulli"
            else clipped_rewards(0.0, self._spread, means.copy(), np.array(self.means))
        )
        return World(params, room, means, means.copy())


def clipped_mean(location: float, spread: float) -> float:
    """The mean of a N(μ, σ²) number clipped to [0, 1].

        E = σ·(G(μ/σ) − G((μ − 1)/σ)),   G(x) = x·Φ(x) + φ(x):

    G(μ/σ)·σ is the mean of what lies above 0, and what lies above 1 is taken off again.
    """

    def above_zero(x: float) -> float:
        return 0.5 * x * math.erfc(-x / math.sqrt(2)) + math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    mean = spread * (above_zero(location / spread) - above_zero((location - 1) / spread))
    return min(1.0, max(0.0, mean))
