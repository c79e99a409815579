"""Who has had how many rows: what turns a promise about rounds into one about persons.

The price of a person with at most k rows holds if no more than k rows of a person are ever summed. Which rows those are
may depend on who came, how often and in which segment, and on nothing else: a choice that looked at what is in a row
would itself say something about it.
"""

from __future__ import annotations

import hashlib
import numbers
import os
from typing import Any

import numpy as np

from tacit.errors import BadInput

#: Bytes kept of a person. Two persons who share a token have rows dropped, never added: it costs learning, not privacy.
TOKEN = 16


class People:
    """How many rows each person has had, of at most `limit`; with `one_per_segment` at most one in each segment.

    Ids are not kept. A person is a keyed hash under a secret of this learner, so the table alone, out of a core dump
    or a checkpoint, does not say who came.
    """

    def __init__(self, limit: int, one_per_segment: bool = False, *, secret: bytes | None = None) -> None:
        self.limit = limit
        self.one_per_segment = one_per_segment
        # From the operating system in a seeded learner too: nothing anyone can see depends on it.
        self._secret = os.urandom(32) if secret is None else secret
        self._rows: dict[bytes, int] = {}
        self._last: dict[bytes, int] = {}  # segment of the last row learned; empty without `one_per_segment`

    def __len__(self) -> int:
        return len(self._rows)

    def token(self, person: object) -> bytes:
        """What is kept of a person's id. 1, "1" and b"1" are three persons."""
        if isinstance(person, str):
            tagged = b"s" + person.encode("utf-8", "surrogatepass")
        elif isinstance(person, bytes):
            tagged = b"b" + person
        elif isinstance(person, numbers.Integral) and not isinstance(person, bool):
            tagged = b"i%d" % int(person)
        else:
            # The value stays out of the message: whatever it is, it was meant to name somebody.
            raise BadInput(f"Expected person to be a str, an int or bytes, got {type(person).__name__}.")
        return hashlib.blake2b(tagged, digest_size=TOKEN, key=self._secret).digest()

    def admit(self, person: str | int | bytes, segment: int) -> bool:
        """Whether this row of the person is learned; if so it is counted."""
        return self.admit_token(self.token(person), segment)

    def admit_token(self, token: bytes, segment: int) -> bool:
        """`admit`, for a person known by token."""
        rows = self._rows.get(token, 0)
        if rows >= self.limit or (self.one_per_segment and self._last.get(token) == segment):
            return False
        self._rows[token] = rows + 1
        if self.one_per_segment:
            self._last[token] = segment
        return True

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Everything, as plain arrays."""
        return {
            "secret": np.frombuffer(self._secret, np.uint8),
            "tokens": np.frombuffer(b"".join(self._rows), np.uint8).reshape(-1, TOKEN),
            "rows": np.array(list(self._rows.values()), np.int64),
            "last": np.array([self._last[token] for token in self._rows] if self.one_per_segment else [], np.int64),
        }

    @classmethod
    def from_arrays(cls, limit: int, one_per_segment: bool, arrays: dict[str, np.ndarray[Any, Any]]) -> People:
        """The people that `arrays` described."""
        people = cls(limit, one_per_segment, secret=arrays["secret"].tobytes())
        tokens = [row.tobytes() for row in arrays["tokens"]]
        people._rows = dict(zip(tokens, arrays["rows"].tolist(), strict=True))
        if one_per_segment:
            people._last = dict(zip(tokens, arrays["last"].tolist(), strict=True))
        return people
