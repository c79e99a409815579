"""What can be known of USCA before any data: the information gain, the supremum of σ², and what a draw gives away."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from tacit._types import Floats
from tacit.environments.functions import ACTIONS, CONTEXTS, LUCK, drawn
from tacit.mechanisms.exponential import diameter, published_rate, range_rate
from tacit.policies.usca import USCA
from tacit.reproduce.kernel.common import DELTA, world
from tacit.reproduce.kernel.methods import SMALL

#: Points per side of the grid that σ² is looked at on, and that a replaced record is put at.
_SIDE, _SPOTS = 101, 21
#: Contexts that are asked about.
_ASKED = 11


class Known(NamedTuple):
    """Public numbers of one kernel and horizon at τ = 0.1."""

    gain: float  # γ_T
    supremum: float  # of σ² over a grid, ends included


@lru_cache(maxsize=64)
def known(kernel: str, horizon: int, tau: float = SMALL) -> Known:
    """γ_T and sup σ² of the operator at this horizon."""
    config = USCA(epsilon=1.0, delta=DELTA).in_world(**world(kernel).public(), horizon=horizon)
    operator = config.operator(tau)
    return Known(operator.gain, float(operator.sigma2(config.domain.grid(_SIDE)).max()))


#: How odds are set: the paper's rule, ours, and the paper's with σ² read as a posterior variance, which is τ·σ².
RULES = ("published", "default", "posterior variance")


@lru_cache(maxsize=64)
def largest_loss(rule: str, kernel: str, horizon: int, epsilon: float, seed: int) -> float:
    """The largest |ln P(x)/P'(x)| of a draw that was found, over records that differ in one: a lower bound on ε.

    The one record stands at any point of a grid with reward B, and with −B in the other set; the rest are simulated.
    """
    place = world(kernel)
    config = USCA(
        epsilon=epsilon,
        delta=DELTA,
        tau=None if rule == "default" else SMALL,
        calibration="exact" if rule == "default" else "published",
    ).in_world(**place.public(), horizon=horizon)
    public, bound = config.public, config.bound
    operator = public.operator
    assert operator is not None
    contexts = place.sample_contexts(drawn(seed, 0, CONTEXTS), horizon - 1)
    actions = place.action_box.uniform(drawn(seed, 0, ACTIONS), horizon - 1)
    assert contexts is not None
    rewards = place.start(seed).pay(actions, contexts, drawn(seed, 0, LUCK))
    vector = operator.weighted_sum(np.hstack([actions, contexts]), rewards, public.leverage)
    moves = operator.u(config.domain.grid(_SPOTS))
    lengths = np.sqrt((moves**2).sum(axis=1, keepdims=True))
    moves *= np.minimum(1.0, public.leverage / lengths) * bound
    worst = 0.0
    for context in np.linspace(0, 1, _ASKED):
        points = np.hstack([config.grid, np.full((len(config.grid), 1), context)])
        rows = operator.u(points)
        if rule == "default":
            rate = range_rate(epsilon, bound, public.leverage, diameter(rows))
        else:
            read_as = public.supremum if rule == "published" else SMALL * public.supremum
            rate = published_rate(epsilon, bound, read_as)
        scores: Floats = (rows @ vector)[:, None]
        shift = rows @ moves.T
        apart = log_softmax(rate * (scores + shift), axis=0) - log_softmax(rate * (scores - shift), axis=0)
        worst = max(worst, float(np.abs(apart).max()))
    return worst
