"""Events of policies that protect rewards: Laplace noise and square-root Toeplitz noise, against their definitions."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld

from tacit.errors import BadInput, UnknownEvent
from tacit.privacy import (
    ForkedEvent,
    GaussianEvent,
    Guarantee,
    LaplaceEvent,
    PersonEvent,
    Protects,
    RootToeplitzEvent,
    SegmentsEvent,
    Together,
    Trust,
    Unit,
    price,
    price_for_person,
    theorem_for,
)
from tacit.privacy.toeplitz import square_root_coefficients

LAPLACE = LaplaceEvent(4.0, 2.0)
ROOT = RootToeplitzEvent(3.0, 2.0, 72)


def of(event) -> Guarantee:
    return Guarantee.priced(event, trust=Trust.CENTRAL, protects=Protects.REWARDS, unit=Unit.round(), delta=None)


# Laplace ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "sensitivity", "releases"), [(4.0, 2.0, 1), (1.0, 0.5, 1), (9.0, 3.0, 5)])
def test_laplace_noise_is_pure_at_its_shift_over_its_scale(scale, sensitivity, releases):
    theorem = theorem_for(LaplaceEvent(scale, sensitivity, releases))
    assert theorem.epsilon == pytest.approx(releases * sensitivity / scale)
    assert theorem.delta == 0
    assert "Dwork, McSherry, Nissim and Smith (2006)" in theorem.source


def log_ratio(outputs, shift, scale):
    """ln of the density of Laplace noise at `outputs` over that of the same noise around `shift`."""
    return (np.abs(outputs - shift) - np.abs(outputs)) / scale


def test_no_output_tells_neighbours_apart_by_more_than_epsilon_and_some_by_as_much():
    outputs = np.linspace(-50, 50, 4001)
    shifts = np.linspace(-LAPLACE.sensitivity, LAPLACE.sensitivity, 101)
    worst = max(np.abs(log_ratio(outputs, shift, LAPLACE.scale)).max() for shift in shifts)
    epsilon = theorem_for(LAPLACE).epsilon
    assert worst == pytest.approx(epsilon)
    # Broken twin: a tenth less noise.
    assert np.abs(log_ratio(outputs, LAPLACE.sensitivity, 0.9 * LAPLACE.scale)).max() > epsilon


def test_the_shift_of_several_coordinates_counts_in_l1():
    """A row that moves two coordinates by Δ/2 each is told apart by Δ/b at most, as one that moves one by Δ."""
    half = LAPLACE.sensitivity / 2
    outputs = np.linspace(-50, 50, 4001)
    each = np.abs(log_ratio(outputs, half, LAPLACE.scale)).max()
    assert 2 * each == pytest.approx(theorem_for(LAPLACE).epsilon)


@pytest.mark.parametrize("event", [LAPLACE, LaplaceEvent(3.0, 1.0)], ids=repr)
def test_an_independent_accountant_stays_within_the_pure_epsilon_and_comes_close_to_it(event):
    accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_accounting.LaplaceDpEvent(event.scale / event.sensitivity))
    found = accountant.get_epsilon(1e-9)
    assert found == pytest.approx(theorem_for(event).epsilon, abs=1e-3)


def test_a_person_costs_as_many_times_as_there_are_rounds():
    for rounds in (1, 2, 10):
        for spread in (False, True):
            theorem = theorem_for(PersonEvent(LAPLACE, rounds, one_per_segment=spread))
            assert (theorem.epsilon, theorem.delta) == (pytest.approx(rounds * 0.5), 0.0)


def test_copies_of_laplace_noise_add_up():
    theorem = theorem_for(ForkedEvent(LAPLACE, 3))
    assert (theorem.epsilon, theorem.delta) == (pytest.approx(1.5), 0.0)
    assert theorem_for(ForkedEvent(PersonEvent(LAPLACE, 2), 3)).epsilon == pytest.approx(3.0)


def test_laplace_noise_has_no_mu_and_is_not_added_up_with_gaussians():
    with pytest.raises(UnknownEvent, match=r"Laplace noise, which is pure DP\. Use accountant\.theorem_for"):
        price(LAPLACE)
    for event in (Together((LAPLACE, SegmentsEvent(1.0, 1.0))), Together((LAPLACE, LAPLACE))):
        with pytest.raises(UnknownEvent):
            of(event)
    with pytest.raises(UnknownEvent):
        price_for_person(LAPLACE, 2, False)


def test_a_guarantee_of_laplace_noise_is_pure():
    guarantee = of(LAPLACE)
    assert guarantee.private
    assert (guarantee.mu, guarantee.delta, guarantee.epsilon) == (None, 0.0, 0.5)
    assert guarantee.epsilon_at(1e-300) == 0.5
    text = str(guarantee)
    assert text.startswith(
        "central DP: only the rewards of one round (replace one) are protected with epsilon <= 0.5000"
    )
    assert "at delta = 0" in text


# Square-root Toeplitz --------------------------------------------------------------------------------------------


def root_of_prefix_sums(size):
    """C, the lower-triangular Toeplitz matrix of c_0 = 1, c_k = c_{k−1}(2k − 1)/(2k)."""
    column = [1.0]
    for k in range(1, size):
        column.append(column[-1] * (2 * k - 1) / (2 * k))
    distance = np.subtract.outer(np.arange(size), np.arange(size))
    return np.where(distance >= 0, np.array(column)[np.abs(distance)], 0.0)


@pytest.mark.parametrize("releases", [1, 2, 17, 72])
def test_the_price_is_the_largest_shift_of_what_is_released_in_units_of_its_noise(releases):
    """Released are A·x + s·C·Z. Whitened, C⁻¹·A·x/s + Z: a unit row moves it by the length of a column of C⁻¹·A."""
    root = root_of_prefix_sums(releases)
    shifts = np.linalg.norm(np.linalg.solve(root, np.tril(np.ones((releases, releases)))), axis=0)
    event = RootToeplitzEvent(3.0, 2.0, releases)
    assert price(event) == pytest.approx(shifts.max() * 2.0 / 3.0, rel=1e-12)
    assert np.all(shifts <= shifts[0] * (1 + 1e-12))
    # Broken twin: the price of a plain sum, in which a row meets the noise of one segment.
    assert releases == 1 or price(SegmentsEvent(3.0, 2.0)) < 0.9 * price(event)


def test_a_single_release_costs_what_one_gaussian_does_and_more_releases_cost_more():
    assert price(RootToeplitzEvent(3.0, 2.0, 1)) == price(GaussianEvent(3.0, 2.0))
    prices = [price(RootToeplitzEvent(3.0, 2.0, releases)) for releases in (1, 2, 10, 100)]
    assert np.all(np.diff(prices) > 0)


def test_the_noise_of_the_last_release_is_far_below_that_of_a_plain_sum():
    # At μ = 1 and unit sensitivity; a plain sum of 72 independent noises has variance 72.
    scale = price(RootToeplitzEvent(1.0, 1.0, 72))
    variance = (scale * np.linalg.norm(square_root_coefficients(72))) ** 2
    assert variance == pytest.approx(5.9, abs=0.05)


def test_a_person_may_have_all_rows_in_one_segment():
    for rounds in (1, 2, 10):
        for spread in (False, True):
            assert price(PersonEvent(ROOT, rounds, one_per_segment=spread)) == pytest.approx(rounds * price(ROOT))


@pytest.mark.parametrize("rounds", [2, 5])
def test_rows_in_different_segments_cost_a_person_no_more_than_that(rounds):
    root = root_of_prefix_sums(20)
    burst = np.linalg.norm(root[:, :rounds].sum(axis=1))
    assert burst <= price(PersonEvent(RootToeplitzEvent(1.0, 1.0, 20), rounds))


@pytest.mark.parametrize("copies", [2, 3])
def test_copies_move_all_releases_together_by_no_more_than_their_price(copies):
    root = root_of_prefix_sums(30)
    worst = 0.0
    for parting in range(30):
        moved = np.sum(root[:parting] ** 2, axis=0) + copies * np.sum(root[parting:] ** 2, axis=0)
        worst = max(worst, math.sqrt(moved.max()))
    event = RootToeplitzEvent(1.0, 1.0, 30)
    assert price(event) < worst <= price(ForkedEvent(event, copies)) * (1 + 1e-12)


# Both ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (LAPLACE, "independent Laplace noise of scale 4; a row of sensitivity 2 lies in at most 1 sum."),
        (LaplaceEvent(4.0, 2.0, 17), "lies in at most 17 sums."),
        (ROOT, "at most 72 times, with Gaussian noise of scale 3 per release"),
        (RootToeplitzEvent(3.0, 2.0, 1), "at most 1 time,"),
    ],
)
def test_a_reader_learns_what_matters(event, said):
    assert said in event.describe()
    assert event.to_dict() == {
        "event": event.kind,
        "scale": event.scale,
        "sensitivity": event.sensitivity,
        "releases": event.releases,
    }


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: LaplaceEvent(0.0, 1.0), r"scale > 0.*ExactRelease"),
        (lambda: LaplaceEvent(1.0, 0.0), r"sensitivity > 0.*NothingReleased"),
        (lambda: LaplaceEvent(1.0, 1.0, 0), "releases"),
        (lambda: LaplaceEvent(1.0, 1.0, 1.5), "releases"),
        (lambda: RootToeplitzEvent(math.nan, 1.0, 3), "scale"),
        (lambda: RootToeplitzEvent(1.0, -1.0, 3), "sensitivity"),
        (lambda: RootToeplitzEvent(1.0, 1.0, 0), "releases"),
        (lambda: RootToeplitzEvent(1.0, 1.0, "3"), "releases"),
    ],
)
def test_impossible_facts_are_refused(build, word):
    with pytest.raises(BadInput, match=word):
        build()
