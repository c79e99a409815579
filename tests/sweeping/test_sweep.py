"""Sweeps on threads: stored run by run, readable on the way, resumed to the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from tacit.cli import main
from tacit.data import NOT_PRIVATE
from tacit.errors import BadInput, Interrupted
from tacit.simulation import engine, simulate
from tacit.simulation.store import Store
from tacit.sweeping import folder as folders
from tacit.sweeping import sweep
from tacit.sweeping.folder import Folder
from tests.sweeping.specs import WORLD, write


def swept(spec, folder, **options):
    return sweep(spec, output=folder, progress=False, **options)


def test_each_run_is_the_one_that_simulate_gives(tmp_path):
    found = swept(write(tmp_path), tmp_path / "out")
    assert found.complete
    for run, result in zip(found.runs, found.results, strict=True):
        alone = simulate(run.job.config, run.job.environment, 200, 2, run.job.seed, progress=False)
        np.testing.assert_array_equal(result.curves, alone.curves)
    frame = pd.read_parquet(tmp_path / "out" / "table.parquet")
    pd.testing.assert_frame_equal(frame, found.to_pandas())
    assert list(frame["status"]) == ["done"] * 6
    assert list(frame["regret"]) == [result.regret_mean for result in found.results]
    assert (tmp_path / "out" / "spec.toml").read_bytes() == (tmp_path / "small.toml").read_bytes()
    assert "6 of 6 runs done" in found.text()


def test_epsilon_in_the_table_is_accounted_and_stands_beside_what_was_asked(tmp_path):
    policy = '[[policy]]\nname = "online-linucb"\ncalibration = "published"\nepsilon = 10\ndelta = 0.1\n'
    path = tmp_path / "published.toml"
    path.write_text("rounds = 20\ntrials = 1\n" + policy + WORLD, "utf-8")
    [record] = swept(path, tmp_path / "out", run=False).records
    assert record["epsilon_asked"] == 10
    assert record["epsilon"] == pytest.approx(26.95, abs=0.01)
    assert record["delta"] == 0.1


def test_a_stopped_sweep_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    spec = write(tmp_path)
    simulated, real, kept = engine._trial, Store.keep, []

    def trial(one, rounds, number, stop, bar):
        if rounds and one.job.config.slug == "randomised-response":
            stop.wait(60)  # the long ones, in the midst of which somebody presses Ctrl-C
        return simulated(one, rounds, number, stop, bar)

    def keep(self, job, result):
        place = real(self, job, result)
        kept.append(job.name)
        if len(kept) == 2:
            raise KeyboardInterrupt
        return place

    monkeypatch.setattr(engine, "_trial", trial)
    monkeypatch.setattr(Store, "keep", keep)
    with pytest.raises(Interrupted, match=r"2 of 6 runs done, 4 waiting in .*The same command goes on from there"):
        swept(spec, tmp_path / "out")
    monkeypatch.undo()
    stopped = pd.read_csv(tmp_path / "out" / "table.csv")
    assert list(stopped["status"]) == ["done"] * 2 + ["waiting"] * 4
    assert json.loads((tmp_path / "out" / "progress.json").read_text("utf-8"))["state"] == "stopped"
    resumed, fresh = swept(spec, tmp_path / "out"), swept(spec, tmp_path / "other")
    assert (resumed.found, fresh.found) == (2, 0)
    for name in ("table.csv", "table.parquet"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_what_has_finished_can_be_read_while_the_rest_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_PACE", 0.0)
    monkeypatch.setattr(folders, "_SHARE", 1e9)
    seen, real = [], Folder.write

    def watched(self, *facts, **how):
        real(self, *facts, **how)
        table = pd.read_csv(self.path / "table.csv")
        done = table[table["status"] == "done"]
        assert done["regret"].notna().all()
        assert len(table) == 6, "runs that wait are there too, in the order of the file"
        assert len(swept(spec, self.path, run=False).frame().query("status == 'done'")) == len(done)
        seen.append(len(done))

    spec = write(tmp_path)
    monkeypatch.setattr(Folder, "write", watched)
    swept(spec, tmp_path / "out", threads=1)
    assert seen == [0, 1, 2, 3, 4, 5, 6, 6]


def test_a_changed_file_keeps_the_runs_that_still_fit(tmp_path):
    swept(write(tmp_path), tmp_path / "out")
    more = swept(
        write(tmp_path, '[[environment]]\nname = "sphere"\nlabel = "hard"\ndim = 3\narms = 9\n'), tmp_path / "out"
    )
    assert (more.found, len(more.runs)) == (6, 12)
    text = write(tmp_path).read_text("utf-8").replace("seeds = [1, 2]", "seeds = [2]")
    (tmp_path / "small.toml").write_text(text, "utf-8")
    fewer = swept(tmp_path / "small.toml", tmp_path / "out")
    assert (fewer.found, len(fewer.runs)) == (3, 3)
    assert swept(tmp_path / "small.toml", tmp_path / "out", fresh=True).found == 0


def test_the_same_run_described_twice_is_made_once(tmp_path, monkeypatch):
    kept, real = [], Store.keep
    monkeypatch.setattr(Store, "keep", lambda self, job, result: (kept.append(job.name), real(self, job, result))[1])
    spec = {
        "rounds": 50,
        "trials": 1,
        "policy": [{"name": "linucb", "label": "a"}, {"name": "linucb", "label": "b", "ridge": 1.0}],
        "environment": [{"name": "sphere", "dim": 3, "arms": 4}],
    }
    found = swept(spec, tmp_path / "out")
    assert len(kept) == 1
    assert list(found.frame()["label"]) == ["a", "b"]
    assert found.records[0]["regret"] == found.records[1]["regret"]


def test_a_run_that_is_refused_costs_no_other(tmp_path, capsys):
    short = '[[policy]]\nname = "joint-linucb"\nlabel = "short"\nhorizon = 5\nreleases = "tree"\n'
    path = write(tmp_path, short + "epsilon = 1\ndelta = 1e-6\n")
    words = ["sweep", str(path), "--output", str(tmp_path / "out"), "--threads", "1"]
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert "6 of 8 runs done, 2 failed" in shown
    assert "failed: short in sphere, seed 1: Expected at most 5 rounds, got rounds=200" in shown
    assert list(pd.read_csv(tmp_path / "out" / "table.csv")["status"]).count("failed") == 2


def test_a_run_that_breaks_on_the_way_costs_no_other(tmp_path, monkeypatch):
    simulated = engine._trial

    def trial(one, rounds, number, stop, bar):
        if rounds and one.job.name == "randomised-response epsilon=1":
            raise RuntimeError("something unforeseen")
        return simulated(one, rounds, number, stop, bar)

    monkeypatch.setattr(engine, "_trial", trial)
    found = swept(write(tmp_path), tmp_path / "out")
    assert list(found.frame()["status"]) == ["done", "done", "failed", "failed", "done", "done"]
    assert set(found.problems.values()) == {"RuntimeError: something unforeseen"}


def test_two_sweeps_in_one_folder_are_refused(tmp_path):
    spec = write(tmp_path)
    with Folder(tmp_path / "out").locked():
        with pytest.raises(BadInput, match=rf"in which one runs \(process {os.getpid()} on .*another folder"):
            swept(spec, tmp_path / "out")
        assert swept(spec, tmp_path / "out", run=False).counted("waiting") == 6, "to look is always allowed"
    swept(spec, tmp_path / "out")


def test_the_lock_goes_with_its_process(tmp_path):
    code = (
        "import os, pathlib, sys\nfrom tacit.sweeping.folder import Folder\n"
        "lock = Folder(pathlib.Path(sys.argv[1])).locked()\nlock.__enter__()\nos._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    with Folder(tmp_path).locked():
        pass


def test_the_command_prints_looks_and_writes_a_page(tmp_path, capsys):
    spec, out = str(write(tmp_path)), str(tmp_path / "out")
    assert main(["sweep", spec, "--output", out, "--dry-run"]) == 0
    listed = capsys.readouterr().out
    assert listed.count("to run") == 6
    assert "randomised-response epsilon=10 in sphere, seed 2" in listed
    assert not (tmp_path / "out").exists(), "to look leaves nothing behind"
    assert main(["sweep", spec, "--output", out, "--report", str(tmp_path / "page"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["done"], facts["complete"], facts["warning"], len(facts["runs"])) == (6, True, None, 6)
    page = (tmp_path / "page" / "report.html").read_text("utf-8")
    for text in ("Regret over rounds: sphere", "Regret against epsilon: sphere", "Privacy card: linucb", "tacit sweep"):
        assert text in page
    assert main(["sweep", spec, "--output", out, "--status"]) == 0
    assert "6 of 6 runs done" in capsys.readouterr().out
    assert main(["sweep", spec, "--output", out, "--dry-run"]) == 0
    assert capsys.readouterr().out.count("found") == 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": "slurm"}, "Expected engine to be one of 'threads', 'dask'"),
        ({"scheduler": "tcp://127.0.0.1:1"}, 'Expected engine="dask" with a scheduler or workers'),
        ({"engine": "dask", "threads": 2}, 'Expected threads with engine="threads" alone'),
        ({"engine": "dask", "scheduler": "x", "workers": 2}, "got both"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, options, said):
    with pytest.raises(BadInput, match=said):
        swept(write(tmp_path), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_without_dask_the_engine_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadInput, match=r"pip install 'tacit\[dask\]'"):
        swept(write(tmp_path), tmp_path / "out", engine="dask")


def test_people_s_tables_are_found_beside_the_file_and_carry_the_warning(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"age": rng.uniform(0, 10, 60)})
    rows["bought"] = np.where(rows["age"] > 5, "tea", "milk")
    rows.to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "own.toml"
    path.write_text(
        'rounds = 100\ntrials = 1\n[[policy]]\nname = "linucb"\n[[environment]]\nname = "table"\n'
        'data = "people.csv"\ntarget = "bought"\nlow = 0\nhigh = 10\n',
        "utf-8",
    )
    monkeypatch.chdir("/")
    out = str(tmp_path / "out")
    assert main(["sweep", str(path), "--output", out, "--report", str(tmp_path / "page")]) == 0
    assert NOT_PRIVATE in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "out" / "table.csv")
    assert list(table["warning"]) == [NOT_PRIVATE]
    assert json.loads(table["world"][0])["data"] == "people.csv", "no path of this machine in the table"
    assert main(["sweep", str(path), "--output", out, "--status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warning"] == NOT_PRIVATE
    assert NOT_PRIVATE in (tmp_path / "page" / "report.html").read_text("utf-8")
    rows["age"] += 0.01
    rows.to_csv(tmp_path / "people.csv", index=False)
    assert swept(path, out, run=False).counted("waiting") == 1, "another table is another run"


def test_learners_of_functions_are_swept_too(tmp_path):
    path = tmp_path / "functions.toml"
    path.write_text(
        'rounds = 60\ntrials = 2\ndelta = 1e-6\nepsilons = [1, 10]\n[[policy]]\nname = "gp-mean"\n[[policy]]\n'
        'name = "usca"\nfeatures = 30\n[[environment]]\nname = "rkhs"\nqueries = 5\nactions = 9\n',
        "utf-8",
    )
    first = swept(path, tmp_path / "out")
    assert list(first.frame()["status"]) == ["done"] * 3
    assert list(first.frame()["way"]) == ["mean", "function", "function"]
    again = swept(path, tmp_path / "out")
    assert again.found == 3
    pd.testing.assert_frame_equal(again.frame(), first.frame())
    assert "error rate" in again.text()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("a file", "utf-8")
    with pytest.raises(BadInput, match="Expected a folder to write to, got the file"):
        swept(write(tmp_path), tmp_path / "out")
