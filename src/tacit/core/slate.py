"""What is on offer in one round, with room to score it.

A round of the shared model offers K actions, a vector each. A round of the arms model offers one context that all arms
have, and says which of them are there: nothing is copied K times. In the hybrid model each arm has features besides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel, verb
from tacit._types import Floats
from tacit.linalg import BLAS_FROM


class Slate(NamedTuple):
    """K actions as the columns of a d×K array (so that scores of neighbouring arms are computed side by side)."""

    columns: Floats  # (dim, arms)
    scores: Floats  # (arms,)
    spread: Floats  # (arms,)
    scratch: Floats  # (max(arms, 2·dim),)
    product: Floats  # (dim, arms) where BLAS is worth it, else (1, 1)


class ArmsSlate(NamedTuple):
    """One context, and which of the K arms it may go with."""

    context: Floats  # (dim,) as it came
    allowed: Floats  # (arms,) 1, or 0 for an arm that is not there in this round
    prepared: Floats  # (width,) the context as the model has it
    scores: Floats  # (arms,)
    scratch: Floats  # (max(arms, width),)


class HybridSlate(NamedTuple):
    """The same, and what features each arm has in this round."""

    context: Floats
    allowed: Floats
    prepared: Floats
    scores: Floats
    scratch: Floats
    features: Floats  # (arms, shared) as they came
    shared: Floats  # (arms, shared) as the model has them
    residual: Floats  # (2, shared) room to score them


def slate(dim: int, arms: int) -> Slate:
    """An empty slate of the shared model."""
    product = np.zeros((dim, arms) if dim >= BLAS_FROM else (1, 1))
    return Slate(np.zeros((dim, arms)), np.zeros(arms), np.zeros(arms), np.zeros(max(arms, 2 * dim)), product)


def arms_slate(dim: int, arms: int, width: int, shared: int = 0) -> ArmsSlate | HybridSlate:
    """A slate of the arms model on which every arm is allowed. `width`: numbers of a prepared context; `shared`: of
    features that each arm has besides."""
    plain = ArmsSlate(np.zeros(dim), np.ones(arms), np.zeros(width), np.zeros(arms), np.zeros(max(arms, width)))
    if not shared:
        return plain
    return HybridSlate(*plain, np.zeros((arms, shared)), np.zeros((arms, shared)), np.zeros((2, shared)))


@verb
def lay_out(slate: Any, rows: Floats) -> None:
    """What a caller offers, on the slate: an action in each row; or in the arms model one row, the context, behind it a
    1 or a 0 for each arm, and behind these the features of each arm, if they have any."""


@verb
def take_row(slate: Any, arm: int, x: Floats) -> None:
    """Into `x` what is learned of the arm that was taken: the action; or in the arms model the context, behind it the
    number of the arm, and behind that its features, if it has any."""


@implements(lay_out, Slate)
@kernel
def _lay_out(slate: Slate, rows: Floats) -> None:
    arms, dim = rows.shape
    for k in range(arms):
        for i in range(dim):
            slate.columns[i, k] = rows[k, i]


@implements(lay_out, ArmsSlate)
@kernel
def _lay_out_context(slate: Any, rows: Floats) -> None:
    dim = slate.context.shape[0]
    for i in range(dim):
        slate.context[i] = rows[0, i]
    for k in range(slate.allowed.shape[0]):
        slate.allowed[k] = rows[0, dim + k]


@implements(take_row, Slate)
@kernel
def _take_row(slate: Slate, arm: int, x: Floats) -> None:
    for i in range(x.shape[0]):
        x[i] = slate.columns[i, arm]


@implements(lay_out, HybridSlate)
@kernel
def _lay_out_features(slate: HybridSlate, rows: Floats) -> None:
    _lay_out_context(slate, rows)
    at = slate.context.shape[0] + slate.allowed.shape[0]
    for k in range(slate.features.shape[0]):
        for i in range(slate.features.shape[1]):
            slate.features[k, i] = rows[0, at]
            at += 1


@implements(take_row, ArmsSlate)
@kernel
def _take_context(slate: Any, arm: int, x: Floats) -> None:
    dim = slate.context.shape[0]
    for i in range(dim):
        x[i] = slate.context[i]
    x[dim] = arm


@implements(take_row, HybridSlate)
@kernel
def _take_features(slate: HybridSlate, arm: int, x: Floats) -> None:
    _take_context(slate, arm, x)
    first = slate.context.shape[0] + 1
    for i in range(slate.features.shape[1]):
        x[first + i] = slate.features[arm, i] if arm < slate.features.shape[0] else 0.0
