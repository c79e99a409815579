"""Boxes: what is in them, points spread over them, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import qmc

from tacit.errors import BadInput
from tacit.kernels import Box

BOX = Box(((0, 1), (-2, 6), (18, 99)))


def test_a_box_knows_its_sides():
    assert BOX.dim == 3
    np.testing.assert_array_equal(BOX.low, [0, -2, 18])
    np.testing.assert_array_equal(BOX.high, [1, 6, 99])
    np.testing.assert_array_equal(BOX.widths, [1, 8, 81])
    np.testing.assert_array_equal(BOX.centre, [0.5, 2, 58.5])
    with pytest.raises(ValueError, match="read-only"):
        BOX.low[0] = 5.0


def test_a_box_survives_json_its_own_repr_and_any_way_of_giving_it():
    assert Box.of(json.loads(json.dumps(BOX.to_dict()))) == BOX
    assert eval(repr(BOX)) == BOX
    assert Box.of(BOX) is BOX
    assert Box.of(np.array(BOX.sides)) == BOX
    assert Box.of([[0, 1], [-2, 6], [18, 99]]) == BOX
    assert {BOX: 1}[Box(BOX.sides)] == 1
    assert Box.unit(2) == Box(((0, 1), (0, 1)))


def test_actions_times_contexts_have_the_actions_first():
    assert Box(((0, 1),)).times(Box(((2, 3), (4, 5)))).sides == ((0, 1), (2, 3), (4, 5))


def test_points_outside_are_moved_to_the_nearest_face_and_counted():
    points = [[0.5, 0, 50], [-1, 0, 50], [2, 9, 1], [1, 6, 99]]
    clipped, count = BOX.clip(points)
    np.testing.assert_array_equal(clipped, [[0.5, 0, 50], [0, 0, 50], [1, 6, 18], [1, 6, 99]])
    assert count == 2
    assert BOX.contains(clipped)
    assert not BOX.contains(points)


@pytest.mark.parametrize("count", [0, 1, 100, 1024])
def test_points_that_are_spread_are_in_the_box_and_as_many_as_asked_for(count):
    for rows in (BOX.uniform(np.random.default_rng(1), count), BOX.halton(count), BOX.sobol(count)):
        assert rows.shape == (count, 3)
        assert BOX.contains(rows)


def test_uniform_points_have_uniform_moments():
    """Mean and variance of 10⁵ points, each within 5 standard errors: fails by chance with probability below 10⁻⁵."""
    rows = (BOX.uniform(np.random.default_rng(1), 10**5) - BOX.low) / BOX.widths
    assert np.abs(rows.mean(axis=0) - 1 / 2).max() < 5 * math.sqrt(1 / 12 / 10**5)
    assert np.abs(rows.var(axis=0) - 1 / 12).max() < 5 * math.sqrt(1 / 180 / 10**5)


def test_halton_and_sobol_are_the_published_sequences():
    unit = Box.unit(5)
    np.testing.assert_allclose(unit.halton(500), qmc.Halton(5, scramble=False).random(500), atol=1e-14)
    np.testing.assert_array_equal(unit.sobol(512), qmc.Sobol(5, scramble=False).random_base2(9))
    np.testing.assert_array_equal(unit.sobol(300), unit.sobol(512)[:300])


def test_even_points_integrate_better_than_random_ones():
    """∫ Π sin(πx_i) over the unit cube, 4096 points: the error of random ones is about 0.005."""
    unit, truth = Box.unit(3), (2 / math.pi) ** 3
    for rows in (unit.halton(4096), unit.sobol(4096)):
        assert abs(np.sin(math.pi * rows).prod(axis=1).mean() - truth) < 1e-3


def test_a_grid_holds_its_faces_with_the_last_coordinate_fastest():
    grid = Box(((0, 1), (0, 10))).grid((2, 3))
    np.testing.assert_array_equal(grid, [[0, 0], [0, 5], [0, 10], [1, 0], [1, 5], [1, 10]])
    np.testing.assert_array_equal(Box(((0, 1), (0, 10))).grid(1), [[0.5, 5]])
    assert BOX.grid(4).shape == (64, 3)


def test_cells_tile_the_box():
    box = Box(((0, 1), (0, 10)))
    centres, half = box.cells((2, 5))
    assert centres.shape == (10, 2)
    np.testing.assert_allclose(half, [0.25, 1.0])
    np.testing.assert_allclose((centres - half).min(axis=0), box.low)
    np.testing.assert_allclose((centres + half).max(axis=0), box.high)
    points = box.uniform(np.random.default_rng(1), 1000)
    covered = (np.abs(points[:, None, :] - centres) <= half + 1e-12).all(axis=2).any(axis=1)
    assert covered.all()


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        (((0, 1), (5, 5)), r"low < high.*low=5 and high=5 at side 1.*left out"),
        (((1, 0),), "low=1 and high=0 at side 0"),
        (((0, math.nan),), "NaN at position 1"),
        (((-math.inf, 0),), "an infinity at position 0"),
        (((0, 1e101),), "beyond 1e100"),
        ((0, 1), r"one \(low, high\) per coordinate.*got \(0, 1\)"),
        ((), "per coordinate"),
        (((0, 1, 2),), "per coordinate"),
        (((0, 1), (2,)), "ragged"),
        ("unit", "array of numbers"),
        (None, "array of numbers"),
    ],
)
def test_a_box_has_finite_sides_from_low_to_high(sides, message):
    with pytest.raises(BadInput, match=message):
        Box(sides)


def test_a_box_from_a_dictionary_has_sides_and_nothing_else():
    for facts in ({}, {"sides": [[0, 1]], "more": 1}):
        with pytest.raises(BadInput, match="exactly"):
            Box.of(facts)


def test_points_have_the_width_of_the_box_and_are_finite():
    with pytest.raises(BadInput, match=r"points of shape \(n, 3\).*got \(1, 2\)"):
        BOX.clip([[0.0, 0.0]])
    with pytest.raises(BadInput, match="NaN at position 1"):
        BOX.clip([[0.0, math.nan, 20.0]])


def test_grids_beyond_memory_are_refused():
    with pytest.raises(BadInput, match=r"10,000,000 points in a grid.*101.*4 dimensions: 104,060,401.*halton"):
        Box.unit(4).grid(101)
    for per_side in (0, 2.5, "3"):
        with pytest.raises(BadInput, match="per_side"):
            BOX.grid(per_side)
    with pytest.raises(BadInput, match="one for each of 3 sides"):
        BOX.grid((3, 3))
    with pytest.raises(BadInput, match="count >= 0"):
        BOX.halton(-1)
