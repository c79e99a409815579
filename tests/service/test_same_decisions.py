"""A policy behind HTTP and the same policy in Python, under one seed, decide the same to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tests.service.serving import digest, named, serving

DIM, ROUNDS, SEED = 2, 60, 7
PROMISE = {"epsilon": 10.0, "delta": 0.1}
LIST = ((1.0, 0.0), (0.0, 1.0), (0.6, 0.6))

#: Rows are added when their reward comes; the clock counts decisions.
AT_ONCE = {
    "geometric": tacit.JointLinUCB(dim=DIM, **PROMISE, horizon=100),
}
AT_ONCE_RARELY = {
    "toeplitz": tacit.JointLinUCB(dim=DIM, **PROMISE, horizon=100, releases="toeplitz"),
    "tree": tacit.JointLinUCB(dim=DIM, **PROMISE, horizon=100, releases="tree"),
    "thompson": tacit.JointLinUCB(dim=DIM, **PROMISE, horizon=100, exploration="thompson"),
    "persons": tacit.JointLinUCB(dim=DIM, **PROMISE, horizon=100, person_rounds=2),
}
#: Row n is learned as the n-th, here before the next decision is made.
IN_ORDER = {
    "context-blind": tacit.ContextBlind(dim=DIM),
    "renyi-ucb": tacit.RenyiUCB(arms=3, rho=1.0),
}
IN_ORDER_RARELY = {
    "linucb": tacit.LinUCB(dim=DIM),
    "renyi-gope": tacit.RenyiGOPE(actions=LIST, rho=5.0, failure=0.5),
    "renyi-oful": tacit.RenyiOFUL(dim=DIM, rho=1.0, horizon=100),
    "laplace-ucb": tacit.LaplaceUCB(arms=3, epsilon=1.0),
}
RARELY = {**AT_ONCE_RARELY, **IN_ORDER_RARELY}
CONFIGS = {**AT_ONCE, **IN_ORDER, **RARELY}
EVERY = [pytest.param(name, marks=[pytest.mark.long] if name in RARELY else []) for name in CONFIGS]


def rounds_of(seed, count=ROUNDS):
    """Sets of actions, and what each of their rows would earn."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        actions = rng.uniform(-0.6, 0.6, (4, DIM))
        yield actions, rng.uniform(-1, 1, 4)


def by_hand(config, count=ROUNDS):
    learner = config.start(seed=SEED, sampler="secure")
    listed, people = config.fixed_actions is not None, getattr(config, "person_rounds", None) is not None
    arms = []
    for number, (actions, rewards) in enumerate(rounds_of(1, count)):
        person = f"person {number % 30}" if people else None
        decision = learner.decide(None if listed else actions, person)
        learner.reward(decision.id, float(rewards[decision.arm]))
        arms.append(decision.arm)
    return arms, learner


def create(service, name, config):
    in_order = {} if config.rows_may_come_late else {"closes_after_decisions": 1}
    with tacit.Client(service.url, timeout=120.0) as client:
        client.create(name, config, seed=SEED, **in_order)


def over_http(service, name, config, rounds, start=0):
    listed, people = config.fixed_actions is not None, getattr(config, "person_rounds", None) is not None
    arms = []
    for number, (actions, rewards) in enumerate(rounds, start):
        body = {} if listed else {"actions": named(actions)}
        if people:
            body["person"] = f"person {number % 30}"
        answer = service.decide(name, None, body=body)
        assert answer.status_code == 201, answer.text
        found = answer.json()
        arms.append(found["index"])
        told = service.reward(name, found["decision"], float(rewards[found["index"]]))
        assert told.status_code == 200, told.text
    return arms


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("store") / "tacit.db") as found:
        yield found


@pytest.mark.parametrize("name", EVERY)
def test_http_and_python_decide_the_same_also_across_a_restart(service, name):
    config = CONFIGS[name]
    expected, learner = by_hand(config)
    assert len(set(expected)) > 1  # a test of nothing, otherwise
    create(service, name, config)
    rounds = list(rounds_of(1))
    half = ROUNDS // 2
    arms = over_http(service, name, config, rounds[:half])
    before = digest(service, name)
    service.restart()
    assert digest(service, name) == before
    arms += over_http(service, name, config, rounds[half:], half)
    assert arms == expected
    found = service.engine.deployments[name].live
    # The tick of the last decision is made before the next one.
    service.decide(name, None, body=_one_more(config))
    person = None if config.person_rounds is None else "another"
    learner.decide(None if config.fixed_actions is not None else [[0.1, 0.2]], person)
    for ours, theirs in zip(found.view, learner.view, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(found.vault, learner._session.vault, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert service.ask("DELETE", f"/v1/deployments/{name}?confirm={name}").status_code == 204


def _one_more(config):
    people = {} if getattr(config, "person_rounds", None) is None else {"person": "another"}
    return people if config.fixed_actions is not None else {"actions": named([[0.1, 0.2]]), **people}


def test_the_card_says_that_a_seed_protects_nobody(service):
    create(service, "seeded", AT_ONCE["geometric"])
    assert service.show("seeded")["seeded"] is True
    assert "seed" in service.ask("GET", "/v1/deployments/seeded/card").json()["text"]
