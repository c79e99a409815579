"""Random functions of a kernel's own space, with rewards that have a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import at_least, positive, whole
from tacit.core.settings import option
from tacit.environments.functions import FUNCTION, FunctionEnvironment, FunctionWorld, drawn
from tacit.errors import BadInput
from tacit.estimators.rkhs import Bracket, bracket
from tacit.kernels import Box, Kernel, kernel_named
from tacit.kernels.law import beta_of
from tacit.kernels.points import as_points

#: Points among which the largest |f| is looked for, and how many of the best are climbed from.
_SEARCHED, _CLIMBED = 2**12, 8
#: The first step of a climb, and where it ends: what is left is of the order of the square.
_FIRST_STEP, _LAST_STEP = 0.03, 1e-6
#: Coordinates at most, of actions and of contexts: more would need other tools than grids and kernels.
_MOST = 10


@dataclass(frozen=True, kw_only=True)
class RKHS(FunctionEnvironment):
    """f = Σ_i α_i·k(·, z_i) on [0, 1]^d, with standard normal α and uniform centres z; a reward is f plus even noise.

    By default f is scaled so that the largest |f| is 1. It is found by climbing from the best of some thousand points:
    in two dimensions a certificate agrees to a thousandth. With `norm` f has that norm in the kernel's space instead,
    and |f| is at most as large.
    """

    slug: ClassVar[str] = "rkhs"
    summary: ClassVar[str] = "a smooth function of an action and a context, both continuous, drawn once per trial"

    kernel: str = option("squared-exponential, matern-1/2, matern-3/2 or matern-5/2", "squared-exponential")
    length_scale: tuple[float, ...] | float = option(
        "distance over which f changes; one number, or one per coordinate with the action's first", 0.2
    )
    action_dim: int = option("coordinates of an action", 1)
    context_dim: int = option("coordinates of a context; 0: there are none", 1)
    centres: int = option("how many kernels f is a sum of", 8)
    norm: float | None = option("norm of f in the kernel's space (default: the largest |f| is 1)", None)
    noise: float = option("a reward is f plus a uniform number between minus and plus this", 0.3)
    contexts: str = option('"uniform", or "beta(a,b)" in every coordinate', "uniform")
    actions: int = option("candidates of a prediction, at most: the largest even grid is taken", 101)
    queries: int = option("contexts for which predictions are asked at the end of a trial", 30)

    def __post_init__(self) -> None:
        whole("action_dim", self.action_dim)
        whole("context_dim", self.context_dim, low=0)
        for name in ("action_dim", "context_dim"):
            if getattr(self, name) > _MOST:
                raise BadInput(f"Expected {name} <= {_MOST}, got {name}={getattr(self, name)}.")
        if isinstance(self.length_scale, (tuple, list)):
            scale = tuple(self.length_scale)
            object.__setattr__(self, "length_scale", scale[0] if len(scale) == 1 else scale)
        self.covariance.scales(self.dim)
        whole("centres", self.centres)
        if self.norm is not None:
            positive("norm", self.norm)
        at_least("noise", self.noise, 0)
        beta_of(self.contexts)
        whole("actions", self.actions)
        whole("queries", self.queries)

    @property
    def dim(self) -> int:
        """d: coordinates of an action and a context, side by side."""
        return self.action_dim + self.context_dim

    @property
    def action_box(self) -> Box:
        return Box.unit(self.action_dim)

    @property
    def context_box(self) -> Box | None:
        return Box.unit(self.context_dim) if self.context_dim else None

    @property
    def domain(self) -> Box:
        """Actions and contexts, side by side."""
        return Box.unit(self.dim)

    @property
    def covariance(self) -> Kernel:
        return kernel_named(self.kernel, self.length_scale)

    @property
    def reward_bound(self) -> float:
        # |f(w)| = |<f, φ(w)>| ≤ ‖f‖, as ‖φ(w)‖ = 1.
        return (1.0 if self.norm is None else float(self.norm)) + float(self.noise)

    @cached_property
    def candidates(self) -> Floats:
        # A tensor grid has a whole number of points per side; rounding must not lose one of 12² = 144.
        found = self.action_box.grid(max(1, math.floor(self.actions ** (1 / self.action_dim) + 1e-9)))
        found.flags.writeable = False
        return found

    def public(self) -> dict[str, Any]:
        contexts = self.context_box
        return {
            "action_box": self.action_box.sides,
            "context_box": None if contexts is None else contexts.sides,
            "kernel": self.covariance,
            "reward_bound": self.reward_bound,
            "contexts": None if contexts is None else self.contexts,
        }

    def sample_contexts(self, rng: np.random.Generator, count: int) -> Floats | None:
        if not self.context_dim:
            return None
        first, second = beta_of(self.contexts)
        shape = (whole("count", count, low=0), self.context_dim)
        return rng.random(shape) if (first, second) == (1.0, 1.0) else rng.beta(first, second, shape)

    def ask(self, rng: np.random.Generator) -> Floats | None:
        return self.sample_contexts(rng, self.queries)

    def start(self, seed: int, trial: int = 0) -> RKHSWorld:
        rng = drawn(whole("seed", seed, low=0), whole("trial", trial, low=0), FUNCTION)
        centres = self.domain.uniform(rng, self.centres)
        world = RKHSWorld(self, centres, rng.standard_normal(self.centres))
        size = world.largest() if self.norm is None else world.rkhs_norm / float(self.norm)
        return RKHSWorld(self, centres, world.weights / size)


class RKHSWorld(FunctionWorld):
    """One function of a kernel's space."""

    def __init__(self, environment: RKHS, centres: Floats, weights: Floats) -> None:
        self.environment = environment
        self.centres = centres  # z, shape (n, d)
        self.weights = weights  # α, shape (n,)
        self._kernel = environment.covariance
        self._scaled = self._kernel.scaled(centres)

    def __repr__(self) -> str:
        return f"<RKHSWorld: {len(self.weights)} centres, norm {self.rkhs_norm:.4g}>"

    @cached_property
    def rkhs_norm(self) -> float:
        """‖f‖ = √(αᵀKα) in the space of the kernel."""
        return math.sqrt(max(0.0, float(self.weights @ self._kernel(self.centres, self.centres) @ self.weights)))

    def values(self, actions: ArrayLike, contexts: ArrayLike | None = None) -> Floats:
        return self._at(self._pairs(actions, contexts))

    def table(self, contexts: Floats | None, actions: Floats) -> Floats:
        queries = np.zeros((1, 0)) if contexts is None else np.asarray(contexts, dtype=np.float64)
        points = np.hstack([np.tile(actions, (len(queries), 1)), np.repeat(queries, len(actions), axis=0)])
        return self._at(as_points("points", points, self.environment.dim)).reshape(len(queries), len(actions))

    def pay(self, actions: ArrayLike, contexts: ArrayLike | None, rng: np.random.Generator) -> Floats:
        means = self.values(actions, contexts)
        return means + self.environment.noise * (2 * rng.random(len(means)) - 1)

    def best(self, contexts: Floats | None) -> tuple[Floats, Floats]:
        """The best of the public candidates in every context, (q, d), and its value, (q,); the first of equals."""
        table, candidates = self.table(contexts, self.environment.candidates), self.environment.candidates
        places = table.argmax(axis=1)
        return candidates[places], table[np.arange(len(table)), places]

    def certified_best(self, context: ArrayLike | None = None, *, tolerance: float = 1e-3) -> Bracket:
        """The largest value of any action of the whole box in one context, (c,), from below and from above: `tolerance`
        apart where a hundred thousand evaluations suffice. In one dimension they do, unless the kernel is the roughest.
        """
        room = positive("tolerance", tolerance)
        beside = np.zeros((1, 0)) if context is None else np.atleast_1d(np.asarray(context, dtype=np.float64))[None, :]
        still = np.zeros(self.environment.context_dim)
        return bracket(
            lambda actions: self.table(beside, actions)[0],
            lambda half: self.rkhs_norm * self._kernel.distance_bound(np.concatenate([half, still])),
            self.environment.action_box,
            lambda lower: lower + room,
        )

    def largest(self) -> float:
        """The largest |f| that a search finds: from the best of many points, uphill along the axes, in ever smaller
        steps."""
        box = self.environment.domain
        starts = np.vstack([self.centres, box.halton(_SEARCHED)])
        found = np.abs(self._at(starts))
        first = np.argsort(-found, kind="stable")[:_CLIMBED]
        places, values = starts[first], found[first]
        ways = np.vstack([np.eye(box.dim), -np.eye(box.dim)])
        reach = _FIRST_STEP
        while reach > _LAST_STEP:
            around = np.clip(places[:, None, :] + reach * ways, box.low, box.high)
            tried = np.abs(self._at(around.reshape(-1, box.dim))).reshape(len(places), len(ways))
            way = tried.argmax(axis=1)
            every = np.arange(len(places))
            better = tried[every, way] > values
            places[better], values[better] = around[every, way][better], tried[every, way][better]
            if not better.any():
                reach /= 2
        return float(values.max())

    def _at(self, points: Floats) -> Floats:
        """f at points of shape (n, d) that are known to be finite."""
        found: Floats = self._kernel.between(self._kernel.scaled(points), self._scaled) @ self.weights
        return found

    def _pairs(self, actions: ArrayLike, contexts: ArrayLike | None) -> Floats:
        environment = self.environment
        rows = as_points("actions", actions, environment.action_dim)
        if not environment.context_dim:
            if contexts is not None:
                raise BadInput("Expected no contexts, got some: there are none here (context_dim=0).")
            return rows
        if contexts is None:
            raise BadInput(f"Expected contexts of shape (n, {environment.context_dim}), got none.")
        beside = as_points("contexts", contexts, environment.context_dim)
        if len(beside) != len(rows):
            raise BadInput(f"Expected one context for each of {len(rows):,} actions, got {len(beside):,}.")
        return np.hstack([rows, beside])
