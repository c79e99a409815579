"""Several results side by side: the table, the figure, the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.privacy.guarantee import round_up, short_delta
from tacit.report.page import Section, write_page
from tacit.report.tables import number, table
from tacit.simulation.figure import draw_regret
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
            "results": [
                {**result.to_dict(), "ratio_to_first": ratio}
                for result, ratio in zip(self.results, self._ratios(), strict=True)
            ],
        }

    def write(self, directory: Path) -> list[Path]:
        """Write regret.png, regret.svg, curves.parquet, curves.csv and report.html; return their paths."""
        import pandas as pd
        from matplotlib.figure import Figure

        directory.mkdir(parents=True, exist_ok=True)
        frames = [result.frame() for result in self.results]
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        axes = draw_regret(frames, figure.subplots())
        axes.set_title(self._title(), loc="left", fontsize=10)
        paths = [directory / "regret.png", directory / "regret.svg"]
        figure.savefig(paths[0], dpi=160)
        figure.savefig(paths[1], metadata={"Date": None})
        # None and numbers share a column (no epsilon without privacy): joined as records, not as blocks of one type.
        curves = pd.concat([frame.astype(object) for frame in frames]).infer_objects()
        paths += [save_frame(curves, directory / "curves.parquet"), save_frame(curves, directory / "curves.csv")]
        paths.append(self._page(directory / "report.html", paths[1].read_text("utf-8")))
        return paths

    def _title(self) -> str:
        first = self.results[0]
        return f"{first.environment.slug}, {first.rounds:,} rounds, {first.trials} trials"

    def _ratios(self) -> list[float]:
        first = self.results[0].regret_mean
        return [result.regret_mean / first if first > 0 else math.nan for result in self.results]

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

    def _page(self, path: Path, svg: str) -> Path:
        sections = [
            Section("What was asked", paragraphs=(self._question(), f"Made by: `{self.command}`")),
            Section("Regret over time", figure=svg),
            Section("Final regret", head=_HEAD, rows=self._rows(), right=_RIGHT, paragraphs=self._reading()),
        ]
        for result in self.results:
            card = result.bound.card(seeded=True)
            sections.append(Section(f"Privacy card: {result.label}", text=card.text()))
        settings = [[result.label, key, repr(value)] for result in self.results for key, value in _settings(result)]
        sections.append(Section("Settings", head=("policy", "setting", "value"), rows=settings))
        return write_page(path, f"What privacy costs: {self._title()}", sections)

    def _question(self) -> str:
        first = self.results[0]
        return (
            f"How much is lost by learning privately? Each policy played {first.rounds:,} rounds of "
            f"{first.environment.slug} in {first.trials} trials (seed {first.seed}). Regret is what the best action of "
            "each round would have earned on average, minus what the chosen one did, summed up."
        )

    def _reading(self) -> tuple[str, ...]:
        notes = [f"{result.label}: {note}" for result in self.results for note in result.notes]
        return (
            "Epsilon is accounted from the noise that was added, and rounded up. “× first”: ratio to the first row.",
            *notes,
        )


def _settings(result: Result) -> list[tuple[str, Any]]:
    settings = result.to_dict()["settings"]
    return [
        *settings["policy"].items(),
        *((f"environment {key}", value) for key, value in settings["environment"].items()),
    ]
