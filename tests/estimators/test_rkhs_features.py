"""Feature maps: lengths, distances, how near the kernel they are, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.estimators.rkhs import Nystrom, QuadratureFourier, feature_map_from_dict, inducing_points
from tacit.estimators.rkhs.features import MOST_FEATURES
from tacit.kernels import Box, Matern, SquaredExponential
from tests.estimators.rkhs_reference import MATERN, SE, SQUARE

FOUR = Box.unit(4)


def maps():
    return {
        "grid": Nystrom(SE, inducing_points(SQUARE, 196)),
        "few": Nystrom(MATERN, inducing_points(SQUARE, 9)),
        "rough": Nystrom(Matern(1 / 2, length_scale=(0.1, 0.4)), inducing_points(SQUARE, 100)),
        "halton": Nystrom(Matern(3 / 2, length_scale=0.5), inducing_points(FOUR, 150)),
        "fourier": QuadratureFourier(SE, SQUARE, 20),
        "coarse": QuadratureFourier(SE, SQUARE, 2),
        "four": QuadratureFourier(SquaredExponential(length_scale=(0.5, 1, 1, 2)), FOUR, (6, 4, 4, 3)),
    }


@pytest.fixture(params=list(maps()))
def features(request):
    return maps()[request.param]


def spread(dim, count, seed):
    """Points in the unit box, and outside it."""
    rng = np.random.default_rng(seed)
    return np.vstack([Box.unit(dim).uniform(rng, count), rng.uniform(-3, 3, (count, dim))])


# Laws of every map ---------------------------------------------------------------------------------------------------


def test_no_feature_vector_is_longer_than_one_inside_the_box_or_outside(features):
    rows = features.psi(spread(features.dim, 1000, 1))
    assert rows.shape == (2000, features.size)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-9


def test_a_triangle_that_is_left_out_would_make_features_too_long():
    """The test above can fail: k_U without L⁻¹ is as long as the root of m."""
    features = maps()["grid"]
    assert np.linalg.norm(features.raw(spread(2, 100, 1)), axis=1).max() > 2


@pytest.mark.parametrize("size", [0.01, 0.1, 1.0])
def test_features_are_no_further_apart_than_the_bound(features, size):
    rng = np.random.default_rng(2)
    steps = size * rng.uniform(0.5, 1.5, features.dim)
    first = Box.unit(features.dim).uniform(rng, 500)
    second = first + rng.uniform(-1, 1, first.shape) * steps
    second[:50] = first[:50] + rng.choice([-1, 1], (50, features.dim)) * steps
    apart = np.linalg.norm(features.psi(first) - features.psi(second), axis=1)
    assert apart.max() <= features.distance_bound(steps) * (1 + 1e-9) + 1e-9


def test_the_kernels_own_bound_would_not_hold_for_fourier_features():
    """They are no projection of φ, and with few nodes swing back further than the kernel ever does."""
    features, rng = maps()["coarse"], np.random.default_rng(2)
    first, second = SQUARE.uniform(rng, 2000), SQUARE.uniform(rng, 2000)
    apart = np.linalg.norm(features.psi(first) - features.psi(second), axis=1)
    assert apart.max() > SE.distance_bound([1.0, 1.0]) + 0.1
    assert apart.max() <= features.distance_bound([1.0, 1.0])


def test_blocks_of_points_are_what_each_point_is_alone(features):
    points = spread(features.dim, 800, 3)
    whole = features.psi(points)
    for place in (0, 1023, 1024, 1599):
        np.testing.assert_allclose(whole[place], features.psi(points[place : place + 1])[0], atol=1e-9)
    assert features.psi(np.zeros((0, features.dim))).shape == (0, features.size)


def test_features_survive_json(features):
    back = feature_map_from_dict(json.loads(json.dumps(features.to_dict())))
    points = spread(features.dim, 20, 4)
    assert type(back) is type(features)
    np.testing.assert_array_equal(back.psi(points), features.psi(points))


def test_features_show_what_they_are(features):
    assert repr(features.kernel) in repr(features)
    assert str(features.size) in repr(features)


def test_points_of_another_width_or_not_finite_are_refused(features):
    with pytest.raises(BadInput, match=rf"points of shape \(n, {features.dim}\).*got \(3, {features.dim + 1}\)"):
        features.psi(np.zeros((3, features.dim + 1)))
    bad = np.zeros((3, features.dim))
    bad[1, 1] = math.nan
    with pytest.raises(BadInput, match="NaN at position"):
        features.psi(bad)
    for steps in ([0.1] * (features.dim - 1) + [-0.1], [[0.1]]):
        with pytest.raises(BadInput, match="steps"):
            features.distance_bound(steps)


# Nyström -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [SE, MATERN, Matern(1 / 2, length_scale=0.2)], ids=lambda kernel: kernel.name)
def test_nystrom_is_exact_at_inducing_points_but_for_the_jitter(kernel):
    points = inducing_points(SQUARE, 144)
    rows = Nystrom(kernel, points).psi(points)
    np.testing.assert_allclose(rows @ rows.T, kernel(points, points), atol=3e-8)


@pytest.mark.parametrize("kernel", [SE, MATERN], ids=lambda kernel: kernel.name)
def test_more_inducing_points_bring_nystrom_nearer_to_the_kernel(kernel):
    points = SQUARE.uniform(np.random.default_rng(1), 400)
    truth, errors = kernel(points, points), []
    for count in (25, 100, 400):
        rows = Nystrom(kernel, inducing_points(SQUARE, count)).psi(points)
        errors.append(np.abs(rows @ rows.T - truth).max())
    assert errors[2] < errors[1] / 5 < errors[0] / 10
    assert errors[2] < (1e-4 if kernel is SE else 0.02)


def test_nystrom_never_adds_to_the_kernel():
    """k − ψᵀψ' is positive semi-definite: what a projection leaves over."""
    points = SQUARE.uniform(np.random.default_rng(1), 300)
    for features in (Nystrom(MATERN, inducing_points(SQUARE, 49)), Nystrom(SE, inducing_points(SQUARE, 196))):
        rows = features.psi(points)
        left = features.kernel(points, points) - rows @ rows.T
        assert np.linalg.eigvalsh(left).min() > -1e-8


def test_inducing_points_are_a_grid_in_two_dimensions_and_halton_above():
    np.testing.assert_array_equal(inducing_points(Box(((2, 4),)), 3), [[2], [3], [4]])
    np.testing.assert_array_equal(inducing_points(SQUARE, 196), SQUARE.grid(14))
    assert inducing_points(SQUARE, 200).shape == (196, 2)
    assert inducing_points(SQUARE, 210).shape == (210, 2)
    assert inducing_points(SQUARE, 1).shape == (1, 2)
    np.testing.assert_array_equal(inducing_points(FOUR, 50), FOUR.halton(50))


def test_a_grid_is_finer_along_short_length_scales_and_the_better_for_it():
    kernel = SquaredExponential(length_scale=(0.05, 2.0))
    points = SQUARE.uniform(np.random.default_rng(1), 300)
    errors = []
    for grid in (inducing_points(SQUARE, 196), inducing_points(SQUARE, 196, kernel)):
        assert len(grid) <= 196
        rows = Nystrom(kernel, grid).psi(points)
        errors.append(np.abs(rows @ rows.T - kernel(points, points)).max())
    assert errors[1] < errors[0] / 100
    np.testing.assert_array_equal(inducing_points(SQUARE, 196, SE), SQUARE.grid(14))
    for scales in ((1e-3, 10.0), (10.0, 1e-3)):
        assert len(inducing_points(SQUARE, 100, SquaredExponential(length_scale=scales))) <= 100


def test_the_jitter_that_was_needed_is_told():
    assert Nystrom(SE, inducing_points(SQUARE, 400)).jitter == 1e-8
    twice = Nystrom(SE, [[0.5, 0.5], [0.5, 0.5]], jitter=1e-19)
    assert 1e-19 < twice.jitter < 1e-13
    assert "jitter=1e-1" in repr(twice)
    rows = twice.psi([[0.5, 0.5]])
    assert np.linalg.norm(rows) == pytest.approx(1)


def test_points_without_a_cholesky_factor_are_refused_with_the_jitter():
    with pytest.raises(BadInput, match=r"got 2 that have none even with a jitter of 1e-20.*fewer features"):
        Nystrom(SE, [[0.5, 0.5], [0.5, 0.5]], jitter=1e-25)


def test_bad_inducing_points_are_refused():
    with pytest.raises(BadInput, match="at least one inducing point"):
        Nystrom(SE, np.zeros((0, 2)))
    with pytest.raises(BadInput, match="NaN"):
        Nystrom(SE, [[0.0, math.nan]])
    with pytest.raises(BadInput, match="jitter > 0"):
        Nystrom(SE, [[0.0, 0.0]], jitter=0)
    with pytest.raises(BadInput, match="one length_scale for each of 1 coordinates"):
        Nystrom(SquaredExponential(length_scale=(1.0, 1.0)), [[0.0]])
    message = rf"at most {MOST_FEATURES:,} features, got count: 100,000.*80 GB"
    with pytest.raises(BadInput, match=message):
        inducing_points(SQUARE, 100_000)
    with pytest.raises(BadInput, match="inducing points: 5,000"):
        Nystrom(SE, np.zeros((5000, 2)))
    with pytest.raises(BadInput, match="count >= 1"):
        inducing_points(SQUARE, 0)


# Quadrature Fourier features -----------------------------------------------------------------------------------------


def test_a_hundred_fourier_features_are_within_a_thousandth_of_the_kernel():
    features = QuadratureFourier.within(SE, SQUARE, 1e-3)
    assert features.size <= 100
    points = np.vstack([SQUARE.grid(12), SQUARE.uniform(np.random.default_rng(1), 400)])
    rows = features.psi(points)
    found = np.abs(rows @ rows.T - SE(points, points)).max()
    assert found <= features.error <= 1e-3


@pytest.mark.parametrize("nodes", [4, 9, 14, 18])
def test_the_error_that_is_told_is_never_too_small(nodes):
    features = QuadratureFourier(SE, SQUARE, nodes)
    points = np.vstack([SQUARE.grid(12), SQUARE.uniform(np.random.default_rng(1), 400)])
    rows = features.psi(points)
    found = np.abs(rows @ rows.T - SE(points, points)).max()
    assert found <= features.error * 1.0001
    assert found > features.error / 10


def test_more_nodes_bring_the_error_down_to_what_was_dropped():
    errors = [QuadratureFourier(SE, SQUARE, nodes).error for nodes in (8, 12, 16, 20, 24, 28)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 2e-6
    assert QuadratureFourier(SE, SQUARE, 28, negligible=0).error < 1e-7


@pytest.mark.parametrize("per_side", [1, 2, 3, (2, 3), (3, 5), (4, 4)])
def test_there_are_as_many_features_as_nodes(per_side):
    features = QuadratureFourier(SE, SQUARE, per_side, negligible=0)
    assert features.size == math.prod(features.per_side)
    assert features.dropped == 0
    np.testing.assert_allclose(np.linalg.norm(features.psi(spread(2, 10, 1)), axis=1), 1, rtol=1e-12)


def test_fourier_features_are_the_full_sum_over_all_nodes():
    """Σ q_j·cos(ω_jᵀ(w − w')) over the whole tensor, without pairing."""
    nodes, weights = np.polynomial.hermite.hermgauss(5)
    kernel = SquaredExponential(length_scale=(0.3, 0.8))
    points = SQUARE.uniform(np.random.default_rng(1), 30)
    expected = 0.0
    for place, weight in zip(nodes, weights / math.sqrt(math.pi), strict=True):
        for other, share in zip(nodes, weights / math.sqrt(math.pi), strict=True):
            phases = points @ (math.sqrt(2) * np.array([place / 0.3, other / 0.8]))
            expected = expected + weight * share * np.cos(phases[:, None] - phases)
    rows = QuadratureFourier(kernel, SQUARE, 5, negligible=0).psi(points)
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-12)


def test_light_nodes_are_dropped_up_to_the_share_that_may_be():
    full, lighter = QuadratureFourier(SE, SQUARE, 20, negligible=0), QuadratureFourier(SE, SQUARE, 20, negligible=1e-4)
    assert lighter.size < full.size / 2
    assert 0 < lighter.dropped <= 1e-4
    points = SQUARE.uniform(np.random.default_rng(1), 100)
    lengths = (lighter.psi(points) ** 2).sum(axis=1)
    np.testing.assert_allclose(lengths, 1 - lighter.dropped, rtol=1e-12)


def test_where_the_box_lies_means_nothing():
    moved = Box(((100, 101), (-51, -50)))
    points = SQUARE.uniform(np.random.default_rng(1), 50)
    first = QuadratureFourier(SE, SQUARE, 12).psi(points)
    second = QuadratureFourier(SE, moved, 12).psi(points + moved.low)
    np.testing.assert_allclose(first, second, atol=1e-10)


def test_what_fourier_features_cannot_do_is_refused():
    with pytest.raises(BadInput, match=r"squared exponential kernel, got Matern.*Use Nystrom"):
        QuadratureFourier(MATERN, SQUARE, 10)
    with pytest.raises(BadInput, match="at most 100 nodes per side"):
        QuadratureFourier(SE, SQUARE, 101)
    with pytest.raises(BadInput, match=r"2,000,000 in all, got per_side=40 in 4 dimensions"):
        QuadratureFourier(SE, FOUR, 40)
    with pytest.raises(BadInput, match=rf"at most {MOST_FEATURES:,} features, got per_side: "):
        QuadratureFourier(SE, FOUR, 12)
    with pytest.raises(BadInput, match="length scales, got 1e\\+03"):
        QuadratureFourier.within(SquaredExponential(length_scale=1e-3), SQUARE, 1e-3)
    with pytest.raises(BadInput, match="0 <= negligible < 1"):
        QuadratureFourier(SE, SQUARE, 10, negligible=1.0)
    with pytest.raises(BadInput, match="0 < error < 1"):
        QuadratureFourier.within(SE, SQUARE, 0.0)


def test_facts_of_no_feature_map_are_refused():
    for facts in (None, {}, {"features": "wavelets"}, {"features": ["nystrom"]}):
        with pytest.raises(BadInput, match="\"features\" 'nystrom' or 'fourier'"):
            feature_map_from_dict(facts)
    for features in (maps()["few"], maps()["coarse"]):
        facts = {name: fact for name, fact in features.to_dict().items() if name != "kernel"}
        with pytest.raises(BadInput, match="exactly"):
            feature_map_from_dict(facts)
