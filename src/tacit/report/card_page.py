"""The privacy card as one self-contained HTML page: no network, light and dark, and one sheet of A4 when printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from tacit.errors import BadInput
from tacit.privacy import Card, Guarantee, round_up
from tacit.privacy.audited import CONSISTENT, VIOLATED
from tacit.privacy.card import FALSE_ALARM
from tacit.privacy.card.text import (
    audit_lines,
    broken_claim,
    noise_rows,
    path_lines,
    price_note,
    price_table,
    promise_rows,
    warnings,
)
from tacit.privacy.notebook import headline

_STYLE = """
:root { --ink: #1b1f24; --quiet: #59636e; --paper: #ffffff; --line: #d9dee3; --soft: #f5f7f9; --accent: #0072b2;
        --good: #00734f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --quiet: #9aa4ae; --paper: #14181c; --line: #333a41; --soft: #1c2227; --accent: #56b4e9;
          --good: #4cc79b; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.6rem 1.2rem 3rem; background: var(--paper); color: var(--ink);
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.45rem; line-height: 1.2; margin: 0; }
h2 { font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; color: var(--quiet); margin: 1.3rem 0 .35rem; }
p { margin: .35rem 0; }
.under { color: var(--quiet); margin: .2rem 0 0; overflow-wrap: anywhere; }
.headline { font-size: 1.9rem; line-height: 1.2; font-variant-numeric: tabular-nums; margin: 1rem 0 .2rem; }
.marks { display: flex; flex-wrap: wrap; gap: .4rem; margin: .5rem 0; padding: 0; list-style: none; }
.marks li { border: 1px solid currentColor; border-radius: 1rem; padding: .05rem .7rem; font-size: .85rem; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } .plain { color: var(--quiet); }
.alarm { border: 2px solid var(--bad); color: var(--bad); border-radius: 6px; padding: .5rem .8rem; font-weight: 600;
         margin: .8rem 0; }
.say { border-left: 4px solid var(--accent); background: var(--soft); padding: .5rem .9rem; margin: .7rem 0; }
@media (min-width: 48rem) { .sheet { columns: 2; column-gap: 2.2rem; } }
.sheet h2 { break-after: avoid; } .sheet li, .sheet tr, .sheet p, .curve { break-inside: avoid; }
.sheet > section:first-child h2 { margin-top: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .8rem .22rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
         font-weight: 400; }
th { color: var(--quiet); width: 34%; }
.right { text-align: right; }
ul { margin: .2rem 0; padding-left: 1.1rem; } ul li { margin: .15rem 0; }
.curve { display: flex; gap: 1rem; align-items: center; margin-top: .6rem; color: var(--quiet); font-size: .85rem; }
.curve svg { flex: none; width: 8.5rem; height: 8.5rem; }
.curve .frame { fill: none; stroke: var(--line); } .curve .guess { stroke: var(--quiet); stroke-dasharray: 3 3; }
.curve .best { fill: none; stroke: var(--accent); stroke-width: 2.5; } .curve .dot { fill: var(--accent); }
footer { margin-top: 1.6rem; border-top: 1px solid var(--line); padding-top: .5rem; color: var(--quiet);
         font-size: .85rem; }
@page { size: A4; margin: 11mm 12mm; }
@media print {
  :root { --ink: #000000; --quiet: #444444; --paper: #ffffff; --line: #bbbbbb; --soft: #f3f3f3; --accent: #0072b2;
          --good: #00734f; --bad: #b3261e; }
  body { max-width: none; padding: 0; font-size: 8.4pt; line-height: 1.32; print-color-adjust: exact;
         -webkit-print-color-adjust: exact; }
  h1 { font-size: 14pt; } .headline { font-size: 16pt; margin: 2mm 0 1mm; } h2 { font-size: 7pt; margin: 2.2mm 0 .6mm; }
  p, ul li { margin: .4mm 0; } th, td { padding: .35mm 3mm .35mm 0; }
  .marks { margin: 1mm 0; } .marks li, .curve, footer { font-size: 7.2pt; }
  .say, .alarm { padding: 1mm 2.5mm; margin: 1.5mm 0; } .sheet { columns: 2; column-gap: 7mm; }
  .curve { margin-top: 1mm; gap: 3mm; } .curve svg { width: 22mm; height: 22mm; }
  footer { margin-top: 2.5mm; padding-top: 1mm; }
}
"""

_STEPS = 60


def write_card_page(path: str | Path, card: Card) -> Path:
    """Write the page and return its path."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadInput(f"Expected a path ending in .html, got {str(path)!r}.")
    if not target.parent.is_dir():
        raise BadInput(f"Expected an existing folder, got {str(target.parent)!r}. Create it first.")
    target.write_text(card_page(card), "utf-8")
    return target


def card_page(card: Card) -> str:
    """The page as text."""
    title = f"Privacy card: {card.policy}"
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body>\n{_body(card, title)}\n</body></html>\n"
    )


def _body(card: Card, title: str) -> str:
    top = [
        f"<header><h1>{escape(title)}</h1>",
        f'<p class="under">{escape(card.calibration)} calibration{_form(card)}</p></header>',
        *(f'<p class="alarm">WARNING: {escape(line)}.</p>' for line in warnings(card)),
        f'<p class="headline">{escape(headline(card.guarantee, card.delta))}</p>',
        _marks(card),
    ]
    broken = broken_claim(card)
    if broken is not None:
        top.append(f'<p class="alarm">{escape(broken)}</p>')
    if card.guarantee.private:
        top.append(f'<div class="say"><p>{escape(card.protected_from)}</p><p>{escape(card.in_words or "")}</p></div>')
    foot = f"<footer>Made by tacit {escape(card.version)}. ε, μ, ρ and probabilities are rounded up.</footer>"
    return _joined([*top, f'<div class="sheet">{_joined(_sections(card))}</div>', foot])


def _sections(card: Card) -> list[str]:
    noise = _table(_mechanism(card) + noise_rows(card)) + _list([*card.releases, *_exactness(card)])
    stated = [_section("Assumptions", _list(card.assumptions)), _section("Notes", _list(card.notes))]
    if not card.guarantee.private:
        return [_section("Noise", noise), *stated]
    return [
        _section("Promise", _table(promise_rows(card)) + _published(card)),
        _section("Price", _price(card)),
        _section("Ways of asking", _list(path_lines(card))),
        _section("Spent", "" if card.spent is None else _list(card.spent.lines)),
        _section("Noise", noise),
        _section("Adaptivity", f"<p>{escape(card.adaptivity)}</p>"),
        *stated,
        _section("Audit", "".join(f"<p>{escape(line)}</p>" for line in audit_lines(card))),
        _section("Not covered", _list(card.not_covered)),
    ]


def _marks(card: Card) -> str:
    marks: list[tuple[str, str]] = []
    if card.guarantee.private:
        marks += [("plain", f"{card.guarantee.trust.value} DP"), ("plain", str(card.guarantee.unit))]
    if card.keeps_its_claim is not None:
        marks.append(
            ("good", "accounted: claim kept") if card.keeps_its_claim else ("bad", "accounted: claim NOT kept")
        )
    if card.audit is not None:
        kind = {CONSISTENT: "good", VIOLATED: "bad"}.get(card.audit.verdict, "plain")
        form = ", another form" if card.audit_differences else ""
        marks.append((kind, f"audit: {card.audit.verdict}{form}, {card.audit.date}"))
    if card.guarantee.seeded:
        marks.append(("bad", "seeded"))
    rows = "".join(f'<li class="{kind}">{escape(text)}</li>' for kind, text in marks)
    return f'<ul class="marks">{rows}</ul>' if rows else ""


def _form(card: Card) -> str:
    """The settings that fit on a line: what is long, such as a list of actions, is left to the JSON card."""
    settings = {} if card.settings is None else card.settings
    plain = ((name, value) for name, value in settings.items() if name != "policy" and value is not None)
    shown = [f"{name} = {value}" for name, value in plain if isinstance(value, str | int | float)]
    return escape(": " + ", ".join(shown)) if shown else ""


def _published(card: Card) -> str:
    return "" if card.published is None else f"<p>{escape(card.published.text)}</p>"


def _price(card: Card) -> str:
    guarantee, note = card.guarantee, price_note(card)
    rows = [("μ", round_up(guarantee.mu, 4)), ("ρ", round_up(guarantee.rho, 4))] if guarantee.mu is not None else []
    table = _table([*rows, *((f"ε at δ = {delta}", f"≤ {value}") for delta, value in price_table(card))], right=True)
    return table + ("" if note is None else f"<p>{escape(note)}</p>") + _curve(guarantee)


def _curve(guarantee: Guarantee) -> str:
    """How often the best attacker is right, for each rate of false alarms."""
    rates = [(step + 0.5) / _STEPS for step in range(_STEPS)]
    points = [(0.0, 0.0), *((rate, guarantee.power(rate)) for rate in rates), (1.0, 1.0)]
    if guarantee.power(1e-9) > 0.5 / _STEPS:
        points[0] = (0.0, guarantee.power(1e-9))
    line = " ".join(f"{100 * x:.1f},{100 - 100 * y:.1f}" for x, y in points)
    seen = guarantee.power(FALSE_ALARM)
    return (
        '<div class="curve"><svg viewBox="-2 -2 104 104" role="img" aria-label="Detections against false alarms">'
        '<rect class="frame" x="0" y="0" width="100" height="100"/>'
        '<line class="guess" x1="0" y1="100" x2="100" y2="0"/>'
        f'<polyline class="best" points="{line}"/>'
        f'<circle class="dot" cx="{100 * FALSE_ALARM:g}" cy="{100 - 100 * seen:.1f}" r="3"/></svg>'
        "<div>The best attacker: detections (up) against false alarms (right). Dashed: guessing. The dot is at "
        f"{FALSE_ALARM * 100:g} % false alarms.</div></div>"
    )


def _mechanism(card: Card) -> list[tuple[str, str]]:
    return [("mechanism", "; ".join(card.what))] if card.what else []


def _exactness(card: Card) -> list[str]:
    stated = card.floating_point
    return [] if stated is None or stated in card.not_covered else [stated]


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>" if content else ""


def _table(rows: Sequence[tuple[str, str]], *, right: bool = False) -> str:
    side = ' class="right"' if right else ""
    lines = "".join(f"<tr><th>{escape(name)}</th><td{side}>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{lines}</table>" if lines else ""


def _list(lines: Iterable[str]) -> str:
    rows = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{rows}</ul>" if rows else ""


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)
