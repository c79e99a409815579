"""What no private policy can beat: lines to draw under the curves of those that try.

One theorem, one function. `rounds` may be one number or an array of them, as for a line over time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import positive, whole
from tacit.errors import BadInput


def plain_dp_floor(rounds: ArrayLike) -> Floats:
    """n/4: the expected regret of any policy under plain (ε, δ)-DP with ε < ln 2 and δ < 1/4, in `TwoContexts`.

    Plain DP protects this round's context from this round's own arm. With p the probability of the wrong arm under
    one context and q under the other, 1 − p ≤ e^ε·q + δ, and a round costs p + q ≥ 1 − (1 − e^−ε) − δ > 1/4.

    Shariff and Sheffet (2018), Claim 13. It says nothing about joint DP, where a person's own arm may depend on that
    person's own context, and it is loose: see `randomised_response_regret`.
    """
    return _rounds(rounds) / 4


def randomised_response_regret(rounds: ArrayLike, epsilon: float) -> Floats:
    """2n/(1 + e^ε): the expected regret of `RandomisedResponse` in `TwoContexts`, exactly.

    The wrong arm comes with probability 1/(1 + e^ε) and costs 2. No policy under plain (ε, 0)-DP pays less: in the
    proof of Claim 13 the same holds with the contexts exchanged, 1 − q ≤ e^ε·p + δ, and the two together give
    p + q ≥ 2(1 − δ)/(1 + e^ε). In other worlds it is neither a floor nor what randomised response pays.

    Shariff and Sheffet (2018), proof of Claim 13; Warner (1965).
    """
    # 1/(1 + e^ε) written so that a large ε gives 0 and no overflow.
    wrong = math.exp(-positive("epsilon", epsilon))
    return _rounds(rounds) * (2 * wrong / (1 + wrong))


def private_arms_floor(arms: int, rounds: ArrayLike, epsilon: float) -> Floats:
    """(k − 1)·ln n/(200ε): what ε-DP adds to the expected regret of the k-armed bandit, in `OrthogonalArms`.

    Every other arm is pulled at least ln n/(100εΔ) times with probability ½, and costs Δ each time; Δ cancels.

    Shariff and Sheffet (2018), Claim 14 and Corollary 15. A reference line, no more: it holds for n "sufficiently
    large" without saying how large, for policies whose regret is at most n^¾, with a constant nobody tuned, and for
    pure ε-DP: δ > 0 is not covered.
    """
    count, promised = whole("arms", arms), positive("epsilon", epsilon)
    return (count - 1) * np.log(_rounds(rounds)) / (200 * promised)


def _rounds(rounds: ArrayLike) -> Floats:
    found = np.asarray(rounds)
    if found.dtype.kind not in "fiu" or not bool(np.all((found >= 1) & np.isfinite(found))):
        raise BadInput(f"Expected rounds to be a number >= 1, or an array of them, got rounds={rounds!r}.")
    return found.astype(np.float64)
