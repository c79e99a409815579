"""Files that are encrypted, authenticated, written all or nothing, and count how often they have been used.

    "tacit checkpoint\\n" | length of header | header (JSON, readable) | nonce | ciphertext and tag (AES-256-GCM)

All before the nonce is authenticated with the ciphertext: a header can be read without the key and not changed without
it. Why GCM, why a lock file and what a use count can and cannot know: docs/decisions/0009-checkpoints-and-forks.md.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tacit._validate import whole
from tacit.errors import BadCheckpoint, BadInput

FORMAT = 3
KEY = 32
_MAGIC = b"tacit checkpoint\n"
_LENGTH, _NONCE, _TAG = 4, 12, 16
#: What one call of AES-GCM takes, and so bytes of a payload.
_LARGEST = 2**31 - 1
MOST = _LARGEST - _TAG


@dataclass(frozen=True, kw_only=True)
class Header:
    """What can be read without the key. Nothing in it depends on people's data but `size`, and that only of states
    beyond 16 MiB, by powers of two (`core/state.py`)."""

    format: int
    tacit: str  # the version that wrote it
    policy: str
    dim: int
    checkpoint: str  # an id, the same for all copies of a file
    uses: int  # learners that have gone on from it
    size: int  # bytes of the payload: a file cut short is told from one that was changed


def new_key() -> bytes:
    """A fresh key for `checkpoint` and `resume`: 32 random bytes. Keep it apart from the files."""
    return secrets.token_bytes(KEY)


def check_key(key: object) -> bytes:
    """The key, if it is one. It never appears in a message."""
    if not isinstance(key, bytes | bytearray):
        raise BadInput(
            f"Expected key to be {KEY} bytes, got {type(key).__name__}. A passphrase is no key: "
            "make one with tacit.new_key()."
        )
    if len(key) != KEY:
        raise BadInput(f"Expected key to be {KEY} bytes, got {len(key)}. Make one with tacit.new_key().")
    return bytes(key)


def seal(header: Header, payload: bytes, key: bytes) -> bytes:
    """The bytes of a file, under a nonce never used before."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(payload) > _LARGEST - _TAG:
        raise BadInput(f"Expected a state below 2 GiB, got {len(payload):,} bytes: more than one seal can hold.")
    text = json.dumps(asdict(header)).encode()
    open_part = _MAGIC + len(text).to_bytes(_LENGTH) + text
    nonce = secrets.token_bytes(_NONCE)
    return open_part + nonce + AESGCM(key).encrypt(nonce, payload, open_part)


def unseal(data: bytes, key: bytes) -> tuple[Header, bytes]:
    """Header and payload, if not a bit of either has been changed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    header, at = read_header(data)
    expected = at + _NONCE + header.size + _TAG
    if len(data) < expected:
        raise BadCheckpoint(
            f"Expected a checkpoint of {expected:,} bytes, got {len(data):,}: it was cut short. Use an intact copy."
        )
    nonce, sealed = data[at : at + _NONCE], data[at + _NONCE :]
    try:
        return header, AESGCM(key).decrypt(nonce, sealed, data[:at])
    except InvalidTag:
        raise BadCheckpoint(
            "Expected a checkpoint sealed with this key, got one that does not open: the key is wrong, or the file was "
            "changed (encryption cannot tell the two apart). Use the key it was written with, or an intact copy."
        ) from None


def read_header(data: bytes) -> tuple[Header, int]:
    """The header, not yet authenticated, and where it ends."""
    if not data.startswith(_MAGIC):
        if data and _MAGIC.startswith(data):
            raise _cut_short(len(data))
        raise BadCheckpoint("Expected a checkpoint of tacit, got a file that is none. Check the path.")
    start = len(_MAGIC) + _LENGTH
    end = start + int.from_bytes(data[len(_MAGIC) : start])
    if len(data) < max(start, end):
        raise _cut_short(len(data))
    try:
        found = json.loads(data[start:end])
        made = found["format"]
    except (ValueError, TypeError, LookupError):
        raise _unreadable() from None
    if isinstance(made, int) and made > FORMAT:
        raise BadCheckpoint(
            f"Expected a checkpoint of format {FORMAT}, got format {made}, of a newer tacit. Upgrade tacit."
        )
    if isinstance(made, int) and made < FORMAT:
        raise BadCheckpoint(
            f"Expected a checkpoint of format {FORMAT}, got format {made}, whose clock ran otherwise. Resume it "
            "with the tacit that wrote it, or start a new learner: its budget adds to what the old one has spent."
        )
    try:
        header = Header(**found)
        for field in fields(header):
            if type(getattr(header, field.name)).__name__ != field.type:
                raise TypeError(field.name)
        for name in ("format", "uses", "size"):
            whole(name, getattr(header, name), low=0)
    except (TypeError, BadInput):
        raise _unreadable() from None
    return header, end


def _cut_short(size: int) -> BadCheckpoint:
    return BadCheckpoint(f"Expected a whole checkpoint, got {size} bytes of one: it was cut short. Use an intact copy.")


def _unreadable() -> BadCheckpoint:
    return BadCheckpoint(
        "Expected a checkpoint, got one whose header cannot be read: it was changed. Use an intact copy."
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with `path`, among all processes that see the same folder.

    A lock file, made only if there is none: it holds on network folders too, where `flock` may do nothing. One left
    behind by a process that died refuses everybody, which is the safe way to be wrong.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise BadCheckpoint(
            f"Expected to be alone with {path}, got a lock file beside it: somebody else is reading or writing it. Try "
            f"again; if it stays and no process is at work, remove {lock}."
        ) from None
    try:
        os.close(handle)
        yield
    finally:
        lock.unlink(missing_ok=True)


def write(path: Path, data: bytes, *, of_folder: bool = False) -> None:
    """Put `data` at `path`, readable by its owner alone, all of it or nothing, and on the disk before it returns.

    What an administrator writes in place of a file stays its owner's; with `of_folder` a new file is the owner's of its
    folder.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            if path.exists() or of_folder:
                belong(file.fileno(), path if path.exists() else path.parent)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":  # elsewhere a folder cannot be opened, and need not be
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def belong(handle: int, like: Path) -> None:
    """Give an open file to the owner of another, or of a folder: where an administrator has made it."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        owner = like.stat()
        if owner.st_uid:
            os.fchown(handle, owner.st_uid, owner.st_gid)


def withdraw(path: Path, checkpoint: str) -> None:
    """Remove the file at `path` if it is this checkpoint, and nothing else."""
    try:
        if read_header(path.read_bytes())[0].checkpoint == checkpoint:
            path.unlink()
    except (OSError, BadCheckpoint):
        pass
