"""The verbs of `ShuffleLinUCB`: one text for one process, for a device and for a server. Roles differ in numbers only.

Who draws the ones of the vector-sum protocol: in one process nobody on the way in and `release` once per batch for all
of it; a device its own share, in `encode`; a server none. What is absorbed at once: one report, or a batch's totals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.core.round import COUNTERS, REPAIRS, ROWS
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.estimators.growing import Growing, fit_growing
from tacit.estimators.ridge import Optimism, View, optimistic_arm, uniform_arm
from tacit.mechanisms.report import PersonBounds, clip_reward, report_gram, shrink_to_radius
from tacit.mechanisms.shuffle import Grid, draw_binomial, round_randomly, value_of
from tacit.mechanisms.shuffle.binomial import PROPOSAL
from tacit.noise import fill_uniforms


class Ones(NamedTuple):
    """The noise of the vector-sum protocol, per coordinate."""

    own: float  # b on a device, 0 elsewhere: drawn in `encode`
    together: float  # B·b in one process, 0 elsewhere: drawn in `release`
    probability: float  # p
    expected: float  # B·b·p: what is taken off again, whoever drew them


class ShuffleParams(NamedTuple):
    """Params of `ShuffleLinUCB`, for every protocol and every role."""

    bounds: PersonBounds
    scale: float  # σ of a report's Gaussian noise; not used with a grid
    grid: Grid  # no steps: reports are Gaussian, not counts
    ones: Ones
    batch: int  # B
    people: int  # whose reports are absorbed at once: 1, or B
    growing: Growing
    no_noise: Floats  # zeros: the noise is in the sums
    exploration: Optimism


class ShuffleVault(NamedTuple):
    """The batch that is being filled, which is secret where one process does everything, and what has been released."""

    batch: Floats  # packed sums of reports, or of counts
    sums: Floats  # packed sums of all full batches, noised
    scratch: Floats  # room for a proposal of the binomial
    counters: Ints


def first_vault(size: int) -> ShuffleVault:
    """Before anyone has come."""
    return ShuffleVault(np.zeros(size), np.zeros(size), np.zeros(PROPOSAL), np.zeros(COUNTERS, np.int64))


@implements(choose, ShuffleParams)
@kernel
def _choose(params: ShuffleParams, view: View, slate: Slate, noise: Any) -> int:
    if view.width[0] == 0.0:  # the first batch: an optimist who knows nothing would play one arm all through it
        return uniform_arm(slate, noise)
    return optimistic_arm(params.exploration, view, slate, noise)


@implements(encode, ShuffleParams)
@kernel
def _encode(params: ShuffleParams, view: View, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Clip, then noise the report (amplification) or round it at random and add ones of one's own (vector sum).

    Formal guarantee: none of a report alone but its Gaussian noise; of a batch, see mechanisms/shuffle/proof.md.
    """
    if params.grid.steps == 0.0:
        report_gram(params.bounds, params.scale, x, reward, report, noise)
        return
    dim = x.shape[0]
    size = params.no_noise.shape[0]
    constants = params.bounds.constants
    private = dim - constants.shape[0]
    shrink = shrink_to_radius(params.bounds, x)
    y = clip_reward(params.bounds, reward)
    fill_uniforms(noise, report[:size])
    at = 0
    for i in range(dim):
        a = shrink * x[i] if i < private else constants[i - private]
        for j in range(i, dim):
            b = shrink * x[j] if j < private else constants[j - private]
            # What is made of constants alone is known to the server, and not counted.
            report[at] = round_randomly(params.grid, a * b, report[at]) if i < private else 0.0
            at += 1
    for i in range(dim):
        a = shrink * x[i] if i < private else constants[i - private]
        report[at + i] = round_randomly(params.grid, a * y, report[at + i])
    if params.ones.own > 0.0:
        scratch = report[size : size + PROPOSAL]
        public = at - constants.shape[0] * (constants.shape[0] + 1) // 2  # the last entries of the triangle
        for k in range(size):
            if k < public or k >= at:
                report[k] += draw_binomial(params.ones.own, params.ones.probability, scratch, noise)
        for k in range(PROPOSAL):
            scratch[k] = 0.0  # it made the noise, and must not stay beside it


@implements(absorb, ShuffleParams)
@kernel
def _absorb(params: ShuffleParams, vault: ShuffleVault, report: Floats) -> None:
    for k in range(vault.batch.shape[0]):
        vault.batch[k] += report[k]
    vault.counters[ROWS] += params.people


@implements(release, ShuffleParams)
@kernel
def _release(params: ShuffleParams, vault: ShuffleVault, view: View, noise: Any) -> None:
    """Add a full batch to the released sums and fit the view; inside a batch, nothing.

    Formal guarantee: the totals of a batch are private as their event says, once B reports are in them; each batch is
    released once. Proof: mechanisms/shuffle/proof.md.
    Requires: reports made by `encode`; called once per `absorb`.
    """
    rows = vault.counters[ROWS]
    if rows % params.batch != 0:
        return
    constants = params.bounds.constants
    dim = view.theta.shape[0]
    private = dim - constants.shape[0]
    people = float(params.batch)
    size = vault.sums.shape[0]
    if params.grid.steps == 0.0:
        for k in range(size):
            vault.sums[k] += vault.batch[k]
    else:
        at = 0
        for i in range(dim):
            for j in range(i, dim):
                if i < private:
                    vault.sums[at] += _total(params, vault, at, people, noise)
                else:
                    vault.sums[at] += people * constants[i - private] * constants[j - private]
                at += 1
        for i in range(dim):
            vault.sums[at + i] += _total(params, vault, at + i, people, noise)
    for k in range(size):
        vault.batch[k] = 0.0
    for k in range(PROPOSAL):
        vault.scratch[k] = 0.0
    vault.counters[REPAIRS] += fit_growing(params.growing, vault.sums, params.no_noise, rows // params.batch, view)


@kernel
def _total(params: ShuffleParams, vault: ShuffleVault, at: int, people: float, noise: Any) -> float:
    """The sum of one coordinate over the batch, ones added if nobody has."""
    ones = params.ones
    drawn = draw_binomial(ones.together, ones.probability, vault.scratch, noise)
    return value_of(params.grid, vault.batch[at] + drawn, ones.expected, people)
