"""Public release times that grow geometrically: each datum lies in one segment. What it costs and why: `proof.md`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tacit._types import Ints
from tacit.errors import BadInput

#: Release times beyond this are out of reach and are left out of the plan.
_LAST = 2**62


def release_times(first: int, ratio: Fraction, views: int) -> Ints:
    """t_1 = first, t_{k+1} = max(t_k + 1, ⌈ratio·t_k⌉), in whole numbers (floats would round some of them up)."""
    if first > _LAST:
        raise BadInput(
            f"Expected a first release within 2**62 rows, got one after {float(first):.3g}. So much noise drowns every "
            "row: ask for a larger epsilon, or declare an action_norm closer to the actions' true length."
        )
    times = [first]
    while len(times) < views:
        last = times[-1]
        following = max(last + 1, -(-ratio.numerator * last // ratio.denominator))
        if following > _LAST:
            break
        times.append(following)
    return np.array(times, np.int64)
