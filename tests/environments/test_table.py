"""A table as a world: rounds are its rows, the actions are public vectors, and the settings know the data."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from tacit.cli.options import build, read_settings
from tacit.core.verbs import pay, show
from tacit.data import NOT_PRIVATE
from tacit.environments.table import Table
from tacit.errors import BadInput, UnknownName
from tacit.noise import stream
from tests.data.tables import ROWS, labelled, offers
from tests.statistics.checks import LEVEL

from .test_sphere import shown


@pytest.fixture
def people(tmp_path):
    """A file of labelled rows, and the settings that read it."""
    path = tmp_path / "people.csv"
    labelled().to_csv(path, index=False)
    return {"data": str(path), "target": "bought", "low": 0.0, "high": 10.0, "categories": "colour=red|green|blue"}


@pytest.fixture
def visits(tmp_path):
    """A file of groups of actions, and the settings that read it."""
    path = tmp_path / "visits.parquet"
    offers().to_parquet(path)
    return {"data": str(path), "target": "click", "model": "actions", "group": "visit", "low": 0.0, "high": 1.0}


# What is shown ----------------------------------------


def test_a_pass_shows_every_row_once_with_its_own_class(people):
    config = Table(**people)
    source = stream(141)
    actions, means = shown(config.start(source), source, ROWS)
    contexts, rewards = config._prepared.contexts[:, 0], config._prepared.rewards
    width = contexts.shape[1]
    assert actions.shape == (ROWS, 2, 2 * width)
    seen = [int(np.flatnonzero((contexts == action[0, :width]).all(axis=1))[0]) for action in actions]
    assert sorted(seen) == list(range(ROWS))
    assert seen != sorted(seen)
    np.testing.assert_array_equal(means, rewards[seen])
    np.testing.assert_array_equal(actions[:, 1, width:], contexts[seen])
    assert not actions[:, 0, width:].any(), "outside its own block a class's action is zero"
    assert not actions[:, 1, :width].any()


def test_every_pass_is_whole_and_in_an_order_of_its_own_drawn_by_the_trial(people):
    config = Table(**people, intercept=False)

    def order(trial):
        source = stream(142, trial)
        actions, _ = shown(config.start(source), source, 3 * ROWS)
        return actions[:, 0, 0].reshape(3, ROWS)

    one, other = order(0), order(1)
    for passes in (one, other):
        for single in passes:
            np.testing.assert_array_equal(np.sort(single), np.sort(one[0]))
    different = [*one, *other]
    assert len({single.tobytes() for single in different}) == 6
    np.testing.assert_array_equal(one, order(0))


def test_all_orders_are_equally_likely():
    """χ² over which of 12 groups comes first; it errs with probability LEVEL = 1e-6."""
    firsts, wrong = _firsts(_shuffled), _firsts(_shuffled_off_by_one)
    assert stats.chisquare(firsts).pvalue > LEVEL
    assert stats.chisquare(wrong).pvalue < LEVEL


def _firsts(shuffle) -> np.ndarray:
    return np.bincount([shuffle(trial) for trial in range(1200)], minlength=12)


def _shuffled(trial: int) -> int:
    from tacit.environments.table import _shuffle

    order = np.arange(12)
    _shuffle(order, np.zeros(12), stream(143, trial))
    return int(order[0])


def _shuffled_off_by_one(trial: int) -> int:
    """The classic slip: a place is never swapped with itself (Sattolo)."""
    luck, order = np.random.default_rng(trial).random(12), np.arange(12)
    for i in range(11, 0, -1):
        other = int(luck[i] * i)
        order[i], order[other] = order[other], order[i]
    return int(order[0])


def test_the_actions_of_a_group_keep_their_rewards_and_the_right_one_stands_anywhere(visits):
    config = Table(**visits, intercept=False)
    source = stream(144)
    actions, means = shown(config.start(source), source, 600)
    frame = offers()
    by_hand = (frame[["price", "age"]].to_numpy() * 2 - 1) / math.sqrt(2)
    for action, mean in zip(actions[:36], means[:36], strict=True):
        rows = [int(np.abs(by_hand - one).sum(axis=1).argmin()) for one in action]
        np.testing.assert_allclose(by_hand[rows], action, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(frame["click"].to_numpy()[rows], mean)
        assert len({row // 3 for row in rows}) == 1, "actions of one round are of one group"
    # In the file it is always the first. χ² errs with probability LEVEL.
    assert stats.chisquare(np.bincount(means.argmax(axis=1), minlength=3)).pvalue > LEVEL


def test_an_action_pays_what_the_table_says(people):
    source = stream(145)
    world = Table(**people).start(source)
    for _ in range(5):
        show(world.params, world.slate, world.means, source)
        assert [pay(world.params, mean, source) for mean in world.means] == world.means.tolist()
        assert sorted(world.means) == [0.0, 1.0]


def test_trials_share_the_rows_and_nothing_that_changes(people):
    config = Table(**people)
    one, other = config.start(stream(146)).params, config.start(stream(146, 1)).params
    assert one.contexts is other.contexts
    assert one.rewards is other.rewards
    for name in ("order", "played", "luck"):
        assert not np.shares_memory(getattr(one, name), getattr(other, name))


def test_the_digits_are_the_default_and_a_linear_policy_can_learn_them():
    """Least squares on a pass of rounds, then greedy on a third of the next. An even choice is right in one of ten: the
    twin, whose rewards belong to other rounds, stays near it (600 rounds: above 0.2 with probability below 1e-12)."""
    assert Table().features == 10 * 65, "no projection unless asked"
    config = Table(projection=8)
    assert (config.features, config.count, config.rows) == (90, 10, 1797)
    assert config.actions == tuple("0123456789")
    source = stream(147)
    actions, means = shown(config.start(source), source, 1797 + 600)

    def right(rewards) -> float:
        seen = actions[:1797].reshape(-1, 90)
        theta = np.linalg.solve(seen.T @ seen + 1e-3 * np.eye(90), seen.T @ rewards.ravel())
        chosen = (actions[1797:] @ theta).argmax(axis=1)
        return float(means[1797:][np.arange(600), chosen].mean())

    assert right(means[:1797]) > 0.6
    assert right(np.roll(means[:1797], 1, axis=0)) < 0.2


# Settings ----------------------------------------


def test_settings_travel_as_json_and_know_the_data(people, visits):
    for config in (Table(), Table(**people), Table(**visits), Table(**people, columns=["age", "colour"], ignore=None)):
        settings = json.loads(json.dumps(config.to_dict()))
        assert settings["fingerprint"] == config.fingerprint
        assert len(config.fingerprint) == 64
        again = Table.from_dict(settings)
        assert again == config
        assert hash(again) == hash(config)
        assert again.to_dict() == config.to_dict()


def test_settings_of_a_file_that_has_changed_are_refused(people):
    settings = Table(**people).to_dict()
    labelled(seed=5).to_csv(people["data"], index=False)
    with pytest.raises(BadInput, match="the data has changed since"):
        Table.from_dict(settings)
    assert Table(**people).fingerprint != settings["fingerprint"]


def test_rows_do_not_travel_in_pickles_copies_and_reprs(people):
    config = Table(**people)
    packed = pickle.dumps(config)
    assert len(packed) < 1000
    assert pickle.loads(packed) == copy.copy(config) == copy.deepcopy(config) == config
    assert "array" not in repr(config)
    assert dataclasses.replace(config, data="digits", target="target", categories=None, low=None, high=None) == Table()


def test_options_can_be_written_on_a_command_line(people):
    words = [
        "--data",
        people["data"],
        "--target",
        "bought",
        "--low",
        "0;-5",
        "--high=10",
        "--columns",
        "colour,age,height",
    ]
    words += ["--categories", "colour=red|*", "--projection", "none", "--intercept", "no", "--missing", "no"]
    config = build(Table, read_settings(words, []), "")
    assert config.columns == ("colour", "age", "height")
    assert config.low == (0.0, -5.0)
    assert config.high == 10.0
    assert config.projection is None
    assert not config.missing
    assert config.features == 2 * 4


def test_notes_say_first_that_nothing_here_is_private(people):
    for config in (Table(), Table(**people)):
        assert config.raw
        assert config.notes[0] == NOT_PRIVATE
        assert "The unit of privacy is the round, not the row." in config.notes[-1]


def test_bounds_are_kept_by_every_action_and_reward(people, visits):
    for config in (Table(), Table(**people), Table(**visits)):
        source = stream(148)
        actions, means = shown(config.start(source), source, 50)
        bounds = config.bounds
        assert np.linalg.norm(actions, axis=2).max() <= bounds["action_norm"] + 1e-12
        assert bounds["reward_low"] <= means.min()
        assert means.max() <= bounds["reward_high"]
        if bounds["constants"]:
            np.testing.assert_allclose(actions[:, :, -1], bounds["constants"][0], rtol=1e-15)
    assert Table(**visits).bounds["constants"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": 3}, "got int"),
        ({"data": "nobody.csv"}, "'nobody.csv', which does not exist"),
        ({"target": ""}, "target=''"),
        ({"model": "shared"}, "model='shared'"),
        ({"model": "actions"}, "group=None"),
        ({"group": "target"}, "model='disjoint', group='target'"),
        ({"columns": ("pixel_0_1", "pixel_0_1")}, "each once"),
        ({"columns": 3}, "columns=3"),
        ({"ignore": ()}, "ignore=()"),
        ({"low": "zero"}, "low='zero'"),
        ({"low": float("nan")}, "low to be finite"),
        ({"high": (1.0, True)}, "high=True"),
        ({"low": 16, "high": 0}, "low=16.0, high=0.0"),
        ({"projection": 0}, "projection=0"),
        ({"missing": 1}, "missing=1"),
        ({"projection_seed": -1}, "projection_seed=-1"),
        ({"intercept": 1}, "intercept=1"),
        (
            {"target": "pixel_3_3", "low": 0, "high": 16},
            "at most 1000 features, got 1,105 (17 actions, 65 columns)",
        ),
    ],
)
def test_bad_settings_are_refused_with_the_value_in_the_message(changes, words):
    with pytest.raises(BadInput) as caught:
        Table(**changes)
    assert words in str(caught.value)


def test_an_unknown_target_is_answered_with_the_nearest_names(people):
    with pytest.raises(UnknownName, match="Did you mean bought"):
        Table(**{**people, "target": "buoght"})


def test_an_unknown_setting_is_refused_by_name():
    with pytest.raises(UnknownName, match="Did you mean projection"):
        Table.from_dict({"environment": "table", "projections": 3})
