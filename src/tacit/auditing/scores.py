"""From what an attacker saw of a run to one number: the larger, the more it looks like the second input.

Scores are fitted on runs of their own. No fit can make a bound wrong, only weak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh

from tacit._types import Floats

Score: TypeAlias = Callable[[Floats], Floats]
#: Makes a score of what was seen under either input, both of shape (runs, numbers).
Fit: TypeAlias = Callable[[Floats, Floats], Score]

#: Directions in which what was seen varies less than this, relative to the most, are taken to vary so much.
_FLAT = 1e-12
#: The most, where nothing varies at all; numbers are in units of the largest.
_NONE = 1e-30


def linear(first: Floats, second: Floats) -> Score:
    """The likelihood ratio of two Gaussians of one covariance: Σ⁻¹ times the difference of the means.

    For Gaussian releases no score is better (Neyman and Pearson 1933). In a direction without any spread the two inputs
    are told apart at once; it counts as almost none, so that such a direction outweighs all others.
    """
    scale = np.maximum(np.abs(first).max(axis=0), np.abs(second).max(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    one, two = first / scale, second / scale
    difference = two.mean(axis=0) - one.mean(axis=0)
    centred = np.concatenate([one - one.mean(axis=0), two - two.mean(axis=0)])
    values, directions = eigh(centred.T @ centred / len(centred))
    floor = max(values[-1], _NONE) * _FLAT
    weights = directions @ ((directions.T @ difference) / np.maximum(values, floor)) / scale

    def score(seen: Floats) -> Floats:
        found: Floats = seen @ weights
        return found

    return score


def table(first: Floats, second: Floats) -> Score:
    """For outcomes that are one of a few (whole numbers in one column): the log of how often each was seen under the
    second input over how often under the first, a run of each added."""
    outcomes, places = np.unique(np.concatenate([first[:, 0], second[:, 0]]), return_inverse=True)
    before = np.bincount(places[: len(first)], minlength=len(outcomes)) + 1.0
    after = np.bincount(places[len(first) :], minlength=len(outcomes)) + 1.0
    ratio = np.log(after / after.sum()) - np.log(before / before.sum())

    def score(seen: Floats) -> Floats:
        at = np.clip(np.searchsorted(outcomes, seen[:, 0]), 0, len(outcomes) - 1)
        # What the fit has not met speaks for neither.
        return np.where(outcomes[at] == seen[:, 0], ratio[at], 0.0)

    return score


def given(score: Score) -> Fit:
    """A score that needs no fit: the law of what is released is known."""
    return lambda first, second: score
