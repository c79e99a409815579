"""Runs survive an interruption; what is damaged or of another making is not used."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import tacit
from tacit import reproduce
from tacit.environments import Sphere
from tacit.errors import Interrupted
from tacit.simulation import Job, engine, simulate, store
from tacit.simulation.store import Damaged, Store, key
from tests.reproduce.tiny import TINY

pytestmark = pytest.mark.usefixtures("undrawn")

NAME = "joint-dp/figure-2"
JOB = Job(tacit.LinUCB(dim=3), Sphere(dim=3), 100, 2, 1, "one")


def again(folder, **options):
    said = []
    outcome = reproduce.run(
        NAME, scale=TINY[NAME], output=folder, threads=1, progress=False, say=said.append, **options
    )
    return outcome, "\n".join(said)


def kept(folder):
    made = simulate(JOB.config, JOB.environment, JOB.rounds, JOB.trials, JOB.seed)
    return made, Store(folder).keep(JOB, made)


def test_a_stopped_experiment_goes_on_where_it_stopped(tmp_path, monkeypatch):
    real, calls = Store.keep, []

    def keep(self, job, result):
        place = real(self, job, result)
        calls.append(job.name)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return place

    simulated = engine._trial

    def trial(one, rounds, number, stop, bar):
        if rounds and one.job.environment.reward_noise == "sign":
            stop.wait(60)  # a long second run: the first is stored, and then somebody presses Ctrl-C
        return simulated(one, rounds, number, stop, bar)

    monkeypatch.setattr(Store, "keep", keep)
    monkeypatch.setattr(engine, "_trial", trial)
    with pytest.raises(Interrupted, match=r"1 of 4 runs are stored in .*The same command goes on from there"):
        again(tmp_path)
    monkeypatch.undo()
    stored = len(list((tmp_path / "runs").glob("*/run.json")))
    assert stored == 1
    assert not (tmp_path / "figure-2").exists()
    outcome, said = again(tmp_path)
    assert f"{stored} of 4 runs found from before" in said
    assert outcome.found == stored
    fresh, _ = again(tmp_path / "other")
    assert outcome.table == fresh.table, "a resumed experiment has the numbers of one that was not stopped"


def test_fresh_ignores_what_was_stored(tmp_path):
    again(tmp_path)
    assert again(tmp_path)[0].found == 4
    assert again(tmp_path, fresh=True)[0].found == 0


def test_a_damaged_run_is_noticed_and_made_again(tmp_path):
    first, _ = again(tmp_path)
    path = next((tmp_path / "runs").glob("*/curves.npz"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    second, said = again(tmp_path)
    assert "1 stored run was damaged and will be made again" in said
    assert second.found == 3
    assert second.table == first.table
    assert again(tmp_path)[0].found == 4


def test_a_stored_run_comes_back_to_the_bit(tmp_path):
    made, _ = kept(tmp_path)
    back = Store(tmp_path).find(JOB)
    assert back.same_sources
    np.testing.assert_array_equal(back.result.curves, made.curves)
    np.testing.assert_array_equal(back.result.counters, made.counters)
    assert back.result.guarantee == made.guarantee
    assert back.result.seconds == made.seconds


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"digest": 1}'])
def test_facts_that_are_none_are_damage(tmp_path, content):
    _, place = kept(tmp_path)
    (place / "run.json").write_bytes(content)
    with pytest.raises(Damaged):
        Store(tmp_path).find(JOB)


@pytest.mark.parametrize("lost", ["run.json", "curves.npz"])
def test_half_a_run_is_no_run(tmp_path, lost):
    _, place = kept(tmp_path)
    (place / lost).unlink()
    with pytest.raises(Damaged):
        Store(tmp_path).find(JOB)


def test_settings_in_the_file_must_be_those_of_the_job(tmp_path):
    _, place = kept(tmp_path)
    facts = json.loads((place / "run.json").read_text("utf-8"))
    facts["settings"]["seed"] += 1
    (place / "run.json").write_text(json.dumps(facts), "utf-8")
    with pytest.raises(Damaged):
        Store(tmp_path).find(JOB)


def test_whatever_changes_the_numbers_changes_the_key(monkeypatch):
    others = [
        dataclasses.replace(JOB, seed=2),
        dataclasses.replace(JOB, rounds=101),
        dataclasses.replace(JOB, trials=3),
        dataclasses.replace(JOB, config=tacit.LinUCB(dim=3, ridge=2.0)),
        dataclasses.replace(JOB, environment=Sphere(dim=3, gap=0.2)),
    ]
    keys = {key(job) for job in (JOB, *others)}
    assert len(keys) == 6
    assert key(dataclasses.replace(JOB, label="another")) == key(JOB), "a label changes no number"
    monkeypatch.setattr(store, "__version__", "0.0.0")
    assert key(JOB) not in keys


def test_params_that_were_worked_out_differently_change_the_key(monkeypatch):
    before = key(JOB)
    real = tacit.LinUCB.plan

    def plan(self):
        made = real(self)
        estimate = made.params.estimate
        moved = estimate._replace(noise_level=estimate.noise_level + 1e-9)
        return dataclasses.replace(made, params=made.params._replace(estimate=moved))

    monkeypatch.setattr(tacit.LinUCB, "plan", plan)
    assert key(JOB) != before


def test_runs_of_edited_sources_are_used_and_pointed_out(tmp_path, monkeypatch):
    again(tmp_path)
    monkeypatch.setattr(store, "sources", lambda: "edited")
    outcome, _ = again(tmp_path)
    assert (outcome.found, outcome.edited) == (4, 4)
    assert any("before its sources were edited" in note for note in outcome.notes)


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def refuse(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        store.write_whole(tmp_path / "file", b"content")
    assert not list(tmp_path.iterdir())
