"""A tacit policy with the methods of the Open Bandit Pipeline: every selection is a round, every round one row."""

from __future__ import annotations

import copy
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import tacit
from tacit.adapters import TacitPolicy
from tacit.adapters._deployed import repeated
from tacit.errors import BadInput, HorizonSpent, UnknownDecision, VaultSealed
from tacit.privacy import Guarantee, Neighbours, Protects, Theorem, Trust, Unit

from .common import ARMS, FEATURES, config, contexts, rows_of


def policy(wait: int = 0, **changes) -> TacitPolicy:
    return TacitPolicy(config(**changes), ARMS, wait=wait, seed=1)


def replayed(learned: TacitPolicy, logged: np.ndarray, seen: np.ndarray) -> list[int]:
    """The pipeline's loop on a log: learn where the log holds the selected action. Rows known at every selection."""
    rows = []
    for action, context in zip(logged, seen, strict=True):
        selected = learned.select_action(context.reshape(1, -1))
        rows.append(rows_of(learned))
        if selected[0] == action:
            learned.update_params(action=action, reward=1.0, context=context.reshape(1, -1))
    return rows


def test_it_chooses_and_learns_as_the_learner_would():
    ours, learner = policy(), config().start(seed=1)
    for context in contexts(60):
        action = ours.select_action(context.reshape(1, FEATURES))
        offered = tacit.features.per_arm(context, ARMS)
        decision = learner.decide(offered)
        assert action.tolist() == [decision.arm]
        ours.update_params(action[0], np.array([context[0]]), context.reshape(1, FEATURES))
        learner.reward(decision, float(context[0]))
    assert learner.view.stage[0] > 2
    for mine, other in zip(ours._deployed.learner.view, learner.view, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_policy_with_arms_takes_contexts_as_they_are():
    by_arm = tacit.LinUCB(arms=ARMS, dim=FEATURES)
    ours, learner = TacitPolicy(by_arm, ARMS, seed=1), by_arm.start(seed=1)
    assert ours.dim == FEATURES
    for context in contexts(30):
        action = ours.select_action(context.reshape(1, FEATURES))
        decision = learner.decide(context)
        assert action.tolist() == [decision.arm]
        ours.update_params(action[0], context[0], context.reshape(1, FEATURES))
        learner.reward(decision, float(context[0]))
    for mine, other in zip(ours._deployed.learner.view, learner.view, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_when_rows_are_learned_does_not_tell_which_rounds_the_log_rejected():
    seen, rejecting = contexts(30), np.full(30, -1)
    kept = policy()
    mixed = np.random.default_rng(3).integers(0, ARMS, 30)
    assert replayed(kept, mixed, seen) == replayed(policy(), rejecting, seen) == list(range(30))
    assert 0 < kept._deployed.learner.diagnostics().expired < 30


def test_a_twin_that_leaves_rejected_rounds_out_is_found_out_by_the_same_comparison():
    seen, rejecting = contexts(30), np.full(30, -1)
    clocks = []
    for logged in (np.random.default_rng(3).integers(0, ARMS, 30), rejecting):
        twin = policy()
        twin._deployed.learner._closes_after = None
        clocks.append(replayed(twin, logged, seen))
    assert clocks[0] != clocks[1]


def test_a_reward_counts_once():
    ours, context = policy(), contexts(1)
    action = ours.select_action(context)
    ours.update_params(action[0], 1.0, context)
    with pytest.raises(UnknownDecision, match="a second one"):
        ours.update_params(action[0], 1.0, context)
    assert rows_of(ours) == 1


def test_rewards_of_what_was_not_selected_are_refused():
    ours, context = policy(), contexts(2)
    action = int(ours.select_action(context[:1])[0])
    for other_action, other_context in ((action + 1, context[:1]), (action, context[1:])):
        with pytest.raises(UnknownDecision, match="one of the last 1 selections"):
            ours.update_params(other_action, 1.0, other_context)
    assert rows_of(ours) == 0
    with pytest.raises(BadInput):
        ours.update_params(action, np.nan, context[:1])
    ours.update_params(action, 1.0, context[:1])
    assert rows_of(ours) == 1


def test_rewards_may_come_as_many_selections_late_as_one_waits():
    ours, seen = policy(wait=2), contexts(4)
    actions = [int(ours.select_action(context.reshape(1, -1))[0]) for context in seen[:3]]
    ours.update_params(actions[0], 1.0, seen[:1])
    ours.select_action(seen[3:])
    ours.update_params(actions[1], 1.0, seen[1:2])
    assert rows_of(ours) == 2
    for _ in range(2):
        ours.select_action(seen[:1])
    with pytest.raises(UnknownDecision, match="one of the last 3 selections"):
        ours.update_params(actions[2], 1.0, seen[2:3])
    assert (rows_of(ours), len(ours._open)) == (3, 3)


def test_starting_over_is_a_second_deployment_and_is_priced():
    ours = TacitPolicy(config(), ARMS)
    ours.initialize()
    assert ours.deployments == 1
    for context in contexts(3):
        ours.select_action(context)
    once = ours.guarantee
    ours.initialize()
    assert ours.deployments == 2
    assert ours.guarantee.mu == pytest.approx(2**0.5 * once.mu)
    assert "Started 2 times" in ours.card().text()
    with pytest.raises(UnknownDecision):
        ours.update_params(0, 1.0, contexts(3)[2:])


def test_theorems_add_up_over_deployments():
    scope = (Trust.JOINT, Protects.EVERYTHING, Neighbours.REPLACE_ONE, Unit.round())
    one = Guarantee(*scope, None, None, theorem=Theorem(0.5, 1e-6, "a theorem"))
    both = repeated(one, 2)
    assert (both.epsilon, both.delta) == (1.0, 2e-6)
    assert repeated(one, 1) is one
    assert repeated(Guarantee.none(), 3) == Guarantee.none()


def test_unused_policies_can_be_copied_and_used_ones_cannot():
    ours = TacitPolicy(config(), ARMS)
    copied = copy.deepcopy(ours)
    copied.select_action(contexts(1))
    assert (copied._deployed.served, ours._deployed.served) == (1, 0)
    with pytest.raises(VaultSealed):
        copy.deepcopy(copied)


def test_a_round_that_is_refused_expires_nothing():
    ours = policy(strict=True)
    ours.select_action(contexts(1))
    for bad in (np.array([[3.0, 0.0]]), np.zeros((2, FEATURES)), np.zeros((1, 5)), [[np.nan, 0.0]]):
        with pytest.raises(BadInput):
            ours.select_action(bad)
    with pytest.raises(BadInput, match="no person"):
        ours.select_action(contexts(1), person="somebody")
    assert (rows_of(ours), len(ours._open)) == (0, 1)
    ours._deployed._limit = 1
    with pytest.raises(HorizonSpent, match="at most 0 more rounds"):
        ours.select_action(contexts(1))
    assert rows_of(ours) == 0


def test_persons_are_named_where_the_guarantee_is_for_them():
    ours = policy(person_rounds=1)
    with pytest.raises(BadInput, match="Expected a person"):
        ours.select_action(contexts(1))
    with pytest.raises(BadInput, match="got float"):
        ours.select_action(contexts(1), person=1.5)
    for _ in range(3):
        ours.select_action(contexts(1), person=np.int64(4))
    found = ours._deployed.learner.diagnostics()
    assert (found.rows, found.people, found.dropped) == (2, 1, 1)


def test_policies_that_rejected_rounds_would_mislead_are_refused():
    with pytest.raises(BadInput, match="protects contexts as well as rewards"):
        TacitPolicy(tacit.UCB1(arms=ARMS), ARMS)
    with pytest.raises(BadInput, match="len_list=3"):
        TacitPolicy(config(), ARMS, len_list=3)
    with pytest.raises(BadInput, match="n_actions >= 2"):
        TacitPolicy(config(), 1)
    assert TacitPolicy(tacit.LinUCB(dim=6), ARMS).guarantee == Guarantee.none()


def test_the_pipeline_finds_the_names_it_asks_for(monkeypatch):
    ours = policy()
    monkeypatch.delitem(sys.modules, "obp.policy.policy_type", raising=False)
    assert ours.policy_type == "contextual"
    module, kind = ModuleType("obp.policy.policy_type"), object()
    module.PolicyType = SimpleNamespace(CONTEXTUAL=kind)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "obp.policy.policy_type", module)
    assert ours.policy_type is kind
    assert (ours.policy_name, ours.n_actions, ours.len_list, ours.dim) == ("tacit_joint_linucb", ARMS, 1, FEATURES)
    assert "over 3 actions" in repr(ours)


def test_it_runs_in_the_real_simulator():
    simulator = pytest.importorskip("obp.simulator", reason="obp is not installed: protocol tests only")
    rounds, ours = 40, policy()
    feedback = {
        "n_rounds": rounds,
        "action": np.random.default_rng(1).integers(0, ARMS, rounds),
        "reward": np.random.default_rng(2).integers(0, 2, rounds),
        "position": np.zeros(rounds, dtype=int),
        "pscore": np.full(rounds, 1 / ARMS),
        "context": contexts(rounds),
    }
    found = simulator.run_bandit_simulation(bandit_feedback=feedback, policy=ours)
    assert found.shape == (rounds, ARMS, 1)
    assert ours._deployed.served == rounds
    assert ours._deployed.learner.diagnostics().expired > 0
