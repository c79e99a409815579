"""A sweep as far as it has come: its table, its runs, what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data import NOT_PRIVATE
from tacit.privacy.guarantee import round_up, short_delta
from tacit.report.tables import number, table
from tacit.simulation import Job
from tacit.simulation.store import AnyResult, Damaged, Store
from tacit.sweeping.rows import DONE, FAILED, WAITING, frame_of
from tacit.sweeping.runs import Run
from tacit.sweeping.spec import Spec

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sweep:
    """What a sweep has found so far. `results` are read from its folder when they are asked for."""

    spec: Spec
    runs: tuple[Run, ...]
    folder: Path
    records: Sequence[Mapping[str, Any]]  #: one per run and way of predicting, in the order of the file
    found: int = 0  #: runs that an earlier call had stored
    edited: int = 0  #: of those, made by sources that have been edited since

    @property
    def results(self) -> tuple[AnyResult | None, ...]:
        """One per run; None where there is none yet."""
        return tuple(self.result(run) for run in self.runs)

    def result(self, run: Run) -> AnyResult | None:
        """The curves of one run, from the folder; None where there are none yet."""
        try:
            stored = Store(self.folder / "runs").find(run.job)
        except Damaged:
            return None
        return None if stored is None else stored.result

    def counted(self, status: str) -> int:
        """How many runs are done, waiting or failed."""
        return len({record["run"] for record in self.records if record["status"] == status})

    @property
    def complete(self) -> bool:
        """Whether every run is done."""
        return all(record["status"] == DONE for record in self.records)

    @property
    def raw(self) -> bool:
        """Computed from people's data."""
        return any(run.raw for run in self.runs)

    @property
    def problems(self) -> dict[str, str]:
        """What was wrong with the runs that failed, by their names."""
        wrong = {record["run"]: record["problem"] for record in self.records if record["status"] == FAILED}
        return {run.name: wrong[run.key] for run in self.runs if run.key in wrong}

    def frame(self) -> pd.DataFrame:
        """One row per run: settings, what was asked for, ε as it is accounted, the outcome, the status."""
        return frame_of(self.records)

    def to_pandas(self) -> pd.DataFrame:
        """`frame`, under the name that other libraries use."""
        return self.frame()

    def rows(self) -> tuple[tuple[str, ...], list[list[str]], tuple[int, ...]]:
        """The table for reading: head, rows, and which columns are numbers. ε is the accounted one, rounded up."""
        regret = isinstance(self.runs[0].job, Job)
        outcome = ("regret", "± s.e.") if regret else ("way", "error rate", "± s.e.")
        head = ("policy", "environment", "seed", "asked", "epsilon", "delta", *outcome, "status")
        found = []
        for record in self.records:
            told = (
                [number(record["regret"]), number(record["regret_se"], 2)]
                if regret
                else [record["way"], number(record["error_rate"]), number(record["error_rate_se"], 2)]
            )
            asked = "epsilon" if record["rho_asked"] is None else "rho"
            value, epsilon, delta = record[f"{asked}_asked"], record["epsilon"], record["delta"]
            found.append(
                [
                    record["label"],
                    record["environment"],
                    str(record["seed"]),
                    "–" if value is None else f"{value:g}" if asked == "epsilon" else f"rho {value:g}",
                    "–" if epsilon is None else round_up(epsilon, 4),
                    "–" if epsilon is None or delta is None else short_delta(delta) if delta else "0",
                    *told,
                    record["status"],
                ]
            )
        right = (2, 3, 4, 5, 6, 7) if regret else (2, 3, 4, 5, 7, 8)
        return head, found, right

    def summary(self) -> str:
        """How far it has come, in a line."""
        total = len({run.key for run in self.runs})
        parts = [f"{self.counted(DONE)} of {total} runs done"]
        parts += [
            f"{self.counted(status)} {word}"
            for status, word in ((FAILED, "failed"), (WAITING, "waiting"))
            if self.counted(status)
        ]
        return ", ".join(parts) + f" in {self.folder}"

    def text(self) -> str:
        """The table for the terminal, and what a reader should know of it."""
        head, found, right = self.rows()
        lines = [table(head, found, right=right), "", self.summary()]
        lines += [f"failed: {name}: {problem}" for name, problem in self.problems.items()]
        if self.edited:
            lines.append(
                f"{self.edited} runs were made by sources that have been edited since: --fresh makes them again."
            )
        if self.raw:
            lines.append(NOT_PRIVATE)
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "title": self.spec.title,
            "folder": str(self.folder),
            "rounds": self.spec.rounds,
            "trials": self.spec.trials,
            "seeds": list(self.spec.seeds),
            "done": self.counted(DONE),
            "waiting": self.counted(WAITING),
            "failed": self.counted(FAILED),
            "found": self.found,
            "edited": self.edited,
            "complete": self.complete,
            "runs": [dict(record) for record in self.records],
            "problems": self.problems,
            "warning": NOT_PRIVATE if self.raw else None,
        }

    def _repr_html_(self) -> str:
        shown = self.frame().drop(columns=["settings", "world", "run", "problem"])
        warning = f"<p><strong>{NOT_PRIVATE}</strong></p>" if self.raw else ""
        return f"<p>{self.summary()}</p>{warning}{shown.to_html(index=False)}"

    def __repr__(self) -> str:
        return f"<Sweep {self.spec.title}: {self.summary()}>"
