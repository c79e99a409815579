"""A few prefix sums on a lattice, every release remembered: for the noise of `root_toeplitz`, or plain sums.

Published is B(Cx + Z) with B·C the prefix sum. With the square root of the prefix sum both factors are that root; with
independent noise on each increment C is the identity, and B sums up. What it costs: `proof.md`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.mechanisms.lattice.pairs import added, nearest, scaled
from tacit.noise import fill_normals


def identity_weights(releases: int) -> Floats:
    """1, 0, 0, …: of C where every increment is released by itself."""
    weights = np.zeros(releases)
    weights[0] = 1.0
    return weights


@kernel
def release_root(
    encoder: Floats,
    decoder: Floats,
    step: float,
    segments: Floats,
    released: Floats,
    release: int,
    out: Floats,
    noise: Any,
) -> None:
    """Overwrite `out` with the prefix sum published by release number `release` (0-based).

    `segments`, of shape (2, N, d), holds what came in before each release, in steps and as pairs, this one included;
    row l of `released` becomes the whole numbers of this release, the rows before it stay.

    Formal guarantee: N calls are priced by `LatticeEvent` of `RootToeplitzEvent`, or of `SegmentsEvent` with
    `identity_weights`. Proof: proof.md.
    Requires: calls with release = 0, 1, 2, … < N, once each; `noise` a tape of discrete Gaussians.
    """
    fresh = released[release]
    fill_normals(noise, fresh)
    for k in range(out.shape[0]):
        high, low = 0.0, 0.0
        for m in range(release + 1):
            part_high, part_low = scaled(segments[0, m, k], segments[1, m, k], encoder[release - m])
            high, low = added(high, low, part_high, part_low)
        fresh[k] += nearest(high, low)
    # From here on nothing is secret.
    for k in range(out.shape[0]):
        total = 0.0
        for m in range(release + 1):
            total += decoder[release - m] * released[m, k]
        out[k] = step * total
