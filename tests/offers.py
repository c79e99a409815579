"""One way to play any policy: those that are shown actions every round, and those that have a fixed list of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.core.learner import Learner
from tacit.core.policy import Policy
from tacit.environments import Environment, LinearActions, Sphere


@dataclass(frozen=True, kw_only=True)
class Listed(LinearActions):
    """The list of a policy as a world: rewards ±1, a parameter per trial."""

    slug: ClassVar[str] = "listed"
    rows: tuple[tuple[float, ...], ...] = ()

    @property
    def fixed_actions(self) -> np.ndarray:
        return np.array(self.rows)


def world_for(config: Policy) -> Environment:
    """A world this policy can play in."""
    rows = config.fixed_actions
    if rows is None:
        return Sphere(dim=config.dim, gap=0.1)  # type: ignore[attr-defined]
    return Listed(dim=rows.shape[1], arms=len(rows), rows=tuple(map(tuple, rows.tolist())))


def ask(learner: Learner, actions: Any) -> int:
    """Which of these; or which of its own list."""
    return learner.choose() if learner.config.fixed_actions is not None else learner.choose(actions)


def decide(learner: Learner, actions: Any, **who: Any) -> Any:
    """The same, with the books kept by the learner."""
    return learner.decide(**who) if learner.config.fixed_actions is not None else learner.decide(actions, **who)


def taken(learner: Learner, actions: Any, arm: int) -> Any:
    """What `learn` is told was taken."""
    return arm if learner.config.fixed_actions is not None else actions[arm]


def some_row(learner: Learner, x: Any) -> Any:
    """This row; or the arm that is being played."""
    return int(learner._session.view.arm[0]) if learner.config.fixed_actions is not None else x


def row_of(config: Policy, view: Any, x: Any) -> Any:
    """The same for who calls the verbs: this row, or the action that is being played."""
    rows = config.fixed_actions
    return x if rows is None else rows[view.arm[0]]
