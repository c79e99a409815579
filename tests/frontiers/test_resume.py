"""A frontier that is stopped goes on where it stopped, with the same result to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.errors import Interrupted
from tacit.frontiers import logged, runs
from tacit.simulation import simulate_all, store

from ..replaying.worlds import write

SPHERE = tacit.environments.Sphere(dim=3, arms=4)
ASKED = {"epsilons": (1.0, 100.0), "delta": 1e-5, "rounds": 200, "trials": 2, "seed": 3, "progress": False}


def stop_after(count):
    """A simulator that is stopped by hand after so many runs."""

    def stopping(jobs, **how):
        simulate_all(jobs[:count], **how)
        raise Interrupted("by hand")

    return stopping


def curves(found):
    return [
        found.without_privacy.result.curves,
        found.evenly.result.curves,
        *(one.result.curves for one in found.points),
    ]


def test_a_stopped_frontier_goes_on_and_ends_the_same(monkeypatch, tmp_path):
    whole = tacit.frontier([tacit.JointLinUCB], SPHERE, **ASKED)
    monkeypatch.setattr(runs, "simulate_all", stop_after(3))
    with pytest.raises(Interrupted, match=r"3 of 4 runs are stored in .*runs\. The same command goes on"):
        tacit.frontier([tacit.JointLinUCB], SPHERE, runs=tmp_path / "runs", **ASKED)
    left = []

    def counting(jobs, **how):
        left.extend(jobs)
        return simulate_all(jobs, **how)

    monkeypatch.setattr(runs, "simulate_all", counting)
    again = tacit.frontier([tacit.JointLinUCB], SPHERE, runs=tmp_path / "runs", **ASKED)
    assert [job.name for job in left] == ["joint-linucb at 100"]
    for one, other in zip(curves(whole), curves(again), strict=True):
        assert np.array_equal(one, other)
    assert again.to_dict() == whole.to_dict()


def test_a_damaged_run_is_made_again(tmp_path):
    folder = tmp_path / "runs"
    whole = tacit.frontier([tacit.JointLinUCB], SPHERE, runs=folder, **ASKED)
    for path in folder.glob("*/curves.npz"):
        path.write_bytes(path.read_bytes()[:-5])
    assert tacit.frontier([tacit.JointLinUCB], SPHERE, runs=folder, **ASKED).to_dict() == whole.to_dict()


def test_runs_of_other_sources_are_made_again(tmp_path, monkeypatch):
    tacit.frontier([tacit.JointLinUCB], SPHERE, runs=tmp_path, **ASKED)
    monkeypatch.setattr(store, "sources", lambda: "edited since")
    monkeypatch.setattr(runs, "simulate_all", stop_after(4))
    with pytest.raises(Interrupted, match="4 of 4 runs are stored"):  # it came to running them
        tacit.frontier([tacit.JointLinUCB], SPHERE, runs=tmp_path, **ASKED)


def test_without_a_folder_nothing_is_promised(monkeypatch):
    monkeypatch.setattr(runs, "simulate_all", stop_after(1))
    with pytest.raises(Interrupted, match="1 of 4 runs had finished, and are lost"):
        tacit.frontier([tacit.JointLinUCB], SPHERE, **ASKED)


def test_a_stopped_frontier_on_a_log_goes_on_and_ends_the_same(monkeypatch, tmp_path):
    log, _ = write(300, 4)
    asked = {"epsilons": (1.0, 100.0), "trials": 2, "progress": False}
    whole = tacit.frontier([tacit.JointLinUCB], log, **asked)
    made, calls = logged.choices_after, []

    def stopping(config, *rest, **how):
        calls.append(config.slug)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return made(config, *rest, **how)

    monkeypatch.setattr(logged, "choices_after", stopping)
    with pytest.raises(Interrupted, match="3 of 5 runs are stored in"):
        tacit.frontier([tacit.JointLinUCB], log, runs=tmp_path, **asked)
    assert tacit.frontier([tacit.JointLinUCB], log, runs=tmp_path, **asked).to_dict() == whole.to_dict()
    assert len(calls) == 4 + 2
    for path in tmp_path.glob("choices-*.npz"):
        path.write_bytes(path.read_bytes()[:-9])
    assert tacit.frontier([tacit.JointLinUCB], log, runs=tmp_path, **asked).to_dict() == whole.to_dict()
    assert len(calls) == 4 + 2 + 5  # damaged: made again
    other, _ = write(300, 5)
    tacit.frontier([tacit.JointLinUCB], other, runs=tmp_path, **asked)
    assert len(calls) == 4 + 2 + 5 + 5  # another log: nothing of the first one is used
