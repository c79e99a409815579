"""Files become logs, and what is wrong with a file is said in columns and counts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from tacit import features
from tacit.errors import BadInput, UnknownName
from tacit.replaying import Log, read_log

PLAIN = {
    "action": [0, 1, 2, 1],
    "reward": [1.0, 0.0, 0.5, 1.0],
    "propensity": [0.5, 0.25, 0.25, 0.3],
    "x_age": [20, 40, 60, 200],
    "x_member": [True, False, True, True],
}
OPEN_BANDIT = {
    "timestamp": ["t"] * 4,
    "item_id": [0, 2, 1, 2],
    "position": [1, 2, 3, 1],
    "click": [0, 1, 0, 0],
    "propensity_score": [0.25, 0.5, 0.25, 0.5],
    "user_feature_0": ["81ce", "4ae3", "81ce", "9bde"],
    "user-item_affinity_0": [0.0, 1.0, 0.0, 0.0],
}
ITEMS = {"item_id": [2, 0, 1], "item_feature_0": [3.0, 1.0, 2.0], "item_feature_1": ["shoe", "hat", "hat"]}


def file(folder, columns, name="log.csv", **changes):
    frame = pd.DataFrame({**columns, **changes})
    path = folder / name
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_plain_log_is_scaled_from_declared_bounds(tmp_path, name):
    log = read_log(file(tmp_path, PLAIN, name), low={"x_age": 0}, high={"x_age": 80})
    expected = np.array([[-0.5, 1, 1], [0, -1, 1], [0.5, 1, 1], [1, 1, 1]]) / math.sqrt(3)
    assert np.allclose(log.contexts, expected)
    assert log.actions.tolist() == [0, 1, 2, 1]
    assert log.propensities.tolist() == PLAIN["propensity"]
    assert (log.arms, log.dim, log.model) == (3, 9, "per-arm")
    assert any("1 feature values lay outside" in note for note in log.notes)
    assert any("3 actions was read from the log" in note for note in log.notes)


def test_the_layout_of_the_open_bandit_dataset_is_recognised(tmp_path):
    log = read_log(file(tmp_path, OPEN_BANDIT), items=file(tmp_path, ITEMS, "items.csv"), buckets=4)
    assert log.actions.tolist() == [0, 2, 1, 2]
    assert log.rewards.tolist() == [0, 1, 0, 0]
    assert log.contexts.shape == (4, 5)
    assert log.contexts[0].tolist() == log.contexts[2].tolist()
    assert np.allclose(np.linalg.norm(log.contexts, axis=1), 1)
    assert (log.arms, log.model) == (3, "shared")
    # Sorted by item: a number from the least to the largest, two words, and the constant.
    assert np.allclose(log.arm_features * math.sqrt(3), [[-1, 1, 0, 1], [0, 1, 0, 1], [1, 0, 1, 1]])
    assert any("3 positions are pooled" in note for note in log.notes)


def test_one_position_may_be_kept(tmp_path):
    log = read_log(file(tmp_path, OPEN_BANDIT), position=1, buckets=4, arms=3)
    assert log.actions.tolist() == [0, 2]


def test_a_word_gets_the_same_indicator_in_every_log(tmp_path):
    """The hash is public: it does not depend on what else is in the file."""
    whole = read_log(file(tmp_path, OPEN_BANDIT), buckets=8, arms=3)
    part = {name: values[1:] for name, values in OPEN_BANDIT.items()}
    assert np.array_equal(whole.contexts[1:], read_log(file(tmp_path, part), buckets=8, arms=3).contexts)


def test_a_uniform_log_needs_no_column_of_propensities(tmp_path):
    columns = {name: PLAIN[name] for name in ("action", "reward")}
    log = read_log(file(tmp_path, columns), propensity="uniform", arms=5)
    assert log.propensities.tolist() == [0.2] * 4
    assert np.array_equal(log.fixed_actions, np.eye(5))


def test_numbers_of_articles_are_names_and_not_places(tmp_path):
    log = read_log(file(tmp_path, PLAIN, action=[40_017, 90_001, 40_017, 55_555]), features=())
    assert (log.actions.tolist(), log.arms) == ([0, 2, 0, 1], 3)


BAD = {
    "no propensity": ({"propensity": None}, {}, r'column with the propensity .* say propensity="uniform"'),
    "missing values": ({"x_age": [1, None, 3, None]}, {}, "'x_age', got 2 of 4 rows without"),
    "words": ({"x_age": ["secret"] * 4}, {}, "Expected numbers in column 'x_age', got words. Say buckets=16"),
    "words as rewards": ({"reward": ["secret"] * 4}, {}, "Expected numbers in column 'reward'"),
    "a propensity of 0": ({"propensity": [0, 0.5, 1.5, 1]}, {}, "above 0 and at most 1, got 2 of 4"),
    "an endless reward": ({"reward": [1, math.inf, 0, 0]}, {}, "rewards to be finite numbers, got an infinity"),
    "an endless feature": ({"x_age": [1, math.inf, 0, 0]}, {}, "finite numbers in column 'x_age', got 1 of 4"),
    "too few arms": ({}, {"arms": 2}, "actions from 0 to 1 in column 'action', got 1 of 4"),
    "no bounds": ({}, {"low": None}, "declared low bound for column 'x_age'"),
    "bounds the wrong way round": ({}, {"low": 90}, "low < high for column 'x_age'"),
    "the reward as a feature": ({}, {"features": ["reward"]}, "got 'reward' for two of them"),
    "one arm": ({"action": [0] * 4}, {}, "arms >= 2"),
    "no positions": ({}, {"position": 1}, "Expected a column named position"),
    "shared without items": ({}, {"model": "shared"}, "Expected arm_features with the models shared"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_without_showing_a_value(tmp_path, case):
    changes, options, message = BAD[case]
    columns = {name: values for name, values in {**PLAIN, **changes}.items() if values is not None}
    with pytest.raises(BadInput, match=message) as caught:
        read_log(file(tmp_path, columns), **{"low": 0, "high": 80, **options})
    assert "secret" not in str(caught.value)


def test_a_column_that_is_not_there_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(UnknownName, match="Did you mean reward"):
        read_log(file(tmp_path, PLAIN), reward="rewards", low=0, high=80)


def test_only_tables_are_read(tmp_path):
    with pytest.raises(BadInput, match=r"ending in .csv or .parquet, got 'log.txt'"):
        read_log(tmp_path / "log.txt")
    with pytest.raises(BadInput, match="which is not there"):
        read_log(tmp_path / "log.csv")
    (tmp_path / "log.parquet").write_text("secret")
    with pytest.raises(BadInput, match="table in PARQUET") as caught:
        read_log(tmp_path / "log.parquet")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("model", ["per-arm", "shared", "hybrid"])
def test_one_action_of_a_row_is_the_one_among_all_of_them(model):
    rng = np.random.default_rng(1)
    contexts, items = rng.uniform(-0.5, 0.5, (6, 2)), rng.uniform(-0.5, 0.5, (3, 3))
    arms = np.array([0, 1, 2, 2, 1, 0])
    log = Log(
        actions=arms,
        rewards=np.zeros(6),
        propensities=np.ones(6),
        contexts=contexts,
        arms=3,
        arm_features=None if model == "per-arm" else items,
        model=model,
    )
    rows = np.arange(6)
    assert np.array_equal(log.taken(rows, arms), log.offers(rows)[rows, arms])
    assert log.offers(rows).shape == (6, 3, log.dim)
    assert log.taken(rows[:0], arms[:0]).shape == (0, log.dim)
    if model == "per-arm":
        assert np.array_equal(log.offers(rows), features.per_arm(contexts, 3))


def test_a_log_refuses_contexts_outside_the_unit_ball():
    with pytest.raises(BadInput, match="contexts no longer than 1, got 1 of 2"):
        Log(actions=[0, 1], rewards=[0, 0], propensities=[1, 1], contexts=[[0.5], [1.5]], arms=2)
