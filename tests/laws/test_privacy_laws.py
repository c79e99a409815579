"""What must hold of every policy, for the sake of the people it learns from."""

from __future__ import annotations

import copy
import inspect
import io
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit._kernel import implementation
from tacit.core.learner import Learner
from tacit.core.round import ROWS, learn_round
from tacit.core.verbs import absorb, choose, encode, release
from tacit.errors import HorizonSpent, VaultSealed
from tacit.noise import refill, stream, tape
from tacit.privacy import gdp
from tacit.privacy.accountant import price

from .conftest import EXAMPLES, PRIVATE
from .runs import contents, play, same, slates


def test_accounted_cost_never_exceeds_the_promise(private_config):
    plan = private_config.plan()
    promise = private_config.promise
    assert price(plan.event) == plan.guarantee.mu
    assert plan.guarantee.epsilon_at(promise.delta) <= promise.epsilon
    assert gdp.delta_at(plan.guarantee.mu, promise.epsilon) <= promise.delta


def test_the_cost_law_rejects_a_twin_with_a_tenth_less_noise(private_config):
    plan = private_config.plan()
    twin = {**plan.event.__dict__, "scale": plan.event.scale * 0.9}
    cheaper = type(plan.event)(**twin)
    assert gdp.epsilon_at(price(cheaper), private_config.promise.delta) > private_config.promise.epsilon


def test_a_plan_spends_almost_all_of_its_promise(private_config):
    """Noise nobody asked for costs regret: within a ten-thousandth of the promised ε."""
    promise = private_config.promise
    assert private_config.guarantee.epsilon_at(promise.delta) >= promise.epsilon * (1 - 1e-4)


@pytest.mark.parametrize("config", [config for config in EXAMPLES if config not in PRIVATE], ids=repr)
def test_a_policy_without_privacy_says_so(config):
    assert "no privacy" in str(config.guarantee)
    assert "No privacy is promised" in config.card().text()


def test_every_verb_is_implemented_and_choose_is_not_given_the_vault(config):
    kind = type(config.plan().params)
    for verb in (choose, encode, absorb, release):
        assert implementation(verb, kind) is not None
    arguments = inspect.signature(implementation(choose, kind).py_func).parameters
    assert list(arguments) == ["params", "view", "slate", "noise"]


def test_choose_cannot_see_the_vault(config):
    """Scramble the vault: the same arms, as long as nothing is released."""
    learner, twin = config.start(seed=5), config.start(seed=5)
    for one in (learner, twin):
        play(one, 150, seed=5)
    rng = np.random.default_rng(1)
    for part in twin._vault:
        part[...] = rng.integers(-1000, 1000, part.shape)
    for actions in slates(50, 9, config.dim, seed=2):
        assert learner.choose(actions) == twin.choose(actions)


def test_choosing_changes_neither_vault_nor_view(config):
    learner = config.start(seed=3)
    play(learner, 120, seed=3)
    before = contents(learner)
    for actions in slates(20, 7, config.dim, seed=4):
        learner.choose(actions)
    assert same(before, contents(learner))


def test_a_learner_cannot_be_pickled_copied_or_printed_open(config):
    learner = config.start()
    secret = 0.123456789
    learner.learn(np.full(config.dim, secret), secret)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy, lambda it: pickle.Pickler(io.BytesIO()).dump(it)):
        with pytest.raises(VaultSealed, match="cannot be pickled or copied"):
            attempt(learner)
    shown = [repr(learner), str(learner), f"{learner}", str(learner.guarantee), learner.card().text()]
    shown.append(json.dumps(learner.card().to_dict()))
    assert not any("1234567" in text or "array" in text for text in shown)


def test_what_a_learner_shows_is_a_copy(config):
    learner = config.start(seed=1)
    play(learner, 60, seed=1)
    before = contents(learner)
    view = learner.view
    for part in view:
        with pytest.raises(ValueError, match="read-only"):
            part[...] = 0
    assert same(before, contents(learner))


def test_noise_comes_from_the_operating_system_unless_a_seed_is_given(private_config):
    rows = private_config.plan().params.times[0] if hasattr(private_config.plan().params, "times") else 1
    views = []
    for _ in range(2):
        learner = private_config.start()
        for _ in range(int(rows)):
            learner.learn(np.zeros(private_config.dim), 0.0)
        assert learner.view.stage[0] == 1
        views.append(learner.view.factor)
    assert not np.array_equal(views[0], views[1])
    assert not private_config.start().guarantee.seeded
    seeded = private_config.start(seed=7)
    assert seeded.guarantee.seeded
    for text in (str(seeded.guarantee), seeded.card().text()):
        assert "seeded: no privacy against anyone who knows the seed" in text


def test_noise_is_drawn_once_per_release_and_never_otherwise(private_config):
    plan = private_config.plan()
    size = private_config.dim * (private_config.dim + 1) // 2 + private_config.dim
    rows = min(plan.limit, 400)
    noise = tape(rows * size, 1)
    refill(noise, rows * size, 1)
    vault, view, report, x = plan.vault(), plan.view(), np.zeros(plan.report_size), np.zeros(private_config.dim)
    for _ in range(rows):
        learn_round(plan.params, vault, view, x, 0.0, report, noise)
        assert noise.at[0] == view.stage[0] * size
    assert view.stage[0] > 0
    assert np.isnan(noise.normals[: noise.at[0]]).all(), "noise that was used must not be readable again"


def test_a_horizon_is_never_overrun(private_config):
    """The last row is absorbed but not released where every row has its own release; then everything is refused."""
    config = private_config
    limit = 300
    if hasattr(config, "horizon"):
        config = type(config).from_dict({**config.to_dict(), "horizon": limit})
    learner = config.start(seed=2)
    play(learner, limit, seed=2)
    before = contents(learner)
    with pytest.raises(HorizonSpent, match="300 rounds are served"):
        learner.choose(np.eye(config.dim))
    with pytest.raises(HorizonSpent, match="300 rows are learned"):
        learner.learn(np.zeros(config.dim), 0.0)
    assert same(before, contents(learner))
    event = config.plan().event
    most = limit - 1 if hasattr(event, "nodes") else event.releases
    assert learner.view.stage[0] <= most


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_comes_in_one_row_weighs_at_most_its_declared_sensitivity(data):
    """Replace one row by any other, however large: in units of the symmetric noise the sums move by ≤ the event's."""
    config = data.draw(st.sampled_from(PRIVATE))
    numbers = st.floats(min_value=-1e100, max_value=1e100)
    plan = config.plan()
    sums = []
    for _ in range(2):
        x = np.array(data.draw(st.lists(numbers, min_size=config.dim, max_size=config.dim)))
        vault, report = plan.vault(), np.zeros(plan.report_size)
        encode(plan.params, x, data.draw(numbers), report, stream(1))
        absorb(plan.params, vault, report)
        sums.append(vault.sums.copy())
    change = (sums[0] - sums[1]) ** 2
    dim = config.dim
    diagonal = np.cumsum([0, *range(dim, 1, -1)])
    change[diagonal] /= 2
    assert np.sqrt(change.sum()) <= plan.event.sensitivity * (1 + 1e-9)


def test_the_sensitivity_is_attained(private_config):
    """Orthogonal rows at full length with opposite rewards: the bound is not slack."""
    plan = private_config.plan()
    dim, bounds = private_config.dim, plan.params.bounds
    unit = np.eye(dim) * bounds.action_norm
    cosine = min(1.0, (bounds.reward_scale * bounds.reward_bound / bounds.action_norm) ** 2)
    other = cosine * unit[0] + np.sqrt(1 - cosine**2) * unit[1]
    sums = []
    for x, reward in ((unit[0], bounds.reward_bound), (other, -bounds.reward_bound)):
        vault, report = plan.vault(), np.zeros(plan.report_size)
        encode(plan.params, x, reward, report, stream(1))
        absorb(plan.params, vault, report)
        sums.append(vault.sums.copy())
    change = (sums[0] - sums[1]) ** 2
    change[np.cumsum([0, *range(dim, 1, -1)])] /= 2
    assert np.sqrt(change.sum()) == pytest.approx(plan.event.sensitivity, rel=1e-9)


def test_rows_are_counted_by_learn_alone(config):
    learner = config.start(seed=1)
    for actions in slates(5, 3, config.dim, seed=1):
        learner.choose(actions)
    assert learner._vault.counters[ROWS] == 0
    learner.learn(np.zeros(config.dim), 0.0)
    assert learner.diagnostics().rows == 1


def test_diagnostics_are_marked_as_vault():
    assert "VAULT" in Learner.diagnostics.__doc__ or "vault" in Learner.diagnostics.__doc__
    from tacit.core.learner import Diagnostics

    assert Diagnostics.__doc__.startswith("VAULT")
