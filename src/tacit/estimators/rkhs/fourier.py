"""Quadrature Fourier features of the squared exponential kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import probability, real
from tacit.errors import BadInput
from tacit.estimators.rkhs.blocks import blocks
from tacit.estimators.rkhs.features import fitting
from tacit.kernels import Box, Kernel, SquaredExponential, kernel_from_dict
from tacit.kernels.points import as_points

#: Nodes per side at most: the weights of more are below the smallest number there is.
MOST_NODES = 100
#: Nodes of the whole tensor at most, before those of negligible weight are dropped.
_MOST_TENSOR = 2 * 10**6
#: Share of the weight that may be dropped: what it adds to the error of the kernel.
NEGLIGIBLE = 1e-6


class QuadratureFourier:
    """cos and sin of frequencies ω_j with weights q_j: ψᵀψ' = Σ_j q_j·cos(ω_jᵀ(w − w')) ≈ exp(−‖(w − w')/ℓ‖²/2).

    The frequencies are a tensor of Gauss and Hermite's nodes, `per_side` for each coordinate, which integrate the
    kernel's Gaussian spectrum. ω and −ω give the same functions, so there are as many features as nodes; nodes whose
    weights add up to no more than `negligible` are left out. `error` says how far ψᵀψ' is from k on the box.

    How many nodes it takes grows with the width of the box over the length scale, and with the power of the dimension:
    for up to about four.

    Mutný and Krause (2018).
    """

    slug: ClassVar[str] = "fourier"
    triangle: None = None

    def __init__(self, kernel: Kernel, box: Box, per_side: int | Sequence[int], negligible: float = NEGLIGIBLE) -> None:
        if not isinstance(kernel, SquaredExponential):
            raise BadInput(
                f"Expected the squared exponential kernel, got {kernel!r}: only its spectrum falls fast enough for a "
                "quadrature. Use Nystrom."
            )
        self.kernel: Kernel = kernel
        self.box = box
        self.per_side = _nodes_per_side(box, per_side)
        self.negligible = real("negligible", negligible)
        if not 0 <= self.negligible < 1:
            raise BadInput(f"Expected 0 <= negligible < 1, got negligible={negligible!r}.")
        frequencies, weights, self.dropped = _half_of_the_tensor(self.per_side, self.negligible)
        # Without a partner there is only the frequency zero, whose sine is zero too.
        alone = bool((frequencies[:1] == 0).all())
        self.size = fitting("per_side", 2 * len(weights) - alone)
        self._alone = alone
        self._frequencies = np.ascontiguousarray(frequencies.T)
        self._roots = np.sqrt(weights)

    def __repr__(self) -> str:
        return f"QuadratureFourier({self.kernel!r}, {self.box!r}, per_side={self.per_side}, {self.size} features)"

    @classmethod
    def within(cls, kernel: Kernel, box: Box, error: float) -> QuadratureFourier:
        """The fewest nodes per side for which ψᵀψ' is within `error` of k on the box."""
        share = probability("error", error) / (2 * box.dim)
        counts = []
        for width in box.widths / kernel.scales(box.dim):
            found = next((n for n in range(1, MOST_NODES + 1) if _error(n, float(width)) <= share), None)
            if found is None:
                raise BadInput(
                    f"Expected a side of no more than about 12 length scales, got {width:.3g}: {MOST_NODES} nodes do "
                    f"not bring the error under {share:g}. Use Nystrom."
                )
            counts.append(found)
        return cls(kernel, box, counts, negligible=error / 2)

    @property
    def dim(self) -> int:
        """d: coordinates of a point."""
        return self.box.dim

    @property
    def error(self) -> float:
        """The most by which ψᵀψ' differs from k on the box; found on a fine grid of distances, side by side."""
        # |Πk_i − Πk̂_i| ≤ Σ|k_i − k̂_i|, as no factor is above one.
        scaled = self.box.widths / self.kernel.scales(self.dim)
        return self.dropped + sum(
            _error(nodes, float(width)) for nodes, width in zip(self.per_side, scaled, strict=True)
        )

    def raw(self, points: Floats) -> Floats:
        """ψ(w) for points of shape (n, d) known to be finite."""
        found = np.empty((len(points), self.size))
        # Seen from the middle of the box, phases are small and exact.
        phases = self.kernel.scaled(points - self.box.centre) @ self._frequencies
        cosines, skip = found[:, : len(self._roots)], int(self._alone)
        np.cos(phases, out=cosines)
        np.sin(phases[:, skip:], out=found[:, len(self._roots) :])
        cosines *= self._roots
        found[:, len(self._roots) :] *= self._roots[skip:]
        return found

    def psi(self, points: ArrayLike) -> Floats:
        """ψ(w), shape (n, m), for points of shape (n, d)."""
        rows = as_points("points", points, self.dim)
        found = np.empty((len(rows), self.size))
        for part, block in blocks(rows):
            found[part] = self.raw(block)
        return found

    def distance_bound(self, steps: ArrayLike) -> float:
        """‖steps/ℓ‖, and at most 2.

        ‖ψ − ψ'‖² = Σ 2q_j(1 − cos ω_jᵀ(w − w')) ≤ Σ q_j(ω_jᵀ(w − w'))², and two nodes or more have the second moments
        of the spectrum exactly. The kernel's own bound would *not* do: the features are no projection of φ.
        """
        sides = finite("steps", steps)
        if sides.shape != (self.dim,) or (sides < 0).any():
            raise BadInput(
                f"Expected steps >= 0 of shape ({self.dim},), one per coordinate, got {np.asarray(steps)!r}."
            )
        return min(2.0, float(np.linalg.norm(sides / self.kernel.scales(self.dim))) * (1 + 1e-12))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, and for `from_dict`."""
        return {
            "features": self.slug,
            "kernel": self.kernel.to_dict(),
            "box": self.box.to_dict(),
            "per_side": list(self.per_side),
            "negligible": self.negligible,
        }

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> QuadratureFourier:
        """The features that `to_dict` described."""
        if set(facts) != {"features", "kernel", "box", "per_side", "negligible"}:
            raise BadInput(
                'Expected features with exactly "features", "kernel", "box", "per_side" and "negligible", got others.'
            )
        return cls(kernel_from_dict(facts["kernel"]), Box.of(facts["box"]), facts["per_side"], facts["negligible"])


def _nodes_per_side(box: Box, per_side: int | Sequence[int]) -> tuple[int, ...]:
    counts = box.counts(per_side)
    if max(counts) > MOST_NODES or math.prod(counts) > _MOST_TENSOR:
        raise BadInput(
            f"Expected at most {MOST_NODES} nodes per side and {_MOST_TENSOR:,} in all, got per_side={per_side!r} in "
            f"{box.dim} dimensions. Use fewer, or Nystrom."
        )
    return counts


def _spectrum(nodes: int) -> tuple[Floats, Floats]:
    """Frequencies and weights for exp(−t²/2) = E cos(ωt), ω ~ N(0, 1)."""
    places, weights = np.polynomial.hermite.hermgauss(nodes)
    return math.sqrt(2) * places, weights / weights.sum()


def _half_of_the_tensor(per_side: tuple[int, ...], negligible: float) -> tuple[Floats, Floats, float]:
    """One frequency of each pair ±ω with the weight of both, the lone zero first if there is one, without the lightest;
    and the weight of those.
    """
    sides = [_spectrum(nodes) for nodes in per_side]
    weights = reduce(np.multiply.outer, [weight for _, weight in sides]).ravel()
    mesh = np.meshgrid(*[place for place, _ in sides], indexing="ij")
    frequencies = np.stack([axis.ravel() for axis in mesh], axis=1)
    # Nodes are symmetric, so the partner of node j is the one as far from the other end.
    count = len(weights)
    frequencies, weights = frequencies[count // 2 :], weights[count // 2 :].copy()
    weights[count % 2 :] *= 2
    if count % 2:
        frequencies[0] = 0.0
    lightest = np.argsort(weights, kind="stable")
    out = lightest[: int(np.searchsorted(np.cumsum(weights[lightest]), negligible, side="right"))]
    kept = np.ones(len(weights), dtype=bool)
    kept[out] = False
    return frequencies[kept], weights[kept], float(weights[out].sum())


def _error(nodes: int, width: float) -> float:
    """The most by which so many nodes miss exp(−t²/2) on |t| ≤ width."""
    places, weights = _spectrum(nodes)
    distances = np.linspace(0.0, width, 1025)
    return float(np.abs(np.cos(np.multiply.outer(distances, places)) @ weights - np.exp(-(distances**2) / 2)).max())
