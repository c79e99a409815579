"""The laws of learners of functions hold for every example of each of them, without special cases."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput, BudgetSpent, HorizonSpent, VaultSealed
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS
from tacit.privacy.accountant import price, theorem_for

EXAMPLES = [config for kind in FUNCTIONS.values() for config in kind.examples()]
PRIVATE = [config for config in EXAMPLES if config.guarantee.private]


def name(config) -> str:
    """What a test calls an example."""
    return f"{config.slug}-{type(config).examples().index(config)}"


@pytest.fixture(params=EXAMPLES, ids=name)
def config(request):
    """Each example of each learner of functions."""
    return request.param


@pytest.fixture(params=PRIVATE, ids=name)
def private_config(request):
    """Each example that promises privacy."""
    return request.param


def records(config, count: int, seed: int = 1):
    """Actions, rewards and contexts inside their boxes."""
    rng = np.random.default_rng(seed)
    actions = config.actions.uniform(rng, count)
    contexts = None if config.context_box is None else tacit.kernels.Box(config.context_box).uniform(rng, count)
    low, high = (-1.0, 1.0) if config.reward_low is None else (config.reward_low, config.reward_high)
    return actions, rng.uniform(low, high, count), contexts


def taught(config, seed=1, count: int = 40):
    learner = config.start(seed=seed)
    learner.learn_many(*records(config, count))
    return learner


def one_context(config):
    return None if config.context_box is None else np.full(config.context_dim, 0.4)


def test_a_name_means_one_policy():
    assert not set(CATALOGUE) & set(FUNCTIONS)
    for kind in FUNCTIONS.values():
        assert getattr(tacit, kind.__name__) is kind


def test_a_policy_says_of_itself_what_its_guarantee_says(config):
    assert config.trust is config.guarantee.trust
    assert config.protects is config.guarantee.protects


def test_accounted_cost_never_exceeds_the_promise(private_config):
    plan = private_config.plan()
    assert private_config.promise.kept(plan.guarantee)
    assert private_config.card().keeps_its_claim
    assert plan.paths
    for path in plan.paths:
        assert private_config.promise.kept(path.guarantee)
        if path.event is None:
            assert path.guarantee == plan.guarantee
        elif path.guarantee.mu is None:
            assert path.guarantee.theorem == theorem_for(path.event)
        else:
            assert 0.9999 * path.guarantee.mu <= price(path.event) <= path.guarantee.mu, (
                "a ledger may let a little more"
            )


def test_what_a_card_says_of_all_paths_is_true_of_each(private_config):
    card = private_config.card()
    for path in card.paths:
        assert path.guarantee.power(0.05) <= card.guarantee.power(0.05) * (1 + 1e-12)
        for delta in card.deltas:
            assert path.guarantee.epsilon_at(delta) <= card.guarantee.epsilon_at(delta) * (1 + 1e-12)


def test_what_was_spent_stays_within_what_the_card_of_the_learner_says(private_config):
    learner = taught(private_config)
    before = learner.guarantee
    if getattr(private_config, "form", "features") == "exact":
        learner.predict_once(one_context(private_config), private_config.epsilon)
    else:
        learner.release_function()
    card = learner.card()
    assert card.guarantee == learner.guarantee
    assert len(card.paths) == 1
    assert private_config.promise.kept(card.guarantee)
    assert card.guarantee.power(0.05) <= before.power(0.05) * (1 + 1e-12)
    if card.spent is not None:
        assert len(card.spent.events) == 1
        assert card.spent.epsilon <= private_config.epsilon


def test_a_policy_without_privacy_says_so(config):
    if config not in PRIVATE:
        assert "No privacy is promised" in config.card().text()


def test_planning_twice_gives_the_same_plan(config):
    assert config.plan() == config.plan()


def test_a_configuration_travels_as_a_dictionary(config):
    assert type(config).from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_the_same_seed_is_the_same_learner_and_another_is_not(config):
    arms = [[*map(float, taught(config, seed).choose(one_context(config)))] for seed in (1, 1, 2)]
    assert arms[0] == arms[1]
    assert arms[0] != arms[2] or config.slug == "gp-ucb", "which draws nothing"


def test_a_learner_cannot_be_pickled_copied_or_printed_open(config):
    learner = taught(config)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(VaultSealed):
            attempt(learner)
    assert "array" not in repr(learner)


@pytest.mark.parametrize("config", [one for one in EXAMPLES if one.horizon is not None], ids=name)
def test_a_horizon_is_never_overrun(config):
    learner = config.start(seed=1)
    learner.learn_many(*records(config, config.records))
    with pytest.raises(HorizonSpent):
        learner.learn_many(*records(config, 1))


def test_records_of_another_shape_are_refused_whole(config):
    learner = taught(config)
    actions, rewards, contexts = records(config, 3)
    for spoiled in ((actions, rewards[:2], contexts), (np.zeros((3, 7)), rewards, contexts)):
        with pytest.raises(BadInput):
            learner.learn_many(*spoiled)
    assert learner.diagnostics().rows == 40


def copied(given):
    return [part if part is None else part.copy() for part in given]


def spoiled_records(config, bad: float):
    """Blocks of three records, of which the second has a bad number somewhere."""
    for part in range(2 if config.context_box is None else 3):
        found = copied(records(config, 3))
        found[part][1] = bad
        yield found


def the_middle(config):
    """The action, reward and context that a record without numbers counts as."""
    reward = 0.0 if config.reward_low is None else (config.reward_low + config.reward_high) / 2
    context = None if config.context_box is None else tacit.kernels.Box(config.context_box).centre
    return config.actions.centre, reward, context


def answer(learner):
    """What is let out: everything that may depend on its records, the number of them included."""
    config, context = learner.config, one_context(learner.config)
    if config.form == "exact":
        return [learner.predict_once(context, config.epsilon).tolist()]
    function = learner.release_function()
    return [function.rows, function.predict(context, config.grid).tolist()]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e101])
def test_a_record_with_a_number_that_is_none_is_one_in_the_middle_of_everything(config, bad):
    """It was refused with its block, so that the number of records, which is published, said what was in them."""
    for given in spoiled_records(config, bad):
        learner, like, before = taught(config), taught(config), copied(given)
        learner.learn_many(*given)
        for mine, theirs in zip(before, given, strict=True):
            assert mine is theirs is None or np.array_equal(mine, theirs, equal_nan=True), "the caller's own"
        for part, middle in zip(given, the_middle(config), strict=True):
            if part is not None:
                part[1] = middle
        like.learn_many(*given)
        assert learner.diagnostics().rows == 43
        assert learner.diagnostics().unfit == 1
        assert like.diagnostics().unfit == 0
        assert answer(learner) == answer(like)


def test_one_record_alone_is_taken_whatever_is_in_it(config):
    learner, like = taught(config), taught(config)
    action, reward, context = the_middle(config)
    learner.learn(action + 0.1, float("nan"), one_context(config))
    learner.learn(action * np.nan, 0.5, one_context(config))
    for _ in range(2):
        like.learn(action, reward, context)
    assert learner.diagnostics().unfit == 2
    assert answer(learner) == answer(like)


def test_what_leaves_twice_is_refused_or_is_the_same(private_config):
    """The whole promise, spent in the one way there is: then nothing new leaves."""
    learner, context = taught(private_config), one_context(private_config)
    if getattr(private_config, "form", "features") == "exact":
        learner.predict_once(context, private_config.epsilon)
        with pytest.raises(BudgetSpent):
            learner.predict_once(context, private_config.epsilon)
        return
    first = learner.release_function().predict(context, private_config.grid)
    try:
        second = learner.release_function().predict(context, private_config.grid)
    except BudgetSpent:
        return
    assert np.array_equal(first, second), "noise that was drawn anew for the same sums"


def test_what_was_released_may_be_asked_for_ever(config):
    if getattr(config, "form", "features") == "exact":
        with pytest.raises(BadInput, match="predict_once"):  # which releases single predictions only
            taught(config).release_function()
        return
    function = taught(config).release_function()
    context, actions = one_context(config), config.grid
    first = function.predict(context, actions)
    assert first.shape == (len(actions),)
    assert np.array_equal(first, function.predict(context, actions))
    assert function.best(context, actions) == function.rank(context, actions)[0]
    assert function.guarantee.private == config.guarantee.private


def test_noise_comes_from_the_operating_system_unless_a_seed_is_given(private_config):
    assert not private_config.start().guarantee.seeded
    assert private_config.start(seed=1).guarantee.seeded
    if getattr(private_config, "form", "features") == "exact":
        return
    values = [
        taught(private_config, None).release_function().predict(one_context(private_config), private_config.grid)
        for _ in range(2)
    ]
    assert not np.array_equal(*values)
