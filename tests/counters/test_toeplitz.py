"""Correlated noise in buffers: the recurrence is the dense matrix, and its releases have the covariance B·Bᵀ."""

import math
from functools import lru_cache

import numpy as np
import pytest

from tacit import JointLinUCB
from tacit.counters.toeplitz import buffers, correlated_noise, empty_memory
from tacit.linalg import packed_size
from tacit.noise import draw_symmetric, stream, tape_of
from tacit.privacy import Promise, ToeplitzEvent, calibrate, gdp, price
from tacit.privacy.toeplitz import EIGHT_BUFFERS, Design, square_root_coefficients
from tests.statistics import checks
from tests.statistics.checks import LEVEL

STEPS = 256
DESIGNS = {
    "eight buffers": EIGHT_BUFFERS,
    "two buffers": Design(poles=(0.01, 0.2), zeros=(0.05, 0.6)),
    "one buffer": Design(poles=(0.1,), zeros=(0.4,)),
}
SCALE = 2.5


def dense(design, steps=STEPS):
    """B: the lower-triangular Toeplitz matrix of the release coefficients b_0, b_1, …"""
    coefficients = design.row_coefficients(steps)
    distance = np.subtract.outer(np.arange(steps), np.arange(steps))
    return np.where(distance >= 0, coefficients[np.abs(distance)], 0.0)


def releases(design, source, dim, steps=STEPS, scale=SCALE):
    """The noise of each release, as the kernel makes it."""
    params, memory = buffers(design, scale), empty_memory(design, packed_size(dim) + dim)
    out = np.empty((steps, memory.shape[1]))
    for row in out:
        row[:] = memory[correlated_noise(params, memory, dim, source)]
    return out


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("dim", [1, 3])
def test_the_recurrence_is_the_dense_matrix_applied_to_the_draws_at_every_step(name, dim):
    design = DESIGNS[name]
    twin, fresh = stream(11), np.empty((STEPS, packed_size(dim) + dim))
    for row in fresh:
        draw_symmetric(twin, SCALE, dim, row)
    noise = releases(design, stream(11), dim)
    np.testing.assert_allclose(noise, dense(design) @ fresh, rtol=0, atol=1e-12)


def test_each_release_draws_one_fresh_row_and_no_more():
    size = packed_size(2) + 2
    values = np.random.default_rng(12).normal(size=10 * size)
    source = tape_of(values.copy(), np.empty(0))
    params, memory = buffers(EIGHT_BUFFERS, SCALE), empty_memory(EIGHT_BUFFERS, size)
    for step in range(1, 11):
        correlated_noise(params, memory, 2, source)
        assert source.at[0] == step * size
    assert np.isnan(source.normals).all()


def test_the_first_release_is_the_first_draw():
    """b_0 = 1: nothing is damped before it is released."""
    twin, fresh = stream(13), np.empty(5)
    draw_symmetric(twin, SCALE, 2, fresh)
    np.testing.assert_allclose(releases(EIGHT_BUFFERS, stream(13), 2, steps=1)[0], fresh, rtol=1e-12)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_standard_deviation_of_a_release_is_the_length_of_its_row(name):
    lengths = np.linalg.norm(dense(DESIGNS[name]), axis=1)
    np.testing.assert_allclose([DESIGNS[name].row_norm(t) for t in range(1, STEPS + 1)], lengths, rtol=1e-12)


# The law of the releases, and broken twins ----------------------------------------
#
# The packed numbers of one run are independent copies of the same process (on the diagonal √2 times larger), so a run
# in dimension 30 holds 495 of them.

DIM = 30
TIMES = np.array([1, 2, 3, 8, 31, 32, 100, 255, 256])
_DIAGONAL = np.concatenate([np.equal(*np.triu_indices(DIM)), np.zeros(DIM, bool)])


def honest(seed):
    return releases(EIGHT_BUFFERS, stream(seed), DIM, steps=TIMES[-1])


def redrawn(seed):
    """Fresh noise of the right size at each release: averaging the releases would remove it."""
    source = stream(seed)
    return np.stack(
        [releases(EIGHT_BUFFERS, source, DIM, 1, SCALE * EIGHT_BUFFERS.row_norm(t))[0] for t in range(1, TIMES[-1] + 1)]
    )


def stuck(buffer):
    """One buffer is not updated."""

    def run(seed):
        source, params = stream(seed), buffers(EIGHT_BUFFERS, SCALE)
        memory = empty_memory(EIGHT_BUFFERS, packed_size(DIM) + DIM)
        out = np.empty((TIMES[-1], memory.shape[1]))
        for row in out:
            before = memory[buffer].copy()
            noise = memory[correlated_noise(params, memory, DIM, source)]
            row[:] = noise - params.weights[buffer] * (memory[buffer] - before)
            memory[buffer] = before
        return out

    return run


@lru_cache
def paths(make, runs):
    """Independent copies of the noise at `TIMES`, one per row and 495 per run, in units of SCALE."""
    parts = [make(seed)[TIMES - 1] / np.where(_DIAGONAL, math.sqrt(2) * SCALE, SCALE) for seed in range(runs)]
    return np.hstack(parts).T


def law_of(rows):
    """Errs with probability at most LEVEL = 1e-6."""
    chosen = dense(EIGHT_BUFFERS, TIMES[-1])[TIMES - 1]
    return checks.covariance(rows, chosen @ chosen.T)


def test_releases_have_the_covariance_of_the_dense_matrix():
    assert law_of(paths(honest, 200)) > LEVEL


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_test_of_covariance_rejects_a_scale_off_by_ten_percent(factor):
    assert law_of(factor * paths(honest, 20)) < LEVEL


def test_the_test_of_covariance_rejects_fresh_noise_at_each_release():
    rows = paths(redrawn, 20)
    spread = [EIGHT_BUFFERS.row_norm(int(t)) for t in TIMES]
    assert checks.combined([checks.scale(rows[:, k], spread[k]) for k in range(len(TIMES))]) > LEVEL  # alone, all right
    assert law_of(rows) < LEVEL


#: The other buffers hold so little of the noise of 256 releases that nobody could tell.
@pytest.mark.parametrize("buffer", [4, 5, 6, 7])
def test_the_test_of_covariance_rejects_a_buffer_that_is_not_updated(buffer):
    assert law_of(paths(stuck(buffer), 50)) < LEVEL


def test_the_test_of_covariance_rejects_a_diagonal_without_its_root_two():
    diagonal = paths(honest, 20)[np.tile(_DIAGONAL, 20)]
    assert law_of(diagonal) > LEVEL
    assert law_of(diagonal / math.sqrt(2)) < LEVEL


# What one row costs, read off the kernel ----------------------------------------
#
# In dimension 15 there are 120 packed numbers off the diagonal. Draw j is a one at its own place and zeros elsewhere,
# so the releases spell out the matrix B that the kernel applies to its draws, whatever was intended. A row of the data
# is in every later prefix sum: in units of the noise, row i moves all releases together by ‖B⁻¹·A·e_i‖.

MARK_DIM, MARKS = 15, 110
_PLACES = np.flatnonzero(np.concatenate([np.not_equal(*np.triu_indices(MARK_DIM)), np.ones(MARK_DIM, bool)]))[:MARKS]


def applied(spoil=None):
    """B of the kernel for MARKS releases of scale one; `spoil(memory)` breaks the state after each."""
    size = packed_size(MARK_DIM) + MARK_DIM
    values = np.zeros((MARKS, size))
    values[np.arange(MARKS), _PLACES] = 1.0
    source = tape_of(values.ravel(), np.empty(0))
    params, memory = buffers(EIGHT_BUFFERS, 1.0), empty_memory(EIGHT_BUFFERS, size)
    found = np.empty((MARKS, MARKS))
    for row in found:
        row[:] = memory[correlated_noise(params, memory, MARK_DIM, source)][_PLACES]
        if spoil is not None:
            spoil(memory)
    return found


def cost(matrix):
    """The largest move that one row of unit sensitivity causes, in units of the noise B·Z."""
    prefixes = np.tril(np.ones((len(matrix), len(matrix))))
    return np.linalg.norm(np.linalg.solve(matrix, prefixes), axis=0).max()


def test_what_the_kernel_applies_costs_one_row_exactly_its_price():
    assert cost(applied()) == pytest.approx(price(ToeplitzEvent(1.0, 1.0, MARKS, EIGHT_BUFFERS, "one")), rel=1e-10)


@pytest.mark.parametrize("buffer", [4, 5, 6, 7])
def test_a_buffer_that_is_emptied_costs_more_than_the_price(buffer):
    """The broken twin: less noise is carried on, so later releases give earlier ones away."""

    def empty(memory):
        memory[buffer] = 0.0

    assert cost(applied(empty)) > 1.001 * price(ToeplitzEvent(1.0, 1.0, MARKS, EIGHT_BUFFERS, "one"))


def test_fresh_noise_at_each_release_costs_many_times_the_price():
    """Independent draws of the very same size in every release: a row is seen again in each of them."""
    alone = np.diag([EIGHT_BUFFERS.row_norm(t) for t in range(1, MARKS + 1)])
    assert cost(alone) > 4 * price(ToeplitzEvent(1.0, 1.0, MARKS, EIGHT_BUFFERS, "one"))


# Every round ----------------------------------------


def every_round(horizon, **changes):
    settings = {"dim": 5, "epsilon": 1.0, "delta": 0.1}
    return JointLinUCB(**(settings | changes), releases="toeplitz", horizon=horizon)


@pytest.mark.parametrize("horizon", [2, 3, 257, 10**5 + 1, 2**26 + 1])
def test_the_plan_counts_a_release_for_every_row_but_the_last(horizon):
    plan = every_round(horizon).plan()
    assert plan.event.releases == horizon - 1
    scale = EIGHT_BUFFERS.column_norm(horizon - 1) * 2 / gdp.mu_for(1.0, 0.1)
    assert plan.noise_scale == plan.params.counter.scale == pytest.approx(scale, rel=3e-6)
    assert plan.noise_scales["last view"] == pytest.approx(scale * EIGHT_BUFFERS.row_norm(horizon - 1), rel=3e-6)


@pytest.mark.parametrize("horizon", [17, 257, 2**14 + 1, 2**17 + 1])
def test_the_last_view_is_within_a_thousandth_of_the_square_root_factorisation(horizon):
    """The reference needs every past draw; its worst step is Σ f_k², f_k = C(2k, k)/4^k."""
    plan = every_round(horizon).plan()
    root = square_root_coefficients(horizon - 1)
    factor = plan.noise_scales["last view"] * gdp.mu_for(1.0, 0.1) / 2
    assert 1 <= factor / (root @ root) < 1.001


@pytest.mark.parametrize("horizon", [257, 10**6])
def test_noise_for_a_quarter_of_the_releases_breaks_the_promise(horizon):
    promise = Promise(1.0, 1e-6)

    def event_at(releases, scale):
        return ToeplitzEvent(scale, 2.0, releases, EIGHT_BUFFERS, "one")

    kept = every_round(horizon, delta=1e-6).plan()
    assert promise.kept_by(price(kept.event))
    short = calibrate(promise, lambda scale: event_at((horizon - 1) // 4, scale))
    assert not promise.kept_by(price(event_at(horizon - 1, short)))


def test_the_state_does_not_grow_with_the_horizon():
    shapes = {every_round(horizon).plan().vault().memory.shape for horizon in (100, 10**4, 10**7)}
    assert shapes == {(8 + 3, packed_size(5) + 5)}


def test_the_view_changes_at_most_once_for_every_row_but_the_last():
    learner = every_round(40, dim=2).start(seed=1)
    stages = []
    for _ in range(40):
        learner.learn([0.5, 0.5], 1.0)
        stages.append(int(learner.view.stage[0]))
    assert stages == [*range(1, 40), 39]
