"""Arms that share a context, over HTTP: a context and the names of those that are there; the sums of the library."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tacit
from tacit.core.arms import row_of_arm
from tacit.features import per_arm
from tests.service.inside import live_sums
from tests.service.serving import PATIENCE, digest, named, refused, serving, until

ARMS, DIM, SEED = 3, 2, 7
NAMES = ["red", "green", "blue"]
#: Releases soon, the centre first.
CONFIG = tacit.JointLinUCB(
    arms=ARMS, dim=DIM, epsilon=30.0, delta=0.1, preparation=tacit.Preparation(centre_rounds=6), person_rounds=2
)
VECTORS = {"dim": DIM, "epsilon": 30.0, "delta": 0.1}
PARAMETERS = {name: value for name, value in CONFIG.options().items() if value is not None}
#: A context that no message may repeat.
SOMEBODY = 0.987654321
MARK = str(SOMEBODY)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("store") / "tacit.db") as found:
        yield found


@pytest.fixture(scope="module")
def shop(service):
    """Two of three arms are named, and nobody has come."""
    return service.create("shop", parameters={**PARAMETERS, "person_rounds": None}, actions=NAMES[:2])


def rounds(count):
    """A context, the arms that are there, and what each arm would earn."""
    rng = np.random.default_rng(1)
    for number in range(count):
        there = [0, 1, 2] if number % 3 else sorted(rng.choice(ARMS, 2, replace=False).tolist())
        yield rng.uniform(-1, 1, DIM), there, rng.uniform(0, 1, ARMS)


def by_hand(count):
    """The learner of the same seed: rewards come one decision late, and every fifth never."""
    learner = CONFIG.start(seed=SEED, sampler="secure")
    arms, late = [], None
    for number, (context, there, rewards) in enumerate(rounds(count)):
        decision = learner.decide(context, f"person {number % 17}", allowed=there)
        if late is not None:
            learner.reward(*late)
        late = None if number % 5 == 4 else (decision, float(rewards[decision.arm]))
        arms.append(decision.arm)
    return arms, learner


def over_http(service, count):
    """The same rounds; which arms are there is said in another order every time, or by saying nothing."""
    arms, late = [], None
    for number, (context, there, rewards) in enumerate(rounds(count)):
        body = {"context": context.tolist(), "person": f"person {number % 17}", "key": f"visit {number}"}
        offered = [NAMES[arm] for arm in (there[::-1] if number % 2 else there)]
        if len(there) < ARMS or number % 2:
            body["actions"] = offered
        else:
            offered = NAMES
        answer = service.decide("same", None, body=body)
        assert answer.status_code == 201, answer.text
        found = answer.json()
        assert found["action"] == offered[found["index"]]
        assert service.decide("same", None, body=body).json() == found  # sent again
        if late is not None:
            assert service.reward("same", *late).status_code == 200
        arms.append(NAMES.index(found["action"]))
        late = None if number % 5 == 4 else (found["decision"], float(rewards[arms[-1]]))
        if number == count // 2:
            before = digest(service, "same")
            service.restart()
            assert digest(service, "same") == before
    return arms


def test_the_service_is_the_learner_to_the_bit_through_masks_late_rewards_persons_and_a_restart(service):
    service.create("same", parameters=PARAMETERS, actions=NAMES, seed=SEED)
    expected, learner = by_hand(60)
    assert over_http(service, 60) == expected
    assert len(set(expected)) == ARMS
    live = service.engine.deployments["same"].live
    assert live.stage > 3  # the centre, and views
    for ours, theirs in zip((*live.vault, *live.view), (*learner._session.vault, *learner.view), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_only_what_is_there_is_taken_and_arms_without_a_name_never(service, shop):
    assert (shop["deployment"]["arms"], shop["deployment"]["actions"]) == (3, 2)
    assert shop["deployment"]["action_ids"] == NAMES[:2]
    for names in (["green"], ["green", "red"], None):
        body = {"context": [0.5, 0.5], **({} if names is None else {"actions": names})}
        chosen = {service.decide("shop", None, body=body).json()["action"] for _ in range(20)}
        assert chosen <= set(NAMES[:2] if names is None else names)


def test_several_decisions_at_once_may_have_masks_of_their_own(service, shop):
    asked = [
        {"context": [0.1, 0.2], "actions": ["red"]},
        {"context": [0.1, 0.2], "actions": ["puce"]},
        {"context": [1]},
    ]
    answer = service.ask("POST", "/v1/deployments/shop/decisions/batch", {"decisions": asked})
    one, other, short = answer.json()["decisions"]
    assert one["action"] == "red"
    assert other["error"]["field"] == "actions[0]"
    assert short["error"]["field"] == "context"
    told = service.ask(
        "PUT", "/v1/deployments/shop/rewards", {"rewards": [{"decision": one["decision"], "value": 1.0}]}
    )
    assert told.json()["rewards"][0]["closed"] == "reward"


@pytest.mark.parametrize(
    ("body", "code", "field", "said"),
    [
        ({}, "bad_input", "context", "context to be 2 numbers, got none"),
        ({"context": [SOMEBODY]}, "bad_input", "context", "2 numbers, got 1"),
        ({"context": [SOMEBODY, 1e101]}, "bad_input", "context[1]", "within 1e100"),
        ({"context": [SOMEBODY, "0.1"]}, "bad_request", "context[1]", "a number"),
        ({"context": [SOMEBODY, 1.0], "actions": ["red", MARK]}, "bad_input", "actions[1]", "name of an action"),
        ({"context": [SOMEBODY, 1.0], "actions": ["red", "red"]}, "bad_input", "actions", "ids of their own"),
        ({"context": [SOMEBODY, 1.0], "actions": []}, "bad_request", "actions", "1 to 4,096 items"),
        ({"context": [SOMEBODY, 1.0], "actions": [0]}, "bad_request", "actions[0]", "or a text of 1 to 128"),
        ({"actions": named([[SOMEBODY, 1.0]])}, "bad_input", "actions", "names, got features"),
        ({"context": [SOMEBODY, 1.0], "actions": ["red", *named([[1.0]])]}, "bad_input", "actions", "features"),
    ],
)  # fmt: skip
def test_what_is_not_a_context_and_names_is_refused_without_repeating_it(service, shop, body, code, field, said):
    made = service.show("shop")["decisions"]
    message = refused(service.decide("shop", None, body=body), 400, code, field)
    assert said in message
    assert MARK not in message
    assert service.show("shop")["decisions"] == made


def test_strict_holds_contexts_to_their_declared_bounds(service):
    bounds = {"low": 0.0, "high": 1.0, "normalise": True, "constant": 0.45, "centre_rounds": 0}
    service.create("strict", parameters={**PARAMETERS, "person_rounds": None, "strict": True, "preparation": bounds})
    assert service.decide("strict", None, body={"context": [0.0, 1.0]}).status_code == 201
    assert "declared bounds" in refused(
        service.decide("strict", None, body={"context": [SOMEBODY, 1.5]}), 400, "bad_input", "context"
    )


def test_a_deployment_of_vectors_takes_no_context_and_no_bare_names(service):
    service.create("vectors")
    said = refused(service.decide("vectors", body={"context": [0.1] * 3}), 400, "bad_input", "context")
    assert "got a context" in said
    said = refused(service.decide("vectors", None, body={"actions": ["red"]}), 400, "bad_input", "actions[0].features")
    assert "named alone" in said
    said = refused(_name(service, "vectors", "red"), 400, "bad_input")
    assert "arms share a context" in said


@pytest.mark.parametrize(
    ("more", "field", "said"),
    [
        ({"actions": ["a", "b", "c", "d"]}, "actions", "names of 1 to 3 actions"),
        ({"actions": ["a", "a"]}, "actions", "the same name twice"),
        ({"parameters": VECTORS, "actions": ["a"]}, "actions", "without arms"),
        ({"parameters": {**PARAMETERS, "arms": 5000}}, "parameters", "at most 4,096 arms"),
        ({"parameters": {**PARAMETERS, "arms": 4096, "dim": 4096}}, "parameters", "at most 256 MB"),
    ],
)  # fmt: skip
def test_names_that_do_not_fit_the_arms_are_refused(service, more, field, said):
    body = {"name": "never", "policy": "joint-linucb", "parameters": PARAMETERS, **more}
    assert said in refused(service.ask("POST", "/v1/deployments", body), 400, "bad_input", field)


def _name(service, deployment, action):
    return service.ask("POST", f"/v1/deployments/{deployment}/actions", {"id": action})


def test_a_spare_arm_is_named_later_at_no_price_and_for_good(service):
    made = service.create("spare", parameters={**PARAMETERS, "person_rounds": None}, actions=["red"])
    body = {"context": [0.3, 0.4], "actions": ["puce"]}
    refused(service.decide("spare", None, body=body), 400, "bad_input", "actions[0]")
    for _ in range(2):  # the same name again changes nothing
        answer = _name(service, "spare", "puce")
        assert answer.status_code == 200, answer.text
        assert answer.json()["action_ids"] == ["red", "puce"]
    assert service.decide("spare", None, body=body).json()["action"] == "puce"
    service.restart()
    assert service.show("spare")["action_ids"] == ["red", "puce"]
    assert service.decide("spare", None, body=body).json()["action"] == "puce"
    _name(service, "spare", "teal")
    assert "at most 3 actions" in refused(_name(service, "spare", "mint"), 400, "bad_input", "id")
    now = service.show("spare")
    assert (now["actions"], now["epsilon"]) == (3, made["deployment"]["epsilon"])
    kinds = [entry["entry"]["kind"] for entry in service.ask("GET", "/v1/deployments/spare/ledger").json()["entries"]]
    assert kinds == ["charged"]


def test_without_names_arms_go_by_their_numbers(service):
    service.create("numbers", parameters={**PARAMETERS, "person_rounds": None})
    assert service.show("numbers")["action_ids"] == ["0", "1", "2"]
    answer = service.decide("numbers", None, body={"context": [0.3, 0.4], "actions": ["2"]}).json()
    assert (answer["action"], answer["index"]) == ("2", 0)


def test_a_request_is_one_context_and_what_is_kept_of_it_too(service, shop):
    """For 50 arms with 20 features a request was 50 · 50 · 20 numbers, and a row 1,000."""
    arms, dim = 50, 20
    context = np.random.default_rng(3).uniform(-1, 1, dim)
    body = {"context": context.tolist(), "key": "visit"}
    vectors = {"actions": named(per_arm(context, arms)), "key": "visit"}
    assert len(json.dumps(body)) * 400 < len(json.dumps(vectors))
    row = row_of_arm(tacit.LinUCB(arms=arms, dim=dim), context, 3)
    assert row.nbytes == 8 * (dim + 1)
    # What the store has of an open decision is that row, and a byte in front that says it is not sealed.
    found = service.engine.deployments["shop"]
    answer = service.decide("shop", None, body={"context": [0.3, 0.4], "actions": ["green"]}).json()
    number = found.secret.number(answer["decision"])
    [record] = [bytes(kept) for kept, in _rows(service, "SELECT record FROM pending WHERE uid = ? AND number = ?",
                                              (found.uid, number))]  # fmt: skip
    assert np.frombuffer(record[1:]).tolist() == [0.3, 0.4, 1.0]


def _rows(service, statement, values):
    import asyncio

    async def ask():
        return await service.engine.submit(lambda: service.engine.store.db.all(statement, values))

    return asyncio.run_coroutine_threadsafe(ask(), service.loop).result(PATIENCE)


def test_an_erased_person_leaves_nothing_of_a_context(service):
    service.create("erase", parameters=PARAMETERS)
    for number in range(3):
        body = {"context": [0.1 * number, 0.4], "person": "somebody"}
        assert service.decide("erase", None, body=body).status_code == 201
    erased = service.ask("POST", "/v1/deployments/erase/persons/erase", {"person": "somebody"}).json()
    assert erased["erased_decisions"] == 3
    uid = service.engine.deployments["erase"].uid
    until(lambda: _rows(service, "SELECT COUNT(*) FROM pending WHERE uid = ?", (uid,)) == [(0,)])


def test_in_order_an_erased_decision_keeps_its_place_and_adds_nothing(service):
    """Rows of persons under a release a round are learned in their turn; what was erased is a row of no arm."""
    parameters = {"arms": 2, "dim": 2, "epsilon": 10.0, "delta": 0.1, "releases": "tree", "horizon": 100}
    more = {"preparation": "none", "width": "theory", "reward_low": -1.0, "reward_weight": 2.0, "person_rounds": 3}
    service.create("ordered", parameters={**parameters, **more}, actions=["x", "y"], closes_after_decisions=1)
    found = service.engine.deployments["ordered"]
    assert found.in_order
    for number in range(4):
        body = {"context": [0.5, 0.0], "actions": ["xy"[number % 2]], "person": f"person {number}"}
        answer = service.decide("ordered", None, body=body).json()
        if number == 1:
            erased = service.ask("POST", "/v1/deployments/ordered/persons/erase", {"person": "person 1"}).json()
            assert erased["erased_decisions"] == 1
        else:
            service.reward("ordered", answer["decision"], 0.5)
    assert found.live.clock == 3
    # Of x two contexts and their rewards; of y the one that was erased, and one that is not closed yet.
    assert live_sums(found.live).tolist() == [0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_the_python_clients_speak_of_contexts(service, shop):
    with tacit.Client(service.url, timeout=PATIENCE) as client:
        made = client.create("client", CONFIG, actions=NAMES[:2])
        assert made["deployment"]["action_ids"] == NAMES[:2]
        assert client.add_action("client", "blue")["actions"] == 3
        choice = client.decide("client", ["blue"], context=[0.1, 0.2], person="somebody")
        assert (choice.action, choice.index) == ("blue", 0)
        one, other = client.decide_many(
            "client",
            [
                {"context": np.array([0.1, 0.2]), "actions": ("red", "blue"), "person": "a"},
                {"context": [0.1, 0.2], "person": "b"},
            ],
        )
        assert one.action in ("red", "blue")
        assert other.action in NAMES
        assert client.reward("client", choice.decision, 1.0)["closed"] == "reward"
