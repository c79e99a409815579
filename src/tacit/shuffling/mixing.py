"""One batch in memory, and its way to the server.

A batch that is full is sent until the server has it. It names its stage, and a stage has one batch, so it may be sent
as often as the network needs: when an answer was lost, the server's stage says whether the batch arrived. A batch that
the server will not take, because somebody in it sent nonsense, is given up; its stage is filled anew, by others.

Log lines hold stages, codes of errors and nothing else: no id, no sender, no value, no time but the logger's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tacit.client.clients import AsyncClient
from tacit.core.contract import contract_of
from tacit.core.policy import Policy
from tacit.core.sealed_reports import SealedShuffler, most_in_report
from tacit.errors import BadMessage, HorizonSpent, ServiceError, ServiceUnavailable

_LOG = logging.getLogger("tacit.shuffling")

#: Seconds between two tries to reach the server: the first pause, doubled with each, and the longest.
_FIRST, _LONGEST = 0.2, 30.0
#: Seconds after which the server is asked where it is, should another shuffler have served it.
_LOOK = 15.0
#: Seconds between two looks at a server that has gone back, and how many it takes to believe it. Of several processes
#: one may answer with a view that it has not renewed, for a tenth of a second.
_LOOK_BACK, _BEHIND = 1.0, 5
#: Seconds that a batch on its way may still take when the process is asked to stop.
_LAST = 5.0
#: How a server says that it will never take a batch: by its status, or by its code.
_NEVER = (400, 413, 422, "horizon_spent")


class Mixing:
    """A sealed shuffler that follows one deployment of a service."""

    def __init__(self, config: Policy, client: AsyncClient, deployment: str) -> None:
        self._config, self._contract = config, contract_of(config)
        self._shuffler = SealedShuffler(config)
        self._sealing_key: str | None = None  # of the deployment that is followed
        self._behind = 0  # looks in a row at which the server was at an earlier stage
        self._client, self._deployment = client, deployment
        self._agreed = False
        self._leaving: dict[str, Any] | None = None  # the batch that is on its way
        self._full = asyncio.Event()
        self._still = asyncio.Event()  # no batch is on its way
        self._still.set()
        self._work: asyncio.Task[None] | None = None
        self.wrong: str | None = None  #: why it cannot work with this server at all
        self.stopped: Callable[[], None] = lambda: None  #: called when that is found out

    @property
    def stage(self) -> int | None:
        """Which batch is being filled; None as long as the server has not said where it is."""
        return self._shuffler.stage if self._agreed else None

    @property
    def why_not(self) -> str | None:
        """Why no report is taken, if so. A batch that the server could not learn would cost its people a report each,
        for nothing."""
        if not self._agreed:
            return "The server has not been heard of yet."
        if self._behind:
            return "The server is at an earlier stage than before; a report might be made for nothing."
        return self._contract.spent(self._shuffler.stage)

    @property
    def longest(self) -> int:
        """Bytes of a report at most."""
        return most_in_report(self._contract)

    def take(self, report: bytes) -> int:
        """Put a sealed report into the batch; its stage. One that is refused changes nothing."""
        if not self._agreed or self._behind:
            raise ServiceUnavailable(
                "Expected a shuffler that knows where its server is, got one that does not yet. Send it again.",
                code="not_ready",
            )
        spent = self.why_not
        if spent is not None:
            raise HorizonSpent(
                f"Expected a report before the last batch was full, got one after it: nothing was taken. {spent}"
            )
        if self._shuffler.ready:
            raise ServiceUnavailable(
                "Expected a batch with room, got one that is full and waits for the one before it to arrive. Send it "
                "again.",
                code="batch_full",
            )
        stage = self._shuffler.stage
        self._shuffler.add(report)
        self._leave()
        return stage

    def _leave(self) -> None:
        """Send a full batch on its way, if no other is."""
        if self._leaving is None and self._shuffler.ready:
            self._leaving = self._shuffler.batch()
            self._full.set()
            self._still.clear()

    # In the background ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Ask the server where it is, and deliver from then on."""
        self._work = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Give a batch that is on its way a last chance, and end. A batch that is not full is dropped."""
        if self._work is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._still.wait(), _LAST)
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work
        await self._client.close()

    async def _run(self) -> None:
        try:
            await self._agree()
            await self._work_on()
        except BadMessage as problem:
            self.wrong = str(problem)
            _LOG.error("%s", problem)
            self.stopped()

    async def _work_on(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self._full.wait(), _LOOK_BACK if self._behind else _LOOK)
            except TimeoutError:
                await self._look()
            self._full.clear()
            while self._leaving is not None:
                arrived = await self._deliver(self._leaving)
                self._leaving = None
                if not arrived:
                    await self._look()  # perhaps it is not the deployment it was
                self._leave()
            self._still.set()

    async def _agree(self) -> None:
        """Compare contracts and learn the server's stage, however long it takes to be answered."""
        pause = _FIRST
        while True:
            try:
                self._sealing_key = await self._compare()
                self._shuffler.follow(await self._stage())
            except ServiceError as problem:
                if not isinstance(problem, ServiceUnavailable) and 400 <= (problem.status or 0) < 500:
                    # It has answered, and will say the same for as long as nobody changes anything.
                    raise BadMessage(
                        f"Expected a deployment of this name that takes batches, got a refusal of the server "
                        f"({_word(problem)}): {problem}"
                    ) from None
                _LOG.warning("no word from the server yet (%s)", _word(problem))
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST)
            else:
                self._agreed = True
                _LOG.info("following the server at stage %d", self._shuffler.stage)
                return

    async def _compare(self) -> str:
        """The server's sealing key, if it has one and our contract."""
        found = await self._client.contract(self._deployment)
        theirs, key = found.get("contract"), found.get("sealing_key")
        if not isinstance(theirs, dict) or theirs.get("fingerprint") != self._contract.fingerprint:
            raise BadMessage(
                f"Expected a server under the contract {self._contract.fingerprint[:12]}…, got another. Start the "
                "shuffler with the configuration of the deployment."
            )
        if key is None:
            raise BadMessage("Expected a server with a sealing key, got one without: it cannot open sealed batches.")
        return str(key)

    async def _look(self) -> None:
        """Catch up with the server. Back only if it stays there, as after a restore, or is another deployment."""
        try:
            key, there = await self._compare(), await self._stage()
        except ServiceError:
            return
        if key != self._sealing_key:
            _LOG.warning("the deployment was made anew, and is followed at stage %d", there)
            self._shuffler, self._sealing_key, self._behind = SealedShuffler(self._config, stage=there), key, 0
            return
        self._behind = self._behind + 1 if there < self._shuffler.stage else 0
        if self._behind >= _BEHIND:
            _LOG.warning("the server has gone back, and is followed at stage %d", there)
            self._behind = 0
        if not self._behind and there != self._shuffler.stage:
            self._shuffler.follow(there)

    async def _stage(self) -> int:
        stage = (await self._client.view(self._deployment)).get("stage")
        if type(stage) is not int or stage < 0:
            raise ServiceError("Expected a view with a stage, got one without.")
        return stage

    async def _deliver(self, batch: dict[str, Any]) -> bool:
        """Send a batch until the server has it, or has said that it never will: then False."""
        stage, pause, behind = batch["stage"], _FIRST, 0
        while True:
            try:
                await self._client.batch(self._deployment, batch)
                _LOG.info("the batch of stage %d has arrived", stage)
                self._shuffler.follow(stage + 1)
                return True
            except ServiceError as problem:
                try:
                    there = await self._stage()
                except ServiceError:
                    pass
                else:
                    if there > stage:
                        _LOG.info("the batch of stage %d had arrived", stage)
                        self._shuffler.follow(there)
                        return True
                    behind = behind + 1 if there < stage else 0
                    if problem.status in _NEVER or problem.code in _NEVER or behind >= _BEHIND:
                        _LOG.error("the server refused the batch of stage %d (%s): it is lost", stage, _word(problem))
                        self._shuffler.follow(there)
                        return False
                _LOG.warning("the batch of stage %d has not arrived yet (%s)", stage, _word(problem))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)


def _word(problem: ServiceError) -> str:
    """One word of an error. Its message may hold more than a log should."""
    return problem.code or (type(problem).__name__ if problem.status is None else str(problem.status))
