"""A person's report: clipped before it is noised, noised before it leaves, and priced as one release.

Error level: each statistical comparison is two-sided at 1e-6, with fixed seeds.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit._kernel import kernel
from tacit.linalg import packed_size
from tacit.mechanisms.report import clip_action, person_bounds, report_gram, report_row
from tacit.noise import stream
from tacit.privacy.sensitivity import gram_sensitivity, private_radius, report_sensitivity
from tests.statistics import checks
from tests.statistics.checks import LEVEL

DIM = 4
RUNS = 4000
HALF = 0.5**0.5

#: Bounds with and without public coordinates, with rewards around zero and beside it.
CASES = [(1.0, -1.0, 1.0, ()), (1.0, 0.0, 1.0, (HALF,)), (2.0, -0.5, 3.0, (0.3, -0.4)), (0.1, -1.0, 1.0, ())]


def bounds_of(case):
    norm, low, high, constants = case
    return person_bounds(private_radius(norm, constants), low, high, constants)


def row(bounds, x, reward, scale=0.0, perturbation=0.0, seed=1):
    """One report of kind "xy"."""
    out = np.full(len(x) + 1, np.nan)
    report_row(bounds, scale, 0.0, perturbation, np.asarray(x, float), float(reward), out, stream(seed))
    return out


def gram(bounds, x, reward, scale=0.0, seed=1):
    """One report of kind "gram"."""
    out = np.full(packed_size(len(x)) + len(x), np.nan)
    report_gram(bounds, scale, 0.0, np.asarray(x, float), float(reward), out, stream(seed))
    return out


@kernel
def _many_rows(bounds, scale, perturbation, x, reward, out, noise):
    for run in range(out.shape[0]):
        report_row(bounds, scale, 0.0, perturbation, x, reward, out[run], noise)


@kernel
def _many_grams(bounds, scale, x, reward, out, noise):
    for run in range(out.shape[0]):
        report_gram(bounds, scale, 0.0, x, reward, out[run], noise)


def p_values(residuals) -> list[float]:
    """Of the variance, of the means, and of the shape of what should be independent standard normal numbers."""
    means = residuals.mean(axis=0) * np.sqrt(len(residuals))
    return [checks.scale(residuals, 1.0), checks.scale(means, 1.0), checks.law(residuals, checks.normal)]


def row_residuals(case, scale, perturbation, believed):
    bounds = bounds_of(case)
    x = np.full(DIM, 0.2)
    out = np.zeros((RUNS, DIM + 1))
    _many_rows(bounds, scale, perturbation, x, 0.4, out, stream(3))
    residuals = out - row(bounds, x, 0.4)
    private = DIM - len(case[3])
    assert np.all(residuals[:, private:DIM] == 0.0), "a public coordinate is written as declared"
    spread = np.hypot(believed, perturbation)
    return np.column_stack([residuals[:, :private] / spread, residuals[:, DIM:] / believed])


def gram_residuals(case, scale, believed):
    bounds = bounds_of(case)
    x = np.full(DIM, 0.2)
    out = np.zeros((RUNS, packed_size(DIM) + DIM))
    _many_grams(bounds, scale, x, 0.4, out, stream(4))
    residuals = out - gram(bounds, x, 0.4)
    public = public_entries(len(case[3]))
    assert np.all(residuals[:, public] == 0.0)
    return residuals[:, ~public] / believed


def public_entries(constants: int) -> np.ndarray:
    """Which entries of a packed report are made of constants alone."""
    rows, columns = np.triu_indices(DIM)
    alone = (rows >= DIM - constants) & (columns >= DIM - constants)
    return np.append(alone, np.zeros(DIM, bool))


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.parametrize("perturbation", [0.0, 1.3])
def test_the_noise_of_a_row_has_the_stated_law(case, perturbation):
    assert min(p_values(row_residuals(case, 0.7, perturbation, 0.7))) > LEVEL


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_the_noise_of_a_gram_report_has_the_stated_law(case):
    assert min(p_values(gram_residuals(case, 0.7, 0.7))) > LEVEL


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_these_tests_reject_a_scale_off_by_ten_percent(factor):
    assert min(p_values(row_residuals(CASES[0], 0.7 * factor, 0.0, 0.7))) < LEVEL
    assert min(p_values(gram_residuals(CASES[0], 0.7 * factor, 0.7))) < LEVEL


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.parametrize("perturbation", [0.0, 1e-3, 5.0, -2.0])
def test_a_perturbation_only_ever_adds(case, perturbation):
    """Whatever a server asks for, with either sign: the noise of an action is at least what it would have been."""
    bounds = bounds_of(case)
    x = np.full(DIM, 0.1)
    exact, plain = row(bounds, x, 0.0), row(bounds, x, 0.0, scale=0.5)
    asked = row(bounds, x, 0.0, scale=0.5, perturbation=perturbation)
    assert np.all(np.abs(asked - exact) >= np.abs(plain - exact) * (1 - 1e-12))


numbers = st.floats(min_value=-1e100, max_value=1e100)
persons = st.tuples(st.lists(numbers, min_size=DIM, max_size=DIM), numbers)


@given(case=st.sampled_from(CASES), one=persons, other=persons)
@settings(max_examples=300, deadline=None)
def test_whoever_it_is_a_report_moves_by_at_most_its_sensitivity(case, one, other):
    bounds = bounds_of(case)
    norm, low, high, constants = case
    radius = private_radius(norm, constants)
    moved = np.linalg.norm(row(bounds, *one) - row(bounds, *other))
    assert moved <= report_sensitivity(radius, low, high) * (1 + 1e-9)
    moved = np.linalg.norm(gram(bounds, *one) - gram(bounds, *other))
    assert moved <= gram_sensitivity(radius, low, high, constants) * (1 + 1e-9)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_the_sensitivities_are_attained(case):
    """By opposite actions with opposite rewards; and for the sums at the worst angle, in the worst directions."""
    bounds = bounds_of(case)
    norm, low, high, constants = case
    radius = private_radius(norm, constants)
    private = DIM - len(constants)
    first = np.append(np.eye(private)[0] * radius, constants)
    moved = np.linalg.norm(row(bounds, first, low) - row(bounds, -first, high))
    assert moved == pytest.approx(report_sensitivity(radius, low, high), rel=1e-12)
    farthest = 0.0
    for angle in np.linspace(0, np.pi, 721):
        # Both at equal angles from the diagonal of a plane: the difference of their squares is then diagonal, and its
        # upper triangle has the whole of its Frobenius norm.
        pair = []
        for turn in (np.pi / 4 - angle / 2, np.pi / 4 + angle / 2):
            action = np.zeros(private)
            action[0], action[1] = radius * np.cos(turn), radius * np.sin(turn)
            pair.append(np.append(action, constants))
        for y in (low, high):
            for z in (low, high):
                farthest = max(farthest, np.linalg.norm(gram(bounds, pair[0], y) - gram(bounds, pair[1], z)))
    bound = gram_sensitivity(radius, low, high, constants)
    assert bound * (1 - 1e-4) <= farthest <= bound * (1 + 1e-9)


def test_clipping_is_what_keeps_a_report_within_its_sensitivity():
    """Broken twin: bounds wider than declared let a row move by more."""
    careless = person_bounds(10.0, -10.0, 10.0, ())
    x = np.array([10.0, 0, 0, 0])
    moved = np.linalg.norm(row(careless, x, 10.0) - row(careless, -x, -10.0))
    assert moved > 2 * report_sensitivity(1.0, -1.0, 1.0)


def test_an_action_is_clipped_in_its_private_part_alone():
    bounds = person_bounds(0.5, -1.0, 1.0, (0.7, 0.1))
    out = np.zeros(DIM)
    clip_action(bounds, np.array([3.0, 4.0, 9.0, 9.0]), out)
    np.testing.assert_allclose(out, [0.3, 0.4, 0.7, 0.1], rtol=1e-15)
    clip_action(bounds, np.array([0.3, 0.1, -9.0, 0.0]), out)
    np.testing.assert_array_equal(out, [0.3, 0.1, 0.7, 0.1])


def test_calibrating_action_and_reward_apart_is_not_enough():
    """Broken twin of the price: each part alone looks cheaper than the pair that is sent."""
    together = report_sensitivity(1.0, -1.0, 1.0)
    assert together == pytest.approx(np.sqrt(8))
    assert max(2.0, 2.0) < together
