"""What every policy's configuration can do: say what it promises, start a learner, travel as a dictionary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from tacit._validate import whole
from tacit.core.plan import Plan
from tacit.core.settings import Settings
from tacit.privacy.calibrate import Promise
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

if TYPE_CHECKING:
    from tacit.core.learner import Learner


@dataclass(frozen=True, kw_only=True)
class Policy(Settings, ABC):
    """A policy's configuration: immutable, printable, serialisable. `start()` makes a live learner of it."""

    kind: ClassVar[str] = "policy"
    trust: ClassVar[Trust]
    protects: ClassVar[Protects]
    needs: ClassVar[str]

    @classmethod
    @abstractmethod
    def examples(cls, dim: int) -> tuple[Self, ...]:
        """One configuration per kind of params and per option that changes what is computed: what `tacit warm` compiles
        and what the laws of the test suite are held against."""

    @abstractmethod
    def plan(self) -> Plan:
        """Work out the params and their price. Pure: two calls give the same plan."""

    @property
    def calibrated(self) -> str:
        """How the noise was set, for the card."""
        return "none"

    @property
    def promise(self) -> Promise | None:
        """What the user asked for; None for a policy without privacy."""
        return None

    @property
    def guarantee(self) -> Guarantee:
        """What this configuration truly gives."""
        return self.plan().guarantee

    def start(self, *, seed: int | None = None) -> Learner:
        """A live learner. Noise comes from the operating system; with `seed`, which is for simulation only, it can be
        recomputed by anyone who knows the seed, and the learner's guarantee says so."""
        from tacit.core.learner import Learner

        return Learner(self, seed=None if seed is None else whole("seed", seed, low=0))

    def card(self, *, seeded: bool = False, copies: int = 1) -> Card:
        """What a privacy officer reads before signing. `copies`: learners that went on from one checkpoint."""
        plan = self.plan()
        guarantee = plan.guarantee_for(copies)
        notes = plan.notes
        if copies > 1:
            notes += (
                f"Resumed as a fork: {copies} copies of this learner have gone on from one past as far as this one "
                "knows, and are priced together here. Copies made from other files come on top.",
            )
        return Card(
            policy=self.slug,
            calibration=self.calibrated,
            guarantee=guarantee.with_seed() if seeded else guarantee,
            claimed=self.promise,
            noise_scale=plan.noise_scale,
            noise_scales=plan.noise_scales,
            events=(plan.event_for(copies).describe(),),
            assumptions=plan.assumptions,
            notes=notes,
        )
