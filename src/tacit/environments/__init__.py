"""Worlds to learn in: what actions come, and what they pay."""

from tacit._validate import known
from tacit.environments.arms import Arms
from tacit.environments.bias import Bias
from tacit.environments.disjoint_arms import DisjointArms
from tacit.environments.drifting_sphere import DriftingSphere
from tacit.environments.environment import Environment
from tacit.environments.fixed_arms import FixedArms
from tacit.environments.linear_actions import LinearActions
from tacit.environments.orthogonal_arms import OrthogonalArms
from tacit.environments.sphere import Sphere
from tacit.environments.two_contexts import TwoContexts
from tacit.environments.unit_contexts import UnitContexts

_KINDS: tuple[type[Environment], ...] = (
    Sphere,
    FixedArms,
    DriftingSphere,
    OrthogonalArms,
    TwoContexts,
    Bias,
    Arms,
    LinearActions,
    UnitContexts,
    DisjointArms,
)

#: Every environment by the name it has on the command line.
CATALOGUE: dict[str, type[Environment]] = {kind.slug: kind for kind in _KINDS}


def environment(slug: str) -> type[Environment]:
    """The environment of this name, or an error that offers the nearest ones."""
    return CATALOGUE[known("environment", slug, CATALOGUE, see="`tacit environments` lists them.")]


__all__ = [
    "CATALOGUE",
    "Arms",
    "Bias",
    "DisjointArms",
    "DriftingSphere",
    "Environment",
    "FixedArms",
    "LinearActions",
    "OrthogonalArms",
    "Sphere",
    "TwoContexts",
    "UnitContexts",
    "environment",
]
