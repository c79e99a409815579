"""The server: a function of reports alone, which no bad report can move and no repeat can move twice."""

from __future__ import annotations

import copy
import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit._kernel import implementation, implements, kernel
from tacit.core.contract import contract_of
from tacit.core.messages import write
from tacit.core.server import Server
from tacit.core.verbs import absorb, choose, encode, release
from tacit.errors import BadInput, BadMessage, HorizonSpent, RepeatedReport, StaleReport, VaultSealed
from tacit.noise import fill_normals

from .apart import (
    DIM,
    BatchParams,
    LocalExample,
    LocalServerParams,
    ShuffleExample,
    actions,
    contents,
    reports_of,
)

CONFIG = LocalExample(dim=DIM)
SHUFFLED = ShuffleExample(dim=DIM)


# What it knows ------------------------------------------------------------------------------------------------------


def test_the_state_is_a_function_of_reports_only():
    """Devices with noise from the operating system, replaced by a recording of what they sent."""
    live, recording = CONFIG.server(), []
    for offered in actions(100):
        device = CONFIG.device()
        device.see(live.view_json())
        arm = device.choose(offered)
        recording.append(write(device.report(offered[arm], float(offered[arm, 0]))))
        live.receive(recording[-1])
    played = CONFIG.server()
    for report in recording:
        played.receive(report)
    assert contents(played) == contents(live)
    assert played.view_json() == live.view_json()
    assert live.view()["arrays"]["theta"] != CONFIG.server().view()["arrays"]["theta"]


def test_a_server_cannot_encode_nor_choose():
    """Its params are of types for which the person's verbs do not exist, and it works all the same."""
    for kind in (LocalServerParams, BatchParams):
        assert implementation(encode, kind) is None
        assert implementation(choose, kind) is None
        assert implementation(absorb, kind) is not None
    server = CONFIG.server()
    assert isinstance(server._session.params, LocalServerParams)
    server.receive(reports_of(CONFIG, 1)[0])
    assert server.stage == 1


class NoisyParams(NamedTuple):
    """Params of `NoisyServer`."""

    unused: float


@dataclass(frozen=True, kw_only=True)
class NoisyServer(LocalExample):
    """Draws noise where there must be none."""

    slug: ClassVar[str] = "example-noisy"

    def plan(self, sampler="double"):
        return replace(super().plan(sampler), server=NoisyParams(0.0))


@implements(absorb, NoisyParams)
@kernel
def _absorb(params, vault, report):
    vault.sums[0] += report[0]


@implements(release, NoisyParams)
@kernel
def _release(params, vault, view, noise):
    view.stage[0] += 1
    fill_normals(noise, view.theta)


def test_a_server_has_no_noise_and_a_failed_release_changes_nothing():
    config = NoisyServer(dim=DIM)
    server = config.server()
    before = contents(server)
    with pytest.raises(RuntimeError, match="The tape of secure noise ran out"):
        server.receive(reports_of(config, 1)[0])
    assert contents(server) == before


def test_a_view_is_public_and_always_of_the_last_report():
    server = CONFIG.server()
    assert server.view() == json.loads(server.view_json())
    for stage, report in enumerate(reports_of(CONFIG, 5), 1):
        server.receive(report)
        view = server.view()
        assert view == json.loads(server.view_json())
        assert (view["stage"], server.stage) == (stage, stage)
        assert view["arrays"].keys() == {"theta", "factor", "whiten", "width", "stage"}


def test_a_view_that_is_not_finite_is_never_published():
    server = CONFIG.server()
    server._session.view.width[0] = math.inf
    for way in (server.view, server.view_json):
        with pytest.raises(BadMessage, match="Expected a view of finite numbers, got width with others in it"):
            way()


def test_a_view_handed_out_is_a_copy():
    server = CONFIG.server()
    server.view()["arrays"]["theta"][0] = 7.0
    assert server.view()["arrays"]["theta"][0] == 0.0


# What it refuses ----------------------------------------------------------------------------------------------------


def spoiled(report):
    """Reports that must not be taken, and why."""
    values = report["values"]
    yield "another version", {**report, "version": 2}
    yield "a version that is no number", {**report, "version": "1"}
    yield "a version that is true", {**report, "version": True}
    yield "not a report", {**report, "tacit": "view"}
    for name, other in (("size", LocalExample(dim=4)), ("scale", LocalExample(dim=DIM, epsilon=9.0))):
        yield f"a contract of another {name}", {**report, "contract": other.contract()["fingerprint"]}
    yield "no contract", {key: value for key, value in report.items() if key != "contract"}
    yield "a sender", {**report, "sender": "somebody"}
    yield "no id", {key: value for key, value in report.items() if key != "id"}
    yield "a short id", {**report, "id": report["id"][:-1]}
    yield "an id in another spelling", {**report, "id": report["id"].upper().replace("0", "A")}
    yield "an id that is a number", {**report, "id": 7}
    yield "an id with a line after it", {**report, "id": report["id"] + "\n"}
    yield "a stage of the future", {**report, "stage": 4}
    yield "a stage below zero", {**report, "stage": -1}
    yield "a stage that is no number", {**report, "stage": None}
    yield "a number too few", {**report, "values": values[:-1]}
    yield "a number too many", {**report, "values": [*values, 0.0]}
    yield "no numbers", {**report, "values": None}
    yield "numbers in a list of lists", {**report, "values": [values]}
    yield "not a number", {**report, "values": [math.nan, *values[1:]]}
    yield "an infinity", {**report, "values": [*values[:-1], -math.inf]}
    yield "a number beyond the largest", {**report, "values": [*values[:-1], 1e5]}
    yield "a huge whole number", {**report, "values": [*values[:-1], 10**500]}
    yield "text for a number", {**report, "values": [*values[:-1], "0.5"]}
    yield "true for a number", {**report, "values": [*values[:-1], True]}
    yield "NaN in text", write(report).replace(str(values[0]), "NaN")
    yield "an overflow in text", write(report).replace(str(values[0]), "1e999")
    yield "a key twice", write(report)[:-1] + ',"stage":0}'
    yield "huge text", write({**report, "id": "a" * 10**6})
    yield "half a text", write(report)[:-9]
    yield "bytes of another encoding", write(report).encode("utf-16")
    yield "nothing", None


#: Enough of a report to name what can be wrong with one: a real one would be compiled for before any test runs.
OUTLINE = {"id": "0" * 32, "stage": 0, "values": [0.5, 0.25], "contract": ""}


@pytest.mark.parametrize("why", [why for why, _ in spoiled(OUTLINE)])
def test_a_bad_report_is_refused_and_the_state_untouched(why):
    server = CONFIG.server()
    *taken, last = reports_of(CONFIG, 4)
    for report in taken:
        server.receive(report)
    before, text = contents(server), server.view_json()
    with pytest.raises(BadMessage, match="Expected") as caught:
        server.receive(dict(spoiled(last))[why])
    assert "somebody" not in str(caught.value)
    assert contents(server) == before
    assert server.view_json() == text
    server.receive(last)
    assert server.stage == 4


def test_numbers_may_be_written_as_whole_ones():
    """A language with one kind of number writes 1.0 as 1."""
    server = CONFIG.server()
    server.receive({**reports_of(CONFIG, 1)[0], "values": [1, 0, -1, 1]})
    np.testing.assert_array_equal(server._session.vault.sums[:3], [1.0, 0.0, -1.0])


def test_counts_must_be_counts():
    shuffler, report = SHUFFLED.shuffler(), reports_of(SHUFFLED, 1)[0]
    for values in ([1.0, 2, 3], [-1, 2, 3], [2**60, 2, 3]):
        with pytest.raises(BadMessage, match="Expected values to be whole numbers from 0 to"):
            shuffler.add({**report, "values": values})


@pytest.mark.parametrize("memory", [0, -1, 1.5, None])
def test_a_server_needs_some_memory(memory):
    with pytest.raises(BadInput, match="memory"):
        CONFIG.server(memory=memory)


def test_the_end_of_the_plan_is_the_end_of_the_server():
    config = LocalExample(dim=DIM, horizon=3)
    server = config.server()
    *taken, last = reports_of(config, 4)
    for report in taken:
        server.receive(report)
    before = contents(server)
    with pytest.raises(HorizonSpent, match="All 3 reports are learned; start anew"):
        server.receive(last)
    assert contents(server) == before


def test_a_horizon_that_cuts_a_batch_in_two_ends_with_the_last_whole_one():
    config = ShuffleExample(dim=DIM, horizon=10)
    server, shuffler = config.server(), config.shuffler()
    for stage in range(3):
        for report in reports_of(config, 4, seed=stage + 1, stage=stage):
            shuffler.add(report)
        if stage < 2:
            server.receive_batch(shuffler.batch())
    before = contents(server)
    with pytest.raises(
        HorizonSpent, match="All 8 reports that fit into batches of 4 within a horizon of 10 are learned; start"
    ):
        server.receive_batch(shuffler.batch())
    assert contents(server) == before
    for horizon, most in ((8, 8), (11, 8), (12, 12), (None, None)):
        contract = contract_of(ShuffleExample(dim=DIM, horizon=horizon))
        assert contract.most == most
        assert most is None or (contract.spent(most // 4 - 1) is None and contract.spent(most // 4) is not None)


# Repeats ------------------------------------------------------------------------------------------------------------


def test_a_repeat_is_refused_and_the_state_untouched():
    server, reports = CONFIG.server(), reports_of(CONFIG, 3)
    for report in reports:
        server.receive(report)
    before = contents(server)
    for report in reports:
        with pytest.raises(RepeatedReport, match="the first one counted"):
            server.receive(write(report))
        with pytest.raises(RepeatedReport):  # noised anew under the same id it is no less a repeat
            server.receive({**report, "values": [0.5] * (DIM + 1)})
    assert contents(server) == before


def test_a_report_under_a_view_too_old_is_refused():
    server = CONFIG.server(memory=3)
    *taken, last = reports_of(CONFIG, 5)
    for stage, report in enumerate(taken):
        server.receive({**report, "stage": stage})
    before = contents(server)
    with pytest.raises(StaleReport, match="Expected a view of 1 reports or more, got one of 0: too old"):
        server.receive({**last, "stage": 0})
    assert contents(server) == before
    server.receive({**last, "stage": 1})


def test_memory_is_bounded():
    server = CONFIG.server(memory=10)
    report = reports_of(CONFIG, 1)[0]
    for stage in range(500):
        server.receive({**report, "id": f"{stage:032x}", "stage": stage})
    assert len(server._order) == len(server._taken) == 10


@cache
def some_report() -> dict:
    return reports_of(CONFIG, 1)[0]


#: What a network may do: a new report under a view some reports old, or any earlier report once more.
TRAFFIC = st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60)


def taken_twice(server: Server, traffic: list[tuple[bool, int]]) -> int:
    """How many reports were taken more than once."""
    sent: list[dict] = []
    taken: dict[str, int] = {}
    for fresh, number in traffic:
        if fresh or not sent:
            sent.append({**some_report(), "id": f"{len(sent):032x}", "stage": max(0, server.stage - number)})
            report = sent[-1]
        else:
            report = sent[-1 - number % len(sent)]
        try:
            server.receive(report)
        except (RepeatedReport, StaleReport):
            continue
        taken[report["id"]] = taken.get(report["id"], 0) + 1
    return sum(count > 1 for count in taken.values())


@settings(max_examples=200, deadline=None)
@given(TRAFFIC, st.integers(1, 8))
def test_no_report_is_ever_taken_twice(traffic, memory):
    assert taken_twice(CONFIG.server(memory=memory), traffic) == 0


class Forgetful(Server):
    """A broken twin: it keeps one id too few."""

    def receive(self, report):
        super().receive(report)
        if len(self._order) == self._memory:
            self._taken.remove(self._order.popleft())


def test_a_twin_that_forgets_one_id_too_many_takes_a_repeat():
    """A report taken at once, then as many others as are remembered less one, then the first again."""
    traffic = [(True, 0), (True, 0), (True, 0), (False, 2)]
    assert taken_twice(CONFIG.server(memory=3), traffic) == 0
    assert taken_twice(Forgetful(CONFIG, memory=3), traffic) == 1


def test_a_report_that_came_late_is_remembered_as_long_as_it_is_fresh():
    """The bound is met: a report whose view is `memory` reports old is taken, and its repeat is refused to the end."""
    server = CONFIG.server(memory=4)
    for number in range(4):
        server.receive({**some_report(), "id": f"{number:032x}", "stage": number})
    late = {**some_report(), "id": "f" * 32, "stage": 0}
    server.receive(late)
    with pytest.raises(StaleReport):
        server.receive(late)


def test_reports_from_many_threads_are_each_taken_once():
    server = CONFIG.server()
    reports = [{**some_report(), "id": f"{number:032x}"} for number in range(200)]

    def work(_):
        taken = 0
        for report in reports:
            try:
                server.receive(report)
                taken += 1
            except RepeatedReport:
                server.view()
        return taken

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 200
    assert server.stage == 200


# Batches ------------------------------------------------------------------------------------------------------------


def batches(config, count):
    """Full batches, one for each stage."""
    shuffler, found = config.shuffler(), []
    for stage in range(count):
        for report in reports_of(config, config.batch, seed=stage + 1, stage=stage):
            shuffler.add(report)
        found.append(shuffler.batch())
    return found


@pytest.mark.parametrize("sends", ["counts", "xy"])
def test_batches_are_learned_in_their_order_and_once(sends):
    config = ShuffleExample(dim=DIM, sends=sends)
    server = config.server()
    first, second = batches(config, 2)
    with pytest.raises(BadMessage, match="Expected a view of at most 0 batches, got one of 1"):
        server.receive_batch(second)
    server.receive_batch(first)
    assert server.stage == 1
    assert server.view()["arrays"]["stage"] == [1]
    before = contents(server)
    with pytest.raises(StaleReport, match="Expected a view of 1 batches or more, got one of 0"):
        server.receive_batch(first)
    assert contents(server) == before
    server.receive_batch(write(second))
    assert server.stage == 2


def test_totals_say_what_the_reports_would():
    """The mean of x·y, up to the rounding and the random ones of 400 people: ten standard errors."""
    config = ShuffleExample(dim=DIM, batch=400)
    (batch,) = batches(config, 1)
    server = config.server()
    server.receive_batch(batch)
    truth = np.zeros(DIM)
    for offered in actions(400, seed=1):
        x = offered[0]  # the first view is zero: all tie, and the first is chosen
        truth += x * float(x[0] > 0) / 400
    error = math.sqrt((config.ones / 4 + 1 / 4) / 400) / config.grid
    np.testing.assert_allclose(server.view()["arrays"]["mean"], truth, atol=10 * error)


def spoiled_batches(batch):
    key = "ones" if "ones" in batch else "values"
    yield "a batch too small", {**batch, "reports": 3}
    yield "a batch of yes", {**batch, "reports": True}
    yield "a number missing", {**batch, key: batch[key][:-1]}
    yield "ids", {**batch, "ids": []}
    yield "another version", {**batch, "version": 0}
    yield "another contract", {**batch, "contract": CONFIG.contract()["fingerprint"]}
    yield "text", {**batch, key: "1, 2, 3"}
    if key == "ones":
        yield "a total below zero", {**batch, key: [-1, *batch[key][1:]]}
        yield "a fraction", {**batch, key: [0.5, *batch[key][1:]]}
        yield "a total beyond all reports", {**batch, key: [10**9, *batch[key][1:]]}
        yield "whole vectors", {**{k: v for k, v in batch.items() if k != key}, "values": [batch[key]] * 4}
    else:
        yield "a bad number in the last report", {**batch, key: [*batch[key][:-1], [0.0] * DIM + [math.nan]]}
        yield "a short report", {**batch, key: [*batch[key][:-1], [0.0]]}


@pytest.mark.parametrize("sends", ["counts", "xy"])
def test_a_bad_batch_is_refused_and_the_state_untouched(sends):
    config = ShuffleExample(dim=DIM, sends=sends)
    server, (batch,) = config.server(), batches(config, 1)
    before = contents(server)
    for why, bad in spoiled_batches(batch):
        with pytest.raises(BadMessage, match="Expected"):
            server.receive_batch(bad)
        assert contents(server) == before, why
    server.receive_batch(batch)


def test_a_server_of_batches_takes_no_single_reports_and_the_other_way_round():
    with pytest.raises(BadInput, match=r"protects people only in batches of 4\. Give reports to config.shuffler"):
        SHUFFLED.server().receive(reports_of(SHUFFLED, 1)[0])
    with pytest.raises(BadInput, match=r"example-local has no shuffler\. Give reports to receive"):
        CONFIG.server().receive_batch({})


# What it is ---------------------------------------------------------------------------------------------------------


def test_a_server_says_what_the_configuration_promises():
    server = CONFIG.server()
    assert server.config == CONFIG
    assert server.guarantee == CONFIG.guarantee
    assert server.card().text() == CONFIG.card().text()
    assert repr(server).endswith("stage 0>")


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_server_cannot_be_copied_and_says_what_to_do_instead(way):
    with pytest.raises(VaultSealed, match="Keep the reports it took and feed them, in their order, to a new"):
        way(CONFIG.server())
