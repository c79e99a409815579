"""`--report DIR`: every command leaves one page that fetches nothing, with its numbers beside it."""

from __future__ import annotations

import json
import re

import pytest

from tacit.auditing.attacks import local
from tacit.cli import main
from tacit.cli.options import report_folder
from tacit.data import NOT_PRIVATE
from tacit.errors import BadInput
from tests.cli.test_cli import ask, facts
from tests.replaying.worlds import write

SHORT = ["--dim", "3", "--rounds", "200", "--trials", "2"]
FUNCTIONS = ["--environment", "rkhs", "--rounds", "100", "--trials", "2", "--features", "49", "--queries", "3"]
PROMISE = ["--epsilon", "1", "--delta", "1e-6"]
LARGEST = 3_000_000


def made(capsys, folder, *words, codes=(0,)):
    """The text of the page that a command wrote, after everything that holds of every page."""
    code, out, err = ask(capsys, *words, "--report", str(folder))
    assert code in codes, err
    path = folder / "report.html"
    assert str(path) in out
    page = path.read_text("utf-8")
    assert path.stat().st_size < LARGEST
    assert "default-src 'none'" in page
    assert not re.search(r"""(?:src|href)=["'](?!#)""", page)
    assert f"tacit {words[0]}" in page
    return page


def names(folder):
    return {path.name for path in folder.iterdir()}


def title_of(page):
    return re.search(r"<h1>(.*?)</h1>", page)[1]


def test_run(capsys, tmp_path):
    page = made(capsys, tmp_path, "run", "linucb", *SHORT)
    assert title_of(page) == "linucb in sphere: 200 rounds, 2 trials"
    assert '<figure class="chart"' in page
    assert "Privacy card: linucb" in page
    assert {"regret.png", "regret.svg", "regret.csv", "trials.csv", "settings.csv"} <= names(tmp_path)
    assert len((tmp_path / "trials.csv").read_text("utf-8").splitlines()) == 3


def test_run_says_in_json_what_it_wrote(capsys, tmp_path):
    found = facts(capsys, "run", "linucb", *SHORT, "--report", str(tmp_path))
    assert found["files"][-1] == str(tmp_path / "report.html")
    assert "files" not in facts(capsys, "run", "linucb", *SHORT)


def test_run_on_peoples_rows_says_above_all_that_it_is_not_private(capsys, tmp_path):
    words = ["run", "linucb", "--environment", "table", "--data", "digits", "--projection", "2", "--rounds", "50"]
    page = made(capsys, tmp_path, *words, "--trials", "1")
    assert page.index(f'role="note">{NOT_PRIVATE}') < page.index("<h2>")


def test_run_of_a_function_learner(capsys, tmp_path):
    page = made(capsys, tmp_path, "run", "usca", *FUNCTIONS, *PROMISE, "--ways", "function,once")
    assert '"kind":"dots"' in page
    assert "error rate (once)" in page
    assert {"errors.png", "errors.svg", "errors.csv", "trials.csv"} <= names(tmp_path)


def test_compare_has_one_folder_under_two_names(capsys, tmp_path):
    words = ["compare", "linucb", "linucb:width=0.5", *SHORT]
    page = made(capsys, tmp_path / "a", *words)
    assert '<figure class="chart"' in page
    assert '"label":"linucb width=0.5"' in page
    assert {"regret.png", "regret.svg", "curves.csv", "curves.parquet", "final-regret.csv"} <= names(tmp_path / "a")
    assert ask(capsys, *words, "--output", str(tmp_path / "b"))[0] == 0
    assert names(tmp_path / "a") == names(tmp_path / "b")
    both = ["--report", str(tmp_path / "c"), "--output", str(tmp_path / "d")]
    code, _, err = ask(capsys, *words, *both)
    assert code == 2
    assert "expected one folder by --report or --output" in err
    assert names(tmp_path) == {"a", "b"}


def test_replay(capsys, tmp_path):
    import pandas as pd

    log, _ = write(600, seed=1)
    columns = {"action": log.actions, "reward": log.rewards, "propensity": log.propensities}
    pd.DataFrame({**columns, "x_0": log.contexts[:, 0], "x_1": log.contexts[:, 1]}).to_csv(tmp_path / "log.csv")
    words = ["replay", str(tmp_path / "log.csv"), "linucb", "--low", "-1", "--high", "1"]
    page = made(capsys, tmp_path / "out", *words)
    assert page.index(f'role="note">{NOT_PRIVATE}') < page.index("<h2>")
    assert '"rows":["replay","IPS","SNIPS","DR"]' in page
    found = json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))
    assert found["warning"] == NOT_PRIVATE
    drawn = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page)[1])
    [line] = drawn["lines"]
    told = found["results"][0]["estimates"][2:]  # behind what was logged, and the best single action
    assert line["xs"] == pytest.approx([one["value"] for one in told], rel=1e-5)
    assert line["low"] == pytest.approx([one["low"] for one in told], rel=1e-5)
    assert {"estimates-chart.png", "estimates-chart.svg", "estimates.csv", "support.csv"} <= names(tmp_path / "out")


def test_audit(capsys, tmp_path):
    words = ["audit", "randomised-response", "--epsilon", "1", "--runs", "3000"]
    page = made(capsys, tmp_path, *words)
    assert title_of(page) == "Audit of randomised-response: consistent"
    assert "twin: noise halved" in page
    assert '<div class="figure"><svg' in page
    assert {"scores.png", "scores.svg", "bounds.csv", "attacks.csv", "audit.json"} <= names(tmp_path)
    record = ["privacy", "randomised-response", "--epsilon", "1", "--dim", "2", "--audit", str(tmp_path / "audit.json")]
    assert "Consistent" in ask(capsys, *record)[1]


def test_a_refuted_promise_stands_above_everything(capsys, tmp_path):
    words = ["audit", "online-linucb", "--epsilon", "10", "--delta", "0.1", "--calibration", "published"]
    page = made(capsys, tmp_path, *words, "--runs", "20000", "--no-twins", codes=(1,))
    assert 'role="note">The promise is VIOLATED.' in page
    assert title_of(page) == "Audit of online-linucb: violated"


def test_audit_of_everything(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tacit.auditing.catalogue.all_forms", lambda: local.forms()[-2:])
    words = ["audit", "--all", "--runs", "3000", "--output", str(tmp_path / "stored")]
    page = made(capsys, tmp_path / "page", *words, codes=(0, 3))
    assert title_of(page) == "Audit of 2 configurations"
    # A head, and for each what its kernels and its live program showed.
    assert len((tmp_path / "page" / "audits.csv").read_text("utf-8").splitlines()) == 5
    assert len(json.loads((tmp_path / "page" / "audits.json").read_text("utf-8"))["audits"]) == 2


def test_privacy(capsys, tmp_path):
    page = made(capsys, tmp_path, "privacy", "joint-linucb", *PROMISE)
    assert page.count('<figure class="chart"') == 2
    assert {"card.html", "card.json", "delta-of-epsilon.csv", "attacker.csv", "price.csv"} <= names(tmp_path)
    card = facts(capsys, "privacy", "joint-linucb", *PROMISE)
    assert json.loads((tmp_path / "card.json").read_text("utf-8")) == card
    rows = [line.split(",") for line in (tmp_path / "delta-of-epsilon.csv").read_text("utf-8").splitlines()[1:]]
    # The curve goes through the promise: ε = 1 at δ = 1e-6.
    beyond = [float(delta) for _, epsilon, delta in rows if float(epsilon) > 1]
    short = [float(delta) for _, epsilon, delta in rows if float(epsilon) < 1]
    assert max(beyond) < 1e-6 < min(short)


def test_privacy_by_a_theorem_has_no_curve_and_without_privacy_none_at_all(capsys, tmp_path):
    page = made(capsys, tmp_path / "point", "privacy", "randomised-response", "--epsilon", "1")
    assert page.count('<figure class="chart"') == 1
    assert "delta-of-epsilon.csv" not in names(tmp_path / "point")
    page = made(capsys, tmp_path / "none", "privacy", "linucb")
    assert '<figure class="chart"' not in page
    assert "No privacy is promised." in page


def test_privacy_of_several_deployments(capsys, tmp_path):
    for name in "ab":
        made(capsys, tmp_path / name, "privacy", "joint-linucb", *PROMISE)
    cards = [str(tmp_path / name / "card.json") for name in "ab"]
    page = made(capsys, tmp_path / "both", "privacy", "compose", *cards)
    assert title_of(page) == "Privacy of 2 deployments together"
    together = facts(capsys, "privacy", "compose", *cards)
    assert json.loads((tmp_path / "both" / "together.json").read_text("utf-8")) == together


def test_reproduce_makes_its_page_once_and_puts_it_where_it_was_asked_for(capsys, tmp_path):
    words = ["reproduce", "joint-dp/figure-1", "--output", str(tmp_path / "runs")]
    page = made(capsys, tmp_path / "page", *words)
    made_first = tmp_path / "runs" / "figure-1"
    assert names(tmp_path / "page") == names(made_first)
    assert (made_first / "report.html").read_text("utf-8") == page
    assert "What the paper claims" in page
    code, _, err = ask(capsys, "reproduce", "list", "--report", str(tmp_path / "page"))
    assert code == 2
    assert "got list, which runs nothing" in err


COMMANDS = {
    "run": ["run", "linucb"],
    "compare": ["compare", "linucb"],
    "replay": ["replay", "log.csv", "linucb"],
    "audit": ["audit", "randomised-response", "--epsilon", "1"],
    "audit all": ["audit", "--all"],
    "privacy": ["privacy", "linucb"],
    "reproduce": ["reproduce", "joint-dp/figure-1"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_in_the_way_is_said_before_anything_runs(capsys, tmp_path, name, below):
    path = tmp_path / "taken"
    path.write_text("mine", "utf-8")
    code, out, err = ask(capsys, *COMMANDS[name], "--report", str(path / below))
    assert (code, out) == (2, "")
    assert f"Expected a folder for the report, got the file {str(path)!r}" in err
    assert err.count("\n") == 1
    assert path.read_text("utf-8") == "mine"


def test_a_folder_need_not_be_there_yet(tmp_path):
    assert report_folder(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    assert report_folder(tmp_path) == tmp_path
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(BadInput, match="Give another name"):
        report_folder(tmp_path / "file")


@pytest.mark.parametrize("command", sorted({words[0] for words in COMMANDS.values()}))
def test_help_names_the_option(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "--report" in capsys.readouterr().out
