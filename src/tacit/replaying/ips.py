"""Inverse propensity scoring."""

from __future__ import annotations

import numpy as np

from tacit.replaying.estimate import Estimate, from_influence
from tacit.replaying.fixed import Judged


def by_propensity(judged: Judged) -> Estimate:
    """V = (1/n) Σ w r, with w = 1{chosen = logged} / propensity.

    Unbiased if the propensities are right and every action that the policy chooses had some. An action that was never
    logged counts as if it earned nothing. The interval is the normal one of a mean.

    Horvitz and Thompson (1952); for logs of bandits Strehl, Langford, Li and Kakade (2010).
    """
    weights = judged.weights
    terms = weights * judged.log.rewards
    value = float(terms.mean())
    return from_influence(
        "IPS", value, terms - value, int(np.count_nonzero(weights)), "normal, from the terms", judged.of
    )
