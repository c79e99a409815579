"""Projected online gradient descent: the simplest learner that has a regret bound, and the cheapest.

    θ ← Π(θ − (a/√t)·g),   Π the projection onto the ball of radius D.

Zinkevich (2003). For convex losses, gradients within the clip G and any fixed u in the ball,

    Σ <g_t, θ_t − u> ≤ (2D²/a + a·G²)·√T   for every T,

smallest at a = √2·D/G. Nothing is claimed about gradients that were clipped: they are no longer those of the losses.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.estimators.online.learner import Online, descend, member, restart, size


class GradientDescent(NamedTuple):
    """Params of online gradient descent."""

    radius: float  # D
    step: float  # a
    clip: float  # G


class GradientDescentState(NamedTuple):
    """Where it stands."""

    point: Floats  # (d,) θ_t, to play next
    clock: Ints  # (1,) t − 1: steps taken


def gradient_descent(
    dim: int, radius: float, step: float, clip: float
) -> Online[GradientDescent, GradientDescentState]:
    """Descent in the ball of `radius` with steps `step`/√t, gradients clipped to the length `clip`."""
    whole("dim", dim)
    params = GradientDescent(size("radius", radius), size("step", step), size("clip", clip))
    return Online(params, lambda: GradientDescentState(np.zeros(dim), np.zeros(1, np.int64)))


def descent_regret_bound(radius: float, step: float, clip: float, rounds: int) -> float:
    """(2D²/a + a·G²)·√T: what Σ <g_t, θ_t − u> cannot exceed after so many steps.

    From ‖θ_{t+1} − u‖² ≤ ‖θ_t − u − a·g_t/√t‖², summed: the distances of at most 2D leave (2D)²·√T/2a, the squares of
    the gradients a·G²/2·Σ 1/√t ≤ a·G²·√T.
    """
    return (2 * radius**2 / step + step * clip**2) * math.sqrt(rounds)


@implements(descend, GradientDescent)
@kernel
def _descend(online: GradientDescent, state: GradientDescentState, gradient: Floats) -> None:
    length = math.sqrt(linalg.dot(gradient, gradient))
    if not length < math.inf:
        return
    state.clock[0] += 1
    step = online.step / math.sqrt(state.clock[0])
    if length > online.clip:
        step *= online.clip / length
    dim = gradient.shape[0]
    for i in range(dim):
        state.point[i] -= step * gradient[i]
    linalg.shrink_to_ball(state.point, online.radius)


@implements(restart, GradientDescent)
@kernel
def _restart(online: GradientDescent, state: GradientDescentState, horizon: int) -> None:
    """Steps shrink as 1/√t whatever the horizon is."""
    for i in range(state.point.shape[0]):
        state.point[i] = 0.0
    state.clock[0] = 0


@implements(member, GradientDescent)
def _member(online: GradientDescent, bank: GradientDescentState, index: int) -> GradientDescentState:
    return GradientDescentState(bank.point[index], bank.clock[index])
