"""A deployment that learns from rows: its arrays in memory, its books in the store, and the clock of its releases.

Every method that changes anything runs inside a transaction, checks everything before it writes, and leaves what it
changed in memory to be written by `save` in the same transaction. If that transaction fails, `load` reads everything
again. What is asked of it: `deciding.py`. The clock: docs/decisions/0024-service.md.
"""

from __future__ import annotations

import hashlib
import json
from itertools import takewhile
from typing import Any

import numpy as np

from tacit._types import Floats
from tacit.core.state import fill
from tacit.errors import DeploymentFailed, StoreRefused
from tacit.service import chain
from tacit.service.live import Live
from tacit.service.sealing import Sealer, Secret
from tacit.service.standing import UNSEEN_RESTORE, Standing
from tacit.service.store import Deployment, Pending, Store

#: So many decisions are closed, or rewards absorbed, in one transaction.
PORTION = 500

#: Seconds that clocks may be apart.
CLOCKS = 60.0


class CommitFirst(Exception):
    """A view was released in this transaction: it must be durable before the next choice is made from it."""


class NoiseFirst(Exception):
    """A release is due, and its noise is still to be drawn: so much that nobody else should wait for it."""


class Learning(Standing):
    """A deployment with a vault, a view and a clock; rows come from decisions that close."""

    def __init__(self, store: Store, row: Deployment, sealer: Sealer, *, shared: bool) -> None:
        super().__init__(store, row, sealer, shared=shared)
        self.people = self.config.person_rounds
        self._one_per_segment = self.config.one_row_per_segment
        self.live = Live(self.config, self.plan, seed=self.asked.seed)
        self._nothing = self.config.zero_row
        self._saved: dict[str, bytes] = {}  # leaves as they are in the store
        self.waits = False  #: for noise that is to be drawn ahead
        self._released = False
        self._next: tuple[int, float] | None = None  # version and time of a view that is not durable yet
        self._dirty = not self.version  # nothing is stored yet
        self._new: list[tuple[str, int, float, bytes, bytes | None]] = []
        self._text = (-1, "")  # the view as JSON, and its version
        self._come = True  # there may be rows that have come and are not in the sums yet

    # Reading and writing ------------------------------------------------------------------------------------------

    def read(self) -> None:
        row = self.store.deployment(self.uid)
        if row is None:
            raise StoreRefused(f"Expected the deployment {self.name} in the store, got none: it was deleted.")
        live = Live(self.config, self.plan, seed=self.asked.seed)
        live.share_code(self.live)
        self._saved = {
            name: self.sealer.open(name.encode(), data) for name, data in self.store.leaves(self.uid).items()
        }
        for part, target in live.parts().items():
            fill(
                part,
                target,
                {
                    name: _array(live.secret()[name], data)
                    for name, data in self._saved.items()
                    if name.startswith(part)
                },
            )
        shown = self._read_view(live)
        self.live = live  # only now: somebody may be reading the view meanwhile
        self.version, self.released_at = shown
        self.state, self.made, self.copies = row.state, row.made, row.copies
        self.settle(row.settings)
        self.secret = Secret.read(self.secret.root, row.starts)
        self._new, self._dirty, self._released, self._next, self._come = [], False, False, None, True

    def load_view(self) -> None:
        """The published view anew from the store."""
        self.version, self.released_at = self._read_view(self.live)

    def _read_view(self, live: Live) -> tuple[int, float]:
        found = self.store.view(self.uid)
        if found is None:
            return self.version, self.released_at
        version, released_at, sealed = found
        data, at = self.sealer.open(b"view", sealed), 0
        for leaf in live.public().values():
            leaf[...] = np.frombuffer(data, leaf.dtype, leaf.size, at).reshape(leaf.shape)
            at += leaf.nbytes
        live.publish()
        return version, released_at

    def flush(self) -> None:
        """Write the decisions that have been collected, and how many there are: works before this one did that."""
        if self._new:
            changes = self.store.db.changes
            self.store.add_pending(self._new)
            self._new = []
            if not self.shared:
                self.store.set_made(self.uid, self.made)
            self.store.db.recount(changes)

    def save(self, now: float) -> None:
        """Write what has changed: decisions, counts, sums, and with a release its view and its entry in the ledger."""
        self.flush()
        if not self._dirty:
            return
        changed = []
        for name, leaf in self.live.secret().items():
            data = leaf.tobytes()
            if self._saved.get(name) != data:
                changed.append((name, self.sealer.seal(name.encode(), data)))
                self._saved[name] = data
        if changed:
            self.store.set_leaves(self.uid, changed)
        if self._released or not self.version:
            data = b"".join(leaf.tobytes() for leaf in self.live.public().values())
            self._next = (self.version + 1, now)
            if self._released:
                facts = {"release": self.live.stage, "clock": self.live.clock, "view": hashlib.sha256(data).hexdigest()}
                chain.append(self.store, self.uid, "release", facts, now)
            # Sealed too: of policies without privacy, or with public contexts, it holds exact numbers.
            self.store.set_view(self.uid, self.version + 1, now, self.sealer.seal(b"view", data))
        self._dirty = False

    def warm(self) -> None:
        self.live.warm()

    def committed(self) -> None:
        """What was written is durable: from now on it may be read."""
        if self._next is not None:
            self.live.publish()
            self.version, self.released_at = self._next
            self._next = None
        self._released = False

    @property
    def touched(self) -> bool:
        """Whether there is something to save."""
        return self._dirty or bool(self._new)

    # The clock ----------------------------------------------------------------------------------------------------

    def _advance(self, now: float) -> None:
        """Bring the clock up to the last decision; whatever it releases must be durable before anything is chosen."""
        if not self.in_order and self.catch_up(self.made):
            raise CommitFirst
        if self.in_order or self.asked.closes_after_decisions is not None:
            self.close_due(now, coming=1)
        if self._released:
            raise CommitFirst
        if self.waits:
            raise NoiseFirst

    def catch_up(self, ticks: int) -> bool:
        """In order of arrival: make the first `ticks` ticks, up to the next release, each after the rows that came
        before it. True if that was not all.

        A row that came when n decisions had been made is absorbed before the n-th tick and after the one before it,
        whoever absorbs it, whenever, and in whichever company: otherwise one reward more could move the rows of others.
        """
        live, rows = self.live, 0
        while True:
            if self.shared or self._come:
                rows += self._absorb_come()
                if self._come or rows >= PORTION:
                    return True
            waiting = self.store.first_came(self.uid) if self.shared else None
            due = ticks if waiting is None else min(ticks, waiting - 1)
            while live.clock < due and not live.spent and not self._released:
                if not live.ready:
                    self.waits = True
                    return False
                self._released = live.tick()
                self._dirty = True
            if self._released or live.spent or live.clock >= ticks:
                return waiting is not None or (live.clock < ticks and not live.spent)

    def _absorb_come(self) -> int:
        """Absorb rows that have come, those that belong before the next tick; how many there were."""
        spent = self.live.spent
        found = self.store.come(self.uid, None if spent else self.live.clock + 1, PORTION)
        self._come = len(found) == PORTION  # there may be more
        rows = [(self._row(one), self._reward(one), one.person) for one in found]
        for row, value, person in rows:
            value = self.asked.default_reward if value is None else value
            assert value is not None
            self._absorb(row, value, person)
            self._dirty = True
        self.store.remove_many_pending(self.uid, [one.number for one in found])
        return len(found)

    def close_due(self, now: float, *, coming: int = 0) -> int:
        """Close decisions whose time is over, oldest first, up to the next release; how many. `coming`: decisions that
        are about to be made, and count among those that have followed.

        In order, a decision's row is learned here, with the reward that has come or without. Otherwise a row with a
        reward has been absorbed when it came, and here the default comes, if there is one.
        """
        self.flush()
        lag = self.asked.closes_after_decisions
        below = 0 if lag is None else self.made - lag + coming
        oldest = self.store.oldest(self.uid)
        if oldest is not None and oldest[1] > now + self.asked.closes_after + CLOCKS:
            # Made while a clock was ahead: it would hold back everybody after it for as long.
            self.store.close_sooner(self.uid, now + self.asked.closes_after)
        if oldest is None or not (oldest[0] < below or oldest[1] <= now):
            return 0
        if not self.in_order:
            return self._expire(now, below)
        done = 0
        for pending in self.store.first(self.uid, PORTION):
            # Closing times grow with the numbers: one that is open holds back those after it, and so it must in order.
            if self._released or not (pending.number < below or pending.closes <= now):
                break
            if not self.live.spent and not self.live.ready:
                self.waits = True
                break
            self._close(pending, now)
            done += 1
        return done

    def _expire(self, now: float, below: int) -> int:
        """In order of arrival: nobody's reward came in time. If there is a default it comes now, for all of them at
        once, however many: where one transaction ends must not depend on who has answered."""
        default, done, last = self.asked.default_reward, 0, -1
        while page := self.store.unanswered(self.uid, last, PORTION):
            due = list(takewhile(lambda one: one[0] < below or one[1] <= now, page))
            done, last = done + len(due), due[-1][0] if due else last
            if len(due) < len(page) or default is None:
                break
        if done:
            self.store.expire(self.uid, last, now + self.asked.closes_after, default=default is not None)
            self._come = self._come or default is not None
        if self._come and not self.shared:
            done += self._absorb_come()
        return done

    def _close(self, pending: Pending, now: float) -> None:
        """In order: learn the next row."""
        default = self.asked.default_reward
        value = self._reward(pending)
        if value is None:
            value = default
            how = "expired" if default is None else "default"
            if not self.store.close(self.uid, pending.number, how, None, now + self.asked.closes_after):
                # Another process was first: its reward was acknowledged, and counts. Or its person was erased.
                pending = self.store.pending(self.uid, pending.number) or pending
                value = self._reward(pending)
        self.store.remove_pending(self.uid, pending.number)
        # Counted with a reward or without: which of a person's rounds are learned from must not depend on what they
        # answer, or two rewards that are released apart could change where one was replaced.
        admitted = not self.live.spent and self._admit(pending.person)
        row = self._row(pending)
        if row is None:
            row, value = self.config.empty_row, 0.0
        elif value is None or not admitted:
            row, value = (row if self._nothing is None else self._nothing), 0.0
        self._released = self.live.learn(row, value)
        self._dirty = True

    def _row(self, pending: Pending) -> Floats | None:
        data = self.sealer.open(b"p%d" % pending.number, pending.record)
        return np.frombuffer(data, np.float64).copy() if data else None

    def _reward(self, pending: Pending) -> float | None:
        """The reward that has come for an open decision, if one has."""
        if pending.reward is None:
            return None
        return float(np.frombuffer(self.sealer.open(b"r%d" % pending.number, pending.reward), np.float64)[0])

    def _absorb(self, row: Floats | None, value: float, person: bytes | None) -> None:
        if row is None or self.live.spent or not self._admit(person):
            return  # a row of zeros adds nothing, and the clock does not count rows
        self.live.absorb(row, value)
        self._dirty = True

    def _admit(self, person: bytes | None) -> bool:
        """Whether one more row of this person is learned from; if so it is counted."""
        if self.people is None or person is None:
            return True
        rounds, segment = self.store.person(self.uid, person)
        if rounds >= self.people or (self._one_per_segment and segment == self.live.stage):
            return False
        self.store.count_person(self.uid, person, self.live.stage)
        return True

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> int:
        if not self.shared:
            return self.live.clock
        # Only the holder of the lease follows the clock. The tick of a decision is made before the next one; in order,
        # rows are counted when they are learned, which is later.
        return min(self.made if self.in_order else max(0, self.made - 1), self.plan.limit or self.made)

    @property
    def rounds_left(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - self.made)

    def notes(self) -> tuple[str, ...]:
        rows = "in the order of decisions, when their time is over" if self.in_order else "when their reward comes"
        return (f"Served over HTTP. Releases count decisions, never rewards; rows are learned {rows}.",)

    def excluded(self) -> tuple[str, ...]:
        return (
            "What operators see: how many decisions there are and when, request counts, latencies and the number of "
            "open decisions.",
            UNSEEN_RESTORE,
        )

    def released_means(self) -> list[tuple[int, float]]:
        """What the published view says about the mean reward of each arm, where it says something."""
        if not self.plan.guarantee.private:
            return []  # its view holds exact means
        view = self.live.published
        if not hasattr(view, "totals") or not hasattr(view, "sizes"):
            return []
        return [
            (arm, float(total / size))
            for arm, (total, size) in enumerate(zip(view.totals, view.sizes, strict=True))
            if size > 0
        ]

    def view_text(self) -> str:
        if self._text[0] != self.version:
            view = self.live.published
            arrays = {name: part.tolist() for name, part in zip(view._fields, view, strict=True)}
            found = {"deployment": self.name, "policy": self.config.slug, "version": self.version, "arrays": arrays}
            try:
                self._text = (self.version, json.dumps(found, allow_nan=False))
            except ValueError:
                raise DeploymentFailed(
                    "Expected a view of finite numbers, got one with others, which JSON does not have: what was "
                    "learned is too large. Deploy it anew with actions and rewards within the bounds."
                ) from None
        return self._text[1]


def _array(like: np.ndarray[Any, Any], data: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(data, like.dtype).reshape(like.shape)
