"""One person's own report, clipped and noised before it leaves the device. Its price: `proof.md`.

Two reports are in use: the action and the reward themselves ("xy"), and what they add to the sums of least squares
("gram": the upper triangle of x xᵀ row by row, then x·y). The last coordinates of an action may be declared constant
and public; they are written as declared, whatever came, and get no noise.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.noise import fill_normals


class PersonBounds(NamedTuple):
    """What a person's action and reward may be; what lies outside is clipped on the device."""

    radius: float  # r: of the part of an action that is not public
    reward_low: float
    reward_high: float
    constants: Floats  # the last coordinates of every action


def person_bounds(radius: float, reward_low: float, reward_high: float, constants: tuple[float, ...]) -> PersonBounds:
    """The bounds, as kernels take them."""
    return PersonBounds(float(radius), float(reward_low), float(reward_high), np.array(constants, np.float64))


@kernel
def within_interval(reward: float, low: float, high: float) -> float:
    """The nearest reward within the interval."""
    return min(max(reward, low), high)


@kernel
def within_ball(x: Floats, count: int, radius: float) -> float:
    """The factor, at most 1, that brings the first `count` coordinates of `x` within a ball.

    Numbers up to `LARGEST` have squares that do not overflow; larger ones were refused before they came here.
    """
    total = 0.0
    for i in range(count):
        total += x[i] * x[i]
    length = math.sqrt(total)
    return radius / length if length > radius else 1.0


@kernel
def clip_reward(bounds: PersonBounds, reward: float) -> float:
    """The nearest reward within the bounds."""
    return within_interval(reward, bounds.reward_low, bounds.reward_high)


@kernel
def shrink_to_radius(bounds: PersonBounds, x: Floats) -> float:
    """The factor, at most 1, that brings the private part of `x` within its radius."""
    return within_ball(x, x.shape[0] - bounds.constants.shape[0], bounds.radius)


@kernel
def clip_action(bounds: PersonBounds, x: Floats, out: Floats) -> None:
    """Write the action within the bounds: its private part shrunk, its public part as declared."""
    private = x.shape[0] - bounds.constants.shape[0]
    shrink = shrink_to_radius(bounds, x)
    for i in range(private):
        out[i] = shrink * x[i]
    for i in range(bounds.constants.shape[0]):
        out[private + i] = bounds.constants[i]


@kernel
def noised(value: float, scale: float, step: float, drawn: float) -> float:
    """The value under noise: a standard normal number times `scale`, or on a lattice whole steps on whole steps."""
    if step == 0.0:
        return value + scale * drawn
    return step * (float(np.rint(value / step)) + drawn)


@kernel
def report_row(
    bounds: PersonBounds,
    scale: float,
    step: float,
    perturbation: float,
    x: Floats,
    reward: float,
    out: Floats,
    noise: Any,
) -> None:
    """Write (x̃, ỹ), d + 1 numbers: the clipped action and reward under Gaussian noise of standard deviation `scale`.

    `step` is that of the lattice that they are rounded to first, where the noise is whole numbers of steps; 0: none,
    and noise in double precision. `perturbation` is the standard deviation of further noise on the private part of the
    action, drawn anew. It only ever adds.

    Formal guarantee: μ-GDP with μ = Δ/σ for one replaced (x, reward), Δ² = (2r)² + (high − low)²: `proof.md`.
    Requires: finite inputs; `out` leaves the device once.
    """
    dim = x.shape[0]
    private = dim - bounds.constants.shape[0]
    shrink = shrink_to_radius(bounds, x)
    fill_normals(noise, out[: private + 1])
    out[dim] = noised(clip_reward(bounds, reward), scale, step, out[private])
    if step == 0.0:
        spread = math.sqrt(scale * scale + perturbation * perturbation)
        for i in range(private):
            out[i] = shrink * x[i] + spread * out[i]
    else:
        for i in range(private):
            found = noised(shrink * x[i], scale, step, out[i])
            fill_normals(noise, out[i : i + 1])
            out[i] = found + perturbation * (step / scale) * out[i]
    for i in range(bounds.constants.shape[0]):
        out[private + i] = bounds.constants[i]


@kernel
def report_gram(
    bounds: PersonBounds, scale: float, step: float, x: Floats, reward: float, out: Floats, noise: Any
) -> None:
    """Write the noised upper triangle of x xᵀ, row by row, then x·y under noise of the same standard deviation.

    Every entry has its own noise of standard deviation `scale`, on the diagonal too; an entry made of public constants
    alone has none. `step` as for `report_row`.

    Formal guarantee: μ-GDP with μ = Δ/s for one replaced (x, reward), Δ from `privacy.sensitivity.gram_sensitivity`:
    `proof.md`.
    Requires: finite inputs; `out` leaves the device once.
    """
    dim = x.shape[0]
    private = dim - bounds.constants.shape[0]
    shrink = shrink_to_radius(bounds, x)
    y = clip_reward(bounds, reward)
    fill_normals(noise, out[: dim * (dim + 3) // 2])
    at = 0
    for i in range(dim):
        a = shrink * x[i] if i < private else bounds.constants[i - private]
        for j in range(i, dim):
            b = shrink * x[j] if j < private else bounds.constants[j - private]
            out[at] = noised(a * b, scale, step, out[at]) if i < private else a * b
            at += 1
    for i in range(dim):
        a = shrink * x[i] if i < private else bounds.constants[i - private]
        out[at + i] = noised(a * y, scale, step, out[at + i])
