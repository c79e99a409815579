"""A deployment that decides: what is asked of it, and what is said about it, each checked before anything is written.

Whatever changes anything runs inside a transaction. What is learned, when, and how it is stored: `learning.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit._types import Floats
from tacit.core.arms import offer, refuse_outside
from tacit.core.inputs import as_rows
from tacit.core.round import LARGEST
from tacit.errors import AlreadyClosed, BadInput, OutOfBounds, Paused, UnknownDecision, UnknownDeployment
from tacit.service.learning import Learning
from tacit.service.sealing import Sealer, Secret, same
from tacit.service.store import END, Closed, Deployment, Pending, Store

#: Bytes of what is kept under a client's key, before the hash of the action's id.
_ANSWER = struct.calcsize("<QQ")

_WHY_CLOSED = {
    "expired": "it expired, as a row of zeros",
    "default": "it expired, with the configured default",
    "erased": "its person was erased",
}


@dataclass(frozen=True, slots=True)
class Decided:
    """The answer to a decision."""

    decision: str
    action: str  #: its id
    index: int  #: its place among those that were offered
    view: int
    repeated: bool = False


@dataclass(slots=True)
class Request:
    """A decision that is asked for. `rows`: the features of each action; one row, the context, where arms share it;
    None where the policy has a list of its own. `ids` of the actions are needed where a key may come again with the
    actions in another order; where arms share a context they say which of them are there, and None stands for all."""

    rows: Floats | None
    person: str | None = None
    key: str | None = None
    ids: Sequence[str] | None = None


class Deciding(Learning):
    """A deployment that takes decisions and rewards."""

    def __init__(self, store: Store, row: Deployment, sealer: Sealer, *, shared: bool) -> None:
        super().__init__(store, row, sealer, shared=shared)
        self._strict = self.config.strict

    # Decisions ----------------------------------------------------------------------------------------------------

    def check(
        self, asked: Sequence[Sequence[float] | None] | None, context: Sequence[float] | None = None
    ) -> Floats | None:
        """What a request offers as an array, without a look at anything that can change. `asked`: of each action its
        features, or None of one that was named without."""
        if self.actions is not None:
            return self._check_context(asked, context)
        if context is not None:
            raise BadInput(
                f"Expected actions with features of their own, got a context: {self.config.slug} was deployed without "
                "arms that share one. Leave it out."
            ).about("context")
        if self.live.list is not None:
            if asked is not None:
                raise BadInput(f"Expected no actions, got some: {self.config.slug} has a list of its own.").about(
                    "actions"
                )
            return None
        if asked is None:
            raise BadInput(f"Expected actions with {self.live.dim} features each, got none.").about("actions")
        dim, rows = self.live.dim, []
        for place, row in enumerate(asked):
            if row is None or len(row) != dim:
                where = f"actions[{place}].features"
                got = "none: it was named alone" if row is None else str(len(row))
                raise BadInput(f"Expected {where} to be {dim} numbers, got {got}.").about(where)
            rows.append(row)
        found = as_rows(np.array(rows, np.float64).reshape(-1, dim), dim)
        _refuse_unfit(found, "actions[{row}].features[{feature}]")
        if self._strict:
            norm = self.config.action_norm
            if np.any(np.sqrt(np.einsum("ij,ij->i", found, found)) > norm * (1 + 1e-9)):
                raise OutOfBounds(
                    f"Expected actions of norm <= {norm:g} (strict), got one above it. Rescale actions."
                ).about("actions")
        return found

    def _check_context(self, asked: Sequence[Sequence[float] | None] | None, context: Sequence[float] | None) -> Floats:
        dim = self.live.dim
        if asked is not None and any(row is not None for row in asked):
            raise BadInput(
                "Expected actions as their names, got features: all actions of this deployment share the context. Send "
                "it as context, once."
            ).about("actions")
        if context is None or len(context) != dim:
            got = "none" if context is None else str(len(context))
            raise BadInput(f"Expected context to be {dim} numbers, got {got}.").about("context")
        found = np.array([context], np.float64)
        _refuse_unfit(found, "context[{feature}]")
        if self._strict:
            try:
                refuse_outside(self.config, found)
            except OutOfBounds as problem:
                raise problem.about("context") from None
        return found

    def _offered(self, ids: Sequence[str] | None) -> tuple[Sequence[str] | None, list[int] | None]:
        """The ids of what is offered; and where arms share a context, which arm each of them is."""
        if self.actions is None:
            return ids, None
        if ids is None:
            return list(self.actions), list(self.actions.values())
        if self.shared and not self.actions.keys() >= set(ids):
            self.follow_settings()  # another process may have named it just now
        for place, one in enumerate(ids):
            if one not in self.actions:
                where = f"actions[{place}]"
                raise BadInput(
                    f"Expected {where} to be the name of an action of this deployment, got another. `tacit deployments "
                    f"show {self.name}` lists them, and `add-action` names one more."
                ).about(where)
        return ids, [self.actions[one] for one in ids]

    def add_action(self, name: str) -> None:
        """Name the first arm that has no name. A name that is there already stays what it is.

        It costs no privacy: the arm is one of those that the plan was made for, and has had its noise in every release;
        it was only never offered. When it is named is the operator's to say, and shows in what is offered anyway.
        """
        self.check_there()
        if self.shared:
            self.follow_settings()
        if self.actions is None:
            raise BadInput(
                f"Expected a deployment whose arms share a context, got {self.config.slug} without: requests bring "
                "their own actions, or the policy has a list."
            )
        if name in self.actions:
            return
        if len(self.actions) == self.config.arms_of_context:
            raise BadInput(
                f"Expected at most {len(self.actions)} actions, as many as the deployment has arms, got one more. Make "
                "another deployment with more arms: those that are never offered cost no privacy."
            ).about("id")
        asked = replace(self.asked, actions=(*self.actions, name)).to_json()
        if not self.store.set_settings(self.uid, asked):
            raise UnknownDeployment("Expected the name of a deployment, got one that was deleted meanwhile.")
        self.settle(asked)

    def decide(self, request: Request, now: float) -> Decided:
        """Choose, and remember the choice until it closes."""
        self.check_there()
        if self.state != "serving":
            raise Paused(f"Expected a deployment that serves, got {self.name}, which is paused. Resume it.")
        token, person = None, self._person(request.person)
        ids, arms = self._offered(request.ids)
        if request.key is not None:
            token = self.secret.client_key(request.key)
            before = self.store.client_key(self.uid, token)
            if before is not None and before[2] > now:
                return self._repeated(ids, person, before[0], before[1])
        if not self.shared:
            self._advance(now)
        rows = self.live.list if request.rows is None else request.rows
        assert rows is not None
        if arms is not None:
            rows = offer(self.config, rows[0], arms)
        arm = self.live.choose(rows)
        place = arm if arms is None else arms.index(arm)
        number = self.made if not self.shared else self._next_number()
        closes = now + self.asked.closes_after
        if token is not None:
            choice = self.secret.choice(number, person, "" if ids is None else ids[place])
            answer = self.sealer.seal(b"answer", struct.pack("<QQ", place, self.version) + choice)
            if not self.store.add_client_key(self.uid, token, number, answer, closes):
                # Another process was first, or it is one whose time is over and which nobody has removed yet.
                self.store.db.run(
                    "DELETE FROM client_keys WHERE uid = ? AND token = ? AND until <= ?", (self.uid, token, now)
                )
                if not self.store.add_client_key(self.uid, token, number, answer, closes):
                    before = self.store.client_key(self.uid, token)
                    assert before is not None
                    return self._repeated(ids, person, before[0], before[1])
        # Nothing is kept of a decision that will not be learned from.
        kept = self.config.taken(rows, arm).tobytes() if self.limit is None or number < self.limit else b""
        record = self.sealer.seal(b"p%d" % number, kept)
        self._new.append((self.uid, number, closes, record, person))
        if not self.shared:
            self.made = number + 1
        return Decided(self.secret.identity(number), _id_at(ids, place), place, self.version)

    def _next_number(self) -> int:
        number, end = self.store.next_number(self.uid)
        if end != self.secret.written[-END:]:
            self._follow_starts()
        return number

    def _follow_starts(self) -> None:
        """Other processes that were started since have turned to new keys of ids."""
        starts = self.store.starts(self.uid)
        if starts is not None and starts != self.secret.written:
            self.secret = Secret.read(self.secret.root, starts)

    def _repeated(self, ids: Sequence[str] | None, person: bytes | None, number: int, sealed: bytes) -> Decided:
        """The same action, wherever it stands now: its reward will count for the features it was chosen with, and for
        the person it was chosen for."""
        if self.shared:
            self._follow_starts()
        answer = self.sealer.open(b"answer", sealed)
        was, version = struct.unpack_from("<QQ", answer)
        choice = answer[_ANSWER:]
        if ids is None:
            places = [was] if same(self.secret.choice(number, person, ""), choice) else []
        else:
            places = [
                place
                for place in (was, *range(len(ids)))
                if place < len(ids) and same(self.secret.choice(number, person, ids[place]), choice)
            ]
        if not places:
            raise BadInput(
                "Expected the person and the actions that this key had its decision for, got another person, or "
                "actions without the one that was chosen. Use a new key for a new decision."
            ).about("key")
        return Decided(self.secret.identity(number), _id_at(ids, places[0]), places[0], version, repeated=True)

    def _person(self, person: str | None) -> bytes | None:
        if self.people is None:
            if person is not None:
                deploy = " Deploy with person_rounds to protect a person with up to so many rounds."
                raise BadInput(
                    "Expected no person, got one: the unit is the round, and nobody's rounds are counted."
                    f"{deploy if self.config.has_option('person_rounds') else ''}"
                ).about("person")
            return None
        if person is None:
            raise BadInput(
                "Expected a person, got none: the guarantee is for persons, whose rounds are counted. Nothing was "
                "changed; name one."
            ).about("person")
        return self.secret.person(person)

    # Rewards ------------------------------------------------------------------------------------------------------

    def reward(self, identity: str, value: float, now: float) -> str:
        """What a decision earned. The same reward may come again and counts once; another one is refused. One outside
        the bounds is clipped, with `strict` too. Whatever is refused here, the clock has counted the decision."""
        self.check_there()
        if not abs(value) <= LARGEST:
            raise BadInput(
                "Expected value to be a finite number within 1e100 of zero, got another. Nothing was changed."
            ).about("value")
        number = self.secret.number(identity)
        if number is None and self.shared:  # perhaps of a replica that was started since
            self._follow_starts()
            number = self.secret.number(identity)
        if number is None:
            raise UnknownDecision(
                "Expected the id of a decision of this deployment, got another. Nothing was changed; send the id that "
                "the decision came with."
            )
        self.flush()
        pending = self.store.pending(self.uid, number)
        tag = self.secret.reward(number, value)
        if pending is None or pending.reward is not None or pending.closes <= now:
            return self._again(number, tag, pending)
        if not self.store.close(self.uid, number, "reward", tag, pending.closes + self.asked.closes_after):
            return self._again(number, tag, pending)
        if self.shared or self.in_order:
            sealed = self.sealer.seal(b"r%d" % number, np.float64(value).tobytes())
            self.store.set_reward(self.uid, number, sealed, comes=not self.in_order)
        else:
            self.store.remove_pending(self.uid, number)
            self._absorb(self._row(pending), value, pending.person)
        return "reward"

    def _again(self, number: int, tag: bytes, pending: Pending | None) -> str:
        closed: Closed | None = self.store.closed(self.uid, number)
        if closed is not None and closed.how == "reward":
            if closed.tag is not None and same(closed.tag, tag):
                return "reward"
            raise AlreadyClosed(
                "Expected the reward this decision has had, got another: the first one counted. Nothing was changed."
            )
        why = "its time is over" if closed is None else _WHY_CLOSED.get(closed.how, closed.how)
        raise AlreadyClosed(
            f"Expected an open decision, got one that is closed: {why}. Nothing was changed.", gone=True
        )

    # People -------------------------------------------------------------------------------------------------------

    def erase(self, person: str, now: float) -> int:
        """Forget what is pending of a person; how many decisions that was. The count of rounds stays, as a hash."""
        self.check_there()
        if self.people is None:
            raise BadInput(
                "Expected a deployment that knows persons, got one whose unit is the round: it knows nobody."
            )
        self.flush()
        found = [
            pending
            for pending in self.store.pending_of(self.uid, self.secret.person(person))
            if not self._was_erased(pending)
        ]
        for pending in found:
            if self.in_order:
                # Its place in the order stays, and counts for its person: with the arm where there is a list, else as
                # a row of zeros. Otherwise everybody's later rows would move.
                kept = self.sealer.open(b"p%d" % pending.number, pending.record) if self.live.list is not None else b""
                self.store.blank(self.uid, pending.number, self.sealer.seal(b"p%d" % pending.number, kept))
            else:
                self.store.remove_pending(self.uid, pending.number)
            self.store.close(self.uid, pending.number, "erased", None, pending.closes + self.asked.closes_after)
        self.store.remove_client_keys(self.uid, [pending.number for pending in found])
        return len(found)

    def _was_erased(self, pending: Pending) -> bool:
        return self.in_order and pending.reward is None and self.store.closed(self.uid, pending.number) is not None


def _id_at(ids: Sequence[str] | None, place: int) -> str:
    return str(place) if ids is None else ids[place]


def _refuse_unfit(rows: Floats, where: str) -> None:
    """Unless all numbers can be learned: here, and not where it would be found out after something was written."""
    fits = np.abs(rows) <= LARGEST
    if not fits.all():
        row, feature = divmod(int(np.argmin(fits)), rows.shape[1])
        place = where.format(row=row, feature=feature)
        raise BadInput(f"Expected {place} to be a finite number within 1e100 of zero, got another.").about(place)
