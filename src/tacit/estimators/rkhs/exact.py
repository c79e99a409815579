"""The published form: a Gram matrix of T·K synthetic points. An oracle for tests and small horizons."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, cholesky

from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import positive, whole
from tacit.errors import BadInput
from tacit.estimators.rkhs.blocks import blocks, solved
from tacit.kernels import Kernel
from tacit.kernels.points import as_points

#: Records at most: some ten thousand synthetic points, half a minute, two gigabytes.
MOST_RECORDS = 1000
#: Draws at most for `sampled_gain`: 0.8 GB.
MOST_DRAWS = 10_000


class ExactForm:
    """Estimates with Z̃ = (1/K)·Σ φ(z)φ(z)ᵀ + τI over T·K synthetic points z, without features:

        μ(w)  = (1/τ)·(k_W(w)ᵀY − k_Z(w)ᵀ(K_ZZ + KτI)⁻¹K_ZW Y)
        σ²(w) = (1/τ)·(1 − k_Z(w)ᵀ(K_ZZ + KτI)⁻¹k_Z(w))

    `synthetic` has shape (T·K, d); K is `copies`. Replacing one record moves μ by at most 2B·sup σ², for every Z and
    every T. The 1/τ belongs there: without it, σ² is the variance of a posterior and far too small a sensitivity.
    """

    def __init__(self, kernel: Kernel, synthetic: ArrayLike, copies: int, tau: float) -> None:
        self.kernel = kernel
        self.copies = whole("copies", copies)  # K
        self.tau = positive("tau", tau)  # τ
        rows = as_points("synthetic points", synthetic)
        self.horizon, rest = divmod(len(rows), self.copies)  # T
        if rest or self.horizon == 0:
            raise BadInput(f"Expected T·copies synthetic points, got {len(rows):,} with copies={self.copies}.")
        refuse_large(self.horizon, len(rows))
        self.dim = rows.shape[1]
        self._synthetic = kernel.scaled(rows)
        gram = kernel.between(self._synthetic, self._synthetic)
        gram[np.diag_indices_from(gram)] += self.copies * self.tau
        # The transpose is the same matrix in the order LAPACK wants: factored in place, it needs no second one.
        self._factor: Floats = cholesky(gram.T, lower=True, overwrite_a=True, check_finite=False)

    def __repr__(self) -> str:
        return f"ExactForm({self.kernel!r}, horizon={self.horizon}, copies={self.copies}, tau={self.tau:g})"

    @staticmethod
    def copies_needed(horizon: int, gain: float) -> int:
        """K = ⌈T/γ_T⌉."""
        return math.ceil(whole("horizon", horizon) / positive("gain", gain))

    @staticmethod
    def memory_needed(horizon: int, gain: float) -> int:
        """Bytes of the Gram matrix at K = ⌈T/γ_T⌉; building the estimates takes about as much again."""
        return 8 * (horizon * ExactForm.copies_needed(horizon, gain)) ** 2

    def mean(self, points: ArrayLike, records: ArrayLike, rewards: ArrayLike) -> Floats:
        """μ at points of shape (n, d), from records of shape (t, d) and their rewards, (t,)."""
        rows = self.kernel.scaled(as_points("points", points, self.dim))
        seen = self.kernel.scaled(as_points("records", records, self.dim))
        paid = finite("rewards", rewards)
        if paid.shape != seen.shape[:1]:
            raise BadInput(f"Expected one reward for each of {len(seen):,} records, got shape {paid.shape}.")
        if len(seen) > self.horizon:
            raise BadInput(f"Expected at most the horizon of {self.horizon:,} records, got {len(seen):,}.")
        pull = np.zeros(len(self._synthetic))
        for part, block in blocks(seen):
            pull += paid[part] @ self.kernel.between(block, self._synthetic)
        pull = cho_solve((self._factor, True), pull, check_finite=False)
        found = np.empty(len(rows))
        for part, block in blocks(rows):
            direct = self.kernel.between(block, seen) @ paid
            found[part] = (direct - self.kernel.between(block, self._synthetic) @ pull) / self.tau
        return found

    def sigma2(self, points: ArrayLike) -> Floats:
        """σ² at points of shape (n, d), shape (n,)."""
        rows = self.kernel.scaled(as_points("points", points, self.dim))
        found = np.empty(len(rows))
        for part, block in blocks(rows):
            whitened = self._whitened(block)
            found[part] = (1 - np.einsum("ij,ij->i", whitened, whitened)) / self.tau
        return np.maximum(found, 0.0)

    def cross(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """φ(w)ᵀZ̃⁻¹φ(w'), shape (n, k): how a reward of one at w' moves μ at w. Its diagonal is σ²."""
        rows = self.kernel.scaled(as_points("first", first, self.dim))
        others = self.kernel.scaled(as_points("second", second, self.dim))
        found: Floats = self.kernel.between(rows, others) - self._whitened(rows) @ self._whitened(others).T
        found /= self.tau
        return found

    def distance_bound(self, steps: ArrayLike) -> float:
        """The most that ‖φ(w) − φ(w')‖ can be where |w_i − w'_i| ≤ steps_i for each i."""
        return self.kernel.distance_bound(steps)

    def _whitened(self, rows: Floats) -> Floats:
        return solved(self._factor, self.kernel.between(rows, self._synthetic))


def refuse_large(horizon: int, points: int) -> None:
    """An error that names the memory, if the exact form of so many records is too much for it."""
    if horizon > MOST_RECORDS:
        raise BadInput(
            f"Expected horizon <= {MOST_RECORDS:,} for the exact form, got {horizon:,}: the Gram matrix of its "
            f"{points:,} synthetic points would need {8 * points**2 / 1e9:.3g} GB, and as much again to work in. "
            'Use form="features", which needs neither.'
        )


def sampled_gain(kernel: Kernel, draws: ArrayLike, tau: float) -> float:
    """½·ln det(I + K/τ) over T synthetic draws of shape (T, d): the information gain γ_T, some ten per cent below the
    largest that chosen points could have.

    For K = ⌈T/γ_T⌉ alone; it enters no privacy proof. Draws are synthetic: real contexts would be a release.
    """
    rows = kernel.scaled(as_points("synthetic draws", draws))
    if not 0 < len(rows) <= MOST_DRAWS:
        raise BadInput(
            f"Expected 1 to {MOST_DRAWS:,} synthetic draws, got {len(rows):,}: {8 * len(rows) ** 2 / 1e9:.3g} GB. "
            "For a long horizon use the gain of an Operator."
        )
    gram = kernel.between(rows, rows)
    gram /= positive("tau", tau)
    gram[np.diag_indices_from(gram)] += 1.0
    factor = cholesky(gram.T, lower=True, overwrite_a=True, check_finite=False)
    return float(np.log(np.diag(factor)).sum())
