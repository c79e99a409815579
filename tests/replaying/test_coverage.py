"""Intervals of 95 % hold the truth 95 times of a hundred.

Error level: of 200 intervals that hold it with probability 0.95, fewer than 180 do with probability 0.0012.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.replaying.choosing import Chooser
from tacit.replaying.doubly_robust import doubly_robust
from tacit.replaying.fixed import judged, taught
from tacit.replaying.ips import by_propensity
from tacit.replaying.rejection import Run, by_rejection, run_over, thinned
from tacit.replaying.snips import self_normalised

from .worlds import ARMS, BEST, MEANS, best_of, value_of, value_of_run, write

SEEDS = range(200)
ENOUGH = 180
ESTIMATES = (by_propensity, self_normalised, doubly_robust)


def holds(estimate, truth):
    return bool(estimate.low <= truth <= estimate.high)


def learner_coverage(config, rows, runs=1):
    """How often each interval holds its truth, for a policy that learns from a uniform log."""
    found = {"replay": 0, "IPS": 0, "SNIPS": 0, "DR": 0}
    replays, truths = [], []
    for seed in SEEDS:
        log, _ = write(rows, seed)
        done = [run_over(config, log, seed=seed, run=run) for run in range(runs)]
        replays.append(by_rejection(done))
        truths.append(np.mean([value_of_run(config, log, run, seed, place) for place, run in enumerate(done)]))
        found["replay"] += holds(replays[-1], truths[-1])
        half = rows // 2
        fixed = judged(config, log, half, seed=seed)
        view, _ = taught(config, log.part(0, half), seed=seed)
        worth = value_of(Chooser(config, log, seed, 1), view)
        for estimate in (make(fixed) for make in ESTIMATES):
            found[estimate.name] += holds(estimate, worth)
    expected = float(np.mean(truths))  # over logs, rejections and noise
    found["replay, another run"] = sum(holds(replay, expected) for replay in replays)
    return found


@pytest.mark.long
def test_intervals_hold_the_truth_for_a_policy_that_learns():
    """LinUCB on 300 rows: a hundred accepted rounds, and 150 rows to be judged on."""
    found = learner_coverage(tacit.LinUCB(dim=9, width=0.3), 300)
    assert all(count >= ENOUGH for count in found.values()), found


@pytest.mark.long
def test_intervals_hold_the_truth_for_a_private_policy_that_learns():
    """At ε = 5, with its noise: what a run is worth differs from run to run, and two are taken of each log."""
    config = tacit.JointLinUCB(dim=9, epsilon=5.0, delta=1e-6, width=0.1)
    found = learner_coverage(config, 900, runs=2)
    assert all(count >= ENOUGH for count in found.values()), found


def coverage_of_the_best(change=lambda log: log, leaning=True):
    """How often each interval holds the value of the best policy; `change` may break the log."""
    truth = float(MEANS.max(axis=1).mean())
    found = {"replay": 0, "IPS": 0, "SNIPS": 0, "DR": 0}
    for seed in SEEDS:
        log, shown = write(600, seed, leaning)
        log = change(log)
        kept = thinned(log, seed, 0)
        rows = kept[BEST[shown[kept]] == log.actions[kept]]
        found["replay"] += holds(by_rejection([Run(rows, log.rewards[rows], len(kept), False)]), truth)
        for estimate in (make(best_of(log, shown)) for make in ESTIMATES):
            found[estimate.name] += holds(estimate, truth)
    return found


@pytest.mark.parametrize("leaning", [False, True], ids=["uniform log", "leaning log"])
def test_intervals_hold_the_truth_for_a_fixed_policy(leaning):
    found = coverage_of_the_best(leaning=leaning)
    assert all(count >= ENOUGH for count in found.values()), found


def test_the_coverage_test_finds_a_log_out_that_was_not_made_uniform():
    """A log that leaned, said to be uniform: nothing is rejected for its propensity, and weights are all the same."""
    found = coverage_of_the_best(lambda log: replace(log, propensities=np.full(len(log), 1 / ARMS)))
    assert found["replay"] < ENOUGH
    assert found["IPS"] < ENOUGH


def test_the_coverage_test_finds_intervals_out_that_are_too_short():
    """Seven tenths of the length hold the truth 83 times of a hundred: 180 of 200 with probability 0.003."""
    truth, found = float(MEANS.max(axis=1).mean()), 0
    for seed in SEEDS:
        log, shown = write(600, seed)
        right = by_propensity(best_of(log, shown))
        found += abs(right.value - truth) <= 0.7 * (right.high - right.value)
    assert found < ENOUGH
