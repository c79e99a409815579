"""`tacit shuffle`: from words to a running shuffler."""

from __future__ import annotations

import json

import pytest

import tacit
from tacit.cli import main
from tacit.shuffling import running

POLICY = ["shuffle-linucb", "--dim", "5", "--epsilon", "1", "--delta", "1e-6", "--horizon", "10000"]
WHERE = ["--server", "http://127.0.0.1:8420", "--deployment", "news"]


@pytest.fixture
def started(monkeypatch):
    """What would have been run; nothing listens."""
    found = []

    def run(config, *, started, **options):
        found.append((config, options))
        started(f"http://{options['host']}:{options['port']}")

    monkeypatch.setattr(running, "run", run)
    monkeypatch.delenv("TACIT_KEY", raising=False)
    return found


def test_the_words_become_a_shuffler(started, capsys):
    assert main(["shuffle", *POLICY, *WHERE, "--port", "8422"]) == 0
    ((config, options),) = started
    assert config == tacit.ShuffleLinUCB(dim=5, epsilon=1.0, delta=1e-6, horizon=10_000)
    assert options == {
        "server": "http://127.0.0.1:8420",
        "deployment": "news",
        "key": None,
        "host": "127.0.0.1",
        "port": 8422,
    }
    out, err = capsys.readouterr()
    assert "shuffler  http://127.0.0.1:8422" in out
    assert config.contract()["fingerprint"] in out
    assert err == ""


def test_the_service_is_named_by_server_or_by_url(started, capsys):
    assert main(["shuffle", *POLICY, "--url", "http://127.0.0.1:8420", "--deployment", "news"]) == 0
    assert started[0][1]["server"] == "http://127.0.0.1:8420"
    assert main(["shuffle", *POLICY, *WHERE, "--url", "http://127.0.0.1:1"]) == 2
    assert "expected one URL by --server or --url" in capsys.readouterr().err
    assert len(started) == 1


def test_json_is_one_object(started, capsys):
    assert main(["shuffle", *POLICY, *WHERE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["url"] == "http://127.0.0.1:8421"
    assert found["batch"] == started[0][0].batch_size


def test_a_key_comes_from_a_file_or_the_environment_and_is_not_shown(started, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TACIT_KEY", "of-the-environment")
    assert main(["shuffle", *POLICY, *WHERE]) == 0
    path = tmp_path / "key"
    path.write_text("of-the-file\n")
    assert main(["shuffle", *POLICY, *WHERE, "--key-file", str(path)]) == 0
    assert [options["key"] for _, options in started] == ["of-the-environment", "of-the-file"]
    assert "of-the" not in "".join(capsys.readouterr())
    assert main(["shuffle", *POLICY, *WHERE, "--key-file", str(tmp_path / "none")]) == 2
    assert "Expected the key of the service in" in capsys.readouterr().err


def test_other_machines_are_served_with_a_warning(started, capsys):
    assert main(["shuffle", *POLICY, *WHERE, "--host", "0.0.0.0"]) == 0
    assert "without TLS" in capsys.readouterr().err
    assert main(["shuffle", *POLICY, *WHERE, "--host", "127.0.0.2"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*POLICY, "--deployment", "news"], "--server"),
        ([*POLICY, "--server", "http://a.test"], "--deployment"),
        (["local-linucb", *POLICY[1:], *WHERE], "whose reports are private one by one"),
        (["joint-linucb", "--dim", "5", "--epsilon", "1", "--delta", "1e-6", *WHERE], "by start()"),
        (["usca", *WHERE], "Expected a policy with batches, got usca"),
        ([*POLICY, *WHERE, "--bacth", "9"], "--batch"),
        (["shuffle-linucb", "--dim", "5", *WHERE], "Expected --"),
    ],
)
def test_what_cannot_be_shuffled_is_refused_before_anything_listens(started, capsys, words, message):
    assert main(["shuffle", *words]) == 2
    assert message in capsys.readouterr().err
    assert not started
