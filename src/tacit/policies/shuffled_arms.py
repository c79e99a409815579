"""The shuffled machine of the arms model: a report has a block of counts for every arm, whichever it was.

The blocks of the other arms are those of a row that adds nothing, with ones of their own, so that a report, and each
total of a batch, has the same form for every arm. What is fitted and chosen is as in `by_arm`. What is proved of it:
`mechanisms/shuffle/proof.md`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.core.round import ROWS
from tacit.core.verbs import absorb, choose, encode, release
from tacit.mechanisms.shuffle import Grid, Ones, draw_ones, round_randomly
from tacit.mechanisms.shuffle.binomial import PROPOSAL
from tacit.noise import fill_uniforms
from tacit.policies.by_arm import REPORTED, ByArmVault, choose_arm, prepare_row, release_arms
from tacit.policies.linear import Bounds

#: Numbers beside a diagonal and of a vector are reported times this: the square of a report's length is then that of a
#: symmetric matrix, and they have the less noise.
BESIDE = math.sqrt(2.0)


class Mixing(NamedTuple):
    """How a row becomes counts."""

    grid: Grid  # zero is half of its steps, which is a whole number
    ones: Ones  # of b trials on a device, of none elsewhere: drawn with the report
    people: int  # whose reports are absorbed at once: 1, or B


class ShuffledArms(NamedTuple):
    """Params: those of `ByArm`, and how a row is mixed with others."""

    row: Bounds  # its `action_norm` is that of a prepared context
    mixing: Mixing
    preparation: Any
    centre: Any
    schedule: Any
    counter: Any
    estimate: Any
    exploration: Any


def room(arms: int, width: int) -> int:
    """Numbers that a report is made in: those that are sent, room for a proposal, and the row."""
    return arms * linalg.block_size(width) + PROPOSAL + width + REPORTED


implements(choose, ShuffledArms)(choose_arm)
implements(release, ShuffledArms)(release_arms)


@implements(encode, ShuffledArms)
@kernel
def _report(params: ShuffledArms, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Prepare and clip, round at random into the block of the arm, and add ones of one's own to all blocks.

    Formal guarantee: none of a report alone; of a batch, see mechanisms/shuffle/proof.md.
    """
    mixing, arms, width = params.mixing, view.theta.shape[0], view.theta.shape[1]
    size = linalg.block_size(width)
    count = arms * size
    scratch, row = report[count : count + PROPOSAL], report[count + PROPOSAL : count + PROPOSAL + width + REPORTED]
    prepare_row(params, view, x, reward, row, noise)
    nothing = 0.5 * mixing.grid.steps
    for k in range(count):
        report[k] = nothing
    arm = int(row[width + 1])
    if arm >= 0:
        _round_block(mixing.grid, row, width, report[arm * size : (arm + 1) * size], noise)
    if mixing.ones.trials > 0.0:
        for k in range(count):
            report[k] += draw_ones(mixing.ones, scratch, noise)
    for k in range(count, report.shape[0]):
        report[k] = 0.0  # the exact row, and what made the noise, must not stay beside it


@kernel
def _round_block(grid: Grid, row: Floats, width: int, block: Floats, noise: Any) -> None:
    """(z zᵀ, ζ·y·z) in whole steps, rounded at random."""
    fill_uniforms(noise, block)
    at = 0
    for i in range(width):
        for j in range(i, width):
            weight = 1.0 if i == j else BESIDE
            block[at] = round_randomly(grid, weight * row[i] * row[j], block[at])
            at += 1
    for i in range(width):
        block[at + i] = round_randomly(grid, BESIDE * row[width] * row[i], block[at + i])


@implements(absorb, ShuffledArms)
@kernel
def _absorb(params: ShuffledArms, vault: ByArmVault, report: Floats) -> None:
    for k in range(vault.sums.shape[0]):
        vault.sums[k] += report[k]
    vault.counters[ROWS] += params.mixing.people
