"""What the experiments of Shariff and Sheffet (2018) share: their environment, their policies, their settings."""

from __future__ import annotations

from typing import Any

from tacit.environments import Sphere
from tacit.policies.joint_linucb import JointLinUCB
from tacit.policies.linucb import LinUCB

PAPER = "Shariff and Sheffet (2018), Differentially Private Contextual Linear Bandits, Section D."

EPSILON, DELTA = 1.0, 0.1  # of experiments 2 and 3
DIM = 5


def world(dim: int, gap: float, **options: Any) -> Sphere:
    """K = d² unit vectors per round, one with mean 0.75 and the others at least `gap` below; rewards ±1."""
    return Sphere(dim=dim, gap=gap, **options)


def non_private(dim: int, rounds: int) -> LinUCB:
    """Regulariser 1, failure probability 1/n."""
    return LinUCB(dim=dim, failure=1 / rounds, width="theory")


def private(rounds: int, **options: Any) -> JointLinUCB:
    """At the privacy of experiments 2 and 3 unless told otherwise, with failure probability 1/n."""
    settings: dict[str, Any] = {
        "dim": DIM,
        "epsilon": EPSILON,
        "delta": DELTA,
        "horizon": rounds,
        "failure": 1 / rounds,
        "width": "theory",
    }
    return JointLinUCB(**{**settings, **options})


def published(rounds: int, noise: str = "gaussian", **options: Any) -> JointLinUCB:
    """With the constants of the paper."""
    return private(rounds, releases="tree", calibration="published", noise=noise, **options)
