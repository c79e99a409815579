"""Release times: whole-number arithmetic, the worked examples, and the plan that uses them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit import JointLinUCB
from tacit.counters.counter import release_times

RATIOS = [Fraction(ratio) for ratio in ("101/100", "11/10", "6/5", "3/2", "2", "10", "1000001/1000000")]


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("first", [1, 2, 5, 57, 10**9])
def test_times_follow_the_rule_in_exact_fractions_and_strictly_increase(first, ratio):
    times = release_times(first, ratio, 400)
    assert times.dtype == np.int64
    assert times[0] == first
    assert (np.diff(times) > 0).all()
    for before, after in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
        assert after == max(before + 1, math.ceil(ratio * before))


def test_a_product_in_floats_would_have_been_rounded_up():
    """Why whole numbers: ⌈1.1·50⌉ in floats is 56."""
    assert math.ceil(1.1 * 50) == 56
    assert release_times(50, Fraction(11, 10), 3).tolist() == [50, 55, 61]


def test_times_out_of_reach_are_left_out():
    times = release_times(1, Fraction(2), 2048)
    assert times.tolist() == [2**k for k in range(63)]


def test_one_view_is_one_time():
    assert release_times(9, Fraction(2), 1).tolist() == [9]


def test_the_fine_schedule_of_the_worked_example():
    times = release_times(57, Fraction(101, 100), 2048)
    assert times[:6].tolist() == [57, 58, 59, 60, 61, 62]
    assert np.searchsorted(times, 10**6, side="right") == 927
    assert len(times) == 2048
    assert times[-1] == 69_397_424_945


def test_the_coarse_schedule_of_the_worked_example():
    times = release_times(47, Fraction(6, 5), 128)
    assert times[:6].tolist() == [47, 57, 69, 83, 100, 120]
    assert len(times) == 128
    assert times[-1] == 553_756_205_228


@pytest.mark.parametrize(
    ("options", "scale", "bound", "first", "last"),
    [
        ({}, 4.0512, 56.043, [57, 58, 59, 60, 61, 62], 69_397_424_945),
        ({"views": 128, "ratio": 1.2}, 3.5008, 46.286, [47, 57, 69, 83, 100, 120], 553_756_205_228),
    ],
)
@pytest.mark.parametrize("shift", [None, 2.0, 6.0])
def test_the_plan_of_the_worked_example(options, scale, bound, first, last, shift):
    """d = 5, unit bounds, ε = 1, δ = 0.1, α = 5e-6: s, Υ_1 and the times, whatever the shift."""
    config = JointLinUCB(dim=5, epsilon=1.0, delta=0.1, failure=5e-6, shift=shift, width="theory", **options)
    params = config.plan().params
    assert params.counter.scale == pytest.approx(scale, abs=5e-5)
    assert params.estimate.regulariser[0] / config.shift_factor == pytest.approx(bound, abs=5e-4)
    assert params.schedule.times[:6].tolist() == first
    assert params.schedule.times[-1] == last


def test_the_times_of_a_plan_depend_on_the_configuration_alone():
    options = {"dim": 3, "epsilon": 2.0, "delta": 1e-5}
    assert np.array_equal(
        JointLinUCB(**options).plan().params.schedule.times, JointLinUCB(**options).plan().params.schedule.times
    )


@pytest.mark.parametrize("dim", [2, 50])
def test_the_first_release_waits_for_as_many_rows_as_dimensions_and_for_the_regulariser(dim):
    config = JointLinUCB(dim=dim, epsilon=1e6, delta=0.1, width="theory")
    params = config.plan().params
    bound = params.estimate.regulariser[0] / config.shift_factor
    assert params.schedule.times[0] == max(dim, math.ceil(bound))
