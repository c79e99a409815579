"""Counts of ones, added up over a batch of people before anyone looks: rounding and noise. The price: `proof.md`.

A number in [−offset, offset] is sent as a count of grid steps, rounded at random so that its mean is right, with
binomial ones of the person's own on top. A shuffler adds the counts of a batch; the analyser takes off what the
ones are on average. The ones of B people together are Binomial(B·b, p), whoever drew them: a simulation draws them once
per batch, devices draw b each, and the law is the same.

Cheu, Joseph, Mao and Peng (2022); Chowdhury and Zhou (2022).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.mechanisms.shuffle.binomial import draw_binomial, most_uniforms
from tacit.noise import fill_normals

__all__ = ["Grid", "Ones", "draw_ones", "grid_of", "most_uniforms", "round_randomly", "value_of"]


class Grid(NamedTuple):
    """How a number becomes a count: the public side."""

    steps: float  # g: the largest count of a number
    step: float  # one step, in the unit of the numbers
    offset: float  # added to a number, so that no count is negative


def grid_of(steps: int, bound: float) -> Grid:
    """The grid of so many steps over [−bound, bound]."""
    return Grid(float(steps), 2.0 * bound / steps, float(bound))


class Ones(NamedTuple):
    """The random ones of a count."""

    trials: float  # b of one person, B·b of a batch; 0: none are drawn
    probability: float  # p
    laid: bool  # whether they lie ready, drawn exactly; if not, they are made of uniform numbers


@kernel
def draw_ones(ones: Ones, scratch: Floats, noise: Any) -> float:
    """How many of the trials succeed. `scratch` has room for a proposal, and holds noise afterwards."""
    if ones.trials <= 0.0:
        return 0.0
    if ones.laid:
        fill_normals(noise, scratch[:1])
        return float(scratch[0])
    return draw_binomial(ones.trials, ones.probability, scratch, noise)


@kernel
def round_randomly(grid: Grid, value: float, uniform: float) -> float:
    """A whole number of steps next to the value, whose mean over `uniform` in [0, 1) is the value itself.

    The bounds hold whatever comes: what lies outside the grid is moved to its end.
    """
    place = min(max((value + grid.offset) / grid.step, 0.0), grid.steps)
    below: float = np.floor(place)
    return below + 1.0 if uniform < place - below else below


@kernel
def value_of(grid: Grid, ones: float, expected: float, people: float) -> float:
    """What the counts of so many people say of the sum of their numbers, without bias: `expected` ones are noise."""
    return grid.step * (ones - expected) - people * grid.offset
