"""tacit itself: from Python round by round, as its peers are called. `measuring` also runs it compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.peers.player import Contestant, Player
from benchmarks.peers.worlds import WORLDS, Recording
from tacit import JointLinUCB, Learner, LinUCB, Policy

#: What the settings of that row are called.
FIXED = "width 1"
#: So small a noise level leaves of the proved width only its constant, S·√ridge: the fixed width of the textbooks.
_NO_NOISE = 1e-12


@dataclass(frozen=True)
class Ours:
    """A configuration that takes part in both ways."""

    policy: str
    settings: str
    compares: str
    config: Policy


def configs(world: str) -> list[Ours]:
    """What of tacit takes part in a world. The first is what all rows are measured by."""
    dim = WORLDS[world].features
    return [
        Ours("LinUCB", "width of the theorem (default)", "what the others are measured by", LinUCB(dim=dim)),
        Ours(
            "LinUCB",
            FIXED,
            "what the peers' LinUCB computes at α = 1",
            LinUCB(dim=dim, noise_level=_NO_NOISE, parameter_norm=1.0),
        ),
        Ours(
            "JointLinUCB",
            "ε = 1, δ = 1e-6",
            "private: the regret holds the price of it",
            JointLinUCB(dim=dim, epsilon=1.0, delta=1e-6),
        ),
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
            lambda recording: LearnerPlayer(private.config.start(), recording),
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


def _seeded(config: Policy) -> Callable[[Recording], Player]:
    return lambda recording: LearnerPlayer(config.start(seed=recording.seed), recording)
