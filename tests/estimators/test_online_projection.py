"""The projection in the norm of a matrix, and the algebra under it, against numpy and scipy."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit import linalg
from tacit.estimators.online.projection import project, projection_rows
from tests.estimators.online_reference import nearest_when_diagonal

DIMS = [1, 2, 3, 4, 5, 8, 13, 20]


def projected(inverse, radius, z):
    point, dim = z.copy(), len(z)
    count = project(inverse, radius, point, np.full((projection_rows(dim), dim), math.nan))
    return point, count


def problem(rng, condition):
    """S⁻¹ with eigenvalues from 1 down to 1/condition in a random basis, and a point outside a ball around zero.

    Half of the points have most of their length in a few of the directions of the basis.
    """
    dim = int(rng.choice(DIMS))
    basis, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    eigenvalues = condition ** -rng.uniform(0, 1, size=dim)
    eigenvalues[: min(2, dim)] = [1.0, 1 / condition][: min(2, dim)]
    spread = 10 ** rng.uniform(-6, 0, size=dim) if rng.random() < 0.5 else np.ones(dim)
    z = spread * rng.normal(size=dim)
    radius = 10 ** rng.uniform(-3, 3)
    z *= radius * (1 + 10 ** rng.uniform(-14, 1)) / np.linalg.norm(z)
    inverse = (basis * eigenvalues) @ basis.T
    return basis, eigenvalues, (inverse + inverse.T) / 2, radius, z


@pytest.mark.parametrize("power", range(12))
def test_the_projection_is_the_nearest_point_however_ill_conditioned_the_matrix(power):
    """Against scipy's root finder in the basis where S is diagonal. An inverse that is stored in doubles is itself only
    known to 10⁻¹⁶ of its largest eigenvalue, hence the tolerance."""
    rng = np.random.default_rng(power)
    for _ in range(300):
        condition = 10 ** (power + rng.random())
        basis, eigenvalues, inverse, radius, z = problem(rng, condition)
        found, count = projected(inverse, radius, basis @ z)
        if np.linalg.norm(basis @ z) <= radius or np.linalg.norm(z) <= radius:
            continue
        expected = basis @ nearest_when_diagonal(1 / eigenvalues, radius, z)
        assert np.linalg.norm(found - expected) <= (2e-13 + 2e-15 * condition) * radius
        assert np.linalg.norm(found) <= radius * (1 + 1e-15)
        assert 1 <= count <= 60


def test_the_projection_minimises_what_it_says_it_minimises():
    """Against a general solver that is given the definition and nothing else."""
    rng = np.random.default_rng(1)
    for _ in range(25):
        root = rng.normal(size=(3, 5))
        matrix, z = root @ root.T + 0.1 * np.eye(3), rng.normal(size=3) * 4
        radius = np.linalg.norm(z) * rng.uniform(0.2, 0.95)
        inverse = np.linalg.inv(matrix)
        found, _ = projected((inverse + inverse.T) / 2, radius, z)
        answer = minimize(
            lambda x, z=z, matrix=matrix: (x - z) @ matrix @ (x - z),
            np.zeros(3),
            jac=lambda x, z=z, matrix=matrix: 2 * matrix @ (x - z),
            constraints={"type": "ineq", "fun": lambda x, radius=radius: radius**2 - x @ x, "jac": lambda x: -2 * x},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(found, answer.x, atol=1e-5 * radius)
        # And it is no worse: at the optimum S(z − x) = νx with ν ≥ 0.
        pull = matrix @ (z - found)
        assert pull @ found > 0
        np.testing.assert_allclose(pull, pull @ found / (found @ found) * found, atol=1e-9 * np.linalg.norm(pull))


def test_the_test_of_the_projection_rejects_a_point_that_is_merely_shortened():
    """The Euclidean projection is another point as soon as the norm is not Euclidean."""
    rng = np.random.default_rng(2)
    basis, eigenvalues, _, radius, _ = problem(rng, 100.0)
    z = 2 * radius * np.ones(len(eigenvalues)) / math.sqrt(len(eigenvalues))
    expected = basis @ nearest_when_diagonal(1 / eigenvalues, radius, z)
    assert np.linalg.norm(basis @ z / 2 - expected) > 1e-2 * radius


@pytest.mark.parametrize("share", [0.0, 0.5, 1 - 1e-16, 1.0])
def test_a_point_of_the_ball_is_not_touched(share):
    z = np.array([3.0, 4.0]) * share
    found, count = projected(np.array([[2.0, 0.3], [0.3, 1.0]]), 5.0, z)
    assert np.array_equal(found, z)
    assert count == 0


@pytest.mark.parametrize("share", [1 + 1e-15, 1 + 1e-12, 1 + 1e-6])
def test_a_point_just_outside_moves_to_the_edge(share):
    z = np.array([3.0, 4.0]) * share
    found, _ = projected(np.array([[2.0, 0.3], [0.3, 1.0]]), 5.0, z)
    assert np.linalg.norm(found) == pytest.approx(5.0, rel=1e-15)
    assert np.linalg.norm(found - z) < 20 * (share - 1)


def test_in_the_euclidean_norm_the_point_is_shortened():
    z = np.array([1.0, -2.0, 5.0])
    found, _ = projected(0.7 * np.eye(3), 0.5, z)
    np.testing.assert_allclose(found, z * 0.5 / np.linalg.norm(z), rtol=1e-14)


@pytest.mark.parametrize("inverse", [np.zeros((2, 2)), -np.eye(2), np.full((2, 2), math.nan), np.diag([1.0, -1e-3])])
def test_what_is_no_inverse_of_a_norm_still_gives_a_point_of_the_ball(inverse):
    found, count = projected(inverse, 1.0, np.array([3.0, -40.0]))
    assert np.linalg.norm(found) <= 1 + 1e-15
    assert count <= 100


def test_the_projection_from_python_and_as_machine_code_agree_to_the_bit():
    rng = np.random.default_rng(3)
    for _ in range(50):
        basis, _, inverse, radius, z = problem(rng, 1e4)
        compiled, plain = basis @ z, basis @ z
        rows = np.zeros((projection_rows(len(z)), len(z)))
        assert project(inverse, radius, compiled, rows) == project.py_func(inverse, radius, plain, rows)
        assert np.array_equal(compiled, plain)


# The algebra under it ----------------------------------------


def symmetric(rng, dim):
    root = rng.normal(size=(dim, 2 * dim))
    return root @ root.T + np.eye(dim)


@pytest.mark.parametrize("dim", DIMS)
def test_products_and_solutions_are_numpys(dim):
    rng = np.random.default_rng(dim)
    matrix, x, y, out = symmetric(rng, dim), rng.normal(size=dim), rng.normal(size=dim), np.full(dim, math.nan)
    assert linalg.dot(x, y) == pytest.approx(x @ y, rel=1e-12, abs=1e-14)
    linalg.symmetric_product(matrix, x, out)
    np.testing.assert_allclose(out, matrix @ x, rtol=1e-12, atol=1e-12)
    upper, solution = np.linalg.cholesky(matrix).T.copy(), x.copy()
    linalg.solve(upper, solution)
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("length", "after"), [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (2.1, 2.0), (1e30, 2.0)])
def test_a_vector_is_shortened_to_the_ball_and_never_lengthened(length, after):
    x = np.array([0.6, 0.0, -0.8]) * length
    linalg.shrink_to_ball(x, 2.0)
    np.testing.assert_allclose(x, np.array([0.6, 0.0, -0.8]) * after, rtol=1e-15)


@pytest.mark.parametrize("dim", DIMS)
def test_an_inverse_takes_in_a_row(dim):
    rng = np.random.default_rng(dim)
    matrix, x, out = symmetric(rng, dim), rng.normal(size=dim), np.zeros(dim)
    inverse = np.linalg.inv(matrix)
    inverse = (inverse + inverse.T) / 2
    share = linalg.add_outer_to_inverse(inverse, x, 0.7, out)
    expected = np.linalg.inv(matrix + 0.7 * np.outer(x, x))
    np.testing.assert_allclose(inverse, expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(share * out, expected @ x, rtol=1e-10, atol=1e-13)
    assert np.array_equal(inverse, inverse.T)


@pytest.mark.parametrize("kind", ["all directions", "nearly one direction"])
def test_an_inverse_does_not_drift_over_a_hundred_thousand_rows(kind):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(100_000, 5)) / math.sqrt(5)
    if kind == "nearly one direction":
        rows = rows[:, :1] * np.array([1.0, 2.0, -1.0, 0.5, 0.1]) + 1e-4 * rows
    inverse, out = np.eye(5), np.zeros(5)
    for x in rows:
        linalg.add_outer_to_inverse(inverse, x, 0.04, out)
    matrix = np.eye(5) + 0.04 * rows.T @ rows
    assert np.abs(inverse @ matrix - np.eye(5)).max() < 1e-9
    assert np.array_equal(inverse, inverse.T)
