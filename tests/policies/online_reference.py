"""The online policies in a few lines of numpy, from the reports that left a device: what the server must compute."""

from __future__ import annotations

import math

import numpy as np

from tacit.estimators.online import OnlineLearner, maler


class Descent:
    """Projected online gradient descent."""

    def __init__(self, dim, radius, step, clip):
        self.point, self.radius, self.step_size, self.clip, self.steps = np.zeros(dim), radius, step, clip, 0

    def step(self, gradient):
        self.steps += 1
        length = np.linalg.norm(gradient)
        gradient = gradient * min(1.0, self.clip / length) if length else gradient
        self.point = self.point - self.step_size / math.sqrt(self.steps) * gradient
        self.point = self.point * min(1.0, self.radius / max(np.linalg.norm(self.point), 1e-300))


class Base:
    """Algorithm 1 on the server: sums, a learner, an estimate."""

    def __init__(self, config, scale, *, clip=None, horizon=None):
        dim, noisy, radius = config.dim, config.dim - len(config.constants), config.parameter_norm
        typical = 2 * math.sqrt(config.action_norm**2 + noisy * scale**2)
        typical *= math.sqrt(config.reward_size**2 + scale**2 + scale**2 * radius**2)
        self.clip = 3 * typical if clip is None else clip
        self.config, self.scale, self.noisy = config, scale, noisy
        if config.learner == "maler":
            self.learner = OnlineLearner(maler(dim, radius, self.clip, horizon or config.horizon))
        else:
            self.learner = Descent(dim, radius, 6 * radius / typical, self.clip)
        self.gram, self.vector, self.rows = np.zeros((dim, dim)), np.zeros(dim), 0

    def take(self, x, y, perturbation=0.0):
        theta = np.array(self.learner.point)
        shift = np.zeros(self.config.dim)
        shift[: self.noisy] = self.scale**2
        self.gram += np.outer(x, x)
        if getattr(self.config, "estimator", "online") == "debiased":
            self.gram -= np.diag(shift + (shift > 0) * perturbation**2)
            self.vector += x * y
        else:
            self.vector += (x @ theta) * x
            self.learner.step(2 * x * (x @ theta - y) - 2 * shift * theta)
        self.rows += 1

    def estimate(self):
        """V and θ̂."""
        matrix = self.gram + np.eye(self.config.dim)
        if getattr(self.config, "estimator", "online") == "debiased":
            spread = math.hypot(self.scale, self.config.perturbation)
            grown = 1 + (spread**2 + self.config.action_norm * spread) * math.sqrt(self.rows)
            matrix = self.gram + grown * np.eye(self.config.dim)
            extra = grown
            while np.linalg.eigvalsh(matrix)[0] <= 0:
                matrix = matrix + extra * np.eye(self.config.dim)
                extra *= 2
        return matrix, np.linalg.solve(matrix, self.vector)

    def width(self, multiplier):
        level = self.config.reward_noise_level + self.scale + self.config.parameter_norm * self.scale
        return multiplier * level * math.sqrt(self.config.dim * math.log(2 + self.rows))


def scores(actions, matrix, theta, width):
    """Upper confidence bounds of all actions."""
    return actions @ theta + width * np.sqrt(np.einsum("ki,ij,kj->k", actions, np.linalg.inv(matrix), actions))


def offers(rng, arms, dim, constants=()):
    """Random actions in the unit ball, with their public coordinates as declared."""
    private = dim - len(constants)
    found = rng.standard_normal((arms, private))
    radius = math.sqrt(1 - sum(value**2 for value in constants))
    found *= radius * rng.uniform(0.5, 1, (arms, 1)) / np.linalg.norm(found, axis=1, keepdims=True)
    return np.hstack([found, np.tile(constants, (arms, 1))]) if constants else found
