"""Small dense linear algebra against numpy, on both sides of the switch to BLAS."""

import math

import numpy as np
import pytest

from tacit import linalg
from tacit.linalg import BLAS_FROM

DIMS = [1, 2, 3, 4, 5, 6, 7, 8, 13, 25, BLAS_FROM - 1, BLAS_FROM, BLAS_FROM + 1, 64]


def positive_definite(dim, seed=0):
    rng = np.random.default_rng([dim, seed])
    root = rng.normal(size=(dim, dim + 3))
    return root @ root.T + 0.1 * np.eye(dim)


@pytest.mark.parametrize("dim", DIMS)
def test_packed_size_counts_the_upper_triangle(dim):
    assert linalg.packed_size(dim) == len(np.triu_indices(dim)[0])


@pytest.mark.parametrize("dim", DIMS)
def test_add_outer_adds_the_upper_triangle_of_the_square_and_then_the_vector(dim):
    rng = np.random.default_rng(dim)
    x, y = rng.normal(size=dim), 1.7
    start = rng.normal(size=linalg.packed_size(dim) + dim)
    packed = start.copy()
    linalg.add_outer(x, y, dim, packed)
    expected = start + np.concatenate([np.outer(x, x)[np.triu_indices(dim)], x * y])
    assert np.array_equal(packed, expected)


def test_add_outer_reads_only_the_first_entries_of_a_longer_report():
    packed = np.zeros(linalg.packed_size(2) + 2)
    linalg.add_outer(np.array([2.0, 3.0, 99.0, 99.0]), 5.0, 2, packed)
    assert packed.tolist() == [4.0, 6.0, 9.0, 10.0, 15.0]


@pytest.mark.parametrize("dim", DIMS)
def test_cholesky_is_the_upper_factor_and_leaves_the_lower_triangle(dim):
    matrix = positive_definite(dim)
    work = matrix.copy()
    work[np.tril_indices(dim, -1)] = 77.0
    assert linalg.cholesky(work)
    np.testing.assert_allclose(np.triu(work), np.linalg.cholesky(matrix).T, rtol=1e-10, atol=1e-12)
    assert (work[np.tril_indices(dim, -1)] == 77.0).all()


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("size", [1e-150, 1e-6, 1e6, 1e150])
def test_cholesky_works_at_any_size(dim, size):
    matrix = positive_definite(dim)
    work = matrix * size
    assert linalg.cholesky(work)
    np.testing.assert_allclose(np.triu(work) / math.sqrt(size), np.linalg.cholesky(matrix).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("bad", [0.0, -1e-3, -5.0])
def test_cholesky_refuses_a_matrix_with_an_eigenvalue_that_is_not_positive(dim, bad):
    rng = np.random.default_rng(dim)
    basis, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    eigenvalues = np.linspace(1, 2, dim)
    eigenvalues[dim // 2] = bad
    matrix = (basis * eigenvalues) @ basis.T
    if bad == 0.0:  # rounding may leave either sign: make the zero exact
        matrix = np.eye(dim)
        matrix[-1, -1] = 0.0
    assert not linalg.cholesky(matrix)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dim", [1, 2, 5, 12])
def test_cholesky_refuses_what_is_not_finite_wherever_it_stands(bad, dim):
    for i in range(dim):
        for j in range(i, dim):
            matrix = positive_definite(dim)
            matrix[i, j] = matrix[j, i] = bad
            assert not linalg.cholesky(matrix)


@pytest.mark.parametrize("dim", DIMS)
def test_invert_transpose_whitens_and_leaves_the_upper_triangle(dim):
    matrix = positive_definite(dim)
    upper = np.linalg.cholesky(matrix).T.copy()
    whiten = np.full((dim, dim), 55.0)
    linalg.invert_transpose(upper, whiten)
    assert (whiten[np.triu_indices(dim, 1)] == 55.0).all()
    lower = np.tril(whiten)
    np.testing.assert_allclose(lower @ upper.T, np.eye(dim), atol=1e-9)
    np.testing.assert_allclose(lower.T @ lower, np.linalg.inv(matrix), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dim", DIMS)
def test_log_determinant_is_that_of_numpy(dim):
    matrix = positive_definite(dim)
    upper = np.linalg.cholesky(matrix).T.copy()
    assert linalg.log_determinant(upper) == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("pivot", [5e-162, 1e-160, 1e-101, 1e-100, 1e-99, 1e-5, 1.0, 1e5, 1e99, 1e100, 1e101, 1e154])
@pytest.mark.parametrize("dim", [1, 2, 5, 64])
def test_log_determinant_neither_overflows_nor_underflows(dim, pivot):
    """Pivots are square roots of doubles: from 2e-162 to 1e154, and the product of 64 of them is no double."""
    expected = 2 * dim * math.log(pivot)
    assert linalg.log_determinant(pivot * np.eye(dim)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_log_determinant_of_huge_and_tiny_pivots_in_turn_is_exact():
    pivots = np.array([1e150, 1e-150, 1e99, 1e99, 1e-99, 1e-99, 1e154, 5e-162, 2.0])
    expected = 2 * sum(math.log(pivot) for pivot in pivots)
    assert linalg.log_determinant(np.diag(pivots)) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("arms", [1, 2, 25, 100])
def test_inner_products_are_those_of_numpy(dim, arms):
    rng = np.random.default_rng([dim, arms])
    vector, columns, out = rng.normal(size=dim), rng.normal(size=(dim, arms)), np.full(arms, np.nan)
    linalg.inner_products(vector, columns, out)
    np.testing.assert_allclose(out, vector @ columns, rtol=1e-12, atol=1e-12)


def whitened(lower, columns):
    dim, arms = columns.shape
    out, scratch = np.full(arms, np.nan), np.full(max(arms, 2 * dim), np.nan)
    product = np.full((dim, arms) if dim >= BLAS_FROM else (1, 1), np.nan)
    linalg.whitened_norms(lower, columns, out, scratch, product)
    return out


@pytest.mark.parametrize("dim", range(1, 65))
@pytest.mark.parametrize("arms", [1, 30])
def test_whitened_norms_are_those_of_numpy_in_every_dimension(dim, arms):
    rng = np.random.default_rng([dim, arms])
    lower, columns = np.tril(rng.normal(size=(dim, dim))), rng.normal(size=(dim, arms))
    np.testing.assert_allclose(whitened(lower, columns), ((lower @ columns) ** 2).sum(axis=0), rtol=1e-11)


@pytest.mark.parametrize("dim", DIMS)
def test_cholesky_whitening_and_norms_together_give_the_quadratic_form_of_the_inverse(dim):
    matrix = positive_definite(dim, seed=1)
    columns = np.random.default_rng(dim).normal(size=(dim, 17))
    factor, lower = matrix.copy(), np.zeros((dim, dim))
    assert linalg.cholesky(factor)
    linalg.invert_transpose(factor, lower)
    expected = np.einsum("ik,ik->k", columns, np.linalg.solve(matrix, columns))
    np.testing.assert_allclose(whitened(lower, columns), expected, rtol=1e-8)
