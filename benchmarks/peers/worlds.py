"""The same rounds for everybody: what is offered, what every action would pay, and what it pays on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.core.learner import ENVIRONMENT
from tacit.core.slate import Slate
from tacit.core.verbs import pay, show
from tacit.environments import Environment, Sphere, Table
from tacit.noise import stream

DIM, ARMS, GAP = 5, 25, 0.1

#: By the names they have in the tables.
WORLDS: dict[str, Environment] = {
    "sphere": Sphere(dim=DIM, arms=ARMS, gap=GAP),
    "digits": Table(data="digits", projection=8),
}


@dataclass(frozen=True)
class Recording:
    """One trial of a world, written down before anybody plays it."""

    world: str
    seed: int
    actions: Floats  #: (T, K, d) one vector for each action
    rewards: Floats  #: (T, K) what each action would pay: the luck of a round is the same whoever is lucky
    means: Floats  #: (T, K)
    low: float  #: least reward there is; the largest is 1 in both worlds

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.actions)

    @property
    def arms(self) -> int:
        """K."""
        return len(self.means[0])

    @property
    def contexts(self) -> Floats:
        """(T, m) what is known of a round where actions are classes: action k is this vector in block k of K."""
        width = self.actions.shape[2] // self.arms
        return np.ascontiguousarray(self.actions[:, 0, :width])

    @property
    def uniform_regret(self) -> float:
        """The expected regret of choosing evenly at random."""
        return float((self.means.max(axis=1) - self.means.mean(axis=1)).sum())


def record(world: str, rounds: int, seed: int) -> Recording:
    """The first rounds that trial 0 of `simulate(..., seed=seed)` meets in this world, to the bit.

    In both worlds the luck of a round is drawn with its actions and paying draws nothing more: so all actions can be
    paid for, and what one player chooses does not change what the next one meets.
    """
    environment, source = WORLDS[world], stream(seed, 0, ENVIRONMENT)
    started = environment.start(source)
    dim, arms = started.slate.columns.shape
    actions, rewards, means = np.zeros((rounds, arms, dim)), np.zeros((rounds, arms)), np.zeros((rounds, arms))
    _record(started.params, started.slate, started.means, source, actions, rewards, means)
    low = -1.0 if world == "sphere" else 0.0
    return Recording(world, seed, actions, rewards, means, low)


@kernel
def _record(
    environment: Any, slate: Slate, drawn: Floats, source: Any, actions: Floats, rewards: Floats, means: Floats
) -> None:
    rounds, arms, dim = actions.shape
    for now in range(rounds):
        show(environment, slate, drawn, source)
        for k in range(arms):
            means[now, k] = drawn[k]
            rewards[now, k] = pay(environment, drawn[k], source)
            for i in range(dim):
                actions[now, k, i] = slate.columns[i, k]
