"""G-optimal designs: the theorem of Kiefer and Wolfowitz, known answers, and lists of every kind."""

import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.estimators.design import g_optimal_design, write_coordinates
from tacit.estimators.design.span import FLAT

TOLERANCE = 0.01


def unit_vectors(count, dim, seed):
    rows = np.random.default_rng([seed, count, dim]).standard_normal((count, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def in_a_ball(count, dim, seed):
    return unit_vectors(count, dim, seed) * np.random.default_rng(seed).random((count, 1)) ** (1 / dim)


def information(actions, weights):
    return (actions.T * weights) @ actions


def scores(actions, weights):
    """‖x‖²_{V⁺} of every action, by NumPy; V⁺ is the inverse on the span."""
    inverse = np.linalg.pinv(information(actions, weights), rcond=1e-12, hermitian=True)
    return np.einsum("ki,ij,kj->k", actions, inverse, actions)


def is_optimal(actions, weights, tolerance=TOLERANCE):
    """Whether no action is worse than the rank allows, and none in the support better."""
    found, rank = scores(actions, weights), np.linalg.matrix_rank(actions, tol=1e-6 * np.abs(actions).max())
    room = rank * tolerance + 1e-9
    return found.max() <= rank + room and found[weights > 0].min() >= rank - room


# The theorem -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "dim"), [(50, 5), (20, 3), (12, 10), (300, 8), (5, 20)])
@pytest.mark.parametrize("made", [unit_vectors, in_a_ball])
def test_no_action_is_worse_than_the_rank_allows(made, count, dim):
    for seed in range(5):
        actions = made(count, dim, seed)
        design = g_optimal_design(actions, TOLERANCE)
        assert design.rank == min(count, dim)
        assert design.converged
        assert design.weights.min() >= 0
        assert design.weights.sum() == pytest.approx(1, abs=1e-12)
        assert design.value == pytest.approx(scores(actions, design.weights).max(), rel=1e-9)
        assert design.value <= design.rank * (1 + TOLERANCE)
        assert is_optimal(actions, design.weights)


def test_that_check_rejects_designs_that_are_nearly_right():
    actions = unit_vectors(50, 5, seed=1)
    best = g_optimal_design(actions, TOLERANCE).weights
    moved = 0.95 * best
    moved[np.flatnonzero(best == 0)[0]] += 0.05
    assert is_optimal(actions, best)
    assert not is_optimal(actions, moved)
    assert not is_optimal(actions, np.full(50, 1 / 50))


def test_g_optimal_is_d_optimal():
    """ln det V is what another algorithm finds (Titterington 1976: π ← π·score/r, here until it is within 10⁻⁵)."""
    actions = unit_vectors(50, 5, seed=2)
    weights = np.full(50, 1 / 50)
    while scores(actions, weights).max() > 5 * (1 + 1e-5):
        weights *= scores(actions, weights) / 5
    largest = np.linalg.slogdet(information(actions, weights))[1]
    for tolerance in (1e-1, 1e-2, 1e-4):
        design = g_optimal_design(actions, tolerance)
        found = np.linalg.slogdet(information(actions, design.weights))[1]
        assert largest - 5 * math.log(design.value / 5) - 1e-4 <= found <= largest + 1e-4


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_polynomial_regression_has_the_design_that_is_known_for_it(degree):
    """Guest (1958): weight 1/(n + 1) at ±1 and at the stationary points of the Legendre polynomial of degree n."""
    inner = np.polynomial.legendre.Legendre.basis(degree).deriv().roots()
    known = np.array([-1.0, *inner, 1.0])
    points = np.unique(np.round(np.concatenate([np.linspace(-1, 1, 41), known]), 12))
    design = g_optimal_design(np.vander(points, degree + 1), 1e-7)
    expected = np.zeros(len(points))
    expected[np.abs(points[:, None] - known).argmin(0)] = 1 / (degree + 1)
    np.testing.assert_allclose(design.weights, expected, atol=1e-4)


def test_the_support_may_be_larger_than_an_optimal_design_needs():
    """There is an optimal one on d(d + 1)/2 actions; Frank–Wolfe does not look for it. Whoever plans on the support
    must count it."""
    sizes = [len(g_optimal_design(unit_vectors(50, 5, seed)).support) for seed in range(5)]
    assert max(sizes) > 15


# Lists of every kind -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_basis_vectors_are_played_alike(dim):
    design = g_optimal_design(np.eye(dim))
    np.testing.assert_allclose(design.weights, 1 / dim, rtol=1e-15)
    assert (design.rank, design.iterations) == (dim, 0)


def test_one_action_has_all_the_weight():
    design = g_optimal_design([[0.0, 3.0, 0.0]])
    assert design.weights.tolist() == [1.0]
    assert (design.rank, design.value) == (1, 1.0)


def test_on_a_line_the_longest_action_has_all_the_weight():
    design = g_optimal_design(np.outer([0.5, -3.0, 0.0, 1.0], [1.0, 2.0]))
    assert design.weights.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert design.rank == 1


def test_actions_that_do_not_span_the_space_have_the_design_of_their_span():
    flat = unit_vectors(40, 3, seed=1)
    turned = flat @ np.linalg.qr(np.random.default_rng(1).standard_normal((8, 3)))[0].T
    design = g_optimal_design(turned)
    assert design.rank == 3
    assert is_optimal(flat, design.weights)
    np.testing.assert_allclose(design.weights, g_optimal_design(flat).weights, atol=1e-9)


def test_repeated_actions_change_nothing_but_who_has_the_weight():
    actions = unit_vectors(30, 4, seed=3)
    twice = np.concatenate([actions, actions[::-1], np.zeros((1, 4))])
    design = g_optimal_design(twice)
    assert is_optimal(actions, design.weights[:30] + design.weights[30:60][::-1])
    assert design.weights[60] == 0


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e90])
def test_the_scale_of_actions_does_not_matter(scale):
    actions = unit_vectors(50, 5, seed=4)
    np.testing.assert_allclose(g_optimal_design(scale * actions).weights, g_optimal_design(actions).weights, atol=1e-9)


def test_stretched_actions_are_no_harder():
    """A design does not depend on coordinates: no axis is too short for it, down to where it counts as rounding."""
    actions = in_a_ball(80, 6, seed=5)
    for ratio in (1e-2, 1e-4, 1e-7):
        design = g_optimal_design(actions * np.geomspace(1, ratio, 6))
        assert design.rank == 6
        assert is_optimal(actions, design.weights)
    assert g_optimal_design(actions * [1, 1, 1, 1, 1, FLAT / 10]).rank == 5


def test_actions_are_combinations_of_the_pivots():
    """Also of badly conditioned ones: monomials up to the 14th degree."""
    for actions in (unit_vectors(30, 6, seed=6), np.vander(np.linspace(-1, 1, 40), 15), unit_vectors(4, 9, seed=7)):
        count, dim = actions.shape
        size = min(count, dim)
        coordinates, pivots = np.zeros((size, count)), np.zeros(size, np.int64)
        rank = write_coordinates(
            actions, np.arange(count), count, coordinates, pivots, np.zeros((dim, count)), np.zeros((size, size))
        )
        assert rank == size
        np.testing.assert_allclose(coordinates.T @ actions[pivots], actions, atol=1e-12)
        np.testing.assert_array_equal(coordinates[:, pivots], np.eye(size))


# Limits and refusals -----------------------------------------------------------------------------------------------


def test_a_design_cut_short_says_so_and_is_valued_as_it_is():
    actions = in_a_ball(200, 10, seed=8)
    for limit in (0, 3, 50):
        design = g_optimal_design(actions, 1e-6, limit)
        assert not design.converged
        assert design.iterations == limit
        assert design.value == pytest.approx(scores(actions, design.weights).max(), rel=1e-9)
    assert g_optimal_design(actions, 1e-6).converged


def test_what_is_no_list_of_actions_is_refused():
    for actions, words in [
        ([[1.0, math.nan]], "NaN at position 1"),
        ([[math.inf]], "an infinity"),
        ([1.0, 2.0], r"shape \(K, d\)"),
        (np.zeros((0, 3)), r"\(0, 3\)"),
        ([[0.0, 0.0]], "other than zero"),
        ([["a"]], "array of numbers"),
    ]:
        with pytest.raises(BadInput, match=words):
            g_optimal_design(actions)
    with pytest.raises(BadInput, match="tolerance > 0, got tolerance=0"):
        g_optimal_design(np.eye(2), tolerance=0)
    with pytest.raises(BadInput, match="limit"):
        g_optimal_design(np.eye(2), limit=-1)
