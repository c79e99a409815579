"""The engine: checkpoints, tables, interruption, refusals."""

from __future__ import annotations

import _thread
import json
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.environments import Sphere
from tacit.errors import BadInput, HorizonSpent, Interrupted
from tacit.simulation import engine, simulate
from tacit.simulation.result import save_frame

LINUCB = tacit.LinUCB(dim=3)
WORLD = Sphere(dim=3)


@pytest.mark.parametrize("rounds", [1, 2, 10, 999, 1000, 123_456, 5 * 10**7])
def test_checkpoints_are_few_and_hold_both_ends(rounds):
    marks = engine.checkpoints(rounds)
    assert marks[0] == 1
    assert marks[-1] == rounds
    assert len(marks) <= 1000
    assert (np.diff(marks) > 0).all()


def test_the_curve_is_the_running_regret():
    result = tacit.simulate(LINUCB, WORLD, rounds=1000, trials=2, seed=5)
    assert result.curves.shape == (2, len(result.checkpoints))
    assert (np.diff(result.curves, axis=1) >= 0).all()
    short = tacit.simulate(LINUCB, WORLD, rounds=10, trials=2, seed=5)
    np.testing.assert_array_equal(short.curves, result.curves[:, : len(short.checkpoints)])


def test_the_table_is_tidy_and_holds_every_setting():
    config = tacit.JointLinUCB(dim=3, epsilon=2.0, delta=1e-3)
    result = tacit.simulate(config, WORLD, rounds=50, trials=2, seed=5)
    frame = result.frame()
    assert len(frame) == 2 * len(result.checkpoints)
    for name, value in config.to_dict().items():
        column = "policy" if name == "policy" else f"policy_{name}"
        assert (frame[column].isna() if value is None else frame[column] == value).all()
    for name, value in WORLD.to_dict().items():
        column = "environment" if name == "environment" else f"environment_{name}"
        assert (frame[column].isna() if value is None else frame[column] == value).all()
    assert {"trial", "round", "regret", "seed", "guarantee_epsilon", "guarantee_mu", "version"} <= set(frame)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_tables_survive_the_disk(tmp_path, ending):
    result = tacit.simulate(LINUCB, WORLD, rounds=50, trials=2, seed=5)
    path = result.save(tmp_path / f"curves.{ending}")
    back = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
    np.testing.assert_array_equal(back["regret"], result.frame()["regret"])
    with pytest.raises(BadInput, match=r"\.parquet or \.csv"):
        result.save(tmp_path / "curves.txt")


def test_tables_of_policies_with_different_kinds_of_settings_survive_the_disk(tmp_path):
    """A width may be a word or a number, constants are several numbers: a column of a table has one kind of value."""
    world = tacit.environments.Bias(dim=4, arms=5)
    promise = {"dim": 4, "epsilon": 10.0, "delta": 0.1, "horizon": 100}
    configs = [
        tacit.LocalLinUCB(**promise, constants=(0.5,), width="theory"),
        tacit.LocalLinUCB(**promise, width=0.5),
        tacit.LocalLinUCB(**promise, constants=(0.5, 0.5)),
    ]
    frames = [simulate(config, world, rounds=50, trials=2).frame() for config in configs]
    save_frame(pd.concat(frames, ignore_index=True), tmp_path / "both.parquet")
    back = pd.read_parquet(tmp_path / "both.parquet")
    assert {"theory", "0.5"} <= set(back["policy_width"])
    assert set(back["policy_constants"]) == {"[0.5]", "[]", "[0.5, 0.5]"}
    assert len(back) == sum(map(len, frames))


def test_a_single_trial_has_no_standard_error():
    result = tacit.simulate(LINUCB, WORLD, rounds=5)
    assert result.regret_se is None
    assert result.to_dict()["regret_se"] is None
    assert "Result linucb in sphere" in repr(result)


def test_a_result_is_standard_json_and_says_it_was_seeded():
    facts = tacit.simulate(tacit.JointLinUCB(dim=3, epsilon=1.0, delta=0.1), WORLD, rounds=5).to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False))["guarantee"]["seeded"] is True


def test_gaussian_rewards_are_clipped_and_the_result_says_so():
    config = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=0.1)
    result = tacit.simulate(config, Sphere(dim=3, reward_noise="gaussian"), rounds=500)
    assert any("rewards" in note and "width is heuristic" in note for note in result.notes)
    assert not tacit.simulate(config, WORLD, rounds=500).notes


def test_mismatched_dimensions_and_long_runs_are_refused():
    with pytest.raises(BadInput, match="environment's 3, got dim=4"):
        tacit.simulate(tacit.LinUCB(dim=4), WORLD, rounds=5)
    tree = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=0.1, releases="tree", horizon=100)
    tacit.simulate(tree, WORLD, rounds=100)
    with pytest.raises(HorizonSpent, match="at most 100 rounds, got rounds=101"):
        tacit.simulate(tree, WORLD, rounds=101)
    for name in ("rounds", "trials", "seed"):
        with pytest.raises(BadInput, match=name):
            tacit.simulate(LINUCB, WORLD, **{"rounds": 5, name: -1})


def interrupt_after(monkeypatch, count: int) -> None:
    """Press Ctrl-C when the trial number `count` starts."""
    real = engine._trial

    def trial(one, rounds, number, *rest):
        if rounds and number == count:
            _thread.interrupt_main()
        return real(one, rounds, number, *rest)

    monkeypatch.setattr(engine, "_trial", trial)


def test_an_interrupt_keeps_the_trials_that_have_finished(monkeypatch):
    interrupt_after(monkeypatch, 3)
    result = tacit.simulate(LINUCB, WORLD, rounds=1_000_000, trials=40, seed=5, threads=1)
    assert result.interrupted
    assert result.trial_numbers == (0, 1, 2)
    assert "Interrupted: 3 of 40 trials finished" in result.notes[0]
    monkeypatch.undo()
    full = tacit.simulate(LINUCB, WORLD, rounds=1_000_000, trials=3, seed=5)
    assert np.array_equal(result.curves, full.curves)


def test_an_interrupt_before_anything_has_finished_says_so(monkeypatch):
    interrupt_after(monkeypatch, 0)
    with pytest.raises(Interrupted, match="nothing to keep"):
        tacit.simulate(LINUCB, WORLD, rounds=10**9, trials=2, seed=5)


def test_an_error_in_one_trial_stops_the_others(monkeypatch):
    real = engine._trial

    def trial(one, rounds, number, *rest):
        if rounds and number == 1:
            raise RuntimeError("broken")
        return real(one, rounds, number, *rest)

    monkeypatch.setattr(engine, "_trial", trial)
    with pytest.raises(RuntimeError, match="broken"):
        tacit.simulate(LINUCB, WORLD, rounds=50_000_000, trials=2, seed=5, threads=2)


RUN_AND_SAY_WHEN = """
import sys
from tacit.cli import main
from tacit.simulation import engine, simulate
from tacit.simulation.result import save_frame
real = engine._trial
def trial(one, rounds, number, *rest):
    if rounds and number == 5:
        print("running", file=sys.stderr, flush=True)
    return real(one, rounds, number, *rest)
engine._trial = trial
sys.exit(main("run linucb --dim 3 --rounds 100000 --trials 100000 --threads 1 --json".split()))
"""


def test_control_c_stops_a_real_run_and_prints_what_it_has():
    process = subprocess.Popen(
        [sys.executable, "-c", RUN_AND_SAY_WHEN],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell without job control starts its children deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stderr.readline() == "running\n"  # five trials are done; all of them would take an hour
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    facts = json.loads(out)
    assert facts["interrupted"] is True
    assert 5 <= facts["trials"] < 100_000


def test_memory_does_not_grow_with_rounds():
    """What a trial holds is the plan, the vault, the view and a thousand points, for ten rounds as for ten million."""
    sizes = []
    for rounds in (10_000, 10_000_000):
        config = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=0.1, releases="tree", horizon=rounds)
        plan = config.plan()
        arrays = [*plan.vault(), *plan.view()]
        sizes.append(sum(part.nbytes for part in arrays) + engine.checkpoints(rounds).nbytes)
    assert sizes[1] < 1.5 * sizes[0] + 1000


def test_plots_are_drawn_from_the_table(tmp_path):
    result = tacit.simulate(LINUCB, WORLD, rounds=100, trials=3, seed=1)
    axes = result.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["linucb"]
    axes.figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000
