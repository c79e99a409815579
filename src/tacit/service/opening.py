"""Opening a store: is it the one it was, may we read it, and what does it cost if it is not."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path

from tacit.errors import StoreRefused
from tacit.service import chain, settings, standing
from tacit.service.database import connect
from tacit.service.deciding import Deciding
from tacit.service.reporting import Reporting
from tacit.service.sealing import Sealer, Secret
from tacit.service.standing import Standing
from tacit.service.store import Deployment, Store
from tacit.service.witness import Witness, check, tidy


@dataclass
class Opened:
    """An open store, and what was found in it."""

    store: Store
    master: bytes | None
    witness: Path
    deployments: dict[str, Standing] = field(default_factory=dict)


def default_witness(url: str) -> Path:
    """Where the witness of a store lies unless told otherwise: beside it."""
    if url.startswith(("postgresql://", "postgres://")):
        return Path("tacit.witness")
    path = Path(url.removeprefix("sqlite:///").removeprefix("sqlite://"))
    return path.with_name(path.name + ".witness")


def open_store(url: str, *, key: bytes | None, witness: Path | None = None, fork: bool = False) -> Opened:
    """Open or make a store: refused if it was restored or copied, unless `fork` accepts the price."""
    store = Store(connect(url))
    path = default_witness(url) if witness is None else witness
    try:
        store.db.begin()
        store.prepare()
        fresh = store.meta("epoch") == "0"
        _check_key(store, key, fresh=fresh)
        if not fork:
            check(store, path, fresh=fresh)
        chain.verify(store)
        opened = Opened(store, key, path)
        for row in store.deployments():
            found = make(store, row, key)
            found.load()
            opened.deployments[row.name] = found
        if fork:
            _fork(opened)
        store.set_meta("epoch", str(int(store.meta("epoch") or 0) + 1))
        store.db.commit()
        Witness.of(store).save(path)
        tidy(path)
    except BaseException:
        store.db.rollback()
        store.db.close()
        raise
    return opened


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


def _fork(opened: Opened) -> None:
    """One copy more of everything, in the ledger and on the cards."""
    store = opened.store
    try:
        seen = Witness.load(opened.witness)
    except StoreRefused:  # a file that is no witness: that it is none is what is being accepted
        seen = None
    for found in opened.deployments.values():
        copies = found.copies + 1
        starts = [*found.secret.starts, found.made]
        store.set_copies(found.uid, copies, json.dumps(starts))
        found.copies, found.secret = copies, Secret(found.secret.root, starts)
        guarantee = found.guarantee
        facts = {
            "copies": copies,
            "epsilon": standing.finite_epsilon(guarantee),
            "delta": guarantee.delta if guarantee.private else None,
            "witness": None if seen is None else {"epoch": seen.epoch, "seq": seen.seq, "head": seen.head},
        }
        chain.append(store, found.uid, "forked", facts, time.time())
    # Whoever went on elsewhere keeps the old id: the two stores are told apart from now on.
    store.set_meta("id", secrets.token_hex(16))
    epoch = max(int(store.meta("epoch") or 0), 0 if seen is None else seen.epoch)
    store.set_meta("epoch", str(epoch))
