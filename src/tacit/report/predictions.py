"""Function learners side by side: the table of error rates, the figure, the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.privacy.guarantee import round_up, short_delta
from tacit.report.charts import Mark
from tacit.report.dots import Dot, Dots, Group
from tacit.report.page import Section
from tacit.report.parts import all_settings, card_section, notes_of, raw_warning
from tacit.report.reports import Report
from tacit.report.tables import number, table
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
            "warning": raw_warning(self.results[0].environment) or None,
            "results": [
                {**result.to_dict(), "ratio_to_first": self._ratio(result.error_rate)} for result in self.results
            ],
        }

    def write(self, directory: Path) -> list[Path]:
        """Write the page with its chart and tables, and all errors (errors.parquet, errors.csv); return the paths, the
        picture first and the page last."""
        import pandas as pd

        *beside, page = self._report().write(directory)
        # None and numbers share a column (no epsilon without privacy): joined as records, not as blocks of one type.
        errors = pd.concat([result.frame().astype(object) for result in self.results]).infer_objects()
        # The table of every trial takes the place of the chart's own, which has the means alone.
        tables = [save_frame(errors, directory / f"errors.{ending}") for ending in ("parquet", "csv")]
        return [*(path for path in beside if path not in tables), *tables, page]

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

    def _report(self) -> Report:
        sections = [
            Section("Errors", chart=error_chart(self.results, self._title())),
            Section("Error rates", head=_HEAD, rows=self._rows(), right=_RIGHT, paragraphs=self._reading()),
            *(card_section(result.label, result.config.card(seeded=True)) for result in self.results),
            all_settings(self.results),
        ]
        return Report(
            title=f"What privacy costs: {self._title()}",
            command=self.command,
            sections=sections,
            lead=self._question(),
            warning=raw_warning(self.results[0].environment),
        )

    def _question(self) -> str:
        first = self.results[0]
        return (
            f"How much is lost by learning privately? Each policy learned from {first.rounds:,} records of "
            f"{first.environment.slug} in {first.trials} trials (seed {first.seed}), and then predicted the best "
            "action for contexts it had not seen. The error rate is what the best candidate would have earned on "
            f"average, minus what the predicted one did. A random action loses {number(first.random_error_rate)}."
        )

    def _reading(self) -> tuple[str, ...]:
        return (
            "Epsilon is accounted from the noise that was added, and rounded up. “× first”: ratio to the first row.",
            *notes_of(self.results),
        )


def error_chart(results: Sequence[PredictionResult], title: str) -> Dots:
    """The error rate of every way of every learner, with its trials, beside that of a random action."""
    ways = tuple(dict.fromkeys(way for result in results for way in result.ways))
    groups = [
        Group(
            label=way,
            dots=[Dot.of_trials(result.errors_of(way)) if way in result.ways else None for result in results],
        )
        for way in ways
    ]
    means = [dot.value for group in groups for dot in group.dots if dot is not None]
    return Dots(
        title=title,
        x_label="error rate",
        rows=[result.label for result in results],
        groups=groups,
        marks=[Mark(label="a random action", x=results[0].random_error_rate)],
        log_x=min(*means, results[0].random_error_rate) > 0,
        caption="Small dots are single trials, the whisker is one standard error of their mean either way.",
        name="errors",
    )
