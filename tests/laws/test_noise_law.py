"""The noise in what is released has the calibrated law.

Error level: each comparison of a variance or of means is two-sided at 1e-6 (chi-square), each of a shape at 1e-6
(Kolmogorov); about a hundred of them run, so a correct build fails once in ten thousand seeds, and the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit._kernel import entry
from tacit.core.round import REFUSED, learn_checked
from tacit.counters.wishart import Masks
from tacit.noise import stream
from tacit.privacy.event import SegmentsEvent, TreeEvent, WishartTreeEvent
from tests.statistics import checks
from tests.statistics.checks import LEVEL

from .conftest import NOISY, name
from .runs import first_release, row_event

RUNS = 600


def feeder(plan, params, x):
    """What feeds so many equal rows to a learner, by the machine code of a live one: a loop of our own would have to be
    compiled for every policy."""
    report = np.zeros(plan.report_size)
    learn = entry(learn_checked, params, plan.vault(), plan.view(), x, 0.0, report, stream(0))

    def feed(vault, view, noise, rows):
        for _ in range(rows):
            assert learn(params, vault, view, x, 0.0, report, noise) != REFUSED

    return feed


def released_noise(config, rows: int, runs: int, spoil=None, remembers_all=False) -> tuple[np.ndarray, np.ndarray, int]:
    """Noise in the view after `rows` rows, in `runs` learners: matrices, vectors, and the stage of that view.

    The rows are x = 0.3·e_1 with reward 0, so the exact sums are known; what is left of V and V·θ̃ is noise.
    """
    plan = config.plan()
    params = plan.params if spoil is None else spoil(plan.params)
    dim = config.dim
    x = np.zeros(dim)
    x[0] = 0.3
    matrices, vectors = np.zeros((runs, dim, dim)), np.zeros((runs, dim))
    (gram, vector), middle, stage = public_sums(config), centre(config), 0
    feed = feeder(plan, params, x)
    for run in range(runs):
        vault, view = plan.vault(), plan.view()
        feed(vault, view, stream(run, 0, 1), rows)
        stage = int(view.stage[0])
        upper = np.triu(view.factor)
        released = upper.T @ upper
        matrices[run] = released - gram
        vectors[run] = released @ view.theta * params.row.reward_scale - vector
    regulariser = getattr(params.estimate, "confidence", params.estimate).regulariser
    matrices -= np.eye(dim) * (regulariser[min(stage, len(regulariser)) - 1] + middle)
    matrices -= np.outer(x, x) * (rows if remembers_all else remembered(config, stage, rows))
    return matrices, vectors, stage


def public_sums(config) -> tuple[np.ndarray, np.ndarray]:
    """What a prior puts into every view: its matrix, and its vector in the unit of the released one."""
    prior = getattr(config, "prior", None)
    if prior is None:
        return np.zeros((config.dim, config.dim)), np.zeros(config.dim)
    return np.array(prior.gram), np.array(prior.vector) * config.reward_scale


def remembered(config, stage: int, rows: int) -> int:
    """How many rows the view holds: all of them, or those of the last few segments."""
    window = getattr(config, "window", None)
    if window is None or stage <= window:
        return rows
    return rows - int(config.plan().params.schedule.times[stage - window - 1])


def centre(config) -> float:
    """The mean of the noise on the diagonal: a Wishart matrix W(L̃²·I, mk) has mk·L̃² there, a Gaussian one nothing."""
    event = row_event(config)
    return event.nodes * event.degrees * event.sensitivity if isinstance(event, WishartTreeEvent) else 0.0


def expected_deviation(config, stage: int, rows: int) -> float:
    """τ of the view, from the recorded event and the mechanism's public design.

    Wishart noise of mk degrees of freedom is Gaussian for the purposes of this test: mk is in the hundreds of
    thousands, its skewness √(8/mk) below a hundredth.
    """
    event = row_event(config)
    if isinstance(event, WishartTreeEvent):
        return event.sensitivity * np.sqrt(event.nodes * event.degrees)
    if isinstance(event, TreeEvent):
        return event.scale * np.sqrt(rows.bit_count())
    if isinstance(event, SegmentsEvent):
        return event.scale * np.sqrt(min(stage, config.window))
    return event.scale * event.design.row_norm(stage)


def p_values(config, rows: int, spoil=None, remembers_all=False) -> list[float]:
    """Of the variance of diagonal, off-diagonal and vector, of the means of all entries, and of their shape."""
    matrices, vectors, stage = released_noise(config, rows, RUNS, spoil, remembers_all)
    deviation = expected_deviation(config, stage, rows)
    upper = np.triu_indices(config.dim, 1)
    groups = [
        np.diagonal(matrices, axis1=1, axis2=2) / (np.sqrt(2) * deviation),
        matrices[:, upper[0], upper[1]] / deviation,
        vectors / deviation,
    ]
    everything = np.concatenate(groups, axis=1)
    found = [checks.scale(group, 1.0) for group in groups]
    found.append(checks.scale(everything.mean(axis=0) * np.sqrt(RUNS), 1.0))
    found.append(checks.law(everything, checks.normal))
    return found


def later_rows(config) -> list[int]:
    """The first view, and one a few releases on: so far on that whoever forgets has forgotten."""
    params = config.plan().params
    later = (getattr(config, "window", None) or 3) + 2
    return [first_release(config), int(params.schedule.times[later]) if hasattr(params.schedule, "times") else 7]


def with_noise_times(params, factor: float):
    """The broken twin: noise whose deviation is so many times the calibrated one, about the same mean."""
    counter = params.counter
    if isinstance(counter, Masks):
        degrees, parameter = round(counter.degrees / factor**2), counter.parameter * factor**2
        return params._replace(counter=counter._replace(degrees=degrees, parameter=parameter))
    return params._replace(counter=counter._replace(scale=counter.scale * factor))


def test_released_noise_has_the_calibrated_law(noisy_config):
    for rows in later_rows(noisy_config):
        assert min(p_values(noisy_config, rows)) > LEVEL


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_noise_test_rejects_a_scale_off_by_ten_percent(noisy_config, factor):
    rows = later_rows(noisy_config)[0]
    assert min(p_values(noisy_config, rows, lambda params: with_noise_times(params, factor))) < LEVEL


@pytest.mark.parametrize("forgetful", [config for config in NOISY if getattr(config, "window", None)], ids=name)
def test_the_noise_test_rejects_a_window_that_forgets_nothing(forgetful):
    """Held against the sums of all rows, the same views are rejected: the law sees what should be gone."""
    assert min(p_values(forgetful, later_rows(forgetful)[1], remembers_all=True)) < LEVEL


def test_no_exact_sum_gets_out(noisy_config):
    """Two learners with the same noise and different data differ in their views by the data alone: noise is added once,
    to everything that is released."""
    plan = noisy_config.plan()
    rows = first_release(noisy_config)
    released = []
    for first in (0.0, 0.5):
        vault, view = plan.vault(), plan.view()
        x = np.zeros(noisy_config.dim)
        x[1] = first
        feeder(plan, plan.params, x)(vault, view, stream(9, 0, 1), rows)
        upper = np.triu(view.factor)
        released.append(upper.T @ upper)
    change = np.zeros((noisy_config.dim, noisy_config.dim))
    change[1, 1] = 0.25 * rows
    np.testing.assert_allclose(released[1] - released[0], change, atol=1e-8 * np.abs(released[0]).max())
