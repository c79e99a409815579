"""The noise in what is released has the calibrated law.

Error level: each comparison of a variance is two-sided at 1e-6 (chi-square), each of a shape at 1e-6 (Kolmogorov);
about a hundred of them run, so a correct build fails once in ten thousand seeds — and the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacit._kernel import kernel
from tacit.core.round import learn_round
from tacit.noise import stream

from .runs import first_release

LEVEL = 1e-6
RUNS = 600


@kernel
def _feed(params, vault, view, x, report, noise, rows):
    for _ in range(rows):
        learn_round(params, vault, view, x, 0.0, report, noise)


def released_noise(config, rows: int, runs: int, spoil=None) -> tuple[np.ndarray, np.ndarray, int]:
    """Noise in the view after `rows` rows, in `runs` learners: matrices, vectors, and the stage of that view.

    The rows are x = 0.3·e_1 with reward 0, so the exact sums are known; what is left of V and V·θ̃ is noise.
    """
    plan = config.plan()
    params = plan.params if spoil is None else spoil(plan.params)
    dim = config.dim
    x = np.zeros(dim)
    x[0] = 0.3
    matrices, vectors = np.zeros((runs, dim, dim)), np.zeros((runs, dim))
    stage = 0
    for run in range(runs):
        vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
        _feed(params, vault, view, x, report, stream(run, 0, 1), rows)
        stage = int(view.stage[0])
        upper = np.triu(view.factor)
        released = upper.T @ upper
        place = min(stage - 1, len(params.confidence.regulariser) - 1)
        exact = np.outer(x, x) * rows + np.eye(dim) * params.confidence.regulariser[place]
        matrices[run] = released - exact
        vectors[run] = released @ view.theta * params.bounds.reward_scale
    return matrices, vectors, stage


def expected_deviation(config, stage: int, rows: int) -> float:
    """τ of the view, from the plan's scale and the mechanism's public design."""
    event = config.plan().event
    if hasattr(event, "nodes"):
        return event.scale * np.sqrt(rows.bit_count())
    return event.scale * event.design.row_norm(stage)


def p_values(config, rows: int, spoil=None) -> list[float]:
    """Of the variance of diagonal, off-diagonal and vector, and of the shape of all together."""
    matrices, vectors, stage = released_noise(config, rows, RUNS, spoil)
    deviation = expected_deviation(config, stage, rows)
    upper = np.triu_indices(config.dim, 1)
    groups = [
        np.diagonal(matrices, axis1=1, axis2=2) / (np.sqrt(2) * deviation),
        matrices[:, upper[0], upper[1]] / deviation,
        vectors / deviation,
    ]
    found = []
    for group in groups:
        total, count = float((group**2).sum()), group.size
        found.append(2 * min(stats.chi2.cdf(total, count), stats.chi2.sf(total, count)))
    found.append(stats.kstest(np.concatenate([group.ravel() for group in groups]), "norm").pvalue)
    return found


def later_rows(config) -> list[int]:
    """The first view, and one a few releases on."""
    params = config.plan().params
    return [first_release(config), int(params.times[5]) if hasattr(params, "times") else 7]


def test_released_noise_has_the_calibrated_law(private_config):
    for rows in later_rows(private_config):
        assert min(p_values(private_config, rows)) > LEVEL


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_noise_test_rejects_a_scale_off_by_ten_percent(private_config, factor):
    def spoil(params):
        if hasattr(params, "buffers"):
            return params._replace(buffers=params.buffers._replace(scale=params.buffers.scale * factor))
        return params._replace(scale=params.scale * factor)

    assert min(p_values(private_config, later_rows(private_config)[0], spoil)) < LEVEL


def test_no_exact_sum_gets_out(private_config):
    """Two learners with the same noise and different data differ in their views by the data alone: noise is added once,
    to everything that is released."""
    plan = private_config.plan()
    rows = first_release(private_config)
    released = []
    for first in (0.0, 0.5):
        vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
        x = np.zeros(private_config.dim)
        x[1] = first
        _feed(plan.params, vault, view, x, report, stream(9, 0, 1), rows)
        upper = np.triu(view.factor)
        released.append(upper.T @ upper)
    change = np.zeros((private_config.dim, private_config.dim))
    change[1, 1] = 0.25 * rows
    np.testing.assert_allclose(released[1] - released[0], change, atol=1e-8 * np.abs(released[0]).max())
