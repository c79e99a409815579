"""The same people in several deployments: what all of them together cost.

Each deployment has its card; their noises are independent. What a card says of everything that is released, whichever
way it is asked for, is one of two things. A Gaussian curve has a μ, and μ² adds up. A point (ε, δ), by a theorem or of
pure DP, is no worse than randomised response that tells everything with probability δ (Kairouz, Oh and Viswanath 2017),
so its loss is ±ε or infinite. The product of both has the curve

    δ(ε) = 1 − Π(1 − δ_i)·(1 − Σ_s P(s)·δ_μ(ε − Σ_i s_i ε_i)),   s_i = ±1 with probability 1/(1 + e^{∓ε_i})

Murtagh and Vadhan (2016), Theorem 1.5, with a Gaussian beside the points. It bounds every choice of mechanisms with
these cards, and is never above what adding up ε and δ gives. Deployments may look at each other while they run: Vadhan
and Zhang (2023).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from tacit._version import __version__
from tacit.errors import BadInput
from tacit.privacy import gdp
from tacit.privacy.audited import VIOLATED
from tacit.privacy.card import DELTAS, FALSE_ALARM, Card
from tacit.privacy.card.text import WIDTH, aligned, bullets, wrapped
from tacit.privacy.guarantee import finite_or_none, round_up, short_delta
from tacit.privacy.promise import SHOWN_DELTA
from tacit.privacy.scope import Protects, Trust, Unit
from tacit.privacy.theorem import Theorem

SCHEMA = "tacit-deployments-1"

_MOST_TERMS = 512
"""Terms per value of the curve. Equal points share them; where there would be more, the smallest are added up first."""
_LARGEST = 700.0  # ε whose e^ε is a double
_EXACT = 1e-12
_GRID = 400
_BELOW_ONE = math.nextafter(1.0, 0.0)

ASSUMED = (
    "Every deployment drew its noise for itself, and no other deployment has the same people.",
    "What a card assumes, leaves uncovered or voids is as on that card.",
)


@dataclass(frozen=True)
class Deployments:
    """What several cards promise together to a person who is in all of the deployments.

    Made by `compose_cards`, which refuses cards that cannot be added up.
    """

    cards: tuple[Card, ...]
    unit: str
    notes: tuple[str, ...]

    @property
    def mu(self) -> float | None:
        """√Σμ²; None where a card has no μ."""
        return None if self._points else self._mu

    @property
    def trust(self) -> tuple[Trust, ...]:
        """The trust models, each once."""
        return tuple(dict.fromkeys(card.guarantee.trust for card in self.cards))

    @property
    def protects(self) -> Protects:
        """What all of them protect."""
        every = {card.guarantee.protects for card in self.cards}
        return Protects.REWARDS if Protects.REWARDS in every else Protects.EVERYTHING

    @property
    def delta(self) -> float:
        """Where the sum is read: the sum of the cards' own δ, as if ε and δ were added up."""
        return min(math.fsum(map(_own_delta, self.cards)), _BELOW_ONE)

    @property
    def epsilon(self) -> float:
        """ε at `delta`."""
        return self.epsilon_at(self.delta)

    def epsilon_at(self, delta: float) -> float:
        """ε of all deployments together at this δ; ∞ where the cards give no bound that far down."""
        if not self._points:
            return gdp.epsilon_at(self._mu, delta)
        told = self._told
        rest = (delta - told) / (1 - told)
        total = sum(point.epsilon for point in self._points)
        if rest < 0 or (rest == 0 and self._mu > 0):
            return math.inf
        enough = total + (gdp.epsilon_at(self._mu, rest) if self._mu > 0 else 0.0)
        low, high = 0.0, enough
        if rest > 0 and self._undecided(low) <= rest:
            return low
        while rest > 0 and high - low > _EXACT * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self._undecided(middle) <= rest else (middle, high)
        return high

    def delta_at(self, epsilon: float) -> float:
        """δ of all deployments together at this ε."""
        if not self._points:
            return gdp.delta_at(self._mu, epsilon) if epsilon > 0 else _gaussian_delta(self._mu, 0.0)
        return min(1.0, self._told + (1 - self._told) * self._undecided(epsilon))

    def power(self, false_alarm: float) -> float:
        """The most often any attacker detects a changed unit at this rate of false alarms."""
        if not self._points:
            return gdp.power(self._mu, false_alarm)
        # Every (ε, δ) on the curve bounds it: the least over a grid is a bound too.
        top = self.epsilon_at(max(self.delta, self._told + (1 - self._told) * 1e-9))
        steps = [top * step / _GRID for step in range(1, _GRID + 1)]
        return min(Theorem(one, min(self.delta_at(one), _BELOW_ONE), "grid").power(false_alarm) for one in steps)

    @property
    def added_up(self) -> str:
        """How, in one sentence."""
        if not self._points:
            return "Gaussian curves: mu squared adds up, and the curve of the sum is exact."
        curves = " and the Gaussian curve of the others" if self._mu > 0 else ""
        return (
            f"An upper bound: {len(self._theorems)} of {len(self.cards)} cards give a point (epsilon, delta) and no "
            f"curve; these points{curves} are composed by Murtagh and Vadhan (2016), never above adding up epsilon "
            "and delta."
        )

    @property
    def in_words(self) -> str:
        """The sum as what an attacker can do."""
        return (
            f"At {FALSE_ALARM * 100:g} % false alarms the best attacker, who sees all deployments, detects a change "
            f"with probability at most {round_up(self.power(FALSE_ALARM), 3)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for standard JSON."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "policies": [card.policy for card in self.cards],
            "cards": [_short(card) for card in self.cards],
            "epsilon": finite_or_none(self.epsilon),
            "delta": self.delta,
            "mu": self.mu,
            "epsilon_at": [
                {"delta": delta, "epsilon": finite_or_none(self.epsilon_at(delta))} for delta in self._deltas()
            ],
            "trust": [trust.value for trust in self.trust],
            "protects": self.protects.value,
            "neighbours": "replace one",
            "unit": self.unit,
            "added_up": self.added_up,
            "in_words": self.in_words,
            "notes": list(self.notes),
            "assumptions": list(ASSUMED),
        }

    def text(self) -> str:
        """Plain text, at most 100 columns wide."""
        sum_rows = [
            ("together", f"epsilon <= {round_up(self.epsilon, 4)} at delta = {short_delta(self.delta)}"),
            *([] if self.mu is None else [("mu", round_up(self.mu, 4))]),
            ("trust", " and ".join(trust.value for trust in self.trust)),
            ("protects", self.protects.value),
            ("neighbours", "replace one"),
            ("unit", self.unit),
        ]
        table = [(short_delta(delta), _epsilon(self.epsilon_at(delta))) for delta in self._deltas()]
        parts = [
            ("Cards", [_row(number, card) for number, card in enumerate(self.cards, 1)]),
            ("Together", aligned(sum_rows)),
            ("In words", [self.in_words]),
            ("Price", [self.added_up, "", *aligned([("delta", "epsilon at most"), *table])]),
            ("Notes", bullets(self.notes)),
            ("Assumptions", bullets(ASSUMED)),
        ]
        lines = [f"The same people in {len(self.cards)} deployments"]
        for title, body in parts:
            if body:
                lines += ["", title, *(piece for line in body for piece in wrapped(line, indent="  "))]
        assert max(map(len, lines)) <= WIDTH
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()

    @cached_property
    def _mu(self) -> float:
        return math.hypot(*(card.guarantee.mu or 0.0 for card in self.cards))

    @cached_property
    def _theorems(self) -> list[Theorem]:
        return [card.guarantee.theorem for card in self.cards if card.guarantee.theorem is not None]

    @cached_property
    def _points(self) -> list[Theorem]:
        """The points, the largest first; where they are too many for exact sums, the smallest added up into one."""
        points = sorted(self._theorems, key=lambda point: -point.epsilon)
        while math.prod(count + 1 for count in Counter(point.epsilon for point in points).values()) > _MOST_TERMS:
            *points, one, other = points
            source = "epsilon adds up: Dwork and Roth (2014), Theorem 3.16"
            points.append(Theorem(one.epsilon + other.epsilon, _any([one.delta, other.delta]), source))
            points.sort(key=lambda point: -point.epsilon)
        return points

    @cached_property
    def _told(self) -> float:
        """1 − Π(1 − δ_i): the chance that some point tells everything."""
        return _any(point.delta for point in self._points)

    @cached_property
    def _losses(self) -> dict[float, float]:
        """Σ s_i ε_i and the probability of it."""
        losses = {0.0: 1.0}
        for epsilon, count in Counter(point.epsilon for point in self._points).items():
            size = min(epsilon, _LARGEST)
            more, less = 1 / (1 + math.exp(-size)), 1 / (1 + math.exp(size))
            steps = [
                ((count - 2 * down) * epsilon, math.comb(count, down) * more ** (count - down) * less**down)
                for down in range(count + 1)
            ]
            spread: dict[float, float] = {}
            for (loss, chance), (step, share) in product(losses.items(), steps):
                spread[loss + step] = spread.get(loss + step, 0.0) + chance * share
            losses = spread
        return losses

    def _undecided(self, epsilon: float) -> float:
        """Σ_s P(s)·δ_μ(ε − Σ s_i ε_i): what is left where no point tells everything."""
        terms = (chance * _gaussian_delta(self._mu, epsilon - loss) for loss, chance in self._losses.items())
        return math.fsum(terms)

    def _deltas(self) -> list[float]:
        own = {delta for delta in map(_own_delta, self.cards) if delta > 0}
        more = {self.delta} if self.delta > 0 else set()
        return sorted({*DELTAS, *own, *more}, reverse=True)


def compose_cards(cards: Iterable[Card | Mapping[str, Any]]) -> Deployments:
    """What these cards promise together, to people who are in all of the deployments.

    Cards are `Card` objects, or what their `to_dict` gave. Refused are cards that promise nothing, that are seeded,
    whose promise an audit found violated, that were edited, and cards of a round beside cards of a person.
    """
    if isinstance(cards, Card | Mapping):
        raise BadInput("Expected a list of cards, got a single one.")
    found = tuple(card if isinstance(card, Card) else Card.from_dict(card) for card in cards)
    if len(found) < 2:
        raise BadInput(f"Expected at least two cards to add up, got {len(found)}.")
    for number, card in enumerate(found, 1):
        _check(number, card)
    return Deployments(found, _unit(found), tuple(_notes(found)))


def _check(number: int, card: Card) -> None:
    name = f"card {number} ({card.policy})"
    if not card.guarantee.private:
        raise BadInput(
            f"Expected cards that promise privacy, got {name}, which promises none: whoever is in that deployment is "
            "not protected by any other."
        )
    if card.guarantee.seeded:
        raise BadInput(
            f"Expected cards of deployments, got {name}, which is seeded: whoever knows the seed can take its noise "
            "out. Start without a seed."
        )
    if card.audit is not None and card.audit.verdict == VIOLATED and card.keeps_its_claim is not False:
        raise BadInput(
            f"Expected promises that no audit has refuted, got {name}: {card.audit.text} Its numbers are not to be "
            "relied on, alone or in a sum."
        )


def _unit(cards: tuple[Card, ...]) -> str:
    units = [card.guarantee.unit for card in cards]
    # A person with one round is that round: the same neighbours, and the same price.
    if all(unit.rounds in (None, 1) for unit in units) and Unit.round() in units:
        return "one round in each deployment"
    rounds = [unit.rounds for unit in units]
    if None not in rounds:
        listed = " and ".join(str(count) for count in rounds)
        return f"one person with at most {listed} rounds, in the order of the cards"
    of_round = next(card.policy for card in cards if card.guarantee.unit.rounds is None)
    of_person = next(card for card in cards if card.guarantee.unit.rounds is not None)
    raise BadInput(
        f"Expected one unit, got {of_round}, which protects one round however many a person has, beside "
        f"{of_person.policy}, which protects {of_person.guarantee.unit}. Print the first card with --person-rounds, "
        "or the second without."
    )


def _notes(cards: tuple[Card, ...]) -> list[str]:
    notes = []
    for number, card in enumerate(cards, 1):
        if card.keeps_its_claim is False:
            notes.append(
                f"WARNING, card {number} ({card.policy}) does NOT keep its claim of "
                f"{'' if card.claimed is None else card.claimed.text}: it counts here at what it truly gives."
            )
        if card.audit is not None and card.audit.verdict == VIOLATED:
            notes.append(f"WARNING, card {number} ({card.policy}): an audit found its claim VIOLATED.")
    several = [str(number) for number, card in enumerate(cards, 1) if len(card.paths) > 1]
    if several:
        notes.append(
            f"Where there are several ways of asking (card {', '.join(several)}), what every way keeps is counted. "
            "Once something was released, the card of the learner at work may say more."
        )
    if any(card.spent is not None and card.spent.events for card in cards):
        notes.append(
            "A learner at work counts by the way it was first asked in, which must not have been chosen by what "
            "another deployment released."
        )
    partial = [card.policy for card in cards if card.guarantee.protects is Protects.REWARDS]
    if 0 < len(partial) < len(cards):
        notes.append(f"Contexts are public in {', '.join(partial)}, so the sum is about rewards only.")
    if any(card.guarantee.unit.rounds is None for card in cards):
        notes.append(
            "The unit is the round: somebody with several rounds in a deployment has several times the exposure."
        )
    if len({card.guarantee.trust for card in cards}) > 1:
        notes.append("Whom one must trust differs between the deployments: all of them must be as their cards say.")
    return notes


def _own_delta(card: Card) -> float:
    """Where the card itself is read; 0 for pure DP."""
    theorem = card.guarantee.theorem
    if theorem is not None:
        return theorem.delta
    return SHOWN_DELTA if card.delta is None else card.delta


def _short(card: Card) -> dict[str, Any]:
    facts = card.to_dict()
    names = ("policy", "version", "mu", "true_epsilon", "delta", "trust", "protects", "unit", "keeps_its_claim")
    return {**{name: facts[name] for name in names}, "by_theorem": facts.get("by_theorem")}


def _row(number: int, card: Card) -> str:
    return f"{number}. {card.policy} ({card.calibration}): {card.guarantee}."


def _epsilon(value: float) -> str:
    return round_up(value, 4) if math.isfinite(value) else "no bound"


def _any(chances: Iterable[float]) -> float:
    """1 − Π(1 − p), and never 1."""
    every = list(chances)
    # The sum is never below in exact arithmetic: where it is, the logarithms were rounded.
    return min(-math.expm1(math.fsum(math.log1p(-chance) for chance in every)), math.fsum(every), _BELOW_ONE)


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """δ_μ(ε) for any real ε: δ(−ε) = 1 − e^{−ε}·(1 − δ(ε)), since both neighbours look alike."""
    if epsilon < 0:
        return -math.expm1(epsilon) + math.exp(epsilon) * _gaussian_delta(mu, -epsilon)
    if epsilon == 0:
        return math.erf(mu / math.sqrt(8))
    return gdp.delta_at(mu, epsilon)
