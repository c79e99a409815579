"""The episode: one draw per total, of the right law, and nothing left behind.

Error level: each comparison of laws is at 1e-6, on fixed seeds; each has a twin that fails it.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit._kernel import kernel
from tacit.mechanisms.episode import release_total
from tacit.noise import DiscreteGaussian, refill, stream, tape
from tests.statistics import checks
from tests.statistics.checks import LEVEL

RUNS = 20_000


@kernel
def _publish(scale, laplace, sums, sizes, draw, noise, out):
    for run in range(out.shape[0]):
        sums[1], sizes[1] = 3.0, 7
        out[run] = release_total(scale, laplace, sums, sizes, 1, draw, noise)


def published(scale: float, laplace: bool, seed: int = 1) -> np.ndarray:
    out = np.zeros(RUNS)
    _publish(scale, laplace, np.zeros(2), np.zeros(2, np.int64), np.zeros(2), stream(seed), out)
    return out - 3.0


def laplace_cdf(values: np.ndarray) -> np.ndarray:
    return np.where(values < 0, 0.5 * np.exp(np.minimum(values, 0)), 1 - 0.5 * np.exp(-np.maximum(values, 0)))


def test_gaussian_noise_has_the_scale_that_was_asked_for():
    assert checks.law(published(2.5, False) / 2.5, checks.normal) > LEVEL
    assert checks.scale(published(2.5, False), 2.5) > LEVEL
    assert checks.scale(published(2.5 * 0.9, False), 2.5) < LEVEL, "a tenth less is told apart"


def test_laplace_noise_has_the_scale_that_was_asked_for():
    assert checks.law(published(2.5, True) / 2.5, laplace_cdf) > LEVEL
    assert checks.law(published(2.5 * 0.9, True) / 2.5, laplace_cdf) < LEVEL
    assert checks.law(published(2.5, False) / 2.5, laplace_cdf) < LEVEL, "and a Gaussian is none"


@pytest.mark.parametrize("laplace", [False, True])
def test_a_total_is_published_once_and_nothing_of_it_stays(laplace):
    sums, sizes, draw = np.array([1.0, 3.0]), np.array([2, 7]), np.zeros(2)
    noise = tape(8, 8)
    refill(noise, 1, 2, DiscreteGaussian(100.0))
    release_total(2.0, laplace, sums, sizes, 1, draw, noise)
    assert sums.tolist() == [1.0, 0.0]
    assert sizes.tolist() == [2, 0]
    assert draw.tolist() == [0.0, 0.0], "noise that could be subtracted again"
    assert noise.at.tolist() == ([0, 2] if laplace else [1, 0])


def test_without_noise_nothing_is_drawn():
    noise = tape(8, 8)
    assert release_total(0.0, False, np.array([3.0]), np.array([7]), 0, np.zeros(2), noise) == 3.0
    assert noise.at.tolist() == [8, 8]
