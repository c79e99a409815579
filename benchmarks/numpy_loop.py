"""The same algorithms as a careful NumPy user writes them: one round at a time, vectorised over the actions.

Scales, regularisers and widths are read from tacit's plans, so both loops do the same statistics; `agreement` compares
their regret. Nothing here is tuned to be slow: of the spellings tried, each line is the fastest plain one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from tacit import JointLinUCB, LinUCB, Policy
from tacit.counters.tree import Nodes
from tacit.estimators.ridge import Confidence
from tacit.policies.linear import Bounds, Linear

Floats = NDArray[np.float64]

#: Mean reward of the optimal action.
BEST = 0.75
_KNOTS = 4097


class NumpySphere:
    """K fresh unit vectors per round, one of them optimal by `gap`; rewards ±1."""

    def __init__(self, dim: int, arms: int, gap: float, rng: np.random.Generator) -> None:
        self.arms, self.rng = arms, rng
        self.theta = rng.standard_normal(dim)
        self.theta /= np.linalg.norm(self.theta)
        # The coordinate along θ* has density ∝ (1 − c²)^((d−3)/2) on the band; its CDF by the trapezium rule.
        self.knots = np.linspace(-BEST, BEST - gap, _KNOTS)
        logs = (dim - 3) / 2 * np.log1p(-(self.knots**2))
        density = np.exp(logs - logs.max())
        self.cdf = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        self.cdf /= self.cdf[-1]

    def show(self) -> tuple[Floats, Floats]:
        """This round's actions (K, d), and their mean rewards."""
        rng, theta = self.rng, self.theta
        means: Floats = np.interp(rng.random(self.arms), self.cdf, self.knots)
        means[rng.integers(self.arms)] = BEST
        actions = rng.standard_normal((self.arms, theta.size))
        along = actions @ theta
        # What is left of each row beside θ*, at the length that makes the action a unit vector.
        scale = np.sqrt((1 - means * means) / (np.vecdot(actions, actions) - along * along))
        actions *= scale[:, None]
        actions += (means - scale * along)[:, None] * theta
        return actions, means

    def pay(self, mean: float) -> float:
        """±1 of this mean."""
        return 1.0 if self.rng.random() < 0.5 * (1 + mean) else -1.0


class NumpyPolicy(ABC):
    """LinUCB on a Gram matrix that a subclass may noise."""

    def __init__(self, dim: int, confidence: Confidence, rng: np.random.Generator) -> None:
        self.dim, self.confidence, self.rng = dim, confidence, rng
        self.gram, self.moment = np.zeros((dim, dim)), np.zeros(dim)
        self.theta, self.whiten, self.width = np.zeros(dim), np.zeros((dim, dim)), 0.0
        self.eye = np.eye(dim)
        self.rows = self.stage = 0

    @abstractmethod
    def learn(self, x: Floats, reward: float) -> None:
        """Sum one row, and fit again if it is time."""

    def choose(self, actions: Floats) -> int:
        """argmax <θ̃, x> + β·‖x‖_{V⁻¹}; before the first fit, any arm."""
        if self.stage == 0:
            return int(self.rng.integers(len(actions)))
        white = actions @ self.whiten.T
        scores = actions @ self.theta + self.width * np.sqrt(np.vecdot(white, white))
        return int(scores.argmax())

    def add(self, x: Floats, reward: float) -> None:
        """Gram matrix and moments of one more row."""
        self.gram += x[:, None] * x
        self.moment += x * reward
        self.rows += 1

    def fit(self, noise: Floats | None) -> None:
        """θ̃, V^{−1/2} and β from the sums; `noise` holds a matrix and, in its last row, a vector."""
        confidence = self.confidence
        stage = min(self.stage, confidence.regulariser.size - 1)
        matrix = self.gram + confidence.regulariser[stage] * self.eye
        moment = self.moment
        if noise is not None:
            matrix += noise[:-1]
            moment = moment + noise[-1]
        repair = confidence.repair[stage]
        while True:
            try:
                factor = np.linalg.cholesky(matrix)
                break
            except np.linalg.LinAlgError:
                matrix += repair * self.eye
                repair *= 2
        self.whiten = np.linalg.inv(factor)
        self.theta = (self.whiten @ moment) @ self.whiten
        growth = 2 * float(np.log(factor.diagonal()).sum()) - confidence.log_floor[stage]
        beta = (
            confidence.noise_level * math.sqrt(confidence.log_term[stage] + max(0.0, growth)) + confidence.bias[stage]
        )
        self.width = confidence.multiplier * float(beta)
        self.stage += 1


class NumpyLinUCB(NumpyPolicy):
    """Without privacy: exact sums, a fit every round."""

    def __init__(self, dim: int, confidence: Confidence, rng: np.random.Generator) -> None:
        super().__init__(dim, confidence, rng)
        self.fit(None)

    def learn(self, x: Floats, reward: float) -> None:
        self.add(x, reward)
        self.fit(None)


class NumpyRankOne(NumpyPolicy):
    """LinUCB by Sherman and Morrison's update of V⁻¹: less work a row, at the price of rounding that adds up.

    Only for exact sums: with fresh noise in every view V changes in all directions.
    """

    def __init__(self, dim: int, confidence: Confidence, rng: np.random.Generator) -> None:
        super().__init__(dim, confidence, rng)
        self.fit(None)
        self.inverse = self.whiten.T @ self.whiten
        self.growth = 0.0  # ln det V − d ln ρ_min

    def choose(self, actions: Floats) -> int:
        scores = actions @ self.theta + self.width * np.sqrt(np.vecdot(actions @ self.inverse, actions))
        return int(scores.argmax())

    def learn(self, x: Floats, reward: float) -> None:
        confidence = self.confidence
        self.moment += x * reward
        along = self.inverse @ x
        stretch = 1 + float(x @ along)
        self.inverse -= along[:, None] * (along / stretch)
        self.theta = self.inverse @ self.moment
        self.growth += math.log(stretch)
        beta = confidence.noise_level * math.sqrt(confidence.log_term[0] + self.growth) + confidence.bias[0]
        self.width = confidence.multiplier * float(beta)


class NumpyJoint(NumpyPolicy):
    """What the private policies share: rows are clipped, noise is symmetric."""

    def __init__(self, dim: int, confidence: Confidence, bounds: Bounds, rng: np.random.Generator) -> None:
        super().__init__(dim, confidence, rng)
        if bounds.reward_scale != 1.0:
            raise ValueError(f"Expected reward_scale=1 here, got {bounds.reward_scale!r}.")
        self.bounds = bounds

    def add_clipped(self, x: Floats, reward: float) -> None:
        """Scale the row into the declared bounds and sum it."""
        length, most = math.sqrt(x @ x), self.bounds.reward_high
        if length > self.bounds.action_norm:
            x = x * (self.bounds.action_norm / length)
        self.add(x, min(max(reward, -most), most))

    def draw(self, scale: float) -> Floats:
        """A symmetric Gaussian matrix, diagonal √2 wider, above a Gaussian vector: shape (d + 1, d)."""
        noise = self.rng.standard_normal((self.dim + 1, self.dim))
        square = noise[:-1]
        noise[:-1] = (square + square.T) * math.sqrt(0.5)
        noise *= scale
        return noise


class NumpyTree(NumpyJoint):
    """A release every round, under the noise of the binary tree's closed nodes."""

    def __init__(self, dim: int, params: Linear, rng: np.random.Generator) -> None:
        super().__init__(dim, params.estimate, params.row, rng)
        self.scale, self.horizon = params.counter.scale, params.schedule.horizon
        self.nodes: list[Floats] = []  # per open level, that node's noise and all above it

    def learn(self, x: Floats, reward: float) -> None:
        self.add_clipped(x, reward)
        if self.rows >= self.horizon:
            return
        row = self.rows
        while row & 1 == 0:
            self.nodes.pop()
            row >>= 1
        noise = self.draw(self.scale)
        if self.nodes:
            noise += self.nodes[-1]
        self.nodes.append(noise)
        self.fit(noise)


class NumpyGeometric(NumpyJoint):
    """A release at public, geometrically growing times, under correlated noise."""

    def __init__(self, dim: int, params: Linear, rng: np.random.Generator) -> None:
        super().__init__(dim, params.estimate, params.row, rng)
        self.buffers, self.times = params.counter, set(params.schedule.times.tolist())
        self.plain = np.zeros((dim + 1, dim))
        self.memory = np.zeros((params.counter.forget.size, dim + 1, dim))

    def learn(self, x: Floats, reward: float) -> None:
        self.add_clipped(x, reward)
        if self.rows not in self.times:
            return
        buffers = self.buffers
        fresh = self.draw(buffers.scale)
        self.plain += fresh
        self.memory -= buffers.forget[:, None, None] * self.memory
        self.memory += fresh
        self.fit(buffers.floor * self.plain + np.tensordot(buffers.weights, self.memory, 1))


def numpy_policy(config: Policy, rng: np.random.Generator, *, rank_one: bool = False) -> NumpyPolicy:
    """The NumPy counterpart of a configuration; `rank_one` chooses the faster update where there is one."""
    params = config.plan().params
    if isinstance(config, LinUCB):
        return (NumpyRankOne if rank_one else NumpyLinUCB)(config.dim, params.estimate, rng)
    if not isinstance(config, JointLinUCB):
        raise TypeError(f"Expected LinUCB or JointLinUCB, got {type(config).__name__}.")
    if isinstance(params.counter, Nodes):
        return NumpyTree(config.dim, params, rng)
    return NumpyGeometric(config.dim, params, rng)


def numpy_run(policy: NumpyPolicy, world: NumpySphere, rounds: int) -> float:
    """Regret of `rounds` more rounds."""
    regret = 0.0
    for _ in range(rounds):
        actions, means = world.show()
        arm = policy.choose(actions)
        mean = float(means[arm])
        policy.learn(actions[arm], world.pay(mean))
        regret += BEST - mean
    return regret
