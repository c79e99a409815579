"""The command line as a stranger uses it."""

from __future__ import annotations

import json
import subprocess
import sys

import numba
import numpy as np
import pytest

from tacit import __version__
from tacit.cli import main
from tacit.cli.warm import _words
from tacit.environments import CATALOGUE as ENVIRONMENTS
from tacit.environments import FUNCTION_CATALOGUE as FUNCTION_WORLDS
from tacit.errors import Interrupted
from tacit.estimators.prior import Prior
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS
from tacit.reproduce import EXPERIMENTS

COMMANDS = ("policies", "environments", "privacy", "run", "compare", "reproduce", "warm")
EVERY = {**CATALOGUE, **FUNCTIONS}
PROMISE = ["--epsilon", "1", "--delta", "0.1"]
SHORT = ["--rounds", "200", "--trials", "2", "--dim", "3"]


def ask(capsys, *arguments):
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def facts(capsys, *arguments):
    code, out, err = ask(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_help_answers_without_loading_the_compiler():
    code = (
        "import sys; from tacit.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'numpy', 'scipy', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "compare" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "example:" in text
    assert f"tacit {command}" in text
    assert "--json" in text


def test_version_and_no_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip() == f"tacit {__version__}"
    assert ask(capsys)[0] == 0


def test_policies_are_grouped_by_trust_protection_and_needs(capsys):
    _, text, _ = ask(capsys, "policies")
    for kind in EVERY.values():
        assert kind.slug in text
        assert kind.summary in text
        assert f"trust: {kind.trust.value}; protects: {kind.protects.value}" in text
        assert f"needs: {kind.needs}" in text
    listed = facts(capsys, "policies")["policies"]
    assert {one["name"] for one in listed} == set(EVERY)


@pytest.mark.parametrize("slug", list(EVERY))
def test_every_option_of_every_policy_is_explained(capsys, slug):
    for option in facts(capsys, "policies", slug)["options"]:
        assert option["help"], option


@pytest.mark.parametrize("slug", [*ENVIRONMENTS, *FUNCTION_WORLDS])
def test_every_option_of_every_environment_is_explained(capsys, slug):
    for option in facts(capsys, "environments", slug)["options"]:
        assert option["help"], option
    assert slug in ask(capsys, "environments")[1]


def test_the_card(capsys):
    card = facts(capsys, "privacy", "joint-linucb", "--epsilon", "1", "--delta", "1e-5", "--ratio", "1.01")
    assert card["claimed"] == {"epsilon": 1.0, "delta": 1e-5}
    assert card["true_epsilon"] <= 1.0
    assert card["mu"] == pytest.approx(0.26805, abs=5e-6)
    assert card["noise_scale"] == pytest.approx(2 * 3.479693**0.5 / 0.26805, rel=1e-4)
    _, text, _ = ask(capsys, "privacy", "joint-linucb", "--epsilon", "1", "--delta", "1e-5")
    assert "epsilon <= 1.000 at delta = 1e-05" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_card_of_a_tree_and_of_no_privacy(capsys):
    tree = ["privacy", "joint-linucb", *PROMISE, "--releases", "tree", "--horizon", "1e5"]
    assert facts(capsys, *tree)["noise_scale"] == pytest.approx(17**0.5 * 2 / 0.92091, rel=1e-4)
    card = facts(capsys, "privacy", "linucb")
    assert card["claimed"] is None
    assert card["mu"] is None


def test_run_prints_one_object_with_the_contract(capsys):
    world = ["--environment", "sphere", "--gap", "0.1"]
    found = facts(capsys, "run", "joint-linucb", *world, *PROMISE, *SHORT, "--seed", "1")
    assert found["policy"] == "joint-linucb"
    assert found["environment"] == "sphere"
    assert (found["rounds"], found["trials"]) == (200, 2)
    assert found["regret_mean"] > 0
    assert found["regret_se"] > 0
    assert found["rounds_per_second"] > 0
    guarantee = found["guarantee"]
    assert {"trust", "protects", "neighbours", "unit", "mu", "epsilon", "delta"} <= set(guarantee)
    assert guarantee["epsilon"] <= 1
    assert "seeded" in guarantee["warning"]


def test_options_are_flags_or_set(capsys):
    run = ["run", "joint-linucb", *PROMISE, *SHORT, "--releases", "tree", "--horizon", "1000"]
    as_flags = facts(capsys, *run, "--width", "0.5", "--shift=4", "--strict")
    as_sets = facts(capsys, *run, "--set", "width=0.5", "--set", "shift=4", "--set", "strict=yes")
    assert as_flags["settings"] == as_sets["settings"]
    assert as_flags["settings"]["policy"]["width"] == 0.5
    assert as_flags["settings"]["policy"]["strict"] is True
    assert as_flags["regret_mean"] == as_sets["regret_mean"]


def test_run_in_words_and_its_table(capsys, tmp_path):
    path = tmp_path / "curves.csv"
    code, text, _ = ask(capsys, "run", "linucb", "--environment", "fixed-arms", *SHORT, "--output", str(path))
    assert code == 0
    assert "linucb in fixed-arms: 200 rounds, 2 trials" in text
    assert "no privacy is promised" in text
    assert path.exists()


def test_policies_over_a_list_are_compared_in_a_world_that_has_one(capsys, tmp_path):
    """They take its list; the page has the card of each."""
    words = ["compare", "ucb1:doubling=true", "renyi-ucb", "laplace-ucb", "--environment", "arms", "--epsilon", "1"]
    where = ["--delta", "1e-6", "--rounds", "1000", "--trials", "2", "--by", "episodes", "--output", str(tmp_path)]
    found = facts(capsys, *words, *where)
    assert len(found["results"]) == 3
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Privacy card: renyi-ucb" in page
    assert "Privacy card: laplace-ucb" in page


def test_compare_writes_table_figure_and_page(capsys, tmp_path):
    policies = ["linucb", "joint-linucb", "joint-linucb:releases=tree"]
    arguments = [*policies, *PROMISE, *SHORT, "--horizon", "200", "--output", str(tmp_path)]
    code, text, err = ask(capsys, "compare", *arguments)
    assert code == 0, err
    assert "joint-linucb releases=tree" in text
    for name in ("regret.png", "regret.svg", "curves.parquet", "curves.csv", "report.html"):
        assert (tmp_path / name).stat().st_size > 1000
    found = facts(capsys, "compare", *arguments)
    assert [one["policy"] for one in found["results"]] == ["linucb", "joint-linucb", "joint-linucb"]
    assert found["results"][0]["ratio_to_first"] == 1.0
    failures = {one["settings"]["policy"]["failure"] for one in found["results"]}
    assert failures == {1 / 200}, "compared policies get the same failure probability"


def test_warm_compiles_what_is_named(capsys):
    found = facts(capsys, "warm", "ucb1")
    assert [one.split()[0] for one in found["compiled"]] == ["ucb1"]
    assert ask(capsys, "warm", "linucbb")[0] == 2


def test_what_warm_compiles_has_one_name_for_each_type_of_params():
    """Two types under one name would leave the second to be compiled in front of the first person."""
    for kind in CATALOGUE.values():
        params = [config.plan().params for config in kind.examples(dim=3)]
        assert len({_words(one) for one in params}) == len({numba.typeof(one) for one in params}), kind.slug


@pytest.mark.long
def test_warm_compiles_the_catalogue(capsys):
    found = facts(capsys, "warm")
    for slug in CATALOGUE:
        assert any(slug in one for one in found["compiled"])


def test_a_prior_is_read_from_its_file(capsys, tmp_path):
    path = Prior.from_rows(np.eye(3), np.ones(3)).save(tmp_path / "prior.json")
    run = ["run", "joint-linucb", *PROMISE, *SHORT]
    assert facts(capsys, *run, "--prior", str(path))["settings"]["policy"]["prior"]["rows"] == 3
    assert facts(capsys, *run, "--prior", "none")["settings"]["policy"]["prior"] is None


def test_the_list_of_experiments_says_what_each_scale_does(capsys):
    _, text, _ = ask(capsys, "reproduce", "list")
    listed = facts(capsys, "reproduce", "list")["experiments"]
    assert {one["name"] for one in listed} == set(EXPERIMENTS)
    for one in listed:
        assert f"{one['name']}: {one['title']}" in text
        for scale in ("quick", "paper"):
            assert one["scales"][scale]["what"] in text
            assert one["scales"][scale]["time"] in text


def test_reproduce_prints_table_verdicts_and_files(capsys, tmp_path):
    arguments = ["reproduce", "joint-dp/figure-1", "--output", str(tmp_path)]
    code, text, err = ask(capsys, *arguments)
    assert code == 0, err
    assert "[holds] All actions have length 1." in text
    assert str(tmp_path / "figure-1" / "figure.png") in text
    assert "one set of 1,000 actions" in err
    found = facts(capsys, *arguments)
    assert found["command"].startswith("tacit reproduce joint-dp/figure-1")
    assert {claim["finding"] for claim in found["claims"]} == {"holds"}


def test_a_stopped_experiment_says_how_to_go_on(capsys, tmp_path, monkeypatch):
    def stop(jobs, **_):
        raise Interrupted("by hand")

    monkeypatch.setattr("tacit.reproduce.runner.simulate_all", stop)
    code, out, err = ask(capsys, "reproduce", "joint-dp/claim-13", "--output", str(tmp_path))
    assert (code, out) == (130, "")
    assert "0 of 13 runs are stored" in err
    assert "The same command goes on from there." in err


ERRORS = {
    ("run", "joint-linukb"): "There is no policy 'joint-linukb'. Did you mean joint-linucb",
    ("run", "linucb", "--environment", "spehre"): "Did you mean sphere",
    ("run", "joint-linucb"): "Expected --epsilon, got none",
    ("run", "joint-linucb", "--epsilon", "0", "--delta", "0.1"): "Expected epsilon > 0, got epsilon=0.0",
    ("run", "joint-linucb", "--epsilon", "1", "--delta", "1"): "Expected 0 < delta < 1, got delta=1.0",
    ("run", "joint-linucb", "--epsilon", "one", "--delta", "0.1"): "Expected epsilon to be a number, got epsilon='one'",
    ("privacy", "joint-linucb", *PROMISE, "--releases", "tree"): "Expected a horizon",
    ("run", "joint-linucb", *PROMISE, "--releases", "tree", "--horizon", "10"): "Expected at most 10 rounds",
    ("run", "joint-linucb", *PROMISE, "--relaeses", "tree"): "Did you mean --releases",
    ("run", "joint-linucb", *PROMISE, "--strict", "perhaps"): "Expected strict to be true or false",
    ("run", "linucb", "--rounds", "many"): "expected a whole number, got 'many'",
    ("run", "linucb", "--rounds", "0"): "Expected rounds >= 1, got rounds=0",
    ("run", "linucb", "--dim", "2.5"): "Expected dim to be a whole number, got dim='2.5'",
    ("run", "linucb", "--gap", "9"): "Expected 0 <= gap < 1.5, got gap=9.0",
    ("run", "linucb", "--set", "ridge"): "Expected --set KEY=VALUE, got --set 'ridge'",
    ("run", "linucb", "stray"): "Expected an option like --epsilon 1, got 'stray'",
    ("run", "linucb", "--output", "curves.txt"): "Expected a path ending in .parquet or .csv",
    ("run", "linucb", "--output", "nowhere/curves.csv"): "Expected an existing folder",
    ("run",): "the following arguments are required: policy",
    ("privacy", "joint-linucb", "--epsilon", "1", "--delta", "nan"): "Expected delta to be finite, got delta=nan",
    ("compare", "linucb", "joint-linucb:releses=tree", *PROMISE): "Did you mean --releases",
    ("policies", "linucp"): "Did you mean linucb",
    ("environments", "cube"): "There is no environment 'cube'",
    ("warm", "--fast"): "There is no option '--fast' here",
    ("run", "joint-linucb", *PROMISE, "--prior", "nowhere.json"): "Expected a prior as JSON in 'nowhere.json'",
    ("reproduce",): "the following arguments are required: experiment",
    ("reproduce", "joint-dp/figure-44"): "There is no experiment 'joint-dp/figure-44'. Did you mean joint-dp/figure-4",
    ("reproduce", "joint-dp/figure-1", "--scale", "huge"): "There is no scale 'huge'",
    ("reproduce", "joint-dp/figure-1", "--seed", "1e6"): "Expected seed < 1,000,000, got seed=1000000",
    ("reproduce", "joint-dp/figure-1", "--gap", "0"): "There is no option '--gap' here",
    ("frobnicate",): "invalid choice: 'frobnicate'",
}


@pytest.mark.parametrize("arguments", ERRORS, ids=" ".join)
def test_bad_input_is_one_line_and_exit_code_two(capsys, arguments):
    code, out, err = ask(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("tacit: ")
    assert err.count("\n") == 1
    assert ERRORS[arguments] in err


def test_as_a_program_errors_have_no_traceback():
    done = subprocess.run([sys.executable, "-m", "tacit", "run", "nobody"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
