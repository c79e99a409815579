"""What a policy works out before it sees anyone: its params, what they will cost, and for how long they last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.privacy.event import Event, ForkedEvent
from tacit.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Draws:
    """The most random numbers one call can need: what must lie on a tape before it."""

    choose_normals: int = 0
    choose_uniforms: int = 0
    learn_normals: int = 0
    learn_uniforms: int = 0
    first_normals: int = 0  #: the very first `learn` needs so many more
    first_uniforms: int = 0


@dataclass(frozen=True)
class Plan:
    """Everything that is fixed before the first person arrives. Nothing in it depends on data."""

    params: Any  #: the NamedTuple whose type the verbs dispatch on
    vault: Callable[[], Any]  #: makes an empty vault
    view: Callable[[], Any]  #: makes the view before any release
    report_size: int
    event: Event  #: what will be released, as a fact; the accountant prices it
    guarantee: Guarantee
    draws: Draws = Draws()
    limit: int | None = None  #: rounds served and rows learned at most; None: no end
    limit_hint: str = ""  #: what to do when the limit is reached
    noise_scale: float | None = None
    noise_scales: Mapping[str, float] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def event_for(self, copies: int) -> Event:
        """What is released when so many copies of the learner go on from one past."""
        return self.event if copies == 1 else ForkedEvent(self.event, copies)

    def guarantee_for(self, copies: int) -> Guarantee:
        """The guarantee of so many copies of the learner together, priced afresh."""
        if copies == 1 or not self.guarantee.private:
            return self.guarantee
        one = self.guarantee
        return Guarantee.priced(
            self.event_for(copies), trust=one.trust, protects=one.protects, unit=one.unit, delta=one.delta
        )
