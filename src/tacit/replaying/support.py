"""Whether a log has enough to say about a policy."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit._types import Floats
from tacit.replaying.fixed import Judged
from tacit.replaying.log import Log
from tacit.replaying.rejection import Run

#: Below so many rows, or their equivalent, a normal interval is not to be trusted.
_FEW = 100
#: One row should not carry more than this share of an estimate.
_HEAVY = 0.05
#: A choice of actions that were never logged becomes worth a word at this share.
_UNSEEN = 0.01
#: Standard errors from what must hold on average before something is called wrong: by chance once in 1.7 million.
_SURPRISE = 5.0


@dataclass(frozen=True)
class Support:
    """How much of a fixed policy the log covers."""

    rows: int
    matched: int  #: rows in which the policy would have done what was done
    effective_rows: float  #: (Σ w)² / Σ w²: rows of equal weight that would say as much (Kish 1965)
    largest_share: float  #: of the largest weight in the sum of all
    mean_weight: float  #: 1 on average, if every choice of the policy could have been logged
    mean_weight_error: float  #: its standard error
    unseen_arms: int  #: arms with no row at all
    unseen_share: float  #: of the policy's choices that are such arms

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    def warnings(self) -> list[str]:
        """What is too thin, in sentences."""
        found = []
        if self.effective_rows < _FEW:
            found.append(
                f"Thin support: the rows that count for IPS, SNIPS and DR weigh as much as {self.effective_rows:,.0f} "
                f"equal ones (of {self.rows:,}). Intervals from fewer than {_FEW} are too short: use a longer log."
            )
        if self.matched and self.largest_share > _HEAVY:
            found.append(
                f"One row carries {self.largest_share:.0%} of all weight: its propensity is very small, and the "
                "estimate stands or falls with it. Prefer DR or SNIPS, and log with more exploration."
            )
        if self.unseen_share > _UNSEEN:
            found.append(
                f"{self.unseen_share:.0%} of the policy's choices are arms that were never logged ({self.unseen_arms} "
                "arms): IPS counts them as earning nothing, and DR knows them only by extrapolation."
            )
        gap = self.mean_weight - 1
        if self.matched and self.unseen_share <= _UNSEEN and abs(gap) > _SURPRISE * self.mean_weight_error:
            found.append(
                f"The mean weight is {self.mean_weight:.3g} where 1 is expected: "
                + (
                    "the policy chooses actions where the log never takes them, or the propensities are too large."
                    if gap < 0
                    else "the propensities are smaller than how often actions were taken."
                )
            )
        return found


def support_of(judged: Judged, log: Log) -> Support:
    """The support of a fixed policy; arms count as unseen if the whole log has no row of them."""
    weights = judged.weights
    total = float(weights.sum())
    unseen = np.bincount(log.actions, minlength=log.arms) == 0
    return Support(
        rows=len(weights),
        matched=int(np.count_nonzero(weights)),
        effective_rows=total * total / float(weights @ weights) if total > 0 else 0.0,
        largest_share=float(weights.max()) / total if total > 0 else 0.0,
        mean_weight=float(weights.mean()),
        mean_weight_error=_error(weights),
        unseen_arms=int(unseen.sum()),
        unseen_share=float(unseen[judged.chosen].mean()),
    )


def log_warnings(log: Log) -> list[str]:
    """What is wrong with the log itself, whatever the policy.

    The mean of 1/propensity is the number of arms that can be taken, on average over contexts: K if all can be.
    """
    found = []
    inverse = 1.0 / log.propensities
    mean, error = float(inverse.mean()), _error(inverse)
    # Equal propensities have no spread, and their mean must be K up to rounding.
    if abs(mean - log.arms) > max(_SURPRISE * error, 1e-6 * log.arms):
        found.append(
            f"The mean of 1/propensity is {mean:,.4g} where {log.arms} is expected, the number of arms: "
            + (
                "some arms cannot be taken in some contexts, or the propensities are too large."
                if mean < log.arms
                else "the propensities are smaller than how often actions were taken. Every estimate is off."
            )
        )
    unseen = int(np.count_nonzero(np.bincount(log.actions, minlength=log.arms) == 0))
    if unseen:
        found.append(f"{unseen} of {log.arms} arms have no row in the log: nothing is known of what they earn.")
    return found


def replay_warnings(runs: list[Run], log: Log) -> list[str]:
    """What is too thin for replay by rejection."""
    found = []
    fewest = min(len(run.rows) for run in runs)
    if fewest < _FEW:
        found.append(
            f"Thin support: replay accepted {fewest:,} of {len(log):,} rows. Expect about one in {log.arms} of a "
            f"uniform log; an interval is to be trusted from {_FEW} on."
        )
    kept = min(run.asked for run in runs)
    if kept < len(log) / 10:
        found.append(
            f"Making the log uniform left {kept:,} of {len(log):,} rows, as some propensities are far smaller than "
            "others. Replay is wasteful here: rely on DR or SNIPS."
        )
    return found


def _error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
