"""Ways to spend one promise: what each of them costs, where asking in another way costs something else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import BadInput
from tacit.privacy.card import words
from tacit.privacy.event import Event
from tacit.privacy.guarantee import Guarantee, finite_or_none, round_up, short_delta

_ROUNDING = 1e-9
"""Relative room of a path over the whole: two searches for one number may differ in their last digits."""


@dataclass(frozen=True)
class SpendingPath:
    """One way of asking, and what all that is released by it costs.

    The guarantee holds if this way is taken whatever comes out: it is chosen before anything is released.
    """

    name: str
    asked: str  #: how, in words
    guarantee: Guarantee
    event: Event | None = field(default=None, compare=False)  #: what spends all of it at once, where one release does

    def __post_init__(self) -> None:
        for name in ("name", "asked"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise BadInput(f"Expected {name} of a path in words, got {name}={value!r}.")

    @property
    def price(self) -> str:
        """ε at δ, and μ where there is a curve; rounded up."""
        guarantee = self.guarantee
        if guarantee.epsilon is None or guarantee.delta is None:
            return "no privacy"
        curve = "" if guarantee.mu is None else f" (mu = {round_up(guarantee.mu, 4)})"
        return f"epsilon <= {round_up(guarantee.epsilon, 4)} at delta = {short_delta(guarantee.delta)}{curve}"

    @property
    def text(self) -> str:
        """The way, its price and what an attacker can do, in one line."""
        return f"{self.asked}: {self.price}; {self.detected}."

    @property
    def detected(self) -> str:
        """How often the best attacker detects a change, rounded up."""
        seen = round_up(self.guarantee.power(words.FALSE_ALARM), 3)
        return f"detected with probability {seen} at {words.FALSE_ALARM * 100:g} % false alarms"

    def to_dict(self, deltas: Iterable[float]) -> dict[str, Any]:
        """Ready for standard JSON."""
        guarantee = self.guarantee
        return {
            "path": self.name,
            "asked": self.asked,
            "epsilon": finite_or_none(guarantee.epsilon),
            "delta": guarantee.delta,
            "mu": guarantee.mu if guarantee.private else None,
            "epsilon_at": [
                {"delta": delta, "epsilon": finite_or_none(guarantee.epsilon_at(delta))} for delta in deltas
            ],
            "in_words": words.detection(guarantee) if guarantee.private else None,
            "by_theorem": None if guarantee.theorem is None else guarantee.theorem.to_dict(),
        }


def check_paths(paths: tuple[SpendingPath, ...], whole: Guarantee, deltas: Iterable[float]) -> None:
    """Refuse a path that costs more than is said of all of them."""
    if len({path.name for path in paths}) < len(paths):
        raise BadInput(f"Expected paths of different names, got {[path.name for path in paths]}.")
    for path in paths:
        one = path.guarantee
        pairs = [(one.epsilon_at(delta), whole.epsilon_at(delta)) for delta in deltas]
        pairs.append((one.power(words.FALSE_ALARM), whole.power(words.FALSE_ALARM)))
        if any(part > total * (1 + _ROUNDING) for part, total in pairs):
            raise BadInput(
                f"Expected a guarantee that holds for every path, got one that the path {path.name!r} breaks: "
                f"{path.price}."
            )
