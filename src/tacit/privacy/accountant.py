"""What an event costs, in μ.

One function per event, dispatched on its exact type; an event without a theorem here has no price and is refused.
Each price is the largest shift, in standard deviations, that replacing one unit can cause in everything released, along
every path of adaptive inputs. It is the μ of one Gaussian mechanism (Denisov et al. 2022), so `gdp` then gives the
whole curve exactly.

It holds when noise scale, design, clipping bounds and release times were fixed without looking at the data, and when
each sum is noised once. The accountant cannot check that; mechanisms must guarantee it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch
from typing import Any, NoReturn

import numpy as np

from tacit.errors import UnknownEvent
from tacit.privacy.binomial import binomial_epsilon
from tacit.privacy.event import (
    BinomialSumEvent,
    DiscountedEvent,
    EitherEvent,
    ExactRelease,
    ExponentialEvent,
    ForkedEvent,
    GaussianEvent,
    LaplaceEvent,
    LatticeEvent,
    NothingReleased,
    PersonEvent,
    RandomisedResponseEvent,
    ReportEvent,
    RootToeplitzEvent,
    SegmentsEvent,
    ShuffledReportsEvent,
    ToeplitzEvent,
    Together,
    TreeEvent,
    UncertifiedNoise,
    WishartTreeEvent,
)
from tacit.privacy.shuffle import gaussian_shuffled
from tacit.privacy.theorem import Theorem
from tacit.privacy.toeplitz import square_root_norm

SMOOTHING = 2.0
"""t: the steps of smoothing that make a discrete Gaussian of a continuous one (counters/lattice.md)."""

LEAK = 4 * math.exp(-2 * (math.pi * SMOOTHING) ** 2)
"""η: how far, in log-probability, one discrete draw is from the smoothed continuous one. 2·10⁻³⁴."""


@singledispatch
def price(event: object) -> float:
    """μ of the event for one replaced unit: 0 if nothing is released, ∞ if data is released exactly.

    Raises `UnknownEvent` for everything without a registered price, `Event` itself included.
    """
    _refuse(event, "price.register")


@singledispatch
def price_for_person(event: object, rounds: int, one_per_segment: bool) -> float:
    """μ of the event for a person with up to `rounds` rows in the worst placement: the price times M_k."""
    _refuse(event, "price_for_person.register")


@singledispatch
def theorem_for(event: object) -> Theorem | None:
    """What a theorem says of an event that has no price in μ; None for those that have one."""
    return None


@price.register
def _(event: TreeEvent) -> float:
    """μ = L̃²·√q / s: a datum is in q nodes with independent noise."""
    return event.sensitivity * math.sqrt(event.nodes) / event.scale


@price_for_person.register
def _(event: TreeEvent, rounds: int, _one_per_segment: bool) -> float:
    """μ = L̃²·T_k / s, T_k² = Σ_{ℓ<q} (⌊k/2^ℓ⌋·4^ℓ + (k mod 2^ℓ)²): at each level, full nodes and a remainder.

    All nodes of a tree with q levels are counted, also those that are never released: a bound, a few per
    cent loose while k is far below the number of rows. Such a tree has fewer than 2^q rows, whoever owns them.
    """
    rounds = min(rounds, 2**event.nodes)
    total = sum((rounds >> level) * 4**level + (rounds % 2**level) ** 2 for level in range(event.nodes))
    return event.sensitivity * math.sqrt(total) / event.scale


@price.register
def _(event: ToeplitzEvent) -> float:
    """μ = κ_N·L̃² / s: a datum is in one row of x, and the longest column of C has length κ_N."""
    return event.design.column_norm(event.releases) * event.sensitivity / event.scale


@price_for_person.register
def _(event: ToeplitzEvent, rounds: int, one_per_segment: bool) -> float:
    """μ = κ_{N,k}·L̃² / s if the person's rows are in different rows of x; k·κ_N·L̃² / s if they may share one."""
    if event.rows_per_release == "many" and not one_per_segment:
        return rounds * price(event)
    return event.design.burst_norm(event.releases, rounds) * event.sensitivity / event.scale


@price.register
def _(event: RootToeplitzEvent) -> float:
    """μ = √(Σ_{k<N} c_k²)·Δ / s: prefix sums are C·C·x, so the noise s·C·Z is that of one release of Cx, whose longest
    column is the first. Fichtenberger, Henzinger and Upadhyay (2023); adaptive inputs by Denisov et al. (2022)."""
    return square_root_norm(event.releases) * event.sensitivity / event.scale


@price_for_person.register
def _(event: RootToeplitzEvent, rounds: int, _one_per_segment: bool) -> float:
    """M_k = k: all rows may be in the first segment. Where they may not this is a bound."""
    return rounds * price(event)


@price.register
def _(event: SegmentsEvent) -> float:
    """μ = L̃² / s: a datum is in one segment, released once."""
    return event.sensitivity / event.scale


@price_for_person.register
def _(event: SegmentsEvent, rounds: int, one_per_segment: bool) -> float:
    """M_k = √k over different segments with independent noise, k within one."""
    return (math.sqrt(rounds) if one_per_segment else rounds) * price(event)


@price.register
def _(event: DiscountedEvent) -> float:
    """μ = L̃²·√(Σ_{k<N} ρ^{2k}) / s: a datum is in one segment, and ρ^k of it in the k-th release after."""
    keep = event.keep
    return event.sensitivity * math.sqrt((1 - keep ** (2 * event.releases)) / (1 - keep**2)) / event.scale


@price_for_person.register
def _(event: DiscountedEvent, rounds: int, one_per_segment: bool) -> float:
    """M_k = k: all rows may be in one segment. In different segments they are worst in the first k, where t of them add
    up to (1 − ρ^t)/(1 − ρ) of one: all columns are non-negative, and their inner products shrink with distance."""
    if not one_per_segment:
        return rounds * price(event)
    keep, releases = event.keep, event.releases
    burst = min(rounds, releases)
    steps = np.arange(1, releases + 1)
    sums = (1 - keep ** np.minimum(steps, burst)) / (1 - keep) * keep ** np.maximum(steps - burst, 0)
    return event.sensitivity * float(np.linalg.norm(sums)) / event.scale


@price.register
def _(event: GaussianEvent) -> float:
    """μ = Δ / σ."""
    return event.sensitivity / event.scale


@price_for_person.register
def _(event: GaussianEvent, rounds: int, _one_per_segment: bool) -> float:
    """M_k = k: all rows may be in the one release."""
    return rounds * price(event)


@price.register
def _(event: LatticeEvent) -> float:
    """μ of the continuous release with variance s² − t² (in steps), and two further terms.

        μ = μ₀(√(s² − t²)) + 2ρ√(nm)/√(s² − t²) + 6nmη,   η = 4e^{−2π²t²}

    n releases of m numbers hold a datum, and each number is rounded by at most ρ steps in either world. A discrete
    Gaussian of scale s is, up to a factor e^{±η}, the continuous one of variance s² − t² smoothed by t.
    Proof: counters/lattice.md.
    """
    return _on_lattice(event, price(_continuous(event)), _holding(event.event, 1))


@price_for_person.register
def _(event: LatticeEvent, rounds: int, one_per_segment: bool) -> float:
    """The same with the price of k rows and the releases that k rows are in."""
    one = price_for_person(_continuous(event), rounds, one_per_segment)
    return _on_lattice(event, one, _holding(event.event, rounds))


def _continuous(event: LatticeEvent) -> Any:
    """The release with real-valued noise that the one on the lattice is no more telling than."""
    inner: Any = event.event
    smoothed = SMOOTHING * event.step
    return replace(inner, scale=math.sqrt((inner.scale - smoothed) * (inner.scale + smoothed)))


def _on_lattice(event: LatticeEvent, mu: float, releases: int) -> float:
    numbers, scale = releases * event.coordinates, float(_continuous(event).scale)
    return mu + 2 * event.rounding * math.sqrt(numbers) * event.step / scale + 6 * numbers * LEAK


@singledispatch
def _holding(event: Any, rounds: int) -> int:
    """How many releases may hold one of k rows, in either world: each of these may be rounded otherwise.

    Twice as many as hold them in one: a row that comes at another time leaves some and enters others. Never more than
    there are.
    """
    releases: int = event.releases
    return releases


@_holding.register
def _(_event: GaussianEvent, _rounds: int) -> int:
    return 1


@_holding.register
def _(event: ReportEvent, rounds: int) -> int:
    return rounds * event.reports


@_holding.register
def _(_event: SegmentsEvent, rounds: int) -> int:
    return 2 * rounds


@_holding.register
def _(event: TreeEvent, rounds: int) -> int:
    return 2 * rounds * event.nodes


@price.register
def _(event: ReportEvent) -> float:
    """μ = √k·Δ / σ: k reports with noise of their own, also when later ones are chosen after earlier ones were seen."""
    return math.sqrt(event.reports) * event.sensitivity / event.scale


@price_for_person.register
def _(event: ReportEvent, rounds: int, _one_per_segment: bool) -> float:
    """M_k = √k: no two reports share noise, wherever they fall."""
    return math.sqrt(rounds) * price(event)


@price.register
def _(_event: NothingReleased) -> float:
    return 0.0


@price_for_person.register
def _(_event: NothingReleased, _rounds: int, _one_per_segment: bool) -> float:
    return 0.0


@price.register
def _(_event: ExactRelease) -> float:
    return math.inf


@price_for_person.register
def _(_event: ExactRelease, _rounds: int, _one_per_segment: bool) -> float:
    return math.inf


@price.register
def _(_event: UncertifiedNoise) -> float:
    return math.inf


@price_for_person.register
def _(_event: UncertifiedNoise, _rounds: int, _one_per_segment: bool) -> float:
    return math.inf


@price.register
def _(event: Together) -> float:
    """μ² adds over independent Gaussian releases. Dong, Roth and Su (2022)."""
    return math.hypot(*(price(part) for part in event.events))


@price_for_person.register
def _(event: Together, rounds: int, one_per_segment: bool) -> float:
    return math.hypot(*(price_for_person(part, rounds, one_per_segment) for part in event.events))


@price.register
def _(event: EitherEvent) -> float:
    """μ = max(μ₁, μ₂): a row that stays in its release moves that one alone. One that leaves the one and enters the
    other moves both, each by 1/√2 of its price at most: (μ₁² + μ₂²)/2 is no more than the larger square, but on a
    lattice each is rounded in full, which may be the most of all. Proof: preparation.md."""
    parts = event.events
    return max(*map(price, parts), math.hypot(*(price(_one_sided(part)) for part in parts)))


@price_for_person.register
def _(event: EitherEvent, rounds: int, one_per_segment: bool) -> float:
    """k·μ, as no placement of k rows costs either release more than k times one row. With one row per segment the rows
    of both are counted as if they were not the same k: one in the first, which is one segment, and k in the second."""
    if rounds == 1 or not one_per_segment:
        return rounds * price(event)
    first, second = event.events
    return math.hypot(price(first), price_for_person(second, rounds, one_per_segment))


def _one_sided(event: Any) -> Any:
    """The release as a row sees it that only leaves it, or only enters."""
    if isinstance(event, LatticeEvent):
        return replace(event, event=_one_sided(event.event))
    return replace(event, sensitivity=event.sensitivity / math.sqrt(2))


@price.register
def _(event: PersonEvent) -> float:
    return price_for_person(event.event, event.rounds, event.one_per_segment)


@price_for_person.register
def _(_event: PersonEvent, _rounds: int, _one_per_segment: bool) -> float:
    raise UnknownEvent("Expected the event of a single row, got a PersonEvent inside another: give all rounds at once.")


@price.register
def _(event: ForkedEvent) -> float:
    """μ·√copies, an upper bound: over all copies a datum's column is the shared past once and each copy's own future,
    whose noise is its own; its square is at most `copies` times that of one learner."""
    return math.sqrt(event.copies) * price(event.event)


@price.register
def _(_event: WishartTreeEvent) -> float:
    raise UnknownEvent(
        "Expected an event with a price in mu, got a tree of Wishart masks, for which none is known. "
        "Use accountant.theorem_for: the paper's theorem bounds it at one delta."
    )


@theorem_for.register
def _(event: WishartTreeEvent) -> Theorem:
    """Per node ε₀ = ε/√(8m ln(2/δ)) and δ₀ = δ/2m; together ε' = ε₀√(2m ln(2/δ)) + mε₀(e^ε₀ − 1), δ' = δ.

    Shariff and Sheffet (2018): Theorem 8 for one node, then advanced composition over m. The node's theorem asks for
    k ≥ d + 1 + 28·ε₀⁻² ln(4/δ₀) degrees of freedom; it is quoted, not proved again here. The composition holds for
    every ε₀; we use the quoted node theorem for ε₀ < 1 only.
    """
    nodes, tail = event.nodes, math.log(2 / event.promise_delta)
    each = event.promise_epsilon / math.sqrt(8 * nodes * tail)
    source = "Shariff and Sheffet (2018), Theorem 8 and advanced composition"
    if each >= 1:
        raise UnknownEvent(
            f"Expected a Wishart node of epsilon below 1, got {each:.4g} per node from epsilon="
            f"{event.promise_epsilon:g} over {nodes} nodes: the theorem does not cover it. Promise a smaller epsilon."
        )
    least = 28 * math.log(8 * nodes / event.promise_delta) / each**2
    if event.degrees < least:
        raise UnknownEvent(
            f"Expected at least {math.ceil(least):,} degrees of freedom per Wishart node, got {event.degrees:,}: the "
            "theorem does not cover so little noise."
        )
    total = each * math.sqrt(2 * nodes * tail) + nodes * each * math.expm1(each)
    return Theorem(total, event.promise_delta, source)


@price.register
def _(_event: RandomisedResponseEvent) -> float:
    raise UnknownEvent(
        "Expected an event with a price in mu, got randomised response, which is pure DP. Use accountant.theorem_for."
    )


@theorem_for.register
def _(event: RandomisedResponseEvent) -> Theorem:
    """Any two answers have odds of at most e^ε against each other: pure ε-DP. Warner (1965); Dwork and Roth (2014)."""
    return Theorem(event.epsilon, 0.0, "randomised response")


@price.register
def _(_event: LaplaceEvent) -> float:
    raise UnknownEvent(
        "Expected an event with a price in mu, got Laplace noise, which is pure DP. Use accountant.theorem_for."
    )


@theorem_for.register
def _(event: LaplaceEvent) -> Theorem:
    """ε = n·Δ / b at δ = 0: the log-likelihood ratio of one sum is at most its L1 shift over b, on every path of
    adaptive inputs, and a datum is in n sums. Dwork, McSherry, Nissim and Smith (2006), Proposition 1."""
    epsilon = event.releases * event.sensitivity / event.scale
    return Theorem(epsilon, 0.0, "the Laplace mechanism of Dwork, McSherry, Nissim and Smith (2006)")


@price.register
def _(_event: ExponentialEvent) -> float:
    raise UnknownEvent(
        "Expected an event with a price in mu, got draws of the exponential mechanism, which are pure DP. Use "
        "accountant.theorem_for, or a Ledger to add them to others."
    )


@theorem_for.register
def _(event: LatticeEvent) -> Theorem | None:
    """Laplace noise: rounding moves each of m numbers of a release by 2ρ steps at most, which adds 2ρmh to its L1
    shift, and the ratio of two probabilities of a discrete Laplace number is that of the continuous one. Mixed reports:
    the clone bound is told the μ of a report on its lattice. Others have a price in μ. Proof: counters/lattice.md."""
    inner = event.event
    if isinstance(inner, LaplaceEvent):
        return theorem_for(replace(inner, sensitivity=inner.sensitivity + _rounded(event)))
    if isinstance(inner, ShuffledReportsEvent):
        alone = replace(event, event=ReportEvent(inner.scale, inner.sensitivity))
        return theorem_for(replace(inner, sensitivity=price(alone) * inner.scale))
    return None


def _rounded(event: LatticeEvent) -> float:
    """By how much rounding can move a release apart in L1, in its own unit."""
    return 2 * event.rounding * event.coordinates * event.step


@theorem_for.register
def _(event: ExponentialEvent) -> Theorem:
    """ε = k·ε₀ at δ = 0. Log-odds between any two candidates move by at most ε₀, so no probability moves by a factor
    above e^ε₀: probabilities sum to 1 on both sides, and not all can grow. McSherry and Talwar (2007)."""
    return Theorem(event.draws * event.epsilon, 0.0, "the exponential mechanism of McSherry and Talwar (2007)")


@price.register(ShuffledReportsEvent)
@price.register(BinomialSumEvent)
def _(event: ShuffledReportsEvent | BinomialSumEvent) -> float:
    raise UnknownEvent(
        f"Expected an event with a price in mu, got {event.kind}, which is bounded at one delta. Use "
        "accountant.theorem_for."
    )


@theorem_for.register
def _(event: ShuffledReportsEvent) -> Theorem:
    """ε of the numeric clone bound with n honest reports, or of the reports on their own, whichever is smaller."""
    mu = event.sensitivity / event.scale
    found = gaussian_shuffled(mu, event.honest_reports, event.delta, event.reports)
    source = (
        "amplified by shuffling: numeric clone bound of Feldman, McMillan and Talwar (2021)"
        if found.amplified
        else "local: the exact curve of each report, which the shuffler does not improve"
    )
    return Theorem(found.epsilon, event.delta, source)


@theorem_for.register
def _(event: BinomialSumEvent) -> Theorem:
    """ε of the theorem in `binomial`: binomial scores compared with normal ones, coordinate by coordinate."""
    epsilon = binomial_epsilon(
        event.trials, event.sensitivity, event.coordinates, event.delta, event.reports, event.chance
    )
    if math.isinf(epsilon):
        raise UnknownEvent(
            f"Expected enough binomial noise for a certified bound at delta={event.delta:g}, got {event.trials:,} "
            f"trials per coordinate for rows of {event.sensitivity:.6g} grid steps. Use more trials."
        )
    return Theorem(epsilon, event.delta, "certified binomial noise: normal scores, random rounding included")


@theorem_for.register
def _(event: PersonEvent) -> Theorem | None:
    """Events that count what a person has in them are asked for k times as much; no other has a theorem.

    Under Laplace noise shifts add, whether the person's rows share a sum or not: k·ε. So do moves of log-odds, row by
    row.
    """
    one, rounds = event.event, event.rounds
    if isinstance(one, LatticeEvent):
        inner = one.event
        if isinstance(inner, LaplaceEvent):
            return theorem_for(replace(one, event=replace(inner, releases=rounds * inner.releases)))
        if isinstance(inner, ShuffledReportsEvent):
            return theorem_for(replace(one, event=replace(inner, reports=rounds * inner.reports)))
        return None
    if isinstance(one, ShuffledReportsEvent | BinomialSumEvent):
        return theorem_for(replace(one, reports=rounds * one.reports))
    if isinstance(one, LaplaceEvent):
        return theorem_for(replace(one, releases=rounds * one.releases))
    if isinstance(one, ExponentialEvent):
        return theorem_for(replace(one, epsilon=rounds * one.epsilon))
    return None


@theorem_for.register
def _(event: ForkedEvent) -> Theorem | None:
    one = theorem_for(event.event)
    return None if one is None else one.composed(event.copies)


def _refuse(event: object, how: str) -> NoReturn:
    # Only harmless values are shown: an object nobody knows may hold data in its repr.
    shown = repr(event) if event is None or isinstance(event, str | int | float | type) else "an instance"
    raise UnknownEvent(
        f"Expected a recorded event such as TreeEvent or GaussianEvent, got {shown} of type {type(event).__name__}, "
        f"for which no price has been proved. Record one of the events in tacit.privacy.event, or add a theorem with "
        f"accountant.{how}."
    )
