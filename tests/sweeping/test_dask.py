"""Sweeps on a real cluster of several processes: the same bytes, also when a worker is killed."""

from __future__ import annotations

import json
import os
import signal
import time

import pandas as pd
import pytest

from tacit.errors import BadInput, Interrupted, TacitError
from tacit.simulation.store import Store, restored
from tacit.sweeping import cluster as clusters
from tacit.sweeping import read_spec, sweep, task
from tacit.sweeping.runs import runs_of
from tests.sweeping.specs import write

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'tacit[dask]'")

#: A run takes long enough to be killed in the midst of it.
ROUNDS = 100_000


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return write(tmp_path_factory.mktemp("spec"), rounds=ROUNDS)


@pytest.fixture(scope="module")
def here(spec, tmp_path_factory):
    """The table as threads of this process make it. First: what they compile, workers find."""
    folder = tmp_path_factory.mktemp("here")
    sweep(spec, output=folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def client(here):
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def swept(spec, folder, client, **options):
    return sweep(spec, output=folder, engine="dask", scheduler=client, progress=False, **options)


def same(one, another):
    return all((one / name).read_bytes() == (another / name).read_bytes() for name in ("table.csv", "table.parquet"))


def test_a_cluster_gives_the_bits_of_threads(spec, here, client, tmp_path):
    assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == 2, "real processes, none of them this one"
    found = swept(spec, tmp_path, client.scheduler.address)
    assert found.complete
    assert same(tmp_path, here)


def test_a_killed_worker_costs_its_own_task_only(spec, here, client, tmp_path, monkeypatch):
    before, kept, killed, real = client.run(os.getpid), [], [], Store.keep

    def keep(self, job, result):
        kept.append((job.name, job.seed))
        if not killed:
            busy = [address for address, tasks in client.processing().items() if tasks]
            killed.append(before[busy[0]])
            os.kill(killed[0], signal.SIGKILL)
        return real(self, job, result)

    monkeypatch.setattr(Store, "keep", keep)
    found = swept(spec, tmp_path, client)
    assert killed
    assert found.complete
    assert len(kept) == len(set(kept)) == 6, "what had come back was not made again"
    assert same(tmp_path, here)
    until = time.monotonic() + 30
    while len(pids := set(client.run(os.getpid).values())) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    assert killed[0] not in pids, "it was this worker that died"


def test_a_stopped_sweep_calls_its_tasks_off_and_goes_on_elsewhere(spec, here, client, tmp_path, monkeypatch):
    kept, real = [], Store.keep

    def keep(self, job, result):
        real(self, job, result)
        kept.append(job.name)
        if len(kept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "keep", keep)
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": client.scheduler.address}), "utf-8")
    with pytest.raises(Interrupted, match="The same command goes on from there"):
        swept(spec, tmp_path, file)
    monkeypatch.undo()
    assert set(pd.read_csv(tmp_path / "table.csv")["status"]) == {"done", "waiting"}
    until = time.monotonic() + 30
    while any(client.processing().values()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(client.processing().values())
    assert sweep(spec, output=tmp_path, progress=False).found == 2, "threads go on from what a cluster has done"
    assert same(tmp_path, here)


def test_a_worker_with_other_sources_is_refused(spec, client, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "fingerprint", lambda: "tacit 0.0.0 (of another time)")
    with pytest.raises(BadInput, match=r"on the worker tcp://127.0.0.1:.*, got tacit .*Install the same versions"):
        swept(spec, tmp_path, client)
    # One that joins later, and was not asked before the first task.
    monkeypatch.setattr(clusters, "_refuse_other_workers", lambda *_: None)
    with pytest.raises(BadInput, match=r"Expected a worker with tacit 0\.0\.0 .*Install the same versions"):
        swept(spec, tmp_path, client)
    assert set(pd.read_csv(tmp_path / "table.csv")["status"]) == {"waiting"}


def test_a_task_that_fails_costs_no_other(spec, client, tmp_path, monkeypatch):
    real = clusters.packed

    def packed(job, expected):
        text = real(job, expected)
        return text.replace('"arms": 4', '"arms": 0') if job.config.slug == "linucb" else text

    monkeypatch.setattr(clusters, "packed", packed)
    found = swept(spec, tmp_path, client)
    assert list(found.frame()["status"]) == ["failed"] * 2 + ["done"] * 4
    assert all("Expected arms" in problem for problem in found.problems.values())


def test_nobody_listens(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "_PATIENCE", 1)
    with pytest.raises(BadInput, match=r"Expected a Dask scheduler at 'tcp://127\.0\.0\.1:9'.*got none within 1 s"):
        sweep(spec, output=tmp_path, engine="dask", scheduler="tcp://127.0.0.1:9", progress=False)


class Ended:
    """A future that has ended in some way."""

    def __init__(self, status, problem=None):
        self.status, self.exception = status, lambda: problem


def test_a_run_that_kills_its_workers_is_a_row_and_a_lost_scheduler_is_said():
    failed = []
    killed = Ended("error", distributed.KilledWorker("task", None, 3))
    clusters._hand_over(distributed, killed, 7, None, None, lambda place, problem: failed.append((place, problem)))
    assert failed == [
        (7, "Every worker that took this run was lost. Give workers more memory, or look into their logs.")
    ]
    with pytest.raises(TacitError, match=r"got one that is lost: the scheduler was lost"):
        clusters._hand_over(distributed, Ended("lost"), 7, None, None, None)


FUNCTIONS = {
    "rounds": 60,
    "trials": 1,
    "delta": 1e-6,
    "epsilons": [1],
    "policy": [{"name": "usca", "features": 30, "kernel": "matern-5/2:0.3"}],
    "environment": [{"name": "rkhs", "queries": 3, "actions": 9, "length_scale": [0.3, 0.2]}],
}
TABLE = {
    "rounds": 60,
    "trials": 1,
    "policy": [{"name": "linucb"}],
    "environment": [{"name": "table", "projection": 2, "columns": ["pixel_1_2", "pixel_3_4", "pixel_5_5"]}],
}


@pytest.mark.parametrize("asked", [FUNCTIONS, TABLE], ids=["functions", "table"])
def test_what_a_worker_computes_from_text_is_the_run(asked):
    [run] = runs_of(read_spec(asked))
    packet = task.packed(run.job, task.fingerprint())
    assert len(packet) < 5000, "settings travel, and no data"
    there = restored(run.job, *task.play(packet))
    assert list(sweep_rows(run, there)) == list(sweep_rows(run, task.run_one(run.job, threads=1, progress=False)))


def sweep_rows(run, result):
    from tacit.sweeping.rows import rows

    return rows(run, result, None)
