"""Sums that forget: what is published is the best combination of them, under the noise that is said, and no more of a
row is in them than is priced.

Error level: each comparison of a variance is at 1e-6 (chi-square); seeds are fixed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.counters.counter import add, lattice_of, publish
from tacit.counters.discounted import DiscountedCounter
from tacit.noise import DiscreteGaussian, stream, tape_of
from tacit.privacy.accountant import price
from tests.statistics import checks
from tests.statistics.checks import LEVEL

DIM, SIZE, DIAGONAL = 2, 5, [0, 2]
COUNTER = DiscountedCounter(Fraction(11, 10), first=6, last=40, before=3)
SCHEDULE = COUNTER.schedule(6)
SCALE = 2.5


def segments():
    """How many rows are in each."""
    return np.diff(SCHEDULE.times - COUNTER.before, prepend=0)


def rows(seed=1):
    """A row for each tick after the first three: features and a reward."""
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=DIM), float(rng.normal())) for _ in range(int(segments().sum()))]


def packed(x, y):
    return np.array([x[0] * x[0], x[0] * x[1], x[1] * x[1], x[0] * y, x[1] * y])


def played(kernels, told, noise, sums, memory):
    """What is published at the end of every segment."""
    found, at = [], 0
    for stage, count in enumerate(segments()):
        for x, y in told[at : at + count]:
            add(kernels, x, y, DIM, sums)
        at += count
        row = int(SCHEDULE.times[stage])
        found.append(memory[publish(kernels, DIM, row, stage, sums, memory, noise)].copy())
        assert not sums.any(), "of a segment nothing stays but what is discounted"
    return np.array(found)


def in_doubles(scale, told, noise):
    memory = np.zeros((COUNTER.memory_rows(SCHEDULE, False), SIZE))
    return played(COUNTER.timed(SCHEDULE).in_doubles(scale), told, noise, np.zeros(SIZE), memory)


def on_lattice(step, told, normals):
    """What is published, and the kernels' memory."""
    memory = np.zeros((COUNTER.memory_rows(SCHEDULE, True), SIZE))
    kernels = COUNTER.timed(SCHEDULE).on_lattice(lattice_of(DIM, step, np.zeros(SIZE)))
    found = played(kernels, told, tape_of(normals, np.zeros(1)), np.zeros((2, SIZE)), memory)
    return found, memory


def discounted(numbers):
    """D_k = ρ·D_{k−1} + x_k, and the mass m_k of each."""
    keep, sums, mass = 1 / 1.1, [], []
    for k, count in enumerate(segments()):
        sums.append(numbers[k] + (keep * sums[-1] if k else 0.0))
        mass.append(count + (keep * mass[-1] if k else 0.0))
    return np.array(sums), np.array(mass)


def in_segments(told):
    """The sum of each segment."""
    ends = np.cumsum(segments())
    every = np.array([packed(*row) for row in told])
    return np.array([every[end - count : end].sum(axis=0) for end, count in zip(ends, segments(), strict=True)])


def weighted(sums, mass):
    """t_k·Σ_j m_j·sums_j/Σ_j m_j²."""
    rows_so_far = np.cumsum(segments())
    return (rows_so_far / np.cumsum(mass**2))[:, None] * np.cumsum(mass[:, None] * sums, axis=0)


# Sums -----------------------------------------------------------------------------------------------------------------


def test_the_first_release_is_where_it_is_said_and_none_is_after_the_last():
    assert SCHEDULE.times[0] == 6
    assert (
        SCHEDULE.times[-1]
        <= 40
        < DiscountedCounter(Fraction(11, 10), 6, 10**6, 3).schedule(6).times[len(SCHEDULE.times)]
    )
    assert COUNTER.views == len(SCHEDULE.times) > 10


def test_without_noise_what_is_published_is_the_weighted_sum():
    told = rows()
    expected = weighted(*discounted(in_segments(told)))
    np.testing.assert_allclose(in_doubles(0.0, told, stream(1)), expected, rtol=1e-12)


def test_of_rows_that_are_all_alike_it_is_as_many_as_there_are():
    """Weights forget nothing on the whole: equal rows come out as often as they came."""
    x, y = np.array([0.3, -0.7]), 0.4
    told = [(x, y)] * len(rows())
    found = in_doubles(0.0, told, stream(1))
    np.testing.assert_allclose(found, np.cumsum(segments())[:, None] * packed(x, y), rtol=1e-12)


def weight_of_a_row(counter, schedule, place):
    """How much of a row of this segment is in what is published in the end."""
    kernels, memory, sums = counter.timed(schedule).in_doubles(0.0), np.zeros((4, SIZE)), np.zeros(SIZE)
    for stage in range(counter.views):
        if stage == place:
            add(kernels, np.array([1.0, 0.0]), 0.0, DIM, sums)
        publish(kernels, DIM, int(schedule.times[stage]), stage, sums, memory, stream(1))
    return memory[3, 0]


def test_a_row_of_the_first_segment_and_one_that_just_came_count_less_than_those_between():
    """A twin of the prefix sums, in which every row counts as one: the first has been discounted since, and the last is
    in one release of many."""
    counter = DiscountedCounter(Fraction(11, 10), first=100, last=50_000)
    schedule = counter.schedule(100)
    found = [weight_of_a_row(counter, schedule, place) for place in range(counter.views)]
    assert max(found[0], found[-1]) < 0.4
    assert max(found) > 1.1
    counts = np.diff(schedule.times, prepend=0)
    assert counts @ found == pytest.approx(schedule.times[-1], rel=1e-12)


# Noise ----------------------------------------------------------------------------------------------------------------


def runs(count=4000):
    """Noise of all releases of so many counters, in doubles: (count, releases, size)."""
    told = [(np.zeros(DIM), 0.0)] * len(rows())
    return np.array([in_doubles(SCALE, told, stream(seed, 0, 1)) for seed in range(count)])


@pytest.fixture(scope="module")
def noise():
    found = runs()
    found[..., DIAGONAL] /= np.sqrt(2.0)
    return found


def test_what_is_published_has_the_deviation_that_is_said(noise):
    deviations = SCALE * COUNTER.timed(SCHEDULE).deviations()
    for stage, deviation in enumerate(deviations):
        assert checks.scale(noise[:, stage], deviation) > LEVEL
        assert checks.scale(noise[:, stage], 0.95 * deviation) < LEVEL


def test_noise_of_different_releases_is_correlated_as_shared_draws_are(noise):
    """Release k has m_j·t_k/Σm² of draw j: what two share are the draws of the earlier one."""
    mass = discounted(np.zeros((COUNTER.views, 1)))[1]
    first, last = 2, COUNTER.views - 1
    factor = np.cumsum(segments()) / np.cumsum(mass**2)
    expected = SCALE**2 * factor[first] * factor[last] * (mass[: first + 1] ** 2).sum()
    found = np.mean(noise[:, first] * noise[:, last])
    assert found == pytest.approx(expected, rel=0.05)


def test_no_other_weights_have_less_noise():
    """Of all weights w with Σ w_j·m_j = t_k those that are used have the least Σ w_j²."""
    mass = discounted(np.zeros((COUNTER.views, 1)))[1]
    rng = np.random.default_rng(3)
    for k in (0, 3, COUNTER.views - 1):
        total = segments()[: k + 1].sum()
        for _ in range(200):
            weights = rng.exponential(size=k + 1)
            weights *= total / (weights @ mass[: k + 1])
            assert np.linalg.norm(weights) >= COUNTER.timed(SCHEDULE).deviations()[k] * (1 - 1e-12)


def test_the_draws_of_a_number_are_counted_with_their_weights():
    mass = discounted(np.zeros((COUNTER.views, 1)))[1]
    factor = np.cumsum(segments()) / np.cumsum(mass**2)
    np.testing.assert_allclose(COUNTER.timed(SCHEDULE).draws(), factor * np.cumsum(mass), rtol=1e-12)


# Price ----------------------------------------------------------------------------------------------------------------


def test_a_row_is_in_all_releases_together_as_much_as_is_priced():
    """Of a row of the first segment all releases before noise hold 1, ρ, ρ²…; of later ones fewer."""
    event = COUNTER.event(SCALE, 2.0)
    told = [(np.zeros(DIM), 0.0)] * len(rows())
    lengths = []
    for at in (0, *(np.cumsum(segments())[:-1])):
        one = list(told)
        one[at] = (np.array([1.0, 0.0]), 0.0)
        memory, sums, seen, place = np.zeros((4, SIZE)), np.zeros(SIZE), [], 0
        kernels = COUNTER.timed(SCHEDULE).in_doubles(0.0)
        for stage, count in enumerate(segments()):
            for x, y in one[place : place + count]:
                add(kernels, x, y, DIM, sums)
            place += count
            publish(kernels, DIM, int(SCHEDULE.times[stage]), stage, sums, memory, stream(1))
            seen.append(memory[1, 0])
        lengths.append(np.linalg.norm(seen))
    assert price(event) == pytest.approx(2.0 * max(lengths) / SCALE, rel=1e-12)
    assert lengths == sorted(lengths, reverse=True)
    assert price(event) > 1.2 * 2.0 / SCALE, "a row is in more than one release"


# A lattice ------------------------------------------------------------------------------------------------------------


def test_on_a_lattice_what_is_published_is_off_by_rounding_alone():
    told, step = rows(), 2.0**-12
    expected = in_doubles(0.0, told, stream(1))
    found, memory = on_lattice(step, told, np.zeros(SIZE * COUNTER.views))
    most = 0.51 * np.sqrt(2.0) * step * COUNTER.timed(SCHEDULE).draws()[:, None]
    assert (np.abs(found - expected) <= most).all()
    assert np.abs(found - expected).max() > 0.01 * step
    assert (memory[2] == np.rint(memory[2])).all()


def test_on_a_lattice_noise_is_added_once_and_weighted_as_in_doubles():
    """The same numbers as noise, in steps and in units: the same is published, but for rounding."""
    told, step = rows(), 2.0**-12
    draws = np.rint(np.random.default_rng(5).normal(size=(COUNTER.views, SIZE)) * 2.0**14)
    found, _ = on_lattice(step, told, draws.ravel().copy())
    quiet, _ = on_lattice(step, told, np.zeros(draws.size))
    units = np.full(SIZE, step)
    units[DIAGONAL] *= np.sqrt(2.0)
    mass = discounted(np.zeros((COUNTER.views, 1)))[1]
    np.testing.assert_allclose(found - quiet, weighted(draws * units, mass), rtol=0, atol=1e-9)
    # and in doubles, of the same draws
    same = in_doubles(step, [(np.zeros(DIM), 0.0)] * len(told), tape_of(draws.ravel().copy(), np.zeros(1)))
    np.testing.assert_allclose(found - quiet, same, rtol=0, atol=1e-9)


def test_both_samplers_publish_noise_of_one_law():
    """Discrete Gaussians of many steps, from 400 counters: the deviation that is said, and 5 % less is rejected."""
    step = SCALE / 2.0**12
    told = [(np.zeros(DIM), 0.0)] * len(rows())
    law = DiscreteGaussian(2.0**12)
    found = np.array([on_lattice(step, told, law.draw(SIZE * COUNTER.views))[0] for _ in range(400)])
    found[..., DIAGONAL] /= np.sqrt(2.0)
    for stage, deviation in enumerate(SCALE * COUNTER.timed(SCHEDULE).deviations()):
        assert checks.scale(found[:, stage], deviation) > checks.UNSEEDED_LEVEL
    # All stages at once have 3 % to be told from 0.9 times as much.
    last = found[:, -1] / (SCALE * COUNTER.timed(SCHEDULE).deviations()[-1])
    assert checks.scale(last, 0.75) < checks.UNSEEDED_LEVEL
