"""Deployments at work: what is asked of them goes to the one writer, and what happens by itself begins here.

Decisions close when their time is over, noise of which there is much is drawn ahead in another thread (whoever needs it
before it is there waits, and nobody else), and replicas follow each other. Transactions: `writing.py`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from tacit.errors import BadInput, DeploymentFailed, StoreUnavailable, TacitError, UnknownDeployment
from tacit.service import chain, settings, standing
from tacit.service.deciding import Deciding
from tacit.service.learning import CLOCKS, CommitFirst
from tacit.service.opening import Opened, make
from tacit.service.replicas import Replicas
from tacit.service.standing import Standing
from tacit.service.writing import Writer, careful

Result = TypeVar("Result")
_log = logging.getLogger("tacit.service")

#: Seconds between two looks at decisions whose time is over.
_SWEEP = 0.5
#: Every so many sweeps what is open is counted, up to a number, and old repeats are forgotten.
_SELDOM, MOST_COUNTED = 10, 100_000
#: Every so many sweeps the store's log is emptied: nothing that was removed stays in it for longer than a minute.
_RARELY = 120


class Engine:
    """Deployments at work on one store."""

    def __init__(self, opened: Opened, *, now: Callable[[], float] = time.time) -> None:
        self.store = opened.store
        self.encrypted = opened.master is not None
        self.pending: dict[str, int] = {}  #: open decisions by deployment, as they were counted last
        self._master = opened.master
        self._now = now
        self._writer = Writer(opened, now)
        self._writer.committed = self._see_to_noise
        self._replicas = Replicas(self._writer, opened.master, self.apart)
        # Calibrating, compiling, opening a batch: seconds or more, in threads that noise does not wait for.
        self._patient = ThreadPoolExecutor(2, thread_name_prefix="tacit-patient")
        self._tasks: list[asyncio.Task[None]] = []
        self._drawing: dict[str, asyncio.Task[None]] = {}
        self._ending = False

    @property
    def deployments(self) -> dict[str, Standing]:
        """All of them, by name."""
        return self._writer.deployments

    @property
    def available(self) -> bool:
        """Whether the store can be written."""
        return self._writer.available

    @property
    def replica(self) -> str:
        """The name of this process among others."""
        return self._replicas.name

    @property
    def shared(self) -> bool:
        """Whether other processes may serve from the same store."""
        return not self.store.db.inline

    @property
    def leases(self) -> int:
        """How many deployments this process holds the lease of."""
        return len(self._replicas.held) if self.shared else len(self.deployments)

    def holds(self, uid: str) -> bool:
        """Whether this process does the learning of a deployment."""
        return not self.shared or uid in self._replicas.held

    # Life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Find or compile the machine code, and begin to work."""
        for found in self.deployments.values():
            if not found.failed:
                try:
                    found.warm()
                except Exception as problem:
                    found.stand_still(problem)
        # The compiler's many objects stay for ever: looking through them for garbage would stop everything for 0.1 s.
        gc.collect()
        gc.freeze()
        gc.enable()
        self._writer.start()
        self._tasks = [asyncio.create_task(self._sweep())]
        if self.shared:
            self._tasks.append(asyncio.create_task(self._replicas.watch()))

    async def stop(self) -> None:
        """Finish what has been accepted, and let go of the store."""
        self._writer.close()
        self._ending = True
        others = [*self._tasks, *self._replicas.meeting.values(), *self._drawing.values()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._writer.finish()
        if self.shared:
            with suppress(StoreUnavailable):  # they run out by themselves
                self.store.drop_leases(self.replica)
        self._patient.shutdown(wait=False, cancel_futures=True)
        self.store.db.close()

    # Asking it to do something ------------------------------------------------------------------------------------

    def submit(self, run: Callable[[], Result], owner: Standing | None = None) -> asyncio.Future[Result]:
        """Do this, about the deployment `owner`, inside a transaction; the future is done when that is durable."""
        return self._writer.submit(run, owner)

    async def apart(self, run: Callable[[], Result]) -> Result:
        """Do what takes long, and changes nothing, in a thread of its own."""
        return await asyncio.get_running_loop().run_in_executor(self._patient, run)

    def find(self, name: str) -> Standing:
        """The deployment of this name."""
        found = self.deployments.get(name)
        if found is None:
            raise UnknownDeployment(
                "Expected the name of a deployment, got one there is none of. `tacit deployments list`, or GET "
                "/v1/deployments, names those there are."
            )
        return found

    def now(self) -> float:
        return self._now()

    # Noise --------------------------------------------------------------------------------------------------------

    def _see_to_noise(self) -> None:
        """Have it drawn where it is used up, and let those go on who have waited for it."""
        for found in self.deployments.values():
            if not isinstance(found, Deciding) or found.uid in self._drawing:
                continue
            if found.failed or found.live.ready:
                self._go_on(found)
            elif self.holds(found.uid) and not self._ending:
                self._drawing[found.uid] = asyncio.create_task(self._draw(found))

    async def _draw(self, found: Deciding) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, found.live.draw_ahead)
        except Exception as problem:
            found.stand_still(problem)
        finally:
            del self._drawing[found.uid]
            self._go_on(found)

    def _go_on(self, found: Deciding) -> None:
        found.waits = False
        self._writer.go_on(found)

    # What happens by itself ---------------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        """Close decisions whose time is over, and forget what was kept only to recognise repeats."""
        rounds, there = 0, True
        while True:
            await asyncio.sleep(_SWEEP)
            rounds += 1
            if self.available and not there:
                _log.info({"store": "available again"})
            there = self.available
            try:
                for found in list(self.deployments.values()):
                    if not found.failed:
                        await self._tidy(found, seldom=rounds % _SELDOM == 1)
                if rounds % _SELDOM == 1:
                    self._writer.telling.due = True  # after the next transaction, and one comes with every sweep
                if rounds % _RARELY == 0:
                    self._writer.settling = True  # what was closed since leaves the log as well
            except TacitError:
                continue  # the store is away: what is due stays due

    async def _tidy(self, found: Standing, *, seldom: bool) -> None:
        if isinstance(found, Deciding) and self.holds(found.uid):
            while await self.submit(partial(self._close, found), found):
                pass
        if seldom:
            self.pending[found.uid] = await self.submit(partial(self.store.count_pending, found.uid, MOST_COUNTED))
            now, stays = self._now(), 2 * found.asked.closes_after + CLOCKS
            while await self.submit(partial(self.store.forget, found.uid, now, 5000, now + stays)):
                pass

    def _close(self, found: Deciding) -> bool:
        # What is not held any more is read again before it is touched.
        if found.failed or (self.shared and not self._replicas.keep(found.uid)):
            return False
        return careful(found, partial(found.close_due, self._now())) > 0

    # Deployments --------------------------------------------------------------------------------------------------

    async def create(self, name: str, asked: settings.Asked) -> Standing:
        """A new deployment."""
        settings.check_name(name)
        # Calibration may take a second: outside the transaction, and remembered by the plan's own caches.
        await self.apart(partial(settings.plan_of, asked))

        def run() -> Standing:
            if name in self.deployments or self.store.has_name(name):  # perhaps another replica's, of just now
                raise BadInput(
                    "Expected a name that is not in use, got one that is. Choose another, or delete that one."
                ).about("name")
            row = standing.new_row(name, asked, self._master, secrets.token_hex(8), self._now())
            found = make(self.store, row, self._master)
            standing.add(self.store, row, found)  # last: whatever cannot be made leaves nothing behind
            self.deployments[name] = found
            return found

        found = await self.submit(run)
        await self.apart(found.warm)
        gc.freeze()
        return found

    async def set_state(self, name: str, state: str) -> Standing:
        """Pause or resume."""

        def run() -> Standing:
            found = self.find(name)
            if found.raised and state == "serving":  # whoever resumes it wants to see
                _try_again(found)
            if not self.store.set_state(found.uid, state):
                raise _gone()
            found.state = state
            return found

        return await self.submit(run)

    async def delete(self, name: str) -> None:
        """Erase everything of a deployment; its ledger stays, with a tombstone."""

        def run() -> None:
            found = self.find(name)
            found.state = "deleted"  # for whoever has found it before, and waits
            if not self.store.remove_deployment(found.uid):
                raise _gone()
            chain.append(self.store, found.uid, "deleted", {"name": name}, self._now())
            del self.deployments[name]
            self._replicas.held.discard(found.uid)
            self._writer.give_up(found)
            self._writer.settling = True

        await self.submit(run)

    async def erase(self, found: Deciding, person: str) -> int:
        """Forget what is open of a person, in the store's log too; how many decisions that was."""

        def run() -> int:
            self._writer.settling = True
            return found.erase(person, self._now())

        return await self.submit(run, found)


def _try_again(found: Standing) -> None:
    """Read a deployment that stands still, and let it go on."""
    if found.touched and not found.unread:
        raise CommitFirst  # what was done in this very transaction
    try:
        found.try_again()
    except StoreUnavailable:
        raise
    except Exception as problem:
        found.stand_still(problem)
        raise DeploymentFailed(f"{found.trouble} Nothing was changed.") from None


def _gone() -> UnknownDeployment:
    return UnknownDeployment("Expected the name of a deployment, got one that was deleted meanwhile.")
