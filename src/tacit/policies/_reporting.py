"""What every policy has in common whose people send reports: the bounds they declare, and who is protected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tacit._validate import positive, real, whole
from tacit.core.plan import Reported
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.mechanisms.report import PersonBounds, person_bounds
from tacit.privacy.calibrate import Promise
from tacit.privacy.scope import Unit
from tacit.privacy.sensitivity import private_radius


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
        return (
            f"Actions are clipped to norm {self.action_norm:g} and rewards to [{self.reward_low:g}, "
            f"{self.reward_high:g}] on the device{public}: the guarantee needs no assumption on the data.",
            unit,
        )

    def default_noise_level(self) -> float:
        """A bounded reward is sub-Gaussian with half its range (Hoeffding)."""
        return (self.reward_high - self.reward_low) / 2
