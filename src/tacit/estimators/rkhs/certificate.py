"""Upper bounds on functions over a whole box, from finitely many values and how fast the function can change.

A value at the centre of a cell plus the most that the function can change from there to the cell's edge bounds it on
the cell. Cells whose bound is above what has been reached are halved in every direction, until none is, or until the
evaluations are spent; what is left stays an upper bound at every moment.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import at_least, positive, whole
from tacit.errors import BadInput
from tacit.estimators.rkhs.operator import Operator
from tacit.kernels import Box
from tacit.kernels.points import as_points

#: Values that a certificate may ask for; a second or two with 400 features.
EVALUATIONS = 100_000
#: Cells per side to begin with, where that leaves most of the evaluations for later.
_PER_SIDE = 16
#: A box of more dimensions has too many corners to look at.
_MOST_CORNERED = 10
#: What rounding may have taken off a value, relative to the largest there can be. Measured: below 1e-8 at T = 10⁶.
_ROUNDING = 1e-6


class Form(Protocol):
    """Anything with a σ² that is a norm in a feature space: an `Operator`, an `ExactForm`."""

    @property
    def dim(self) -> int:
        """d: coordinates of a point."""

    @property
    def tau(self) -> float:
        """τ: the regulariser."""

    def sigma2(self, points: ArrayLike) -> Floats:
        """σ² at points of shape (n, d)."""

    def distance_bound(self, steps: ArrayLike) -> float:
        """The most that two features can differ where |w_i − w'_i| ≤ steps_i."""


class Bracket(NamedTuple):
    """A value that was found, a bound that holds, and how many values it took."""

    lower: float
    upper: float
    evaluations: int


def bracket(
    value: Callable[[Floats], Floats],
    change: Callable[[Floats], float],
    box: Box,
    target: Callable[[float], float],
    per_side: int | None = None,
    evaluations: int = EVALUATIONS,
) -> Bracket:
    """The largest value over the box, from below and from above.

    `value` takes points of shape (n, d); `change` the most a coordinate moves, (d,), and returns the most that the
    value then changes. Below `target(largest value found)` no cell is looked at more closely.
    """
    budget = whole("evaluations", evaluations)
    if per_side is None:
        per_side = max(1, min(_PER_SIDE, math.floor((budget / 4) ** (1 / box.dim))))
    if per_side**box.dim > budget:
        raise BadInput(
            f"Expected per_side**{box.dim} <= evaluations, got per_side={per_side} and evaluations={evaluations}."
        )
    centres, half = box.cells(per_side)
    signs = np.array(list(itertools.product((-0.5, 0.5), repeat=box.dim))) if box.dim <= _MOST_CORNERED else None
    spent = 0
    lower = -math.inf
    if signs is not None:
        # The largest values of σ² sit in corners: known at once, they keep most cells from being cut.
        lower = float(value(box.centre + signs * box.widths).max())
        spent = len(signs)
    while True:
        values = value(centres)
        spent += len(values)
        lower = max(lower, float(values.max()))
        bounds = values + change(half)
        # Cells that were left behind are below it too: it only grows.
        enough = target(lower)
        open_ = bounds > enough
        if not open_.any():
            return Bracket(lower, enough, spent)
        if signs is None or int(open_.sum()) * len(signs) > budget - spent:
            return Bracket(lower, max(enough, float(bounds.max())), spent)
        centres = (centres[open_, None, :] + signs * half).reshape(-1, box.dim)
        half = half / 2


def certified_sup_sigma2(
    form: Form, box: Box, per_side: int | None = None, *, tolerance: float = 0.01, evaluations: int = EVALUATIONS
) -> float:
    """An upper bound on σ² over the whole box, actions and contexts: never below the supremum, never above 1/τ.

        |σ(w) − σ(w')| ≤ τ^(−1/2)·‖ψ(w) − ψ(w')‖,     σ² ≤ ‖ψ‖²/τ ≤ 1/τ

    Where the evaluations suffice (two dimensions, as a rule) it is within `tolerance` of the supremum; in four it is
    several times larger, and with short length scales 1/τ. A certificate of computed numbers: rounding is allowed for.
    """
    _same_dim(form.dim, box.dim)
    room = at_least("tolerance", tolerance, 1e-6)
    slope = 1 / math.sqrt(form.tau)
    found = bracket(
        lambda points: np.sqrt(form.sigma2(points)),
        lambda half: slope * form.distance_bound(half),
        box,
        lambda lower: lower * math.sqrt(1 + room),
        per_side,
        evaluations,
    )
    return min(found.upper**2 * (1 + _ROUNDING), 1 / form.tau)


def certified_maximum(
    operator: Operator,
    vector: ArrayLike,
    action_box: Box,
    context: ArrayLike | None = None,
    *,
    tolerance: float,
    per_side: int | None = None,
    evaluations: int = EVALUATIONS,
) -> float:
    """An upper bound on μ(x, c) = u(x, c)ᵀv over all actions x of a box, for one context c of shape (d_c,), or none.

        |μ(w) − μ(w')| ≤ ‖C⁻ᵀv‖·‖ψ(w) − ψ(w')‖,     |μ| ≤ ‖C⁻ᵀv‖

    Within `tolerance` of the maximum where the evaluations suffice. What comes out depends on v, and so does how long
    it takes: for use inside a mechanism, not for release.
    """
    room = positive("tolerance", tolerance)
    beside = np.zeros((1, 0)) if context is None else as_points("context", np.atleast_2d(np.asarray(context)))
    if len(beside) != 1:
        raise BadInput(f"Expected one context of shape (d_c,), got {len(beside)} of them.")
    _same_dim(operator.dim, action_box.dim + beside.shape[1])
    length = float(np.linalg.norm(operator.coefficients(vector)))
    weights = np.asarray(vector, dtype=np.float64)

    def value(actions: Floats) -> Floats:
        return operator.mean(np.hstack([actions, np.repeat(beside, len(actions), axis=0)]), weights)

    still = np.zeros(operator.dim - action_box.dim)
    found = bracket(
        value,
        lambda half: length * operator.distance_bound(np.concatenate([half, still])),
        action_box,
        lambda lower: lower + room,
        per_side,
        evaluations,
    )
    return min(found.upper, length) + _ROUNDING * length


def _same_dim(form: int, box: int) -> None:
    if form != box:
        raise BadInput(
            f"Expected a box of {form} coordinates, like the points the features are of, got {box}. Actions come first."
        )
