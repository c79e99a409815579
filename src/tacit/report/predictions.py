"""Function learners side by side: the table of error rates, the figure, the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.privacy.guarantee import round_up, short_delta
from tacit.report.page import Section, write_page
from tacit.report.tables import number, table
from tacit.simulation.error_figure import draw_errors
from tacit.simulation.prediction_result import PredictionResult
from tacit.simulation.result import save_frame, standard_error

_HEAD = ("policy", "way", "trust", "epsilon", "delta", "error rate", "± s.e.", "× first", "records/s")
_RIGHT = (3, 4, 5, 6, 7, 8)


@dataclass(frozen=True)
class PredictionComparison:
    """Results of several function learners in one world, under the same seed."""

    results: Sequence[PredictionResult]
    command: str

    def text(self) -> str:
        """The table for the terminal. ε is the accounted one, rounded up."""
        return table(_HEAD, self._rows(), right=_RIGHT)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "command": self.command,
            "results": [
                {**result.to_dict(), "ratio_to_first": self._ratio(result.error_rate)} for result in self.results
            ],
        }

    def write(self, directory: Path) -> list[Path]:
        """Write errors.png, errors.svg, errors.parquet, errors.csv and report.html; return their paths."""
        import pandas as pd
        from matplotlib.figure import Figure

        directory.mkdir(parents=True, exist_ok=True)
        frames = [result.frame() for result in self.results]
        lines = sum(len(result.ways) for result in self.results)
        figure = Figure(figsize=(7.2, 1.6 + 0.5 * lines), layout="constrained")
        axes = draw_errors(frames, figure.subplots())
        axes.set_title(self._title(), loc="left", fontsize=10, pad=16)
        paths = [directory / "errors.png", directory / "errors.svg"]
        figure.savefig(paths[0], dpi=160)
        figure.savefig(paths[1], metadata={"Date": None})
        # None and numbers share a column (no epsilon without privacy): joined as records, not as blocks of one type.
        errors = pd.concat([frame.astype(object) for frame in frames]).infer_objects()
        paths += [save_frame(errors, directory / "errors.parquet"), save_frame(errors, directory / "errors.csv")]
        paths.append(self._page(directory / "report.html", paths[1].read_text("utf-8")))
        return paths

    def _title(self) -> str:
        first = self.results[0]
        return f"{first.environment.slug}, {first.rounds:,} records, {first.trials} trials"

    def _ratio(self, error_rate: float) -> float | None:
        first = self.results[0].error_rate
        return error_rate / first if first > 0 else None

    def _rows(self) -> list[list[str]]:
        rows = []
        for result in self.results:
            for way, guarantee in zip(result.ways, result.guarantees, strict=True):
                errors = result.errors_of(way)
                mean = float(errors.mean())
                epsilon, delta = guarantee.epsilon, guarantee.delta
                private = epsilon is not None and delta is not None
                rows.append(
                    [
                        result.label,
                        way,
                        guarantee.trust.value,
                        round_up(epsilon or 0.0, 4) if private else "–",
                        (short_delta(delta) if delta else "0") if private else "–",
                        number(mean),
                        number(standard_error(errors), 2),
                        number(self._ratio(mean), 3),
                        f"{result.records_per_second:,.0f}",
                    ]
                )
        return rows

    def _page(self, path: Path, svg: str) -> Path:
        sections = [
            Section("What was asked", paragraphs=(self._question(), f"Made by: `{self.command}`")),
            Section("Error rates", figure=svg, head=_HEAD, rows=self._rows(), right=_RIGHT, paragraphs=self._reading()),
        ]
        for result in self.results:
            card = result.config.card(seeded=True)
            sections.append(Section(f"Privacy card: {result.label}", text=card.text()))
        settings = [[result.label, key, repr(value)] for result in self.results for key, value in _settings(result)]
        sections.append(Section("Settings", head=("policy", "setting", "value"), rows=settings))
        return write_page(path, f"What privacy costs: {self._title()}", sections)

    def _question(self) -> str:
        first = self.results[0]
        return (
            f"How much is lost by learning privately? Each policy learned from {first.rounds:,} records of "
            f"{first.environment.slug} in {first.trials} trials (seed {first.seed}), and then predicted the best "
            "action for contexts it had not seen. The error rate is what the best candidate would have earned on "
            f"average, minus what the predicted one did. A random action loses {number(first.random_error_rate)}."
        )

    def _reading(self) -> tuple[str, ...]:
        notes = [f"{result.label}: {note}" for result in self.results for note in result.notes]
        return (
            "Epsilon is accounted from the noise that was added, and rounded up. “× first”: ratio to the first row. "
            "Small dots are single trials.",
            *notes,
        )


def _settings(result: PredictionResult) -> list[tuple[str, Any]]:
    settings = result.to_dict()["settings"]
    return [
        *settings["policy"].items(),
        *((f"environment {key}", value) for key, value in settings["environment"].items()),
    ]
