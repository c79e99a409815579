"""The comparison with other libraries: same rounds for everybody, and no trouble of a peer goes unsaid.

The peers themselves are not installed here: `make bench-peers` has an environment of its own.
"""

from __future__ import annotations

import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.peers import install
from benchmarks.peers.measuring import Found, Measured, Plan, Row, play, play_trial, rows_of
from benchmarks.peers.ours import LearnerPlayer
from benchmarks.peers.page import render
from benchmarks.peers.player import Absent, Contestant, peer
from benchmarks.peers.with_vowpalwabbit import AdfPlayer
from benchmarks.peers.worlds import WORLDS, Recording, record
from tacit import LinUCB, simulate

ROUNDS = 300


class Fixed:
    """Always the same action."""

    def __init__(self, arm: int) -> None:
        self.arm, self.learned = arm, []

    def choose(self, now):
        return self.arm

    def learn(self, now, arm, reward):
        self.learned.append((now, arm, reward))


def small(rounds: int = 6) -> Recording:
    means = np.linspace(0.0, 0.5, rounds * 3).reshape(rounds, 3)
    actions = np.zeros((rounds, 3, 6))
    for k in range(3):
        actions[:, k, 2 * k : 2 * k + 2] = [0.5, 0.25]
    return Recording("digits", 1, actions, means + 0.25, means, 0.0)


def contestant(start, name: str = "somebody") -> Contestant:
    return Contestant(name, "LinUCB", "", "nothing", start)


@pytest.mark.parametrize(
    "world", [pytest.param(world, marks=pytest.mark.long if world == "digits" else ()) for world in WORLDS]
)
def test_recorded_rounds_are_those_of_the_simulation_to_the_bit(world):
    recording = record(world, ROUNDS, seed=7)
    config = LinUCB(dim=WORLDS[world].features, width=0.2)
    _, regret = play(LearnerPlayer(config.start(seed=7), recording), recording, warm=10)
    result = simulate(config, WORLDS[world], ROUNDS, seed=7, progress=False)
    assert regret == result.curves[0, -1]
    assert 0 < regret < recording.uniform_regret
    other = record(world, ROUNDS, seed=8)
    assert not np.array_equal(other.actions, recording.actions)


def test_an_action_of_the_digits_is_the_context_in_its_own_block():
    recording = record("digits", 20, seed=1)
    width = recording.contexts.shape[1]
    for k in range(recording.arms):
        own = slice(k * width, (k + 1) * width)
        np.testing.assert_array_equal(recording.actions[:, k, own], recording.contexts)
        assert np.count_nonzero(np.delete(recording.actions[:, k], own, axis=1)) == 0


def test_regret_and_what_is_learned_follow_the_choices():
    recording, player = small(), Fixed(1)
    _, regret = play(player, recording, warm=2)
    assert regret == pytest.approx(float((recording.means[:, 2] - recording.means[:, 1]).sum()))
    assert player.learned == [(now, 1, recording.rewards[now, 1]) for now in range(recording.rounds)]


def test_a_peer_that_is_absent_or_fails_is_said_so_and_the_others_go_on():
    def absent(recording):
        raise Absent("could not be installed: no compiler")

    def failing(recording):
        raise RuntimeError("broke in /some/where/else.py")

    rows = [Row(contestant(lambda recording: Fixed(0), name)) for name in ("first", "last")]
    rows[1:1] = [Row(contestant(absent, "gone")), Row(contestant(failing, "broken"))]
    found, said = Found("digits", rows), []
    for _ in range(2):
        play_trial(found, small(), 2, said.append)
    assert [len(row.regrets) for row in rows] == [2, 0, 0, 2]
    assert len([line for line in said if "gone" in line]) == 1, "who is absent is not asked again"
    page = render(Measured(Plan(rounds=6, warm=2, trials=2), [found]), None)
    assert "| gone | `LinUCB` |  | – | – | – | could not be installed: no compiler |" in page
    assert "failed with RuntimeError: broke in …" in page
    assert "What is not comparable" in page


def test_an_interrupted_trial_leaves_no_half_of_itself():
    def interrupted(recording):
        raise KeyboardInterrupt

    found = Found("digits", [Row(contestant(lambda recording: Fixed(0))), Row(contestant(interrupted))])
    with pytest.raises(KeyboardInterrupt):
        play_trial(found, small(), 2, lambda line: None)
    assert found.trials == 0
    assert [row.regrets for row in found.rows] == [[], []]


def test_the_page_tells_when_both_ways_of_running_tacit_part():
    called, compiled = Row(contestant(None)), Row(contestant(None), LinUCB(dim=2))
    called.regrets, compiled.regrets = [1.0, 2.0], [1.0, 2.0]
    assert Found("digits", [called, compiled]).same_bits
    compiled.regrets = [1.0, np.nextafter(2.0, 3.0)]
    assert not Found("digits", [called, compiled]).same_bits


def test_every_library_takes_part_or_says_why_not():
    for world in WORLDS:
        rows = rows_of(world)
        assert {row.contestant.library for row in rows} == {"tacit", *install.pins()}
        for row in rows:
            one = row.contestant
            assert one.start or row.compiled or one.compares.startswith("not run: "), one.name


def test_who_was_refused_by_pip_is_told_with_pips_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    answers = {"one==1": "no such version", "one": None, "two==2": "no such version", "two": "ERROR: no compiler"}
    monkeypatch.setattr(install, "_pip", lambda python, requirement: answers[requirement])
    failed = install.install({"one": "1", "two": "2"})
    assert failed == {"two": "ERROR: no compiler"}
    (tmp_path / install.REFUSALS).write_text(json.dumps(failed))
    monkeypatch.setattr("benchmarks.peers.player.refusals", lambda: install.refusals(str(tmp_path)))
    with pytest.raises(Absent, match=r"^could not be installed: ERROR: no compiler$"):
        peer("two", "no_such_module_two")
    with pytest.raises(Absent, match=r"^could not be imported: ModuleNotFoundError"):
        peer("three", "no_such_module_three")


def test_reasons_are_one_line_without_addresses_and_paths():
    output = "building\nERROR: no wheel at https://index.example/simple/x for /home/me/x | y\n\nnotice: upgrade\n"
    said = install.reason(output)
    assert said == "no wheel at … for … / y"
    assert install.reason("") == "no reason was given"
    assert len(install.reason("ERROR: " + "long " * 100)) <= 160


def test_peers_are_pinned_without_addresses():
    lines = install.REQUIREMENTS.read_text("utf-8").split()
    assert lines
    for line in lines:
        assert re.fullmatch(r"[a-z]+==[0-9.]+", line), line


def test_nothing_is_installed_outside_a_virtual_environment(monkeypatch, capsys):
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(install, "install", lambda names: pytest.fail("tried to install"))
    assert install.main() == 2
    assert "Expected a virtual environment" in capsys.readouterr().out


def test_vowpal_wabbit_is_told_the_cost_and_the_probability_of_what_was_drawn(monkeypatch):
    read = []

    class Workspace:
        def __init__(self, arguments):
            self.arguments = arguments

        def parse(self, lines, label):
            read.append(list(lines))
            return lines

        def predict(self, examples):
            return [0.25, 0.75, 0.0]

        def learn(self, examples):
            pass

        def finish_example(self, examples):
            pass

    label = SimpleNamespace(CONTEXTUAL_BANDIT=1)
    monkeypatch.setitem(sys.modules, "vowpalwabbit", SimpleNamespace(Workspace=Workspace, LabelType=label))
    recording = small(2000)
    player = AdfPlayer(recording, "--squarecb")
    assert player._workspace.arguments.endswith("--cb_min_cost -1 --cb_max_cost 0")
    arms = [player.choose(now) for now in range(recording.rounds)]
    shares = np.bincount(arms, minlength=3) / recording.rounds
    # Six standard errors of a share of 2,000 draws: false alarm below 1e-8, and the seed is fixed.
    assert shares == pytest.approx([0.25, 0.75, 0.0], abs=6 * (0.25 * 0.75 / 2000) ** 0.5)
    assert shares[2] == 0
    player.learn(1999, arms[-1], 0.5)
    labelled = [line for line in read[-1] if not line.startswith("|x ")]
    probability = 0.25 if arms[-1] == 0 else 0.75
    assert labelled == [f"0:-0.5:{probability:g} {player._lines[1999][arms[-1]]}"]
    assert player._lines[0][1] == "|x 2:0.5 3:0.25"
