"""Functions of a kernel: setting up an operator, absorbing records, asking for one context, and certificates.

python -m benchmarks rkhs
"""

from __future__ import annotations

from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.report import Cell, Goal, Report, best_of, seconds
from tacit._types import Floats
from tacit.estimators.rkhs import (
    FEWEST_DRAWS,
    FeatureMap,
    Nystrom,
    Operator,
    QuadratureFourier,
    certified_sup_sigma2,
    inducing_points,
)
from tacit.kernels import Box, Matern, SquaredExponential

#: Records, candidates of one context, and the regulariser.
RECORDS, CANDIDATES, TAU = 10**5, 100, 100.0
#: One coordinate of the action and one of the context.
BOX = Box.unit(2)
#: Seconds to set up, seconds to absorb, and milliseconds per context: the largest case has to keep them.
SETUP, ABSORB, ASK = 1.5, 1.5, 5.0
CASES = ("squared-exponential, nystrom", "squared-exponential, fourier", "matern-5/2, nystrom")


def measure(quick: bool) -> Report:
    """Seconds of each step, and how near certificates come to what a grid finds."""
    title = f"{RECORDS:,} records in 1 + 1 dimensions, length scale 0.2, tau = {TAU:g}, BLAS on one thread"
    report = Report("rkhs", title)
    report.begin()
    # Threads of BLAS that wait for each other would measure what else the machine is doing.
    with threadpool_limits(1):
        steps = [_steps(name, 2 if quick else 5) for name in CASES]
        report.table(
            [
                {
                    "features": name,
                    "m": _features(name).size,
                    "setup s": best["setup"],
                    "absorb s": best["absorb"],
                    "µs per record": best["absorb"] / RECORDS * 1e6,
                    f"ms per context x {CANDIDATES}": best["ask"] * 1e3,
                }
                for name, best in zip(CASES, steps, strict=True)
            ]
        )
        setup, absorb, ask = (max(best[part] for best in steps) for part in ("setup", "absorb", "ask"))
        report.goal(Goal.at_most("setting up", SETUP, setup, " s"))
        report.goal(Goal.at_most(f"absorbing {RECORDS:,} records", ABSORB, absorb, " s"))
        report.goal(Goal.at_most(f"one context against {CANDIDATES} candidates", ASK, ask * 1e3, " ms"))
        report.table([_certificate(name, tau) for tau in (0.1, TAU) for name in CASES])
    return report


def _features(name: str) -> FeatureMap:
    smooth = SquaredExponential(length_scale=0.2)
    if name == "squared-exponential, nystrom":
        return Nystrom(smooth, inducing_points(BOX, 169))
    if name == "squared-exponential, fourier":
        return QuadratureFourier.within(smooth, BOX, 1e-3)
    return Nystrom(Matern(5 / 2, length_scale=0.2), inducing_points(BOX, 400))


def _set_up(name: str, draws: Floats, tau: float) -> Operator:
    return Operator(_features(name), draws, RECORDS, tau)


def _steps(name: str, repeats: int) -> dict[str, float]:
    """Seconds of each step."""
    rng = np.random.default_rng(1)
    points, rewards = BOX.uniform(rng, RECORDS), rng.uniform(-1, 1, RECORDS)
    context = np.column_stack([np.linspace(0, 1, CANDIDATES), np.full(CANDIDATES, 0.3)])
    draws = BOX.sobol(FEWEST_DRAWS)
    operator = _set_up(name, draws, TAU)
    leverage = operator.leverage_quantile(0.95)
    vector = operator.weighted_sum(points, rewards, leverage)
    return best_of(
        repeats,
        setup=partial(seconds, partial(_set_up, name, draws, TAU)),
        absorb=partial(seconds, partial(operator.weighted_sum, points, rewards, leverage)),
        ask=partial(seconds, partial(operator.mean, context, vector)),
    )


def _certificate(name: str, tau: float) -> dict[str, Cell]:
    operator = _set_up(name, BOX.sobol(FEWEST_DRAWS), tau)
    bounds: list[float] = []
    wall = seconds(lambda: bounds.append(certified_sup_sigma2(operator, BOX)))
    return {
        "sup sigma2 of": name,
        "tau": tau,
        "on a grid of 81 x 81": f"{operator.sigma2(BOX.grid(81)).max():.3g}",
        "certified by one grid": f"{certified_sup_sigma2(operator, BOX, 81, evaluations=81**2 + 4):.3g}",
        "certified": f"{bounds[0]:.3g}",
        "s": wall,
        "1/tau": 1 / tau,
        "gain": operator.gain,
    }
