"""MABWiser's LinUCB: one ridge regression per arm, a fixed width α, and a full inverse after every row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.player import Contestant, Player, peer
from benchmarks.peers.worlds import Recording

LIBRARY = "mabwiser"
DEFAULT, COMMON = 1.25, 1.0


def contestants(world: str) -> list[Contestant]:
    """At its default width and at the common one."""
    model = "same model" if world == "digits" else "same model, by the detour below"
    return [
        Contestant(LIBRARY, "LinUCB", f"α = {DEFAULT:g} (default)", f"{model}; own width", _start(world, DEFAULT)),
        Contestant(
            LIBRARY, "LinUCB", f"α = {COMMON:g}", f"{model}; same width as tacit's default", _start(world, COMMON)
        ),
    ]


def _start(world: str, alpha: float) -> Callable[[Recording], Player]:
    return lambda recording: (ArmsPlayer if world == "digits" else OneArmPlayer)(recording, alpha)


def _bandit(arms: int, alpha: float, features: int, seed: int) -> Any:
    module = peer(LIBRARY, "mabwiser.mab")
    bandit = module.MAB(list(range(arms)), module.LearningPolicy.LinUCB(alpha=alpha), seed=seed)
    # It wants to be fitted before it is asked. A context of zeros teaches nothing.
    bandit.fit([0], [0.0], np.zeros((1, features)))
    return bandit


class ArmsPlayer:
    """A class is an arm, the row is its context: what the library is made for."""

    def __init__(self, recording: Recording, alpha: float) -> None:
        self._contexts = recording.contexts
        self._bandit = _bandit(recording.arms, alpha, self._contexts.shape[1], recording.seed)

    def choose(self, now: int) -> int:
        arm: int = self._bandit.predict(self._contexts[now : now + 1])
        return arm

    def learn(self, now: int, arm: int, reward: float) -> None:
        self._bandit.partial_fit([arm], [reward], self._contexts[now : now + 1])


class OneArmPlayer:
    """Arms have no features here. One arm, whose context is an action, has: its upper bound at each of them decides."""

    def __init__(self, recording: Recording, alpha: float) -> None:
        self._actions = recording.actions
        self._bandit = _bandit(1, alpha, self._actions.shape[2], recording.seed)

    def choose(self, now: int) -> int:
        bounds = self._bandit.predict_expectations(self._actions[now])
        return int(np.argmax([bound[0] for bound in bounds]))

    def learn(self, now: int, arm: int, reward: float) -> None:
        self._bandit.partial_fit([0], [reward], self._actions[now, arm : arm + 1])
