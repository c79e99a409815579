"""Every experiment, from its name to its files."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from tacit import reproduce
from tacit.errors import BadInput, UnknownName
from tacit.reproduce import EXPERIMENTS, By, Finding
from tacit.reproduce.joint_dp.shift import grid, published_rho
from tests.reproduce.tiny import TINY

FILES = ["figure.png", "figure.svg", "table.csv", "report.html", "result.json"]


def strict(text):
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_every_experiment_has_a_tiny_scale_here():
    assert set(TINY) == set(EXPERIMENTS)


#: These compile pairs of policy and world that nothing else needs; the others of their papers run in every suite.
SLOW = ("joint-dp/claim-13", "joint-dp/corollary-15", "local/figure-1", "local/rates", "kernel/rates")


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in TINY])
def test_every_experiment_runs_and_writes_what_it_says(name, tmp_path):
    outcome = reproduce.run(name, scale=TINY[name], output=tmp_path, progress=False)
    folder = tmp_path / name.split("/")[1]
    assert [path.name for path in outcome.files] == FILES
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    facts = strict((folder / "result.json").read_text("utf-8"))
    assert facts == strict(json.dumps(outcome.to_dict(), allow_nan=False))
    assert (facts["experiment"], facts["scale"], facts["seed"]) == (name, "tiny", 1)
    assert len(facts["results"]) == facts["runs"]["total"]
    for claim in facts["claims"]:
        assert claim["finding"] in list(Finding)
        assert claim["by"] in list(By)
        assert claim["claim"]
        assert claim["criterion"]
        assert claim["numbers"]
    rows = list(csv.reader((folder / "table.csv").read_text("utf-8").splitlines()))
    assert rows[0] == list(outcome.table.columns)
    assert len(rows) == 1 + len(outcome.table.rows)
    page = (folder / "report.html").read_text("utf-8")
    assert "<svg" in page
    text = outcome.text()
    for verdict in outcome.verdicts:
        assert f"[{verdict.finding}]" in text
    for choice in outcome.experiment.choices:
        assert choice.split()[-1] in text


@pytest.mark.parametrize("name", TINY)
def test_quick_and_paper_are_both_described(name):
    experiment = EXPERIMENTS[name]
    assert list(experiment.scales) == ["quick", "paper"]
    for key, scale in experiment.scales.items():
        assert scale.name == key
        assert experiment.describe(scale)
        assert scale.time


def test_the_paper_scale_has_the_settings_of_the_paper():
    """Section D: n, d, gaps and K = d², failure probability 1/n, ε = 1 and δ = 0.1."""
    jobs = EXPERIMENTS["joint-dp/figure-4"].jobs(EXPERIMENTS["joint-dp/figure-4"].scales["paper"], seed=1)
    assert {job.environment.gap for job in jobs.values()} == {0.0, 0.1}
    for job in jobs.values():
        assert job.rounds == 50_000_000
        assert (job.environment.dim, job.environment.count, job.environment.reward_noise) == (5, 25, "sign")
        assert job.config.failure_probability == 1 / job.rounds
        if job.config.slug == "joint-linucb":
            assert (job.config.epsilon, job.config.delta) == (1.0, 0.1)
    jobs = EXPERIMENTS["joint-dp/figure-2"].jobs(EXPERIMENTS["joint-dp/figure-2"].scales["paper"], seed=1)
    assert {job.rounds for job in jobs.values()} == {100_000}
    assert {job.config.ridge for job in jobs.values()} == {1.0}
    assert {job.environment.dim for job in jobs.values()} == {4, 8, 16, 32, 64}


@pytest.mark.parametrize("noise", ["gaussian", "wishart"])
def test_the_grid_of_shifts_holds_the_published_one_and_both_ends(noise):
    values, usual = grid(noise, 100_000, 6), published_rho(noise, 100_000)
    assert len(values) == 6
    assert usual in values
    assert values[0] == pytest.approx(usual / 20)
    if noise == "gaussian":
        assert values[-1] == pytest.approx(50 * usual)
    assert (np.diff(values) > 0).all()


@pytest.mark.usefixtures("undrawn")
def test_figures_of_one_paper_share_their_runs(tmp_path):
    first = reproduce.run("joint-dp/figure-2", scale=TINY["joint-dp/figure-2"], output=tmp_path, progress=False)
    second = reproduce.run("joint-dp/figure-3", scale=TINY["joint-dp/figure-3"], output=tmp_path, progress=False)
    assert (first.found, second.found) == (0, len(second.results))
    assert first.table == second.table


def test_bad_names_scales_seeds_and_folders_are_refused_before_anything_runs(tmp_path):
    with pytest.raises(UnknownName, match="joint-dp/figure-4"):
        reproduce.run("joint-dp/figure-44", output=tmp_path)
    with pytest.raises(UnknownName, match="quick"):
        reproduce.run("joint-dp/figure-1", scale="quik", output=tmp_path)
    with pytest.raises(BadInput, match="seed < 1,000,000, got seed=1000000"):
        reproduce.run("joint-dp/figure-1", seed=10**6, output=tmp_path)
    with pytest.raises(BadInput, match="trials >= 1"):
        reproduce.run("joint-dp/figure-2", trials=0, output=tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="a folder to write to"):
        reproduce.run("joint-dp/figure-1", output=tmp_path / "file")
