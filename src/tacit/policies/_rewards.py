"""What every policy has in common that protects rewards only: their interval, who is protected, and the promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tacit._validate import one_of, real, whole
from tacit.calibrations import Exact, Published
from tacit.core.policy import Policy
from tacit.core.settings import option, unfold
from tacit.counters.counter import MOST_ROWS, CalibratedLattice, Load, calibrate_lattice
from tacit.errors import BadInput
from tacit.privacy.calibrate import SAFETY, calibrate
from tacit.privacy.event import Event, LaplaceEvent, PersonEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.promise import AnyPromise, PurePromise, promise_of
from tacit.privacy.scope import Protects, Trust, Unit

#: What a card says of every policy here.
PUBLIC = "Contexts, actions and the number of rounds are public; only what a round earned is protected."
ONE_REWARD = "A reward is learned once per run; runs on the same people add up: rho by rho, epsilon by epsilon."


@dataclass(frozen=True, kw_only=True)
class RewardPolicy(Policy):
    """A policy whose rewards are secret, while contexts and actions are public."""

    trust: ClassVar[Trust] = Trust.CENTRAL
    protects: ClassVar[Protects] = Protects.REWARDS

    reward_low: float = option("least reward; smaller ones are clipped", 0.0)
    reward_high: float = option("largest reward; larger ones are clipped", 1.0)
    person_rounds: int | None = option("protect a person with at most so many rounds (default: one round)", None)

    def __post_init__(self) -> None:
        low, high = real("reward_low", self.reward_low), real("reward_high", self.reward_high)
        if not low < high:
            raise BadInput(
                f"Expected reward_low < reward_high, got reward_low={low!r}, reward_high={high!r}. Rewards are clipped "
                "to this interval, and its length sets the noise."
            )
        if not math.isfinite(high - low):
            raise BadInput(f"Expected a finite interval, got reward_low={low!r}, reward_high={high!r}.")
        if self.person_rounds is not None:
            whole("person_rounds", self.person_rounds)

    @property
    def reward_range(self) -> float:
        """Δ: how much one replaced reward can change a sum of them."""
        return float(self.reward_high) - float(self.reward_low)

    @property
    def unit(self) -> Unit:
        """Whom the guarantee protects: one round, or one person with at most k of them."""
        return Unit.round() if self.person_rounds is None else Unit.person(self.person_rounds)

    def weighed(self, rows: float) -> float:
        """How much a sum of so many rows x·r may be, in units of what one replaced reward can change it by. Counted as
        for 2⁹ rows at least: a row alone must be far from the end of double precision."""
        return max(rows, 2.0**9) * max(abs(self.reward_low), abs(self.reward_high)) / self.reward_range

    def for_unit(self, event: Event) -> Event:
        """What is released about one unit, given what is released about one reward."""
        return event if self.person_rounds is None else PersonEvent(event, self.person_rounds)

    def calibrate_total(
        self, event_at: Callable[[float], Event], rough: float, rows: int = MOST_ROWS
    ) -> CalibratedLattice:
        """Totals of rewards on a lattice: rewards are rounded within their interval, so that rounding costs nothing.
        `rough`: the scale of continuous noise, which is kept where it was published."""
        return calibrate_lattice(
            None if self.calibrated == "published" else self.promise,
            event_at,
            self.for_unit,
            rough=rough,
            sensitivity=self.reward_range,
            coordinates=1,
            load=Load(rows, rows, 1),
            rounded="rewards",
        )

    def priced(self, event: Event) -> Guarantee:
        """The guarantee of releasing this about one unit."""
        delta = None if self.promise is None else self.promise.delta
        return Guarantee.priced(event, trust=self.trust, protects=self.protects, unit=self.unit, delta=delta)


@dataclass(frozen=True, kw_only=True)
class RenyiPolicy(RewardPolicy):
    """Gaussian noise, and a promise in any of its currencies: ρ, (ε, δ) or (α, ε). Inside there is one number."""

    rho: float | None = option("promised rho of zero-concentrated DP: (alpha, rho*alpha)-RDP for every alpha", None)
    epsilon: float | None = option("promised epsilon, with delta or with alpha", None)
    delta: float | None = option("promised delta, with epsilon", None)
    alpha: float | None = option("order of Renyi DP, with epsilon: (alpha, epsilon)-RDP", None)
    calibration: str | Exact | Published = option(
        '"exact": the least noise that keeps the promise; "published": the paper\'s, for alpha and epsilon', "exact"
    )

    #: Length of the reward interval for which the paper states its noise.
    published_range: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        unfold(self, "calibration", (Exact, Published))
        one_of("calibration", self.calibration, ("exact", "published"))
        promise = self.promise
        if self.calibration == "published":
            if self.alpha is None:
                raise BadInput(
                    f'Expected alpha and epsilon with calibration="published", got {promise.text}: the paper\'s noise '
                    'is stated for (alpha, epsilon)-RDP. Use calibration="exact" for other promises.'
                )
            if self.person_rounds is not None:
                raise BadInput(
                    f'Expected no person_rounds with calibration="published", got person_rounds={self.person_rounds}: '
                    "the paper's constants are for one round."
                )

    @property
    def promise(self) -> AnyPromise:
        return promise_of(rho=self.rho, epsilon=self.epsilon, delta=self.delta, alpha=self.alpha)

    @property
    def calibrated(self) -> str:
        return str(self.calibration)

    def scale_for(self, event_at: Callable[[float], Event]) -> float:
        """s: the least noise for which `event_at(s)`, counted for one unit, keeps the promise."""
        return calibrate(self.promise, lambda scale: self.for_unit(event_at(scale)))

    @property
    def published_scale(self) -> float:
        """The paper's noise on a sum, √(αΔ²/2ε), Δ the length of *its* reward interval."""
        if self.alpha is None or self.epsilon is None:
            raise BadInput(f"Expected alpha and epsilon for the published noise, got {self.promise.text}.")
        return self.published_range * math.sqrt(self.alpha / (2 * self.epsilon))


@dataclass(frozen=True, kw_only=True)
class PurePolicy(RewardPolicy):
    """Laplace noise, and a promise of pure ε-DP."""

    epsilon: float = option("promised epsilon (delta is 0)")

    def __post_init__(self) -> None:
        super().__post_init__()
        PurePromise(self.epsilon)

    @property
    def promise(self) -> AnyPromise:
        return PurePromise(self.epsilon)

    @property
    def calibrated(self) -> str:
        return "exact"

    @property
    def laplace_scale(self) -> float:
        """b = kΔ/ε: with up to k rewards of one person in one sum."""
        return (self.person_rounds or 1) * self.reward_range / self.epsilon * (1 + SAFETY)

    def laplace_noise(self, sampler: str) -> tuple[float, Event, CalibratedLattice | None]:
        """b, what is released about one unit, and the lattice where noise is drawn exactly."""
        scale = self.laplace_scale
        if sampler != "secure":
            return scale, self.for_unit(LaplaceEvent(scale, self.reward_range)), None
        laid = self.calibrate_total(lambda scale: LaplaceEvent(scale, self.reward_range), scale)
        return laid.scale, laid.event, laid
