"""Events: facts about what a mechanism releases, and never what it costs.

    fact      what every event is
    sums      what a curator publishes with noise
    lattice   the same in whole numbers
    draws     what a curator draws by score
    reports   what people randomise themselves
    plain     releases without noise that counts
    compound  events made of others

A mechanism records an event; `accountant.price` turns it into μ. The split keeps each claim in one place: the event
says how much noise there is and how often a datum appears in it, the accountant holds the theorem.

Noise scales and sensitivities are in the same unit. For the symmetric matrix [x; y][x; y]ᵀ with ‖x‖ ≤ L and |y| ≤ B̃,
noised symmetrically with variance s² off the diagonal and 2s² on it, the normalised replace-one sensitivity of one row
is L̃² = L² + B̃². With variance s² on the diagonal as well it would be √2·L̃²: whoever records an event must know
which noise was added.

An event class is final. The accountant prices types, so a subclass would be priced as something it may not be.
"""

from tacit.privacy.event.compound import EitherEvent, ForkedEvent, PersonEvent, Together
from tacit.privacy.event.draws import ExponentialEvent
from tacit.privacy.event.fact import Event
from tacit.privacy.event.lattice import LatticeEvent
from tacit.privacy.event.plain import ExactRelease, NothingReleased, UncertifiedNoise
from tacit.privacy.event.reports import BinomialSumEvent, RandomisedResponseEvent, ReportEvent, ShuffledReportsEvent
from tacit.privacy.event.sums import (
    DiscountedEvent,
    GaussianEvent,
    LaplaceEvent,
    RootToeplitzEvent,
    SegmentsEvent,
    ToeplitzEvent,
    TreeEvent,
    WishartTreeEvent,
)

__all__ = [
    "BinomialSumEvent",
    "DiscountedEvent",
    "EitherEvent",
    "Event",
    "ExactRelease",
    "ExponentialEvent",
    "ForkedEvent",
    "GaussianEvent",
    "LaplaceEvent",
    "LatticeEvent",
    "NothingReleased",
    "PersonEvent",
    "RandomisedResponseEvent",
    "ReportEvent",
    "RootToeplitzEvent",
    "SegmentsEvent",
    "ShuffledReportsEvent",
    "ToeplitzEvent",
    "Together",
    "TreeEvent",
    "UncertifiedNoise",
    "WishartTreeEvent",
]
