"""A policy at work inside the service: a session, a published view, and noise that is drawn before it is needed.

It keeps no books: who decided what and which rewards have come is the store's. Nothing here is durable, and everything
here can be read again from the store at any time; whoever changes it writes it down in the same transaction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._types import Floats
from tacit.core import forks
from tacit.core.arms import offer
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.round import LEARNED, RELEASED, ROWS
from tacit.core.session import Session
from tacit.core.state import leaves
from tacit.errors import BadInput
from tacit.noise import Source, refill
from tacit.noise.source import NORMALS

#: So many numbers are drawn when they are needed, in 10 ms; more are drawn ahead.
_AT_ONCE = 20_000
#: Slates are kept for so many different numbers of actions.
_SLATES = 64


class Live:
    """The session of one deployment. `choose` reads `published`; `absorb`, `tick` and `learn` write `vault` and `view`,
    and what they released is published only when `publish` is called, after it is durable."""

    def __init__(self, config: Policy, plan: Plan, *, seed: int | None = None) -> None:
        self.config = config
        self.plan = plan
        self.dim = config.dim
        self.list = config.fixed_actions
        self.published = plan.view()
        self._session = Session(plan, self.dim, seed=seed, slates=_SLATES)
        self._ahead: Source | None = None  # drawn before it is needed, and never read before
        forks.watch(self)

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def vault(self) -> Any:
        """The exact sums. Secret."""
        return self._session.vault

    @property
    def view(self) -> Any:
        """What was released last, whether published yet or not."""
        return self._session.view

    @property
    def clock(self) -> int:
        """Ticks so far."""
        return int(self._session.vault.counters[ROWS])

    @property
    def stage(self) -> int:
        """Views released so far, whether published yet or not."""
        return int(self.view.stage[0])

    @property
    def spent(self) -> bool:
        """Whether every tick the noise was calibrated for has been made."""
        return self.plan.limit is not None and self.clock >= self.plan.limit

    def secret(self) -> dict[str, np.ndarray[Any, Any]]:
        """Every array of the vault by name; of a seeded deployment, its stream too."""
        return {name: leaf for part, arrays in self.parts().items() for name, leaf in leaves(part, arrays).items()}

    def public(self) -> dict[str, np.ndarray[Any, Any]]:
        """Every array of the view that was released last, by name."""
        return leaves("view", self.view)

    def parts(self) -> dict[str, Any]:
        """Where `secret` comes from: each part under the name its arrays begin with."""
        session = self._session
        return {"vault": session.vault, "noise": session.noise} if session.seeded else {"vault": session.vault}

    def publish(self) -> None:
        """From now on choices are made from what was released last. Call it when that is durable."""
        fresh = self.plan.view()  # whoever is reading the old one meanwhile keeps it whole
        for shown, made in zip(leaves("view", fresh).values(), leaves("view", self.view).values(), strict=True):
            shown[...] = made
        self.published = fresh

    # What may happen ----------------------------------------------------------------------------------------------

    def choose(self, rows: Floats) -> int:
        """The index of the action to take, from the published view."""
        if self._ahead is not None:
            self._lay_ahead(self.plan.draws.choose_normals)
        return self._session.choose(self.published, rows)

    def absorb(self, row: Floats, reward: float) -> None:
        """A row into the exact sums; the clock stays where it is, and nothing is drawn."""
        if self._session.absorb(row, reward) != LEARNED:
            raise BadInput("Expected finite numbers within 1e100 of zero, got others. Nothing was changed.")

    def tick(self) -> bool:
        """One tick of the clock of releases; True if a view was released."""
        if self.spent:
            return False
        self._lay_ahead(self.plan.draws.learn_normals)
        return self._session.tick() == RELEASED

    def learn(self, row: Floats, reward: float) -> bool:
        """A row and its tick together, in the order of decisions; True if a view was released."""
        if self.spent:
            return False
        self._lay_ahead(self.plan.draws.learn_normals)
        return self._session.learn(row, reward) == RELEASED

    # Noise --------------------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether a tick or a row need not wait for noise: little of it is drawn at once, much of it `draw_ahead`."""
        noise = self._session.noise
        return bool(
            self._session.seeded
            or len(noise.normals) <= _AT_ONCE
            or self._ahead is not None
            or noise.at[NORMALS] + self.plan.draws.learn_normals <= len(noise.normals)
        )

    def in_child(self) -> None:
        """After a fork: what was drawn ahead is the parent's."""
        self._ahead = None

    def draw_ahead(self) -> None:
        """Draw the next tape: in any thread, outside of transactions. Whoever lays it out takes it whole, once."""
        if self._ahead is None:
            fresh, noise = self._session.new_source(), self._session.noise
            refill(fresh, len(noise.normals), len(noise.uniforms), self.plan.law)
            self._ahead = fresh

    def _lay_ahead(self, normals: int) -> None:
        """What was drawn ahead onto the tape, if so many numbers cannot be read from it any more."""
        noise, ahead = self._session.noise, self._ahead
        if ahead is not None and noise.at[NORMALS] + normals > len(noise.normals):
            self._ahead = None
            self._session.read_from(ahead)

    # Machine code -------------------------------------------------------------------------------------------------

    def share_code(self, other: Live) -> None:
        """Use the machine code another one has found: it depends on types alone."""
        self._session.share_code(other._session)

    def warm(self) -> None:
        """Find or compile the machine code, on arrays of its own."""
        twin = Live(self.config, self.plan, seed=0)
        rows = np.zeros((2, self.dim)) if self.list is None else self.list
        if self.config.arms_of_context is not None:
            rows = offer(self.config, rows[0])
        row = self.config.taken(rows, 0)
        twin.choose(rows)
        twin.absorb(row, 0.0)
        twin.tick()
        twin.learn(row, 0.0)
        self.share_code(twin)
