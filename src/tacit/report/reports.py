"""What every command's `--report` writes: the page, and beside it each chart as PNG, SVG and CSV, each table as CSV."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tacit._version import __version__
from tacit.report.charts import Chart
from tacit.report.dots import Dots
from tacit.report.page import Section, write_page

_GROUPED = re.compile(r"[-−+]?\d{1,3}(,\d{3})+(\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class Report:
    """A title, the command that made it, and sections of text, charts, tables and folded text."""

    title: str
    command: str
    sections: Sequence[Section]
    lead: str = ""  # what was asked, or found, in a paragraph
    warning: str = ""  # stands above everything else

    def write(self, directory: str | Path) -> list[Path]:
        """Write everything into `directory`, which is made where missing; return the paths, the page last.

        Files are named by the titles of charts and tables; a title that comes again is numbered.
        """
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        paths: list[Path] = []
        sections = []
        taken: set[str] = set()
        for section in self.sections:
            if section.chart is not None:
                drawn = _draw(section.chart, folder, _free(section.chart.slug, taken))
                paths += drawn
                section = replace(section, figure=drawn[1].read_text("utf-8"))
            if section.rows:
                table = folder / f"{_free(section.slug, taken)}.csv"
                table.write_text(table_csv(section), "utf-8")
                paths.append(table)
            sections.append(section)
        lead = (self.lead,) if self.lead else ()
        opening = Section("What was asked", paragraphs=(*lead, f"Made by: `{self.command}`"))
        footer = (
            f"tacit {__version__}. This page fetches nothing and opens from disk. The files beside it hold its numbers."
        )
        page = write_page(folder / "report.html", self.title, [opening, *sections], warning=self.warning, footer=footer)
        return [*paths, page]


def settings_section(settings: Mapping[str, object], title: str = "Settings") -> Section:
    """Settings by name, folded away."""
    rows = [[name, value if isinstance(value, str) else repr(value)] for name, value in settings.items()]
    return Section(title, head=("setting", "value"), rows=rows, wrap=True, folded=True)


def table_csv(section: Section) -> str:
    """The section's table. What is only there for the eye (thousands commas, a dash for nothing) is left out."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(section.head)
    writer.writerows([_cell(cell) for cell in row] for row in section.rows)
    return text.getvalue()


def _free(stem: str, taken: set[str]) -> str:
    # Numbered, not refused: whoever comes here has computed for hours.
    names = (stem if count == 1 else f"{stem}-{count}" for count in itertools.count(1))
    free = next(name for name in names if name not in taken)
    taken.add(free)
    return free


def _draw(chart: Chart | Dots, folder: Path, stem: str) -> list[Path]:
    png, svg, numbers = (folder / f"{stem}.{ending}" for ending in ("png", "svg", "csv"))
    chart.figure().savefig(png, dpi=160)
    svg.write_text(chart.svg(stem), "utf-8")
    numbers.write_text(chart.csv(), "utf-8")
    return [png, svg, numbers]


def _cell(text: str) -> str:
    if text == "–":
        return ""
    return text.replace(",", "").replace("−", "-") if _GROUPED.fullmatch(text) else text
