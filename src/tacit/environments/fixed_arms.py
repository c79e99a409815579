"""One action set per run: the same K unit vectors every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.core.slate import Slate
from tacit.core.verbs import pay, show
from tacit.environments.environment import World
from tacit.environments.sphere import Sphere, SphereParams, draw_actions, draw_reward
from tacit.noise import Source, fill_normals, fill_uniforms


class FixedArmsParams(NamedTuple):
    """A sphere that was drawn once."""

    sphere: SphereParams


@dataclass(frozen=True, kw_only=True)
class FixedArms(Sphere):
    """The decision set of `Sphere`, drawn once per trial and offered in every round."""

    slug: ClassVar[str] = "fixed-arms"
    summary: ClassVar[str] = "one set of unit vectors per run, offered every round"

    @property
    def stable_arms(self) -> bool:
        return True

    def start(self, stream: Source) -> World:
        world = super().start(stream)
        draw_actions(world.params, world.slate, world.means, stream)
        return World(FixedArmsParams(world.params), world.slate, world.means, world.theta)


@implements(show, FixedArmsParams)
@kernel
def _show(environment: FixedArmsParams, slate: Slate, means: Floats, stream: Any) -> None:
    """The actions stay; only the luck of the round is drawn."""
    sphere = environment.sphere
    if sphere.gaussian:
        fill_normals(stream, sphere.normals[sphere.normals.shape[0] - 1 :])
    else:
        fill_uniforms(stream, sphere.uniforms[sphere.uniforms.shape[0] - 1 :])


@implements(pay, FixedArmsParams)
@kernel
def _pay(environment: FixedArmsParams, mean: float, stream: Any) -> float:
    return draw_reward(environment.sphere, mean)
