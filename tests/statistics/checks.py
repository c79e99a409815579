"""Statistical checks with a stated error level, shared by the tests of noise, mechanisms and environments.

Each function returns the probability (exact unless its docstring says otherwise) of data at least as extreme under
the law it is given. A test *accepts* when that is above `LEVEL`. `test_checks.py` tests the checks themselves: they
reject wrong laws, and right ones no more often than they say.
"""

import math

import numpy as np
from scipy import special, stats

#: How often one check rejects a right law. Seeds are fixed, so a test that has passed keeps passing.
LEVEL = 1e-6

#: The same where the numbers come from the operating system and no seed can be fixed.
UNSEEDED_LEVEL = 1e-9


def combined(probabilities):
    """One probability for several checks, whatever their dependence (Bonferroni: at most too large)."""
    values = [float(value) for value in probabilities]
    return min(1.0, len(values) * min(values))


def law(sample, cdf):
    """Kolmogorov–Smirnov, two-sided: is `sample` an independent draw from the law with this distribution function?"""
    heights = cdf(np.sort(np.asarray(sample, dtype=float).ravel()))
    count = heights.size
    steps = np.arange(count) / count
    distance = max((heights - steps).max(), (steps - heights).max() + 1 / count)
    # The limit law is exact enough for many numbers, and a second faster.
    return float(special.kolmogorov(math.sqrt(count) * distance) if count > 10_000 else stats.kstwo.sf(distance, count))


def uniform(values):
    """The distribution function of U[0, 1)."""
    return np.clip(values, 0.0, 1.0)


normal = special.ndtr


def scale(sample, sd):
    """χ², two-sided: do independent centred normals have this standard deviation?"""
    values = np.asarray(sample, dtype=float).ravel() / sd
    statistic = float(values @ values)
    return min(1.0, 2 * min(special.chdtr(values.size, statistic), special.chdtrc(values.size, statistic)))


def centre(sample, mean, sd):
    """z, two-sided: do independent values with this standard deviation have this mean? Asymptotic unless normal."""
    values = np.asarray(sample, dtype=float).ravel()
    return float(2 * special.ndtr(-abs(values.mean() - mean) / sd * math.sqrt(values.size)))


def share(hits, trials, probability):
    """Binomial, two-sided: did something of this probability happen as often as it should?"""
    return float(stats.binomtest(int(hits), int(trials), probability).pvalue)


def counts(observed, probabilities=None):
    """Pearson's χ²: do the counts follow these probabilities (default: equal)? Asymptotic: expect 5 or more each."""
    observed = np.asarray(observed)
    expected = None if probabilities is None else observed.sum() * np.asarray(probabilities)
    return float(stats.chisquare(observed, expected).pvalue)


def unrelated(left, right, mean=0.0):
    """z, two-sided: are two series about this mean uncorrelated, position by position? Asymptotic."""
    a, b = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    if mean:
        a, b = a - mean, b - mean
    products = [np.einsum("i,i", *pair) for pair in ((a, b), (a, a), (b, b))]  # no threads, unlike BLAS
    return float(2 * special.ndtr(-abs(products[0]) / math.sqrt(products[1] * products[2]) * math.sqrt(a.size)))


def covariance(rows, matrix):
    """Do independent rows, jointly normal and centred, have this covariance matrix?

    Whitened, each row should be standard normal: so should be its coordinates, and the normalised sums and differences
    of any two. The sum of squares of each of these k² projections is χ²; together they see every wrong covariance.
    """
    rows = np.asarray(rows, dtype=float)
    white = np.linalg.solve(np.linalg.cholesky(np.asarray(matrix, dtype=float)), rows.T)
    gram = white @ white.T
    one, two = np.triu_indices(len(white), 1)
    middle = (gram[one, one] + gram[two, two]) / 2
    statistics = np.concatenate([np.diag(gram), middle + gram[one, two], middle - gram[one, two]])
    count = rows.shape[0]
    tails = np.minimum(special.chdtr(count, statistics), special.chdtrc(count, statistics))
    return combined(2 * tails)
