"""A service that is killed at random moments: nothing acknowledged is lost, nothing counts twice, nothing is released
twice, and it is back in seconds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacit.errors import StoreRefused
from tacit.service import chain
from tacit.service.opening import open_store
from tests.service.faults import HEADER, UNIT, UP, Book, Load, audit, kill_again_and_again, poll, serving

#: Acknowledges everything and commits nothing once decisions are made: what the audit must not let through.
HASTY = """
import sys
from tacit.service.database import SQLite

begin, commit = SQLite.begin, SQLite.commit

def lazy_begin(self):
    if not self._connection.in_transaction:
        begin(self)

def lazy_commit(self):
    if not self.one("SELECT SUM(made) FROM deployments")[0]:
        commit(self)

SQLite.begin, SQLite.commit = lazy_begin, lazy_commit
from tacit.cli import main
sys.exit(main(sys.argv[1:]))
"""


def check(outcome):
    assert max(outcome.seconds) < UP
    for found in outcome.found:
        assert found.acknowledged > outcome.kills
        assert found.acknowledged <= found.counted <= found.decisions
        assert found.releases > outcome.kills


def test_two_kills_lose_nothing_and_count_nothing_twice(tmp_path):
    check(kill_again_and_again(tmp_path, kills=2, seed=1))


@pytest.mark.long
def test_a_hundred_kills_lose_nothing_and_count_nothing_twice(tmp_path):
    outcome = kill_again_and_again(tmp_path, kills=100, seed=2)
    check(outcome)
    write_results([outcome.row("SQLite")])


def test_a_service_that_acknowledges_before_it_commits_is_caught(tmp_path):
    twin = tmp_path / "hasty.py"
    twin.write_text(HASTY)
    book, store, witness = Book("every"), tmp_path / "tacit.db", tmp_path / "tacit.db.witness"
    with serving(tmp_path / "service", store, program=(str(twin),)) as service:
        service.create("every")
        before = witness.read_bytes()
        with Load([service], [book], seed=3):
            poll(lambda: len(book.acknowledged) > 5)
    with pytest.raises(StoreRefused, match="restored"):  # the witness has seen releases that the store has not
        audit(str(store), [book])
    witness.write_bytes(before)
    # Every start turns to new ids from the first decision that the store does not know of.
    with pytest.raises(AssertionError, match="an id that is none of this deployment"):
        audit(str(store), [book])
    book.decisions.clear()
    with pytest.raises(AssertionError, match="acknowledged rewards were lost"):
        audit(str(store), [book])


def test_the_audit_sees_a_reward_that_counted_twice_and_a_release_that_was_made_twice(tmp_path):
    book, store = Book("every"), tmp_path / "tacit.db"
    with serving(tmp_path / "service", store) as service:
        service.create("every")
        with Load([service], [book], seed=4):
            poll(lambda: len(book.acknowledged) > 5)
        service.stop()
    audit(str(store), [book])
    one = next(iter(book.acknowledged))
    axis, value = book.sent[one]
    book.sent[one] = (axis, value + UNIT)
    with pytest.raises(AssertionError, match="sums of"):
        audit(str(store), [book])
    book.sent[one] = (axis, value)
    opened = open_store(str(store), key=None)
    opened.store.db.begin()
    uid = opened.deployments["every"].uid
    *_, last = (entry for _, _, entry, _ in opened.store.entries(uid))
    chain.append(opened.store, uid, "release", {name: last[name] for name in ("release", "clock", "view")}, 0.0)
    opened.store.db.commit()
    opened.store.db.close()
    with pytest.raises(AssertionError, match="release numbers"):
        audit(str(store), [book])


def write_results(rows):
    """The table, printed, and written to the file that TACIT_RESULTS names."""
    text = "\n".join([HEADER, *rows]) + "\n"
    print("\n" + text)
    if os.environ.get("TACIT_RESULTS"):
        path = Path(os.environ["TACIT_RESULTS"])
        known = path.read_text().splitlines() if path.exists() else HEADER.splitlines()
        path.write_text("\n".join([*known, *rows]) + "\n")
