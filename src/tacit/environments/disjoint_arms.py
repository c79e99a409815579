"""Arms that share nothing: each has a parameter of its own, and a context of its own in every round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.core.settings import option
from tacit.core.slate import Slate, slate
from tacit.core.verbs import pay, show
from tacit.environments._directions import MOST_FEATURES, check_sizes, parameter
from tacit.environments._draws import measure_each
from tacit.environments.environment import Environment, World
from tacit.errors import BadInput
from tacit.noise import Source, fill_normals, fill_uniforms, first_normals


class DisjointArmsParams(NamedTuple):
    """What is fixed over one trial."""

    weights: Floats  # (d, K): column k is arm k's own parameter
    contexts: Floats  # (d, K) scratch: column k is arm k's context before it is brought to length 1
    luck: Floats  # (1,) scratch


@dataclass(frozen=True, kw_only=True)
class DisjointArms(Environment):
    """K arms, each with its own θ_k of norm `parameter_norm` and its own fresh unit context; rewards are ±1.

    Action k is the vector of K blocks that is arm k's context in block k and zero elsewhere, so the world is linear in
    K·d features with θ* = (θ_1, …, θ_K), and every linear policy can play it. One that knows of the blocks (`LinPriv`)
    learns each arm apart, which is all there is to learn: nothing seen of one arm says anything of another.
    """

    slug: ClassVar[str] = "disjoint-arms"
    summary: ClassVar[str] = "each arm with its own parameter and its own fresh unit context, rewards ±1"

    arms: int = option("number of arms K", 5)
    context_dim: int = option("length of an arm's context; there are arms·context_dim features", 5)
    parameter_norm: float = option("norm of each arm's parameter, above 0 and at most 1", 0.9)

    def __post_init__(self) -> None:
        check_sizes(self.context_dim, self.arms, self.parameter_norm, name="context_dim")
        if self.features > MOST_FEATURES:
            raise BadInput(
                f"Expected arms·context_dim <= {MOST_FEATURES}, got arms={self.arms}, context_dim={self.context_dim}. "
                "Nothing here is made for more features."
            )

    @property
    def features(self) -> int:
        return self.arms * self.context_dim

    @property
    def stable_arms(self) -> bool:
        return True

    def start(self, stream: Source) -> World:
        thetas = parameter(first_normals(stream, self.features).reshape(self.arms, -1), self.parameter_norm)
        params = DisjointArmsParams(
            weights=np.ascontiguousarray(thetas.T),
            contexts=np.zeros((self.context_dim, self.arms)),
            luck=np.zeros(1),
        )
        return World(params, slate(self.features, self.arms), np.zeros(self.arms), thetas.ravel())


@implements(show, DisjointArmsParams)
@kernel
def _show(environment: DisjointArmsParams, slate: Slate, means: Floats, stream: Any) -> None:
    """Overwrite each arm's block; the rest of a column is zero from the start."""
    contexts, columns, factor = environment.contexts, slate.columns, slate.spread
    dim, arms = contexts.shape
    fill_uniforms(stream, environment.luck)
    for i in range(dim):
        fill_normals(stream, contexts[i])
    measure_each(contexts, environment.weights, factor, means)
    for k in range(arms):
        factor[k] = 1.0 / math.sqrt(factor[k])
        means[k] = max(-1.0, min(1.0, factor[k] * means[k]))
        for i in range(dim):
            columns[k * dim + i, k] = factor[k] * contexts[i, k]


@implements(pay, DisjointArmsParams)
@kernel
def _pay(environment: DisjointArmsParams, mean: float, stream: Any) -> float:
    return 1.0 if environment.luck[0] < 0.5 * (1.0 + mean) else -1.0
