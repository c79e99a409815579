"""The program in a person's own hands: it chooses from the published view, and noises its reports before they leave."""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import replace
from threading import Lock
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import any_datum, whole
from tacit.core import forks
from tacit.core.contract import contract_of
from tacit.core.inputs import as_floats, as_row
from tacit.core.policy import Policy
from tacit.core.round import LARGEST, first_unfit
from tacit.core.session import Session
from tacit.errors import BadInput, LimitReached, Moved, VaultSealed
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee


class Device:
    """One person's side of a policy: `see` a view, `choose` an arm, `report` what it earned.

    What leaves the device is the report, and nothing else that depends on the person. The bounds and the noise are
    those it was installed with (`contract`): a view cannot change them.

    A device makes at most `limit` reports, and its guarantee is for all of them together. It counts them itself, and
    the count must outlive the program: keep `made`, and give it back as `config.device(made=…)`.

    Made by `config.device()`. Safe to call from several threads. It cannot be pickled or copied: each copy would count
    from where it stands.
    """

    def __init__(self, config: Policy, *, limit: int | None, made: int, seed: int | None) -> None:
        self._contract = contract = contract_of(config)
        plan = contract.plan
        law = plan.device_law or plan.law
        self._limit = contract.limit if limit is None else whole("limit", limit)
        self._made = whole("made", made, low=0)
        self._seed = None if seed is None else whole("seed", seed, low=0)
        # Its view is the one seen last; before anybody came, public like the plan. With a seed it has the stream that a
        # learner of this seed has: device and server apart then give its bits.
        self._session = Session(
            replace(plan, law=law),
            contract.dim,
            seed=self._seed,
            params=plan.device,
            vault=False,
            report_size=max(plan.report_size, contract.report.size),
            slates=1,
        )
        self._acted: Any = None  # the view that chose last
        self._stage = 0
        self._forked = False
        self._lock = Lock()
        if seed is None:
            forks.watch(self)

    @property
    def contract(self) -> dict[str, Any]:
        """What this device was installed with, and no message can change."""
        return self._contract.to_dict()

    @property
    def limit(self) -> int:
        """How many reports it makes at most."""
        return self._limit

    @property
    def made(self) -> int:
        """How many reports it has made. Keep it on the device, for `config.device(made=…)` after a restart."""
        return self._made

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to the person who holds this device, for all its reports together."""
        guarantee = self._contract.guarantee(self._limit)
        return guarantee if self._seed is None else guarantee.with_seed()

    def card(self) -> Card:
        """The privacy card of this device: its guarantee next to what the configuration claims."""
        card = self._contract.config.card()
        return replace(card, guarantee=self.guarantee, events=(self._contract.event(self._limit),))

    def see(self, view: dict[str, Any] | str | bytes) -> None:
        """Go on with this view, as the server wrote it. Whatever is wrong with it, the device keeps the one it has."""
        stage, found = self._contract.read_view(view)
        with self._lock:
            self._stage, self._session.view = stage, found

    def choose(self, actions: ArrayLike) -> int:
        """The index of the action to take, of `actions` of shape (K, dim). It stays on the device."""
        rows = as_floats("actions", actions)
        dim = self._contract.dim
        if rows.ndim != 2 or rows.shape[1] != dim or not len(rows):
            raise BadInput(f"Expected actions of shape (K, {dim}), K >= 1, got {rows.shape}.")
        return self._pick(rows)

    def _pick(self, rows: Floats) -> int:
        """Choose from what is offered."""
        session = self._session
        with self._lock:
            view = session.view
            arm = session.choose(view, rows)
            self._acted = view
        return arm

    def report(self, x: ArrayLike, reward: float) -> dict[str, Any]:
        """The message that says, under noise, that the action `x` of shape (dim,) earned `reward`.

        It is made under the view that chose last, and names the stage of the one seen last. Send it as often as the
        network needs: the server takes it once. A second call is a second report, with noise of its own and a price of
        its own.

        Numbers that are not finite, or beyond 1e100, make a report of a row of zeros, as in `Learner.learn`: how many
        reports there are must not depend on what is in them.

        Raises `LimitReached` when all reports are made; `choose` goes on.
        """
        return self._write(as_row(x, self._contract.dim), any_datum("reward", reward))

    def _write(self, row: Floats, reward: float) -> dict[str, Any]:
        """The report of a row that is ours alone."""
        config = self._contract.config
        if first_unfit(row) >= 0:
            row, reward = config.empty_row, 0.0
        elif not abs(reward) <= LARGEST:
            row, reward = row if config.zero_row is None else config.empty_row, 0.0
        with self._lock:
            if self._forked:
                raise Moved(
                    "This device was made before its process forked, and its copy here would make the same number of "
                    "reports once more, uncounted. Make one after the fork, with config.device(made=…)."
                )
            if self._made >= self._limit:
                raise LimitReached(
                    f"Expected at most {self._limit:,} reports of this device, which are made; its guarantee is priced "
                    "for no more. Go on choosing, or configure a larger limit and accept its price."
                )
            session = self._session
            view = session.view if self._acted is None else self._acted
            session.prepare_encode(view, row, reward)
            # Counted first: an interrupt in between leaves a report unsent, and never one uncounted.
            self._made += 1
            session.encode(view, row, reward)
            values = session.report[: self._contract.report.size].tolist()
            if not all(map(math.isfinite, values)):
                self._made -= 1
                raise BadInput(
                    "Expected a view under which reports are finite, got one under which this one is not. Nothing "
                    "leaves the device; see another view."
                )
            return self._contract.report_message(self._identity(), self._stage, self._sent(values))

    def in_child(self) -> None:
        """After a fork: reports are made and counted in the parent; choosing goes on."""
        self._lock = Lock()  # another thread of the parent may have held it
        self._forked = True

    def _identity(self) -> str:
        """128 bits that say nothing, and tell a report from a repeat."""
        if self._seed is None:
            return secrets.token_hex(16)
        return hashlib.blake2b(f"{self._seed} {self._made}".encode(), digest_size=16).hexdigest()

    def _sent(self, values: list[float]) -> list[float] | list[int]:
        if not self._contract.whole:
            return values
        counts = [round(value) for value in values]
        if counts != values:
            raise RuntimeError(f"The encode of {self._contract.config.slug} wrote counts that are not whole numbers.")
        return counts

    def __repr__(self) -> str:
        return f"<Device of {self._contract.config!r}: at most {self._limit:,} reports>"

    def __reduce__(self) -> NoReturn:
        raise VaultSealed(
            "A device cannot be pickled or copied: a copy would make the same reports over again, uncounted. Keep its "
            "`made`, and make a new one with config.device(made=…)."
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()
