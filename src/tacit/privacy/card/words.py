"""The sentences of a card that follow from its guarantee and its events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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
from tacit.privacy.guarantee import Guarantee, finite_or_none, round_up, short_delta
from tacit.privacy.promise import AnyPromise
from tacit.privacy.scope import Protects, Trust, Unit

FALSE_ALARM = 0.05
"""The rate of false alarms at which it is said what an attacker can do."""

COUNTS = "binomial noise on sums of whole numbers"
EXACT = "exact, in whole steps"

_MECHANISMS: dict[type[Event], str] = {
    TreeEvent: "Gaussian noise on a binary tree of sums",
    ToeplitzEvent: "correlated Gaussian noise on prefix sums (buffered linear Toeplitz)",
    RootToeplitzEvent: "correlated Gaussian noise on prefix sums (square root of the prefix-sum matrix)",
    WishartTreeEvent: "Wishart noise on a binary tree of sums",
    SegmentsEvent: "Gaussian noise, once per segment",
    DiscountedEvent: "Gaussian noise on discounted sums, once per release",
    GaussianEvent: "Gaussian noise on one release",
    LaplaceEvent: "Laplace noise on sums",
    ReportEvent: "Gaussian noise on each report, on the person's device",
    ShuffledReportsEvent: "Gaussian noise on each report, mixed by a shuffler",
    BinomialSumEvent: COUNTS,
    RandomisedResponseEvent: "randomised response",
    ExponentialEvent: "the exponential mechanism",
    NothingReleased: "nothing is released",
    ExactRelease: "exact release",
    UncertifiedNoise: "noise that no theorem covers",
}

_PROTECTED_FROM = {
    Trust.JOINT: (
        "Everybody else, alone or together, may see every released view and every action that others are shown: what "
        "that says about {data} of {unit} is within what this card accounts for. The curator, who holds the exact "
        "data, is trusted; a person's own action is not protected from that person."
    ),
    Trust.CENTRAL: (
        "Everybody may see all that is published, every action included: what that says about {data} of {unit} is "
        "within what this card accounts for. The curator, who holds the exact data, is trusted."
    ),
    Trust.SHUFFLE: (
        "The server, and everybody it shows anything to, may see all mixed batches: what they say about {data} of "
        "{unit} is within what this card accounts for. The shuffler is trusted to hand on full, mixed batches and to "
        "keep who sent what to itself."
    ),
    Trust.LOCAL: (
        "Everybody, the server included, may see all that leaves a person's device: what that says about {data} of "
        "{unit} is within what this card accounts for. Nobody is trusted with the exact data."
    ),
}

# Proofs: mechanisms/*/proof.md.
_ADAPTIVITY = {
    Trust.JOINT: (
        "Holds when later contexts, actions and rewards are chosen after seeing everything released before. Noise, "
        "bounds and release times are fixed before anyone arrives."
    ),
    Trust.CENTRAL: (
        "Holds when later contexts, actions and rewards are chosen after seeing everything released before. Noise, "
        "bounds and the rule for release times are fixed before anyone arrives, and look at nothing unpublished."
    ),
    Trust.SHUFFLE: (
        "Holds when later people and their data are chosen after seeing all earlier batches. Noise, bounds and batch "
        "size are fixed before anyone arrives."
    ),
    Trust.LOCAL: (
        "Holds when a report is chosen after seeing all earlier ones: each has noise of its own, and what a server "
        "makes of reports costs nothing more."
    ),
}

NOBODY = "Nothing is protected from anybody."
NO_ADAPTIVITY = "Nothing is claimed."

SIMULATION = (
    "SIMULATION ONLY: noise is drawn in double precision, whose last bits tell what it should hide. The promise is "
    "that of exact arithmetic, which no program that draws like this keeps: devices, servers and services refuse it."
)
_EXACT_NOISE = (
    "Noise is drawn exactly, in whole numbers, from the operating system's randomness: what is released is rounded to "
    "whole steps first. Rounding and the discrete law are in the price; what is computed from noised whole numbers "
    "costs nothing."
)
_NO_NOISE = "No noise is added to numbers; what is drawn has the stated odds or better, whatever doubles round."


def mechanism_names(events: Iterable[Event]) -> tuple[str, ...]:
    """What adds the noise, by name, each once; an event made of others is named by those."""
    found: list[str] = []
    for event in events:
        if isinstance(event, Together | EitherEvent):
            found += mechanism_names(event.events)
        elif isinstance(event, PersonEvent | ForkedEvent):
            found += mechanism_names([event.event])
        elif isinstance(event, LatticeEvent):
            found += [f"{name}, {EXACT}" for name in mechanism_names([event.event])]
        else:
            found.append(_MECHANISMS.get(type(event), event.kind))
    return tuple(dict.fromkeys(found))


def protected_from(guarantee: Guarantee) -> str:
    """Who may see what, and whom one must trust."""
    if not guarantee.private:
        return NOBODY
    rewards = guarantee.protects is Protects.REWARDS
    data = "the rewards" if rewards else "the contexts and rewards"
    public = " Contexts and actions are public." if rewards else ""
    return _PROTECTED_FROM[guarantee.trust].format(data=data, unit=guarantee.unit) + public


def adaptivity(guarantee: Guarantee) -> str:
    """Whether the guarantee survives data that is chosen after seeing releases."""
    return _ADAPTIVITY[guarantee.trust] if guarantee.private else NO_ADAPTIVITY


def floating_point(sampler: str, noised: bool) -> str:
    """What a reader must know about the numbers that the noise is made of."""
    if not noised:
        return _NO_NOISE
    return _EXACT_NOISE if sampler == "secure" else SIMULATION


def contribution(unit: Unit) -> str:
    """How much of one person the guarantee is about."""
    if unit.rounds is None:
        return "one round; how many a person has is not limited"
    return f"at most {unit.rounds} round{'s' if unit.rounds > 1 else ''} of a person, counted"


def detection(guarantee: Guarantee, false_alarm: float = FALSE_ALARM) -> str:
    """The promise as what an attacker can do: for a Gaussian curve Φ(Φ⁻¹(a) + μ)."""
    if guarantee.protects is Protects.REWARDS:
        changed = "a changed reward" if guarantee.unit.rounds is None else "changed rewards of a person"
    else:
        changed = "a changed round" if guarantee.unit.rounds is None else "a changed person"
    return (
        f"At {false_alarm * 100:g} % false alarms the best attacker detects {changed} with probability "
        f"at most {round_up(guarantee.power(false_alarm), 3)}."
    )


@dataclass(frozen=True)
class Published:
    """What a publication claims for its constants, and what they truly give."""

    claimed: AnyPromise
    guarantee: Guarantee
    delta: float  # δ at which both are read

    @property
    def kept(self) -> bool:
        return self.claimed.kept(self.guarantee)

    @property
    def epsilon(self) -> float:
        """ε by the curve or, where there is none, by the theorem: then an upper bound."""
        return self.guarantee.epsilon_at(self.delta)

    @property
    def noise_ratio(self) -> float | None:
        """The noise there is over the noise that the claim needs; None where either has no μ."""
        if self.claimed.mu is None or not self.guarantee.mu:
            return None
        return self.claimed.mu / self.guarantee.mu

    @property
    def text(self) -> str:
        by = "true" if self.guarantee.theorem is None else "by theorem"
        found = f"epsilon <= {round_up(self.epsilon, 4)} at delta = {short_delta(self.delta)}"
        noise = (
            "" if self.noise_ratio is None else f", with {self.noise_ratio:.3g} times the noise that the claim needs"
        )
        kept = "" if self.kept else " The claim is NOT kept."
        return f"Published constants: claimed {self.claimed.text}; {by} {found}{noise}.{kept}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "claimed": self.claimed.to_dict(),
            "epsilon": finite_or_none(self.epsilon),
            "delta": self.delta,
            "exact": self.guarantee.theorem is None,
            "kept": self.kept,
            "noise_ratio": self.noise_ratio,
        }
