"""Certificates: upper bounds, tested as upper bounds; and how near they come."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.estimators.rkhs import (
    FEWEST_DRAWS,
    Bracket,
    ExactForm,
    Nystrom,
    Operator,
    QuadratureFourier,
    bracket,
    certified_maximum,
    certified_sup_sigma2,
    inducing_points,
)
from tacit.kernels import Box, Matern, SquaredExponential
from tests.estimators.rkhs_reference import MATERN, SE, SQUARE, records_of

DRAWS = SQUARE.sobol(FEWEST_DRAWS)
FORMS = {
    "squared-exponential, small tau": lambda: operator(Nystrom(SE, inducing_points(SQUARE, 100)), 2000, 0.1),
    "squared-exponential, large tau": lambda: operator(Nystrom(SE, inducing_points(SQUARE, 100)), 2000, 100.0),
    "matern-5/2": lambda: operator(Nystrom(MATERN, inducing_points(SQUARE, 100)), 2000, 1.0),
    "matern-1/2": lambda: operator(Nystrom(Matern(1 / 2, length_scale=0.2), inducing_points(SQUARE, 49)), 500, 50.0),
    "two length scales": lambda: operator(
        Nystrom(Matern(3 / 2, length_scale=(0.2, 1.0)), inducing_points(SQUARE, 100)), 2000, 1.0
    ),
    "fourier": lambda: operator(QuadratureFourier(SE, SQUARE, 10), 2000, 1.0),
    "exact": lambda: ExactForm(MATERN, SQUARE.uniform(np.random.default_rng(1), 300), 3, 1.0),
}


def operator(features, horizon, tau, draws=DRAWS):
    return Operator(features, draws, horizon, tau)


def search(value, box, seed=1):
    """The largest value over corners, edges, a grid, random points, and random points near the best of them."""
    rng = np.random.default_rng(seed)
    edges = box.from_unit(np.round(rng.random((1000, box.dim))) * (rng.random((1000, box.dim)) < 0.7))
    points = np.vstack([box.grid(2), edges, box.uniform(rng, 5000)])
    for width in (0.1, 0.01, 0.001):
        best = points[np.argsort(value(points))[-20:]]
        near = np.repeat(best, 50, axis=0) + width * box.widths * rng.standard_normal((1000, box.dim))
        points = np.vstack([best, box.clip(near)[0]])
    return float(value(points).max())


# sup σ² --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMS)
def test_no_search_finds_more_than_the_certificate(name):
    form = FORMS[name]()
    found = search(form.sigma2, SQUARE)
    for options in ({}, {"per_side": 1}, {"per_side": 9, "evaluations": 100}, {"evaluations": 20}, {"tolerance": 0.5}):
        bound = certified_sup_sigma2(form, SQUARE, **options)
        assert found <= bound <= 1 / form.tau


@pytest.mark.parametrize("name", sorted(set(FORMS) - {"matern-1/2"}))
def test_the_certificate_is_within_its_tolerance_in_two_dimensions(name):
    form = FORMS[name]()
    assert certified_sup_sigma2(form, SQUARE) <= 1.011 * search(form.sigma2, SQUARE)


@pytest.mark.parametrize("name", FORMS)
def test_the_largest_value_of_a_grid_is_no_certificate(name):
    """Broken twin: without the Lipschitz term, some point has more than the bound."""
    form = FORMS[name]()
    for per_side in (8, 33):
        centres, _ = SQUARE.cells(per_side)
        assert search(form.sigma2, SQUARE) > form.sigma2(centres).max() * 1.001


def test_half_the_lipschitz_term_is_no_certificate_either():
    """A function that rises as fast as it may between two centres: a broken twin of `bracket` with half the change."""
    box = Box.unit(1)

    def value(points):
        return -np.abs(points[:, 0] - 0.5)

    honest = bracket(value, lambda half: float(half[0]), box, lambda lower: lower, per_side=2, evaluations=4)
    broken = bracket(value, lambda half: float(half[0]) / 2, box, lambda lower: lower, per_side=2, evaluations=4)
    assert broken.upper < 0 <= honest.upper


def test_more_evaluations_bring_the_certificate_down():
    form = FORMS["squared-exponential, small tau"]()
    bounds = [certified_sup_sigma2(form, SQUARE, evaluations=count) for count in (100, 2000, 20_000, 100_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 1.5 * bounds[-1]


@pytest.mark.parametrize(("scale", "tau"), [(0.5, 0.1), (0.5, 10.0), (0.2, 0.1)])
def test_in_four_dimensions_the_certificate_is_loose_but_holds(scale, tau):
    box = Box.unit(4)
    features = Nystrom(SquaredExponential(length_scale=scale), inducing_points(box, 100))
    form = operator(features, 1000, tau, box.sobol(FEWEST_DRAWS))
    bound = certified_sup_sigma2(form, box, evaluations=5000)
    assert search(form.sigma2, box) <= bound
    assert (bound == 1 / tau) == (scale == 0.2)


def test_many_dimensions_are_no_error():
    box = Box.unit(12)
    features = Nystrom(SquaredExponential(length_scale=2.0), inducing_points(box, 20))
    form = operator(features, 100, 5.0, box.sobol(FEWEST_DRAWS))
    assert certified_sup_sigma2(form, box, evaluations=1000) == pytest.approx(0.2)


# The maximum of an estimate ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["squared-exponential, small tau", "matern-5/2", "two length scales", "fourier"])
def test_the_certified_maximum_bounds_an_estimate_over_all_actions(name):
    form = FORMS[name]()
    points, rewards = records_of(SE, 2000, seed=4)
    vector = form.weighted_sum(points, rewards)
    line = Box(((0, 1),))
    for context in (0.0, 0.3, 0.81):

        def value(actions, context=context):
            return form.mean(np.hstack([actions, np.full((len(actions), 1), context)]), vector)

        found = search(value, line)
        bound = certified_maximum(form, vector, line, [context], tolerance=0.01)
        assert found <= bound <= found + 0.011
        coarse = certified_maximum(form, vector, line, [context], tolerance=0.01, evaluations=40)
        assert found <= coarse


def test_the_largest_value_at_candidates_is_no_certified_maximum():
    form = FORMS["matern-5/2"]()
    points, rewards = records_of(SE, 2000, seed=4)
    vector = form.weighted_sum(points, rewards)
    line, exceeded = Box(((0, 1),)), 0
    for context in np.linspace(0, 1, 11):

        def value(actions, context=context):
            return form.mean(np.hstack([actions, np.full((len(actions), 1), context)]), vector)

        exceeded += search(value, line) > value(line.cells(16)[0]).max()
    assert exceeded >= 9


def test_without_a_context_the_maximum_is_over_the_whole_box():
    line = Box(((-1, 3),))
    form = Operator(
        Nystrom(SquaredExponential(length_scale=0.5), inducing_points(line, 40)), line.sobol(FEWEST_DRAWS), 2000, 1.0
    )
    points = line.uniform(np.random.default_rng(1), 2000)
    vector = form.weighted_sum(points, np.sin(3 * points[:, 0]))
    found = search(lambda actions: form.mean(actions, vector), line)
    assert found <= certified_maximum(form, vector, line, tolerance=1e-4) <= found + 2e-4
    for empty in (np.zeros(form.size), -vector):
        below = search(lambda actions, vector=empty: form.mean(actions, vector), line)
        assert below <= certified_maximum(form, empty, line, tolerance=0.01) <= below + 0.011


# The bracket itself --------------------------------------------------------------------------------------------------


def test_a_bracket_holds_the_maximum_of_a_function_with_many_peaks():
    box = Box(((-2, 2), (0, 3)))

    def value(points):
        return np.cos(7 * points[:, 0]) * np.sin(5 * points[:, 1]) - 0.1 * points[:, 0] ** 2

    # The first term changes by at most (7, 5) per unit, the second by 0.4; together they are largest at (0, π/10).
    found = bracket(value, lambda half: float(half @ [7.4, 5.0]), box, lambda lower: lower + 1e-3)
    assert isinstance(found, Bracket)
    assert found.lower <= 1.0 <= found.upper <= found.lower + 1e-3 + 1e-12
    assert found.evaluations <= 100_000


def test_a_bracket_asks_for_no_more_values_than_it_may():
    asked = []

    def value(points):
        asked.append(len(points))
        return points.sum(axis=1)

    for budget in (10, 100, 1000):
        asked.clear()
        found = bracket(value, lambda half: float(half.sum()), SQUARE, lambda lower: lower, evaluations=budget)
        assert sum(asked) == found.evaluations <= budget
        assert found.lower == pytest.approx(2.0)
        assert found.upper >= 2.0


# Refusals ------------------------------------------------------------------------------------------------------------


def test_bad_requests_are_refused():
    form = FORMS["fourier"]()
    vector, line = np.zeros(form.size), Box(((0, 1),))
    with pytest.raises(BadInput, match=r"box of 2 coordinates.*got 3.*Actions come first"):
        certified_sup_sigma2(form, Box.unit(3))
    with pytest.raises(BadInput, match="tolerance"):
        certified_sup_sigma2(form, SQUARE, tolerance=0)
    with pytest.raises(BadInput, match=r"per_side.*evaluations"):
        certified_sup_sigma2(form, SQUARE, 50, evaluations=2000)
    with pytest.raises(BadInput, match="evaluations >= 1"):
        certified_sup_sigma2(form, SQUARE, evaluations=0)
    with pytest.raises(BadInput, match=r"box of 2 coordinates.*got 1"):
        certified_maximum(form, vector, line, tolerance=0.1)
    with pytest.raises(BadInput, match=r"box of 2 coordinates.*got 3"):
        certified_maximum(form, vector, line, [0.1, 0.2], tolerance=0.1)
    with pytest.raises(BadInput, match="one context"):
        certified_maximum(form, vector, line, [[0.1], [0.2]], tolerance=0.1)
    with pytest.raises(BadInput, match="NaN"):
        certified_maximum(form, vector, line, [math.nan], tolerance=0.1)
    with pytest.raises(BadInput, match="tolerance > 0"):
        certified_maximum(form, vector, line, [0.1], tolerance=0.0)
    with pytest.raises(BadInput, match="vector of shape"):
        certified_maximum(form, vector[1:], line, [0.1], tolerance=0.1)
