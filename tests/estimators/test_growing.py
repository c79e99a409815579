"""Widths for sums whose noise grows: the proved one holds, and the tails it stands on.

Error level: each statistical comparison is one-sided at 1e-6, with fixed seeds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tacit.estimators.growing import (
    ball_view,
    constant,
    fit_growing,
    matrix_tails,
    proved,
    regulariser_at,
    tail_at,
    vector_tail,
    width_at,
)
from tacit.estimators.ridge import empty_view
from tests.statistics.checks import LEVEL

DIM = 3
UPPER = np.triu_indices(DIM)


def theorem(**changes):
    settings = {
        "spread": 2.0,
        "gaussian": True,
        "shift": 2.0,
        "ridge": 1.0,
        "failure": 0.1,
        "noise_level": 0.5,
        "parameter_norm": 1.0,
        "releases": 100,
    }
    return proved(DIM, **(settings | changes))


def symmetric(rng, runs, dim, kind):
    """Noise of unit deviation on and above the diagonal: Gaussian, or coins."""
    shape = (runs, dim, dim)
    entries = rng.standard_normal(shape) if kind == "gaussian" else rng.choice([-1.0, 1.0], shape)
    upper = np.triu(entries)
    return upper + np.transpose(np.triu(entries, 1), (0, 2, 1))


def too_often(hits, runs, chance) -> float:
    """How likely it is that something of at most this chance happens so often."""
    return float(stats.binom.sf(hits - 1, runs, chance))


@pytest.mark.parametrize("kind", ["gaussian", "coins"])
@pytest.mark.parametrize("dim", [1, 2, 5, 12])
@pytest.mark.parametrize("failure", [0.9, 0.1])
def test_noise_exceeds_its_tails_no_more_often_than_they_say(kind, dim, failure):
    runs, rng = 4000, np.random.default_rng(5)
    norms = np.abs(np.linalg.eigvalsh(symmetric(rng, runs, dim, kind))).max(axis=1)
    for bound in matrix_tails(dim, gaussian=kind == "gaussian"):
        assert too_often((norms > tail_at(bound, failure)).sum(), runs, failure / 4) > LEVEL
    shape = (runs, dim)
    vectors = rng.standard_normal(shape) if kind == "gaussian" else rng.choice([-1.0, 1.0], shape)
    lengths = np.linalg.norm(vectors, axis=1)
    assert too_often((lengths > tail_at(vector_tail(dim), failure)).sum(), runs, failure / 4) > LEVEL


@pytest.mark.parametrize("dim", [1, 2, 5, 12])
def test_the_test_of_tails_rejects_half_of_them(dim):
    runs, rng = 4000, np.random.default_rng(5)
    norms = np.abs(np.linalg.eigvalsh(symmetric(rng, runs, dim, "gaussian"))).max(axis=1)
    least = min(tail_at(bound, 0.1) for bound in matrix_tails(dim, gaussian=True))
    assert too_often((norms > least / 2).sum(), runs, 0.025) < LEVEL


def outside(growing, kind, runs=40, releases=60, rows=5) -> tuple[int, float]:
    """How many of `runs` runs have a view without θ*, and how wide the last of them are."""
    rng, missed, widths = np.random.default_rng(6), 0, []
    for _ in range(runs):
        theta = rng.standard_normal(DIM)
        theta /= np.linalg.norm(theta)
        sums, view, inside = np.zeros(len(UPPER[0]) + DIM), empty_view(DIM), True
        for _ in range(releases):
            x = rng.standard_normal((rows, DIM))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            y = x @ theta + rng.choice([-0.5, 0.5], rows)
            noise = rng.standard_normal(len(sums)) if kind == "gaussian" else rng.choice([-1.0, 1.0], len(sums))
            sums += np.append((x.T @ x)[UPPER], x.T @ y) + growing.spread * noise
            fit_growing(growing, sums, view)
            inside &= bool(np.linalg.norm(np.triu(view.factor) @ (theta - view.theta)) <= view.width[0])
        missed += not inside
        widths.append(view.width[0])
    return missed, float(np.mean(widths))


@pytest.mark.parametrize("kind", ["gaussian", "coins"])
def test_the_true_parameter_is_in_every_view(kind):
    growing = theorem(gaussian=kind == "gaussian")
    missed, _ = outside(growing, kind)
    assert too_often(missed, 40, growing.failure) > LEVEL


def test_a_tenth_of_the_width_is_too_little():
    """Broken twin: the test above sees it."""
    growing = theorem()._replace(multiplier=0.1)
    missed, _ = outside(growing, "gaussian")
    assert too_often(missed, 40, growing.failure) < LEVEL


def test_the_width_is_the_formula():
    growing, k, log = theorem(), 7, 11.0
    share = 6 * 0.1 / (math.pi**2 * k**2)
    last = 6 * 0.1 / (math.pi * 100) ** 2  # the tail that is least in the last view serves all
    chosen = min(matrix_tails(DIM, gaussian=True), key=lambda bound: tail_at(bound, last))
    tau = 2.0 * math.sqrt(k)
    bound = tau * (chosen.start + math.sqrt(chosen.slope * math.log(chosen.weight / share)))
    gamma = tau * (math.sqrt(DIM) + math.sqrt(2 * math.log(4 / share))) / math.sqrt(bound)
    growth = max(0.0, log - DIM * math.log(bound))
    beta = 0.5 * math.sqrt(2 * math.log(2 / share) + growth) + math.sqrt(3 * bound) + gamma
    assert regulariser_at(growing, float(k)) == pytest.approx(2 * bound, rel=1e-12)
    assert width_at(growing, float(k), DIM, log) == pytest.approx(beta, rel=1e-12)


def test_without_noise_the_ridge_remains():
    growing = theorem(spread=0.0, ridge=3.0)
    assert regulariser_at(growing, 50.0) == 3.0
    view = ball_view(DIM, growing)
    np.testing.assert_allclose(view.factor.T @ view.factor, 3.0 * np.eye(DIM), rtol=1e-14)
    assert view.width[0] > 0
    assert view.stage[0] == 0


def test_a_constant_rule_has_one_width_and_a_growing_regulariser():
    growing = constant(spread=2.0, growth=1.5, ridge=1.0, width=4.0)
    assert regulariser_at(growing, 0.0) == 1.0
    assert regulariser_at(growing, 16.0) == pytest.approx(1.5 * 2.0 * 4.0)
    assert width_at(growing, 1.0, DIM, 5.0) == width_at(growing, 100.0, DIM, 50.0) == 4.0


def test_an_indefinite_matrix_is_repaired_by_the_regulariser_doubled():
    """V = −10·I + r·I is repaired by r, then 2r, …, until it is positive definite; counted, never left out."""
    growing = constant(spread=1.0, growth=2.0, ridge=1.0, width=1.0)
    sums = np.append(-10 * np.eye(DIM)[UPPER], np.zeros(DIM))
    view = empty_view(DIM)
    assert fit_growing(growing, sums, view) == 3  # 2 + 2 + 4 + 8 > 10
    upper = np.triu(view.factor)
    np.testing.assert_allclose(upper.T @ upper, 6 * np.eye(DIM), atol=1e-12)
