"""Batches of reports that a shuffler has mixed: the totals of each are published once, when it is full.

Where one process does everything, the random ones of the vector-sum protocol are drawn here, once for the whole batch;
where devices draw their own, here are none. What a batch costs, and why: `mechanisms/shuffle/proof.md`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.counters.counter import publish
from tacit.mechanisms.shuffle import Grid, Ones, draw_ones, value_of
from tacit.mechanisms.shuffle.binomial import PROPOSAL

#: Rows of the memory: room for a proposal of the binomial, and what has been published.
MEMORY_ROWS = 2


class Batches(NamedTuple):
    """The kernels' side. The secret sums are those of the batch that is being filled."""

    people: int  # B
    grid: Grid  # no steps: reports are Gaussian, not counts
    ones: Ones  # of B·b trials in one process, of none elsewhere: drawn when a batch is published
    expected: float  # B·b·p: what is taken off again
    constants: Floats  # the last coordinates of every action: public
    beside: float  # 1 over what numbers that are not on a diagonal are multiplied by in a report


@implements(publish, Batches)
@kernel
def _publish(counter: Batches, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:
    """Add a full batch to what is published, and forget it.

    Formal guarantee: the totals of a batch are private as their event says, once B reports are in them; each batch is
    released once. Proof: mechanisms/shuffle/proof.md.
    """
    out, scratch, constants = memory[1], memory[0, :PROPOSAL], counter.constants
    private = dim - constants.shape[0]
    if counter.grid.steps == 0.0:
        for k in range(out.shape[0]):
            out[k] += sums[k]
    else:
        at = 0
        while at < out.shape[0]:  # one block, or one of each arm
            for i in range(dim):
                for j in range(i, dim):
                    if i < private:
                        weight = 1.0 if i == j else counter.beside
                        out[at] += weight * _total(counter, sums[at], scratch, noise)
                    else:
                        out[at] += float(counter.people) * constants[i - private] * constants[j - private]
                    at += 1
            for _ in range(dim):
                out[at] += counter.beside * _total(counter, sums[at], scratch, noise)
                at += 1
    for k in range(out.shape[0]):
        sums[k] = 0.0
    for k in range(PROPOSAL):
        scratch[k] = 0.0
    return 1


@kernel
def _total(counter: Batches, counted: float, scratch: Floats, noise: Any) -> float:
    """The sum of one coordinate over the batch, ones added if no device has."""
    drawn = draw_ones(counter.ones, scratch, noise)
    return value_of(counter.grid, counted + drawn, counter.expected, float(counter.people))
