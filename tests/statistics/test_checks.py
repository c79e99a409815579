"""The checks themselves: they reject wrong laws, and right ones about as often as they say."""

import numpy as np
import pytest
from scipy import stats

from tests.statistics import checks
from tests.statistics.checks import LEVEL

COVARIANCE = np.array([[2.0, 0.8, 0.1], [0.8, 1.0, -0.3], [0.1, -0.3, 0.5]])
FACTOR = np.linalg.cholesky(COVARIANCE)

#: Name → a check of 200 numbers (or rows) drawn by the generator it is given, from the law it asks about.
RIGHT = {
    "law": lambda rng: checks.law(rng.normal(size=200), checks.normal),
    "scale": lambda rng: checks.scale(rng.normal(size=200), 1.0),
    "centre": lambda rng: checks.centre(rng.normal(size=200), 0.0, 1.0),
    "share": lambda rng: checks.share(np.sum(rng.random(200) < 0.3), 200, 0.3),
    "counts": lambda rng: checks.counts(np.bincount(rng.integers(8, size=200), minlength=8)),
    "unrelated": lambda rng: checks.unrelated(rng.normal(size=200), rng.normal(size=200)),
    "covariance": lambda rng: checks.covariance(rng.normal(size=(200, 3)) @ FACTOR.T, COVARIANCE),
}

#: Name → a check of 20,000 numbers from a slightly wrong law.
WRONG = {
    "law: scale 10 % off": lambda rng: checks.law(1.1 * rng.normal(size=20_000), checks.normal),
    "law: uniform for normal": lambda rng: checks.law(rng.uniform(-(3**0.5), 3**0.5, 20_000), checks.normal),
    "scale: 10 % above": lambda rng: checks.scale(1.1 * rng.normal(size=20_000), 1.0),
    "scale: 10 % below": lambda rng: checks.scale(0.9 * rng.normal(size=20_000), 1.0),
    "centre: off by a tenth": lambda rng: checks.centre(0.1 + rng.normal(size=20_000), 0.0, 1.0),
    "share: 0.33 for 0.3": lambda rng: checks.share(np.sum(rng.random(20_000) < 0.33), 20_000, 0.3),
    "counts: one of eight 20 % rarer": lambda rng: checks.counts(
        rng.multinomial(20_000, [0.1] + [0.9 / 7] * 7), [1 / 8] * 8
    ),
    "unrelated: correlation 0.1": lambda rng: _correlated(rng, 0.1),
    "covariance: scale 10 % off": lambda rng: checks.covariance(
        1.1 * rng.normal(size=(20_000, 3)) @ FACTOR.T, COVARIANCE
    ),
    "covariance: one entry off by 0.2": lambda rng: checks.covariance(
        rng.normal(size=(20_000, 3)) @ FACTOR.T,
        COVARIANCE + 0.2 * np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]]),
    ),
}


def _correlated(rng, rho):
    a, b = rng.normal(size=(2, 20_000))
    return checks.unrelated(a, rho * a + (1 - rho**2) ** 0.5 * b)


@pytest.mark.parametrize("name", RIGHT)
def test_a_check_rejects_a_right_law_no_more_often_than_it_says(name):
    """500 repetitions at 5 %; this test itself errs with probability below 1e-6 (binomial)."""
    rng = np.random.default_rng(20)
    repetitions = 500
    rejected = sum(RIGHT[name](rng) < 0.05 for _ in range(repetitions))
    # Pearson's χ² is asymptotic: allow it 6 %.
    assert stats.binom.sf(rejected - 1, repetitions, 0.06 if name == "counts" else 0.05) > 1e-6


@pytest.mark.parametrize("name", WRONG)
def test_a_check_rejects_a_wrong_law(name):
    assert WRONG[name](np.random.default_rng(21)) < LEVEL


def test_combined_is_the_smallest_times_their_number():
    assert checks.combined([0.5, 0.01, 0.3]) == pytest.approx(0.03)
    assert checks.combined([0.9, 0.8]) == 1.0
