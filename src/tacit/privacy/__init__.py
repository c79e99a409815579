"""What is promised, and what it costs.

    scope       the words of a guarantee: trust, what is protected, neighbours, unit
    promise     what a user may ask for
    event       facts about what a mechanism releases
    accountant  the price of an event, in μ
    currencies  what an event costs in every currency that adds up
    ledger      a budget, and what has been spent of it
    theorem     (ε, δ) at one point, where no curve is known
    gdp, rdp    the curve behind μ, and its other currencies
    toeplitz    the public design of correlated noise
    sensitivity how far one person can move a report
    shuffle     what a shuffled batch of reports reveals
    binomial    what sums under binomial noise reveal
    guarantee   scope and price together
    calibrate   from a promise to a noise scale
    conversions how much noise each way to (ε, δ) asks for
    audited     the record of an audit
    card        all of it on one page
    deployments what several cards promise together

Pure Python, NumPy and SciPy: nothing here draws noise or sees data.
"""

from tacit.privacy.accountant import price, price_for_person, theorem_for
from tacit.privacy.audited import Audited
from tacit.privacy.calibrate import calibrate
from tacit.privacy.card import Card, card_schema
from tacit.privacy.deployments import Deployments, compose_cards
from tacit.privacy.event import (
    BinomialSumEvent,
    DiscountedEvent,
    EitherEvent,
    Event,
    ExactRelease,
    ExponentialEvent,
    ForkedEvent,
    GaussianEvent,
    LaplaceEvent,
    LatticeEvent,
    NothingReleased,
    PersonEvent,
    RandomisedResponseEvent,
    ReportEvent,
    RootToeplitzEvent,
    SegmentsEvent,
    ShuffledReportsEvent,
    ToeplitzEvent,
    Together,
    TreeEvent,
    UncertifiedNoise,
    WishartTreeEvent,
)
from tacit.privacy.guarantee import Guarantee, round_up
from tacit.privacy.ledger import Ledger
from tacit.privacy.promise import AnyPromise, ConcentratedPromise, Promise, PurePromise, RenyiPromise, promise_of
from tacit.privacy.scope import Neighbours, Protects, Trust, Unit
from tacit.privacy.theorem import Theorem

__all__ = [
    "AnyPromise",
    "Audited",
    "BinomialSumEvent",
    "Card",
    "ConcentratedPromise",
    "Deployments",
    "DiscountedEvent",
    "EitherEvent",
    "Event",
    "ExactRelease",
    "ExponentialEvent",
    "ForkedEvent",
    "GaussianEvent",
    "Guarantee",
    "LaplaceEvent",
    "LatticeEvent",
    "Ledger",
    "Neighbours",
    "NothingReleased",
    "PersonEvent",
    "Promise",
    "Protects",
    "PurePromise",
    "RandomisedResponseEvent",
    "RenyiPromise",
    "ReportEvent",
    "RootToeplitzEvent",
    "SegmentsEvent",
    "ShuffledReportsEvent",
    "Theorem",
    "ToeplitzEvent",
    "Together",
    "TreeEvent",
    "Trust",
    "UncertifiedNoise",
    "Unit",
    "WishartTreeEvent",
    "calibrate",
    "card_schema",
    "compose_cards",
    "price",
    "price_for_person",
    "promise_of",
    "round_up",
    "theorem_for",
]
