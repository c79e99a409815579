"""Where the options of `tacit serve` come from, which wins, and what is refused before anybody is served."""

from __future__ import annotations

import os
import socket
import stat

import pytest

from tacit._listening import bind, listen
from tacit.cli import main as tacit_command
from tacit.errors import BadInput, StoreUnavailable, UnknownName
from tacit.service import opening
from tacit.service import serving as process
from tacit.service.api.roles import new_key
from tacit.service.serving import Serving, is_loopback, new_key_file, open_for, run


@pytest.fixture
def file(tmp_path):
    found = tmp_path / "tacit.toml"
    found.write_text('store = "file.db"\nport = 1001\nhost = "127.0.0.2"\nlog_requests = true\nmost_bytes = 2000\n')
    return found


def test_a_flag_wins_over_the_environment_which_wins_over_the_file(file):
    environment = {"TACIT_PORT": "2002", "TACIT_HOST": "127.0.0.3", "TACIT_LOG_REQUESTS": "no", "OTHER": "x"}
    found = Serving.read(file, environment, {"port": 3003, "store": None})
    assert (found.store, found.port, found.host, found.log_requests) == ("file.db", 3003, "127.0.0.3", False)
    assert found.most_bytes == 2000
    assert Serving.read(None, {}, {}) == Serving()
    assert Serving.read(None, {"TACIT_PORT": ""}, {}) == Serving()


def test_what_is_not_said_is_safe():
    found = Serving()
    assert is_loopback(found.host)
    assert (found.test_seeds, found.log_requests) == (False, False)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("prot = 8420", UnknownName, "port"),
        ('port = "many"', BadInput, "whole number"),
        ("port = 1.9", BadInput, "whole number"),
        ("port = true", BadInput, "whole number"),
        ("most_bytes = -5", BadInput, "at least 1,024, got -5"),
        ('store = ["a"]', BadInput, "store in .* to be a text"),
        ('witness = ""', BadInput, "witness in .* to be a text"),
        ('test_seeds = "perhaps"', BadInput, "true or false"),
        ("port = ", BadInput, "TOML"),
        ("\udc80", BadInput, "TOML"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path, text, kind, words):
    found = tmp_path / "tacit.toml"
    found.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(kind, match=words):
        Serving.read(found, {}, {})
    with pytest.raises(BadInput, match="TOML"):
        Serving.read(tmp_path / "missing.toml", {}, {})
    with pytest.raises(BadInput, match="whole number"):
        Serving.read(None, {"TACIT_PORT": "x"}, {})


@pytest.mark.parametrize("port", [99999, 65536, -5])
def test_a_port_there_is_none_of_is_refused_where_it_is_read(tmp_path, port):
    found = tmp_path / "tacit.toml"
    found.write_text(f"port = {port}\n")
    ways = (
        (found, {}, {}, "in .*toml"),
        (None, {"TACIT_PORT": str(port)}, {}, "in the environment"),
        (None, {}, {"port": port}, "among the flags"),
    )
    for file, environment, flags, where in ways:
        with pytest.raises(
            BadInput, match=rf"Expected port {where} to be from 0 to 65535, got {port}\. Choose another"
        ):
            Serving.read(file, environment, flags)
    assert [Serving.read(None, {}, {"port": good}).port for good in (0, 65535)] == [0, 65535]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_no_key(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", "", "localhost.example.org"])
def test_without_a_key_nobody_but_this_machine_is_served(tmp_path, monkeypatch, host):
    monkeypatch.setattr(process, "hear", lambda *_: pytest.fail("it must not listen"))
    monkeypatch.setattr(process, "bind", lambda *_: socket.socket())
    wanted = Serving(store=str(tmp_path / "tacit.db"), host=host, port=0)
    with pytest.raises(BadInput, match="Expected a key before anybody but this machine"):
        run(wanted, lambda *_: None)
    assert list(tmp_path.iterdir()) == [], "what is refused leaves no store behind"
    opened = open_for(wanted)
    opened.store.db.close()
    said = []
    with pytest.raises(BadInput, match="Expected a key before anybody but this machine"):
        run(wanted, lambda *told: said.append(told))
    assert said == []
    opened = open_for(wanted)  # it has let go of the store
    opened.store.db.close()


def test_with_a_key_other_machines_are_served(tmp_path, monkeypatch):
    class Listening(BadInput):
        pass

    def hear(*_):
        raise Listening

    monkeypatch.setattr(process, "hear", hear)
    wanted = Serving(store=str(tmp_path / "tacit.db"), host="0.0.0.0", port=0)
    opened = open_for(wanted)
    new_key(opened.store, "web", "decide")
    opened.store.db.close()
    with pytest.raises(Listening):
        run(wanted, lambda *_: None)


def test_a_new_key_is_for_its_owner_and_never_overwrites(tmp_path):
    path = tmp_path / "store.key"
    new_key_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(bytes.fromhex(path.read_text().strip())) == 32
    text = path.read_text()
    with pytest.raises(BadInput, match="never overwritten"):
        new_key_file(path)
    assert path.read_text() == text
    wanted = Serving(store=str(tmp_path / "tacit.db"), key_file=str(path))
    opened = open_for(wanted)
    assert opened.master == bytes.fromhex(text.strip())
    with pytest.raises(StoreUnavailable, match="another process serves from it"):
        opening.open_store(wanted.store, key=opened.master)
    opened.store.db.close()


def test_a_key_that_cannot_be_written_is_said_in_words(tmp_path):
    with pytest.raises(BadInput, match=r"Expected a folder that a new key can be written to, got .*missing: No such"):
        new_key_file(tmp_path / "missing" / "key")


def test_a_witness_that_cannot_be_written_is_refused_before_there_is_a_store(tmp_path, monkeypatch):
    store = str(tmp_path / "tacit.db")
    for witness in (tmp_path / "missing" / "w", tmp_path):
        with pytest.raises(BadInput, match=r"Expected witness to be a file that can be written, .* Nothing was"):
            open_for(Serving(store=store, witness=str(witness)))
    with monkeypatch.context() as patched:
        patched.setattr(process.os, "access", lambda *_: False)
        with pytest.raises(BadInput, match="in a folder that cannot be written to"):
            open_for(Serving(store=store, witness=str(tmp_path / "w")))
    assert list(tmp_path.iterdir()) == []
    # A folder that the store is about to be made in is no obstacle, nor is one that is there.
    for folder in ("new/folder", "new"):
        found = Serving(store=str(tmp_path / "new/folder/tacit.db"), witness=str(tmp_path / folder / "w"))
        opened = open_for(found)
        opened.store.db.close()
        assert (tmp_path / folder / "w").exists()


def test_a_host_that_is_none_is_said_in_words():
    for host in ("no-such-machine.invalid", "a..b"):
        with pytest.raises(BadInput, match="Choose another --host"):
            bind(host, 0)


def test_a_port_in_use_leaves_no_store_behind(tmp_path):
    with listen("127.0.0.1", 0) as other:
        wanted = Serving(store=str(tmp_path / "tacit.db"), port=other.getsockname()[1])
        with pytest.raises(BadInput, match=r"Expected to listen on 127\.0\.0\.1:\d+, got: Address already in use"):
            run(wanted, lambda *_: None)
    assert list(tmp_path.iterdir()) == []


def test_answers_are_not_held_back_for_more_to_send():
    """Nagle's algorithm would cost 40 ms per request; asyncio switches it off only where the protocol is named."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
        with socket.create_connection(listener.getsockname(), timeout=5):  # it listens before it is announced
            pass


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_a_witness_is_never_written_over_the_store(tmp_path, end):
    store = tmp_path / "tacit.db"
    open_for(Serving(store=str(store))).store.db.close()
    before = store.read_bytes()
    for path in (store.with_name(store.name + end), tmp_path / "." / f"tacit.db{end}"):
        for fork in (False, True):
            with pytest.raises(BadInput, match="Expected witness to be a file of its own"):
                open_for(Serving(store=f"sqlite:///{store}", witness=str(path)), fork=fork)
    link = tmp_path / "link"
    link.hardlink_to(store)
    with pytest.raises(BadInput, match="which is the store or its key"):
        open_for(Serving(store=str(store), witness=str(link)), fork=True)
    assert store.read_bytes() == before


def test_a_witness_is_never_written_over_the_key(tmp_path):
    key = tmp_path / "store.key"
    new_key_file(key)
    before = key.read_text()
    with pytest.raises(BadInput, match="which is the store or its key"):
        open_for(Serving(store=str(tmp_path / "tacit.db"), key_file=str(key), witness=str(key)))
    assert key.read_text() == before
    assert list(tmp_path.iterdir()) == [key]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only an administrator gives files away")
def test_what_an_administrator_makes_or_writes_belongs_to_whoever_serves(tmp_path):
    """`tacit keys add` as root must not lock the service's own user out."""
    folder = tmp_path / "served"
    folder.mkdir()
    os.chown(folder, 12345, 23456)
    store = folder / "tacit.db"

    def owners():
        return {(one.name, one.stat().st_uid, one.stat().st_gid) for one in folder.iterdir()}

    wanted = {(name, 12345, 23456) for name in ("tacit.db", "tacit.db.witness")}
    opened = open_for(Serving(store=str(store)))
    new_key(opened.store, "web", "decide")
    opened.store.db.close()
    assert owners() == wanted
    os.chown(store.with_name("tacit.db.witness"), 34567, 45678)  # written anew it stays whose it was
    open_for(Serving(store=str(store))).store.db.close()
    assert ("tacit.db.witness", 34567, 45678) in owners()


def test_a_damaged_store_is_told_from_one_that_may_not_be_read(tmp_path, capsys):
    store = tmp_path / "tacit.db"
    store.write_bytes(b"this is a letter, and not a database" * 100)
    with pytest.raises(StoreUnavailable, match=r"got a file that is damaged, or is none\. Put back a copy"):
        open_for(Serving(store=str(store)))
    with pytest.raises(StoreUnavailable, match=r"Expected to read and write the store .*, got: Is a directory\. Check"):
        open_for(Serving(store=str(tmp_path)))


def test_pages_that_are_damaged_are_found_by_verify(tmp_path, capsys):
    store = tmp_path / "tacit.db"
    opened = open_for(Serving(store=str(store)))
    opened.store.db.begin()
    for number in range(2000):
        opened.store.count_person("u", number.to_bytes(16, "big"), 0)
    opened.store.db.commit()
    opened.store.db.close()
    assert tacit_command(["ledger", "verify", "--store", str(store)]) == 0
    data = bytearray(store.read_bytes())
    place = data.rfind((1500).to_bytes(16, "big"))
    page = place - place % 4096
    data[page : page + 200] = bytes(200)
    store.write_bytes(data)
    assert tacit_command(["ledger", "verify", "--store", str(store)]) == 2
    assert "damaged" in capsys.readouterr().err
