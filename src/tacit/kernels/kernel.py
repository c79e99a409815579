"""Stationary kernels: the squared exponential, and Matérn of smoothness 1/2, 3/2 and 5/2.

All are functions of r = ‖(w − w')/ℓ‖ that fall from k(w, w) = 1: ‖φ(w)‖ = 1 for every point, which is what the
sensitivity of everything built on them rests on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import at_least, known, positive, real
from tacit.errors import BadInput
from tacit.kernels.points import as_points

#: Entries that are worked on at a time: half a megabyte, which a core keeps close.
_ENTRIES = 2**16
#: A shorter length scale is a slip, and its squares would not be finite.
_SHORTEST = 1e-50
#: What rounding may have taken off 1 − k.
_ROUNDING = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Kernel(ABC):
    """A kernel with k(w, w) = 1, which falls with the distance in units of the length scale."""

    length_scale: float | tuple[float, ...] = field(kw_only=True)  #: ℓ: one for all coordinates, or one for each

    def __post_init__(self) -> None:
        object.__setattr__(self, "length_scale", _length_scale(self.length_scale))

    @property
    @abstractmethod
    def name(self) -> str:
        """What `kernel_named` knows it by."""

    @abstractmethod
    def _apply(self, squares: Floats) -> None:
        """k in place of r²."""

    @abstractmethod
    def _near(self, distance: float) -> float:
        """A bound on ‖φ(w) − φ(w')‖ that is sharp where r is small."""

    def __call__(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """k between each of `first`, of shape (n, d), and each of `second`, (k, d): shape (n, k)."""
        rows = as_points("first", first)
        return self.between(self.scaled(rows), self.scaled(as_points("second", second, rows.shape[1])))

    def scales(self, dim: int) -> Floats:
        """ℓ for each of `dim` coordinates."""
        if isinstance(self.length_scale, tuple) and len(self.length_scale) != dim:
            raise BadInput(
                f"Expected one length_scale for each of {dim} coordinates, got {len(self.length_scale)}: "
                f"length_scale={self.length_scale!r}. Give a single number to use it for all; actions come first."
            )
        return np.full(dim, self.length_scale, dtype=np.float64)

    def scaled(self, points: Floats) -> Floats:
        """w/ℓ: points in units of the length scale."""
        return points / self.scales(points.shape[1])

    def between(self, first: Floats, second: Floats) -> Floats:
        """k between points that are `scaled` already and known to be finite."""
        found = np.empty((len(first), len(second)))
        step = max(1, _ENTRIES // max(1, len(second)))
        room = np.empty((min(step, len(first)), len(second)))
        for at in range(0, len(first), step):
            rows, squares = first[at : at + step], found[at : at + step]
            # Coordinate by coordinate, and not by expanding the square: r = 0 is exact, and k is exactly symmetric.
            np.subtract(rows[:, 0, None], second[:, 0], out=squares)
            np.multiply(squares, squares, out=squares)
            more = room[: len(rows)]
            for place in range(1, rows.shape[1]):
                np.subtract(rows[:, place, None], second[:, place], out=more)
                np.multiply(more, more, out=more)
                np.add(squares, more, out=squares)
            self._apply(squares)
        return found

    def distance_bound(self, steps: ArrayLike) -> float:
        """The most that ‖φ(w) − φ(w')‖ = sqrt(2(1 − k(w, w'))) can be where |w_i − w'_i| ≤ steps_i for each i.

        Never too small: rounding is allowed for. The same bound holds for the projection of φ on any subspace.
        """
        sides = finite("steps", steps)
        if sides.ndim != 1 or sides.size == 0 or (sides < 0).any():
            raise BadInput(f"Expected steps >= 0 of shape (d,), one per coordinate, got {steps!r}.")
        distance = float(np.linalg.norm(self.scaled(sides[None, :])[0])) * (1 + _ROUNDING)
        value = np.array([min(distance, 1e100) ** 2])
        self._apply(value)
        return min(self._near(distance), math.sqrt(2 * (1 - float(value[0]) + _ROUNDING)))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, and for `kernel_from_dict`."""
        scale = self.length_scale
        return {"kernel": self.name, "length_scale": list(scale) if isinstance(scale, tuple) else scale}


@dataclass(frozen=True)
class SquaredExponential(Kernel):
    """k = exp(−r²/2), r = ‖(w − w')/ℓ‖: functions that are smooth beyond any number of derivatives.

    `length_scale` is a number, or one per coordinate with the action's first.
    """

    @property
    def name(self) -> str:
        """What `kernel_named` knows it by."""
        return "squared-exponential"

    def _apply(self, squares: Floats) -> None:
        np.multiply(squares, -0.5, out=squares)
        np.exp(squares, out=squares)

    def _near(self, distance: float) -> float:
        return distance


@dataclass(frozen=True)
class Matern(Kernel):
    """Matérn's kernel of smoothness ν = 1/2, 3/2 or 5/2, with r = ‖(w − w')/ℓ‖:

        1/2: exp(−r)      3/2: (1 + √3·r)·exp(−√3·r)      5/2: (1 + √5·r + 5r²/3)·exp(−√5·r)

    Functions with about ν derivatives. `length_scale` is a number, or one per coordinate with the action's first.
    """

    smoothness: float  #: ν

    smoothnesses: ClassVar[tuple[float, ...]] = (0.5, 1.5, 2.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        found = real("smoothness", self.smoothness)
        if found not in self.smoothnesses:
            raise BadInput(
                f"Expected smoothness to be 1/2, 3/2 or 5/2, got smoothness={self.smoothness!r}. For functions "
                "smoother than that use SquaredExponential."
            )
        object.__setattr__(self, "smoothness", found)

    @property
    def name(self) -> str:
        """What `kernel_named` knows it by."""
        return f"matern-{round(2 * self.smoothness)}/2"

    def _apply(self, squares: Floats) -> None:
        np.multiply(squares, 2 * self.smoothness, out=squares)
        root = np.sqrt(squares)
        falling = np.negative(root)
        np.exp(falling, out=falling)
        if self.smoothness == 0.5:
            squares[...] = falling
            return
        if self.smoothness == 1.5:
            squares[...] = root
        else:
            np.multiply(squares, 1 / 3, out=squares)
            np.add(squares, root, out=squares)
        np.add(squares, 1.0, out=squares)
        np.multiply(squares, falling, out=squares)

    def _near(self, distance: float) -> float:
        # From the second derivative of k at 0, its steepest; ν = 1/2 has none, and 1 − exp(−r) ≤ r.
        if self.smoothness == 0.5:
            return math.sqrt(2 * distance)
        return distance * math.sqrt(3 if self.smoothness == 1.5 else 5 / 3)


_MAKERS: dict[str, Callable[[Any], Kernel]] = {
    "squared-exponential": lambda scale: SquaredExponential(length_scale=scale),
    "matern-1/2": lambda scale: Matern(0.5, length_scale=scale),
    "matern-3/2": lambda scale: Matern(1.5, length_scale=scale),
    "matern-5/2": lambda scale: Matern(2.5, length_scale=scale),
}


def kernel_named(name: str, length_scale: float | tuple[float, ...]) -> Kernel:
    """squared-exponential, matern-1/2, matern-3/2 or matern-5/2."""
    if not isinstance(name, str):
        raise BadInput(f"Expected the name of a kernel, one of {', '.join(sorted(_MAKERS))}, got {name!r}.")
    return _MAKERS[known("kernel", name, _MAKERS, see="The known ones take a length_scale.")](length_scale)


def kernel_from_dict(facts: dict[str, Any]) -> Kernel:
    """The kernel that `to_dict` described."""
    if not isinstance(facts, dict) or set(facts) != {"kernel", "length_scale"}:
        raise BadInput('Expected a kernel with exactly "kernel" and "length_scale", got something else.')
    return kernel_named(facts["kernel"], facts["length_scale"])


def _length_scale(value: Any) -> float | tuple[float, ...]:
    if isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value) > 0:
        if np.ndim(value) != 1 or len(value) == 0:
            raise BadInput(f"Expected length_scale to be one number or one per coordinate, got {value!r}.")
        return tuple(_one_scale(f"length_scale[{place}]", scale) for place, scale in enumerate(value))
    return _one_scale("length_scale", value.item() if isinstance(value, np.ndarray) else value)


def _one_scale(name: str, value: Any) -> float:
    positive(name, value, hint="It is the distance over which rewards change, in the units of the coordinate.")
    return at_least(name, value, _SHORTEST)
