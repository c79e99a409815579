"""A deployment whose people randomise their own reports: the service holds no noise and never sees an action.

What it knows is a function of reports (`tacit.core.server`); here that function's value is durable, and a report counts
once across restarts and replicas.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from tacit.core.contract import contract_of
from tacit.core.sealed_reports import new_sealing_key, open_batch
from tacit.core.server import Server
from tacit.core.state import fill, leaves
from tacit.errors import BadInput, BadMessage, Paused, RepeatedReport, StoreRefused, UnknownDeployment
from tacit.service import chain
from tacit.service.sealing import Sealer
from tacit.service.standing import Standing
from tacit.service.store import Deployment, Store

#: Reports whose ids are remembered: an older one is refused as stale.
MEMORY = 100_000


class Reporting(Standing):
    """A deployment that takes reports, or a shuffler's batches."""

    def __init__(self, store: Store, row: Deployment, sealer: Sealer, *, shared: bool) -> None:
        super().__init__(store, row, sealer, shared=shared)
        self.contract = contract_of(self.config)
        self.server = Server(self.config, memory=MEMORY)
        self._dirty = not self.version
        self._private: bytes | None = None
        self.sealing_key: str | None = None
        self._next: tuple[int, float] | None = None  # version and time of a view that is not durable yet
        self._written = self._text = ""  # the view that was saved last, and the published one

    # Reading and writing ------------------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Any]:
        return {"vault": self.server._session.vault, "view": self.server._session.view}

    def read(self) -> None:
        row = self.store.deployment(self.uid)
        if row is None:
            raise StoreRefused(f"Expected the deployment {self.name} in the store, got none: it was deleted.")
        server = Server(self.config, memory=MEMORY)
        server._stage = row.made
        server._session.share_code(self.server._session)
        self.server = server
        stored = {name: self.sealer.open(name.encode(), data) for name, data in self.store.leaves(self.uid).items()}
        for part, target in self._parts().items():
            found = leaves(part, target)
            arrays = {name: np.frombuffer(stored[name], leaf.dtype).reshape(leaf.shape) for name, leaf in found.items()}
            fill(part, target, arrays)
        if self.takes == "batches":
            self._private = stored["sealing key"]
            self.sealing_key = stored["sealing key, public"].decode()
        view = self.store.view(self.uid)
        if view is not None:
            self.released_at = view[1]
        self._dirty, self._next = False, None
        self._written = self._text = server.view_json()
        self.state, self.made, self.copies, self.version = row.state, row.made, row.copies, row.version

    def save(self, now: float) -> None:
        if not self._dirty:
            return
        changed = [
            (name, self.sealer.seal(name.encode(), leaf.tobytes()))
            for part, target in self._parts().items()
            for name, leaf in leaves(part, target).items()
        ]
        if self.takes == "batches" and self._private is None:
            self._private, self.sealing_key = new_sealing_key()
            changed.append(("sealing key", self.sealer.seal(b"sealing key", self._private)))
            changed.append(("sealing key, public", self.sealer.seal(b"sealing key, public", self.sealing_key.encode())))
        self.store.set_leaves(self.uid, changed)
        self.made = self.server.stage
        self.store.set_made(self.uid, self.made)
        self.store.set_view(self.uid, self.version + 1, now, b"")
        self._written = self.server.view_json()  # here, where it may fail
        self._dirty, self._next = False, (self.version + 1, now)

    def committed(self) -> None:
        if self._next is not None:
            self.version, self.released_at = self._next
            self._next = None
        self._text = self._written

    @property
    def touched(self) -> bool:
        return self._dirty

    def warm(self) -> None:
        """Find or compile the machine code, on arrays of its own."""
        twin = Server(self.config, memory=1)
        twin._learn(np.zeros(self.contract.report.size))
        self.server._session.share_code(twin._session)

    # Reports ------------------------------------------------------------------------------------------------------

    def receive(self, message: dict[str, Any]) -> int:
        """Learn from a report; the number of reports there are now."""
        self._serving()
        if self.takes != "reports":
            raise BadInput(
                f"Expected a batch from a shuffler, got a report: {self.config.slug} protects people only in batches. "
                "Send reports to `tacit shuffle`."
            )
        found = self.contract.read_report(message)
        self._follow()
        self.server._refuse_stage(found.stage, "reports", MEMORY)
        if self.store.has_report(self.uid, found.identity):
            raise RepeatedReport(
                "Expected a report that has not come before, got one that was taken already. Nothing was changed; the "
                "first one counted."
            )
        self.server._refuse_spent()
        self.store.add_report(self.uid, found.identity, self.server.stage + 1)
        self.server._learn(found.values)
        self.store.forget_reports(self.uid, self.server.stage - MEMORY)
        self._dirty = True
        return self.server.stage

    def open_batch(self, message: dict[str, Any]) -> dict[str, Any]:
        """A shuffler's batch, unsealed. It changes nothing and needs no transaction: tens of thousands of reports take
        seconds, in which others are served."""
        self._serving()
        if self.takes != "batches":
            raise BadInput(f"Expected single reports, got a batch: {self.config.slug} has no shuffler.")
        if self._private is None:
            raise BadMessage("Expected a deployment with a sealing key, got one without.")
        return open_batch(self.config, message, self._private)

    def receive_batch(self, batch: dict[str, Any], now: float) -> int:
        """Learn from a batch that `open_batch` has opened; the number of batches there are now."""
        self._serving()
        self._follow()
        self.server.receive_batch(batch)
        chain.append(self.store, self.uid, "batch", {"stage": self.server.stage, "nonce": secrets.token_hex(8)}, now)
        self._dirty = True
        return self.server.stage

    def _serving(self) -> None:
        self.check_there()
        if self.state != "serving":
            raise Paused(f"Expected a deployment that serves, got {self.name}, which is paused. Resume it.")

    def _follow(self) -> None:
        """Go on from where another process has brought it, alone with it until the end of the transaction."""
        if not self.shared or self._dirty:
            return
        row = self.store.db.one("SELECT made FROM deployments WHERE uid = ? FOR UPDATE", (self.uid,))
        if row is None:
            raise UnknownDeployment("Expected the name of a deployment, got one that was deleted meanwhile.")
        if int(row[0]) != self.server.stage:
            self.load()

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> int:
        return self.server.stage * (self.contract.report.batch or 1)

    @property
    def limit(self) -> int | None:
        return self.contract.most

    @property
    def why_not(self) -> str | None:
        spent = self.contract.spent(self.server.stage)
        return None if spent is None else f"{spent} Until then devices choose by the last view."

    def notes(self) -> tuple[str, ...]:
        return (
            "Served over HTTP. The noise is added on people's own devices; the service draws none, and holds reports "
            "only in sums.",
        )

    def excluded(self) -> tuple[str, ...]:
        return (
            "What operators see: how many reports there are and when, request counts, latencies, and from which "
            "address reports came.",
        )

    def view_text(self) -> str:
        """The published view as devices read it."""
        return self._text
