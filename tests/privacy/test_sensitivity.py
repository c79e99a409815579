"""The replace-one sensitivities that events are recorded with, by random search and by the pairs that attain them."""

import math

import numpy as np
import pytest

from tacit.privacy import GaussianEvent, gdp, price


def row(x: np.ndarray, y: float) -> np.ndarray:
    joined = np.append(x, y)
    return np.outer(joined, joined)


def normalised(change: np.ndarray, *, corner: bool = True, diagonal_variance: float = 2.0) -> float:
    """Length of a symmetric change in units of symmetric noise: variance 1 off the diagonal, as given on it."""
    square = np.sum(np.triu(change, 1) ** 2) + np.sum(np.diag(change) ** 2) / diagonal_variance
    if not corner:
        square -= change[-1, -1] ** 2 / diagonal_variance
    return math.sqrt(square)


def random_rows(rng: np.random.Generator, count: int, dim: int, length: float, bound: float):
    for _ in range(count):
        x = rng.standard_normal(dim)
        # Extremes lie on the boundary; a few rows inside keep the search honest.
        x *= length * rng.choice([1.0, 1.0, rng.random()]) / np.linalg.norm(x)
        yield row(x, bound * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]))


@pytest.mark.parametrize(("length", "bound"), [(1.0, 1.0), (1.0, 0.5), (2.0, 1.0), (1.0, 3.0)])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_no_pair_of_rows_exceeds_the_normalised_sensitivity(length, bound, dim):
    rng = np.random.default_rng(7)
    limit = length**2 + bound**2
    rows = list(random_rows(rng, 300, dim, length, bound))
    worst = max(normalised(a - b) for a in rows for b in rows[:60])
    assert worst <= limit * (1 + 1e-12)
    assert worst > 0.5 * limit


def test_orthogonal_rows_attain_it():
    a, b = row(np.array([1.0, 0.0]), 1.0), row(np.array([1.0, 0.0]), -1.0)
    assert normalised(a - b) == pytest.approx(2.0)
    assert np.linalg.norm(a - b) == pytest.approx(math.sqrt(2) * 2)


@pytest.mark.parametrize("bound", [0.3, 0.8, 1.0])
def test_leaving_out_the_corner_changes_nothing_while_the_reward_bound_is_at_most_the_context_bound(bound):
    angle = math.acos(bound**2)
    a, b = row(np.array([1.0, 0.0]), bound), row(np.array([math.cos(angle), math.sin(angle)]), -bound)
    assert normalised(a - b, corner=False) == pytest.approx(1 + bound**2, rel=1e-12)


def test_leaving_out_the_corner_helps_when_the_reward_bound_is_larger():
    rng = np.random.default_rng(8)
    rows = list(random_rows(rng, 400, 2, 1.0, 3.0))
    assert max(normalised(a - b, corner=False) for a in rows for b in rows[:80]) < 0.75 * (1 + 9)


def test_a_row_replaced_by_nothing_costs_less():
    a = row(np.array([0.6, 0.8]), 1.0)
    assert normalised(a) == pytest.approx(2.0 / math.sqrt(2))


def test_single_variance_on_the_diagonal_is_the_root_two_trap():
    # Broken twin: the same rows against noise whose diagonal variance was not doubled.
    a, b = row(np.array([1.0, 0.0]), 0.0), row(np.array([0.0, 1.0]), 0.0)
    honest, trapped = normalised(a - b), normalised(a - b, diagonal_variance=1.0)
    assert honest == pytest.approx(1.0)
    assert trapped == pytest.approx(math.sqrt(2))
    sigma = 1 / gdp.mu_for(1.0, 1e-5)
    assert gdp.epsilon_at(price(GaussianEvent(sigma, trapped)), 1e-5) > 1.4
    assert gdp.epsilon_at(price(GaussianEvent(sigma, honest)), 1e-5) <= 1.0 + 1e-12


def test_gram_and_vector_released_side_by_side_have_sensitivity_root_four_and_a_half():
    def side_by_side(c: float, y: float, other: float) -> float:
        return math.sqrt(2 * (1 - c * c) + y * y + other * other - 2 * c * y * other)

    worst = max(side_by_side(c, y, -1.0) for c in np.linspace(-1, 1, 401) for y in (-1.0, 0.0, 1.0))
    assert worst == pytest.approx(math.sqrt(4.5), rel=1e-12)
