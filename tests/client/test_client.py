"""Clients of a service: what they ask, how they read answers, and when they ask again."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import subprocess
import sys

import httpx
import numpy as np
import pytest

import tacit
from tacit.client import calls, sending
from tacit.client.calls import Choice
from tacit.errors import (
    BadInput,
    ServiceConflict,
    ServiceError,
    ServiceGone,
    ServiceNotFound,
    ServiceRefused,
    ServiceUnavailable,
)
from tests.core.apart import LocalExample

from .pretending import NAME, URL, Pretended, error

ACTIONS = {"a": [0.1, 0.2], "b": [0.3, 0.1]}


class Waited:
    """`Client`'s manners for an `AsyncClient`: every call is run to its end."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        found = getattr(self._client, name)
        return (lambda *args, **options: asyncio.run(found(*args, **options))) if callable(found) else found


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(sending, "_FIRST", 0.001)


@pytest.fixture
def service():
    return Pretended(LocalExample(dim=2))


@pytest.fixture(params=["client", "async"])
def client(request, service):
    if request.param == "client":
        with tacit.Client(URL, "secret", transport=service.transport) as found:
            yield found
    else:
        yield Waited(tacit.AsyncClient(URL, "secret", transport=service.transport))


def body(request):
    return json.loads(request.content)


# What is asked ------------------------------------------------------------------------------------------------------


def test_a_decision_and_its_reward(client, service):
    choice = client.decide(NAME, ACTIONS, person="somebody", key="first")
    assert choice == Choice("0" * 32, "b", 1, 7)
    assert client.reward(NAME, choice.decision, 0.5) == {"decision": choice.decision, "closed": "rewarded"}
    first, second = service.asked
    assert (first.method, first.url.path) == ("POST", "/v1/deployments/news/decisions")
    assert body(first) == {
        "actions": [{"id": "a", "features": [0.1, 0.2]}, {"id": "b", "features": [0.3, 0.1]}],
        "person": "somebody",
        "key": "first",
    }
    assert (second.method, second.url.path) == ("PUT", f"/v1/deployments/news/decisions/{'0' * 32}/reward")
    assert body(second) == {"value": 0.5}
    for request in service.asked:
        assert request.headers["authorization"] == "Bearer secret"
        assert request.headers["user-agent"] == f"tacit/{tacit.__version__}"


@pytest.mark.parametrize(
    ("actions", "ids"),
    [
        (ACTIONS, ["a", "b"]),
        ([{"id": "a", "features": (0.1, 0.2)}, {"id": "b", "features": np.array([0.3, 0.1])}], ["a", "b"]),
        (np.array([[0.1, 0.2], [0.3, 0.1]]), ["0", "1"]),
        ([[0.1, 0.2], [0.3, 0.1]], ["0", "1"]),
    ],
    ids=["mapping", "list", "array", "rows"],
)
def test_actions_may_come_in_several_forms(client, service, actions, ids):
    client.decide(NAME, actions)
    found = body(service.asked[0])["actions"]
    assert found == [{"id": ids[0], "features": [0.1, 0.2]}, {"id": ids[1], "features": [0.3, 0.1]}]


def test_a_policy_over_a_fixed_list_needs_no_actions(client, service):
    assert client.decide(NAME).action == "0"
    assert body(service.asked[0]).keys() == {"key"}


def test_where_arms_share_a_context_it_is_sent_once(client, service):
    assert client.decide(NAME, ["red", "blue"], context=np.array([0.1, 0.2]), key="first").action == "blue"
    assert body(service.asked[0]) == {"key": "first", "context": [0.1, 0.2], "actions": ["red", "blue"]}
    client.decide(NAME, context=(0.1, 0.2), key="second")
    assert body(service.asked[1]) == {"key": "second", "context": [0.1, 0.2]}
    client.decide_many(NAME, [{"context": [0.3], "actions": ("red",), "key": "third"}])
    assert body(service.asked[2]) == {"decisions": [{"key": "third", "context": [0.3], "actions": ["red"]}]}
    assert client.add_action(NAME, "green") == {"action_ids": ["green"]}
    assert body(service.asked[3]) == {"id": "green"}
    client.create("other", tacit.LinUCB(arms=3, dim=2), actions=("red", "blue"))
    assert body(service.asked[4])["actions"] == ["red", "blue"]


@pytest.mark.parametrize("actions", ["red", [], ["red", "red"], [1], {"red": [0.1]}.values(), 3])
def test_names_beside_a_context_are_texts_each_once(client, service, actions):
    with pytest.raises(BadInput, match="names of actions that share a context"):
        client.decide(NAME, actions, context=[0.1])
    with pytest.raises(BadInput, match="context as a list of numbers"):
        client.decide(NAME, context=[[0.1]])
    assert service.asked == []


SOMEBODY = 0.987654321


@pytest.mark.parametrize(
    "actions",
    [
        {},
        [],
        np.zeros((0, 2)),
        np.array([SOMEBODY, 1.0]),
        {"a": [SOMEBODY, float("nan")]},
        {"a": [[SOMEBODY]]},
        {"a": ["x"]},
        {1: [SOMEBODY]},
        [{"id": "a", "features": [SOMEBODY]}, {"id": "a", "features": [SOMEBODY]}],
        [{"id": "a"}],
        [{"id": "a", "features": [SOMEBODY], "price": 1}],
        "actions",
    ],
)
def test_actions_that_are_none_are_refused_without_being_shown(client, service, actions):
    with pytest.raises(BadInput, match="Expected") as caught:
        client.decide(NAME, actions)
    assert str(SOMEBODY)[:6] not in str(caught.value)
    assert not service.asked


@pytest.mark.parametrize("value", [None, "1", True, float("nan"), float("inf"), [SOMEBODY]])
def test_a_reward_that_is_none_is_refused_without_being_shown(client, service, value):
    with pytest.raises(BadInput, match=r"Expected a reward to be (a number|finite), got"):
        client.reward(NAME, "0" * 32, value)
    with pytest.raises(BadInput, match="Expected a reward"):
        client.reward_many(NAME, {"0" * 32: value})
    assert not service.asked


@pytest.mark.parametrize("name", ["", ".", "..", None, 7])
def test_what_names_nothing_is_refused(client, service, name):
    with pytest.raises(BadInput, match="Expected deployment to be a text that names something"):
        client.deployment(name)
    with pytest.raises(BadInput, match="Expected id to be a text that names something"):
        client.reward(NAME, name, 1.0)
    assert not service.asked


def test_an_id_with_strange_letters_stays_one_part_of_the_address(client, service):
    with pytest.raises(ServiceError):
        client.reward(NAME, "a/b?c#d é", 1.0)
    assert service.asked[0].url.raw_path == b"/v1/deployments/news/decisions/a%2Fb%3Fc%23d%20%C3%A9/reward"


def test_a_person_is_named_in_the_body_and_not_in_the_address(client, service):
    client.erase_person(NAME, "a/b?c#d é")
    assert service.asked[0].url.raw_path == b"/v1/deployments/news/persons/erase"


def test_many_decisions_are_one_request(client, service):
    found = client.decide_many(NAME, [{"actions": ACTIONS, "key": "k"}, [[1.0, 2.0]], {}])
    assert [choice.action for choice in found] == ["b", "0", "0"]
    (request,) = service.asked
    assert request.url.path == "/v1/deployments/news/decisions/batch"
    asked = body(request)["decisions"]
    assert asked[0]["key"] == "k"
    assert len({one["key"] for one in asked}) == 3
    assert client.decide_many(NAME, [ACTIONS])
    assert body(service.asked[1])["decisions"][0]["actions"] == asked[0]["actions"]
    with pytest.raises(BadInput, match="got other keys"):
        client.decide_many(NAME, [{"actions": ACTIONS, "persons": "somebody"}])


def test_one_of_many_decisions_that_is_refused_has_its_error_in_its_place(client):
    good, bad = client.decide_many(NAME, [{"person": "somebody"}, {"person": "banned"}])
    assert isinstance(good, Choice)
    assert isinstance(bad, ServiceRefused)
    assert (bad.code, bad.field) == ("bad_input", "person")


def test_many_rewards_are_one_request(client, service):
    choice = client.decide(NAME)
    found = client.reward_many(NAME, {choice.decision: 1, "f" * 32: 0.5})
    assert found[0] == {"decision": choice.decision, "closed": "rewarded"}
    assert found[1]["error"]["code"] == "unknown_decision"
    assert body(service.asked[1]) == {
        "rewards": [{"decision": choice.decision, "value": 1.0}, {"decision": "f" * 32, "value": 0.5}]
    }


def test_a_deployment_is_made_by_name_or_by_configuration(client, service):
    client.create("news", "joint-linucb", parameters={"dim": 5}, budget={"epsilon": 1.0, "delta": 1e-6})
    assert body(service.asked[0]) == {
        "name": "news",
        "policy": "joint-linucb",
        "parameters": {"dim": 5},
        "budget": {"epsilon": 1.0, "delta": 1e-6},
    }
    config = tacit.RenyiGOPE(actions=np.eye(2), rho=1.0)
    client.create("news", config, closes_after=60.0, default_reward=0.0, seed=0)
    sent = body(service.asked[1])
    assert (sent["policy"], sent["closes_after"], sent["default_reward"], sent["seed"]) == ("renyi-gope", 60.0, 0.0, 0)
    assert tacit.RenyiGOPE.from_dict(sent["parameters"]) == config
    assert "policy" not in sent["parameters"]
    with pytest.raises(BadInput, match="got a configuration and parameters"):
        client.create("news", config, parameters={"rho": 2.0})


def test_every_other_address(client, service):
    assert client.deployments() == [{"name": "news"}]
    assert client.deployment(NAME) == {"name": "news"}
    assert client.card(NAME) == {"card": {}}
    assert client.ledger(NAME, after=7) == {"asked": "after=7"}
    assert client.pause(NAME) == {"state": "pause"}
    assert client.resume(NAME) == {"state": "resume"}
    assert client.delete(NAME) is None
    assert client.erase_person(NAME, "somebody") == {"erased_decisions": 0}
    assert client.contract(NAME)["contract"]["fingerprint"] == service.config.contract()["fingerprint"]
    report = service.config.device(seed=1).report([0.1, 0.2], 0.5)
    assert client.report(NAME, report) == {"stage": 1}
    with pytest.raises(ServiceConflict, match="got one that was taken already"):
        client.report(NAME, json.dumps(report))


def test_both_clients_have_the_same_methods():
    def public(kind):
        return {name: inspect.signature(value) for name, value in vars(kind).items() if name[0] != "_"}

    assert public(tacit.Client) == public(tacit.AsyncClient)


# Views --------------------------------------------------------------------------------------------------------------


def test_a_view_is_downloaded_only_if_it_has_changed(client, service):
    first = client.view(NAME)
    assert client.view(NAME) == first
    assert [request.headers.get("if-none-match") for request in service.asked] == [None, '"0"']
    first["stage"] = 99  # what is handed out may be changed, what is kept not
    assert client.view(NAME)["stage"] == 0
    client.report(NAME, service.config.device(seed=1).report([0.1, 0.2], 0.5))
    assert client.view(NAME)["stage"] == 1
    assert client.view(NAME) == service.server.view()


def test_an_answer_that_nothing_has_changed_since_nothing_is_an_error(client, service):
    service.refuse(1, httpx.Response(304))
    with pytest.raises(ServiceError, match="Expected a view, got an answer that nothing has changed"):
        client.view(NAME)


# Errors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ServiceRefused),
        (401, ServiceRefused),
        (403, ServiceRefused),
        (404, ServiceNotFound),
        (409, ServiceConflict),
        (410, ServiceGone),
        (413, ServiceRefused),
        (422, ServiceRefused),
        (429, ServiceUnavailable),
        (500, ServiceError),
        (502, ServiceUnavailable),
        (503, ServiceUnavailable),
        (504, ServiceUnavailable),
    ],
)
def test_errors_have_a_kind_a_status_and_a_code(client, service, status, kind):
    service.refuse(9, error(status, "a_code", "Expected this, got that. Do something."))
    with pytest.raises(ServiceError, match=r"^Expected this, got that\. Do something\.$") as caught:
        client.decide(NAME, ACTIONS)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.code, caught.value.field) == (status, "a_code", None)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(404, text="<html>somebody</html>"),
        httpx.Response(404),
        httpx.Response(404, json=["somebody"]),
        httpx.Response(404, json={"error": "somebody"}),
        httpx.Response(404, text="[" * 100_000),
        httpx.Response(302, headers={"location": "http://elsewhere.test"}),
    ],
)
def test_an_answer_of_something_else_is_told_by_its_status(client, service, answer):
    service.refuse(1, answer)
    with pytest.raises(ServiceError, match=f"got status {answer.status_code} without its words") as caught:
        client.deployment(NAME)
    assert "somebody" not in str(caught.value)
    assert len(service.asked) == 1, "a redirection was followed, with the key"


@pytest.mark.parametrize("text", ["<html>somebody</html>", "[1]", '{"a": 1, "a": 2}', '{"a": NaN}'])
def test_a_success_that_is_no_json_object_is_an_error(client, service, text):
    service.refuse(1, httpx.Response(200, text=text))
    with pytest.raises(ServiceError, match="Expected an answer in JSON, got status 200 with something else") as caught:
        client.deployment(NAME)
    assert "somebody" not in str(caught.value)


def test_answers_that_miss_what_was_asked_for_are_errors(client, service):
    service.refuse(2, httpx.Response(200, json={"deployments": {}}))
    with pytest.raises(ServiceError, match="Expected a list of deployments in the answer"):
        client.deployments()
    with pytest.raises(ServiceError, match="Expected a decision in the answer"):
        client.decide(NAME)


def test_an_answer_without_end_is_not_read_to_its_end(client, service, monkeypatch):
    monkeypatch.setattr(sending, "MOST", 1000)
    service.refuse(1, httpx.Response(200, text='{"a": "' + "x" * 2000 + '"}'))
    with pytest.raises(ServiceError, match="Expected an answer of at most 1,000 bytes"):
        client.deployment(NAME)


# Again --------------------------------------------------------------------------------------------------------------


def repeatable(client):
    return {
        "get": lambda: client.deployment(NAME),
        "view": lambda: client.view(NAME),
        "decide": lambda: client.decide(NAME, ACTIONS),
        "many": lambda: client.decide_many(NAME, [{"actions": ACTIONS}]),
        "reward": lambda: client.reward(NAME, client.decide(NAME, key="k").decision, 1.0),
        "contract": lambda: client.contract(NAME),
    }


@pytest.mark.parametrize("what", ["get", "view", "decide", "many", "reward", "contract"])
@pytest.mark.parametrize("way", ["cut", "lose", "refuse"])
def test_what_may_be_asked_twice_is_asked_again(client, service, what, way):
    if way == "refuse":
        service.refuse(2, error(503, "unavailable"))
    else:
        getattr(service, way)(2)
    assert repeatable(client)[what]()
    assert len({request.content for request in service.asked[:3]}) == 1, "another request was sent"
    assert len(service.decisions) <= 1, "a retry decided twice"


def test_tries_have_an_end(client, service):
    service.cut(99)
    with pytest.raises(
        ServiceUnavailable, match=r"the service at http://service\.test, got none \(ReadError\)"
    ) as caught:
        client.deployment(NAME)
    assert len(service.asked) == 4
    assert caught.value.status is None


NOT_REPEATABLE = {
    "create": lambda client: client.create("news", "joint-linucb"),
    "pause": lambda client: client.pause(NAME),
    "resume": lambda client: client.resume(NAME),
    "delete": lambda client: client.delete(NAME),
    "erase": lambda client: client.erase_person(NAME, "somebody"),
    "batch": lambda client: client.batch(NAME, {}),
}


@pytest.mark.parametrize("what", NOT_REPEATABLE)
def test_everything_else_is_asked_once(client, service, what):
    service.cut(1)
    with pytest.raises(ServiceUnavailable, match="got none"):
        NOT_REPEATABLE[what](client)
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_a_refusal_is_not_argued_with(client, service, status):
    service.refuse(9, error(status, "no"))
    with pytest.raises(ServiceError):
        client.deployment(NAME)
    assert len(service.asked) == 1


def test_a_report_whose_answer_was_lost_counts_once_and_is_no_error(client, service):
    service.lose(1)
    client.report(NAME, service.config.device(seed=1).report([0.1, 0.2], 0.5))
    assert len(service.asked) == 2
    assert service.server.stage == 1


def test_pauses_double_are_bounded_and_heed_the_service(monkeypatch):
    monkeypatch.setattr(sending, "_FIRST", 0.1)
    call = calls.deployments()
    no = ServiceUnavailable("Expected an answer, got none.")
    for tries, most in enumerate([0.1, 0.2, 0.4]):
        found = [sending.pause_before(call, no, tries, 3) for _ in range(50)]
        assert most / 2 <= min(found) < max(found) <= most
    assert sending.pause_before(call, no, 3, 3) is None
    for asked, pause in (("2", 2.0), ("900", 5.0)):
        assert sending.pause_before(call, calls.Answer(503, {"retry-after": asked}, b""), 0, 3) == pause
    for asked in ("Wed, 21 Oct 2026 07:28:00 GMT", "nan", "-1"):
        assert sending.pause_before(call, calls.Answer(503, {"retry-after": asked}, b""), 0, 3) <= 0.1


# What stays secret --------------------------------------------------------------------------------------------------


def test_nothing_is_logged(client, service, caplog):
    """Addresses hold ids of decisions and people, and httpx's own clients log them."""
    caplog.set_level(logging.DEBUG)
    client.erase_person(NAME, "somebody")
    client.reward(NAME, client.decide(NAME, ACTIONS, person="somebody").decision, 0.25)
    assert "HTTP Request" not in caplog.text
    assert "somebody" not in caplog.text
    assert "secret" not in caplog.text


def test_the_key_is_never_shown(service):
    client = tacit.Client(URL, "secret", transport=service.transport)
    assert repr(client) == "<Client of http://service.test>"
    assert repr(tacit.AsyncClient(URL, "secret")) == "<AsyncClient of http://service.test>"
    for key in ("two words", "ligne\n", "", "clé", b"secret", 7):
        with pytest.raises(BadInput, match="Expected key to be a text of visible characters") as caught:
            tacit.Client(URL, key)
        assert "words" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8420", "ftp://a.test", "http://", "http://a.test:x", "http://a.test/?b=1", None, "file:///a"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(BadInput, match=r"Expected url to be an address like http://127\.0\.0\.1:8420"):
        tacit.Client(url)
    with pytest.raises(BadInput, match="Expected url without a user or a password"):
        tacit.Client("http://me:secret@a.test")


def test_an_address_may_have_a_path_and_a_slash(service):
    client = tacit.Client("http://a.test:80/tacit/", transport=service.transport)
    with client, pytest.raises(ServiceNotFound):
        client.deployment("elsewhere")
    assert service.asked[0].url == "http://a.test:80/tacit/v1/deployments/elsewhere"
    assert repr(tacit.Client("https://[::1]:8420")) == "<Client of https://[::1]:8420>"


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": -1.0}, {"retries": -1}, {"retries": 1.5}])
def test_timeout_and_retries_are_checked(options):
    with pytest.raises(BadInput, match="Expected"):
        tacit.Client(URL, **options)


def test_without_httpx_the_extra_is_named(monkeypatch):
    real = sending.importlib.import_module

    def missing(name):
        if name == "httpx":
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(sending.importlib, "import_module", missing)
    for kind in (tacit.Client, tacit.AsyncClient):
        with pytest.raises(BadInput, match=r"pip install 'tacit\[client\]'"):
            kind()


def test_a_client_needs_neither_compiler_nor_httpx_to_be_imported():
    code = "import sys, tacit; tacit.Client; print([name for name in ('numba', 'httpx') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nobody_listening_is_said_in_words():
    client = tacit.Client("http://127.0.0.1:9", retries=0, timeout=2.0)
    with client, pytest.raises(ServiceUnavailable, match=r"Is it running, and can it be reached from here\?"):
        client.deployments()
