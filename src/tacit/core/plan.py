"""What a policy works out before it sees anyone: its params, what they will cost, and for how long they last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tacit.privacy.event import Event, ForkedEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Trust

if TYPE_CHECKING:
    from tacit.noise import Law


@dataclass(frozen=True)
class Draws:
    """The most random numbers one call can need: what must lie on a tape before it."""

    choose_normals: int = 0
    choose_uniforms: int = 0
    learn_normals: int = 0
    learn_uniforms: int = 0


@dataclass(frozen=True)
class Reported:
    """What a device sends, where device and server are two programs: what another language must know to send the same.

    `kind`: "xy" (an action and a reward), "gram" (the upper triangle of x xᵀ row by row, then x·y) or "counts" (the
    same in whole grid steps, with ones added).
    """

    kind: str
    size: int  #: numbers in a report, as they are sent
    action_norm: float
    reward_low: float
    reward_high: float
    constants: tuple[float, ...] = ()  #: the last coordinates of every action: public, never noised
    noise: Mapping[str, float] = field(default_factory=dict)  #: the numbers that define the noise
    batch: int | None = None  #: reports a shuffler mixes at a time; None: no shuffler
    arms: Mapping[str, Any] | None = None  #: where arms share a context: how many, and what makes a row of it


@dataclass(frozen=True)
class Plan:
    """Everything that is fixed before the first person arrives. Nothing in it depends on data."""

    params: Any  #: the NamedTuple whose type the verbs dispatch on
    vault: Callable[[], Any]  #: makes an empty vault
    view: Callable[[], Any]  #: makes the view before any release
    report_size: int
    event: Event  #: what will be released, as a fact; the accountant prices it
    guarantee: Guarantee
    arms: int | None = None  #: where all arms share a context: how many there are
    slate: Callable[[int], Any] | None = None  #: makes room for what is offered; None: K actions, as columns
    draws: Draws = Draws()
    limit: int | None = None  #: rounds served and rows learned at most; None: no end
    limit_hint: str = ""  #: what to do when the limit is reached
    noise_scale: float | None = None
    noise_scales: Mapping[str, float] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    report: Reported | None = None  #: what a device sends; None: there is no device apart from the server
    device: Any = None  #: params of the program on the device, where they differ from `params`
    server: Any = None  #: params of the program on the server, where they differ from `params`
    law: Law | None = None  #: what noise is drawn from, exactly; None: there is none, or it is in double precision
    device_law: Law | None = None  #: the same on the device, where it differs

    @property
    def exact(self) -> bool:
        """Whether nothing that protects people is drawn in double precision. What `choose` draws is its own account."""
        return self.law is not None or not (self.draws.learn_normals or self.draws.learn_uniforms)

    def event_for(self, copies: int) -> Event:
        """What is released when so many copies of the learner go on from one past."""
        return ForkedEvent(self.event, copies) if self._forks_cost(copies) else self.event

    def guarantee_for(self, copies: int) -> Guarantee:
        """The guarantee of so many copies of the learner together, priced afresh."""
        one = self.guarantee
        if not one.private or not self._forks_cost(copies):
            return one
        return Guarantee.priced(
            self.event_for(copies), trust=one.trust, protects=one.protects, unit=one.unit, delta=one.delta
        )

    def _forks_cost(self, copies: int) -> bool:
        # A local report is noised before it leaves: copies of what has arrived reveal nothing more.
        return copies > 1 and self.guarantee.trust is not Trust.LOCAL
