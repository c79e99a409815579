"""Maler in NumPy, from the published formulas, with radius D, clip G and diameter 2D where they stand there.

Twins that are wrong on purpose: `sign=-1` climbs, `projected=False` leaves the ball, `weighted=False` believes every
expert as at the start, `tilted=False` plays the mean without the learning rates.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq


def nearest_in_ball(matrix, radius, z):
    """argmin (x − z)ᵀS(x − z) over the ball, in the basis where S is diagonal."""
    if np.linalg.norm(z) <= radius:
        return z.copy()
    eigenvalues, basis = np.linalg.eigh(matrix)
    return basis @ nearest_when_diagonal(eigenvalues, radius, basis.T @ z)


def nearest_when_diagonal(eigenvalues, radius, z):
    """The same for S = diag(eigenvalues) and z outside the ball."""

    def excess(shift):
        return np.linalg.norm(eigenvalues * z / (eigenvalues + shift)) - radius

    high = eigenvalues.max()
    while excess(high) > 0:
        high *= 2
    shift = brentq(excess, 0, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    return eigenvalues * z / (eigenvalues + shift)


class ReferenceMaler:
    """One step at a time, and slow."""

    def __init__(self, dim, radius, clip, horizon, *, sign=1.0, projected=True, weighted=True, tilted=True):
        self.radius, self.clip, self.diameter = radius, clip, 2 * radius
        self.sign, self.projected, self.weighted, self.tilted = sign, projected, weighted, tilted
        self.count = count = 1 + math.ceil(math.log2(horizon) / 2)
        self.rates = np.array([2.0**-i / (5 * clip * self.diameter) for i in range(count)])
        self.convex_rate = 1 / (2 * clip * self.diameter * math.sqrt(horizon))
        priors = [(1 + 1 / count) / (3 * (i + 1) * (i + 2)) for i in range(count)]
        self.weights = np.array([1 / 3, *priors, *priors])
        self.newton = 0.5 * min(1 / (4 * 7 / (25 * self.diameter) * self.diameter), 1)
        self.convex, self.strong, self.exp = np.zeros(dim), np.zeros((count, dim)), np.zeros((count, dim))
        self.matrices = np.array([np.eye(dim) / (self.newton * self.diameter) ** 2] * count)
        self.steps = 0
        self.potential = 1.0
        self.point = np.zeros(dim)

    def _ball(self, x):
        length = np.linalg.norm(x)
        return x * self.radius / length if self.projected and length > self.radius else x

    def step(self, gradient):
        clip, diameter, theta = self.clip, self.diameter, self.point
        length = np.linalg.norm(gradient)
        g = self.sign * np.asarray(gradient) * min(1, clip / length if length else 1)
        self.steps += 1
        t = self.steps
        e = theta - self.convex
        losses = [-self.convex_rate * e @ g + (self.convex_rate * clip * diameter) ** 2]
        for x, rate in zip(self.strong, self.rates, strict=True):
            e = theta - x
            losses.append(-rate * e @ g + rate**2 * clip**2 * e @ e)
        for x, rate in zip(self.exp, self.rates, strict=True):
            e = theta - x
            losses.append(-rate * e @ g + rate**2 * (e @ g) ** 2)
        if self.weighted:
            raw = self.weights * np.exp(-np.array(losses))
            self.potential = raw.sum()
            self.weights = raw / raw.sum()
        self.convex = self._ball(self.convex - diameter / (clip * math.sqrt(t)) * g)
        for i, rate in enumerate(self.rates):
            slope = rate * g + 2 * rate**2 * clip**2 * (self.strong[i] - theta)
            self.strong[i] = self._ball(self.strong[i] - slope / (2 * rate**2 * clip**2 * t))
            q = (rate + 2 * rate**2 * (self.exp[i] - theta) @ g) * g
            self.matrices[i] += np.outer(q, q)
            moved = self.exp[i] - np.linalg.solve(self.matrices[i], q) / self.newton
            self.exp[i] = nearest_in_ball(self.matrices[i], self.radius, moved) if self.projected else moved
        rates = np.array([self.convex_rate, *self.rates, *self.rates]) if self.tilted else np.ones(1 + 2 * self.count)
        shares = self.weights * rates
        self.point = shares @ np.vstack([self.convex, self.strong, self.exp]) / shares.sum()


class ReferenceDescent:
    """Online gradient descent, with the same twins."""

    def __init__(self, dim, radius, step, clip, *, sign=1.0, projected=True):
        self.radius, self.size, self.clip, self.sign, self.projected = radius, step, clip, sign, projected
        self.steps = 0
        self.point = np.zeros(dim)

    def step(self, gradient):
        self.steps += 1
        length = np.linalg.norm(gradient)
        g = self.sign * np.asarray(gradient) * min(1, self.clip / length if length else 1)
        self.point = self.point - self.size / math.sqrt(self.steps) * g
        length = np.linalg.norm(self.point)
        if self.projected and length > self.radius:
            self.point = self.point * self.radius / length
