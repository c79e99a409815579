"""The covariance that exploration will have, worked out in advance from synthetic draws, and estimates through it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular

from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import positive, real, whole
from tacit.errors import BadInput
from tacit.estimators.rkhs.blocks import blocks, solved
from tacit.estimators.rkhs.features import FeatureMap
from tacit.kernels.points import as_points

#: Fewer synthetic draws leave an error in E[ψψᵀ] that shows in the estimates.
FEWEST_DRAWS = 2**14


class Operator:
    """CCᵀ = T·A + τI with A = E[ψψᵀ] over synthetic draws, and u(w) = C⁻¹ψ(w), in terms of which

        v = Σ_t u(w_t)·y_t      μ(w) = u(w)ᵀv      σ²(w) = ‖u(w)‖²

    T is how many records are planned for, τ the regulariser. Draws have shape (n, d) and follow the public law that
    records are explored by: actions uniform, contexts from a sampler. No record enters the operator, so replacing one
    changes its own term of v and nothing else. As A is an expectation, the paper's K and γ_T are not needed.

    Formal guarantee: ‖v − v'‖ ≤ 2B·S for one replaced record, if `weighted_sum` was given leverage=S and all rewards
    are in [−B, B]; for any contexts, also outside the box. Proof: a term is a vector of at most S·B.
    """

    def __init__(
        self, features: FeatureMap, draws: ArrayLike, horizon: int, tau: float, *, least_draws: int = FEWEST_DRAWS
    ) -> None:
        self.features = features
        self.horizon = whole("horizon", horizon)  # T
        self.tau = positive("tau", tau)  # τ
        self._draws = as_points("synthetic draws", draws, features.dim)
        least = whole("least_draws", least_draws)
        if len(self._draws) < least:
            raise BadInput(
                f"Expected at least {least:,} synthetic draws, got {len(self._draws):,}. They are public and cost no "
                "privacy: draw more, or say least_draws to do with fewer."
            )
        covariance = np.zeros((features.size, features.size))  # A
        for _, block in blocks(self._draws):
            rows = features.raw(block)
            rows = rows if features.triangle is None else solved(features.triangle, rows)
            covariance += rows.T @ rows
        covariance *= self.horizon / len(self._draws)
        covariance[np.diag_indices_from(covariance)] += self.tau
        try:
            self._root: Floats = cholesky(covariance, lower=True, check_finite=False)  # C
        except np.linalg.LinAlgError:
            raise BadInput(
                f"Expected a tau with which T·A + tau·I has a Cholesky factor, got tau={tau!r} at horizon={horizon}. "
                f"Rounding alone is about {1e-16 * self.horizon * features.size:.0e}. Use a larger tau."
            ) from None
        # ψ = L⁻¹·raw, so one solve with L·C does what two would: as accurate, and half the work.
        self._triangle: Floats = self._root if features.triangle is None else features.triangle @ self._root

    def __repr__(self) -> str:
        return f"Operator({self.features!r}, horizon={self.horizon}, tau={self.tau:g})"

    @property
    def dim(self) -> int:
        """d: coordinates of a point."""
        return self.features.dim

    @property
    def size(self) -> int:
        """m: how many features there are, and the length of v."""
        return self.features.size

    @cached_property
    def gain(self) -> float:
        """½·Σ ln(1 + Tλ_j/τ) over the eigenvalues of A: the information gain γ_T of T records drawn like this."""
        return float(np.log(np.diag(self._root)).sum() - self.size * math.log(self.tau) / 2)

    def u(self, points: ArrayLike) -> Floats:
        """u(w), shape (n, m), for points of shape (n, d)."""
        rows = as_points("points", points, self.dim)
        found = np.empty((len(rows), self.size))
        for part, block in self._blocks(rows):
            found[part] = block
        return found

    def sigma2(self, points: ArrayLike) -> Floats:
        """σ²(w) = ‖u(w)‖², shape (n,): what a record at w, seen from w, can move per unit of reward."""
        rows = as_points("points", points, self.dim)
        found = np.empty(len(rows))
        for part, block in self._blocks(rows):
            found[part] = _squares(block)
        return found

    def weighted_sum(self, points: ArrayLike, rewards: ArrayLike, leverage: float | None = None) -> Floats:
        """Σ_t ũ_t·y_t, shape (m,): what records add to v. They are gone through in blocks and forgotten.

        ũ_t = u(w_t)·min(1, S/‖u(w_t)‖) with `leverage` S; without it u(w_t) as it is. Rewards are taken as they come:
        clip them first.
        """
        rows, paid = as_points("points", points, self.dim), finite("rewards", rewards)
        if paid.shape != rows.shape[:1]:
            raise BadInput(f"Expected one reward for each of {len(rows):,} points, got shape {paid.shape}.")
        limit = None if leverage is None else positive("leverage", leverage)
        total = np.zeros(self.size)
        for part, block in self._blocks(rows):
            weights = paid[part]
            if limit is not None:
                weights = weights * (limit / np.maximum(limit, np.sqrt(_squares(block))))
            total += weights @ block
        return total

    def mean(self, points: ArrayLike, vector: ArrayLike) -> Floats:
        """μ(w) = u(w)ᵀv, shape (n,), for points of shape (n, d) and v of shape (m,)."""
        weights = self._vector(vector)
        rows = as_points("points", points, self.dim)
        found = np.empty(len(rows))
        for part, block in self._blocks(rows):
            found[part] = block @ weights
        return found

    def coefficients(self, vector: ArrayLike) -> Floats:
        """C⁻ᵀv, with which μ(w) = ψ(w)ᵀ·coefficients: all that a function needs beside its feature map."""
        found: Floats = solve_triangular(self._root, self._vector(vector), lower=True, trans="T", check_finite=False)
        return found

    def leverage_quantile(self, share: float) -> float:
        """S: what so large a share of the synthetic draws has ‖u‖ no larger than. Public, like the draws."""
        wanted = real("share", share)
        if not 0 < wanted <= 1:
            raise BadInput(f"Expected 0 < share <= 1 of the draws, got {share!r}.")
        return float(np.quantile(self._leverages, wanted))

    def distance_bound(self, steps: ArrayLike) -> float:
        """The most that ‖ψ(w) − ψ(w')‖ can be where |w_i − w'_i| ≤ steps_i for each i."""
        return self.features.distance_bound(steps)

    @cached_property
    def _leverages(self) -> Floats:
        return np.sqrt(self.sigma2(self._draws))

    def _blocks(self, rows: Floats) -> Iterator[tuple[slice, Floats]]:
        """u of known points in blocks, and where each block stands."""
        for part, block in blocks(rows):
            yield part, solved(self._triangle, self.features.raw(block))

    def _vector(self, vector: ArrayLike) -> Floats:
        found = finite("vector", vector)
        if found.shape != (self.size,):
            raise BadInput(f"Expected a vector of shape ({self.size},), one number per feature, got {found.shape}.")
        return found


def _squares(rows: Floats) -> Floats:
    found: Floats = np.einsum("ij,ij->i", rows, rows)
    return found
