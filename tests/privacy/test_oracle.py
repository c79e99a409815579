"""Every event against another accountant: Google's `dp_accounting`, which composes distributions of privacy losses.

The other one is told what is released, number by number, and nothing of our theorems: how far each released number
moves, found by trying every placement of a person's rows, and the noise on it. It brackets the true curve from both
sides. Ours must never be below its optimistic side; where ours is exact it must not be above the pessimistic one by
more than the stated share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import binom, norm

from tacit.errors import UnknownEvent
from tacit.privacy import (
    BinomialSumEvent,
    DiscountedEvent,
    EitherEvent,
    Event,
    ExactRelease,
    ExponentialEvent,
    ForkedEvent,
    GaussianEvent,
    LaplaceEvent,
    NothingReleased,
    PersonEvent,
    RandomisedResponseEvent,
    ReportEvent,
    SegmentsEvent,
    ShuffledReportsEvent,
    ToeplitzEvent,
    Together,
    TreeEvent,
    UncertifiedNoise,
    WishartTreeEvent,
    gdp,
    price,
    theorem_for,
)
from tacit.privacy.event import LatticeEvent, RootToeplitzEvent
from tacit.privacy.toeplitz import Design

DELTAS = (1e-3, 1e-6, 1e-9)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
#: Losses are told apart down to this. The bracket is that wide for each release that is composed.
STEP = 5e-4
#: For pure events: so small a δ that what is left out at it hardly lowers ε.
TINY = 1e-12

Curve = Any
Oracle = Callable[[bool], Curve]


def composed(parts: Sequence[Curve]) -> Curve:
    return reduce(lambda one, other: one.compose(other), parts)


def gaussians(*shifts: float) -> Oracle:
    """Numbers under independent normal noise of scale 1, and how far each moves."""
    moved = sorted(abs(shift) for shift in shifts if shift)

    def curve(pessimistic: bool) -> Curve:
        return composed(
            [
                pld.from_gaussian_mechanism(
                    1.0,
                    sensitivity=shift,
                    pessimistic_estimate=pessimistic,
                    value_discretization_interval=STEP,
                    use_connect_dots=pessimistic,
                ).self_compose(len(list(same)))
                for shift, same in itertools.groupby(moved)
            ]
        )

    return curve


def discrete_gaussians(scale: float, *shifts: int) -> Oracle:
    """Whole numbers under independent discrete Gaussian noise, and by how many steps each moves."""

    def curve(pessimistic: bool) -> Curve:
        return composed(
            [
                pld.from_discrete_gaussian_mechanism(
                    scale,
                    sensitivity=shift,
                    pessimistic_estimate=pessimistic,
                    value_discretization_interval=STEP,
                    use_connect_dots=pessimistic,
                )
                for shift in shifts
            ]
        )

    return curve


def laplaces(*ratios: float) -> Oracle:
    """Numbers under independent Laplace noise of scale 1, and how far each moves."""

    def curve(pessimistic: bool) -> Curve:
        return composed(
            [
                pld.from_laplace_mechanism(
                    1.0,
                    sensitivity=ratio,
                    pessimistic_estimate=pessimistic,
                    value_discretization_interval=STEP,
                    use_connect_dots=pessimistic,
                )
                for ratio in ratios
            ]
        )

    return curve


def two_laws(p: np.ndarray, q: np.ndarray, times: int = 1) -> Oracle:
    """What is seen, as two distributions over the same places: one for each of two neighbours."""
    seen = np.flatnonzero(np.maximum(p, q) > 1e-60)  # of what is rarer the other one cannot take the quotient
    laws = [{int(place): math.log(law[place]) for place in seen if law[place] > 0} for law in (q, p)]

    def curve(pessimistic: bool) -> Curve:
        return pld.from_two_probability_mass_functions(
            *laws, pessimistic_estimate=pessimistic, value_discretization_interval=STEP, symmetric=False
        ).self_compose(times)

    return curve


def answers(epsilon: float, choices: int) -> Oracle:
    """Randomised response over so many answers, in the other accountant's parameters: chance p of an even draw."""
    even = choices / (math.exp(epsilon) + choices - 1)
    return lambda pessimistic: pld.from_randomized_response(
        even, choices, pessimistic_estimate=pessimistic, value_discretization_interval=STEP
    )


def draws(epsilon: float, times: int = 1, odds: float = 10.0) -> Oracle:
    """Two candidates whose log-odds a row moves by ε: about the worst where one of them is rare."""
    first, second = (np.array([1.0, math.exp(odds - moved)]) for moved in (0.0, epsilon))
    return two_laws(second / second.sum(), first / first.sum(), times)


def counted_ones(trials: int, chance: float, *shifts: float) -> Oracle:
    """Counts under binomial noise; a part of a step is rounded up as often as it is large."""
    noise = binom.pmf(np.arange(trials + 1), trials, chance)

    def law(shift: float) -> np.ndarray:
        found = np.zeros(trials + 2 + math.ceil(max(shifts)))
        for whole, share in ((math.floor(shift), 1 - shift % 1), (math.floor(shift) + 1, shift % 1)):
            found[whole : whole + trials + 1] += share * noise if share else 0.0
        return found

    parts = [two_laws(law(shift), law(0.0)) for shift in shifts]
    return lambda pessimistic: composed([part(pessimistic) for part in parts])


def counted_signs(shift: float, reports: int, others: int) -> Oracle:
    """An attack on shuffled reports under normal noise: how many lie on the one side of the middle."""
    kept = float(norm.cdf(shift / 2))

    def counts(yes: int) -> np.ndarray:
        first = binom.pmf(np.arange(yes + 1), yes, kept)
        return np.convolve(first, binom.pmf(np.arange(reports - yes + 1), reports - yes, 1 - kept))

    return two_laws(counts(others), counts(others + 1))


# What a person's rows do, by trying every placement -----------------------------------------------------------------


def tree_shifts(levels: int, rows: int) -> list[float]:
    """How far each node of a binary tree moves under the worst placement of so many of its 2^levels rows."""

    def nodes(placed: tuple[int, ...]) -> list[float]:
        return [
            float(sum(row >> level == node for row in placed))
            for level in range(levels)
            for node in range(2 ** (levels - level))
        ]

    return max(map(nodes, itertools.combinations(range(2**levels), rows)), key=lambda found: math.hypot(*found))


def series(over: Sequence[float], under: Sequence[float], count: int) -> list[float]:
    """Coefficients of Π(1 − over·z)/Π(1 − under·z), by long division."""
    top, bottom = np.array([1.0]), np.array([1.0])
    for root in over:
        top = np.convolve(top, [1.0, -root])
    for root in under:
        bottom = np.convolve(bottom, [1.0, -root])
    found: list[float] = []
    for place in range(count):
        known = sum(bottom[back] * found[place - back] for back in range(1, min(place, len(bottom) - 1) + 1))
        found.append(float((top[place] if place < len(top) else 0.0) - known))
    return found


def column_shifts(column: Sequence[float], rows: int, *, together: bool = False) -> list[float]:
    """How far each number of Cx moves under the worst placement of rows, in different places or all in one."""
    count = len(column)
    matrix = np.array([[0.0] * start + list(column[: count - start]) for start in range(count)])
    if together:
        return list(rows * matrix[0])
    placed = [matrix[list(places)].sum(axis=0) for places in itertools.combinations(range(count), min(rows, count))]
    return list(max(placed, key=lambda found: float(np.linalg.norm(found))))


TWO_BUFFERS = Design(poles=(0.01, 0.3), zeros=(0.08, 0.7))
BUFFERED = series([1 - gap for gap in TWO_BUFFERS.zeros], [1 - gap for gap in TWO_BUFFERS.poles], 7)
FORGETTING = [0.8**place for place in range(5)]
ROOT = [math.comb(2 * place, place) / 4**place for place in range(5)]


# The table ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An event, what the other accountant makes of it, and by what share ours may be above it: None for a bound."""

    event: Event
    oracle: Oracle
    above: float | None = 1e-3


def times(factor: float, shifts: Sequence[float]) -> list[float]:
    return [factor * shift for shift in shifts]


BINOMIAL = BinomialSumEvent(trials=4096, sensitivity=8.0, coordinates=1, delta=1e-6)
SHUFFLED = ShuffledReportsEvent(scale=8.0, sensitivity=2.0, batch=2000, honest=0.9, delta=1e-6)

CASES = {
    "gaussian": Case(GaussianEvent(2.0, 1.5), gaussians(0.75)),
    "gaussian, a person": Case(PersonEvent(GaussianEvent(4.0, 1.5), 3), gaussians(3 * 1.5 / 4)),
    "segments": Case(SegmentsEvent(0.8, 1.0), gaussians(1.25)),
    "segments, rows together": Case(PersonEvent(SegmentsEvent(4.0, 1.0), 3), gaussians(0.75)),
    "segments, rows apart": Case(PersonEvent(SegmentsEvent(2.0, 1.0), 3, True), gaussians(0.5, 0.5, 0.5)),
    "tree": Case(TreeEvent(2.0, 1.0, 5), gaussians(*[0.5] * 5)),
    "tree, two rows": Case(PersonEvent(TreeEvent(4.0, 1.0, 3), 2), gaussians(*times(1 / 4, tree_shifts(3, 2)))),
    "tree, five rows": Case(PersonEvent(TreeEvent(8.0, 1.0, 3), 5), gaussians(*times(1 / 8, tree_shifts(3, 5)))),
    "toeplitz": Case(
        ToeplitzEvent(2.0, 1.0, 7, TWO_BUFFERS, "one"), gaussians(*times(1 / 2, column_shifts(BUFFERED, 1)))
    ),
    "toeplitz, three rows": Case(
        PersonEvent(ToeplitzEvent(4.0, 1.0, 7, TWO_BUFFERS, "one"), 3),
        gaussians(*times(1 / 4, column_shifts(BUFFERED, 3))),
    ),
    "toeplitz, rows in one segment": Case(
        PersonEvent(ToeplitzEvent(4.0, 1.0, 7, TWO_BUFFERS, "many"), 2),
        gaussians(*times(1 / 4, column_shifts(BUFFERED, 2, together=True))),
    ),
    "toeplitz, rows apart": Case(
        PersonEvent(ToeplitzEvent(4.0, 1.0, 7, TWO_BUFFERS, "many"), 3, True),
        gaussians(*times(1 / 4, column_shifts(BUFFERED, 3))),
    ),
    "root": Case(RootToeplitzEvent(2.0, 1.0, 5), gaussians(*times(1 / 2, column_shifts(ROOT, 1)))),
    "root, two rows": Case(
        PersonEvent(RootToeplitzEvent(4.0, 1.0, 5), 2),
        gaussians(*times(1 / 4, column_shifts(ROOT, 2, together=True))),
    ),
    "discounted": Case(DiscountedEvent(2.0, 1.0, 5, 0.8), gaussians(*times(1 / 2, column_shifts(FORGETTING, 1)))),
    "discounted, rows in one segment": Case(
        PersonEvent(DiscountedEvent(4.0, 1.0, 5, 0.8), 2),
        gaussians(*times(1 / 4, column_shifts(FORGETTING, 2, together=True))),
    ),
    "discounted, rows apart": Case(
        PersonEvent(DiscountedEvent(4.0, 1.0, 5, 0.8), 3, True), gaussians(*times(1 / 4, column_shifts(FORGETTING, 3)))
    ),
    "either": Case(
        EitherEvent((GaussianEvent(4.0, 1.0), DiscountedEvent(2.0, 1.0, 5, 0.8))),
        gaussians(*times(1 / 2, column_shifts(FORGETTING, 1))),
    ),
    # A row that leaves one and enters the other moves both by 1/√2.
    "either, a row that changes sides": Case(
        EitherEvent((GaussianEvent(2.0, 1.5), GaussianEvent(2.0, 1.5))), gaussians(0.75 / 2**0.5, 0.75 / 2**0.5)
    ),
    "either, a person": Case(
        PersonEvent(EitherEvent((GaussianEvent(16.0, 2.0), DiscountedEvent(8.0, 1.0, 5, 0.8))), 3),
        gaussians(*times(3 / 8, column_shifts(FORGETTING, 1))),
    ),
    "either, a person's rows apart": Case(
        PersonEvent(EitherEvent((GaussianEvent(8.0, 2.0), DiscountedEvent(8.0, 1.0, 5, 0.8))), 3, True),
        gaussians(0.25, *times(1 / 8, column_shifts(FORGETTING, 2))),
        None,  # a bound: three rows are counted in the sums beside the one in the other
    ),
    "reports": Case(ReportEvent(2.0, 1.0, 4), gaussians(*[0.5] * 4)),
    "reports, a person": Case(PersonEvent(ReportEvent(2.0, 1.0, 2), 3), gaussians(*[0.5] * 6)),
    "together": Case(
        Together((GaussianEvent(2.0, 1.0), TreeEvent(4.0, 1.0, 3), ReportEvent(1.0, 0.25, 2))),
        gaussians(0.5, *[0.25] * 5),
    ),
    "together, a person": Case(
        PersonEvent(Together((GaussianEvent(4.0, 1.0), TreeEvent(8.0, 1.0, 3))), 2),
        gaussians(0.5, *times(1 / 8, tree_shifts(3, 2))),
    ),
    "forked": Case(ForkedEvent(TreeEvent(4.0, 1.0, 3), 3), gaussians(*[0.25] * 9)),
    "forked, a person": Case(ForkedEvent(PersonEvent(SegmentsEvent(4.0, 1.0), 2), 2), gaussians(*[0.5] * 2)),
    # Sums in whole numbers: a step is 1/64 of the noise and less, which costs a little.
    "lattice": Case(LatticeEvent(GaussianEvent(64.0, 64.0), 1.0, 1, 0.0), discrete_gaussians(64.0, 64), 0.002),
    "lattice, rounded": Case(
        LatticeEvent(GaussianEvent(128.0, 128.0), 1.0, 3, 0.5), discrete_gaussians(128.0, 129, 1, 1), 0.01
    ),
    "lattice of a tree": Case(
        LatticeEvent(TreeEvent(128.0, 64.0, 2), 1.0, 1, 0.0), discrete_gaussians(128.0, 64, 64), 0.002
    ),
    "lattice of discounted sums": Case(
        LatticeEvent(DiscountedEvent(128.0, 64.0, 3, 0.5), 1.0, 1, 0.0), discrete_gaussians(128.0, 64, 32, 16), 0.002
    ),
    "lattice of either": Case(
        EitherEvent(
            (
                LatticeEvent(GaussianEvent(256.0, 128.0), 2.0, 1, 0.0),
                LatticeEvent(DiscountedEvent(128.0, 64.0, 3, 0.5), 1.0, 1, 0.0),
            )
        ),
        discrete_gaussians(128.0, 64, 32, 16),
        0.002,
    ),
    "lattice, a person": Case(
        PersonEvent(LatticeEvent(SegmentsEvent(128.0, 64.0), 1.0, 1, 0.0), 2), discrete_gaussians(128.0, 128), 0.002
    ),
    # Pure: exact where δ is nothing.
    "laplace": Case(LaplaceEvent(2.0, 1.5), laplaces(0.75)),
    "laplace, in three sums": Case(LaplaceEvent(2.0, 1.0, 3), laplaces(0.5, 0.5, 0.5), 0.01),
    "laplace, a person": Case(PersonEvent(LaplaceEvent(2.0, 0.5, 2), 3), laplaces(0.75, 0.75), 0.01),
    "laplace, forked": Case(ForkedEvent(LaplaceEvent(2.0, 1.0), 2), laplaces(0.5, 0.5), 0.01),
    "answers, two": Case(RandomisedResponseEvent(1.0), answers(1.0, 2)),
    "answers, five": Case(RandomisedResponseEvent(2.0), answers(2.0, 5)),
    "draws": Case(ExponentialEvent(1.0), draws(1.0)),
    "draws, two": Case(ExponentialEvent(0.5, 2), draws(0.5, 2), 0.01),
    "draws, a person": Case(PersonEvent(ExponentialEvent(0.5), 3), draws(1.5)),
    # Bounds at one δ; that of shuffled reports is far above what any attack here finds.
    "binomial": Case(BINOMIAL, counted_ones(4096, 0.5, 8.0), 0.03),
    "binomial, rounded": Case(replace(BINOMIAL, sensitivity=7.5), counted_ones(4096, 0.5, 7.5), 0.03),
    "binomial, in two places": Case(
        replace(BINOMIAL, sensitivity=10.0, coordinates=2), counted_ones(4096, 0.5, 6.0, 8.0), 0.03
    ),
    "binomial, uneven": Case(replace(BINOMIAL, chance=0.25), counted_ones(4096, 0.25, 8.0), 0.03),
    "binomial, a person": Case(PersonEvent(replace(BINOMIAL, sensitivity=3.0), 2), counted_ones(4096, 0.5, 6.0), 0.03),
    "shuffled, seen as a sum": Case(SHUFFLED, gaussians(0.25 / math.sqrt(1800)), None),
    "shuffled, seen as signs": Case(SHUFFLED, counted_signs(0.25, 1800, 900), None),
    "shuffled, all others alike": Case(SHUFFLED, counted_signs(0.25, 1800, 0), None),
}

#: Events that the other accountant has nothing to compare with, and why.
NO_ORACLE = {
    WishartTreeEvent: "a quoted theorem about random matrices; there is no distribution of its losses to compose",
    NothingReleased: "costs nothing: checked below",
    ExactRelease: "costs everything: checked below",
    UncertifiedNoise: "costs everything: checked below",
}


def kinds_in(event: Event) -> set[type[Event]]:
    """Of an event and all that it is made of."""
    inner = getattr(event, "events", None) or ([event.event] if hasattr(event, "event") else [])
    return {type(event)}.union(*map(kinds_in, inner))


def ours(event: Event) -> tuple[Callable[[float], float] | None, float, float]:
    """ε as a function of δ; or, where a theorem speaks of one δ only, that δ and ε there."""
    theorem = theorem_for(event)
    if theorem is None:
        mu = price(event)
        return (lambda delta: gdp.epsilon_at(mu, delta)), 0.0, 0.0
    return None, theorem.delta, theorem.epsilon


@pytest.mark.parametrize("name", CASES)
def test_no_event_is_cheaper_than_the_other_accountant_finds(name):
    case = CASES[name]
    curve, at, epsilon = ours(case.event)
    low, high = case.oracle(False), case.oracle(True)
    if curve is not None:
        mu = price(case.event)
        for delta in DELTAS:
            found = curve(delta)
            assert found >= low.get_epsilon_for_delta(delta)
            if case.above is not None:
                assert found <= high.get_epsilon_for_delta(delta) * (1 + case.above) + STEP
        for point in EPSILONS:
            assert gdp.delta_at(mu, point) >= low.get_delta_for_epsilon(point) - 1e-14
    else:
        for delta in DELTAS if at == 0 else (at,):
            assert epsilon * (1 + 1e-12) >= low.get_epsilon_for_delta(delta)
        if case.above is not None:
            assert epsilon <= high.get_epsilon_for_delta(at or TINY) * (1 + case.above) + STEP


def test_shuffling_costs_less_than_sending_the_report_by_itself():
    alone = gaussians(0.25)(True)
    theorem = theorem_for(SHUFFLED)
    assert theorem.epsilon < 0.9 * alone.get_epsilon_for_delta(theorem.delta)


def test_nothing_costs_nothing_and_what_is_not_covered_everything():
    assert price(NothingReleased()) == 0.0
    assert price(ExactRelease("rows")) == price(UncertifiedNoise("rows")) == math.inf
    wishart = WishartTreeEvent(10**9, 2.0, 4, 1.0, 1e-6)
    with pytest.raises(UnknownEvent):
        price(wishart)
    assert theorem_for(wishart).epsilon <= 1.0


def test_every_event_has_an_oracle_or_a_reason_for_having_none():
    known = {kind for kind in Event.__subclasses__() if kind.__module__.startswith("tacit.privacy.event")}
    compared = set().union(*(kinds_in(case.event) for case in CASES.values()))
    assert len(known) >= 18
    assert compared & set(NO_ORACLE) == set()
    assert compared | set(NO_ORACLE) == known


#: Slips of a kind that the comparison must notice: the event with a little less of a price.
SLIPS = {
    "a tree with one node less": (CASES["tree"], TreeEvent(2.0, 1.0, 4)),
    "a person's rows counted once": (CASES["tree, five rows"], PersonEvent(TreeEvent(8.0, 1.0, 3), 4)),
    "a design for fewer releases": (CASES["toeplitz"], ToeplitzEvent(2.0, 1.0, 6, TWO_BUFFERS, "one")),
    "noise one part in a hundred larger": (CASES["reports"], ReportEvent(2.02, 1.0, 4)),
    "sums that forget sooner": (CASES["discounted"], DiscountedEvent(2.0, 1.0, 5, 0.78)),
    "a release of discounted sums that is not counted": (CASES["discounted"], DiscountedEvent(2.0, 1.0, 4, 0.8)),
    "the cheaper of either": (CASES["either"], EitherEvent((GaussianEvent(4.0, 1.0), GaussianEvent(4.0, 2.0)))),
    "a copy that is not counted": (CASES["forked"], ForkedEvent(TreeEvent(4.0, 1.0, 3), 2)),
    "a draw that is not counted": (CASES["draws, two"], ExponentialEvent(0.5)),
    "rounding left out": (CASES["lattice, rounded"], LatticeEvent(GaussianEvent(128.0, 127.0), 1.0, 3, 0.0)),
}


@pytest.mark.parametrize("name", SLIPS)
def test_the_comparison_notices(name):
    case, cheaper = SLIPS[name]
    curve, _, epsilon = ours(cheaper)
    low = case.oracle(False)
    found = epsilon if curve is None else curve(1e-6)
    assert found < low.get_epsilon_for_delta(1e-6 if curve is not None else 1e-9)
