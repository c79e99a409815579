"""Nyström features: φ projected on the span of a few public inducing points."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import positive, whole
from tacit.errors import BadInput
from tacit.estimators.rkhs.blocks import blocks, solved
from tacit.estimators.rkhs.features import fitting
from tacit.kernels import Box, Kernel, kernel_from_dict
from tacit.kernels.points import as_points

#: Added to the diagonal of k(U, U), which is singular to rounding where points are close. It only shortens ψ.
JITTER = 1e-8
#: How often the jitter is multiplied by ten before there is no factor.
_TRIES = 5


class Nystrom:
    """ψ(w) = L⁻¹k_U(w), LLᵀ = k(U, U) + jitter·I, for public inducing points U of shape (m, d).

    ψᵀψ' is k between the projections of φ on the span of U: exact at inducing points but for the jitter, never longer
    than φ, and never further apart. `jitter` is what was used, which is more than what was asked for only if there was
    no Cholesky factor with that.

    Williams and Seeger (2001).
    """

    slug: ClassVar[str] = "nystrom"

    def __init__(self, kernel: Kernel, points: ArrayLike, jitter: float = JITTER) -> None:
        self.kernel = kernel
        self.points = as_points("inducing points", points)
        self.size = fitting("inducing points", len(self.points))
        self.dim = self.points.shape[1]
        if self.size == 0:
            raise BadInput("Expected at least one inducing point, got none.")
        self._scaled = kernel.scaled(self.points)
        self.triangle, self.jitter = _factor(kernel.between(self._scaled, self._scaled), positive("jitter", jitter))
        self.points.flags.writeable = False

    def __repr__(self) -> str:
        return f"Nystrom({self.kernel!r}, {self.size} points, jitter={self.jitter:g})"

    def raw(self, points: Floats) -> Floats:
        """k_U(w) for points of shape (n, d) known to be finite."""
        return self.kernel.between(self.kernel.scaled(points), self._scaled)

    def psi(self, points: ArrayLike) -> Floats:
        """ψ(w), shape (n, m), for points of shape (n, d)."""
        rows = as_points("points", points, self.dim)
        found = np.empty((len(rows), self.size))
        for part, block in blocks(rows):
            found[part] = solved(self.triangle, self.raw(block))
        return found

    def distance_bound(self, steps: ArrayLike) -> float:
        """That of the kernel: a projection brings nothing further apart."""
        return self.kernel.distance_bound(steps)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, and for `from_dict`."""
        return {
            "features": self.slug,
            "kernel": self.kernel.to_dict(),
            "points": self.points.tolist(),
            "jitter": self.jitter,
        }

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Nystrom:
        """The features that `to_dict` described."""
        if set(facts) != {"features", "kernel", "points", "jitter"}:
            raise BadInput('Expected features with exactly "features", "kernel", "points" and "jitter", got others.')
        return cls(kernel_from_dict(facts["kernel"]), facts["points"], facts["jitter"])


def inducing_points(box: Box, count: int, kernel: Kernel | None = None) -> Floats:
    """At most `count` points spread over the box: a grid in one and two dimensions, Halton's sequence above.

    With a kernel, the sides of a grid share the points by how many length scales long they are; a side shorter than
    its length scale still gets some.
    """
    wanted = fitting("count", whole("count", count))
    if box.dim == 1:
        return box.grid(wanted)
    if box.dim > 2:
        return box.halton(wanted)
    first, second = (1.0, 1.0) if kernel is None else 1 + box.widths / kernel.scales(2)
    rows = min(max(1, math.floor(math.sqrt(wanted * first / second) + 1e-9)), wanted)
    return box.grid((rows, wanted // rows))


def _factor(gram: Floats, jitter: float) -> tuple[Floats, float]:
    for attempt in range(_TRIES + 1):
        used = jitter * 10**attempt
        try:
            return np.linalg.cholesky(gram + used * np.eye(len(gram))), used
        except np.linalg.LinAlgError:
            continue
    raise BadInput(
        f"Expected inducing points whose kernel matrix has a Cholesky factor, got {len(gram):,} that have none even "
        f"with a jitter of {used:g} on the diagonal. Use fewer features, points further apart, or a larger jitter."
    )
