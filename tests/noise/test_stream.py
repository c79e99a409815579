"""Reproducible randomness: the same numbers from the same seed, the right laws, no visible dependence."""

import math

import numpy as np
import pytest
from scipy import special

from tacit._kernel import implementation, kernel
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.noise import Source, fill_normals, fill_uniforms, first_normals, stream
from tacit.noise.stream import BLOCK, LANES, _draw_normals, _draw_words
from tests.statistics import checks
from tests.statistics.checks import LEVEL

COUNT = 1_000_000
FILLS = {"normals": fill_normals, "uniforms": fill_uniforms}


def drawn(what, count, *seed):
    out = np.empty(count)
    FILLS[what](stream(*seed), out)
    return out


@pytest.fixture(scope="module")
def normals():
    return drawn("normals", COUNT, 1, 0, 0)


@pytest.fixture(scope="module")
def uniforms():
    return drawn("uniforms", COUNT, 1, 0, 0)


# Reproducible ----------------------------------------


@pytest.mark.parametrize("what", FILLS)
@pytest.mark.parametrize("seed", [(0,), (1, 0, 0), (2**63, 5, 1)])
def test_the_same_seed_and_path_give_the_same_numbers(what, seed):
    assert np.array_equal(drawn(what, 5000, *seed), drawn(what, 5000, *seed))


@pytest.mark.parametrize("what", FILLS)
def test_every_other_seed_trial_or_purpose_gives_other_numbers(what):
    paths = [(seed, trial, purpose) for seed in range(6) for trial in range(6) for purpose in (ENVIRONMENT, POLICY)]
    paths += [(seed,) for seed in range(6)] + [(seed, trial) for seed in range(6) for trial in range(6)]
    firsts = {drawn(what, 64, *path).tobytes() for path in paths}
    assert len(firsts) == len(paths)


@pytest.mark.parametrize("what", FILLS)
@pytest.mark.parametrize("pieces", [(1,) * 50, (7, 300, 1024, 1, 2000, 0, 5), (BLOCK - 1, 2, BLOCK, BLOCK + 1)])
def test_numbers_filled_in_pieces_are_those_filled_at_once(what, pieces):
    source = stream(3)
    parts = [np.empty(size) for size in pieces]
    for part in parts:
        FILLS[what](source, part)
    assert np.array_equal(np.concatenate(parts), drawn(what, sum(pieces), 3))


def test_a_kernel_gets_the_numbers_that_python_gets():
    assert implementation(fill_normals, Source) is not None
    inside = np.empty(3000)
    _fill_inside(stream(4), inside)
    assert np.array_equal(inside, drawn("normals", 3000, 4))


@kernel
def _fill_inside(source, out):
    fill_normals(source, out)


# The generator ----------------------------------------


def test_every_lane_steps_as_the_reference_generator_does():
    """xoshiro256++ from the state (1, 2, 3, 4): the reference implementation's first outputs."""
    expected = [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]
    state = np.repeat(np.array([[1], [2], [3], [4]], np.uint64), LANES, axis=1)
    words = np.zeros(BLOCK, np.uint64)
    _draw_words(state, words)
    for lane in range(LANES):
        assert words[lane::LANES][: len(expected)].tolist() == expected


def test_lanes_start_from_different_states():
    assert len({tuple(lane) for lane in stream(0).state.T}) == LANES


def box_muller(words):
    """The textbook formula, by numpy's logarithm, sine and cosine."""
    first, second = words[: BLOCK // 2], words[BLOCK // 2 :]
    u = 1.0 - (first >> np.uint64(12)) * 2.0**-52
    turn = (second >> np.uint64(12)) * 2.0**-52 - 0.5
    radius = np.sqrt(-2 * np.log(u))
    return np.concatenate([radius * np.cos(2 * np.pi * turn), radius * np.sin(2 * np.pi * turn)])


def test_box_muller_in_plain_arithmetic_agrees_with_the_library_functions():
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(200):
        words = rng.integers(0, 2**64, BLOCK, dtype=np.uint64)
        normals = np.empty(BLOCK)
        _draw_normals(words, normals)
        worst = max(worst, np.abs(normals - box_muller(words)).max())
    assert worst < 1e-10


def test_box_muller_agrees_at_the_ends_of_its_range():
    """u = 1, 1 − 2⁻⁵², 2⁻⁵² and either side of every power of two and of √½; the turn at 0, ±¼, ±½ and next to them."""
    top = 2**52
    places = {0, 1, 2, top - 1, top - 2, round(top * (1 - math.sqrt(0.5)))}
    places |= {top - (top >> k) + step for k in range(1, 50) for step in (-1, 0, 1)}
    turns = [0, 1, top // 8, top // 4 - 1, top // 4, top // 2, 3 * top // 4, 3 * top // 4 + 1, top - 1]
    pairs = [(place, turn) for place in sorted(places) if 0 <= place < top for turn in turns]
    for start in range(0, len(pairs), BLOCK // 2):
        chunk = pairs[start : start + BLOCK // 2]
        chunk += chunk[:1] * (BLOCK // 2 - len(chunk))
        words = np.array([place for place, _ in chunk] + [turn for _, turn in chunk], np.uint64) << np.uint64(12)
        normals = np.empty(BLOCK)
        _draw_normals(words, normals)
        assert np.isfinite(normals).all()
        assert np.abs(normals - box_muller(words)).max() < 1e-10


# Laws: every check errs with probability LEVEL = 1e-6 ----------------------------------------


def test_normals_are_standard_normal(normals):
    assert checks.law(normals, checks.normal) > LEVEL


@pytest.mark.parametrize("factor", [0.9, 0.98, 1.02, 1.1])
def test_the_test_of_normality_rejects_a_wrong_scale(normals, factor):
    assert checks.law(factor * normals, checks.normal) < LEVEL


def moment_checks(values):
    """The mean, scale, third and fourth moments of a million normals; E x⁶ = 15, E x⁸ = 105."""
    return checks.combined(
        [
            checks.centre(values, 0, 1),
            checks.scale(values, 1),
            checks.centre(values**3, 0, math.sqrt(15)),
            checks.centre(values**4, 3, math.sqrt(105 - 9)),
        ]
    )


def test_the_first_four_moments_are_those_of_a_normal(normals):
    assert moment_checks(normals) > LEVEL


def test_the_test_of_moments_rejects_a_wrong_scale_and_a_heavy_tail(normals):
    assert moment_checks(1.01 * normals) < LEVEL
    heavy = np.random.default_rng(6).standard_t(20, COUNT) * math.sqrt(18 / 20)
    assert moment_checks(heavy) < LEVEL


@pytest.mark.parametrize("limit", [3, 4])
def test_the_tails_hold_as_much_as_they_should(normals, limit):
    for values in (normals, -normals):
        hits = np.count_nonzero(values > limit)
        assert checks.share(hits, COUNT, special.ndtr(-limit)) > LEVEL


def test_the_test_of_tails_rejects_a_scale_off_by_ten_percent(normals):
    assert checks.share(np.count_nonzero(1.1 * normals > 3), COUNT, special.ndtr(-3)) < LEVEL
    assert checks.share(np.count_nonzero(1.1 * normals > 4), COUNT, special.ndtr(-4)) < LEVEL


def test_uniforms_are_uniform_and_never_reach_one(uniforms):
    assert uniforms.min() >= 0
    assert uniforms.max() < 1
    assert checks.law(uniforms, checks.uniform) > LEVEL
    assert checks.law(uniforms**1.02, checks.uniform) < LEVEL


def test_the_largest_and_the_smallest_word_make_uniforms_in_range():
    source = stream(0)
    for word, expected in ((0, 0.0), (2**64 - 1, 1 - 2.0**-52)):
        # All zeros stays zero; the output (s0 + s3 rotated) + s0 is all ones from s0 = −1, s1 = s2 = 0, s3 = 1.
        source.state[:] = 0
        if word:
            source.state[0], source.state[3] = np.uint64(2**64 - 1), np.uint64(1)
        source.at[:] = BLOCK
        out = np.empty(1)
        fill_uniforms(source, out)
        assert out[0] == expected


@pytest.mark.parametrize("lowest", [0, 44])
def test_the_high_and_the_low_bits_of_uniforms_are_even(uniforms, lowest):
    bits = (uniforms * 2.0**52).astype(np.uint64) >> np.uint64(52 - 8 - lowest) & np.uint64(255)
    assert checks.counts(np.bincount(bits.astype(int), minlength=256)) > LEVEL


def test_the_test_of_bits_rejects_a_stuck_bit(uniforms):
    bits = (uniforms * 2.0**52).astype(np.uint64) & np.uint64(254)
    assert checks.counts(np.bincount(bits.astype(int), minlength=256)) < LEVEL


# Independence: every check errs with probability LEVEL ----------------------------------------

LAGS = [*range(1, 41), 63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 2048]


def lag_checks(values, mean, square_mean):
    """Correlations of the values, and of their squares, at every lag: a Box–Muller pair stands 512 apart."""
    values = values[: COUNT // 4]
    centred, squares = values - mean, values**2 - square_mean
    series = (centred, squares)
    return checks.combined([checks.unrelated(one[:-lag], one[lag:]) for one in series for lag in LAGS])


def test_normals_at_any_lag_are_unrelated(normals):
    assert lag_checks(normals, 0, 1) > LEVEL


def test_uniforms_at_any_lag_are_unrelated(uniforms):
    assert lag_checks(uniforms, 1 / 2, 1 / 3) > LEVEL


@pytest.mark.parametrize("lag", [1, 16, 512])
def test_the_test_of_lags_rejects_numbers_that_come_back(normals, lag):
    """A fiftieth of each number added to the one `lag` later; then only its size, under a sign of its own."""
    assert lag_checks(normals[lag:] + 0.02 * normals[:-lag], 0, 1) < LEVEL
    sizes = np.sqrt(0.98 * normals[lag:] ** 2 + 0.02 * normals[:-lag] ** 2)
    assert lag_checks(sizes * np.random.default_rng(7).choice([-1.0, 1.0], sizes.size), 0, 1) < LEVEL


def test_lanes_are_unrelated_and_each_is_normal(normals):
    lanes = normals.reshape(-1, LANES)
    assert checks.covariance(lanes, np.eye(LANES)) > LEVEL
    assert checks.combined([checks.law(lane, checks.normal) for lane in lanes.T]) > LEVEL


def test_the_test_of_lanes_rejects_two_lanes_that_share_a_state():
    source = stream(8)
    source.state[:, 3] = source.state[:, 11]
    values = np.empty(16 * 2000)
    fill_normals(source, values)
    assert checks.covariance(values.reshape(-1, LANES), np.eye(LANES)) < LEVEL


def test_the_two_streams_of_a_trial_and_neighbouring_trials_and_seeds_are_unrelated():
    paths = [(*trial, purpose) for trial in ((1, 0), (1, 1), (2, 0)) for purpose in (ENVIRONMENT, POLICY)]
    columns = np.stack([drawn("normals", 100_000, *path) for path in paths], axis=1)
    assert checks.covariance(columns, np.eye(len(paths))) > LEVEL


def test_the_test_of_streams_rejects_streams_that_share_numbers():
    one, other = drawn("normals", 100_000, 1, 0, ENVIRONMENT), drawn("normals", 100_000, 1, 0, POLICY)
    assert checks.covariance(np.stack([one, one], axis=1), np.eye(2)) < LEVEL
    assert checks.covariance(np.stack([one, 0.05 * one + math.sqrt(1 - 0.05**2) * other], axis=1), np.eye(2)) < LEVEL


def test_normals_and_uniforms_of_one_stream_are_unrelated():
    source = stream(9)
    normals, uniforms = np.empty(200_000), np.empty(200_000)
    for start in range(0, 200_000, BLOCK // 2):  # taken in turns, as a kernel would
        fill_normals(source, normals[start : start + BLOCK // 2])
        fill_uniforms(source, uniforms[start : start + BLOCK // 2])
    pairs = np.stack([normals, special.ndtri(np.maximum(uniforms, 2.0**-53))], axis=1)
    assert checks.covariance(pairs, np.eye(2)) > LEVEL
    assert checks.law(normals, checks.normal) > LEVEL
    assert checks.law(uniforms, checks.uniform) > LEVEL


@pytest.mark.parametrize("count", [1, 5, 1000])
def test_the_first_numbers_are_those_that_a_kernel_would_get(count):
    one, two = stream(3, 1, 0), stream(3, 1, 0)
    first = first_normals(one, count)
    out = np.zeros(count)
    fill_normals(two, out)
    assert np.array_equal(first, out)
    rest, other = np.zeros(2000), np.zeros(2000)
    fill_normals(one, rest)
    fill_normals(two, other)
    assert np.array_equal(rest, other)
    with pytest.raises(ValueError, match="fresh stream"):
        first_normals(one, count)
