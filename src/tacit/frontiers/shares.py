"""How much of what can be gained without privacy a private policy keeps, trial by trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit._types import Floats
from tacit.simulation.result import Result

#: What is kept where a policy is called useful.
ENOUGH = 0.9
#: Standard errors to either side of a band: about 95 %.
_WIDTH = 1.96


@dataclass(frozen=True)
class Share:
    """The share of the non-private gain over choosing evenly, and a band of about 95 % over trials."""

    mean: float
    low: float
    high: float

    @property
    def enough(self) -> bool:
        return self.mean >= ENOUGH


def share_of(result: Result, without_privacy: Result, evenly: Result) -> Share:
    """At the end of the run: mean gain over mean gain, with a jackknife over trials, which meet the same contexts."""
    gained, possible = evenly.regret - result.regret, evenly.regret - without_privacy.regret
    return _ratio(gained, possible)


def shares_over_time(result: Result, without_privacy: Result, evenly: Result) -> Floats:
    """The share at every checkpoint; NaN where nothing can be gained yet."""
    gained = (evenly.curves - result.curves).mean(axis=0)
    possible = (evenly.curves - without_privacy.curves).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(possible > 0, gained / possible, np.nan)
    return found


def rounds_needed(result: Result, without_privacy: Result, evenly: Result) -> int | None:
    """The first checkpoint from which on the share stays large enough; None if it is not so at the end."""
    large = shares_over_time(result, without_privacy, evenly) >= ENOUGH
    if not large[-1]:
        return None
    small = np.flatnonzero(~large)
    return int(result.checkpoints[0 if len(small) == 0 else small[-1] + 1])


def _ratio(gained: Floats, possible: Floats) -> Share:
    total = possible.mean()
    if not total > 0:
        return Share(math.nan, math.nan, math.nan)
    mean = float(gained.mean() / total)
    count = len(gained)
    if count < 2:
        return Share(mean, math.nan, math.nan)
    left_out = (gained.sum() - gained) / (possible.sum() - possible)
    spread = _WIDTH * math.sqrt((count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum()))
    return Share(mean, mean - spread, mean + spread)
