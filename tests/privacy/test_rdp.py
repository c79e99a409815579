import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.privacy import gdp, rdp


def test_the_gaussian_currencies_are_consistent():
    assert rdp.zcdp(0.6) == pytest.approx(0.18)
    assert rdp.rdp(0.6, 4.0) == pytest.approx(4 * rdp.zcdp(0.6))
    assert rdp.zcdp(math.inf) == math.inf


def test_the_renyi_divergence_is_that_of_two_shifted_normals():
    mu, alpha, step = 0.8, 3.0, 1e-3
    grid = [-12 + step * i for i in range(26_000)]
    moment = sum(math.exp(-alpha * (x - mu) ** 2 / 2 + (alpha - 1) * x * x / 2) for x in grid) * step
    assert math.log(moment / math.sqrt(2 * math.pi)) / (alpha - 1) == pytest.approx(rdp.rdp(mu, alpha), rel=1e-9)


def test_the_conversion_is_the_published_formula():
    assert rdp.rdp_to_epsilon(2.0, 0.1, 1e-5) == pytest.approx(0.1 + math.log(0.5) - math.log(2e-5))


@given(
    mu=st.floats(1e-3, 10),
    alpha=st.floats(1.01, 200),
    delta=st.floats(-50, -0.7).map(math.exp),
)
def test_one_renyi_order_never_beats_the_exact_curve(mu, alpha, delta):
    assert rdp.rdp_to_epsilon(alpha, rdp.rdp(mu, alpha), delta) >= gdp.epsilon_at(mu, delta) - 1e-9


def test_the_exact_curve_is_far_below_a_single_order():
    # (2, 0.1)-Rényi DP of a Gaussian is μ = sqrt(0.1).
    assert gdp.epsilon_at(math.sqrt(0.1), 1e-5) == pytest.approx(1.20, abs=0.005)
    assert rdp.rdp_to_epsilon(2.0, 0.1, 1e-5) > 10


def test_a_dropped_term_is_rejected_by_the_comparison_with_the_curve():
    # Broken twin: leaving ρ out of the conversion beats the exact curve somewhere, which is impossible.
    mu, delta = 3.0, 0.01
    twins = [rdp.rdp_to_epsilon(alpha, 0.0, delta) for alpha in (1.5, 2.0, 5.0, 20.0)]
    assert min(twins) < gdp.epsilon_at(mu, delta)


def test_a_generous_delta_gives_zero_and_not_less():
    assert rdp.rdp_to_epsilon(2.0, 0.0, 0.9) == 0.0


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("alpha", [1.01, 2.0, 10.0, 500.0])
def test_pure_privacy_bounds_the_divergence_of_the_two_laws_that_just_have_it(epsilon, alpha):
    """Two answers with odds of e^ε against each other: nothing that is ε-DP is further apart, at any order."""
    kept, other = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    logs = [alpha * math.log(p) + (1 - alpha) * math.log(q) for p, q in ((kept, other), (other, kept))]
    divergence = (max(logs) + math.log1p(math.exp(-abs(logs[0] - logs[1])))) / (alpha - 1)
    assert divergence <= rdp.pure_to_rdp(epsilon, alpha) * (1 + 1e-12)


def test_a_tenth_less_than_that_bound_is_rejected():
    # Broken twin: at order 2 and ε = 0.1 the divergence is above nine tenths of it.
    kept, other = 1 / (1 + math.exp(-0.1)), 1 / (1 + math.exp(0.1))
    assert math.log(kept**2 / other + other**2 / kept) > 0.9 * rdp.pure_to_rdp(0.1, 2.0)


@pytest.mark.parametrize("alpha", [1.0, 0.5, -2.0, math.nan, math.inf, None])
def test_orders_at_or_below_one_are_refused(alpha):
    with pytest.raises(BadInput, match="alpha"):
        rdp.rdp(1.0, alpha)
    with pytest.raises(BadInput, match="alpha"):
        rdp.pure_to_rdp(1.0, alpha)
    with pytest.raises(BadInput, match="alpha"):
        rdp.rdp_to_epsilon(alpha, 0.1, 1e-5)


def test_bad_rho_and_delta_are_refused():
    with pytest.raises(BadInput, match="rho"):
        rdp.rdp_to_epsilon(2.0, -0.1, 1e-5)
    with pytest.raises(BadInput, match="delta"):
        rdp.rdp_to_epsilon(2.0, 0.1, 0.0)
    with pytest.raises(BadInput, match="mu"):
        rdp.zcdp(-1.0)
    with pytest.raises(BadInput, match="epsilon"):
        rdp.pure_to_zcdp(-1.0)
