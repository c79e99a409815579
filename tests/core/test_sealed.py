"""Sealed files: not a bit can be changed, none is half-written, and two are never alone with one."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.ciphers import aead
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tacit.core.sealed import FORMAT, Header, check_key, locked, new_key, read_header, seal, unseal, withdraw, write
from tacit.errors import BadCheckpoint, BadInput

KEY = bytes(range(32))
PAYLOAD = bytes(range(256)) * 8
HEADER = Header(
    format=FORMAT, tacit="1.2.3", policy="joint-linucb", dim=5, checkpoint="ab" * 16, uses=3, size=len(PAYLOAD)
)


def test_what_is_sealed_opens_again():
    assert unseal(seal(HEADER, PAYLOAD, KEY), KEY) == (HEADER, PAYLOAD)


def test_the_header_can_be_read_without_the_key_and_the_payload_cannot():
    data = seal(HEADER, b"somebody's context" * 100, KEY)
    assert read_header(data)[0] == HEADER
    assert b"joint-linucb" in data
    assert b"context" not in data


def test_sealing_twice_never_gives_the_same_bytes():
    """A nonce used twice under one key would give away the difference of two states."""
    sealed = {seal(HEADER, PAYLOAD, KEY)[-len(PAYLOAD) - 28 :][:12] for _ in range(200)}
    assert len(sealed) == 200


def test_every_changed_byte_is_noticed():
    data = seal(HEADER, PAYLOAD, KEY)
    for at in range(len(data)):
        for flip in (1, 0x80):
            changed = bytearray(data)
            changed[at] ^= flip
            with pytest.raises(BadCheckpoint):
                unseal(bytes(changed), KEY)


def test_a_use_count_cannot_be_turned_back():
    data = seal(HEADER, PAYLOAD, KEY)
    assert data.count(b'"uses": 3') == 1
    with pytest.raises(BadCheckpoint, match="the key is wrong, or the file was changed"):
        unseal(data.replace(b'"uses": 3', b'"uses": 0'), KEY)


class HeaderLeftOut:
    """A broken twin of the cipher: what is given as associated data is not authenticated."""

    def __init__(self, key):
        self._cipher = AESGCM(key)

    def encrypt(self, nonce, payload, _header):
        return self._cipher.encrypt(nonce, payload, None)

    def decrypt(self, nonce, sealed, _header):
        return self._cipher.decrypt(nonce, sealed, None)


def test_a_twin_that_leaves_out_the_header_would_let_it_be_turned_back(monkeypatch):
    monkeypatch.setattr(aead, "AESGCM", HeaderLeftOut)
    data = seal(HEADER, PAYLOAD, KEY)
    assert unseal(data.replace(b'"uses": 3', b'"uses": 0'), KEY)[0].uses == 0


def test_every_cut_is_noticed_and_so_is_an_addition():
    data = seal(HEADER, PAYLOAD, KEY)
    for size in range(1, len(data)):
        with pytest.raises(BadCheckpoint, match="cut short"):
            unseal(data[:size], KEY)
    for other in (b"", data + b"\0", b"PK" + data):
        with pytest.raises(BadCheckpoint):
            unseal(other, KEY)


def test_a_wrong_key_is_refused_and_not_shown():
    data = seal(HEADER, PAYLOAD, KEY)
    for wrong in (new_key(), bytes(32), KEY[::-1]):
        with pytest.raises(BadCheckpoint, match="the key is wrong, or the file was changed") as caught:
            unseal(data, wrong)
        assert wrong.hex() not in str(caught.value)
        assert repr(wrong) not in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"hello", b"[]", b'{"format": 1}', b"\x93NUMPY" * 50, os.urandom(500)])
def test_what_is_no_checkpoint_is_told_so(text):
    with pytest.raises(BadCheckpoint, match="got a file that is none"):
        unseal(text, KEY)


def test_a_newer_format_is_told_so():
    with pytest.raises(BadCheckpoint, match=f"got format {FORMAT + 1}, of a newer tacit. Upgrade tacit"):
        unseal(seal(replace(HEADER, format=FORMAT + 1), PAYLOAD, KEY), KEY)


def test_an_earlier_format_is_told_so_and_what_to_do():
    with pytest.raises(BadCheckpoint, match=r"got format 2, whose clock ran otherwise\. Resume it with the tacit"):
        unseal(seal(replace(HEADER, format=2), PAYLOAD, KEY), KEY)


OTHER_HEADERS = [
    [],
    7,
    {},
    {"format": "1"},
    {"format": FORMAT},
    *({**HEADER.__dict__, **change} for change in ({"more": 1}, {"uses": -1}, {"dim": True}, {"policy": 3})),
]


@pytest.mark.parametrize("found", OTHER_HEADERS, ids=range(len(OTHER_HEADERS)))
def test_a_header_of_another_shape_is_refused(found):
    text = json.dumps(found).encode()
    with pytest.raises(BadCheckpoint, match="header cannot be read"):
        read_header(b"tacit checkpoint\n" + len(text).to_bytes(4) + text)


def test_a_key_is_32_bytes_and_nothing_else():
    assert len(new_key()) == 32
    assert new_key() != new_key()
    assert check_key(bytearray(KEY)) == KEY
    for wrong in ("secret-passphrase", "x" * 32, None, 7, list(KEY)):
        with pytest.raises(BadInput, match=r"Expected key to be 32 bytes, got \w+\. A passphrase is no key") as caught:
            check_key(wrong)
        assert "secret" not in str(caught.value)
    with pytest.raises(BadInput, match="Expected key to be 32 bytes, got 16"):
        check_key(bytes(16))


def test_a_file_is_written_for_its_owner_alone(tmp_path):
    path = tmp_path / "file"
    write(path, b"one")
    write(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write(path, b"one")

    def fail(*_):
        raise OSError("disk full")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="disk full"):
                write(path, b"two")
        assert path.read_bytes() == b"one"
        assert list(tmp_path.iterdir()) == [path]


def test_a_lock_keeps_others_out_and_says_what_to_do(tmp_path):
    path = tmp_path / "file"
    with locked(path):
        with (
            pytest.raises(BadCheckpoint, match=r"if it stays and no process is at work, remove .*file\.lock"),
            locked(path),
        ):
            pass
        assert (tmp_path / "file.lock").exists(), "whoever was refused must not remove the lock of another"
    with locked(path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_lock_goes_with_its_owner_even_after_an_error(tmp_path):
    def broken():
        with locked(tmp_path / "file"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert not list(tmp_path.iterdir())


def test_withdrawing_removes_this_checkpoint_and_nothing_else(tmp_path):
    path, other = tmp_path / "mine", tmp_path / "other"
    write(path, seal(HEADER, PAYLOAD, KEY))
    write(other, b"something else")
    withdraw(other, HEADER.checkpoint)
    withdraw(path, "cd" * 16)
    withdraw(tmp_path / "none", HEADER.checkpoint)
    assert len(list(tmp_path.iterdir())) == 2
    withdraw(path, HEADER.checkpoint)
    assert list(tmp_path.iterdir()) == [other]
