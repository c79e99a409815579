"""The ledger: what it takes, what it refuses, and that nothing it takes breaks the promise, however it was chosen."""

import copy
import json
import math
import pickle
import sys
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, ndtr

from tacit.errors import BadInput, BudgetSpent, PrivacyRefusal, UnknownEvent
from tacit.privacy import (
    ConcentratedPromise,
    ExactRelease,
    ExponentialEvent,
    GaussianEvent,
    Guarantee,
    LaplaceEvent,
    Ledger,
    NothingReleased,
    Promise,
    Protects,
    PurePromise,
    RenyiPromise,
    Together,
    Trust,
    Unit,
    WishartTreeEvent,
    gdp,
    price,
    theorem_for,
)
from tacit.privacy.currencies import bounded_range_to_mu, concentrated_budget, concentrated_epsilon

PROMISE = Promise(1.0, 1e-6)
PROMISES = [PROMISE, Promise(0.1, 0.01), PurePromise(0.3), ConcentratedPromise(0.05), RenyiPromise(8.0, 0.4)]


def gaussian(mu) -> GaussianEvent:
    return GaussianEvent(1 / mu, 1.0)


def state(ledger):
    return (ledger.events, ledger.left, ledger.composition, ledger.guarantee, str(ledger), ledger.to_dict())


def refused(ledger, event):
    """That the event is refused, and leaves everything as it was; returns the message."""
    before = state(ledger)
    with pytest.raises(BudgetSpent) as caught:
        ledger.spend(event)
    assert state(ledger) == before
    return str(caught.value)


def priced(event, delta):
    return Guarantee.priced(event, trust=Trust.JOINT, protects=Protects.EVERYTHING, unit=Unit.round(), delta=delta)


# Pure sums -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("promise", [PurePromise(0.3), Promise(0.3, 1e-6)], ids=repr)
def test_pure_epsilons_add_up_to_the_promise_and_no_further(promise):
    ledger = Ledger(promise)
    # In binary three times 0.1 is a little more than 0.3: that is no reason to refuse.
    for _ in range(3):
        ledger.spend(ExponentialEvent(0.1))
    assert ledger.guarantee.epsilon == 0.3
    assert promise.kept(ledger.guarantee)
    assert str(ledger.left) == "nothing"
    refused(ledger, ExponentialEvent(1e-9))


def test_many_small_draws_add_up_exactly():
    ledger = Ledger(PurePromise(2.0))
    # Added up as floats they would be 1 − 9e-14.
    ledger.spend(Together((ExponentialEvent(1e-4),) * 10_000))
    assert ledger.guarantee.epsilon == pytest.approx(1.0, rel=1e-15)
    ledger.spend(ExponentialEvent(1e-4, 10_000))
    refused(ledger, ExponentialEvent(1e-6))


def test_one_draw_may_take_the_whole_epsilon():
    ledger = Ledger(PROMISE)
    ledger.spend(ExponentialEvent(1.0))
    assert ledger.guarantee.theorem == theorem_for(ExponentialEvent(1.0))
    assert ledger.guarantee.epsilon_at(1e-300) == 1.0


def test_laplace_noise_is_pure_too():
    ledger = Ledger(PurePromise(1.0))
    ledger.spend(LaplaceEvent(4.0, 2.0))
    assert ledger.left.epsilon == pytest.approx(0.5)
    refused(ledger, LaplaceEvent(2.0, 2.0))


def test_no_gaussian_keeps_a_pure_promise():
    ledger = Ledger(PurePromise(10.0))
    assert ledger.left.mu == 0.0
    assert "epsilon = inf" in refused(ledger, gaussian(1e-6))


# Concentrated sums -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("draws", "listed"), [(10, 0.1396), (100, 0.0441)])
def test_many_draws_are_cheaper_in_rho(draws, listed):
    ledger = Ledger(PROMISE)
    each = math.sqrt(8 * concentrated_budget(1.0, 1e-6) / draws)
    assert each == pytest.approx(listed, abs=5e-5)
    assert each > 1.3 / draws, "more than pure epsilon would allow"
    for _ in range(draws - 1):
        ledger.spend(ExponentialEvent(each))
    assert ledger.left.epsilon == pytest.approx(each)
    ledger.spend(ExponentialEvent(each))
    assert ledger.composition == "concentrated"
    assert ledger.guarantee.epsilon == pytest.approx(1.0)
    assert PROMISE.kept(ledger.guarantee)
    refused(ledger, ExponentialEvent(each / 100))


def test_what_is_reported_is_the_least_of_all_bounds():
    ledger = Ledger(PROMISE)
    ledger.spend(ExponentialEvent(0.05, 4))
    assert (ledger.guarantee.epsilon, ledger.guarantee.theorem.delta) == (pytest.approx(0.2), 0.0)
    ledger.spend(ExponentialEvent(0.05, 46))
    assert ledger.guarantee.epsilon == pytest.approx(concentrated_epsilon(50 * 0.05**2 / 8, 1e-6))
    assert ledger.guarantee.epsilon < 50 * 0.05
    assert "Canonne, Kamath and Steinke" in ledger.guarantee.theorem.source


# The Gaussian curve ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_gaussians_alone_are_read_off_their_exact_curve(parts):
    ledger = Ledger(PROMISE)
    each = PROMISE.mu / math.sqrt(parts)
    for _ in range(parts):
        ledger.spend(gaussian(each))
    assert ledger.composition == "curve"
    assert ledger.guarantee.mu == pytest.approx(PROMISE.mu)
    assert ledger.guarantee.epsilon == pytest.approx(1.0)
    assert PROMISE.kept(ledger.guarantee)
    assert str(ledger.left) == "nothing"
    refused(ledger, gaussian(each / 1000))


def test_one_event_costs_what_the_accountant_says():
    events = [gaussian(0.1), Together((gaussian(0.1), gaussian(0.05))), ExponentialEvent(0.2), ExponentialEvent(0.1, 2)]
    for event in events:
        ledger = Ledger(PROMISE)
        ledger.spend(event)
        expected = priced(event, 1e-6)
        assert ledger.guarantee.epsilon == pytest.approx(expected.epsilon)
        assert ledger.guarantee.theorem == expected.theorem
    apart = Ledger(PROMISE)
    for part in events[1].events:
        apart.spend(part)
    assert apart.guarantee.mu == pytest.approx(price(events[1]))


def test_concentrated_accounting_would_refuse_what_the_curve_allows():
    """Broken the other way: seven per cent of the noise would be wasted."""
    careful = Ledger(PROMISE, composition="concentrated")
    assert careful.left.mu == pytest.approx(1 / 4.531, abs=1e-4)
    assert Ledger(PROMISE).left.mu == pytest.approx(1 / 4.225, abs=1e-4)
    refused(careful, gaussian(PROMISE.mu * 0.95))


# Mixtures --------------------------------------------------------------------------------------------------------


def test_after_a_gaussian_a_draw_counts_at_its_mu():
    ledger = Ledger(PROMISE)
    ledger.spend(gaussian(0.12))
    rest = math.sqrt(PROMISE.mu**2 - 0.12**2)
    assert ledger.left.mu == pytest.approx(rest)
    assert bounded_range_to_mu(ledger.left.epsilon) == pytest.approx(rest)
    assert not math.isfinite(float(ledger.to_dict()["spent"]["pure_epsilon"] or math.inf))
    refused(ledger, ExponentialEvent(ledger.left.epsilon * 1.001))
    ledger.spend(ExponentialEvent(ledger.left.epsilon))
    assert PROMISE.kept(ledger.guarantee)
    refused(ledger, ExponentialEvent(1e-4))


@pytest.mark.parametrize("composition", [None, "concentrated"])
def test_after_a_draw_a_gaussian_counts_at_its_rho(composition):
    ledger = Ledger(PROMISE, composition=composition)
    ledger.spend(ExponentialEvent(0.3))
    rest = concentrated_budget(1.0, 1e-6) - 0.3**2 / 8
    assert ledger.left.mu == pytest.approx(math.sqrt(2 * rest))
    refused(ledger, gaussian(math.sqrt(2 * rest) * 1.001))
    ledger.spend(gaussian(ledger.left.mu))
    assert ledger.guarantee.epsilon == pytest.approx(1.0)
    assert PROMISE.kept(ledger.guarantee)


def hockey_stick_of_gaussian(mu, threshold):
    """sup over events of P(A) − e^t·P′(A) for a Gaussian, at any t."""
    return ndtr(mu / 2 - threshold / mu) - np.exp(threshold) * ndtr(-mu / 2 - threshold / mu)


def hockey_stick_of_draw(epsilon, threshold):
    """The same for the worst draw of range ε: two outputs suffice, wherever their odds lie."""
    middle = np.linspace(-12, 12, 1201)[:, None]
    excess = expit(middle + epsilon / 2) - np.exp(threshold) * expit(middle - epsilon / 2)
    return np.maximum(excess.max(axis=0), np.maximum(1 - np.exp(threshold), 0))


def delta_after_gaussian(mu, epsilon, continuation):
    """δ at ε of a Gaussian release followed by something whose hockey-stick at a threshold is `continuation`."""
    z = np.linspace(-9, 12, 6001)
    loss = mu * z + mu * mu / 2
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    return float(density @ continuation(epsilon - loss))


@pytest.mark.parametrize("promise", [PROMISE, Promise(0.1, 1e-3), Promise(3.0, 1e-9)], ids=repr)
@pytest.mark.parametrize("composition", ["curve", "concentrated"])
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_the_true_delta_of_a_mixture_is_within_the_promise(promise, composition, share):
    """By integration over the Gaussian's loss, with the worst draw after it: no theorem about sums is used."""
    ledger = Ledger(promise, composition=composition)
    first = share * ledger.left.mu
    ledger.spend(gaussian(first))
    draw = ledger.left.epsilon
    ledger.spend(ExponentialEvent(draw))
    true = delta_after_gaussian(first, promise.epsilon, lambda t: hockey_stick_of_draw(draw, t))
    assert true <= promise.delta
    # Broken twin: a draw that counts at a quarter of its range.
    assert delta_after_gaussian(first, promise.epsilon, lambda t: hockey_stick_of_draw(4 * draw, t)) > promise.delta


def test_choosing_how_to_add_up_after_a_look_would_break_the_promise():
    """The twin that keeps both totals and takes an event if it fits either. Half of the budget goes to a Gaussian
    release; where its loss makes a draw the worse continuation the analyst asks for one, elsewhere for a second
    Gaussian. Either fits its own total; together they are above δ."""
    epsilon, delta = 0.1, 1e-6
    budget, mu = concentrated_budget(epsilon, delta), gdp.mu_for(epsilon, delta)
    first = math.sqrt(2 * 0.57 * budget)
    draw, second = math.sqrt(8 * 0.43 * budget), math.sqrt(mu * mu - first * first)
    both = [lambda t: hockey_stick_of_gaussian(second, t), lambda t: hockey_stick_of_draw(draw, t)]
    apart = [delta_after_gaussian(first, epsilon, continuation) for continuation in both]
    assert max(apart) <= delta * (1 + 1e-9)
    looked = delta_after_gaussian(first, epsilon, lambda t: np.maximum(both[0](t), both[1](t)))
    assert looked > delta * (1 + 2e-4)
    # The ledger allows one of the two continuations and not the other.
    ledger = Ledger(Promise(epsilon, delta))
    ledger.spend(gaussian(first))
    refused(ledger, ExponentialEvent(draw))
    ledger.spend(gaussian(second * (1 - 1e-9)))


def test_the_first_event_fixes_how_it_is_added_up_and_a_refused_one_does_not():
    ledger = Ledger(PROMISE)
    refused(ledger, gaussian(1.0))
    refused(ledger, ExponentialEvent(1.1))
    ledger.spend(NothingReleased())
    assert ledger.composition is None
    ledger.spend(Together((ExponentialEvent(0.1), gaussian(0.1))))
    assert ledger.composition == "curve"
    declared = Ledger(PROMISE, composition="concentrated")
    declared.spend(gaussian(0.1))
    assert declared.composition == "concentrated"
    assert declared.left.mu < ledger.left.mu * 1.1


def test_where_the_curve_is_the_wider_way_a_draw_takes_it():
    """At a large δ the conversion of ρ gives away more than the curve does."""
    promise = Promise(0.1, 0.01)
    ledger = Ledger(promise)
    widest = ledger.left.epsilon
    assert widest > math.sqrt(8 * concentrated_budget(0.1, 0.01)) > 0.1
    ledger.spend(ExponentialEvent(widest))
    assert ledger.composition == "curve"
    assert promise.kept(ledger.guarantee)


# Other promises --------------------------------------------------------------------------------------------------


def test_a_promise_of_rho_is_spent_in_rho():
    ledger = Ledger(ConcentratedPromise(0.05))
    ledger.spend(gaussian(0.2))
    assert ledger.left.epsilon == pytest.approx(math.sqrt(8 * 0.03))
    assert ledger.promise.kept(ledger.guarantee)
    ledger.spend(ExponentialEvent(ledger.left.epsilon))
    assert ledger.composition is None
    assert ledger.to_dict()["spent"]["rho"] == pytest.approx(0.05)
    assert "rho = 0.05001" in refused(ledger, gaussian(0.002))


def test_a_promise_at_one_renyi_order_is_spent_at_that_order():
    ledger = Ledger(RenyiPromise(8.0, 0.4))
    ledger.spend(gaussian(0.2))
    # α·μ²/2 = 0.16; a draw costs min(ε, α·ε²/8) at this order.
    assert ledger.left.mu == pytest.approx(math.sqrt(2 * 0.24 / 8))
    assert ledger.left.epsilon == pytest.approx(math.sqrt(0.24))
    ledger.spend(ExponentialEvent(math.sqrt(0.24)))
    refused(ledger, ExponentialEvent(1e-3))
    high = Ledger(RenyiPromise(1000.0, 0.5))
    assert high.left.epsilon == pytest.approx(0.5)
    high.spend(ExponentialEvent(0.5))
    refused(high, gaussian(1e-3))


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
def test_what_is_left_can_be_spent_and_a_little_more_cannot(promise):
    kinds = {"epsilon": ExponentialEvent, "mu": gaussian}
    for before in (
        [],
        [ExponentialEvent(0.05)],
        [] if promise.mu is None else [gaussian(0.05), ExponentialEvent(0.01)],
    ):
        for name, event_of in kinds.items():
            ledger = Ledger(promise)
            for event in before:
                ledger.spend(event)
            largest = getattr(ledger.left, name)
            if largest == 0:
                assert isinstance(promise, PurePromise)
                continue
            refused(ledger, event_of(largest * (1 + 1e-9)))
            ledger.spend(event_of(largest))
            assert str(ledger.left).startswith("nothing") or promise.kept(ledger.guarantee)


amounts = st.floats(-7, 0).map(math.exp)
draws = st.builds(ExponentialEvent, amounts, st.integers(1, 5))
gaussians = amounts.map(lambda mu: gaussian(mu / 4))


@settings(max_examples=60, deadline=None)
@given(
    promise=st.builds(Promise, amounts, st.sampled_from([1e-9, 1e-6, 1e-2])) | st.builds(PurePromise, amounts),
    events=st.lists(draws | gaussians, max_size=12),
    composition=st.sampled_from([None, "curve", "concentrated"]),
)
def test_whatever_is_taken_keeps_the_promise(promise, events, composition):
    ledger = Ledger(promise, composition=composition if isinstance(promise, Promise) else None)
    taken = []
    for event in events:
        before = ledger.left
        try:
            ledger.spend(event)
        except BudgetSpent:
            assert ledger.left == before
        else:
            taken.append(event)
            # By rounding what is left may seem to grow in the last digits.
            assert ledger.left.mu <= before.mu * (1 + 1e-9)
    assert ledger.events == tuple(taken)
    assert promise.kept(ledger.guarantee)
    json.dumps(ledger.to_dict(), allow_nan=False)


# Refusals --------------------------------------------------------------------------------------------------------


def test_without_a_budget_nothing_can_be_spent():
    ledger = Ledger()
    assert str(ledger) == "No budget: nothing can be spent."
    assert (ledger.left.epsilon, ledger.left.mu) == (0.0, 0.0)
    for event in (ExponentialEvent(1e-9), gaussian(1e-9), ExactRelease("the sums")):
        assert "without a promise" in refused(ledger, event)
    ledger.spend(NothingReleased())
    assert ledger.guarantee.mu == 0.0
    assert ledger.to_dict()["promise"] is None


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
def test_exact_data_is_never_covered(promise):
    ledger = Ledger(promise)
    assert "= inf" in refused(ledger, ExactRelease("the sums"))
    assert "= inf" in refused(ledger, Together((ExponentialEvent(1e-3), ExactRelease("the sums"))))


def test_events_without_a_known_cost_are_refused_and_change_nothing():
    ledger = Ledger(PROMISE)
    ledger.spend(ExponentialEvent(0.1))
    before = state(ledger)
    for event in (None, "draw", WishartTreeEvent(10**9, 2.0, 5, 1.0, 1e-3)):
        with pytest.raises(UnknownEvent):
            ledger.spend(event)
    assert state(ledger) == before


def test_several_events_are_spent_together_or_not_at_all():
    ledger = Ledger(PROMISE)
    refused(ledger, Together((ExponentialEvent(0.9), ExponentialEvent(0.9))))
    assert ledger.events == ()
    assert ledger.left.epsilon == 1.0


def test_a_refusal_says_what_was_promised_what_came_and_what_is_left():
    ledger = Ledger(PROMISE)
    ledger.spend(ExponentialEvent(0.75))
    assert refused(ledger, ExponentialEvent(0.5)) == (
        "Expected an event that keeps epsilon = 1 at delta = 1e-06, got one that would bring the total to epsilon = "
        "1.250. Nothing was spent. Left: one exponential draw of epsilon up to 0.2500."
    )


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: Ledger(1.0), "promise"),
        (lambda: Ledger((1.0, 1e-6)), "promise"),
        (lambda: Ledger(PROMISE, composition="cheapest"), "composition"),
        (lambda: Ledger(PurePromise(1.0), composition="curve"), "Leave composition out"),
        (lambda: Ledger(None, composition="curve"), "Leave composition out"),
        (lambda: Ledger(PROMISE, trust="nobody"), "trust"),
        (lambda: Ledger(PROMISE, unit=3), "unit"),
    ],
)
def test_impossible_ledgers_are_refused(build, word):
    with pytest.raises(BadInput, match=word):
        build()


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_budget_cannot_be_spent_twice_by_copying_the_ledger(way):
    with pytest.raises(PrivacyRefusal, match="spend the budget again"):
        way(Ledger(PROMISE))


def test_a_ledger_is_moved_by_spending_its_events_again():
    ledger = Ledger(PROMISE)
    for event in (ExponentialEvent(0.2), gaussian(0.1), ExponentialEvent(0.05, 2)):
        ledger.spend(event)
    moved = Ledger(PROMISE)
    for event in ledger.events:
        moved.spend(event)
    assert state(moved) == state(ledger)


def test_threads_never_spend_more_than_there_is():
    ledger = Ledger(PurePromise(1.0))
    taken = []

    def work():
        for _ in range(60):
            try:
                ledger.spend(ExponentialEvent(1 / 128))
            except BudgetSpent:
                continue
            taken.append(1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(taken) == len(ledger.events) == 128
    assert ledger.guarantee.epsilon == 1.0


# Words -----------------------------------------------------------------------------------------------------------


def test_it_prints_itself():
    ledger = Ledger(PROMISE)
    assert str(ledger) == (
        "Spent: nothing, in 0 events. Promised: epsilon = 1 at delta = 1e-06. Left: one exponential draw of epsilon up "
        "to 1.000, or one Gaussian release of mu up to 0.2367."
    )
    ledger.spend(ExponentialEvent(0.3))
    assert "Spent: epsilon <= 0.3000 at delta = 1e-06, in 1 event." in str(ledger)
    assert repr(ledger) == f"<Ledger: {ledger}>"
    pure = Ledger(PurePromise(0.5))
    pure.spend(ExponentialEvent(0.2))
    assert str(pure) == (
        "Spent: epsilon <= 0.2000 at delta = 0, in 1 event. Promised: epsilon = 0.5 at delta = 0 (pure DP). Left: one "
        "exponential draw of epsilon up to 0.3000."
    )


@pytest.mark.parametrize("rest", [0.123456, 9.99996e-7, 12345.6, 3e7])
def test_what_is_shown_as_left_can_be_spent(rest):
    ledger = Ledger(PurePromise(rest))
    ledger.spend(ExponentialEvent(float(str(ledger.left).rsplit(" ", 1)[1])))


def test_it_goes_to_json():
    ledger = Ledger(PROMISE)
    ledger.spend(gaussian(0.1))
    ledger.spend(ExponentialEvent(0.1))
    facts = json.loads(json.dumps(ledger.to_dict(), allow_nan=False))
    assert facts["promise"] == {"epsilon": 1.0, "delta": 1e-6}
    assert facts["composition"] == "curve"
    assert facts["spent"]["pure_epsilon"] is None
    assert facts["spent"]["epsilon"] == pytest.approx(ledger.guarantee.epsilon)
    assert facts["spent"]["rho"] == pytest.approx(0.005 + 0.01 / 8)
    assert facts["spent"]["mu"] == pytest.approx(math.hypot(0.1, bounded_range_to_mu(0.1)))
    assert facts["left"] == {"epsilon": ledger.left.epsilon, "mu": ledger.left.mu}
    assert facts["events"] == [event.to_dict() for event in ledger.events]


def test_the_guarantee_carries_its_scope():
    ledger = Ledger(PROMISE, trust=Trust.CENTRAL, protects=Protects.REWARDS, unit=Unit.person(3))
    assert ledger.guarantee.mu == 0.0
    ledger.spend(gaussian(0.1))
    found = ledger.guarantee
    assert (found.trust, found.protects, found.unit, found.delta) == (
        Trust.CENTRAL,
        Protects.REWARDS,
        Unit.person(3),
        1e-6,
    )
