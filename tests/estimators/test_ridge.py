"""The estimate, its width and the arm it prefers, against the definitions in numpy."""

import math

import numpy as np
import pytest

from tacit.core.slate import slate
from tacit.estimators.ridge import Confidence, empty_view, fit
from tacit.explorations import Optimism, Thompson, first_best, optimistic_arm, sampled_arm, uniform_arm
from tacit.linalg import BLAS_FROM, packed_size
from tacit.noise import fill_normals, stream, tape_of
from tests.statistics import checks
from tests.statistics.checks import LEVEL

DIMS = [1, 2, 3, 5, 8, BLAS_FROM - 1, BLAS_FROM, 64]


def confidence(**changes):
    settings = {
        "noise_level": 0.7,
        "log_term": np.array([2 * math.log(2 / 0.01)]),
        "log_floor": np.array([0.3]),
        "multiplier": 1.0,
        "unscale": 1.0,
        "regulariser": np.array([2.0]),
        "repair": np.array([1.5]),
        "bias": np.array([0.9]),
    }
    return Confidence(**(settings | changes))


def pack(matrix, vector):
    return np.concatenate([matrix[np.triu_indices(len(vector))], vector])


def problem(dim, seed=0):
    """Sums of 3d rows, and symmetric noise that leaves the regularised matrix positive definite."""
    rng = np.random.default_rng([dim, seed])
    rows, rewards = rng.normal(size=(3 * dim, dim)), rng.normal(size=3 * dim)
    root = rng.normal(size=(dim, dim))
    noise = 0.5 * (root + root.T) / (2 * math.sqrt(dim))
    return rows.T @ rows, rows.T @ rewards, noise, rng.normal(size=dim)


def fitted(dim, seed=0, **changes):
    gram, vector, noise, shift = problem(dim, seed)
    view = empty_view(dim)
    assert fit(confidence(**changes), pack(gram, vector) + pack(noise, shift), view) == 0
    return view


# The fit ----------------------------------------


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("unscale", [1.0, 3.5])
def test_a_view_is_the_ridge_estimate_its_factor_and_its_whitening(dim, unscale):
    gram, vector, noise, shift = problem(dim)
    view = empty_view(dim)
    settings = confidence()
    assert fit(settings._replace(unscale=unscale), pack(gram, vector) + pack(noise, shift), view) == 0
    matrix = gram + noise + 2.0 * np.eye(dim)
    factor = np.triu(view.factor)
    np.testing.assert_allclose(factor.T @ factor, matrix, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(np.tril(view.whiten).T @ np.tril(view.whiten), np.linalg.inv(matrix), atol=1e-10)
    assert (view.whiten[np.triu_indices(dim, 1)] == 0).all()  # BLAS reads the whole square
    np.testing.assert_allclose(view.theta, np.linalg.solve(matrix, (vector + shift) * unscale), rtol=1e-7, atol=1e-9)
    growth = np.linalg.slogdet(matrix)[1] - settings.log_floor[0]
    assert view.width[0] == pytest.approx(0.7 * math.sqrt(settings.log_term[0] + growth) + 0.9, rel=1e-12)
    assert view.stage[0] == 1


def test_only_the_sum_of_data_and_noise_matters():
    gram, vector, noise, shift = problem(4)
    views = []
    for share in (0.0, 1.0):
        view = empty_view(4)
        moved, kept = pack(gram, vector) + share * pack(noise, shift), (1 - share) * pack(noise, shift)
        fit(confidence(), moved + kept, view)
        views.append(view)
    for one, other in zip(*views, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("multiplier", [0.1, 1.0, 3.0])
def test_the_multiplier_scales_the_whole_width(multiplier):
    assert fitted(3, multiplier=multiplier).width[0] == pytest.approx(multiplier * fitted(3).width[0], rel=1e-14)


def test_the_width_never_falls_below_that_of_an_empty_matrix():
    """ln det V − d ln ρ_min is clamped at zero: privacy noise may make V smaller than the smallest regulariser."""
    settings = confidence(log_floor=np.array([1e6]))
    view = empty_view(3)
    fit(settings, sum(pack(a, b) for a, b in [problem(3)[:2], problem(3)[2:]]), view)
    assert view.width[0] == pytest.approx(0.7 * math.sqrt(settings.log_term[0]) + 0.9, rel=1e-14)


def test_each_stage_has_its_own_numbers_and_the_last_serves_all_later_ones():
    regulariser, bias = np.array([2.0, 5.0, 11.0]), np.array([0.1, 0.2, 0.3])
    logs = {"log_term": np.ones(3), "log_floor": np.zeros(3)}  # a kernel reads past the end of what is shorter
    settings = confidence(regulariser=regulariser, repair=np.ones(3), bias=bias, noise_level=0.0, **logs)
    view, zeros = empty_view(2), np.zeros(packed_size(2) + 2)
    for stage, at in enumerate([0, 1, 2, 2, 2]):
        assert view.stage[0] == stage
        fit(settings, zeros, view)
        np.testing.assert_allclose(np.diag(view.factor) ** 2, regulariser[at], rtol=1e-14)
        assert view.width[0] == bias[at]


# Repair ----------------------------------------


@pytest.mark.parametrize("lowest", [-2.1, -3.6, -30.0, -1e6])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_an_indefinite_matrix_is_repaired_and_counted(dim, lowest):
    """Υ, then 2Υ, 4Υ, … is added to the diagonal until the matrix is positive definite, and not once more."""
    rng = np.random.default_rng(dim)
    basis, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    eigenvalues = np.linspace(1, 2, dim)
    eigenvalues[0] = lowest
    noise = (basis * eigenvalues) @ basis.T
    shift, view = rng.normal(size=dim), empty_view(dim)
    repairs = fit(confidence(), pack(noise, shift), view)
    needed = next(k for k in range(100) if lowest + 2.0 + 1.5 * (2**k - 1) > 0)
    assert repairs == needed > 0
    matrix = noise + (2.0 + 1.5 * (2**needed - 1)) * np.eye(dim)
    factor = np.triu(view.factor)
    assert np.linalg.eigvalsh(factor.T @ factor)[0] > 0
    np.testing.assert_allclose(factor.T @ factor, matrix, rtol=1e-9, atol=1e-9 * abs(lowest))
    np.testing.assert_allclose(matrix @ view.theta, shift, rtol=1e-6, atol=1e-8)
    assert np.isfinite(view.width[0])
    assert view.stage[0] == 1


def test_a_matrix_that_is_definite_is_left_as_it_is():
    view, zeros = empty_view(2), np.zeros(packed_size(2) + 2)
    assert fit(confidence(), zeros, view) == 0
    np.testing.assert_allclose(np.triu(view.factor), math.sqrt(2) * np.eye(2), rtol=1e-15)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_sums_that_are_not_finite_raise_instead_of_looping(bad, at):
    sums = np.zeros(packed_size(2) + 2)
    sums[at] = bad
    with pytest.raises(RuntimeError, match="not finite"):
        fit(confidence(), sums, empty_view(2))


# Choices ----------------------------------------


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([1.0], 0),
        ([1.0, 1.0], 0),
        ([0.0, 2.0, 2.0, 1.0, 2.0], 1),
        ([-3.0, -2.0, -1.0], 2),
        ([-math.inf, -math.inf], 0),
        ([5.0, math.nextafter(5.0, 6.0)], 1),
        ([-0.0, 0.0], 0),
    ],
)
def test_the_first_of_several_maxima_wins(scores, best):
    assert first_best(np.array(scores)) == best


def filled_slate(dim, arms, seed=0):
    room = slate(dim, arms)
    room.columns[:] = np.random.default_rng([dim, arms, seed]).normal(size=(dim, arms))
    return room


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("arms", [1, 2, 25])
def test_the_optimist_takes_the_arm_with_the_largest_upper_bound(dim, arms):
    for seed in range(20):
        view, room = fitted(dim, seed), filled_slate(dim, arms, seed)
        columns = room.columns
        gram, _, noise, _ = problem(dim, seed)
        inverse = np.linalg.inv(gram + noise + 2.0 * np.eye(dim))
        norms = np.sqrt(np.einsum("ik,ij,jk->k", columns, inverse, columns))
        bounds = view.theta @ columns + view.width[0] * norms
        assert optimistic_arm(Optimism(1.0), view, room, stream(0)) == bounds.argmax()
        np.testing.assert_allclose(room.scores, bounds, rtol=1e-9)


def test_the_optimist_keeps_the_first_of_equal_arms():
    view, room = fitted(3), slate(3, 4)
    room.columns[:] = np.random.default_rng(1).normal(size=(3, 1))
    assert optimistic_arm(Optimism(1.0), view, room, stream(0)) == 0


@pytest.mark.parametrize("dim", [1, 2, 5, 40])
@pytest.mark.parametrize("arms", [1, 3, 100])
def test_the_sampler_takes_the_best_arm_of_its_draw(dim, arms):
    """θ = θ̃ + (β/√d)·Wᵀz with z from the source: recomputed from a second stream of the same seed."""
    view, room, source, twin = fitted(dim), filled_slate(dim, arms), stream(18), stream(18)
    for _ in range(20):
        arm = sampled_arm(Thompson(edge=math.sqrt(dim)), view, room, source)
        z = np.empty(dim)
        fill_normals(twin, z)
        theta = view.theta + view.width[0] / math.sqrt(dim) * view.whiten.T @ z
        np.testing.assert_allclose(room.scores, theta @ room.columns, rtol=1e-9, atol=1e-9)
        assert arm == room.scores.argmax()


def sampled_thetas(view, dim, count):
    """With the unit vectors as arms, the scores are the sampled parameter."""
    room, source, thetas = slate(dim, dim), stream(19), np.empty((count, dim))
    room.columns[:] = np.eye(dim)
    for row in thetas:
        arm = sampled_arm(Thompson(edge=math.sqrt(dim)), view, room, source)
        row[:] = room.scores
        assert arm == row.argmax()
    return thetas


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_sampled_parameter_has_the_mean_and_the_covariance_of_the_confidence_set(dim):
    """Covariance (β²/d)·V⁻¹ about θ̃. Errs with probability at most LEVEL = 1e-6."""
    view = fitted(dim)
    gram, _, noise, _ = problem(dim)
    covariance = view.width[0] ** 2 / dim * np.linalg.inv(gram + noise + 2.0 * np.eye(dim))
    deviations = sampled_thetas(view, dim, 10_000) - view.theta
    assert checks.covariance(deviations, covariance) > LEVEL
    spread = np.sqrt(np.diag(covariance))
    assert checks.combined([checks.centre(deviations[:, i], 0, spread[i]) for i in range(dim)]) > LEVEL
    # The same checks reject a width off by 10 %, and a mean off by a tenth of a standard deviation.
    assert checks.covariance(1.1 * deviations, covariance) < LEVEL
    assert checks.covariance(0.9 * deviations, covariance) < LEVEL
    assert checks.combined([checks.centre(deviations[:, i], 0.1 * spread[i], spread[i]) for i in range(dim)]) < LEVEL


def test_the_test_of_the_sampler_rejects_a_draw_whitened_the_wrong_way_round():
    """W instead of Wᵀ: the same size, the wrong directions."""
    view = fitted(5)
    gram, _, noise, _ = problem(5)
    scale = view.width[0] / math.sqrt(5)
    covariance = scale**2 * np.linalg.inv(gram + noise + 2.0 * np.eye(5))
    wrong = scale * np.random.default_rng(2).normal(size=(10_000, 5)) @ view.whiten.T
    assert checks.covariance(wrong, covariance) < LEVEL


@pytest.mark.parametrize("arms", [1, 2, 7, 25])
def test_the_uniform_choice_is_even(arms):
    """Errs with probability LEVEL = 1e-6."""
    room, source = slate(2, arms), stream(20)
    chosen = np.bincount([uniform_arm(room, source) for _ in range(20_000)], minlength=arms)
    assert len(chosen) == arms
    if arms > 1:
        assert checks.counts(chosen) > LEVEL
        # An arm that is chosen a fifth less often is found out.
        assert checks.counts(chosen - np.eye(arms, dtype=int)[0] * (chosen[0] // 5)) < LEVEL


@pytest.mark.parametrize(("uniform", "arm"), [(0.0, 0), (0.2499, 0), (0.25, 1), (0.75, 3), (1 - 2.0**-53, 3)])
def test_the_uniform_choice_stays_in_range_at_the_ends(uniform, arm):
    source = tape_of(np.empty(0), np.array([uniform]))
    assert uniform_arm(slate(3, 4), source) == arm
    assert source.at.tolist() == [0, 1]
