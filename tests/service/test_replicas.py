"""Several processes on one PostgreSQL: one of them learns, any of them may die, and so may the server."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import signal
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from tacit.service.opening import open_store
from tacit.service.replicas import LEASE
from tests.service import inside
from tests.service.faults import ARMS, EVERY, UP, Book, Load, Outcome, Service, audit, create_all, poll, the_books
from tests.service.inside import asked, bounded, run, running
from tests.service.postgres_server import postgres_server
from tests.service.test_kills import write_results

ACTIONS = [{"id": "x", "features": [1.0, 0.0]}, {"id": "y", "features": [0.0, 1.0]}]


@contextmanager
def replicas(folder, url, count=2):
    """So many processes on one database, started at once, each with a witness of its own."""
    found = [Service(folder / f"r{n}", url, "--witness", str(folder / f"witness-{n}")) for n in range(count)]
    try:
        for one in found:
            one.launch()
        for one in found:
            one.ready()
        yield found
    finally:
        for one in found:
            one.kill()


def holds(service, name):
    """Whether this process does the learning of a deployment; False if it does not answer."""
    try:
        if not service.find_port():
            return False
        status, text = service.ask("GET", "/metrics", timeout=5)
    except ConnectionError:
        return False
    found = re.search(rf'tacit_holds_lease{{deployment="{name}"}} ([01])', text)
    return status == 200 and found is not None and found[1] == "1"


def known(services, name):
    """Wait until every replica has heard of a deployment, and one of them learns."""
    for one in services:
        poll(lambda one=one: one.ask("GET", f"/v1/deployments/{name}")[0] == 200, what="the other replica's deployment")
    poll(lambda: sum(holds(one, name) for one in services) == 1, what="a holder")


def audited(folder, url, books):
    """The audit, with a copy of a witness: the replicas go on using theirs."""
    copy = folder / "witness-of-the-audit"
    shutil.copy(folder / "witness-0", copy)
    return audit(url, books, witness=copy)


@pytest.fixture(scope="module")
def server():
    """One of this module's own: a test ends it as a crash does, and others would wait for its recovery."""
    with postgres_server() as found:
        yield found


@pytest.fixture(scope="module")
def pair(server, tmp_path_factory):
    """Two replicas that were started together on an empty database."""
    folder, url = tmp_path_factory.mktemp("pair"), server.database()
    with replicas(folder, url) as found:
        yield folder, url, found


def test_two_replicas_that_start_at_once_on_an_empty_database_serve_the_same(pair):
    folder, url, (one, other) = pair
    one.create("both")
    known([one, other], "both")
    book = Book("both")
    with Load([one, other], [book], seed=11):
        poll(lambda: len(book.acknowledged) > 30)
        poll(lambda: one.ask("GET", "/v1/deployments/both")[1]["releases"] > 5, what="releases")
    (found,) = audited(folder, url, [book])
    assert found.counted == found.acknowledged
    assert found.releases > 5
    for service in (one, other):  # what the holder released is what the other serves from, soon
        poll(lambda s=service: s.ask("GET", "/v1/deployments/both")[1]["view"] > found.releases)


def test_across_replicas_a_reward_counts_once_and_a_key_has_one_decision(pair):
    folder, url, services = pair
    services[0].create("twice", releases_seldom())
    known(services, "twice")
    path, book = "/v1/deployments/twice/decisions", Book("twice")
    outcomes = []
    with ThreadPoolExecutor(2) as pool:

        def on_both(method, at, bodies):
            """One request on each replica, at the same time; again if the store could not take it."""
            barrier = threading.Barrier(2)

            def ask(service, body):
                barrier.wait(UP)
                for _ in range(20):
                    found = service.ask(method, at, body)
                    if found[0] != 503:
                        return found
                raise AssertionError(found)

            return list(pool.map(ask, services, bodies))

        for number in range(12):
            ask = {"actions": ACTIONS, "key": f"k{number}"}
            (_, left), (_, right) = on_both("POST", path, [ask, ask])
            assert (left["decision"], left["index"]) == (right["decision"], right["index"])
            identity, index = left["decision"], left["index"]
            book.decisions[ask["key"]] = (identity, index)
            values = [0.5, 0.5] if number % 2 else [0.25, -0.25]
            answers = on_both("PUT", f"{path}/{identity}/reward", [{"value": value} for value in values])
            statuses = [status for status, _ in answers]
            if number % 2:
                assert statuses == [200, 200]
            else:
                assert sorted(statuses) == [200, 409], answers
            book.sent[identity] = (index, values[statuses.index(200)])
            book.acknowledged.add(identity)
            outcomes.append(statuses)
    (found,) = audited(folder, url, [book])
    assert found.counted == 12


def test_arms_are_served_by_both_and_a_new_name_is_known_to_both_at_once(pair):
    folder, url, (one, other) = pair
    one.create("arms", {**ARMS, "arms": 3}, actions=["x", "y"])
    known([one, other], "arms")
    path = "/v1/deployments/arms"
    status, answer = one.ask("POST", f"{path}/actions", {"id": "z"})
    assert (status, answer["action_ids"]) == (200, ["x", "y", "z"])
    status, answer = other.ask("POST", f"{path}/decisions", {"context": [1.0, 0.0], "actions": ["z"]})
    assert (status, answer["action"]) == (201, "z")
    poll(lambda: other.ask("GET", path)[1]["action_ids"] == ["x", "y", "z"], what="the name that the other has given")
    status, answer = other.ask("POST", f"{path}/actions", {"id": "w"})
    assert (status, answer["error"]["field"]) == (400, "id")
    one.create("shared", ARMS, actions=["x", "y"])
    known([one, other], "shared")
    book = Book("shared", arms=True)
    with Load([one, other], [book], seed=12):
        poll(lambda: len(book.acknowledged) > 20)
    (found,) = audited(folder, url, [book])
    assert found.counted == found.acknowledged


def releases_seldom():
    return {"dim": 2, "epsilon": 10.0, "delta": 0.1}


def test_a_name_is_given_once_and_a_deletion_is_heard_of(pair):
    _, _, (one, other) = pair
    one.create("named")
    again = {"name": "named", "policy": "joint-linucb", "parameters": EVERY}
    status, answer = other.ask("POST", "/v1/deployments", again, timeout=120)  # whether it has heard of it or not
    assert (status, answer["error"]["code"]) == (400, "bad_input")
    known([one, other], "named")
    assert one.ask("DELETE", "/v1/deployments/named?confirm=named")[0] == 204
    status, answer = other.ask("POST", "/v1/deployments/named/decisions", {"actions": ACTIONS})
    assert (status, answer["error"]["code"]) == (404, "unknown_deployment")
    poll(lambda: other.ask("GET", "/v1/deployments/named")[0] == 404)


def test_when_the_database_goes_the_service_says_so_and_comes_back(pair, server):
    if not server.can_crash:
        pytest.skip("TACIT_TEST_POSTGRES is not ours to stop")
    folder, url, services = pair
    services[0].create("crash")
    known(services, "crash")
    book = Book("crash")
    with Load(services, [book], seed=12):
        poll(lambda: len(book.acknowledged) > 10)
        server.crash()
        try:
            for one in services:
                poll(lambda one=one: one.ask("GET", "/health")[0] == 503, what="an unhealthy answer")
                status, answer = one.ask("POST", "/v1/deployments/crash/decisions", {"actions": ACTIONS})
                assert (status, answer["error"]["code"]) == (503, "unavailable")
        finally:
            server.start()
        for one in services:
            assert poll(lambda one=one: one.ask("GET", "/health")[0] == 200) < 30
        before = len(book.acknowledged)
        poll(lambda: len(book.acknowledged) > before + 10)
    assert book.unavailable > 0
    audited(folder, url, [book])


def test_replicas_go_on_when_the_store_is_forked_or_another_is_started_beside_them(server, tmp_path):
    """Both turn to a new key of ids, which those who are serving must follow."""
    url = server.database()
    with replicas(tmp_path, url) as services:
        services[0].create("every")
        known(services, "every")
        path, rewards = "/v1/deployments/every/decisions", []
        for turn in range(3):
            for number, one in enumerate(services):
                ask = {"actions": ACTIONS, "key": f"{turn}-{number}"}
                status, made = one.ask("POST", path, ask)
                assert status == 201
                other = services[1 - number]
                assert other.ask("POST", path, ask)[1]["decision"] == made["decision"]
                rewards.append((other, made["decision"]))
            copy = tmp_path / "witness-of-the-test"
            if turn == 0:
                shutil.copy(tmp_path / "witness-0", copy)
            open_store(url, key=None, witness=copy, fork=turn == 1, anyway=turn == 1).store.db.close()
        for one, decision in rewards:
            assert one.ask("PUT", f"{path}/{decision}/reward", {"value": 0.5})[0] == 200
        poll(lambda: services[0].ask("GET", "/v1/deployments/every")[1]["copies"] == 2)


# The one that learns dies ---------------------------------------------------------------------------------------------


def kill_the_holder_again_and_again(folder, url, *, kills, seed):
    """The replica that learns is killed, another takes over, and it comes back as the other one."""
    rng = random.Random(seed)
    books = the_books()
    taken, seconds = [], []
    with replicas(folder, url) as services:
        create_all(services[0])
        for book in books:
            known(services, book.name)
        with Load(services, books, seed=seed):
            for _ in range(kills):
                time.sleep(rng.uniform(0.05, 0.8))  # the moment is the experiment
                poll(lambda: any(holds(one, "every") for one in services), what="a holder")
                dead = next(one for one in services if holds(one, "every"))
                alive = next(one for one in services if one is not dead)
                dead.kill()
                began = time.monotonic()
                dead.launch()
                poll(lambda alive=alive, dead=dead: holds(alive, "every") or holds(dead, "every"), what="a takeover")
                taken.append(time.monotonic() - began)
                seconds.append(dead.ready())
        for one in services:
            one.stop()
        return Outcome(kills, audited(folder, url, books), seconds, 0), taken


def test_when_the_holder_of_the_lease_is_killed_another_goes_on_and_nothing_is_lost(server, tmp_path):
    outcome, taken = kill_the_holder_again_and_again(tmp_path, server.database(), kills=1, seed=21)
    assert max(taken) < LEASE + 20  # a lease, and a busy machine
    assert all(found.acknowledged > 3 for found in outcome.found)


@pytest.mark.long
def test_a_hundred_dead_holders_lose_nothing(server, tmp_path):
    outcome, taken = kill_the_holder_again_and_again(tmp_path, server.database(), kills=100, seed=22)
    print(f"taken over after {statistics.median(taken):.1f} s (median), {max(taken):.1f} s (at most)")
    assert max(taken) < LEASE + 20
    write_results([outcome.row("PostgreSQL, two replicas")])


@pytest.mark.long
def test_a_holder_that_stands_still_is_replaced_and_does_no_harm_when_it_goes_on(server, tmp_path):
    """Stopped in the middle of anything, it may hold a lease, a lock and old sums."""
    rng, url = random.Random(23), server.database()
    books, taken = the_books(), []
    with replicas(tmp_path, url) as services:
        create_all(services[0])
        for book in books:
            known(services, book.name)
        with Load(services, books, seed=23):
            for _ in range(8):
                time.sleep(rng.uniform(0.2, 1.0))  # the moment is the experiment
                poll(lambda: any(holds(one, "every") for one in services), what="a holder")
                still = next(one for one in services if holds(one, "every"))
                other = next(one for one in services if one is not still)
                still.process.send_signal(signal.SIGSTOP)
                try:
                    taken.append(poll(lambda other=other: holds(other, "every"), what="a takeover"))
                    time.sleep(rng.uniform(0.0, 1.0))
                finally:
                    still.process.send_signal(signal.SIGCONT)
        for one in services:
            one.stop()
        found = audited(tmp_path, url, books)
    # A lease, and what the server gives a transaction at most.
    assert max(taken) < LEASE + 20 + 20
    print(f"taken over after {statistics.median(taken):.1f} s (median), {max(taken):.1f} s (at most): {found}")


# What can happen between two processes, one step at a time -----------------------------------------------------------


def test_whoever_stood_still_for_longer_than_a_lease_reads_again_before_it_learns(server, tmp_path):
    """A holds the lease and stands still; B takes it, learns, releases and goes; A takes it back."""
    url = server.database()

    async def main():
        async with running(url, witness=tmp_path / "a") as a:
            await a.create("one", asked())
            await until(lambda: a.leases == 1)
            first = await bounded(inside.decide(a))
            await bounded(inside.reward(a, first.decision, 0.5))
            await until(lambda: inside.stored_sums(a)[[0, 2]].sum() == 1)
            follow = a._replicas._follow
            a._replicas._follow, a._close = (lambda: False), (lambda found: False)  # it stands still
            shutil.copy(tmp_path / "a", tmp_path / "b")
            async with running(url, witness=tmp_path / "b") as b:
                await until(lambda: b.leases == 1, within=LEASE + 20)
                second = await bounded(inside.decide(b))
                await bounded(inside.reward(b, second.decision, 0.25))
                await until(lambda: inside.stored_sums(b)[[0, 2]].sum() == 2)
                seen = inside.releases(b)
            a._replicas._follow = follow
            await until(lambda: a.find("one").version > len(seen))
            third = await bounded(inside.decide(a))
            await bounded(inside.reward(a, third.decision, 0.125))
            await until(lambda: inside.stored_sums(a)[[0, 2]].sum() == 3)
            await until(lambda: len(inside.releases(a)) == 2)
            rows = [(first.index, 0.5), (second.index, 0.25), (third.index, 0.125)]
            assert np.array_equal(inside.stored_sums(a), inside.expected_sums(rows))
            assert inside.releases(a) == [(1, 1), (2, 2)]  # the third tick comes with a fourth decision

    run(main)


def test_a_decision_in_the_transaction_that_takes_the_lease_is_kept(server, tmp_path):
    url = server.database()

    async def main():
        async with running(url, witness=tmp_path / "a") as a:
            found = await a.create("one", asked())
            await until(lambda: a.leases == 1)
            async with inside.held_up(a):
                made = inside.decide(a)
                a._replicas.held.clear()  # as after a time without the store: what is stored is read again
                follow = a.submit(a._replicas._follow)
            await bounded(follow)
            assert a.store.pending(found.uid, found.secret.number((await bounded(made)).decision)) is not None
            assert await bounded(inside.reward(a, made.result().decision, 0.5)) == "reward"

    run(main)


@pytest.mark.parametrize(
    ("parameters", "look"),
    [(inside.EVERY, "unanswered"), (inside.IN_ORDER, "first")],
    ids=["arrival", "in order"],
)
def test_a_reward_that_is_acknowledged_while_its_decision_is_being_closed_counts(server, tmp_path, parameters, look):
    """B answers for the reward after A has read the decision as unrewarded and before A closes it."""
    url = server.database()

    async def main():
        clock = inside.Clock()
        async with running(url, now=clock, witness=tmp_path / "a") as a:
            found = await a.create("one", asked(parameters, closes_after=10.0))
            await until(lambda: a.leases == 1)
            made = await bounded(inside.decide(a))
            shutil.copy(tmp_path / "a", tmp_path / "b")
            other = open_store(url, key=None, witness=tmp_path / "b")
            late = clock.time + 9.9
            real = getattr(a.store, look)

            def meanwhile(*which):
                rows = real(*which)
                setattr(a.store, look, real)
                other.store.db._open().execute("BEGIN")  # not waiting for its turn, which would be a stronger promise
                assert other.deployments["one"].reward(made.decision, 0.5, late) == "reward"
                other.store.db.commit()
                return rows

            setattr(a.store, look, meanwhile)
            clock.time += 11.0
            await bounded(a.submit(partial(a._close, found)))
            await until(lambda: a.store.pending(found.uid, 0) is None)
            sums = await bounded(a.submit(partial(inside.stored_sums, a)))  # not in the middle of a transaction
            assert np.array_equal(sums, inside.expected_sums([(made.index, 0.5)]))
            other.store.db.close()

    run(main)


async def until(condition, within=20.0):
    """Wait for something that an engine does by itself."""
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)
