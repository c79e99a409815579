"""What privacy costs, at every ε that was tried."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.data import NOT_PRIVATE
from tacit.frontiers.shares import ENOUGH, Share
from tacit.privacy.guarantee import round_up, short_delta
from tacit.report.tables import number, table
from tacit.simulation.result import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Point:
    """One policy at one promise."""

    label: str
    asked: float  #: ε as it was asked for
    true: float  #: ε as it is accounted at δ
    result: Result
    share: Share
    needed: int | None  #: rounds from which on enough is kept


@dataclass(frozen=True)
class Frontier:
    """Regret against ε for several policies, between not private and choosing evenly."""

    points: tuple[Point, ...]
    without_privacy: Result
    evenly: Result
    delta: float
    raw: bool = False  #: computed from people's data

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies, in the order in which they were asked for."""
        return tuple(dict.fromkeys(point.label for point in self.points))

    def of(self, label: str) -> tuple[Point, ...]:
        """The points of one policy, from the strictest promise on."""
        return tuple(sorted((one for one in self.points if one.label == label), key=lambda point: point.true))

    def smallest(self, label: str) -> Point | None:
        """The strictest promise under which enough is kept, here and under every looser one; None if there is none."""
        found = None
        for point in reversed(self.of(label)):
            if not point.share.enough:
                break
            found = point
        return found

    def advice(self) -> tuple[str, ...]:
        """A sentence for each policy."""
        return tuple(self._sentence(label) for label in self.labels)

    def _sentence(self, label: str) -> str:
        points, found = self.of(label), self.smallest(label)
        rounds = f"{self.evenly.rounds:,} rounds"
        if math.isnan(points[0].share.mean):
            return f"{label}: nothing can be gained here, with or without privacy."
        if found is None:
            best = max(points, key=lambda point: point.share.mean)
            return (
                f"{label}: no tested epsilon keeps {100 * ENOUGH:.0f} % of the non-private gain within {rounds}; at "
                f"best {_percent(best.share.mean)} at epsilon = {round_up(best.true, 3)}."
            )
        unsure = "" if found.share.low >= ENOUGH else " (its band reaches below)"
        at = f"epsilon = {round_up(found.true, 3)} at delta = {short_delta(self.delta)}"
        when = "" if found.needed is None else f"; it takes about {number(found.needed, 2)} rounds to get there"
        strictest = " It is the strictest that was tested: a smaller one may do." if found is points[0] else ""
        return (
            f"{label} keeps {100 * ENOUGH:.0f} % of the non-private gain from {at} on{unsure}, within {rounds}{when}."
            f"{strictest}"
        )

    def text(self) -> str:
        """The table for the terminal, and the advice."""
        rows = [
            [
                point.label,
                round_up(point.true, 4),
                number(point.result.regret_mean),
                number(point.result.regret_se, 2),
                _percent(point.share.mean),
                f"{_percent(point.share.low)} to {_percent(point.share.high)}",
                "–" if point.needed is None else f"{point.needed:,}",
            ]
            for label in self.labels
            for point in self.of(label)
        ]
        for name, line, kept in (("not private", self.without_privacy, 1.0), ("evenly", self.evenly, 0.0)):
            label = f"{line.config.slug} ({name})"
            rows.append([label, "–", number(line.regret_mean), number(line.regret_se, 2), _percent(kept), "", "–"])
        head = ("policy", "epsilon", "regret", "± s.e.", "kept", "band", "rounds to 90 %")
        body = table(head, rows, right=(1, 2, 3, 4, 6))
        return "\n".join([body, "", *self.advice(), *([NOT_PRIVATE] if self.raw else [])]) + "\n"

    def rows(self) -> Iterator[dict[str, Any]]:
        """One flat record per policy and promise, and per line."""
        for point in self.points:
            yield {
                "label": point.label,
                "policy": point.result.config.slug,
                "epsilon_asked": point.asked,
                "epsilon": point.true,
                "delta": self.delta,
                "regret": point.result.regret_mean,
                "regret_se": point.result.regret_se,
                "share": _finite(point.share.mean),
                "share_low": _finite(point.share.low),
                "share_high": _finite(point.share.high),
                "rounds_needed": point.needed,
            }
        for line in (self.without_privacy, self.evenly):
            yield {
                "label": line.config.slug,
                "policy": line.config.slug,
                "epsilon_asked": None,
                "epsilon": None,
                "delta": None,
                "regret": line.regret_mean,
                "regret_se": line.regret_se,
                "share": 1.0 if line is self.without_privacy else 0.0,
                "share_low": None,
                "share_high": None,
                "rounds_needed": None,
            }

    def to_pandas(self) -> pd.DataFrame:
        """One row per policy and promise."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        first = self.evenly
        return {
            "environment": first.environment.to_dict(),
            "rounds": first.rounds,
            "trials": first.trials,
            "seed": first.seed,
            "delta": self.delta,
            "points": list(self.rows()),
            "advice": list(self.advice()),
            "warning": NOT_PRIVATE if self.raw else None,
        }


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
