"""What every learner of a smooth function is told beforehand: boxes, kernel, horizon, rewards, features, contexts.

All of it is public. What is None is the environment's, and has to be there before anything is worked out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv

from tacit._types import Floats
from tacit._validate import one_of, positive, probability, real, whole
from tacit.core.functions import FunctionPolicy
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.estimators.rkhs import FEWEST_DRAWS, FeatureMap, Nystrom, Operator, QuadratureFourier, inducing_points
from tacit.kernels import Box, Kernel, Matern, SquaredExponential, kernel_from_dict, kernel_named
from tacit.kernels.law import beta_of

Sides = tuple[tuple[float, float], ...]
Sampler = Callable[[np.random.Generator, int], Any]

#: Features where none are asked for, in two dimensions and in more; a rough kernel needs more of them.
_SMOOTH, _ROUGH = 196, 400
#: Synthetic draws come from here: a public number, the same for everybody.
_PUBLIC_SEED = 0


@dataclass(frozen=True, kw_only=True)
class KernelPolicy(FunctionPolicy):
    """A learner of a function of actions in one box and contexts in another."""

    action_box: Sides | None = option("low and high end of each action coordinate (default: the environment's)", None)
    context_box: Sides | None = option(
        "low and high end of each context coordinate (default: the environment's); none: there are no contexts", None
    )
    kernel: Kernel | str | None = option(
        'a kernel, or its name and length scale like "matern-5/2:0.2" (default: the environment\'s)', None
    )
    horizon: int | None = option("number of records T learned at most (default: the rounds of the run)", None)
    reward_bound: float | None = option("bound B on the absolute reward; larger ones are clipped", None)
    reward_low: float | None = option("least reward, with reward_high instead of reward_bound", None)
    reward_high: float | None = option("largest reward, with reward_low instead of reward_bound", None)
    function_bound: float | None = option("where rewards have no bound: one on the function, with noise_level", None)
    noise_level: float | None = option("where rewards have no bound: sub-Gaussian level R of their noise", None)
    failure: float = option("probability that some reward without a bound is clipped", 0.001)
    feature_map: str = option('"nystrom", or "fourier" (squared exponential kernel only)', "nystrom")
    features: int | None = option("number of features m (default: 196 or 400, by how rough the kernel is)", None)
    contexts: Any = option(
        'public distribution of contexts: "uniform", "beta(a,b)" in each coordinate, or a sampler(rng, n)', None
    )
    candidates: int = option("actions per side of the public grid that predictions are chosen from", 101)

    def __post_init__(self) -> None:
        for name in ("action_box", "context_box"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Box.of(getattr(self, name)).sides)
        object.__setattr__(self, "kernel", _as_kernel(self.kernel))
        if self.horizon is not None:
            whole("horizon", self.horizon)
        one_of("feature_map", self.feature_map, ("nystrom", "fourier"))
        if self.features is not None:
            whole("features", self.features)
        whole("candidates", self.candidates)
        probability("failure", self.failure)
        if not (self.contexts is None or callable(self.contexts)):
            beta_of(self.contexts)
        self._check_rewards()
        if self.feature_map == "fourier" and isinstance(self.kernel, Matern):
            raise BadInput(
                'Expected a squared exponential kernel with feature_map="fourier", got '
                f'{self.kernel.name}. Use feature_map="nystrom".'
            )

    def _check_rewards(self) -> None:
        ways = {
            "reward_bound": (self.reward_bound,),
            "reward_low and reward_high": (self.reward_low, self.reward_high),
            "function_bound and noise_level": (self.function_bound, self.noise_level),
        }
        begun = [way for way, values in ways.items() if any(value is not None for value in values)]
        if len(begun) > 1:
            raise BadInput(f"Expected one way to bound rewards, got {' and '.join(begun)}. Keep one of them.")
        for way in begun:
            if any(value is None for value in ways[way]):
                raise BadInput(f"Expected {way} together, got one of the two.")
        for name in ("reward_bound", "function_bound", "noise_level"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.reward_low is not None and self.reward_high is not None:
            low, high = real("reward_low", self.reward_low), real("reward_high", self.reward_high)
            if not low < high:
                raise BadInput(f"Expected reward_low < reward_high, got reward_low={low!r}, reward_high={high!r}.")

    def options(self) -> dict[str, Any]:
        found = super().options()
        if callable(self.contexts):
            found["contexts"] = f"a sampler: {getattr(self.contexts, '__name__', type(self.contexts).__name__)}"
        return found

    # A world it can be at home in -------------------------------------------------------------------------------

    def in_world(self, **given: Any) -> Self:
        """The same configuration, with what is not said taken from an environment. Says nothing about what is."""
        bounded = any(
            getattr(self, name) is not None
            for name in ("reward_bound", "reward_low", "reward_high", "function_bound", "noise_level")
        )
        names = {field.name for field in fields(self)}
        missing = {
            name: value
            for name, value in given.items()
            if name in names and getattr(self, name) is None and not (bounded and name == "reward_bound")
        }
        if self.action_box is not None:  # a domain is given whole: no contexts were meant
            missing.pop("context_box", None)
        return replace(self, **missing)

    # What follows from it ---------------------------------------------------------------------------------------

    @property
    def actions(self) -> Box:
        """The box of actions."""
        return Box(self._known("action_box", self.action_box))

    @property
    def domain(self) -> Box:
        """The box of actions and contexts, side by side."""
        return self.actions if self.context_box is None else self.actions.times(Box(self.context_box))

    @property
    def context_dim(self) -> int:
        """How many coordinates a context has."""
        return 0 if self.context_box is None else len(self.context_box)

    @property
    def records(self) -> int:
        """T."""
        found: int = self._known("horizon", self.horizon)
        return found

    @property
    def covariance(self) -> Kernel:
        """k."""
        found: Kernel = self._known("kernel", self.kernel)
        return found

    @property
    def middle(self) -> float:
        """The middle of the interval of rewards, about which they are centred: public."""
        if self.reward_low is None or self.reward_high is None:
            return 0.0
        return (float(self.reward_low) + float(self.reward_high)) / 2

    @property
    def bound(self) -> float:
        """B: how far a reward may be from the middle. Without a bound on rewards B + R√(2 ln(2T/δ)), beyond which none
        of T falls but with probability δ = `failure`; those that do are clipped like all others."""
        if self.reward_low is not None and self.reward_high is not None:
            return (float(self.reward_high) - float(self.reward_low)) / 2
        if self.function_bound is not None and self.noise_level is not None:
            reach = math.sqrt(2 * math.log(2 * self.records / self.failure))
            return float(self.function_bound) + float(self.noise_level) * reach
        return float(self._known("reward_bound", self.reward_bound))

    @cached_property
    def grid(self) -> Floats:
        """The public candidates, of shape (K, d)."""
        found = self.actions.grid(self.candidates)
        found.flags.writeable = False
        return found

    @cached_property
    def map(self) -> FeatureMap:
        """ψ."""
        kernel, domain = self.covariance, self.domain
        smooth = isinstance(kernel, SquaredExponential)
        count = self.features or (_SMOOTH if smooth else _ROUGH)
        if self.feature_map == "fourier":
            return QuadratureFourier(kernel, domain, max(2, math.floor(count ** (1 / domain.dim) + 1e-9)))
        return Nystrom(kernel, inducing_points(domain, count, kernel))

    @cached_property
    def synthetic(self) -> Floats:
        """Points as exploration will draw them, from public randomness: actions evenly, contexts by their sampler."""
        return self.synthetic_draws(FEWEST_DRAWS, _PUBLIC_SEED)

    def synthetic_draws(self, count: int, seed: int) -> Floats:
        """So many points of the law of exploration, from a public seed."""
        domain, actions = self.domain, self.actions
        if callable(self.contexts):
            rng = np.random.default_rng(seed)
            found = sampled(self.contexts, rng, count, self.context_dim)
            return np.hstack([actions.uniform(rng, count), Box(self.context_box or ()).clip(found)[0]])
        even = seed == _PUBLIC_SEED  # evener than random ones: an expectation converges faster
        shape = (count, domain.dim)
        places = Box.unit(domain.dim).sobol(count) if even else np.random.default_rng(seed).random(shape)
        first, second = beta_of(self.contexts or "uniform")
        if (first, second) != (1.0, 1.0):
            places = places.copy()
            places[:, actions.dim :] = betaincinv(first, second, places[:, actions.dim :])
        return domain.from_unit(places)

    def operator(self, tau: float) -> Operator:
        """T·E[ψψᵀ] + τI, factored."""
        return Operator(self.map, self.synthetic, self.records, tau)

    def _known(self, name: str, value: Any) -> Any:
        if value is None:
            raise BadInput(
                f"Expected {name}, got none. Give {name}=…, or simulate {self.slug} in an environment that has one."
            )
        return value


def sampled(sampler: Sampler, rng: np.random.Generator, count: int, dim: int) -> Floats:
    """What a user's own sampler of contexts says, if it has the shape that was asked for."""
    found = np.asarray(sampler(rng, count), dtype=np.float64)
    if found.shape != (count, dim):
        raise BadInput(
            f"Expected contexts(rng, n) to return an array of shape (n, {dim}), here ({count:,}, {dim}), got shape "
            f"{found.shape}."
        )
    if not np.isfinite(found).all():
        raise BadInput("Expected contexts(rng, n) to return finite numbers, got NaN or infinities.")
    return found


def _as_kernel(value: Any) -> Kernel | None:
    if value is None or isinstance(value, Kernel):
        return value
    if isinstance(value, dict):
        return kernel_from_dict(value)
    name, colon, scale = value.partition(":") if isinstance(value, str) else ("", "", "")
    try:
        length: Any = tuple(float(word) for word in scale.split(";"))
    except ValueError:
        length = ()
    if not colon or not length:
        raise BadInput(
            f'Expected kernel to be one of tacit.kernels, or text like "matern-5/2:0.2" or "squared-exponential:0.2", '
            f"got kernel={value!r}."
        )
    return kernel_named(name, length[0] if len(length) == 1 else length)
