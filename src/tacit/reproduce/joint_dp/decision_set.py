"""Figure 1: one decision set on the sphere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.core.learner import ENVIRONMENT
from tacit.core.verbs import show
from tacit.environments.sphere import BEST
from tacit.noise import stream
from tacit.reproduce.experiment import Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import BLUE, ORANGE, finish
from tacit.reproduce.joint_dp.common import PAPER, world
from tacit.reproduce.judge import found
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class OneSet(Scale):
    """A decision set is drawn, not run: one round, one trial."""

    arms: int = 1000
    dim: int = 3
    gap: float = 0.1
    rounds: int = 1
    trials: int = 1


class _Drawn(NamedTuple):
    actions: Floats  # (K, d)
    theta: Floats
    along: Floats  # <x, θ*>, computed from the two
    norms: Floats


SCALES = {name: OneSet(name=name, time="a few seconds") for name in ("quick", "paper")}


class DecisionSet(Experiment[OneSet]):
    """One optimal action, the others in the band below it."""

    name: ClassVar[str] = "joint-dp/figure-1"
    title: ClassVar[str] = "An example decision set in three dimensions"
    paper: ClassVar[str] = PAPER
    question: ClassVar[str] = (
        "Does the environment draw what the paper describes: unit vectors, one with mean reward 0.75, the others "
        "uniform on the band of the sphere where it lies between −0.75 and 0.65?"
    )
    scales: Mapping[str, OneSet] = SCALES

    def describe(self, scale: OneSet) -> str:
        return f"one set of {scale.arms:,} actions, d = {scale.dim}, gap {scale.gap:g}"

    def jobs(self, scale: OneSet, seed: int) -> dict[str, Job]:
        return {}

    def measure(self, evidence: Evidence[OneSet]) -> Table:
        drawn = _draw(evidence)
        others = np.delete(drawn.along, drawn.along.argmax())
        return Table(
            ("actions", "least norm", "largest norm", "optimal", "next best", "lowest", "mean of the others"),
            [
                (
                    len(drawn.along),
                    float(drawn.norms.min()),
                    float(drawn.norms.max()),
                    float(drawn.along.max()),
                    float(others.max()),
                    float(others.min()),
                    float(others.mean()),
                )
            ],
        )

    def judge(self, evidence: Evidence[OneSet]) -> list[Verdict]:
        drawn, gap = _draw(evidence), evidence.scale.gap
        off = float(np.abs(drawn.norms - 1).max())
        optimal = np.abs(drawn.along - BEST) <= _ROUNDING
        others = drawn.along[~optimal]
        low, high = float(others.min()), float(others.max())
        inside = low >= -BEST - _ROUNDING and high <= BEST - gap + _ROUNDING
        return [
            found(
                Claim("All actions have length 1."),
                off <= _ROUNDING,
                f"no norm off by more than {_ROUNDING:g}",
                f"at most {off:.1e} off",
                largest_deviation=off,
            ),
            found(
                Claim("Exactly one action is optimal, with mean reward 0.75."),
                int(optimal.sum()) == 1,
                f"one action with |<x, θ*> − {BEST:g}| at most {_ROUNDING:g}",
                f"{int(optimal.sum())} such action",
                optimal=float(optimal.sum()),
            ),
            found(
                Claim(f"The others have mean rewards in [−0.75, {BEST - gap:g}]."),
                inside,
                "all of them in the band, up to rounding",
                f"between {low:.4f} and {high:.4f}",
                lowest=low,
                highest=high,
            ),
        ]

    def draw(self, evidence: Evidence[OneSet]) -> Figure:
        from matplotlib.figure import Figure

        drawn, scale = _draw(evidence), evidence.scale
        best = int(drawn.along.argmax())
        others = np.delete(drawn.actions, best, axis=0)
        figure = Figure(figsize=(9.6, 4.6), layout="constrained")
        grid = figure.add_gridspec(1, 2, wspace=0.12)
        globe = figure.add_subplot(grid[0], projection="3d")
        # Seen from the side of θ*, a little off: the optimal action stands free, and the cap without actions shows.
        azimuth = float(np.degrees(np.arctan2(drawn.theta[1], drawn.theta[0]))) + 40
        globe.view_init(elev=22, azim=azimuth)
        globe.scatter(*others[:, :3].T, s=8, color=BLUE, alpha=0.7, linewidths=0, label="other actions")
        globe.scatter(
            *drawn.actions[best, :3, None], s=90, color=ORANGE, marker="*", label="optimal action", depthshade=False
        )
        globe.quiver(0, 0, 0, *drawn.theta[:3], color="black", arrow_length_ratio=0.12, linewidth=1.4)
        globe.text(*(1.3 * drawn.theta[:3]), "θ*", fontsize=11)
        globe.set_box_aspect((1, 1, 1))
        for axis in (globe.xaxis, globe.yaxis, globe.zaxis):
            axis.set_ticks([-1, 0, 1])
        globe.set_xlabel("$x_1$")
        globe.set_ylabel("$x_2$")
        globe.set_zlabel("$x_3$", labelpad=2)
        globe.set_title(f"one decision set, K = {scale.arms:,}", loc="left", fontsize=10)
        globe.legend(loc="upper left", fontsize=8.5, frameon=False)
        law = figure.add_subplot(grid[1])
        law.hist(np.delete(drawn.along, best), bins=28, density=True, color=BLUE, alpha=0.55, label="other actions")
        at = np.linspace(-BEST, BEST - scale.gap, 200)
        density = (1 - at**2) ** ((scale.dim - 3) / 2)
        density /= float(np.mean(density)) * (2 * BEST - scale.gap)
        law.plot(at, density, color="black", linewidth=1.4, label="law ∝ (1 − c²)^((d−3)/2)")
        law.axvline(BEST, color=ORANGE, linestyle="--", linewidth=1.4, label="optimal action")
        finish(law, title="mean rewards", across="mean reward <x, θ*>", up="density", log_x=False, log_y=False)
        law.set_ylim(0, 1.55 * law.get_ylim()[1])
        law.legend(fontsize=8.5, frameon=False, loc="upper left")
        return figure


def _draw(evidence: Evidence[OneSet]) -> _Drawn:
    scale = evidence.scale
    luck = stream(evidence.seed, 0, ENVIRONMENT)
    started = world(scale.dim, scale.gap, arms=scale.arms).start(luck)
    show(started.params, started.slate, started.means, luck)
    actions = started.slate.columns.T.copy()
    # From the vectors themselves: the means the environment reports are what is being checked.
    return _Drawn(actions, started.theta, actions @ started.theta, np.linalg.norm(actions, axis=1))
