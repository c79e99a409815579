"""Samplers whose privacy is known, to hold the auditor itself against."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.auditing.attack import Attack, Claim
from tacit.auditing.engine import Finding, Work, run
from tacit.privacy import gdp


@dataclass(frozen=True)
class Normal:
    """N(0, 1) against N(μ, 1) in the first of several numbers: exactly μ-GDP."""

    mu: float
    size: int = 3
    paths: list[Any] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> np.ndarray:
        with self.lock:
            self.paths.append(path)
        found = np.random.default_rng([seed, *path]).standard_normal((runs, self.size))
        found[:, 0] += world * self.mu
        return found


@dataclass(frozen=True)
class Coin:
    """A randomised answer to a yes-or-no question: exactly ε-DP."""

    epsilon: float

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> np.ndarray:
        honest = np.exp(self.epsilon) / (1 + np.exp(self.epsilon))
        truth = np.random.default_rng([seed, *path]).random((runs, 1)) < honest
        return np.where(truth, world, 1 - world).astype(float)


def gaussian_claim(epsilon: float, delta: float) -> Claim:
    """(ε, δ) of a Gaussian mechanism."""
    return Claim(epsilon, delta, gdp.mu_for(epsilon, delta))


def attacked(attack: Attack, claim: Claim, runs: int, seed: int = 0, miss: float = 0.01, threads: int = 1) -> Finding:
    """One attack, without a bar."""
    with Work(0, threads, False) as work:
        return run(work, attack, claim, runs, seed, (0,), miss)
