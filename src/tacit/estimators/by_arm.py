"""The view of the arms model: a regression of its own for each arm, all on the same context. In the hybrid model the
features of an action have a parameter that all arms share (`hybrid.md`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel, library_kernel, verb
from tacit._types import Floats, Ints
from tacit.estimators.noise_aware import NoiseAware
from tacit.estimators.ridge import Confidence, View, fit


class ArmsView(NamedTuple):
    """What has been released: all that `choose` may look at."""

    theta: Floats  # (arms, width) θ̃ of each arm, or what it is when features are all zero
    spread: Floats  # (arms, width, width) M: √(zᵀMz) is how far <z, θ̃> may be off, in widths
    width: Floats  # (arms,) what multiplies it
    centre: Floats  # (dim,) the mean that is taken off contexts
    stage: Ints  # (1,) how many releases there have been, that of the centre among them
    shared: Floats  # (shared,) θ̃_0, the parameter of what features have left when contexts are taken off
    shared_spread: Floats  # (shared, shared) M_0
    ties: Floats  # (arms, width, shared) T: features, as the context tells them
    cross: Floats  # (arms, width, shared) C: what errors of both parts have in common


def empty_arms_view(arms: int, dim: int, width: int, shared: int = 0) -> ArmsView:
    """Before the first release."""
    return ArmsView(
        np.zeros((arms, width)),
        np.zeros((arms, width, width)),
        np.zeros(arms),
        np.zeros(dim),
        np.zeros(1, np.int64),
        np.zeros(shared),
        np.zeros((shared, shared)),
        np.zeros((arms, width, shared)),
        np.zeros((arms, width, shared)),
    )


@verb
def fit_arms(estimate: Any, published: Floats, stage: int, view: ArmsView) -> int:  # type: ignore[empty-body]
    """Fit all arms to what was published, as release number `stage` (0-based) of the sums. Returns how often a matrix
    had to be repaired."""


@implements(fit_arms, Confidence, NoiseAware)
@kernel
def _fit_arms(estimate: Any, published: Floats, stage: int, view: ArmsView) -> int:
    return fit_each(estimate, published, stage, view)


@library_kernel
def fit_each(estimate: Any, published: Floats, stage: int, view: ArmsView) -> int:
    """Each arm to its own block."""
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
