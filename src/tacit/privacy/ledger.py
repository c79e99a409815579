"""A budget, and what has been spent of it.

A learner that releases when it is asked cannot know in advance what it will be asked for. The ledger takes the promise
and every event before it happens, and refuses the one that would break the promise.

What is asked for may depend on what was released before, and so may how much it costs. A total that is read off the
cheapest of several bounds *afterwards* does not survive that: whoever looks first and chooses the bound then gets a
little more than was promised. So one way of adding up is fixed before anything is released, and stays:

    "curve"         μ² adds; the exact curve of a Gaussian. Draws of the exponential mechanism count at their μ.
    "concentrated"  ρ adds; ε by Canonne, Kamath and Steinke (2020). Gaussian releases count at μ²/2.

Beside either, pure ε adds up as long as nothing but pure DP is released: it bounds every path and needs no δ, so it may
be the cheaper one at any time. Filters of this kind: Rogers, Roth, Ullman and Vadhan (2016) for pure ε; Feldman and
Zrnic (2021) for ρ and for one Rényi order; Smith and Thakurta (2022) for μ². `mechanisms/exponential/proof.md` has the
argument, and `tests/privacy/test_ledger.py` the twin that looks first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from threading import Lock
from typing import Any, Literal, NoReturn, SupportsIndex, TypeAlias

from tacit._validate import at_least, one_of
from tacit.errors import BadInput, BudgetSpent, PrivacyRefusal
from tacit.privacy import gdp
from tacit.privacy.accountant import theorem_for
from tacit.privacy.currencies import Cost, concentrated_budget, concentrated_epsilon, costs, mu_to_bounded_range
from tacit.privacy.event import Event
from tacit.privacy.event.fact import counted
from tacit.privacy.guarantee import Guarantee, finite_or_none, round_up, short_delta
from tacit.privacy.promise import AnyPromise, ConcentratedPromise, Promise, RenyiPromise
from tacit.privacy.scope import Neighbours, Protects, Trust, Unit
from tacit.privacy.theorem import Theorem

Composition: TypeAlias = Literal["curve", "concentrated"]

# Exact sums: many small draws must not add up to less than they are. ∞ is the one float among them.
Amount: TypeAlias = Fraction | float

_ROUNDING = Fraction(1, 10**12)
"""Relative room on every total: three times 0.1 is a little more than 0.3 in binary."""


#: What is reported whatever was promised.
_REPORTED: dict[str, Callable[[Cost], float]] = {
    "pure": lambda cost: cost.epsilon,
    "curve": lambda cost: cost.mu_squared,
    "concentrated": lambda cost: cost.rho,
}


@dataclass(frozen=True)
class Left:
    """What can still be spent, in one event of either kind; the other is then gone."""

    epsilon: float  # the largest ε of one draw of the exponential mechanism
    mu: float  # the largest μ of one Gaussian release

    def __str__(self) -> str:
        if self.epsilon == 0 and self.mu == 0:
            return "nothing"
        draw = f"one exponential draw of epsilon up to {_round_down(self.epsilon)}"
        return draw if self.mu == 0 else f"{draw}, or one Gaussian release of mu up to {_round_down(self.mu)}"


@dataclass(frozen=True)
class Bill:
    """What has been spent so far, and what is left: for the card of a learner at work."""

    events: tuple[str, ...]  #: in sentences, each once
    epsilon: float | None  #: of all of them at `delta`, priced as if they had been planned
    delta: float | None
    left: Left

    def __post_init__(self) -> None:
        if isinstance(self.events, str) or not all(isinstance(line, str) for line in self.events):
            raise BadInput(f"Expected events to be a list of sentences, got events={self.events!r}.")
        object.__setattr__(self, "events", tuple(self.events))
        amounts = {"epsilon": self.epsilon, "left.epsilon": self.left.epsilon, "left.mu": self.left.mu}
        for name, amount in amounts.items():
            if amount is not None:
                at_least(name, amount, 0)

    @property
    def lines(self) -> list[str]:
        """The bill in sentences."""
        cost = "nothing"
        if self.events and self.epsilon is not None and self.delta is not None:
            cost = f"epsilon <= {round_up(self.epsilon, 4)} at delta = {short_delta(self.delta)}"
        return [f"Spent so far: {cost}. Left: {self.left}.", *self.events]

    def to_dict(self) -> dict[str, Any]:
        """Ready for standard JSON."""
        return {
            "events": list(self.events),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "left": {"epsilon": self.left.epsilon, "mu": self.left.mu},
        }


@dataclass(frozen=True)
class _Way:
    """One way of adding up: how much of it an event costs, how much there is, and what fits into the rest."""

    amount: Callable[[Cost], float]
    limit: Fraction
    draw: Callable[[float], float]  # the largest ε of one draw that costs so much
    gaussian: Callable[[float], float]  # the largest μ of one release that costs so much

    def fits(self, total: Amount) -> bool:
        return total <= self.limit * (1 + _ROUNDING)


@dataclass(frozen=True)
class _Spent:
    """Everything that has been spent: replaced as a whole or not at all."""

    events: tuple[Event, ...]
    totals: dict[str, Amount]
    composition: Composition | None
    ways: tuple[str, ...]  # that were open after the first event that cost something; all before it

    @property
    def nothing(self) -> bool:
        return not any(self.totals.values())


class Ledger:
    """A promise, the events spent against it, and what is left.

    Formal guarantee: whatever events are spent, in whatever order, each chosen with its cost after looking at
    everything released before, all of them together keep the promise. Requires: every event is spent *before* it is
    released, and is released once; all releases about the data go through one ledger.

    Without a promise there is no budget: every event that costs anything is refused. `composition` fixes how an (ε, δ)
    is added up; left out, the first event does: "curve" for a Gaussian release, "concentrated" for draws.

    Safe to use from several threads. It cannot be copied or pickled: a copy would spend the budget again.
    """

    def __init__(
        self,
        promise: AnyPromise | None = None,
        *,
        composition: Composition | None = None,
        trust: Trust = Trust.JOINT,
        protects: Protects = Protects.EVERYTHING,
        unit: Unit | None = None,
    ) -> None:
        if promise is not None and not isinstance(promise, AnyPromise):
            raise BadInput(
                f"Expected a promise such as Promise(epsilon, delta) or PurePromise(epsilon), got {promise!r}."
            )
        if composition is not None:
            one_of("composition", composition, ("curve", "concentrated"))
            if not isinstance(promise, Promise):
                raise BadInput(
                    f"Expected composition with a promise of epsilon and delta only, got composition={composition!r}: "
                    "every other promise adds up in its own currency. Leave composition out."
                )
        self._promise = promise
        self._ways = _ways(promise)
        self._scope = (trust, protects, Neighbours.REPLACE_ONE, Unit.round() if unit is None else unit)
        self._spent = _Spent((), dict.fromkeys((*_REPORTED, *self._ways), Fraction(0)), composition, ())
        self._spent = replace(self._spent, ways=tuple(self._open(composition)))
        self._lock = Lock()
        _ = self.guarantee  # a scope that cannot be is refused now, and not after something was spent

    @property
    def promise(self) -> AnyPromise | None:
        return self._promise

    @property
    def events(self) -> tuple[Event, ...]:
        """What has been spent, in order."""
        return self._spent.events

    @property
    def composition(self) -> Composition | None:
        """How (ε, δ) is added up: "curve" or "concentrated"; None before the first event, and for other promises."""
        return self._spent.composition

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways of adding up of which one holds for everything that is ever spent here.

        The first event that costs anything is chosen before anything is seen, and a total that it brings above its
        limit stays there. So what one way alone is left for is as good as planned: "curve" has the promise's μ, and
        "pure" its ε at δ = 0. Of several it may depend on the data which one holds: then there is the promise only.
        """
        return self._spent.ways

    @property
    def bill(self) -> Bill:
        """What has been spent and what is left, for a card."""
        spent = self._spent
        guarantee = self._guarantee(spent)
        counts = Counter(event.describe() for event in spent.events)
        events = tuple(line if count == 1 else f"{line} So often: {count:,}." for line, count in counts.items())
        return Bill(events, finite_or_none(guarantee.epsilon), guarantee.delta, self._left(spent))

    def spend(self, event: Event) -> None:
        """Take the cost of `event` from the budget, before it is released.

        Raises `BudgetSpent` when the total would exceed the promise, and `UnknownEvent` when no cost is known. Both
        leave the ledger as it was, and the event must then not be released.
        """
        added = costs(event)
        with self._lock:
            before = self._spent
            totals = {name: total + self._amount(name, added) for name, total in before.totals.items()}
            composition, ways = before.composition, before.ways
            if totals != before.totals:
                composition = self._admitted(before, totals)
            if before.nothing and totals != before.totals:
                ways = tuple(name for name, way in self._open(composition).items() if way.fits(totals[name]))
            self._spent = _Spent((*before.events, event), totals, composition, ways)

    @property
    def left(self) -> Left:
        """The largest single event of either kind that would still be taken."""
        return self._left(self._spent)

    @property
    def guarantee(self) -> Guarantee:
        """What the events so far cost: the least of all bounds that hold for them, read at the promise's δ.

        It prices what was spent as if that had been planned. Whoever decides *when to stop* by what was released can
        rely on the promise, and not on having spent less.
        """
        return self._guarantee(self._spent)

    def to_dict(self) -> dict[str, Any]:
        """Ready for standard JSON: what is infinite is null."""
        spent = self._spent
        guarantee, left = self._guarantee(spent), self._left(spent)
        return {
            "promise": None if self._promise is None else self._promise.to_dict(),
            "composition": spent.composition,
            "spent": {
                "epsilon": finite_or_none(guarantee.epsilon),
                "delta": guarantee.delta,
                "pure_epsilon": finite_or_none(float(spent.totals["pure"])),
                "rho": float(spent.totals["concentrated"]),
                "mu": math.sqrt(spent.totals["curve"]),
            },
            "left": {"epsilon": left.epsilon, "mu": left.mu},
            "events": [event.to_dict() for event in spent.events],
        }

    def __str__(self) -> str:
        if self._promise is None:
            return "No budget: nothing can be spent."
        spent = self._spent
        guarantee = self._guarantee(spent)
        cost = "nothing"
        if not spent.nothing and guarantee.epsilon is not None and guarantee.delta is not None:
            at = short_delta(guarantee.delta) if guarantee.delta else "0"
            cost = f"epsilon <= {round_up(guarantee.epsilon, 4)} at delta = {at}"
        number = counted(len(spent.events), "event")
        return f"Spent: {cost}, in {number}. Promised: {self._promise.text}. Left: {self._left(spent)}."

    def __repr__(self) -> str:
        return f"<Ledger: {self}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise PrivacyRefusal(
            "Expected one ledger for one budget, got a request to copy or pickle it: the copy would spend the budget "
            "again. To move it, start a new Ledger, spend ledger.events on it and drop this one."
        )

    def _open(self, composition: Composition | None) -> dict[str, _Way]:
        """The ways that count: all before the first event; then the one that was fixed, and pure ε."""
        return {name: way for name, way in self._ways.items() if composition in (None, name) or name == "pure"}

    def _amount(self, name: str, added: tuple[Cost, ...]) -> Amount:
        amount = self._ways[name].amount if name in self._ways else _REPORTED[name]
        return sum((_exact(amount(cost)) for cost in added), Fraction(0))

    def _admitted(self, before: _Spent, totals: dict[str, Amount]) -> Composition | None:
        """How it is added up from here on; raises if these totals break the promise."""
        fitting = [name for name, way in self._open(before.composition).items() if way.fits(totals[name])]
        if not fitting:
            self._refuse(before, totals)
        if before.composition is not None or not isinstance(self._promise, Promise):
            return before.composition
        # Nothing has been released yet, so that this choice is blind: each kind of event where it is cheapest.
        draws = math.isfinite(totals["pure"])
        order: tuple[Composition, Composition] = ("concentrated", "curve") if draws else ("curve", "concentrated")
        return next((name for name in order if name in fitting), order[0])

    def _refuse(self, before: _Spent, totals: dict[str, Amount]) -> NoReturn:
        if self._promise is None:
            raise BudgetSpent(
                "Expected a budget to spend from, got an event for a ledger without a promise. Nothing was spent. Give "
                "a promise such as Promise(epsilon, delta), or release nothing."
            )
        total = {name: float(totals[name]) for name in self._open(before.composition)}
        if isinstance(self._promise, Promise):
            what, found = "epsilon", min(self._epsilon(name, value) for name, value in total.items())
        else:
            what, found = self._promise.currency, min(total.values())
        raise BudgetSpent(
            f"Expected an event that keeps {self._promise.text}, got one that would bring the total to {what} = "
            f"{round_up(found, 4)}. Nothing was spent. Left: {self._left(before)}."
        )

    def _left(self, spent: _Spent) -> Left:
        epsilon = mu = 0.0
        for name, way in self._open(spent.composition).items():
            rest = float(way.limit - spent.totals[name])
            # A rest that is mere rounding is none, though its square root would look like something.
            if rest > way.limit * _ROUNDING:
                epsilon, mu = max(epsilon, way.draw(rest)), max(mu, way.gaussian(rest))
        return Left(epsilon, mu)

    def _guarantee(self, spent: _Spent) -> Guarantee:
        trust, protects, neighbours, unit = self._scope
        delta = None if self._promise is None else self._promise.delta
        total = {name: self._without_rounding(name, spent.totals[name]) for name in _REPORTED}
        if spent.nothing:
            return Guarantee(trust, protects, neighbours, unit, 0.0, delta)
        # A curve says more than a point, so it comes first and wins ties.
        found: list[tuple[float, float | None, Theorem | None]] = []
        if delta is not None:
            found.append((self._epsilon("curve", total["curve"]), self._mu(total["curve"]), None))
        if math.isfinite(total["pure"]):
            one = theorem_for(spent.events[0]) if len(spent.events) == 1 else None
            source = "pure epsilon adds up: Dwork and Roth (2014), Theorem 3.16" if one is None else one.source
            found.append((total["pure"], None, Theorem(total["pure"], 0.0, source)))
        if delta is not None:
            epsilon = self._epsilon("concentrated", total["concentrated"])
            source = "zCDP adds up: Canonne, Kamath and Steinke (2020), Proposition 12"
            found.append((epsilon, None, Theorem(epsilon, delta, source)))
        _, mu, theorem = min(found, key=lambda bound: bound[0])
        return Guarantee(trust, protects, neighbours, unit, mu, delta, theorem=theorem)

    def _without_rounding(self, name: str, total: Amount) -> float:
        """The total; where it is above its limit by rounding alone, the limit."""
        way = self._ways.get(name)
        return float(total if way is None or not way.fits(total) else min(total, way.limit))

    def _epsilon(self, name: str, total: float) -> float:
        """ε at the promise's δ of so much in one of the three currencies that are reported."""
        delta = None if self._promise is None else self._promise.delta
        if name == "pure" or delta is None:
            return total
        found = gdp.epsilon_at(self._mu(total), delta) if name == "curve" else concentrated_epsilon(total, delta)
        # What fits is within the promise: two searches, ρ from ε and ε from ρ, agree to ten digits and not to sixteen.
        if isinstance(self._promise, Promise) and self._ways[name].fits(_exact(total)):
            return min(found, self._promise.epsilon)
        return found

    def _mu(self, squared: float) -> float:
        mu = math.sqrt(squared)
        if isinstance(self._promise, Promise) and self._ways["curve"].fits(_exact(squared)):
            return min(mu, self._promise.mu)
        return mu


def _ways(promise: AnyPromise | None) -> dict[str, _Way]:
    """The ways in which a promise can be kept."""
    if promise is None:
        return {}
    if isinstance(promise, ConcentratedPromise):
        return {"concentrated": _concentrated(promise.rho)}
    if isinstance(promise, RenyiPromise):
        return {"order": _at_order(promise.alpha, promise.epsilon)}
    ways = {"pure": _Way(_REPORTED["pure"], Fraction(promise.epsilon), float, lambda _: 0.0)}
    if isinstance(promise, Promise):
        limit = Fraction(promise.mu) ** 2
        ways["curve"] = _Way(_REPORTED["curve"], limit, lambda rest: mu_to_bounded_range(math.sqrt(rest)), math.sqrt)
        ways["concentrated"] = _concentrated(concentrated_budget(promise.epsilon, promise.delta))
    return ways


def _concentrated(rho: float) -> _Way:
    return _Way(
        _REPORTED["concentrated"],
        Fraction(rho),
        lambda rest: math.sqrt(8 * rest),
        lambda rest: math.sqrt(2 * rest),
    )


def _at_order(alpha: float, epsilon: float) -> _Way:
    """Rényi divergences of one order add up. That of pure ε-DP is at most ε, however high the order."""
    return _Way(
        lambda cost: min(cost.epsilon, alpha * cost.rho),
        Fraction(epsilon),
        lambda rest: max(rest, math.sqrt(8 * rest / alpha)),
        lambda rest: math.sqrt(2 * rest / alpha),
    )


def _exact(amount: float) -> Amount:
    return Fraction(amount) if math.isfinite(amount) else amount


def _round_down(value: float) -> str:
    """Four significant digits, never above the value: what is shown can be spent."""
    if value == 0:
        return "0"
    exact = Decimal(repr(value))
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), rounding=ROUND_FLOOR)
    return f"{rounded:f}" if 1e-4 <= value < 1e6 else f"{rounded:.3e}"
