"""Worlds to learn in: what actions come, and what they pay."""

from tacit.environments.environment import Environment
from tacit.environments.fixed_arms import FixedArms
from tacit.environments.sphere import Sphere

#: Every environment by the name it has on the command line.
CATALOGUE: dict[str, type[Environment]] = {kind.slug: kind for kind in (Sphere, FixedArms)}

__all__ = ["CATALOGUE", "Environment", "FixedArms", "Sphere"]
