"""What worlds of random directions have in common."""

from __future__ import annotations

from tacit._kernel import kernel
from tacit._types import Floats


@kernel
def measure(rows: Floats, weights: Floats, length: Floats, along: Floats) -> None:
    """The squared length of each column of the first rows, as many as there are weights, and its product with them.

    A column of exactly zero length would divide by zero: 1e-300 is added, which changes no other length.
    """
    count, arms = weights.shape[0], length.shape[0]
    for k in range(arms):
        length[k] = 1e-300
        along[k] = 0.0
    # Two rows in a pass: half the traffic on the running sums.
    i = 0
    while i + 1 < count:
        one, two, weight, other = rows[i], rows[i + 1], weights[i], weights[i + 1]
        for k in range(arms):
            length[k] += one[k] * one[k] + two[k] * two[k]
            along[k] += weight * one[k] + other * two[k]
        i += 2
    if i < count:
        one, weight = rows[i], weights[i]
        for k in range(arms):
            length[k] += one[k] * one[k]
            along[k] += weight * one[k]


@kernel
def measure_each(rows: Floats, weights: Floats, length: Floats, along: Floats) -> None:
    """The squared length of each column, and its product with the column of the weights in its place; see `measure`."""
    for k in range(length.shape[0]):
        length[k] = 1e-300
        along[k] = 0.0
    for i in range(rows.shape[0]):
        for k in range(length.shape[0]):
            length[k] += rows[i, k] * rows[i, k]
            along[k] += rows[i, k] * weights[i, k]
