"""Learners of functions on the command line."""

from __future__ import annotations

import json

import pytest

from tacit.cli import main

PROMISE = ["--epsilon", "1", "--delta", "1e-6"]
SHORT = ["--environment", "rkhs", "--rounds", "200", "--trials", "2", "--features", "49", "--queries", "3"]


def ask(capsys, *arguments):
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def facts(capsys, *arguments):
    code, out, err = ask(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_run_prints_the_error_rate_with_its_standard_error(capsys):
    found = facts(capsys, "run", "usca", *SHORT, *PROMISE, "--seed", "1")
    assert (found["policy"], found["environment"], found["way"]) == ("usca", "rkhs", "function")
    assert (found["rounds"], found["trials"]) == (200, 2)
    assert 0 <= found["error_rate"] <= 2
    assert found["error_rate_se"] > 0
    assert found["records_per_second"] > 0
    assert found["guarantee"]["epsilon"] <= 1
    assert "seeded" in found["guarantee"]["warning"]


def test_run_in_words_and_its_table(capsys, tmp_path):
    path = tmp_path / "errors.csv"
    arguments = ["run", "usca", *SHORT, *PROMISE, "--ways", "function,once", "--output", str(path)]
    code, text, err = ask(capsys, *arguments)
    assert code == 0, err
    assert "usca in rkhs: 200 records, 2 trials, seed 0" in text
    for line in ("(function)", "(once)", "at random", "records/s", "delta = 1e-06", "delta = 0"):
        assert line in text
    assert path.exists()


def test_what_the_world_has_too_is_the_worlds_unless_it_stands_after_the_colon(capsys):
    common = ["--kernel", "matern-5/2", "--length-scale", "0.3", "--contexts", "beta(2,5)", "--action-dim", "2"]
    settings = facts(capsys, "run", "usca", *SHORT, *PROMISE, *common)["settings"]
    assert settings["environment"]["kernel"] == "matern-5/2"
    assert settings["policy"]["kernel"] == {"kernel": "matern-5/2", "length_scale": 0.3}
    assert settings["policy"]["contexts"] == settings["environment"]["contexts"] == "beta(2,5)"
    assert len(settings["policy"]["action_box"]) == 2
    believed = facts(capsys, "run", "usca:kernel=squared-exponential:0.5", *SHORT, *PROMISE, *common)["settings"]
    assert believed["environment"]["kernel"] == "matern-5/2"
    assert believed["policy"]["kernel"] == {"kernel": "squared-exponential", "length_scale": 0.5}


def test_one_length_scale_per_coordinate(capsys):
    found = facts(capsys, "run", "usca", *SHORT, *PROMISE, "--length-scale", "0.2,0.5")["settings"]
    assert found["environment"]["length_scale"] == found["policy"]["kernel"]["length_scale"] == [0.2, 0.5]


def test_compare_writes_table_figure_and_page(capsys, tmp_path):
    arguments = ["usca:ways=function;once", "usca:epsilon=4", *SHORT, *PROMISE, "--output", str(tmp_path)]
    code, text, err = ask(capsys, "compare", *arguments)
    assert code == 0, err
    rows = [line.split() for line in text.splitlines() if line.startswith("usca ")]
    assert [row[:2] for row in rows] == [["usca", "function"], ["usca", "once"], ["usca", "epsilon=4"]]
    assert "A random action loses" in text
    for name in ("errors.png", "errors.svg", "errors.parquet", "errors.csv", "report.html"):
        assert (tmp_path / name).stat().st_size > 1000
    found = facts(capsys, "compare", *arguments)
    assert [one["label"] for one in found["results"]] == ["usca", "usca epsilon=4"]
    assert [set(one["ways"]) for one in found["results"]] == [{"function", "once"}, {"function"}]
    assert found["results"][0]["ratio_to_first"] == 1.0
    randoms = {one["random_error_rate"] for one in found["results"]}
    assert len(randoms) == 1, "compared policies meet the same functions and queries"


ERRORS = {
    ("run", "usca", *PROMISE): "Expected an environment of functions for usca, such as rkhs, got sphere",
    ("run", "linucb", "--environment", "rkhs"): "Expected a learner of functions in rkhs, such as usca, got linucb",
    ("compare", "usca", "linucb", *PROMISE, "--environment", "rkhs"): "got linucb",
    ("run", "usca", *PROMISE, "--environment", "rhks"): "Did you mean rkhs",
    ("run", "usca", "--environment", "rkhs"): "Expected --epsilon, got none",
    ("run", "usca", *SHORT, *PROMISE, "--ways", "twice"): "Expected ways to be some of function, once, mean",
    ("run", "linucb", "--ways", "once"): "There is no option of linucb or sphere '--ways'",
    ("run", "usca", *SHORT, *PROMISE, "--by", "episodes"): 'Expected by="rounds" for usca',
    ("run", "usca", *SHORT, *PROMISE, "--kernel", "matern"): "There is no kernel 'matern'",
    ("run", "usca", *SHORT, *PROMISE, "--length-scale", "short"): "Expected length_scale to be numbers",
    ("run", "usca", *SHORT, *PROMISE, "--contexts", "often"): 'Expected contexts to be "uniform"',
    ("run", "usca", *SHORT, *PROMISE, "--horizon", "10"): "Expected at most 10 rounds, got rounds=200",
    ("run", "usca", *SHORT, *PROMISE, "--output", "errors.txt"): "Expected a path ending in .parquet or .csv",
    ("run", "usca", *SHORT, *PROMISE, "--quereis", "3"): "Did you mean --queries",
}


@pytest.mark.parametrize("arguments", ERRORS, ids=" ".join)
def test_bad_input_is_one_line_and_exit_code_two(capsys, arguments):
    code, out, err = ask(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tacit: ")
    assert err.count("\n") == 1
    assert ERRORS[arguments] in err
