"""What privacy costs, at every ε that was tried."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._types import Floats, Ints
from tacit._version import __version__
from tacit.core.functions import FunctionPolicy
from tacit.core.policy import Policy
from tacit.data import NOT_PRIVATE
from tacit.frontiers.measures import Measure, Value
from tacit.frontiers.shares import ENOUGH, Share
from tacit.privacy.guarantee import Guarantee, round_up, short_delta
from tacit.report.tables import number, table
from tacit.simulation.best_single import BEST_SINGLE, INSTEAD, BestSingle
from tacit.simulation.prediction_result import PredictionResult
from tacit.simulation.result import Result, save_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from tacit.report.page import Section


@dataclass(frozen=True, eq=False)
class Learning:
    """The value of a policy after so many rows of a log."""

    rows: Ints
    values: Floats  #: mean over runs


@dataclass(frozen=True, eq=False)
class Level:
    """What is reached that has no ε: without privacy, by the best single action, or without learning."""

    label: str
    value: Value
    result: Result | PredictionResult | None = None
    learning: Learning | None = None
    optimal: bool = False  #: the best action of every round: nothing beyond it can be gained


@dataclass(frozen=True, eq=False)
class Point:
    """One policy at one promise."""

    label: str
    asked: float  #: ε as it was asked for
    true: float  #: ε as it is accounted at δ
    config: Policy | FunctionPolicy  #: as it was run
    guarantee: Guarantee
    value: Value
    share: Share
    needed: int | None  #: rounds, or rows of a log, from which on enough is kept
    result: Result | PredictionResult | None = None  #: None on a log
    learning: Learning | None = None  #: on a log


@dataclass(frozen=True)
class Setting:
    """Where and how long everybody played."""

    place: str  #: an environment's name, or "log"
    rounds: int  #: rounds, records, or rows of a log that were learned from
    unit: str  #: "rounds", "records" or "rows"
    trials: int
    seed: int
    measure: Measure
    facts: Mapping[str, Any]  #: of the environment or the log, ready for JSON
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()  #: where the numbers have too little to go by

    @property
    def within(self) -> str:
        """When it was measured, as the end of a sentence."""
        if self.unit == "rounds":
            return f"within {self.rounds:,} rounds"
        return f"after {self.rounds:,} {self.unit}"

    def __str__(self) -> str:
        trials = "runs" if self.unit == "rows" else "trials"
        return f"{self.place}: {self.rounds:,} {self.unit}, {self.trials} {trials}, seed {self.seed}"


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """Regret (or reward, or error) against ε for several policies, between not private and choosing evenly."""

    points: tuple[Point, ...]
    without_privacy: Level
    evenly: Level
    delta: float  #: at which every ε is read
    setting: Setting
    raw: bool = False  #: computed from people's data
    others: tuple[Level, ...] = field(default=())  #: more to compare with: what a log's own policy earned
    single: Level | None = None  #: always the same action, the best one; None where there is no such thing
    single_note: str = ""  #: what it is, or why there is none
    curve: BestSingle | None = None  #: of the best single action, where it was played

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies, in the order in which they were asked for."""
        return tuple(dict.fromkeys(point.label for point in self.points))

    @property
    def warning(self) -> str | None:
        """What must stand on everything that is made of people's data."""
        return NOT_PRIVATE if self.raw else None

    @property
    def floor(self) -> Level:
        """What gain is counted from: the better of the best single action and an even choice. Where the best single
        action is the best of every round, there is nothing beyond it, and gain is counted from an even choice."""
        single = self.single
        above = single is not None and self.setting.measure.better(single.value.mean, self.evenly.value.mean)
        return single if single is not None and above and not single.optimal else self.evenly

    def below(self, point: Point) -> bool:
        """Whether it is worse than always taking the best single action."""
        single = self.single
        if single is None or single.optimal:
            return False
        return self.setting.measure.better(single.value.mean, point.value.mean)

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

    def chosen(self) -> tuple[Point, ...]:
        """Of each policy the strictest promise that keeps enough, or else the loosest that was tested."""
        return tuple(self.smallest(label) or self.of(label)[-1] for label in self.labels)

    def advice(self) -> tuple[str, ...]:
        """A sentence for each policy."""
        return tuple(self._sentence(label) for label in self.labels)

    def _sentence(self, label: str) -> str:
        below = [self.below(point) for point in self.of(label)]
        if all(below):
            return (
                f"{label} earns less than the {BEST_SINGLE} at every tested epsilon {self.setting.within}: {INSTEAD}."
            )
        there = f" Where it is below the {BEST_SINGLE} (kept is negative), {INSTEAD}." if any(below) else ""
        return f"{self._kept(label)}{there}"

    def _kept(self, label: str) -> str:
        points, found, setting = self.of(label), self.smallest(label), self.setting
        if math.isnan(points[0].share.mean):
            if self.floor is not self.evenly:
                return f"{label}: nothing can be gained over the {BEST_SINGLE}, with or without privacy: {INSTEAD}."
            return f"{label}: nothing can be gained here, with or without privacy."
        if found is None:
            best = max(points, key=lambda point: point.share.mean)
            return (
                f"{label}: no tested epsilon keeps {100 * ENOUGH:.0f} % of the non-private gain {setting.within}; at "
                f"best {percent(best.share.mean)} at epsilon = {epsilon_text(best.true, 3)}."
            )
        unsure = " (its band reaches below)" if found.share.low < ENOUGH else ""
        at = f"epsilon = {epsilon_text(found.true, 3)} at delta = {short_delta(self.delta)}"
        there = f"; it takes about {about(found.needed):,} {setting.unit} to get there" if found.needed else ""
        strictest = " It is the strictest that was tested: a smaller one may do." if found is points[0] else ""
        return (
            f"{label} keeps {100 * ENOUGH:.0f} % of the non-private gain from {at} on{unsure}, {setting.within}{there}."
            f"{strictest}"
        )

    def horizons(self) -> tuple[str, ...]:
        """Which policies were planned for the length of the run, and for no more."""
        rounds = self.setting.rounds
        told = [label for label in self.labels if getattr(self.of(label)[0].config, "horizon", None) == rounds]
        return (
            (f"Planned with horizon={rounds:,}, the {self.setting.unit} of the run: {', '.join(told)}.",)
            if told
            else ()
        )

    def text(self) -> str:
        """The table for the terminal, and the advice."""
        rows = [
            [
                point.label,
                epsilon_text(point.true, 4),
                number(point.value.mean),
                number(point.value.se, 2),
                percent(point.share.mean),
                _band(point.share),
                "–" if point.needed is None else f"{point.needed:,}",
            ]
            for label in self.labels
            for point in self.of(label)
        ]
        for level, name, kept in self.levels():
            label = f"{level.label} ({name})" if name else level.label
            rows.append([label, "–", number(level.value.mean), number(level.value.se, 2), percent(kept), "", "–"])
        head = ("policy", "epsilon", self.setting.measure.axis, "± s.e.", "kept", "band", self.needed_head)
        body = table(head, rows, right=(1, 2, 3, 4, 6))
        note = [*([self.single_note] if self.single_note else []), *self.horizons()]
        said = [*self.advice(), *note, *(f"warning: {line}" for line in self.setting.warnings)]
        return "\n".join([body, "", *said, *([NOT_PRIVATE] if self.raw else [])]) + "\n"

    @property
    def needed_head(self) -> str:
        """The head of the column that says how many rounds are needed."""
        return f"{self.setting.unit} to {100 * ENOUGH:.0f} %"

    def levels(self) -> Iterator[tuple[Level, str, float]]:
        """What has no ε: the level, a word for it, and what it keeps."""
        floor, best, better = self.floor.value.mean, self.without_privacy.value.mean, self.setting.measure.better

        def kept(level: Level) -> float:
            # Less is better of regret and errors, and gain and possible gain then change their signs together.
            if not better(best, floor):
                return math.nan
            return (level.value.mean - floor) / (best - floor) + 0.0  # no minus before a zero

        yield self.without_privacy, "not private", kept(self.without_privacy)
        if self.single is not None:
            yield self.single, "", kept(self.single)
        yield self.evenly, "" if self.evenly.label == "evenly" else "evenly", kept(self.evenly)
        for level in self.others:
            yield level, "", kept(level)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One flat record per policy and promise, and per line."""
        measure = self.setting.measure.name
        for point in self.points:
            yield {
                "label": point.label,
                "policy": point.config.slug,
                "epsilon_asked": point.asked,
                "epsilon": _finite(point.true),
                "delta": self.delta,
                "measure": measure,
                **_number(point.value),
                "share": _finite(point.share.mean),
                "share_low": _finite(point.share.low),
                "share_high": _finite(point.share.high),
                "below_best_single": self.below(point),
                "rounds_needed": point.needed,
                "warning": self.warning,
            }
        for level, _, kept in self.levels():
            yield {
                "label": level.label,
                "policy": level.label,
                "epsilon_asked": None,
                "epsilon": None,
                "delta": None,
                "measure": measure,
                **_number(level.value),
                "share": _finite(kept),
                "share_low": None,
                "share_high": None,
                "below_best_single": None,
                "rounds_needed": None,
                "warning": self.warning,
            }

    def to_pandas(self) -> pd.DataFrame:
        """One row per policy and promise, and per line."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def save(self, path: str | Path) -> Path:
        """Write the table to `path`: Parquet or CSV, by its ending."""
        return save_frame(self.to_pandas(), path)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        setting = self.setting
        return {
            "warning": self.warning,
            "environment": dict(setting.facts),
            setting.unit: setting.rounds,
            "trials": setting.trials,
            "seed": setting.seed,
            "measure": setting.measure.name,
            "delta": self.delta,
            "kept_counts_from": self.floor.label,
            "best_single_action": {"applies": self.single is not None, "note": self.single_note},
            "points": list(self.rows()),
            "advice": list(self.advice()),
            "warnings": list(setting.warnings),
            "notes": [*setting.notes, *self.horizons()],
            "settings": {label: self.of(label)[0].config.options() for label in self.labels},
            "version": __version__,
        }

    def sections(self) -> list[Section]:
        """What a page shows of it."""
        from tacit.frontiers.page import sections

        return sections(self)

    def write(self, directory: str | Path, command: str = "tacit.frontier(…)") -> list[Path]:
        """Write the page, its charts and tables, and frontier.json; return their paths, the page last."""
        from tacit.frontiers.page import write

        return write(self, Path(directory), command)

    def plot(self, axes: Axes | None = None, what: str = "kept") -> Axes:
        """Draw what is kept against ε; or, with `what="value"`, regret, reward or error."""
        from tacit.frontiers.drawing import draw

        return draw(self, axes, what)

    def _repr_html_(self) -> str:
        from tacit.frontiers.notebook import frontier_html

        return frontier_html(self)

    def __repr__(self) -> str:
        return f"<Frontier of {', '.join(self.labels)} in {self.setting}>"

    def __str__(self) -> str:
        return self.text()


def percent(share: float) -> str:
    """A share for reading, in tenths: 89.6 % is not yet 90 %."""
    return "–" if math.isnan(share) else f"{100 * share:.1f} %"


def epsilon_text(epsilon: float, digits: int) -> str:
    """ε, never below its value; ∞ where nothing is promised at this δ."""
    return round_up(epsilon, digits) if math.isfinite(epsilon) else "∞"


def about(count: int) -> int:
    """A count to two digits, never below it."""
    unit = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // unit) * unit


def _band(share: Share) -> str:
    return "" if math.isnan(share.low) else f"{percent(share.low)} to {percent(share.high)}"


def _number(value: Value) -> dict[str, float | None]:
    return {
        "value": value.mean,
        "value_se": value.se,
        "value_low": _finite(value.low),
        "value_high": _finite(value.high),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
