"""What every policy's configuration can do: say what it promises, start a learner, travel as a dictionary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tacit._types import Floats
from tacit._validate import one_of, whole
from tacit.core.plan import Plan
from tacit.core.settings import SAMPLERS, Declared, Settings, drawn_by
from tacit.errors import BadInput, NoSecureSampler
from tacit.privacy.card import Card
from tacit.privacy.card.words import mechanism_names
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.promise import AnyPromise
from tacit.privacy.scope import Protects, Trust

if TYPE_CHECKING:
    from tacit.core.device import Device
    from tacit.core.learner import Learner
    from tacit.core.server import Server
    from tacit.core.shuffler import Shuffler


class Asked(Declared):
    """What other rooms ask of a policy. Most of it is an option of some policies and not of others, who are then as
    is said here; what has no default here is asked only of those who have the option."""

    dim: int  #: d, the length of an action: every policy has one, as an option or from its list
    arms: int | None = None  #: K, where the number of arms is an option
    shared: int | None = None  #: s: features that each of them has in every round, where that is an option
    person_rounds: int | None = None  #: rounds of a person that are protected together; None: the unit is the round
    one_row_per_segment: bool = False  #: whether a person's second row between two releases counts as zeros
    strict: bool = False  #: whether actions offered outside the bounds are refused; then there are bounds:
    action_norm: float
    preparation: Any  #: what contexts go through, with arms that share them
    reward_low: float
    reward_high: float
    views: int | None = None  #: how many can ever be released, where that is an option
    failure: float | None  #: probability that the widths are too small; None: not given


@dataclass(frozen=True, kw_only=True)
class Policy(Asked, Settings, ABC):
    """A policy's configuration: immutable, printable, serialisable. `start()` makes a live learner of it."""

    kind: ClassVar[str] = "policy"
    trust: ClassVar[Trust]
    protects: ClassVar[Protects]
    needs: ClassVar[str]
    by_arm: ClassVar[bool] = False  #: whether there is a model with a parameter per arm: `arms`
    list_option: ClassVar[str | None] = None  #: what holds the list of a policy with fixed actions; None: it has none

    @classmethod
    @abstractmethod
    def examples(cls, dim: int) -> tuple[Self, ...]:
        """One configuration per kind of params and per option that changes what is computed: what `tacit warm` compiles
        and what the laws of the test suite are held against."""

    @abstractmethod
    def plan(self, sampler: str = "double") -> Plan:
        """Work out the params and their price. Pure: two calls give the same plan.

        `sampler="secure"`: for noise that is drawn exactly, in whole numbers, with rounding in the price. A policy
        whose noise has no exact sampler makes the plan it has; `planned` refuses it then.
        """

    def planned(self, sampler: str = "secure") -> Plan:
        """`plan`, with exactly the sampler that was asked for: "secure" is refused where noise is in doubles."""
        if one_of("sampler", sampler, SAMPLERS) == "double":
            return self.plan("double")
        plan = self.plan("secure")
        if not plan.exact:
            raise NoSecureSampler(
                f"Expected a policy whose noise can be drawn exactly, got {self.slug}, which is for simulation only: "
                f"{'; '.join(mechanism_names([plan.event]))}. Give a seed to simulate it."
            )
        return plan

    def sampler(self) -> str:
        """How noise is drawn where people are protected; "double" where that can only be simulated, because no exact
        sampler is known, or because there is so little noise that no lattice is fine enough for it."""
        return self._live()[0]

    def _live(self) -> tuple[str, Plan]:
        """The sampler for people and its plan, worked out once."""
        try:
            plan = self.plan("secure")
        except BadInput:
            return "double", self.plan("double")  # if that is refused as well, then for another reason
        return ("secure", plan) if plan.exact else ("double", self.plan("double"))

    @property
    def calibrated(self) -> str:
        """How the noise was set, for the card."""
        return "none"

    @property
    def promise(self) -> AnyPromise | None:
        """What the user asked for; None for a policy without privacy."""
        return None

    @property
    def guarantee(self) -> Guarantee:
        """What this configuration truly gives."""
        return self._live()[1].guarantee

    @property
    def rows_may_come_late(self) -> bool:
        """Whether a row may be added to the sums when its reward comes, under a clock that counts decisions: shown for
        a policy in docs/decisions/0024-service.md. The others learn rows in the order of their decisions."""
        return False

    @property
    def fixed_actions(self) -> Floats | None:
        """The public list of actions, of shape (K, dim), of a policy that has the same ones in every round; None for a
        policy that is shown them. With a list a learner takes `choose()` and `learn(arm, reward)`."""
        return None

    @property
    def zero_row(self) -> Floats | None:
        """What is learned in place of a row that is refused, or whose reward never comes: zeros; None where actions
        are public: then the action, and a reward of zero."""
        public = self.fixed_actions is not None or self.protects is Protects.REWARDS
        return None if public else self.empty_row

    @property
    def arms_of_context(self) -> int | None:
        """K, where all arms share a context and have a parameter each; None: actions are vectors of their own."""
        return self.arms if self.by_arm else None

    @property
    def empty_row(self) -> Floats:
        """A row that adds nothing: zeros, and of an arm that there is not."""
        if self.arms_of_context is None:
            return np.zeros(self.dim)
        return np.concatenate([np.zeros(self.dim), [-1.0], np.zeros(self.shared or 0)])

    def taken(self, rows: Floats, arm: int) -> Floats:
        """What is learned of an arm that was taken from what was offered, as a copy."""
        if self.arms_of_context is None:
            action: Floats = rows[arm].copy()
            return action
        row = self.empty_row
        row[: self.dim], row[self.dim] = rows[0, : self.dim], float(arm)
        if self.shared is not None and arm < self.arms_of_context:
            first = self.dim + self.arms_of_context + arm * self.shared
            row[self.dim + 1 :] = rows[0, first : first + self.shared]
        return row

    def offered(self, actions: Floats) -> Self:
        """The same configuration for this list of actions, where it has none of its own yet."""
        return self

    def for_rounds(self, rounds: int) -> Self:
        """The same configuration for a run of so many rounds, whose number is known beforehand: itself, unless a policy
        has something to gain from knowing it and was not told. Simulations ask for it before the first round; asking
        twice changes nothing. Who serves people asks for it by hand, if at all.

        A policy that cannot be made without a horizon has one already: `tacit.simulation.configured` fills it in.
        """
        return self

    def start(
        self, *, seed: int | None = None, sampler: str | None = None, closes_after_decisions: int | None = None
    ) -> Learner:
        """A live learner. Noise is drawn exactly, in whole numbers, from the operating system's randomness.

        With `seed`, which is for simulation only, it can be recomputed by anyone who knows the seed, and the learner's
        guarantee says so. It is then in double precision, which is faster, unless `sampler="secure"`; doubles have last
        bits that tell what noise should hide, and there are none without a seed.

        `closes_after_decisions`: a decision without a reward expires when so many more are made. Where rows may not
        come late (`rows_may_come_late`) they are learned then, in the order of their decisions, and it is 1 unless
        told: a reward comes before the next decision. Elsewhere decisions stay open unless told.
        """
        from tacit.core.arms import learner_of

        seed, sampler = drawn_by(seed, sampler)
        after = closes_after_decisions
        after = None if after is None else whole("closes_after_decisions", after)
        return learner_of(self, seed=seed, sampler=sampler, closes_after=after)

    def contract(self) -> dict[str, Any]:
        """What a device is installed with, as JSON: bounds, noise, limit, guarantee, and the fingerprint that messages
        name it by. For policies whose people randomise their own reports; the others are refused. See docs/protocol.md.
        """
        from tacit.core.contract import contract_of

        return contract_of(self).to_dict()

    def device(self, *, limit: int | None = None, made: int = 0, seed: int | None = None) -> Device:
        """One person's own program. It makes at most `limit` reports (default: `person_rounds`, or one), of which it
        has `made` some before; its guarantee is for all of them. `seed` is for simulation only."""
        from tacit.core.arms import device_of

        return device_of(self, limit=limit, made=made, seed=seed)

    def server(self, *, memory: int = 100_000) -> Server:
        """The program that learns from reports and publishes views. It remembers the ids of the last `memory` reports,
        and refuses older ones: none counts twice."""
        from tacit.core.server import Server

        return Server(self, memory=memory)

    def shuffler(self, *, stage: int = 0) -> Shuffler:
        """The program that mixes batches of reports, for a policy that has them. `stage`: of the view whose batch comes
        first, where a server has been at work before (`server.stage`)."""
        from tacit.core.shuffler import Shuffler

        return Shuffler(self, stage=stage)

    def card(self, *, seeded: bool = False, copies: int = 1, sampler: str | None = None) -> Card:
        """What a privacy officer reads before signing. `copies`: learners that went on from one checkpoint. `sampler`:
        as the learner was started with (default: "double" if `seeded`, else what `start()` takes)."""
        if sampler is None and not seeded:
            sampler, plan = self._live()
        else:
            sampler = "double" if sampler is None else sampler
            plan = self.planned(sampler)
        guarantee = plan.guarantee_for(copies)
        notes = plan.notes
        if plan.event_for(copies) != plan.event:
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
            events=(plan.event_for(copies),),
            settings={**self.to_dict(), "sampler": sampler},
            assumptions=plan.assumptions,
            notes=notes,
        )
