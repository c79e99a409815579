"""A draw from finitely many candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import at_least
from tacit.errors import BadInput
from tacit.mechanisms.exponential.uniforms import uniforms

_FARTHEST = -float(np.finfo(np.float64).max)


def probabilities(scores: Any, eta: float) -> Floats:
    """P(i) ∝ exp(η·score_i), by log-sum-exp: no score is too large. Secret, like the scores."""
    weights = np.exp(_log_weights(scores, eta))
    found: Floats = weights / weights.sum()
    return found


def draw_candidate(scores: Any, eta: float, rng: np.random.Generator | None = None) -> int:
    """The index of one candidate, drawn with P(i) ∝ exp(η·score_i).

    Formal guarantee: if replacing one row moves η·(score_i − score_j) by at most ε for any i and j, so it does the
    log-odds between any two candidates: ExponentialEvent(ε), and so pure ε-DP. `proof.md`.
    Requires: candidates and η do not depend on the data; the event was spent. `rng` is for simulation alone.

    An exponential race, which is Gumbel-max by another name: candidate i arrives after an exponential time of rate
    exp(η·score_i), and the first one wins. It takes the same steps whatever the scores are.
    """
    weights = _log_weights(scores, eta)
    time = -np.log1p(-uniforms(len(weights), rng))
    return int(np.argmin(np.log(time) - weights))


def _log_weights(scores: Any, eta: float) -> Floats:
    """η·(score − largest score), at most 0; −∞ where it is beyond all numbers."""
    found = finite("scores", scores, hint="Give one score per candidate.")
    if found.ndim != 1 or not found.size:
        raise BadInput(f"Expected scores of shape (K,) with K >= 1 candidates, got shape {found.shape}.")
    rate = at_least("eta", eta, 0)
    with np.errstate(over="ignore"):
        # Two scores may be farther apart than the largest number; with η = 0 even that weighs nothing.
        weights: Floats = rate * np.maximum(found - found.max(), _FARTHEST)
    return weights
