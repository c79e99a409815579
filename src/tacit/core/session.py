"""The state of a policy at work: params, vault, view, report, noise, and the machine code that may touch them.

A learner, a device, a server and a deployment of the service each have one session. They differ in the books they keep,
in who may call what and when; what a call does to the arrays is written here once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tacit._kernel import entry
from tacit._types import Floats, Ints
from tacit.core import forks
from tacit.core.inputs import not_finite
from tacit.core.plan import Plan
from tacit.core.round import (
    absorb_checked,
    choose_block,
    choose_checked,
    encode_checked,
    learn_checked,
    take,
    tick_checked,
)
from tacit.core.slate import slate
from tacit.errors import VaultSealed
from tacit.noise import Source, is_seeded, is_tape, refill, stream, tape

#: Which stream of a trial is which: `stream(seed, trial, purpose)`.
ENVIRONMENT, POLICY, FORK = 0, 1, 2

#: A tape is laid out for about so many numbers at a time.
_TAPE = 256


class Session:
    """Arrays, a source of noise, and what may happen to them. It keeps no books and takes no locks: its owner does.

    `choose` and `encode` are told the view they read, and are never shown the vault; `absorb`, `tick`, `learn` and
    `take` write it, and only a release connects the two.

    Noise comes from a tape of its own, which is laid out with numbers of `plan.law`, drawn exactly, and read once; or
    from `source`. With `seed`, for simulation, the tape can be recomputed; and a plan without a law, whose noise is in
    double precision, has the stream of that seed, and no tape. What is laid on a tape follows from `plan.draws`. The
    parts of a session that an owner has no use for are left out: a device has no vault, and a server no report.

    It cannot be pickled or copied: a second copy would release the same sums under the same noise.
    """

    def __init__(
        self,
        plan: Plan,
        dim: int,
        *,
        seed: int | None = None,
        source: Source | None = None,
        params: Any = None,
        vault: bool = True,
        report_size: int | None = None,
        slates: int = 16,
    ) -> None:
        self.params = plan.params if params is None else params
        self.vault: Any = plan.vault() if vault else None
        self.view: Any = plan.view()
        self.report: Floats = np.zeros(plan.report_size if report_size is None else report_size)
        draws = plan.draws
        self._choice = draws.choose_normals, draws.choose_uniforms  # numbers that a choice can need
        self._row = draws.learn_normals, draws.learn_uniforms  # that a row can need
        self._law = plan.law
        self._new_slate = plan.slate or (lambda arms: slate(dim, arms))
        self._slates: dict[int, Any] = {}
        self._most_slates = slates
        self._choose: Callable[..., int] | None = None  # machine code, found on first use
        self._choose_block: Callable[..., None] | None = None
        self._learn: Callable[..., int] | None = None
        self._absorb: Callable[..., int] | None = None
        self._tick: Callable[..., int] | None = None
        self._encode: Callable[..., bool] | None = None
        self._take: Callable[..., None] | None = None
        if source is None:
            source = self.new_source() if seed is None else self.new_source(seed, 0, POLICY)
        self.read_from(source)
        forks.watch(self)

    # Noise ------------------------------------------------------------------------------------------------------

    def read_from(self, source: Source) -> None:
        """From now on noise comes from here. What a source is shows in what it holds: only a tape is ever refilled."""
        self.noise, self.seeded = source, is_seeded(source)
        # A call that draws nothing need not look at the tape.
        self._lays_choices = is_tape(source) and any(self._choice)
        self._lays_rows = is_tape(source) and any(self._row)

    def read_anew(self, *path: int) -> None:
        """From now on noise comes from another stretch of a seed's numbers: a copy must not share them."""
        self.read_from(self.new_source(*path))

    def in_child(self) -> None:
        """After a fork: the numbers on the tape are the parent's. They are wiped, and a tape of its own is laid out."""
        if self.seeded or not (len(self.noise.normals) or len(self.noise.uniforms)):
            return  # a server's tape is empty, and stays so
        self.noise.normals.fill(np.nan)
        self.noise.uniforms.fill(np.nan)
        self.read_from(self.new_source())

    def new_source(self, *path: int) -> Source:
        """A source of its own: of the operating system's randomness, or of a seed and a path from there."""
        if path and self._law is None:
            return stream(*path)
        normals, uniforms = (max(one, other) for one, other in zip(self._choice, self._row, strict=True))
        return tape(_tape_room(normals), max(_TAPE, uniforms), *path)

    # What may happen --------------------------------------------------------------------------------------------

    def choose(self, view: Any, rows: Floats) -> int:
        """The index of the action to take, of `rows`, by this view. Refused, with nothing drawn, if any number is not
        finite."""
        room = self._slates.get(rows.shape[0])
        if room is None:
            room = self.slate(rows.shape[0])
        if self._lays_choices:
            normals, uniforms = self._choice
            refill(self.noise, normals, uniforms, self._law)
        arguments = (self.params, view, rows, room, self.noise)
        if self._choose is None:
            self._choose = entry(choose_checked, *arguments)
        arm = self._choose(*arguments)
        if arm < 0:
            raise not_finite("actions", rows)
        return arm

    def choose_block(self, view: Any, block: Floats, arms: Ints) -> None:
        """Into `arms` the choice from each set of actions in `block` of shape (N, K, dim), whose numbers have been
        checked: what N calls of `choose` would give."""
        room, (normals, uniforms) = self.slate(block.shape[1]), self._choice
        for start, stop in self._portions(len(block)):
            if self._lays_choices:
                refill(self.noise, (stop - start) * normals, (stop - start) * uniforms, self._law)
            arguments = (self.params, view, block[start:stop], room, self.noise, arms[start:stop])
            if self._choose_block is None:
                self._choose_block = entry(choose_block, *arguments)
            self._choose_block(*arguments)

    def learn(self, row: Floats, reward: float) -> int:
        """A row and its tick together: REFUSED, with nothing changed, if any number is not finite; LEARNED; or
        RELEASED, if a view came of it."""
        if self._lays_rows:
            normals, uniforms = self._row
            refill(self.noise, normals, uniforms, self._law)
        arguments = (self.params, self.vault, self.view, row, reward, self.report, self.noise)
        if self._learn is None:
            self._learn = entry(learn_checked, *arguments)
        return self._learn(*arguments)

    def absorb(self, row: Floats, reward: float) -> int:
        """A row into the exact sums; the clock stays where it is, and nothing is drawn. REFUSED or LEARNED."""
        arguments = (self.params, self.vault, self.view, row, reward, self.report, self.noise)
        if self._absorb is None:
            self._absorb = entry(absorb_checked, *arguments)
        return self._absorb(*arguments)

    def tick(self) -> int:
        """One tick of the clock of releases: LEARNED, or RELEASED if a view came of it."""
        if self._lays_rows:
            normals, uniforms = self._row
            refill(self.noise, normals, uniforms, self._law)
        arguments = (self.params, self.vault, self.view, self.noise)
        if self._tick is None:
            self._tick = entry(tick_checked, *arguments)
        return self._tick(*arguments)

    def prepare_encode(self, view: Any, row: Floats, reward: float) -> None:
        """What takes long in `encode`, or can fail. An owner that counts reports counts between the two."""
        if self._lays_rows:
            normals, uniforms = self._row
            refill(self.noise, normals, uniforms, self._law)
        if self._encode is None:
            self._encode = entry(encode_checked, self.params, view, row, reward, self.report, self.noise)

    def encode(self, view: Any, row: Floats, reward: float) -> bool:
        """Write `report`, under noise that `prepare_encode` has laid out. False, with nothing drawn or written, if any
        number is not finite."""
        assert self._encode is not None
        return self._encode(self.params, view, row, reward, self.report, self.noise)

    def take(self, report: Floats) -> None:
        """A report that comes already noised: summed, and released if its time has come. Nothing is laid out for it."""
        arguments = (self.params, self.vault, self.view, report, self.noise)
        if self._take is None:
            self._take = entry(take, *arguments)
        self._take(*arguments)

    # Room to work in --------------------------------------------------------------------------------------------

    def slate(self, arms: int) -> Any:
        """The slate for so many actions."""
        room = self._slates.get(arms)
        if room is None:
            # One slate per number of actions, but not without bound.
            if len(self._slates) >= self._most_slates:
                self._slates.clear()
            room = self._slates[arms] = self._new_slate(arms)
        return room

    def share_code(self, other: Session) -> None:
        """Use the machine code another one has found: it depends on types alone."""
        self._choose, self._choose_block, self._learn = other._choose, other._choose_block, other._learn
        self._absorb, self._tick = other._absorb, other._tick
        self._encode, self._take = other._encode, other._take

    def _portions(self, count: int) -> list[tuple[int, int]]:
        """Stretches of rounds whose noise fits the tape: it does not grow with the number of rounds asked for."""
        size = max(count, 1)
        if self._lays_choices:
            for laid, each in zip((self.noise.normals, self.noise.uniforms), self._choice, strict=True):
                if each > 0:
                    size = min(size, len(laid) // each)
        return [(start, min(start + size, count)) for start in range(0, count, size)]

    def __reduce__(self) -> NoReturn:
        raise VaultSealed(
            "A session cannot be pickled or copied: a copy would release the same sums under the same noise."
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()

    def __copy__(self) -> NoReturn:
        self.__reduce__()


def _tape_room(normals: int) -> int:
    """So many whole calls that nothing is left over to be thrown away."""
    return normals * max(1, _TAPE // normals) if normals else 0
