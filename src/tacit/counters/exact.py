"""The sums as they are: for a policy without privacy, and for sums of reports that were noised one by one.

What is published is all there is. Formal guarantee: none of its own; of noised reports, theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.counters.counter import Counter, add, add_exactly, publish
from tacit.privacy.event import Event, ExactRelease


@dataclass(frozen=True)
class ExactCounter(Counter):
    """No noise at all."""

    def event(self, scale: float, sensitivity: float) -> Event:
        return ExactRelease("choices computed from everybody's exact data")

    def deviations(self) -> Floats:
        return np.zeros(1)

    def draws(self) -> Floats:
        return np.zeros(1)

    def in_doubles(self, scale: float) -> ExactSums:
        return ExactSums()


class ExactSums(NamedTuple):
    """The kernels' side. One row of memory holds what is published."""

    noise: float = 0.0  # there is none


implements(add, ExactSums)(add_exactly)


@implements(publish, ExactSums)
@kernel
def publish_exactly(counter: Any, dim: int, row: int, stage: int, sums: Floats, memory: Floats, noise: Any) -> int:
    """Copy the sums."""
    out = memory[0]
    for k in range(out.shape[0]):
        out[k] = sums[k]
    return 0
