"""One self-contained HTML page: no network, opens from disk, light and dark, readable on a phone and on paper."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

from tacit.report.charts import Chart, embedded, slug
from tacit.report.dots import Dots

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #59636e; --paper: #ffffff; --line: #d9dee3; --soft: #f5f7f9;
        --accent: #0072b2; --alarm: #8a4b00; --alarm-soft: #fff4e0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --quiet: #9aa4ae; --paper: #14181c; --line: #333a41; --soft: #1c2227; --accent: #56b4e9;
          --alarm: #ffc266; --alarm-soft: #2c2314; }
}
@media print {
  :root { color-scheme: light; --ink: #1b1f24; --quiet: #59636e; --paper: #ffffff; --line: #d9dee3; --soft: #f5f7f9;
          --accent: #0072b2; --alarm: #8a4b00; --alarm-soft: #fff4e0; }
  @page { margin: 14mm; }
  body { padding: 0 !important; max-width: none !important; }
  pre { white-space: pre-wrap; }
  h2 { break-after: avoid; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.2rem 4rem; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .8rem; letter-spacing: -.01em; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p { max-width: 46rem; margin: .6rem 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; min-width: 60%; }
th, td { padding: .38rem 1.1rem .38rem 0; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
th { font-weight: 600; }
tbody tr:hover { background: var(--soft); }
th.right, td.right { text-align: right; }
table.wrap th, table.wrap td { white-space: normal; vertical-align: top; min-width: 8rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .86rem; }
:not(pre) > code { background: var(--soft); border-radius: 4px; padding: .1rem .3rem; overflow-wrap: anywhere; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .9rem; overflow-x: auto; }
.figure { background: #ffffff; border: 1px solid var(--line); border-radius: 8px; padding: .5rem; }
.figure svg { width: 100%; height: auto; display: block; }
@media (max-width: 36rem) {
  /* Scaled down to a phone its letters could not be read: it is scrolled instead. */
  .figure { overflow-x: auto; } .figure svg { min-width: 40rem; }
}
.warning { border-left: 5px solid var(--alarm); background: var(--alarm-soft); color: var(--alarm); font-weight: 600;
           border-radius: 4px; padding: .7rem 1rem; margin: 1rem 0; }
details summary { cursor: pointer; color: var(--accent); padding: .3rem 0; }
details.fold { border-top: 1px solid var(--line); }
:not(details) + details.fold { margin-top: 2rem; }
details.fold + h2 { margin-top: 3rem; }
details.fold > summary { padding: .7rem 0; font-weight: 600; }
footer { margin-top: 3rem; padding-top: .8rem; border-top: 1px solid var(--line); color: var(--quiet);
         font-size: .85rem; }
"""

_START = """
addEventListener("error", (event) => { document.documentElement.dataset.error = event.message; });
const drawn = charts();
tables();
if (location.hash === "#selftest") selftest(drawn);
"""


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    paragraphs: Sequence[str] = ()
    figure: str = ""  # SVG
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    right: Sequence[int] = ()
    wrap: bool = False  # cells hold sentences
    text: str = ""  # set as it is, folded away
    chart: Chart | Dots | None = None  # `figure`, if given, is then the still picture shown where no script runs
    folded: bool = False  # opens by a click on its title

    @property
    def slug(self) -> str:
        """The title as a file name."""
        return slug(self.title)


def write_page(path: Path, title: str, sections: Sequence[Section], *, warning: str = "", footer: str = "") -> Path:
    """Write the page and return its path. A `warning` stands above everything else."""
    script = _script()
    banner = f'<aside class="warning" role="note">{_inline(warning)}</aside>\n' if warning else ""
    under = f"<footer>{_inline(footer)}</footer>\n" if footer else ""
    body = "\n".join(_section(section, place) for place, section in enumerate(sections))
    path.write_text(
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{_resource('chart.css')}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{banner}{body}\n{under}<script>{script}</script>\n</body></html>\n",
        "utf-8",
    )
    return path


@cache
def _resource(name: str) -> str:
    return files("tacit.report").joinpath(name).read_text("utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_resource(name) for name in ("chart.js", "dots.js", "table.js", "selftest.js"))
    return f'(() => {{\n"use strict";\n{parts}{_START}}})();\n'


def _policy(script: str) -> str:
    # Names in a page may come from somebody's file: no other script runs, and nothing is fetched or sent.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _section(section: Section, place: int) -> str:
    parts = []
    if section.chart is not None:
        parts.append(_chart(section.chart, section.figure, place))
    elif section.figure:
        parts.append(f'<div class="figure">{_drawing(section.figure)}</div>')
    if section.rows:
        parts.append(_table(section))
    parts += [f"<p>{_inline(paragraph)}</p>" for paragraph in section.paragraphs]
    if section.text:
        parts.append(f"<pre>{escape(section.text)}</pre>")
    # What is set as it is has always been folded away; alone in its section, its title is what opens it.
    only_text = bool(section.text) and len(parts) == 1
    if section.folded or only_text:
        inside = "\n".join(parts)
        return f'<details class="fold"><summary>{escape(section.title)}</summary>\n{inside}\n</details>'
    if section.text:
        parts[-1] = f"<details><summary>show</summary>{parts[-1]}</details>"
    return "\n".join([f"<h2>{escape(section.title)}</h2>", *parts])


def _chart(chart: Chart | Dots, still: str, place: int) -> str:
    name = f"{chart.slug}-{place}"
    caption = f"<figcaption>{_inline(chart.caption)}</figcaption>" if chart.caption else ""
    return (
        f'<figure class="chart" id="{name}">\n'
        f'<div class="still">{_drawing(still or chart.svg(name))}</div>\n{caption}'
        f'<script type="application/json">{embedded(chart.to_dict())}</script>\n</figure>'
    )


def _drawing(svg: str) -> str:
    # Only the drawing: an XML prologue has no place inside a page.
    return svg[svg.index("<svg") :]


def _table(section: Section) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        marks = (' class="right"' if i in section.right else "" for i in range(len(cells)))
        return "".join(f"<{tag}{mark}>{escape(cell)}</{tag}>" for cell, mark in zip(cells, marks, strict=True))

    lines = "\n".join(f"<tr>{row(cells, 'td')}</tr>" for cells in section.rows)
    kind = ' class="wrap"' if section.wrap else ""
    return (
        f'<div class="scroll" data-name="{section.slug}"><table{kind}><thead><tr>{row(section.head, "th")}</tr></thead>'
        f"\n<tbody>{lines}</tbody></table></div>"
    )


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
