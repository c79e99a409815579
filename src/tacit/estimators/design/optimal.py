"""G-optimal designs: how often to play each action so that all are estimated equally well.

A design π puts weights on actions; V(π) = Σ π_a x_a x_aᵀ. Played n·π_a times each, least squares estimates the mean
reward of x with variance ‖x‖²_{V⁻¹}/n, so the worst action is off by g(π) = max_a ‖x_a‖²_{V⁻¹}. Kiefer and Wolfowitz
(1960): the least g is the rank r, and a design has it exactly if it maximises ln det V; then ‖x‖²_{V⁻¹} = r wherever
it puts weight.

ln det V is maximised by Frank–Wolfe steps towards the worst action, and steps away from the action in the support that
needs its weight least (Wolfe 1970; Atwood 1973; Todd and Yıldırım 2007). Every step has a best length in closed form.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tacit._kernel import kernel
from tacit._types import Floats, Ints

#: Steps until the inverse is worked out afresh: rounding errors of rank-one updates add up.
_AFRESH = 100


class DesignRoom(NamedTuple):
    """Actions in coordinates of their span, a design on them, and room to work; K actions, m = min(K, d)."""

    coordinates: Floats  # (m, K) c, as columns
    pivots: Ints  # (m,) the columns that are basis vectors
    weights: Floats  # (K,) π
    scores: Floats  # (K,) ‖x_a‖²_{V⁻¹}
    products: Floats  # (K,)
    inverse: Floats  # (m, m) V⁻¹, in its first r rows and columns
    vector: Floats  # (m,)


@kernel
def optimal_design(room: DesignRoom, count: int, rank: int, tolerance: float, limit: int) -> tuple[float, int, bool]:
    """Write a design on the first `count` columns into `room.weights`. Returns its g, how many steps it took, and
    whether it is within the tolerance:

        g ≤ r·(1 + tolerance), and ‖x‖²_{V⁻¹} ≥ r·(1 − tolerance) wherever there is weight.

    If not, the limit of steps came first; g is then what was reached, and the design is as valid as any.
    """
    weights, scores = room.weights, room.scores
    _weigh_pivots(room, count, rank)
    steps, age = 0, _AFRESH
    while True:
        if age >= _AFRESH:
            _afresh(room, count, rank)
            age = 0
        top, low = _extremes(weights, scores, count)
        above, below = scores[top] - rank, rank - scores[low]
        within = max(above, below) <= tolerance * rank
        if within or steps >= limit:
            if age == 0:
                return scores[top], steps, within
            age = _AFRESH  # never believe updated numbers at the end
            continue
        steps += 1
        age += 1
        # λ maximises ln det((1 − λ)V + λ·x xᵀ) = ln det V + (r − 1)·ln(1 − λ) + ln(1 − λ + λ‖x‖²_{V⁻¹}).
        if above >= below:
            _step(room, count, rank, top, above / (rank * (scores[top] - 1.0)))
        else:
            # At most all of its weight: then the action leaves the support.
            most = weights[low] / (1.0 - weights[low])
            away = below / (rank * (scores[low] - 1.0)) if scores[low] > 1.0 else most
            _step(room, count, rank, low, -min(away, most))
            if away >= most:
                weights[low] = 0.0


@kernel
def _extremes(weights: Floats, scores: Floats, count: int) -> tuple[int, int]:
    """The worst action, and of those with weight the one that is known best; the first of equals."""
    top, low = 0, -1
    for k in range(count):
        if scores[k] > scores[top]:
            top = k
        if weights[k] > 0.0 and (low < 0 or scores[k] < scores[low]):
            low = k
    return top, low


@kernel
def _step(room: DesignRoom, count: int, rank: int, place: int, step: float) -> None:
    """π ← (1 − λ)π + λ·e, and V⁻¹ and scores with it (Sherman and Morrison 1950)."""
    weights, scores, products, vector = room.weights, room.scores, room.products, room.vector
    inverse = room.inverse
    for i in range(rank):
        total = 0.0
        for j in range(rank):
            total += inverse[i, j] * room.coordinates[j, place]
        vector[i] = total
    project_on(room.coordinates, count, rank, vector, products)
    stretch = 1.0 / (1.0 - step)
    ratio = step * stretch
    factor = ratio / (1.0 + ratio * scores[place])
    for k in range(count):
        scores[k] = stretch * (scores[k] - factor * (products[k] * products[k]))
        weights[k] *= 1.0 - step
    weights[place] += step
    for i in range(rank):
        for j in range(rank):
            inverse[i, j] = stretch * (inverse[i, j] - factor * (vector[i] * vector[j]))


@kernel
def _afresh(room: DesignRoom, count: int, rank: int) -> None:
    """Weights that sum to one, and their V⁻¹ and scores, without what rounding has done to them."""
    weights, scores, products, coordinates = room.weights, room.scores, room.products, room.coordinates
    total = 0.0
    for k in range(count):
        total += weights[k]
    for k in range(count):
        weights[k] /= total
        scores[k] = 0.0
    if not invert(coordinates, weights, count, rank, room.inverse):
        # Only rounding can have done that, as det V grows with every step.
        _weigh_pivots(room, count, rank)
        invert(coordinates, weights, count, rank, room.inverse)
    for i in range(rank):
        project_on(coordinates, count, rank, room.inverse[i], products)
        for k in range(count):
            scores[k] += products[k] * coordinates[i, k]


@kernel
def _weigh_pivots(room: DesignRoom, count: int, rank: int) -> None:
    """Equal weights on the pivots, which are basis vectors: V = I/r cannot be singular."""
    for k in range(count):
        room.weights[k] = 0.0
    for i in range(rank):
        room.weights[room.pivots[i]] = 1.0 / rank


@kernel
def project_on(coordinates: Floats, count: int, rank: int, vector: Floats, out: Floats) -> None:
    """out[a] = <vector, x_a>."""
    for k in range(count):
        out[k] = 0.0
    for i in range(rank):
        value = vector[i]
        for k in range(count):
            out[k] += value * coordinates[i, k]


@kernel
def invert(coordinates: Floats, weights: Floats, count: int, rank: int, inverse: Floats) -> bool:
    """V⁻¹ of V = Σ weight·x xᵀ, for any weights that are not negative. False if V is singular.

    By Gauss and Jordan in place, which needs no other pivots where V is positive definite.
    """
    for i in range(rank):
        for j in range(rank):
            inverse[i, j] = 0.0
    for k in range(count):
        if weights[k] > 0.0:
            for i in range(rank):
                value = weights[k] * coordinates[i, k]
                for j in range(rank):
                    inverse[i, j] += value * coordinates[j, k]
    for p in range(rank):
        pivot = inverse[p, p]
        if not (pivot > 0.0 and pivot < math.inf):
            return False
        inverse[p, p] = 1.0
        for j in range(rank):
            inverse[p, j] /= pivot
        for i in range(rank):
            if i != p:
                factor = inverse[i, p]
                inverse[i, p] = 0.0
                for j in range(rank):
                    inverse[i, j] -= factor * inverse[p, j]
    return True
