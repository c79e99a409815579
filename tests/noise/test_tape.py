"""Noise from the operating system: read once, overwritten, never repeated, and refused when it has run out."""

import math
import os

import numpy as np
import pytest
from scipy import special

from tacit._kernel import kernel
from tacit.noise import DiscreteGaussian, fill_normals, fill_uniforms, is_seeded, is_tape, refill, stream, tape, tape_of
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

FILLS = {"normals": fill_normals, "uniforms": fill_uniforms}
PLACE = {"normals": 0, "uniforms": 1}


#: Wide enough that no two draws of a test are equal.
LAW = DiscreteGaussian(2.0**44)


def full(normals, uniforms):
    source = tape(normals, uniforms)
    refill(source, normals, uniforms, LAW)
    return source


def known(values):
    """A tape whose normals and uniforms are these values."""
    return tape_of(np.array(values, float), np.array(values, float))


def read(what, source, count):
    out = np.empty(count)
    FILLS[what](source, out)
    return out


# Where the values come from ----------------------------------------


@pytest.mark.parametrize("what", FILLS)
def test_two_tapes_share_no_value(what):
    one, other = full(1000, 1000), full(1000, 1000)
    values = np.concatenate([read(what, one, 1000), read(what, other, 1000)])
    # 63 random bits and 53: two of 2,000 are equal with probability below 3e-10.
    assert np.unique(values).size == 2000


@pytest.mark.parametrize("what", FILLS)
def test_a_refilled_tape_has_new_values(what):
    source = full(500, 500)
    first = read(what, source, 500)
    refill(source, 500, 500, LAW)
    assert not np.isin(read(what, source, 500), first).any()


def test_noise_has_its_law_and_uniforms_are_uniform():
    """Each check errs with probability UNSEEDED_LEVEL = 1e-9: the operating system cannot be seeded."""
    source = full(200_000, 200_000)
    normals, uniforms = source.normals / LAW.scale, source.uniforms.copy()
    assert checks.law(normals, checks.normal) > UNSEEDED_LEVEL
    assert checks.scale(normals, 1.0) > UNSEEDED_LEVEL
    assert checks.share(np.count_nonzero(np.abs(normals) > 3), 200_000, 2 * special.ndtr(-3)) > UNSEEDED_LEVEL
    assert checks.unrelated(normals[:-1], normals[1:]) > UNSEEDED_LEVEL
    assert checks.unrelated(np.abs(normals[:-1]), np.abs(normals[1:]), math.sqrt(2 / math.pi)) > UNSEEDED_LEVEL
    assert uniforms.min() >= 0
    assert uniforms.max() < 1
    assert checks.law(uniforms, checks.uniform) > UNSEEDED_LEVEL
    # The same checks reject a scale off by 10 %.
    assert checks.law(1.1 * normals, checks.normal) < UNSEEDED_LEVEL
    assert checks.scale(1.1 * normals, 1.0) < UNSEEDED_LEVEL
    assert checks.share(np.count_nonzero(np.abs(1.1 * normals) > 3), 200_000, 2 * special.ndtr(-3)) < UNSEEDED_LEVEL
    assert checks.law(uniforms**1.1, checks.uniform) < UNSEEDED_LEVEL


@pytest.mark.parametrize(("word", "uniform"), [(0, 0.0), (2047, 0.0), (2**64 - 1, 1 - 2.0**-53), (2**63, 0.5)])
def test_extreme_words_give_uniforms_below_one(monkeypatch, word, uniform):
    source = tape(0, 3)
    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", lambda size: word.to_bytes(8, "little") * (size // 8))
        refill(source, 0, 3)
    assert read("uniforms", source, 3).tolist() == [uniform] * 3


def test_without_a_law_there_is_no_noise_to_lay_out():
    source = tape(3, 3)
    refill(source, 0, 3)
    with pytest.raises(RuntimeError, match="Expected a law"):
        refill(source, 3, 0)
    with pytest.raises(RuntimeError, match="refusing to reuse noise"):
        read("normals", source, 1)


def test_a_tape_of_a_seed_repeats_and_says_so():
    sources = [tape(4, 4, 3, 1), tape(4, 4, 3, 1), tape(4, 4, 3, 2), tape(4, 4)]
    for source in sources:
        refill(source, 4, 4, LAW)
    assert [is_seeded(source) for source in sources] == [True, True, True, False]
    assert all(is_tape(source) for source in sources)
    assert (sources[0].normals == sources[1].normals).all()
    assert (sources[0].uniforms == sources[1].uniforms).all()
    assert (sources[0].normals != sources[2].normals).all()
    assert is_seeded(stream(3))
    assert not is_tape(stream(3))


# Read once ----------------------------------------


@pytest.mark.parametrize("what", FILLS)
def test_values_are_handed_out_front_to_back_and_overwritten(what):
    source = known([0.1, 0.2, 0.3, 0.4, 0.5])
    assert read(what, source, 2).tolist() == [0.1, 0.2]
    values = getattr(source, what)
    assert np.isnan(values[:2]).all()
    assert values[2:].tolist() == [0.3, 0.4, 0.5]
    assert read(what, source, 0).size == 0
    assert read(what, source, 3).tolist() == [0.3, 0.4, 0.5]
    assert np.isnan(values).all()
    other = {"normals": "uniforms", "uniforms": "normals"}[what]
    assert getattr(source, other).tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert source.at[PLACE[what]] == 5
    assert source.at[PLACE[other]] == 0


@kernel
def _read_inside(source, normals, uniforms):
    fill_normals(source, normals)
    fill_uniforms(source, uniforms)


def test_a_kernel_reads_the_tape_as_python_does():
    source, normals, uniforms = known([0.1, 0.2, 0.3]), np.empty(2), np.empty(1)
    _read_inside(source, normals, uniforms)
    assert normals.tolist() == [0.1, 0.2]
    assert uniforms.tolist() == [0.1]
    assert source.at.tolist() == [2, 1]
    assert np.isnan(source.normals[:2]).all()
    with pytest.raises(RuntimeError, match="ran out"):
        _read_inside(source, normals, uniforms)


@pytest.mark.parametrize("what", FILLS)
@pytest.mark.parametrize("asked", [1, 4])
def test_an_empty_tape_raises_until_it_is_refilled(what, asked):
    source = tape(4, 4)
    with pytest.raises(RuntimeError, match="refusing to reuse noise"):
        read(what, source, asked)
    refill(source, 4, 4, LAW)
    assert np.isfinite(read(what, source, asked)).all()


@pytest.mark.parametrize("what", FILLS)
def test_a_tape_too_short_raises_and_hands_out_nothing(what):
    source = known([0.1, 0.2, 0.3])
    read(what, source, 1)
    out = np.full(3, 7.0)
    with pytest.raises(RuntimeError, match="ran out"):
        FILLS[what](source, out)
    assert out.tolist() == [7.0] * 3
    assert source.at[PLACE[what]] == 1
    assert read(what, source, 2).tolist() == [0.2, 0.3]


# Refilled ----------------------------------------


def test_a_refill_leaves_a_tape_that_is_long_enough_as_it_is():
    source = known([0.1, 0.2, 0.3, 0.4])
    read("normals", source, 1)
    read("uniforms", source, 2)
    refill(source, 3, 2)
    assert source.at.tolist() == [1, 2]
    assert source.normals[1:].tolist() == [0.2, 0.3, 0.4]
    assert source.uniforms[2:].tolist() == [0.3, 0.4]


def test_a_refill_throws_away_what_is_left_of_a_tape_too_short():
    source = known([0.1, 0.2, 0.3, 0.4])
    read("normals", source, 2)
    refill(source, 3, 0, LAW)
    assert source.at.tolist() == [0, 0]
    assert not np.isin(source.normals, [0.1, 0.2, 0.3, 0.4]).any()
    assert np.isfinite(source.normals).all()
    assert source.uniforms.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_a_refill_beyond_the_length_of_the_tape_does_not_make_it_longer():
    source = tape(4, 4)
    refill(source, 5, 5, LAW)
    with pytest.raises(RuntimeError, match="ran out"):
        read("normals", source, 5)
    assert np.isfinite(read("normals", source, 4)).all()


def test_no_value_comes_twice_however_a_tape_is_read_and_refilled():
    rng = np.random.default_rng(10)
    source, seen = tape(64, 64), []
    for _ in range(300):
        size = int(rng.integers(0, 65))
        refill(source, size, 0, LAW)
        seen.append(read("normals", source, size))
    values = np.concatenate(seen)
    assert np.unique(values).size == values.size


def test_a_tape_has_nothing_to_draw_from_and_a_stream_takes_nothing_in():
    """One type for both, so that kernels are compiled once: what a source can do is what it holds."""
    assert tape(4, 4).state.size == 0
    with pytest.raises(ValueError, match="Expected a tape to lay noise on, got a stream"):
        refill(stream(1), 1, 1)
