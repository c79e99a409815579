"""The world of the local and shuffle experiments: random directions beside one feature that everybody shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit._validate import one_of, positive, whole
from tacit.core.settings import option
from tacit.core.slate import Slate, slate
from tacit.core.verbs import pay, show
from tacit.environments._draws import measure
from tacit.environments.environment import Environment, World
from tacit.errors import BadInput
from tacit.noise import Source, fill_normals, fill_uniforms, first_normals


class BiasParams(NamedTuple):
    """What is fixed over one trial. One type for all variants: another would be compiled again with every policy."""

    weights: Floats  # θ* without its coordinate for the public feature
    offset: float  # what the public feature adds to every mean
    radius: float  # the greatest length of the part of an action that is drawn
    spread: float  # σ of Gaussian arms; infinite where every arm is as long as the radius
    basis: int  # so many of the first arms are basis vectors
    low: float  # the reward of a failure; a success pays 1
    fresh: bool
    luck: Floats  # (1,) scratch


class _Shape(NamedTuple):
    """A variant in numbers."""

    radius: float  # of the part of an action that is drawn
    constants: tuple[float, ...]  # the public feature, where there is one
    parameter: float  # length of θ* beside the public feature; its coordinate there is the same number
    reward_low: float


_ROOT_HALF = math.sqrt(0.5)
_SHAPES = {
    "paper": _Shape(_ROOT_HALF, (_ROOT_HALF,), _ROOT_HALF, 0.0),
    "script": _Shape(1.0, (1.0,), 0.5, 0.0),
    "gaussian": _Shape(1.0, (), 1.0, -1.0),
}


@dataclass(frozen=True, kw_only=True)
class Bias(Environment):
    """K actions per round that share their last feature, a public constant; rewards are 0 or 1.

    With u and v uniform on the unit sphere of dimension d − 1, u drawn for each action and v for each trial:

    - "paper": x = (u, 1)/√2 and θ* = (v, 1)/√2.
    - "script": x = (u, 1) and θ* = (v, 1)/2, as in the public script of Chowdhury and Zhou (2022), which the paper
      calls the same setting. Its arms are fixed, and for the first d of them u is e_1, …, e_{d−1} and 0.

    Either way the probability of a reward of 1 is <x, θ*> = (1 + <u, v>)/2, of the same law but for the arm with u = 0.
    The script's actions are longer, though: noise of the same size hides less of them.

    - "gaussian": x ~ N(0, σ²I) in all d features, none of them shared, as in Remark 3.1; θ* is uniform on the unit
      sphere. Our reading: the remark says nothing of rewards, and the paper assumes ‖x‖ ≤ 1 and |reward| ≤ 1. So an
      action longer than 1 is shrunk to 1 (with the default σ one in 800 at d = 5), and rewards are ±1 with mean
      <x, θ*>. The remark's bound E xxᵀ ⪰ σ²π/(6K²)·I is that of fresh actions before they are shrunk.

    `bounds` holds what a local or shuffle policy declares of a person's data here.

    "Improved rate for Locally Differentially Private Linear Bandits", Section 5 and Remark 3.1.
    """

    slug: ClassVar[str] = "bias"
    summary: ClassVar[str] = "random directions beside one constant feature, rewards 0 or 1: local and shuffle privacy"

    dim: int = option("number of features d, the constant one included", 5)
    arms: int = option("number of actions K per round", 100)
    contexts: str | None = option(
        '"fresh": new actions every round; "fixed": one set per trial (default: fresh, and fixed for the script)', None
    )
    variant: str = option(
        '"paper": unit vectors; "script": the public script, of norm √2; "gaussian": no constant feature, rewards ±1',
        "paper",
    )
    spread: float | None = option(
        "standard deviation of a feature, for the gaussian variant only (default: 1/(2·sqrt(dim)))", None
    )

    def __post_init__(self) -> None:
        whole("dim", self.dim, low=2, hint="One feature is the constant, and it takes another to tell arms apart.")
        if self.dim > 1000:
            raise BadInput(f"Expected dim <= 1000, got dim={self.dim}. Nothing here is made for more features.")
        whole("arms", self.arms)
        if self.contexts is not None:
            one_of("contexts", self.contexts, ("fresh", "fixed"))
        one_of("variant", self.variant, _SHAPES)
        if self.variant == "script" and self.arms < self.dim:
            raise BadInput(
                f"Expected arms >= dim={self.dim}, got arms={self.arms}. The script's first dim arms are basis vectors."
            )
        if self.spread is not None:
            positive("spread", self.spread)
            if self.variant != "gaussian":
                raise BadInput(
                    f"Expected spread with variant='gaussian' only, got spread={self.spread!r} with "
                    f"variant={self.variant!r}. Leave it out: these actions all have the same length."
                )

    @property
    def features(self) -> int:
        return self.dim

    @property
    def fresh(self) -> bool:
        """Whether every round brings new actions."""
        return (self.contexts or ("fixed" if self.variant == "script" else "fresh")) == "fresh"

    @property
    def stable_arms(self) -> bool:
        return not self.fresh

    @property
    def action_norm(self) -> float:
        """L: no action is longer."""
        return math.hypot(self._shape.radius, *self.constants)

    @property
    def parameter_norm(self) -> float:
        """‖θ*‖."""
        return math.hypot(*[self._shape.parameter] * (1 + len(self.constants)))

    @property
    def constants(self) -> tuple[float, ...]:
        """The last features of every action, public and the same for everybody."""
        return self._shape.constants

    @property
    def reward_low(self) -> float:
        """The smaller of the two rewards."""
        return self._shape.reward_low

    @property
    def reward_high(self) -> float:
        """The greater of the two rewards."""
        return 1.0

    @property
    def bounds(self) -> dict[str, Any]:
        """The same four as options: local and shuffle policies take them under these names."""
        names = ("action_norm", "reward_low", "reward_high", "constants")
        return {name: getattr(self, name) for name in names}

    @property
    def _shape(self) -> _Shape:
        return _SHAPES[self.variant]

    @property
    def _spread(self) -> float:
        if self.variant != "gaussian":
            return math.inf
        return 0.5 / math.sqrt(self.dim) if self.spread is None else float(self.spread)

    def start(self, stream: Source) -> World:
        shape, shared = self._shape, len(self.constants)
        weights = first_normals(stream, self.dim - shared)
        weights *= shape.parameter / np.linalg.norm(weights)
        theta = np.concatenate([weights, np.full(shared, shape.parameter)])
        room, means = slate(self.dim, self.arms), np.zeros(self.arms)
        room.columns[self.dim - shared :] = np.reshape(shape.constants, (shared, 1))
        params = BiasParams(
            weights=weights,
            offset=math.fsum(constant * shape.parameter for constant in shape.constants),
            radius=shape.radius,
            spread=self._spread,
            basis=self.dim if self.variant == "script" else 0,
            low=shape.reward_low,
            fresh=self.fresh,
            luck=np.zeros(1),
        )
        if not params.fresh:
            _draw_actions(params, room, means, stream)
        return World(params, room, means, theta)


@implements(show, BiasParams)
@kernel
def _show(environment: BiasParams, slate: Slate, means: Floats, stream: Any) -> None:
    """The luck of the round, and its actions unless they stay."""
    fill_uniforms(stream, environment.luck)
    if environment.fresh:
        _draw_actions(environment, slate, means, stream)


@kernel
def _draw_actions(environment: BiasParams, slate: Slate, means: Floats, stream: Any) -> None:
    """Overwrite all but the public feature: Gaussian directions, brought to their length in place."""
    columns, factor, along = slate.columns, slate.spread, slate.scores
    drawn, arms = environment.weights.shape[0], columns.shape[1]
    for i in range(drawn):
        fill_normals(stream, columns[i])
    measure(columns, environment.weights, factor, along)
    for k in range(arms):
        factor[k] = min(environment.spread, environment.radius / math.sqrt(factor[k]))
        # A mean is a probability: rounding must not push it over the edge.
        means[k] = max(environment.low, min(1.0, environment.offset + factor[k] * along[k]))
    for i in range(drawn):
        column = columns[i]
        for k in range(arms):
            column[k] *= factor[k]
    for k in range(environment.basis):
        for i in range(drawn):
            columns[i, k] = environment.radius if i == k else 0.0
        means[k] = environment.offset
        if k < drawn:
            means[k] += environment.radius * environment.weights[k]


@implements(pay, BiasParams)
@kernel
def _pay(environment: BiasParams, mean: float, stream: Any) -> float:
    """One of two rewards: the luck of the round was drawn with its actions."""
    low = environment.low
    return 1.0 if low + (1.0 - low) * environment.luck[0] < mean else low
