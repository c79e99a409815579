"""A textbook LinUCB with "a little noise", and what it takes to see that its claim is false.

    python examples/audit_a_naive_policy.py

The policy adds Laplace noise to its sum of rewards whenever somebody chooses. The scale is right for publishing that
sum once. But every choice draws new noise for the same sum, so that choices average it away.
"""

from __future__ import annotations

import math
import sys

import numpy as np

import tacit


class NaivePrivateLinUCB:
    """LinUCB (Li et al. 2010) for actions of norm at most 1 and rewards in [-1, 1]. It claims to be epsilon-DP."""

    def __init__(self, dim: int, epsilon: float, seed: int) -> None:
        self.inverse = np.eye(dim)  # of the Gram matrix plus one
        self.total = np.zeros(dim)
        # One replaced row moves the sum by at most 2 in length, and so by 2*sqrt(dim) in absolute numbers.
        self.scale = 2 * math.sqrt(dim) / epsilon
        self.rng = np.random.default_rng(seed)

    def choose(self, actions: np.ndarray) -> int:
        noisy = self.total + self.rng.laplace(scale=self.scale, size=len(self.total))
        reached = actions @ self.inverse
        return int((reached @ noisy + np.sqrt((reached * actions).sum(axis=1))).argmax())

    def learn(self, action: np.ndarray, reward: float) -> None:
        moved = self.inverse @ action
        self.inverse -= np.outer(moved, moved) / (1 + action @ moved)
        self.total += reward * action


def main(runs: int = 1000) -> None:
    """Audit what it claims."""
    found = tacit.audit_black_box(
        lambda seed: NaivePrivateLinUCB(dim=2, epsilon=1.0, seed=seed), dim=2, epsilon=1.0, runs=runs
    )
    sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main()
