"""The program in hands nobody needs to trust: it sees reports, learns from them, and publishes views."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from threading import Lock
from typing import Any, NoReturn

import numpy as np

from tacit._types import Floats
from tacit._validate import whole
from tacit.core.contract import contract_of
from tacit.core.messages import write
from tacit.core.policy import Policy
from tacit.core.session import Session
from tacit.errors import BadInput, BadMessage, HorizonSpent, RepeatedReport, StaleReport, VaultSealed
from tacit.noise import tape
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee


class Server:
    """The learner of a policy whose people randomise their own reports: what it knows is a function of reports alone.

    It calls neither `encode` nor anything else that sees an action or a reward, and it has no source of noise: a
    release that asks for some is refused. So all it writes is post-processing of reports. It follows too that whoever
    keeps the reports can rebuild it: a new server fed with them, in their order, is the same to the bit.

    **A repeat is never taken twice, in bounded memory.** Views carry a stage, the number of reports the server had
    taken when it wrote them, and a report names the stage s of the view it was made under. The server keeps the ids of
    the last `memory` reports it took. Let it have taken n. A report is refused as stale if n − s > memory, as from the
    future if s > n, and as a repeat if its id is kept.

    *Proof.* Let a report be taken as the m-th, and let it come again when n ≥ m have been taken. It was not refused
    as from the future then, when m − 1 had been taken: s ≤ m − 1. If it is not stale now, then n − s ≤ memory, so
    m ≥ s + 1 ≥ n − memory + 1: it is among the last `memory` that were taken, and its id is kept. ∎

    Batches of a shuffler need no memory at all: each names the stage it is for, and a stage has one batch.

    Made by `config.server()`. Safe to call from several threads.
    """

    def __init__(self, config: Policy, *, memory: int) -> None:
        self._contract = contract = contract_of(config)
        plan = contract.plan
        self._memory = whole("memory", memory)
        # A kernel needs a source; this one has nothing on it and never will.
        self._session = session = Session(plan, contract.dim, source=tape(0, 0), params=plan.server, report_size=0)
        self._state = [*_arrays(session.vault), *_arrays(session.view)]
        self._stage = 0
        self._order: deque[bytes] = deque()  # ids of the last reports, oldest first
        self._taken: set[bytes] = set()  # the same, to be found
        self._text: str | None = None  # the view of this stage as JSON
        self._lock = Lock()

    @property
    def config(self) -> Policy:
        """The configuration this server was made from."""
        return self._contract.config

    @property
    def stage(self) -> int:
        """How many reports it has taken; batches, where there is a shuffler."""
        return self._stage

    @property
    def guarantee(self) -> Guarantee:
        """What the configuration promises to the people whose reports come here. A device with a limit of its own has
        one of its own: `device.guarantee`."""
        return self._contract.plan.guarantee

    def card(self) -> Card:
        """The privacy card of the configuration."""
        return self._contract.config.card()

    def view(self) -> dict[str, Any]:
        """The message that devices `see`. Public."""
        with self._lock:
            return self._contract.view_message(self._stage, self._session.view)

    def view_json(self) -> str:
        """The same as text, written once per stage."""
        with self._lock:
            if self._text is None:
                self._text = write(self._contract.view_message(self._stage, self._session.view))
            return self._text

    def receive(self, report: dict[str, Any] | str | bytes) -> None:
        """Learn from a report, as a device wrote it. One that is refused, for whatever reason, changes nothing.

        `RepeatedReport` can be ignored: the first one counted. After `StaleReport` the device should see a new view
        before its next report.
        """
        if self._contract.report.batch is not None:
            raise BadInput(
                f"Expected a batch from a shuffler, got a report: {self.config.slug} protects people only in batches "
                f"of {self._contract.report.batch:,}. Give reports to config.shuffler(), its batches to receive_batch."
            )
        found = self._contract.read_report(report)
        with self._lock:
            self._refuse_stage(found.stage, "reports", self._memory)
            if found.identity in self._taken:
                raise RepeatedReport(
                    "Expected a report that has not come before, got one that was taken already. Nothing was changed; "
                    "the first one counted."
                )
            self._refuse_spent()
            self._learn(found.values)
            self._order.append(found.identity)
            self._taken.add(found.identity)
            if len(self._order) > self._memory:
                self._taken.remove(self._order.popleft())

    def receive_batch(self, batch: dict[str, Any] | str | bytes) -> None:
        """Learn from a batch, as the shuffler wrote it. One that is refused, for whatever reason, changes nothing."""
        if self._contract.report.batch is None:
            raise BadInput(
                f"Expected single reports, got a batch: {self.config.slug} has no shuffler. Give reports to receive."
            )
        stage, rows = self._contract.read_batch(batch)
        with self._lock:
            self._refuse_stage(stage, "batches", 0)
            self._refuse_spent()
            self._learn(*rows)

    def _learn(self, *rows: Floats) -> None:
        """All rows, or none of them if a release fails."""
        before = [part.copy() for part in self._state]
        try:
            for row in rows:
                self._session.take(row)
        except BaseException:
            for part, copy in zip(self._state, before, strict=True):
                part[...] = copy
            raise
        self._stage += 1
        self._text = None

    def _refuse_stage(self, stage: int, what: str, memory: int) -> None:
        if stage > self._stage:
            raise BadMessage(
                f"Expected a view of at most {self._stage:,} {what}, got one of {stage:,}, which this server never "
                "wrote. Nothing was changed; is there another server?"
            )
        if self._stage - stage > memory:
            raise StaleReport(
                f"Expected a view of {self._stage - memory:,} {what} or more, got one of {stage:,}: too old to know "
                "whether this came before. Nothing was changed; see the new view first."
            )

    def _refuse_spent(self) -> None:
        spent = self._contract.spent(self._stage)
        if spent is not None:
            raise HorizonSpent(spent)

    def __repr__(self) -> str:
        return f"<Server of {self.config!r}: stage {self._stage:,}>"

    def __reduce__(self) -> NoReturn:
        raise VaultSealed(
            "A server cannot be pickled or copied. Keep the reports it took and feed them, in their order, to a new "
            "one: it will be the same to the bit."
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


def _arrays(part: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Every array in a vault or a view, however deep."""
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from _arrays(inner)
