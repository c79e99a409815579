"""Counts: rounded without bias, under ones of exactly the binomial law, whoever draws them.

Error level: each statistical comparison is at 1e-6 (two-sided, or χ² over cells of equal weight), with fixed seeds.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from tacit._kernel import kernel
from tacit.mechanisms.shuffle import draw_binomial, grid_of, most_uniforms, round_randomly, value_of
from tacit.mechanisms.shuffle.binomial import PROPOSAL, REJECTED, _log_probability
from tacit.noise import refill, stream, tape
from tests.statistics import checks
from tests.statistics.checks import LEVEL

RUNS = 60_000

#: From one coin to more ones than any plan asks for; around the border between the two ways of drawing.
TRIALS = [1, 2, 7, 19, 20, 21, 39, 40, 41, 150, 10**4, 10**6, 10**9, 4 * 10**11]


@kernel
def _draw(trials, probability, out, scratch, noise):
    for run in range(out.shape[0]):
        out[run] = draw_binomial(trials, probability, scratch, noise)


@kernel
def _draw_together(trials, probability, people, out, scratch, noise):
    """What so many people have together, each with trials of their own."""
    for run in range(out.shape[0]):
        out[run] = 0.0
        for _ in range(people):
            out[run] += draw_binomial(trials, probability, scratch, noise)


@kernel
def _round(grid, value, out, noise_of_rounding):
    for run in range(out.shape[0]):
        out[run] = round_randomly(grid, value, noise_of_rounding[run])


def drawn(trials, probability, runs=RUNS, seed=1):
    out = np.zeros(runs)
    _draw(float(trials), probability, out, np.zeros(PROPOSAL), stream(seed))
    return out


def binomial_p_value(sample, trials, probability) -> float:
    """χ² over about forty cells, as even as whole numbers allow, the outermost of them open."""
    law = stats.binom(trials, probability)
    ends = np.unique(law.ppf(np.linspace(0, 1, 41)[1:-1]))
    below = law.cdf(ends)
    chances = np.diff(np.concatenate([[0.0], below, [1.0]]))
    counts = np.bincount(np.searchsorted(ends, sample), minlength=len(chances))
    kept = chances > 0
    assert not counts[~kept].any()
    return checks.counts(counts[kept], chances[kept])


@pytest.mark.parametrize("probability", [0.5, 0.25])
@pytest.mark.parametrize("trials", TRIALS)
def test_ones_have_the_binomial_law(trials, probability):
    sample = drawn(trials, probability)
    assert binomial_p_value(sample, trials, probability) > LEVEL
    assert np.array_equal(sample, np.floor(sample))
    assert sample.min() >= 0
    assert sample.max() <= trials


@pytest.mark.parametrize(("trials", "believed"), [(7, 8), (19, 20), (40, 41), (10**4, 10_100), (10**9, 10**9 + 10**5)])
def test_the_test_rejects_another_number_of_trials(trials, believed):
    assert binomial_p_value(drawn(trials, 0.5), believed, 0.5) < LEVEL


def test_the_test_rejects_a_coin_that_is_not_quite_fair():
    assert binomial_p_value(drawn(10**4, 0.495), 10**4, 0.5) < LEVEL


@pytest.mark.parametrize("probability", [0.5, 0.25])
@pytest.mark.parametrize("trials", [20, 41, 1000, 10**6, 10**9, 10**12, 2**51])
def test_probabilities_are_right_to_thirteen_digits(trials, probability):
    """What proposals are compared with, ten deviations out, against 60 digits."""
    spread = math.sqrt(trials * probability * (1 - probability))
    with mpmath.workdps(60):
        for z in (-10, -4, -1, 0, 0.5, 3, 10):
            k = min(max(int(trials * probability + z * spread), 0), trials)
            exact = mpmath.loggamma(trials + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(trials - k + 1)
            exact += k * mpmath.log(probability) + (trials - k) * mpmath.log(1 - mpmath.mpf(probability))
            assert _log_probability(float(k), float(trials), probability) == pytest.approx(float(exact), abs=1e-13)


@pytest.mark.parametrize("trials", [0, 5, 20, 22, 30, 100, 500, 10**6])
@pytest.mark.parametrize("draws", [1, 40, 1000])
def test_what_is_laid_out_for_a_call_is_enough(trials, draws):
    """A tape that runs out raises. Its numbers come from the operating system: no seed can be fixed, and none is needed
    at one failure in 10³⁰ calls."""
    room = most_uniforms(draws)
    source, out = tape(0, room), np.zeros(draws)
    for _ in range(20_000 // draws):
        refill(source, 0, room)
        _draw(float(trials), 0.5, out, np.zeros(PROPOSAL), source)


@pytest.mark.parametrize(("trials", "chance"), [(20, 0.5), (21, 0.5), (22, 0.5), (30, 0.5), (41, 0.25), (10**6, 0.5)])
def test_proposals_are_rejected_no_more_often_than_was_counted_on(trials, chance):
    """Error level 1e-7: the rate of 50,000 draws is within 0.004 of the truth, and REJECTED is 0.03 above it."""
    draws = 50_000
    source = tape(0, 4 * PROPOSAL * draws)
    refill(source, 0, 4 * PROPOSAL * draws)
    before = int(source.at[1])
    _draw(float(trials), chance, np.zeros(draws), np.zeros(PROPOSAL), source)
    assert (int(source.at[1]) - before) / PROPOSAL / draws - 1 < REJECTED


def test_running_out_is_as_rare_as_stated():
    """Exact tails; and with a fixed number laid aside, whatever the number of draws, many draws would run out."""
    for draws in (1, 2, 5, 10, 20, 40, 80, 160, 230, 1000, 5150):
        assert stats.binom.cdf(draws - 1, most_uniforms(draws) // PROPOSAL, 1 / (1 + REJECTED)) < 1e-30
    assert stats.binom.cdf(229, 230 + 64, 1 / (1 + REJECTED)) > 0.9


@pytest.mark.parametrize(("people", "each"), [(20, 1), (20, 53), (7, 2000)])
def test_the_ones_of_many_people_are_one_binomial(people, each):
    """Devices draw their own, a simulation draws them at once: the same law."""
    out = np.zeros(RUNS)
    _draw_together(float(each), 0.5, people, out, np.zeros(PROPOSAL), stream(2))
    assert binomial_p_value(out, people * each, 0.5) > LEVEL
    assert binomial_p_value(out, people * each + max(1, people * each // 50), 0.5) < LEVEL, (
        "and the test sees a few more"
    )


GRIDS = [grid_of(4, 1.0), grid_of(37, 0.5), grid_of(1000, 3.0)]


def rounded(grid, value, runs=RUNS, seed=3):
    uniforms = np.random.default_rng(seed).random(runs)
    out = np.zeros(runs)
    _round(grid, value, out, uniforms)
    return out


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
@pytest.mark.parametrize("share", [-1.0, -0.77, 0.0, 0.013, 0.4999, 1.0])
def test_a_number_is_rounded_to_a_step_beside_it_without_bias(grid, share):
    value = share * grid.offset
    place = (value + grid.offset) / grid.step
    counts = rounded(grid, value)
    assert set(counts) <= {math.floor(place), math.floor(place) + 1}
    assert counts.min() >= 0
    assert counts.max() <= grid.steps
    up = place - math.floor(place)
    assert checks.share((counts > place).sum(), RUNS, up) > LEVEL if up > 0 else np.all(counts == place)
    values = value_of(grid, counts.sum(), 0.0, float(RUNS)) / RUNS
    assert values == pytest.approx(value, abs=5 * grid.step / math.sqrt(RUNS))


def test_the_test_rejects_rounding_to_the_nearest():
    """Broken twin: no randomness in the rounding, and the mean is wrong."""
    grid = GRIDS[0]
    place = (0.2 + grid.offset) / grid.step
    nearest = np.full(RUNS, round(place))
    assert checks.share((nearest > place).sum(), RUNS, place - math.floor(place)) < LEVEL


@pytest.mark.parametrize("value", [-1e100, -1.0000001, 1.5, 1e100])
def test_whatever_comes_is_rounded_within_the_grid(value):
    grid = GRIDS[0]
    assert set(rounded(grid, value, runs=100)) == {0.0 if value < 0 else grid.steps}


def test_ones_are_taken_off_again():
    """The counts of a batch with their ones say the sum of the numbers, with the deviation they should have."""
    grid, people, each = grid_of(64, 1.0), 25, 40
    rng = np.random.default_rng(4)
    values = rng.uniform(-1, 1, people)
    totals = np.zeros(4000)
    for k, value in enumerate(values):
        totals += rounded(grid, value, runs=len(totals), seed=50 + k)
    totals += drawn(people * each, 0.5, runs=len(totals), seed=5)
    said = np.array([value_of(grid, total, people * each / 2, float(people)) for total in totals])
    share = (values + grid.offset) / grid.step % 1
    deviation = grid.step * math.sqrt(people * each / 4 + (share * (1 - share)).sum())
    assert checks.centre(said, values.sum(), deviation) > LEVEL
    assert (
        checks.law(
            (said - values.sum()) / deviation + rng.uniform(-0.5, 0.5, len(said)) * grid.step / deviation, checks.normal
        )
        > LEVEL
    )
    assert checks.scale((said - values.sum()), deviation) > LEVEL
    assert checks.scale((said - values.sum()), deviation * 1.1) < LEVEL, "a tenth more would be seen"
    assert checks.centre(said, values.sum() + grid.step * people * each / 100, deviation) < LEVEL
