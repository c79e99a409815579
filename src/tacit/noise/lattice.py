"""Whole numbers from the discrete Gaussian, drawn exactly: noise without low bits that could tell anything.

    P(Z = k) ∝ exp(−k²/2s²),  k = …, −1, 0, 1, …

OpenDP's sampler works in whole numbers and fractions from the operating system's randomness, with no floating point in
it (Canonne, Kamath and Steinke 2020). It comes with the extra `tacit[secure]`, and is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tacit._types import Floats
from tacit.errors import BadInput, NoSecureSampler

#: Draws lie beyond this with a probability below e^−8000 for every scale allowed here; up to 2⁵³ doubles are exact.
_LARGEST = 2**51
#: The largest scale: 128 times it is the bound above.
LARGEST_SCALE = 2.0**44


def discrete_gaussians(scale: float) -> Callable[[int], Floats]:
    """What draws so many independent discrete Gaussians of this scale s, as doubles that are whole numbers.

    To be laid on a tape: `refill(source, normals, uniforms, discrete_gaussians(scale))`.
    """
    if not 0 < scale <= LARGEST_SCALE:
        raise BadInput(f"Expected a scale above 0 and at most 2**44 steps, got scale={scale!r}.")
    sampler = _sampler(float(scale))

    def draw(count: int) -> Floats:
        found = np.array(sampler([0] * count), np.int64)
        if (abs(found) > _LARGEST).any():
            raise RuntimeError("A draw of discrete noise is beyond 128 times its scale: the sampler is broken.")
        return found.astype(np.float64)

    return draw


def _sampler(scale: float) -> Callable[[list[int]], list[int]]:
    """OpenDP's measurement: the whole numbers it is given, plus noise."""
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    measurement: Callable[[list[int]], list[int]] = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    return measurement


@cache
def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise NoSecureSampler(
            "Expected OpenDP to be installed for noise=\"secure\", got none. Run pip install 'tacit[secure]', or leave "
            "noise out: it is then drawn in double precision."
        ) from None
    dp.enable_features("contrib")
    return dp
