"""The engine without HTTP, on a database whose commits can be held up or made to fail."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from functools import partial

import numpy as np

from tacit.errors import StoreUnavailable
from tacit.service import settings
from tacit.service.deciding import Request
from tacit.service.engine import Engine
from tacit.service.opening import open_store

#: The longest that anything here may take: far more than it does.
PATIENCE = 30.0

#: A release after every decision, so that every transaction may hold one.
EVERY = {"dim": 2, "epsilon": 10.0, "delta": 0.1, "releases": "toeplitz", "horizon": 100_000}
#: The same under a kernel that needs rows in the order of their decisions.
IN_ORDER = {
    **{"dim": 2, "epsilon": 1.0, "delta": 0.1, "releases": "tree", "calibration": "published"},
    **{"noise": "wishart", "horizon": 1000},
}

AXES = np.eye(2)


def asked(parameters=EVERY, *, seed=None, noise="float", **rest):
    return settings.ask("joint-linucb", parameters, seed=seed, noise=noise, **rest)


class Clock:
    """A time of its own."""

    def __init__(self, start=1_000_000.0):
        self.time = start

    def __call__(self):
        return self.time


class Faulty:
    """A database that does what it is told: `before` and `after` run around each commit, and may raise or wait."""

    def __init__(self, database):
        self._database = database
        self.commits = 0
        self.before = self.after = None

    def __getattr__(self, name):
        return getattr(self._database, name)

    def commit(self):
        if self.before is not None:
            self.before()
        self._database.commit()
        self.commits += 1
        if self.after is not None:
            self.after()


class Gate:
    """Holds up whoever comes through until it is opened."""

    def __init__(self):
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self):
        self.reached.set()
        assert self.opened.wait(PATIENCE)

    async def is_reached(self):
        await asyncio.get_running_loop().run_in_executor(None, self.reached.wait, PATIENCE)
        assert self.reached.is_set()


@asynccontextmanager
async def held_up(engine):
    """Inside, one commit is on its way and waits; outside it goes on."""
    db, gate = engine.store.db, Gate()
    db.before = gate
    held = engine.submit(lambda: None)
    try:
        await gate.is_reached()
        db.before = None
        yield gate
    finally:
        db.before = None
        gate.opened.set()
        await bounded(held)


def once(problem=None, *, after=0):
    """Fails once, when it has been called so many times, and never again."""
    calls = {"left": after + 1}

    def fail():
        calls["left"] -= 1
        if calls["left"] == 0:
            raise problem or StoreUnavailable("Expected a working store, got a test.")

    return fail


@asynccontextmanager
async def running(url, *, now=None, key=None, witness=None):
    """An engine at work on the store at `url`; its database is a `Faulty`."""
    opened = open_store(str(url), key=key, witness=witness)
    opened.store.db = Faulty(opened.store.db)
    engine = Engine(opened, now=now or Clock())
    await engine.start()
    try:
        yield engine
    finally:
        opened.store.db.before = opened.store.db.after = None
        await engine.stop()


def decide(engine, name="one", *, rows=AXES, person=None, key=None):
    """The future of a decision."""
    found = engine.find(name)
    return engine.submit(partial(found.decide, Request(np.array(rows, float), person, key), engine.now()), found)


def reward(engine, identity, value, name="one"):
    """The future of a reward."""
    found = engine.find(name)
    return engine.submit(partial(found.reward, identity, value, engine.now()), found)


async def bounded(awaitable):
    return await asyncio.wait_for(awaitable, PATIENCE)


async def failed(engine, *futures):
    """All of these were refused because of the store; and it has been read again since."""
    found = await bounded(asyncio.gather(*futures, return_exceptions=True))
    assert all(isinstance(one, StoreUnavailable) for one in found), found
    await recovered(engine)


async def recovered(engine):
    """The engine takes requests again, soon."""
    for _ in range(int(PATIENCE / 0.02)):
        try:
            return await bounded(engine.submit(lambda: None))
        except StoreUnavailable:
            await asyncio.sleep(0.02)
    raise AssertionError("never recovered")


def run(main):
    """Run `async def main()` to its end, within bounds."""
    return asyncio.run(asyncio.wait_for(main(), 2 * PATIENCE))


def stored_sums(engine, name="one"):
    """The exact sums as the store has them (it must not be sealed)."""
    found = engine.find(name)
    data = engine.store.leaves(found.uid)["vault/sums"]
    return np.frombuffer(data[1:], float)


def expected_sums(rows):
    """Packed Σ x xᵀ and Σ x·y of pairs (axis, reward), for two features: exact where rewards are whole multiples of a
    power of two."""
    found = np.zeros(5)
    for axis, value in rows:
        found[0 if axis == 0 else 2] += 1.0
        found[3 + axis] += value
    return found


def releases(engine, name="one"):
    """(release, clock) of every release in the ledger."""
    uid = engine.find(name).uid
    return [(e["release"], e["clock"]) for _, _, e, _ in engine.store.entries(uid) if e["kind"] == "release"]
