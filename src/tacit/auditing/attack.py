"""An attack: two neighbouring inputs that are fixed in advance, what is seen of a run, and how it is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from scipy.special import expit, logit

from tacit._types import Floats
from tacit.auditing.scores import Fit, linear
from tacit.privacy import gdp

#: What is seen. "Released" is everything the guarantee covers; "actions" only what the outside world sees of it.
RELEASED, ACTIONS, REPORT, BATCH, DRAWN, LAST_BITS = (
    "released statistics",
    "later actions",
    "one report",
    "shuffled batch",
    "drawn candidate",
    "last bits",
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
class Claim:
    """What was promised, as far as an attack can refute it."""

    epsilon: float
    delta: float
    mu: float | None  #: where a whole Gaussian curve is promised
    odds: float | None = None  #: where one draw by score is promised: how far its log-odds move at most

    def power(self, false_alarm: float) -> float | None:
        """The most often an attacker detects at so many false alarms; None where no curve is promised."""
        if self.mu is not None:
            return gdp.power(self.mu, false_alarm)
        return None if self.odds is None else float(expit(logit(false_alarm) + self.odds))


@dataclass(frozen=True)
class Attack:
    """One way to tell two neighbouring inputs apart."""

    observed: str
    sampler: Sampler
    neighbours: str  #: which two inputs, in a sentence
    fit: Fit = linear
    smooth: bool = True  #: scores are close to normal: thresholds may be chosen in tails that few runs reach
    batch: int = 2000  #: runs at a time
    claim: Claim | None = None  #: what is promised of what is seen here, where that is more than of everything
    certain: bool = False  #: scores are those of `low_bits.told`: a single one that rules an input out refutes
    runs: int | None = None  #: runs that are counted at most; None: as many as of every attack


@dataclass(frozen=True)
class Twin:
    """A variant that is wrong on purpose, and must be caught: else the audit has not shown anything."""

    name: str
    says: str  #: what is wrong with it
    spoil: Callable[[Attack], Attack]  #: the same attack on the twin
