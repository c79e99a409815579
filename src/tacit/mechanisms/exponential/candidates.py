"""A draw from finitely many candidates."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import at_least
from tacit.errors import BadInput
from tacit.mechanisms.exponential.uniforms import uniforms
from tacit.noise.coins import DrawWords, Uniform, exp_bounds, exp_minus_each, random_words

_FARTHEST = -float(np.finfo(np.float64).max)


def probabilities(scores: Any, eta: float) -> Floats:
    """P(i) ∝ exp(η·score_i), by log-sum-exp: no score is too large. Secret, like the scores."""
    weights = np.exp(_log_weights(scores, eta))
    found: Floats = weights / weights.sum()
    return found


def draw_candidate(
    scores: Any, eta: float, rng: np.random.Generator | None = None, *, words: DrawWords = random_words
) -> int:
    """The index of one candidate, drawn with P(i) ∝ exp(η·score_i), exactly: `proof.md`, *Draws*.

    Formal guarantee: if replacing one row moves η·(score_i − score_j) by at most ε for any i and j, so it does the
    log-odds between any two candidates: ExponentialEvent(ε), and so pure ε-DP. `proof.md`.
    Requires: candidates and η do not depend on the data; the event was spent.

    One uniform number u finds its place among the cumulated weights. In doubles these are known to within a band, and
    outside of it u decides; inside, weights and u are worked out in whole numbers, digit by digit. The same steps are
    taken whatever the scores are, but for that band. `rng` is for simulation alone, in double precision: an exponential
    race, in which candidate i arrives after an exponential time of rate exp(η·score_i), and the first one wins.
    """
    weights = _log_weights(scores, eta)
    if rng is not None:
        time = -np.log1p(-uniforms(len(weights), rng))
        return int(np.argmin(np.log(time) - weights))
    return placed(np.minimum(-weights, -_FARTHEST), words)


def placed(x: Floats, words: DrawWords) -> int:
    """An index drawn with P(i) ∝ e^−x_i, exactly, for x ≥ 0 of which one is 0."""
    each = np.empty(len(x))
    exp_minus_each(x, each)
    cumulated = np.cumsum(each)
    word = words(1)[0]
    target = float(word >> np.uint64(11)) * 2.0**-53 * cumulated[-1]
    # A weight is off by 2⁻⁴⁹, a sum of K of them and its rounding by K·2⁻⁴⁸ of it, twice; the last bits of u by 2⁻⁵³.
    band = len(x) * 2.0**-46 * cumulated[-1]
    low, high = np.searchsorted(cumulated, (target - band, target + band), "right")
    return int(low) if low == high else _placed_exactly(x, Uniform(int(word), words))


def _placed_exactly(x: Floats, uniform: Uniform) -> int:
    """The same in whole numbers: bounds of all cumulated weights, with more digits until u is between two of them."""
    exponents = [Fraction(float(one)) for one in x]
    while True:
        bits = uniform.bits + 16
        bounds = [exp_bounds(one, bits) for one in exponents]
        below, above = list(accumulate(low for low, _ in bounds)), list(accumulate(high for _, high in bounds))
        # u·W lies in [first, last), W the sum of all weights; both are compared in units of 2^−(bits + uniform.bits).
        first, last = uniform.head * below[-1], (uniform.head + 1) * above[-1]
        place = bisect_right(above, first >> uniform.bits)
        at_least = place == 0 or above[place - 1] << uniform.bits <= first
        if at_least and last <= below[place] << uniform.bits:
            return place
        uniform.refine()


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
