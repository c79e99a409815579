"""What a context goes through before a model has it: declared bounds, a centre, one length, a constant.

    preparation=tacit.Preparation(normalise=True, constant=0.45, centre_rounds=400)

Everything but the centre is a function of the person's own context and of public numbers, so it costs nothing. The
centre is the mean of the contexts of the first `centre_rounds` rounds, released once with noise of its own, from rows
that enter no other release: each row pays in one place, and the promise is what it was. Proof: `preparation.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel, verb
from tacit._types import Floats
from tacit._validate import flag, real, whole
from tacit.core.round import LARGEST
from tacit.errors import BadInput
from tacit.noise import fill_normals
from tacit.pairs import added_one, nearest

__all__ = ["Preparation"]


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """How contexts are prepared, for policies with `arms`.

    Parameters: `low` and `high`, declared bounds of the features, which are mapped to −1 and 1 and clipped there
    (default: contexts are taken as they come); `normalise`, bring every context to the full length L (what is lost is
    how long it was: keep that as a feature if it matters); `constant`, the share of the length that goes to a constant
    coordinate, which gives each arm an intercept (0: none); `centre_rounds`, take off the mean of the contexts of so
    many first rounds (0: none), in which arms are chosen evenly; `shared`, where actions have features of their own,
    the share of the length that goes to these, which are clipped to the length and keep theirs.

    >>> import tacit
    >>> tacit.Preparation(low=0, high=16).normalise
    True
    """

    low: tuple[float, ...] | float | None = None
    high: tuple[float, ...] | float | None = None
    normalise: bool = True
    constant: float = 0.45
    centre_rounds: int = 400
    shared: float = 0.3

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            given = getattr(self, name)
            if isinstance(given, list | tuple | np.ndarray):
                object.__setattr__(self, name, tuple(real(name, value) for value in given))
            elif given is not None:
                real(name, given)
        if (self.low is None) != (self.high is None):
            raise BadInput("Expected low and high together, got one of them. Declare both, or leave both out.")
        flag("normalise", self.normalise)
        if not 0 <= real("constant", self.constant) < 1:
            raise BadInput(f"Expected 0 <= constant < 1, got constant={self.constant!r}. At 0 there is none.")
        if not 0 < real("shared", self.shared) < 1:
            raise BadInput(f"Expected 0 < shared < 1, got shared={self.shared!r}. It is a share of the length.")
        whole("centre_rounds", self.centre_rounds, low=0)

    def width(self, dim: int) -> int:
        """Numbers of a prepared context."""
        return dim + (self.constant > 0)

    def outside(self, contexts: Floats, length: float) -> bool:
        """Whether one of these lies outside the declared bounds, or is longer than it may be where length counts."""
        if self.low is not None:
            dim = contexts.shape[1]
            return bool(np.any((contexts < self._side("low", dim)) | (contexts > self._side("high", dim))))
        return not self.normalise and any(math.hypot(*row) > length * (1 + 1e-9) for row in contexts.tolist())

    def to_dict(self) -> dict[str, Any]:
        """The parameters, ready for JSON."""
        sides = {
            name: list(side) if isinstance(side := getattr(self, name), tuple) else side for name in ("low", "high")
        }
        return {
            **sides,
            "normalise": self.normalise,
            "constant": self.constant,
            "centre_rounds": self.centre_rounds,
            "shared": self.shared,
        }

    def steps(self, dim: int, length: float, shared: bool = False) -> Steps:
        """The kernels' side, for contexts of so many features and rows of at most this length; `shared`: features of an
        action are in a row too."""
        if self.low is None:
            middle, stretch = np.zeros(dim), np.ones(dim)
        else:
            low, high = self._side("low", dim), self._side("high", dim)
            if not np.all((low < high) & (high - low >= 1e-100) & (np.maximum(abs(low), abs(high)) <= LARGEST)):
                raise BadInput(
                    "Expected low < high for every feature, within 1e100 and at least 1e-100 apart. Leave out a "
                    "feature that never changes."
                )
            middle, stretch = (low + high) / 2, 2 / (high - low)
        return Steps(
            middle=middle,
            stretch=stretch,
            bounded=float(self.low is not None),
            normalise=float(self.normalise),
            length=float(length),
            share=math.sqrt(1 - self.constant**2),
            constant=float(self.constant * length),
            centred=float(self.centre_rounds > 0),
            own=math.sqrt(1 - self.shared**2) if shared else 1.0,
            shared=float(self.shared) if shared else 0.0,
        )

    def _side(self, name: str, dim: int) -> Floats:
        side = np.asarray(getattr(self, name), np.float64)
        if side.shape not in ((), (dim,)):
            raise BadInput(f"Expected {name} to be one number or {dim} of them, got {side.size}.")
        return np.array(np.broadcast_to(side, (dim,)))

    def describe(self) -> str:
        """One sentence for a card."""
        said = []
        if self.low is not None:
            said.append("features clipped to their declared bounds")
        if self.centre_rounds:
            said.append(f"centred on the mean of the first {self.centre_rounds:,} rounds, which is released once")
        if self.normalise:
            said.append("brought to one length")
        if self.constant:
            said.append(f"given a constant coordinate (share {self.constant:g} of the length)")
        return "Contexts are " + (", ".join(said) if said else "taken as they come, clipped to the bound") + "."


#: Whole numbers of a sum, and of it with its noise, stay below this, and below twice this: doubles are exact there.
_LARGEST = 2.0**52

#: Nothing is done to a context but clipping it to its bound.
PLAIN = Preparation(normalise=False, constant=0.0, centre_rounds=0)


def as_option(value: Any) -> Preparation:
    """What the option takes: a value, a word, or a value as it travels."""
    if value is None or value == "standard":
        return Preparation()
    if value == "none":
        return PLAIN
    if isinstance(value, Preparation):
        return value
    if isinstance(value, dict):
        try:
            return Preparation(**value)
        except TypeError:
            raise BadInput("Expected a preparation with the fields of tacit.Preparation, got others.") from None
    raise BadInput(f'Expected preparation to be "standard", "none" or a tacit.Preparation, got {value!r}.')


class Steps(NamedTuple):
    """The kernels' side: public numbers."""

    middle: Floats  # (dim,)
    stretch: Floats  # (dim,) 1 over half of each range
    bounded: float  # 1: clip to the declared bounds
    normalise: float  # 1: to the full length
    length: float  # L
    share: float  # √(1 − b²): of the length, what is left for the features
    constant: float  # b·L; 0: there is no constant coordinate
    centred: float  # 1: a centre is taken off, once there is one
    own: float  # of the length, what goes to the context: √(1 − h²)
    shared: float  # h: and to the features of the action


@kernel
def prepare(steps: Steps, x: Floats, centre: Floats, learning: bool, out: Floats) -> bool:
    """Write the prepared context into `out`, never longer than L; returns whether it had to be clipped.

    While there is no centre yet (`learning` is false) `out` is what the centre is the mean of: the context within its
    bounds and at its length, without the constant.
    """
    dim = centre.shape[0]
    clipped = False
    for i in range(dim):
        value = (x[i] - steps.middle[i]) * steps.stretch[i]
        if steps.bounded != 0.0 and abs(value) > 1.0:
            value = 1.0 if value > 0.0 else -1.0
            clipped = True
        out[i] = value
    if scale_to(steps.normalise != 0.0, steps.length, dim, out):
        clipped = True
    if not learning:
        return clipped
    if steps.centred != 0.0:
        for i in range(dim):
            out[i] -= centre[i]
    if steps.centred != 0.0 or steps.constant != 0.0:
        scale_to(steps.normalise != 0.0, steps.length * steps.share, dim, out)
    if steps.constant != 0.0:
        out[dim] = steps.constant
    if steps.own != 1.0:
        for i in range(dim + (1 if steps.constant != 0.0 else 0)):
            out[i] *= steps.own
    return clipped


@kernel
def prepare_features(steps: Steps, x: Floats, out: Floats) -> bool:
    """Write an action's features into `out`, clipped to L and times their share; returns whether they were clipped."""
    for i in range(out.shape[0]):
        out[i] = x[i]
    clipped = scale_to(False, steps.length, out.shape[0], out)
    for i in range(out.shape[0]):
        out[i] *= steps.shared
    return clipped


@kernel
def scale_to(normalise: bool, length: float, dim: int, out: Floats) -> bool:
    """Bring the first `dim` numbers to this length, or within it; returns whether something was clipped."""
    largest = 0.0
    for i in range(dim):
        largest = max(largest, abs(out[i]))
    if not largest > 0.0:
        return False
    # In units of the largest: squares of numbers below 1e-154 would lose their digits, and rows come out too long.
    total = 0.0
    for i in range(dim):
        total += (out[i] / largest) ** 2
    norm = math.sqrt(total)
    if not normalise and largest * norm <= length:
        return False
    for i in range(dim):
        out[i] = out[i] / largest * (length / norm)
    return not normalise and length * (1.0 + 1e-9) < largest * norm


# The centre -----------------------------------------------------------------------------------------------------------


class NoCentre(NamedTuple):
    """Contexts are not centred."""

    rounds: int = 0


class Centre(NamedTuple):
    """The mean of the first rounds, with noise in double precision."""

    rounds: int  # n₀
    scale: float  # of the noise on the sum; 0: none


class LatticeCentre(NamedTuple):
    """The mean of the first rounds, with exact noise, in steps."""

    rounds: int  # n₀
    step: float  # h


def lattice_centre(rounds: int, step: float, length: float) -> LatticeCentre:
    """The centre of so many contexts of at most this length, in steps: refused where their sum would not be exact."""
    if rounds * (length / step + 1) >= _LARGEST:
        raise BadInput(
            f"Expected fewer than {int(_LARGEST * step / length):,} centre_rounds for this promise, got {rounds:,}: "
            "their sum in whole steps is more than a double holds."
        )
    return LatticeCentre(rounds, step)


@verb
def add_context(centre: Any, context: Floats, sums: Floats) -> None:
    """Add a context to the exact sum, a row of highs and a row of lows."""


@verb
def publish_centre(centre: Any, sums: Floats, out: Floats, noise: Any) -> None:
    """Release the mean, once. Formal guarantee: 2L/scale-GDP for one replaced row. Proof: preparation.md."""


@implements(add_context, NoCentre)
@kernel
def _add_nothing(centre: NoCentre, context: Floats, sums: Floats) -> None:
    pass


@implements(publish_centre, NoCentre)
@kernel
def _publish_nothing(centre: NoCentre, sums: Floats, out: Floats, noise: Any) -> None:
    pass


@implements(add_context, Centre)
@kernel
def _add_context(centre: Centre, context: Floats, sums: Floats) -> None:
    for i in range(sums.shape[1]):
        sums[0, i] += context[i]


@implements(publish_centre, Centre)
@kernel
def _publish_centre(centre: Centre, sums: Floats, out: Floats, noise: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = 0.0
    if centre.scale > 0.0:
        fill_normals(noise, out)
    for i in range(out.shape[0]):
        out[i] = (sums[0, i] + centre.scale * out[i]) / centre.rounds
        sums[0, i] = 0.0


@implements(add_context, LatticeCentre)
@kernel
def _add_context_in_steps(centre: LatticeCentre, context: Floats, sums: Floats) -> None:
    for i in range(sums.shape[1]):
        sums[0, i], sums[1, i] = added_one(sums[0, i], sums[1, i], context[i] / centre.step)


@implements(publish_centre, LatticeCentre)
@kernel
def _publish_centre_whole(centre: LatticeCentre, sums: Floats, out: Floats, noise: Any) -> None:
    fill_normals(noise, out)
    for i in range(out.shape[0]):
        out[i] += nearest(sums[0, i], sums[1, i])
        sums[0, i] = 0.0
        sums[1, i] = 0.0
    # From here on nothing is secret.
    for i in range(out.shape[0]):
        out[i] *= centre.step / centre.rounds
