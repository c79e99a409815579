"""Running a learner round by round, and reading what it has released."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.core.learner import ENVIRONMENT, Learner
from tacit.core.policy import Policy
from tacit.core.verbs import pay, show
from tacit.environments import Environment, Sphere
from tacit.noise import stream
from tacit.privacy.event import Event, PersonEvent


def play(
    learner: Learner, rounds: int, seed: int, trial: int = 0, environment: Environment | None = None
) -> tuple[list[int], float]:
    """Arms and regret of `rounds` rounds through the Python façade, on the sphere unless told."""
    source = stream(seed, trial, ENVIRONMENT)
    world = (environment or Sphere(dim=learner.config.dim, gap=0.1)).start(source)
    arms, regret = [], 0.0
    for _ in range(rounds):
        show(world.params, world.slate, world.means, source)
        actions = world.slate.columns.T.copy()
        arm = learner.choose(actions)
        learn(learner, actions[arm], pay(world.params, world.means[arm], source))
        arms.append(arm)
        regret += world.means.max() - world.means[arm]
    return arms, regret


def learn(learner: Learner, x: Any, reward: Any) -> None:
    """A row of somebody who has never come before, said to whoever counts people."""
    if getattr(learner.config, "person_rounds", None) is None:
        learner.learn(x, reward)
    else:
        learner.learn(x, reward, person=f"p{learner.diagnostics().rows}")


def contents(learner: Learner) -> list[np.ndarray]:
    """Copies of every array of vault and view."""
    return [np.array(part) for part in (*learner._vault, *learner._view)]


def same(before: list[np.ndarray], after: list[np.ndarray]) -> bool:
    """Equal to the bit."""
    return all(np.array_equal(a, b) and a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))


def slates(count: int, arms: int, dim: int, seed: int) -> list[np.ndarray]:
    """Random action sets in the unit ball."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((count, arms, dim))
    return list(found / np.linalg.norm(found, axis=2, keepdims=True))


def first_release(config: Policy) -> int:
    """The row after which the first view is released."""
    plan = config.plan()
    params: Any = plan.params
    if plan.report is not None:
        return plan.report.batch or 1
    return int(params.times[0]) if hasattr(params, "times") else 1


def rows_to_tell(config: Policy) -> int:
    """So many rows that what they said shows in the view: an online learner has moved, and has not just begun anew."""
    return first_release(config) + 32


def row_event(config: Policy) -> Any:
    """What is released about one row: the event of a person is that of a row, counted several times."""
    event: Event = config.plan().event
    return event.event if isinstance(event, PersonEvent) else event
