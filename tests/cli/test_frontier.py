"""`tacit frontier`: in worlds, on tables, on logs; what it writes and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tacit.cli import main
from tacit.errors import Interrupted
from tacit.frontiers import runs

SMALL = ["--dim", "3", "--arms", "4", "--epsilons", "1,100", "--delta", "1e-5", "--rounds", "300", "--trials", "2"]


def test_the_command_writes_a_page_and_says_where(capsys, tmp_path):
    words = ["frontier", "joint-linucb", "joint-linucb:width=0.5", *SMALL, "--report", str(tmp_path / "page")]
    assert main([*words, "--against", "linucb:width=0.5", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {one["label"] for one in facts["points"]} >= {"joint-linucb", "joint-linucb width=0.5"}
    assert facts["warning"] is None
    page = (tmp_path / "page" / "report.html").read_text("utf-8")
    assert "What is kept of the non-private gain" in page
    assert "tacit frontier joint-linucb" in page
    assert len(page) < 3_000_000
    kept = len(list((tmp_path / "page" / "runs").iterdir()))
    assert kept == 2 + 2 * 2
    assert main([*words, "--against", "linucb:width=0.5"]) == 0
    assert f"page    {tmp_path / 'page' / 'report.html'}" in capsys.readouterr().out
    assert len(list((tmp_path / "page" / "runs").iterdir())) == kept  # found, not made again


def test_ctrl_c_says_how_to_go_on(capsys, tmp_path, monkeypatch):
    def stopping(jobs, **how):
        raise Interrupted("by hand")

    monkeypatch.setattr(runs, "simulate_all", stopping)
    assert main(["frontier", "joint-linucb", *SMALL, "--report", str(tmp_path)]) == 130
    assert "0 of 4 runs are stored in" in capsys.readouterr().err


def test_a_table_has_rewards_and_a_warning(capsys, tmp_path):
    words = ["frontier", "joint-linucb", "--environment", "table", "--data", "digits", "--projection", "2"]
    words += ["--epsilons", "1000", "--rounds", "400", "--trials", "2", "--measure", "reward"]
    assert main([*words, "--report", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert "not private, do not publish" in facts["warning"]
    rewards = {one["label"]: one["value"] for one in facts["points"]}
    assert rewards["context-blind"] == pytest.approx(0.1, abs=0.05)  # one class in ten
    assert rewards["context-blind"] < rewards["linucb"] < 1


def test_a_table_as_it_comes_needs_no_cleaning(capsys, tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.uniform(0, 100, 300), "shop": 1, "city": rng.choice(["Oslo", "Voss"], 300)})
    frame["bought"] = np.where(frame["age"] > 20, "tea", "milk")
    frame.loc[::7, "age"] = np.nan
    frame.loc[::11, "city"] = None
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    words = ["frontier", "joint-linucb", "--environment", "table", "--data", str(path), "--target", "bought"]
    words += ["--low", "0", "--high", "100", "--rounds", "200", "--trials", "2", "--measure", "reward"]
    words += ["--epsilons", "0.1", "--report", str(tmp_path / "page")]
    assert main([*words, "--json", "--categories", "city=Oslo|Voss"]) == 0
    facts = json.loads(capsys.readouterr().out)
    lines = {one["label"]: one["value"] for one in facts["points"]}
    assert lines["best single action"] == pytest.approx((frame["bought"] == "tea").mean())
    assert facts["points"][0]["below_best_single"]
    assert "show the most popular item" in facts["advice"][0]
    page = (tmp_path / "page" / "report.html").read_text("utf-8")
    for said in ("Left out, as the same value", "Missing values (", "best single action is always"):
        assert said in page
    assert main(words) == 2
    assert "categories=('city=first|second',)" in capsys.readouterr().err
    assert main([*words, "--categories", "city=Oslo|Voss", "--missing", "no"]) == 2
    assert "Say missing=True" in capsys.readouterr().err


def test_a_log_names_its_columns_as_for_replay(capsys, tmp_path):
    rng = np.random.default_rng(1)
    shown, did = rng.uniform(-1, 1, 400), rng.integers(0, 2, 400)
    frame = pd.DataFrame({"age": 50 + 40 * shown, "did": did, "p": 0.5, "model": shown > 0})
    frame["paid"] = (rng.random(400) < 0.5 + 0.4 * shown * (2 * did - 1)).astype(int)
    frame.to_csv(tmp_path / "log.csv", index=False)
    words = ["frontier", "joint-linucb", "--log", str(tmp_path / "log.csv"), "--action", "did", "--reward", "paid"]
    words += ["--propensity", "p", "--features", "age", "--low", "age=10", "--high", "90", "--arms", "2"]
    words += ["--epsilons", "100", "--trials", "2", "--width", "0.3", "--report", str(tmp_path / "page")]
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert "not private, do not publish" in facts["warning"]
    assert facts["environment"] == {"log": {"rows": 400, "arms": 2, "features": 4, "model": "per-arm"}}
    assert facts["settings"]["joint-linucb"]["width"] == 0.3
    assert "not private, do not publish" in (tmp_path / "page" / "report.html").read_text("utf-8")
    for more, said in (
        (["--environment", "sphere"], "Expected either --log or --environment, got both"),
        (["--rounds", "100"], "Expected no rounds on a log"),
        (["--buckets", "many"], "expected a whole number, got 'many'"),
        (["--low", "small"], "Expected --low to be a number"),
        (["--rewards", "paid"], "--rewards"),
    ):
        assert main([*words, *more]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["linucb"], "promises nothing at any epsilon"),
        (["joint-linucb", "--epsilon", "1"], "it is what is varied"),
        (["joint-linucb", "--epsilons", "a,b"], "Expected --epsilons to be numbers"),
        (["joint-linucb", "--epsilons", "-1"], "Expected epsilon > 0"),
        (["usca"], "Expected an environment of functions for usca"),
        (["usca", "--log", "log.csv"], "which learns a function"),
        (["joint-linucb", "--environment", "rkhs"], "Expected a learner of functions in rkhs"),
        (["joint-linucb", "--ratios", "3"], "Did you mean --ratio"),
        (["joint-linucb", "--against", "joint-linucb:epsilon=1,delta=0.1"], "a policy without privacy as the line"),
        (["joint-linucb", "--measure", "error"], "measure to be one of"),
        (["joint-linucb", "--report", __file__], "folder for the report"),
    ],
)
def test_what_cannot_be_traced_is_refused(capsys, words, said):
    assert main(["frontier", *words]) == 2
    assert said in capsys.readouterr().err
