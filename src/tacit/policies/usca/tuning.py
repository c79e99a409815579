"""τ by simulation on public synthetic functions: kernel, boxes, horizon, ε and bounds are public, so it is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit._types import Floats
from tacit.privacy.calibrate import Promise, calibrate
from tacit.privacy.event import GaussianEvent

if TYPE_CHECKING:
    from tacit.policies.usca import USCA

#: Factors of B/ε that are tried, functions each is tried on, contexts each function is asked about.
FACTORS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
FUNCTIONS, QUERIES, CENTRES = 12, 20, 8
#: The draws are public, and the same for everybody.
_SEED = 3


def tuned_tau(config: USCA) -> float:
    """The τ of a few whose released function errs least on synthetic functions of the same kernel and size.

    A function is a random combination of kernels, scaled so that with noise on top rewards fill the interval. Instead
    of T records their sum is drawn in one go: its mean is known, and its deviation is that of T independent terms.
    """
    rng = np.random.default_rng(_SEED)
    domain, kernel, bound = config.domain, config.covariance, config.bound
    grid = config.grid
    queries = config.synthetic_draws(QUERIES, _SEED)[:, config.actions.dim :]
    points = np.vstack([np.hstack([grid, np.repeat(query[None, :], len(grid), axis=0)]) for query in queries])
    draws = config.synthetic_draws(2**12, _SEED + 1)
    functions = []
    for _ in range(FUNCTIONS):
        centres, weights = domain.uniform(rng, CENTRES), rng.standard_normal(CENTRES)
        values = kernel(points, centres) @ weights
        scale = 0.75 * bound / np.abs(values).max()
        functions.append((scale * values, scale * (kernel(draws, centres) @ weights)))
    noise = rng.standard_normal((FUNCTIONS, 2, config.map.size))
    candidates = [factor * bound / config.epsilon for factor in FACTORS]
    errors = [_error(config, tau, points, draws, functions, noise) for tau in candidates]
    return candidates[int(np.argmin(errors))]


def _error(
    config: USCA, tau: float, points: Floats, draws: Floats, functions: list[tuple[Floats, Floats]], noise: Floats
) -> float:
    operator = config.operator(tau)
    leverage = operator.leverage_quantile(config.clip)
    moved = 2 * config.bound * leverage
    promise = Promise(config.epsilon, config.delta)
    scale = calibrate(promise, lambda one: GaussianEvent(one, moved))
    u, asked = operator.u(draws), operator.u(points)
    u *= leverage / np.maximum(leverage, np.sqrt(np.einsum("ij,ij->i", u, u)))[:, None]
    total, spread = 0.0, config.bound / 4  # about what bounded noise leaves
    for (values, seen), (luck, masking) in zip(functions, noise, strict=True):
        terms = u * seen[:, None]
        mean = terms.mean(axis=0)
        deviation = np.sqrt(terms.var(axis=0) + spread**2 * (u * u).mean(axis=0))
        v = config.records * mean + np.sqrt(config.records) * deviation * luck + scale * masking
        chosen = (asked @ v).reshape(QUERIES, -1).argmax(axis=1)
        table = values.reshape(QUERIES, -1)
        total += float((table.max(axis=1) - table[np.arange(QUERIES), chosen]).mean())
    return total
