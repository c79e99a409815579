"""The symmetric draw: variance s² off the diagonal and in the vector, 2s² on the diagonal."""

import math
from functools import lru_cache

import numpy as np
import pytest

from tacit.linalg import packed_size
from tacit.noise import draw_symmetric, stream, tape_of
from tests.statistics import checks
from tests.statistics.checks import LEVEL

SCALE = 3.7


def is_diagonal(dim):
    """Which of the packed numbers stand on the diagonal of the matrix."""
    rows, columns = np.triu_indices(dim)
    return np.concatenate([rows == columns, np.zeros(dim, bool)])


@lru_cache
def _drawn(dim, count):
    source = stream(0)
    rows = np.empty((count, packed_size(dim) + dim))
    for row in rows:
        draw_symmetric(source, SCALE, dim, row)
    return rows


def drawn(dim, count):
    return _drawn(dim, count).copy()


def law_of(rows, dim, scale):
    """All variances, and that no two entries are related. Errs with probability at most LEVEL = 1e-6."""
    return checks.covariance(rows, np.diag(np.where(is_diagonal(dim), 2.0, 1.0)) * scale**2)


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 8])
def test_a_draw_is_the_source_times_the_scale_and_root_two_on_the_diagonal(dim):
    size = packed_size(dim) + dim
    values = np.random.default_rng(dim).normal(size=size + 3)
    source = tape_of(values.copy(), np.empty(0))
    out = np.full(size, np.nan)
    draw_symmetric(source, SCALE, dim, out)
    assert out == pytest.approx(values[:size] * SCALE * np.where(is_diagonal(dim), math.sqrt(2), 1.0), rel=1e-15)
    assert source.at[0] == size  # one number per entry, none twice
    assert np.isnan(source.normals[:size]).all()


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_draws_have_the_right_variances_and_are_unrelated(dim):
    rows = drawn(dim, 10_000)
    assert law_of(rows, dim, SCALE) > LEVEL
    spread = np.where(is_diagonal(dim), math.sqrt(2), 1.0) * SCALE
    assert checks.law(rows / spread, checks.normal) > LEVEL


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_test_of_draws_rejects_a_scale_off_by_ten_percent(dim, factor):
    assert law_of(factor * drawn(dim, 10_000), dim, SCALE) < LEVEL


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_test_of_draws_rejects_a_diagonal_without_its_root_two(dim):
    """The trap: a draw with variance s² everywhere would be √2 times less private than it is priced."""
    rows = drawn(dim, 10_000)
    rows[:, is_diagonal(dim)] /= math.sqrt(2)
    assert law_of(rows, dim, SCALE) < LEVEL


@pytest.mark.parametrize("entry", [0, 1, 5, -1])
def test_the_test_of_draws_rejects_one_entry_without_noise_of_its_own(entry):
    rows = drawn(5, 10_000)
    rows[:, entry] = rows[:, 7] * rows[:, entry].std() / rows[:, 7].std()
    assert law_of(rows, 5, SCALE) < LEVEL


def test_successive_draws_are_unrelated():
    rows = drawn(3, 20_000)
    both = np.hstack([rows[::2], rows[1::2]]) / SCALE
    assert checks.covariance(both, np.diag(np.tile(np.where(is_diagonal(3), 2.0, 1.0), 2))) > LEVEL


@pytest.mark.parametrize("dim", [2, 5])
def test_a_replaced_row_moves_the_sums_by_at_most_the_sensitivity_in_units_of_this_noise(dim):
    """√(Σ Δ²/variance) ≤ L̃²/s, and nearly attained: this is what the doubled diagonal is for."""
    rng = np.random.default_rng(dim)
    variances = np.where(is_diagonal(dim), 2.0, 1.0)
    worst = 0.0
    for _ in range(3_000):
        rows = []
        for _ in range(2):
            x = rng.normal(size=dim)
            x /= np.linalg.norm(x)
            rows.append((x, rng.choice([-1.0, 1.0])))
        (a, y), (b, z) = rows
        if rng.random() < 0.5:  # the worst pair: rewards of opposite sign and <a, b> = 1, so that [a; y] ⟂ [b; z]
            b, z = a + 0.01 * b, -y
            b /= np.linalg.norm(b)
        upper = np.triu_indices(dim)
        change = np.concatenate([(np.outer(a, a) - np.outer(b, b))[upper], a * y - b * z])
        worst = max(worst, float(np.sqrt((change**2 / variances).sum())))
    assert worst <= 2.0 + 1e-12  # L̃² = 1 + 1
    assert worst > 1.999
