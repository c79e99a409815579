"""Devices, a shuffler and the service, end to end: what the service knows is what a plain server would know."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import httpx
import numpy as np
import pytest
import uvicorn

import tacit
from tacit.client import device as device_module
from tacit.client.clients import AsyncClient
from tacit.core.sealed_reports import SealedShuffler, seal_report
from tacit.errors import HorizonSpent
from tacit.service import reporting
from tacit.service.opening import open_store
from tacit.shuffling.app import App
from tacit.shuffling.mixing import Mixing
from tests.service.serving import PATIENCE, digest, refused, serving, until

DIM, BATCH = 2, 4
LOCAL = tacit.LocalLinUCB(dim=DIM, epsilon=4.0, delta=1e-6, horizon=12)
MIXED = tacit.ShuffleLinUCB(dim=DIM, epsilon=10.0, delta=0.1, horizon=1000, batch=BATCH)
OFFERED = np.random.default_rng(3).uniform(-0.6, 0.6, (40, 5, DIM))


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("store") / "tacit.db") as found:
        yield found


@contextmanager
def deployed(service, name, config):
    with tacit.Client(service.url, timeout=60.0) as client:
        client.create(name, config)
    yield f"/v1/deployments/{name}"
    assert service.ask("DELETE", f"/v1/deployments/{name}?confirm={name}").status_code == 204


class Heard(httpx.HTTPTransport):
    """The way to the service, and everything that a device has posted on it."""

    def __init__(self):
        super().__init__()
        self.posted = []

    def handle_request(self, request):
        if request.method == "POST":
            self.posted.append(request.content)
        return super().handle_request(request)


def report_of(service, name, config, person, **options):
    """A new person's device chooses, and reports; what it has sent."""
    heard = Heard()
    with tacit.DeviceClient(config, service.url, name, transport=heard, **options) as device:
        offered = OFFERED[person]
        device.report(offered[device.choose(offered)], float(np.sin(person)))
    (content,) = heard.posted
    return content


def same_as(service, path, plain):
    assert service.http.get(f"{path}/view").json() == json.loads(plain.view_json())
    found = service.engine.deployments[path.split("/")[-1]].server
    for ours, theirs in zip(
        (*found._session.vault, *found._session.view), (*plain._session.vault, *plain._session.view), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_reports_make_the_same_server_as_in_one_process_also_across_a_restart(service):
    plain = LOCAL.server()
    with deployed(service, "phones", LOCAL) as path:
        assert service.http.get(f"{path}/contract").json() == {"contract": LOCAL.contract(), "sealing_key": None}
        shown = service.show("phones")
        assert (shown["takes"], shown["trust"], shown["sampler"]) == ("reports", "local", "none")
        sent = []
        for person in range(12):
            sent.append(report_of(service, "phones", LOCAL, person))
            plain.receive(sent[-1])
            same_as(service, path, plain)
            if person % 5 == 4:
                before = digest(service, "phones")
                service.restart()
                assert digest(service, "phones") == before
        # Every report has counted, and none counts again: not the first, and not the last, after which all is spent.
        for content in sent:
            answer = service.http.post(f"{path}/reports", content=content, headers={"Content-Type": "application/json"})
            refused(answer, 409, "repeated_report")
        late = LOCAL.device()
        late.see(service.http.get(f"{path}/view").json())
        refused(service.ask("POST", f"{path}/reports", late.report(OFFERED[0][0], 0.5)), 409, "horizon_spent")
        with tacit.DeviceClient(LOCAL, service.url, "phones") as device:
            device.choose(OFFERED[12])
            with pytest.raises(HorizonSpent, match="Nothing was reported or counted"):
                device.report(OFFERED[12][0], 0.5)
            assert (device.made, device.unsent) == (0, 0)
        same_as(service, path, plain)
        shown = service.show("phones")
        assert (shown["decisions"], shown["learning"], shown["rounds_left"]) == (12, False, 0)


def test_a_lost_answer_costs_nothing(service):
    """A device that hears nothing sends its report again, and takes the refusal of the repeat for an answer."""

    class Deaf(Heard):
        def handle_request(self, request):
            answer = super().handle_request(request)
            if len(self.posted) == 1 and request.method == "POST":
                answer.close()
                raise httpx.ReadError("lost")
            return answer

    with deployed(service, "deaf", LOCAL), tacit.DeviceClient(LOCAL, service.url, "deaf", transport=Deaf()) as device:
        device.report(OFFERED[0][0], 0.5)
        assert device.unsent == 0
        assert service.show("deaf")["decisions"] == 1


def test_stale_and_future_reports_are_refused_and_memory_is_bounded(service, monkeypatch):
    monkeypatch.setattr(reporting, "MEMORY", 3)
    with deployed(service, "old", LOCAL) as path:
        view = service.http.get(f"{path}/view").json()
        early, late = LOCAL.device(), LOCAL.device()
        early.see(view)
        for person in range(4):
            report_of(service, "old", LOCAL, person)
        refused(service.ask("POST", f"{path}/reports", early.report(OFFERED[0][0], 0.5)), 409, "stale_report")
        late.see(service.http.get(f"{path}/view").json())
        message = late.report(OFFERED[0][0], 0.5)
        refused(service.ask("POST", f"{path}/reports", {**message, "stage": 5}), 400, "bad_message")
        refused(service.ask("POST", f"{path}/reports", {**message, "contract": "0" * 64}), 400, "bad_message")
        refused(service.ask("POST", f"{path}/reports", {**message, "values": [0.0]}), 400, "bad_message")
        service.ask("POST", f"{path}/pause")
        refused(service.ask("POST", f"{path}/reports", message), 409, "paused")
        service.ask("POST", f"{path}/resume")
        assert service.ask("POST", f"{path}/reports", message).json() == {"stage": 5}
        refused(service.ask("POST", f"{path}/batches", message), 400, "bad_input")


def test_a_device_of_another_contract_sends_nothing(service):
    other = tacit.LocalLinUCB(dim=DIM, epsilon=8.0, delta=1e-6, horizon=12)
    with deployed(service, "ours", LOCAL), tacit.DeviceClient(other, service.url, "ours") as device:
        with pytest.raises(tacit.errors.BadMessage, match="contract"):
            device.report(OFFERED[0][0], 0.5)
        assert service.show("ours")["decisions"] == 0


@contextmanager
def shuffling(service, name, config=MIXED):
    """`tacit shuffle` in a thread; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    running = {}

    async def run():
        mixing = Mixing(config, AsyncClient(service.url, retries=0), name)
        options = {"log_config": None, "access_log": False, "ws": "none", "lifespan": "on"}
        running["server"] = uvicorn.Server(uvicorn.Config(App(mixing), **options))
        await running["server"].serve(sockets=[listener])

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        until(lambda: "server" in running and running["server"].started)
        until(lambda: httpx.get(f"{url}/health").status_code == 200)
        yield url
    finally:
        running["server"].should_exit = True
        thread.join(PATIENCE)
        listener.close()
        assert not thread.is_alive()


def test_sealed_batches_make_the_same_server_as_in_one_process_also_across_a_restart(service, monkeypatch):
    made = []

    def sealed(contract, message, key, **options):
        made.append(message)  # as the device wrote it, before anybody could read it
        return seal_report(contract, message, key, **options)

    monkeypatch.setattr(device_module, "seal_report", sealed)
    plain, shuffler = MIXED.server(), MIXED.shuffler()
    with deployed(service, "mixed", MIXED) as path:
        told = service.http.get(f"{path}/contract").json()
        assert told["contract"] == MIXED.contract()
        assert service.show("mixed")["takes"] == "batches"
        for part in range(2):
            with shuffling(service, "mixed") as url:
                for person in range(part * 2 * BATCH, (part + 1) * 2 * BATCH):
                    stage = plain.stage
                    report_of(service, "mixed", MIXED, person, shuffler=url, sealing_key=told["sealing_key"])
                    shuffler.add(made[-1])
                    if shuffler.ready:
                        plain.receive_batch(shuffler.batch())
                        until(lambda: service.http.get(f"{path}/view").json()["stage"] == plain.stage)
                        until(lambda: httpx.get(f"{url}/health").json()["stage"] == plain.stage)
                    same_as(service, path, plain)
                    assert plain.stage == stage + (person % BATCH == BATCH - 1)
            before = digest(service, "mixed")
            service.restart()
            assert digest(service, "mixed") == before
            assert service.http.get(f"{path}/contract").json() == told
        assert len(made) == 4 * BATCH
        kinds = [one["entry"]["kind"] for one in service.http.get(f"{path}/ledger").json()["entries"]]
        assert kinds == ["charged", *["batch"] * 4]


def test_the_service_takes_sealed_batches_and_nothing_less(service):
    with deployed(service, "strict", MIXED) as path:
        told = service.http.get(f"{path}/contract").json()
        view = service.http.get(f"{path}/view").json()
        shuffler, open_shuffler = SealedShuffler(MIXED), MIXED.shuffler()
        for person in range(BATCH):
            device = MIXED.device()
            device.see(view)
            report = device.report(OFFERED[person][0], 0.5)
            open_shuffler.add(report)
            sealed = seal_report(MIXED, report, told["sealing_key"])
            shuffler.add(sealed)
            refused(service.ask("POST", f"{path}/reports", report), 400, "bad_input")
            refused(service.ask("POST", f"{path}/reports", sealed), 400, "bad_input")
            refused(service.ask("POST", f"{path}/batches", sealed), 400, "bad_message")
        refused(service.ask("POST", f"{path}/batches", open_shuffler.batch()), 400, "bad_message")
        batch = shuffler.batch()
        few = {**batch, "reports": BATCH - 1, "sealed": batch["sealed"][1:]}
        refused(service.ask("POST", f"{path}/batches", few), 400, "bad_message")
        twice = {**batch, "sealed": [batch["sealed"][0]] * BATCH}
        refused(service.ask("POST", f"{path}/batches", twice), 409, "repeated_report")
        assert service.http.get(f"{path}/view").json() == view
        assert service.ask("POST", f"{path}/batches", batch).json() == {"stage": 1}
        refused(service.ask("POST", f"{path}/batches", batch), 409, "stale_report")
        assert service.show("strict")["decisions"] == 1


def test_learning_ends_with_the_last_batch_that_fits_and_nobody_reports_for_nothing(service):
    """A horizon of ten reports has two batches of four: the two that are left over are never learned."""
    config = tacit.ShuffleLinUCB(dim=DIM, epsilon=10.0, delta=0.1, horizon=10, batch=BATCH)
    with deployed(service, "short", config) as path, shuffling(service, "short", config) as url:
        shown = service.show("short")
        assert (shown["learning"], shown["rounds_left"], shown["why_not"]) == (True, 8, None)
        for person in range(2 * BATCH):
            report_of(service, "short", config, person, shuffler=url)
            if person % BATCH == BATCH - 1:
                until(lambda: service.show("short")["decisions"] == (person + 1) // BATCH)  # noqa: B023
        until(lambda: httpx.get(f"{url}/health").status_code == 503)
        told = httpx.get(f"{url}/health").json()
        assert (told["ready"], told["stage"]) == (False, 2)
        assert "All 8 reports" in told["why_not"]
        shown = service.show("short")
        assert (shown["learning"], shown["rounds_left"], shown["decisions"]) == (False, 0, 2)
        assert "All 8 reports that fit into batches of 4 within a horizon of 10 are learned" in shown["why_not"]
        metrics = service.http.get("/metrics").text
        assert 'tacit_learning{deployment="short"} 0.0' in metrics
        assert 'tacit_rounds_left{deployment="short"} 0.0' in metrics
        # The shuffler takes nothing, the service neither, and a device makes nothing.
        key, late = service.http.get(f"{path}/contract").json()["sealing_key"], SealedShuffler(config, stage=2)
        for person in range(BATCH):
            device = config.device()
            device.see(service.http.get(f"{path}/view").json())
            sealed = seal_report(config, device.report(OFFERED[person][0], 0.5), key)
            refused(httpx.post(f"{url}/v1/reports", json=sealed), 409, "horizon_spent")
            late.add(sealed)
        answer = service.ask("POST", f"{path}/batches", late.batch())
        refused(answer, 409, "horizon_spent")
        assert "All 8 reports" in answer.json()["error"]["message"]
        with tacit.DeviceClient(config, service.url, "short", shuffler=url) as device:
            with pytest.raises(HorizonSpent, match="All 8 reports"):
                device.report(OFFERED[0][0], 0.5)
            assert device.made == 0


def test_what_was_sent_is_not_repeated_in_the_words_of_a_refusal(service):
    with deployed(service, "discreet", LOCAL) as path:
        device = LOCAL.device()
        device.see(service.http.get(f"{path}/view").json())
        message = device.report(OFFERED[0][0], 0.5)
        theirs = "7" * 64
        for changes in ({"stage": 777_777}, {"version": 777}, {"contract": theirs}, {"id": "7" * 32, "stage": 777}):
            answer = service.ask("POST", f"{path}/reports", {**message, **changes})
            assert "777" not in refused(answer, 400, "bad_message")


def test_a_report_whose_answers_were_lost_has_arrived_and_may_be_sent_again(service):
    class Deaf(Heard):
        lost = True

        def handle_request(self, request):
            answer = super().handle_request(request)
            if self.lost and request.method == "POST":
                answer.read()
                answer.close()
                raise httpx.ReadTimeout("lost")
            return answer

    deaf = Deaf()
    with (
        deployed(service, "again", LOCAL),
        tacit.DeviceClient(LOCAL, service.url, "again", transport=deaf, retries=0, limit=10) as device,
    ):
        for _ in range(3):
            with pytest.raises(tacit.errors.ServiceUnavailable):
                device.report(OFFERED[0][0], 0.5)
        assert (device.made, device.unsent, service.show("again")["decisions"]) == (3, 3, 3)
        deaf.lost = False
        assert device.send_again() == 3
        assert (device.unsent, service.show("again")["decisions"]) == (0, 3)


def test_a_device_reports_to_the_batch_that_is_being_filled(service):
    """It chose while another one was: its only report would be refused as stale."""
    with (
        deployed(service, "late", MIXED) as path,
        shuffling(service, "late") as url,
        tacit.DeviceClient(MIXED, service.url, "late", shuffler=url) as device,
    ):
        chosen = OFFERED[0][device.choose(OFFERED[0])]
        for person in range(BATCH):
            report_of(service, "late", MIXED, person, shuffler=url)
        until(lambda: service.http.get(f"{path}/view").json()["stage"] == 1)
        until(lambda: httpx.get(f"{url}/health").json()["stage"] == 1)
        device.report(chosen, 0.5)
        assert (device.made, device.unsent) == (1, 0)


def test_devices_whose_arms_share_a_context_report_over_the_wire(service):
    config = tacit.ShuffleLinUCB(arms=3, dim=DIM, epsilon=10.0, delta=0.1, horizon=1000, batch=BATCH)
    with deployed(service, "arms", config) as path, shuffling(service, "arms", config) as url:
        for person in range(BATCH):
            context = OFFERED[person][0]
            with tacit.DeviceClient(config, service.url, "arms", shuffler=url) as device:
                arm = device.choose(context, [0, 2])
                assert arm in (0, 2)
                device.report(context, arm, 1.0)
        until(lambda: service.http.get(f"{path}/view").json()["stage"] == 1)


def test_batches_that_share_a_transaction_have_an_entry_each(service):
    with deployed(service, "three", MIXED) as path:
        key, view = service.http.get(f"{path}/contract").json()["sealing_key"], service.http.get(f"{path}/view").json()
        found, batches = service.engine.deployments["three"], []
        device = MIXED.device(limit=100)
        device.see(view)
        for stage in range(3):
            shuffler = SealedShuffler(MIXED, stage=stage)
            for _ in range(BATCH):
                shuffler.add(seal_report(MIXED, {**device.report(OFFERED[0][0], 0.5), "stage": stage}, key))
            batches.append(found.open_batch(shuffler.batch()))

        async def together():
            return await asyncio.gather(
                *(service.engine.submit(partial(found.receive_batch, one, 0.0), found) for one in batches)
            )

        assert asyncio.run_coroutine_threadsafe(together(), service.loop).result(PATIENCE) == [1, 2, 3]
        entries = [one["entry"] for one in service.http.get(f"{path}/ledger").json()["entries"]]
        assert [entry.get("stage") for entry in entries] == [None, 1, 2, 3]


def test_a_batch_is_opened_while_others_are_served(service, monkeypatch):
    opening, go_on = threading.Event(), threading.Event()

    def slow(*_):
        opening.set()
        assert go_on.wait(PATIENCE)
        raise tacit.errors.BadMessage("Expected a batch, got a test.")

    monkeypatch.setattr(reporting, "open_batch", slow)
    service.create("beside")
    with deployed(service, "long", MIXED) as path, ThreadPoolExecutor(1) as pool:
        sent = pool.submit(service.ask, "POST", f"{path}/batches", {"tacit": "sealed-batch"})
        try:
            assert opening.wait(PATIENCE)
            assert service.decide("beside").status_code == 201
            assert not sent.done()
        finally:
            go_on.set()
        refused(sent.result(PATIENCE), 400, "bad_message")


def test_a_view_has_another_tag_after_a_fork_even_under_the_same_number(tmp_path):
    path = tmp_path / "tacit.db"

    def life(reports):
        with serving(path) as one:
            if not one.engine.deployments:
                with tacit.Client(one.url, timeout=60.0) as client:
                    client.create("news", LOCAL)
            for _ in range(reports):
                report_of(one, "news", LOCAL, 0)
            answer = one.http.get("/v1/deployments/news/view")
            again = one.http.get("/v1/deployments/news/view", headers={"If-None-Match": answer.headers["etag"]})
            assert again.status_code == 304
            return answer.json(), answer.headers["etag"]

    life(2)
    shutil.copy(path, tmp_path / "backup")
    first, tag = life(2)
    shutil.copy(tmp_path / "backup", path)
    open_store(str(path), key=None, fork=True).store.db.close()
    second, other = life(2)
    assert first["stage"] == second["stage"] == 4
    assert first != second
    assert tag != other
