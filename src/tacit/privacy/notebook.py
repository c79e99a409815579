"""Guarantees and cards as a notebook shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._html import panel
from tacit.privacy.card.text import broken_claim, noise_rows, promise_rows, text_of, warnings
from tacit.privacy.guarantee import SEEDED, Guarantee, round_up, short_delta

if TYPE_CHECKING:
    from tacit.privacy.card import Card

NO_PRIVACY = "No privacy is promised."


def guarantee_html(guarantee: Guarantee) -> str:
    """The four words of scope, what they mean, and the price."""
    rows = (
        []
        if not guarantee.private
        else [
            ("protects", guarantee.protects.value),
            ("neighbours", guarantee.neighbours.value),
            ("unit", str(guarantee.unit)),
        ]
    )
    return panel(
        "Guarantee",
        under=f"{guarantee.trust.value} DP" if guarantee.private else "",
        warnings=[SEEDED] if guarantee.seeded else [],
        headline=headline(guarantee),
        rows=[*rows, ("trust", guarantee.trust.meaning)],
    )


def card_html(card: Card) -> str:
    """What is read first, and the whole card to unfold."""
    broken = broken_claim(card)
    rows = promise_rows(card) if card.guarantee.private else []
    return panel(
        f"Privacy card: {card.policy}",
        under=f"{card.calibration} calibration",
        warnings=[*warnings(card), *([] if broken is None else [broken])],
        headline=headline(card.guarantee, card.delta),
        rows=[
            *rows,
            *((path.name, f"{path.price}; {path.detected}") for path in card.paths if card.guarantee.private),
            *((f"noise {name}", value) for name, value in noise_rows(card)),
        ],
        notes=[card.protected_from, card.in_words or ""] if card.guarantee.private else [],
        folded=[("the whole card", text_of(card))],
    )


def headline(guarantee: Guarantee, delta: float | None = None) -> str:
    """The price in one line, rounded up; ε at `delta`, or at the guarantee's own."""
    if not guarantee.private:
        return NO_PRIVACY
    if guarantee.theorem is not None:
        point = guarantee.theorem
        return f"ε ≤ {round_up(point.epsilon, 4)} at δ = {short_delta(point.delta)}, by theorem"
    mu = f"μ = {round_up(guarantee.mu or 0.0, 4)}"
    at = guarantee.delta if delta is None else delta
    if at is None:
        return mu
    return f"ε ≤ {round_up(guarantee.epsilon_at(at), 4)} at δ = {short_delta(at)}, {mu}"
