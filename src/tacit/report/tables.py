"""Aligned text tables."""

from __future__ import annotations

import math
from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Columns aligned under their heads; the columns numbered in `right` are aligned to the right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(head), "  ".join("─" * width for width in widths), *map(line, rows)])


def number(value: float | None, digits: int = 4) -> str:
    """A number for reading: thousands separated, few digits, a dash for None."""
    if value is None:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        decimals = max(0, digits - len(str(int(abs(value)))))
        if 0 < abs(value) < 1:
            # An error of 0.03 at two digits must not read as 0.0.
            decimals = max(decimals, min(digits, 2) - 1 - math.floor(math.log10(abs(value))))
        return f"{value:,.{decimals}f}"
    return f"{value:.{digits - 1}e}"
