"""Sums on a lattice: rounded once, by half a step and a hair; and a row moves them by no more than is priced."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.counters import toeplitz as prefix
from tacit.counters import tree, window
from tacit.counters.counter import ROUNDING, add_row, lattice_of, publish, resolution
from tacit.counters.segments import identity_weights, release_root
from tacit.errors import BadInput
from tacit.noise import tape_of
from tacit.pairs import added, added_one, nearest, scaled
from tacit.privacy.accountant import price
from tacit.privacy.event import LatticeEvent, RootToeplitzEvent, SegmentsEvent, ToeplitzEvent, TreeEvent
from tacit.privacy.toeplitz import EIGHT_BUFFERS, square_root_coefficients

DIM = 2
SIZE = 5
DIAGONAL = [0, 2]
ROWS = 24
WINDOW = 3


# Pairs of doubles ------------------------------------------------------------------------------------------------


@st.composite
def pairs(draw):
    high = draw(st.floats(-1e15, 1e15).filter(lambda value: value == 0 or abs(value) > 1e-30))
    low = draw(st.floats(-1.0, 1.0)) * abs(high) * 2.0**-54
    return high, low if abs(low) > 1e-60 else 0.0


def exact(*numbers):
    return sum(map(Fraction, numbers))


@given(pairs(), pairs())
@settings(max_examples=300, deadline=None)
def test_pairs_lose_at_most_three_units_in_the_last_place_of_both(one, two):
    unit = Fraction(1, 2**106)
    total = exact(*one, *two)
    assert abs(exact(*added(*one, *two)) - total) <= unit * 3 * abs(total) * Fraction(101, 100)
    total = exact(*one, two[0])
    assert abs(exact(*added_one(*one, two[0])) - total) <= unit * 2 * abs(total) * Fraction(101, 100)
    total = exact(*one) * exact(two[0])
    assert abs(exact(*scaled(*one, two[0])) - total) <= unit * 2 * abs(total)
    assert abs(exact(nearest(*one)) - exact(*one)) <= Fraction(1, 2) + Fraction(1, 2**50)


def test_a_sum_of_many_rows_is_right_to_the_step_where_doubles_are_not():
    rng = np.random.default_rng(3)
    numbers = rng.uniform(0, 2.0**33, 100_000)
    high = low = plain = 0.0
    for number in numbers:
        high, low = added_one(high, low, number)
        plain += number
    true = exact(*numbers)
    assert abs(exact(high, low) - true) < Fraction(1, 10**6)
    assert abs(exact(plain) - true) > Fraction(1, 10)


# What is released ------------------------------------------------------------------------------------------------


def quiet(size, count=1):
    return tape_of(np.zeros(size * count), np.zeros(1))


def run_prefix(rows, lattice, noise):
    memory, sums, found = np.zeros((prefix.memory_rows(EIGHT_BUFFERS), SIZE)), np.zeros((2, SIZE)), []
    for row in rows:
        add_row(lattice, row[:DIM], row[DIM], DIM, sums)
        publish(prefix.LatticeBuffers(lattice, prefix.coder(EIGHT_BUFFERS)), DIM, 0, 0, sums, memory, noise)
        found.append(memory[-2].copy())
        assert not sums.any()
    return np.array(found)


def run_tree(rows, lattice, noise):
    memory, sums, found = (
        np.zeros((tree.TreeCounter(len(rows) + 1).memory_rows(None, lattice=True), SIZE)),
        np.zeros((2, SIZE)),
        [],
    )
    for number, row in enumerate(rows, start=1):
        add_row(lattice, row[:DIM], row[DIM], DIM, sums)
        publish(tree.LatticeNodes(lattice), DIM, number, 0, sums, memory, noise)
        found.append(memory[-2].copy())
        assert not sums.any()
    return np.array(found)


def run_window(rows, lattice, noise):
    """Segments of two rows."""
    memory, sums, found = window.empty_memory(WINDOW, SIZE), np.zeros((2, SIZE)), []
    for segment in range(len(rows) // 2):
        for row in rows[2 * segment : 2 * segment + 2]:
            add_row(lattice, row[:DIM], row[DIM], DIM, sums)
        publish(window.LatticeRing(lattice), DIM, 0, segment, sums, memory, noise)
        found.append(memory[segment % WINDOW].copy())
        assert not sums.any()
    return np.array(found)


def run_root(rows, lattice, noise):
    weights = square_root_coefficients(len(rows))
    segments, released = np.zeros((2, len(rows), SIZE)), np.zeros((len(rows), SIZE))
    for place, row in enumerate(rows):
        sums = np.zeros((2, SIZE))
        add_row(lattice, row[:DIM], row[DIM], DIM, sums)
        segments[:, place] = sums
        release_root(weights, weights, 1.0, segments, released, place, np.zeros(SIZE), noise)
    return released


def nodes():
    dense = np.zeros((ROWS, ROWS))
    for row in range(1, ROWS + 1):
        dense[row - 1, row - (row & -row) : row] = 1.0
    return dense


def toeplitz_of(coefficients):
    distance = np.subtract.outer(np.arange(ROWS), np.arange(ROWS))
    return np.where(distance >= 0, coefficients[np.abs(distance)], 0.0)


#: How it is run, its encoder as a dense matrix, and its event without the lattice.
MECHANISMS = {
    "prefix": (
        run_prefix,
        toeplitz_of(EIGHT_BUFFERS.column_coefficients(ROWS)),
        lambda scale: ToeplitzEvent(scale, 2.0, ROWS, EIGHT_BUFFERS, "one"),
    ),
    "tree": (run_tree, nodes(), lambda scale: TreeEvent(scale, 2.0, ROWS.bit_length())),
    "window": (run_window, np.kron(np.eye(ROWS // 2), np.ones(2)), lambda scale: SegmentsEvent(scale, 2.0)),
    "root": (
        run_root,
        toeplitz_of(square_root_coefficients(ROWS)),
        lambda scale: RootToeplitzEvent(scale, 2.0, ROWS),
    ),
}


def priced_length(event_at, steps: float, rounding: float = ROUNDING) -> float:
    """D: by how many steps a replaced row may move everything released, as the accountant has it."""
    scale, step = 2.0**30, 2.0 / steps
    event = LatticeEvent(event_at(scale * step), step=step, coordinates=SIZE, rounding=rounding)
    return price(event) * np.sqrt(scale**2 - 4.0)


def unit_rows(count, seed):
    rng = np.random.default_rng(seed)
    rows = np.zeros((count, DIM + 1))
    rows[:, :DIM] = rng.standard_normal((count, DIM))
    rows[:, :DIM] /= np.maximum(np.linalg.norm(rows[:, :DIM], axis=1, keepdims=True), 1e-9)
    rows[:, DIM] = rng.uniform(-1, 1, count)
    return rows


def in_steps(lattice, rows):
    """What each row adds, as exact doubles."""
    i, j = np.triu_indices(DIM)
    outer = np.concatenate([rows[:, i] * rows[:, j], rows[:, :DIM] * rows[:, DIM:]], axis=1)
    return outer * lattice.weights


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("steps", [4.0, 2.0**21, 2.0**30])
def test_whole_numbers_are_released_and_are_off_by_half_a_step(name, steps):
    run, dense, _ = MECHANISMS[name]
    lattice, rows = lattice_of(DIM, 2.0 / steps, np.zeros(SIZE)), unit_rows(ROWS, 5)
    released = run(rows, lattice, quiet(SIZE, ROWS))
    assert (released == np.rint(released)).all()
    assert abs(released - dense @ in_steps(lattice, rows)).max() <= ROUNDING + 1e-5


@pytest.mark.parametrize("name", MECHANISMS)
def test_noise_is_added_to_every_number_once(name):
    run, _, _ = MECHANISMS[name]
    lattice, rows = lattice_of(DIM, 2.0**-20, np.zeros(SIZE)), unit_rows(ROWS, 6)
    drawn = np.random.default_rng(1).integers(-(2**40), 2**40, SIZE * ROWS).astype(float)
    plain, noised = run(rows, lattice, quiet(SIZE, ROWS)), run(rows, lattice, tape_of(drawn.copy(), np.zeros(1)))
    assert np.array_equal((noised - plain).ravel(), drawn[: noised.size])


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_test_of_wholeness_notices_noise_in_double_precision(name):
    """Broken twin: the same mechanism on a tape of real numbers releases no whole ones."""
    run, _, _ = MECHANISMS[name]
    lattice = lattice_of(DIM, 2.0**-20, np.zeros(SIZE))
    released = run(unit_rows(ROWS, 6), lattice, tape_of(np.random.default_rng(1).normal(size=SIZE * ROWS), np.zeros(1)))
    assert (released != np.rint(released)).all()


def worst_pairs():
    """Orthogonal unit rows with opposite rewards: what a row can be moved by at most, in every direction of 40."""
    for angle in np.linspace(0, np.pi, 40):
        one = [np.cos(angle), np.sin(angle), 1.0]
        yield one, [one[0], one[1], -1.0]  # B̃ = L: a reward turned round moves as much
        yield one, [-np.sin(angle), np.cos(angle), -1.0]


def lengths_of_moves(name, steps):
    """‖q − q'‖ for the first or another row replaced, by the worst pairs and by random ones."""
    run, _, _ = MECHANISMS[name]
    lattice, found = lattice_of(DIM, 2.0 / steps, np.zeros(SIZE)), []
    rng = np.random.default_rng(8)
    others = [(unit_rows(1, seed)[0], unit_rows(1, seed + 99)[0] * rng.uniform()) for seed in range(40)]
    for number, (one, two) in enumerate([*worst_pairs(), *others]):
        rows = unit_rows(ROWS, number)
        place = 0 if number % 2 else number % ROWS
        released = []
        for row in (one, two):
            rows[place] = row
            released.append(run(rows, lattice, quiet(SIZE, ROWS)))
        found.append(float(np.linalg.norm(released[0] - released[1])))
    return np.array(found)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("steps", [1.0, 4.0, 2.0**10, 2.0**21])
def test_a_replaced_row_moves_what_is_released_by_no_more_than_is_priced(name, steps):
    assert lengths_of_moves(name, steps).max() <= priced_length(MECHANISMS[name][2], steps) * (1 + 1e-6)


@pytest.mark.parametrize("name", ["prefix", "tree", "window"])
def test_the_price_without_rounding_is_exceeded(name):
    """Broken twin: on a coarse lattice rows do move further than they would without rounding."""
    assert lengths_of_moves(name, 1.0).max() > priced_length(MECHANISMS[name][2], 1.0, rounding=0.0) * (1 + 1e-6)


def test_the_priced_length_is_reached_on_a_fine_lattice():
    for name, share in (("prefix", 0.999), ("tree", 0.85), ("root", 0.999), ("window", 0.999)):
        # ROWS rows close no node of the top level that holds row 1 and all others.
        assert lengths_of_moves(name, 2.0**21).max() >= share * priced_length(MECHANISMS[name][2], 2.0**21)


def test_a_node_does_not_feel_how_rows_outside_of_it_are_rounded():
    """As differences of prefixes, nodes without the row would change too, and the price would not cover them."""
    lattice, rows = lattice_of(DIM, 2.0 / 4.0, np.zeros(SIZE)), unit_rows(ROWS, 12)
    before = run_tree(rows, lattice, quiet(SIZE, ROWS))
    rows[4] = 0.123, 0.456, 0.789
    changed = (run_tree(rows, lattice, quiet(SIZE, ROWS)) != before).any(axis=1)
    assert not changed[nodes()[:, 4] == 0].any()
    assert changed[nodes()[:, 4] == 1].any()


def test_what_is_published_is_the_prefix_sum_of_what_was_released():
    """B from whole numbers, by the dense matrix; and the sums with noise that B·Z says, after many large segments."""
    lattice, design = lattice_of(DIM, 2.0**-21, np.zeros(SIZE)), EIGHT_BUFFERS
    memory, total, rng = np.zeros((prefix.memory_rows(design), SIZE)), [0] * SIZE, np.random.default_rng(2)
    released = []
    for stage in range(1500):
        segment = np.rint(rng.uniform(0, 1.01**stage * 2.0**21, SIZE))
        total = [old + int(new) for old, new in zip(total, segment, strict=True)]
        sums = np.array([segment, np.zeros(SIZE)])
        at = publish(prefix.LatticeBuffers(lattice, prefix.coder(design)), DIM, 0, 0, sums, memory, quiet(SIZE))
        released.append(memory[-2].copy())
    published = memory[at] / lattice.steps
    assert abs(published - np.array(total, float)).max() < 60  # Σ b_k/2 = 24: the rounding of every release
    coefficients = design.row_coefficients(1500)[::-1]
    np.testing.assert_allclose(published, coefficients @ np.array(released), rtol=1e-12)


def test_python_and_machine_code_agree_to_the_bit():
    """The text of the kernels, run as Python, and what the compiler made of it: no operation was moved or fused."""
    lattice, rows = lattice_of(DIM, 2.0**-21, np.zeros(SIZE)), unit_rows(ROWS, 14)
    counter = prefix.LatticeBuffers(lattice, prefix.coder(EIGHT_BUFFERS))
    memory = np.zeros((prefix.memory_rows(EIGHT_BUFFERS), SIZE))
    twin = memory.copy()
    for row in rows:
        sums = [np.zeros((2, SIZE)) for _ in range(2)]
        add_row(lattice, row[:DIM], row[DIM], DIM, sums[0])
        add_row.py_func(lattice, row[:DIM], row[DIM], DIM, sums[1])
        assert sums[0].tobytes() == sums[1].tobytes()
        prefix.publish_whole(counter, DIM, 0, 0, sums[0], memory, quiet(SIZE))
        prefix.publish_whole.py_func(counter, DIM, 0, 0, sums[1], twin, quiet(SIZE))
        assert memory.tobytes() == twin.tobytes()


def test_identity_weights_release_each_increment_by_itself():
    assert identity_weights(4).tolist() == [1.0, 0.0, 0.0, 0.0]


# The lattice -----------------------------------------------------------------------------------------------------


def test_steps_on_the_diagonal_are_longer_by_the_root_of_two():
    lattice = lattice_of(DIM, 0.25, np.zeros(SIZE))
    assert (lattice.steps[DIAGONAL] == 0.25 * np.sqrt(2)).all()
    np.testing.assert_allclose(lattice.steps * lattice.weights, 1.0, rtol=1e-15)
    assert (np.delete(lattice.steps, DIAGONAL) == 0.25).all()


def test_the_finest_lattice_keeps_everything_within_what_doubles_hold():
    for weight, rows, deviation in ((1.0, 10, 1.0), (2.0**31, 2**34, 8.0), (1e6, 10**6, 1e6), (3.0, 2**34, 1e10)):
        steps = resolution(weight=weight, rows=rows, releases=2048, deviation=deviation)
        assert steps == 2.0 ** int(np.log2(steps))
        assert steps * weight <= 2.0**52
        assert steps * deviation <= 2.0**44
        assert (rows + 2048 + 8) * 2.0**-103 * rows * (steps + 1) < 0.01
    with pytest.raises(BadInput, match="whole numbers of a double cannot hold more"):
        resolution(weight=1.0, rows=10, releases=1, deviation=2.0**50)


def test_the_heaviest_release_is_that_of_the_dense_matrix():
    lengths = np.array([5.0, 1.0, 7.0, 2.0, 2.0, 9.0])
    coefficients = EIGHT_BUFFERS.column_coefficients(6)
    dense = max(float(coefficients[: t + 1][::-1] @ lengths[: t + 1]) for t in range(6))
    assert prefix.heaviest(EIGHT_BUFFERS, lengths) == pytest.approx(dense, rel=1e-8)
    assert EIGHT_BUFFERS.column_sum(6) == pytest.approx(coefficients.sum())
    assert EIGHT_BUFFERS.row_sum(6) == pytest.approx(EIGHT_BUFFERS.row_coefficients(6).sum())
