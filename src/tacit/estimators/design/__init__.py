"""G-optimal designs over a list of actions: `g_optimal_design` from Python, `optimal_design` inside kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import finite
from tacit._types import Floats, Ints
from tacit._validate import positive, whole
from tacit.core.round import LARGEST
from tacit.errors import BadInput
from tacit.estimators.design.optimal import DesignRoom, invert, optimal_design, project_on
from tacit.estimators.design.span import write_coordinates

__all__ = [
    "MOST_STEPS",
    "Design",
    "DesignRoom",
    "g_optimal_design",
    "invert",
    "optimal_design",
    "project_on",
    "write_coordinates",
]

#: Steps after which a design is used as it is. One per cent of the optimum takes some hundred to some thousand.
MOST_STEPS = 100_000


@dataclass(frozen=True, eq=False)
class Design:
    """Weights on actions, and how good they are."""

    weights: Floats  #: π: one per action, summing to one; zero outside the support
    rank: int  #: r: of the space that the actions span, and the least value there can be
    value: float  #: g: the largest ‖x‖²_{V⁻¹} of any action
    iterations: int
    converged: bool  #: whether the tolerance was reached, and not the limit of iterations

    @property
    def support(self) -> Ints:
        """The actions that have weight. They may be more than the d(d + 1)/2 that an optimal design can do with."""
        return np.flatnonzero(self.weights)


def g_optimal_design(actions: ArrayLike, tolerance: float = 0.01, limit: int = MOST_STEPS) -> Design:
    """How often to play each of `actions`, of shape (K, d), so that the worst of them is estimated as well as can be.

    The value g is at most r·(1 + tolerance), and every action in the support has at least r·(1 − tolerance); r is the
    rank. Actions need not span the space, may repeat each other, and may have any scale. If `limit` iterations do not
    suffice, `converged` is false and `value` is what was reached.
    """
    rows = finite("actions", actions, limit=LARGEST)
    if rows.ndim != 2 or rows.size == 0:
        raise BadInput(f"Expected actions of shape (K, d) with at least one action, got {rows.shape}.")
    if not rows.any():
        raise BadInput("Expected an action other than zero, got none: there is nothing to estimate.")
    positive("tolerance", tolerance)
    whole("limit", limit, low=0)
    count, dim = rows.shape
    size = min(count, dim)
    room = DesignRoom(
        coordinates=np.zeros((size, count)),
        pivots=np.zeros(size, np.int64),
        weights=np.zeros(count),
        scores=np.zeros(count),
        products=np.zeros(count),
        inverse=np.zeros((size, size)),
        vector=np.zeros(size),
    )
    # The scale of actions means nothing to a design; near one, no square can overflow or vanish.
    scaled = rows / np.abs(rows).max()
    rank = write_coordinates(
        scaled, np.arange(count), count, room.coordinates, room.pivots, np.zeros((dim, count)), room.inverse
    )
    value, steps, within = optimal_design(room, count, rank, float(tolerance), limit)
    return Design(room.weights, rank, value, steps, within)
