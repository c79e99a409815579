"""An attack: two neighbouring inputs that are fixed in advance, what is seen of a run, and how it is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tacit._types import Floats
from tacit.auditing.scores import Fit, linear

#: What is seen. "Released" is everything the guarantee covers; "actions" only what the outside world sees of it.
RELEASED, ACTIONS, REPORT, BATCH, DRAWN = (
    "released statistics",
    "later actions",
    "one report",
    "shuffled batch",
    "drawn candidate",
)

#: How far beyond the declared bounds the two inputs lie, in units of the bound: what clips them brings them to the
#: bounds, what does not shows at once.
BEYOND = 100.0
#: Rows of everybody else, in units of the bound: they add nothing that could be seen.
SMALL = 1e-4


class Sampler(Protocol):
    """Runs a policy many times on the first (0) or the second (1) of two neighbouring inputs."""

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> Floats:
        """What was seen, of shape (runs, numbers). All randomness comes from `seed` and `path`. Called from threads."""


@dataclass(frozen=True)
class Attack:
    """One way to tell two neighbouring inputs apart."""

    observed: str
    sampler: Sampler
    neighbours: str  #: which two inputs, in a sentence
    fit: Fit = linear
    smooth: bool = True  #: scores are close to normal: thresholds may be chosen in tails that few runs reach
    batch: int = 2000  #: runs at a time
    curved: bool = True  #: what is seen is covered by a Gaussian curve, where one is promised


@dataclass(frozen=True)
class Twin:
    """A variant that is wrong on purpose, and must be caught: else the audit has not shown anything."""

    name: str
    says: str  #: what is wrong with it
    spoil: Callable[[Attack], Attack]  #: the same attack on the twin
