"""A guarantee that is one point, because a theorem gives one point and no curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit._validate import at_least, probability
from tacit.errors import BadInput


@dataclass(frozen=True)
class Theorem:
    """(ε, δ)-DP as a theorem states it: an upper bound at one δ. δ = 0 is pure DP.

    Says nothing about the true curve: at a smaller δ there is no bound, at a larger one the same ε.
    """

    epsilon: float
    delta: float
    source: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", at_least("epsilon", self.epsilon, 0))
        if self.delta != 0:
            object.__setattr__(self, "delta", probability("delta", self.delta, hint="For pure DP give delta=0."))
        if not isinstance(self.source, str) or not self.source.strip():
            raise BadInput(f"Expected source to name the theorem, got source={self.source!r}.")

    def epsilon_at(self, delta: float) -> float:
        """ε at this δ; ∞ below the theorem's own."""
        return self.epsilon if delta >= self.delta else math.inf

    def delta_at(self, epsilon: float) -> float:
        """δ at this ε; 1 below the theorem's own."""
        return self.delta if epsilon >= self.epsilon else 1.0

    def power(self, false_alarm: float) -> float:
        """The most often any test detects a changed unit at this rate of false alarms.

        Kairouz, Oh and Viswanath (2017): the trade-off curve of (ε, δ)-DP is two straight lines.
        """
        steep = math.exp(min(self.epsilon, 700.0)) * false_alarm + self.delta
        flat = 1 - math.exp(-self.epsilon) * (1 - self.delta - false_alarm)
        return min(1.0, steep, flat)

    def composed(self, times: int) -> Theorem:
        """The same spent so many times on one datum: ε and δ add (Dwork and Roth 2014, Theorem 3.16)."""
        if times == 1:
            return self
        delta = min(self.delta * times, math.nextafter(1.0, 0.0))
        return Theorem(self.epsilon * times, delta, f"{self.source}, composed {times} times")

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"epsilon": self.epsilon, "delta": self.delta, "source": self.source}
