"""One self-contained HTML page: no network, opens from disk, light and dark, readable on a phone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

_STYLE = """
:root { --ink: #1b1f24; --paper: #ffffff; --line: #d9dee3; --soft: #f5f7f9; --accent: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --paper: #14181c; --line: #333a41; --soft: #1c2227; --accent: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
th.right, td.right { text-align: right; }
table.wrap th, table.wrap td { white-space: normal; vertical-align: top; min-width: 8rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .86rem; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .9rem; overflow-x: auto; }
.figure { background: #ffffff; border: 1px solid var(--line); border-radius: 6px; padding: .5rem; }
.figure svg { width: 100%; height: auto; display: block; }
details summary { cursor: pointer; color: var(--accent); }
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


def write_page(path: Path, title: str, sections: Sequence[Section]) -> Path:
    """Write the page and return its path."""
    body = "\n".join(_section(section) for section in sections)
    path.write_text(
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n",
        "utf-8",
    )
    return path


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.figure:
        # Only the drawing: an XML prologue has no place inside a page.
        parts.append(f'<div class="figure">{section.figure[section.figure.index("<svg") :]}</div>')
    if section.rows:
        parts.append(_table(section))
    parts += [f"<p>{_inline(paragraph)}</p>" for paragraph in section.paragraphs]
    if section.text:
        parts.append(f"<details><summary>show</summary><pre>{escape(section.text)}</pre></details>")
    return "\n".join(parts)


def _table(section: Section) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        marks = (' class="right"' if i in section.right else "" for i in range(len(cells)))
        return "".join(f"<{tag}{mark}>{escape(cell)}</{tag}>" for cell, mark in zip(cells, marks, strict=True))

    lines = "\n".join(f"<tr>{row(cells, 'td')}</tr>" for cells in section.rows)
    kind = ' class="wrap"' if section.wrap else ""
    return f'<div class="scroll"><table{kind}><tr>{row(section.head, "th")}</tr>\n{lines}</table></div>'


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
