"""Tables that other packages bring with them."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit
import tacit.data
from tacit.data import INSTALLED, actg175, installed, load, movielens
from tacit.data.trial import TREATMENTS
from tacit.environments import Table
from tacit.errors import BadInput, UnknownName
from tests.data import packages

#: Where each set is read from.
PACKAGE = {"actg175": "lifelines", "movielens": "recbole"}


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    return packages.installed(monkeypatch, tmp_path)


def real(name):
    """Skip where the package is not installed."""
    try:
        return load(name)
    except BadInput:
        pytest.skip(f"{PACKAGE[name]} is not installed: `pip install --no-deps {PACKAGE[name]}`")


def test_every_set_is_read_from_a_package_that_is_named_here():
    assert set(PACKAGE) == set(INSTALLED)


@pytest.mark.parametrize("name", INSTALLED)
def test_a_package_that_is_not_installed_is_named_in_one_line(monkeypatch, name):
    monkeypatch.setattr(installed, "find_spec", lambda package: None)
    with pytest.raises(BadInput, match=f"pip install --no-deps {PACKAGE[name]}") as refusal:
        load(name)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "file"),
    [("actg175", "lifelines/datasets/ACTG175.csv"), ("movielens", "recbole/dataset_example/ml-100k/ml-100k.inter")],
)
def test_a_package_without_the_file_says_so(made_up, name, file):
    (made_up / file).unlink()
    with pytest.raises(BadInput, match="a version of it without"):
        load(name)


def test_a_file_with_other_columns_is_refused_by_their_names(made_up):
    file = made_up / "lifelines/datasets/ACTG175.csv"
    packages.trial().drop(columns=["cd420", "arms"]).to_csv(file)
    with pytest.raises(BadInput, match="none named arms, cd420"):
        actg175()


@pytest.mark.parametrize("name", INSTALLED)
def test_a_package_is_read_and_neither_run_nor_fetched(made_up, monkeypatch, name):
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("asked the network"))
    monkeypatch.delitem(sys.modules, PACKAGE[name], raising=False)
    raw = load(name)  # the package raises when it is imported
    assert PACKAGE[name] not in sys.modules
    assert not raw.own
    assert len(raw.fingerprint) == 64


def test_another_file_or_another_cut_has_another_fingerprint(made_up):
    before = movielens().fingerprint
    assert movielens(slate=4).fingerprint != before
    with (made_up / "recbole/dataset_example/ml-100k/ml-100k.user").open("a") as file:
        file.write("99\t40\tM\tdoctor\t00000\n")
    tacit.data.ratings._read.cache_clear()  # a package does not change while a process runs
    assert movielens().fingerprint != before


def test_a_name_that_is_nearly_one_is_answered_with_it():
    with pytest.raises(UnknownName, match="movielens"):
        load("movielenz")


def test_licences_stand_beside_what_is_read():
    page = (Path(tacit.data.__file__).parent / "README.md").read_text("utf-8")
    for word in (*INSTALLED, *PACKAGE.values(), "GroupLens", "speff2trial", "MIT"):
        assert word in page


# --- the trial ------------------------------------------------------------------------------------------------------


def test_the_reward_is_the_change_of_the_count_between_bounds(made_up):
    frame = actg175().frame.sort_values("person").reset_index(drop=True)
    # By 20 cells more for each number of the arm: a twentieth of 400, from the middle.
    assert np.allclose(frame["reward"][1:], 0.5 + frame["action"][1:] / 20)
    assert frame["reward"][0] == 1  # clipped
    assert (frame["propensity"] == 1 / len(TREATMENTS)).all()


def test_nothing_that_came_after_the_lot_is_among_the_features(made_up):
    source = packages.trial()
    raw = actg175()
    told = [name for name in raw.frame.columns if name.startswith("x_")]
    assert set(raw.bounds) == set(told)
    later = source.set_index("pidnum")["cd420"].loc[raw.frame["person"]].to_numpy()
    assert not any(np.array_equal(raw.frame[name], later) for name in told)


def test_the_order_of_the_trial_depends_on_ids_alone(made_up):
    before = actg175().frame
    file = made_up / "lifelines/datasets/ACTG175.csv"
    packages.trial().iloc[::-1].assign(cd420=300).to_csv(file)
    tacit.data.trial._read.cache_clear()
    after = actg175().frame
    assert after["person"].tolist() == before["person"].tolist()
    assert before["person"].tolist() != sorted(before["person"])
    assert not np.array_equal(before["reward"], after["reward"])


def test_the_trial_is_a_log_by_name(made_up):
    log = tacit.read_log("actg175")
    assert (len(log), log.arms, log.contexts.shape[1]) == (60, 4, 14)
    # All four arms together are certain.
    assert [log.propensities[log.actions == arm][0] for arm in range(4)] == [0.25] * 4
    assert np.linalg.norm(log.contexts, axis=1).max() <= 1 + 1e-12
    assert sorted(log.persons) == list(range(60))  # numbered: no id of the trial is kept
    few = tacit.read_log(Path("actg175"), features=["x_cd4"], low={"x_cd4": 200}, high={"x_cd4": 500})
    assert few.contexts.shape[1] == 2
    assert tacit.read_log("actg175", features=()).fixed_actions is not None


def test_a_bound_declared_for_one_column_leaves_the_others(made_up):
    usual, other = tacit.read_log("actg175"), tacit.read_log("actg175", high={"x_age": 200})
    changed = np.any(usual.contexts != other.contexts, axis=0)
    assert changed.tolist() == [True] + [False] * 13


def test_the_real_trial_is_all_there():
    raw = real("actg175")
    assert np.bincount(raw.frame["action"]).tolist() == [532, 522, 524, 561]  # as published
    assert raw.frame["person"].is_unique
    assert raw.frame.notna().all().all()
    assert raw.frame["reward"].between(0, 1).all()
    means = raw.frame.groupby("action")["reward"].mean()
    assert means.idxmin() == 0  # zidovudine alone: what the trial found
    beyond = [~raw.frame[name].between(low, high) for name, (low, high) in raw.bounds.items()]
    assert np.mean(np.any(beyond, axis=0)) < 0.01


# --- the ratings ----------------------------------------------------------------------------------------------------


def test_a_visit_is_films_of_one_person_in_the_order_of_time(made_up):
    frame = movielens(slate=3, visits=4).frame
    visits = frame.groupby("round")
    assert (visits.size() == 3).all()
    assert (visits["person"].min() == visits["person"].max()).all()
    counts = visits["person"].first().value_counts()
    # Of 2·p + 4 films in threes, and no more than four.
    assert counts.sort_index().tolist() == [min((2 * person + 4) // 3, 4) for person in range(1, packages.PEOPLE + 1)]
    for _, visit in visits:
        assert np.diff(visit["film"]).tolist() == [1, 1]  # the films were rated in the order of their numbers
    assert (frame["target"] == np.where(frame["film"] % 2 == 0, 1, -1)).all()
    # Rounds end in the order of time, which is that of their last films and then of persons.
    last = frame.groupby("round").last()
    assert (1_000 * last["film"] + last["person"]).is_monotonic_increasing


def test_the_order_of_the_file_does_not_matter(made_up):
    before = movielens(slate=3).frame
    file = made_up / "recbole/dataset_example/ml-100k/ml-100k.inter"
    packages.ratings()["inter"].iloc[::-1].to_csv(file, sep="\t", index=False)
    tacit.data.ratings._read.cache_clear()
    pd.testing.assert_frame_equal(before, movielens(slate=3).frame)


def test_facts_of_films_and_people_and_their_products_are_told(made_up):
    frame = movielens().frame
    found = frame[(frame["person"] == 12) & (frame["film"] == 2)].iloc[0]
    # Film 2: a year that cannot be read, and genres of the made-up package. Person 12: 31 years old, and not "M".
    assert (found["year"], found["animation"], found["drama"], found["war"]) == (1989, 1, 1, 0)
    assert (found["age"], found["male"], found["occupation"]) == (31, 0, "writer")
    assert (found["drama_by_male"], found["war_by_male"]) == (-1, 0)
    assert found["drama_by_age"] == pytest.approx(31 / 40 - 1)
    assert "none" in set(frame["occupation"])  # a word, and no hole


@pytest.mark.parametrize("options", [{"slate": 1}, {"visits": 0}, {"slate": 1_000}])
def test_a_visit_that_cannot_be_is_refused(made_up, options):
    with pytest.raises(BadInput, match="Expected"):
        movielens(**options)


def test_visits_are_a_world_by_name(made_up):
    world = Table(data="movielens", model="actions", group="round", columns="year,drama,comedy", projection=None)
    assert (world.count, world.features) == (5, 4)
    assert any("built-in bounds" in note for note in world.notes)
    config = tacit.JointLinUCB(dim=world.features, epsilon=1.0, delta=1e-6, person_rounds=10)
    assert tacit.simulate(config, world, rounds=world.rows, trials=2, seed=1).trials == 2


def test_the_real_visits_are_of_everybody_and_nobody_comes_too_often():
    raw = real("movielens")
    visits = raw.frame.groupby("person")["round"].nunique()
    assert (len(visits), visits.min(), visits.max()) == (943, 4, 10)
    assert set(raw.frame["target"]) == {-1.0, 1.0}
    assert raw.frame.notna().all().all()
    years = raw.frame["year"]
    assert (years < raw.bounds["year"][0]).mean() < 0.2
    others = {name: bounds for name, bounds in raw.bounds.items() if name != "year"}
    for name, (low, high) in others.items():
        assert raw.frame[name].between(low, high).all(), name
