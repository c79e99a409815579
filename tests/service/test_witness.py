"""Stores that were restored, copied, changed or sealed otherwise: refused, or accepted at the price of a fork."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from tacit.cli import main as tacit
from tacit.core.sealed import new_key
from tacit.errors import StoreRefused, StoreUnavailable, UnknownDecision
from tacit.service import chain, opening
from tacit.service.opening import open_store
from tacit.service.witness import Witness
from tests.service.inside import asked, bounded, decide, expected_sums, reward, run, running, stored_sums


def live(path, decisions, *, key=None, witness=None, rewards=True):
    """One life of a service on this store: so many decisions, each rewarded. What they were."""

    async def main():
        made = []
        async with running(path, key=key, witness=witness) as engine:
            if not engine.deployments:
                await engine.create("one", asked())
            for _ in range(decisions):
                made.append(await bounded(decide(engine)))
                if rewards:
                    await bounded(reward(engine, made[-1].decision, 0.5))
        return made

    return run(main)


def reopened(path, **options):
    """Open and close; what was found."""
    opened = open_store(str(path), **{"key": None, **options})
    opened.store.db.close()
    return opened


def files(path):
    return path, path.with_name(path.name + ".witness")


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "tacit.db"
    live(path, 3)
    return path


# Restored and copied --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("releases", [0, 3])
def test_an_older_copy_of_the_store_is_refused(store, tmp_path, releases, capsys):
    """With releases in between the ledger is behind; without any it is only the epoch, which grows with every start."""
    shutil.copy(store, tmp_path / "backup.db")
    live(store, releases)
    shutil.copy(tmp_path / "backup.db", store)
    before = store.read_bytes()
    for _ in range(2):  # and refusing changes nothing
        with pytest.raises(StoreRefused, match="restored from a copy") as caught:
            reopened(store)
        assert "tacit ledger fork" in str(caught.value)
    assert store.read_bytes() == before
    assert tacit(["serve", "--store", str(store), "--port", "0"]) == 2
    assert "restored from a copy" in capsys.readouterr().err


def test_a_copy_without_its_witness_is_refused(store, tmp_path):
    shutil.copy(store, tmp_path / "elsewhere.db")
    with pytest.raises(StoreRefused, match="may be a copy"):
        reopened(tmp_path / "elsewhere.db")


def test_a_store_that_vanished_or_was_exchanged_is_refused(store, tmp_path):
    path, witness = files(store)
    live(tmp_path / "other.db", 1)
    with pytest.raises(StoreRefused, match="another one"):
        reopened(tmp_path / "other.db", witness=witness)
    path.unlink()
    with pytest.raises(StoreRefused, match="got an empty one"):
        reopened(path)


def test_the_epoch_grows_with_every_start_and_the_witness_follows(store):
    _, witness = files(store)
    epochs = []
    for _ in range(3):
        opened = open_store(str(store), key=None)
        epochs.append((int(opened.store.meta("epoch")), Witness.load(witness).epoch))
        opened.store.db.close()
    first = epochs[0][0]
    assert epochs == [(first + n, first + n) for n in range(3)]


def test_a_witness_that_is_behind_is_harmless(store):
    path, witness = files(store)
    before = witness.read_bytes()
    live(path, 3)
    witness.write_bytes(before)  # as a crash between the two leaves it
    reopened(path)


def test_a_restore_of_store_and_witness_together_is_not_seen_and_the_card_says_so(store, tmp_path):
    path, witness = files(store)
    for one in (path, witness):
        shutil.copy(one, tmp_path / f"{one.name}.backup")
    live(path, 3)
    for one in (path, witness):
        shutil.copy(tmp_path / f"{one.name}.backup", one)
    found = reopened(path).deployments["one"]
    assert found.copies == 1  # nobody can know better
    assert any("rolls back the store together with its witness" in note for note in found.card().not_covered)


# Forks ----------------------------------------------------------------------------------------------------------------


def test_a_fork_is_accepted_at_the_price_of_all_copies_together(store, tmp_path, capsys):
    copy = tmp_path / "copy.db"
    shutil.copy(store, copy)
    plan = reopened(store).deployments["one"].plan
    one = plan.guarantee
    shown = [one.epsilon]
    for copies in (2, 3):
        if copies == 3:
            files(copy)[1].unlink()  # copied once more
            with pytest.raises(StoreRefused):
                reopened(copy)
        assert tacit(["ledger", "fork", "--store", str(copy), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["deployments"][0]["copies"] == copies
        found = reopened(copy).deployments["one"]
        assert found.copies == copies
        assert found.guarantee.mu == pytest.approx(one.mu * math.sqrt(copies), rel=1e-12)
        assert found.guarantee.epsilon == plan.guarantee_for(copies).epsilon
        card = found.card().to_dict()
        assert (card["true_epsilon"], card["keeps_its_claim"]) == (found.guarantee.epsilon, False)
        assert card["mu"] == found.guarantee.mu
        shown.append(found.guarantee.epsilon)
    assert shown == sorted(set(shown))  # each is dearer than the one before
    opened = open_store(str(copy), key=None)
    entries = [entry for _, _, entry, _ in opened.store.entries() if entry["kind"] == "forked"]
    opened.store.db.close()
    assert [(entry["copies"], entry["epsilon"]) for entry in entries] == [(2, shown[1]), (3, shown[2])]
    assert reopened(store).deployments["one"].copies == 1  # who went on elsewhere does not hear of it


def test_a_fork_and_whoever_went_on_elsewhere_do_not_take_each_others_decisions(tmp_path):
    original, copy = tmp_path / "tacit.db", tmp_path / "copy.db"
    (before,) = live(original, 1, rewards=False)
    shutil.copy(original, copy)
    reopened(copy, fork=True)
    (elsewhere,) = live(original, 1, rewards=False)

    async def main():
        async with running(copy) as engine:
            made = await bounded(decide(engine))
            assert made.decision != elsewhere.decision
            with pytest.raises(UnknownDecision):
                await bounded(reward(engine, elsewhere.decision, 0.5))
            # What was open when they parted may be rewarded in each: that is in the price.
            assert await bounded(reward(engine, before.decision, 0.5)) == "reward"
            assert np.array_equal(stored_sums(engine), expected_sums([(before.index, 0.5)]))

    run(main)


def test_a_backup_that_is_restored_twice_is_a_third_copy(store, tmp_path):
    """What the restored store has forgotten, its witness knows."""
    backup = tmp_path / "backup.db"
    shutil.copy(store, backup)
    live(store, 2)
    for copies in (2, 3, 4):
        shutil.copy(backup, store)
        with pytest.raises(StoreRefused, match="restored") as caught:
            reopened(store)
        assert "tacit ledger fork" in str(caught.value)
        assert reopened(store, fork=True).deployments["one"].copies == copies
        live(store, 1)
        assert reopened(store).deployments["one"].copies == copies


def test_copies_of_a_deployment_that_was_deleted_meanwhile_are_remembered(store, tmp_path):
    backup = tmp_path / "backup.db"
    shutil.copy(store, backup)
    reopened(store, fork=True, anyway=True)

    async def main():
        async with running(store) as engine:
            await engine.delete("one")

    run(main)
    shutil.copy(backup, store)
    assert reopened(store, fork=True).deployments["one"].copies == 3


def test_a_store_in_order_is_forked_only_by_whoever_insists(store):
    with pytest.raises(StoreRefused, match="--anyway"):
        reopened(store, fork=True)
    assert reopened(store).deployments["one"].copies == 1
    assert reopened(store, fork=True, anyway=True).deployments["one"].copies == 2


def test_a_fork_writes_over_no_other_stores_witness(store, tmp_path):
    other, witness = tmp_path / "other.db", files(store)[1]
    live(other, 1)
    before = witness.read_bytes()
    with pytest.raises(StoreRefused, match="that of another store"):
        reopened(other, witness=witness, fork=True)
    assert witness.read_bytes() == before
    reopened(store)


def test_commands_that_look_make_no_store(tmp_path, capsys):
    missing = tmp_path / "missing.db"
    for words in (["ledger", "verify"], ["ledger", "show"], ["ledger", "fork"], ["keys", "list"]):
        assert tacit([*words, "--store", str(missing)]) == 2
        assert "Expected a store at" in capsys.readouterr().err
    empty = tmp_path / "empty.db"
    empty.touch()
    assert tacit(["ledger", "verify", "--store", str(empty)]) == 2
    assert sorted(one.name for one in tmp_path.iterdir() if not one.name.startswith("empty")) == []
    assert tacit(["ledger", "verify", "--anyway", "--store", str(missing)]) == 2
    assert "--anyway with fork" in capsys.readouterr().err


def test_within_one_start_too_an_older_copy_is_refused_and_gives_no_id_again(store, tmp_path):
    """A copy of the files while it serves, and no release in between: the witness knows how many decisions there were.
    Where it could not have heard of them yet, ids are still no others'."""
    told, made = {}, {}

    async def main():
        async with running(store) as engine:
            await engine.create("quiet", asked({"dim": 2, "epsilon": 1.0, "delta": 1e-5}))
            await bounded(decide(engine, "quiet"))
            engine.store.db.settle()
            shutil.copy(store, tmp_path / "copy.db")
            told["early"] = files(store)[1].read_bytes()
            made["lost"] = await bounded(decide(engine, "quiet"))
        told["late"] = files(store)[1].read_bytes()

    run(main)
    assert json.loads(told["early"])["seq"] == json.loads(told["late"])["seq"]
    shutil.copy(tmp_path / "copy.db", store)
    with pytest.raises(StoreRefused, match="fewer in 1 of 2 deployments: it was restored"):
        reopened(store)
    files(store)[1].write_bytes(told["early"])

    async def again():
        async with running(store) as engine:
            new = await bounded(decide(engine, "quiet"))
            assert new.decision != made["lost"].decision
            with pytest.raises(UnknownDecision):
                await bounded(reward(engine, made["lost"].decision, 0.5, name="quiet"))
            assert await bounded(reward(engine, new.decision, 0.5, name="quiet")) == "reward"

    run(again)


def test_ids_outlive_starts_and_starts_without_decisions_are_not_kept(store):
    made = []
    for _ in range(4):
        made += live(store, 1, rewards=False)
        for _ in range(3):
            opened = reopened(store)
    secret = opened.deployments["one"].secret
    assert len(secret.starts) == 6  # of the first life, four more, and the one to come
    numbers = [secret.number(one.decision) for one in made]
    assert numbers == [3, 4, 5, 6]
    assert [secret.identity(number) for number in numbers] == [one.decision for one in made]


@pytest.mark.parametrize("text", ["not a witness", "[" * 100_000, "[]", '{"epoch": 1e400}', ""])
def test_a_witness_that_is_none_is_refused_and_not_written_over_until_it_is_moved_away(store, text):
    path, witness = files(store)
    written = json.loads(witness.read_text())
    witness.write_text(text if "epoch" not in text else json.dumps({**written, "epoch": "E"}).replace('"E"', "1e400"))
    kept = witness.read_text()
    for fork in (False, True):
        with pytest.raises(StoreRefused, match=r"got a file that is none, or was changed\. Put .* move this file away"):
            reopened(path, fork=fork)
        assert witness.read_text() == kept, "it may be somebody's key, or another store"
    witness.unlink()
    with pytest.raises(StoreRefused, match="may be a copy"):
        reopened(path)
    assert reopened(path, fork=True).deployments["one"].copies == 2
    reopened(path)


def test_a_witness_that_may_not_be_read_is_said_in_words(store):
    path, witness = files(store)
    witness.unlink()
    witness.mkdir()
    with pytest.raises(StoreRefused, match=r"Expected to read the witness at .*, got: Is a directory\. Give it to the"):
        reopened(path)


# Changed by hand ------------------------------------------------------------------------------------------------------


def _entries(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT seq, entry FROM ledger ORDER BY seq").fetchall()


def _write(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement, values in statements:
            connection.execute(statement, values)
        connection.commit()


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_changed_entry_of_the_ledger_is_refused(store, place):
    entries = _entries(store)
    seq, text = entries[{"first": 0, "middle": len(entries) // 2, "last": -1}[place]]
    entry = json.loads(text)
    entry["time"] += 1.0
    changed = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    _write(store, ("UPDATE ledger SET entry = ? WHERE seq = ?", (changed, seq)))
    with pytest.raises(StoreRefused, match=f"entry {seq}"):
        reopened(store)


def test_an_entry_that_was_removed_is_refused(store):
    _write(store, ("DELETE FROM ledger WHERE seq = ?", (2,)))
    with pytest.raises(StoreRefused, match="unbroken ledger"):
        reopened(store)


def test_a_start_looks_at_the_end_of_a_long_ledger_and_verify_at_all_of_it(store, monkeypatch, capsys):
    monkeypatch.setattr(opening, "_LOOKED_AT", 1)
    monkeypatch.setattr(chain, "_PAGE", 1)
    length = len(_entries(store))
    assert length > 2
    reopened(store)
    _write(store, ("UPDATE ledger SET entry = 'no JSON' WHERE seq = ?", (1,)))
    reopened(store)
    assert tacit(["ledger", "verify", "--store", str(store)]) == 2
    assert "entry 1 does not follow" in capsys.readouterr().err
    _write(store, ("UPDATE ledger SET entry = '[]' WHERE seq = ?", (length,)))
    with pytest.raises(StoreRefused, match=f"entry {length}"):
        reopened(store)


def test_a_ledger_that_was_written_anew_from_an_entry_on_is_refused_by_the_witness(store):
    """Whoever changes an entry and all hashes after it makes an unbroken chain: only the witness remembers."""
    statements, before = [], chain.GENESIS
    for seq, text in _entries(store):
        entry = {**json.loads(text), "before": before}
        if entry["kind"] == "charged":
            entry["epsilon"] = 0.001
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
        before = chain._digest(seq, text)
        statements.append(("UPDATE ledger SET entry = ?, hash = ? WHERE seq = ?", (text, before, seq)))
    _write(store, *statements)
    with pytest.raises(StoreRefused, match="other entries"):
        reopened(store)


# Keys -----------------------------------------------------------------------------------------------------------------


def test_a_sealed_store_opens_with_its_own_key_only(tmp_path):
    path, key = tmp_path / "tacit.db", new_key()
    live(path, 2, key=key)
    for wrong, why in ((None, "got none"), (new_key(), "the key is wrong")):
        with pytest.raises(StoreRefused, match=why):
            reopened(path, key=wrong)
    reopened(path, key=key)


def test_a_store_that_was_made_without_a_key_takes_none_later(store):
    with pytest.raises(StoreRefused, match="made without a key"):
        reopened(store, key=new_key())


def test_a_record_moved_to_another_place_does_not_open(tmp_path):
    path, key = tmp_path / "tacit.db", new_key()
    live(path, 2, key=key, rewards=False)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT number, record FROM pending ORDER BY number").fetchall()
    _write(path, ("UPDATE pending SET record = ? WHERE number = ?", (rows[0][1], rows[1][0])))
    opened = open_store(str(path), key=key)
    found = opened.deployments["one"]
    found._row(opened.store.pending(found.uid, rows[0][0]))
    with pytest.raises(StoreRefused, match="does not open"):
        found._row(opened.store.pending(found.uid, rows[1][0]))
    opened.store.db.close()


@pytest.mark.parametrize("cut", [None, 1, 5])
def test_with_a_key_a_record_that_is_not_sealed_does_not_open(tmp_path, cut):
    """Whoever may write to the store, and has no key, could otherwise put sums of their own in it."""
    path, key = tmp_path / "tacit.db", new_key()
    live(path, 2, key=key)
    with closing(sqlite3.connect(path)) as connection:
        name, data = connection.execute("SELECT name, data FROM leaves ORDER BY name").fetchone()
    other = b"\x00" + bytes(len(data) - 29) if cut is None else data[:cut]
    _write(path, ("UPDATE leaves SET data = ? WHERE name = ?", (other, name)))
    with pytest.raises(StoreRefused, match="does not open"):
        reopened(path, key=key)


# One process ----------------------------------------------------------------------------------------------------------


def test_a_second_process_is_refused_while_one_serves(store):
    opened = open_store(str(store), key=None)
    try:
        with pytest.raises(StoreUnavailable, match="alone"):
            reopened(store)
    finally:
        opened.store.db.close()
    reopened(store)


def test_only_its_owner_may_read_the_store(store):
    path, witness = files(store)
    for one in (path, witness):
        assert one.stat().st_mode & 0o077 == 0
    path.chmod(0o644)
    reopened(path)
    assert path.stat().st_mode & 0o077 == 0


def test_what_a_killed_process_left_beside_the_witness_is_removed(store):
    _, witness = files(store)
    left = witness.with_name(f".{witness.name}.ab12_xyz")
    mine = witness.with_name(f".{witness.name}.of-last-week")
    for one in (left, mine):
        one.write_text("half of a witne")
    reopened(store)
    assert not left.exists()
    assert mine.exists()
