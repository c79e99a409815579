"""Promises in every currency: their μ, when they are kept, what they say of themselves, and what is refused."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BadInput, UnknownEvent
from tacit.privacy import (
    AnyPromise,
    ConcentratedPromise,
    GaussianEvent,
    Guarantee,
    LaplaceEvent,
    NothingReleased,
    PersonEvent,
    Promise,
    Protects,
    PurePromise,
    RandomisedResponseEvent,
    RenyiPromise,
    RootToeplitzEvent,
    SegmentsEvent,
    ShuffledReportsEvent,
    Trust,
    Unit,
    WishartTreeEvent,
    calibrate,
    gdp,
    price,
    promise_of,
    rdp,
    theorem_for,
)
from tacit.privacy.calibrate import SAFETY
from tacit.privacy.calibrate import Promise as SameAsBefore
from tacit.privacy.promise import SHOWN_DELTA

WITH_MU = [
    Promise(1.0, 1e-5),
    Promise(0.1, 1e-6),
    RenyiPromise(2.0, 0.1),
    RenyiPromise(30, 3),
    ConcentratedPromise(0.05),
]
PURE = PurePromise(0.5)
ALL = [*WITH_MU, PURE]
GAUSSIANS = {
    "episodes": lambda s: SegmentsEvent(s, 2.0),
    "root toeplitz": lambda s: RootToeplitzEvent(s, 2.0, 72),
    "a person": lambda s: PersonEvent(SegmentsEvent(s, 2.0), 3),
}


def of(event) -> Guarantee:
    """The guarantee of an event that protects rewards from everybody but the curator."""
    return Guarantee.priced(event, trust=Trust.CENTRAL, protects=Protects.REWARDS, unit=Unit.round(), delta=None)


# One number behind three currencies ------------------------------------------------------------------------------


def test_renyi_and_concentrated_promises_ask_for_one_gaussian():
    renyi, concentrated = RenyiPromise(2.0, 0.1), ConcentratedPromise(0.05)
    assert renyi.rho == concentrated.rho == 0.05
    assert renyi.mu == concentrated.mu == pytest.approx(math.sqrt(0.1), rel=1e-15)
    assert renyi.mu == pytest.approx(math.sqrt(2 * 0.1 / 2.0))


def test_the_order_of_a_renyi_promise_does_not_matter_beyond_its_ratio():
    assert RenyiPromise(2.0, 0.1).mu == RenyiPromise(20.0, 1.0).mu
    assert rdp.rdp(RenyiPromise(7.0, 0.3).mu, 7.0) == pytest.approx(0.3)


def test_the_rho_of_epsilon_and_delta_is_that_of_the_exact_curve():
    promise = Promise(1.0, 1e-6)
    assert promise.rho == pytest.approx(promise.mu**2 / 2)
    # Canonne, Kamath and Steinke's conversion would ask for 4.531 units of noise where the curve asks for 4.225.
    assert 1 / math.sqrt(2 * promise.rho) == pytest.approx(4.225, abs=5e-4)


def test_epsilon_of_a_renyi_promise_is_shown_by_the_curve_and_not_by_its_one_order():
    promise = RenyiPromise(2.0, 0.1)
    assert promise.delta == SHOWN_DELTA == 1e-5
    assert gdp.epsilon_at(promise.mu, promise.delta) == pytest.approx(1.20, abs=0.005)
    assert 0.1 + math.log(1 / promise.delta) / (2.0 - 1) == pytest.approx(11.61, abs=0.005)


@given(rho=st.floats(math.log(1e-300), math.log(1e300)).map(math.exp))
def test_the_mu_of_a_rho_keeps_it_and_a_little_more_does_not(rho):
    promise = ConcentratedPromise(rho)
    assert promise.kept_by(promise.mu)
    assert not promise.kept_by(promise.mu * (1 + 1e-11))


@pytest.mark.parametrize("promise", WITH_MU, ids=repr)
def test_the_mu_of_a_promise_is_the_largest_that_keeps_it(promise):
    assert promise.kept_by(promise.mu * (1 - 1e-9))
    assert not promise.kept_by(promise.mu * (1 + 1e-9))
    assert promise.kept_by(0.0)
    assert not promise.kept_by(math.inf)


def test_pure_privacy_is_not_a_gaussians_to_give():
    assert PURE.mu is None
    assert PURE.delta is None
    assert PURE.kept_by(0.0)
    for mu in (1e-12, 0.1, math.inf):
        assert not PURE.kept_by(mu)


@pytest.mark.parametrize("promise", ALL, ids=repr)
@pytest.mark.parametrize("mu", [-1.0, math.nan, None])
def test_a_cost_that_is_none_keeps_nothing(promise, mu):
    with pytest.raises(BadInput, match="mu"):
        promise.kept_by(mu)


# Calibration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("promise", WITH_MU, ids=repr)
@pytest.mark.parametrize("name", GAUSSIANS)
def test_calibrated_noise_keeps_the_promise_and_a_tenth_less_does_not(promise, name):
    event_at = GAUSSIANS[name]
    scale = calibrate(promise, event_at)
    assert promise.kept(of(event_at(scale)))
    assert price(event_at(scale)) <= promise.mu
    assert price(event_at(scale)) == pytest.approx(promise.mu, rel=3 * SAFETY)
    assert not promise.kept(of(event_at(0.9 * scale)))
    assert not promise.kept(of(event_at(scale * (1 - 3 * SAFETY))))


@settings(max_examples=50, deadline=None)
@given(
    alpha=st.floats(-5, 10).map(lambda log: 1 + math.exp(log)),
    epsilon=st.floats(-10, 5).map(math.exp),
    sensitivity=st.floats(-5, 5).map(math.exp),
)
def test_calibrated_noise_is_the_papers_up_to_the_safety(alpha, epsilon, sensitivity):
    # s² = αΔ²/2ε.
    scale = calibrate(RenyiPromise(alpha, epsilon), lambda s: SegmentsEvent(s, sensitivity))
    assert scale == pytest.approx(sensitivity * math.sqrt(alpha / (2 * epsilon)), rel=3 * SAFETY)


@given(
    alpha=st.floats(-5, 10).map(lambda log: 1 + math.exp(log)),
    epsilon=st.floats(-10, 5).map(math.exp),
    sensitivity=st.floats(-5, 5).map(math.exp),
)
def test_the_papers_noise_keeps_the_papers_claim_despite_rounding(alpha, epsilon, sensitivity):
    published = SegmentsEvent(sensitivity * math.sqrt(alpha / (2 * epsilon)), sensitivity)
    assert RenyiPromise(alpha, epsilon).kept(of(published))
    assert ConcentratedPromise(epsilon / alpha).kept(of(published))


@pytest.mark.parametrize("releases", [1, 7])
def test_laplace_noise_is_calibrated_by_its_theorem_and_a_tenth_less_is_rejected(releases):
    def event_at(scale):
        return LaplaceEvent(scale, 2.0, releases)

    scale = calibrate(PURE, event_at)
    assert scale == pytest.approx(releases * 2.0 / 0.5, rel=3 * SAFETY)
    assert theorem_for(event_at(scale)).epsilon <= 0.5
    assert PURE.kept(of(event_at(scale)))
    assert not PURE.kept(of(event_at(0.9 * scale)))
    # Noise calibrated for a single sum is not enough for two.
    assert not PURE.kept(of(LaplaceEvent(calibrate(PURE, lambda s: LaplaceEvent(s, 2.0)), 2.0, 2)))


@pytest.mark.parametrize("sensitivity", [1.0, 0.3, 7 / 3])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 3.0])
def test_the_textbook_scale_of_laplace_noise_keeps_its_epsilon_despite_rounding(sensitivity, epsilon):
    assert PurePromise(epsilon).kept(of(LaplaceEvent(sensitivity / epsilon, sensitivity)))


@pytest.mark.parametrize(
    "event", [SegmentsEvent(1.0, 1.0), ShuffledReportsEvent(3.0, 1.0, 100, 1.0, 1e-6), NothingReleased()]
)
def test_only_events_of_pure_privacy_are_calibrated_to_a_pure_promise(event):
    with pytest.raises(UnknownEvent, match=rf"pure DP such as LaplaceEvent, got {type(event).__name__}.*with a delta"):
        calibrate(PURE, lambda _: event)


def test_laplace_noise_is_not_calibrated_by_mu():
    with pytest.raises(UnknownEvent, match="pure DP"):
        calibrate(ConcentratedPromise(0.1), lambda s: LaplaceEvent(s, 1.0))


# What keeps what -------------------------------------------------------------------------------------------------


def test_pure_privacy_keeps_weaker_promises_where_a_theorem_says_so():
    pure = of(LaplaceEvent(2.0, 1.0))  # ε = 0.5
    assert PurePromise(0.5).kept(pure)
    assert not PurePromise(0.49).kept(pure)
    assert Promise(0.5, 1e-9).kept(pure)
    assert not Promise(0.49, 1e-9).kept(pure)
    assert ConcentratedPromise(0.125).kept(pure)
    assert not ConcentratedPromise(0.124).kept(pure)
    assert RenyiPromise(2.0, 0.25).kept(pure)
    assert not RenyiPromise(2.0, 0.24).kept(pure)
    assert RenyiPromise(1000.0, 0.5).kept(pure)  # no order exceeds ε itself
    assert not RenyiPromise(1000.0, 0.49).kept(pure)


def test_a_curve_keeps_no_pure_promise_and_one_point_keeps_neither_rho_nor_pure():
    assert not PurePromise(100.0).kept(of(SegmentsEvent(1e9, 1.0)))
    masks = of(WishartTreeEvent(degrees=10**6, sensitivity=2.0, nodes=11, promise_epsilon=1.0, promise_delta=0.1))
    assert Promise(1.0, 0.1).kept(masks)
    for promise in (PurePromise(1e6), ConcentratedPromise(1e6), RenyiPromise(2.0, 1e6)):
        assert not promise.kept(masks)


@pytest.mark.parametrize("promise", ALL, ids=repr)
def test_no_privacy_keeps_nothing_and_nothing_released_keeps_everything(promise):
    assert not promise.kept(Guarantee.none())
    assert promise.kept(of(NothingReleased()))
    untrusted = Guarantee("none", "nothing", "none", Unit.round(), 0.0, None)
    assert not promise.kept(untrusted)


def test_randomised_response_keeps_its_own_promise():
    assert PurePromise(1.0).kept(of(RandomisedResponseEvent(1.0)))
    assert not PurePromise(1.0).kept(of(RandomisedResponseEvent(1.1)))


# Asking for one --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "promise"),
    [
        ({"rho": 0.05}, ConcentratedPromise(0.05)),
        ({"epsilon": 1, "delta": 1e-6}, Promise(1.0, 1e-6)),
        ({"alpha": 2, "epsilon": 0.1}, RenyiPromise(2.0, 0.1)),
    ],
)
def test_what_is_asked_for_is_what_is_promised(asked, promise):
    assert promise_of(**asked) == promise


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, r"Expected a promise, got none\. Give rho, or epsilon with delta, or epsilon with alpha\."),
        ({"rho": 0.1, "epsilon": 1.0}, r"Expected one promise, got rho=0\.1, epsilon=1\.0\. Give rho alone"),
        ({"rho": 0.1, "delta": 1e-6}, r"Expected one promise, got rho=0\.1, delta=1e-06\."),
        ({"rho": 0.1, "alpha": 2.0}, r"Expected one promise, got rho=0\.1, alpha=2\.0\."),
        ({"rho": 0.1, "epsilon": 1.0, "delta": 1e-6, "alpha": 2.0}, r"Expected one promise"),
        (
            {"epsilon": 0.1, "delta": 1e-6, "alpha": 32.0},
            r"got epsilon=0\.1, delta=1e-06, alpha=32\.0: a fixed order often cannot reach.*Leave alpha out",
        ),
        ({"delta": 1e-6, "alpha": 32.0}, r"got delta=1e-06, alpha=32\.0: a fixed order often cannot reach"),
        ({"epsilon": 1.0}, r"Expected delta or alpha with epsilon, got epsilon=1\.0 alone.*Add delta=1e-6"),
        ({"delta": 1e-6}, r"Expected epsilon with delta, got delta=1e-06 alone\. Add epsilon\."),
        ({"alpha": 2.0}, r"Expected epsilon with alpha, got alpha=2\.0 alone\. Add epsilon\."),
        ({"rho": 0.0}, r"Expected rho > 0, got rho=0\.0\. Without a promise use a non-private policy\."),
        ({"rho": -1.0}, r"Expected rho > 0, got rho=-1\.0\."),
        ({"rho": math.inf}, r"Expected rho to be finite, got rho=inf\."),
        ({"rho": "0.1"}, r"Expected rho to be a number, got rho='0\.1'\."),
        ({"rho": True}, r"Expected rho to be a number"),
        ({"alpha": 1.0, "epsilon": 1.0}, r"Expected alpha > 1, got alpha=1\.0\. .*to promise all of them give rho\."),
        ({"alpha": 0.5, "epsilon": 1.0}, r"Expected alpha > 1, got alpha=0\.5\."),
        ({"alpha": math.nan, "epsilon": 1.0}, r"Expected alpha to be finite"),
        ({"alpha": math.inf, "epsilon": 1.0}, r"Expected alpha to be finite"),
        ({"alpha": 2.0, "epsilon": 0.0}, r"Expected epsilon > 0, got epsilon=0\.0\."),
        ({"alpha": 3.0, "epsilon": 5e-324}, r"Expected rho = epsilon/alpha > 0"),
        ({"epsilon": -1.0, "delta": 1e-6}, r"Expected epsilon > 0, got epsilon=-1\.0\."),
        ({"epsilon": 1.0, "delta": 0.0}, r"Expected 0 < delta < 1, got delta=0\.0\."),
    ],
)
def test_what_cannot_be_promised_is_refused_with_the_reason(asked, reason):
    with pytest.raises(BadInput, match=reason):
        promise_of(**asked)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, None])
def test_pure_promises_need_an_epsilon(epsilon):
    with pytest.raises(BadInput, match="epsilon"):
        PurePromise(epsilon)


# What they say ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("promise", "text", "facts"),
    [
        (Promise(1, 1e-6), "epsilon = 1 at delta = 1e-06", {"epsilon": 1.0, "delta": 1e-6}),
        (
            RenyiPromise(2, 0.1),
            "(alpha, epsilon)-RDP = (2, 0.1), that is rho = 0.05",
            {"alpha": 2.0, "epsilon": 0.1, "rho": 0.05},
        ),
        (ConcentratedPromise(0.05), "rho = 0.05 (zCDP)", {"rho": 0.05}),
        (PurePromise(1), "epsilon = 1 at delta = 0 (pure DP)", {"epsilon": 1.0, "delta": 0.0}),
    ],
)
def test_a_promise_says_itself_in_a_phrase_and_in_json(promise, text, facts):
    assert promise.text == text
    assert promise.to_dict() == facts
    assert json.loads(json.dumps(facts, allow_nan=False)) == promise.to_dict()


@pytest.mark.parametrize("promise", ALL, ids=repr)
def test_promises_are_values(promise):
    assert isinstance(promise, AnyPromise)
    assert pickle.loads(pickle.dumps(promise)) == promise
    assert hash(pickle.loads(pickle.dumps(promise))) == hash(promise)
    name = next(iter(promise.__dataclass_fields__))
    with pytest.raises(FrozenInstanceError):
        setattr(promise, name, 1.0)


def test_a_promise_is_at_home_where_it_was():
    assert SameAsBefore is Promise


def test_gaussian_noise_and_laplace_noise_of_one_promise_cannot_be_exchanged():
    # Broken twin: Gaussian noise of the scale that a pure promise asks of Laplace noise.
    scale = calibrate(PURE, lambda s: LaplaceEvent(s, 1.0))
    assert not PURE.kept(of(GaussianEvent(scale, 1.0)))
