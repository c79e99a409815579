"""The published form: against the operator as it is defined, against features, and the tightness of its sensitivity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.estimators.rkhs import ExactForm, Nystrom, Operator, certified_sup_sigma2, inducing_points, sampled_gain
from tacit.kernels import Matern
from tests.estimators.rkhs_reference import MATERN, SE, SQUARE, primal, records_of

#: Kernel, features, and how far the two forms may be apart.
PAIRS = [pytest.param(SE, 196, 1e-3, id="squared-exponential"), pytest.param(MATERN, 400, 0.02, id="matern-5/2")]


def synthetic(count, seed=7):
    return SQUARE.uniform(np.random.default_rng(seed), count)


# What it computes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [SE, MATERN, Matern(1 / 2, length_scale=(0.2, 0.5))], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("tau", [0.1, 20.0])
def test_estimates_are_those_of_the_operator_as_it_is_defined(kernel, tau):
    drawn, (points, rewards) = synthetic(120), records_of(kernel, 40, seed=1)
    asked = SQUARE.grid(5)
    form = ExactForm(kernel, drawn, copies=3, tau=tau)
    rows, operator = primal(kernel, drawn, 3, tau, np.vstack([points, asked]))
    seen, wanted = rows[:40], rows[40:]
    expected = wanted @ np.linalg.solve(operator, seen.T @ rewards)
    np.testing.assert_allclose(form.mean(asked, points, rewards), expected, atol=1e-6)
    cross = wanted @ np.linalg.solve(operator, wanted.T)
    np.testing.assert_allclose(form.cross(asked, asked), cross, atol=1e-6)
    np.testing.assert_allclose(form.sigma2(asked), np.diag(cross), rtol=1e-6)
    np.testing.assert_allclose(form.cross(asked, points) @ rewards, expected, atol=1e-6)
    assert form.horizon == 40


def test_without_the_factor_of_one_over_tau_sigma2_would_be_too_small():
    """The comparison above can fail: the variance of a posterior is τ times smaller."""
    form = ExactForm(SE, synthetic(120), copies=3, tau=0.1)
    _, operator = primal(SE, synthetic(120), 3, 0.1, SQUARE.grid(5))
    rows, _ = primal(SE, synthetic(120), 3, 0.1, SQUARE.grid(5))
    posterior = form.sigma2(SQUARE.grid(5)) * 0.1
    assert (posterior < 0.2 * np.einsum("ij,ji->i", rows, np.linalg.solve(operator, rows.T))).all()


def test_far_from_everything_sigma2_is_one_over_tau():
    form = ExactForm(SE, synthetic(120), copies=3, tau=0.1)
    np.testing.assert_allclose(form.sigma2([[50.0, 50.0]]), 10.0)
    np.testing.assert_array_equal(form.mean([[50.0, 50.0]], SQUARE.grid(3), np.ones(9)), 0.0)


# Against features ----------------------------------------------------------------------------------------------------


def apart(kernel, horizon, count, tau=0.1):
    """The largest |Δμ| on a grid, and sup σ² of both forms there, from the same synthetic draws."""
    gain = sampled_gain(kernel, synthetic(horizon, seed=5), tau)
    copies = ExactForm.copies_needed(horizon, gain)
    drawn = synthetic(horizon * copies)
    points, rewards = records_of(kernel, horizon, seed=3)
    asked = SQUARE.grid(31)
    exact = ExactForm(kernel, drawn, copies, tau)
    operator = Operator(Nystrom(kernel, inducing_points(SQUARE, count)), drawn, horizon, tau, least_draws=len(drawn))
    means = exact.mean(asked, points, rewards), operator.mean(asked, operator.weighted_sum(points, rewards))
    assert np.abs(means[0]).max() > 0.5
    return np.abs(means[0] - means[1]).max(), exact.sigma2(asked).max(), operator.sigma2(asked).max()


@pytest.mark.parametrize(("kernel", "count", "limit"), PAIRS)
def test_features_agree_with_the_exact_form(kernel, count, limit):
    difference, exact, found = apart(kernel, 200, count)
    assert difference < limit
    assert found == pytest.approx(exact, rel=0.01)


def test_too_few_features_do_not():
    """The test above can fail: 49 features are too few for the squared exponential."""
    difference, exact, found = apart(SE, 200, 49)
    assert difference > 0.01
    assert found < 0.97 * exact


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "count", "limit"), PAIRS)
def test_features_agree_with_the_exact_form_at_a_thousand_records(kernel, count, limit):
    difference, exact, found = apart(kernel, 1000, count)
    assert difference < limit
    assert exact == pytest.approx(0.374 if kernel is SE else 0.72, rel=0.1)
    assert found == pytest.approx(exact, rel=0.01)


# Information gain ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (SE, 69),
        (MATERN, 110),
        (Matern(3 / 2, length_scale=0.2), 147),
        (Matern(1 / 2, length_scale=0.2), 303),
    ],
    ids=["squared-exponential", "matern-5/2", "matern-3/2", "matern-1/2"],
)
def test_sampled_gain_is_what_the_prototype_found(kernel, expected):
    """T = 500, τ = 0.1; draws differ, and with them the gain by a per cent or so."""
    assert sampled_gain(kernel, synthetic(500), 0.1) == pytest.approx(expected, rel=0.03)


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "expected"), [(SE, 101), (MATERN, 188)], ids=["squared-exponential", "matern-5/2"])
def test_sampled_gain_at_two_thousand_records(kernel, expected):
    assert sampled_gain(kernel, synthetic(2000), 0.1) == pytest.approx(expected, rel=0.03)


def test_sampled_gain_is_half_a_log_determinant():
    drawn = synthetic(50)
    expected = np.linalg.slogdet(np.eye(50) + MATERN(drawn, drawn) / 0.3)[1] / 2
    assert sampled_gain(MATERN, drawn, 0.3) == pytest.approx(expected, rel=1e-12)


# Sensitivity ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.1, 100.0])
@pytest.mark.parametrize("kernel", [SE, MATERN], ids=lambda kernel: kernel.name)
def test_the_sensitivity_bound_holds_and_is_tight(kernel, tau):
    """One record replaced by any other, seen from anywhere: |μ − μ'| ≤ 2B·sup σ², nearly attained in a corner."""
    bound, horizon, copies = 1.3, 60, 3
    form = ExactForm(kernel, synthetic(horizon * copies), copies, tau)
    points, rewards = records_of(kernel, horizon, seed=2)
    rewards = np.clip(rewards, -bound, bound)
    limit = 2 * bound * certified_sup_sigma2(form, SQUARE)
    grid = SQUARE.grid(9)
    candidates = np.vstack([grid, grid]), np.repeat([bound, -bound], len(grid))
    # μ is linear in what a record adds, so all pairs of records are differences of these rows.
    rest = form.mean(grid, points[1:], rewards[1:])
    moved = np.array(
        [
            form.mean(grid, np.vstack([point, points[1:]]), np.concatenate([[reward], rewards[1:]])) - rest
            for point, reward in zip(*candidates, strict=True)
        ]
    )
    worst = (moved.max(axis=0) - moved.min(axis=0)).max()
    assert 0.98 * limit <= worst <= limit
    corner = np.unravel_index(np.argmax(moved), moved.shape)[1]
    assert set(np.round(grid[corner], 12)) <= {0.0, 1.0}


# Refusals ------------------------------------------------------------------------------------------------------------


def test_a_long_horizon_is_refused_with_the_memory_it_would_need():
    with pytest.raises(BadInput, match=r"horizon <= 1,000 for the exact form, got 1,001.*1,001 .*0\.00802 GB.*feat"):
        ExactForm(SE, np.zeros((1001, 2)), copies=1, tau=1.0)
    assert ExactForm.copies_needed(2000, 101) == 20
    assert ExactForm.memory_needed(2000, 101) == 8 * 40_000**2


def test_bad_input_is_refused():
    form = ExactForm(SE, synthetic(20), copies=2, tau=1.0)
    for copies in (0, 1.5):
        with pytest.raises(BadInput, match="copies"):
            ExactForm(SE, synthetic(20), copies=copies, tau=1.0)
    with pytest.raises(BadInput, match=r"T·copies synthetic points, got 20 with copies=3"):
        ExactForm(SE, synthetic(20), copies=3, tau=1.0)
    with pytest.raises(BadInput, match="T·copies"):
        ExactForm(SE, synthetic(0), copies=3, tau=1.0)
    for tau in (0, math.nan):
        with pytest.raises(BadInput, match="tau"):
            ExactForm(SE, synthetic(20), copies=2, tau=tau)
        with pytest.raises(BadInput, match="tau"):
            sampled_gain(SE, synthetic(20), tau)
    with pytest.raises(BadInput, match=r"at most the horizon of 10 records, got 11"):
        form.mean(SQUARE.grid(2), synthetic(11), np.zeros(11))
    with pytest.raises(BadInput, match="one reward for each of 3 records"):
        form.mean(SQUARE.grid(2), synthetic(3), np.zeros(4))
    with pytest.raises(BadInput, match=r"points of shape \(n, 2\)"):
        form.sigma2([[0.5]])
    with pytest.raises(BadInput, match="NaN"):
        form.sigma2([[0.5, math.nan]])
    with pytest.raises(BadInput, match=r"1 to 10,000 synthetic draws, got 20,000: 3\.2 GB"):
        sampled_gain(SE, np.zeros((20_000, 2)), 0.1)
    with pytest.raises(BadInput, match="gain > 0"):
        ExactForm.memory_needed(100, 0.0)
