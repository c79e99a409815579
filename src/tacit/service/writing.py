"""The one writer: requests that change something wait here, and share transactions.

Whatever arrives while a transaction is on its way to the disk goes into the next one (group commit): a reward is
acknowledged only when it is durable, and a thousand rewards do not cost a thousand flushes. With SQLite the statements
run in the event loop, where they touch memory, and only the commit waits in a thread; with PostgreSQL all of a
transaction runs in a thread.

If a transaction fails, nobody in it is acknowledged and every deployment it touched is read again from the store: what
the store holds is what happened, also when the answer to the commit was lost. If it failed by the mistake of one
deployment, that one stands still from then on, and the others are served as if it had not been there. If somebody is
refused who had already written something, that too is taken back, and the others are done again without them.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tacit.errors import StoreRefused, StoreUnavailable, TacitError
from tacit.service.learning import CommitFirst, NoiseFirst
from tacit.service.logs import place_of
from tacit.service.opening import Opened, make
from tacit.service.standing import Standing
from tacit.service.store import Deployment
from tacit.service.telling import Telling

Result = TypeVar("Result")
_log = logging.getLogger("tacit.service")

#: Requests in one transaction at most.
_BATCH = 1000
#: Requests that may wait; more are refused.
_WAITING = 20_000
#: Times that somebody is done again after mistakes of others.
_TRIES = 3
#: Seconds without a failure after which a store that had one counts as available.
_STEADY = 2.0
#: Seconds between two tries to read a store that is away.
_AGAIN = 0.2
_NUMBER = re.compile(r"\d+")
_STOPPING = "Expected a service that runs, got one that is stopping. Send it again in a moment."


@dataclass(slots=True)
class _Work:
    """Something to do inside a transaction, and who waits for it."""

    run: Callable[[], Any]
    future: asyncio.Future[Any]
    owner: Standing | None = None  # the deployment it is about, if it is about one
    result: Any = None
    failed: BaseException | None = None
    tries: int = 0  # transactions it was in that were rolled back by somebody's mistake


class _Mistake(Exception):
    """A deployment has raised what nobody expected. Its cause is that."""

    def __init__(self, owner: Standing) -> None:
        super().__init__()
        self.owner = owner


class _HalfDone(Exception):
    """A work was refused after it had written something. Its cause is the refusal."""

    def __init__(self, work: _Work) -> None:
        super().__init__()
        self.work = work


class Writer:
    """Everything that is written to one store goes through here. It holds the deployments, and reads them again."""

    def __init__(self, opened: Opened, now: Callable[[], float]) -> None:
        self.store = opened.store
        self.deployments = opened.deployments
        self.telling = Telling(opened.store, opened.witness)
        self.settling = False  #: what was removed must leave the store's log too
        self.committed: Callable[[], None] = lambda: None  #: called after every transaction
        self._master = opened.master
        self._now = now
        self._queue: deque[_Work] = deque()
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tacit-store")
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._aside: dict[str, deque[_Work]] = {}  # by deployment: what waits for its noise
        self._doing: _Work | None = None  # what is being done in a transaction, unless all of it is
        self._singly = 0  # so many works are done in transactions of their own, after a mistake among them
        self._head: tuple[int, str] | None = None  # of the ledger, in the transaction that is being written
        self._connections = self.store.db.connections
        self._away = False  # the store cannot be written
        self._failed_at = -math.inf  # when that was found last
        self._whys: set[str] = set()  # and why, as far as the log says

    @property
    def available(self) -> bool:
        """Whether the store can be written. A disk that is almost full takes a little now and then: once it has
        failed, it is there again only after a while without."""
        return not self._away and time.monotonic() - self._failed_at > _STEADY

    def start(self) -> None:
        self._task = asyncio.create_task(self._write())
        self._task.add_done_callback(self._ended)

    def close(self) -> None:
        """Take nothing more."""
        self._stopping = True
        self._wake.set()

    async def finish(self) -> None:
        """Do what has been accepted, as far as it need not wait."""
        self.close()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self._refuse_all()
        self.telling.stop()
        self._thread.shutdown()

    def submit(self, run: Callable[[], Result], owner: Standing | None = None) -> asyncio.Future[Result]:
        """Do this, about the deployment `owner`, inside a transaction; the future is done when that is durable."""
        if self._stopping:
            raise StoreUnavailable(_STOPPING)
        if len(self._queue) + sum(map(len, self._aside.values())) >= _WAITING:
            raise StoreUnavailable("Expected fewer requests at a time, got more than can wait. Send it again later.")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.append(_Work(run, future, owner))
        self._wake.set()
        return future

    def go_on(self, found: Standing) -> None:
        """Between transactions: let those go on who have waited for a deployment's noise. First: they came first."""
        waiting = self._aside.pop(found.uid, None)
        while waiting:
            self._queue.appendleft(waiting.pop())
            self._wake.set()

    def give_up(self, found: Standing) -> None:
        """In a transaction: let those who have waited for the noise of a deployment be told that it is no more."""
        self._queue.extend(self._aside.pop(found.uid, ()))

    # Transactions -------------------------------------------------------------------------------------------------

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
            if self._head is not None:
                self.telling.grown(*self._head)
            for found in touched:
                try:
                    found.committed()
                except Exception as problem:
                    found.stand_still(problem)
            for work in done:
                _resolve(work)
            self.committed()
            if self.store.grown or self.telling.due:
                await loop.run_in_executor(self._thread, self.telling.tell)
            if self.settling:
                self.settling = False
                await loop.run_in_executor(self._thread, self.store.db.settle)

    def _fill_and_commit(self, done: list[_Work], touched: list[Standing]) -> None:
        self._fill(done, touched)
        self.store.db.commit()

    def _fill(self, done: list[_Work], touched: list[Standing]) -> None:
        """Do what is waiting, in its order, and write what it changed."""
        db, queue = self.store.db, self._queue
        db.begin()
        if db.connections != self._connections:  # something else may be behind it: everything is read again
            raise StoreUnavailable("Expected the connection to the store to last, got another one. Send it again.")
        later: list[_Work] = []  # what waits for this commit: of some deployments, while the others go on
        waits: set[Standing | None] = set()
        try:
            for _ in range(min(len(queue), _BATCH if not self._singly else 1)):
                work = self._doing = queue[0]
                place = later if work.owner in waits else self._do(work, done, later)
                place.append(queue.popleft())
                if place is later and work.owner is not None:
                    waits.add(work.owner)
            self._doing = None
        finally:
            queue.extendleft(reversed(later))
        self._singly = max(0, self._singly - 1)
        now = self._now()
        for found in self.deployments.values():
            if found.touched and not found.unread:
                careful(found, partial(found.save, now))
                touched.append(found)
        self._head = self.store.head() if self.store.grown else None

    def _do(self, work: _Work, done: list[_Work], later: list[_Work]) -> list[_Work] | deque[_Work]:
        """Do it; where it belongs now."""
        db, before = self.store.db, self.store.db.changes
        try:
            work.result = work.run()
        except CommitFirst:
            if work.owner is not None and not work.owner.touched:  # nothing to commit: it would wait for ever
                raise _Mistake(work.owner) from RuntimeError()
            return later
        except NoiseFirst:
            assert work.owner is not None
            return self._aside.setdefault(work.owner.uid, deque())
        except (StoreUnavailable, _Mistake):
            raise
        except StoreRefused as problem:  # a record that does not open
            if work.owner is None:
                raise
            raise _Mistake(work.owner) from problem
        except TacitError as problem:
            if db.changes != before:
                raise _HalfDone(work) from problem
            work.failed = problem
        except Exception as problem:
            if work.owner is None:
                raise
            raise _Mistake(work.owner) from problem
        return done

    # Failures -----------------------------------------------------------------------------------------------------

    async def _failed(self, problem: Exception, done: list[_Work]) -> None:
        """Nobody is acknowledged, and the store says what is true."""
        tried = [*done, *([] if self._doing is None else [self._doing])]
        waiting = [*done, *self._queue]
        self._queue.clear()
        self._doing = None
        if isinstance(problem, _Mistake | _HalfDone):
            cause = problem.__cause__ or problem
            if isinstance(problem, _Mistake):
                problem.owner.stand_still(cause)
            else:
                _log.error({"half done": type(cause).__name__, "where": place_of(cause)})
                problem.work.failed = cause
                _resolve(problem.work)
            self._queue.extend(self._once_more(waiting, tried))
        else:
            if not isinstance(problem, StoreUnavailable):
                _log.error({"transaction failed": type(problem).__name__, "where": place_of(problem)})
                problem = StoreUnavailable("Expected a transaction to succeed, got an error. Nothing was changed.")
            self._unavailable(problem)
            self._singly = 0
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
                self._unavailable(still)
                await asyncio.sleep(_AGAIN)
                _refuse(self._queue, still)  # whoever comes meanwhile is told at once, rather than kept waiting
                if self._stopping:
                    return
            else:
                self._away = False
                return

    def _once_more(self, waiting: Iterable[_Work], tried: Iterable[_Work]) -> Iterator[_Work]:
        """Those that are done again: one by one, so that what goes wrong between two of them goes right, and not for
        ever. A deployment that stands still refuses what is asked of it by itself."""
        for work in tried:
            work.tries += 1
            self._singly += 1
        for work in waiting:
            if work.tries > _TRIES and not work.future.done():
                work.failed = StoreUnavailable("Expected to do this, and could not: the log says why. Nothing changed.")
                _resolve(work)
            elif not work.future.done():
                work.result = work.failed = None
                yield work

    def _unavailable(self, problem: Exception) -> None:
        """The store cannot be written, and the log says why, once a reason."""
        why = _NUMBER.sub("", str(problem))
        if self.available or why not in self._whys:
            _log.error({"store": "unavailable", "why": str(problem)})
            self._whys = {why} if self.available else {*self._whys, why}
        self._away, self._failed_at = True, time.monotonic()

    def _reload(self) -> None:
        self.store.db.rollback()
        self.store.db.begin()
        try:
            self._read_again()
        finally:
            self.store.db.rollback()  # at once, whatever came of it: others wait for their turn

    def _read_again(self) -> None:
        self.telling.check()
        self.store.grown = True  # whatever others have released: remember it, before anybody is served from it
        self._connections = self.store.db.connections
        known, fresh = {found.uid: found for found in self.deployments.values()}, {}
        for row in self.store.deployments():  # also one whose deletion failed
            found = known.pop(row.uid, None) or self._made(row)
            if found is not None:
                found.try_to_load()
                fresh[row.name] = found
        for gone in known.values():
            gone.state = "deleted"  # or it was never made: for whoever has found it before, and waits
        self.deployments = fresh  # at once: whoever asks meanwhile finds what there is

    def _made(self, row: Deployment) -> Standing | None:
        """What another process has made; None if this one does not know how."""
        try:
            return make(self.store, row, self._master)
        except Exception as problem:
            _log.warning({"deployment not taken in": type(problem).__name__, "where": place_of(problem)})
            return None

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Nothing ends the writer but the end of the service. Should it be otherwise, nobody waits for it in vain."""
        if self._stopping or task.cancelled():
            return
        problem = task.exception() or RuntimeError()
        _log.critical({"writer ended": type(problem).__name__, "where": place_of(problem)})
        self._stopping = self._away = True
        self._refuse_all()

    def _refuse_all(self) -> None:
        for waiting in (*self._aside.values(), self._queue):
            _refuse(waiting, StoreUnavailable(_STOPPING))


def careful(found: Standing, run: Callable[[], Result]) -> Result:
    """Do this, and let what it raises be the mistake of this deployment alone: nobody has asked for anything."""
    try:
        return run()
    except StoreUnavailable:
        raise
    except Exception as problem:
        raise _Mistake(found) from problem


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
