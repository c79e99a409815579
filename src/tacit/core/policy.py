"""What every policy's configuration can do: say what it promises, start a learner, travel as a dictionary."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit._validate import known, whole
from tacit.core.plan import Plan
from tacit.privacy.calibrate import Promise
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

if TYPE_CHECKING:
    from tacit.core.learner import Learner

#: Failure probability α of the confidence sets where no horizon suggests one.
DEFAULT_FAILURE = 0.001


def option(text: str, default: Any = dataclasses.MISSING) -> Any:
    """A field of a configuration, with the sentence that documents it on the command line."""
    return dataclasses.field(default=default, metadata={"help": text})


@dataclass(frozen=True, kw_only=True)
class Policy(ABC):
    """A policy's configuration: immutable, printable, serialisable. `start()` makes a live learner of it."""

    slug: ClassVar[str]
    summary: ClassVar[str]
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

    def card(self, *, seeded: bool = False) -> Card:
        """What a privacy officer reads before signing."""
        plan = self.plan()
        return Card(
            policy=self.slug,
            calibration=self.calibrated,
            guarantee=plan.guarantee.with_seed() if seeded else plan.guarantee,
            claimed=self.promise,
            noise_scale=plan.noise_scale,
            noise_scales=plan.noise_scales,
            events=(plan.event.describe(),),
            assumptions=plan.assumptions,
            notes=plan.notes,
        )

    def to_dict(self) -> dict[str, Any]:
        """The settings under their own names, with the policy's slug: ready for JSON, and for `from_dict`."""
        return {"policy": self.slug, **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)}}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """The configuration that `to_dict` described. Unknown settings are refused by name."""
        names = [field.name for field in dataclasses.fields(cls)]
        given = {name: value for name, value in settings.items() if name != "policy"}
        for name in given:
            known(f"option of {cls.slug}", name, names, see=f"`tacit policies {cls.slug}` lists them.")
        return cls(**given)
