"""The books of decisions that wait for their reward.

A reward counted twice would be two rows of one round, which the price of one round does not cover. So every decision is
closed exactly once: by its first reward, or by expiring as a row of zeros.

Only open decisions are kept, and where rows are learned in order those whose turn has not come. An id has the number
of its decision under a keyed hash, so an id that is genuine and not open has been closed before: telling "closed" from
"never heard of" takes no memory.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from tacit._types import Floats
from tacit.core.people import TOKEN
from tacit.errors import AlreadyClosed, BadInput, UnknownDecision

#: An id is 128 bits: a tag that nobody can guess, and the decision's number masked by it.
_TAG, _NUMBER = 10, 6


@dataclass(frozen=True)
class Decision:
    """An arm to take, and the id under which its reward is to be reported."""

    id: str
    arm: int


@dataclass(slots=True)
class Pending:
    """What must be remembered until a decision is learned from. Vault: it is a person's context, and reward."""

    number: int
    x: Floats
    person: bytes | None  # a token, never an id
    open: bool = True
    reward: float = 0.0  # as it came; zero until then


class Decisions:
    """Open decisions, and closed ones that wait for their turn, in the order in which they were made."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Pending] = OrderedDict()
        self._waiting = 0  # closed ones among them
        self._made = 0
        # The last key is in use. A fork turns to a new one: its ids must not be taken for those of its siblings.
        self._keys: list[tuple[bytes, int]] = []  # (key, number of its first decision)
        self.turn_key()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._kept) - self._waiting

    @property
    def made(self) -> int:
        """How many there ever were."""
        return self._made

    def turn_key(self) -> None:
        """Issue ids under a fresh key from now on."""
        self._keys.append((secrets.token_bytes(32), self._made))

    def open(self, x: Floats, person: bytes | None) -> str:
        """Remember a decision, and give it an id."""
        number = self._made
        identity = identity_of(self._keys[-1][0], number)
        self._made = number + 1
        self._kept[identity] = Pending(number, x, person)
        return identity

    def find(self, decision: Decision | str) -> tuple[str, Pending]:
        """The open decision of this id; it stays open."""
        if not isinstance(decision, Decision | str):
            raise BadInput(
                f"Expected a Decision, as `decide` returns it, or its id, got {type(decision).__name__}. "
                "Nothing was changed."
            )
        identity = decision.id if isinstance(decision, Decision) else decision
        pending = self._kept.get(identity)
        if pending is not None and pending.open:
            return identity, pending
        if pending is not None or self._issued(identity):
            raise AlreadyClosed(
                f"Expected an open decision, got {identity}, which is closed: its first reward, or its expiry, "
                "counted. Nothing was changed; report a reward once, and in time (closes_after_decisions)."
            )
        # An unknown id may be anything, somebody's name included: it is not shown.
        raise UnknownDecision(
            "Expected the id of a decision this learner made, got one it did not make. Nothing was changed; pass on "
            "the id that `decide` returned, to the learner that made it."
        )

    def close(self, identity: str) -> None:
        """Forget a decision."""
        if not self._kept[identity].open:
            self._waiting -= 1
        del self._kept[identity]

    def keep(self, identity: str, x: Floats, reward: float) -> None:
        """Close an open decision, and remember this of it until its turn comes."""
        pending = self._kept[identity]
        pending.x, pending.reward, pending.open = x, reward, False
        self._waiting += 1

    def older_than(self, count: int) -> list[tuple[str, Pending]]:
        """Those that at least `count` others have followed, oldest first."""
        last = self._made - count
        return list(takewhile(lambda item: item[1].number < last, self._kept.items()))

    def _issued(self, identity: str) -> bool:
        end = self._made
        for key, start in reversed(self._keys):
            number = number_of(key, identity)
            if number is not None and start <= number < end:
                return True
            end = start
        return False

    def arrays(self, dim: int) -> dict[str, np.ndarray[Any, Any]]:
        """Everything, as plain arrays."""
        kept = list(self._kept.values())
        persons = [pending.person for pending in kept if pending.person is not None]
        return {
            "made": np.array([self._made], np.int64),
            "keys": np.frombuffer(b"".join(key for key, _ in self._keys), np.uint8).reshape(-1, 32),
            "starts": np.array([start for _, start in self._keys], np.int64),
            "ids": np.frombuffer(bytes.fromhex("".join(self._kept)), np.uint8).reshape(-1, _TAG + _NUMBER),
            "numbers": np.array([pending.number for pending in kept], np.int64),
            "actions": np.array([pending.x for pending in kept], np.float64).reshape(-1, dim),
            "open": np.array([pending.open for pending in kept], np.bool_),
            "rewards": np.array([pending.reward for pending in kept], np.float64),
            "persons": np.frombuffer(b"".join(persons), np.uint8).reshape(-1, TOKEN),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray[Any, Any]]) -> Decisions:
        """The books that `arrays` described."""
        books = cls()
        books._made = int(arrays["made"][0])
        keys = [row.tobytes() for row in arrays["keys"]]
        books._keys = list(zip(keys, arrays["starts"].tolist(), strict=True))
        persons: Iterator[bytes | None] = iter([row.tobytes() for row in arrays["persons"]])
        columns = (arrays[name].tolist() for name in ("numbers", "open", "rewards"))
        for packed, x, number, is_open, reward in zip(arrays["ids"], arrays["actions"], *columns, strict=True):
            books._kept[packed.tobytes().hex()] = Pending(number, x.copy(), next(persons, None), is_open, reward)
            books._waiting += not is_open
        return books


def identity_of(key: bytes, number: int) -> str:
    """The id of a decision by its number."""
    # The tag is the nonce of the mask, so an id looks random throughout: it does not tell how many came before.
    tag = _tag(key, number)
    return (tag + (number ^ _mask(key, tag)).to_bytes(_NUMBER)).hex()


def number_of(key: bytes, identity: str) -> int | None:
    """The number of the decision of this id; None if it was not issued under this key."""
    try:
        packed = bytes.fromhex(identity)
    except ValueError:
        return None
    if len(packed) != _TAG + _NUMBER or packed.hex() != identity:
        return None
    number = int.from_bytes(packed[_TAG:]) ^ _mask(key, packed[:_TAG])
    return number if hmac.compare_digest(packed[:_TAG], _tag(key, number)) else None


def _tag(key: bytes, number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(_NUMBER), digest_size=_TAG, key=key, person=b"tag").digest()


def _mask(key: bytes, tag: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(tag, digest_size=_NUMBER, key=key, person=b"mask").digest())
