"""What an experiment is: runs at a scale, a table of what came out, claims with a criterion each, a figure.

A claim is judged by a rule that stands in the code before anything is run (`judge`). Three things can be found: it
holds, it does not hold, or the scale is too small to say. The numbers it was judged by stand next to it.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from tacit.report.tables import number, table
from tacit.simulation import Job, PredictionResult, Result
from tacit.simulation.prediction_job import PredictionJob

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much is run. Experiments add what they vary."""

    name: str
    rounds: int
    trials: int
    time: str  # roughly, on two cores, for `tacit reproduce list`

    def settings(self) -> dict[str, Any]:
        """The choices that were made, ready for JSON."""
        facts = dataclasses.asdict(self)
        del facts["time"]
        return facts


ScaleT = TypeVar("ScaleT", bound=Scale)


class Finding(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNTESTED = "not tested at this scale"


class By(StrEnum):
    """Whose claim it is."""

    PAPER = "the paper"
    OURS = "ours"


@dataclass(frozen=True)
class Claim:
    """A sentence that can turn out false."""

    text: str
    by: By = By.PAPER


@dataclass(frozen=True)
class Verdict:
    """A claim, the rule it was judged by, what was found, and from which numbers."""

    claim: Claim
    finding: Finding
    criterion: str
    numbers: str
    values: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "claim": self.claim.text,
            "by": self.claim.by.value,
            "finding": self.finding.value,
            "criterion": self.criterion,
            "numbers": self.numbers,
            "values": dict(self.values),
        }


@dataclass(frozen=True)
class Table:
    """What was measured: one row per run or per comparison."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @property
    def right(self) -> tuple[int, ...]:
        """The columns of numbers."""
        return tuple(
            place
            for place in range(len(self.columns))
            if self.rows and not any(isinstance(row[place], str) for row in self.rows)
        )

    def cells(self) -> list[list[str]]:
        """For reading."""
        return [[_readable(cell) for cell in row] for row in self.rows]

    def text(self) -> str:
        """For the terminal."""
        return table(self.columns, self.cells(), right=self.right)

    def csv(self) -> str:
        """For a program: numbers in full."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if cell is None else cell for cell in row] for row in self.rows])
        return file.getvalue()

    def to_dict(self) -> list[dict[str, Cell]]:
        """Ready for JSON."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Evidence(Generic[ScaleT]):
    """Everything an experiment is judged by."""

    scale: ScaleT
    seed: int
    results: Mapping[str, Result]  # by the name `jobs` gave them
    predictions: Mapping[str, PredictionResult] = field(default_factory=dict)  # by the name `predictions` gave them


class Experiment(ABC, Generic[ScaleT]):
    """One figure or one claim of a paper, from its settings to its verdicts."""

    name: ClassVar[str]  # "paper/figure"
    title: ClassVar[str]
    paper: ClassVar[str]
    question: ClassVar[str]
    choices: ClassVar[tuple[str, ...]] = ()  # what the paper leaves open and was decided here
    scales: Mapping[str, ScaleT]

    @property
    def family(self) -> str:
        """The paper's part of the name: experiments of one paper share their runs."""
        return self.name.split("/")[0]

    @property
    def short(self) -> str:
        """The figure's part of the name."""
        return self.name.split("/")[1]

    @abstractmethod
    def describe(self, scale: ScaleT) -> str:
        """What this scale runs, in one line."""

    @abstractmethod
    def jobs(self, scale: ScaleT, seed: int) -> dict[str, Job]:
        """The runs, by name. May be empty."""

    def predictions(self, scale: ScaleT, seed: int) -> dict[str, PredictionJob]:
        """The runs of function learners, by names that no run of `jobs` has."""
        return {}

    @abstractmethod
    def measure(self, evidence: Evidence[ScaleT]) -> Table:
        """The numbers that came out."""

    @abstractmethod
    def judge(self, evidence: Evidence[ScaleT]) -> list[Verdict]:
        """Every claim, one by one."""

    @abstractmethod
    def draw(self, evidence: Evidence[ScaleT]) -> Figure:
        """The figure."""


def _readable(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return number(cell)
