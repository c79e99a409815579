"""What happens after a choice: the same three verbs, whether one round is run from Python or a million in a kernel."""

from __future__ import annotations

from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats, Ints
from tacit.core.slate import lay_out
from tacit.core.verbs import absorb, choose, encode, release

#: Numbers beyond this are refused like infinities: their squares would not fit a double.
LARGEST = 1e100

#: Places in `vault.counters`. All of them depend on people's data, so they belong to the vault.
ROWS, CLIPPED_ACTIONS, CLIPPED_REWARDS, REPAIRS = 0, 1, 2, 3
COUNTERS = 4

#: What `learn_checked` says: nothing was changed; a row was learned; and a view was released after it.
REFUSED, LEARNED, RELEASED = 0, 1, 2


@kernel
def learn_round(params: Any, vault: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """One row: clipped, summed, and released if its time has come."""
    encode(params, view, x, reward, report, noise)
    absorb(params, vault, report)
    release(params, vault, view, noise)


@kernel
def choose_checked(params: Any, view: Any, rows: Floats, slate: Any, noise: Any) -> int:
    """`choose` for actions that come as rows. −1, with nothing read or drawn, if any number is not finite."""
    arms, dim = rows.shape
    for k in range(arms):
        for i in range(dim):
            if not abs(rows[k, i]) <= LARGEST:
                return -1
    lay_out(slate, rows)
    return choose(params, view, slate, noise)


@kernel
def first_unfit(numbers: Floats) -> int:
    """The place of the first number that is not finite or too large, −1 if there is none."""
    for i in range(numbers.shape[0]):
        if not abs(numbers[i]) <= LARGEST:
            return i
    return -1


@kernel
def choose_block(params: Any, view: Any, block: Floats, slate: Any, noise: Any, arms: Ints) -> None:
    """`choose` for each set of actions in `block` of shape (N, K, dim): what N calls would give, from the noise that
    they would draw. The numbers must have been checked."""
    for n in range(block.shape[0]):
        lay_out(slate, block[n])
        arms[n] = choose(params, view, slate, noise)


@kernel
def learn_checked(params: Any, vault: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> int:
    """`learn_round`, and whether a view came of it; REFUSED, with nothing changed, if any number is not finite.

    Its verbs are written out: a call to `learn_round` would compile it by itself, and then again in here.
    """
    if not abs(reward) <= LARGEST:
        return REFUSED
    for i in range(x.shape[0]):
        if not abs(x[i]) <= LARGEST:
            return REFUSED
    before = view.stage[0]
    encode(params, view, x, reward, report, noise)
    absorb(params, vault, report)
    release(params, vault, view, noise)
    return LEARNED if view.stage[0] == before else RELEASED


@kernel
def absorb_checked(params: Any, vault: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> int:
    """A row into the exact sums, without a tick: the clock of releases stays where it is. REFUSED, with nothing
    changed, if any number is not finite.

    For callers whose clock does not count rows; who may do that, and why: docs/decisions/0024-service.md.
    """
    if not abs(reward) <= LARGEST:
        return REFUSED
    for i in range(x.shape[0]):
        if not abs(x[i]) <= LARGEST:
            return REFUSED
    clock = vault.counters[ROWS]
    encode(params, view, x, reward, report, noise)
    absorb(params, vault, report)
    vault.counters[ROWS] = clock
    return LEARNED


@kernel
def encode_checked(params: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> bool:
    """`encode`; False, with nothing drawn or written, if any number is not finite."""
    if not abs(reward) <= LARGEST or first_unfit(x) >= 0:
        return False
    encode(params, view, x, reward, report, noise)
    return True


@kernel
def take(params: Any, vault: Any, view: Any, report: Floats, noise: Any) -> None:
    """One report, already noised: summed, and released if its time has come. `learn_round` without `encode`."""
    absorb(params, vault, report)
    release(params, vault, view, noise)


@kernel
def tick_checked(params: Any, vault: Any, view: Any, noise: Any) -> int:
    """The clock of releases goes on by one, whatever has come or not; says whether a view was released."""
    vault.counters[ROWS] += 1
    before = view.stage[0]
    release(params, vault, view, noise)
    return LEARNED if view.stage[0] == before else RELEASED
