"""One context for all arms, as in a shop window or a newsletter: every arm has a parameter of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit._validate import real, whole
from tacit.core.settings import option
from tacit.core.slate import Slate, slate
from tacit.core.verbs import draw_context, pay, show
from tacit.environments._blocks import lay_out
from tacit.environments._directions import MOST_FEATURES
from tacit.environments.environment import Environment, World
from tacit.errors import BadInput
from tacit.noise import Source, fill_uniforms, first_normals

#: How far up the declared range the mean click rates of the most and the least popular arm lie. Those between fall by
#: one factor from arm to arm: few arms are popular, as in most catalogues.
_MOST_POPULAR, _LEAST_POPULAR = 0.68, 0.063


class SharedContextParams(NamedTuple):
    """What is fixed over one trial."""

    weights: Floats  # (p, K): what each feature adds to an arm's click rate or takes off it; last, its mean
    low: float  # no click rate is lower
    high: float  # nor higher
    scale: float  # 1/√p: every coordinate is this, or minus this
    context: Floats  # (p,) scratch: the context of the round
    luck: Floats  # (p + K·s,) scratch: a coin for each feature, the luck of the reward, coins of actions' features
    common: Floats  # (s,): what each feature of an action adds to the click rate of any arm or takes off it
    features: Floats  # (K, s) scratch: the features of the actions of the round
    shrink: float  # an action as one vector is so many times its blocks: no longer than 1


@dataclass(frozen=True, kw_only=True)
class SharedContext(Environment):
    """K arms that share one context z per round; a reward is a click, 1 with probability <z, θ_k> for arm k, else 0.

    z has `context_dim` coordinates: answers to questions of yes or no, which are independent fair coins of ±1/√p, and
    a constant 1/√p in the last place, so ‖z‖ = 1. Averaged over contexts arm k is clicked at its popularity.
    Popularities are the same in every trial and dealt to the arms anew; `relevant` features, drawn for each arm, move
    its rate up and down by equal parts, as far as the declared range from `low` to `high` allows. So rates are linear
    in the context, and no rate leaves the range. At the defaults an even choice is clicked in 6.9 % of the rounds, the
    most popular arm in 14.2 %, and the best arm of every round in 18.5 %.

    With `features_of_actions` = s every arm comes with something else in each round, whose s features are fair coins of
    ±1/√s and matter in the same way whatever the arm: by ±`lift`/2s each, on top of `lift`/2. Rates then go up to
    `high` + `lift`. A policy of the hybrid model is shown them beside the context.

    Action k is the vector of K blocks that is z in block k and zero elsewhere (`tacit.features.per_arm`), so that every
    linear policy can play; with features of actions these come last, and all of it over √2.
    """

    slug: ClassVar[str] = "shared-context"
    summary: ClassVar[str] = "one context per round for all arms, each with its own parameter; rewards are rare clicks"

    arms: int = option("number of arms K", 10)
    context_dim: int = option("length p of the context, its constant coordinate included", 21)
    relevant: int = option("how many features of the context matter to an arm", 1)
    low: float = option("no click rate is lower", 0.02)
    high: float = option("no click rate is higher", 0.2)
    features_of_actions: int = option("features that each arm comes with in a round; 0: none", 0)
    lift: float = option("by how much these may raise a click rate", 0.2)

    def __post_init__(self) -> None:
        whole("arms", self.arms)
        whole("context_dim", self.context_dim, low=2, hint="One coordinate is the constant.")
        if self.features > MOST_FEATURES:
            raise BadInput(
                f"Expected arms·context_dim <= {MOST_FEATURES}, got arms={self.arms}, context_dim={self.context_dim}. "
                "Nothing here is made for more features."
            )
        if whole("relevant", self.relevant) >= self.context_dim:
            raise BadInput(
                f"Expected relevant < context_dim={self.context_dim}, got relevant={self.relevant}: the constant "
                "coordinate is none of the features that vary."
            )
        if not 0 <= real("low", self.low) < real("high", self.high) <= 1:
            raise BadInput(f"Expected 0 <= low < high <= 1, got low={self.low!r}, high={self.high!r}: they are rates.")
        whole("features_of_actions", self.features_of_actions, low=0)
        if self.features_of_actions and not 0 < real("lift", self.lift) <= 1 - self.high:
            raise BadInput(f"Expected 0 < lift <= 1 - high, got lift={self.lift!r}: what is raised is a rate.")

    @property
    def features(self) -> int:
        return self.arms * self.context_dim + self.features_of_actions

    @property
    def action_features(self) -> int | None:
        return self.features_of_actions or None

    @property
    def context_shape(self) -> tuple[int, int]:
        return self.arms, self.context_dim

    @property
    def popularities(self) -> Floats:
        """The mean click rate of the arms over all contexts, the most popular first; a trial deals them to arms."""
        base = self.low + (self.lift / 2 if self.features_of_actions else 0.0)
        return base + (self.high - self.low) * np.geomspace(_MOST_POPULAR, _LEAST_POPULAR, self.arms)

    @property
    def bounds(self) -> dict[str, Any]:
        """What a policy may declare: no action is longer than 1, no reward beyond these."""
        return {"action_norm": 1.0, "reward_low": 0.0, "reward_high": 1.0, "constants": ()}

    def start(self, stream: Source) -> World:
        (arms, size), more = self.context_shape, self.features_of_actions
        drawn = first_normals(stream, self.features)
        normals, lift = drawn[: arms * size].reshape(arms, size), self.lift if more else 0.0
        rates = self.popularities[np.argsort(normals[:, -1])]
        plain = rates - lift / 2
        effect = np.minimum(plain - self.low, self.high - plain) / self.relevant
        # Which features matter to an arm, and which way: those with the largest normals, by their signs.
        ranks = np.argsort(np.argsort(-np.abs(normals[:, :-1]), axis=1), axis=1)
        moves = np.where(ranks < self.relevant, np.sign(normals[:, :-1]) * effect[:, None], 0.0)
        effects = np.column_stack([moves, rates])
        params = SharedContextParams(
            weights=np.ascontiguousarray(effects.T),
            low=float(self.low),
            high=float(self.high + lift),
            scale=1 / math.sqrt(size),
            context=np.zeros(size),
            luck=np.zeros(size + arms * more),
            common=np.sign(drawn[arms * size :]) * lift / (2 * max(more, 1)),
            features=np.zeros((arms, more)),
            shrink=math.sqrt(0.5) if more else 1.0,
        )
        theta = np.append(effects * math.sqrt(size), params.common * math.sqrt(more)) / params.shrink
        return World(params, slate(self.features, arms), np.zeros(arms), theta)


@implements(draw_context, SharedContextParams)
@kernel
def _draw_context(environment: SharedContextParams, context: Floats, means: Floats, stream: Any) -> None:
    """A coin for each feature, and the click rate of each arm."""
    weights, luck, scale = environment.weights, environment.luck, environment.scale
    size, arms = weights.shape
    more = environment.common.shape[0]
    fill_uniforms(stream, luck)
    context[size - 1] = scale
    for k in range(arms):
        means[k] = weights[size - 1, k]
    for i in range(size - 1):
        answer, one = 1.0 if luck[i] < 0.5 else -1.0, weights[i]
        context[i] = answer * scale
        for k in range(arms):
            means[k] += answer * one[k]
    for k in range(arms):
        for j in range(more):
            answer = 1.0 if luck[size + k * more + j] < 0.5 else -1.0
            environment.features[k, j] = answer / math.sqrt(more)
            means[k] += answer * environment.common[j]
        # Rounding must not push a rate out of the declared range.
        means[k] = max(environment.low, min(environment.high, means[k]))


@implements(show, SharedContextParams)
@kernel
def _show(environment: SharedContextParams, slate: Slate, means: Floats, stream: Any) -> None:
    draw_context(environment, environment.context, means, stream)
    lay_out(environment.context, slate)
    columns, more = slate.columns, environment.common.shape[0]
    if more > 0:
        first = columns.shape[0] - more
        for k in range(columns.shape[1]):
            for i in range(environment.context.shape[0]):
                columns[k * environment.context.shape[0] + i, k] *= environment.shrink
            for j in range(more):
                columns[first + j, k] = environment.features[k, j] * environment.shrink


@implements(pay, SharedContextParams)
@kernel
def _pay(environment: SharedContextParams, mean: float, stream: Any) -> float:
    """A click or none: the luck of the round was drawn with its context."""
    return 1.0 if environment.luck[environment.context.shape[0] - 1] < mean else 0.0
