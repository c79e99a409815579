"""A policy that has stopped learning: the view it has after the first part of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.core.policy import Policy
from tacit.replaying.choosing import Chooser
from tacit.replaying.log import Log
from tacit.replaying.teaching import rows_of, started, teach

#: What the estimates by weights are of; `{learned}` rows of the log taught the policy.
OF = "expected reward per round of the policy held fixed at the view it had after the first {learned:,} rows of the log"


@dataclass(frozen=True, eq=False)
class Judged:
    """The choices of a fixed policy on rows it has not learned from."""

    log: Log  #: these rows
    chosen: Ints  #: (n,) the arm the policy would have taken
    learned: int  #: rows it had learned from before
    views: int  #: views it had released by then; 0: it knows nothing

    @property
    def weights(self) -> Floats:
        """w = 1{chosen = logged} / propensity, one per row.

        Of a policy that draws its arm, one draw stands for its probability: the mean is the same, the spread larger.
        """
        return np.where(self.chosen == self.log.actions, 1.0 / self.log.propensities, 0.0)

    @property
    def of(self) -> str:
        """What estimates from these weights are of."""
        return OF.format(learned=self.learned)


def taught(config: Policy, log: Log, *, seed: int, run: int = 0) -> tuple[Any, int]:
    """The view of a learner that was told the logged actions and rewards as they are, and how many rows it took.

    That is what a learner in production would have seen, had it watched the logging policy at work. It learns in the
    order of the log, and no more rows than its horizon allows.
    """
    learner = started(config, seed, run)
    limit = config.plan().limit
    most = len(log) if limit is None else min(limit, len(log))
    for rows in log.blocks():
        rows = rows[rows < most]
        for row, x in rows_of(config, log, rows):
            teach(learner, log, row, x)
    return learner.view, most


def judged(config: Policy, log: Log, split: int, *, seed: int, run: int = 0) -> Judged:
    """What a policy that has learned from the rows before `split` would do in those from `split` on."""
    view, learned = taught(config, log.part(0, split), seed=seed, run=run)
    rest = log.part(split, len(log))
    chooser = Chooser(config, rest, seed, run)
    chosen = np.concatenate([chooser.choose(view, rows) for rows in rest.blocks()])
    return Judged(rest, chosen, learned, int(view.stage[0]))
