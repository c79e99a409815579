"""How long the noise of a prefix sum may be: the sum of m nodes, each with independent noise in d coordinates."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from tacit._types import Floats


def gaussian_lengths(scale: float, dim: int, nodes: int, failure: float) -> Floats:
    """l_m with P(‖N‖ > l_m) = `failure` for m = 0, …, `nodes`: s√m times a quantile of χ with d degrees of freedom."""
    quantile = math.sqrt(float(special.chdtri(dim, failure)))
    lengths: Floats = scale * quantile * np.sqrt(np.arange(nodes + 1.0))
    return lengths


def laplace_lengths(scale: float, dim: int, nodes: int, failure: float) -> Floats:
    """l_m = √d·b·u_m with 2d·P(z > bu_m) = `failure` for m = 0, …, `nodes`, z one coordinate: P(‖N‖ > l_m) ≤ `failure`,
    since where no coordinate is beyond bu_m the noise is no longer than l_m."""
    places = [0.0] + [_place(count, failure / (2 * dim)) for count in range(1, nodes + 1)]
    lengths: Floats = scale * math.sqrt(dim) * np.array(places)
    return lengths


def _place(count: int, failure: float) -> float:
    """u with P(z > u) = `failure`, and a hair more, for the sum z of m Laplace numbers of scale 1.

    z is the difference X − Y of two Gamma(m) numbers. P(X > u + y) = e^{−u−y}·Σ_{k<m} (u + y)^k/k!, and over Y

        P(z > u) = e^{−u}·Σ_{k<m} Σ_{j≤k} u^{k−j}/(k−j)!·C(m+j−1, j)·2^{−(m+j)}.
    """
    weights = [math.comb(count + j - 1, j) * 0.5 ** (count + j) for j in range(count)]
    totals = np.cumsum(weights)[::-1]  # of u^i/i!, i = 0, …, m − 1: all j up to m − 1 − i
    factorials = special.gammaln(np.arange(count) + 1.0)
    powers = np.arange(float(count))

    def excess(u: float) -> float:
        """ln P(z > u) − ln failure."""
        return float(special.logsumexp(special.xlogy(powers, u) - factorials + np.log(totals)) - u - math.log(failure))

    high = 1.0
    while excess(high) > 0:
        high *= 2
    found: float = optimize.brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-12)
    return found * (1 + 1e-9)
