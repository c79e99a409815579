"""Which node of a binary tree a row closes, and which one above it is active."""

from __future__ import annotations

from tacit._kernel import kernel


def levels(horizon: int) -> int:
    """q = ⌈log2 n⌉: how many released nodes hold row 1, the worst row. Row n is never released, so the root is not."""
    return (horizon - 1).bit_length()


@kernel
def closed_level(row: int) -> int:
    """The level of the node (j − lowbit(j), j] that row j (1-based) closes."""
    level = 0
    while (row >> level) & 1 == 0:
        level += 1
    return level


@kernel
def next_active(row: int, level: int) -> int:
    """The next occupied level above `level` after `row`; −1 if there is none."""
    rest = row >> (level + 1)
    if rest == 0:
        return -1
    above = level + 1
    while (rest & 1) == 0:
        rest >>= 1
        above += 1
    return above
