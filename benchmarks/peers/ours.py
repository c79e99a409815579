"""tacit itself: from Python round by round, as its peers are called. `measuring` also runs it compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.player import Contestant, Player
from benchmarks.peers.worlds import WORLDS, Recording
from tacit import JointLinUCB, Learner, LinUCB, Policy
from tacit.core.arms import ArmsLearner

#: What the settings of the first row are called.
DEFAULT = "noise-aware (default)"


@dataclass(frozen=True)
class Ours:
    """A configuration that takes part in both ways."""

    policy: str
    settings: str
    compares: str
    config: Policy


def configs(world: str) -> list[Ours]:
    """What of tacit takes part in a world. The first is what all rows are measured by, the last is private."""
    dim, shape = WORLDS[world].features, WORLDS[world].context_shape
    found = [
        Ours("LinUCB", DEFAULT, "what the peers' LinUCB computes at α = 1", LinUCB(dim=dim)),
        Ours("LinUCB", "width of the theorem", "proved, and wide", LinUCB(dim=dim, width="theory")),
    ]
    promise: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    said = "private: the regret holds the price of it"
    if shape is None:
        return [*found, Ours("JointLinUCB", "ε = 1, δ = 1e-6", said, JointLinUCB(dim=dim, **promise))]
    arms, width = shape
    own = LinUCB(arms=arms, dim=width, preparation="none")
    return [
        *found,
        Ours("LinUCB", f"arms = {arms}, contexts as they are", "same model, as the peers have it", own),
        Ours("JointLinUCB", f"arms = {arms}, ε = 1, δ = 1e-6", said, JointLinUCB(arms=arms, dim=width, **promise)),
    ]


def contestants(world: str) -> list[Contestant]:
    """From Python, seeded like the peers; and once as a service runs it, with noise of the operating system."""
    rows = [Contestant("tacit", one.policy, one.settings, one.compares, _seeded(one.config)) for one in configs(world)]
    private = configs(world)[-1]
    rows.append(
        Contestant(
            "tacit",
            private.policy,
            f"{private.settings}, noise of the operating system",
            "private, as a service runs it: another regret in every run",
            lambda recording: player_of(private.config.start(), recording),
        )
    )
    return rows


class LearnerPlayer:
    """`choose` and `learn` on the arrays as they are."""

    def __init__(self, learner: Learner, recording: Recording) -> None:
        self._learner, self._actions = learner, recording.actions

    def choose(self, now: int) -> int:
        return self._learner.choose(self._actions[now])

    def learn(self, now: int, arm: int, reward: float) -> None:
        self._learner.learn(self._actions[now, arm], reward)


class ArmsPlayer:
    """The same with a context that all arms share."""

    def __init__(self, learner: ArmsLearner, recording: Recording) -> None:
        self._learner, self._contexts = learner, recording.contexts

    def choose(self, now: int) -> int:
        return self._learner.choose(self._contexts[now])

    def learn(self, now: int, arm: int, reward: float) -> None:
        self._learner.learn(self._contexts[now], arm, reward)


def player_of(learner: Any, recording: Recording) -> Player:
    """Of a learner, whichever its model."""
    return (ArmsPlayer if isinstance(learner, ArmsLearner) else LearnerPlayer)(learner, recording)


def _seeded(config: Policy) -> Callable[[Recording], Player]:
    return lambda recording: player_of(config.start(seed=recording.seed), recording)
