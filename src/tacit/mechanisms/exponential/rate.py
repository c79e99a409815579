"""How steeply the odds of candidates may follow their scores: η, from ε and from how far one record can move a score.

Scores are u(w)ᵀv with v = Σ_t u(w_t)·y_t, for points w = (x, c) of an action and a context. Both rules are proved in
`proof.md`, and both keep one part in a million in reserve for rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit._arrays import finite
from tacit._validate import at_least, positive
from tacit.errors import BadInput
from tacit.privacy.calibrate import SAFETY

_BLOCK = 256


def range_rate(epsilon: float, reward_bound: float, leverage: float, diameter: float) -> float:
    """The range rule: what matters is how far one record can move two candidates *apart*.

        η = ε / (2·B·S·diam),   diam = max over candidates of ‖u(x, c) − u(x′, c)‖

    Formal guarantee: a draw at this rate is ExponentialEvent(ε) for one replaced record.
    Requires: every reward was clipped to [−B, B] and every u(w_t) to norm S before they were summed. It needs nothing
    of the records' contexts, and nothing of contexts other than c.

    Candidates that are all alike have diameter 0 and equal scores; any rate does, and 0 is returned.
    """
    ratio = positive("epsilon", epsilon) / 2 / positive("reward_bound", reward_bound) / positive("leverage", leverage)
    spread = at_least("diameter", diameter, 0)
    return 0.0 if spread == 0 else _checked(ratio / spread)


def with_rounding(spread: float, longest: float, width: int, records: int) -> float:
    """A diameter, and what rounding of the scores adds to it; 0 stays 0, as then nothing is drawn by score.

    A score u(w)ᵀv in doubles is off by at most m·2⁻⁵³·‖u(w)‖·‖v‖, and ‖v‖ ≤ T·B·S. Two scores under two inputs are off
    by four times that, which is to 2BS as m·T·2⁻⁵²·max ‖u‖ is to a distance. Twice as much is added. Where candidates
    nearly coincide this is most of the diameter: without it the odds would follow rounding errors that a record moves.
    """
    if at_least("spread", spread, 0) == 0:
        return 0.0
    return spread + 2.0 * (width + 2) * records * 2.0**-52 * at_least("longest", longest, 0)


def published_rate(epsilon: float, reward_bound: float, largest_variance: float) -> float:
    """The published rule, by how far one record can move any score.

        η = ε / (4·B·sup σ²),   σ²(w) = ‖u(w)‖², over *all* actions and contexts

    Formal guarantee: a draw at this rate is ExponentialEvent(ε) for one replaced record.
    Requires: rewards clipped to [−B, B]; every record's point and the query's within the domain of the supremum, which
    is certified from above. A plain posterior variance in its place lacks a factor 1/τ and breaks the guarantee.
    """
    ratio = positive("epsilon", epsilon) / 4 / positive("reward_bound", reward_bound)
    return _checked(ratio / positive("largest_variance", largest_variance))


def diameter(rows: Any) -> float:
    """The largest distance between two rows, never below it: rounding is added, not hoped away.

    Rows are centred first, so that squared distances by |a|² + |b|² − 2aᵀb, which are one matrix product for all pairs,
    lose next to nothing. O(K²·m) time for K rows, in memory for a few hundred times K numbers.
    """
    found = finite("rows", rows)
    if found.ndim != 2 or not found.size:
        raise BadInput(f"Expected rows of shape (K, m) with K >= 1 and m >= 1, got shape {found.shape}.")
    size = float(np.abs(found).max())
    if size == 0 or len(found) == 1:
        return 0.0
    # In units of the largest entry, so that no square leaves the range of a double.
    rows_in_units = found / size
    if np.all(rows_in_units == rows_in_units[0]):
        return 0.0
    centred = rows_in_units - rows_in_units.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    largest = 0.0
    for start in range(0, len(centred), _BLOCK):
        # Pairs with earlier rows have been seen.
        products = centred[start : start + _BLOCK] @ centred[start:].T
        products *= -2
        products += squares[start:]
        products += squares[start : start + _BLOCK, None]
        largest = max(largest, float(products.max()))
    # A sum of m products is off by at most m·2⁻⁵² of their size; centring moved each entry by at most 2⁻⁵².
    width = found.shape[1]
    slack = 8 * (width + 4) * 2.0**-52 * float(squares.max())
    return size * (math.sqrt(max(largest, 0.0) + slack) + 4 * math.sqrt(width) * 2.0**-52)


def _checked(rate: float) -> float:
    if not math.isfinite(rate):
        raise BadInput(
            "Expected bounds that one record can reach, got a rate beyond all numbers: reward bound, leverage, "
            "diameter or variance are next to zero. Check their units."
        )
    return rate / (1 + SAFETY)
