"""The one writer: requests that change something wait here, and share transactions.

Whatever arrives while a transaction is on its way to the disk goes into the next one (group commit): a reward is
acknowledged only when it is durable, and a thousand rewards do not cost a thousand flushes. With SQLite the statements
run in the event loop, where they touch memory, and only the commit waits in a thread; with PostgreSQL all of a
transaction runs in a thread.

If a transaction fails, nobody in it is acknowledged and every deployment it touched is read again from the store: what
the store holds is what happened, also when the answer to the commit was lost. If it failed by the mistake of one
deployment, that one stands still from then on, and the others are served as if it had not been there.

Noise of which there is much is drawn ahead, in another thread: whoever needs it before it is there waits, and nobody
else.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tacit.errors import BadInput, StoreUnavailable, TacitError, UnknownDeployment
from tacit.service import chain, settings, standing
from tacit.service.deciding import PORTION, CommitFirst, Deciding, NoiseFirst
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
#: Every so many sweeps the store's log is emptied: nothing that was removed stays in it for longer than a minute.
_RARELY = 120
#: Seconds without a failure after which a store that had one counts as available.
_STEADY = 2.0
#: Seconds a lease lasts unless renewed.
LEASE = 3.0
_STOPPING = "Expected a service that runs, got one that is stopping. Send it again in a moment."


@dataclass(slots=True)
class _Work:
    """Something to do inside a transaction, and who waits for it."""

    run: Callable[[], Any]
    future: asyncio.Future[Any]
    owner: Standing | None = None  # the deployment it is about, if it is about one
    result: Any = None
    failed: BaseException | None = None


class _Mistake(Exception):
    """A deployment has raised what nobody expected. Its cause is that."""

    def __init__(self, owner: Standing) -> None:
        super().__init__()
        self.owner = owner


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
        self._scribe = ThreadPoolExecutor(1, thread_name_prefix="tacit-witness")
        # Calibrating, compiling, opening a batch: seconds or more, in threads that noise does not wait for.
        self._patient = ThreadPoolExecutor(2, thread_name_prefix="tacit-patient")
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        self._held: set[str] = set()
        self._strangers: list[Deployment] = []  # what other replicas have made, and this one does not know yet
        self._meeting: dict[str, asyncio.Task[None]] = {}
        self._settling = self._witness_due = False
        self._told: Witness | None = None  # what the witness was told last
        self._drawing: dict[str, asyncio.Task[None]] = {}
        self._aside: dict[str, deque[_Work]] = {}  # by deployment: what waits for its noise
        self._away = False  # the store cannot be written
        self._failed_at = -math.inf  # when that was found last
        self.pending: dict[str, int] = {}

    @property
    def available(self) -> bool:
        """Whether the store can be written. A disk that is almost full takes a little now and then: once it has
        failed, it is there again only after a while without."""
        return not self._away and time.monotonic() - self._failed_at > _STEADY

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
        gc.enable()
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._sweep())]
        self._tasks[0].add_done_callback(self._written)
        if self.shared:
            self._tasks.append(asyncio.create_task(self._watch()))
        self._tasks.append(asyncio.create_task(self._warm_noise()))

    async def _warm_noise(self) -> None:
        """Load samplers, a second of work in which little else is done: after the first decisions, not before."""
        await asyncio.sleep(1.0)
        for found in list(self.deployments.values()):
            if isinstance(found, Deciding):
                await self._load_sampler(found)

    async def _load_sampler(self, found: Deciding) -> None:
        if not found.live.loaded:
            await asyncio.get_running_loop().run_in_executor(None, found.live.warm_noise)
            gc.freeze()  # a hundred thousand objects more, which stay

    async def stop(self) -> None:
        """Finish what has been accepted, and let go of the store."""
        self._stopping = True
        self._wake.set()
        if self._tasks:
            others = [*self._meeting.values(), *self._drawing.values()]
            for task in [*self._tasks[1:], *others]:
                task.cancel()
            await asyncio.gather(*self._tasks, *others, return_exceptions=True)
        for waiting in (*self._aside.values(), self._queue):
            _refuse(waiting, StoreUnavailable(_STOPPING))
        with suppress(TacitError):
            self._scribe.submit(self._tell_witness, Witness.of(self.store))
        self._scribe.shutdown()
        if self.shared:
            with suppress(StoreUnavailable):  # they run out by themselves
                self.store.drop_leases(self.replica)
        self._thread.shutdown()
        self._patient.shutdown(wait=False, cancel_futures=True)
        self.store.db.close()

    # Asking it to do something ------------------------------------------------------------------------------------

    def submit(self, run: Callable[[], Result], owner: Standing | None = None) -> asyncio.Future[Result]:
        """Do this, about the deployment `owner`, inside a transaction; the future is done when that is durable."""
        if self._stopping:
            raise StoreUnavailable(_STOPPING)
        if len(self._queue) >= _WAITING:
            raise StoreUnavailable("Expected fewer requests at a time, got more than can wait. Send it again later.")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.append(_Work(run, future, owner))
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

    async def apart(self, run: Callable[[], Result]) -> Result:
        """Do what takes long, and changes nothing, in a thread of its own."""
        return await asyncio.get_running_loop().run_in_executor(self._patient, run)

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
            for found in touched:
                try:
                    found.committed()
                except Exception as problem:
                    _stand_still(found, problem)
            for work in done:
                _resolve(work)
            self._see_to_noise()
            if self.store.grown or self._witness_due:
                await self._bear_witness(loop)
            if self._settling:
                self._settling = False
                await loop.run_in_executor(self._thread, self.store.db.settle)

    def _written(self, task: asyncio.Task[None]) -> None:
        """Nothing ends the writer but the end of the service. Should it be otherwise, nobody waits for it in vain."""
        if self._stopping or task.cancelled():
            return
        problem = task.exception() or RuntimeError()
        _log.critical({"writer ended": type(problem).__name__, "where": place_of(problem)})
        self._stopping = self._away = True
        for waiting in (*self._aside.values(), self._queue):
            _refuse(waiting, StoreUnavailable(_STOPPING))

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
            except NoiseFirst:
                assert work.owner is not None
                self._aside.setdefault(work.owner.uid, deque()).append(queue.popleft())
                continue
            except StoreUnavailable:
                raise
            except TacitError as problem:
                work.failed = problem
            except _Mistake:
                raise
            except Exception as problem:
                if work.owner is None:
                    raise
                raise _Mistake(work.owner) from problem
            done.append(queue.popleft())
        now = self._now()
        for found in self.deployments.values():
            if found.touched:
                self._careful(found, partial(found.save, now))
                touched.append(found)

    @staticmethod
    def _careful(found: Standing, run: Callable[[], Result]) -> Result:
        """Do this, and let what it raises be the mistake of this deployment alone: nobody has asked for anything."""
        try:
            return run()
        except StoreUnavailable:
            raise
        except Exception as problem:
            raise _Mistake(found) from problem

    async def _failed(self, problem: Exception, done: list[_Work]) -> None:
        """Nobody is acknowledged, and the store says what is true."""
        waiting = [*done, *self._queue]
        self._queue.clear()
        if isinstance(problem, _Mistake):
            _stand_still(problem.owner, problem.__cause__ or problem)
            for work in waiting:
                work.result = work.failed = None
            self._queue.extend(waiting)  # once more, and this time it refuses them itself
        else:
            if not isinstance(problem, StoreUnavailable):
                _log.error({"transaction failed": type(problem).__name__, "where": place_of(problem)})
                problem = StoreUnavailable("Expected a transaction to succeed, got an error. Nothing was changed.")
            if self.available:
                _log.error({"store": "unavailable", "why": str(problem)})
            self._away, self._failed_at = True, time.monotonic()
            _refuse(waiting, problem)
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.run_in_executor(self._thread, self._reload)
                if self._away:
                    await loop.run_in_executor(self._thread, self.store.try_to_write)
            except Exception as still:  # whatever it is: a writer that stops would leave everybody waiting
                if not isinstance(still, StoreUnavailable):
                    _log.error({"reading again failed": type(still).__name__, "where": place_of(still)})
                    still = StoreUnavailable("Expected a working store, got none yet. Nothing was changed; try again.")
                self._away, self._failed_at = True, time.monotonic()
                await asyncio.sleep(0.2)
                _refuse(self._queue, still)  # whoever comes meanwhile is told at once, rather than kept waiting
                if self._stopping:
                    return
            else:
                self._away = False
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
        """Tell the witness what there is. After the store, so that it is never ahead of it; and without waiting for
        its disk: a witness that is behind does no harm."""
        self.store.grown = self._witness_due = False
        try:
            now = await loop.run_in_executor(self._thread, Witness.of, self.store)
        except TacitError as problem:
            _log.warning({"witness not written": type(problem).__name__})
        else:
            self._scribe.submit(self._tell_witness, now)

    def _tell_witness(self, now: Witness) -> None:
        if now == self._told:
            return
        try:
            now.save(self._opened.witness)
            self._told = now
        except (OSError, TacitError) as problem:
            _log.warning({"witness not written": type(problem).__name__})

    # Noise --------------------------------------------------------------------------------------------------------

    def _see_to_noise(self) -> None:
        """Have it drawn where it is used up, and let those go on who have waited for it."""
        for found in self.deployments.values():
            if not isinstance(found, Deciding) or found.failed or found.uid in self._drawing:
                continue
            if found.live.ready:
                self._go_on(found)
            elif self.holds(found.uid):
                self._drawing[found.uid] = asyncio.create_task(self._draw(found))

    async def _draw(self, found: Deciding) -> None:
        try:
            await self._load_sampler(found)
            await asyncio.get_running_loop().run_in_executor(None, found.live.draw_ahead)
        except Exception as problem:
            _log.error({"noise not drawn": found.name, "what": type(problem).__name__, "where": place_of(problem)})
            found.failed = True
        finally:
            del self._drawing[found.uid]
            self._go_on(found)

    def _go_on(self, found: Deciding) -> None:
        found.waits = False
        waiting = self._aside.get(found.uid)
        while waiting:
            self._queue.appendleft(waiting.pop())
            self._wake.set()

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
                    if found.failed:
                        continue
                    if isinstance(found, Deciding) and (not self.shared or found.uid in self._held):
                        while await self.submit(partial(self._close, found), found):
                            pass
                    if rounds % _SELDOM == 1:
                        self.pending[found.uid] = await self.submit(
                            partial(self.store.count_pending, found.uid, MOST_COUNTED)
                        )
                        while await self.submit(partial(self.store.forget, found.uid, self._now(), 5000)):
                            pass
                if rounds % _SELDOM == 1:
                    self._witness_due = True  # after the next transaction, and one comes with every sweep
                if rounds % _RARELY == 0:
                    self._settling = True  # what was closed since leaves the log as well
            except TacitError:
                continue  # the store is away: what is due stays due

    def _close(self, found: Deciding) -> bool:
        if found.failed:
            return False
        if self.shared and not self.store.keep_lease(found.uid, self.replica, LEASE):
            return False
        return self._careful(found, partial(found.close_due, self._now())) > 0

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
            found = await self.apart(prepare)
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
            if found.failed:
                continue
            if isinstance(found, Deciding):
                more |= self._careful(found, partial(self._hold, found, int(made), int(version)))
            elif int(made) != found.made:
                self._careful(found, found.load)
                self._careful(found, found.committed)
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
        # Calibration may take a second: outside the transaction, and remembered by the plan's own caches.
        await self.apart(partial(settings.plan_of, asked))

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
        await self.apart(found.warm)
        gc.freeze()
        if isinstance(found, Deciding):
            await self._load_sampler(found)
        return found

    async def set_state(self, name: str, state: str) -> Standing:
        """Pause or resume."""

        def run() -> Standing:
            found = self.find(name)
            self.store.set_state(found.uid, state)
            found.state = state
            found.failed = False  # whoever resumes it wants to see
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
            self._queue.extend(self._aside.pop(found.uid, ()))  # to be told
            self._settling = True

        await self.submit(run)

    async def erase(self, found: Deciding, person: str) -> int:
        """Forget what is open of a person, in the store's log too; how many decisions that was."""

        def run() -> int:
            self._settling = True
            return found.erase(person, self._now())

        return await self.submit(run)


def _stand_still(found: Standing, problem: BaseException) -> None:
    """Ask nothing more of a deployment that has raised what nobody expected."""
    _log.error({"deployment failed": found.name, "what": type(problem).__name__, "where": place_of(problem)})
    found.failed = True


def _refuse(waiting: Iterable[_Work], problem: Exception) -> None:
    """Tell everybody who waits, also those who come meanwhile."""
    works = waiting if isinstance(waiting, deque) else deque(waiting)
    while works:
        work = works.popleft()
        work.failed = problem
        _resolve(work)


def _resolve(work: _Work) -> None:
    if work.future.done():
        return  # whoever waited has gone
    if work.failed is not None:
        work.future.set_exception(work.failed)
    else:
        work.future.set_result(work.result)
