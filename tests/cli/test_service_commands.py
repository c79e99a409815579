"""`tacit serve`, `keys`, `ledger` and `deployments` as an operator uses them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest

import tacit
from tacit.cli import main
from tacit.cli.serve import _ledger_table

pytest.importorskip("litestar")

ARMS = ["renyi-ucb", "--arms", "3", "--rho", "1"]


def ask(capsys, *arguments):
    code = main([str(one) for one in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def facts(capsys, *arguments):
    code, out, err = ask(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def refusal(capsys, *arguments):
    code, out, err = ask(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("tacit: ")
    assert "Traceback" not in err
    return err


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("TACIT_") and name != "TACIT_CACHE_DIR"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@contextmanager
def served(folder, *arguments):
    """`tacit serve` as a process of its own; its address, and what it printed."""
    command = [sys.executable, "-m", "tacit", "serve", "--port", "0", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=folder, **pipes)
    last, lines = ("}" if "--json" in arguments else "access "), []
    try:
        while not lines or not lines[-1].startswith(last):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            lines.append(line.rstrip())
        url = re.search(r"http://127\.0\.0\.1:\d+", "".join(lines))[0]
        yield url, lines, process
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert process.returncode in (0, -signal.SIGTERM, 143), errors
    assert "Traceback" not in errors


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service of the module, on loopback, without keys."""
    folder = tmp_path_factory.mktemp("service")
    with served(folder, "--store", "tacit.db") as (url, lines, _):
        yield url, lines


def test_serve_says_where_it_is_and_who_may_come(service):
    url, lines = service
    text = "\n".join(lines)
    assert f"tacit serves on {url}" in text
    assert "not sealed" in text
    assert "only this machine" in text
    assert httpx.get(f"{url}/health").json()["status"] == "ok"


def test_a_deployment_from_its_making_to_its_end(capsys, service):
    url, _ = service
    where = ["--url", url]
    code, out, err = ask(capsys, "deployments", "list", *where)
    assert code == 0, err
    assert "No deployments yet" in out
    code, out, err = ask(capsys, "deployments", "create", "arms", *ARMS, "--closes-after", "60", *where)
    assert code == 0, err
    assert out.startswith("arms: renyi-ucb, serving, view 1, 0 decisions")
    assert "Privacy card" in out
    found = facts(capsys, "deployments", "list", *where)
    assert [(one["name"], one["closes_after"], one["sampler"]) for one in found] == [("arms", 60.0, "secure")]
    code, out, _ = ask(capsys, "deployments", "list", *where)
    assert code == 0
    assert re.match(r"arms +renyi-ucb +epsilon", out)
    shown = facts(capsys, "deployments", "show", "arms", *where)
    assert shown["deployment"]["name"] == "arms"
    assert "renyi-ucb" in shown["card"]["text"]
    assert facts(capsys, "deployments", "pause", "arms", *where)["state"] == "paused"
    assert "paused" in ask(capsys, "deployments", "list", *where)[1]
    with tacit.Client(url) as client, pytest.raises(tacit.errors.ServiceConflict, match="paused"):
        client.decide("arms")
    assert facts(capsys, "deployments", "resume", "arms", *where)["state"] == "serving"
    assert facts(capsys, "deployments", "delete", "arms", *where) == {"deleted": "arms"}
    assert "name of a deployment" in refusal(capsys, "deployments", "show", "arms", *where)
    assert facts(capsys, "deployments", "list", *where) == []


def test_arms_that_share_a_context_are_named_when_they_are_made_and_later(capsys, service):
    url, _ = service
    where = ["--url", url]
    words = ["joint-linucb", "--arms", "3", "--dim", "2", "--epsilon", "1", "--delta", "1e-6", "--actions", "red,green"]
    code, out, err = ask(capsys, "deployments", "create", "shop", *words, *where)
    assert code == 0, err
    assert "actions: red, green; 1 more can be named" in out
    code, out, err = ask(capsys, "deployments", "add-action", "shop", "blue", *where)
    assert code == 0, err
    assert "actions: red, green, blue\n" in out
    assert facts(capsys, "deployments", "show", "shop", *where)["deployment"]["arms"] == 3
    with tacit.Client(url) as client:
        assert client.decide("shop", ["blue"], context=[0.1, 0.2]).action == "blue"
    assert "at most 3 actions" in refusal(capsys, "deployments", "add-action", "shop", "mint", *where)
    assert "the name of an action" in refusal(capsys, "deployments", "add-action", "shop", *where)
    assert facts(capsys, "deployments", "delete", "shop", *where) == {"deleted": "shop"}


def test_what_cannot_be_deployed_is_refused_in_words(capsys, service):
    url, _ = service
    where = ["--url", url]
    assert "Did you mean" in refusal(capsys, "deployments", "create", "x", "renyi-uc", *where)
    assert "--arm" in refusal(capsys, "deployments", "create", "x", "renyi-ucb", "--armz", "3", *where)
    assert "name of a deployment" in refusal(capsys, "deployments", "create", *where)
    assert "a policy" in refusal(capsys, "deployments", "create", "x", *where)
    assert "name of a deployment" in refusal(capsys, "deployments", "show", "nobody", *where)
    assert "no option" in refusal(capsys, "deployments", "list", "--arms", "3", *where)
    err = refusal(capsys, "deployments", "create", "Not A Name", *ARMS, *where)
    assert "Expected name to be 1 to 63 lower-case letters" in err
    err = refusal(capsys, "deployments", "create", "x", *ARMS, *where, "--closes-after", "-1")
    assert "Expected closes_after to be a number above 0 and at most 31,622,400" in err
    local = ["local-linucb", "--dim", "2", "--epsilon", "1", "--delta", "1e-6", "--horizon", "100"]
    for flag in ("--closes-after", "--closes-after-decisions", "--default-reward"):
        err = refusal(capsys, "deployments", "create", "x", *local, flag, "60", *where)
        assert f"Expected no {flag[2:].replace('-', '_')} for local-linucb, got one" in err
    assert facts(capsys, "deployments", "list", *where) == []


def test_the_service_is_named_by_url_or_by_server(capsys, service):
    url, _ = service
    assert facts(capsys, "deployments", "list", "--server", url) == []
    assert facts(capsys, "deployments", "list", "--server", url, "--url", url) == []
    err = refusal(capsys, "deployments", "list", "--server", url, "--url", "http://127.0.0.1:1")
    assert "expected one URL by --url or --server" in err


def test_the_ledger_says_of_whom_an_entry_is_in_few_words():
    def entry(number, kind, **said):
        return {"number": number, "deployment": f"uid-{number % 2}", "kind": kind, "hash": str(number) * 64, **said}

    entries = [
        entry(1, "charged", name="arms", policy="renyi-ucb", epsilon=0.9999989221397897, delta=1e-6),
        entry(2, "charged", name="open", policy="linucb", epsilon=None, delta=None),
        entry(3, "release", release=7, clock=1024, view="0" * 64),
        entry(4, "batch", stage=12345, nonce="0"),
        entry(5, "forked", copies=2, epsilon=1.5, delta=1e-6, witness=None),
    ]
    lines = _ledger_table(entries).splitlines()[2:]
    assert [" ".join(line.split()) for line in lines] == [
        "1 arms charged renyi-ucb, epsilon 1 at delta 1e-06 111111111111…",
        "2 open charged linucb, not private 222222222222…",
        "3 arms release release 7, clock 1,024 333333333333…",
        "4 open batch stage 12,345 444444444444…",
        "5 arms forked copies 2, epsilon 1.5 at delta 1e-06 555555555555…",
    ]


def test_without_a_service_the_error_says_so(capsys):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        before = time.monotonic()
        err = refusal(capsys, "deployments", "pause", "x", "--url", url)
    assert "Is it running" in err
    assert time.monotonic() - before < 10


def test_a_store_that_is_served_from_is_not_for_commands(capsys, tmp_path):
    with served(tmp_path, "--store", "tacit.db"):
        for command in (["keys", "list"], ["ledger", "verify"]):
            assert "another process serves from it" in refusal(capsys, *command, "--store", tmp_path / "tacit.db")


def test_a_taken_port_is_said_and_the_store_let_go(tmp_path, service):
    url, _ = service
    command = [sys.executable, "-m", "tacit", "serve", "--port", url.rsplit(":", 1)[1], "--store", "other.db"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "Expected to listen on 127.0.0.1" in done.stderr
    assert "--port" in done.stderr


def test_keys_are_shown_once_and_stored_as_hashes(capsys, tmp_path):
    where = ["--store", tmp_path / "tacit.db"]
    assert "Expected a store at" in refusal(capsys, "keys", "list", *where)
    assert "Expected a store at" in refusal(capsys, "keys", "remove", "shop", *where)
    assert "'decide', 'report', 'admin'" in refusal(capsys, "keys", "add", "x", "--role", "king", *where)
    for name in ("", " x", "a\nb", "x" * 129):
        assert "1 to 128 visible characters" in refusal(capsys, "keys", "add", name, *where)
    assert not list(tmp_path.iterdir())  # neither a look nor a refusal makes anything
    made = facts(capsys, "keys", "add", "shop", *where)
    assert (made["name"], made["role"]) == ("shop", "decide")
    assert made["key"].startswith("tacit_")
    assert made["new_store"] is True
    code, out, _ = ask(capsys, "keys", "add", "boss", "--role", "admin", *where)
    assert code == 0
    assert "Shown once" in out
    assert made["key"].encode() not in (tmp_path / "tacit.db").read_bytes()
    err = refusal(capsys, "keys", "add", "shop", *where)
    assert "Remove that key first" in err
    assert "got none: tacit keys add NAME." in refusal(capsys, "keys", "add", *where)
    assert "got none: tacit keys remove NAME." in refusal(capsys, "keys", "remove", *where)
    assert "nothing after list" in refusal(capsys, "keys", "list", "shop", *where)
    listed = facts(capsys, "keys", "list", *where)
    assert listed == {"keys": [{"name": "boss", "role": "admin"}, {"name": "shop", "role": "decide"}]}
    assert facts(capsys, "keys", "remove", "shop", *where) == {"removed": "shop"}
    assert "tacit keys list" in refusal(capsys, "keys", "remove", "shop", *where)
    assert ask(capsys, "keys", "list", *where)[1].split() == ["admin", "boss"]


def test_with_a_key_everybody_needs_one(capsys, tmp_path):
    key = facts(capsys, "keys", "add", "boss", "--role", "admin", "--store", tmp_path / "tacit.db")["key"]
    with served(tmp_path, "--store", "tacit.db") as (url, lines, _):
        assert "keys are needed" in "\n".join(lines)
        assert "Expected a key" in refusal(capsys, "deployments", "list", "--url", url)
        assert facts(capsys, "deployments", "list", "--url", url, "--key", key) == []


def test_options_come_from_flags_before_the_environment_before_a_file(tmp_path, monkeypatch):
    (tmp_path / "tacit.toml").write_text('store = "file.db"\ntest_seeds = true\n')
    monkeypatch.setenv("TACIT_STORE", "environment.db")
    with served(tmp_path, "--config", "tacit.toml", "--json") as (_, lines, _):
        told = json.loads("\n".join(lines))
    assert (told["store"], told["sealed"], told["keys"], told["test_seeds"]) == ("environment.db", False, False, True)
    assert (tmp_path / "environment.db").exists()


def test_a_sealed_store_opens_with_its_key_alone(capsys, tmp_path, monkeypatch):
    assert facts(capsys, "serve", "--new-key", tmp_path / "store.key") == {"key_file": str(tmp_path / "store.key")}
    assert stat.S_IMODE((tmp_path / "store.key").stat().st_mode) == 0o600
    assert "never overwritten" in refusal(capsys, "serve", "--new-key", tmp_path / "store.key")
    assert "keep it apart" in ask(capsys, "serve", "--new-key", tmp_path / "other.key")[1]
    where = ["--store", tmp_path / "tacit.db"]
    facts(capsys, "keys", "add", "shop", *where, "--key-file", tmp_path / "store.key")
    assert "key" in refusal(capsys, "keys", "list", *where)
    assert "does not open" in refusal(capsys, "keys", "list", *where, "--key-file", tmp_path / "other.key")
    assert "--new-key" in refusal(capsys, "keys", "list", *where, "--key-file", tmp_path / "missing.key")
    monkeypatch.setenv("TACIT_STORE_KEY", (tmp_path / "store.key").read_text())
    assert facts(capsys, "keys", "list", *where)["keys"] == [{"name": "shop", "role": "decide"}]


def test_the_ledger_is_shown_and_verified_where_the_store_is(capsys, tmp_path):
    with served(tmp_path, "--store", "tacit.db") as (url, _, _):
        facts(capsys, "deployments", "create", "arms", *ARMS, "--url", url)
        facts(capsys, "deployments", "delete", "arms", "--url", url)
    where = ["--store", tmp_path / "tacit.db"]
    found = facts(capsys, "ledger", "show", *where)
    assert [entry["kind"] for entry in found["ledger"]] == ["charged", "deleted"]
    assert found["head"] == found["ledger"][-1]["hash"]
    assert facts(capsys, "ledger", "verify", *where) == {"entries": 2, "head": found["head"]}
    code, out, _ = ask(capsys, "ledger", "show", *where)
    assert code == 0
    head, line, charged, deleted, last = out.splitlines()
    assert head.split() == ["number", "deployment", "what", "facts", "hash"]
    assert set(line) == {"─", " "}
    (first, second), epsilon = found["ledger"], found["ledger"][0]["epsilon"]
    words = f"renyi-ucb, epsilon {epsilon:.4g} at delta {first['delta']:.4g}".split()
    assert charged.split() == ["1", "arms", "charged", *words, f"{first['hash'][:12]}…"]
    assert deleted.split() == ["2", "arms", "deleted", f"{second['hash'][:12]}…"]
    assert last.startswith("2 entries, unbroken; head ")
    assert facts(capsys, "ledger", "show", "--last", 1, *where)["ledger"] == [second]
    assert "The last 1 of 2: --last shows more." in ask(capsys, "ledger", "show", "--last", 1, *where)[1]
    assert "--last" in refusal(capsys, "ledger", "show", "--last", 0, *where)
    assert "with show" in refusal(capsys, "ledger", "verify", "--last", 1, *where)
    columns = [head.index(name) for name in ("deployment", "what", "facts", "hash")]
    assert all(row[column - 1] == " " for row in (charged, deleted) for column in columns), "columns run together"
    (tmp_path / "tacit.db.witness").unlink()
    assert "tacit ledger fork" in refusal(capsys, "ledger", "verify", *where)
    assert facts(capsys, "ledger", "fork", *where)["deployments"] == []
    assert facts(capsys, "ledger", "verify", *where)["entries"] == 2


@pytest.mark.parametrize(
    "arguments",
    [["serve"], ["serve", "--new-key", "k"], ["keys", "list"], ["ledger", "verify"], ["deployments", "list"]],
    ids=" ".join,
)
def test_without_the_extra_the_error_names_it(tmp_path, arguments):
    missing = "httpx" if arguments[0] == "deployments" else "litestar"
    code = f"import sys; sys.modules[{missing!r}] = None; from tacit.cli import main; sys.exit(main({arguments!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stderr
    assert re.search(r"pip install 'tacit\[(serve|client)\]'", done.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["serve", "keys", "ledger", "deployments"])
def test_every_command_has_help_with_an_example_and_json(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "example:" in text
    assert f"tacit {command}" in text
    assert "--json" in text


def test_commands_without_a_word_say_which_there_are(capsys):
    for command, words in (("keys", "add|list|remove"), ("ledger", "show|verify|fork"), ("deployments", "create|list")):
        assert words in refusal(capsys, command)


def test_words_that_mean_nothing_are_refused(capsys, tmp_path):
    with served(tmp_path, "--store", "tacit.db") as (url, lines, _):
        assert "new, not sealed" in "\n".join(lines)
        assert "Expected nothing after list" in refusal(capsys, "deployments", "list", "arms", "--url", url)
        err = refusal(capsys, "deployments", "show", "arms", "renyi-ucb", "--url", url)
        assert "Expected the name of one deployment after show" in err
        err = refusal(capsys, "deployments", "show", "arms", "--url", url)
        assert "tacit deployments list" in err
        err = refusal(capsys, "deployments", "create", "arms", *ARMS, "--default-reward", "nan", "--url", url)
        assert "default_reward" in err
        assert "device" not in err
        err = refusal(capsys, "deployments", "create", "arms", *ARMS, "--sampler", "double", "--url", url)
        assert "There is no option of renyi-ucb '--sampler'" in err
        published = ["--releases", "tree", "--calibration", "published", "--noise", "wishart"]
        wishart = ["joint-linucb", "--dim", "2", "--epsilon", "1", "--delta", "1e-6", "--horizon", "100", *published]
        err = refusal(capsys, "deployments", "create", "arms", *wishart, "--url", url)
        assert "got joint-linucb, which is for simulation only" in err
