"""What happens after a choice: the same three verbs, whether one round is run from Python or a million in a kernel."""

from __future__ import annotations

from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release

#: Numbers beyond this are refused like infinities: their squares would not fit a double.
LARGEST = 1e100

#: Places in `vault.counters`. All of them depend on people's data, so they belong to the vault.
ROWS, CLIPPED_ACTIONS, CLIPPED_REWARDS, REPAIRS = 0, 1, 2, 3
COUNTERS = 4


@kernel
def learn_round(params: Any, vault: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """One row: clipped, summed, and released if its time has come."""
    encode(params, x, reward, report, noise)
    absorb(params, vault, report)
    release(params, vault, view, noise)


@kernel
def choose_checked(params: Any, view: Any, rows: Floats, slate: Slate, noise: Any) -> int:
    """`choose` for actions that come as rows. −1, with nothing read or drawn, if any number is not finite."""
    arms, dim = rows.shape
    for k in range(arms):
        for i in range(dim):
            if not abs(rows[k, i]) <= LARGEST:
                return -1
            slate.columns[i, k] = rows[k, i]
    return choose(params, view, slate, noise)


@kernel
def learn_checked(params: Any, vault: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> bool:
    """`learn_round`, or False, with nothing changed, if any number is not finite."""
    if not abs(reward) <= LARGEST:
        return False
    for i in range(x.shape[0]):
        if not abs(x[i]) <= LARGEST:
            return False
    learn_round(params, vault, view, x, reward, report, noise)
    return True
