"""What every policy has in common whose people send reports: the bounds they declare, and who is protected."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tacit._validate import above, one_of, positive, probability, real, whole
from tacit.core.plan import Reported
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.counters.counter import Load, calibrate_lattice
from tacit.errors import BadInput
from tacit.linalg import packed_size
from tacit.mechanisms.report import PersonBounds, person_bounds
from tacit.noise import Law
from tacit.policies._options import failure_or_default
from tacit.privacy.calibrate import Promise
from tacit.privacy.event import Event, ReportEvent
from tacit.privacy.scope import Unit
from tacit.privacy.sensitivity import gram_sensitivity, private_radius


@dataclass(frozen=True)
class ReportNoise:
    """The noise of one report."""

    scale: float  # σ
    step: float  # of the lattice; 0: noise in doubles
    event: Event
    law: Law | None

    @property
    def terms(self) -> dict[str, float]:
        """What a device is told of it."""
        return {"scale": self.scale, "step": self.step}


@dataclass(frozen=True, kw_only=True)
class ReportingPolicy(Policy):
    """A policy whose people clip and randomise on their own device."""

    dim: int = option("number of features d")
    epsilon: float = option("promised epsilon")
    delta: float = option("promised delta")
    action_norm: float = option("bound L on the norm of an action; longer ones are clipped on the device", 1.0)
    reward_low: float = option("least reward; smaller ones are clipped on the device", -1.0)
    reward_high: float = option("largest reward; larger ones are clipped on the device", 1.0)
    constants: tuple[float, ...] = option(
        "the last coordinates of every action, if they are public and the same for everybody: they need no noise", ()
    )
    person_rounds: int | None = option("protect a person with at most so many reports (default: one report)", None)

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        Promise(self.epsilon, self.delta)
        positive("action_norm", self.action_norm)
        low, high = real("reward_low", self.reward_low), real("reward_high", self.reward_high)
        if not low < high:
            raise BadInput(f"Expected reward_low < reward_high, got reward_low={low!r}, reward_high={high!r}.")
        if isinstance(self.constants, str) or not hasattr(self.constants, "__iter__"):
            raise BadInput(f"Expected constants to be numbers such as (0.5,), got constants={self.constants!r}.")
        object.__setattr__(self, "constants", tuple(real("constants", value) for value in self.constants))
        if len(self.constants) >= self.dim:
            raise BadInput(
                f"Expected fewer constants than features, got {len(self.constants)} of {self.dim}: nothing would be "
                "left to protect."
            )
        private_radius(self.action_norm, self.constants)
        if self.person_rounds is not None:
            whole("person_rounds", self.person_rounds)

    @property
    def promise(self) -> Promise:
        return Promise(self.epsilon, self.delta)

    @property
    def unit(self) -> Unit:
        """Whom the guarantee protects: one round, or one person with at most k of them."""
        return Unit.round() if self.person_rounds is None else Unit.person(self.person_rounds)

    @property
    def reports(self) -> int:
        """How many reports of one person the price is for."""
        return self.person_rounds or 1

    @cached_property
    def radius(self) -> float:
        """r: the norm of what is private in an action."""
        return private_radius(self.action_norm, self.constants)

    @property
    def private_numbers(self) -> int:
        """How many numbers of x xᵀ and x·y are private."""
        return packed_size(self.dim) - packed_size(len(self.constants)) + self.dim

    @property
    def private_dim(self) -> int:
        """How many coordinates of an action are private."""
        return self.dim - len(self.constants)

    @property
    def reward_size(self) -> float:
        """The largest absolute reward."""
        return max(abs(self.reward_low), abs(self.reward_high))

    def bounds(self) -> PersonBounds:
        """What the device clips to."""
        return person_bounds(self.radius, self.reward_low, self.reward_high, self.constants)

    def reported(self, kind: str, size: int, noise: dict[str, float], batch: int | None = None) -> Reported:
        """What a device sends."""
        return Reported(
            kind=kind,
            size=size,
            action_norm=float(self.action_norm),
            reward_low=float(self.reward_low),
            reward_high=float(self.reward_high),
            constants=self.constants,
            noise=noise,
            batch=batch,
        )

    def noise_of_report(
        self, scale: float, event_at: Callable[[float], ReportEvent], numbers: int, sampler: str
    ) -> ReportNoise:
        """The Gaussian noise of a report of so many private numbers: in doubles of this scale, or exact, on the finest
        lattice, at the price of rounding."""
        if sampler != "secure":
            return ReportNoise(scale, 0.0, event_at(scale), None)
        laid = calibrate_lattice(
            None if self.calibrated == "published" else self.promise,
            event_at,
            lambda event: event,
            rough=scale,
            sensitivity=event_at(scale).sensitivity,
            coordinates=numbers,
            load=Load(1.0, 1, 1),
        )
        return ReportNoise(laid.scale, laid.step, laid.event, laid.law)

    def said_of_bounds(self) -> tuple[str, ...]:
        """What the guarantee needs, and what it does not, for the card."""
        count = len(self.constants)
        last = "the last coordinate is a public constant" if count == 1 else f"the last {count} are public constants"
        public = f"; {last}" if count else ""
        unit = (
            "The unit is the report: somebody who sends several has several times the exposure."
            if self.person_rounds is None
            else f"The unit is the person: a device counts what it sends, at most {self.person_rounds} "
            f"report{'' if self.person_rounds == 1 else 's'}."
        )
        what = "Actions" if self.arms is None else "Contexts"
        return (
            f"{what} are clipped to norm {self.action_norm:g} and rewards to [{self.reward_low:g}, "
            f"{self.reward_high:g}] on the device{public}: the guarantee needs no assumption on the data.",
            unit,
        )

    def default_noise_level(self) -> float:
        """A bounded reward is sub-Gaussian with half its range (Hoeffding)."""
        return (self.reward_high - self.reward_low) / 2


@dataclass(frozen=True, kw_only=True)
class SummingPolicy(ReportingPolicy):
    """A policy whose people report x xᵀ and x·y, and whose server adds these up to a regression."""

    rules: ClassVar[tuple[str, ...]]  #: the widths it knows by name

    horizon: int = option("number of reports learned from at most; the widths depend on it")
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    noise_level: float | None = option("sub-Gaussian level of the reward noise (default: half the reward range)", None)
    ridge: float = option("smallest regulariser: what remains as epsilon grows", 1.0)
    width: float | str | None = option("how wide the confidence set is", None)
    shift: float | None = option('with width="theory": regulariser c > 1 in units of the noise bound', None)
    failure: float | None = option("failure probability alpha of the confidence sets (default: 1/horizon)", None)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("horizon", self.horizon, low=2)
        for name in ("parameter_norm", "ridge"):
            positive(name, getattr(self, name))
        if self.noise_level is not None:
            positive("noise_level", self.noise_level)
        if self.failure is not None:
            probability("failure", self.failure)
        if isinstance(self.width, str):
            one_of("width", self.width, self.rules, hint="Or give a number that multiplies the calibration's own rule.")
        elif self.width is not None:
            positive("width", self.width)
        if self.shift is not None:
            above("shift", self.shift, 1)
            if self.rule != "theory":
                raise BadInput(
                    f'Expected shift with width="theory" only, got shift={self.shift!r} with the {self.rule} rule, '
                    "which has a regulariser of its own. Leave it out."
                )

    @property
    @abstractmethod
    def default_rule(self) -> str:
        """The width of the calibration."""

    @property
    def rule(self) -> str:
        """Which width is used, before it is multiplied."""
        return self.width if isinstance(self.width, str) else self.default_rule

    @property
    def multiplier(self) -> float:
        """What the width of the rule is multiplied by."""
        return 1.0 if self.width is None or isinstance(self.width, str) else float(self.width)

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon."""
        return failure_or_default(self.failure, self.horizon)

    @property
    def reward_noise_level(self) -> float:
        """R: as given, else half the reward range."""
        return self.default_noise_level() if self.noise_level is None else self.noise_level

    @property
    def sensitivity(self) -> float:
        """Δ: how far replacing action and reward can move a report, before rounding and noise."""
        return gram_sensitivity(self.radius, self.reward_low, self.reward_high, self.constants)
