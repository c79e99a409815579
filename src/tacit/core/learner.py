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
from tacit._validate import any_datum, whole
from tacit.core import forks
from tacit.core.decisions import Decision, Decisions, Pending
from tacit.core.inputs import as_arm, as_floats, as_row, as_rows, no_rows, not_finite
from tacit.core.people import People
from tacit.core.policy import Policy
from tacit.core.round import CLIPPED_ACTIONS, CLIPPED_REWARDS, LARGEST, REFUSED, RELEASED, REPAIRS, ROWS, first_unfit
from tacit.core.session import ENVIRONMENT, FORK, POLICY, Session
from tacit.errors import BadInput, HorizonSpent, Moved, OutOfBounds, VaultSealed
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee

__all__ = ["ENVIRONMENT", "FORK", "POLICY", "Diagnostics", "Learner"]


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """VAULT: these numbers depend on people's data and are not covered by the guarantee. Do not publish them."""

    rows: int  #: learned, or zeros in their place; decisions that are closed among them
    clipped_actions: int
    clipped_rewards: int
    repairs: int
    views: int  #: released so far
    view_age: int  #: ticks of the clock since the last of them
    pending: int  #: decisions that wait for a reward
    people: int  #: persons seen; 0 where the unit is the round
    dropped: int  #: rows learned as zeros because their person had had enough
    unfit: int  #: rows learned as zeros because a number was not finite, or beyond 1e100
    expired: int  #: decisions whose reward never came

    def __repr__(self) -> str:
        facts = ", ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))
        return f"Diagnostics(VAULT, not private, do not publish: {facts})"


class Learner:
    """A policy at work. `choose` reads the view, `learn` writes the vault, and only a release connects the two.

    Two ways to work with it. `decide` and `reward` keep the books of open decisions here, and the clock of releases
    counts decisions: when a view comes depends on how many there were, and on nothing that people did. The tick of a
    decision is made before the next one. `choose` and `learn` are for callers who keep their own books: which action
    was taken, and that each choice is learned once, whatever came of it; the clock counts calls of `learn`.

    Made by `config.start()` or `tacit.resume`. Safe to call from several threads (calls wait for each other). It cannot
    be pickled, copied or printed with its contents: a second copy would release the same sums under the same noise.
    What may leave the process is an encrypted `checkpoint`, which ends this learner.
    """

    def __init__(self, config: Policy, *, seed: int | None, sampler: str, closes_after: int | None = None) -> None:
        self._config = config
        self._plan = plan = config.planned(sampler)
        self._limit = plan.limit
        self._sampler = sampler
        self._dim = config.dim
        self._session = Session(plan, self._dim, seed=seed)
        self._strict = config.strict
        self._list = config.fixed_actions  # the actions of every round, where they are always the same
        self._nothing = config.zero_row
        self._in_order = not config.rows_may_come_late
        self._closes_after = 1 if self._in_order and closes_after is None else closes_after
        self._seed = seed
        rounds = config.person_rounds
        self._people = None if rounds is None else People(rounds, config.one_row_per_segment)
        self._decisions = Decisions()
        self._served = self._dropped = self._unfit = self._expired = 0
        self._owed = 0  # decisions whose tick is still to be made
        self._released_at = 0  # ticks there were at the last release
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
        """How many decisions are open. For operators only: it depends on who has answered, and is not private."""
        return len(self._decisions)

    def diagnostics(self) -> Diagnostics:
        """Counts for the operator's eyes only: they come from the vault and are not private."""
        with self._lock:
            counters = self._session.vault.counters
            return Diagnostics(
                rows=int(counters[ROWS]) + self._owed - len(self._decisions),
                clipped_actions=int(counters[CLIPPED_ACTIONS]),
                clipped_rewards=int(counters[CLIPPED_REWARDS]),
                repairs=int(counters[REPAIRS]),
                views=int(self._session.view.stage[0]),
                view_age=int(counters[ROWS]) - self._released_at,
                pending=len(self._decisions),
                people=0 if self._people is None else len(self._people),
                dropped=self._dropped,
                unfit=self._unfit,
                expired=self._expired,
            )

    # For callers who keep their own books -----------------------------------------------------------------------

    def choose(self, actions: ArrayLike | None = None) -> int:
        """The index of the action to take, of `actions` of shape (K, dim); of a policy over a fixed list, which takes
        none, the index in its list. With `strict` all of them must lie within the bounds."""
        return self._serve(as_rows(actions, self._dim) if self._list is None else no_rows(actions, self._list))

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
        if block.shape[1] == 0:
            raise BadInput(f"Expected at least one action in each set, got empty sets: shape {block.shape}.")
        return self._serve_many(block)

    def _serve(self, rows: Floats) -> int:
        """Choose from what is offered: by itself."""
        if self._strict:
            self._refuse_long(rows)
        with self._lock:
            self._refuse_round()
            return self._pick(rows)

    def _serve_many(self, block: Floats) -> Ints:
        """Choose from each set that is offered."""
        if first_unfit(block.reshape(-1)) >= 0:
            raise not_finite("actions", block)
        if self._strict:
            self._refuse_long(block.reshape(-1, block.shape[2]))
        count = len(block)
        arms = np.zeros(count, np.int64)
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
        """Learn that the action `x`, of shape (dim,), earned `reward`. Of a policy over a fixed list `x` is the number
        of the arm. Each call is one row and one tick of the clock, whatever is in it: actions and rewards outside the
        bounds are clipped, with `strict` too, and a row with a number that is not finite or beyond 1e100 is learned as
        zeros.

        The caller owes one call for each choice. Whether and when it comes, and in which order, must not depend on what
        people did: if no reward came, give `float("nan")`. Learn each choice once: the price of one round does not
        cover two rows of it.

        `person` is who it was, where the configuration has `person_rounds`: rows beyond that number, and with
        `one_row_per_segment` a second one between two releases, count as rows of zeros.
        """
        row = as_row(x, self._dim) if self._list is None else as_arm(x, self._list)
        if type(reward) is not float:
            reward = any_datum("reward", reward)
        self._learn_row(row, reward, person)

    def _learn_row(self, row: Floats, reward: float, person: str | int | bytes | None) -> None:
        """A row that is ours alone, and its tick."""
        token = None if person is None and self._people is None else self._token(person)
        with self._lock:
            self._refuse_row()
            self._learn(row, reward, token)

    # Books kept here --------------------------------------------------------------------------------------------

    def decide(self, actions: ArrayLike | None = None, person: str | int | bytes | None = None) -> Decision:
        """Choose of `actions`, of shape (K, dim), and remember the choice until `reward` or `expire` closes it. There
        are none to give to a policy over a fixed list. The clock goes on by one decision: first the tick of the one
        before is made, and whatever is due is learned or expires.

        `person` is who it is for, where the configuration has `person_rounds`. With `strict` all actions must lie
        within the bounds, as any of them may be the one that is learned.
        """
        rows = as_rows(actions, self._dim) if self._list is None else no_rows(actions, self._list)
        return self._decide(rows.copy(), person)  # what was checked must be what is learned

    def _decide(self, rows: Floats, person: str | int | bytes | None) -> Decision:
        """Choose from what is offered, and remember it."""
        token = self._token(person)
        if self._strict:
            self._refuse_long(rows)
        if first_unfit(rows.reshape(-1)) >= 0:  # here, and not where it would be found out after a tick
            raise not_finite("actions", rows)
        with self._lock:
            self._refuse_round()
            self._refuse_row()
            self._advance()
            arm = self._pick(rows)
            self._owed += 1
            return Decision(self._decisions.open(self._config.taken(rows, arm), token), arm)

    def reward(self, decision: Decision | str, value: float) -> None:
        """Learn what a decision earned, given the decision or its id: while it is open, in any order, and exactly once.
        A reward outside the bounds is clipped, with `strict` too. The clock stays where it is.

        It is added to the sums now; where rows may not come late (`config.rows_may_come_late`), when the decision's
        turn comes: `start(closes_after_decisions=…)`.

        A value that is not finite or beyond 1e100 is refused, and the decision stays open. A second reward, the same or
        another, is refused with `AlreadyClosed`: it would be two rows of one round, which the price of one round does
        not cover.
        """
        value = any_datum("value", value)
        if not abs(value) <= LARGEST:
            raise BadInput("Expected value to be finite and within 1e100 of zero, got another. Nothing was changed.")
        with self._lock:
            self._refuse_moved()
            identity, found = self._decisions.find(decision)
            self._close(identity, found, found.x, value)

    def expire(self, decision: Decision | str) -> None:
        """Close a decision whose reward will not come: it is learned as a row of zeros, or where only rewards are
        protected as a reward of zero. The clock stays where it is.

        It counts for its person, as it would have with a reward. Once expired, a reward that comes after all is
        refused.
        """
        with self._lock:
            self._refuse_moved()
            self._expire(*self._decisions.find(decision))

    def expire_all(self, *, older_than: int) -> int:
        """Expire every open decision made more than `older_than` decisions ago, oldest first; returns how many.

        The last decision was made one decision ago: `older_than=0` expires all.
        """
        count = whole("older_than", older_than, low=0)
        with self._lock:
            self._refuse_moved()
            found = [(identity, pending) for identity, pending in self._decisions.older_than(count) if pending.open]
            for identity, pending in found:
                self._expire(identity, pending)
        return len(found)

    # Going on elsewhere -----------------------------------------------------------------------------------------

    def checkpoint(self, path: str | os.PathLike[str], key: bytes, *, keep_running: bool = False) -> Path:
        """Write everything this learner is to a new file, encrypted under `key` (32 bytes: `tacit.new_key()`).

        The learner then lives on in the file, and this one refuses to work: `tacit.resume(path, key)` continues it,
        once. With `keep_running` this one goes on; resuming the file is then a fork, which has a price, and
        counts on the card of this one from now on.

        If anything fails the learner is as it was and no file is left.
        """
        from tacit.core.checkpoint import save

        with self._lock:
            self._refuse_moved()
            return save(self, path, key, keep_running=keep_running)

    # One round --------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """One more decision is coming. What that makes due is a matter of how many there were, and of nothing that
        people did: docs/decisions/0027-one-clock.md."""
        after = self._closes_after
        if not self._in_order and self._owed:
            self._owed = 0
            self._note(self._session.tick())
        for identity, found in [] if after is None else self._decisions.older_than(after - 1):
            if not self._in_order:
                self._expire(identity, found)
                continue
            if found.open:
                self._expire(identity, found)
            self._decisions.close(identity)
            self._owed -= 1
            self._learn(found.x, found.reward, found.person)

    def _pick(self, rows: Floats) -> int:
        arm = self._session.choose(self._session.view, rows)
        self._served += 1
        return arm

    def _expire(self, identity: str, found: Pending) -> None:
        self._expired += 1
        self._close(identity, found, self._without(found.x), 0.0)

    def _close(self, identity: str, found: Pending, row: Floats, reward: float) -> None:
        """Close an open decision: into the sums, or to wait for its turn. No tick comes of it."""
        if self._in_order:
            self._decisions.keep(identity, row, reward)
            return
        self._decisions.close(identity)
        self._session.absorb(*self._admitted(row, reward, found.person))

    def _learn(self, row: Floats, reward: float, token: bytes | None) -> None:
        """A row and its tick, whatever is in it."""
        outcome = self._session.learn(*self._admitted(row, reward, token))
        if outcome == REFUSED:
            self._unfit += 1
            fits = first_unfit(row) < 0
            outcome = self._session.learn(self._without(row) if fits else self._config.empty_row, 0.0)
        self._note(outcome)

    def _admitted(self, row: Floats, reward: float, token: bytes | None) -> tuple[Floats, float]:
        """A row, or zeros in its place if its person has had enough.

        The person is counted first: an interrupt in between leaves a row out, and never one too many in.
        """
        if token is None:
            return row, reward
        assert self._people is not None
        if self._people.admit_token(token, int(self._session.view.stage[0])):
            return row, reward
        self._dropped += 1
        return self._without(row), 0.0

    def _without(self, row: Floats) -> Floats:
        """What is learned of an action without its reward."""
        return row if self._nothing is None else self._nothing

    def _note(self, outcome: int) -> None:
        if outcome == RELEASED:
            self._released_at = int(self._session.vault.counters[ROWS])

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

    def _refuse_round(self) -> None:
        """Unless one more round may be served."""
        if self._moved:
            self._refuse_moved()
        limit = self._limit
        if limit is not None and self._served >= limit:
            raise HorizonSpent(f"All {limit:,} rounds are served; {self._plan.limit_hint}")

    def _refuse_row(self) -> None:
        """Unless one more row may be learned: each decision keeps a place for its own."""
        if self._moved:
            self._refuse_moved()
        limit = self._limit
        if limit is not None and self._session.vault.counters.item(ROWS) + self._owed >= limit:
            kept = ", or kept for decisions" if self._owed else ""
            raise HorizonSpent(f"All {limit:,} rows are learned{kept}; {self._plan.limit_hint}")

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

    def _refuse_long(self, rows: Floats) -> None:
        norm = self._config.action_norm
        if any(math.hypot(*row) > norm * (1 + 1e-9) for row in rows.tolist()):
            raise OutOfBounds(f"Expected actions of norm <= {norm:g} (strict), got one above it. Rescale actions.")

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
