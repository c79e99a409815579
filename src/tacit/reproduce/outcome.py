"""What an experiment leaves behind: the table, the verdicts, and the files they are written to."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._version import __version__
from tacit.report.charts import regret_chart
from tacit.report.page import Section, write_page
from tacit.report.reports import settings_section
from tacit.reproduce.experiment import By, Experiment, Scale, Table, Verdict
from tacit.simulation import Result
from tacit.simulation.store import AnyResult, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 100
#: Lines of one chart (two of each colour) and charts of one page: more cannot be told apart, and pages stay small.
_LINES, _CHARTS = 14, 6


@dataclass(frozen=True)
class Outcome:
    """An experiment that has been run: what was measured, and what became of each claim."""

    experiment: Experiment[Any]
    scale: Scale
    seed: int
    command: str
    results: Mapping[str, AnyResult]
    table: Table
    verdicts: Sequence[Verdict]
    found: int  # runs stored by an earlier call
    edited: int  # of these, made before the sources were edited
    seconds: float
    files: Sequence[Path] = ()

    @property
    def title(self) -> str:
        return f"{self.experiment.title} ({self.experiment.name}, {self.scale.name} scale)"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        notes = list(self.experiment.choices)
        if self.edited:
            notes.append(
                f"{self.edited} of the {self.found} runs found from before were made by this version before its "
                "sources were edited. `--fresh` makes them again."
            )
        said: dict[str, list[str]] = {}
        for name, result in self.results.items():
            for note in result.notes:
                said.setdefault(note, []).append(name)
        told = (f"{names[0] if len(names) == 1 else f'{len(names)} runs'}: {note}" for note, names in said.items())
        return (*notes, *sorted(told))

    def text(self) -> str:
        """For the terminal: table, claims one by one, files."""
        parts = [self.title, "", self.table.text()]
        for by in By:
            listed = [verdict for verdict in self.verdicts if verdict.claim.by is by]
            if listed:
                parts += ["", "What the paper claims" if by is By.PAPER else "What we add"]
                parts += [_told(verdict) for verdict in listed]
        if self.notes:
            parts += ["", *(_wrapped(note, "  ") for note in self.notes)]
        if self.files:
            parts += ["", *(f"{path.suffix[1:]:<6}{path}" for path in self.files)]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        from tacit._html import panel

        rows = [(verdict.claim.text, verdict.finding.value) for verdict in self.verdicts]
        return panel(self.title, rows=rows, notes=self.notes, folded=[("the whole outcome", self.text())])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "experiment": self.experiment.name,
            "title": self.experiment.title,
            "paper": self.experiment.paper,
            "scale": self.scale.name,
            "settings": self.scale.settings(),
            "seed": self.seed,
            "command": self.command,
            "version": __version__,
            "runs": {"total": len(self.results), "found": self.found, "before_an_edit": self.edited},
            "seconds": self.seconds,
            "table": self.table.to_dict(),
            "claims": [verdict.to_dict() for verdict in self.verdicts],
            "notes": list(self.notes),
            "results": {name: result.to_dict() for name, result in self.results.items()},
            "files": [path.name for path in self.files],
        }

    def write(self, folder: Path, figure: Figure) -> list[Path]:
        """Write figure.png, figure.svg, table.csv, report.html and result.json; return their paths.

        The figure of an outcome does not belong to it, or every outcome in memory would hold one.
        """
        import matplotlib as mpl

        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / name for name in ("figure.png", "figure.svg", "table.csv", "report.html", "result.json")]
        png, svg, table, page, facts = paths
        # A fixed salt: the same numbers draw the same file.
        with mpl.rc_context({"svg.hashsalt": "tacit"}):
            figure.savefig(png, dpi=160)
            figure.savefig(svg, metadata={"Date": None})
        write_whole(table, self.table.csv().encode())
        self._write_page(page, svg.read_text("utf-8"))
        whole = {**self.to_dict(), "files": [path.name for path in paths]}
        write_whole(facts, json.dumps(whole, indent=2, allow_nan=False, ensure_ascii=False).encode())
        return paths

    def _write_page(self, path: Path, svg: str) -> None:
        experiment = self.experiment
        sections = [
            Section(
                "What was asked",
                paragraphs=(
                    experiment.question,
                    f"{experiment.paper} This page: {experiment.describe(self.scale)}, seed {self.seed}.",
                    f"Made by: `{self.command}`",
                ),
            ),
            Section("Figure", figure=svg),
            Section("Measured", head=self.table.columns, rows=self.table.cells(), right=self.table.right),
        ]
        for by in By:
            rows = [
                [verdict.claim.text, verdict.finding.value, verdict.numbers, verdict.criterion]
                for verdict in self.verdicts
                if verdict.claim.by is by
            ]
            if rows:
                title = "What the paper claims" if by is By.PAPER else "What we add"
                sections.append(Section(title, head=("claim", "found", "numbers", "judged by"), rows=rows, wrap=True))
        if self.notes:
            sections.append(Section("Notes", paragraphs=self.notes))
        sections += self._curves()
        sections.append(settings_section({**self.scale.settings(), "seed": self.seed}))
        for name, result in self.results.items():
            facts = json.dumps(result.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)
            sections.append(Section(f"Run: {name}", text=facts))
        footer = f"tacit {__version__}. This page fetches nothing and opens from disk."
        write_page(path, self.title, sections, footer=footer)

    def _curves(self) -> list[Section]:
        """Regret over rounds to point at: the runs of one world together."""
        worlds: dict[str, list[Result]] = {}
        for name, result in self.results.items():
            if isinstance(result, Result):
                world = json.dumps(result.environment.to_dict(), sort_keys=True, default=repr)
                worlds.setdefault(world, []).append(replace(result, label=name))
        parts = [runs[at : at + _LINES] for runs in worlds.values() for at in range(0, len(runs), _LINES)]
        sections = [
            Section(f"Regret over time: {_between(part)}", chart=regret_chart(part, f"Regret: {_between(part)}"))
            for part in parts[:_CHARTS]
        ]
        left = sum(map(len, parts[_CHARTS:]))
        if left:
            rest = f"The curves of {left} more runs are not drawn here: they are stored beside this page, in runs."
            sections.append(Section("More runs", paragraphs=(rest,)))
        return sections


def _between(runs: Sequence[Result]) -> str:
    """Runs have long names: the first and the last say which they are."""
    return runs[0].label if len(runs) == 1 else f"{runs[0].label} to {runs[-1].label}"


def _told(verdict: Verdict) -> str:
    return "\n".join(
        (
            _wrapped(f"[{verdict.finding}] {verdict.claim.text}", "  "),
            _wrapped(f"numbers: {verdict.numbers}", "      "),
            _wrapped(f"judged by: {verdict.criterion}", "      "),
        )
    )


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
