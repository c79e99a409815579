"""Learners fed from a log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from tacit._types import Floats, Ints
from tacit.core.arms import ArmsLearner
from tacit.core.learner import Learner
from tacit.core.policy import Policy
from tacit.errors import BadInput
from tacit.replaying.log import Log


def fitted(config: Policy, log: Log) -> Policy:
    """The policy, if it can choose from what this log offers; with the log's list where it works on one."""
    if not isinstance(config, Policy):
        raise BadInput(
            f"Expected the configuration of a policy that chooses from actions, got {type(config).__name__}."
        )
    fixed = log.fixed_actions
    bound = config if config.list_option is None or fixed is None else config.offered(fixed)
    if config.list_option is not None and fixed is None:
        raise BadInput(
            f"Expected a log without features for {config.slug}, which has one list of actions for every round, got "
            "one whose contexts differ. Read the log with features=(), or use a policy that is shown its actions."
        )
    wanted = bound.dim
    if bound.arms_of_context is not None:
        shape = (log.arms, log.contexts.shape[1])
        if log.model != "per-arm" or (bound.arms_of_context, wanted) != shape:
            raise BadInput(
                f"Expected arms={shape[0]} and dim={shape[1]} for this log, of the model per-arm, got "
                f"arms={bound.arms_of_context} and dim={wanted} for the model {log.model}."
            )
        return bound
    if wanted != log.dim:
        raise BadInput(
            f"Expected dim={log.dim} for this log ({log.arms} arms, model {log.model}), got dim={wanted}. "
            f"log.dim is the number to give{_or_by_arm(bound, log)}."
        )
    listed = bound.fixed_actions
    if listed is not None and len(listed) != log.arms:
        raise BadInput(f"Expected a list of {log.arms} actions, as many as the log has, got {len(listed)}.")
    return bound


def _or_by_arm(config: Policy, log: Log) -> str:
    shape = log.shape(type(config), {})
    return f"; or arms={shape['arms']} and dim={shape['dim']}, for a parameter per arm" if "arms" in shape else ""


def centre_note(config: Policy) -> tuple[str, ...]:
    """Which rows teach a policy nothing about rewards, in a sentence; there may be none."""
    if config.arms_of_context is None or not config.preparation.centre_rounds:
        return ()
    return (
        f"{config.slug} with arms takes its first {config.preparation.centre_rounds:,} rows for the centre of contexts "
        'and learns rewards from those that follow. On a short log give preparation="none".',
    )


def started(config: Policy, seed: int, run: int) -> Learner:
    """A learner for one run: seeded, as nobody is protected by an experiment on raw data."""
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(run,))
    return config.start(seed=int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1)))


def rows_of(config: Policy, log: Log, rows: Ints) -> Iterator[tuple[int, Floats | None]]:
    """Rows, and the action that was taken in each, for `teach`: none where arms share a context, and it is not asked
    for."""
    if config.arms_of_context is not None:
        return zip(rows.tolist(), repeat(None), strict=False)
    return zip(rows.tolist(), log.taken(rows, log.actions[rows]), strict=True)


def teach(learner: Learner, log: Log, row: int, x: Floats | None) -> None:
    """One row, whose action is `x`. A learner whose unit is a person learns no more rows of it than it promised for."""
    whose = None if learner.config.person_rounds is None else log.person(row)
    arm, reward = int(log.actions[row]), float(log.rewards[row])
    if isinstance(learner, ArmsLearner):
        learner.learn(log.contexts[row], arm, reward, whose)
    elif learner.config.fixed_actions is None:
        assert x is not None
        learner.learn(x, reward, whose)
    else:
        learner.learn(arm, reward, whose)
