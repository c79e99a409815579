"""The engine without HTTP, on a database whose commits can be held up or made to fail."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tacit.core.round import ROWS
from tacit.errors import StoreUnavailable
from tacit.releases import Tree
from tacit.service import settings
from tacit.service.deciding import Request
from tacit.service.engine import Engine
from tacit.service.opening import open_store

#: The longest that anything here may take: far more than it does.
PATIENCE = 30.0

#: Rewards are whole multiples of this.
UNIT = 1 / 64
#: A release after every decision, so that every transaction may hold one.
EVERY = {"dim": 2, "epsilon": 10.0, "delta": 0.1, "releases": "toeplitz", "horizon": 100_000}


@dataclass(frozen=True, kw_only=True)
class InOrder(Tree):
    """Releases of somebody's own, of which nobody has shown that rows may come late."""

    word: ClassVar[str] = "in-order"

    def rows_may_come_late(self, person_rounds):
        return False


#: The same under releases that need rows in the order of their decisions.
IN_ORDER = {"dim": 2, "epsilon": 1.0, "delta": 0.1, "releases": {"in-order": {"horizon": 1000}}}

AXES = np.eye(2)


def asked(parameters=EVERY, *, seed=None, **rest):
    return settings.ask("joint-linucb", parameters, seed=seed, **rest)


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
    vault, stored = found.live.vault, engine.store.leaves(found.uid)
    leaves = {
        part: np.frombuffer(stored[f"vault/{part}"][1:], array.dtype).reshape(array.shape)
        for part, array in vault._asdict().items()
    }
    return _in_units(exact_sums(found.live, vault._replace(**leaves)), UNIT)


def live_sums(live, unit=UNIT):
    """The exact sums as a deployment has them at work."""
    return _in_units(exact_sums(live, live.vault), unit)


def exact_sums(live, vault):
    """Packed Σ x xᵀ and Σ x·y of all rows that are in a vault. They are there in steps of a lattice, as pairs of
    doubles: what has come since the last release, and what came before as the counter remembers it."""
    counter, memory = live.plan.params.counter, vault.memory
    total = vault.sums[0] + vault.sums[1]
    if hasattr(counter, "coder"):
        # q_i = Σ (1 − g_i)^age·x for several small g: it is the sum of all x at g = 0, by the polynomial through four.
        poles, count = counter.coder.poles[:4], len(counter.coder.poles)
        for i, pole in enumerate(poles):
            others = np.delete(poles, i)
            total = total + np.prod(others / (others - pole)) * (memory[i] + memory[count + i])
    else:
        # The nodes that are active after so many rows are those of its binary digits; the last row closes none.
        rows, depth = int(vault.counters[ROWS]), (len(memory) - 2) // 3
        rows -= rows == live.plan.limit
        for level in range(depth):
            if rows >> level & 1:
                total = total + memory[level] + memory[depth + level]
    return total * counter.lattice.steps


def _in_units(sums, unit):
    """Sums of rows and rewards that are whole multiples of a unit, which these are but for the last few digits."""
    found = np.round(sums / unit) * unit
    assert np.abs(found - sums).max() < unit / 20, sums
    return found


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
