"""What a user may ask for, before any mechanism exists.

A Gaussian mechanism has one number, μ; (ε, δ), the ρ of zero-concentrated DP and the (α, ε) of Rényi DP are three
currencies to ask for it in. Pure ε-DP is no Gaussian's to give: such a promise has no μ, and a theorem at δ = 0 keeps
it.

A promise is kept or not by what the accountant made of the mechanism, never by what was intended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from tacit._validate import above, positive, probability
from tacit.errors import BadInput
from tacit.privacy import gdp, rdp
from tacit.privacy.guarantee import Guarantee, short_delta

SHOWN_DELTA = 1e-5
"""Where ε is read off for a promise that names no δ."""

_ROUNDING = 1e-12
"""Relative room on ρ and on a pure ε: √(2ρ) squared, or kΔ divided by kΔ/ε, may miss its value by a few last digits."""


@dataclass(frozen=True)
class Promise:
    """(ε, δ)-DP: the exact curve of a Gaussian, or a theorem, must pass under this point."""

    currency: ClassVar[str] = "epsilon"
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = positive("epsilon", self.epsilon, hint="Without a promise use a non-private policy.")
        delta = probability(
            "delta", self.delta, hint="Choose one well below 1 over the number of people, such as 1e-6."
        )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    @cached_property
    def mu(self) -> float:
        """The largest μ whose curve keeps the promise."""
        return gdp.mu_for(self.epsilon, self.delta)

    @property
    def rho(self) -> float:
        """ρ = μ²/2 of that μ."""
        return rdp.zcdp(self.mu)

    @property
    def text(self) -> str:
        return f"epsilon = {self.epsilon:g} at delta = {short_delta(self.delta)}"

    def kept_by(self, mu: float) -> bool:
        """Whether a μ-GDP mechanism keeps the promise, accounted afresh: ε(δ) ≤ ε."""
        return gdp.epsilon_at(mu, self.delta) <= self.epsilon

    def kept(self, guarantee: Guarantee) -> bool:
        """Whether what is guaranteed, by a curve or by a theorem, is at most this ε at this δ."""
        return guarantee.epsilon_at(self.delta) <= self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"epsilon": self.epsilon, "delta": self.delta}


@dataclass(frozen=True)
class ConcentratedPromise:
    """ρ-zCDP: (α, ρα)-Rényi DP for every order α > 1 at once. Bun and Steinke (2016)."""

    currency: ClassVar[str] = "rho"
    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive("rho", self.rho, hint="Without a promise use a non-private policy."))

    @property
    def mu(self) -> float:
        """The largest μ that keeps the promise: √(2ρ)."""
        return _mu_of(self.rho)

    @property
    def delta(self) -> float:
        """Where ε is shown; no part of the promise."""
        return SHOWN_DELTA

    @property
    def text(self) -> str:
        return f"rho = {self.rho:g} (zCDP)"

    def kept_by(self, mu: float) -> bool:
        """Whether a μ-GDP mechanism keeps the promise: μ²/2 ≤ ρ."""
        return _at_most(rdp.zcdp(mu), self.rho)

    def kept(self, guarantee: Guarantee) -> bool:
        """Whether a ρ is known of the guarantee, and is at most this one."""
        return _at_most(_known_rho(guarantee), self.rho)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"rho": self.rho}


@dataclass(frozen=True)
class RenyiPromise:
    """(α, ε)-Rényi DP, Mironov (2017). A Gaussian that keeps it at one order is ρ-zCDP with ρ = ε/α, and keeps every
    other order's share of ρ too: the order chooses the currency, not the mechanism."""

    currency: ClassVar[str] = "rho"
    alpha: float
    epsilon: float

    def __post_init__(self) -> None:
        alpha = above(
            "alpha", self.alpha, 1, hint="Renyi orders here are above 1, such as 2; to promise all of them give rho."
        )
        epsilon = positive("epsilon", self.epsilon, hint="Without a promise use a non-private policy.")
        positive("rho = epsilon/alpha", epsilon / alpha)
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def rho(self) -> float:
        return self.epsilon / self.alpha

    @property
    def mu(self) -> float:
        """The largest μ that keeps the promise: √(2ε/α)."""
        return _mu_of(self.rho)

    @property
    def delta(self) -> float:
        """Where ε of (ε, δ)-DP is shown; no part of the promise."""
        return SHOWN_DELTA

    @property
    def text(self) -> str:
        return f"(alpha, epsilon)-RDP = ({self.alpha:g}, {self.epsilon:g}), that is rho = {self.rho:g}"

    def kept_by(self, mu: float) -> bool:
        """Whether a μ-GDP mechanism keeps the promise: αμ²/2 ≤ ε."""
        return _at_most(rdp.zcdp(mu), self.rho)

    def kept(self, guarantee: Guarantee) -> bool:
        """Whether a Rényi divergence of this order is known of the guarantee, and is at most ε."""
        if _at_most(_known_rho(guarantee), self.rho):
            return True
        pure = _pure_epsilon(guarantee)
        return pure is not None and _at_most(rdp.pure_to_rdp(pure, self.alpha), self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"alpha": self.alpha, "epsilon": self.epsilon, "rho": self.rho}


@dataclass(frozen=True)
class PurePromise:
    """ε-DP with δ = 0. No Gaussian keeps it, whatever its noise."""

    currency: ClassVar[str] = "epsilon"
    epsilon: float

    def __post_init__(self) -> None:
        epsilon = positive("epsilon", self.epsilon, hint="Without a promise use a non-private policy.")
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def mu(self) -> None:
        """None: no μ above 0 keeps the promise."""
        return

    @property
    def delta(self) -> None:
        """None: ε is the same at every δ, 0 included."""
        return

    @property
    def text(self) -> str:
        return f"epsilon = {self.epsilon:g} at delta = 0 (pure DP)"

    def kept_by(self, mu: float) -> bool:
        """Whether a μ-GDP mechanism keeps the promise: only one that releases nothing."""
        return gdp.cost("mu", mu) == 0

    def kept(self, guarantee: Guarantee) -> bool:
        """Whether a theorem states pure DP with at most this ε, or nothing is released."""
        pure = _pure_epsilon(guarantee)
        return pure is not None and _at_most(pure, self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"epsilon": self.epsilon, "delta": 0.0}


AnyPromise: TypeAlias = Promise | RenyiPromise | ConcentratedPromise | PurePromise


def promise_of(
    *, rho: float | None = None, epsilon: float | None = None, delta: float | None = None, alpha: float | None = None
) -> Promise | RenyiPromise | ConcentratedPromise:
    """The promise that was asked for: exactly one of rho, (epsilon, delta) and (alpha, epsilon)."""
    given = {"rho": rho, "epsilon": epsilon, "delta": delta, "alpha": alpha}
    found = {name: value for name, value in given.items() if value is not None}
    shown = ", ".join(f"{name}={value!r}" for name, value in found.items())
    if rho is not None:
        if len(found) > 1:
            raise BadInput(f"Expected one promise, got {shown}. Give rho alone, or leave it out.")
        return ConcentratedPromise(rho)
    if alpha is not None and delta is not None:
        raise BadInput(
            f"Expected epsilon with delta or epsilon with alpha, got {shown}: a fixed order often cannot reach an "
            "epsilon at that delta with any noise, and where it can it needs more. Leave alpha out for "
            "(epsilon, delta)-DP, or delta for Renyi DP."
        )
    if epsilon is not None and delta is not None:
        return Promise(epsilon, delta)
    if epsilon is not None and alpha is not None:
        return RenyiPromise(alpha, epsilon)
    if epsilon is not None:
        raise BadInput(
            f"Expected delta or alpha with epsilon, got {shown} alone: Gaussian noise gives no epsilon without one of "
            "them. Add delta=1e-6 for (epsilon, delta)-DP or alpha=2 for Renyi DP."
        )
    if found:
        raise BadInput(f"Expected epsilon with {', '.join(found)}, got {shown} alone. Add epsilon.")
    raise BadInput("Expected a promise, got none. Give rho, or epsilon with delta, or epsilon with alpha.")


def _mu_of(rho: float) -> float:
    # Two roots, so that neither a huge nor a tiny ρ leaves the range of a double on the way.
    return math.sqrt(2) * math.sqrt(rho)


def _at_most(found: float, promised: float) -> bool:
    return found <= promised * (1 + _ROUNDING)


def _pure_epsilon(guarantee: Guarantee) -> float | None:
    """ε of pure DP where it is known."""
    if not guarantee.private:
        return None
    if guarantee.theorem is not None:
        return guarantee.theorem.epsilon if guarantee.theorem.delta == 0 else None
    return 0.0 if guarantee.mu == 0 else None


def _known_rho(guarantee: Guarantee) -> float:
    """ρ by the curve, or by pure DP; ∞ where neither is known."""
    pure = _pure_epsilon(guarantee)
    return guarantee.rho if pure is None else rdp.pure_to_zcdp(pure)
