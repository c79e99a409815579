"""How much noise each way to (ε, δ) asks for: the listed table, an independent accountant, and their order."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.privacy import gdp, rdp
from tacit.privacy.conversions import (
    cks_multiplier,
    classic_multiplier,
    exact_multiplier,
    fixed_order_multiplier,
    mironov_multiplier,
    mironov_order,
)

DELTA = 1e-6
TABLE = [
    # ε, exact, CKS, Mironov's best order, classic, that order
    (0.1, 36.31, 39.46, 52.66, 52.99, 278),
    (0.5, 8.06, 8.68, 10.61, 10.60, 57),
    (1.0, 4.225, 4.531, 5.350, 5.299, 29),
    (2.0, 2.230, 2.382, 2.720, None, 15),
    (4.0, 1.194, 1.268, 1.403, None, 8.4),
    (8.0, 0.653, 0.689, 0.741, None, 4.9),
]
THREE_DIGITS = 1e-3 / 2
epsilons = st.floats(math.log(1e-3), math.log(100)).map(math.exp)
deltas = st.floats(math.log(1e-50), math.log(0.5)).map(math.exp)


@pytest.mark.parametrize(("epsilon", "exact", "cks", "mironov", "classic", "order"), TABLE)
def test_the_listed_multipliers_at_a_delta_of_a_millionth(epsilon, exact, cks, mironov, classic, order):
    assert exact_multiplier(epsilon, DELTA) == pytest.approx(exact, rel=THREE_DIGITS)
    assert cks_multiplier(epsilon, DELTA) == pytest.approx(cks, rel=THREE_DIGITS)
    assert mironov_multiplier(epsilon, DELTA) == pytest.approx(mironov, rel=THREE_DIGITS)
    assert mironov_order(epsilon, DELTA) == pytest.approx(order, rel=0.02)
    if classic is not None:
        assert classic_multiplier(epsilon, DELTA) == pytest.approx(classic, rel=THREE_DIGITS)


@pytest.mark.parametrize(
    ("epsilon", "delta", "listed"), [(1, 1e-5, 3.731), (1, 1e-6, 4.225), (0.1, 1e-5, 30.750), (8, 1e-8, 0.748)]
)
def test_listed_values_of_the_exact_multiplier(epsilon, delta, listed):
    assert exact_multiplier(epsilon, delta) == pytest.approx(listed, abs=5e-4)


@pytest.mark.parametrize(
    ("epsilon", "delta", "ratio"), [(0.1, 1e-5, 1.56), (1, 1e-5, 1.31), (0.1, 1e-8, 1.32), (1, 1e-8, 1.21)]
)
def test_how_much_noise_the_best_order_wastes(epsilon, delta, ratio):
    assert mironov_multiplier(epsilon, delta) / exact_multiplier(epsilon, delta) == pytest.approx(ratio, abs=0.005)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-8)])
def test_an_independent_accountant_finds_the_same_exact_and_renyi_noise(epsilon, delta):
    assert exact_multiplier(epsilon, delta) == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-6)
    orders = 1 + np.exp(np.linspace(math.log(1e-2), math.log(1e4), 20_000))
    spent, _ = oracle.compute_epsilon(orders, orders / (2 * cks_multiplier(epsilon, delta) ** 2), delta)
    assert spent == pytest.approx(epsilon, rel=1e-5)


@settings(deadline=None)
@given(epsilon=epsilons, delta=deltas)
def test_the_curve_needs_least_then_the_sharper_conversion_then_the_first(epsilon, delta):
    exact, cks, mironov = (way(epsilon, delta) for way in (exact_multiplier, cks_multiplier, mironov_multiplier))
    assert exact <= cks * (1 + 1e-9)
    assert cks <= mironov * (1 + 1e-9)
    # Each of them truly gives (ε, δ): its noise has a curve.
    for multiplier in (exact, cks, mironov):
        assert gdp.delta_at(1 / multiplier, epsilon) <= delta * (1 + 1e-9)


@given(epsilon=epsilons, delta=deltas)
def test_the_sharper_conversion_is_the_best_over_all_orders(epsilon, delta):
    orders = 1 + np.exp(np.linspace(math.log(1e-3), math.log(10 * mironov_order(epsilon, delta)), 5000))
    # What each order leaves for ρα once its own conversion is paid.
    left = epsilon - (np.log(1 / (orders * delta)) / (orders - 1) + np.log1p(-1 / orders))
    best = 1 / math.sqrt(2 * np.max(left / orders))
    assert cks_multiplier(epsilon, delta) == pytest.approx(best, rel=1e-4)
    assert cks_multiplier(epsilon, delta) <= best * (1 + 1e-9)


def test_the_noise_of_the_sharper_conversion_reaches_epsilon_by_the_conversion_itself():
    for epsilon, *_ in TABLE:
        rho = 1 / (2 * cks_multiplier(epsilon, DELTA) ** 2)
        orders = np.linspace(2, 400, 40_000)
        reached = min(rdp.rdp_to_epsilon(alpha, rho * alpha, DELTA) for alpha in orders)
        assert reached == pytest.approx(epsilon, rel=1e-6)


@given(
    epsilon=epsilons, delta=deltas, alpha=st.floats(math.log(1e-2), math.log(1e6)).map(lambda log: 1 + math.exp(log))
)
def test_no_fixed_order_beats_the_best_one(epsilon, delta, alpha):
    if epsilon > math.log(1 / delta) / (alpha - 1):
        assert fixed_order_multiplier(epsilon, delta, alpha) >= mironov_multiplier(epsilon, delta) * (1 - 1e-9)
    else:
        with pytest.raises(BadInput, match="does not reach it with any noise"):
            fixed_order_multiplier(epsilon, delta, alpha)


@given(epsilon=epsilons, delta=deltas)
def test_the_best_order_fixed_is_the_best_order(epsilon, delta):
    fixed = fixed_order_multiplier(epsilon, delta, mironov_order(epsilon, delta))
    assert fixed == pytest.approx(mironov_multiplier(epsilon, delta), rel=1e-6)


@pytest.mark.parametrize(
    ("alpha", "epsilon", "feasible"),
    [(32, 0.1, False), (32, 0.5, True), (32, 1, True), (32, 4, True)]
    + [(10, epsilon, epsilon == 4) for epsilon in (0.1, 0.5, 1, 4)]
    + [(2, epsilon, False) for epsilon in (0.1, 0.5, 1, 4)],
)
def test_which_fixed_orders_reach_which_epsilon(alpha, epsilon, feasible):
    if feasible:
        assert fixed_order_multiplier(epsilon, DELTA, alpha) > exact_multiplier(epsilon, DELTA)
        return
    with pytest.raises(BadInput, match=rf"alpha={alpha} at delta=1e-06, got epsilon={epsilon}: this order does not"):
        fixed_order_multiplier(epsilon, DELTA, alpha)


def test_a_refused_order_is_told_which_would_do():
    with pytest.raises(BadInput, match=r"order above 139\.2"):
        fixed_order_multiplier(0.1, DELTA, 32)
    assert fixed_order_multiplier(0.1, DELTA, 139.3) > 0
    with pytest.raises(BadInput):
        fixed_order_multiplier(0.1, DELTA, 139.1)


def test_a_tenth_less_noise_than_the_exact_multiplier_is_rejected_by_the_curve():
    # Broken twin.
    for epsilon, *_ in TABLE:
        assert gdp.delta_at(1 / exact_multiplier(epsilon, DELTA), epsilon) <= DELTA
        assert gdp.delta_at(1 / (0.9 * exact_multiplier(epsilon, DELTA)), epsilon) > DELTA


def test_the_classic_formula_is_refused_beyond_its_theorem():
    with pytest.raises(BadInput, match=r"Expected epsilon <= 1 for the classic formula, got epsilon=2\.0.*exact_multi"):
        classic_multiplier(2.0, DELTA)
    assert classic_multiplier(1.0, DELTA) > exact_multiplier(1.0, DELTA)


@pytest.mark.parametrize(
    "way", [exact_multiplier, cks_multiplier, mironov_multiplier, mironov_order, classic_multiplier]
)
def test_bad_epsilons_and_deltas_are_refused(way):
    for bad in (0.0, -1.0, math.inf, math.nan, None):
        with pytest.raises(BadInput, match="epsilon"):
            way(bad, DELTA)
    for bad in (0.0, 1.0, math.nan, None):
        with pytest.raises(BadInput, match="delta"):
            way(0.5, bad)


@pytest.mark.parametrize("alpha", [1.0, 0.5, math.nan, None])
def test_bad_orders_are_refused(alpha):
    with pytest.raises(BadInput, match="alpha"):
        fixed_order_multiplier(1.0, DELTA, alpha)
