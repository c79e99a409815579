"""Opening a store: is it the one it was, may we read it, and what does it cost if it is not."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path

from tacit.errors import StoreRefused, StoreUnavailable
from tacit.service import chain, settings, standing
from tacit.service.database import connect, exists, file_of
from tacit.service.deciding import Deciding
from tacit.service.reporting import Reporting
from tacit.service.sealing import Sealer
from tacit.service.standing import Standing
from tacit.service.store import Deployment, Store
from tacit.service.witness import Witness, check, tidy

#: Entries at the end of the ledger that every start looks at, in half a second; `tacit ledger verify` looks at all.
_LOOKED_AT = 100_000


@dataclass
class Opened:
    """An open store, and what was found in it."""

    store: Store
    master: bytes | None
    witness: Path
    fresh: bool = False  #: it was made just now
    deployments: dict[str, Standing] = field(default_factory=dict)


def default_witness(url: str) -> Path:
    """Where the witness of a store lies unless told otherwise: beside it."""
    if url.startswith(("postgresql://", "postgres://")):
        return Path("tacit.witness")
    path = file_of(url)
    return path.with_name(path.name + ".witness")


def open_store(
    url: str,
    *,
    key: bytes | None,
    witness: Path | None = None,
    create: bool = True,
    fork: bool = False,
    anyway: bool = False,
) -> Opened:
    """Open or make a store: refused if it was restored or copied, unless `fork` accepts the price. A store that is what
    its witness says is forked only `anyway`. Without `create` there must be one."""
    if not create and not exists(url):
        raise _none(url)
    store = Store(connect(url))
    path = default_witness(url) if witness is None else witness
    try:
        store.db.begin()
        store.prepare()
        fresh = store.meta("epoch") == "0"
        if fresh and not create:
            raise _none(url)
        _check_key(store, key, fresh=fresh)
        if fork:
            _check_fork(store, path, anyway=anyway)
        else:
            check(store, path, fresh=fresh)
        chain.verify(store, last=_LOOKED_AT)
        opened = Opened(store, key, path, fresh)
        for row in store.deployments():
            opened.deployments[row.name] = found = make(store, row, key)
            _load(found)
        if fork:
            _fork(opened)
        for found in opened.deployments.values():
            found.secret = found.secret.turned(found.made)
            store.set_starts(found.uid, found.secret.written)
        store.set_meta("epoch", str(int(store.meta("epoch") or 0) + 1))
        store.db.commit()
        Witness.of(store).save(path)
        tidy(path)
    except BaseException:
        store.db.rollback()
        store.db.close()
        raise
    return opened


def _load(found: Standing) -> None:
    """Read a deployment. A mistake of its own keeps nobody else from being served; a record that does not open does."""
    try:
        found.load()
    except (StoreRefused, StoreUnavailable):
        raise
    except Exception as problem:
        found.stand_still(problem)


def _none(url: str) -> StoreRefused:
    where = "in that database" if "://" in url and not url.startswith("sqlite") else f"at {url}"
    return StoreRefused(
        f"Expected a store {where}, got none. Check --store; `tacit serve` makes a new one. Nothing was changed."
    )


def make(store: Store, row: Deployment, master: bytes | None) -> Standing:
    """The deployment of a row, with nothing read but the row."""
    sealer, shared = Sealer(master, row.uid), not store.db.inline
    config = settings.Asked.from_json(row.settings).config()
    kind = Deciding if settings.takes(config) == "decisions" else Reporting
    return kind(store, row, sealer, shared=shared)


def _check_key(store: Store, key: bytes | None, *, fresh: bool) -> None:
    """A store is sealed from its first day or never: a key that came later would leave old records open."""
    probe = Sealer(key, "store")
    if fresh:
        store.set_meta("probe", probe.seal(b"probe", b"tacit").hex())
        return
    stored = bytes.fromhex(store.meta("probe") or "")
    if key is not None and stored[:1] == b"\x00":
        raise StoreRefused(
            "Expected a store that is sealed, got one that was made without a key. Start it without a key, or begin a "
            "new store with one: old records would stay readable."
        )
    probe.open(b"probe", stored)


def _check_fork(store: Store, path: Path, *, anyway: bool) -> None:
    """A fork costs privacy for good: only where the store is refused without it, or the operator knows of a copy. And
    it writes a witness: never over that of another store."""
    seen = Witness.load(path)
    own = {store.meta("id"), *json.loads(store.meta("before") or "[]")}
    if seen is not None and not own & {seen.store, *seen.before}:
        raise StoreRefused(
            f"Expected the witness of this store at {path}, or none, got that of another store. Give each store a "
            "witness of its own with --witness. Nothing was changed."
        )
    try:
        check(store, path, fresh=False)
    except StoreRefused:
        return
    if not anyway:
        raise StoreRefused(
            "Expected a store that was restored or copied, got the one that its witness has seen last: a fork would "
            "raise what its people are told for nothing. If a copy of it has gone on elsewhere, use --anyway. Nothing "
            "was changed."
        )


def _fork(opened: Opened) -> None:
    """One copy more of everything, in the ledger and on the cards. What a restored store does not know of, its witness
    may: it is one more than either has counted."""
    store, seen = opened.store, Witness.load(opened.witness)
    known = json.loads(store.meta("copies") or "{}")
    if seen is not None:
        known = {uid: max(known.get(uid, 1), seen.copies.get(uid, 1)) for uid in {**known, **seen.copies}}
    for found in opened.deployments.values():
        copies = known[found.uid] = max(found.copies, known.get(found.uid, 1)) + 1
        store.set_copies(found.uid, copies)
        found.copies = copies
        guarantee = found.guarantee
        facts = {
            "copies": copies,
            "epsilon": standing.finite_epsilon(guarantee),
            "delta": guarantee.delta if guarantee.private else None,
            "witness": None if seen is None else {"epoch": seen.epoch, "seq": seen.seq, "head": seen.head},
        }
        chain.append(store, found.uid, "forked", facts, time.time())
    # Whoever went on elsewhere keeps the old id: the two stores are told apart from now on.
    before = [*json.loads(store.meta("before") or "[]"), store.meta("id")]
    if seen is not None:
        before = [*seen.before, seen.store, *before]
    store.set_meta("copies", json.dumps(known))
    store.set_meta("before", json.dumps(list(dict.fromkeys(before))))
    store.set_meta("id", secrets.token_hex(16))
    epoch = max(int(store.meta("epoch") or 0), 0 if seen is None else seen.epoch)
    store.set_meta("epoch", str(epoch))
