"""Among several processes on one store: who learns, and how the others follow (docs/decisions/0024-service.md).

One process holds the lease of a deployment and alone absorbs, ticks and releases, in transactions that check the lease.
What it loses, or has not held, is read again before it is touched.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from functools import partial

from tacit.errors import TacitError
from tacit.service.deciding import Deciding
from tacit.service.logs import place_of
from tacit.service.opening import make
from tacit.service.standing import Standing
from tacit.service.store import Deployment
from tacit.service.writing import Writer, careful

_log = logging.getLogger("tacit.service")

#: Seconds between two looks at what others have done.
_WATCH = 0.1
#: Seconds a lease lasts unless renewed.
LEASE = 3.0


class Replicas:
    """This process among others."""

    def __init__(
        self,
        writer: Writer,
        master: bytes | None,
        apart: Callable[[Callable[[], Standing]], Awaitable[Standing]],
    ) -> None:
        self.name = secrets.token_hex(4)
        self.held: set[str] = set()  #: deployments whose lease this process has
        self._writer, self._store = writer, writer.store
        self._master, self._apart = master, apart
        self._strangers: list[Deployment] = []  # what others have made, and this one does not know yet
        self.meeting: dict[str, asyncio.Task[None]] = {}  #: those that are being taken in

    async def watch(self) -> None:
        """Take or renew leases, do the holder's work, and follow what the others have done. Never ends."""
        while True:
            more = False
            try:
                more = await self._writer.submit(self._follow)
            except TacitError:
                self.held.clear()
            while self._strangers:
                row = self._strangers.pop()
                if row.uid not in self.meeting:
                    self.meeting[row.uid] = asyncio.create_task(self._meet(row))
            if not more:
                await asyncio.sleep(_WATCH)

    def keep(self, uid: str) -> bool:
        """In a transaction: whether this process has, and keeps, the lease of a deployment it has read."""
        return uid in self.held and self._store.keep_lease(uid, self.name, LEASE)

    async def _meet(self, row: Deployment) -> None:
        """Take in what another replica has made. Its machine code comes first: to compile it may take longer than
        anybody should hold a transaction, or stay without renewing its leases."""

        def prepare() -> Standing:
            found = make(self._store, row, self._master)
            found.warm()
            return found

        def add(found: Standing) -> None:
            deployments = self._writer.deployments
            taken = any(one.uid == row.uid for one in deployments.values())  # read again meanwhile
            if not taken and self._store.deployment(row.uid) is not None:
                found.try_to_load()
                deployments[row.name] = found

        try:
            found = await self._apart(prepare)
            await self._writer.submit(partial(add, found))
        except Exception as problem:  # the next look will find it again
            _log.warning({"deployment not taken in": type(problem).__name__, "where": place_of(problem)})
            await asyncio.sleep(1.0)
        finally:
            del self.meeting[row.uid]

    def _follow(self) -> bool:
        """True if there is more to do at once."""
        more, deployments = False, self._writer.deployments
        known = {found.uid: found for found in deployments.values()}
        for uid, state, made, version, copies, length in self._store.standing():
            found = known.pop(str(uid), None)
            if found is None:
                row = self._store.deployment(str(uid))
                if row is not None:
                    self._strangers.append(row)
                continue
            if int(length) != found.settings_length:
                careful(found, found.follow_settings)
            resumed = found.state == "paused" and str(state) == "serving"
            found.state, found.copies = str(state), int(copies)
            if resumed and found.raised:
                careful(found, found.try_again)  # whoever resumes it wants to see, wherever it was asked
            if found.failed:
                continue
            if isinstance(found, Deciding):
                more |= careful(found, partial(self._hold, found, int(made), int(version)))
            elif int(made) != found.made:
                careful(found, found.load)
                careful(found, found.committed)
        for found in known.values():
            found.state = "deleted"
            del deployments[found.name]
            self.held.discard(found.uid)
        return more

    def _hold(self, found: Deciding, made: int, version: int) -> bool:
        """Do what only the holder of the lease may do, or follow the one who does."""
        if not found.version:
            return False  # it was made in this very transaction: nothing of it is stored yet
        found.made = made
        # A lease that could be renewed has been nobody else's. One that was lost and taken back has: if this process
        # stood still for longer than a lease lasts, what it has in memory is old.
        if not self._store.keep_lease(found.uid, self.name, LEASE):
            self.held.discard(found.uid)
            if not self._store.take_lease(found.uid, self.name, LEASE):
                if version != found.version:
                    found.load_view()
                    self._store.grown = True  # remember the release, before anybody is served from it
                return False
        if found.uid not in self.held:
            found.flush()  # what was decided in this transaction, before it is read again
            if found.touched:
                return True  # so is what was learned in it: at the next look
            found.load()  # the last holder's sums, as they are in the store
            found.made, self._store.grown = made, True
            self.held.add(found.uid)
        # The last decision's tick is made when there is another one: until then its rewards come before it.
        return not found.in_order and found.catch_up(made - 1)
