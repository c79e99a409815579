"""What the tests of kernel estimators share: domains, records of a random function, plain algebra to compare with."""

from __future__ import annotations

import numpy as np

from tacit.kernels import Box, Matern, SquaredExponential

SQUARE = Box.unit(2)
SE = SquaredExponential(length_scale=0.2)
MATERN = Matern(5 / 2, length_scale=0.2)


def records_of(kernel, count, seed, box=SQUARE):
    """Uniform points, and rewards of a sum of eight kernels with |f| ≤ 1 and noise within ±0.3."""
    rng = np.random.default_rng(seed)
    centres, weights = box.uniform(rng, 8), rng.standard_normal(8)
    points = box.uniform(rng, count)
    largest = np.abs(kernel(box.halton(4000), centres) @ weights).max()
    return points, kernel(points, centres) @ weights / largest + rng.uniform(-0.3, 0.3, count)


def primal(kernel, synthetic, copies, tau, points):
    """Coordinates of φ in the span of all points, and Z̃ in them: shape (n, N) and (N, N).

    The exact form works with the Gram matrix of the synthetic points; here the operator is inverted as it is defined.
    """
    every = np.vstack([synthetic, points])
    values, vectors = np.linalg.eigh(kernel(every, every))
    coordinates = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn, seen = coordinates[: len(synthetic)], coordinates[len(synthetic) :]
    return seen, drawn.T @ drawn / copies + tau * np.eye(len(every))
