"""The card as plain text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tacit.privacy.audited import VIOLATED
from tacit.privacy.card import words
from tacit.privacy.card.words import SIMULATION
from tacit.privacy.guarantee import SEEDED, round_up, short_delta
from tacit.privacy.promise import AnyPromise

if TYPE_CHECKING:
    from tacit.privacy.card.record import Card

WIDTH = 100

NO_AUDIT = "No audit is recorded on this card."
FALSIFIES = "An audit can refute a promise and never proves one."


def text_of(card: Card) -> str:
    """The whole card, at most 100 columns wide."""
    return (
        "\n".join(
            [
                *wrapped(f"Privacy card: {card.policy} ({card.calibration} calibration)"),
                *(line for warning in warnings(card) for line in wrapped(f"WARNING, {warning}.")),
                *(line for title, lines in sections(card) for line in _section(title, lines)),
            ]
        )
        + "\n"
    )


def warnings(card: Card) -> list[str]:
    """What stands above everything else."""
    found = [SEEDED] if card.guarantee.seeded else []
    if card.floating_point == SIMULATION:
        found.append("simulation only: noise in double precision")
    if card.audit is not None and card.audit.verdict == VIOLATED:
        found.append("an audit found the promise VIOLATED")
    return found


def sections(card: Card) -> list[tuple[str, list[str]]]:
    """Titles and their lines, in the order in which they are read; those of an empty section are left out."""
    found = [("Promise", _promise(card))]
    if card.guarantee.private:
        found += [
            ("In words", [card.protected_from, card.in_words or ""]),
            ("Price", _price(card)),
            ("Ways of asking", bullets(path_lines(card))),
            ("Spent", [] if card.spent is None else bullets(card.spent.lines)),
        ]
    found.append(("Noise", _noise(card)))
    if card.guarantee.private:
        found.append(("Adaptivity", [card.adaptivity]))
    found += [("Assumptions", bullets(card.assumptions)), ("Notes", bullets(card.notes))]
    if card.guarantee.private:
        found += [("Audit", audit_lines(card)), ("Not covered", bullets(card.not_covered))]
    return [(title, lines) for title, lines in found if lines]


def promise_rows(card: Card) -> list[tuple[str, str]]:
    """What is promised, as names and values."""
    guarantee, rows = card.guarantee, []
    if card.true_epsilon is not None and card.delta is not None:
        rows.append(("accounted", f"epsilon <= {round_up(card.true_epsilon, 4)} at delta = {short_delta(card.delta)}"))
    if guarantee.theorem is not None:
        theorem = guarantee.theorem
        bound = f"epsilon <= {round_up(theorem.epsilon, 4)} at delta = {short_delta(theorem.delta)}"
        rows += [("by theorem", f"{bound}, an upper bound only"), ("source", theorem.source)]
    if card.claimed is not None:
        rows.append(("claimed", card.claimed.text))
    return [
        *rows,
        ("trust", guarantee.trust.value),
        ("protects", guarantee.protects.value),
        ("neighbours", guarantee.neighbours.value),
        ("unit", str(guarantee.unit)),
        ("contribution", words.contribution(guarantee.unit)),
    ]


def broken_claim(card: Card) -> str | None:
    """Why the claim is not kept; None where it is, or where there is none."""
    if card.claimed is None or card.keeps_its_claim:
        return None
    return f"The claim is NOT kept: {_broken(card, card.claimed)}."


def price_table(card: Card) -> list[tuple[str, str]]:
    """ε at several δ, rounded up."""
    guarantee = card.guarantee
    return [(short_delta(delta), _shown(guarantee.epsilon_at(delta))) for delta in card.deltas]


def price_note(card: Card) -> str | None:
    """What to know where there is no curve."""
    theorem = card.guarantee.theorem
    if theorem is None:
        return None
    if theorem.delta == 0:
        return "Pure DP: the same epsilon at every delta."
    if len(card.paths) > 1:
        return "One point, which every way of asking keeps; single ways, below, have more than that."
    return "The theorem gives one point and no curve: mu, rho and the true epsilon are not known."


def path_lines(card: Card) -> list[str]:
    """What each way of asking costs. What stands above them holds for all."""
    return [path.text for path in card.paths]


def noise_rows(card: Card) -> list[tuple[str, str]]:
    """The scales, by name."""
    rows = [] if card.noise_scale is None else [("scale", f"{card.noise_scale:.6g}")]
    return rows + [(name, f"{scale:.6g}") for name, scale in card.noise_scales.items()]


def audit_lines(card: Card) -> list[str]:
    """What was found, and how far the audited form is from this one."""
    if card.audit is None:
        return [NO_AUDIT]
    lines, differences = [card.audit.text], card.audit_differences
    if differences is None:
        lines.append("Which settings the audited form shares with this card is not known.")
    elif differences:
        listed = "; ".join(map(str, differences))
        lines.append(f"ANOTHER FORM of this policy was audited, with {listed}.")
    return [*lines, FALSIFIES]


def bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def _promise(card: Card) -> list[str]:
    if not card.guarantee.private:
        return ["No privacy is promised."]
    broken = broken_claim(card)
    published = [] if card.published is None else [card.published.text]
    return [*([] if broken is None else [broken]), *aligned(promise_rows(card)), *published]


def _broken(card: Card, claimed: AnyPromise) -> str:
    theorem = card.guarantee.theorem
    known = "accounted" if theorem is None else "theorem's"
    if claimed.delta is None and theorem is None:
        return "it is of pure DP, and Gaussian noise has no epsilon at delta = 0"
    if claimed.currency == "rho" and theorem is not None:
        return "the theorem's bound does not give the claimed rho"
    return f"the {known} {claimed.currency} is larger than the claimed one"


def _price(card: Card) -> list[str]:
    guarantee, note = card.guarantee, price_note(card)
    table = ["", *aligned([("delta", "epsilon at most"), *price_table(card)])]
    if note is not None or guarantee.mu is None:
        return [note or "", *table]
    rows = [("mu", round_up(guarantee.mu, 4)), ("rho", round_up(guarantee.rho, 4))]
    concentrated = card.claimed is not None and card.claimed.currency == "rho"
    every_order = ["(alpha, rho·alpha)-RDP for every alpha > 1"] if concentrated else []
    return [*aligned(rows), *every_order, *table]


def _noise(card: Card) -> list[str]:
    exact = card.floating_point is not None and card.floating_point not in card.not_covered
    numbers = [card.floating_point or ""] if exact else []
    mechanisms = [("mechanism", "; ".join(card.what))] if card.what else []
    return [*aligned([*mechanisms, *noise_rows(card)]), *bullets([*card.releases, *numbers])]


def _shown(epsilon: float) -> str:
    return round_up(epsilon, 4) if math.isfinite(epsilon) else "no bound"


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(piece for line in lines for piece in wrapped(line, indent="  "))]


def wrapped(line: str, indent: str = "") -> list[str]:
    if not line:
        return [""]
    # Runs of spaces are the alignment of a table row, and a table row that fits is left alone.
    if len(indent + line) <= WIDTH and "\n" not in line:
        return [indent + line]
    hanging = indent + ("  " if line.startswith("- ") else "")
    return textwrap.wrap(line, WIDTH, initial_indent=indent, subsequent_indent=hanging)
