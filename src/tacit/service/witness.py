"""A witness outside the store: it remembers how far the store had come, so that a restored one is recognised.

The file holds the store's id and the ids it had before forks, the server's identity, the epoch (which grows with every
start), the head of the ledger, how many decisions each deployment has made, and of how many copies it is known to be
one. It is written after the store, when the ledger has grown and every few seconds, so a crash in between leaves it
behind, which is harmless; it is never ahead of an honest store. A restore that rolls back the file too cannot be seen:
docs/what-voids-the-promise.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tacit.core.sealed import write
from tacit.errors import StoreRefused
from tacit.service.store import Store

#: How the names of temporary files end.
_TEMPORARY = re.compile(r"[a-z0-9_]{8}")
_FORK = (
    "Whoever went on from the newer state and whoever goes on from this one release the same people's data twice. If "
    "that is so, or cannot be ruled out, accept the price with `tacit ledger fork`; if not, put the right files back. "
    "Nothing was changed."
)


@dataclass(frozen=True)
class Witness:
    """What the file says."""

    store: str
    server: str
    epoch: int
    seq: int
    head: str
    made: Mapping[str, int] = field(default_factory=dict)  # by deployment
    copies: Mapping[str, int] = field(default_factory=dict)  # by deployment, where a fork has made more than one
    before: tuple[str, ...] = ()  # ids that the store had before it was forked

    @classmethod
    def of(cls, store: Store) -> Witness:
        """The witness of the store as it is now."""
        seq, head = store.head()
        return cls(
            store.meta("id") or "",
            store.db.identity(),
            int(store.meta("epoch") or 0),
            seq,
            head,
            {str(uid): int(made) for uid, _, made, *_ in store.standing()},
            json.loads(store.meta("copies") or "{}"),
            tuple(json.loads(store.meta("before") or "[]")),
        )

    def save(self, path: Path) -> None:
        write(path, json.dumps(asdict(self), indent=1).encode(), of_folder=True)

    @classmethod
    def load(cls, path: Path) -> Witness | None:
        """What the file says; None if there is none."""
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise StoreRefused(
                f"Expected to read the witness at {path}, got: {problem.strerror}. Give it to the user who serves, or "
                "another --witness. Nothing was changed."
            ) from None
        try:
            found = json.loads(text)
            return cls(
                str(found["store"]),
                str(found["server"]),
                int(found["epoch"]),
                int(found["seq"]),
                str(found["head"]),
                {str(uid): int(made) for uid, made in found["made"].items()},
                {str(uid): int(copies) for uid, copies in found["copies"].items()},
                tuple(str(one) for one in found["before"]),
            )
        except (AttributeError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise StoreRefused(
                f"Expected a witness in {path}, got a file that is none, or was changed. Put the right one back; if it "
                "is lost, move this file away and accept the price of a fork with `tacit ledger fork`. Nothing was "
                "changed."
            ) from None


def tidy(path: Path) -> None:
    """Remove what processes have left beside the file that were killed while they wrote it."""
    for one in path.parent.iterdir():
        if one.name.startswith(f".{path.name}.") and _TEMPORARY.fullmatch(one.name.rpartition(".")[2]):
            one.unlink(missing_ok=True)


def check(store: Store, path: Path, *, fresh: bool) -> None:
    """Refuse a store that is not the one, or is behind the one, that the witness has seen. `fresh`: made just now."""
    seen, shared = Witness.load(path), not store.db.inline
    if seen is None:
        if fresh or store.head()[0] == 0:
            return
        joins = (
            "A replica that joins others needs a copy of the witness of one that runs: put it there. " if shared else ""
        )
        raise StoreRefused(
            f"Expected the witness of this store at {path}, got none: a store without it may be a copy. {joins}{_FORK}"
        )
    if fresh:
        raise StoreRefused(
            f"Expected a store that is as old as its witness at {path}, got an empty one: the store was removed or "
            "replaced. Put it back, or remove the witness to begin anew: with other people, or their budget is spent "
            "twice. Nothing was changed."
        )
    compare(store, seen, f"the witness at {path}")


def compare(store: Store, seen: Witness, who: str) -> None:
    """Refuse a store that is not the one, or is behind the one, that somebody has seen."""
    now = Witness.of(store)
    if now.store in seen.before:
        raise StoreRefused(
            f"Expected the store that {who} has seen, got it as it was before a fork: it was restored from a copy. "
            f"{_FORK}"
        )
    if seen.store != now.store and seen.store not in now.before:  # forked since, and priced: its ledger goes on
        raise StoreRefused(
            f"Expected the store that {who} belongs to, got another one. Give each store a witness of its own with "
            "--witness."
        )
    if seen.server != now.server:
        raise StoreRefused(
            f"Expected the database server that {who} has seen, got another one with a copy of its data. {_FORK}"
        )
    if now.epoch < seen.epoch or now.seq < seen.seq or (seen.seq and store.entry_hash(seen.seq) != seen.head):
        raise StoreRefused(
            f"Expected a store at epoch {seen.epoch} with {seen.seq} ledger entries or more, which {who} has seen, got "
            f"epoch {now.epoch} with {now.seq}, or other entries: it was restored from a copy. {_FORK}"
        )
    behind = [uid for uid, made in now.made.items() if made < seen.made.get(uid, 0)]
    if behind:
        raise StoreRefused(
            f"Expected a store with all the decisions that {who} has seen, got one with fewer in {len(behind)} of "
            f"{len(now.made)} deployments: it was restored from a copy. {_FORK}"
        )
