"""Clients, devices and a shuffler with the real service, through loopback: what each says is what the other takes."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tacit
from tacit.client.calls import Answer, Call
from tacit.core.sealed_reports import SealedShuffler, new_sealing_key, seal_report
from tacit.errors import LimitReached, ServiceConflict, ServiceNotFound, ServiceRefused
from tests.core.apart import actions, reports_of

pytest.importorskip("litestar")

ACTIONS = {"a": [0.1, 0.2], "b": [0.3, 0.1]}
SHUFFLED = tacit.ShuffleLinUCB(dim=3, epsilon=10.0, delta=0.1, horizon=1000, batch=4)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A service on a port of its own, ended with the module."""
    import uvicorn

    from tacit.service.api.app import application
    from tacit.service.api.roles import Keys
    from tacit.service.engine import Engine
    from tacit.service.opening import open_store

    opened = open_store(str(tmp_path_factory.mktemp("service") / "tacit.db"), key=None)
    options = {"access_log": False, "log_config": None, "log_level": "warning", "lifespan": "on"}
    server = uvicorn.Server(uvicorn.Config(application(Engine(opened), Keys([])), **options))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        limit = time.monotonic() + 20
        while not server.started and time.monotonic() < limit:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive()


@pytest.fixture
def client(url):
    with tacit.Client(url, timeout=60.0) as found:
        yield found


def test_an_application_and_the_service(client):
    config = tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-6, person_rounds=5)
    made = client.create("news", config, closes_after=60.0)
    assert (made["deployment"]["name"], made["deployment"]["closes_after"]) == ("news", 60.0)
    choice = client.decide("news", ACTIONS, person="somebody", key="k")
    assert client.decide("news", ACTIONS, person="somebody", key="k") == choice
    assert list(ACTIONS)[choice.index] == choice.action
    assert client.reward("news", choice.decision, 0.5)["decision"] == choice.decision
    assert client.reward("news", choice.decision, 0.5)["decision"] == choice.decision
    with pytest.raises(ServiceConflict) as caught:
        client.reward("news", choice.decision, 0.75)
    assert caught.value.code == "rewarded"
    with pytest.raises(ServiceNotFound) as caught:
        client.reward("news", "f" * 32, 0.5)
    assert caught.value.code == "unknown_decision"
    one, two = client.decide_many("news", [{"actions": ACTIONS, "person": "a"}, {"actions": [[1.0]], "person": "b"}])
    assert isinstance(two, ServiceRefused)
    good, bad = client.reward_many("news", {one.decision: 1.0, "f" * 32: 1.0})
    assert "closed" in good
    assert bad["error"]["code"] == "unknown_decision"
    assert client.view("news") == client.view("news")
    assert client.card("news")["card"]["policy"] == "joint-linucb"
    page = client.ledger("news")
    assert page["entries"]
    assert page["next"] is None
    assert client.ledger("news", after=page["entries"][-1]["number"])["entries"] == []
    assert client.erase_person("news", "somebody")["erased_decisions"] == 0
    client.pause("news")
    with pytest.raises(ServiceConflict, match="paused"):
        client.decide("news", ACTIONS, person="somebody")
    assert client.resume("news")["state"] == "serving"
    assert "news" in {found["name"] for found in client.deployments()}
    client.delete("news")
    with pytest.raises(ServiceNotFound):
        client.deployment("news")


def test_an_application_that_waits_for_nothing(url):
    async def work():
        async with tacit.AsyncClient(url, timeout=60.0) as client:
            await client.create("later", "joint-linucb", parameters={"dim": 2}, budget={"epsilon": 1, "delta": 1e-6})
            choices = await asyncio.gather(*(client.decide("later", ACTIONS) for _ in range(20)))
            await asyncio.gather(*(client.reward("later", choice.decision, 1.0) for choice in choices))
            assert (await client.deployment("later"))["decisions"] == 20
            await client.delete("later")

    asyncio.run(work())


def test_devices_and_the_service(client, url, tmp_path):
    config = tacit.LocalLinUCB(dim=3, epsilon=10.0, delta=0.1, horizon=1000)
    client.create("phones", config)
    for person, offered in enumerate(actions(5)):
        path = tmp_path / f"{person}.json"
        with tacit.DeviceClient(config, url, "phones", made_file=path) as device:
            device.report(offered[device.choose(offered)], 0.5)
    assert client.view("phones")["stage"] == 5
    with tacit.DeviceClient(config, url, "phones", made_file=path) as device, pytest.raises(LimitReached):
        device.report(np.zeros(3), 0.5)


def test_devices_a_shuffler_and_the_service(client, url):
    """`tacit shuffle` as somebody would start it, with two batches of people on their own devices."""
    client.create("mixed", SHUFFLED)
    options = ["--dim", "3", "--epsilon", "10", "--delta", "0.1", "--horizon", "1000", "--batch", "4"]
    where = ["--server", url, "--deployment", "mixed", "--port", "0"]
    command = [sys.executable, "-m", "tacit", "shuffle", "shuffle-linucb", *options, *where]
    environment = {name: value for name, value in os.environ.items() if name != "TACIT_KEY"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            mixer = process.stdout.readline().split()[-1]
            with tacit.Client(mixer, retries=30) as probe:
                probe._sender.send(Call("GET", "/health", Answer.json, repeatable=True))
            key = client.contract("mixed")["sealing_key"]
            for stage, offered in enumerate(actions(2)):
                for _ in range(4):
                    with tacit.DeviceClient(SHUFFLED, url, "mixed", shuffler=mixer, sealing_key=key) as device:
                        device.report(offered[device.choose(offered)], 1.0)
                limit = time.monotonic() + 60  # the first batch may have to be compiled
                while client.view("mixed")["stage"] == stage and time.monotonic() < limit:
                    time.sleep(0.01)
            assert client.view("mixed")["stage"] == 2
        finally:
            process.terminate()
            _, err = process.communicate(timeout=20)
    assert process.returncode in (0, -15)
    assert "127.0.0.1" not in err
    assert len(re.findall("stage . ha[sd] arrived", err)) == 2


def test_the_service_takes_no_single_report_and_no_stage_twice(client):
    client.create("batches", SHUFFLED)
    key = client.contract("batches")["sealing_key"]
    reports = [seal_report(SHUFFLED, report, key) for report in reports_of(SHUFFLED, 4)]
    with pytest.raises(ServiceRefused):
        client.report("batches", reports[0])
    shuffler = SealedShuffler(SHUFFLED)
    for report in reports:
        shuffler.add(report)
    batch = shuffler.batch()
    strange = seal_report(SHUFFLED, reports_of(SHUFFLED, 1)[0], new_sealing_key()[1])["sealed"]
    with pytest.raises(ServiceRefused, match="does not open"):
        client.batch("batches", {**batch, "sealed": [*batch["sealed"][:3], strange]})
    assert client.view("batches")["stage"] == 0
    client.batch("batches", batch)
    with pytest.raises(ServiceConflict) as caught:
        client.batch("batches", batch)
    assert caught.value.code == "stale_report"
    assert client.view("batches")["stage"] == 1
