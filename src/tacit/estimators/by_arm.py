"""The view of the arms model: a regression of its own for each arm, all on the same context."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import library_kernel
from tacit._types import Floats, Ints
from tacit.estimators.ridge import View, fit


class ArmsView(NamedTuple):
    """What has been released: all that `choose` may look at."""

    theta: Floats  # (arms, width) θ̃ of each arm
    spread: Floats  # (arms, width, width) M: √(zᵀMz) is how far <z, θ̃> may be off, in widths
    width: Floats  # (arms,) what multiplies it
    centre: Floats  # (dim,) the mean that is taken off contexts
    stage: Ints  # (1,) how many releases there have been, that of the centre among them


def empty_arms_view(arms: int, dim: int, width: int) -> ArmsView:
    """Before the first release."""
    return ArmsView(
        np.zeros((arms, width)),
        np.zeros((arms, width, width)),
        np.zeros(arms),
        np.zeros(dim),
        np.zeros(1, np.int64),
    )


@library_kernel
def fit_arms(estimate: Any, published: Floats, stage: int, view: ArmsView) -> int:
    """Fit each arm to its block of what was published, as release number `stage` (0-based) of the sums. Returns how
    often a matrix had to be repaired."""
    arms, width = view.theta.shape
    size = linalg.block_size(width)
    one = View(np.zeros(width), np.zeros((width, width)), np.zeros((width, width)), np.zeros(1), np.zeros(1, np.int64))
    repairs = 0
    for arm in range(arms):
        one.stage[0] = stage
        repairs += fit(estimate, published[arm * size : (arm + 1) * size], one)
        view.theta[arm] = one.theta
        view.spread[arm] = np.dot(one.whiten.T, one.whiten)
        view.width[arm] = one.width[0]
    return repairs
