"""The Gaussian curve against 500-digit arithmetic, published values and an independent accountant."""

import itertools
import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from tacit.errors import BadInput
from tacit.privacy import gdp

EPSILONS = [1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0, 1e3]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-30, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5]

TABLE = {
    0.1: [0.35126, 0.43497, 0.92091, 3.54846],
    1e-2: [0.10480, 0.16521, 0.53252, 2.85635],
    1e-5: [0.03252, 0.06133, 0.26805, 2.00045],
    1e-6: [0.02754, 0.05266, 0.23670, 1.84813],
}

log_uniform_epsilon = st.floats(math.log(1e-4), math.log(1e3)).map(math.exp)
log_uniform_delta = st.floats(math.log(1e-300), math.log(0.5)).map(math.exp)
log_uniform_mu = st.floats(math.log(1e-6), math.log(50)).map(math.exp)


def exact_log_delta(mu: float, epsilon: float) -> mpmath.mpf:
    """The defining formula, e^ε and all, with more digits than it can cancel."""
    with mpmath.workdps(500):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        root = mpmath.sqrt(2)
        upper = mpmath.erfc((e / m - m / 2) / root) / 2
        lower = mpmath.erfc((e / m + m / 2) / root) / 2
        return mpmath.log(upper - mpmath.exp(e) * lower)


def keeps(mu: float, epsilon: float, delta: float) -> bool:
    return gdp.delta_at(mu, epsilon) <= delta


@pytest.mark.parametrize("delta", TABLE)
def test_mu_matches_the_reference_table_to_five_digits(delta):
    for epsilon, expected in zip([0.1, 0.2, 1.0, 10.0], TABLE[delta], strict=True):
        assert gdp.mu_for(epsilon, delta) == pytest.approx(expected, abs=5.1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"),
    [
        (1e-4, 1e-300, 2.73211e-6),
        (1.0, 1e-300, 0.0271256),
        (1000.0, 1e-300, 21.036),
        (1e-4, 0.5, 1.34906),
        (1000.0, 0.5, 44.7437),
    ],
)
def test_mu_matches_the_extreme_values(epsilon, delta, expected):
    assert gdp.mu_for(epsilon, delta) == pytest.approx(expected, rel=4e-6)


def test_the_standard_noise_multiplier_is_right():
    assert 1 / gdp.mu_for(1.0, 1e-5) == pytest.approx(3.7306316, abs=5e-8)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_log_delta_agrees_with_500_digits(epsilon):
    for delta in [*DELTAS, 0.9, 1 - 1e-9]:
        mu = gdp.mu_for(epsilon, delta)
        exact = exact_log_delta(mu, epsilon)
        assert abs(gdp.log_delta(mu, epsilon) / exact - 1) < 1e-12, (mu, delta)


def test_log_delta_agrees_with_500_digits_between_and_beyond_the_branches():
    ratios = [1e-3, 0.3, 1.0, 1.5, 5.0, 30.0, 49.0, 51.0, 300.0]  # ε/μ
    for mu, ratio in itertools.product([1e-9, 1e-5, 1e-3, 0.019, 0.021, 0.5, 1.1, 5.0, 60.0], ratios):
        exact = exact_log_delta(mu, mu * ratio)
        assert abs(gdp.log_delta(mu, mu * ratio) / exact - 1) < 1e-11, (mu, ratio)


def test_the_curve_falls_in_epsilon_and_grows_in_mu():
    grid = np.geomspace(1e-4, 1e3, 60)
    for mu in (0.01, 0.3, 2.0, 20.0):
        assert all(np.diff([gdp.log_delta(mu, epsilon) for epsilon in grid]) <= 0)
    for epsilon in (1e-3, 1.0, 30.0):
        assert all(np.diff([gdp.log_delta(mu, epsilon) for mu in np.geomspace(1e-4, 50, 60)]) >= 0)


def test_nothing_released_and_everything_released_are_the_two_ends():
    assert gdp.log_delta(0.0, 1.0) == -math.inf
    assert gdp.delta_at(0.0, 1.0) == 0.0
    assert gdp.log_delta(math.inf, 1.0) == 0.0
    assert gdp.delta_at(math.inf, 1.0) == 1.0
    assert gdp.epsilon_at(0.0, 1e-6) == 0.0
    assert gdp.epsilon_at(math.inf, 1e-6) == math.inf


def test_nothing_warns_or_overflows_anywhere():
    wild = [5e-324, 1e-300, 1e-100, 1e-8, 1e-4, 0.02, 1.0, 50.0, 1e3, 1e8, 1e100, 1e300]
    with np.errstate(all="raise"):
        for first, second in itertools.product(wild, wild):
            assert gdp.log_delta(first, second) <= 0
            assert 0 <= gdp.delta_at(first, second) <= 1
        for value, delta in itertools.product(wild, [5e-324, 1e-300, 1e-9, 0.5, 1 - 1e-16]):
            assert 0 <= gdp.mu_for(value, delta) < math.inf
            assert gdp.epsilon_at(value, delta) >= 0
            if delta > 1e-300:
                assert 0 <= gdp.power(value, delta) <= 1


@settings(max_examples=300, deadline=None)
@given(epsilon=log_uniform_epsilon, delta=log_uniform_delta)
def test_mu_for_is_on_the_safe_side_and_tight(epsilon, delta):
    mu = gdp.mu_for(epsilon, delta)
    reached = gdp.delta_at(mu, epsilon)
    assert delta * (1 - 1e-9) <= reached <= delta
    assert not keeps(mu * (1 + 1e-9), epsilon, delta)


@settings(max_examples=300, deadline=None)
@given(mu=log_uniform_mu, delta=log_uniform_delta)
def test_epsilon_at_is_on_the_safe_side_and_tight(mu, delta):
    epsilon = gdp.epsilon_at(mu, delta)
    if epsilon == 0:
        assert math.erf(mu / math.sqrt(8)) <= delta
        return
    assert keeps(mu, epsilon, delta)
    # δ falls by about e^ε·Φ(−y) per unit of ε; a step that moves it by less than its own rounding shows nothing.
    assert epsilon < 1e-6 or not keeps(mu, epsilon * (1 - 1e-8), delta)


@settings(max_examples=200, deadline=None)
@given(epsilon=log_uniform_epsilon, delta=log_uniform_delta)
def test_epsilon_at_inverts_mu_for(epsilon, delta):
    assert gdp.epsilon_at(gdp.mu_for(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)


def test_the_safe_side_check_rejects_the_classical_gaussian_calibration():
    for epsilon in (10.0, 30.0):
        classical = epsilon / math.sqrt(2 * math.log(1.25 / 1e-5))
        assert not keeps(classical, epsilon, 1e-5)


def test_delta_alone_can_cover_a_release():
    mu = 0.25
    cover = math.erf(mu / math.sqrt(8))
    assert gdp.epsilon_at(mu, cover * (1 + 1e-12)) == 0.0
    assert 0 < gdp.epsilon_at(mu, cover * 0.999) < 0.01


@pytest.mark.parametrize(("sigma", "delta"), [(0.3, 1e-5), (1.0, 1e-9), (3.73, 1e-5), (20.0, 1e-6), (100.0, 1e-30)])
def test_an_independent_solver_agrees(sigma, delta):
    expected = dp_accounting.get_epsilon_gaussian(sigma, delta)
    assert gdp.epsilon_at(1 / sigma, delta) == pytest.approx(expected, rel=1e-8, abs=1e-11)
    if expected > 0:
        assert 1 / gdp.mu_for(expected, delta) == pytest.approx(sigma, rel=1e-6)


def oracle_epsilon(mu: float, delta: float, relation: dp_accounting.NeighboringRelation) -> float:
    accountant = pld.PLDAccountant(relation)
    accountant.compose(dp_accounting.GaussianDpEvent(1 / mu))
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize(("mu", "delta"), [(0.25, 1e-5), (1.0, 1e-6), (3.0, 0.01)])
def test_a_privacy_loss_distribution_accountant_agrees(mu, delta):
    # It rounds privacy losses up to a grid of 1e-4, so it may only be above, and barely.
    oracle = oracle_epsilon(mu, delta, dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert 0 <= oracle - gdp.epsilon_at(mu, delta) < 2e-3


def test_the_oracle_doubles_the_sensitivity_under_replace_one():
    # The reason to normalise first and ask it under add-or-remove.
    oracle = oracle_epsilon(0.5, 1e-5, dp_accounting.NeighboringRelation.REPLACE_ONE)
    assert oracle == pytest.approx(gdp.epsilon_at(1.0, 1e-5), abs=2e-3)


def test_power_is_the_best_attackers_and_meets_its_ends():
    assert gdp.power(0.0, 0.05) == pytest.approx(0.05)
    assert gdp.power(math.inf, 0.05) == 1.0
    assert gdp.power(1.0, 0.05) == pytest.approx(0.2595110, abs=1e-6)


def test_power_never_exceeds_what_the_curve_allows_and_touches_it():
    mu, alarms = 0.7, ndtr(np.linspace(-8, 4, 2000))
    for epsilon in (0.1, 1.0, 3.0):
        allowed = math.exp(epsilon) * alarms + gdp.delta_at(mu, epsilon)
        gap = allowed - np.array([gdp.power(mu, alarm) for alarm in alarms])
        assert gap.min() >= -1e-12
        assert gap.min() < 1e-4


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, "1", None, True])
def test_a_bad_epsilon_is_refused_with_its_value(epsilon):
    for call in (lambda: gdp.log_delta(1.0, epsilon), lambda: gdp.mu_for(epsilon, 1e-5)):
        with pytest.raises(BadInput, match="Expected epsilon"):
            call()


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-9, 2.0, math.nan, None])
def test_a_bad_delta_is_refused_with_its_value(delta):
    for call in (lambda: gdp.mu_for(1.0, delta), lambda: gdp.epsilon_at(1.0, delta)):
        with pytest.raises(BadInput, match=r"delta.*got delta="):
            call()


@pytest.mark.parametrize("mu", [-1.0, math.nan, "big", None, True])
def test_a_bad_mu_is_refused_with_its_value(mu):
    for call in (lambda: gdp.log_delta(mu, 1.0), lambda: gdp.epsilon_at(mu, 0.1), lambda: gdp.power(mu, 0.1)):
        with pytest.raises(BadInput, match="Expected mu"):
            call()


def test_a_false_alarm_rate_of_zero_is_refused():
    with pytest.raises(BadInput, match="0 < false_alarm < 1"):
        gdp.power(1.0, 0.0)
