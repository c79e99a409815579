"""What is promised, in full: to whom, about what, between which neighbours, for which unit, and at what price."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any

from tacit._validate import probability, whole
from tacit.errors import BadInput
from tacit.privacy import gdp
from tacit.privacy import rdp as renyi
from tacit.privacy.accountant import price, theorem_for
from tacit.privacy.event import Event
from tacit.privacy.scope import Neighbours, Protects, Trust, Unit
from tacit.privacy.theorem import Theorem

SEEDED = "seeded: no privacy against anyone who knows the seed"


@dataclass(frozen=True)
class Guarantee:
    """A privacy guarantee: four words of scope and one Gaussian curve, or one theorem where no curve is known.

    Formal meaning: for every two inputs that differ in one `unit` as `neighbours` says, the outputs that `trust` names
    are μ-GDP with respect to the data that `protects` names; `delta` is only where ε is read off for display. With a
    `theorem` instead (μ is None) they are (ε, δ)-indistinguishable as it states: an upper bound, at one δ.

    Says nothing about time, side channels, or a person's own action under joint DP. With `seeded` the noise can be
    recomputed from the seed, and the guarantee is void against whoever knows it.
    """

    trust: Trust
    protects: Protects
    neighbours: Neighbours
    unit: Unit
    mu: float | None  # μ; ∞ when data is released exactly; None when only a theorem is known
    delta: float | None  # where `epsilon` is read off the curve; a theorem's own unless given
    seeded: bool = False
    theorem: Theorem | None = None

    def __post_init__(self) -> None:
        for name, kind in (("trust", Trust), ("protects", Protects), ("neighbours", Neighbours)):
            value = getattr(self, name)
            if value not in list(kind):
                listed = ", ".join(repr(str(word)) for word in kind)
                raise BadInput(f"Expected {name} to be one of {listed}, got {name}={value!r}.")
            object.__setattr__(self, name, kind(value))
        empty = (self.trust is Trust.NONE, self.protects is Protects.NOTHING, self.neighbours is Neighbours.NONE)
        if any(empty) and not all(empty):
            raise BadInput(
                f"Expected trust, protects and neighbours to be all empty or all given, got "
                f"trust={self.trust.value!r}, protects={self.protects.value!r}, neighbours={self.neighbours.value!r}. "
                "For no privacy use Guarantee.none()."
            )
        if not isinstance(self.unit, Unit):
            raise BadInput(f"Expected unit to be a Unit, got unit={self.unit!r}. Use Unit.round() or Unit.person(k).")
        if (self.mu is None) == (self.theorem is None):
            raise BadInput(f"Expected either mu or a theorem, got mu={self.mu!r} and theorem={self.theorem!r}.")
        if self.theorem is not None and not isinstance(self.theorem, Theorem):
            raise BadInput(f"Expected theorem to be a Theorem, got theorem={self.theorem!r}.")
        if self.mu is not None:
            object.__setattr__(self, "mu", gdp.cost("mu", self.mu))
        if self.delta is None and self.theorem is not None:
            object.__setattr__(self, "delta", self.theorem.delta)
        elif self.delta is not None:
            object.__setattr__(self, "delta", self._checked(self.delta))
        if not isinstance(self.seeded, bool):
            raise BadInput(f"Expected seeded to be True or False, got seeded={self.seeded!r}.")

    @classmethod
    def none(cls) -> Guarantee:
        """The guarantee of a policy that promises no privacy."""
        return cls(Trust.NONE, Protects.NOTHING, Neighbours.NONE, Unit.round(), math.inf, None)

    @classmethod
    def priced(cls, event: Event, *, trust: Trust, protects: Protects, unit: Unit, delta: float | None) -> Guarantee:
        """The guarantee of replacing one unit in an event: its μ, or the theorem that stands in for one."""
        theorem = theorem_for(event)
        mu = price(event) if theorem is None else None
        return cls(trust, protects, Neighbours.REPLACE_ONE, unit, mu, delta, theorem=theorem)

    @property
    def private(self) -> bool:
        return (self.mu is None or math.isfinite(self.mu)) and self.trust is not Trust.NONE

    @property
    def epsilon(self) -> float | None:
        """ε at the guarantee's own δ; None without a δ or without privacy."""
        if self.delta is None or not self.private:
            return None
        return self.epsilon_at(self.delta)

    @property
    def rho(self) -> float:
        """ρ = μ²/2 of zero-concentrated DP; ∞ without privacy and where only a theorem is known."""
        return renyi.zcdp(self._effective_mu)

    def epsilon_at(self, delta: float) -> float:
        """The smallest ε at this δ; ∞ without privacy. By a theorem: an upper bound, ∞ below the theorem's δ."""
        if self.private and self.theorem is not None:
            return self.theorem.epsilon_at(self._checked(delta))
        return gdp.epsilon_at(self._effective_mu, delta)

    def delta_at(self, epsilon: float) -> float:
        """The smallest δ at this ε; 1 without privacy. By a theorem: an upper bound, 1 below the theorem's ε."""
        if self.private and self.theorem is not None:
            return self.theorem.delta_at(gdp.cost("epsilon", epsilon))
        return gdp.delta_at(self._effective_mu, epsilon)

    def rdp(self, alpha: float) -> float:
        """The Rényi-DP parameter of order α; ∞ without privacy and where only a theorem is known."""
        return renyi.rdp(self._effective_mu, alpha)

    def power(self, false_alarm: float) -> float:
        """The most often the best attacker detects a changed unit at this rate of false alarms; 1 without privacy."""
        if self.private and self.theorem is not None:
            return self.theorem.power(probability("false_alarm", false_alarm))
        return min(1.0, gdp.power(self._effective_mu, false_alarm))

    def with_seed(self) -> Guarantee:
        """The same guarantee for a run whose noise comes from a known seed (no promise, no change)."""
        return replace(self, seeded=True) if self.private else self

    def to_dict(self) -> dict[str, Any]:
        """Ready for standard JSON: an infinite μ is null."""
        facts: dict[str, Any] = {
            "private": self.private,
            "trust": self.trust.value,
            "protects": self.protects.value,
            "neighbours": self.neighbours.value,
            "unit": str(self.unit),
            "mu": finite_or_none(self._effective_mu),
            "rho": finite_or_none(self.rho),
            "epsilon": finite_or_none(self.epsilon),
            "delta": self.delta,
            "seeded": self.seeded,
        }
        if self.theorem is not None:
            facts["by_theorem"] = self.theorem.to_dict()
        if self.seeded:
            facts["warning"] = SEEDED
        return facts

    def __str__(self) -> str:
        text = self._sentence()
        return f"{text}; {SEEDED}" if self.seeded else text

    def _repr_html_(self) -> str:
        from tacit.privacy.notebook import guarantee_html

        return guarantee_html(self)

    def _sentence(self) -> str:
        if not self.private:
            return "no privacy is promised"
        epsilon = self.epsilon
        if self.theorem is not None:
            price = (
                f"epsilon <= {round_up(self.theorem.epsilon, 4)} at delta = {short_delta(self.theorem.delta)} "
                f"(by theorem, an upper bound: {self.theorem.source})"
            )
            return f"{self._scope()} {price}"
        mu = f"mu = {round_up(self._effective_mu, 4)}"
        if epsilon is None or self.delta is None:
            price = mu
        else:
            price = f"epsilon <= {round_up(epsilon, 4)} at delta = {short_delta(self.delta)} ({mu})"
        return f"{self._scope()} {price}"

    def _scope(self) -> str:
        return f"{self.trust.value} DP: {self.protects.data} of {self.unit} ({self.neighbours}) are protected with"

    def _checked(self, delta: float) -> float:
        """δ strictly between 0 and 1; 0 too where a theorem states pure DP."""
        if self.theorem is not None and self.theorem.delta == 0 and delta == 0:
            return 0.0
        return probability("delta", delta)

    @property
    def _effective_mu(self) -> float:
        # A finite price without trust protects nobody; it must not leak out as an ε. A theorem has no μ.
        return self.mu if self.private and self.mu is not None else math.inf


def round_up(value: float, digits: int) -> str:
    """`value` ≥ 0 in text with this many significant digits, never below the value: `round_up(1.00001, 4)` is 1.001.

    What is rounded is the shortest decimal that reads back as `value`, so 0.1 stays 0.1000 and reading the text back
    gives a number ≥ `value`.
    """
    number, places = gdp.cost("value", value), whole("digits", digits)
    if math.isinf(number):
        return "inf"
    if number == 0:
        return "0"
    exact = Decimal(repr(number))
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - places + 1), rounding=ROUND_CEILING)
    # 9.9996 went up to 10.000: one digit too many, and it is a zero.
    rounded = rounded.quantize(Decimal(1).scaleb(rounded.adjusted() - places + 1))
    return f"{rounded:f}" if 1e-4 <= number < 1e6 else f"{rounded:.{places - 1}e}"


def short_delta(delta: float) -> str:
    """δ in a few characters, never below its value: a guarantee at δ holds at every larger one."""
    return f"{float(round_up(delta, 4)):.4g}"


def finite_or_none(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
