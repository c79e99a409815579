"""A sphere whose parameter is replaced again and again: what was learned grows old."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.core.settings import option
from tacit.core.slate import Slate
from tacit.core.verbs import pay, show
from tacit.environments.environment import World
from tacit.environments.sphere import Sphere, SphereParams, draw_actions, draw_reward
from tacit.noise import Source, fill_normals


class DriftingSphereParams(NamedTuple):
    """A sphere, and how long its parameter has been there."""

    sphere: SphereParams
    shown: Ints  # (1,) rounds shown under the present θ*
    change: int


@dataclass(frozen=True, kw_only=True)
class DriftingSphere(Sphere):
    """`Sphere` with a fresh θ*, independent of the last, after every `change` rounds.

    Until the first change it is `Sphere`, to the bit. A policy that remembers everything is held back by its past;
    one that forgets (`JointLinUCB(window=…)`) is what this world is for. Regret is against the θ* of the round;
    `World.theta` is the first one.
    """

    slug: ClassVar[str] = "drifting-sphere"
    summary: ClassVar[str] = "the sphere with a fresh parameter every so many rounds: for policies that forget"

    change: int = option("number of rounds after which the parameter is replaced, again and again", 100_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("change", self.change)

    def start(self, stream: Source) -> World:
        world = super().start(stream)
        params = DriftingSphereParams(world.params, np.zeros(1, np.int64), self.change)
        return World(params, world.slate, world.means, world.theta)


@implements(show, DriftingSphereParams)
@kernel
def _show(environment: DriftingSphereParams, slate: Slate, means: Floats, stream: Any) -> None:
    if environment.shown[0] == environment.change:
        _turn(environment.sphere, slate.columns.shape[0], stream)
        environment.shown[0] = 0
    environment.shown[0] += 1
    draw_actions(environment.sphere, slate, means, stream)


@kernel
def _turn(sphere: SphereParams, dim: int, stream: Any) -> None:
    """Replace θ*: the mirror that takes e_1 to it is all the sphere knows of it."""
    mirror, draw = sphere.mirror, sphere.normals[:dim]
    fill_normals(stream, draw)
    total = 1e-300  # a draw of exactly zero length would divide by zero
    for i in range(dim):
        total += draw[i] * draw[i]
    shrink = -1.0 / math.sqrt(total)
    for i in range(dim):
        mirror[i] = draw[i] * shrink
    mirror[0] += 1.0
    total = 0.0
    for i in range(dim):
        total += mirror[i] * mirror[i]
    if total > 0.0:
        for i in range(dim):
            mirror[i] /= math.sqrt(total)


@implements(pay, DriftingSphereParams)
@kernel
def _pay(environment: DriftingSphereParams, mean: float, stream: Any) -> float:
    return draw_reward(environment.sphere, mean)
