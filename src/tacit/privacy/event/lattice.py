"""Releases in whole numbers: rounded to a lattice, with noise that is drawn exactly, in whole steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._validate import positive, real, whole
from tacit.errors import BadInput
from tacit.privacy.event.fact import Event
from tacit.privacy.event.reports import ReportEvent, ShuffledReportsEvent
from tacit.privacy.event.sums import (
    DiscountedEvent,
    GaussianEvent,
    LaplaceEvent,
    RootToeplitzEvent,
    SegmentsEvent,
    ToeplitzEvent,
    TreeEvent,
)

#: Noise of fewer steps than this is refused: the price is for noise much wider than the lattice.
LEAST_STEPS = 64

_GAUSSIAN = (
    DiscountedEvent,
    GaussianEvent,
    ReportEvent,
    RootToeplitzEvent,
    SegmentsEvent,
    ShuffledReportsEvent,
    ToeplitzEvent,
    TreeEvent,
)


@dataclass(frozen=True)
class LatticeEvent(Event):
    """The releases of `event` in whole steps: each number is rounded to a lattice and gets a discrete Gaussian, or
    where `event` is of Laplace noise a discrete Laplace number.

    `event` says what is released, about whom and how often; its scale is that of the discrete law, in the unit of its
    sensitivity. Before its noise a released number is off the exact one by at most `rounding` steps.
    """

    kind: ClassVar[str] = "lattice"
    event: Event
    step: float  # h
    coordinates: int  # m: numbers in one release
    rounding: float

    def __post_init__(self) -> None:
        if type(self.event) not in (*_GAUSSIAN, LaplaceEvent):
            raise BadInput(f"Expected an event of Gaussian or Laplace noise, got {type(self.event).__name__}.")
        object.__setattr__(self, "step", positive("step", self.step))
        object.__setattr__(self, "coordinates", whole("coordinates", self.coordinates))
        rounding = real("rounding", self.rounding)
        if rounding < 0:
            raise BadInput(f"Expected rounding >= 0 steps, got rounding={rounding!r}.")
        object.__setattr__(self, "rounding", rounding)
        if not self.steps >= LEAST_STEPS:
            raise BadInput(
                f"Expected discrete noise of at least {LEAST_STEPS} steps, got {self.steps:.4g}: so little is not "
                "priced. Promise a smaller epsilon, or use coarser bounds."
            )

    @property
    def law(self) -> str:
        """What is drawn."""
        return "discrete Laplace number" if isinstance(self.event, LaplaceEvent) else "discrete Gaussian"

    @property
    def steps(self) -> float:
        """The scale of the noise, in steps."""
        inner: Any = self.event
        return float(inner.scale / self.step)

    def describe(self) -> str:
        return (
            f"{self.event.describe()} Numbers are rounded to whole steps of {self.step:.6g}, and the noise is a "
            f"{self.law} of {self.steps:.6g} steps on each of {self.coordinates:,} numbers; a number is off by at most "
            f"{self.rounding:g} steps before it, which is in the price."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "of": self.event.to_dict(),
            "step": self.step,
            "coordinates": self.coordinates,
            "rounding": self.rounding,
        }
