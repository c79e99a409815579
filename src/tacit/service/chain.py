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
#: Entries in memory at a time.
_PAGE = 10_000


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


def verify(store: Store, *, last: int | None = None) -> tuple[int, str]:
    """Number and hash of the last entry of an unbroken chain; anything else is refused.

    `last`: no more than so many entries at its end are looked at. The hash of its head stands for all that came before,
    and the witness remembers it: what is not looked at can be told from what it was, here, at any time.
    """
    seq = 0 if last is None else max(0, store.head()[0] - last)
    before = store.entry_hash(seq) if seq else GENESIS
    if before is None:
        raise _broken(seq)
    while found := store.entry_texts(seq, _PAGE):
        for number, uid, text, digest in found:
            facts = _facts(text)
            if number != seq + 1 or facts.get("before") != before or digest != _digest(number, text):
                raise _broken(number)
            if facts.get("deployment") != uid:
                raise StoreRefused(f"Expected entry {number} of the ledger under its deployment, got it under another.")
            seq, before = number, digest
    return seq, before


def _facts(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}  # somebody else's words: they hold no hash of ours


def _broken(number: int) -> StoreRefused:
    return StoreRefused(
        f"Expected an unbroken ledger, got one whose entry {number} does not follow from the one before: it was "
        "changed by hand. Use an intact store."
    )


def _digest(seq: int, entry: str) -> str:
    return hashlib.sha256(f"{seq}\n{entry}".encode()).hexdigest()
