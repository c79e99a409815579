"""The sphere of Shariff and Sheffet (2018): fresh unit vectors every round, one of them optimal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit._validate import at_least, one_of, whole
from tacit.core.settings import option
from tacit.core.slate import Slate, slate
from tacit.core.verbs import pay, show
from tacit.environments._draws import measure
from tacit.environments.band import Band, band, propose
from tacit.environments.environment import Environment, World
from tacit.errors import BadInput
from tacit.noise import Source, fill_normals, fill_uniforms, first_normals

#: The optimal action's mean reward, and the most the others may fall below zero.
BEST = 0.75


class SphereParams(NamedTuple):
    """What is fixed over one trial."""

    mirror: Floats  # (d,) unit vector; the reflection along it takes e_1 to θ*
    band: Band
    normals: Floats  # ((d − 1)·K + 1,) scratch, the last one for `pay`
    directions: Floats  # (d − 1, K) the same memory without the last one
    uniforms: Floats  # (2K + 2,) scratch, the last one for `pay`
    length: Floats  # (K,) scratch
    gaussian: bool


@dataclass(frozen=True, kw_only=True)
class Sphere(Environment):
    """K unit vectors per round: one uniform on {<x,θ*> = 0.75}, the others on −0.75 ≤ <x,θ*> ≤ 0.75 − gap.

    θ* is uniform on the unit sphere. The optimal action stands at a random index: early rounds are decided by ties,
    which would otherwise give it away.
    """

    slug: ClassVar[str] = "sphere"
    summary: ClassVar[str] = "fresh unit vectors every round, one optimal by a gap (Shariff and Sheffet 2018)"

    dim: int = option("number of features d", 5)
    arms: int | None = option("number of actions per round (default: dim squared)", None)
    gap: float = option("least distance between the best mean reward and the others, from 0 to below 1.5", 0.1)
    reward_noise: str = option('"sign": rewards are ±1; "gaussian": mean plus N(0, 1)', "sign")

    def __post_init__(self) -> None:
        whole("dim", self.dim, low=2, hint="On a line there is no band.")
        if self.dim > 1000:
            raise BadInput(f"Expected dim <= 1000, got dim={self.dim}. Nothing here is made for more features.")
        if self.arms is not None:
            whole("arms", self.arms)
        at_least("gap", self.gap, 0)
        if self.gap >= 2 * BEST:
            raise BadInput(f"Expected 0 <= gap < {2 * BEST:g}, got gap={self.gap!r}. Beyond it the band is empty.")
        one_of("reward_noise", self.reward_noise, ("sign", "gaussian"))

    @property
    def features(self) -> int:
        return self.dim

    @property
    def count(self) -> int:
        """K: as given, else d²."""
        return self.dim**2 if self.arms is None else self.arms

    def start(self, stream: Source) -> World:
        dim, arms = self.dim, self.count
        theta = first_normals(stream, dim)
        theta /= np.linalg.norm(theta)
        mirror = -theta
        mirror[0] += 1.0
        length = np.linalg.norm(mirror)
        if length > 0:
            mirror /= length
        normals = np.zeros((dim - 1) * arms + 1)
        params = SphereParams(
            mirror=mirror,
            band=band(dim, -BEST, BEST - self.gap),
            normals=normals,
            directions=normals[:-1].reshape(dim - 1, arms),
            uniforms=np.zeros(2 * arms + 2),
            length=np.zeros(arms),
            gaussian=self.reward_noise == "gaussian",
        )
        return World(params, slate(dim, arms), np.zeros(arms), theta)


@implements(show, SphereParams)
@kernel
def draw_actions(environment: SphereParams, slate: Slate, means: Floats, stream: Any) -> None:
    """Draw in the frame where θ* = e_1, then reflect: O(d) per action, and the means are known exactly."""
    columns = slate.columns
    dim, arms = columns.shape
    directions, uniforms, length = environment.directions, environment.uniforms, environment.length
    fill_normals(stream, environment.normals)
    fill_uniforms(stream, uniforms)
    best = min(int(uniforms[2 * arms] * arms), arms - 1)
    for k in range(arms):
        coordinate, kept = propose(environment.band, uniforms[2 * k], uniforms[2 * k + 1])
        means[k] = coordinate
        if not kept:
            again = slate.scratch[:2]
            while not kept:
                fill_uniforms(stream, again)
                coordinate, kept = propose(environment.band, again[0], again[1])
            means[k] = coordinate
    means[best] = BEST
    mirror, along = environment.mirror, slate.scores
    measure(directions, mirror[1:], length, along)
    first = mirror[0]
    for k in range(arms):
        length[k] = math.sqrt((1.0 - means[k] * means[k]) / length[k])
        along[k] = 2.0 * (first * means[k] + length[k] * along[k])
        columns[0, k] = means[k] - first * along[k]
    for i in range(dim - 1):
        one, weight, column = directions[i], mirror[i + 1], columns[i + 1]
        for k in range(arms):
            column[k] = length[k] * one[k] - weight * along[k]


@kernel
def draw_reward(params: SphereParams, mean: float) -> float:
    """±1, or the mean plus N(0, 1): the luck of the round was drawn with its actions."""
    if params.gaussian:
        return mean + params.normals[params.normals.shape[0] - 1]  # type: ignore[no-any-return]
    return 1.0 if params.uniforms[params.uniforms.shape[0] - 1] < 0.5 * (1.0 + mean) else -1.0


@implements(pay, SphereParams)
@kernel
def _pay(environment: SphereParams, mean: float, stream: Any) -> float:
    return draw_reward(environment, mean)
