"""One public list of actions, the same in every round and in every trial."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from tacit._types import Floats
from tacit._validate import whole
from tacit.core.settings import option
from tacit.core.slate import slate
from tacit.environments._directions import check_sizes, parameter
from tacit.environments._fixed_list import two_rewards
from tacit.environments.environment import Environment, World
from tacit.noise import Source, first_normals, stream


@dataclass(frozen=True, kw_only=True)
class LinearActions(Environment):
    """K unit vectors, uniform on the sphere; a reward is ±1 with mean <x, θ*>.

    The list is public: it depends on `actions_seed` alone, so that policies which plan on a list (`RenyiGOPE`) can be
    given it beforehand. θ*, uniform on the sphere of radius `parameter_norm`, is drawn in each trial.
    """

    slug: ClassVar[str] = "linear-actions"
    summary: ClassVar[str] = "one public list of unit vectors, the same in every round and trial, rewards ±1"

    dim: int = option("number of features d", 5)
    arms: int = option("number of actions K", 20)
    parameter_norm: float = option("norm of the parameter, above 0 and at most 1", 0.9)
    actions_seed: int = option("which list of actions: the same number gives the same list", 0)

    def __post_init__(self) -> None:
        check_sizes(self.dim, self.arms, self.parameter_norm)
        whole("actions_seed", self.actions_seed, low=0)

    @property
    def features(self) -> int:
        return self.dim

    @property
    def fixed_actions(self) -> Floats:
        return _actions(self.dim, self.arms, self.actions_seed).copy()

    def start(self, stream: Source) -> World:
        theta = parameter(first_normals(stream, self.dim), self.parameter_norm)
        actions = self.fixed_actions
        room = slate(self.dim, self.arms)
        room.columns[:] = actions.T
        # Not a product of matrices: its rounding, and so a mean to the last bit, would depend on the machine.
        means = np.clip((actions * theta).sum(axis=1), -1.0, 1.0)
        return World(two_rewards(-1.0), room, means, theta)


@lru_cache(maxsize=16)
def _actions(dim: int, arms: int, seed: int) -> Floats:
    """The list of this seed: a longer one begins with it."""
    rows = np.array([first_normals(stream(seed, place), dim) for place in range(arms)])
    rows /= np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return rows
