"""A vector that is released once, in whole steps: its noise, its price, and what rounding may do.

Error level: noise of the operating system is checked at 1e-9.
"""

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.mechanisms.vector import ROUNDING, released, scale_of, vector_event
from tacit.noise.plain import Numbers
from tacit.privacy.accountant import price
from tacit.privacy.event import GaussianEvent, LatticeEvent
from tacit.privacy.promise import Promise
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

PROMISE = Promise(1.0, 1e-6)


@pytest.mark.parametrize("rows", [1, 1000, 10**5, 4 * 10**6])
def test_rounding_is_in_the_price_and_costs_little(rows):
    event = vector_event(2.0, 50, rows, PROMISE, "secure")
    assert isinstance(event, LatticeEvent)
    plain = vector_event(2.0, 50, rows, PROMISE, "double")
    assert isinstance(plain, GaussianEvent)
    assert price(event) <= PROMISE.mu
    assert 1 <= scale_of(event) / scale_of(plain) < 1.05
    # What is summed in doubles is off by a quarter of a step at most, and rounding by a half.
    assert (rows + 2) * rows * 1.0 * 2.0**-53 <= 0.25 * event.step
    assert event.rounding == ROUNDING == 0.75


def test_what_is_left_of_a_budget_is_spent_and_not_exceeded():
    for wanted in (0.2368, 1e-3, 3.0):
        event = vector_event(2.0, 20, 1000, wanted, "secure")
        assert price(event) <= wanted
        assert price(event) == pytest.approx(wanted, rel=1e-6)


def test_too_many_records_for_exact_sums_are_refused():
    with pytest.raises(BadInput, match="at most 4 million records"):
        vector_event(2.0, 20, 10**7, PROMISE, "secure")


def test_released_numbers_are_whole_steps_with_the_noise_of_the_event():
    event = vector_event(2.0, 40_000, 1000, PROMISE, "secure")
    vector = np.full(40_000, 0.123456789)
    found = released(vector, event, Numbers(None)) / event.step
    assert np.abs(found - np.rint(found)).max() < 1e-3  # a product with the step is rounded
    noise = (np.rint(found) - np.rint(vector / event.step)) / event.steps
    assert checks.law(noise, checks.normal) > UNSEEDED_LEVEL
    assert checks.scale(noise, 1.0) > UNSEEDED_LEVEL
    assert checks.scale(0.95 * noise, 1.0) < UNSEEDED_LEVEL


def test_without_a_seed_there_are_no_doubles():
    event = vector_event(2.0, 3, 10, PROMISE, "double")
    with pytest.raises(RuntimeError, match="Expected a seed"):
        released(np.zeros(3), event, Numbers(None))
