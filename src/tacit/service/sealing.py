"""What is written to the store, and under which key.

With a master key everything secret (vault, pending decisions, the deployment's own secret) is sealed with AES-256-GCM
under a key of the deployment (HKDF of the master key); without one it lies there as it is, readable by the owner of the
file. Persons and client keys are stored as keyed hashes in both cases, under a secret of the deployment, so that two
deployments cannot be joined.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import secrets
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.core.decisions import identity_of, number_of
from tacit.core.sealed import KEY, check_key
from tacit.errors import BadInput, StoreRefused

#: The environment's name for the master key, as 64 hexadecimal digits.
KEY_VARIABLE = "TACIT_STORE_KEY"

_NONCE = 12
_OPEN, _SEALED = b"\x00", b"\x01"
#: Bytes of a keyed hash: of a person, a client's key, a reward.
TOKEN = 16
#: Keys of ids that are remembered: one for every start between which there were decisions.
_MOST_STARTS = 1000


def read_key(path: Path | None) -> bytes | None:
    """The master key: from a file (32 bytes, or 64 hexadecimal digits), else from the environment, else none."""
    if path is not None:
        try:
            data = path.read_bytes()
        except OSError as problem:
            raise BadInput(
                f"Expected a key in {path}, got: {problem.strerror}. Make one with `tacit serve --new-key {path}`."
            ) from None
        return data if len(data) == KEY else _from_text(data.decode("ascii", "replace"), str(path))
    text = os.environ.get(KEY_VARIABLE)
    return None if not text else _from_text(text, KEY_VARIABLE)


def _from_text(text: str, where: str) -> bytes:
    try:
        return check_key(bytes.fromhex(text.strip()))
    except ValueError:
        raise BadInput(
            f"Expected a key of {KEY} bytes, or as {2 * KEY} hexadecimal digits, in {where}, got something else. "
            "Make one with `tacit serve --new-key FILE`."
        ) from None


class Sealer:
    """Seals what belongs to one owner (a deployment, or the store itself)."""

    def __init__(self, master: bytes | None, owner: str) -> None:
        self._owner = owner.encode()
        self._aead = None
        if master is not None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            from cryptography.hazmat.primitives.hashes import SHA256
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF

            self._aead = AESGCM(HKDF(SHA256(), KEY, None, b"tacit store " + self._owner).derive(master))

    def seal(self, what: bytes, data: bytes) -> bytes:
        """The bytes to store. `what` says what they are and where they belong: elsewhere they do not open."""
        if self._aead is None:
            return _OPEN + data
        nonce = secrets.token_bytes(_NONCE)
        return _SEALED + nonce + self._aead.encrypt(nonce, data, self._owner + b"/" + what)

    def open(self, what: bytes, stored: bytes) -> bytes:
        """What was sealed. With a key nothing else is taken: whoever can write to the store, and has no key, could
        otherwise put sums and noise of their own in it."""
        if self._aead is None and stored[:1] == _OPEN:
            return stored[1:]
        if self._aead is None:
            raise StoreRefused(
                "Expected the key this store is sealed with, got none. Give --key-file, or set " + KEY_VARIABLE + "."
            )
        from cryptography.exceptions import InvalidTag

        try:
            nonce = stored[1 : 1 + _NONCE]
            return self._aead.decrypt(nonce, stored[1 + _NONCE :], self._owner + b"/" + what)
        except (InvalidTag, ValueError):  # the latter of one that was cut short
            raise StoreRefused(
                "Expected a record sealed with this key, got one that does not open: the key is wrong, or the store "
                "was changed. Use the key it was written with, or an intact store."
            ) from None


class Secret:
    """The secret of one deployment: what ids are made of, and what persons, client keys, chosen actions and rewards
    are hashed with."""

    def __init__(self, root: bytes, starts: Sequence[Sequence[Any]]) -> None:
        self.root = root
        #: With which decision each key of ids began, and the name of that key.
        self.starts = tuple((int(start), str(name)) for start, name in starts)
        self._people, self._keys, self._rewards, self._actions = (
            self._derived(what) for what in (b"people", b"keys", b"rewards", b"actions")
        )
        self._ids = [self._derived(b"ids " + name.encode()) for _, name in self.starts]
        self.written = json.dumps(self.starts)

    def _derived(self, purpose: bytes) -> bytes:
        return hashlib.blake2b(purpose, key=self.root, digest_size=32).digest()

    @classmethod
    def new(cls) -> Secret:
        return cls(secrets.token_bytes(32), [(0, secrets.token_hex(8))])

    @classmethod
    def read(cls, root: bytes, starts: str) -> Secret:
        """With the starts as `written`."""
        return cls(root, json.loads(starts))

    def turned(self, made: int) -> Secret:
        """With a new key for the ids from decision `made` on.

        A store that was copied and goes on must not give the ids that were given elsewhere: a late reward would close
        somebody else's decision. So every start turns to a new key. Keys of which no decision was made are replaced,
        and the oldest are forgotten, with their decisions.
        """
        kept = [one for one in self.starts if one[0] < made][-(_MOST_STARTS - 1) :]
        return Secret(self.root, [*kept, (made, secrets.token_hex(8))])

    def identity(self, number: int) -> str:
        """The id of the decision of this number: it tells nothing about it, and stays the same for ever."""
        place = len(self.starts) - 1
        while place and self.starts[place][0] > number:
            place -= 1
        return identity_of(self._ids[place], number)

    def number(self, identity: str) -> int | None:
        """The number of the decision of this id; None if no id of this deployment looks like that."""
        end: float = math.inf
        for key, (start, _) in zip(reversed(self._ids), reversed(self.starts), strict=True):
            found = number_of(key, identity)
            if found is not None and start <= found < end:
                return found
            end = start
        return None

    def person(self, person: str) -> bytes:
        """What is kept of a person's id."""
        return self._hash(self._people, person.encode("utf-8", "surrogatepass"))

    def client_key(self, key: str) -> bytes:
        """What is kept of a client's key."""
        return self._hash(self._keys, key.encode("utf-8", "surrogatepass"))

    def choice(self, number: int, person: bytes | None, action: str) -> bytes:
        """What is kept under a client's key of whose decision it was and which action it chose: enough to find it
        again, and another for the same action elsewhere."""
        whose = b"" if person is None else person
        data = struct.pack("<QQ", number, len(whose)) + whose + action.encode("utf-8", "surrogatepass")
        return self._hash(self._actions, data)

    def reward(self, number: int, value: float) -> bytes:
        """What is kept of a reward: enough to tell the same one from another."""
        return self._hash(self._rewards, struct.pack("<Qd", number, value + 0.0))

    @staticmethod
    def _hash(key: bytes, data: bytes) -> bytes:
        return hashlib.blake2b(data, key=key, digest_size=TOKEN).digest()


def same(left: bytes, right: bytes) -> bool:
    """Whether two hashes are equal, in constant time."""
    return hmac.compare_digest(left, right)
