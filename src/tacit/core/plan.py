"""What a policy works out before it sees anyone: its params, what they will cost, and for how long they last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.privacy.event import Event
from tacit.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Draws:
    """The most random numbers one call can need: what must lie on a tape before it."""

    choose_normals: int = 0
    choose_uniforms: int = 0
    learn_normals: int = 0


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
