"""Self-normalised inverse propensity scoring."""

from __future__ import annotations

import numpy as np

from tacit.replaying.estimate import Estimate, from_influence, nothing
from tacit.replaying.fixed import Judged


def self_normalised(judged: Judged) -> Estimate:
    """V = Σ w r / Σ w, with w = 1{chosen = logged} / propensity.

    Never outside the range of the rewards, and unmoved by a constant added to them. Its bias goes to zero with 1/n. By
    the delta method a row moves it by w(r − V)/w̄, where w̄ is the mean weight; the interval is the normal one of these.

    Swaminathan and Joachims (2015), "The self-normalized estimator for counterfactual learning".
    """
    weights, rewards = judged.weights, judged.log.rewards
    total = float(weights.sum())
    if total == 0:
        return nothing("SNIPS", judged.of)
    value = float(weights @ rewards) / total
    influence = weights * (rewards - value) / (total / len(weights))
    return from_influence("SNIPS", value, influence, int(np.count_nonzero(weights)), "normal, delta method", judged.of)
