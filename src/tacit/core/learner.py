"""A live policy: vault, view and a source of noise, behind `choose` and `learn`, or `decide` and `reward`."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats, Ints
from tacit._validate import real, whole
from tacit.core import forks
from tacit.core.decisions import Decision, Decisions, Pending
from tacit.core.inputs import as_arm, as_floats, as_row, as_rows, no_rows, not_finite
from tacit.core.people import People
from tacit.core.policy import Policy
from tacit.core.round import CLIPPED_ACTIONS, CLIPPED_REWARDS, LARGEST, RELEASED, REPAIRS, ROWS, first_unfit
from tacit.core.session import ENVIRONMENT, FORK, POLICY, Session
from tacit.errors import BadInput, HorizonSpent, Moved, OutOfBounds, VaultSealed
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects

__all__ = ["ENVIRONMENT", "FORK", "POLICY", "Diagnostics", "Learner"]


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """VAULT: these numbers depend on people's data and are not covered by the guarantee. Do not publish them."""

    rows: int
    clipped_actions: int
    clipped_rewards: int
    repairs: int
    views: int  #: released so far
    view_age: int  #: rows learned since the last of them
    pending: int  #: decisions that wait for a reward
    people: int  #: persons seen; 0 where the unit is the round
    dropped: int  #: rows learned as zeros because their person had had enough
    expired: int  #: decisions whose reward never came

    def __repr__(self) -> str:
        facts = ", ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))
        return f"Diagnostics(VAULT, not private, do not publish: {facts})"


class Learner:
    """A policy at work. `choose` reads the view, `learn` writes the vault, and only a release connects the two.

    Two ways to work with it. `choose` and `learn` are for callers who keep their own books: which action was taken, and
    that its reward is learned once. `decide` and `reward` keep these books here.

    Made by `config.start()` or `tacit.resume`. Safe to call from several threads (calls wait for each other). It cannot
    be pickled, copied or printed with its contents: a second copy would release the same sums under the same noise.
    What may leave the process is an encrypted `checkpoint`, which ends this learner.
    """

    def __init__(self, config: Policy, *, seed: int | None, sampler: str) -> None:
        self._config = config
        self._plan = plan = config.planned(sampler)
        self._limit = plan.limit
        self._sampler = sampler
        self._dim = config.dim
        self._session = Session(plan, self._dim, seed=seed)
        self._strict = config.strict
        self._list = config.fixed_actions  # the actions of every round, where they are always the same
        # What stands for who is not learned from: a row of zeros, or where actions are public the action and no reward.
        public = self._list is not None or config.protects is Protects.REWARDS
        self._nothing = None if public else np.zeros(self._dim)
        self._seed = seed
        rounds = config.person_rounds
        self._people = None if rounds is None else People(rounds, config.one_row_per_segment)
        self._decisions = Decisions()
        self._served = self._dropped = self._expired = 0
        self._released_at = 0  # rows there were at the last release
        self._copies = 1
        self._moved = self._forked = False
        self._lock = Lock()
        if seed is None:
            forks.watch(self)

    # What it is -------------------------------------------------------------------------------------------------

    @property
    def config(self) -> Policy:
        """The configuration this learner was started from."""
        return self._config

    @property
    def copies(self) -> int:
        """How many learners have gone on from one past, as far as this one knows: 1 unless it was resumed as a fork."""
        return self._copies

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to the people this learner, with all copies it knows of, learns from."""
        guarantee = self._plan.guarantee_for(self._copies)
        return guarantee.with_seed() if self._session.seeded else guarantee

    def card(self) -> Card:
        """The privacy card of this learner."""
        return self._config.card(seeded=self._session.seeded, copies=self._copies, sampler=self._sampler)

    @property
    def view(self) -> Any:
        """A copy of the published view: all that choices depend on, and safe to show."""
        with self._lock:
            view = self._session.view
            copies = [part.copy() for part in view]
        for part in copies:
            part.setflags(write=False)
        return type(view)(*copies)

    @property
    def pending(self) -> int:
        """How many decisions are open."""
        return len(self._decisions)

    def diagnostics(self) -> Diagnostics:
        """Counts for the operator's eyes only: they come from the vault and are not private."""
        with self._lock:
            counters = self._session.vault.counters
            return Diagnostics(
                rows=int(counters[ROWS]),
                clipped_actions=int(counters[CLIPPED_ACTIONS]),
                clipped_rewards=int(counters[CLIPPED_REWARDS]),
                repairs=int(counters[REPAIRS]),
                views=int(self._session.view.stage[0]),
                view_age=int(counters[ROWS]) - self._released_at,
                pending=len(self._decisions),
                people=0 if self._people is None else len(self._people),
                dropped=self._dropped,
                expired=self._expired,
            )

    # For callers who keep their own books -----------------------------------------------------------------------

    def choose(self, actions: ArrayLike | None = None) -> int:
        """The index of the action to take, of `actions` of shape (K, dim); of a policy over a fixed list, which takes
        none, the index in its list."""
        rows = as_rows(actions, self._dim) if self._list is None else no_rows(actions, self._list)
        with self._lock:
            return self._pick(rows)

    def choose_many(self, actions: ArrayLike) -> Ints:
        """The indices of the actions to take, one for each of N sets: `actions` of shape (N, K, dim).

        All on the view there is now, and what N calls of `choose` would give. If any number is bad, or if fewer than N
        rounds are left, none is served.
        """
        if self._list is not None:
            raise BadInput(
                f"Expected choose() for {self._config.slug}, got sets of actions: it has one list for every round, and "
                "the same arm for everybody until it learns."
            )
        block = as_floats("actions", actions)
        if block.ndim != 3 or block.shape[2] != self._dim:
            raise BadInput(f"Expected actions of shape (N, K, {self._dim}), got {block.shape}.")
        count, offered, _ = block.shape
        if offered == 0:
            raise BadInput(f"Expected at least one action in each set, got empty sets: shape {block.shape}.")
        arms = np.zeros(count, np.int64)
        numbers = block.reshape(-1)
        if first_unfit(numbers) >= 0:
            raise not_finite("actions", numbers)
        plan, session = self._plan, self._session
        with self._lock:
            self._refuse_moved()
            if plan.limit is not None and self._served + count > plan.limit:
                raise HorizonSpent(
                    f"Expected at most {_rounds_left(plan.limit - self._served)} of {plan.limit:,}, got {count:,} "
                    f"sets of actions; {plan.limit_hint}"
                )
            session.choose_block(session.view, block, arms)
            self._served += count
        return arms

    def learn(self, x: ArrayLike, reward: float, person: str | int | bytes | None = None) -> None:
        """Learn that the action `x`, of shape (dim,), earned `reward`. Any time after the choice, in any order. Of a
        policy over a fixed list `x` is the number of the arm.

        Whether and when a row comes must not depend on what is in it: a decision whose reward never comes is learned
        as a row of zeros. Learn each reward once: the price of one round does not cover two rows of it.

        `person` is who it was, where the configuration has `person_rounds`: rows beyond that number, and with
        `one_row_per_segment` a second one between two releases, count as rows of zeros.
        """
        row = as_row(x, self._dim) if self._list is None else as_arm(x, self._list)
        if type(reward) is not float:
            reward = real("reward", reward)
        if self._strict:
            self._refuse_long(row)
            self._refuse_large(reward)
        if person is None and self._people is None:
            with self._lock:
                if not self._tick(row, reward):
                    raise not_finite("x and reward", np.append(row, reward))
            return
        token = self._token(person)
        # Looked at here and not in the kernel: whether a row counts for its person must be known before it does.
        if first_unfit(row) >= 0 or not abs(reward) <= LARGEST:
            raise not_finite("x and reward", np.append(row, reward))
        with self._lock:
            self._refuse_rows(1)
            self._absorb(row, reward, token)

    # Books kept here --------------------------------------------------------------------------------------------

    def decide(self, actions: ArrayLike | None = None, person: str | int | bytes | None = None) -> Decision:
        """Choose of `actions`, of shape (K, dim), and remember the choice until `reward` or `expire` closes it. There
        are none to give to a policy over a fixed list.

        `person` is who it is for, where the configuration has `person_rounds`. With `strict` all actions must lie
        within the bounds, as any of them may be the one that is learned.
        """
        rows = as_rows(actions, self._dim) if self._list is None else no_rows(actions, self._list)
        rows = rows.copy()  # what was checked must be what is learned
        token = self._token(person)
        if self._strict:
            for row in rows:
                self._refuse_long(row)
        with self._lock:
            arm = self._pick(rows)
            return Decision(self._decisions.open(rows[arm].copy(), token), arm)

    def reward(self, decision: Decision | str, value: float) -> None:
        """Learn what a decision earned, given the decision or its id: any time, in any order, and exactly once.

        A second reward, the same or another, is refused with `AlreadyClosed`: it would be two rows of one round, which
        the price of one round does not cover.
        """
        value = real("value", value)
        if not abs(value) <= LARGEST:
            raise BadInput("Expected value within 1e100 of zero, got one beyond. Nothing was changed.")
        if self._strict:
            self._refuse_large(value)
        with self._lock:
            self._refuse_moved()
            identity, found = self._decisions.find(decision)
            self._refuse_rows(1)
            self._decisions.close(identity)
            self._absorb(found.x, value, found.person)

    def expire(self, decision: Decision | str) -> None:
        """Close a decision whose reward will not come: it is learned as a row of zeros, or where only rewards are
        protected as a reward of zero.

        It must still be a row, since whether a row comes must not depend on what would be in it; and it counts for its
        person, as it would have with a reward. Once expired, a reward that comes after all is refused.
        """
        with self._lock:
            self._refuse_moved()
            identity, found = self._decisions.find(decision)
            self._refuse_rows(1)
            self._expire(identity, found)

    def expire_all(self, *, older_than: int) -> int:
        """Expire every open decision made more than `older_than` decisions ago, oldest first; returns how many.

        The last decision was made one decision ago: `older_than=0` expires all.
        """
        count = whole("older_than", older_than, low=0)
        with self._lock:
            self._refuse_moved()
            found = self._decisions.older_than(count)
            self._refuse_rows(len(found))
            for identity, pending in found:
                self._expire(identity, pending)
        return len(found)

    # Going on elsewhere -----------------------------------------------------------------------------------------

    def checkpoint(self, path: str | os.PathLike[str], key: bytes, *, keep_running: bool = False) -> Path:
        """Write everything this learner is to a new file, encrypted under `key` (32 bytes: `tacit.new_key()`).

        The learner then lives on in the file, and this one refuses to work: `tacit.resume(path, key)` continues it,
        once. With `keep_running` this one goes on; resuming the file is then a fork, which has a price.

        If anything fails the learner is as it was and no file is left.
        """
        from tacit.core.checkpoint import save

        with self._lock:
            self._refuse_moved()
            return save(self, path, key, keep_running=keep_running)

    # One round --------------------------------------------------------------------------------------------------

    def _pick(self, rows: Floats) -> int:
        if self._moved:
            self._refuse_moved()
        limit, session = self._limit, self._session
        if limit is not None and self._served >= limit:
            raise HorizonSpent(f"All {limit:,} rounds are served; {self._plan.limit_hint}")
        arm = session.choose(session.view, rows)
        self._served += 1
        return arm

    def _absorb(self, row: Floats, reward: float, token: bytes | None) -> None:
        """Learn a row whose numbers have been checked, or zeros in its place if its person has had enough.

        The person is counted first: an interrupt in between leaves a row out, and never one too many in.
        """
        if token is not None:
            assert self._people is not None
            if not self._people.admit_token(token, int(self._session.view.stage[0])):
                self._dropped += 1
                row, reward = row if self._nothing is None else self._nothing, 0.0
        self._tick(row, reward)

    def _expire(self, identity: str, found: Pending) -> None:
        self._decisions.close(identity)
        self._expired += 1
        self._absorb(found.x if self._nothing is None else self._nothing, 0.0, found.person)

    def _tick(self, row: Floats, reward: float) -> int:
        """One row, whatever is in it: the clock of releases runs on rows alone."""
        limit, session = self._limit, self._session
        if self._moved or (limit is not None and session.vault.counters.item(ROWS) >= limit):
            self._refuse_rows(1)
        outcome = session.learn(row, reward)
        if outcome == RELEASED:
            self._released_at = int(session.vault.counters[ROWS])
        return outcome

    # What is refused --------------------------------------------------------------------------------------------

    def _refuse_moved(self) -> None:
        if self._forked:
            raise Moved(
                "This learner was at work before its process forked, and its copy here would release the same sums a "
                "second time. Use it in the process that started it, or start one after the fork."
            )
        if self._moved:
            raise Moved(
                "This learner went on in a checkpoint, and would release the same sums a second time. Resume it there "
                "with tacit.resume(path, key)."
            )

    def in_child(self) -> None:
        """After a fork: one that has been at work belongs to the parent, and refuses; one that has not goes on with
        noise, and with ids of decisions, of its own."""
        self._lock = Lock()  # another thread of the parent may have held it
        if self._served or self._session.vault.counters[ROWS]:
            self._moved = self._forked = True
        else:
            self._decisions.turn_key()

    def _refuse_rows(self, rows: int) -> None:
        """Unless so many more rows may be learned."""
        self._refuse_moved()
        limit = self._limit
        if limit is None:
            return
        left = limit - self._session.vault.counters.item(ROWS)
        if left >= rows:
            return
        if left <= 0:
            raise HorizonSpent(f"All {limit:,} rows are learned; {self._plan.limit_hint}")
        raise HorizonSpent(
            f"Expected to learn at most {left:,} more of {limit:,} rows, got {rows:,}; {self._plan.limit_hint}"
        )

    def _token(self, person: object) -> bytes | None:
        if self._people is not None:
            if person is None:
                raise BadInput(
                    "Expected a person (a str, an int or bytes): the guarantee is for persons, whose rows are counted. "
                    "Nothing was changed."
                )
            return self._people.token(person)
        if person is not None:
            raise BadInput(
                "Expected no person: the unit is the round, and nobody's rounds are counted. "
                "Configure person_rounds=k to protect a person with up to k rounds."
            )
        return None

    def _refuse_long(self, row: Floats) -> None:
        norm = self._config.action_norm
        if math.hypot(*row.tolist()) > norm * (1 + 1e-9):
            raise OutOfBounds(f"Expected an action of norm <= {norm:g} (strict), got one above it. Rescale actions.")

    def _refuse_large(self, reward: float) -> None:
        bound = self._config.reward_bound
        if abs(reward) > bound:
            raise OutOfBounds(f"Expected |reward| <= {bound:g} (strict), got one above it. Rescale rewards.")

    def __repr__(self) -> str:
        state = ", of another process" if self._forked else ", moved to a checkpoint" if self._moved else ""
        return f"<Learner of {self._config!r}: {int(self._session.view.stage[0]):,} views released{state}>"

    def __reduce__(self) -> NoReturn:
        raise VaultSealed(
            "A learner cannot be pickled or copied: a copy would release the same sums under the same noise. "
            "Move it with learner.checkpoint(path, key), or pickle its config and start a new learner."
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()

    def __copy__(self) -> NoReturn:
        self.__reduce__()


def _rounds_left(count: int) -> str:
    return "1 more round" if count == 1 else f"{count:,} more rounds"
