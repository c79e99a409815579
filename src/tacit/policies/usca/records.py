"""Records as callers give them: checked, moved into their boxes and bounds, and what had to be moved is counted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import numbers
from tacit._types import Floats
from tacit.errors import BadInput
from tacit.kernels import Box
from tacit.kernels.points import LARGEST, as_points


class Domain(NamedTuple):
    """Where records lie: two boxes, and an interval of rewards. Public."""

    actions: Box
    contexts: Box | None
    middle: float  # what rewards are centred at
    reach: float  # B: how far from the middle a reward may be; ∞ where none was declared


class Records(NamedTuple):
    """n records that may be summed."""

    points: Floats  # (n, d) action and context side by side
    rewards: Floats  # (n,) from the middle
    moved_actions: int
    moved_contexts: int
    moved_rewards: int
    unfit: int  # records with a number that is none, which count as the middle of everything


def records_of(domain: Domain, actions: ArrayLike, rewards: ArrayLike, contexts: ArrayLike | None) -> Records:
    """The records in their boxes and bounds. A record with a number that is not finite, or beyond 1e100, is one all the
    same, in the middle of its boxes and with the middle reward: how many there are must not depend on what is in them.
    Refused if there are more of one kind than of another."""
    given, paid = numbers("actions", actions), numbers("rewards", rewards)
    beside = None if contexts is None else numbers("contexts", contexts)
    unfit = _settle(domain, given, paid, beside)
    chosen, moved = domain.actions.clip(as_points("actions", given, domain.actions.dim))
    if paid.shape != (len(chosen),):
        raise BadInput(f"Expected one reward for each of {len(chosen):,} actions, got shape {paid.shape}.")
    points, strayed = _beside(domain.contexts, chosen, beside)
    centred = paid - domain.middle
    within = np.clip(centred, -domain.reach, domain.reach)
    return Records(points, within, moved, strayed, int((within != centred).sum()), unfit)


def _settle(domain: Domain, actions: Floats, rewards: Floats, contexts: Floats | None) -> int:
    """Put what is no number in the middle, in place, and with it the rest of its record; how many records."""
    if rewards.ndim != 1:
        return 0  # refused for its shape
    parts: list[tuple[Floats, Any]] = [(actions, domain.actions.centre), (rewards[:, None], domain.middle)]
    if contexts is not None and domain.contexts is not None:
        parts.append((contexts, domain.contexts.centre))
    if any(part.ndim != 2 or len(part) != len(rewards) for part, _ in parts):
        return 0
    unfit = ~np.logical_and.reduce([(np.abs(part) <= LARGEST).all(axis=1) for part, _ in parts])
    if unfit.any():
        for part, middle in parts:
            part[unfit] = middle
    return int(unfit.sum())


def _beside(box: Box | None, actions: Floats, contexts: ArrayLike | None) -> tuple[Floats, int]:
    """Each action with its context, and how many contexts had to be moved."""
    if box is None:
        if contexts is not None:
            raise BadInput("Expected no contexts, got some: there are none here (context_box=None).")
        return actions, 0
    if contexts is None:
        raise BadInput(f"Expected contexts of shape (n, {box.dim}), got none.")
    rows = as_points("contexts", contexts, box.dim)
    if len(rows) != len(actions):
        raise BadInput(f"Expected one context for each of {len(actions):,} actions, got {len(rows):,}.")
    within, moved = box.clip(rows)
    return np.hstack([actions, within]), moved
