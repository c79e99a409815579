"""The best single action on a log: the arm that earned most in the first part, judged on the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit._types import Ints
from tacit.replaying.estimate import Estimate
from tacit.replaying.fixed import Judged
from tacit.replaying.ips import by_propensity
from tacit.replaying.log import Log

#: The name of its estimate.
SINGLE = "best single"
_OF = (
    "expected reward per round of always taking arm {arm}, by IPS on the rows after the first {first:,}, in which it "
    "earned most"
)


def best_arm(log: Log, first: int) -> int:
    """The arm with the highest inverse propensity score in the first rows, among those that have a row there. It is
    judged on other rows: of many arms judged where they were chosen, the luckiest would look best."""
    part = log.part(0, first)
    scores = np.bincount(part.actions, part.rewards / part.propensities, minlength=log.arms)
    seen = np.bincount(part.actions, minlength=log.arms) > 0
    return int(np.where(seen, scores, -np.inf).argmax())


def always(log: Log, arm: int) -> Ints:
    """The choices of one who always takes this arm."""
    return np.full(len(log), arm, np.int64)


def best_single_on(log: Log, first: int) -> Estimate:
    """What the best single action would earn on the rows from `first` on."""
    arm = best_arm(log, first)
    rest = log.part(first, len(log))
    found = by_propensity(Judged(rest, always(rest, arm), first, 0))
    return replace(found, name=SINGLE, of=_OF.format(arm=arm, first=first))
