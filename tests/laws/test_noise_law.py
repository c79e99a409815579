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
from tacit.estimators.noise_aware import NoiseAware
from tacit.noise import stream
from tacit.privacy.event import DiscountedEvent, PersonEvent, SegmentsEvent, TreeEvent, WishartTreeEvent
from tests.offers import row_of
from tests.statistics import checks
from tests.statistics.checks import LEVEL

from .conftest import NOISY, name
from .runs import first_release, opening, row_event

RUNS = 600


def feeder(plan, params, x):
    """What feeds so many equal rows to a learner, by the machine code of a live one: a loop of our own would have to be
    compiled for every policy."""
    learn = entry(learn_checked, params, plan.vault(), plan.view(), x, 0.0, np.zeros(plan.report_size), stream(0))

    def feed(vault, view, report, noise, rows):
        for _ in range(rows):
            assert learn(params, vault, view, x, 0.0, report, noise) != REFUSED

    return feed


def released_noise(config, rows: int, runs: int, spoil=None, remembers_all=False) -> tuple[np.ndarray, np.ndarray, int]:
    """Noise in the release after `rows` rows, in `runs` learners: the matrix and the vector of every block, and which
    release of sums it is. The rows are x = 0.3·e_1 with reward 0, of arm 0 if there are arms."""
    plan = config.plan()
    params = plan.params if spoil is None else spoil(plan.params)
    x = row_of(config, None, 0.3 * np.eye(config.dim)[0])
    feed, found, stage = feeder(plan, params, x), [], 0
    for run in range(runs):
        *noise, stage = noise_in_release(config, plan, feed, x, rows, stream(run, 0, 1), remembers_all)
        found.append(noise)
    matrices, vectors = (np.array(part) for part in zip(*found, strict=True))
    return matrices, vectors, stage


def noise_in_release(
    config, plan, feed, x, rows: int, noise, remembers_all=False
) -> tuple[np.ndarray, np.ndarray, int]:
    """What is left of a release of equal rows without their exact sums, which are known."""
    vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
    feed(vault, view, report, noise, rows)
    if config.arms_of_context is not None:
        return of_published(config, vault, report, rows - opening(config), int(view.stage[0]) - (opening(config) > 0))
    params, dim, stage = plan.params, config.dim, int(view.stage[0])
    gram, vector = public_sums(config)
    if isinstance(params.estimate, NoiseAware):
        matrix, packed = np.zeros((dim, dim)), vault.memory[-1]
        matrix[np.triu_indices(dim)] = packed[:-dim]
        known = gram + np.outer(x, x) * (rows if remembers_all else remembered(config, stage, rows))
        return (matrix + np.triu(matrix, 1).T - known)[None], (packed[-dim:] - vector)[None], stage
    upper = np.triu(view.factor)
    released = upper.T @ upper
    regulariser = getattr(params.estimate, "confidence", params.estimate).regulariser
    known = gram + np.eye(dim) * (regulariser[min(stage, len(regulariser)) - 1] + centre(config))
    known = known + np.outer(x, x) * (rows if remembers_all else remembered(config, stage, rows))
    vector = released @ view.theta * params.row.reward_scale - vector
    return (released - known)[None], vector[None], stage


def of_published(config, vault, report, rows: int, stage: int) -> tuple[np.ndarray, np.ndarray, int]:
    """The same where the view does not tell the sums: its eigenvalues are clipped. They are as `publish` left them, and
    the rows as they were prepared, by a centre that has noise of its own."""
    width, shared, published = config.block, config.shared or 0, vault.memory[-1]
    common = len(published) - shared * (shared + 3) // 2
    packed = published[:common].reshape(config.blocks, -1)
    matrices, upper = np.zeros((config.blocks, width, width)), np.triu_indices(width, 0, width + shared)
    z, u, reward = report[:width], report[width : width + shared], report[width + shared]
    own = upper[1] < width
    matrices[:, upper[0][own], upper[1][own]] = matrices[:, upper[1][own], upper[0][own]] = packed[:, :-width][:, own]
    vectors = packed[:, -width:].copy()
    matrices[0] -= rows * np.outer(z, z)
    vectors[0] -= rows * reward * z
    if shared:  # as many as a context has; what stands beside a matrix has noise like a vector's
        assert shared == width
        last, above = np.zeros((width, width)), np.triu_indices(width)
        last[above] = last[above[::-1]] = published[common:-width]
        beside = packed[:, :-width][:, ~own].reshape(config.blocks, width, width)
        beside[0] -= rows * np.outer(z, u)
        matrices = np.concatenate([matrices, [last - rows * np.outer(u, u)]])
        vectors = np.concatenate([vectors, [published[-width:] - rows * reward * u], beside.reshape(-1, width)])
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
    if isinstance(event, DiscountedEvent):
        times = config.plan().params.schedule.times[:stage] - opening(config)
        mass, kept = [], 0.0
        for segment in np.diff(times, prepend=0):
            kept = event.keep * kept + segment
            mass.append(kept)
        return event.scale * times[-1] / np.linalg.norm(mass)
    if isinstance(event, SegmentsEvent):
        return event.scale * np.sqrt(min(stage, config.window))
    return event.scale * event.design.row_norm(stage)


def p_values(config, rows: int, spoil=None, remembers_all=False) -> list[float]:
    """Of the variance of diagonal, off-diagonal and vector, of the means of all entries, and of their shape."""
    matrices, vectors, stage = released_noise(config, rows, RUNS, spoil, remembers_all)
    deviation = expected_deviation(config, stage, rows)
    upper = np.triu_indices(matrices.shape[-1], 1)
    groups = [
        np.diagonal(matrices, axis1=2, axis2=3).reshape(RUNS, -1) / (np.sqrt(2) * deviation),
        matrices[..., upper[0], upper[1]].reshape(RUNS, -1) / deviation,
        vectors.reshape(RUNS, -1) / deviation,
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


@pytest.mark.parametrize("config", [config for config in NOISY if opening(config)], ids=name)
def test_the_centre_has_the_noise_that_is_recorded(config):
    """Of equal contexts, whose mean is known: the release has the scale of its event, and a tenth less is rejected."""
    plan, x = config.plan(), row_of(config, None, 0.3 * np.eye(config.dim)[0])
    event = plan.event.event if isinstance(plan.event, PersonEvent) else plan.event
    feed, found = feeder(plan, plan.params, x), []
    for run in range(RUNS):
        vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
        feed(vault, view, report, stream(run, 0, 1), opening(config))
        assert view.stage[0] == 1
        found.append((view.centre - report[: config.dim]) * opening(config))
    assert checks.scale(found, event.events[0].scale) > LEVEL
    assert checks.scale(found, 0.9 * event.events[0].scale) < LEVEL


@pytest.mark.parametrize("forgetful", [config for config in NOISY if getattr(config, "window", None)], ids=name)
def test_the_noise_test_rejects_a_window_that_forgets_nothing(forgetful):
    """Held against the sums of all rows, the same views are rejected: the law sees what should be gone."""
    rows = int(forgetful.plan().params.schedule.times[forgetful.window + 6])
    assert min(p_values(forgetful, rows)) > LEVEL
    assert min(p_values(forgetful, rows, remembers_all=True)) < LEVEL


def test_no_exact_sum_gets_out(noisy_config):
    """Two learners with the same noise and different data differ in their views by the data alone: noise is added once,
    to everything that is released."""
    plan = noisy_config.plan()
    rows, found = first_release(noisy_config), []
    for first in (0.0, 0.5):
        x = row_of(noisy_config, None, first * np.eye(noisy_config.dim)[1])
        feed = feeder(plan, plan.params, x)
        found.append(noise_in_release(noisy_config, plan, feed, x, rows, stream(9, 0, 1))[0])
    assert np.abs(found[0]).min() > 0, "noise is in every number"
    np.testing.assert_allclose(found[1], found[0], atol=1e-8 * max(rows, np.abs(found[0]).max()))
