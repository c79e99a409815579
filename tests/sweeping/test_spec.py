"""What a file asks for: every mistake is refused before anything runs, with its place."""

from __future__ import annotations

import pytest

from tacit.errors import BadInput
from tacit.sweeping import Budget, read_spec
from tacit.sweeping.runs import runs_of
from tests.sweeping.specs import HEAD, POLICIES, WORLD

TOP = HEAD.format(rounds=200)
ARMS = '[[environment]]\nname = "arms"\nmeans = [0.2, 0.8]\n'
JOINT = '[[policy]]\nname = "joint-linucb"\n'


def runs(tmp_path, text):
    path = tmp_path / "asked.toml"
    path.write_text(text, "utf-8")
    return runs_of(read_spec(path))


ERRORS = {
    "rounds = ": "asked.toml: Expected TOML",
    "round = 3": "asked.toml: There is no key of a sweep 'round'. Did you mean rounds",
    "trials = 3": "asked.toml: Expected rounds, such as",
    'rounds = "many"': "asked.toml: Expected rounds to be a whole number, got rounds='many'",
    "rounds = 9\nseeds = 3": "asked.toml: Expected seeds to be a list such as seeds = [1, 2], got 3",
    "rounds = 9\nseeds = []": "Expected seeds to be a list",
    "rounds = 9\nseeds = [1, 1]": "Expected every seed once",
    "rounds = 9\nepsilons = [0]": "Expected epsilons > 0",
    "rounds = 9\nepsilons = [1, 1.0]": "Expected every budget once",
    "rounds = 9\ndelta = 2": "Expected 0 < delta < 1",
    "rounds = 9\n[[budget]]\nepsilon = 1\nrho = 2": "asked.toml, [[budget]] 1: Expected epsilon (with",
    "rounds = 9\n[[budget]]\nepsilom = 1": "There is no key of a budget 'epsilom'. Did you mean epsilon",
    TOP: "asked.toml: Expected a [[policy]] or more, got none",
    TOP + POLICIES: "asked.toml: Expected a [[environment]] or more, got none",
    TOP + '[policy]\nname = "linucb"\n': "Expected tables under [[policy]], with two brackets",
    TOP + "[[policy]]\nlabel = 'x'\n" + WORLD: "asked.toml, [[policy]] 1: Expected a name",
    TOP
    + '[[policy]]\nname = "linucp"\n'
    + WORLD: "asked.toml, [[policy]] 1: There is no policy 'linucp'. Did you mean",
    TOP
    + POLICIES
    + '[[environment]]\nname = "spere"\n': "asked.toml, [[environment]] 1: There is no environment 'spere'",
    TOP + POLICIES + WORLD + "arm = 3\n": "asked.toml, [[environment]] 1: There is no option of sphere 'arm'",
    TOP + POLICIES + "epsilom = 3\n" + WORLD: "asked.toml, [[policy]] 2: There is no option of randomised-response",
    TOP + POLICIES + POLICIES + WORLD: "asked.toml, [[policy]] 3: Expected a label of its own, got 'linucb' again",
    TOP + JOINT + WORLD: "asked.toml, [[policy]] 1: Expected delta for joint-linucb, got epsilon=1 alone",
    TOP + JOINT + "delta = 1e-6\nratio = [2, 3]\n" + WORLD: "write the list under [policy.vary]",
    TOP + JOINT + "delta = 1e-6\nvary = 3\n" + WORLD: "Expected [policy.vary] to be a table of lists",
    TOP + JOINT + "delta = 1e-6\nratio = 2\nvary.ratio = [2, 3]\n" + WORLD: "Expected ratio once, got it under",
    TOP + JOINT + 'delta = 1e-6\nratio = "two"\n' + WORLD: "asked.toml, [[policy]] 1: Expected ratio to be a number",
    TOP + JOINT + 'delta = 1e-6\nways = ["once"]\n' + WORLD: "Expected ways for a learner of functions",
    "rounds = 9\n" + JOINT + WORLD: "Expected budgets for joint-linucb, such as epsilons = [0.3, 1, 3]",
    "rounds = 9\n[[budget]]\nrho = 1\n" + JOINT + WORLD: "it has no rho. Give the policy a budget of its own",
    TOP + '[[policy]]\nname = "linucb"\n' + WORLD: "Expected a policy that takes budgets, got none",
    TOP + '[[policy]]\nname = "usca"\ndelta = 0.1\n' + WORLD: "Expected an environment of functions for usca",
    TOP + POLICIES + '[[environment]]\nname = "table"\ndata = "no.csv"\n': "[[environment]] 1: Expected a CSV file",
}


@pytest.mark.parametrize("text", ERRORS, ids=range(len(ERRORS)))
def test_a_mistake_is_refused_with_its_place(tmp_path, text):
    with pytest.raises(BadInput) as refused:
        runs(tmp_path, text)
    assert ERRORS[text] in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput, match="Expected a TOML file that describes a sweep"):
        read_spec(tmp_path / "none.toml")


def test_policies_cross_budgets_environments_and_seeds(tmp_path):
    found = runs(tmp_path, TOP + POLICIES + WORLD + '[[environment]]\nname = "fixed-arms"\nlabel = "list"\ndim = 3\n')
    assert len(found) == 2 * (1 + 2) * 2, "a policy without privacy runs once, whatever the budgets"
    assert len({run.key for run in found}) == len(found)
    assert [run.world for run in found] == ["sphere"] * 6 + ["list"] * 6
    assert [run.job.name for run in found[:6:2]] == [
        "linucb",
        "randomised-response epsilon=1",
        "randomised-response epsilon=10",
    ]
    assert [run.job.seed for run in found[:4]] == [1, 2, 1, 2]
    assert {run.job.config.dim for run in found} == {3}, "told by the environment"


def test_what_is_varied_is_a_run_each_and_named_in_the_label(tmp_path):
    text = JOINT + 'delta = 1e-6\n[policy.vary]\nreleases = ["geometric", "tree"]\nwidth = [0.5, "theory"]\n'
    found = runs(tmp_path, "rounds = 9\nepsilons = [2]\n" + text + WORLD)
    assert [run.label for run in found] == [
        f"joint-linucb releases={releases} width={width}"
        for releases in ("geometric", "tree")
        for width in ("0.5", "theory")
    ]
    assert [run.job.config.horizon for run in found] == [None, None, 9, 9], "a tree must know its rounds"
    assert {run.job.config.failure for run in found} == {1 / 9}


def test_a_policy_with_a_budget_of_its_own_is_not_crossed(tmp_path):
    text = TOP + POLICIES + '[[policy]]\nname = "renyi-ucb"\nvary.rho = [0.1, 1.0]\n'
    found = runs(tmp_path, text + ARMS)
    own = [run for run in found if run.label.startswith("renyi-ucb")]
    assert [run.job.config.rho for run in own] == [0.1, 0.1, 1.0, 1.0]
    assert {run.budget for run in own} == {None}


def test_budgets_may_be_in_any_currency(tmp_path):
    text = (
        "rounds = 9\n[[budget]]\nrho = 0.5\n[[budget]]\nepsilon = 1\ndelta = 1e-5\n[[budget]]\nepsilon = 1\nalpha = 4\n"
    )
    found = runs(tmp_path, text + '[[policy]]\nname = "renyi-ucb"\n' + ARMS)
    assert [run.budget for run in found] == [Budget(rho=0.5), Budget(1.0, 1e-5), Budget(1.0, None, None, 4.0)]
    assert [run.job.config.promise.currency for run in found] == ["rho", "epsilon", "rho"]


def test_learners_of_functions_predict_in_their_own_way_unless_told(tmp_path):
    text = 'rounds = 60\ndelta = 1e-6\nepsilons = [1]\n[[policy]]\nname = "usca"\n[[policy]]\nname = "gp-mean"\n'
    world = '[[environment]]\nname = "rkhs"\n'
    assert [run.job.ways for run in runs(tmp_path, text + world)] == [("function",), ("mean",)]
    told = text.replace('"usca"', '"usca"\nways = ["once", "mean"]')
    assert [run.job.ways for run in runs(tmp_path, told + world)] == [("once", "mean"), ("mean",)]
