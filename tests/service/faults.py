"""A service that is killed at any moment, people who go on asking, and an audit of what its store says afterwards.

Rewards are whole multiples of 2⁻²⁰ and actions are axes, so that the exact sums in the vault are sums without rounding:
two different sets of rewards give the same sums only if their values happen to add up alike, which has a chance of
about 2⁻²⁰ for each pair that could be confused.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from tacit.service import chain
from tacit.service.opening import open_store
from tests.service.inside import live_sums

#: Seconds after which a service that has been started must answer. It takes about four; machines are busy.
UP = 60.0
#: Rewards are whole multiples of this.
UNIT = 2.0**-20

#: A release after every decision: each transaction may hold one, and each kill may meet one. A tree remembers what has
#: been released to the last digit, however much it was.
EVERY = {"dim": 2, "epsilon": 10.0, "delta": 0.1, "releases": "tree", "horizon": 1_000_000}
#: Releases at growing times; persons are counted, and their rows learned when they come.
PEOPLE = {"dim": 2, "epsilon": 30.0, "delta": 0.1, "person_rounds": 3}
#: Persons and a release every round: their rows are learned in order, when their decisions close.
ORDERED = {**EVERY, "person_rounds": 3}
#: A release after every decision; two arms share a context, and rewards are neither moved nor scaled.
ARMS = {
    **EVERY,
    **{"arms": 2, "preparation": "none", "width": "theory", "reward_low": -1.0, "reward_weight": 2.0},
}
LAG = 12

ROOT = Path(__file__).parents[2]


class Service:
    """`tacit serve` as a process: started, killed, started again."""

    def __init__(self, folder: Path, store: str, *flags: str, program: tuple[str, ...] = ("-m", "tacit")) -> None:
        self.folder, self.store, self.flags, self.program = folder, store, flags, program
        self.out, self.err = folder / "out", folder / "err"
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.waited: list[float] = []  # seconds from each start to the first healthy answer

    def launch(self, **more) -> None:
        """Start it, without waiting."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, self._started = 0, time.monotonic()
        self._from = self.out.stat().st_size if self.out.exists() else 0
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TACIT_")}
        environment.update(PYTHONUNBUFFERED="1", OPENBLAS_NUM_THREADS="1")
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, "serve", "--store", self.store, "--port", "0", *self.flags],
                stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=environment, **more,
            )  # fmt: skip

    def ready(self, within: float = UP) -> float:
        """Wait until it is healthy; how long that took since it was started."""
        while time.monotonic() < self._started + within:
            if self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode}: {self.err.read_text()[-2000:]}")
            if self.find_port():
                with suppress(Unanswered):
                    if self.ask("GET", "/health", timeout=5)[0] == 200:
                        self.waited.append(time.monotonic() - self._started)
                        return self.waited[-1]
            time.sleep(0.02)
        raise AssertionError(f"not up within {within} s: {self.err.read_text()[-2000:]}")

    def find_port(self) -> int:
        """The port it has said it listens at; 0 if it has not yet."""
        if not self.port:
            found = re.search(rb"serves on http://127\.0\.0\.1:(\d+)", self.out.read_bytes()[self._from :])
            self.port = int(found[1]) if found else 0
        return self.port

    def start(self, **more) -> float:
        self.launch(**more)
        return self.ready()

    def kill(self) -> None:
        """As the power goes."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)

    def stop(self) -> None:
        """As an operator does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def ask(self, method: str, path: str, body=None, *, timeout: float = 30.0, headers=None):
        """One request on a connection of its own: status and body."""
        line = Line(self)
        try:
            return line.ask(method, path, body, timeout=timeout, headers=headers)
        finally:
            line.close()

    def create(self, name: str, parameters=EVERY, **rest):
        asked = {"name": name, "policy": "joint-linucb", "parameters": parameters, **rest}
        status, body = self.ask("POST", "/v1/deployments", asked, timeout=120)
        assert status == 201, body
        return body


@contextmanager
def serving(folder, store, *flags, **options):
    """A service that is up, and is gone afterwards."""
    service = Service(Path(folder), str(store), *flags, **options)
    try:
        service.start()
        yield service
    finally:
        service.kill()


def poll(condition, within: float = UP, what: str = "what was waited for") -> float:
    """Wait until `condition()` is true; how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + within, f"{what} did not happen within {within} s"
        time.sleep(0.02)
    return time.monotonic() - began


class Line:
    """A connection that is kept; a request that fails closes it and raises `Unanswered`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._connection: http.client.HTTPConnection | None = None
        self._port = 0

    def ask(self, method, path, body=None, *, timeout=30.0, headers=None):
        port = self._service.port
        try:
            if self._connection is None or self._port != port:
                self.close()
                self._connection, self._port = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout), port
            data = None if body is None else json.dumps(body).encode()
            self._connection.request(method, path, data, {"content-type": "application/json", **(headers or {})})
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            raise Unanswered from problem
        with suppress(ValueError):
            return answer.status, json.loads(text)
        return answer.status, text.decode("utf-8", "replace")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Unanswered(ConnectionError):
    """Nobody knows whether it was done."""


# Load -----------------------------------------------------------------------------------------------------------------


@dataclass
class Book:
    """What the people who asked know, for one deployment."""

    name: str
    persons: int = 0
    arms: bool = False  # they share a context, which is the first axis
    late: int = 0  # rewards that came when their decision was closed: only where that is after a few decisions
    decisions: dict[str, tuple[str, int]] = field(default_factory=dict)  # key → id and index
    sent: dict[str, tuple[int, float]] = field(default_factory=dict)  # id → axis, or arm, and reward
    person: dict[str, str] = field(default_factory=dict)  # id → person
    acknowledged: set[str] = field(default_factory=set)
    repeats: int = 0
    conflicts: int = 0
    unavailable: int = 0
    version: int = 0  # the newest view anybody has been answered with
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Load:
    """Threads that decide and reward through kills. Decisions carry keys and are asked for until they are answered;
    of the rewards that nobody answered, half are sent again and half are given up."""

    def __init__(self, services, books, *, seed: int, workers: int = 3) -> None:
        self.services = list(services)
        self.books = list(books)
        self._stop, self._leave = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(random.Random(f"{seed}/{n}"), n), daemon=True)
            for n in range(workers)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self._stop.set()
        if kind is not None:
            self._leave.set()  # whatever went wrong is more interesting than who still waits
        for thread in self._threads:
            thread.join(2 * UP)
        if kind is not None:
            return
        assert not any(thread.is_alive() for thread in self._threads), "somebody still waits for an answer"
        problems = [problem for book in self.books for problem in book.problems]
        assert not problems, problems[:5]

    def _work(self, rng: random.Random, worker: int) -> None:
        lines = [Line(service) for service in self.services]
        count = 0
        try:
            while not self._stop.is_set():
                count += 1
                book = rng.choice(self.books)
                self._round(rng, lines, book, f"{worker}-{count}")
        except Exception as problem:
            book.problems.append(repr(problem))
        finally:
            for line in lines:
                line.close()

    def _round(self, rng, lines, book, key) -> None:
        ask = {"key": key, "actions": [{"id": "x", "features": [1.0, 0.0]}, {"id": "y", "features": [0.0, 1.0]}]}
        if book.arms:
            ask = {"key": key, "context": [1.0, 0.0], **rng.choice(({}, {"actions": ["x", "y"]}))}
        person = None
        if book.persons:
            person = ask["person"] = f"person-{rng.randrange(book.persons)}"
        path = f"/v1/deployments/{book.name}/decisions"
        line = rng.choice(lines)
        status, answer = self._until_answered(lines, line, book, "POST", path, ask)
        if status is None:
            return
        assert status in (200, 201), answer
        identity, index = answer["decision"], answer["index"]
        with book.lock:
            assert identity not in book.sent, "an id was given twice"
            book.decisions[key] = (identity, index)
        if rng.random() < 0.1:  # the same key again, perhaps elsewhere: the same decision
            again, repeated = self._once(rng.choice(lines), book, "POST", path, ask)
            if again is not None:
                assert (again, repeated["decision"], repeated["index"]) == (200, identity, index), repeated
        value = rng.randrange(-(2**20), 2**20) * UNIT
        if person is not None:  # one value a person: what counts is how many of theirs there are
            value = random.Random(person).randrange(-(2**20), 2**20) * UNIT
            with book.lock:
                book.person[identity] = person
        if rng.random() < 0.05:
            return  # a reward that never comes
        with book.lock:
            book.sent[identity] = (index, value)
        path = f"{path}/{identity}/reward"
        status, answer = self._once(rng.choice(lines), book, "PUT", path, {"value": value})
        if status is None and rng.random() < 0.5:
            return  # given up: counted or not, and nobody knows
        if status is None:
            status, answer = self._until_answered(lines, line, book, "PUT", path, {"value": value})
        if status is None:
            return
        if status == 410 and book.name == "ordered":
            book.late += 1
            return
        assert status == 200, answer
        with book.lock:
            book.acknowledged.add(identity)
        if rng.random() < 0.1:
            again, answer = self._once(rng.choice(lines), book, "PUT", path, {"value": value})
            assert again in (None, 200), answer
            book.repeats += again == 200
        if rng.random() < 0.1:
            again, answer = self._once(rng.choice(lines), book, "PUT", path, {"value": value / 2 + 0.25})
            assert again in (None, 409), answer
            book.conflicts += again == 409

    def _once(self, line, book, method, path, body):
        """Status and answer; None if nobody knows whether it was done."""
        with book.lock:
            newest = book.version
        try:
            status, answer = line.ask(method, path, body)
        except Unanswered:
            return None, None
        if status == 503:
            assert set(answer) == {"error"}, answer
            book.unavailable += 1
            return None, None
        if status == 201 and len(self.services) == 1:
            # Nobody is served from an older view than somebody has been served from before.
            assert answer["view"] >= newest, f"served from view {answer['view']} after view {newest}"
        if status == 201:
            with book.lock:
                book.version = max(book.version, answer["view"])
        return status, answer

    def _until_answered(self, lines, line, book, method, path, body):
        until = time.monotonic() + 2 * UP
        while time.monotonic() < until:
            status, answer = self._once(line, book, method, path, body)
            if status is not None:
                return status, answer
            if self._leave.wait(0.05):
                break
            line = random.choice(lines)
        raise AssertionError(f"no answer to {method} within {2 * UP:.0f} s")


# The audit ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """What the store says of one deployment, compared with what people know."""

    decisions: int
    acknowledged: int
    counted: int  # rewards the store knows of, acknowledged or not
    releases: int


def audit(url: str, books, *, witness: Path | None = None, key: bytes | None = None) -> list[Found]:
    """Open the store of a service that has ended, and compare. Raises AssertionError with what does not fit."""
    opened = open_store(url, key=key, witness=witness)
    store = opened.store
    try:
        chain.verify(store)
        if store.db.kind == "postgresql" and store.db._connection.info.server_version >= 170000:
            store.db._connection.execute("SET transaction_timeout = 0")  # tens of thousands of questions in one
        store.db.begin()  # and nobody else writes meanwhile
        found = [_audit(opened.deployments[book.name], book) for book in books]
        store.db.rollback()
    finally:
        store.db.close()
    return found


def _audit(found, book: Book) -> Found:
    store, uid = found.store, found.uid
    found.load()
    number_of = cache(found.secret.number)  # after a hundred starts there are a hundred keys to try
    if found.shared and not found.in_order:
        for pending in store.come(uid, None, 10**6):  # written down, and waiting for whoever learns
            value = np.frombuffer(found.sealer.open(b"r%d" % pending.number, pending.reward))[0]
            found._absorb(found._row(pending), value, pending.person)
    # Decisions: every key has one, no number was used twice, and none was lost.
    numbers = [number_of(identity) for identity, _ in book.decisions.values()]
    assert None not in numbers, "an id that is none of this deployment"
    assert len(set(numbers)) == len(numbers), "two keys share a decision"
    assert max(numbers, default=-1) < found.made, "an acknowledged decision is not in the store"
    lost = [number for number in numbers if not (store.pending(uid, number) or store.closed(uid, number))]
    assert not lost, f"{len(lost)} acknowledged decisions are not in the store"

    # Rewards: acknowledged ⊆ counted ⊆ sent, and the exact sums are those of the counted, each once.
    by_number = {number_of(identity): identity for identity in book.sent}
    rows = {int(n): how for n, how in store.db.all("SELECT number, how FROM closed WHERE uid = ?", (uid,))}
    assert set(rows.values()) <= ({"reward", "expired"} if found.in_order else {"reward"})
    rewarded = [number for number, how in rows.items() if how == "reward"]
    strange = [number for number in rewarded if number not in by_number]
    assert not strange, f"{len(strange)} rewards were counted that nobody sent"
    counted = {by_number[number] for number in rewarded}
    missing = book.acknowledged - counted
    assert not missing, f"{len(missing)} of {len(book.acknowledged)} acknowledged rewards were lost"
    learned = counted
    if found.in_order:  # those that have closed, each in its turn
        waiting = {int(row[0]) for row in store.db.all("SELECT number FROM pending WHERE uid = ?", (uid,))}
        assert waiting == set(range(found.made - len(waiting), found.made)), "a decision was overtaken"
        assert found.live.clock == found.made - len(waiting), "the clock and the closed decisions"
        learned = {by_number[number] for number in rewarded if number not in waiting}
        if found.people is not None:  # the first rounds of a person count, with a reward or without
            whose = {number_of(identity): person for identity, person in book.person.items()}
            rounds, counting = Counter(), set()
            for number in range(found.made - len(waiting)):
                rounds[whose[number]] += 1
                if rounds[whose[number]] <= found.people:
                    counting.add(number)
            learned = {identity for identity in learned if number_of(identity) in counting}
    expected = _sums([book.sent[identity] for identity in learned], [book.person.get(i) for i in learned], found.people)
    sums = live_sums(found.live, UNIT)
    if book.arms:  # of each arm: how many contexts on the first axis, and what they earned
        blocks = sums.reshape(2, -1)
        got, rest = blocks[:, [0, 3]].T.ravel(), blocks[:, [1, 2, 4]]
    else:
        got, rest = np.delete(sums, 1), sums[1]  # axes have no cross terms
    if found.people is None:
        assert np.array_equal(got, expected), f"sums of {len(learned)} rewards: expected {expected}, got {got}"
    else:  # which axis a person's counted rows were on is not known, only how many and what they add up to
        pairs = np.array([got[0] + got[1], got[2] + got[3]])
        wanted = np.array([expected[0] + expected[1], expected[2] + expected[3]])
        assert np.array_equal(pairs, wanted), f"rows and rewards of persons: expected {wanted}, got {pairs}"
    assert not np.any(rest)

    # Releases: numbered without gaps, in the order of the clock, one view each; charged once, for what was promised.
    entries = [entry for _, _, entry, _ in store.entries(uid)]
    releases = [entry for entry in entries if entry["kind"] == "release"]
    assert [entry["release"] for entry in releases] == list(range(1, len(releases) + 1)), "release numbers"
    clocks = [entry["clock"] for entry in releases]
    assert all(before < after for before, after in pairwise(clocks)), "clocks"
    assert len({entry["view"] for entry in releases}) == len(releases), "a view was released twice"
    assert found.version == len(releases) + 1 >= book.version
    assert [entry["kind"] for entry in entries].count("charged") == 1
    assert found.copies == 1
    promised = found.config.promise.epsilon
    assert found.guarantee.epsilon <= promised
    assert found.guarantee.epsilon >= 0.999 * promised  # and it is the promise, not something else
    assert entries[0]["epsilon"] == found.guarantee.epsilon
    return Found(len(book.decisions), len(book.acknowledged), len(counted), len(releases))


def _sums(rows, persons, limit):
    """Rows on each axis, and rewards on each; of a person at most `limit` rows."""
    found = np.zeros(4)
    if limit is None:
        for axis, value in rows:
            found[axis] += 1.0
            found[2 + axis] += value
        return found
    values = dict(zip(persons, (value for _, value in rows), strict=True))
    for person, count in Counter(persons).items():
        found[0] += min(count, limit)
        found[2] += min(count, limit) * values[person]
    return found


# Kills ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """A run of kills, for a table."""

    kills: int
    found: list[Found]
    seconds: list[float]  # to be up again
    ledgers: int

    def row(self, name: str) -> str:
        total = [sum(getattr(one, part) for one in self.found) for part in Found.__dataclass_fields__]
        times = f"{statistics.median(self.seconds):.1f} | {max(self.seconds):.1f}"
        return f"| {name} | {self.kills} | {' | '.join(f'{number:,}' for number in total)} | {times} |"


HEADER = (
    "| store | kills | decisions | rewards acknowledged | rewards counted | releases | up again, median s | max s |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|"
)


def the_books() -> list[Book]:
    """For `create_all`."""
    return [Book("every"), Book("people", persons=40), Book("ordered", persons=40), Book("arms", arms=True)]


def create_all(service: Service) -> None:
    """A release with every decision; persons, in the order of arrival; persons, in the order of decisions; arms."""
    service.create("every")
    service.create("people", PEOPLE)
    service.create("ordered", ORDERED, closes_after_decisions=LAG)
    service.create("arms", ARMS, actions=["x", "y"])


def kill_again_and_again(folder: Path, *, kills: int, seed: int, life: float = 0.8) -> Outcome:
    """A service on SQLite under load, killed at random moments of its life and started again; audited at the end."""
    rng = random.Random(seed)
    books = the_books()
    url = str(folder / "store" / "tacit.db")
    service = Service(folder / "service", url)
    ledger: list = []
    seconds = []
    try:
        service.start()
        create_all(service)
        with Load([service], books, seed=seed):
            for number in range(kills):
                time.sleep(rng.uniform(0.05, life))  # the moment is the experiment
                service.kill()
                if number % 5 == 4:  # now and then it does not even come up in between
                    service.launch()
                    time.sleep(rng.uniform(0.0, 4.0))
                    service.kill()
                seconds.append(service.start())
                status, answer = service.ask("GET", "/v1/deployments/every/ledger")
                assert status == 200
                assert answer["entries"][: len(ledger)] == ledger, "the ledger was changed behind us"
                ledger = answer["entries"]
                status, card = service.ask("GET", "/v1/deployments/every")
                assert card["epsilon"] <= card["promised_epsilon"] == EVERY["epsilon"]
            time.sleep(0.2)
        service.stop()
    finally:
        service.kill()
    return Outcome(kills, audit(url, books), seconds, len(ledger))
