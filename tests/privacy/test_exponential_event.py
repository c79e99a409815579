"""Draws of the exponential mechanism as an event: what its range implies in each currency, against definitions."""

import json
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp as oracle
from scipy.special import expit, logsumexp, ndtr, ndtri

from tacit.errors import BadInput, UnknownEvent
from tacit.privacy import (
    BinomialSumEvent,
    Event,
    ExactRelease,
    ExponentialEvent,
    ForkedEvent,
    GaussianEvent,
    Guarantee,
    LaplaceEvent,
    NothingReleased,
    PersonEvent,
    Protects,
    RandomisedResponseEvent,
    Together,
    Trust,
    Unit,
    WishartTreeEvent,
    gdp,
    price,
    price_for_person,
    rdp,
    theorem_for,
)
from tacit.privacy.conversions import cks_multiplier
from tacit.privacy.currencies import (
    Cost,
    bounded_range_to_mu,
    bounded_range_to_zcdp,
    concentrated_budget,
    concentrated_epsilon,
    costs,
    mu_to_bounded_range,
)

RANGES = [0.01, 0.1, 1.0, 3.0, 8.0]
ORDERS = np.array([1.0001, 1.1, 1.5, 2.0, 3.0, 8.0, 64.0])


def two_outputs(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """(P, P′) over two outputs whose log-odds differ by ε, everywhere between the two ends: shape (n, 2) each."""
    middle = np.linspace(-12, 12, 2401)
    first, second = expit(middle + epsilon / 2), expit(middle - epsilon / 2)
    # 1 − p as the logistic of the other sign: no digits are lost.
    other_first, other_second = expit(-middle - epsilon / 2), expit(-middle + epsilon / 2)
    return np.column_stack([first, other_first]), np.column_stack([second, other_second])


def many_outputs(epsilon: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(P, P′) over six outputs by random scores, moved by at most ε apart."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=3.0, size=(500, 6))
    moves = rng.choice([0.0, 1.0, 0.5], size=scores.shape) * epsilon
    pair = [np.exp(scores + sign * moves / 2) for sign in (1, -1)]
    first, second = (weights / weights.sum(axis=1, keepdims=True) for weights in pair)
    return first, second


def pairs(epsilon):
    return [two_outputs(epsilon), many_outputs(epsilon, 1)]


def divergence(first, second, alpha) -> float:
    """The largest Rényi divergence of this order among pairs of laws."""
    logs = alpha * np.log(first) + (1 - alpha) * np.log(second)
    return float(logsumexp(logs, axis=1).max() / (alpha - 1))


# Pure DP ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "draws"), [(0.5, 1), (0.1, 7), (3.0, 2)])
def test_draws_are_pure_at_their_number_times_their_range(epsilon, draws):
    theorem = theorem_for(ExponentialEvent(epsilon, draws))
    assert (theorem.epsilon, theorem.delta) == (pytest.approx(epsilon * draws), 0.0)
    assert "McSherry and Talwar (2007)" in theorem.source


@pytest.mark.parametrize("epsilon", RANGES)
def test_a_range_of_epsilon_is_pure_epsilon_and_not_less(epsilon):
    worst = max(np.abs(np.log(first / second)).max() for first, second in pairs(epsilon))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.99 * epsilon


def test_a_guarantee_of_one_draw_is_pure():
    guarantee = Guarantee.priced(
        ExponentialEvent(0.5), trust=Trust.JOINT, protects=Protects.EVERYTHING, unit=Unit.round(), delta=None
    )
    assert (guarantee.mu, guarantee.delta, guarantee.epsilon) == (None, 0.0, 0.5)


def test_a_person_moves_log_odds_record_by_record_and_copies_draw_again():
    assert theorem_for(PersonEvent(ExponentialEvent(0.1, 2), 3)).epsilon == pytest.approx(0.6)
    assert theorem_for(ForkedEvent(ExponentialEvent(0.1, 2), 3)).epsilon == pytest.approx(0.6)
    assert theorem_for(ForkedEvent(PersonEvent(ExponentialEvent(0.1), 2), 3)).epsilon == pytest.approx(0.6)


def test_draws_have_no_exact_mu_and_are_not_hidden_among_gaussians():
    with pytest.raises(UnknownEvent, match=r"exponential mechanism, which are pure DP\. Use accountant\.theorem_for"):
        price(ExponentialEvent(0.5))
    with pytest.raises(UnknownEvent, match="exponential mechanism"):
        price(Together((ExponentialEvent(0.5), GaussianEvent(1.0, 1.0))))
    with pytest.raises(UnknownEvent):
        price_for_person(ExponentialEvent(0.5), 2, False)


# Concentrated DP -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", RANGES)
def test_no_draw_diverges_by_more_than_an_eighth_of_its_squared_range(epsilon):
    for alpha in ORDERS:
        for first, second in pairs(epsilon):
            assert divergence(first, second, alpha) <= alpha * bounded_range_to_zcdp(epsilon) * (1 + 1e-7)


def test_the_eighth_is_attained_by_small_ranges_and_a_twin_of_a_ninth_is_broken():
    first, second = two_outputs(0.01)
    found = divergence(first, second, 2.0)
    assert found == pytest.approx(2 * bounded_range_to_zcdp(0.01), rel=1e-4)
    assert found > 2 * 0.01**2 / 9


def test_pure_dp_alone_would_cost_four_times_as_much():
    assert bounded_range_to_zcdp(0.3) == pytest.approx(0.3**2 / 8)
    assert rdp.pure_to_zcdp(0.3) == pytest.approx(4 * bounded_range_to_zcdp(0.3))


@pytest.mark.parametrize("rho", [1e-4, 0.024, 0.5, 3.0, 40.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3, 0.1])
def test_epsilon_of_rho_is_the_best_order_of_an_independent_accountant(rho, delta):
    orders = 1 + np.exp(np.linspace(math.log(1e-4), math.log(1e5), 20_000))
    accountant = oracle.RdpAccountant(orders, dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    found = concentrated_epsilon(rho, delta)
    assert found == pytest.approx(accountant.get_epsilon(delta), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (0.01, 1e-9), (10.0, 0.1), (1e-4, 1e-300), (1e3, 0.5), (0.01, 0.99)]
)
def test_the_budget_of_rho_is_the_inverse(epsilon, delta):
    budget = concentrated_budget(epsilon, delta)
    assert concentrated_epsilon(budget, delta) == pytest.approx(epsilon, rel=1e-8)
    assert math.sqrt(2 * budget) == pytest.approx(1 / cks_multiplier(epsilon, delta))
    # Never more than a Gaussian is allowed on its exact curve.
    assert math.sqrt(2 * budget) < gdp.mu_for(epsilon, delta)


def test_nothing_and_everything_convert_to_themselves():
    assert concentrated_epsilon(0.0, 1e-6) == 0.0
    assert concentrated_epsilon(math.inf, 1e-6) == math.inf
    assert concentrated_epsilon(1e-12, 0.5) == 0.0


@pytest.mark.parametrize(("draws", "each"), [(10, 0.1396), (100, 0.0441)])
def test_the_listed_epsilon_per_prediction(draws, each):
    assert math.sqrt(8 * concentrated_budget(1.0, 1e-6) / draws) == pytest.approx(each, abs=5e-5)


# The Gaussian curve ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", RANGES)
def test_no_test_tells_neighbours_apart_better_than_a_gaussian_of_that_mu(epsilon):
    """Likelihood-ratio tests, which are the best: detection p against false alarms q."""
    mu, worst = bounded_range_to_mu(epsilon), 0.0
    for first, second in pairs(epsilon):
        order = np.argsort(-first / second, axis=1)
        p = np.cumsum(np.take_along_axis(first, order, axis=1), axis=1)[:, :-1]
        q = np.cumsum(np.take_along_axis(second, order, axis=1), axis=1)[:, :-1]
        inside = (p < 1 - 1e-9) & (q > 1e-9)
        worst = max(worst, float((ndtri(p[inside]) - ndtri(q[inside])).max()))
    assert worst <= mu * (1 + 1e-9)
    exact = 2 * ndtri(expit(epsilon / 2))
    assert worst == pytest.approx(exact, rel=1e-4)
    if epsilon <= 1:
        # Broken twin: what a Gaussian of the same ρ would have.
        assert worst > 1.2 * math.sqrt(2 * bounded_range_to_zcdp(epsilon))
        assert exact > 0.995 * mu


def test_a_square_contains_its_disc():
    """The inequality behind μ: Φ(z)Φ(−z) ≤ exp(−z²/2)/4."""
    z = np.linspace(-12, 12, 4801)
    assert np.all(ndtr(z) * ndtr(-z) <= np.exp(-z * z / 2) / 4 * (1 + 1e-12))


def test_mu_and_range_are_inverse():
    for epsilon in RANGES:
        assert mu_to_bounded_range(bounded_range_to_mu(epsilon)) == pytest.approx(epsilon)


# Costs -----------------------------------------------------------------------------------------------------------


def only(event) -> Cost:
    (found,) = costs(event)
    return found


def test_a_draw_costs_in_every_currency():
    found = only(ExponentialEvent(0.2, 5))
    assert found.epsilon == pytest.approx(1.0)
    assert found.rho == pytest.approx(5 * 0.2**2 / 8)
    assert found.mu_squared == pytest.approx(5 * math.pi / 8 * 0.2**2)


def test_a_gaussian_costs_its_mu_and_has_no_pure_epsilon():
    found = only(GaussianEvent(4.0, 1.0))
    assert (found.mu_squared, found.rho, found.epsilon) == (0.0625, 0.03125, math.inf)


def test_other_pure_events_cost_what_pure_dp_implies():
    for event, epsilon in ((LaplaceEvent(4.0, 2.0), 0.5), (RandomisedResponseEvent(0.5), 0.5)):
        found = only(event)
        assert found.epsilon == epsilon
        assert found.rho == rdp.pure_to_zcdp(epsilon)
        # A range of 2ε.
        assert found.mu_squared == pytest.approx(math.pi / 2 * epsilon**2)


def test_nothing_costs_nothing_and_exact_data_everything():
    assert only(NothingReleased()) == Cost(0.0, 0.0, 0.0)
    assert only(ExactRelease("the sums")) == Cost(math.inf, math.inf, math.inf)
    assert only(ExponentialEvent(1e200)).rho == math.inf


def test_events_made_of_others_cost_the_sum_of_their_parts():
    draw, gauss = ExponentialEvent(0.2), GaussianEvent(4.0, 1.0)
    assert costs(Together((draw, Together((gauss, draw))))) == (only(draw), only(gauss), only(draw))
    assert only(ForkedEvent(draw, 3)) == only(ExponentialEvent(0.2, 3))
    assert only(ForkedEvent(gauss, 3)).mu_squared == pytest.approx(price(ForkedEvent(gauss, 3)) ** 2)
    assert only(PersonEvent(draw, 3)) == only(ExponentialEvent(3 * 0.2))
    assert only(PersonEvent(gauss, 3)).mu_squared == pytest.approx(price(PersonEvent(gauss, 3)) ** 2)
    assert costs(PersonEvent(Together((draw, gauss)), 3)) == (only(PersonEvent(draw, 3)), only(PersonEvent(gauss, 3)))


class Wished(Event):
    def describe(self) -> str:
        return "Something nobody has proved."

    def to_dict(self):
        return {}


@pytest.mark.parametrize("event", [None, "draw", Wished(), Together((ExponentialEvent(1.0), Wished()))])
def test_what_the_accountant_does_not_know_has_no_cost(event):
    with pytest.raises(UnknownEvent, match="no price has been proved"):
        costs(event)


@pytest.mark.parametrize(
    "event",
    [WishartTreeEvent(10**9, 2.0, 5, 1.0, 1e-3), BinomialSumEvent(10**6, 1.0, 3, 1e-6)],
    ids=lambda event: event.kind,
)
def test_a_bound_at_one_delta_does_not_add_up(event):
    with pytest.raises(UnknownEvent, match=r"bounded at delta=.* only: its cost does not add up"):
        costs(event)


# The event itself ------------------------------------------------------------------------------------------------


def test_a_reader_learns_what_matters():
    assert ExponentialEvent(0.25).describe() == (
        "One of several candidates drawn by its score, 1 time; a row moves the log-odds between any two candidates by "
        "at most 0.25."
    )
    assert "10 times" in ExponentialEvent(0.25, 10).describe()
    event = ExponentialEvent(np.float64(0.25), np.int64(10))
    assert json.loads(json.dumps(event.to_dict(), allow_nan=False)) == {
        "event": "exponential",
        "epsilon": 0.25,
        "draws": 10,
    }


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: ExponentialEvent(0.0), "epsilon > 0"),
        (lambda: ExponentialEvent(-1.0), "epsilon > 0"),
        (lambda: ExponentialEvent(math.nan), "epsilon"),
        (lambda: ExponentialEvent(math.inf), "epsilon"),
        (lambda: ExponentialEvent("1"), "epsilon"),
        (lambda: ExponentialEvent(1.0, 0), "draws"),
        (lambda: ExponentialEvent(1.0, 1.5), "draws"),
    ],
)
def test_impossible_facts_are_refused(build, word):
    with pytest.raises(BadInput, match=word):
        build()
