"""Records as callers give them: checked, moved into their boxes and bounds, and what had to be moved is counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import finite
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


def records_of(domain: Domain, actions: ArrayLike, rewards: ArrayLike, contexts: ArrayLike | None) -> Records:
    """The records in their boxes and bounds. Refused if any number is no finite one, or if there are more of one kind
    than of another."""
    chosen, moved = domain.actions.clip(as_points("actions", actions, domain.actions.dim))
    paid = finite("rewards", rewards, limit=LARGEST)
    if paid.shape != (len(chosen),):
        raise BadInput(f"Expected one reward for each of {len(chosen):,} actions, got shape {paid.shape}.")
    points, strayed = _beside(domain.contexts, chosen, contexts)
    centred = paid - domain.middle
    within = np.clip(centred, -domain.reach, domain.reach)
    return Records(points, within, moved, strayed, int((within != centred).sum()))


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
