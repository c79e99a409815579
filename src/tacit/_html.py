"""Small pieces of HTML for notebooks: no script, no style sheet, and the notebook's own colours, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_QUIET = "opacity:.72"
_CELL = "text-align:left;vertical-align:top;padding:.1em 1em .1em 0;border:0;background:none"
_LONGEST = 160


def panel(
    title: str,
    *,
    under: str = "",
    warnings: Iterable[str] = (),
    headline: str = "",
    drawing: str = "",
    rows: Sequence[tuple[str, str]] = (),
    notes: Iterable[str] = (),
    folded: Sequence[tuple[str, str]] = (),
) -> str:
    """A heading, a table of names and values, sentences below it, and texts to unfold.

    Everything is escaped except `drawing`, which is HTML made by `curve`.
    """
    after = f' <span style="{_QUIET}">{escape(under)}</span>' if under else ""
    parts = [f'<p style="margin:.2em 0"><strong>{escape(title)}</strong>{after}</p>']
    parts += [f'<p style="margin:.2em 0"><strong>WARNING: {escape(line)}</strong></p>' for line in warnings]
    if headline:
        parts.append(f'<p style="margin:.3em 0;font-size:1.15em">{escape(headline)}</p>')
    parts += [drawing, table(rows), _listed(notes)]
    parts += [_unfolding(name, text) for name, text in folded if text]
    return '<div class="tacit" style="max-width:60em">' + "\n".join(part for part in parts if part) + "</div>"


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values, one pair per line; nothing without any."""
    lines = "".join(
        f'<tr style="background:none"><th style="{_CELL};font-weight:400;{_QUIET}">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    # Notebooks set tables small and to the right; pages without a doctype set them in black, unreadable in the dark.
    style = "border-collapse:collapse;margin:.3em 0;color:inherit;font:inherit"
    return f'<table style="{style}">{lines}</table>' if lines else ""


def curve(xs: Sequence[float], ys: Sequence[float], says: str) -> str:
    """A line without axes, the first point at the left and zero at the bottom: its shape, no more. `says` is what it
    shows, for whoever cannot see it."""
    if len(xs) < 2:
        return ""
    left, right, top = min(xs), max(xs), max(max(ys), 0.0)
    if not right > left or not top > 0:
        return ""
    points = " ".join(
        f"{200 * (x - left) / (right - left):.1f},{40 - 40 * max(y, 0.0) / top:.1f}"
        for x, y in zip(xs, ys, strict=True)
    )
    return (
        f'<svg viewBox="-2 -2 204 44" width="204" height="44" role="img" aria-label="{escape(says)}">'
        '<line x1="0" y1="40" x2="200" y2="40" stroke="currentColor" stroke-opacity=".3"/>'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )


def short(value: object) -> str:
    """A value as it is written in Python; what is long, such as a list of actions, is cut."""
    text = str(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _listed(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines if line)
    return f'<ul style="margin:.3em 0;padding-left:1.2em">{items}</ul>' if items else ""


def _unfolding(name: str, text: str) -> str:
    return (
        f'<details><summary style="cursor:pointer;{_QUIET}">{escape(name)}</summary>'
        f'<pre style="white-space:pre-wrap;background:none;color:inherit">{escape(text)}</pre></details>'
    )
