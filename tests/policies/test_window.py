"""`window=w`: each segment is released once, the last few are learned from, and the rest is forgotten."""

import math

import numpy as np
import pytest

import tacit
from tacit.core.learner import POLICY
from tacit.counters.window import Ring, empty_memory, publish_window
from tacit.environments import DriftingSphere
from tacit.linalg import packed_size
from tacit.noise import draw_symmetric, stream, tape_of
from tacit.privacy import Promise, SegmentsEvent, gdp, price

DIM, SEED = 3, 21
SIZE = packed_size(DIM) + DIM


def windowed(**changes):
    settings = {"dim": DIM, "epsilon": 20.0, "delta": 0.1, "window": 4, "ratio": 1.2, "views": 20, "width": "theory"}
    return tacit.JointLinUCB(**(settings | changes))


def random_rows(count, seed, bound=1.0):
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(count, DIM))
    return actions / np.linalg.norm(actions, axis=1, keepdims=True), rng.uniform(-bound, bound, count)


def fresh_draws(scale, count, seed=SEED):
    """One symmetric draw per segment, as a learner of this seed makes them."""
    source, draws = stream(seed, 0, POLICY), np.empty((count, SIZE))
    for draw in draws:
        draw_symmetric(source, scale, DIM, draw)
    return draws


def unpacked(numbers):
    matrix = np.zeros((DIM, DIM))
    matrix[np.triu_indices(DIM)] = numbers[: packed_size(DIM)]
    return matrix + np.triu(matrix, 1).T, numbers[packed_size(DIM) :]


# What is released ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 2, 4, 50])
@pytest.mark.parametrize("reach", [1.0, 4.0])
def test_a_view_holds_the_rows_of_its_window_and_one_draw_per_segment(window, reach):
    """V − regulariser·I and V·θ̃: exact sums of the last min(k, w) segments plus their min(k, w) draws, nothing more."""
    config = windowed(window=window, reward_low=-reach, reward_high=reach)
    params, learner = config.plan().params, config.start(seed=SEED)
    times = [0, *params.schedule.times.tolist()]
    draws = fresh_draws(params.counter.scale, len(params.schedule.times))
    actions, rewards = random_rows(times[-1], 22, reach)
    stage, before = 0, learner.view
    for row in range(times[-1]):
        learner.learn(actions[row], rewards[row])
        view = learner.view
        if row + 1 < times[stage + 1]:
            assert all(np.array_equal(a, b) for a, b in zip(view, before, strict=True))
            continue
        stage += 1
        assert view.stage[0] == stage
        first = max(0, stage - window)
        seen = slice(times[first], times[stage])
        matrix, shift = unpacked(draws[first:stage].sum(axis=0))
        expected = actions[seen].T @ actions[seen] + matrix + params.estimate.regulariser[stage - 1] * np.eye(DIM)
        factor = np.triu(view.factor)
        np.testing.assert_allclose(factor.T @ factor, expected, rtol=1e-9, atol=1e-9)
        vector = actions[seen].T @ rewards[seen] + shift / config.reward_scale
        np.testing.assert_allclose(expected @ view.theta, vector, rtol=1e-9, atol=1e-9)
        assert not learner._session.vault.sums.any()  # what was released is not kept to be released again
        before = view
    assert stage == len(params.schedule.times) > window or window == 50


def test_each_segment_draws_once_and_a_draw_cannot_be_read_again():
    source = tape_of(np.random.default_rng(1).normal(size=10 * SIZE), np.empty(0))
    memory, sums = empty_memory(3, SIZE), np.zeros(SIZE)
    for segment in range(10):
        publish_window(Ring(2.0), DIM, 0, segment, sums, memory, source)
        assert source.at[0] == (segment + 1) * SIZE
    assert np.isnan(source.normals).all()


# What one row costs ----------------------------------------------------------------------------------------------


def released_segments(rows, window, keep=False):
    """Every segment as it was released, under the same noise. `keep`: the sums are not cleared in between."""
    source, memory, sums = stream(23), empty_memory(window, SIZE), np.zeros(SIZE)
    found = []
    for segment, total in enumerate(rows):
        sums += total
        before = sums.copy()
        publish_window(Ring(1.0), DIM, 0, segment, sums, memory, source)
        found.append(memory[segment % window].copy())
        assert not sums.any()
        if keep:
            sums[:] = before
    return np.array(found)


def moved(change):
    """Length of all changes together in units of symmetric noise."""
    diagonal = np.concatenate([np.equal(*np.triu_indices(DIM)), np.zeros(DIM, bool)])
    return math.sqrt(np.sum(change**2 / np.where(diagonal, 2.0, 1.0)))


def neighbours(at, segments=9):
    """Two streams of segment sums that differ in one row of segment `at`, by as much as may be."""
    rng = np.random.default_rng(24)
    rows = rng.uniform(-1, 1, (segments, SIZE))
    other = rows.copy()
    # [1, 0, 0; 1] instead of [1, 0, 0; −1]: the vector moves by 2, and L̃² = 2.
    other[at, packed_size(DIM)] += 2.0
    return rows, other


@pytest.mark.parametrize("window", [1, 3, 20])
@pytest.mark.parametrize("at", [0, 4, 8])
def test_a_replaced_row_moves_one_released_segment_and_no_other(window, at):
    rows, other = neighbours(at)
    change = released_segments(other, window) - released_segments(rows, window)
    assert np.flatnonzero(np.abs(change).max(axis=1) > 1e-12).tolist() == [at]
    assert moved(change) == pytest.approx(2.0)
    assert moved(change) <= price(SegmentsEvent(1.0, 2.0)) * (1 + 1e-9)


@pytest.mark.parametrize("at", [0, 4])
def test_sums_that_are_not_cleared_cost_more_than_the_price(at):
    """The broken twin: the row is in every later segment too."""
    rows, other = neighbours(at)
    change = released_segments(other, 3, keep=True) - released_segments(rows, 3, keep=True)
    assert len(np.flatnonzero(np.abs(change).max(axis=1) > 1e-12)) == 9 - at
    assert moved(change) > 2 * price(SegmentsEvent(1.0, 2.0))


def test_the_price_is_that_of_one_segment_whatever_the_window_and_the_number_of_views():
    scales = set()
    for changes in ({}, {"window": 1}, {"window": 30}, {"views": 2048}, {"ratio": 2.0}, {"horizon": 10**6}):
        plan = windowed(epsilon=1.0, delta=1e-6, **changes).plan()
        assert plan.event == SegmentsEvent(plan.noise_scale, 2.0)
        assert plan.guarantee.mu == pytest.approx(2.0 / plan.noise_scale)
        assert Promise(1.0, 1e-6).kept_by(plan.guarantee.mu)
        scales.add(plan.noise_scale)
    assert len(scales) == 1
    assert scales.pop() == pytest.approx(2.0 / gdp.mu_for(1.0, 1e-6), rel=3e-6)


# Confidence ------------------------------------------------------------------------------------------------------


def test_confidence_numbers_are_the_formulas_with_a_failure_of_their_own_for_every_view():
    changes = {"dim": 5, "epsilon": 1.0, "window": 12, "views": 200, "failure": 0.01, "shift": 2.5}
    config = windowed(**changes, parameter_norm=0.7, noise_level=0.4, reward_low=-2.0, reward_high=2.0)
    plan = config.plan()
    found, stage = plan.params.estimate, np.arange(1, 201)
    alpha = 6 * 0.01 / (math.pi**2 * stage**2)
    spread = plan.noise_scale * np.sqrt(np.minimum(stage, 12))
    top = (2 * math.sqrt(5) + 2 * np.sqrt(np.log(8 / alpha))) * spread
    gamma = (math.sqrt(5) + np.sqrt(2 * np.log(4 / alpha))) * spread / 0.5 / np.sqrt(1.5 * top)
    np.testing.assert_allclose(found.regulariser, 2.5 * top)
    np.testing.assert_allclose(found.repair, top)
    np.testing.assert_allclose(found.bias, 0.7 * np.sqrt(3.5 * top) + gamma)
    np.testing.assert_allclose(found.log_floor, 5 * np.log(1.5 * top))
    np.testing.assert_allclose(found.log_term, 2 * np.log(2 / alpha))
    assert found.noise_level == 0.4


@pytest.mark.parametrize("views", [1, 20, 2048])
def test_the_failures_of_all_views_add_up_to_no_more_than_the_whole(views):
    config = windowed(failure=0.01, views=views)
    shares = 2 * np.exp(-config.plan().params.estimate.log_term / 2)
    assert len(shares) == views
    assert shares.sum() <= 0.01 * (1 + 1e-12)
    assert (np.diff(shares) < 0).all()


def test_one_failure_for_all_views_would_add_up_to_more():
    """The broken twin: α for every view instead of α_k."""
    config = windowed(failure=0.01)
    shares = 2 * np.exp(-config.plan().params.estimate.log_term / 2)
    assert shares.sum() < 0.01 < len(shares) * 0.01


def test_the_ring_has_no_more_places_than_there_are_views():
    assert windowed(window=10**6, views=7).plan().vault().memory.shape == (8, SIZE)
    assert windowed(window=4).plan().vault().memory.shape == (5, SIZE)


def test_the_card_says_what_is_forgotten_and_when_a_window_is_too_short():
    notes = " ".join(windowed().card().notes)
    assert f"Only the last 4 segments are learned from: about the last {1 - 1.2**-4:.0%}" in notes
    assert "A window below 6 segments (twice the number of features) explores too little" in notes
    assert "explores too little" not in " ".join(windowed(window=6).card().notes)


# Forgetting ------------------------------------------------------------------------------------------------------


def estimates_after_a_flip(**changes):
    """<θ̃, θ> for the θ that ruled the first 3,000 rows, and for −θ, which ruled the next 12,000."""
    options = {"dim": DIM, "epsilon": 20.0, "delta": 0.1, "ratio": 1.2, "views": 60}
    learner = tacit.JointLinUCB(**(options | changes)).start(seed=SEED)
    theta = np.array([0.6, -0.48, 0.64])
    actions, luck = random_rows(15_000, 25)
    found = []
    for row, x in enumerate(actions):
        mean = x @ theta * (1 if row < 3000 else -1)
        learner.learn(x, 1.0 if luck[row] < mean else -1.0)
        if row in (2999, 14_999):
            found.append(float(learner.view.theta @ theta))
    return found


def test_a_window_follows_a_parameter_that_turns_round_and_the_whole_past_lags_behind():
    """After the turn a fifth of the rows still says θ: remembered, it pulls the estimate to −(4/5 − 1/5)."""
    remembered, forgotten = estimates_after_a_flip(), estimates_after_a_flip(window=6)
    assert min(remembered[0], forgotten[0]) > 0.8
    assert forgotten[1] < -0.9
    assert -0.75 < remembered[1] < -0.45


@pytest.mark.long
def test_in_a_drifting_world_a_window_regrets_less():
    """θ* is replaced every 25,000 of 100,000 rounds, and the window holds the last 18 % of the rounds so far. In all of
    six trials, and by half in the mean."""
    world, rounds = DriftingSphere(dim=5, gap=0.1, change=25_000), 100_000
    options = {"dim": 5, "epsilon": 10.0, "delta": 0.1, "horizon": rounds}
    whole = tacit.simulate(tacit.JointLinUCB(**options), world, rounds, trials=6, seed=1)
    last = tacit.simulate(tacit.JointLinUCB(**options, window=10, ratio=1.02), world, rounds, trials=6, seed=1)
    assert last.regret_mean < 0.5 * whole.regret_mean
    assert (last.regret < whole.regret).all()
