"""Calibration: the accounted cost never exceeds the promise, and the check that says so rejects broken twins."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BadInput, PrivacyRefusal, UnknownEvent
from tacit.privacy import (
    DiscountedEvent,
    EitherEvent,
    Event,
    ExactRelease,
    GaussianEvent,
    NothingReleased,
    PersonEvent,
    Promise,
    RootToeplitzEvent,
    SegmentsEvent,
    ToeplitzEvent,
    Together,
    TreeEvent,
    calibrate,
    gdp,
    price,
)
from tacit.privacy.calibrate import SAFETY
from tacit.privacy.toeplitz import EIGHT_BUFFERS

FAMILIES: dict[str, Callable[[float, float, int], Event]] = {
    "tree": lambda scale, sensitivity, count: TreeEvent(scale, sensitivity, count.bit_length()),
    "toeplitz": lambda scale, sensitivity, count: ToeplitzEvent(scale, sensitivity, count, EIGHT_BUFFERS, "one"),
    "geometric": lambda scale, sensitivity, count: ToeplitzEvent(scale, sensitivity, count, EIGHT_BUFFERS, "many"),
    "root toeplitz": lambda scale, sensitivity, count: RootToeplitzEvent(scale, sensitivity, count),
    "discounted": lambda scale, sensitivity, count: DiscountedEvent(scale, sensitivity, count, 0.9),
    "either": lambda scale, sensitivity, count: EitherEvent(
        (GaussianEvent(scale, 2 * sensitivity), DiscountedEvent(scale, sensitivity, count, 0.9))
    ),
    "segments": lambda scale, sensitivity, _: SegmentsEvent(scale, sensitivity),
    "gaussian": lambda scale, sensitivity, _: GaussianEvent(scale, sensitivity),
    "together": lambda scale, sensitivity, count: Together(
        (GaussianEvent(scale, sensitivity), TreeEvent(2 * scale, sensitivity, count))
    ),
    "person": lambda scale, sensitivity, count: PersonEvent(
        ToeplitzEvent(scale, sensitivity, 2048, EIGHT_BUFFERS, "many"), count, one_per_segment=True
    ),
}


def keeps(promise: Promise, event: Event) -> bool:
    """The check itself, written out from the definition."""
    return gdp.delta_at(price(event), promise.epsilon) <= promise.delta


@settings(max_examples=150, deadline=None)
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    epsilon=st.floats(math.log(1e-4), math.log(1e3)).map(math.exp),
    delta=st.floats(math.log(1e-300), math.log(0.5)).map(math.exp),
    sensitivity=st.floats(-10, 10).map(math.exp),
    count=st.integers(1, 10**4),
)
def test_accounted_cost_never_exceeds_the_promise_and_wastes_nothing(family, epsilon, delta, sensitivity, count):
    promise = Promise(epsilon, delta)

    def event_at(scale: float) -> Event:
        return FAMILIES[family](scale, sensitivity, count)

    scale = calibrate(promise, event_at)
    mu = price(event_at(scale))
    assert gdp.epsilon_at(mu, delta) <= epsilon
    assert keeps(promise, event_at(scale))
    assert promise.kept_by(mu)
    assert mu == pytest.approx(promise.mu, rel=3 * SAFETY)
    assert mu <= promise.mu * (1 - SAFETY / 2)


def test_the_default_schedule_of_a_worked_example():
    # d = 5, L = B̃ = 1, ε = 1, δ = 0.1: 4.0512 with 2048 releases, 3.5008 with 128.
    for releases, expected in [(2048, 4.0512), (128, 3.5008)]:
        scale = calibrate(
            Promise(1.0, 0.1), lambda s, n=releases: ToeplitzEvent(s, 2.0, n, EIGHT_BUFFERS, rows_per_release="many")
        )
        assert scale == pytest.approx(expected, abs=6e-5)


PROMISES = [Promise(0.1, 1e-6), Promise(1.0, 1e-5), Promise(10.0, 0.1)]


def true_toeplitz(scale: float) -> Event:
    return ToeplitzEvent(scale, 2.0, 2**16, EIGHT_BUFFERS, "one")


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(
    "broken",
    [
        lambda s: ToeplitzEvent(s, 2.0, 2**14, EIGHT_BUFFERS, "one"),  # κ of N/4
        lambda s: ToeplitzEvent(s, 2.0 / math.sqrt(2), 2**16, EIGHT_BUFFERS, "one"),  # the √2 trap
        lambda s: ToeplitzEvent(s, 1.0, 2**16, EIGHT_BUFFERS, "one"),  # the reward left out of L̃²
        lambda s: GaussianEvent(s, 2.0),  # one release instead of many
        lambda s: ToeplitzEvent(s * (1 + 3e-6), 2.0, 2**16, EIGHT_BUFFERS, "one"),  # noise a hair short
    ],
    ids=["quarter horizon", "root two", "half the row", "one release", "a hair short"],
)
def test_the_check_rejects_noise_calibrated_for_something_cheaper(promise, broken):
    assert keeps(promise, true_toeplitz(calibrate(promise, true_toeplitz)))
    assert not keeps(promise, true_toeplitz(calibrate(promise, broken)))


@pytest.mark.parametrize("promise", PROMISES)
def test_the_check_rejects_a_tree_with_a_level_missing_and_a_person_counted_as_a_round(promise):
    tree = calibrate(promise, lambda s: TreeEvent(s, 2.0, 16))
    assert not keeps(promise, TreeEvent(tree, 2.0, 17))
    rounds = calibrate(promise, lambda s: TreeEvent(s, 2.0, 17))
    assert not keeps(promise, PersonEvent(TreeEvent(rounds, 2.0, 17), 2))


@dataclass(frozen=True)
class Law(Event):
    """An event of these tests only, whose price follows any law of the scale."""

    scale: float
    law: Callable[[float], float]

    def describe(self) -> str:
        return "A law."

    def to_dict(self) -> dict[str, Any]:
        return {}


@price.register
def _(event: Law) -> float:
    return event.law(event.scale)


@pytest.mark.parametrize(
    "law",
    [
        lambda s: 5 / math.sqrt(s),
        lambda s: 5 / s**2,
        lambda s: 1e-3 / s**2,
        lambda s: 3 / (1 + s),
        lambda s: 0.1 + 2 / s,
        lambda _: 0.01,
    ],
)
def test_a_price_that_is_not_inversely_proportional_still_ends_safe(law):
    promise = Promise(1.0, 1e-5)
    scale = calibrate(promise, lambda s: Law(s, law))
    assert keeps(promise, Law(scale, law))


@pytest.mark.parametrize(
    "law",
    [
        lambda _: 5.0,
        lambda s: 1 + s,
        lambda s: 0.5 + 1 / s,
        lambda _: math.inf,
        lambda _: math.nan,
        lambda s: 1 / math.log1p(s) + 0.26804,
    ],
)
def test_a_price_that_does_not_fall_enough_is_refused(law):
    with pytest.raises(PrivacyRefusal, match="No noise scale"):
        calibrate(Promise(1.0, 1e-5), lambda s: Law(s, law))


def test_events_without_noise_or_without_price_cannot_be_calibrated():
    promise = Promise(1.0, 1e-5)
    with pytest.raises(BadInput, match="costs nothing"):
        calibrate(promise, lambda _: NothingReleased())
    with pytest.raises(PrivacyRefusal, match="No noise scale"):
        calibrate(promise, lambda _: ExactRelease("the sums"))
    with pytest.raises(UnknownEvent):
        calibrate(promise, lambda _: None)
    with pytest.raises(BadInput, match="Promise"):
        calibrate((1.0, 1e-5), lambda s: GaussianEvent(s, 1.0))


def test_a_promise_that_needs_infinite_noise_is_refused():
    with pytest.raises(PrivacyRefusal, match="No noise scale"):
        calibrate(Promise(5e-324, 5e-324), lambda s: GaussianEvent(s, 1.0))


def test_a_promise_knows_its_mu():
    assert Promise(1, 1e-5).mu == gdp.mu_for(1.0, 1e-5)
    assert Promise(1, 1e-5) == Promise(1.0, 1e-5)


@pytest.mark.parametrize(
    ("epsilon", "delta", "word"),
    [
        (0.0, 1e-5, "epsilon"),
        (-1.0, 1e-5, "epsilon"),
        (math.inf, 1e-5, "epsilon"),
        (math.nan, 1e-5, "epsilon"),
        (None, 1e-5, "epsilon"),
        (1.0, 0.0, "delta"),
        (1.0, 1.0, "delta"),
        (1.0, math.nan, "delta"),
        (1.0, None, "delta"),
    ],
)
def test_impossible_promises_are_refused(epsilon, delta, word):
    with pytest.raises(BadInput, match=word):
        Promise(epsilon, delta)
