"""The lines of `kernel/rates`: methods, budgets, and which runs they are read off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.core.functions import FunctionPolicy
from tacit.policies.kernel_baselines import FeatureLinUCB, GPMean
from tacit.policies.usca import USCA
from tacit.reproduce.kernel.common import DELTA, KERNELS, world
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.prediction_result import MEAN, ONCE, RELEASED

#: τ of the paper's analysis, a noise variance, and a larger one.
SMALL, LARGE = 0.1, 10.0

GP_SMALL, GP_LARGE = "GP mean, τ = 0.1", "GP mean, τ = 10"
ARGMAX_SMALL, ARGMAX_LARGE = "USCA without noise, τ = 0.1", "USCA without noise, τ = 10"
PUBLISHED, PUBLISHED_LARGE = "published draw, τ = 0.1", "published draw, τ = 100·B/ε"
DRAW, FUNCTION, LINEAR = "draw (default)", "function (default)", "noised Gram matrix"

METHODS = (GP_SMALL, GP_LARGE, ARGMAX_SMALL, ARGMAX_LARGE, PUBLISHED, PUBLISHED_LARGE, DRAW, FUNCTION, LINEAR)


@dataclass(frozen=True)
class Line:
    """A method at a budget, and the way of the run it is read off."""

    method: str
    epsilon: float  # ∞ without privacy
    config: FunctionPolicy
    way: str

    @property
    def budget(self) -> str:
        """ε in a table."""
        return "∞" if math.isinf(self.epsilon) else f"{self.epsilon:g}"


def lines(budgets: Sequence[float], features: int | None = None) -> list[Line]:
    """Every method at every budget, with so many features (default: as many as the kernel has by default)."""

    def published(epsilon: float, tau: float | None) -> USCA:
        return USCA(epsilon=epsilon, delta=DELTA, tau=tau, calibration="published", features=features)

    # Without noise no budget enters: any that is run anyway will do.
    some = 1.0 if 1.0 in budgets else budgets[0]
    found = [
        Line(GP_SMALL, math.inf, GPMean(tau=SMALL, features=features), MEAN),
        Line(GP_LARGE, math.inf, GPMean(tau=LARGE, features=features), MEAN),
        Line(ARGMAX_SMALL, math.inf, published(some, SMALL), MEAN),
        Line(ARGMAX_LARGE, math.inf, published(some, LARGE), MEAN),
    ]
    for epsilon in budgets:
        default = USCA(epsilon=epsilon, delta=DELTA, features=features)
        found += [
            Line(PUBLISHED, epsilon, published(epsilon, SMALL), ONCE),
            Line(PUBLISHED_LARGE, epsilon, published(epsilon, None), ONCE),
            Line(DRAW, epsilon, default, ONCE),
            Line(FUNCTION, epsilon, default, RELEASED),
            Line(LINEAR, epsilon, FeatureLinUCB(epsilon=epsilon, delta=DELTA, features=features), RELEASED),
        ]
    order = {method: place for place, method in enumerate(METHODS)}
    return sorted(found, key=lambda line: order[line.method])


def run_name(line: Line, kernel: str, horizon: int, every: Sequence[Line]) -> str:
    """The run a line is read off: lines of one configuration share it, under the first one's name."""
    first = next(other for other in every if other.config == line.config)
    return f"{first.method}, ε = {first.budget}, {kernel}, T = {horizon:,}"


def jobs(every: Sequence[Line], horizons: Sequence[int], trials: int, seed: int) -> dict[str, PredictionJob]:
    """All runs, by name."""
    found: dict[str, PredictionJob] = {}
    for kernel in KERNELS:
        for horizon in horizons:
            for line in every:
                name = run_name(line, kernel, horizon, every)
                # In the order of `WAYS`, whatever the order of lines: the order is part of what a run is stored under.
                ways = tuple(
                    way
                    for way in (RELEASED, ONCE, MEAN)
                    if any(o.config == line.config and o.way == way for o in every)
                )
                found[name] = PredictionJob(line.config, world(kernel), horizon, trials, seed, ways, name)
    return found
