"""contextualbandits' LinUCB: one ridge regression per arm, updated by Sherman and Morrison in Cython."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.player import Contestant, Player, peer
from benchmarks.peers.worlds import Recording

LIBRARY = "contextualbandits"

#: The default adds a second constant to the one the rows have, and computes in single precision.
_PLAIN: Mapping[str, Any] = {"alpha": 1.0, "fit_intercept": False, "use_float": False}


def contestants(world: str) -> list[Contestant]:
    """At its defaults, and with the model that tacit has. Both have the width α = 1."""
    detour = "" if world == "digits" else ", by the detour below"
    start = _start(world)
    return [
        Contestant(
            LIBRARY,
            "LinUCB",
            "α = 1, own intercept, single precision (default)",
            f"one constant more in the model{detour}; same width as tacit's default",
            start({}),
        ),
        Contestant(
            LIBRARY,
            "LinUCB",
            "α = 1, no intercept, double precision",
            f"same model{detour}; same width as tacit's default",
            start(_PLAIN),
        ),
    ]


def _start(world: str) -> Callable[[Mapping[str, Any]], Callable[[Recording], Player]]:
    kind = ArmsPlayer if world == "digits" else OneArmPlayer
    return lambda options: partial(kind, options=options)


def _policy(arms: int, options: Mapping[str, Any], seed: int) -> Any:
    return peer(LIBRARY, "contextualbandits.online").LinUCB(nchoices=arms, random_state=seed, **options)


class ArmsPlayer:
    """A class is an arm, the row is its context: what the library is made for."""

    def __init__(self, recording: Recording, options: Mapping[str, Any]) -> None:
        self._contexts = recording.contexts
        self._policy = _policy(recording.arms, options, recording.seed)

    def choose(self, now: int) -> int:
        return int(self._policy.predict(self._contexts[now : now + 1])[0])

    def learn(self, now: int, arm: int, reward: float) -> None:
        self._policy.partial_fit(self._contexts[now : now + 1], np.array([arm]), np.array([reward]))


class OneArmPlayer:
    """Arms have no features here. One arm, whose context is an action, has: its upper bound at each of them decides.

    The library refuses to have fewer than two arms: the other one is never taken, and its scores are computed in vain.
    """

    def __init__(self, recording: Recording, options: Mapping[str, Any]) -> None:
        self._actions = recording.actions
        self._policy = _policy(2, options, recording.seed)
        self._arm = np.zeros(1, np.int64)
        # Unfitted, it answers at random. A context of zeros teaches nothing.
        self._policy.partial_fit(np.zeros((1, self._actions.shape[2])), self._arm, np.zeros(1))

    def choose(self, now: int) -> int:
        return int(self._policy.decision_function(self._actions[now])[:, 0].argmax())

    def learn(self, now: int, arm: int, reward: float) -> None:
        self._policy.partial_fit(self._actions[now, arm : arm + 1], self._arm, np.array([reward]))
