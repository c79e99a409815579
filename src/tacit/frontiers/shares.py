"""How much of what can be gained without privacy a private policy keeps, trial by trial.

Gain is counted from a floor: the better of the best single action and an even choice. What stays below it keeps less
than nothing, and is shown so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit._types import Floats, Ints
from tacit.frontiers.measures import WIDTH
from tacit.simulation.best_single import BestSingle
from tacit.simulation.result import Result

#: What is kept where a policy is called useful.
ENOUGH = 0.9


@dataclass(frozen=True)
class Share:
    """The share of the non-private gain over the floor, and a band of about 95 %."""

    mean: float
    low: float
    high: float

    @property
    def enough(self) -> bool:
        return self.mean >= ENOUGH

    @classmethod
    def unknown(cls) -> Share:
        """Where nothing can be gained."""
        return cls(math.nan, math.nan, math.nan)

    @classmethod
    def around(cls, mean: float, se: float | None) -> Share:
        """With the band of a standard error."""
        return cls(mean, math.nan, math.nan) if se is None else cls(mean, mean - WIDTH * se, mean + WIDTH * se)


def share_of(lost: Floats, without_privacy: Floats, floor: Floats) -> Share:
    """Mean gain over mean possible gain, from what each lost in every trial; the band is a jackknife over trials, which
    meet the same contexts."""
    gained, possible = floor - lost, floor - without_privacy
    total = possible.mean()
    if not total > 0:
        return Share.unknown()
    mean = float(gained.mean() / total)
    count = len(gained)
    if count < 2:
        return Share.around(mean, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = (gained.sum() - gained) / (possible.sum() - possible)
    if not np.isfinite(left_out).all():
        return Share.around(mean, None)  # all that was gained was gained in one trial
    return Share.around(mean, math.sqrt((count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum())))


def shares_over_time(result: Result, without_privacy: Result, floor: Result | BestSingle) -> Floats:
    """The share at every checkpoint; NaN where nothing can be gained yet."""
    gained = (floor.curves - result.curves).mean(axis=0)
    possible = (floor.curves - without_privacy.curves).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(possible > 0, gained / possible, np.nan)
    return found


def rounds_needed(result: Result, without_privacy: Result, floor: Result | BestSingle) -> int | None:
    """The first checkpoint from which on the share stays large enough; None if it is not so at the end."""
    return first_to_stay(result.checkpoints, shares_over_time(result, without_privacy, floor))


def first_to_stay(marks: Ints, shares: Floats) -> int | None:
    """The first mark from which on every share is large enough; None if the last is not."""
    large = shares >= ENOUGH
    if not large[-1]:
        return None
    small = np.flatnonzero(~large)
    return int(marks[0 if len(small) == 0 else small[-1] + 1])
