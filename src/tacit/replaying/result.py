"""What a log says about a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._version import __version__
from tacit.core.policy import Policy
from tacit.data import NOT_PRIVATE
from tacit.errors import BadInput
from tacit.privacy.guarantee import Guarantee
from tacit.replaying.estimate import Estimate
from tacit.replaying.support import Support
from tacit.report.tables import number, table
from tacit.simulation.result import save_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_HEAD = ("policy", "estimate", "reward", "95 % interval", "rows")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The estimates of one policy on one log. Computed from raw data: not private, do not publish."""

    label: str
    config: Policy
    guarantee: Guarantee  #: of the policy in use; it does not cover these numbers
    rows: int
    arms: int
    dim: int
    seed: int
    runs: int
    estimates: tuple[Estimate, ...]
    support: Support | None  #: None where no fixed policy was judged
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of this name: "logged", "replay", "IPS", "SNIPS" or "DR"."""
        return {estimate.name: estimate for estimate in self.estimates}[name]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "warning": NOT_PRIVATE,
            "policy": self.config.slug,
            "label": self.label,
            "rows": self.rows,
            "arms": self.arms,
            "dim": self.dim,
            "seed": self.seed,
            "runs": self.runs,
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "support": None if self.support is None else self.support.to_dict(),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "guarantee": self.guarantee.to_dict(),
            "settings": self.config.options(),
            "version": __version__,
        }

    def frame(self) -> pd.DataFrame:
        """One row per estimate."""
        import pandas as pd

        constants = {"policy": self.config.slug, "label": self.label, "seed": self.seed, "runs": self.runs}
        rows = [{**constants, **estimate.to_dict(), "warning": NOT_PRIVATE} for estimate in self.estimates]
        return pd.DataFrame(rows)

    def to_pandas(self) -> pd.DataFrame:
        """`frame`, under the name that other libraries use."""
        return self.frame()

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the estimates with their intervals."""
        from matplotlib.figure import Figure

        from tacit.replaying.page import estimates_chart

        chart = estimates_chart([self], self.label)
        if chart is None:
            raise BadInput("Expected an estimate to draw, got none: no row of the log had a say. Use a longer log.")
        return chart.draw(Figure(figsize=(7.2, 3.2), layout="constrained").subplots() if axes is None else axes)

    def _repr_html_(self) -> str:
        from tacit._html import panel

        rows = [(one.name, f"{number(one.value)} ({_interval(one)})") for one in self.estimates]
        return panel(self.label, warnings=[NOT_PRIVATE, *self.warnings], rows=rows, notes=self.notes)

    def save(self, path: str | Path) -> Path:
        """Write the table to `path`: Parquet or CSV, by its ending."""
        return save_frame(self.frame(), path)

    def cells(self) -> list[list[str]]:
        """The estimates as rows of text."""
        return [
            [self.label, estimate.name, number(estimate.value), _interval(estimate), f"{estimate.rows:,}"]
            for estimate in self.estimates
        ]

    def __repr__(self) -> str:
        return as_text([self])


def as_text(evaluations: Sequence[Evaluation]) -> str:
    """Evaluations on one log as a table, with what each number is and what is wrong with it."""
    parts = [table(_HEAD, [row for one in evaluations for row in one.cells()], right=(2, 4))]
    meanings = dict.fromkeys((estimate.name, estimate.of) for one in evaluations for estimate in one.estimates)
    lines: dict[str, list[str]] = {}
    for name, of in meanings:
        lines.setdefault(of, []).append(name)
    parts.append("\n".join(f"{', '.join(dict.fromkeys(names))}: {of}." for of, names in lines.items()))
    for kind in ("warnings", "notes"):
        said: dict[str, list[str]] = {}
        for one in evaluations:
            for sentence in getattr(one, kind):
                said.setdefault(sentence, []).append(one.label)
        head = "warning" if kind == "warnings" else "note"
        parts += [
            f"{head}: {sentence}" if len(labels) == len(evaluations) else f"{head} ({', '.join(labels)}): {sentence}"
            for sentence, labels in said.items()
        ]
    parts.append(NOT_PRIVATE)
    return "\n\n".join(parts)


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "–"
    return f"{number(estimate.low)} to {number(estimate.high)}"
