"""What must not be found: features, rewards, persons, keys and actions in the store of a sealed deployment, in logs, in
errors; exact sums anywhere but in the vault."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.service.opening import open_store
from tacit.service.sealing import read_key
from tests.service.faults import EVERY, PEOPLE, Service, poll, serving
from tests.service.inside import exact_sums


class Sent:
    """Everything that people sent, in every form it could be found again."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.needles: dict[bytes, str] = {}

    def number(self, what: str) -> float:
        """A number nobody would come upon by chance, and not 0.5 and the like."""
        value = self._rng.uniform(0.1, 0.7)
        self.needles[struct.pack("<d", value)] = f"{what} as a double"
        self.needles[struct.pack(">d", value)] = f"{what} as a double, big-endian"
        self.needles[repr(value).encode()] = f"{what} as text"
        self.needles[repr(value)[:12].encode()] = f"{what} as text, shortened"
        return value

    def word(self, what: str) -> str:
        word = f"{what}-{self._rng.getrandbits(64):016x}"
        self.needles[word.encode()] = what
        self.needles[word.encode().hex().encode()] = f"{what} in hexadecimal digits"
        return word

    def found_in(self, data: bytes) -> set[str]:
        return {what for needle, what in self.needles.items() if needle in data}


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes()


def talk(service: Service, sent: Sent, rounds: int, name: str = "people") -> list[str]:
    """Decisions and rewards, one at a time; the ids of those that are still open."""
    opened = []
    for number in range(rounds):
        actions = [
            {"id": sent.word("action"), "features": [sent.number("feature"), sent.number("feature")]} for _ in range(2)
        ]
        ask = {"actions": actions, "person": sent.word("person"), "key": sent.word("key")}
        status, answer = service.ask("POST", f"/v1/deployments/{name}/decisions", ask)
        assert status == 201, answer
        if number % 3 == 0:
            opened.append(ask["person"])
        else:
            path = f"/v1/deployments/{name}/decisions/{answer['decision']}/reward"
            assert service.ask("PUT", path, {"value": sent.number("reward")})[0] == 200
    return opened


def provoke(service: Service, sent: Sent) -> list[tuple[int, bytes]]:
    """A request for every kind of error, each full of what must not come back."""
    one, many = "/v1/deployments/people/decisions", "/v1/deployments/people/decisions/batch"

    def action(dim=2):
        return {"id": sent.word("action"), "features": [sent.number("feature") for _ in range(dim)]}

    def ask(**changes):
        return {"actions": [action()], "person": sent.word("person"), "key": sent.word("key"), **changes}

    _, made = service.ask("POST", one, ask())
    again = f"{one}/{made['decision']}/reward"
    assert service.ask("PUT", again, {"value": sent.number("reward")})[0] == 200
    requests = [
        ("POST", one, ask(actions=[action(3)])),
        ("POST", one, ask(actions=[])),
        ("POST", one, ask(actions=[{**action(), "features": [sent.number("feature"), None]}])),
        ("POST", one, ask(actions=[{**action(), sent.word("field"): sent.word("value")}])),
        ("POST", one, {"actions": [action()], "key": sent.word("key")}),
        ("POST", one, ask(actions=[{**action(), "features": [1e200, sent.number("feature")]}])),
        ("POST", one, ask(person=[sent.word("person")])),
        ("POST", one, ask(**{sent.word("field"): sent.word("value")})),
        ("POST", one, sent.word("body")),
        ("POST", many, {"decisions": [ask(actions=[action(3)]), ask(person=None)]}),
        ("PUT", again, {"value": sent.number("reward")}),
        ("PUT", again, {"value": sent.word("reward")}),
        ("PUT", again, {"value": 1e300, sent.word("field"): sent.number("reward")}),
        ("PUT", f"{one}/{sent.word('id')}/reward", {"value": sent.number("reward")}),
        ("PUT", f"{one}/{'0' * 32}/reward", {"value": sent.number("reward")}),
        (
            "PUT",
            "/v1/deployments/people/rewards",
            {"rewards": [{"decision": sent.word("id"), "value": sent.number("r")}]},
        ),
        ("POST", f"/v1/deployments/{sent.word('name')}/decisions", ask()),
        ("GET", f"/v1/deployments/{sent.word('name')}", None),
        ("GET", f"/{sent.word('path')}", None),
        ("PATCH", f"{one}?{sent.word('query')}", ask()),
        ("DELETE", f"/v1/deployments/people/persons/{sent.word('person')}", None),
        ("POST", "/v1/deployments/people/reports", {"kind": sent.word("report"), "values": [sent.number("report")]}),
        ("POST", "/v1/deployments", {"name": sent.word("NAME"), "policy": sent.word("policy")}),
        ("POST", "/v1/deployments", {"name": "new", "policy": "joint-linucb", "parameters": {sent.word("o"): 1}}),
        ("POST", "/v1/deployments", {"name": "new", "policy": "joint-linucb", "parameters": {"dim": sent.word("dim")}}),
        ("POST", "/v1/deployments", {"name": "people", "policy": "joint-linucb", "parameters": EVERY}),
        ("POST", "/v1/deployments", {"name": "new", "policy": "joint-linucb", "parameters": EVERY, "seed": 5}),
        ("POST", one, {"actions": [action()] * 3000, "person": sent.word("person"), "key": "k" * 100_000}),
    ]
    answers = []
    for method, path, body in requests:
        status, answer = service.ask(method, path, body)
        answers.append((status, repr(answer).encode(), f"{method} {path}"))
    for headers in ({"authorization": f"Bearer {sent.word('bearer')}"}, {"content-type": sent.word("type")}):
        status, answer = service.ask("POST", one, ask(), headers=headers)
        answers.append((status, repr(answer).encode(), f"{headers}"))
    return answers


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A whole life of a sealed service, with everything that can be asked, and what it left behind."""
    folder = tmp_path_factory.mktemp("secrets")
    store, key = folder / "store", folder / "key"
    store.mkdir()
    key.write_text("5a" * 32)
    sent = Sent(1)
    seen: list[tuple[str, bytes]] = []
    with serving(
        folder / "service", store / "tacit.db", "--key-file", str(key), "--log-requests", "--most-bytes", "200000"
    ) as service:
        service.create("people", PEOPLE)
        opened = talk(service, sent, 30)
        seen += files_of(store)  # with its log, while it serves
        errors = provoke(service, sent)
        seen += files_of(store)
        pages = [
            (path, repr(service.ask("GET", path)[1]).encode())
            for path in (
                *("/", "/docs", "/docs/openapi.json", "/health", "/metrics", "/v1/status", "/v1/deployments"),
                *(f"/v1/deployments/people{end}" for end in ("", "/card", "/ledger", "/view", "/contract")),
            )
        ]
        service.ask("DELETE", f"/v1/deployments/people/persons/{opened[0]}")
        service.stop()
        seen += files_of(store)
    opened_store = open_store(str(store / "tacit.db"), key=read_key(key))
    live = opened_store.deployments["people"].live
    exact = [live.vault.sums, live.vault.memory, exact_sums(live, live.vault)]  # in steps, and as what they are of
    vault = [float(value) for part in exact for value in part.ravel() if value]
    opened_store.store.db.close()
    logs = service.out.read_bytes() + service.err.read_bytes()
    return {"sent": sent, "files": seen, "errors": errors, "pages": pages, "vault": vault, "logs": logs}


def test_the_store_of_a_sealed_deployment_shows_nothing_that_was_sent(session):
    for name, data in session["files"]:
        assert not session["sent"].found_in(data), name
    assert {name for name, _ in session["files"]} >= {"tacit.db", "tacit.db-wal", "tacit.db.witness"}


def test_logs_show_nothing_that_was_sent(session):
    logs = session["logs"]
    assert logs.count(b'"what"') > 60  # it did log each request
    assert not session["sent"].found_in(logs)


def test_errors_show_nothing_that_was_sent(session):
    # A batch answers each reward with the id it was sent for: that is the caller's own address, not a value.
    wrong = [(status, what, body) for status, body, what in session["errors"] if status >= 400 or b"error" in body]
    assert len(wrong) > 25
    assert {status for status, _, _ in wrong} >= {400, 404, 405, 409, 413, 415}
    for status, what, body in wrong:
        assert not session["sent"].found_in(body) - {"id"}, (status, what, body)


def test_no_page_shows_what_the_vault_holds(session):
    exact = session["vault"]
    assert len(exact) > 5
    for path, body in session["pages"]:
        for value in exact:
            if value == round(value, 3):
                continue  # a whole number may stand anywhere
            assert repr(value).encode() not in body, path
            if round(value, 6) != round(value, 3):  # the low half of a pair is next to nothing
                assert repr(round(value, 6)).encode() not in body, path
            assert struct.pack("<d", value) not in body, path
        assert not session["sent"].found_in(body), path
    assert b"arrays" in dict(session["pages"])["/v1/deployments/people/view"]


def test_what_is_erased_or_deleted_leaves_no_bytes_behind_even_if_nothing_is_sealed(tmp_path):
    """Without a key features lie open in the store (so this test can see them), and are gone after an erasure."""
    store, sent, rest = tmp_path / "store", Sent(2), Sent(3)
    store.mkdir()

    def there(what):
        return any(what.found_in(data) for _, data in files_of(store))

    with serving(tmp_path / "service", store / "tacit.db") as service:
        service.create("people", PEOPLE)
        person = talk(service, sent, 1)[0]
        assert there(sent)
        assert service.ask("DELETE", f"/v1/deployments/people/persons/{person}")[1]["erased_decisions"] == 1
        poll(lambda: not there(sent), within=10, what="an erasure")
        talk(service, rest, 5)
        assert there(rest)
        assert service.ask("DELETE", "/v1/deployments/people?confirm=people")[0] == 204
        poll(lambda: not there(rest), within=10, what="a deletion")
