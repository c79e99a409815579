"""Several results side by side: the table, the figure, the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.privacy.guarantee import round_up, short_delta
from tacit.report.charts import regret_chart
from tacit.report.page import Section
from tacit.report.parts import all_settings, card_section, notes_of, raw_warning
from tacit.report.reports import Report
from tacit.report.tables import number, table
from tacit.simulation.best_single import BEST_SINGLE, INSTEAD, BestSingle, best_single
from tacit.simulation.result import Result, save_frame

_HEAD = ("policy", "trust", "epsilon", "delta", "regret", "± s.e.", "× first", "rounds/s")
_RIGHT = (2, 3, 4, 5, 6, 7)


@dataclass(frozen=True)
class Comparison:
    """Results of several policies in one environment, under the same seed and the same failure probability."""

    results: Sequence[Result]
    command: str

    @cached_property
    def _best_single(self) -> tuple[BestSingle | None, str]:
        first = self.results[0]
        return best_single(first.environment, first.checkpoints, first.trial_numbers, first.seed)

    @property
    def single(self) -> BestSingle | None:
        """What the best single action loses on the same contexts; None where there is no such thing."""
        return self._best_single[0]

    @property
    def below(self) -> tuple[str, ...]:
        """Labels of the policies that lose more than the best single action, where contexts have something to add."""
        single = self.single
        if single is None or single.optimal:
            return ()
        return tuple(result.label for result in self.results if result.regret_mean > single.regret_mean)

    def advice(self) -> tuple[str, ...]:
        """What the best single action is, or why there is none; and which policies are not worth their noise."""
        note = self._best_single[1]
        if not self.below:
            return (note,)
        verb = "earns" if len(self.below) == 1 else "earn"
        return (note, f"{', '.join(self.below)} {verb} less than the {BEST_SINGLE}: {INSTEAD}.")

    def text(self) -> str:
        """The table for the terminal, and the best single action in words. ε is the accounted one, rounded up."""
        return "\n".join([table(_HEAD, self._rows(), right=_RIGHT), "", *self.advice()])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "command": self.command,
            "warning": raw_warning(self.results[0].environment) or None,
            "best_single_action": {
                **({"applies": False, "note": self._best_single[1]} if self.single is None else self.single.to_dict()),
                "below": list(self.below),
            },
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
        frames = [result.frame() for result in self.results] + ([] if self.single is None else [self.single.frame()])
        curves = pd.concat([frame.astype(object) for frame in frames]).infer_objects()
        tables = [save_frame(curves, directory / f"curves.{ending}") for ending in ("parquet", "csv")]
        return [*beside, *tables, page]

    def _title(self) -> str:
        first = self.results[0]
        return f"{first.environment.slug}, {first.rounds:,} rounds, {first.trials} trials"

    def _ratios(self) -> list[float | None]:
        return [self._ratio(result.regret_mean) for result in self.results]

    def _ratio(self, regret: float) -> float | None:
        first = self.results[0].regret_mean
        return regret / first if first > 0 else None

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
        if self.single is not None:
            regret, se = self.single.regret_mean, self.single.regret_se
            rows.append(
                [BEST_SINGLE, "–", "–", "–", number(regret), number(se, 2), number(self._ratio(regret), 3), "–"]
            )
        return rows

    def _report(self) -> Report:
        sections = [
            Section("Regret over time", chart=regret_chart(self._curves(), self._title(), name="regret")),
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

    def _curves(self) -> list[Result | BestSingle]:
        return [*self.results, *([] if self.single is None or self.single.optimal else [self.single])]

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
            *self.advice(),
            *notes_of(self.results),
        )
