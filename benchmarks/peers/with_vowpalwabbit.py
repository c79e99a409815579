"""Vowpal Wabbit's contextual bandits over action features: linear, but by gradient steps and other exploration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.player import Contestant, Player, peer
from benchmarks.peers.worlds import Recording

LIBRARY = "vowpalwabbit"

_RULES = {
    "--epsilon 0.05": ("ε-greedy, 0.05 (default)", "gradient steps; evenly at random in 5 % of rounds"),
    "--squarecb": ("SquareCB (defaults)", "gradient steps; the less likely the further behind"),
    "--regcbopt": ("RegCB, optimistic (defaults)", "gradient steps; optimism, its nearest to LinUCB"),
}
#: Rules that reckon with the range of costs.
_RANGED = ("--squarecb", "--regcbopt")


def contestants(world: str) -> list[Contestant]:
    """Three rules of exploration, each at its defaults: none of them has LinUCB's width."""
    del world
    return [
        Contestant(
            LIBRARY, "--cb_explore_adf", settings, f"same features and its own constant; {compares}", _start(rule)
        )
        for rule, (settings, compares) in _RULES.items()
    ]


def _start(rule: str) -> Callable[[Recording], Player]:
    return partial(AdfPlayer, rule=rule)


class AdfPlayer:
    """A round is a text with one line per action. Texts are made before the clock starts; reading them is timed.

    A cost is minus a reward, in a declared range. Four forms were tried, on seed 1,000,001 alone, 3,000 rounds: costs
    like this or scaled to 0 … 1 (its default range), with its constant or without. This one had less regret than the
    scaled one, with the constant that is its default, in all six cases; without, in five. The constant made no steady
    difference. It answers with probabilities, from which the caller draws.
    """

    def __init__(self, recording: Recording, rule: str) -> None:
        self._lines = [[_line(action) for action in actions] for actions in recording.actions]
        self._module = peer(LIBRARY, "vowpalwabbit")
        arguments = f"--cb_explore_adf {rule} --quiet --random_seed {recording.seed}"
        if rule in _RANGED:
            arguments += f" --cb_min_cost -1 --cb_max_cost {0 - recording.low:g}"
        self._workspace: Any = self._module.Workspace(arguments)
        self._luck: list[float] = np.random.default_rng(recording.seed).random(recording.rounds).tolist()
        self._probability = 1.0

    def choose(self, now: int) -> int:
        examples = self._read(self._lines[now])
        weights: list[float] = self._workspace.predict(examples)
        self._workspace.finish_example(examples)
        # Optimistic RegCB gives every action of the tied best the weight 1: weights need not add up to 1.
        total = sum(weights)
        arm, left = 0, self._luck[now] * total
        for place, weight in enumerate(weights):
            if weight > 0:
                arm = place  # rounding may leave a rest: then it is the last that can be drawn at all
                left -= weight
                if left < 0:
                    break
        self._probability = weights[arm] / total
        return arm

    def learn(self, now: int, arm: int, reward: float) -> None:
        lines = list(self._lines[now])
        lines[arm] = f"0:{-reward:.6g}:{self._probability:.6g} {lines[arm]}"
        examples = self._read(lines)
        self._workspace.learn(examples)
        self._workspace.finish_example(examples)

    def _read(self, lines: list[str]) -> Any:
        return self._workspace.parse(lines, self._module.LabelType.CONTEXTUAL_BANDIT)


def _line(action: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """What is zero is left out, as it is everywhere in this library."""
    return "|x " + " ".join(f"{place}:{value:.8g}" for place, value in enumerate(action.tolist()) if value)
