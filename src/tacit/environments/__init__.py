"""Worlds to learn in: what actions come, and what they pay.

There are two families. Most worlds show a list of actions in every round; worlds of functions have a box of actions
instead, and are for learners of functions.
"""

from tacit._validate import known
from tacit.environments.arms import Arms
from tacit.environments.bias import Bias
from tacit.environments.disjoint_arms import DisjointArms
from tacit.environments.drifting_sphere import DriftingSphere
from tacit.environments.environment import Environment
from tacit.environments.fixed_arms import FixedArms
from tacit.environments.functions import FunctionEnvironment, FunctionWorld, refuse_other_world
from tacit.environments.linear_actions import LinearActions
from tacit.environments.orthogonal_arms import OrthogonalArms
from tacit.environments.rkhs import RKHS
from tacit.environments.shared_context import SharedContext
from tacit.environments.sphere import Sphere
from tacit.environments.table import Table
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
    SharedContext,
    Table,
)

_FUNCTION_KINDS: tuple[type[FunctionEnvironment], ...] = (RKHS,)

#: Every environment that shows lists of actions, by the name it has on the command line.
CATALOGUE: dict[str, type[Environment]] = {kind.slug: kind for kind in _KINDS}
#: Every environment of functions, likewise.
FUNCTION_CATALOGUE: dict[str, type[FunctionEnvironment]] = {kind.slug: kind for kind in _FUNCTION_KINDS}


def environment(slug: str) -> type[Environment] | type[FunctionEnvironment]:
    """The environment of this name, of either family, or an error that offers the nearest ones."""
    known("environment", slug, [*CATALOGUE, *FUNCTION_CATALOGUE], see="`tacit environments` lists them.")
    return CATALOGUE[slug] if slug in CATALOGUE else FUNCTION_CATALOGUE[slug]


__all__ = [
    "CATALOGUE",
    "FUNCTION_CATALOGUE",
    "RKHS",
    "Arms",
    "Bias",
    "DisjointArms",
    "DriftingSphere",
    "Environment",
    "FixedArms",
    "FunctionEnvironment",
    "FunctionWorld",
    "LinearActions",
    "OrthogonalArms",
    "SharedContext",
    "Sphere",
    "Table",
    "TwoContexts",
    "UnitContexts",
    "environment",
    "refuse_other_world",
]
