"""What the experiments on private kernel bandits share: the paper, the world, and how slopes are fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.environments import RKHS

PAPER = "The USCA paper: private contextual kernel bandits, uniform sampling with covariance approximation"

#: Kernels, by what they are called in tables.
SE, MATERN = "SE", "Matérn-5/2"
KERNELS: Mapping[str, str] = {SE: "squared-exponential", MATERN: "matern-5/2"}

DELTA = 1e-6

WORLD = (
    "The paper runs nothing: the world is our choice. One action and one context in [0, 1], both uniform; length scale "
    "0.2; f is a sum of eight kernels at random centres, scaled so that the largest |f| is 1; rewards are f plus even "
    "noise up to 0.3, so that B = 1.3. A trial is one function: 101 candidates, 30 contexts that were not seen."
)


def world(kernel: str) -> RKHS:
    """Random functions of one action and one context."""
    return RKHS(kernel=KERNELS[kernel])


class Slope(NamedTuple):
    """A slope of logarithms with its standard error, None with a single trial."""

    estimate: float
    error: float | None

    def __str__(self) -> str:
        return f"{self.estimate:.2f}" + ("" if self.error is None else f" ± {self.error:.2f}")


def fitted(sizes: Sequence[float], values: Sequence[Floats]) -> Slope | None:
    """The slope of ln(mean over trials) in ln(size), by least squares; None where it cannot be.

    The standard error is the jackknife's over trials. A trial keeps its function at every size, so the means of
    different sizes are not independent: leaving out a trial leaves it out everywhere, which takes care of that. Single
    trials may have no error at all, and hence no logarithm; means have one.
    """
    if len(sizes) < 2:
        return None
    table = np.column_stack(values)  # (trials, sizes)
    logs = np.log(np.asarray(sizes, float))
    weights = (logs - logs.mean()) / ((logs - logs.mean()) ** 2).sum()
    if not (table.mean(axis=0) > 0).all():
        return None
    estimate = float(np.log(table.mean(axis=0)) @ weights)
    count = len(table)
    without = (table.sum(axis=0) - table) / max(count - 1, 1)
    if count < 2 or not (without > 0).all():
        return Slope(estimate, None)
    left_out = np.log(without) @ weights
    return Slope(estimate, math.sqrt((count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum())))
