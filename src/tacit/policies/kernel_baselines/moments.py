"""Sums of records in terms of features, and ridge regression on them."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tacit._types import Floats
from tacit.estimators.rkhs import FeatureMap
from tacit.estimators.rkhs.blocks import blocks

#: Records after which the inverse is worked out anew: rounding of that many updates stays below 1e-9.
_REFRESH = 512
#: Up to so many records at once the inverse is updated, record by record; beyond, a factor of the matrix is cheaper.
_FEW = 16


class Moments:
    """Σψψᵀ and Σψ·y over records, in memory that does not grow with them. Exact, so secret where records are.

    No record has ‖ψ‖ > 1: a feature map promises it, and here it is made sure of.
    """

    def __init__(self, features: FeatureMap) -> None:
        self.features = features
        self.gram = np.zeros((features.size, features.size))
        self.vector = np.zeros(features.size)

    def add(self, points: Floats, rewards: Floats) -> None:
        """Add records, block by block: O(m²) each, by matrix products."""
        # Apart, and then all at once: whoever is interrupted on the way has learned nothing, and may try again.
        gram, vector = np.zeros_like(self.gram), np.zeros_like(self.vector)
        for part, block in blocks(points):
            rows = unit_rows(self.features, block)
            gram += rows.T @ rows
            vector += rewards[part] @ rows
        self.gram += gram
        self.vector += vector

    def coefficients(self, tau: float) -> Floats:
        """(Σψψᵀ + τI)⁻¹Σψ·y: the posterior mean of a Gaussian process is ψ(w)ᵀ times it."""
        return solved_ridge(self.gram, tau, self.vector)


class Posterior(Moments):
    """The same with (Σψψᵀ + τI)⁻¹ at hand after every record: what optimism needs, O(m²) a record."""

    def __init__(self, features: FeatureMap, tau: float) -> None:
        super().__init__(features)
        self.tau = tau
        self._inverse = np.eye(features.size) / tau
        self._updates = 0

    def add(self, points: Floats, rewards: Floats) -> None:
        if len(points) > _FEW:
            super().add(points, rewards)
            self._refresh()
            return
        for row, reward in zip(unit_rows(self.features, points), rewards, strict=True):
            self.gram += np.multiply.outer(row, row)
            self.vector += reward * row
            # Sherman and Morrison (1950).
            moved = self._inverse @ row
            self._inverse -= np.multiply.outer(moved, moved / (1 + float(row @ moved)))
            self._updates += 1
            if self._updates >= _REFRESH:
                self._refresh()

    def mean_and_deviation(self, points: Floats) -> tuple[Floats, Floats]:
        """μ(w) and σ(w), each of shape (n,), of a process with prior variance k and noise of variance τ:

        μ = ψᵀV⁻¹Σψ·y,   σ² = τ·ψᵀV⁻¹ψ,   V = Σψψᵀ + τI
        """
        rows = self.features.psi(points)
        half = rows @ self._inverse
        variance = np.einsum("ij,ij->i", half, rows)
        return half @ self.vector, math.sqrt(self.tau) * np.sqrt(np.maximum(variance, 0.0))

    def _refresh(self) -> None:
        self._inverse = solved_ridge(self.gram, self.tau, np.eye(self.features.size))
        self._updates = 0


def unit_rows(features: FeatureMap, points: Floats) -> Floats:
    """ψ(w), shape (n, m), none of them longer than 1."""
    rows = features.psi(points)
    rows /= np.maximum(1.0, np.sqrt(np.einsum("ij,ij->i", rows, rows)))[:, None]
    return rows


def solved_ridge(gram: Floats, tau: float, right: Floats) -> Floats:
    """(G + τI)⁻¹ times what stands on the right. Raises numpy's LinAlgError if the matrix is not positive definite."""
    matrix = gram.copy()
    matrix[np.diag_indices_from(matrix)] += tau
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    found: Floats = cho_solve(factor, right, check_finite=False)
    return found
