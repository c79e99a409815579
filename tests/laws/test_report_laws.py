"""What must hold of every policy whose people send reports: device, shuffler and server are programs of their own.

Error level: the comparison of variances is one-sided at 1e-6 (chi-square), with fixed seeds.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.core.contract import contract_of
from tacit.core.verbs import encode
from tacit.errors import BadMessage, LimitReached, RepeatedReport, TacitError
from tacit.noise import stream
from tacit.privacy.scope import Trust
from tests.offers import offered, report, row_of
from tests.statistics.checks import LEVEL

from .conftest import REPORTING, name
from .runs import slates

STEPS = 45


def take(config, server, shuffler, message) -> None:
    """A report on its way: through the shuffler, where there is one, and a full batch to the server."""
    if shuffler is None:
        server.receive(message)
        return
    shuffler.add(message)
    if shuffler.ready:
        server.receive_batch(shuffler.batch())


def programs(config):
    """A server, and a shuffler where the policy has one."""
    return config.server(), None if config.plan().report.batch is None else config.shuffler()


def live(config, steps: int, seed: int = 3) -> list[dict]:
    """What devices say in so many rounds, each new, to a server that answers with its view."""
    server, shuffler = programs(config)
    said = []
    for step, actions in enumerate(slates(steps, config.arms_of_context or 5, config.dim, seed)):
        device = config.device()
        device.see(server.view())
        arm = device.choose(offered(config, actions))
        x = actions[arm] if config.arms_of_context is None else np.append(actions[0], arm)
        message = report(device, config, x, 0.1 * (step % 7))
        said.append(json.loads(json.dumps(message)))
        take(config, server, shuffler, message)
    return [*said, server.view()]


def test_a_server_knows_what_it_was_reported_and_nothing_else(reporting_config):
    """Replace the devices by a recording: the same view, to the bit; or to the last digits, where a shuffler drew the
    order in which doubles are summed."""
    config = reporting_config
    *said, view = live(config, STEPS)
    server, shuffler = programs(config)
    for message in said:
        take(config, server, shuffler, message)
    again = server.view()
    if shuffler is None:
        assert again == view
    for field, part in view["arrays"].items():
        np.testing.assert_allclose(again["arrays"][field], part, rtol=1e-9, atol=1e-9)


def test_two_devices_with_the_same_input_draw_different_noise(reporting_config):
    x = np.full(reporting_config.dim, 0.2)
    one, other = (report(reporting_config.device(), reporting_config, x, 0.5) for _ in range(2))
    assert one["values"] != other["values"]
    assert one["id"] != other["id"]


def spoiled(message) -> dict[str, dict | str]:
    """Reports no server may learn from."""
    values = message["values"]
    return {
        "too few numbers": {**message, "values": values[:-1]},
        "too many numbers": {**message, "values": [*values, 0]},
        "another version": {**message, "version": 2},
        "another contract": {**message, "contract": "0" * 64},
        "not a number": json.dumps(message).replace(json.dumps(values[0]), "NaN", 1),
        "infinite": {**message, "values": [float("inf"), *values[1:]]},
        "words": {**message, "values": ["1", *values[1:]]},
        "the future": {**message, "stage": message["stage"] + 1},
        "no id": {key: value for key, value in message.items() if key != "id"},
        "something more": {**message, "person": "me"},
        "another kind": {**message, "tacit": "view"},
    }


def test_a_bad_report_is_refused_and_changes_nothing(reporting_config):
    config = reporting_config
    server, shuffler = programs(config)
    door = server if shuffler is None else shuffler
    good = report(config.device(), config, np.full(config.dim, 0.2), 0.5)
    before = server.view()
    for what, message in spoiled(good).items():
        with pytest.raises(BadMessage):
            (server.receive if shuffler is None else shuffler.add)(message)
        assert server.view() == before, what
    take(config, server, shuffler, good)
    after = server.view()
    with pytest.raises(TacitError) as refused:
        (server.receive if shuffler is None else shuffler.add)(good)
    if config.plan().report.batch != 1:
        assert isinstance(refused.value, RepeatedReport)
    assert server.view() == after
    assert door is not None


def test_a_device_reports_no_more_often_than_it_is_priced_for(reporting_config):
    config = reporting_config
    limits = [1, 2, 5]
    costs = []
    for limit in limits:
        device = config.device(limit=limit)
        for _ in range(limit):
            report(device, config, np.zeros(config.dim), 0.0)
        with pytest.raises(LimitReached):
            report(device, config, np.zeros(config.dim), 0.0)
        assert device.choose(offered(config, np.eye(config.dim))) >= 0
        costs.append(device.guarantee.epsilon)
    assert costs[0] < costs[1] < costs[2]


@pytest.mark.parametrize("config", [config for config in REPORTING if config.trust is Trust.LOCAL], ids=name)
def test_a_seeded_device_with_its_server_is_the_seeded_learner(config):
    """The simulator runs the same code: one process or two, the same bits. (Noise of a batch is drawn at once in one
    process and by each device in the other: where there is a shuffler the two agree in law, not in bits. That they do
    is tested with the policy.)"""
    learner, server = config.start(seed=5, sampler="secure"), config.server()
    device = config.device(limit=STEPS, seed=5)
    for actions in slates(STEPS, 5, config.dim, seed=6):
        device.see(server.view())
        arm = device.choose(actions)
        assert arm == learner.choose(actions)
        server.receive(device.report(actions[arm], 0.4))
        if config.person_rounds is None:
            learner.learn(actions[arm], 0.4)
        else:
            learner.learn(actions[arm], 0.4, person=f"{learner.diagnostics().rows}")
    arrays = server.view()["arrays"]
    assert all(np.array_equal(arrays[name], part) for name, part in learner.view._asdict().items())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 1e101])
def test_numbers_that_are_none_make_a_report_of_a_row_of_zeros(reporting_config, bad):
    """It was refused, so that the number of reports, which is public, said what was in them."""
    row = np.full(reporting_config.dim, 0.3)
    spoiled = np.where(np.arange(reporting_config.dim) == 1, bad, row)
    nothing = row if reporting_config.zero_row is None else np.zeros(reporting_config.dim)
    for x, reward, like in ((row, bad, nothing), (spoiled, 0.5, np.zeros(reporting_config.dim))):
        mine, theirs = reporting_config.device(seed=4), reporting_config.device(seed=4)
        if reporting_config.arms_of_context is None:
            expected = theirs.report(like, 0.0)
        else:  # a row of no arm: a context of zeros would still have a constant
            expected = theirs._write(reporting_config.empty_row, 0.0)
        assert report(mine, reporting_config, x, reward) == expected
        assert mine.made == 1


def test_a_device_has_the_exact_plan_that_its_card_prices(reporting_config):
    contract = contract_of(reporting_config)
    assert contract.plan.exact
    assert contract.plan.event == reporting_config.planned("secure").event
    assert reporting_config.device().guarantee.epsilon == pytest.approx(contract.guarantee(contract.limit).epsilon)


def test_what_leaves_a_device_is_a_whole_number_of_steps(reporting_config):
    """The reward, or what it is multiplied with, has noise of its own and nothing else: not a bit of it may tell what
    was rounded."""
    terms = reporting_config.contract()["report"]
    step = 1 if terms["kind"] == "counts" else terms["noise"]["step"]
    device = reporting_config.device(limit=5)
    x = np.full(reporting_config.dim, 0.2345)  # no whole number of steps of any of them
    rewards = (0.1, 0.2, 0.3, 0.4, 0.6)
    values = np.array([report(device, reporting_config, x, reward)["values"] for reward in rewards])
    steps = values[:, reporting_config.dim if terms["kind"] == "xy" else -1] / step
    assert np.abs(steps - np.rint(steps)).max() < 1e-3


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_comes_a_report_moves_by_at_most_its_declared_sensitivity(data):
    """Two inputs under the same noise: the reports differ by the inputs alone. Counts are rounded to whole steps, which
    may move each by one more."""
    config = data.draw(st.sampled_from(REPORTING))
    numbers = st.floats(min_value=-1e100, max_value=1e100)
    plan = config.plan()
    size = plan.report.size
    reports = []
    for _ in range(2):
        x = np.array(data.draw(st.lists(numbers, min_size=config.dim, max_size=config.dim)))
        made = np.zeros(plan.report_size)
        if config.arms_of_context is not None:
            x = np.append(x, data.draw(st.integers(-1, config.arms_of_context)))
        encode(plan.params, plan.view(), x, data.draw(numbers), made, stream(1))
        reports.append(made[:size].copy())
    slack = np.sqrt(size) if plan.report.kind == "counts" else 0.0
    moved = np.linalg.norm(reports[0] - reports[1])
    assert moved <= plan.event.sensitivity * (1 + 1e-9) + slack + 1e-9


@pytest.mark.parametrize("config", [config for config in REPORTING if hasattr(config.plan().event, "scale")], ids=name)
def test_every_reported_number_that_is_private_has_the_calibrated_noise(config):
    """The deviation of each number over many reports is at least the event's; a device may add to it, never take.

    (Counts are hidden by those of a batch together, not by one report: tests/mechanisms/test_shuffle.py.)
    """
    plan = config.plan()
    params = plan.params if plan.device is None else plan.device
    runs, noise, x = 2000, stream(7), np.full(config.dim, 0.1)
    view, reports = plan.view(), np.zeros((2000, plan.report_size))
    for run in range(runs):
        encode(params, view, row_of(config, view, x), 0.1, reports[run], noise)
    spread = reports[:, : plan.report.size].var(axis=0, ddof=1)
    private = spread[spread > 0]
    public = plan.report.size - len(private)
    constants = len(config.constants)
    assert public <= (constants * (constants + 1) // 2 if plan.report.kind == "gram" else constants) + 1
    least = stats.chi2.ppf(LEVEL, runs - 1) / (runs - 1) * plan.event.scale**2
    assert private.min() > least
    assert private.min() < 1.3 * plan.event.scale**2, "and the test sees the noise, not the data"
