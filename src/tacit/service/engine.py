"""The one writer: requests that change something wait here, and share transactions.

Whatever arrives while a transaction is on its way to the disk goes into the next one (group commit): a reward is
acknowledged only when it is durable, and a thousand rewards do not cost a thousand flushes. With SQLite the statements
run in the event loop, where they touch memory, and only the commit waits in a thread; with PostgreSQL all of a
transaction runs in a thread.

If a transaction fails, nobody in it is acknowledged and every deployment it touched is read again from the store: what
the store holds is what happened, also when the answer to the commit was lost.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tacit.errors import BadInput, StoreUnavailable, TacitError, UnknownDeployment
from tacit.service import chain, settings, standing
from tacit.service.deciding import PORTION, CommitFirst, Deciding
from tacit.service.logs import place_of
from tacit.service.opening import Opened, make
from tacit.service.standing import Standing
from tacit.service.store import Deployment
from tacit.service.witness import Witness

Result = TypeVar("Result")
_log = logging.getLogger("tacit.service")

#: Requests in one transaction at most.
_BATCH = 1000
#: Requests that may wait; more are refused.
_WAITING = 20_000
#: Seconds between two looks at decisions whose time is over, and at what other replicas have done.
_SWEEP, _WATCH = 0.5, 0.1
#: Every so many sweeps what is open is counted, up to a number, and old repeats are forgotten.
_SELDOM, MOST_COUNTED = 10, 100_000
#: Seconds a lease lasts unless renewed.
LEASE = 3.0


@dataclass(slots=True)
class _Work:
    """Something to do inside a transaction, and who waits for it."""

    run: Callable[[], Any]
    future: asyncio.Future[Any]
    result: Any = None
    failed: BaseException | None = None


class Engine:
    """Deployments at work on one store."""

    def __init__(self, opened: Opened, *, now: Callable[[], float] = time.time) -> None:
        self.store = opened.store
        self.deployments = opened.deployments
        self.replica = secrets.token_hex(4)
        self.encrypted = opened.master is not None
        self._opened = opened
        self._now = now
        self._queue: deque[_Work] = deque()
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tacit-store")
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        self._held: set[str] = set()
        self._strangers: list[Deployment] = []  # what other replicas have made, and this one does not know yet
        self._meeting: dict[str, asyncio.Task[None]] = {}
        self._settling = False
        self.available = True
        self.pending: dict[str, int] = {}

    @property
    def shared(self) -> bool:
        """Whether other processes may serve from the same store."""
        return not self.store.db.inline

    @property
    def leases(self) -> int:
        """How many deployments this process holds the lease of."""
        return len(self._held) if self.shared else len(self.deployments)

    def holds(self, uid: str) -> bool:
        """Whether this process does the learning of a deployment."""
        return not self.shared or uid in self._held

    # Life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Find or compile the machine code, and begin to work."""
        for found in self.deployments.values():
            found.warm()
        # The compiler's many objects stay for ever: looking through them for garbage would stop everything for 0.1 s.
        gc.collect()
        gc.freeze()
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._sweep())]
        if self.shared:
            self._tasks.append(asyncio.create_task(self._watch()))
        self._tasks.append(asyncio.create_task(self._warm_noise()))

    async def _warm_noise(self) -> None:
        """Load samplers, a second of work in which little else is done: after the first decisions, not before."""
        await asyncio.sleep(1.0)
        for found in list(self.deployments.values()):
            if isinstance(found, Deciding):
                await asyncio.get_running_loop().run_in_executor(None, found.live.warm_noise)

    async def stop(self) -> None:
        """Finish what has been accepted, and let go of the store."""
        self._stopping = True
        self._wake.set()
        if self._tasks:
            meeting = list(self._meeting.values())
            for task in [*self._tasks[1:], *meeting]:
                task.cancel()
            await asyncio.gather(*self._tasks, *meeting, return_exceptions=True)
        if self.shared:
            with suppress(StoreUnavailable):  # they run out by themselves
                self.store.drop_leases(self.replica)
        self._thread.shutdown()
        self.store.db.close()

    # Asking it to do something ------------------------------------------------------------------------------------

    def submit(self, run: Callable[[], Result]) -> asyncio.Future[Result]:
        """Do this inside a transaction; the future is done when that is durable."""
        if self._stopping:
            raise StoreUnavailable("Expected a service that runs, got one that is stopping. Send it again in a moment.")
        if len(self._queue) >= _WAITING:
            raise StoreUnavailable("Expected fewer requests at a time, got more than can wait. Send it again later.")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.append(_Work(run, future))
        self._wake.set()
        return future

    def find(self, name: str) -> Standing:
        """The deployment of this name."""
        found = self.deployments.get(name)
        if found is None:
            raise UnknownDeployment("Expected the name of a deployment, got one there is none of.")
        return found

    def now(self) -> float:
        return self._now()

    # The one writer -----------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self._queue:
                if self._stopping:
                    return
                self._wake.clear()
                await self._wake.wait()
                continue
            done: list[_Work] = []
            touched: list[Standing] = []
            try:
                if self.store.db.inline:
                    self._fill(done, touched)
                    await loop.run_in_executor(self._thread, self.store.db.commit)
                else:
                    await loop.run_in_executor(self._thread, self._fill_and_commit, done, touched)
            except Exception as problem:
                await self._failed(problem, done)
                continue
            self.available = True
            for found in touched:
                found.committed()
            for work in done:
                _resolve(work)
            if self.store.grown:
                await self._bear_witness(loop)
            if self._settling:
                self._settling = False
                await loop.run_in_executor(self._thread, self.store.db.settle)

    def _fill_and_commit(self, done: list[_Work], touched: list[Standing]) -> None:
        self._fill(done, touched)
        self.store.db.commit()

    def _fill(self, done: list[_Work], touched: list[Standing]) -> None:
        """Do what is waiting, in its order, and write what it changed."""
        self.store.db.begin()
        queue = self._queue
        for _ in range(min(len(queue), _BATCH)):
            work = queue[0]
            try:
                work.result = work.run()
            except CommitFirst:
                break  # it stays the first in the queue
            except StoreUnavailable:
                raise
            except TacitError as problem:
                work.failed = problem
            done.append(queue.popleft())
        now = self._now()
        for found in self.deployments.values():
            if found.touched:
                found.save(now)
                touched.append(found)

    async def _failed(self, problem: Exception, done: list[_Work]) -> None:
        """Nobody is acknowledged, and the store says what is true."""
        self.available = False
        if not isinstance(problem, StoreUnavailable):
            _log.error({"transaction failed": type(problem).__name__, "where": place_of(problem)})
        waiting = [*done, *self._queue]
        self._queue.clear()
        for work in waiting:
            work.failed = (
                problem
                if isinstance(problem, StoreUnavailable)
                else StoreUnavailable("Expected a transaction to succeed, got an error. Nothing was changed.")
            )
            _resolve(work)
        loop = asyncio.get_running_loop()
        while not self._stopping:
            try:
                await loop.run_in_executor(self._thread, self._reload)
            except Exception as still:  # whatever it is: a writer that stops would leave everybody waiting
                if not isinstance(still, StoreUnavailable):
                    _log.error({"reading again failed": type(still).__name__, "where": place_of(still)})
                await asyncio.sleep(0.2)
                # Whoever comes meanwhile is told at once, rather than kept waiting.
                while self._queue:
                    work = self._queue.popleft()
                    work.failed = StoreUnavailable("Expected a working store, got none yet. Send it again in a moment.")
                    _resolve(work)
            else:
                self.available = True
                return

    def _reload(self) -> None:
        db = self.store.db
        db.rollback()
        db.begin()
        known, fresh = {found.uid: found for found in self.deployments.values()}, {}
        for row in self.store.deployments():  # also one whose deletion failed
            found = known.get(row.uid) or make(self.store, row, self._opened.master)
            found.load()
            fresh[row.name] = found
        db.rollback()
        self.deployments = fresh  # at once: whoever asks meanwhile finds what there is

    async def _bear_witness(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell the witness when the ledger has grown. After the store, so that it is never ahead of it."""
        try:
            await loop.run_in_executor(self._thread, self._tell_witness)
        except (OSError, TacitError) as problem:
            _log.warning({"witness not written": type(problem).__name__})

    def _tell_witness(self) -> None:
        self.store.grown = False
        Witness.of(self.store).save(self._opened.witness)

    # What happens by itself ---------------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        """Close decisions whose time is over, and forget what was kept only to recognise repeats."""
        rounds = 0
        while True:
            await asyncio.sleep(_SWEEP)
            rounds += 1
            try:
                for found in list(self.deployments.values()):
                    if isinstance(found, Deciding) and (not self.shared or found.uid in self._held):
                        while await self.submit(partial(self._close, found)):
                            pass
                    if rounds % _SELDOM == 1:
                        self.pending[found.uid] = await self.submit(
                            partial(self.store.count_pending, found.uid, MOST_COUNTED)
                        )
                        await self.submit(partial(self.store.forget, found.uid, self._now(), 5000))
            except TacitError:
                continue  # the store is away: what is due stays due

    def _close(self, found: Deciding) -> bool:
        if self.shared and not self.store.keep_lease(found.uid, self.replica, LEASE):
            return False
        return found.close_due(self._now()) > 0

    async def _watch(self) -> None:
        """Among replicas: take or renew leases, do the holder's work, and follow what the others have done."""
        while True:
            more = False
            try:
                more = await self.submit(self._follow)
            except TacitError:
                self._held.clear()
            while self._strangers:
                row = self._strangers.pop()
                if row.uid not in self._meeting:
                    self._meeting[row.uid] = asyncio.create_task(self._meet(row))
            if not more:
                await asyncio.sleep(_WATCH)

    async def _meet(self, row: Deployment) -> None:
        """Take in what another replica has made. Its machine code comes first: to compile it may take longer than
        anybody should hold a transaction, or stay without renewing its leases."""

        def prepare() -> Standing:
            found = make(self.store, row, self._opened.master)
            found.warm()
            return found

        def add(found: Standing) -> None:
            if self.store.deployment(row.uid) is not None:
                found.load()
                self.deployments[row.name] = found

        try:
            found = await asyncio.get_running_loop().run_in_executor(None, prepare)
            await self.submit(partial(add, found))
        except Exception as problem:  # the next look will find it again
            _log.warning({"deployment not taken in": type(problem).__name__, "where": place_of(problem)})
            await asyncio.sleep(1.0)
        finally:
            del self._meeting[row.uid]

    def _follow(self) -> bool:
        """True if there is more to do at once."""
        more = False
        rows = self.store.standing()
        known = {found.uid: found for found in self.deployments.values()}
        for uid, state, made, version, copies in rows:
            found = known.pop(str(uid), None)
            if found is None:
                row = self.store.deployment(str(uid))
                if row is not None:
                    self._strangers.append(row)
                continue
            found.state, found.copies = str(state), int(copies)
            if isinstance(found, Deciding):
                more |= self._hold(found, int(made), int(version))
            elif int(made) != found.made:
                found.load()
                found.committed()
        for found in known.values():
            found.state = "deleted"
            del self.deployments[found.name]
            self._held.discard(found.uid)
        return more

    def _hold(self, found: Deciding, made: int, version: int) -> bool:
        """Do what only the holder of the lease may do, or follow the one who does."""
        found.made = made
        # A lease that could be renewed has been nobody else's. One that was lost and taken back has: if this process
        # stood still for longer than a lease lasts, what it has in memory is old.
        if not self.store.keep_lease(found.uid, self.replica, LEASE):
            self._held.discard(found.uid)
            if not self.store.take_lease(found.uid, self.replica, LEASE):
                if version != found.version:
                    found.load_view()
                return False
        if found.uid not in self._held:
            found.flush()  # what was decided in this transaction, before it is read again
            found.load()  # the last holder's sums, as they are in the store
            found.made = made
            self._held.add(found.uid)
        absorbed = found.absorb_rewarded()
        if not found.in_order:
            found.tick()
        return absorbed == PORTION or found.behind

    # Deployments --------------------------------------------------------------------------------------------------

    async def create(self, name: str, asked: settings.Asked) -> Standing:
        """A new deployment."""
        settings.check_name(name)
        loop = asyncio.get_running_loop()
        # Calibration may take a second: outside the transaction, and remembered by the plan's own caches.
        await loop.run_in_executor(None, settings.plan_of, asked)

        def run() -> Standing:
            if name in self.deployments or self.store.has_name(name):  # perhaps another replica's, of just now
                raise BadInput(
                    "Expected a name that is not in use, got one that is. Choose another, or delete that one."
                )
            uid = secrets.token_hex(8)
            row = standing.add(self.store, name, asked, self._opened.master, uid, self._now())
            found = make(self.store, row, self._opened.master)
            self.deployments[name] = found
            return found

        found = await self.submit(run)
        await loop.run_in_executor(None, found.warm)
        gc.freeze()
        return found

    async def set_state(self, name: str, state: str) -> Standing:
        """Pause or resume."""

        def run() -> Standing:
            found = self.find(name)
            self.store.set_state(found.uid, state)
            found.state = state
            return found

        return await self.submit(run)

    async def delete(self, name: str) -> None:
        """Erase everything of a deployment; its ledger stays, with a tombstone."""

        def run() -> None:
            found = self.find(name)
            found.state = "deleted"  # for whoever has found it before, and waits
            self.store.remove_deployment(found.uid)
            chain.append(self.store, found.uid, "deleted", {"name": name}, self._now())
            del self.deployments[name]
            self._held.discard(found.uid)
            self._settling = True

        await self.submit(run)

    async def erase(self, found: Deciding, person: str) -> int:
        """Forget what is open of a person, in the store's log too; how many decisions that was."""

        def run() -> int:
            self._settling = True
            return found.erase(person, self._now())

        return await self.submit(run)


def _resolve(work: _Work) -> None:
    if work.future.done():
        return  # whoever waited has gone
    if work.failed is not None:
        work.future.set_exception(work.failed)
    else:
        work.future.set_result(work.result)
