"""The tables, and every statement that touches them.

A method is one statement or two and decides nothing: what must hold together is written by one transaction, which the
engine begins and commits. Nothing in a table tells who somebody is, and what is secret is sealed before it comes here.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tacit.errors import StoreRefused, UnknownDeployment
from tacit.service.database import Database, Row

SCHEMA = 4

_TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS deployments (
        uid TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL, planned TEXT NOT NULL,
        secret BLOB NOT NULL, state TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, made BIGINT NOT NULL,
        version BIGINT NOT NULL, copies BIGINT NOT NULL, starts TEXT NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS leaves (uid TEXT, name TEXT, data BLOB NOT NULL, PRIMARY KEY (uid, name))",
    """CREATE TABLE IF NOT EXISTS views (
        uid TEXT PRIMARY KEY, version BIGINT NOT NULL, released DOUBLE PRECISION NOT NULL, data BLOB NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS pending (
        uid TEXT, number BIGINT, closes DOUBLE PRECISION NOT NULL, record BLOB NOT NULL, person BLOB, reward BLOB,
        came BIGINT, PRIMARY KEY (uid, number))""",
    "CREATE INDEX IF NOT EXISTS pending_person ON pending (uid, person) WHERE person IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS pending_came ON pending (uid, came, number) WHERE came IS NOT NULL",
    """CREATE TABLE IF NOT EXISTS closed (
        uid TEXT, number BIGINT, how TEXT NOT NULL, tag BLOB, until DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (uid, number))""",
    """CREATE TABLE IF NOT EXISTS client_keys (
        uid TEXT, token BLOB, number BIGINT NOT NULL, answer BLOB NOT NULL, until DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (uid, token))""",
    "CREATE INDEX IF NOT EXISTS client_keys_of ON client_keys (uid, until)",
    "CREATE INDEX IF NOT EXISTS client_keys_number ON client_keys (uid, number)",
    """CREATE TABLE IF NOT EXISTS people (
        uid TEXT, token BLOB, rounds BIGINT NOT NULL, segment BIGINT NOT NULL, PRIMARY KEY (uid, token))""",
    "CREATE TABLE IF NOT EXISTS reports (uid TEXT, id BLOB, stage BIGINT NOT NULL, PRIMARY KEY (uid, id))",
    "CREATE INDEX IF NOT EXISTS reports_stage ON reports (uid, stage)",
    """CREATE TABLE IF NOT EXISTS ledger (
        seq BIGINT PRIMARY KEY, uid TEXT NOT NULL, entry TEXT NOT NULL, hash TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS ledger_uid ON ledger (uid, seq)",
    "CREATE TABLE IF NOT EXISTS api_keys (name TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS leases (
        uid TEXT PRIMARY KEY, holder TEXT NOT NULL, until DOUBLE PRECISION NOT NULL)""",
)

#: Characters at the end of `starts` that no two of them have in common.
END = 20

#: Whatever belongs to a deployment and goes with it. The ledger stays.
_OWNED = ("leaves", "views", "pending", "closed", "client_keys", "people", "reports", "leases")


class Deployment(NamedTuple):
    """A row of `deployments`."""

    uid: str
    name: str
    settings: str
    planned: str
    secret: bytes
    state: str
    created: float
    made: int
    version: int
    copies: int
    starts: str  #: with which decision each key of ids began, as JSON


class Pending(NamedTuple):
    """An open decision: `record` and `reward` are sealed. In the table there is also how many decisions had been made
    when it `came`, its reward or its default: it has not been absorbed since."""

    number: int
    closes: float
    record: bytes
    person: bytes | None
    reward: bytes | None


class Closed(NamedTuple):
    """How a decision was closed; kept for as long as it could have stayed open."""

    how: str
    tag: bytes | None


_DEPLOYMENT = ", ".join(Deployment._fields)
_PENDING = ", ".join(Pending._fields)
#: How many decisions a deployment has made.
_MADE = "(SELECT made FROM deployments WHERE uid = ?)"


class Store:
    """Everything the service knows."""

    def __init__(self, database: Database) -> None:
        self.db = database
        self.grown = False  #: whether the ledger may have grown since somebody set this to False

    def prepare(self) -> None:
        """Make what is missing; refuse a store of a newer version. In a transaction."""
        if not self.db.has_table("meta"):  # who may only write rows can serve from what somebody else has made
            # Rows lie in the order of their keys: one tree to write instead of two.
            suffix = " WITHOUT ROWID" if self.db.kind == "sqlite" else ""
            for statement in _TABLES:
                self.db.run(statement + suffix if "PRIMARY KEY" in statement else statement)
        found = self.meta("schema")
        if found is None:
            self.set_meta("schema", str(SCHEMA))
            self.set_meta("id", secrets.token_hex(16))
            self.set_meta("epoch", "0")
        elif int(found) != SCHEMA:
            raise StoreRefused(
                f"Expected a store of schema {SCHEMA}, got schema {found}. Serve it with the tacit "
                "that wrote it, or begin a new store: what is released from that adds to what the old one has spent."
            )

    def try_to_write(self) -> None:
        """Write something of the size of a few decisions, and remove it: raises if the store cannot take it."""
        for text in ("0" * 2**16, None):
            self.db.begin()
            try:
                if text is None:
                    self.db.run("DELETE FROM meta WHERE name = 'room'")
                else:
                    self.set_meta("room", text)
                self.db.commit()
            except BaseException:
                self.db.rollback()
                raise

    # Facts about the store ----------------------------------------------------------------------------------------

    def meta(self, name: str) -> str | None:
        row = self.db.one("SELECT value FROM meta WHERE name = ?", (name,))
        return None if row is None else str(row[0])

    def set_meta(self, name: str, value: str) -> None:
        self.db.run(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )

    # Deployments --------------------------------------------------------------------------------------------------

    def deployments(self) -> list[Deployment]:
        return [_deployment(row) for row in self.db.all(f"SELECT {_DEPLOYMENT} FROM deployments ORDER BY created")]

    def deployment(self, uid: str) -> Deployment | None:
        row = self.db.one(f"SELECT {_DEPLOYMENT} FROM deployments WHERE uid = ?", (uid,))
        return None if row is None else _deployment(row)

    def has_name(self, name: str) -> bool:
        return self.db.one("SELECT 1 FROM deployments WHERE name = ?", (name,)) is not None

    def add_deployment(self, row: Deployment) -> None:
        self.db.run(f"INSERT INTO deployments ({_DEPLOYMENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def remove_deployment(self, uid: str) -> bool:
        """False if another process was first."""
        if self.db.run("DELETE FROM deployments WHERE uid = ?", (uid,)) == 0:
            return False
        for table in _OWNED:
            self.db.run(f"DELETE FROM {table} WHERE uid = ?", (uid,))
        return True

    def set_state(self, uid: str, state: str) -> bool:
        """False if there is none any more."""
        return self.db.run("UPDATE deployments SET state = ? WHERE uid = ?", (state, uid)) == 1

    def set_copies(self, uid: str, copies: int) -> None:
        self.db.run("UPDATE deployments SET copies = ? WHERE uid = ?", (copies, uid))

    def set_starts(self, uid: str, starts: str) -> None:
        self.db.run("UPDATE deployments SET starts = ? WHERE uid = ?", (starts, uid))

    def starts(self, uid: str) -> str | None:
        row = self.db.one("SELECT starts FROM deployments WHERE uid = ?", (uid,))
        return None if row is None else str(row[0])

    def set_settings(self, uid: str, settings: str) -> bool:
        """False if there is none any more."""
        return self.db.run("UPDATE deployments SET settings = ? WHERE uid = ?", (settings, uid)) == 1

    def set_made(self, uid: str, made: int) -> None:
        self.db.run("UPDATE deployments SET made = ? WHERE uid = ?", (made, uid))

    def next_number(self, uid: str) -> tuple[int, str]:
        """The number of a new decision, counted across replicas (PostgreSQL), and the end of the starts there are: a
        name that tells whether there are new ones."""
        row = self.db.one(
            f"UPDATE deployments SET made = made + 1 WHERE uid = ? RETURNING made, RIGHT(starts, {END})", (uid,)
        )
        if row is None:
            raise UnknownDeployment("Expected the name of a deployment, got one that was deleted meanwhile.")
        return int(row[0]) - 1, str(row[1])

    def standing(self) -> list[Row]:
        """uid, state, made, version, copies and the length of the settings, which only grow, of every deployment: what
        replicas watch."""
        return self.db.all("SELECT uid, state, made, version, copies, LENGTH(settings) FROM deployments")

    # Vault and view -----------------------------------------------------------------------------------------------

    def leaves(self, uid: str) -> dict[str, bytes]:
        return {
            str(name): bytes(data) for name, data in self.db.all("SELECT name, data FROM leaves WHERE uid = ?", (uid,))
        }

    def set_leaves(self, uid: str, leaves: Iterable[tuple[str, bytes]]) -> None:
        self.db.run_many(
            "INSERT INTO leaves (uid, name, data) VALUES (?, ?, ?) "
            "ON CONFLICT (uid, name) DO UPDATE SET data = excluded.data",
            [(uid, name, data) for name, data in leaves],
        )

    def view(self, uid: str) -> tuple[int, float, bytes] | None:
        row = self.db.one("SELECT version, released, data FROM views WHERE uid = ?", (uid,))
        return None if row is None else (int(row[0]), float(row[1]), bytes(row[2]))

    def set_view(self, uid: str, version: int, released: float, data: bytes) -> None:
        self.db.run(
            "INSERT INTO views (uid, version, released, data) VALUES (?, ?, ?, ?) ON CONFLICT (uid) DO UPDATE "
            "SET version = excluded.version, released = excluded.released, data = excluded.data",
            (uid, version, released, data),
        )
        self.db.run("UPDATE deployments SET version = ? WHERE uid = ?", (version, uid))

    # Decisions ----------------------------------------------------------------------------------------------------

    def add_pending(self, rows: Sequence[tuple[str, int, float, bytes, bytes | None]]) -> None:
        self.db.run_many("INSERT INTO pending (uid, number, closes, record, person) VALUES (?, ?, ?, ?, ?)", rows)

    def pending(self, uid: str, number: int) -> Pending | None:
        row = self.db.one(f"SELECT {_PENDING} FROM pending WHERE uid = ? AND number = ?", (uid, number))
        return None if row is None else _pending(row)

    def oldest(self, uid: str) -> tuple[int, float] | None:
        """Number and closing time of the oldest open decision."""
        row = self.db.one("SELECT number, closes FROM pending WHERE uid = ? ORDER BY number LIMIT 1", (uid,))
        return None if row is None else (int(row[0]), float(row[1]))

    def close_sooner(self, uid: str, closes: float) -> None:
        """Let no open decision stay open longer than this."""
        self.db.run("UPDATE pending SET closes = ? WHERE uid = ? AND closes > ?", (closes, uid, closes))

    def first(self, uid: str, most: int) -> list[Pending]:
        """The oldest open decisions, in their order."""
        rows = self.db.all(f"SELECT {_PENDING} FROM pending WHERE uid = ? ORDER BY number LIMIT ?", (uid, most))
        return [_pending(row) for row in rows]

    def unanswered(self, uid: str, after: int, most: int) -> list[tuple[int, float]]:
        """Number and closing time of open decisions after one that have not come, in their order."""
        rows = self.db.all(
            "SELECT number, closes FROM pending WHERE uid = ? AND number > ? AND came IS NULL ORDER BY number LIMIT ?",
            (uid, after, most),
        )
        return [(int(number), float(closes)) for number, closes in rows]

    def expire(self, uid: str, last: int, until: float, *, default: bool) -> None:
        """Close open decisions up to one that have not come. With a default they come now, else they go."""
        these = "FROM pending WHERE uid = ? AND number <= ? AND came IS NULL"
        self.db.run(
            f"INSERT INTO closed (uid, number, how, until) SELECT uid, number, ?, ? {these}",
            ("default" if default else "expired", until, uid, last),
        )
        if default:
            self.db.run(
                f"UPDATE pending SET came = {_MADE} WHERE uid = ? AND number <= ? AND came IS NULL", (uid, uid, last)
            )
        else:
            self.db.run(f"DELETE {these}", (uid, last))

    def come(self, uid: str, made: int | None, most: int) -> list[Pending]:
        """Decisions that have come when no more than so many had been made, and have not been absorbed."""
        rows = self.db.all(
            f"SELECT {_PENDING} FROM pending WHERE uid = ? AND came <= ? ORDER BY came, number LIMIT ?",
            (uid, 2**62 if made is None else made, most),
        )
        return [_pending(row) for row in rows]

    def first_came(self, uid: str) -> int | None:
        """How many decisions had been made when the first of those came that have not been absorbed."""
        row = self.db.one("SELECT came FROM pending WHERE uid = ? AND came IS NOT NULL ORDER BY came LIMIT 1", (uid,))
        return None if row is None else int(row[0])

    def set_reward(self, uid: str, number: int, reward: bytes, *, comes: bool) -> None:
        """`comes`: to be absorbed as soon as may be, and not in its turn."""
        came = _MADE if comes else "NULL"
        self.db.run(
            f"UPDATE pending SET reward = ?, came = {came} WHERE uid = ? AND number = ?",
            (reward, *((uid,) if comes else ()), uid, number),
        )

    def remove_pending(self, uid: str, number: int) -> bool:
        return self.db.run("DELETE FROM pending WHERE uid = ? AND number = ?", (uid, number)) == 1

    def remove_many_pending(self, uid: str, numbers: Sequence[int]) -> None:
        self.db.run_many("DELETE FROM pending WHERE uid = ? AND number = ?", [(uid, number) for number in numbers])

    def pending_of(self, uid: str, person: bytes) -> list[Pending]:
        rows = self.db.all(f"SELECT {_PENDING} FROM pending WHERE uid = ? AND person = ?", (uid, person))
        return [_pending(row) for row in rows]

    def count_pending(self, uid: str, most: int) -> int:
        """How many decisions are open, counted up to `most`."""
        row = self.db.one("SELECT COUNT(*) FROM (SELECT 1 FROM pending WHERE uid = ? LIMIT ?) AS open", (uid, most))
        return 0 if row is None else int(row[0])

    def blank(self, uid: str, number: int, record: bytes) -> None:
        """Replace what is remembered of a decision."""
        self.db.run("UPDATE pending SET record = ?, reward = NULL WHERE uid = ? AND number = ?", (record, uid, number))

    def closed(self, uid: str, number: int) -> Closed | None:
        row = self.db.one("SELECT how, tag FROM closed WHERE uid = ? AND number = ?", (uid, number))
        return None if row is None else Closed(str(row[0]), None if row[1] is None else bytes(row[1]))

    def close(self, uid: str, number: int, how: str, tag: bytes | None, until: float) -> bool:
        """True for the first to close it, in whichever process."""
        found = self.db.run(
            "INSERT INTO closed (uid, number, how, tag, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (uid, number, how, tag, until),
        )
        return found == 1

    def forget(self, uid: str, now: float, most: int, latest: float) -> bool:
        """Remove what was kept only to recognise repeats, once its time is over: the oldest first, up to so many of a
        kind. Whether there may be more. `latest`: when the time of whatever there is is over, if clocks are right."""
        oldest = self.db.one("SELECT until FROM closed WHERE uid = ? ORDER BY number LIMIT 1", (uid,))
        if oldest is not None and float(oldest[0]) > latest:  # closed while a clock was ahead: it would block the rest
            self.db.run("UPDATE closed SET until = ? WHERE uid = ? AND until > ?", (latest, uid, latest))
        closed = self.db.run(
            "DELETE FROM closed WHERE uid = ? AND until <= ? AND number IN "
            "(SELECT number FROM closed WHERE uid = ? ORDER BY number LIMIT ?) AND NOT EXISTS "
            "(SELECT 1 FROM pending WHERE pending.uid = closed.uid AND pending.number = closed.number)",
            (uid, now, uid, most),
        )
        keys = self.db.run(
            "DELETE FROM client_keys WHERE uid = ? AND token IN "
            "(SELECT token FROM client_keys WHERE uid = ? AND until <= ? ORDER BY until LIMIT ?)",
            (uid, uid, now, most),
        )
        return most in (closed, keys)

    def client_key(self, uid: str, token: bytes) -> tuple[int, bytes, float] | None:
        row = self.db.one("SELECT number, answer, until FROM client_keys WHERE uid = ? AND token = ?", (uid, token))
        return None if row is None else (int(row[0]), bytes(row[1]), float(row[2]))

    def add_client_key(self, uid: str, token: bytes, number: int, answer: bytes, until: float) -> bool:
        """False if another process was first."""
        found = self.db.run(
            "INSERT INTO client_keys (uid, token, number, answer, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (uid, token, number, answer, until),
        )
        return found == 1

    def remove_client_keys(self, uid: str, numbers: Sequence[int]) -> None:
        self.db.run_many("DELETE FROM client_keys WHERE uid = ? AND number = ?", [(uid, number) for number in numbers])

    # People -------------------------------------------------------------------------------------------------------

    def person(self, uid: str, token: bytes) -> tuple[int, int]:
        """Rounds learned from, and the segment of the last of them."""
        row = self.db.one("SELECT rounds, segment FROM people WHERE uid = ? AND token = ?", (uid, token))
        return (0, -1) if row is None else (int(row[0]), int(row[1]))

    def count_person(self, uid: str, token: bytes, segment: int) -> None:
        self.db.run(
            "INSERT INTO people (uid, token, rounds, segment) VALUES (?, ?, 1, ?) ON CONFLICT (uid, token) "
            "DO UPDATE SET rounds = people.rounds + 1, segment = excluded.segment",
            (uid, token, segment),
        )

    # Reports ------------------------------------------------------------------------------------------------------

    def has_report(self, uid: str, identity: bytes) -> bool:
        """Whether it has come before."""
        return self.db.one("SELECT 1 FROM reports WHERE uid = ? AND id = ?", (uid, identity)) is not None

    def add_report(self, uid: str, identity: bytes, stage: int) -> None:
        self.db.run("INSERT INTO reports (uid, id, stage) VALUES (?, ?, ?)", (uid, identity, stage))

    def forget_reports(self, uid: str, up_to: int) -> None:
        self.db.run("DELETE FROM reports WHERE uid = ? AND stage <= ?", (uid, up_to))

    # Ledger -------------------------------------------------------------------------------------------------------

    def head(self) -> tuple[int, str]:
        """Number and hash of the last entry."""
        row = self.db.one("SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1")
        return (0, "0" * 64) if row is None else (int(row[0]), str(row[1]))

    def add_entry(self, seq: int, uid: str, entry: str, digest: str) -> None:
        self.db.run("INSERT INTO ledger (seq, uid, entry, hash) VALUES (?, ?, ?, ?)", (seq, uid, entry, digest))
        self.grown = True

    def entry_texts(self, after: int, most: int) -> list[tuple[int, str, str, str]]:
        """Number, deployment, text and hash of entries after one, at most so many: a release every round makes more of
        them than one wants in memory."""
        rows = self.db.all("SELECT seq, uid, entry, hash FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?", (after, most))
        return [(int(seq), str(owner), str(entry), str(digest)) for seq, owner, entry, digest in rows]

    def entries(
        self, uid: str | None = None, *, after: int = 0, most: int = 2**62
    ) -> list[tuple[int, str, dict[str, Any], str]]:
        """Entries of a deployment, or of all, after one and at most so many."""
        if uid is None:
            rows: Sequence[Row] = self.entry_texts(after, most)
        else:
            rows = self.db.all(
                "SELECT seq, uid, entry, hash FROM ledger WHERE uid = ? AND seq > ? ORDER BY seq LIMIT ?",
                (uid, after, most),
            )
        return [(int(seq), str(owner), json.loads(entry), str(digest)) for seq, owner, entry, digest in rows]

    def entry_hash(self, seq: int) -> str | None:
        row = self.db.one("SELECT hash FROM ledger WHERE seq = ?", (seq,))
        return None if row is None else str(row[0])

    # Keys of callers ----------------------------------------------------------------------------------------------

    def api_keys(self) -> list[tuple[str, str, str]]:
        return [
            (str(n), str(r), str(h)) for n, r, h in self.db.all("SELECT name, role, hash FROM api_keys ORDER BY name")
        ]

    def add_api_key(self, name: str, role: str, digest: str) -> bool:
        found = self.db.run(
            "INSERT INTO api_keys (name, role, hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (name, role, digest)
        )
        return found == 1

    def remove_api_key(self, name: str) -> bool:
        return self.db.run("DELETE FROM api_keys WHERE name = ?", (name,)) == 1

    # Leases -------------------------------------------------------------------------------------------------------

    def keep_lease(self, uid: str, holder: str, seconds: float) -> bool:
        """Renew the lease, by the database's own clock; False if this process has it no more."""
        found = self.db.run(
            "UPDATE leases SET until = extract(epoch FROM clock_timestamp()) + ? WHERE uid = ? AND holder = ?",
            (seconds, uid, holder),
        )
        return found == 1

    def take_lease(self, uid: str, holder: str, seconds: float) -> bool:
        """Take a lease that nobody has or that has run out; False if another process holds it."""
        found = self.db.run(
            "UPDATE leases SET holder = ?, until = extract(epoch FROM clock_timestamp()) + ? "
            "WHERE uid = ? AND until < extract(epoch FROM clock_timestamp())",
            (holder, seconds, uid),
        )
        if found == 0:
            found = self.db.run(
                "INSERT INTO leases (uid, holder, until) VALUES (?, ?, extract(epoch FROM clock_timestamp()) + ?) "
                "ON CONFLICT DO NOTHING",
                (uid, holder, seconds),
            )
        return found == 1

    def drop_leases(self, holder: str) -> None:
        self.db.run("DELETE FROM leases WHERE holder = ?", (holder,))


def _deployment(row: Row) -> Deployment:
    uid, name, settings, planned, secret, state, created, made, version, copies, starts = row
    return Deployment(
        uid=str(uid),
        name=str(name),
        settings=str(settings),
        planned=str(planned),
        secret=bytes(secret),
        state=str(state),
        created=float(created),
        made=int(made),
        version=int(version),
        copies=int(copies),
        starts=str(starts),
    )


def _pending(row: Row) -> Pending:
    number, closes, record, person, reward = row
    return Pending(
        int(number),
        float(closes),
        bytes(record),
        None if person is None else bytes(person),
        None if reward is None else bytes(reward),
    )
