"""The ledger: append-only, every entry holding the hash of the one before. It says what was charged and released.

A row of people's data appears in it nowhere; the fingerprint of a view is that of something published.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tacit.errors import StoreRefused
from tacit.service.store import Store

#: Where a chain begins.
GENESIS = "0" * 64


def append(store: Store, uid: str, kind: str, facts: dict[str, Any], now: float) -> tuple[int, str]:
    """One more entry; its number and hash. In the transaction of what it is about."""
    seq, before = store.head()
    entry = json.dumps(
        {"kind": kind, "deployment": uid, "time": round(now, 3), **facts, "before": before},
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )
    digest = _digest(seq + 1, entry)
    store.add_entry(seq + 1, uid, entry, digest)
    return seq + 1, digest


def verify(store: Store) -> tuple[int, str]:
    """Number and hash of the last entry of an unbroken chain; anything else is refused."""
    before = GENESIS
    seq = 0
    for number, uid, facts, digest in store.entries():
        entry = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if number != seq + 1 or facts.get("before") != before or digest != _digest(number, entry):
            raise StoreRefused(
                f"Expected an unbroken ledger, got one whose entry {number} does not follow from the one before: it "
                "was changed by hand. Use an intact store."
            )
        if facts.get("deployment") != uid:
            raise StoreRefused(f"Expected entry {number} of the ledger under its deployment, got it under another.")
        seq, before = number, digest
    return seq, before


def _digest(seq: int, entry: str) -> str:
    return hashlib.sha256(f"{seq}\n{entry}".encode()).hexdigest()
