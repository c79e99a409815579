"""The binary tree: every prefix is its closed nodes, each noised once, and no row lies in more than q of them."""

import math
from functools import lru_cache

import numpy as np
import pytest

from tacit.counters.tree import empty_memory, levels, tree_noise
from tacit.linalg import packed_size
from tacit.noise import draw_symmetric, stream, tape_of
from tests.statistics import checks
from tests.statistics.checks import LEVEL

LARGEST = 300


def node_closed_by(row):
    """(start, end]: the node that ends at this row and is kept."""
    return row - (row & -row), row


def decomposition(rows):
    """The closed nodes whose union is the first `rows` rows, from the last to the first."""
    nodes = []
    while rows:
        nodes.append(node_closed_by(rows))
        rows = nodes[-1][0]
    return nodes


# Structure ----------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8, 100, 255, 256, 299])
def test_the_decomposition_covers_each_row_once(rows):
    covered = [row for start, end in decomposition(rows) for row in range(start + 1, end + 1)]
    assert sorted(covered) == list(range(1, rows + 1))
    assert len(decomposition(rows)) == rows.bit_count()


def test_row_one_lies_in_exactly_q_released_nodes_and_no_row_in_more():
    """Brute force over every horizon: q = (n − 1).bit_length()."""
    inside = np.zeros(LARGEST + 1, int)
    for horizon in range(2, LARGEST + 1):
        start, end = node_closed_by(horizon - 1)  # row n is never released: neither is a node that ends there
        inside[start + 1 : end + 1] += 1
        assert inside[1] == levels(horizon) == (horizon - 1).bit_length()
        assert inside.max() == inside[1]


@pytest.mark.parametrize("horizon", [2, 3, 4, 5, 1024, 1025, 5 * 10**7])
def test_levels_is_the_logarithm_rounded_up(horizon):
    q = levels(horizon)
    assert 2 ** (q - 1) < horizon <= 2**q


# What is drawn ----------------------------------------
#
# In dimension 25 there are 325 packed numbers off the diagonal. Draw j is made a one at its own place and zeros
# elsewhere, so the noise of a prefix spells out which draws it holds, in whole numbers.

MARK_DIM = 25
MARK_SIZE = packed_size(MARK_DIM) + MARK_DIM
_PLACES = np.flatnonzero(np.concatenate([np.not_equal(*np.triu_indices(MARK_DIM)), np.ones(MARK_DIM, bool)]))


def marked_tape(rows):
    values = np.zeros((rows, MARK_SIZE))
    values[np.arange(rows), _PLACES[:rows]] = 1.0
    return tape_of(values.ravel(), np.empty(0))


def test_each_prefix_holds_the_draws_of_its_closed_nodes_and_each_node_is_drawn_once():
    source, memory = marked_tape(LARGEST - 1), empty_memory(LARGEST, MARK_SIZE)
    for row in range(1, LARGEST):
        noise = memory[tree_noise(1.0, memory, row, MARK_DIM, source)]
        # Draw j is that of the node closed by row j: exactly one draw a row, and it keeps its mark while it lives.
        assert source.at[0] == row * MARK_SIZE
        expected = np.zeros(MARK_SIZE)
        expected[_PLACES[[end - 1 for _, end in decomposition(row)]]] = 1.0
        assert np.array_equal(noise, expected)


def test_every_horizon_up_to_300_has_room_for_its_nodes_and_for_nothing_else():
    """The memory of horizon n is a window on a larger array: what is beside it stays untouched."""
    dim, size = 1, 2
    values = np.random.default_rng(14).normal(size=(LARGEST, size))
    expected = [np.zeros(size)]
    for row in range(1, LARGEST):
        start, _ = node_closed_by(row)
        expected.append(values[row - 1] * [math.sqrt(2), 1.0] + expected[start])
    for horizon in range(2, LARGEST + 1):
        room = np.full((levels(horizon) + 2, size), 9.0)
        memory = room[1:-1]
        assert memory.shape == empty_memory(horizon, size).shape
        memory[:] = 0.0
        source = tape_of(values.ravel().copy(), np.empty(0))
        for row in range(1, horizon):
            level = tree_noise(1.0, memory, row, dim, source)
            assert np.array_equal(memory[level], expected[row])
        assert (room[[0, -1]] == 9.0).all()


def test_a_long_stream_does_not_drift():
    """After 2^16 − 1 rows the prefix still is the sum of its sixteen nodes, to the last few bits."""
    rows = 2**16 - 1
    source, memory = stream(15), empty_memory(rows + 1, 2)
    twin, draws = stream(15), np.empty((rows, 2))
    for row in range(1, rows + 1):
        level = tree_noise(1.0, memory, row, 1, source)
        draw_symmetric(twin, 1.0, 1, draws[row - 1])
    expected = draws[[end - 1 for _, end in decomposition(rows)]]
    assert len(expected) == 16
    np.testing.assert_allclose(memory[level], expected.sum(axis=0), rtol=0, atol=1e-14)


# The law of the releases, and broken twins ----------------------------------------
#
# The packed numbers of one run are independent copies of the same process (on the diagonal √2 times larger).

DIM, RUNS, SCALE = 30, 20, 2.5
SIZE = packed_size(DIM) + DIM
ROWS = 15
_DIAGONAL = np.concatenate([np.equal(*np.triu_indices(DIM)), np.zeros(DIM, bool)])


def honest(seed):
    source, memory = stream(seed), empty_memory(ROWS + 1, SIZE)
    return np.stack([memory[tree_noise(SCALE, memory, row, DIM, source)].copy() for row in range(1, ROWS + 1)])


def without_level(level):
    """The nodes of one level get no noise."""

    def run(seed):
        source, memory = stream(seed), empty_memory(ROWS + 1, SIZE)
        out = []
        for row in range(1, ROWS + 1):
            scale = 0.0 if row & -row == 1 << level else SCALE
            out.append(memory[tree_noise(scale, memory, row, DIM, source)].copy())
        return np.stack(out)

    return run


def redrawn(seed):
    """All nodes of a prefix are noised again at each release: the right size, and averaged away over releases."""
    source, memory = stream(seed), empty_memory(ROWS + 1, SIZE)
    out = []
    for row in range(1, ROWS + 1):
        for _, end in reversed(decomposition(row)):
            level = tree_noise(SCALE, memory, end, DIM, source)
        out.append(memory[level].copy())
    return np.stack(out)


@lru_cache
def paths(make):
    """Independent copies of the noise after each row, in units of SCALE."""
    return np.hstack([make(seed) / np.where(_DIAGONAL, math.sqrt(2) * SCALE, SCALE) for seed in range(RUNS)]).T


def law_of(rows):
    """Two prefixes share the nodes they have in common. Errs with probability at most LEVEL = 1e-6; 9,900 copies."""
    nodes = [set(decomposition(row)) for row in range(1, ROWS + 1)]
    return checks.covariance(rows, [[len(a & b) for b in nodes] for a in nodes])


def test_the_variance_of_a_prefix_is_the_number_of_its_nodes():
    """Each of fifteen checks errs with probability LEVEL/15."""
    rows = paths(honest)
    each = [checks.scale(rows[:, row - 1], math.sqrt(row.bit_count())) for row in range(1, ROWS + 1)]
    assert checks.combined(each) > LEVEL
    wrong = [checks.scale(1.1 * rows[:, row - 1], math.sqrt(row.bit_count())) for row in range(1, ROWS + 1)]
    assert max(wrong) < LEVEL


def test_prefixes_share_the_noise_of_the_nodes_they_share():
    assert law_of(paths(honest)) > LEVEL


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_test_of_prefixes_rejects_a_scale_off_by_ten_percent(factor):
    assert law_of(factor * paths(honest)) < LEVEL


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_test_of_prefixes_rejects_a_level_without_noise(level):
    assert law_of(paths(without_level(level))) < LEVEL


def test_the_test_of_prefixes_rejects_noise_redrawn_at_each_release():
    rows = paths(redrawn)
    each = [checks.scale(rows[:, row - 1], math.sqrt(row.bit_count())) for row in range(1, ROWS + 1)]
    assert checks.combined(each) > LEVEL  # release by release nothing is wrong
    assert law_of(rows) < LEVEL
