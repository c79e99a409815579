"""Laplace noise in double precision, for simulations of pure DP."""

from __future__ import annotations

import math
from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.noise.source import fill_uniforms

#: Uniform numbers that one draw takes: one for the size, one for the sign.
LAPLACE_UNIFORMS = 2


@kernel
def draw_laplace(noise: Any, scale: float, scratch: Floats) -> float:
    """One number with density e^{−|x|/b}/2b, b = `scale`. `scratch` has room for two, and is wiped.

    For simulation alone: a uniform number has 53 bits at most, so sizes end at 37·b, and last bits tell what noise
    should hide. For people `DiscreteLaplace` draws.
    """
    fill_uniforms(noise, scratch[:2])
    size = -scale * math.log1p(-scratch[0])
    found = size if scratch[1] < 0.5 else -size
    scratch[0] = 0.0
    scratch[1] = 0.0
    return found
