"""A policy at work inside the service: vault, view and noise as arrays, and the four things that may happen to them.

It keeps no books: who decided what and which rewards have come is the store's. Nothing here is durable, and everything
here can be read again from the store at any time; whoever changes it writes it down in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from tacit._kernel import entry
from tacit._types import Floats
from tacit.core.inputs import not_finite
from tacit.core.learner import POLICY, tape_room
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.round import (
    LEARNED,
    RELEASED,
    ROWS,
    absorb_checked,
    choose_checked,
    learn_checked,
    tick_checked,
)
from tacit.core.slate import Slate, slate
from tacit.core.state import leaves
from tacit.errors import BadInput
from tacit.noise import Source, discrete_gaussians, refill, stream, tape
from tacit.noise.source import NORMALS
from tacit.noise.tape import secure_normals, secure_uniforms

#: A tape is laid out for at least so many numbers at a time.
_TAPE = 256
#: So many numbers are drawn when they are needed (14 ms of secure noise); more are drawn ahead.
_AT_ONCE = 1000
#: Slates are kept for so many different numbers of actions.
_SLATES = 64


class Live:
    """The arrays of one deployment. `choose` reads `published`; `absorb`, `tick` and `learn` write `vault` and `view`,
    and what they released is published only when `publish` is called, after it is durable."""

    def __init__(self, config: Policy, plan: Plan, *, seed: int | None = None) -> None:
        self.config = config
        self.plan = plan
        self.dim: int = config.dim  # type: ignore[attr-defined]
        self.vault = plan.vault()
        self.view = plan.view()
        self.published = plan.view()
        self.list = config.fixed_actions
        self._report = np.zeros(plan.report_size)
        self._seed = seed
        self._noise = self._source()
        self._ahead: tuple[Floats, Floats] | None = None  # drawn before it is needed, and never read before
        self._slates: dict[int, Slate] = {}
        self._choose: Callable[..., int] | None = None  # machine code, found on first use
        self._absorb: Callable[..., int] | None = None
        self._tick: Callable[..., int] | None = None
        self._learn: Callable[..., int] | None = None

    def _source(self) -> Source:
        draws = self.plan.draws
        if self._seed is not None:
            return stream(self._seed, 0, POLICY)
        return tape(
            tape_room(max(draws.choose_normals, draws.learn_normals + draws.first_normals)),
            max(_TAPE, draws.choose_uniforms, draws.learn_uniforms + draws.first_uniforms),
        )

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> int:
        """Ticks so far."""
        return int(self.vault.counters[ROWS])

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
        return {"vault": self.vault} if self._seed is None else {"vault": self.vault, "noise": self._noise}

    def publish(self) -> None:
        """From now on choices are made from what was released last. Call it when that is durable."""
        fresh = self.plan.view()  # whoever is reading the old one meanwhile keeps it whole
        for shown, made in zip(leaves("view", fresh).values(), leaves("view", self.view).values(), strict=True):
            shown[...] = made
        self.published = fresh

    # What may happen ----------------------------------------------------------------------------------------------

    def choose(self, rows: Floats) -> int:
        """The index of the action to take, from the published view."""
        room = self._slates.get(rows.shape[0])
        if room is None:
            if len(self._slates) >= _SLATES:
                self._slates.clear()
            room = self._slates[rows.shape[0]] = slate(self.dim, rows.shape[0])
        draws = self.plan.draws
        if self._seed is None and (draws.choose_normals or draws.choose_uniforms):
            self._refill(draws.choose_normals, draws.choose_uniforms)
        arguments = (self.plan.params, self.published, rows, room, self._noise)
        if self._choose is None:
            self._choose = entry(choose_checked, *arguments)
        arm = self._choose(*arguments)
        if arm < 0:
            raise not_finite("actions", rows)
        return arm

    def absorb(self, row: Floats, reward: float) -> None:
        """A row into the exact sums; the clock stays where it is, and nothing is drawn."""
        arguments = (self.plan.params, self.vault, self.view, row, reward, self._report, self._noise)
        if self._absorb is None:
            self._absorb = entry(absorb_checked, *arguments)
        if self._absorb(*arguments) != LEARNED:
            raise BadInput("Expected finite numbers within 1e100 of zero, got others. Nothing was changed.")

    def tick(self) -> bool:
        """One tick of the clock of releases; True if a view was released."""
        if self.spent:
            return False
        if self._seed is None:
            self._lay_out()
        arguments = (self.plan.params, self.vault, self.view, self._noise)
        if self._tick is None:
            self._tick = entry(tick_checked, *arguments)
        return self._tick(*arguments) == RELEASED

    def learn(self, row: Floats, reward: float) -> bool:
        """A row and its tick together, in the order of decisions; True if a view was released."""
        if self.spent:
            return False
        if self._seed is None:
            self._lay_out()
        arguments = (self.plan.params, self.vault, self.view, row, reward, self._report, self._noise)
        if self._learn is None:
            self._learn = entry(learn_checked, *arguments)
        return self._learn(*arguments) == RELEASED

    @cached_property
    def _draw(self) -> Callable[[int], Floats] | None:
        """What lays normals on the tape: whole numbers, or None for double precision. Found on first use: the sampler
        takes a second to load, which the first decision need not wait for."""
        scale = self.plan.lattice_scale
        return None if scale is None or self._seed is not None else discrete_gaussians(scale)

    def warm_noise(self) -> None:
        """Load the sampler."""
        _ = self._draw

    @property
    def loaded(self) -> bool:
        """Whether the sampler is there, or none is needed."""
        return self.plan.lattice_scale is None or self._seed is not None or "_draw" in self.__dict__

    @property
    def ready(self) -> bool:
        """Whether a tick or a row need not wait for noise: little of it is drawn at once, much of it `draw_ahead`."""
        return (
            self._seed is not None
            or (len(self._noise.normals) <= _AT_ONCE and self.loaded)
            or self._ahead is not None
            or self._noise.at[NORMALS] + self._normals <= len(self._noise.normals)
        )

    def draw_ahead(self) -> None:
        """Draw the next tape: in any thread, outside of transactions. Whoever lays it out takes it whole, once."""
        if self._ahead is None:
            draw = self._draw or secure_normals
            self._ahead = draw(len(self._noise.normals)), secure_uniforms(len(self._noise.uniforms))

    @property
    def _normals(self) -> int:
        return self.plan.draws.learn_normals + self.plan.draws.first_normals

    def _lay_out(self) -> None:
        self._refill(self._normals, self.plan.draws.learn_uniforms + self.plan.draws.first_uniforms)

    def _refill(self, normals: int, uniforms: int) -> None:
        """Make sure that so many numbers can be read: what was drawn ahead first."""
        noise, ahead = self._noise, self._ahead
        if ahead is not None and noise.at[NORMALS] + normals > len(noise.normals):
            self._ahead = None
            noise.normals[:], noise.uniforms[:] = ahead
            noise.at[:] = 0
        refill(noise, normals, uniforms, self._draw if normals else None)

    def share_code(self, other: Live) -> None:
        """Use the machine code another one has found: it depends on types alone."""
        self._choose, self._absorb, self._tick, self._learn = other._choose, other._absorb, other._tick, other._learn

    def warm(self) -> None:
        """Find or compile the machine code, on arrays of its own."""
        twin = Live(self.config, self.plan, seed=0)
        rows = np.zeros((2, self.dim)) if self.list is None else self.list
        twin.choose(rows)
        twin.absorb(rows[0].copy(), 0.0)
        twin.tick()
        twin.learn(rows[0].copy(), 0.0)
        self.share_code(twin)
