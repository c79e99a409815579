"""The doubly robust estimate, with a cross-fitted ridge regression of rewards."""

from __future__ import annotations

import numpy as np

from tacit._types import Floats, Ints
from tacit.replaying.estimate import Estimate, from_influence
from tacit.replaying.fixed import Judged
from tacit.replaying.log import Log

#: Parts of the rows; the rewards of each are predicted from the others.
_FOLDS = 5
#: λ: actions are no longer than 1, so this is the weight of one row.
_RIDGE = 1.0


def doubly_robust(judged: Judged) -> Estimate:
    """V = (1/n) Σ [q(chosen) + w (r − q(logged))], with w = 1{chosen = logged} / propensity.

    q is a ridge regression of rewards on actions. Every row is predicted from four fifths of the rows it is not in
    (cross-fitting), so that the terms are as good as independent, and the interval is the normal one of their mean. It
    is right if either the propensities or q are; where q is good, the weights carry only what q missed.

    Dudík, Langford and Li (2011); cross-fitting: Chernozhukov et al. (2018).
    """
    log, weights = judged.log, judged.weights
    at_chosen = predicted(log, judged.chosen)
    # A weight is zero unless the two arms are the same, so q at the chosen one serves for both.
    terms = at_chosen + weights * (log.rewards - at_chosen)
    value = float(terms.mean())
    return from_influence("DR", value, terms - value, len(log), "normal, from the terms", judged.of)


def predicted(log: Log, arms: Ints) -> Floats:
    """q: the reward of these arms, one per row, predicted from other rows."""
    every = np.arange(len(log))
    folds = min(_FOLDS, len(log))
    found = np.zeros(len(log))
    for fold in range(folds):
        inside = every % folds == fold
        middle, slope = _fit(log, every[~inside])
        for rows in _portions(every[inside], log.block_size):
            found[rows] = middle + log.taken(rows, arms[rows]) @ slope
    return found


def _fit(log: Log, rows: Ints) -> tuple[float, Floats]:
    """Intercept and slope of the ridge regression; the intercept is not shrunk, as rewards may lie anywhere."""
    count = max(1, len(rows))
    gram, moment, total = np.zeros((log.dim, log.dim)), np.zeros(log.dim), np.zeros(log.dim)
    middle = float(log.rewards[rows].sum()) / count
    for some in _portions(rows, log.block_size):
        actions = log.taken(some, log.actions[some])
        gram += actions.T @ actions
        moment += actions.T @ (log.rewards[some] - middle)
        total += actions.sum(axis=0)
    centred = gram - np.outer(total, total) / count
    slope = np.asarray(np.linalg.solve(centred + _RIDGE * np.eye(log.dim), moment), np.float64)
    return middle - float(total @ slope) / count, slope


def _portions(rows: Ints, size: int) -> list[Ints]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]
