"""What worlds of unit vectors and a parameter shorter than one have in common."""

from __future__ import annotations

import numpy as np

from tacit._types import Floats
from tacit._validate import positive, whole
from tacit.errors import BadInput

#: Nothing here is made for more features.
MOST_FEATURES = 1000


def check_sizes(dim: int, arms: int, parameter_norm: float, *, name: str = "dim") -> None:
    """Refuse what such a world cannot be made of. `name`: of the option that holds the dimension."""
    whole(name, dim)
    if dim > MOST_FEATURES:
        raise BadInput(f"Expected {name} <= {MOST_FEATURES}, got {name}={dim}. Nothing here is made for more features.")
    whole("arms", arms)
    positive("parameter_norm", parameter_norm)
    if parameter_norm > 1:
        raise BadInput(
            f"Expected 0 < parameter_norm <= 1, got parameter_norm={parameter_norm!r}. Means of rewards ±1 end at 1."
        )


def parameter(normals: Floats, norm: float) -> Floats:
    """θ* along these normal numbers, each row of this norm: uniform on the sphere."""
    lengths = np.sqrt((normals * normals).sum(axis=-1, keepdims=True))
    theta: Floats = normals * (norm / lengths)
    return theta
