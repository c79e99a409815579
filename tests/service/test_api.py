"""Every address of the service: what it answers, what it refuses, and in which words."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import socket
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

import tacit
from tacit.errors import StoreUnavailable, TacitError, UnknownDeployment
from tacit.policies.catalogue import CATALOGUE
from tacit.service import api_page, dashboard, pages, settings
from tacit.service.api import fast, roles, types
from tacit.service.api.app import _from_here
from tests.service.serving import ACTIONS, DAY, JOINT, PATIENCE, Clock, digest, named, refused, serving, until

ALL = "/v1/deployments"
NOBODY = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def clock():
    return Clock()


@pytest.fixture(scope="module")
def service(tmp_path_factory, clock):
    """Nobody needs a key, and its clock stands."""
    with serving(tmp_path_factory.mktemp("store") / "tacit.db", now=clock, allow_seed=False) as found:
        found.create("news")
        found.create("persons", parameters={**JOINT, "person_rounds": 2})
        found.create("ordered", "renyi-ucb", {"arms": 3, "rho": 1.0})
        yield found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """Keys are needed: one of each role."""
    keys = {"boss": "admin", "shop": "decide", "phone": "report"}
    with serving(tmp_path_factory.mktemp("store") / "tacit.db", keys=keys) as found:
        found.create("news", key="boss")
        found.create("open", "renyi-oful", {"dim": 2, "rho": 0.1, "horizon": 1000}, key="boss")
        found.create("phones", "local-linucb", {"dim": 2, "epsilon": 4.0, "delta": 1e-6, "horizon": 100}, key="boss")
        yield found


def post(service, path, content, method="POST", kind="application/json"):
    headers = {} if kind is None else {"Content-Type": kind}
    return service.http.request(method, path, content=content, headers=headers)


def decided(service, name="news", **rest):
    answer = service.decide(name, **rest)
    assert answer.status_code == 201, answer.text
    return answer.json()["decision"]


# Deployments --------------------------------------------------------------------------------------------------------


def test_a_new_deployment_is_answered_with_where_it_stands_and_its_card(service):
    made = service.create("fresh", closes_after=60.0)
    assert made["deployment"] == service.show("fresh")
    found = made["deployment"]
    assert (found["name"], found["policy"], found["trust"], found["takes"]) == (
        "fresh",
        "joint-linucb",
        "joint",
        "decisions",
    )
    assert (found["state"], found["learning"], found["why_not"]) == ("serving", True, None)
    assert (found["view"], found["decisions"], found["releases"], found["rounds_left"]) == (1, 0, 0, 1000)
    assert (found["dim"], found["actions"], found["closes_after"], found["in_order"]) == (3, None, 60.0, False)
    assert (found["promised_epsilon"], found["delta"], found["copies"], found["seeded"]) == (100.0, 0.1, 1, False)
    assert 0 < found["epsilon"] <= 100.0
    assert found["sampler"] == "secure"
    assert made["card"] == service.ask("GET", f"{ALL}/fresh/card").json()
    assert "epsilon" in made["card"]["text"]
    assert "Releases count decisions, never rewards" in made["card"]["text"]
    assert made["card"]["card"]["policy"] == "joint-linucb"
    assert [one["name"] for one in service.ask("GET", ALL).json()["deployments"]].count("fresh") == 1


def test_noise_is_drawn_exactly_or_not_at_all(service):
    made = service.create("exact")
    assert made["deployment"]["sampler"] == "secure"
    assert "Noise is drawn exactly, in whole numbers" in made["card"]["text"]
    assert service.decide("exact").status_code == 201
    made = service.create("laplace", "laplace-ucb", {"arms": 2, "epsilon": 1.0})
    assert made["deployment"]["sampler"] == "secure"
    assert service.decide("laplace", None, body={}).status_code == 201
    assert service.create("noiseless", "linucb", {"dim": 3})["deployment"]["sampler"] == "none"


@pytest.mark.parametrize(
    ("policy", "parameters"),
    [
        (
            "joint-linucb",
            {**JOINT, "epsilon": 1.0, "releases": "tree", "calibration": "published", "noise": "wishart"},
        ),
        (
            "shuffle-linucb",
            {"dim": 2, "epsilon": 1.0, "delta": 1e-3, "horizon": 100, "batch": 50, "calibration": "script"},
        ),
    ],
)
def test_noise_that_can_only_be_simulated_is_refused(service, policy, parameters):
    body = {"name": "simulated", "policy": policy, "parameters": parameters}
    message = refused(service.ask("POST", ALL, body), 400, "bad_input")
    assert f"Expected a policy whose noise can be drawn exactly, got {policy}, which is for simulation only" in message
    refused(service.ask("GET", f"{ALL}/simulated"), 404, "unknown_deployment")


@pytest.mark.parametrize(
    "apart",
    [
        {"budget": {"epsilon": 100.0, "delta": 0.1}},
        {"bounds": {"reward_low": -2.0, "reward_high": 2.0, "action_norm": 0.5}},
        {"person_rounds": 4},
        {"budget": {"epsilon": 100.0}, "bounds": {"reward_low": -2.0, "reward_high": 2.0}, "person_rounds": 3},
    ],
)
def test_budget_bounds_and_person_limit_may_stand_apart_or_among_the_parameters(apart):
    flat = {key: value for group in apart.values() if isinstance(group, dict) for key, value in group.items()}
    flat |= {key: value for key, value in apart.items() if not isinstance(value, dict)}
    rest = {name: value for name, value in JOINT.items() if name not in flat}
    assert settings.ask("joint-linucb", rest, **apart) == settings.ask("joint-linucb", {**JOINT, **flat})
    assert settings.ask("joint-linucb", {**JOINT, **flat}, **apart) == settings.ask("joint-linucb", {**JOINT, **flat})


@pytest.mark.parametrize(
    ("changes", "code", "words", "field"),
    [
        ({"policy": "joint-linucbb"}, "unknown_name", ["Did you mean", "joint-linucb"], None),
        ({"parameters": {**JOINT, "epsilom": 1}}, "unknown_name", ["Did you mean", "epsilon"], "parameters"),
        ({"policy": "gp-ucb", "parameters": {}}, "bad_input", ["Python"], None),
        ({"budget": {"epsilon": 3.0}}, "bad_input", ["epsilon once", "budget"], None),
        ({"bounds": {"epsilon": 3.0}}, "bad_input", ["bounds with action_norm"], None),
        ({"parameters": {**JOINT, "person_rounds": 3}, "person_rounds": 2}, "bad_input", ["person_rounds once"], None),
        ({"parameters": {"dim": 3}}, "bad_input", ["no epsilon and no delta", "joint-linucb"], "parameters"),
        ({"parameters": {**JOINT, "dim": [3]}}, "bad_input", ["dim to be a whole number"], "parameters"),
        ({"parameters": {**JOINT, "dim": 5000}}, "bad_input", ["at most 4,096 features"], "parameters"),
        ({"parameters": {**JOINT, "dim": 10**12}}, "bad_input", ["at most 4,096 features"], "parameters"),
        ({"parameters": {**JOINT, "policy": "linucb"}}, "bad_input", ["one policy", "Leave it out"], "policy"),
        (
            {"policy": "online-confidence", "parameters": {"dim": 2, "parameter_norm": 1e300}},
            *("bad_input", ["too large"], None),
        ),
        ({"noise": "float"}, "bad_request", ["no fields but", "Leave it out"], None),  # there is no choice
        ({"sampler": "double"}, "bad_request", ["no fields but", "Leave it out"], None),
        ({"seed": 3}, "bad_input", ["--test-seeds"], "seed"),
        ({"name": "news"}, "bad_input", ["not in use"], "name"),
        ({"default_reward": 1e101}, "bad_input", ["default_reward"], "default_reward"),
    ],
)
def test_a_deployment_that_cannot_be_is_refused_in_words_that_help(service, changes, code, words, field):
    body = {"name": "impossible", "policy": "joint-linucb", "parameters": JOINT, **changes}
    answer = service.ask("POST", ALL, body)
    message = refused(answer, 400, code, field)
    for word in words:
        assert word in message
    refused(service.ask("GET", f"{ALL}/impossible"), 404, "unknown_deployment")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "Capital"}, "name"),
        ({"name": "-a"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a" * 64}, "name"),
        ({"policy": 3}, "policy"),
        ({"policy": "x" * 200}, "policy"),
        ({"parameters": []}, "parameters"),
        ({"person_rounds": 0}, "person_rounds"),
        ({"closes_after": 0}, "closes_after"),
        ({"closes_after": 400 * DAY}, "closes_after"),
        ({"closes_after": "60"}, "closes_after"),
        ({"closes_after_decisions": 0}, "closes_after_decisions"),
        ({"closes_after_decisions": 1.5}, "closes_after_decisions"),
        ({"seed": -1}, "seed"),
        ({"budget": 1.0}, "budget"),
        ({"surprise": 1}, None),
    ],
)
def test_a_field_that_is_not_as_documented_is_named(service, changes, field):
    body = {"name": "impossible", "policy": "joint-linucb", "parameters": JOINT, **changes}
    refused(service.ask("POST", ALL, body), 400, "bad_request", field)


def test_a_seed_needs_a_service_that_is_for_tests(tmp_path):
    with serving(tmp_path / "tacit.db", allow_seed=True) as service:
        assert service.create("seeded", seed=3)["deployment"]["seeded"] is True


def test_what_is_unknown_is_unknown_everywhere(service):
    for method, path, body in (
        ("GET", "", None),
        ("GET", "/card", None),
        ("GET", "/ledger", None),
        ("GET", "/view", None),
        ("GET", "/contract", None),
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("DELETE", "", None),
        ("DELETE", "/persons/somebody", None),
        ("POST", "/persons/erase", {"person": "somebody"}),
        ("POST", "/decisions", {"actions": named(ACTIONS)}),
        ("POST", "/decisions/batch", {"decisions": [{"actions": named(ACTIONS)}]}),
        ("PUT", f"/decisions/{NOBODY}/reward", {"value": 1.0}),
        ("PUT", "/rewards", {"rewards": [{"decision": NOBODY, "value": 1.0}]}),
        ("POST", "/reports", {"a": 1}),
        ("POST", "/batches", {"a": 1}),
    ):
        refused(service.ask(method, f"{ALL}/nowhere{path}", body), 404, "unknown_deployment")


def test_a_paused_deployment_decides_nothing_and_still_takes_rewards(service):
    service.create("sleepy")
    before = decided(service, "sleepy")
    assert service.ask("POST", f"{ALL}/sleepy/pause").json()["state"] == "paused"
    refused(service.decide("sleepy"), 409, "paused")
    assert service.reward("sleepy", before, 1.0).status_code == 200
    assert service.ask("POST", f"{ALL}/sleepy/resume").json()["state"] == "serving"
    assert service.decide("sleepy").status_code == 201


def test_the_ledger_holds_the_charge_and_every_release(service):
    service.create("charged")
    for _ in range(8):
        assert service.reward("charged", decided(service, "charged"), 0.5).status_code == 200
    decided(service, "charged")  # the tick of the last one
    found = service.ask("GET", f"{ALL}/charged/ledger").json()
    kinds = [entry["entry"]["kind"] for entry in found["entries"]]
    shown = service.show("charged")
    assert kinds[0] == "charged"
    assert kinds[1:] == ["release"] * shown["releases"]
    assert shown["releases"] >= 1
    assert found["entries"][0]["entry"]["epsilon"] == shown["epsilon"]
    assert re.fullmatch("[0-9a-f]{64}", found["head"])


def test_a_long_ledger_comes_in_parts(service):
    service.create("parts")
    service.create("between")  # entries of others are not among them
    for _ in range(8):
        assert service.reward("parts", decided(service, "parts"), 0.5).status_code == 200
    path = f"{ALL}/parts/ledger"
    whole = service.ask("GET", path).json()
    assert whole["next"] is None
    assert len(whole["entries"]) > 4
    found, after = [], 0
    while after is not None:
        part = service.ask("GET", f"{path}?after={after}&limit=2").json()
        assert len(part["entries"]) <= 2
        found, after = [*found, *part["entries"]], part["next"]
    assert found == whole["entries"]
    last = found[-1]["number"]
    assert service.ask("GET", f"{path}?after={last}").json()["entries"] == []
    assert "Leave it out" in refused(service.ask("GET", f"{path}?before=3"), 400, "bad_input")
    for wrong in ("after=-1", "after=x", "limit=0", "limit=1001", "after=1e400", f"after={10**30}"):
        field = wrong.split("=")[0]
        why = refused(service.ask("GET", f"{path}?{wrong}"), 400, "bad_request", field)
        assert why.startswith(f"Expected {field} in the address to be a whole number")


def test_what_is_deleted_leaves_a_tombstone_and_nothing_else(service):
    service.create("doomed", parameters={**JOINT, "person_rounds": 2})
    decision = decided(service, "doomed", body={"person": "somebody", "key": "k"})
    uid = service.engine.deployments["doomed"].uid
    answer = service.ask("DELETE", f"{ALL}/doomed?confirm=doomed")
    assert (answer.status_code, answer.content) == (204, b"")
    refused(service.ask("GET", f"{ALL}/doomed"), 404, "unknown_deployment")
    refused(service.reward("doomed", decision, 1.0), 404, "unknown_deployment")
    refused(service.ask("DELETE", f"{ALL}/doomed?confirm=doomed"), 404, "unknown_deployment")
    rows, entries = ask_store(service, lambda store: (_rows_of(store, uid), store.entries(uid)))
    assert rows == 0
    assert [entry["kind"] for _, _, entry, _ in entries] == ["charged", "deleted"]
    # The name is free again, for a deployment that shares nothing with the first.
    service.create("doomed")
    refused(service.reward("doomed", decision, 1.0), 404, "unknown_decision")


def test_whoever_waited_behind_a_deletion_is_told_and_nothing_is_written_for_them(service):
    service.create("vanishing")
    uid, engine = service.engine.deployments["vanishing"].uid, service.engine
    ask = types.Ask([types.Action("a", ACTIONS[0])], key="k")

    async def both():
        found = engine.find("vanishing")
        return await asyncio.gather(
            engine.delete("vanishing"), fast.decided(engine, found, ask), return_exceptions=True
        )

    gone, waited = in_loop(service, both())
    assert gone is None
    assert isinstance(waited, UnknownDeployment)
    assert ask_store(service, lambda store: _rows_of(store, uid)) == 0


def _rows_of(store, uid):
    tables = ("leaves", "views", "pending", "closed", "client_keys", "people", "reports", "deployments")
    return sum(store.db.one(f"SELECT COUNT(*) FROM {table} WHERE uid = ?", (uid,))[0] for table in tables)


def in_loop(service, coroutine):
    """What a coroutine returns, run where the service runs."""
    return asyncio.run_coroutine_threadsafe(coroutine, service.loop).result(PATIENCE)


def ask_store(service, question):
    """Ask the store from where it may be asked: inside a transaction of the engine."""

    async def asked():
        return await service.engine.submit(lambda: question(service.engine.store))

    return in_loop(service, asked())


# Decisions ----------------------------------------------------------------------------------------------------------


def test_a_decision_names_an_action_and_the_view_that_chose_it(service):
    answer = service.decide("news")
    assert answer.status_code == 201
    found = answer.json()
    assert found.keys() == {"decision", "action", "index", "view"}
    assert found["action"] == f"a{found['index']}"
    assert re.fullmatch("[0-9a-f]{32}", found["decision"])


def test_a_policy_with_a_list_of_its_own_takes_no_actions(service):
    found = service.decide("ordered", None).json()
    assert found["action"] == str(found["index"])
    assert service.show("ordered")["actions"] == 3
    assert "list of its own" in refused(service.decide("ordered"), 400, "bad_input", "actions")


def test_the_same_key_is_the_same_decision_until_it_expires_and_after_its_reward(service, clock):
    first = service.decide("news", body={"key": "basket 17"})
    again = service.decide("news", body={"key": "basket 17"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert service.decide("news", body={"key": "basket 18"}).json()["decision"] != first.json()["decision"]
    assert service.reward("news", first.json()["decision"], 1.0).status_code == 200
    assert service.decide("news", body={"key": "basket 17"}).json() == first.json()
    clock.forward(DAY + 1)
    anew = service.decide("news", body={"key": "basket 17"})
    assert anew.status_code == 201
    assert anew.json()["decision"] != first.json()["decision"]


def test_a_key_keeps_its_action_wherever_that_stands_and_is_refused_without_it(service):
    """The reward will count for the features of the action that was chosen first, so that one must be played."""
    path, offered = f"{ALL}/news/decisions", named(ACTIONS)
    first = service.ask("POST", path, {"actions": offered, "key": "turned"}).json()
    made = service.show("news")["decisions"]
    chosen = offered[first["index"]]
    for actions in (offered[::-1], [*offered[::-1], {"id": "more", "features": ACTIONS[0]}], [chosen]):
        again = service.ask("POST", path, {"actions": actions, "key": "turned"})
        place = actions.index(chosen)
        assert (again.status_code, again.json()) == (200, {**first, "index": place})
    others = [action for action in offered if action is not chosen]
    renamed = [{**chosen, "id": "another"}, *others]
    for actions in (others, renamed):
        answer = service.ask("POST", path, {"actions": actions, "key": "turned"})
        assert "Use a new key" in refused(answer, 400, "bad_input", "key")
    assert service.show("news")["decisions"] == made
    assert service.reward("news", first["decision"], 1.0).status_code == 200


def test_without_a_key_every_request_is_a_decision_of_its_own(service):
    made = service.show("news")["decisions"]
    assert len({decided(service) for _ in range(5)}) == 5
    assert service.show("news")["decisions"] == made + 5


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "bad_input", "actions"),
        ({"actions": []}, "bad_request", "actions"),
        ({"actions": named([[1.0, 2.0]])}, "bad_input", "actions[0].features"),
        ({"actions": named([[1.0, 2.0, 3.0], [1.0]])}, "bad_input", "actions[1].features"),
        ({"actions": named([[0.0, 0.0, 0.0], [0.0, 1e101, 0.0]])}, "bad_input", "actions[1].features[1]"),
        ({"actions": named([[0.0, 0.0, 0.0]] * 4097)}, "bad_request", "actions"),
        ({"actions": [{"id": "a", "features": [0.0] * 4097}]}, "bad_request", "actions[0].features"),
        ({"actions": [{"id": "a", "features": [0.0, 0.0, "1"]}]}, "bad_request", "actions[0].features[2]"),
        ({"actions": [{"id": "a", "features": [0.0, 0.0, None]}]}, "bad_request", "actions[0].features[2]"),
        ({"actions": [{"id": "", "features": [0.0, 0.0, 0.0]}]}, "bad_request", "actions[0].id"),
        ({"actions": [{"id": "x" * 129, "features": [0.0, 0.0, 0.0]}]}, "bad_request", "actions[0].id"),
        ({"actions": [{"features": [0.0, 0.0, 0.0]}]}, "bad_request", "actions[0]"),
        ({"actions": [{"id": "a", "features": [0.0, 0.0, 0.0], "colour": 1}]}, "bad_request", "actions[0]"),
        ({"actions": [{"id": "a", "features": row} for row in ACTIONS]}, "bad_input", "actions"),
        ({"actions": named(ACTIONS), "person": "somebody"}, "bad_input", "person"),
        ({"actions": named(ACTIONS), "person": ""}, "bad_request", "person"),
        ({"actions": named(ACTIONS), "key": "k" * 129}, "bad_request", "key"),
        ({"actions": named(ACTIONS), "keys": "k"}, "bad_request", None),
    ],
)
def test_a_decision_that_is_not_as_expected_is_refused_and_changes_nothing(service, body, code, field):
    made = service.show("news")["decisions"]
    refused(service.ask("POST", f"{ALL}/news/decisions", body), 400, code, field)
    before = digest(service, "news")  # ticks that were due may have been made
    batch = service.ask("POST", f"{ALL}/news/decisions/batch", {"decisions": [body]})
    if code == "bad_input":
        assert batch.status_code == 201
        assert batch.json()["decisions"][0]["error"]["code"] == code
    else:
        assert refused(batch, 400, code, f"decisions[0]{'' if field is None else '.' + field}")
    assert service.show("news")["decisions"] == made
    assert digest(service, "news") == before


def test_many_decisions_are_made_or_refused_one_by_one(service):
    asked = [{"actions": named(ACTIONS), "key": "twice"}, {"actions": named([[1.0]])}, {"actions": named(ACTIONS)}]
    answer = service.ask("POST", f"{ALL}/news/decisions/batch", {"decisions": [*asked, asked[0]]})
    assert answer.status_code == 201
    first, wrong, second, again = answer.json()["decisions"]
    assert again == first
    assert second["decision"] != first["decision"]
    assert wrong.keys() == {"error"}
    assert wrong["error"]["code"] == "bad_input"
    for count in (0, 1001):
        body = {"decisions": [{"actions": named(ACTIONS[:1])}] * count}
        refused(service.ask("POST", f"{ALL}/news/decisions/batch", body), 400, "bad_request", "decisions")


# Rewards ------------------------------------------------------------------------------------------------------------


def test_a_reward_counts_once_and_may_be_sent_again(service):
    decision = decided(service)
    first = service.reward("news", decision, 0.25)
    assert first.json() == {"decision": decision, "closed": "reward"}
    learned = digest(service, "news")
    again = service.reward("news", decision, 0.25)
    assert (again.status_code, again.json()) == (200, first.json())
    refused(service.reward("news", decision, 0.5), 409, "rewarded")
    # A zero has two spellings and is one reward.
    zero = decided(service)
    assert service.reward("news", zero, 0.0).status_code == service.reward("news", zero, -0.0).status_code == 200
    assert digest(service, "news") != learned


def test_repeated_and_reordered_rewards_leave_the_same_sums(service):
    values = [0.1, -0.4, 0.9, 0.3]
    for name, order in (("straight", [0, 1, 2, 3]), ("crooked", [2, 0, 2, 3, 3, 1, 0])):
        service.create(name, parameters={**JOINT, "horizon": 64, "epsilon": 0.5, "delta": 1e-6})
        decisions = [decided(service, name, actions=[[0.5, 0.25, 0.125]]) for _ in values]
        for place in order:
            assert service.reward(name, decisions[place], values[place]).status_code == 200
    sums = [service.engine.deployments[name].live.vault for name in ("straight", "crooked")]
    for straight, crooked in zip(*sums, strict=True):
        assert abs(straight - crooked).max(initial=0) < 1e-12


def test_a_reward_may_come_days_later_and_not_after_its_time(service, clock):
    service.create("patient", closes_after=10 * DAY)
    early, late = decided(service, "patient"), decided(service, "patient")
    clock.forward(9.99 * DAY)
    assert service.reward("patient", early, 1.0).status_code == 200
    clock.forward(0.02 * DAY)
    refused(service.reward("patient", late, 1.0), 410, "closed")
    # What was rewarded is recognised for as long again, and then is as closed as everything else.
    assert service.reward("patient", early, 1.0).status_code == 200
    clock.forward(11 * DAY)

    def forgotten():
        return service.reward("patient", early, 1.0).status_code == 410

    until(forgotten)
    refused(service.reward("patient", late, 1.0), 410, "closed")


def test_decisions_close_after_so_many_others_and_not_before(service, monkeypatch):
    service.create("brisk", closes_after_decisions=2)
    first = decided(service, "brisk")
    second = decided(service, "brisk")
    looked = 0
    found, real = service.engine.deployments["brisk"], service.engine.deployments["brisk"].close_due

    def close_due(*arguments, **options):
        nonlocal looked
        looked += 1
        return real(*arguments, **options)

    monkeypatch.setattr(found, "close_due", close_due)
    until(lambda: looked >= 2)  # by itself: nothing has followed the second one
    assert service.reward("brisk", first, 1.0).status_code == 200
    decided(service, "brisk")
    decided(service, "brisk")
    assert decided(service, "brisk")
    refused(service.reward("brisk", second, 1.0), 410, "closed")


def test_what_closes_without_a_reward_earns_the_default_if_there_is_one(service, clock):
    service.create("generous", default_reward=0.5, closes_after=60.0, parameters={**JOINT, "epsilon": 0.5})
    service.create("plain", closes_after=60.0, parameters={**JOINT, "epsilon": 0.5})
    forgotten = {name: decided(service, name) for name in ("generous", "plain")}
    before = {name: digest(service, name) for name in forgotten}
    clock.forward(61)
    until(lambda: digest(service, "generous") != before["generous"])
    assert "default" in refused(service.reward("generous", forgotten["generous"], 1.0), 410, "closed")
    until(lambda: "row of zeros" in service.reward("plain", forgotten["plain"], 1.0).text)
    assert digest(service, "plain") == before["plain"]


def test_an_id_of_elsewhere_is_unknown(service):
    foreign = decided(service, "ordered", actions=None)
    for identity in (NOBODY, foreign, "f", "Z" * 32, foreign.upper(), "a" * 64):
        refused(service.reward("news", identity, 1.0), 404, "unknown_decision")
    refused(service.reward("news", "a" * 65, 1.0), 400, "bad_request", "identity")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", '"1"', "true", "null", "[1]", "1e400"])
def test_a_reward_that_is_no_number_is_refused(service, value):
    decision = decided(service)
    answer = post(service, f"{ALL}/news/decisions/{decision}/reward", f'{{"value":{value}}}'.encode(), "PUT")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"
    batch = f'{{"rewards":[{{"decision":"{decision}","value":{value}}}]}}'.encode()
    assert post(service, f"{ALL}/news/rewards", batch, "PUT").json()["error"]["code"] == "bad_request"
    refused(service.reward("news", decision, 1e101), 400, "bad_input", "value")
    assert service.reward("news", decision, 1.0).status_code == 200


def test_many_rewards_count_or_are_refused_one_by_one(service):
    good, other = decided(service), decided(service)
    service.reward("news", other, 0.5)
    rewards = [(good, 1.0), (NOBODY, 1.0), (other, 0.75), (good, 1.0), (good, 2.0), (other, 1e150)]
    body = {"rewards": [{"decision": decision, "value": value} for decision, value in rewards]}
    answer = service.ask("PUT", f"{ALL}/news/rewards", body)
    assert answer.status_code == 200
    found = answer.json()["rewards"]
    assert [one["decision"] for one in found] == [decision for decision, _ in rewards]
    codes = [one.get("closed") or one["error"]["code"] for one in found]
    assert codes == ["reward", "unknown_decision", "rewarded", "reward", "rewarded", "bad_input"]


def test_in_order_rewards_wait_and_are_learned_when_their_decision_closes(service, clock):
    service.create("queue", "renyi-ucb", {"arms": 3, "rho": 1.0}, closes_after=60.0)
    first, second = (decided(service, "queue", actions=None) for _ in range(2))
    before = digest(service, "queue")
    assert service.reward("queue", second, 1.0).status_code == 200
    assert service.reward("queue", second, 1.0).status_code == 200
    refused(service.reward("queue", second, 0.5), 409, "rewarded")
    assert service.reward("queue", first, 0.5).status_code == 200
    assert digest(service, "queue") == before
    clock.forward(61)
    until(lambda: service.engine.deployments["queue"].live.clock == 2)
    assert digest(service, "queue") != before
    assert service.reward("queue", first, 0.5).status_code == 200


def test_a_spent_horizon_goes_on_deciding_and_learns_no_more(service):
    service.create("short", parameters={**JOINT, "horizon": 3})
    for _ in range(3):
        service.reward("short", decided(service, "short"), 1.0)
    last = decided(service, "short")
    found = service.show("short")
    assert (found["learning"], found["rounds_left"]) == (False, 0)
    assert "horizon of 3 rounds is spent" in found["why_not"]
    before = digest(service, "short")
    assert service.reward("short", last, 1.0).status_code == 200
    assert digest(service, "short") == before


# Persons ------------------------------------------------------------------------------------------------------------


def test_persons_are_counted_and_learned_from_up_to_their_limit(service):
    refused(service.decide("persons"), 400, "bad_input", "person")
    for number in range(4):
        decision = decided(service, "persons", actions=[[0.5, 0.5, 0.0]], body={"person": "zoë"})
        before = digest(service, "persons")
        assert service.reward("persons", decision, 1.0).status_code == 200
        assert (digest(service, "persons") != before) == (number < 2)
    found = service.engine.deployments["persons"]
    token = found.secret.person("zoë")
    assert ask_store(service, lambda store: store.person(found.uid, token))[0] == 2


def test_an_erased_person_leaves_no_open_decision_and_the_answer_says_what_stays(service):
    mine = [decided(service, "persons", body={"person": "to/be erased", "key": f"e{n}"}) for n in range(3)]
    other = decided(service, "persons", body={"person": "stays"})
    service.reward("persons", mine[0], 1.0)
    answer = service.ask("POST", f"{ALL}/persons/persons/erase", {"person": "to/be erased"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["erased_decisions"] == 2
    assert "hash" in found["kept"]
    assert "second release" in found["why"]
    for decision in mine[1:]:
        refused(service.reward("persons", decision, 1.0), 410, "closed")
    assert service.reward("persons", other, 1.0).status_code == 200
    # A name without slashes may stand in the address.
    assert service.ask("DELETE", f"{ALL}/persons/persons/never%20seen").json()["erased_decisions"] == 0
    decided(service, "persons", body={"person": "somebody else"})
    assert service.ask("DELETE", f"{ALL}/persons/persons/somebody%20else").json()["erased_decisions"] == 1
    assert service.decide("persons", body={"person": "to/be erased", "key": "e1"}).status_code == 201
    refused(service.ask("DELETE", f"{ALL}/news/persons/somebody"), 400, "bad_input")
    refused(service.ask("DELETE", f"{ALL}/persons/persons/{'x' * 257}"), 400, "bad_request", "person")
    body = {"person": "x" * 257}
    refused(service.ask("POST", f"{ALL}/persons/persons/erase", body), 400, "bad_request", "person")


# The view -----------------------------------------------------------------------------------------------------------


def test_a_view_is_sent_once_and_then_only_when_it_has_changed(service):
    service.create("seen")
    path = f"{ALL}/seen/view"
    first = service.http.get(path)
    assert first.status_code == 200
    assert first.json().keys() == {"deployment", "policy", "version", "arrays"}
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    same = service.http.get(path, headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    other = '"another, with a comma"'
    for said in (f"W/{tag}", f"{other}, {tag}", f"W/{other},W/{tag} , {other}", "*"):
        assert service.http.get(path, headers={"If-None-Match": said}).status_code == 304, said
    assert service.http.get(path, headers=[("If-None-Match", other), ("If-None-Match", tag)]).status_code == 304
    for said in (other, f"W/{other}, {other}", tag.strip('"'), '"*"', "", tag[:-2] + '"'):
        assert service.http.get(path, headers={"If-None-Match": said}).status_code == 200, said
    while service.show("seen")["view"] == first.json()["version"]:
        service.reward("seen", decided(service, "seen"), 1.0)
    changed = service.http.get(path, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag
    assert changed.json()["arrays"] != first.json()["arrays"]


def test_a_view_is_shown_only_when_it_is_durable_and_then_under_its_own_tag(service, monkeypatch):
    service.create("slowly")
    path, store = f"{ALL}/slowly/view", service.engine.store
    first = service.http.get(path)
    reached, go_on, real = threading.Event(), threading.Event(), store.db.commit

    def commit():
        if service.engine.deployments["slowly"]._released:
            reached.set()
            assert go_on.wait(20)
        real()

    monkeypatch.setattr(store.db, "commit", commit)

    def ask():
        for _ in range(9):
            service.reward("slowly", decided(service, "slowly"), 1.0)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert reached.wait(20)
        meanwhile = service.http.get(path)
    finally:
        go_on.set()
        asking.join(20)
    assert (meanwhile.headers["etag"], meanwhile.content) == (first.headers["etag"], first.content)
    after = service.http.get(path)
    assert after.headers["etag"] != first.headers["etag"]
    assert after.json()["version"] == service.show("slowly")["view"]
    assert after.json()["arrays"] != first.json()["arrays"]
    published = service.engine.deployments["slowly"].live.published
    assert after.json()["arrays"] == {
        name: part.tolist() for name, part in zip(published._fields, published, strict=True)
    }


def test_a_deployment_that_decides_takes_no_reports(service):
    refused(service.ask("GET", f"{ALL}/news/contract"), 400, "bad_input")
    refused(service.ask("POST", f"{ALL}/news/reports", {"a": 1}), 400, "bad_input")
    refused(service.ask("POST", f"{ALL}/news/batches", {"a": 1}), 400, "bad_input")


def test_a_deployment_that_takes_reports_decides_nothing(guarded):
    refused(guarded.decide("phones", [[0.1, 0.2]], key="shop"), 400, "bad_input")
    refused(guarded.reward("phones", NOBODY, 1.0, key="shop"), 400, "bad_input")
    refused(guarded.ask("DELETE", f"{ALL}/phones/persons/x", key="boss"), 400, "bad_input")


# Bodies -------------------------------------------------------------------------------------------------------------

BODIES = [
    ("POST", ALL),
    ("POST", f"{ALL}/news/decisions"),
    ("POST", f"{ALL}/news/decisions/batch"),
    ("PUT", f"{ALL}/news/decisions/{NOBODY}/reward"),
    ("PUT", f"{ALL}/news/rewards"),
    ("POST", f"{ALL}/news/reports"),
    ("POST", f"{ALL}/news/batches"),
    ("POST", f"{ALL}/news/persons/erase"),
]
NOT_JSON = {
    "empty": b"",
    "cut": b'{"a": [1, 2',
    "bare": b"name=x",
    "list": b"[]",
    "null": b"null",
    "number": b"1",
    "text": b'"text"',
    "invalid UTF-8": b'{"a": "\xff\xfe"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "NaN": b'{"value": NaN, "a": NaN}',
    "Infinity": b'{"value": Infinity, "a": -Infinity}',
    "two": b"{}{}",
    "trailing comma": b'{"a": 1,}',
    "deep": b'{"parameters": {"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}",
    "deep and cut": b'{"a":' * 50_000,
    "lone surrogate": b'{"key": "\\ud800", "name": "\\udfff"}',
    "unknown field": b'{"zzz": 1}',
}


@pytest.mark.parametrize(("method", "path"), BODIES)
@pytest.mark.parametrize("what", NOT_JSON)
def test_a_body_that_is_not_what_was_asked_for_is_refused(service, method, path, what):
    answer = post(service, path, NOT_JSON[what], method)
    assert answer.status_code == 400, answer.text
    assert refused(answer, 400, answer.json()["error"]["code"])


@pytest.mark.parametrize(("method", "path"), BODIES)
def test_a_body_must_say_that_it_is_json(service, method, path):
    for kind in (None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"):
        refused(post(service, path, b"{}", method, kind), 415, "wrong_media_type")
    for kind in ("application/json; charset=utf-8", "APPLICATION/JSON", "application/json;x=y"):
        assert post(service, path, b"{}", method, kind).status_code == 400


@pytest.mark.parametrize(("method", "path"), BODIES)
def test_a_body_that_is_too_large_is_refused_unread(service, method, path):
    large = 80 if not path.endswith("/batches") else 1100  # a batch holds the reports of many people

    def without_length():
        for _ in range(large):
            yield b" " * 65_536

    refused(post(service, path, b" " * (large * 65_536), method), 413, "too_large")
    refused(post(service, path, without_length(), method), 413, "too_large")
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as asking:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += "Content-Length: 99999999999\r\n"
        asking.sendall(head.encode() + b"\r\n{}")
        assert asking.recv(65_536).startswith(b"HTTP/1.1 413")


def test_a_key_that_comes_twice_in_a_message_of_the_protocol_is_refused(guarded):
    body = b'{"tacit": "report", "tacit": "report"}'
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {guarded.keys['phone']}"}
    answer = guarded.http.post(f"{ALL}/phones/reports", content=body, headers=headers)
    assert "twice" in refused(answer, 400, "bad_message")


def test_an_address_or_method_there_is_none_of(service):
    refused(service.ask("GET", "/v2/deployments"), 404, "not_found")
    refused(service.ask("GET", f"{ALL}/news/nothing"), 404, "not_found")
    refused(service.ask("PATCH", ALL), 405, "method_not_allowed")
    answer = service.ask("GET", f"{ALL}/news/decisions")
    refused(answer, 405, "method_not_allowed")
    assert "POST" in answer.headers["allow"]
    refused(service.ask("GET", f"{ALL}/{'x' * 64}"), 400, "bad_request", "name")


# Nothing is echoed ----------------------------------------------------------------------------------------------------

MARK = "m4rk3r"
NUMBER = 7654.3217


def _marked():
    action = {"id": MARK, "features": [NUMBER, NUMBER]}
    yield "POST", ALL, {"name": MARK, "policy": MARK}
    yield "POST", ALL, {"name": MARK + "_", "policy": "linucb"}
    yield "POST", ALL, {"name": "fine", "policy": "linucb", "parameters": {MARK: NUMBER}}
    yield "POST", ALL, {"name": "fine", "policy": "linucb", "parameters": {"dim": NUMBER}}
    yield "POST", ALL, {"name": "fine", "policy": "linucb", "parameters": {"dim": {MARK: [MARK]}}}
    yield "POST", ALL, {"name": "fine", "policy": "linucb", "parameters": {"dim": 3, "horizon": -NUMBER}}
    yield "POST", ALL, {"name": "fine", "policy": "joint-linucb", "parameters": JOINT, "budget": {MARK: 1}}
    yield "POST", ALL, {"name": "fine", "policy": "joint-linucb", "parameters": JOINT, "budget": {"epsilon": NUMBER}}
    yield "POST", ALL, {"name": "fine", "policy": "joint-linucb", "parameters": JOINT, "bounds": {"delta": MARK}}
    yield "POST", ALL, {"name": "fine", "policy": "joint-linucb", "parameters": {**JOINT, "noise": MARK}}
    yield "POST", ALL, {"name": "fine", "policy": "joint-linucb", "parameters": JOINT, "closes_after": -NUMBER}
    yield "POST", ALL, {"name": "fine", "policy": "joint-linucb", "parameters": JOINT, MARK: MARK}
    yield "POST", ALL, {"name": "fine", "policy": "joint-linucb", "parameters": JOINT, "seed": 76543217}
    yield "POST", f"{ALL}/{MARK}/decisions", {"actions": [action]}
    yield "GET", f"{ALL}/{MARK}", None
    yield "GET", f"{ALL}/news/{MARK}", None
    yield "GET", f"{ALL}?{MARK}={MARK}", None
    for path, wrapped in ((f"{ALL}/news/decisions", False), (f"{ALL}/news/decisions/batch", True)):
        for body in (
            {"actions": [action]},
            {"actions": [{"id": MARK, "features": [NUMBER, MARK, 1.0]}]},
            {"actions": [{"id": MARK, "features": [1e200, NUMBER, 1.0]}]},
            {"actions": [{"id": MARK * 30, "features": [1.0, 1.0, 1.0]}]},
            {"actions": [{"id": MARK, "features": [1.0, 1.0, 1.0]}], "person": MARK},
            {"actions": [{"id": MARK, "features": [1.0, 1.0, 1.0]}], "key": MARK * 30},
            {MARK: MARK},
        ):
            yield "POST", path, {"decisions": [body]} if wrapped else body
    yield "POST", f"{ALL}/persons/decisions", {"actions": [action], "person": MARK}
    yield "PUT", f"{ALL}/news/decisions/{MARK}/reward", {"value": NUMBER}
    yield "PUT", f"{ALL}/news/decisions/{NOBODY}/reward", {"value": MARK}
    yield "PUT", f"{ALL}/news/decisions/{NOBODY}/reward", {"value": NUMBER, MARK: 1}
    yield "DELETE", f"{ALL}/news/persons/{MARK}", None
    yield "POST", f"{ALL}/news/persons/erase", {"person": MARK}
    yield "POST", f"{ALL}/persons/persons/erase", {"person": MARK * 60}
    yield "POST", f"{ALL}/news/reports", {MARK: MARK}
    yield "POST", f"{ALL}/news/batches", {MARK: NUMBER}


def test_an_error_never_repeats_what_was_sent(service):
    for method, path, body in _marked():
        answer = service.ask(method, path, body)
        if answer.status_code == 200:
            continue
        told = answer.text + json.dumps(dict(answer.headers))
        assert answer.status_code >= 400 or "error" in told, (path, body, told)
        for value in (MARK, "7654", "76543217"):
            assert value not in told, (path, body, told)


def test_an_error_about_reports_never_repeats_what_was_sent(guarded):
    message = {"tacit": MARK, "version": NUMBER, "contract": MARK, "id": MARK, "stage": MARK, "values": [NUMBER]}
    contract = guarded.ask("GET", f"{ALL}/phones/contract", key="phone").json()["contract"]["fingerprint"]
    right = {"tacit": "report", "version": 1, "contract": contract, "id": "0" * 32, "stage": 0, "values": [0.0] * 5}
    for body in (message, *({**right, name: value} for name, value in message.items()), {**right, MARK: 1}):
        for path in ("reports", "batches"):
            answer = guarded.ask("POST", f"{ALL}/phones/{path}", body, key="phone")
            assert answer.status_code == 400, answer.text
            assert MARK not in answer.text
            assert "7654" not in answer.text


@pytest.mark.parametrize("slug", CATALOGUE)
def test_no_option_of_any_policy_is_repeated_in_its_refusal(slug):
    kind = CATALOGUE[slug]
    example = json.loads(json.dumps(kind.examples(2)[0].to_dict(), default=lambda array: array.tolist()))
    del example["policy"]
    for option in example:
        for value in (MARK, [MARK], {MARK: MARK}, -NUMBER, NUMBER, -76543, [[NUMBER]]):
            told = _refusal(slug, {**example, option: value})
            assert MARK not in told, (option, value)
            assert not re.search("7[,.]?6[,.]?5[,.]?4", told), (option, value, told)


def _refusal(slug, options):
    try:
        settings.plan_of(settings.ask(slug, options))
    except TacitError as problem:
        return str(problem)
    return ""


# Roles --------------------------------------------------------------------------------------------------------------

LISTED = [
    ("GET", ALL, None, {"shop", "phone"}),
    ("POST", ALL, {"name": "x", "policy": "none"}, set()),
    ("GET", f"{ALL}/news", None, {"shop", "phone"}),
    ("GET", f"{ALL}/news/card", None, {"shop", "phone"}),
    ("GET", f"{ALL}/news/ledger", None, set()),
    ("GET", f"{ALL}/news/view", None, {"shop", "phone"}),
    ("GET", f"{ALL}/open/view", None, set()),
    ("POST", f"{ALL}/news/pause", None, set()),
    ("POST", f"{ALL}/news/resume", None, set()),
    ("POST", f"{ALL}/news/decisions", {"actions": named(ACTIONS)}, {"shop"}),
    ("POST", f"{ALL}/news/decisions/batch", {"decisions": [{"actions": named(ACTIONS)}]}, {"shop"}),
    ("PUT", f"{ALL}/news/decisions/{NOBODY}/reward", {"value": 1.0}, {"shop"}),
    ("PUT", f"{ALL}/news/rewards", {"rewards": [{"decision": NOBODY, "value": 1.0}]}, {"shop"}),
    ("DELETE", f"{ALL}/news/persons/somebody", None, set()),
    ("POST", f"{ALL}/news/persons/erase", {"person": "somebody"}, set()),
    ("GET", f"{ALL}/phones/contract", None, {"shop", "phone"}),
    ("POST", f"{ALL}/phones/reports", {"a": 1}, {"phone"}),
    ("POST", f"{ALL}/phones/batches", {"a": 1}, {"phone"}),
    ("GET", "/v1/status", None, set()),
    ("GET", "/metrics", None, set()),
    ("DELETE", f"{ALL}/nothing", None, set()),
]


@pytest.mark.parametrize(("method", "path", "body", "may"), LISTED)
def test_each_role_may_do_what_it_is_for_and_no_more(guarded, method, path, body, may):
    for wrong in (None, "tacit_" + "x" * 43, "x", guarded.keys["boss"] + "x"):
        answer = guarded.ask(method, path, body, key=wrong)
        refused(answer, 401, "no_key")
        assert answer.headers["www-authenticate"] == "Bearer"
    for name in ("shop", "phone", "boss"):
        answer = guarded.ask(method, path, body, key=name)
        if name == "boss" or name in may:
            assert answer.status_code not in (401, 403), answer.text
        else:
            refused(answer, 403, "wrong_role")


def test_pages_and_health_need_no_key(guarded):
    for path in ("/", "/docs", "/docs/openapi.json", "/health"):
        assert guarded.http.get(path).status_code == 200


def test_only_administrators_see_how_many_decisions_are_open(guarded):
    assert guarded.ask("GET", f"{ALL}/news", key="shop").json()["pending"] is None
    assert guarded.ask("GET", f"{ALL}/news", key="boss").json()["pending"] is not None


def test_keys_are_compared_in_constant_time_with_every_key(monkeypatch):
    asked = []

    def compare(left, right):
        asked.append((left, right))
        return hmac.compare_digest(left, right)

    rows = [(name, "decide", roles._hash(name)) for name in "abc"]
    monkeypatch.setattr(roles, "hmac", type("Watched", (), {"compare_digest": staticmethod(compare)}))
    keys = roles.Keys(rows)
    assert keys.role("Bearer a") == "decide"
    assert keys.role("bearer nobody") is None
    assert len(asked) == 6
    assert all(len(left) == len(right) == 64 for left, right in asked)
    for header in (None, "", "Bearer", "Bearer ", "Basic a", "a"):
        assert keys.role(header) is None
    assert not roles.Keys([])
    assert roles.Keys([]).role(None) == "admin"


# Operations ---------------------------------------------------------------------------------------------------------


def test_health_says_that_the_store_can_be_written(service):
    found = service.http.get("/health")
    assert found.status_code == 200
    assert found.json()["status"] == "ok"
    assert found.json()["store"] == "sqlite"


def test_without_its_store_the_service_says_so_and_goes_on_when_it_is_back(service, monkeypatch):
    decision = decided(service)

    def away():
        raise StoreUnavailable("Expected a working store, got none.")

    with monkeypatch.context() as patch:
        patch.setattr(service.engine.store.db, "begin", away)
        until(lambda: service.http.get("/health").status_code == 503)
        assert service.http.get("/health").json()["status"] == "store unavailable"
        refused(service.decide("news"), 503, "unavailable")
        refused(service.reward("news", decision, 1.0), 503, "unavailable")
        refused(service.ask("POST", f"{ALL}/news/pause"), 503, "unavailable")
        many = service.ask("PUT", f"{ALL}/news/rewards", {"rewards": [{"decision": decision, "value": 1.0}]})
        assert many.json()["rewards"][0]["error"]["code"] == "unavailable"
        # What is published needs no store.
        assert service.http.get(f"{ALL}/news/view").status_code == 200
    until(lambda: service.http.get("/health").status_code == 200)
    assert service.reward("news", decision, 1.0).status_code == 200


def test_metrics_can_be_read_by_prometheus_and_tell_of_what_there_is(service):
    service.create("measured")
    service.reward("measured", decided(service, "measured"), 1.0)
    found = {family.name: family for family in text_string_to_metric_families(service.http.get("/metrics").text)}
    gauges = ("decisions", "view_version", "view_age_seconds", "learning", "rounds_left", "epsilon", "pending")
    for name in (*gauges, "holds_lease"):
        labels = {sample.labels["deployment"] for sample in found[f"tacit_{name}"].samples}
        assert "measured" in labels
    asked = {sample.labels["what"] for sample in found["tacit_requests"].samples}
    assert {"POST decisions", "PUT reward", "POST deployments"} <= asked
    assert not any(re.search("[0-9a-f]{32}|measured", what) for what in asked)
    assert "tacit_request_seconds" in found
    assert found["tacit_store_available"].samples[0].value == 1
    service.ask("DELETE", f"{ALL}/measured?confirm=measured")
    again = service.http.get("/metrics").text
    assert "measured" not in again
    assert 'deployment="news"' in again


def test_the_status_is_what_the_dashboard_shows(service):
    found = service.http.get("/v1/status").json()
    assert found.keys() == {"service", "requests", "deployments"}
    assert found["service"]["store"] == "sqlite"
    assert (found["service"]["keys"], found["service"]["encrypted"]) == (False, False)
    assert len(found["requests"]["per_second"]) == 60
    assert found["requests"]["latency_ms"]["p50"] > 0
    assert "news" in [one["name"] for one in found["deployments"]]


def test_pages_are_whole_and_say_that_nobody_may_frame_them(service):
    for path, title in (("/", "tacit"), ("/docs", "tacit")):
        answer = service.http.get(path)
        assert answer.headers["content-type"].startswith("text/html")
        assert title in answer.text
        for name, value in pages.HEADERS.items():
            assert answer.headers[name] == value
    document = service.http.get("/docs/openapi.json").json()
    assert service.http.get("/docs").content == api_page.page(document)
    assert service.http.get("/").content == dashboard.page()


def test_every_address_is_documented_with_its_errors_and_always_the_same(service, guarded):
    document = service.http.get("/docs/openapi.json").json()
    with_keys = guarded.http.get("/docs/openapi.json").json()
    assert with_keys["security"] == [{"key": []}]
    assert document == {**with_keys, "security": [{"key": []}, {}]}  # without keys nobody needs one
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    found = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert len(found) == 22
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            if path == "/health":
                assert told["security"] == []
                continue
            assert told["description"].splitlines()[-1].startswith("Role: "), (method, path)
            assert {"401", "403"} <= told["responses"].keys(), (method, path)
            assert ("requestBody" in told) == ("415" in told["responses"]), (method, path)


@pytest.mark.parametrize(
    ("where", "body", "says"),
    [
        ("", {"closes_after": -1}, "closes_after to be a number above 0 and at most 31,622,400, or null, got"),
        ("", {"closes_after": "PRIVATE"}, "closes_after to be a number above 0"),
        ("", {"closes_after_decisions": 0}, "closes_after_decisions to be a whole number from 1 to"),
        ("", {"name": "PRIVATE"}, "name to be 1 to 63 lower-case letters, digits and hyphens, beginning"),
        ("", {"policy": ""}, "policy to be a text of 1 to 128 characters, got"),
        ("", {"parameters": ["PRIVATE"]}, "parameters to be an object, got"),
        ("", {"name": None}, "name to be 1 to 63"),
        ("", {"PRIVATE": 1}, "the body to have no fields but name, policy, parameters, budget, bounds, person_rounds"),
        ("", {"x - at `$.PRIVATE": 1}, "the body to have no fields but name"),
        ("", {"x - at `$.name": 1}, "the body to have no fields but name"),
        ("", {"x` - at `$.name": 1}, "the body to have no fields but name"),
        (
            "/news/decisions",
            {"PRIVATE": 1},
            "the body to have no fields but actions, context, person and key, got another",
        ),
        (
            "/news/decisions",
            {"actions": [{"id": "PRIVATE"}]},
            "actions[0] to be an object with id and features, got no",
        ),
        ("/news/decisions", {"actions": 7}, "actions to be a list of 1 to 4,096 items, or null, got"),
        ("/news/decisions", {"person": "PRIVATE" * 40}, "person to be a text of 1 to 256 characters, or null"),
        ("/news/decisions/batch", {"decisions": [{"PRIVATE": 1}]}, "decisions[0] to have no fields but actions"),
        ("/news/decisions/batch", {"decisions[00000] - at `$.decisions[12345]": 1}, "the body to have no fields"),
        ("/news/decisions/batch", {}, "the body to be an object with decisions, got no decisions. Add it."),
    ],
)
def test_a_body_that_is_refused_is_told_what_it_should_be_and_not_what_it_was(service, where, body, says):
    if not where:
        body = {"name": "worded", "policy": "joint-linucb", "parameters": JOINT, **body}
    answer = service.ask("POST", f"{ALL}{where}", body)
    assert answer.status_code == 400
    message = answer.json()["error"]["message"]
    assert message.startswith(f"Expected {says}")
    assert "PRIVATE" not in answer.text
    assert "12345" not in answer.text
    assert message.endswith(("Leave it out.", "Add it.", "Change it and send it again."))


@pytest.mark.parametrize("body", [b"", b"[", b"\xff", b"PRIVATE", b"[" * 100_000])
def test_a_body_that_is_no_json_is_told_so(service, body):
    headers = {"Content-Type": "application/json"}
    for where, field in (("news/decisions", "actions"), ("news/rewards", "rewards")):
        method = "PUT" if field == "rewards" else "POST"
        answer = service.http.request(method, f"{ALL}/{where}", content=body, headers=headers)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith("Expected the body to be ")
        assert field in answer.json()["error"]["message"]
        assert "PRIVATE" not in answer.text


def test_a_part_of_an_address_that_is_too_long_is_told_how_long_it_may_be(service):
    for path, says in ((f"{ALL}/{'x' * 64}", "name"), (f"{ALL}/news/persons/{'x' * 257}", "person")):
        answer = service.ask("DELETE", path)
        most = 63 if says == "name" else 256
        words = f"Expected {says} in the address to be at most {most} characters long, got more."
        assert answer.json()["error"]["message"].startswith(words)
        assert "xxx" not in answer.text


@pytest.mark.parametrize(
    ("policy", "options"), [("local-linucb", {}), ("shuffle-linucb", {"batch": 10})], ids=["reports", "batches"]
)
def test_what_is_said_about_rewards_is_refused_where_there_are_none(service, policy, options):
    parameters = {"dim": 2, "epsilon": 4.0, "delta": 1e-6, "horizon": 100, **options}
    body = {"name": "devices", "policy": policy, "parameters": parameters}
    for name, value in (("closes_after", 61.0), ("closes_after_decisions", 61), ("default_reward", 61.0)):
        answer = service.ask("POST", ALL, {**body, name: value})
        refused(answer, 400, "bad_input", name)
        assert f"Expected no {name} for {policy}, got one" in answer.json()["error"]["message"]
        assert "61" not in answer.text
    assert service.ask("POST", ALL, {**body, "closes_after": None}).status_code == 201
    assert service.ask("DELETE", f"{ALL}/devices?confirm=devices").status_code == 204


# Addresses ----------------------------------------------------------------------------------------------------------


def test_a_person_called_dots_is_not_the_deployment(service):
    """Clients resolve dots before they send: …/persons/.. becomes the deployment's own address."""
    people = {**JOINT, "person_rounds": 2}
    service.create("dots", parameters=people)
    made = service.ask("POST", f"{ALL}/dots/decisions", {"actions": named(ACTIONS), "person": ".."})
    assert made.status_code == 201
    resolved = service.ask("DELETE", f"{ALL}/dots/persons/..")
    assert resolved.request.url.path == f"{ALL}/dots"
    for address in ("dots/persons/..", "dots/", "dots?confirm=", "dots?confirm=news"):
        refused(service.ask("DELETE", f"{ALL}/{address}"), 400, "bad_input", "confirm")
    assert service.show("dots")["state"] == "serving"
    answer = service.ask("POST", f"{ALL}/dots/persons/erase", {"person": ".."})
    assert answer.json()["erased_decisions"] == 1
    assert service.ask("DELETE", f"{ALL}/dots?confirm=dots").status_code == 204


@pytest.mark.parametrize("path", ["/health", ALL, "/metrics", "/docs", "/"])
def test_head_is_get_without_its_body(service, path):
    answer, whole = service.ask("HEAD", path), service.ask("GET", path)
    assert (answer.status_code, answer.content) == (whole.status_code, b"")
    assert answer.headers["content-type"] == whole.headers["content-type"]


# Without keys -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "127.0.0.1:1"}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "LOCALHOST:1"}, 200),
        ({"Host": "[::1]:8420"}, 200),
        ({"Host": "127.0.0.1:1", "Origin": "http://127.0.0.1:1"}, 200),  # the dashboard
        ({"Host": "127.0.0.1:1", "Origin": "http://elsewhere.test"}, 403),  # a page that posts to us
        ({"Host": "127.0.0.1:1", "Origin": "null"}, 403),
        ({"Host": "127.0.0.1:1", "X-Forwarded-For": "192.0.2.1"}, 403),  # a proxy that others come through
        ({"Host": "127.0.0.1:1", "Forwarded": "for=192.0.2.1"}, 403),
        ({"Host": "127.0.0.1:1", "Via": "1.1 proxy"}, 403),
        ({"Host": "elsewhere.test"}, 403),  # a name that was made to point here
        ({"Host": "127.0.0.1.elsewhere.test:1"}, 403),
        ({"Host": "127.0.0.2:8420"}, 200),  # all of 127.0.0.0/8 is this machine
        ({"Host": "127.255.1.9"}, 200),
        ({"Host": "127.0.0.2:1", "Origin": "http://127.0.0.2:1"}, 200),
        ({"Host": "127.0.0.2:1", "Origin": "http://127.0.0.3:1"}, 403),
        ({"Host": "127.elsewhere.test"}, 403),
        ({"Host": "127.1"}, 403),
        ({"Host": "127.0.0.256"}, 403),
        ({"Host": "128.0.0.1"}, 403),
        ({"Host": ""}, 403),
    ],
)
def test_without_keys_only_programs_of_this_machine_are_served(headers, status):
    scope = {"headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()]}
    assert _from_here(scope) == (status == 200)


def test_a_page_from_elsewhere_is_refused_by_the_service_itself(service):
    for path in (ALL, f"{ALL}/news/decisions"):
        answer = service.http.post(path, json={}, headers={"Origin": "http://elsewhere.test"})
        refused(answer, 403, "wrong_origin")


def raw(service, text):
    """Bytes as they are on a connection of their own; status, headers and body."""
    with socket.create_connection(("127.0.0.1", service.port), PATIENCE) as line:
        line.sendall(text)
        found = b""
        while b"\r\n\r\n" not in found:
            found += line.recv(65536)
        head, _, body = found.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1])
        while len(body) < length:
            body += line.recv(65536)
    return int(head.split()[1]), head.lower(), body


def test_a_length_of_thousands_of_digits_is_a_length(service):
    body = b'{"value":1.0}'
    for zeros, status in ((5000, 404), (0, 404)):
        length = b"0" * zeros + b"%d" % len(body)
        text = b"PUT /v1/deployments/news/decisions/%s/reward HTTP/1.1\r\nHost: 127.0.0.1\r\n" % NOBODY.encode()
        text += b"Content-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n" % length
        assert raw(service, text + body)[0] == status
    text = b"POST /v1/deployments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999999999\r\n\r\n"
    status, head, found = raw(service, text)
    assert status == 413
    assert b"application/json" in head
    assert b"at most 4,194,304 bytes" in found
    status, _, found = raw(service, text.replace(b"deployments ", b"deployments/news/batches "))
    assert b"at most 67,108,864 bytes" in found


def test_every_refusal_has_the_one_shape(service):
    for path in ("/docs/foo", "/docs/swagger", "/docs/openapi.json/x", "/nowhere", "/v1", "/v1/x"):
        refused(service.http.get(path), 404, "not_found")
    for text in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"):
        status, head, body = raw(service, text)
        assert (status, b"application/json" in head) == (400, True)
        assert json.loads(body)["error"].keys() == {"code", "message", "field"}


def test_somebody_may_be_called_erase(service):
    decided(service, "persons", body={"person": "erase"})
    assert service.ask("DELETE", f"{ALL}/persons/persons/erase").json()["erased_decisions"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": {**JOINT, "epsilon": 1e308}},
        {"parameters": {**JOINT, "epsilon": 10**400}},
        {"parameters": {**JOINT, "constants": {"SENTINEL": 7_654_321}}},
        {"parameters": {**JOINT, "horizon": 7_654_321.5}},
        {"policy": "shuffle-linucb", "parameters": {"dim": 2, "epsilon": 7.654321e30, "delta": 1e-6, "horizon": 1000}},
        {"policy": "renyi-oful", "parameters": {"dim": 2, "rho": 1.0, "horizon": 100, "parameter_norm": None}},
    ],
)
def test_a_deployment_that_cannot_be_is_refused_without_its_values(service, changes):
    answer = service.ask("POST", ALL, {"name": "impossible", "policy": "joint-linucb", **changes})
    assert answer.status_code in (400, 403), answer.text
    for sent in ("SENTINEL", "7654321", "7,654,321", "7.654", "e+30", "308", "0" * 20):
        assert sent not in answer.text
    refused(service.ask("GET", f"{ALL}/impossible"), 404, "unknown_deployment")


def test_of_policies_without_privacy_no_means_are_shown(service):
    service.create("exact-means", "ucb1", {"arms": 3}, closes_after_decisions=1)
    service.create("priced-means", "renyi-ucb", {"arms": 3, "rho": 100.0}, closes_after_decisions=1)
    for name in ("exact-means", "priced-means"):
        for _ in range(40):
            assert service.reward(name, decided(service, name, actions=None), 0.5).status_code == 200
    found = {one["name"]: one for one in service.http.get("/v1/status").json()["deployments"]}
    assert found["exact-means"]["released"] is None
    assert found["priced-means"]["released"]["arms"] == 3
    assert "from priced releases" not in json.dumps(found["exact-means"])


def test_the_card_lists_what_operators_see_among_its_exclusions(service):
    for name in ("news", "ordered"):
        card = service.ask("GET", f"{ALL}/{name}/card").json()
        excluded = " ".join(card["card"]["not_covered"])
        for words in ("request counts", "latencies", "open decisions", "together with its witness"):
            assert words in excluded
            assert words in " ".join(card["text"].split())
        assert tacit.privacy.Card.from_dict(card["card"]).to_dict() == card["card"]


def test_the_examples_of_the_documentation_are_taken(service):
    document = service.http.get("/docs/openapi.json").json()
    service.create("examples")
    service.create("spare", parameters={**JOINT, "horizon": None, "arms": 2}, actions=["article-1"])
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            example = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            if example is None:
                assert method not in ("post", "put") or path.endswith(("/pause", "/resume", "/reports", "/batches"))
                continue
            name = {"erase": "persons", "actions": "spare"}.get(path.rsplit("/", 1)[1], "examples")
            at = path.replace("{name}", name).replace("{identity}", decided(service, "examples"))
            answer = service.ask(method.upper(), at, example)
            assert answer.status_code in (200, 201), (method, path, answer.text)
