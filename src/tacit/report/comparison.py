"""Several results side by side: the table, the figure, the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.privacy.guarantee import round_up, short_delta
from tacit.report.charts import regret_chart
from tacit.report.page import Section
from tacit.report.parts import all_settings, card_section, notes_of, raw_warning
from tacit.report.reports import Report
from tacit.report.tables import number, table
from tacit.simulation.result import Result, save_frame

_HEAD = ("policy", "trust", "epsilon", "delta", "regret", "± s.e.", "× first", "rounds/s")
_RIGHT = (2, 3, 4, 5, 6, 7)


@dataclass(frozen=True)
class Comparison:
    """Results of several policies in one environment, under the same seed and the same failure probability."""

    results: Sequence[Result]
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
                {**result.to_dict(), "ratio_to_first": ratio}
                for result, ratio in zip(self.results, self._ratios(), strict=True)
            ],
        }

    def write(self, directory: Path) -> list[Path]:
        """Write the page with its charts and tables, and all curves (curves.parquet, curves.csv); return the paths, the
        picture first and the page last."""
        import pandas as pd

        *beside, page = self._report().write(directory)
        # None and numbers share a column (no epsilon without privacy): joined as records, not as blocks of one type.
        curves = pd.concat([result.frame().astype(object) for result in self.results]).infer_objects()
        tables = [save_frame(curves, directory / f"curves.{ending}") for ending in ("parquet", "csv")]
        return [*beside, *tables, page]

    def _title(self) -> str:
        first = self.results[0]
        return f"{first.environment.slug}, {first.rounds:,} rounds, {first.trials} trials"

    def _ratios(self) -> list[float | None]:
        first = self.results[0].regret_mean
        return [result.regret_mean / first if first > 0 else None for result in self.results]

    def _rows(self) -> list[list[str]]:
        rows = []
        for result, ratio in zip(self.results, self._ratios(), strict=True):
            guarantee = result.guarantee
            private = guarantee.epsilon is not None and guarantee.delta is not None
            rows.append(
                [
                    result.label,
                    guarantee.trust.value,
                    round_up(guarantee.epsilon or 0.0, 4) if private else "–",
                    short_delta(guarantee.delta or 0.0) if private else "–",
                    number(result.regret_mean),
                    number(result.regret_se, 2),
                    number(ratio, 3),
                    f"{result.rounds_per_second:,.0f}",
                ]
            )
        return rows

    def _report(self) -> Report:
        sections = [
            Section("Regret over time", chart=regret_chart(self.results, self._title(), name="regret")),
            Section("Final regret", head=_HEAD, rows=self._rows(), right=_RIGHT, paragraphs=self._reading()),
            *(card_section(result.label, result.bound.card(seeded=True)) for result in self.results),
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
            f"How much is lost by learning privately? Each policy played {first.rounds:,} rounds of "
            f"{first.environment.slug} in {first.trials} trials (seed {first.seed}). Regret is what the best action of "
            "each round would have earned on average, minus what the chosen one did, summed up."
        )

    def _reading(self) -> tuple[str, ...]:
        return (
            "Epsilon is accounted from the noise that was added, and rounded up. “× first”: ratio to the first row.",
            *notes_of(self.results),
        )
