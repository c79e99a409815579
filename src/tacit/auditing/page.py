"""The page of an audit, and that of an audit of everything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.auditing.catalogue import Audits, _short, lines_of
from tacit.auditing.figure import draw
from tacit.auditing.result import VIOLATED, Audit, at_best, live_row
from tacit.privacy import Card
from tacit.report.charts import Mark, svg_of
from tacit.report.dots import Dot, Dots, Group
from tacit.report.page import Section
from tacit.report.parts import card_section, write_facts
from tacit.report.reports import Report, settings_section
from tacit.report.tables import number

_ANY, _GAUSSIAN = "any mechanism", "if Gaussian"
_NEVER = "An audit can refute a promise, and never prove one."


def write(found: Audit, directory: Path, command: str, card: Card | None = None) -> list[Path]:
    """Write the page, its chart and tables, the score distributions (scores.png, scores.svg) and audit.json, which
    `tacit privacy --audit` reads; return the paths, the page last."""
    directory.mkdir(parents=True, exist_ok=True)
    figure = draw(found)
    png, svg = directory / "scores.png", directory / "scores.svg"
    figure.savefig(png, dpi=160)
    drawing = svg_of(figure, "scores")
    svg.write_text(drawing, "utf-8")
    facts = [["promised", found.promised]]
    if found.accounted is not None:
        facts.append(["accounted", f"epsilon = {number(found.accounted, 4)} at delta = {found.claim.delta:g}"])
    if found.live is not None:
        facts.append([found.live.name, found.live.verdict])
    facts += [
        ["neighbours", found.findings[0].neighbours],
        ["runs per neighbour", f"{found.runs:,}"],
        ["confidence", f"{found.confidence:.4g} for all bounds together"],
        ["within reach of so many runs", f"epsilon >= {number(found.within_reach, 3)}"],
        ["seed", str(found.seed)],
        ["made", f"{found.date}, {found.seconds:.1f} s"],
    ]
    sections = [
        Section("Verdict", head=("what", "value"), rows=facts, wrap=True, paragraphs=found.notes),
        Section("Epsilon at least", chart=_bounds(found)),
        Section("Attacks", head=_ATTACKS, rows=_attacks(found), right=(1, 2, 3, 4)),
        Section("Scores", figure=drawing, paragraphs=(_SCORES,)),
    ]
    if found.twins:
        twins = Section("Broken twins", head=_TWINS, rows=_twins(found), right=(2, 3), wrap=True, paragraphs=(_WHY,))
        sections.insert(3, twins)
    if card is not None:
        sections.append(card_section(found.policy, card.with_audit(found.record)))
    if found.settings:
        sections.append(settings_section(dict(found.settings)))
    *beside, page = Report(
        title=f"Audit of {found.policy}: {found.verdict}",
        command=command,
        sections=sections,
        lead=f"Does {found.policy} ({found.calibration} calibration) keep its promise? {_capital(found.sentence())}",
        warning="The promise is VIOLATED." if found.violated else "",
    ).write(directory)
    return [*beside, png, svg, write_facts(directory / "audit.json", found.to_dict()), page]


def write_all(found: Audits, directory: Path, command: str) -> list[Path]:
    """Write the page of many audits, its chart and tables, and audits.json; return the paths, the page last."""
    verdicts = found.verdicts
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    broken = [_name(one) for one in found.found if one["verdict"] == VIOLATED]
    rows = [row for one in found.found for row in _lines(one)]
    twins = [
        [_name(one), twin["name"], "found out" if twin["caught"] else "NOT found out", twin["says"]]
        for one in found.found
        for twin in one["twins"]
    ]
    shares = _shares(found)
    sections = [
        *([] if shares is None else [Section("Share of the promise that was shown", chart=shares)]),
        Section("Audits", head=_ALL, rows=rows, right=(3, 4, 5, 6), paragraphs=(_NEVER,)),
        Section(
            "Sentences",
            head=("policy", "verdict", "why"),
            rows=[[_name(one), one["verdict"], one["sentence"]] for one in found.found],
            wrap=True,
            folded=True,
        ),
    ]
    if twins:
        head = ("policy", "broken twin", "result", "what is wrong")
        sections.append(Section("Broken twins", head=head, rows=twins, wrap=True, folded=True, paragraphs=(_WHY,)))
    sections.append(
        settings_section(
            {
                "runs per neighbour": found.runs,
                "confidence of all bounds together": found.confidence,
                "seed": found.seed,
            }
        )
    )
    *beside, page = Report(
        title=f"Audit of {len(found.found)} configurations",
        command=command,
        sections=sections,
        lead=f"Do they keep their promises? {counts}.",
        warning=f"VIOLATED: {', '.join(broken)}." if broken else "",
    ).write(directory)
    return [*beside, write_facts(directory / "audits.json", found.to_dict()), page]


_ATTACKS = ("what is seen", "epsilon at least", "if Gaussian", "detected", "at best")
_TWINS = ("broken twin", "result", "epsilon", "if Gaussian", "what is wrong")
_ALL = ("policy", "promised", "what is seen", "epsilon at least", "if Gaussian", "detected", "twins caught", "verdict")
_WHY = "A twin is the same policy with one thing wrong: an attack that does not find it out would not find a mistake."
_SCORES = "What an attacker has to tell apart: how often each score came under either input."


def _bounds(found: Audit) -> Dots:
    every = [(one.observed, one) for one in found.findings]
    every += [(f"twin: {twin.name}", twin.finding) for twin in found.twins]
    groups = [Group(label=_ANY, dots=[Dot(value=one.epsilon) for _, one in every])]
    if any(one.gaussian is not None for _, one in every):
        dots = [None if one.gaussian is None else Dot(value=one.gaussian) for _, one in every]
        groups.append(Group(label=_GAUSSIAN, dots=dots))
    return Dots(
        title=f"{found.policy}: epsilon at least",
        x_label="lower bound of ε",
        rows=[name for name, _ in every],
        groups=groups,
        marks=[Mark(label="promised", x=found.claim.epsilon)],
        zero=True,
        caption="Attacks should stay to the left of the promise, and broken twins should not.",
        name="bounds",
    )


def _shares(found: Audits) -> Dots | None:
    """None where nothing is promised that a share could be of: ε = 0 is refuted by anything."""
    each = [(one, finding) for one in found.found for finding in one["findings"]]
    names = [f"{_name(one)}: {finding['observed']}" for one, finding in each]

    def dots(key: str) -> list[Dot | None]:
        shown = [(finding[key], one["record"]["epsilon"]) for one, finding in each]
        return [None if bound is None or not promised else Dot(value=bound / promised) for bound, promised in shown]

    groups = [Group(label=_ANY, dots=dots("epsilon_at_least"))]
    if not any(groups[0].dots):
        return None
    if any(dot is not None for dot in dots("gaussian_epsilon_at_least")):
        groups.append(Group(label=_GAUSSIAN, dots=dots("gaussian_epsilon_at_least")))
    return Dots(
        title="Lower bounds of ε, as shares of what is promised",
        x_label="share of the promised ε",
        rows=names,
        groups=groups,
        marks=[Mark(label="promised", x=1.0)],
        zero=True,
        percent=True,
        caption="Beyond 100 % a promise is refuted. A small share is no praise: the attack may be weak.",
        name="shares",
    )


def _attacks(found: Audit) -> list[list[str]]:
    return [
        [
            one.observed,
            number(one.epsilon, 3),
            number(one.gaussian, 3),
            f"{100 * one.detected:.2f} %",
            at_best(one.claim),
        ]
        for one in found.findings
    ] + ([] if found.live is None else [live_row(found.live)])


def _twins(found: Audit) -> list[list[str]]:
    return [
        [
            twin.name,
            "found out" if twin.caught else "NOT found out",
            number(twin.finding.epsilon, 3),
            number(twin.finding.gaussian, 3),
            twin.says,
        ]
        for twin in found.twins
    ]


def _lines(one: Mapping[str, Any]) -> list[list[str]]:
    record = one["record"]
    return [
        [
            _name(one),
            one["promised"],
            finding["observed"],
            number(finding["epsilon_at_least"], 3),
            number(finding["gaussian_epsilon_at_least"], 3),
            f"{100 * finding['detected']:.1f} %",
            f"{len(record['caught'])} of {len(record['twins'])}",
            one["verdict"],
        ]
        for finding in lines_of(one)
    ]


def _name(one: Mapping[str, Any]) -> str:
    return f"{one['record']['policy']} {_short(one['told'])}".strip()


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
