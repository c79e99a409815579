"""Kernels: the formulas, what makes them kernels, how far features can be apart, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

from tacit.errors import BadInput, UnknownName
from tacit.kernels import Kernel, Matern, SquaredExponential, kernel_from_dict, kernel_named

NAMES = ("squared-exponential", "matern-1/2", "matern-3/2", "matern-5/2")
#: The Lipschitz constants of φ in units of the length scale (ν = 1/2 has none).
SLOPES = {"squared-exponential": 1.0, "matern-3/2": math.sqrt(3), "matern-5/2": math.sqrt(5 / 3)}


def points(count, dim=2, seed=1):
    return np.random.default_rng([seed, count, dim]).random((count, dim))


# The formulas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_matern_is_the_bessel_function_of_its_definition(smoothness):
    """k = 2^(1−ν)/Γ(ν)·(√(2ν)·r)^ν·K_ν(√(2ν)·r)."""
    first, second = points(30, 3), points(20, 3, seed=2)
    root = math.sqrt(2 * smoothness) * cdist(first, second) / 0.3
    expected = 2 ** (1 - smoothness) / gamma(smoothness) * root**smoothness * kv(smoothness, root)
    found = Matern(smoothness, length_scale=0.3)(first, second)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_squared_exponential_is_a_gaussian_of_the_distance():
    first, second = points(30, 3), points(20, 3, seed=2)
    found = SquaredExponential(length_scale=0.3)(first, second)
    np.testing.assert_allclose(found, np.exp(-(cdist(first, second) ** 2) / (2 * 0.3**2)), rtol=1e-12)


def test_a_matern_of_another_smoothness_is_another_kernel():
    """The comparison with Bessel functions can fail."""
    first, second = points(30, 3), points(20, 3, seed=2)
    three, five = Matern(3 / 2, length_scale=0.3)(first, second), Matern(5 / 2, length_scale=0.3)(first, second)
    assert np.abs(three - five).max() > 0.01


# What makes them kernels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_is_symmetric_one_on_the_diagonal_and_positive_definite(name):
    kernel, rows = kernel_named(name, (0.2, 0.5)), points(300)
    gram = kernel(rows, rows)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(np.diag(gram), 1.0)
    assert gram.min() >= 0
    assert gram.max() == 1
    assert np.linalg.eigvalsh(gram).min() > -1e-12


@pytest.mark.parametrize("name", NAMES)
def test_many_rows_are_what_each_row_is_alone(name):
    """Rows are worked on in parts: 500 × 400 entries are more than one part."""
    kernel, first, second = kernel_named(name, 0.2), points(500), points(400, seed=2)
    whole = kernel(first, second)
    for row in (0, 162, 163, 164, 326, 327, 499):
        np.testing.assert_array_equal(whole[row], kernel(first[row : row + 1], second)[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_length_scale_per_coordinate_stretches_that_coordinate(name):
    first, second, scales = points(30, 3), points(20, 3, seed=2), (0.1, 1.0, 4.0)
    stretched = kernel_named(name, 1.0)(first / scales, second / scales)
    np.testing.assert_allclose(kernel_named(name, scales)(first, second), stretched, rtol=1e-12)
    assert np.abs(kernel_named(name, scales[::-1])(first, second) - stretched).max() > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_points_as_far_apart_as_can_be_have_nothing_in_common(name):
    kernel = kernel_named(name, 1e-50)
    assert kernel([[1e100, 0.0]], [[-1e100, 0.0]]) == 0
    assert kernel([[1e100, 1.0]], [[1e100, 1.0]]) == 1


def test_no_points_give_an_empty_matrix():
    kernel = SquaredExponential(length_scale=1.0)
    assert kernel(np.zeros((0, 2)), points(3)).shape == (0, 3)
    assert kernel(points(3), np.zeros((0, 2))).shape == (3, 0)


# How far features can be apart ---------------------------------------------------------------------------------------


def distances(kernel, first, second):
    """‖φ(w) − φ(w')‖ of pairs."""
    return np.array([math.sqrt(2 * (1 - kernel(a[None], b[None])[0, 0])) for a, b in zip(first, second, strict=True)])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1e-3, 0.05, 0.5, 5.0])
def test_no_two_features_are_further_apart_than_the_bound(name, size):
    kernel, steps = kernel_named(name, (0.2, 0.7)), np.array([size, 2 * size])
    first = points(400)
    moves = np.random.default_rng(3).uniform(-1, 1, (400, 2)) * steps
    moves[:4] = steps * [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    found, bound = distances(kernel, first, first + moves), kernel.distance_bound(steps)
    assert found.max() <= bound
    assert bound <= found.max() * 1.001


@pytest.mark.parametrize("name", sorted(SLOPES))
def test_the_bound_is_within_the_lipschitz_constant_which_is_the_smallest(name):
    kernel = kernel_named(name, 0.2)
    for step in np.geomspace(1e-9, 10, 60):
        assert kernel.distance_bound([step]) <= SLOPES[name] * step / 0.2 * (1 + 1e-12)
    near = np.array([[0.0], [1e-3]])
    apart = distances(kernel, near[:1], near[1:])[0]
    assert apart > 0.99 * SLOPES[name] * 1e-3 / 0.2


def test_the_bound_of_matern_one_half_is_a_square_root():
    kernel = Matern(1 / 2, length_scale=0.2)
    for step in np.geomspace(1e-9, 10, 60):
        assert kernel.distance_bound([step]) <= math.sqrt(2 * step / 0.2) * (1 + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_is_zero_for_no_step_and_never_above_the_square_root_of_two(name):
    kernel = kernel_named(name, 0.2)
    assert kernel.distance_bound([0.0, 0.0]) == 0
    assert kernel.distance_bound([1e99, 1.0]) == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("steps", [[-0.1, 0.1], [], [[0.1, 0.1]], [math.nan]])
def test_steps_are_distances_one_per_coordinate(steps):
    with pytest.raises(BadInput, match="steps"):
        SquaredExponential(length_scale=1.0).distance_bound(steps)


# Values --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [0.2, (0.1, 3.0)])
def test_a_kernel_survives_json_and_its_own_repr(name, scale):
    kernel = kernel_named(name, scale)
    assert kernel.name == name
    assert kernel_from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel
    assert eval(repr(kernel)) == kernel
    assert {kernel: 1}[kernel_named(name, scale)] == 1


def test_numbers_of_any_kind_are_the_same_kernel():
    assert Matern(Fraction(5, 2), length_scale=np.float64(0.2)) == Matern(2.5, length_scale=0.2)
    assert SquaredExponential(length_scale=np.array([1, 2])) == SquaredExponential(length_scale=(1.0, 2.0))
    assert SquaredExponential(length_scale=np.array(2)) == SquaredExponential(length_scale=2)


def test_a_kernel_is_immutable():
    with pytest.raises(AttributeError):
        SquaredExponential(length_scale=0.2).length_scale = 1.0  # type: ignore[misc]


def test_kernel_alone_is_abstract():
    with pytest.raises(TypeError):
        Kernel(length_scale=1.0)  # type: ignore[abstract]


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (0, r"length_scale > 0, got length_scale=0\. .*distance over which"),
        (-0.2, "length_scale > 0, got length_scale=-0.2"),
        (math.nan, "length_scale to be finite"),
        (math.inf, "length_scale to be finite"),
        ("0.2", "length_scale to be a number"),
        (True, "length_scale to be a number"),
        (1e-60, "length_scale >= 1e-50"),
        ((0.1, 0.0), r"length_scale\[1\] > 0"),
        ((), "one number or one per coordinate"),
        (((0.1, 0.2),), "one number or one per coordinate"),
    ],
)
def test_a_length_scale_is_positive(scale, message):
    for make in (lambda: SquaredExponential(length_scale=scale), lambda: Matern(2.5, length_scale=scale)):
        with pytest.raises(BadInput, match=message):
            make()


@pytest.mark.parametrize("smoothness", [2, 3.5, 0, -0.5, math.inf, "5/2", None])
def test_other_smoothnesses_are_refused(smoothness):
    with pytest.raises(BadInput, match="smoothness"):
        Matern(smoothness, length_scale=0.2)


def test_length_scales_of_the_wrong_number_are_refused_where_they_meet_points():
    with pytest.raises(BadInput, match=r"one length_scale for each of 2 coordinates, got 3.*single number"):
        SquaredExponential(length_scale=(1.0, 2.0, 3.0))(points(3), points(3))


def test_points_are_rows_of_one_width_and_finite():
    kernel, rows = SquaredExponential(length_scale=1.0), points(3)
    for bad in (rows[0], rows[None], np.zeros((3, 0))):
        with pytest.raises(BadInput, match=r"first of shape \(n, d\), one point per row, got \("):
            kernel(bad, rows)
    with pytest.raises(BadInput, match=r"second of shape \(n, 2\).*got \(3, 3\)"):
        kernel(rows, points(3, 3))
    for value, what in ((math.nan, "NaN"), (-math.inf, "an infinity"), (1e101, "beyond 1e100")):
        bad = rows.copy()
        bad[1, 0] = value
        with pytest.raises(BadInput, match=f"{what}.* at position 2"):
            kernel(rows, bad)


def test_unknown_names_offer_the_nearest():
    with pytest.raises(UnknownName, match="matern-5/2"):
        kernel_named("matern-7/2", 0.2)
    for facts in ({"kernel": "matern-5/2"}, {"kernel": "matern-5/2", "length_scale": 1.0, "more": 1}, None):
        with pytest.raises(BadInput, match="exactly"):
            kernel_from_dict(facts)
    with pytest.raises(BadInput, match="name of a kernel"):
        kernel_from_dict({"kernel": 5, "length_scale": 1.0})
