"""The verdicts of whole experiments, from made-up curves: the paper's words hold, and their opposites do not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tacit.reproduce import EXPERIMENTS, By, Finding
from tacit.reproduce.experiment import Evidence
from tacit.reproduce.joint_dp import over_time, shift
from tacit.simulation import Result
from tacit.simulation.engine import checkpoints


def made_up(job, final, *, flat=True):
    """A result whose curve ends at `final`: flat from a tenth of the rounds on, or a straight line."""
    marks = checkpoints(job.rounds)
    shape = np.minimum(1, marks / (job.rounds / 10)) if flat else marks / job.rounds
    curves = np.array([final * (1 + 0.001 * trial) * shape for trial in range(job.trials)])
    return Result(
        config=job.config,
        environment=job.environment,
        rounds=job.rounds,
        trials_asked=job.trials,
        seed=job.seed,
        label=job.name,
        trial_numbers=tuple(range(job.trials)),
        checkpoints=marks,
        curves=curves,
        counters=np.zeros((job.trials, 4), np.int64),
        guarantee=job.config.plan().guarantee,
        seconds=1.0,
    )


AS_PUBLISHED = {
    over_time.NON_PRIVATE: (100.0, 100.0),
    over_time.GAUSSIAN: (10_000.0, 10_000.0),
    over_time.WISHART: (50_000.0, 50_000.0),
    over_time.UNSHIFTED: (90_000.0, 51_000.0),
    over_time.TREE: (1_000.0, 1_000.0),
    over_time.TOEPLITZ: (500.0, 500.0),
    over_time.GEOMETRIC: (400.0, 400.0),
}
TURNED = {
    **AS_PUBLISHED,
    over_time.NON_PRIVATE: (9_000.0, 9_000.0),
    over_time.WISHART: (9_500.0, 9_500.0),
    over_time.UNSHIFTED: (9_000.0, 15_000.0),
    over_time.TREE: (9_000.0, 9_000.0),
    over_time.GEOMETRIC: (9_000.0, 9_000.0),
}


def over_time_evidence(numbers, *, scale="paper", flat=True):
    experiment = EXPERIMENTS["joint-dp/figure-4"]
    chosen = experiment.scales[scale]
    results = {}
    for name, job in experiment.jobs(chosen, 1).items():
        policy, gap = name.rsplit(", gap ", 1)
        results[name] = made_up(job, numbers[policy][gap == "0.1"], flat=flat)
    return experiment, Evidence(chosen, 1, results)


def test_figure_4_as_the_paper_saw_it():
    experiment, evidence = over_time_evidence(AS_PUBLISHED)
    assert {verdict.finding for verdict in experiment.judge(evidence)} == {Finding.HOLDS}


def test_figure_4_turned_around():
    experiment, evidence = over_time_evidence(TURNED, flat=False)
    for verdict in experiment.judge(evidence):
        if "below Theorem" not in verdict.claim.text:
            assert verdict.finding is Finding.FAILS, verdict


def test_figure_4_above_its_theorem():
    numbers = {**AS_PUBLISHED, over_time.TOEPLITZ: (1e13, 1e13)}
    experiment, evidence = over_time_evidence(numbers)
    theorem = [verdict for verdict in experiment.judge(evidence) if "below Theorem" in verdict.claim.text]
    assert {verdict.finding for verdict in theorem} == {Finding.FAILS}


def test_only_flatness_is_left_open_by_the_quick_scale_of_figure_4():
    experiment, evidence = over_time_evidence(AS_PUBLISHED, scale="quick")
    left = [verdict.claim.text for verdict in experiment.judge(evidence) if verdict.finding is Finding.UNTESTED]
    assert len(left) == 2
    assert all("flat in the second half" in text for text in left)


@pytest.mark.parametrize(("matters_at", "finding"), [(0.0, Finding.HOLDS), (0.2, Finding.FAILS)])
def test_figure_5_both_ways(matters_at, finding):
    experiment = EXPERIMENTS["joint-dp/figure-5"]
    chosen = dataclasses.replace(experiment.scales["quick"], trials=1)
    results = {}
    for place, (name, job) in enumerate(experiment.jobs(chosen, 1).items()):
        slope = 1.0 if job.environment.gap == matters_at else 0.0
        results[name] = made_up(job, 1000 * (1 + slope * (place // len(chosen.gaps) % chosen.points)))
    verdicts = experiment.judge(Evidence(chosen, 1, results))
    assert len(verdicts) == len(shift.MECHANISMS)
    assert {verdict.finding for verdict in verdicts} == {finding}


@pytest.mark.parametrize(("per_round", "finding"), [(0.01, Finding.HOLDS), (0.5, Finding.FAILS)])
def test_claim_13_can_fail_to_escape(per_round, finding):
    experiment = EXPERIMENTS["joint-dp/claim-13"]
    chosen = experiment.scales["quick"]
    results = {name: made_up(job, per_round * job.rounds) for name, job in experiment.jobs(chosen, 1).items()}
    verdicts = experiment.judge(Evidence(chosen, 1, results))
    escapes = {verdict.finding for verdict in verdicts if "escapes" in verdict.claim.text}
    assert escapes == {finding}
    floor = next(verdict for verdict in verdicts if "every policy" in verdict.claim.text)
    assert floor.finding is not finding, "whoever is below the floor is not above it"
    ours = [verdict for verdict in verdicts if verdict.claim.by is By.OURS]
    assert {verdict.finding for verdict in ours} == {Finding.FAILS}


@pytest.mark.parametrize(("final", "finding"), [(1e4, Finding.HOLDS), (1e-3, Finding.FAILS)])
def test_corollary_15_both_ways(final, finding):
    experiment = EXPERIMENTS["joint-dp/corollary-15"]
    chosen = experiment.scales["quick"]
    results = {name: made_up(job, final) for name, job in experiment.jobs(chosen, 1).items()}
    assert {verdict.finding for verdict in experiment.judge(Evidence(chosen, 1, results))} == {finding}


@pytest.mark.parametrize(("power", "finding"), [(2.0, Finding.HOLDS), (1.0, Finding.FAILS)])
def test_the_slope_of_figure_3_both_ways(power, finding):
    experiment = EXPERIMENTS["joint-dp/figure-3"]
    chosen = experiment.scales["quick"]
    results = {
        name: made_up(job, job.environment.dim**power * (1.5 if job.environment.reward_noise == "gaussian" else 1))
        for name, job in experiment.jobs(chosen, 1).items()
    }
    verdicts = experiment.judge(Evidence(chosen, 1, results))
    assert {verdict.finding for verdict in verdicts if "grows like d²" in verdict.claim.text} == {finding}
    lower = [verdict for verdict in verdicts if "somewhat lower" in verdict.claim.text]
    assert {verdict.finding for verdict in lower} == {Finding.HOLDS}
