"""The rules, with made-up numbers: each must be able to say yes and to say no."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.reproduce.experiment import Claim, Finding, Table
from tacit.reproduce.judge import (
    Interval,
    Sample,
    alike,
    at_least_times,
    below_line,
    highest,
    log_log_slope,
    lower,
    slope_near,
)

CLAIM = Claim("a sentence")
LOW = Sample("low", np.array([1.0, 2.0, 3.0]))
HIGH = Sample("high", np.array([11.0, 12.5, 13.0]))
NOISY = Sample("noisy", np.array([-20.0, 2.5, 30.0]))


@pytest.mark.parametrize(
    ("small", "large", "finding"),
    [(LOW, HIGH, Finding.HOLDS), (HIGH, LOW, Finding.FAILS), (LOW, NOISY, Finding.FAILS), (LOW, LOW, Finding.FAILS)],
)
def test_lower_needs_two_standard_errors(small, large, finding):
    assert lower(CLAIM, small, large).finding is finding


def test_differences_are_taken_trial_by_trial():
    """The trials scatter by hundreds, but always by the same one: a difference of one is seen."""
    base = np.array([0.0, 500.0, 1000.0, 200.0])
    shifted = Sample("b", base + np.array([1.0, 1.1, 0.9, 1.0]))
    assert lower(CLAIM, Sample("a", base), shifted).finding is Finding.HOLDS


def test_one_trial_settles_no_difference():
    one, two = Sample("a", np.array([1.0])), Sample("b", np.array([9.0]))
    assert lower(CLAIM, one, two).finding is Finding.UNTESTED


def test_highest_must_beat_every_other():
    assert highest(CLAIM, HIGH, LOW).finding is Finding.HOLDS
    assert highest(CLAIM, HIGH, LOW, Sample("same", HIGH.values.copy())).finding is Finding.FAILS


@pytest.mark.parametrize(("factor", "finding"), [(5, Finding.HOLDS), (7, Finding.FAILS)])
def test_times(factor, finding):
    verdict = at_least_times(CLAIM, LOW, HIGH, factor)
    assert verdict.finding is finding
    assert verdict.values["ratio"] == pytest.approx(HIGH.mean / LOW.mean)


def test_times_of_nothing_is_no_number_and_stays_out_of_the_json():
    verdict = at_least_times(CLAIM, Sample("none", np.zeros(2)), HIGH, 5)
    assert verdict.finding is Finding.HOLDS
    assert verdict.values == {}


@pytest.mark.parametrize(("other", "finding"), [(1.09, Finding.HOLDS), (1.2, Finding.FAILS)])
def test_alike(other, finding):
    assert alike(CLAIM, HIGH, Sample("other", HIGH.values * other), 0.10).finding is finding


def test_below_a_line_everywhere_or_not_at_all():
    line = np.array([10.0, 10.0, 10.0])
    inside, outside = np.array([1.0, 9.0, 9.9]), np.array([1.0, 11.0, 9.0])
    assert below_line(CLAIM, [("in", inside, line)]).finding is Finding.HOLDS
    assert below_line(CLAIM, [("in", inside, line), ("out", outside, line)]).finding is Finding.FAILS
    assert below_line(CLAIM, [("up", line, inside)], above=True).finding is Finding.HOLDS
    assert below_line(CLAIM, [("up", inside, line)], above=True).finding is Finding.FAILS


def test_the_slope_of_a_power_is_its_exponent():
    dims = [4, 8, 16, 32]
    wobble = np.array([0.98, 1.0, 1.02])
    slope = log_log_slope(dims, [3 * dim**1.5 * wobble for dim in dims])
    assert slope.estimate == pytest.approx(1.5)
    assert slope.low <= 1.5 <= slope.high
    assert math.isinf(log_log_slope(dims, [np.array([float(dim)]) for dim in dims]).high)


def test_the_interval_of_the_slope_covers_as_often_as_it_says():
    """95 % of 400 intervals, up to four standard errors of a binomial: fails by chance once in 10,000."""
    rng, dims, covered = np.random.default_rng(5), [4, 8, 16], 0
    for _ in range(400):
        slope = log_log_slope(dims, [dim**2 * np.exp(rng.normal(0, 0.3, 6)) for dim in dims])
        covered += slope.low <= 2 <= slope.high
    assert abs(covered - 380) < 4 * math.sqrt(400 * 0.95 * 0.05)


@pytest.mark.parametrize(
    ("slope", "finding"),
    [
        (Interval(2.0, 1.9, 2.1), Finding.HOLDS),
        (Interval(2.3, 2.15, 2.45), Finding.HOLDS),
        (Interval(2.5, 2.3, 2.7), Finding.FAILS),
        (Interval(1.0, 0.9, 1.1), Finding.FAILS),
        (Interval(2.0, -math.inf, math.inf), Finding.UNTESTED),
    ],
)
def test_the_slope_is_near_two(slope, finding):
    assert slope_near(CLAIM, slope, 1.8, 2.2).finding is finding


def test_tables_are_for_reading_and_for_programs():
    made = Table(("name", "n", "value"), [("a, b", 1000, 1234.5678), ("c", 2, None)])
    assert made.right == (1, 2)
    assert made.csv().splitlines() == ["name,n,value", '"a, b",1000,1234.5678', "c,2,"]
    assert "1,235" in made.text()
    assert made.to_dict()[1] == {"name": "c", "n": 2, "value": None}
