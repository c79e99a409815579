"""What a feature map is: finitely many public functions of a point that stand in for φ."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit.errors import BadInput
from tacit.kernels import Kernel

#: Features at most: a matrix of their squares takes 134 MB, and its factor some seconds.
MOST_FEATURES = 4096


class FeatureMap(Protocol):
    """ψ with ‖ψ(w)‖ ≤ 1 everywhere, fixed before anybody comes. Any such map keeps the privacy proof; how well ψᵀψ'
    approximates k decides only how well is learned.

    It comes in two steps, ψ(w) = L⁻¹·raw(w), so that whoever solves with another triangle after it solves only once.
    """

    @property
    def kernel(self) -> Kernel:
        """k: what the features approximate."""

    @property
    def dim(self) -> int:
        """d: coordinates of a point."""

    @property
    def size(self) -> int:
        """m: how many features there are."""

    @property
    def triangle(self) -> Floats | None:
        """L, lower triangular of shape (m, m); None is the identity."""

    def raw(self, points: Floats) -> Floats:
        """raw(w) for points of shape (n, d) known to be finite: a new array of shape (n, m)."""

    def psi(self, points: ArrayLike) -> Floats:
        """ψ(w), shape (n, m), for points of shape (n, d)."""

    def distance_bound(self, steps: ArrayLike) -> float:
        """The most that ‖ψ(w) − ψ(w')‖ can be where |w_i − w'_i| ≤ steps_i for each i."""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, and for `feature_map_from_dict`."""


def fitting(what: str, count: int) -> int:
    """`count` features, unless they are too many to factor their matrix."""
    if count > MOST_FEATURES:
        gigabytes = 8 * count**2 / 1e9
        raise BadInput(
            f"Expected at most {MOST_FEATURES:,} features, got {what}: {count:,}. One matrix of them would take "
            f"{gigabytes:.2g} GB and its Cholesky factor {count**3 / 3:.0e} multiplications. Some hundred are enough "
            "for most kernels; use a longer length scale or a larger tau if not."
        )
    return count
