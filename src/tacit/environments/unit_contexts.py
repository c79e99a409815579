"""Fresh unit vectors in every round, and nothing arranged about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.core.settings import option
from tacit.core.slate import slate
from tacit.environments._directions import check_sizes, parameter
from tacit.environments.bias import BiasParams
from tacit.environments.environment import Environment, World
from tacit.noise import Source, first_normals


@dataclass(frozen=True, kw_only=True)
class UnitContexts(Environment):
    """K unit vectors per round, uniform on the sphere and independent of all others; a reward is ±1 with mean <x, θ*>.

    θ* is uniform on the sphere of radius `parameter_norm`. Unlike in `Sphere` no action is arranged to be the best one,
    and there is no gap.
    """

    slug: ClassVar[str] = "unit-contexts"
    summary: ClassVar[str] = "fresh unit vectors every round, uniform on the sphere, rewards ±1"

    dim: int = option("number of features d", 5)
    arms: int = option("number of actions K per round", 20)
    parameter_norm: float = option("norm of the parameter, above 0 and at most 1", 0.9)

    def __post_init__(self) -> None:
        check_sizes(self.dim, self.arms, self.parameter_norm)

    @property
    def features(self) -> int:
        return self.dim

    def start(self, stream: Source) -> World:
        theta = parameter(first_normals(stream, self.dim), self.parameter_norm)
        # Random directions without a public feature: `Bias` draws those too, and what it has compiled serves here.
        params = BiasParams(
            weights=theta.copy(),
            offset=0.0,
            radius=1.0,
            spread=math.inf,
            basis=0,
            low=-1.0,
            fresh=True,
            luck=np.zeros(1),
        )
        return World(params, slate(self.dim, self.arms), np.zeros(self.arms), theta)
