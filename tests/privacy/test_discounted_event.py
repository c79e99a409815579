"""Discounted sums, and rows that are in one of two releases: what the accountant says against matrices written out."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from tacit.errors import BadInput, UnknownEvent
from tacit.privacy import (
    DiscountedEvent,
    EitherEvent,
    ExactRelease,
    ForkedEvent,
    GaussianEvent,
    LaplaceEvent,
    Ledger,
    PersonEvent,
    Promise,
    SegmentsEvent,
    Together,
    TreeEvent,
    price,
)
from tacit.privacy.currencies import costs
from tacit.privacy.event import LatticeEvent

CENTRE, SUMS = GaussianEvent(8.0, 2.0), DiscountedEvent(4.0, 1.0, 6, 0.75)


def encoder(releases: int, keep: float) -> np.ndarray:
    """Row k: what of each segment is in release k."""
    return np.array([[keep ** (k - j) if k >= j else 0.0 for j in range(releases)] for k in range(releases)])


@pytest.mark.parametrize("keep", [0.1, 0.5, 10 / 11, 0.999])
@pytest.mark.parametrize("releases", [1, 2, 9])
def test_the_price_is_the_longest_column(releases: int, keep: float) -> None:
    longest = np.linalg.norm(encoder(releases, keep), axis=0).max()
    assert price(DiscountedEvent(3.0, 1.5, releases, keep)) == pytest.approx(0.5 * longest, rel=1e-12)


@pytest.mark.parametrize("keep", [0.1, 0.5, 10 / 11, 0.999])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 9, 40])
def test_a_person_costs_what_the_worst_placement_does(rows: int, keep: float) -> None:
    columns, event = encoder(9, keep), DiscountedEvent(1.0, 1.0, 9, keep)
    together = rows * np.linalg.norm(columns, axis=0).max()
    apart = max(
        np.linalg.norm(columns[:, list(places)].sum(axis=1))
        for places in itertools.combinations(range(9), min(rows, 9))
    )
    assert price(PersonEvent(event, rows)) == pytest.approx(together, rel=1e-12)
    assert price(PersonEvent(event, rows, True)) == pytest.approx(apart, rel=1e-12)


def moved(
    before: list[tuple[int, float]], after: list[tuple[int, float]], centre: float, sums: float, columns: np.ndarray
) -> float:
    """Place −1 is the centre, others are segments. Rows of before point one way and rows of after the other, which for
    sums are at right angles but for the share of their square that opposite rows have (sensitivity.md: N² and P)."""
    ways = {-1: 0.0}
    for place, weight in [*before, *after]:
        if place == -1:
            ways[-1] += weight * centre / 2
    counts = [np.sum([columns[:, place] * w for place, w in rows if place >= 0], axis=0) for rows in (before, after)]
    one, two = (np.zeros(len(columns)) + count for count in counts)
    share = 0.45  # N² of L̃⁴
    squared = sums**2 * (share * (one @ one + two @ two) + (1 - 2 * share) * (one @ two))
    return math.sqrt(ways[-1] ** 2 + squared)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_no_placement_over_both_releases_costs_more_than_the_price(rows: int) -> None:
    """Every placement of the rows in either world, those among them that stay and those that change sides."""
    releases = 4
    columns, keep = encoder(releases, 0.75), 0.75
    one = DiscountedEvent(1.0, 1.0, releases, keep)
    centre, sums = price(one), 1.0
    event = EitherEvent((GaussianEvent(1.0, centre), one))
    for apart in (False, True):
        rule = itertools.combinations if apart else itertools.combinations_with_replacement
        places = [list(found) for count in range(rows + 1) for found in rule(range(-1, releases), count)]
        worst = max(
            moved([(p, 1.0) for p in before], [(p, 1.0) for p in after], centre, sums, columns)
            for before in places
            for after in places
        )
        priced = price(PersonEvent(event, rows, apart))
        assert worst <= priced * (1 + 1e-12)
        assert worst >= (0.8 if apart else 1 - 1e-12) * priced


def test_a_row_in_one_of_two_costs_the_dearer_and_in_both_it_costs_both() -> None:
    event = EitherEvent((CENTRE, SUMS))
    assert price(event) == pytest.approx(max(price(CENTRE), price(SUMS)), rel=1e-12)
    assert price(event) < price(Together((CENTRE, SUMS)))
    assert price(PersonEvent(event, 5)) == 5 * price(event)
    assert price(PersonEvent(event, 1, True)) == price(event)
    assert price(ForkedEvent(event, 4)) == 2 * price(event)


def test_rounding_counts_for_both_where_it_is_most_of_the_price() -> None:
    """Of a row that changes sides both are rounded in full, though each is moved by less."""
    fine, coarse = (
        EitherEvent(tuple(LatticeEvent(part, step=step, coordinates=50, rounding=0.51) for part in (CENTRE, CENTRE)))
        for step in (1e-6, 0.1)
    )
    assert price(fine) == pytest.approx(price(CENTRE), rel=1e-4)
    of_one = price(coarse.events[0])
    rounding = of_one - price(CENTRE)
    assert rounding > 0.3 * price(CENTRE)
    both = math.hypot(*2 * [price(CENTRE) / math.sqrt(2) + rounding])
    assert price(coarse) == pytest.approx(both, rel=1e-3)
    assert price(coarse) > of_one


def test_they_add_up_with_others() -> None:
    event = EitherEvent((CENTRE, SUMS))
    (cost,) = costs(event)
    assert cost.mu_squared == price(event) ** 2
    (person,) = costs(PersonEvent(event, 3))
    assert person.mu_squared == pytest.approx(9 * cost.mu_squared)
    ledger = Ledger(Promise(10.0, 1e-6))
    ledger.spend(event)
    ledger.spend(SUMS)
    assert ledger.guarantee.mu == pytest.approx(math.hypot(price(event), price(SUMS)))


@pytest.mark.parametrize("event", [SUMS, EitherEvent((CENTRE, SUMS)), PersonEvent(EitherEvent((CENTRE, SUMS)), 2)])
def test_the_facts_travel_as_json_and_hold_every_number(event: object) -> None:
    facts = json.loads(json.dumps(event.to_dict(), allow_nan=False))
    text = json.dumps(facts)
    for number in ("4.0", "0.75", "6"):
        assert number in text
    assert "0.75 is left in the next" in event.describe()


def test_an_event_of_either_says_that_no_row_is_in_both() -> None:
    assert EitherEvent((CENTRE, SUMS)).describe().endswith("A row is in one of these two, and never in both.")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: DiscountedEvent(0.0, 1.0, 3, 0.5), "scale"),
        (lambda: DiscountedEvent(1.0, math.nan, 3, 0.5), "sensitivity"),
        (lambda: DiscountedEvent(1.0, 1.0, 0, 0.5), "releases"),
        (lambda: DiscountedEvent(1.0, 1.0, 3, 1.0), "keep"),
        (lambda: DiscountedEvent(1.0, 1.0, 3, 0.0), "keep"),
        (lambda: EitherEvent((CENTRE,)), "two events"),
        (lambda: EitherEvent((CENTRE, "sums")), "two events"),
        (lambda: EitherEvent((CENTRE, PersonEvent(SUMS, 2))), "sums with a sensitivity, got PersonEvent"),
        (lambda: EitherEvent((ExactRelease("rows"), SUMS)), "sums with a sensitivity, got ExactRelease"),
    ],
)
def test_impossible_facts_are_refused(build: object, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        build()


def test_noise_without_a_price_in_mu_has_none_here() -> None:
    with pytest.raises(UnknownEvent):
        price(EitherEvent((LaplaceEvent(1.0, 1.0), SUMS)))
    assert price(EitherEvent((SegmentsEvent(1.0, 1.0), TreeEvent(1.0, 0.5, 4)))) == pytest.approx(1.0)
