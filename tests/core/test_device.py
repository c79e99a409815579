"""The device: noise of its own, a limit it counts itself, and a view that cannot touch either.

Error level: checks of noise from the operating system reject a right law once in 10⁹ (tests/statistics).
"""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import tacit
from tacit._kernel import implements, kernel
from tacit.core.learner import Learner
from tacit.core.messages import write
from tacit.core.verbs import choose, encode
from tacit.errors import BadInput, BadMessage, LimitReached, VaultSealed
from tests import offers
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

from .apart import DIM, LocalExample, ShuffleExample, actions, reports_of
from .worlds import LIVE, name_of

CONFIG = LocalExample(dim=DIM)
X, Y = np.array([0.3, -0.2, 0.1]), 0.5


# What leaves --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config", [CONFIG, LocalExample(dim=DIM, sends="gram"), ShuffleExample(dim=DIM, sends="xy")], ids=repr
)
def test_two_devices_with_the_same_input_draw_different_noise(config):
    one, two = (np.array(config.device().report(X, Y)["values"]) for _ in range(2))
    assert np.all(one != two)


def test_one_device_draws_different_noise_for_each_report():
    device = CONFIG.device(limit=300)  # the tape is laid out several times
    values = np.array([device.report(X, Y)["values"] for _ in range(300)])
    assert len(np.unique(values)) == values.size


def test_ids_are_random_and_say_nothing():
    ids = [CONFIG.device().report(X, Y)["id"] for _ in range(50)]
    assert len(set(ids)) == 50
    bits = np.unpackbits(np.frombuffer(bytes.fromhex("".join(ids)), np.uint8))
    assert checks.share(bits.sum(), bits.size, 0.5) > UNSEEDED_LEVEL


@pytest.mark.parametrize("reward", [1.0, -1.0, 0.0])
def test_no_digit_of_an_id_follows_what_is_reported(reward):
    """40 ids: four digits or fewer at one of 32 places would come by chance less than once in 10¹⁸ times."""
    device = CONFIG.device(limit=40)
    ids = [device.report(X, reward)["id"] for _ in range(40)]
    assert all(len(set(digits)) > 4 for digits in zip(*ids, strict=True))


def noise(count: int) -> np.ndarray:
    """What is left of reports when the truth is taken off."""
    device = CONFIG.device(limit=count)
    return np.array([device.report(X, Y)["values"] for _ in range(count)]) - np.append(X, Y)


def test_the_noise_of_a_report_has_the_law_of_the_contract():
    scale, found = CONFIG.contract()["report"]["noise"]["scale"], noise(2000)
    assert checks.law(found / scale, checks.normal) > UNSEEDED_LEVEL
    assert checks.scale(found, scale) > UNSEEDED_LEVEL
    assert checks.covariance(found, scale**2 * np.eye(DIM + 1)) > UNSEEDED_LEVEL


def test_the_check_rejects_noise_a_tenth_too_small():
    """8,000 numbers: such noise is twelve standard errors away, and passes less than once in 10¹² times."""
    scale, found = CONFIG.contract()["report"]["noise"]["scale"], noise(2000)
    assert checks.scale(0.9 * found, scale) < UNSEEDED_LEVEL


def test_what_lies_outside_the_bounds_is_clipped_before_it_is_noised():
    """The same seed, so the same noise: the difference is what the device made of the input."""
    inside = np.array(CONFIG.device(seed=1).report([0.6, 0.8, 0.0], 1.0)["values"])
    outside = np.array(CONFIG.device(seed=1).report([6e90, 8e90, 0.0], 7e99)["values"])
    np.testing.assert_allclose(inside, outside)


def test_public_constants_are_sent_as_declared_whatever_came():
    config = LocalExample(dim=DIM, constants=(0.5,))
    assert config.device().report([0.1, 0.2, 0.9], 0.3)["values"][2] == 0.5


def test_counts_are_whole_numbers():
    values = ShuffleExample(dim=DIM).device().report(X, Y)["values"]
    assert all(type(value) is int and value >= 0 for value in values)


def under_two_views(config) -> list[list[float]]:
    """The report of one seed under the first view, and under one that has been tampered with in every number."""
    honest, hostile = config.device(seed=1), config.device(seed=1)
    view = config.server().view()
    for name, array in view["arrays"].items():
        view["arrays"][name] = [2**53] if name == "stage" else np.full_like(array, 1e100).tolist()
    hostile.see(view)
    hostile.choose(np.eye(DIM))
    return [device.report(X, Y)["values"] for device in (honest, hostile)]


@pytest.mark.parametrize("sends", ["xy", "gram"])
def test_no_view_a_server_may_write_changes_the_noise(sends):
    honest, hostile = under_two_views(LocalExample(dim=DIM, sends=sends))
    assert honest == hostile


def test_a_twin_that_listens_to_the_view_is_noticed():
    honest, hostile = under_two_views(Echo(dim=DIM))
    assert honest != hostile


# The limit ----------------------------------------------------------------------------------------------------------


def test_every_user_is_new_unless_told_otherwise():
    device = CONFIG.device()
    assert device.limit == 1
    device.report(X, Y)
    with pytest.raises(LimitReached, match="at most 1 reports of this device, which are made"):
        device.report(X, Y)
    assert device.made == 1
    assert device.choose(np.eye(DIM)) in range(DIM)


@pytest.mark.parametrize(("config", "limit"), [(LocalExample(dim=DIM, person_rounds=4), None), (CONFIG, 4)])
def test_a_device_makes_as_many_reports_as_it_is_priced_for(config, limit):
    device = config.device(limit=limit)
    for made in range(4):
        assert device.made == made
        device.report(X, Y)
    for _ in range(3):
        with pytest.raises(LimitReached):
            device.report(X, Y)
    assert device.guarantee.unit.rounds == 4


def test_the_count_goes_on_after_a_restart():
    first = CONFIG.device(limit=3)
    first.report(X, Y)
    first.report(X, Y)
    second = CONFIG.device(limit=3, made=first.made)
    second.report(X, Y)
    with pytest.raises(LimitReached):
        second.report(X, Y)


@pytest.mark.parametrize(
    ("x", "reward"),
    [([1.0, 2.0], 0.5), (X, "0.5"), (X, None), ("abc", 1.0)],
)
def test_a_refused_input_is_neither_counted_nor_shown(x, reward):
    device = CONFIG.device()
    with pytest.raises(BadInput) as caught:
        device.report(x, reward)
    assert "0.2" not in str(caught.value)
    assert device.made == 0
    device.report(X, Y)


def test_threads_together_never_go_beyond_the_limit():
    device = CONFIG.device(limit=200)

    def work(_):
        made = []
        for _ in range(100):
            try:
                made.append(device.report(X, Y))
            except LimitReached:
                device.choose(np.eye(DIM))
        return made

    with ThreadPoolExecutor(8) as pool:
        reports = [report for made in pool.map(work, range(8)) for report in made]
    assert len(reports) == len({report["id"] for report in reports}) == 200
    assert len(np.unique([report["values"] for report in reports])) == 200 * (DIM + 1)


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": 1.5}, {"made": -1}, {"seed": -1}, {"limit": True}])
def test_bad_options_are_refused(options):
    with pytest.raises(BadInput, match=next(iter(options))):
        CONFIG.device(**options)


# The price ----------------------------------------------------------------------------------------------------------


def test_the_guarantee_prices_all_reports_of_the_device():
    one = CONFIG.device().guarantee
    assert one.mu == CONFIG.guarantee.mu
    for limit in (2, 9, 100):
        guarantee = CONFIG.device(limit=limit).guarantee
        assert guarantee.mu == pytest.approx(math.sqrt(limit) * one.mu)
        assert guarantee.unit.rounds == limit
        assert guarantee.epsilon > one.epsilon


def test_a_configuration_for_persons_is_priced_once():
    """`person_rounds` is in the noise already: as many reports cost what was promised, not more."""
    config = LocalExample(dim=DIM, person_rounds=6)
    assert config.device().guarantee == config.guarantee
    assert config.guarantee.epsilon <= config.epsilon
    assert config.device(limit=7).guarantee.epsilon > config.epsilon


def test_the_card_says_when_a_limit_is_beyond_the_promise():
    assert "NOT kept" not in CONFIG.device().card().text()
    text = CONFIG.device(limit=4).card().text()
    assert "The claim is NOT kept" in text
    assert "a person sends 4 reports" in text
    assert "one person with at most 4 rounds" in text


def test_a_seeded_device_says_so():
    assert CONFIG.device(seed=1).guarantee.seeded
    assert not CONFIG.device().guarantee.seeded
    assert CONFIG.device(seed=1).card().guarantee.seeded


def test_a_device_without_noise_promises_nothing():
    config = Exact(dim=DIM)
    assert not config.device(limit=3).guarantee.private
    assert "No privacy is promised" in config.device().card().text()


# The view -----------------------------------------------------------------------------------------------------------


def served(reports: int):
    """A server that has learned."""
    server = CONFIG.server()
    for report in reports_of(CONFIG, reports):
        server.receive(report)
    return server


def test_a_device_chooses_by_the_view_it_has_seen():
    server = served(60)
    learner = CONFIG.start(seed=1)
    learner._session.view = server._session.view
    device = CONFIG.device()
    before = [device.choose(offered) for offered in actions(40)]
    device.see(server.view_json())
    after = [device.choose(offered) for offered in actions(40)]
    assert after == [learner.choose(offered) for offered in actions(40)]
    assert after != before


def test_a_view_arrives_with_every_bit():
    server, device = served(10), CONFIG.device()
    device.see(server.view_json())
    for mine, theirs in zip(device._session.view, server._session.view, strict=True):
        assert (mine.dtype, mine.tobytes()) == (theirs.dtype, theirs.tobytes())
        assert mine.flags.carray


def spoiled(view):
    """Views that must not be taken, and why."""
    arrays = view["arrays"]

    def changed(**parts):
        return {**view, "arrays": {**arrays, **parts}}

    yield "another version", {**view, "version": 2}
    yield "not a view", {**view, "tacit": "report"}
    yield "another contract", {**view, "contract": "0" * 64}
    yield "no fingerprint", {**view, "contract": 7}
    yield "another policy", {**view, "policy": "joint-linucb"}
    yield "a key too many", {**view, "scale": 0.0}
    yield "a key too few", {key: value for key, value in view.items() if key != "stage"}
    yield "a stage below zero", {**view, "stage": -1}
    yield "a stage that is no number", {**view, "stage": "1"}
    yield "a stage that is no whole number", {**view, "stage": 1.0}
    yield "an array too many", changed(noise=[0.0])
    yield "an array too few", {**view, "arrays": {"theta": arrays["theta"]}}
    yield "no arrays", {**view, "arrays": []}
    yield "a vector too short", changed(theta=arrays["theta"][:-1])
    yield "a matrix too long", changed(whiten=[*arrays["whiten"], arrays["whiten"][0]])
    yield "a ragged matrix", changed(whiten=[[1.0], *arrays["whiten"][1:]])
    yield "a vector for a matrix", changed(whiten=arrays["theta"])
    yield "text for a number", changed(width=["1.0"])
    yield "null for a number", changed(width=[None])
    yield "true for a number", changed(width=[True])
    yield "an infinity", changed(width=[math.inf])
    yield "not a number", changed(theta=[0.0, math.nan, 0.0])
    yield "too large a number", changed(width=[1e101])
    yield "a huge whole number", changed(width=[10**400])
    yield "a fraction for a whole number", changed(stage=[0.5])
    yield "an array of numpy", changed(theta=np.zeros(3))


@pytest.mark.parametrize("why", [why for why, _ in spoiled(CONFIG.server().view())])
def test_a_bad_view_is_refused_and_the_device_keeps_the_one_it_has(why):
    server, device = served(5), CONFIG.device()
    device.see(server.view())
    before = [part.tobytes() for part in device._session.view]
    with pytest.raises(BadMessage, match="Expected"):
        device.see(dict(spoiled(server.view()))[why])
    assert [part.tobytes() for part in device._session.view] == before
    assert device.report(X, Y)["stage"] == 5


def test_a_report_names_the_newest_view_the_device_has_seen():
    server, device = served(7), CONFIG.device(limit=3)
    assert device.report(X, Y)["stage"] == 0
    device.see(server.view())
    assert device.report(X, Y)["stage"] == 7


class EchoParams(NamedTuple):
    """Params of `Echo`."""

    unused: float


@dataclass(frozen=True, kw_only=True)
class Echo(LocalExample):
    """Reports nothing but the width of the view it is made under."""

    slug: ClassVar[str] = "example-echo"

    def plan(self, sampler="double"):
        return replace(super().plan(sampler), params=EchoParams(0.0))


@implements(choose, EchoParams)
@kernel
def _choose(params, view, slate, noise):
    return 0


@implements(encode, EchoParams)
@kernel
def _encode(params, view, x, reward, report, noise):
    for i in range(report.shape[0]):
        report[i] = view.width[0] * view.width[0]


def test_a_report_is_made_under_the_view_that_chose():
    """A server that gives an action's reward to whatever view came in between would learn the wrong thing."""
    config = Echo(dim=DIM)
    device, view = config.device(limit=5), config.server().view()

    def show(width):
        view["arrays"]["width"] = [width]
        device.see(view)

    show(2.0)
    assert device.report(X, Y)["values"][0] == 4.0  # nothing chosen yet: the newest view
    device.choose(np.eye(DIM))
    show(3.0)
    assert device.report(X, Y)["values"][0] == 4.0
    with pytest.raises(BadInput):
        device.choose(np.full((2, DIM), np.nan))  # did not choose
    assert device.report(X, Y)["values"][0] == 4.0
    device.choose(np.eye(DIM))
    assert device.report(X, Y)["values"][0] == 9.0


def test_a_report_that_a_view_makes_infinite_stays_on_the_device():
    config = Echo(dim=DIM)
    device, view = config.device(), config.server().view()
    view["arrays"]["width"] = [1e100]
    device.see(view)
    assert math.isfinite(device.report(X, Y)["values"][0])
    device = Overflow(dim=DIM).device()
    with pytest.raises(BadInput, match="Nothing leaves the device; see another view"):
        device.report(X, Y)
    assert device.made == 0


class OverflowParams(NamedTuple):
    """Params of `Overflow`."""

    unused: float


@dataclass(frozen=True, kw_only=True)
class Overflow(LocalExample):
    """Reports an infinity."""

    slug: ClassVar[str] = "example-overflow"

    def plan(self, sampler="double"):
        return replace(super().plan(sampler), params=OverflowParams(0.0))


@implements(encode, OverflowParams)
@kernel
def _encode_overflow(params, view, x, reward, report, noise):
    for i in range(report.shape[0]):
        report[i] = np.inf


@dataclass(frozen=True, kw_only=True)
class Exact(LocalExample):
    """Promises nothing."""

    slug: ClassVar[str] = "example-exact"
    promise: ClassVar[None] = None  # type: ignore[assignment]

    def plan(self, sampler="double"):
        return replace(
            LocalExample(dim=self.dim).plan(sampler),
            event=tacit.LinUCB(dim=3).plan().event,
            guarantee=tacit.Guarantee.none(),
        )


# One text -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sends", ["xy", "gram"])
def test_device_and_server_apart_give_the_bits_of_a_learner(sends):
    """Through JSON, both ways: the same arms, the same view."""
    config = LocalExample(dim=DIM, sends=sends)
    learner: Learner = config.start(seed=5, sampler="secure")
    device, server = config.device(limit=200, seed=5), config.server()
    for offered in actions(200):
        device.see(server.view_json())
        arm = device.choose(offered)
        assert arm == learner.choose(offered)
        reward = float(offered[arm, 0])
        server.receive(write(device.report(offered[arm], reward)))
        learner.learn(offered[arm], reward)
    for mine, theirs in zip(server._session.view, learner.view, strict=True):
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("config", [config for config in LIVE if config.plan().report is not None], ids=name_of)
def test_noise_laid_out_for_a_report_is_enough_for_it(config):
    """A tape that has on it what the plan announces, and nothing more, when the report is made."""
    device, draws = config.device(limit=20), config.plan().draws
    tape = device._session.noise
    for _ in range(20):
        tape.at[:] = len(tape.normals) - draws.learn_normals, len(tape.uniforms) - draws.learn_uniforms
        tape.normals[len(tape.normals) - draws.learn_normals :] = 0.3
        tape.uniforms[len(tape.uniforms) - draws.learn_uniforms :] = 0.3
        offers.report(device, config, np.full(config.dim, 0.3), 0.5)


@pytest.mark.parametrize("offered", [np.ones(3), np.ones((2, 4)), np.ones((0, 3)), "abc", np.full((2, 3), np.nan)])
def test_bad_actions_are_refused(offered):
    with pytest.raises(BadInput, match="actions"):
        CONFIG.device().choose(offered)


def test_any_number_of_actions_may_be_on_offer():
    device = CONFIG.device()
    for arms in (1, 7, 3, 50):
        assert 0 <= device.choose(np.ones((arms, DIM)) / 2) < arms


# What stays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_device_cannot_be_copied(way):
    with pytest.raises(VaultSealed, match="a copy would make the same reports over again, uncounted"):
        way(CONFIG.device())


def test_printing_a_device_shows_nothing_of_its_person():
    device = CONFIG.device(limit=2)
    before = repr(device)
    device.choose(actions(1)[0])
    device.report([0.123456, 0.2, 0.3], 0.987654)
    assert repr(device) == before
    assert "at most 2 reports" in before


def test_a_contract_handed_out_is_a_copy():
    device = CONFIG.device()
    device.contract["report"]["noise"]["scale"] = 0.0
    assert device.contract == CONFIG.contract()
    assert device.contract["report"]["noise"]["scale"] > 1
