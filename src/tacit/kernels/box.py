"""Boxes: the public domains of actions and contexts, and points spread over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import finite
from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.errors import BadInput
from tacit.kernels.points import LARGEST, as_points

#: Points of a grid at most: more is a slip in the number of dimensions.
MOST_POINTS = 10**7


@dataclass(frozen=True)
class Box:
    """low ≤ w_i ≤ high for each coordinate: `Box(((0, 1), (18, 99)))`.

    The sides are *declared*: what coordinates can be, known before anybody comes. Taken from the data they would be a
    release about everybody in it.
    """

    sides: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        found = finite("the sides of a box", self.sides, limit=LARGEST)
        if found.ndim != 2 or found.shape[1] != 2 or len(found) == 0:
            raise BadInput(
                f"Expected a box as one (low, high) per coordinate, like ((0, 1), (0, 1)), got {self.sides!r}."
            )
        for place, (low, high) in enumerate(found.tolist()):
            if not low < high:
                raise BadInput(
                    f"Expected low < high on every side of a box, got low={low:g} and high={high:g} at side {place}. "
                    "A coordinate that never changes is best left out."
                )
        object.__setattr__(self, "sides", tuple((low, high) for low, high in found.tolist()))

    @classmethod
    def unit(cls, dim: int) -> Box:
        """[0, 1] in every one of `dim` coordinates."""
        return cls(((0.0, 1.0),) * whole("dim", dim))

    @classmethod
    def of(cls, value: Any) -> Box:
        """A box as one gives it: itself, what `to_dict` wrote, or its sides."""
        if isinstance(value, cls):
            return value
        if isinstance(value, dict):
            if set(value) != {"sides"}:
                raise BadInput('Expected a box with exactly "sides", got something else.')
            value = value["sides"]
        return cls(value)

    @property
    def dim(self) -> int:
        """d: how many coordinates there are."""
        return len(self.sides)

    @cached_property
    def low(self) -> Floats:
        """The lower ends of the sides, shape (d,)."""
        return _fixed([low for low, _ in self.sides])

    @cached_property
    def high(self) -> Floats:
        """The upper ends of the sides, shape (d,)."""
        return _fixed([high for _, high in self.sides])

    @cached_property
    def widths(self) -> Floats:
        """The lengths of the sides, shape (d,)."""
        return _fixed(self.high - self.low)

    @cached_property
    def centre(self) -> Floats:
        """The middle of the box, shape (d,)."""
        return _fixed(self.low + self.widths / 2)

    def times(self, other: Box) -> Box:
        """The box of pairs: this one's coordinates first. Actions times contexts is what a kernel is defined on."""
        return Box(self.sides + other.sides)

    def clip(self, points: ArrayLike) -> tuple[Floats, int]:
        """Points of shape (n, d), each moved to the nearest point of the box, and how many of them had to move."""
        rows = as_points("points", points, self.dim)
        clipped = np.clip(rows, self.low, self.high)
        return clipped, int((clipped != rows).any(axis=1).sum())

    def contains(self, points: ArrayLike) -> bool:
        """Whether all points of shape (n, d) are in the box; its faces are."""
        return self.clip(points)[1] == 0

    def from_unit(self, places: Floats) -> Floats:
        """Points of the box from places in [0, 1]^d, shape (n, d)."""
        # Rounding may lift low + width above high.
        return np.minimum(self.low + self.widths * places, self.high)

    def uniform(self, rng: np.random.Generator, count: int) -> Floats:
        """Independent uniform points."""
        return self.from_unit(rng.random((whole("count", count, low=0), self.dim)))

    def grid(self, per_side: int | Sequence[int]) -> Floats:
        """A tensor grid that includes the faces, the last coordinate changing fastest. One point of a side is its
        middle. `per_side` is one number, or one per coordinate.
        """
        return _tensor(
            [
                np.linspace(low, high, count) if count > 1 else np.array([low + (high - low) / 2])
                for (low, high), count in zip(self.sides, self.counts(per_side), strict=True)
            ]
        )

    def cells(self, per_side: int | Sequence[int]) -> tuple[Floats, Floats]:
        """The box cut into equal cells: their centres (n, d), and how far a cell reaches from its centre, (d,)."""
        counts = np.array(self.counts(per_side))
        half = self.widths / (2 * counts)
        every = zip(self.low, half, counts, strict=True)
        return _tensor([low + reach * (2 * np.arange(count) + 1) for low, reach, count in every]), half

    def halton(self, count: int) -> Floats:
        """The first points of Halton's sequence: deterministic, and evener than random ones. The first is a corner."""
        places = np.empty((whole("count", count, low=0), self.dim))
        for place, base in enumerate(_primes(self.dim)):
            places[:, place] = _radical_inverse(np.arange(count), base)
        return self.from_unit(places)

    def sobol(self, count: int) -> Floats:
        """The first points of Sobol's sequence: evener than random ones, above all when `count` is a power of two."""
        # SciPy's statistics take half a second to import, and only this needs them.
        from scipy.stats import qmc

        wanted = whole("count", count, low=0)
        power = max(0, math.ceil(math.log2(max(1, wanted))))
        places = qmc.Sobol(self.dim, scramble=False).random_base2(power)
        return self.from_unit(np.ascontiguousarray(places[:wanted]))

    def counts(self, per_side: int | Sequence[int]) -> tuple[int, ...]:
        """Points on each side of a grid."""
        if isinstance(per_side, Sequence) and not isinstance(per_side, str):
            found = tuple(whole("per_side", count) for count in per_side)
            if len(found) != self.dim:
                raise BadInput(f"Expected per_side as one number or one for each of {self.dim} sides, got {found!r}.")
        else:
            found = (whole("per_side", per_side),) * self.dim
        if math.prod(found) > MOST_POINTS:
            raise BadInput(
                f"Expected at most {MOST_POINTS:,} points in a grid, got per_side={per_side!r} in {self.dim} "
                f"dimensions: {math.prod(found):,}. Use fewer per side, or halton."
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, and for `of`."""
        return {"sides": [list(side) for side in self.sides]}


def _tensor(axes: list[Floats]) -> Floats:
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def _fixed(values: ArrayLike) -> Floats:
    found = np.array(values, dtype=np.float64)
    found.flags.writeable = False
    return found


def _radical_inverse(index: Ints, base: int) -> Floats:
    """The digits of each index in this base, mirrored at the point."""
    found, scale, rest = np.zeros(len(index)), 1.0, index.copy()
    while rest.any():
        scale /= base
        rest, digit = np.divmod(rest, base)
        found += digit * scale
    return found


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found
