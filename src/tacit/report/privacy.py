"""The pages of privacy cards: one promise with its curves, or several promises to the same people."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from tacit.privacy import Card
from tacit.privacy.card import FALSE_ALARM
from tacit.privacy.card.text import broken_claim, price_note, price_table, promise_rows, warnings
from tacit.privacy.deployments import Deployments
from tacit.privacy.guarantee import round_up, short_delta
from tacit.privacy.notebook import headline
from tacit.report.card_page import write_card_page
from tacit.report.charts import Chart, Line, Mark
from tacit.report.page import Section
from tacit.report.parts import card_section, write_facts
from tacit.report.reports import Report, settings_section

_STEPS = 120
#: δ at which a curve ends: below it nothing is said that matters to anybody.
_LEAST = 1e-12


def write_privacy(card: Card, directory: Path, command: str) -> list[Path]:
    """The promise and its curves, with the card beside it as a printable page (card.html) and as JSON (card.json);
    return the paths, the page last."""
    guarantee = card.guarantee
    sections = []
    if guarantee.private:
        rows = [list(row) for row in promise_rows(card)]
        words = [card.protected_from, card.in_words or ""]
        sections = [
            Section("Promise", head=("what", "value"), rows=rows, wrap=True, paragraphs=words),
            *_price(
                price_table(card),
                price_note(card),
                None if guarantee.theorem is not None else delta_chart(guarantee.epsilon_at, card.delta),
                guarantee.power,
            ),
        ]
    sections.append(card_section(card.policy, card))
    if card.settings is not None:
        sections.append(settings_section(dict(card.settings)))
    broken = broken_claim(card)
    *beside, page = Report(
        title=f"Privacy card: {card.policy}",
        command=command,
        sections=sections,
        lead=f"{headline(guarantee, card.delta).rstrip('.')}. `card.html` is the same card on a sheet to sign.",
        warning=" ".join([*(f"{line}." for line in warnings(card)), *([] if broken is None else [broken])]),
    ).write(directory)
    cards = [write_card_page(directory / "card.html", card), write_facts(directory / "card.json", card.to_dict())]
    return [*beside, *cards, page]


def write_deployments(together: Deployments, directory: Path, command: str) -> list[Path]:
    """What several cards promise together: its price and its curves, each card folded, and all of it as JSON
    (together.json); return the paths, the page last."""
    facts = together.to_dict()
    rows = [
        ["together", f"epsilon <= {_shown(together.epsilon)} at delta = {short_delta(together.delta)}"],
        *([] if together.mu is None else [["mu", round_up(together.mu, 4)]]),
        ["trust", " and ".join(trust.value for trust in together.trust)],
        ["protects", together.protects.value],
        ["unit", together.unit],
    ]
    each = [[str(place), card.policy, str(card.guarantee)] for place, card in enumerate(together.cards, 1)]
    prices = [
        (short_delta(one["delta"]), "no bound" if one["epsilon"] is None else round_up(one["epsilon"], 4))
        for one in facts["epsilon_at"]
    ]
    alarms = [note for note in together.notes if note.startswith("WARNING")]
    *beside, page = Report(
        title=f"Privacy of {len(together.cards)} deployments together",
        command=command,
        sections=[
            Section(
                "Together",
                head=("what", "value"),
                rows=rows,
                wrap=True,
                paragraphs=[
                    together.added_up,
                    together.in_words,
                    *(note for note in together.notes if note not in alarms),
                ],
            ),
            *_price(prices, None, delta_chart(together.epsilon_at, together.delta), together.power),
            Section("Assumptions", paragraphs=facts["assumptions"]),
            Section("Deployments", head=("card", "policy", "promise"), rows=each, wrap=True),
            *(card_section(f"{place}. {card.policy}", card) for place, card in enumerate(together.cards, 1)),
        ],
        lead="What people are promised who are in all of these deployments.",
        warning=" ".join(alarms),
    ).write(directory)
    return [*beside, write_facts(directory / "together.json", facts), page]


def _price(
    prices: Sequence[tuple[str, str]], note: str | None, curve: Chart | None, power: Callable[[float], float]
) -> list[Section]:
    said = () if note is None else (note,)
    rows = [[delta, f"≤ {value}" if value[:1].isdigit() else value] for delta, value in prices]
    return [
        Section("Price", chart=curve, head=("delta", "epsilon"), rows=rows, paragraphs=said),
        Section("What an attacker can do", chart=_power(power)),
    ]


def delta_chart(epsilon_at: Callable[[float], float], delta: float | None) -> Chart | None:
    """δ against ε as far down as anything is known, with a mark at `delta`; None where there is no curve to draw."""
    points: list[tuple[float, float]] = []
    for step in range(_STEPS + 1):
        level = 0.5 * (_LEAST / 0.5) ** (step / _STEPS)
        epsilon = epsilon_at(level)
        # By growing ε; where ε is 0 at several δ the smallest counts.
        if math.isfinite(epsilon) and epsilon > 0 and (not points or epsilon > points[-1][0]):
            points.append((epsilon, level))
    if len(points) < 2:
        return None
    marks = [Mark(label=f"δ = {short_delta(delta)}", y=delta)] if delta and delta > _LEAST else []
    return Chart(
        title="Delta against epsilon",
        x_label="ε",
        y_label="δ",
        lines=[Line(label="δ at most", xs=[x for x, _ in points], ys=[y for _, y in points])],
        marks=marks,
        log_y=True,
        caption="Every point of the curve holds: read ε at the δ that you can accept, or the other way round.",
        name="delta-of-epsilon",
    )


def _power(power: Callable[[float], float]) -> Chart:
    rates = [
        0.0005,
        0.001,
        0.002,
        0.005,
        *(0.01 * step for step in range(1, 10)),
        *(0.02 * step for step in range(5, 50)),
    ]
    return Chart(
        title="Detections against false alarms",
        x_label="false alarms",
        y_label="detected",
        lines=[
            Line(label="the best attacker", xs=rates, ys=[power(rate) for rate in rates]),
            Line(label="guessing", xs=rates, ys=rates, dashed=True),
        ],
        marks=[Mark(label=f"{100 * FALSE_ALARM:g} % false alarms", x=FALSE_ALARM)],
        percent=True,
        caption="How often a changed unit is detected at most, for each rate of false alarms that an attacker accepts.",
        name="attacker",
    )


def _shown(epsilon: float) -> str:
    return round_up(epsilon, 4) if math.isfinite(epsilon) else "no bound"
