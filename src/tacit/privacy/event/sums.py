"""Sums that a curator publishes with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tacit._validate import one_of, positive, probability, whole
from tacit.errors import BadInput
from tacit.privacy.event.fact import Event, check_noise, counted
from tacit.privacy.toeplitz import Design


@dataclass(frozen=True)
class TreeEvent(Event):
    """A binary tree of partial sums, each closed node noised once; a datum lies in at most `nodes` of them."""

    kind: ClassVar[str] = "tree"
    scale: float  # s
    sensitivity: float  # L̃²
    nodes: int  # q

    def __post_init__(self) -> None:
        check_noise(self)
        object.__setattr__(self, "nodes", whole("nodes", self.nodes))

    def describe(self) -> str:
        return (
            f"A binary tree of sums; each closed node gets its own Gaussian noise of scale {self.scale:.6g}, and a row "
            f"of sensitivity {self.sensitivity:.6g} lies in at most {counted(self.nodes, 'node')}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "scale": self.scale, "sensitivity": self.sensitivity, "nodes": self.nodes}


@dataclass(frozen=True)
class ToeplitzEvent(Event):
    """Prefix sums released at most `releases` times with noise correlated by a Toeplitz design.

    `rows_per_release="one"`: every row is followed by a release. `"many"`: a release closes a segment of rows, at times
    that are public.
    """

    kind: ClassVar[str] = "toeplitz"
    scale: float  # s
    sensitivity: float  # L̃²
    releases: int  # N
    design: Design
    rows_per_release: Literal["one", "many"]

    def __post_init__(self) -> None:
        check_noise(self)
        object.__setattr__(self, "releases", whole("releases", self.releases))
        if not isinstance(self.design, Design):
            raise BadInput(f"Expected design to be a toeplitz.Design, got design={self.design!r}.")
        one_of("rows_per_release", self.rows_per_release, ("one", "many"))

    def describe(self) -> str:
        what = "one row" if self.rows_per_release == "one" else "a segment of rows"
        return (
            f"Prefix sums released after {what}, at most {counted(self.releases, 'time')}, with Gaussian noise of "
            f"scale {self.scale:.6g} per release correlated by {counted(len(self.design.poles), 'buffer')}; a row has "
            f"sensitivity {self.sensitivity:.6g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "releases": self.releases,
            "rows_per_release": self.rows_per_release,
            "design": {"poles": list(self.design.poles), "zeros": list(self.design.zeros)},
        }


@dataclass(frozen=True)
class RootToeplitzEvent(Event):
    """Prefix sums over segments of rows, released at most `releases` times under square-root Toeplitz noise.

    Release l carries scale·Σ_{m≤l} c_{l−m}·z_m with z_m standard normal and c the coefficients of (1 − z)^{−1/2}. Every
    z_m is drawn once and kept; segments end at times that are public.
    """

    kind: ClassVar[str] = "root-toeplitz"
    scale: float  # s
    sensitivity: float  # Δ
    releases: int  # N

    def __post_init__(self) -> None:
        check_noise(self)
        object.__setattr__(self, "releases", whole("releases", self.releases))

    def describe(self) -> str:
        return (
            f"Prefix sums released after a segment of rows, at most {counted(self.releases, 'time')}, with Gaussian "
            f"noise of scale {self.scale:.6g} per release correlated by the square root of the prefix sums; a row has "
            f"sensitivity {self.sensitivity:.6g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "releases": self.releases,
        }


@dataclass(frozen=True)
class WishartTreeEvent(Event):
    """A binary tree of partial sums, each closed node masked once by a Wishart matrix.

    The degrees of freedom are the paper's for `promise_epsilon` and `promise_delta`; no price in μ is known for it.
    """

    kind: ClassVar[str] = "wishart-tree"
    degrees: int  # k
    sensitivity: float  # L̃²
    nodes: int  # m
    promise_epsilon: float
    promise_delta: float

    def __post_init__(self) -> None:
        for name in ("degrees", "nodes"):
            object.__setattr__(self, name, whole(name, getattr(self, name)))
        for name in ("sensitivity", "promise_epsilon"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        object.__setattr__(self, "promise_delta", probability("promise_delta", self.promise_delta))

    def describe(self) -> str:
        return (
            f"A binary tree of sums; each closed node is masked by its own Wishart matrix of {self.degrees:,} degrees "
            f"of freedom and parameter {self.sensitivity:.6g} times the identity; a row lies in at most "
            f"{counted(self.nodes, 'node')}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "degrees": self.degrees,
            "sensitivity": self.sensitivity,
            "nodes": self.nodes,
            "promise": {"epsilon": self.promise_epsilon, "delta": self.promise_delta},
        }


@dataclass(frozen=True)
class DiscountedEvent(Event):
    """Sums of segments of rows, discounted from release to release, each released with noise of its own."""

    kind: ClassVar[str] = "discounted"
    scale: float  # s
    sensitivity: float  # L̃²
    releases: int  # N
    keep: float  # ρ: of a sum, what is left of it in the next release

    def __post_init__(self) -> None:
        check_noise(self)
        object.__setattr__(self, "releases", whole("releases", self.releases))
        object.__setattr__(self, "keep", probability("keep", self.keep))

    def describe(self) -> str:
        return (
            f"Sums released after a segment of rows, at most {counted(self.releases, 'time')}, each with Gaussian "
            f"noise of its own of scale {self.scale:.6g}; of what was in one, {self.keep:.4g} is left in the next. "
            f"A row has sensitivity {self.sensitivity:.6g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "releases": self.releases,
            "keep": self.keep,
        }


@dataclass(frozen=True)
class SegmentsEvent(Event):
    """Disjoint segments of rows, each sum released once with independent noise."""

    kind: ClassVar[str] = "segments"
    scale: float  # s
    sensitivity: float  # L̃²

    def __post_init__(self) -> None:
        check_noise(self)

    def describe(self) -> str:
        return (
            f"Sums of disjoint segments, each released once with independent Gaussian noise of scale {self.scale:.6g}; "
            f"a row of sensitivity {self.sensitivity:.6g} lies in one segment."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "scale": self.scale, "sensitivity": self.sensitivity}


@dataclass(frozen=True)
class GaussianEvent(Event):
    """One release with Gaussian noise."""

    kind: ClassVar[str] = "gaussian"
    scale: float  # σ
    sensitivity: float  # Δ

    def __post_init__(self) -> None:
        check_noise(self)

    def describe(self) -> str:
        return (
            f"One release with Gaussian noise of scale {self.scale:.6g}; a row changes it by at most "
            f"{self.sensitivity:.6g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "scale": self.scale, "sensitivity": self.sensitivity}


@dataclass(frozen=True)
class LaplaceEvent(Event):
    """Sums with Laplace noise of their own, each released once; a datum lies in at most `releases` of them.

    `sensitivity` is in L1: what one row can change one sum by, over all its coordinates together.
    """

    kind: ClassVar[str] = "laplace"
    scale: float  # b
    sensitivity: float  # Δ
    releases: int = 1

    def __post_init__(self) -> None:
        check_noise(self)
        object.__setattr__(self, "releases", whole("releases", self.releases))

    def describe(self) -> str:
        return (
            f"Sums released once each with independent Laplace noise of scale {self.scale:.6g}; a row of sensitivity "
            f"{self.sensitivity:.6g} lies in at most {counted(self.releases, 'sum')}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.kind,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "releases": self.releases,
        }
