"""Running a learner round by round, and reading what it has released."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tacit.core.learner import ENVIRONMENT, Learner
from tacit.core.policy import Policy
from tacit.core.round import learn_checked
from tacit.core.verbs import pay, show
from tacit.environments import Environment
from tacit.noise import stream
from tacit.privacy.event import EitherEvent, Event, PersonEvent
from tacit.privacy.scope import Protects
from tacit.simulation.engine import start_world
from tests.offers import ask, row_of, shown, some_row, taken, tell, world_for

#: Every example has released something by then.
MOST_ROWS = 5000


def play(
    learner: Learner, rounds: int, seed: int, trial: int = 0, environment: Environment | None = None
) -> tuple[list[int], float]:
    """Arms and regret of `rounds` rounds through the Python façade, in a world it can play in unless told."""
    source = stream(seed, trial, ENVIRONMENT)
    world = start_world(learner._plan, environment or world_for(learner.config), source)
    arms, regret = [], 0.0
    for _ in range(rounds):
        show(world.params, world.slate, world.means, source)
        actions = shown(world.slate)
        arm = ask(learner, actions)
        learn_that(learner, taken(learner, actions, arm), pay(world.params, world.means[arm], source))
        arms.append(arm)
        regret += world.means.max() - world.means[arm]
    return arms, regret


def learn(learner: Learner, x: Any, reward: Any) -> None:
    """A row, or of a policy over a list the arm that is being played."""
    learn_that(learner, some_row(learner, x), reward)


def learn_that(learner: Learner, x: Any, reward: Any) -> None:
    """Exactly this, of somebody who has never come before, said to whoever counts people."""
    if getattr(learner.config, "person_rounds", None) is None:
        tell(learner, x, reward)
    else:
        tell(learner, x, reward, person=f"p{learner.diagnostics().rows}")


def contents(learner: Learner) -> list[np.ndarray]:
    """Copies of every array of vault and view."""
    return [np.array(part) for part in (*learner._session.vault, *learner._session.view)]


def same(before: list[np.ndarray], after: list[np.ndarray]) -> bool:
    """Equal to the bit."""
    return all(np.array_equal(a, b) and a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))


def slates(count: int, arms: int, dim: int, seed: int) -> list[np.ndarray]:
    """Random action sets in the unit ball."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((count, arms, dim))
    return list(found / np.linalg.norm(found, axis=2, keepdims=True))


def first_release(config: Policy) -> int:
    """The row after which the first view of sums is released, if rows go round the axes."""
    plan = config.plan()
    if plan.report is not None:
        return plan.report.batch or 1
    vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
    noise = stream(1)
    for row in range(1, MOST_ROWS):
        learn_checked(plan.params, vault, view, row_of(config, view, axis(config, row)), 0.0, report, noise)
        if view.stage[0] > (opening(config) > 0):
            return row
    raise AssertionError(f"{config!r} has released nothing in {MOST_ROWS} rows")


def axis(config: Policy, row: int) -> np.ndarray:
    """Rows that go round the axes, and round the arms: every direction is learned about."""
    found: np.ndarray = np.eye(config.dim)[row % config.dim]
    return found if config.arms_of_context is None else np.append(found, row % config.arms_of_context)


def rows_to_tell(config: Policy) -> int:
    """So many rows that what they said shows in the view: an online learner has moved, and has not just begun anew."""
    return first_release(config) + 32


@cache
def row_event(config: Policy) -> Any:
    """What sums release about one row: the event of a person is that of a row, counted several times."""
    return of_sums(config.plan().event)


def of_sums(event: Event) -> Any:
    """The event of a row in the sums, within that of a person, or beside that of a centre."""
    one: Any = event.event if isinstance(event, PersonEvent) else event
    return one.events[-1] if isinstance(one, EitherEvent) else one


def opening(config: Policy) -> int:
    """How many rows are in a release of their own, and in no sum: those whose contexts make the centre."""
    return getattr(config, "centre_rounds", 0)


def public_centre(config: Policy) -> bool:
    """Whether that centre is of public contexts: it has no noise, and nothing of it is secret."""
    return opening(config) > 0 and config.protects is Protects.REWARDS


def past_the_opening(plan: Any) -> tuple[Any, Any]:
    """Vault and view as they are when rows go into the sums: the centre, if there is one, has been released."""
    vault, view = plan.vault(), plan.view()
    if hasattr(vault, "learning"):
        view.stage[0] += 1 - vault.learning[0]
        vault.learning[0] = 1
    return vault, view


def in_units(config: Any, sums: np.ndarray) -> np.ndarray:
    """Sums, or a change of them, in units of the noise: on the diagonal it has twice the variance."""
    found: np.ndarray = np.array(sums, np.float64).ravel()
    width, shared = getattr(config, "block", config.dim), config.shared or 0
    common = len(found) - shared * (shared + 3) // 2
    blocks = found[:common].reshape(getattr(config, "blocks", 1), -1)
    blocks[:, np.cumsum([0, *range(width + shared, shared + 1, -1)])] /= np.sqrt(2.0)
    found[common + np.cumsum([0, *range(shared, 1, -1)][: shared or 0], dtype=int)] /= np.sqrt(2.0)
    return found
