"""river's LinUCBDisjoint: one Bayesian regression per arm; the bound is one standard deviation of the next reward."""

from __future__ import annotations

from benchmarks.peers.player import Contestant, peer
from benchmarks.peers.worlds import Recording

LIBRARY = "river"


def contestants(world: str) -> list[Contestant]:
    """At its defaults: its α and β are the prior's and the noise's precision, and no option is a width."""
    if world != "digits":
        why = "not run: arms have no features of their own, and the detour below takes more than its public names"
        return [Contestant(LIBRARY, "LinUCBDisjoint", "", why, None)]
    compares = "same model; another bound, without a width to set"
    return [Contestant(LIBRARY, "LinUCBDisjoint", "α = β = 1 (default)", compares, DisjointPlayer)]


class DisjointPlayer:
    """A class is an arm; a context is a dict, made before the clock starts."""

    def __init__(self, recording: Recording) -> None:
        self._contexts = [dict(enumerate(row)) for row in recording.contexts.tolist()]
        self._arms = list(range(recording.arms))
        self._policy = peer(LIBRARY, "river.bandit").LinUCBDisjoint(seed=recording.seed)

    def choose(self, now: int) -> int:
        arm: int = self._policy.pull(self._arms, context=self._contexts[now])
        return arm

    def learn(self, now: int, arm: int, reward: float) -> None:
        self._policy.update(arm, self._contexts[now], reward)
