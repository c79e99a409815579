"""A device with a service at the other end: noise here, a count that outlives it, and reports that count once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

import tacit
from tacit.client import count as counting
from tacit.client import sending
from tacit.core.contract import contract_of
from tacit.core.sealed_reports import SealedShuffler, new_sealing_key, open_batch
from tacit.errors import (
    BadCheckpoint,
    BadInput,
    BadMessage,
    HorizonSpent,
    LimitReached,
    ServiceConflict,
    ServiceUnavailable,
)
from tests.core.apart import DIM, LocalExample, ShuffleExample, actions, reports_of

from .pretending import NAME, URL, Pretended, error

LOCAL = LocalExample(dim=DIM, person_rounds=3)
COUNTS = ShuffleExample(dim=DIM)
MIXER = "http://shuffler.test"
OFFERED = actions(1)[0]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(sending, "_FIRST", 0.001)


@pytest.fixture
def service():
    return Pretended(LOCAL)


def device_of(service, **options):
    return tacit.DeviceClient(LOCAL, URL, NAME, transport=service.transport, **options)


def asked(service):
    return [(request.method, request.url.path.rsplit("/", 1)[-1]) for request in service.asked]


# Views and choices --------------------------------------------------------------------------------------------------


def test_a_device_chooses_by_the_published_view(service):
    device = device_of(service)
    arm = device.choose(OFFERED)
    other = LOCAL.device()
    other.see(service.server.view())
    assert arm == other.choose(OFFERED)
    device.choose(OFFERED)
    assert asked(service) == [("GET", "contract"), ("GET", "view")], "a choice asked for nothing new"


def test_an_old_view_is_downloaded_again_and_a_service_that_is_away_is_done_without(service):
    device = device_of(service, refresh=0.0, retries=0)
    device.choose(OFFERED)
    device.choose(OFFERED)
    assert asked(service)[1:] == [("GET", "view"), ("GET", "view")]
    service.cut(1)
    assert 0 <= device.choose(OFFERED) < len(OFFERED)
    strict = device_of(service, retries=0)
    service.cut(1)
    with pytest.raises(ServiceUnavailable):
        strict.choose(OFFERED)  # it has never seen a view


def test_a_device_of_another_contract_sends_nothing(service):
    other = LocalExample(dim=DIM, epsilon=9.0)
    device = tacit.DeviceClient(other, URL, NAME, transport=service.transport)
    for act in (lambda: device.choose(OFFERED), lambda: device.report(OFFERED[0], 0.5), device.refresh):
        with pytest.raises(BadMessage, match="Expected a service under the contract"):
            act()
    assert device.made == 0
    assert {name for _, name in asked(service)} == {"contract"}


@pytest.mark.parametrize("answer", [{}, {"contract": None}, {"contract": {"fingerprint": 7}}, {"contract": []}])
def test_a_service_that_names_no_contract_is_refused(service, answer):
    service.refuse(1, httpx.Response(200, json=answer))
    with pytest.raises(BadMessage, match="Expected a service under the contract"):
        device_of(service).choose(OFFERED)


def test_noise_never_comes_from_the_network(service):
    """A service that answers with a contract without noise changes nothing but the fingerprint it is told by."""
    theirs = LOCAL.contract()
    theirs["report"]["noise"]["scale"] = 0.0
    service.refuse(1, httpx.Response(200, json={"contract": theirs, "sealing_key": None}))
    device = device_of(service)
    device.report(OFFERED[0], 0.5)
    sent = json.loads(service.asked[-1].content)["values"]
    assert np.abs(np.array(sent) - [*OFFERED[0], 0.5]).max() > 1e-9
    assert device._device.contract == LOCAL.contract()


def test_a_view_that_wishes_ill_is_refused(service):
    service.refuse(1, httpx.Response(200, json={"contract": LOCAL.contract(), "sealing_key": None}))
    view = service.server.view()
    view["arrays"]["theta"] = [1e300] * DIM
    service.refuse(1, httpx.Response(200, json=view))
    with pytest.raises(BadMessage, match="Expected theta"):
        device_of(service).choose(OFFERED)


# Reports ------------------------------------------------------------------------------------------------------------


def test_a_report_arrives_noised_and_counts_once(service):
    device = device_of(service, key="secret")
    arm = device.choose(OFFERED)
    device.report(OFFERED[arm], 0.5)
    service.lose(1)
    device.report(OFFERED[arm], 0.5)
    assert (service.server.stage, device.made, device.unsent) == (2, 2, 0)
    assert service.asked[-1].headers["authorization"] == "Bearer secret"
    device.report(OFFERED[arm], 0.5)
    with pytest.raises(LimitReached, match="Expected at most 3 reports"):
        device.report(OFFERED[arm], 0.5)
    device.choose(OFFERED)  # goes on
    assert device.guarantee == LOCAL.device().guarantee
    assert (device.limit, tacit.DeviceClient(LOCAL, URL, NAME, limit=5).limit) == (3, 5)


def test_a_report_that_could_not_be_sent_is_sent_again_as_it_is(service):
    device = device_of(service, retries=1)
    device.choose(OFFERED)
    service.cut(2)
    with pytest.raises(ServiceUnavailable):
        device.report(OFFERED[0], 0.5)
    assert (device.made, device.unsent, service.server.stage) == (1, 1, 0)
    first = service.asked[-1].content
    assert device.send_again() == 1
    assert service.asked[-1].content == first, "new noise would be a second report"
    assert (device.made, device.unsent, service.server.stage) == (1, 0, 1)
    assert device.send_again() == 0


def test_a_report_that_is_refused_counts_and_is_not_kept(service):
    device = device_of(service)
    device.choose(OFFERED)
    service.refuse(1, error(409, "stale_report", "Expected a newer view."))
    with pytest.raises(ServiceConflict, match="Expected a newer view"):
        device.report(OFFERED[0], 0.5)
    assert (device.made, device.unsent) == (1, 0)


def test_a_report_that_comes_during_a_pause_is_kept_until_it_is_over(service):
    device = device_of(service)
    device.choose(OFFERED)
    service.refuse(1, error(409, "paused", "Expected a deployment that serves, got one that is paused."))
    with pytest.raises(ServiceConflict, match="paused"):
        device.report(OFFERED[0], 0.5)
    assert (device.made, device.unsent) == (1, 1)
    assert device.send_again() == 1
    assert (device.made, device.unsent, service.server.stage) == (1, 0, 1)


def test_what_is_no_report_is_neither_counted_nor_sent(service, tmp_path):
    device = device_of(service, made_file=tmp_path / "made.json")
    device.choose(OFFERED)
    for x, reward in ((OFFERED[0][:-1], 0.5), (OFFERED[0], "half")):
        with pytest.raises(BadInput, match="Expected"):
            device.report(x, reward)
    assert device.made == 0
    assert not (tmp_path / "made.json").exists()
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".lock"]


def test_a_number_that_is_not_finite_is_sent_as_a_report_of_zeros(service):
    device = device_of(service)
    device.choose(OFFERED)
    device.report([float("nan")] * DIM, 0.5)
    assert (device.made, device.unsent, service.server.stage) == (1, 0, 1)


def test_a_service_that_learns_nothing_more_costs_nobody_a_report(tmp_path):
    config = LocalExample(dim=DIM, person_rounds=3, horizon=2)
    service, path = Pretended(config), tmp_path / "made.json"

    def device(**options):
        return tacit.DeviceClient(config, URL, NAME, transport=service.transport, **options)

    late = device(made_file=path)
    late.choose(OFFERED)
    for _ in range(2):
        device().report(OFFERED[0], 0.5)
    before = len(service.asked)
    # What the view does not say yet the service does: the first is lost, and no other.
    service.refuse(1, error(409, "horizon_spent", "All 2 reports are learned; start anew."))
    with pytest.raises(ServiceConflict, match="All 2 reports"):
        late.report(OFFERED[0], 0.5)
    for one in (late, late, device(made_file=path)):
        with pytest.raises(HorizonSpent, match=r"Nothing was reported or counted; go on choosing\. All 2 reports are"):
            one.report(OFFERED[0], 0.5)
        assert 0 <= one.choose(OFFERED) < len(OFFERED)
    assert json.loads(path.read_text())["made"] == 1
    assert [name for _, name in asked(service)[before:]] == ["reports", "contract", "view"]


def test_a_report_looks_at_a_new_view_when_the_last_one_is_old():
    """Rewards come late: by then the service may have stopped learning, or begun anew."""
    config = LocalExample(dim=DIM, person_rounds=3, horizon=2)
    service = Pretended(config)
    device = tacit.DeviceClient(config, URL, NAME, refresh=0.0, transport=service.transport)
    device.choose(OFFERED)
    for report in reports_of(config, 2):
        service.server.receive(report)
    with pytest.raises(HorizonSpent):
        device.report(OFFERED[0], 0.5)
    service.server = config.server()
    device.report(OFFERED[0], 0.5)
    assert (device.made, service.server.stage) == (1, 1)


# The count ----------------------------------------------------------------------------------------------------------


def test_the_count_outlives_the_program(service, tmp_path):
    path = tmp_path / "made.json"
    for expected in (1, 2, 3):
        with device_of(service, made_file=str(path)) as device:
            assert device.made == expected - 1
            device.report(OFFERED[0], 0.5)
        assert json.loads(path.read_text()) == {"contract": contract_of(LOCAL).fingerprint, "made": expected}
    with pytest.raises(LimitReached), device_of(service, made_file=path) as device:
        device.report(OFFERED[0], 0.5)
    assert path.stat().st_mode & 0o077 == 0
    assert device_of(service, made=2).made == 2


def test_the_count_is_on_the_disk_before_the_report_leaves(service, tmp_path):
    """Whatever happens when it is sent: the file has counted it. And if the file cannot be written, nothing leaves."""
    path, seen = tmp_path / "made.json", []
    handle = service.handle

    def look(request):
        if request.url.path.endswith("reports"):
            seen.append(json.loads(path.read_text())["made"])
        return handle(request)

    device = tacit.DeviceClient(LOCAL, URL, NAME, made_file=path, retries=0, transport=httpx.MockTransport(look))
    device.choose(OFFERED)
    device.report(OFFERED[0], 0.5)
    service.cut(1)
    with pytest.raises(ServiceUnavailable):
        device.report(OFFERED[0], 0.5)
    assert seen == [1, 2]


def test_a_twin_that_counts_after_sending_is_found_out(service, tmp_path):
    """The same look at the file, at a device that writes it down too late."""
    path, seen = tmp_path / "made.json", []
    handle = service.handle

    def look(request):
        if request.url.path.endswith("reports"):
            seen.append(path.exists())
        return handle(request)

    device = tacit.DeviceClient(LOCAL, URL, NAME, made_file=path, transport=httpx.MockTransport(look))
    device.choose(OFFERED)
    device._count.put = lambda made: None
    device.report(OFFERED[0], 0.5)
    assert seen == [False]


def test_a_report_whose_count_cannot_be_written_does_not_leave(service, tmp_path, monkeypatch):
    device = device_of(service, made_file=tmp_path / "made.json")
    device.choose(OFFERED)
    before = len(service.asked)

    def full(path, data):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(counting, "write", full)
        with pytest.raises(OSError, match="no space left"):
            device.report(OFFERED[0], 0.5)
    assert (len(service.asked), device.unsent) == (before, 0)
    device.report(OFFERED[0], 0.5)
    assert json.loads((tmp_path / "made.json").read_text())["made"] == 2, "what was made and not sent counts too"


def test_two_programs_cannot_count_in_one_file(service, tmp_path):
    path = tmp_path / "made.json"
    one, two = device_of(service, made_file=path), device_of(service, made_file=path)
    one.report(OFFERED[0], 0.5)
    with pytest.raises(BadInput, match="got a count that another one has moved on"):
        two.report(OFFERED[0], 0.5)
    assert (two.made, service.server.stage) == (0, 1)
    path.with_name("made.json.lock").touch()
    with pytest.raises(BadCheckpoint, match="Expected to be alone with"):
        one.report(OFFERED[0], 0.5)
    assert service.server.stage == 1


def test_threads_never_make_more_reports_than_allowed(service, tmp_path):
    device = device_of(service, made_file=tmp_path / "made.json")
    device.choose(OFFERED)

    def work(_):
        try:
            device.report(OFFERED[0], 0.5)
        except LimitReached:
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(12))) == 3
    assert service.server.stage == 3


@pytest.mark.parametrize(
    "text", ["", "7", "{}", '{"contract": "a", "made": "1"}', '{"contract": "a", "made": -1}', "é"]
)
def test_a_count_that_cannot_be_read_stops_everything(service, tmp_path, text):
    path = tmp_path / "made.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInput, match="got a file that cannot be read"):
        device_of(service, made_file=path)


def test_a_count_of_another_contract_is_refused(service, tmp_path):
    path = tmp_path / "made.json"
    path.write_text(json.dumps({"contract": "0" * 64, "made": 1}))
    with pytest.raises(BadInput, match="got one under another: reports under both add up"):
        device_of(service, made_file=path)
    with pytest.raises(BadInput, match="Expected made or made_file, got both"):
        device_of(service, made=1, made_file=tmp_path / "other.json")


# Sealed reports -----------------------------------------------------------------------------------------------------


class Mixer:
    """A shuffler at an address of its own, next to a service."""

    def __init__(self, service):
        self.service, self.shuffler = service, SealedShuffler(COUNTS)
        self.asked = []

    def handle(self, request):
        if request.url.host == "service.test":
            return self.service.handle(request)
        self.asked.append(request)
        self.shuffler.add(request.content)
        return httpx.Response(202, json={"taken": True, "stage": self.shuffler.stage})

    def device(self, **options):
        transport = httpx.MockTransport(self.handle)
        return tacit.DeviceClient(COUNTS, URL, NAME, shuffler=MIXER, transport=transport, **options)


def test_reports_of_a_batch_go_sealed_to_the_shuffler_and_nowhere_else():
    service = Pretended(COUNTS)
    mixer = Mixer(service)
    for _ in range(4):
        device = mixer.device(key="secret")
        device.report(OFFERED[device.choose(OFFERED)], 1.0)
    assert all("reports" not in request.url.path for request in service.asked)
    for request in mixer.asked:
        assert (request.method, request.url.path) == ("POST", "/v1/reports")
        assert "authorization" not in request.headers, "a key would say who is asking"
        assert json.loads(request.content)["tacit"] == "sealed-report"
    opened = open_batch(COUNTS, mixer.shuffler.batch(), service.private)
    service.server.receive_batch(opened)
    assert service.server.stage == 1


def test_a_deployment_that_was_made_anew_costs_nobody_a_report():
    """The old key would spoil the batch of everybody in it."""
    service = Pretended(COUNTS)
    mixer = Mixer(service)
    for number in range(4):
        mixer.device().report(OFFERED[0], number % 2)
    service.server.receive_batch(open_batch(COUNTS, mixer.shuffler.batch(), service.private))
    device = mixer.device()
    device.choose(OFFERED)
    anew = Pretended(COUNTS)
    service.server, service.private, service.sealing_key = anew.server, anew.private, anew.sealing_key
    with pytest.raises(BadMessage, match="Expected the sealing key that this device was installed with"):
        device.report(OFFERED[0], 1.0)
    assert (device.made, device.unsent, len(mixer.asked)) == (0, 0, 4)


def test_an_installed_sealing_key_is_not_given_up():
    service = Pretended(COUNTS)
    mixer = Mixer(service)
    mixer.device(sealing_key=service.sealing_key).report(OFFERED[0], 1.0)
    device = mixer.device(sealing_key=new_sealing_key()[1])
    with pytest.raises(BadMessage, match="Expected the sealing key that this device was installed with"):
        device.report(OFFERED[0], 1.0)
    assert (device.made, len(mixer.asked)) == (0, 1)
    with pytest.raises(BadInput, match="Expected the sealing key of the server as 64 hexadecimal digits"):
        mixer.device(sealing_key="key")
    service.sealing_key = None
    with pytest.raises(BadInput, match="Expected the sealing key of the server"):
        mixer.device().report(OFFERED[0], 1.0)


def test_a_shuffler_is_named_where_there_is_one_and_only_there():
    with pytest.raises(BadInput, match="Expected the address of a shuffler, got none"):
        tacit.DeviceClient(COUNTS, URL, NAME)
    for options in ({"shuffler": MIXER}, {"sealing_key": new_sealing_key()[1]}):
        with pytest.raises(BadInput, match="are private one by one, and go to the service itself"):
            tacit.DeviceClient(LOCAL, URL, NAME, **options)
    with pytest.raises(BadInput, match="whose learner is one program"):
        tacit.DeviceClient(tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6), URL, NAME)
    with pytest.raises(BadInput, match="Expected deployment to be a text"):
        tacit.DeviceClient(LOCAL, URL, "")


def test_printing_a_device_shows_no_key_and_no_report(service):
    device = device_of(service, key="secret")
    device.report(OFFERED[0], 0.5)
    assert repr(device) == f"<DeviceClient of {LOCAL!r}: at most 3 reports>"


def test_a_report_that_did_not_reach_the_shuffler_is_sent_again():
    service = Pretended(COUNTS)
    mixer = Mixer(service)
    device = mixer.device()
    device.choose(OFFERED)
    mixer.shuffler.add = lambda body: (_ for _ in ()).throw(httpx.ConnectError("nobody there"))
    with pytest.raises(ServiceUnavailable, match=r"the service at http://shuffler\.test, got none"):
        device.report(OFFERED[0], 1.0)
    assert device.unsent == 1
    del mixer.shuffler.add
    assert device.send_again() == 1
    assert len(mixer.shuffler._ids) == 1
