"""Public-key sealing by a standard that every language has: HPKE (RFC 9180), base mode, one message per key exchange.

    suite   DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM
    sealed  sender's one-time public key (32 bytes) | ciphertext | tag (16 bytes)

Everybody can seal to a public key, and only its holder can open. A sealed text can be neither changed nor spelled anew:
the keys are derived from the exact bytes of the one-time public key, so that even its idle bit counts. It does not say
who sealed it: that is what a report is to keep to itself.

The `cryptography` package has HPKE in its newest releases only; the key schedule is therefore written out here, from
its X25519 and AES-GCM. A test holds the two against each other.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

#: Bytes of a key, public or private, and what sealing adds to a text.
KEY: Final = 32
OVERHEAD: Final = 48

_KEM = b"KEM\x00\x20"
_SUITE = b"HPKE\x00\x20\x00\x01\x00\x02"
_NONCE = 12


def new_private() -> bytes:
    """A fresh private key."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.generate().private_bytes_raw()


def public_of(private: bytes) -> bytes:
    """The public key of a private one."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def seal(public: bytes, plain: bytes, *, info: bytes, bound: bytes, once: bytes | None = None) -> bytes:
    """`plain` for the holder of `public` alone; opens only with the same `info` and `bound`.

    `once` is the private key of this one message: fresh unless a golden message is written.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    private = new_private() if once is None else once
    enclosed = public_of(private)
    key, nonce = _schedule(_exchange(private, public), enclosed, public, info)
    return enclosed + AESGCM(key).encrypt(nonce, plain, bound)


def open_sealed(private: bytes, public: bytes, sealed: bytes, *, info: bytes, bound: bytes) -> bytes | None:
    """What was sealed to this key pair with this `info` and `bound`; None if it was not, or has been changed since."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(sealed) < OVERHEAD:
        return None
    enclosed, text = sealed[:KEY], sealed[KEY:]
    try:
        key, nonce = _schedule(_exchange(private, enclosed), enclosed, public, info)
        return AESGCM(key).decrypt(nonce, text, bound)
    except (InvalidTag, ValueError):  # a ValueError: a public key that leads to no secret
        return None


def _exchange(private: bytes, public: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))


def _schedule(secret: bytes, enclosed: bytes, public: bytes, info: bytes) -> tuple[bytes, bytes]:
    """Key and nonce: ExtractAndExpand of Section 4.1, then KeySchedule of Section 5.1 in base mode."""
    shared = _expand(_KEM, _extract(_KEM, b"", b"eae_prk", secret), b"shared_secret", enclosed + public, 32)
    context = b"\x00" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    base = _extract(_SUITE, shared, b"secret", b"")
    return _expand(_SUITE, base, b"key", context, KEY), _expand(_SUITE, base, b"base_nonce", context, _NONCE)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand with its label; all that is asked for here fits into its first block of 32 bytes."""
    told = length.to_bytes(2) + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, told + b"\x01", hashlib.sha256)[:length]
