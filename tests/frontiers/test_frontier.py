"""What privacy costs: shares against a definition, advice, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.cli import main
from tacit.errors import BadInput
from tacit.frontiers import Asked, Frontier, Point
from tacit.frontiers.shares import rounds_needed, share_of, shares_over_time

SPHERE = tacit.environments.Sphere(dim=3, arms=4)
EPSILONS = (1.0, 100.0)


@pytest.fixture(scope="module")
def found() -> Frontier:
    """Two promises of one policy, in a small world."""
    return tacit.frontier(
        [tacit.JointLinUCB], SPHERE, epsilons=EPSILONS, delta=1e-5, rounds=2000, trials=3, seed=1, progress=False
    )


def with_regret(result, *final):
    """The result with these regrets at the end of straight curves."""
    shape = np.linspace(0, 1, len(result.checkpoints)) ** 0.5
    return replace(result, curves=np.outer(final, shape), trial_numbers=tuple(range(len(final))))


def test_epsilon_is_what_is_accounted_and_not_what_was_asked_for(found):
    for point in found.points:
        assert point.true == point.result.guarantee.epsilon_at(1e-5)
        assert point.true <= point.asked
    published = tacit.frontier(
        [Asked("published", tacit.OnlineLinUCB, {"calibration": "published"})], SPHERE, epsilons=(10.0,), delta=0.1,
        rounds=50, trials=1, progress=False,
    )  # fmt: skip
    assert published.points[0].asked == 10
    assert published.points[0].true == pytest.approx(26.95, abs=0.01)


def test_the_share_is_gain_over_possible_gain(found):
    evenly, best = with_regret(found.evenly, 100.0, 120.0), with_regret(found.without_privacy, 10.0, 20.0)
    half = with_regret(found.points[0].result, 55.0, 60.0)
    assert share_of(half, best, evenly).mean == pytest.approx((45 + 60) / (90 + 100))
    assert share_of(best, best, evenly).mean == 1
    assert share_of(evenly, best, evenly).mean == 0
    share = share_of(half, best, evenly)
    assert share.low < share.mean < share.high
    one = with_regret(half, 55.0)
    assert math.isnan(share_of(one, with_regret(best, 10.0), with_regret(evenly, 100.0)).low)
    assert math.isnan(share_of(half, evenly, evenly).mean)  # there is nothing to gain


def test_rounds_are_needed_until_the_share_stays(found):
    evenly, best = with_regret(found.evenly, 100.0), with_regret(found.without_privacy, 0.0)
    marks = found.evenly.checkpoints
    late = with_regret(found.points[0].result, 5.0)
    late.curves[0, : len(marks) // 2] = evenly.curves[0, : len(marks) // 2]
    assert rounds_needed(late, best, evenly) == marks[len(marks) // 2]
    assert rounds_needed(evenly, best, evenly) is None
    assert shares_over_time(late, best, evenly)[-1] == pytest.approx(0.95)


def test_the_smallest_useful_epsilon_is_one_from_which_on_all_are_useful(found):
    def point(asked: float, kept: float) -> Point:
        share = replace(found.points[0].share, mean=kept, low=kept, high=kept)
        return replace(found.points[0], asked=asked, true=asked, share=share, needed=100)

    def advice(*kept: float) -> str:
        made = replace(found, points=tuple(point(10.0**place, one) for place, one in enumerate(kept)))
        return made.advice()[0]

    assert "keeps 90 % of the non-private gain from epsilon = 10.0 at" in advice(0.5, 0.95, 0.97)
    assert "from epsilon = 100 at" in advice(0.95, 0.5, 0.97)  # a lucky one below does not count
    assert "no tested epsilon keeps 90 %" in advice(0.1, 0.2, 0.3)
    assert "30 % at epsilon = 100" in advice(0.1, 0.2, 0.3)
    assert "the strictest that was tested" in advice(0.95, 0.95, 0.97)
    assert "nothing can be gained" in advice(math.nan, math.nan, math.nan)


def test_table_and_json_say_the_same(found):
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(facts["points"]) == len(EPSILONS) + 2
    assert facts["warning"] is None
    assert facts["advice"] == list(found.advice())
    frame = found.to_pandas()
    assert list(frame["label"]) == ["joint-linucb", "joint-linucb", "linucb", "context-blind"]
    text = found.text()
    for row in ("linucb (not private)", "context-blind (evenly)", "joint-linucb"):
        assert row in text


def test_the_command_writes_a_page_and_says_where(capsys, tmp_path):
    words = ["frontier", "joint-linucb", "joint-linucb:width=0.5", "--dim", "3", "--arms", "4", "--epsilons", "1,100"]
    words += ["--delta", "1e-5", "--rounds", "300", "--trials", "2", "--report", str(tmp_path / "page")]
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {one["label"] for one in facts["points"]} >= {"joint-linucb", "joint-linucb width=0.5"}
    page = (tmp_path / "page" / "report.html").read_text("utf-8")
    assert "What is kept of the non-private gain" in page
    assert "tacit frontier joint-linucb" in page
    assert len(page) < 3_000_000


def test_people_s_data_are_never_left_without_a_warning(found, tmp_path):
    from tacit.frontiers.page import write

    raw = replace(found, raw=True)
    assert "not private, do not publish" in raw.text()
    assert "not private" in raw.to_dict()["warning"]
    assert "not private, do not publish" in write(raw, tmp_path, "tacit frontier")[-1].read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["linucb"], "promises nothing at any epsilon"),
        (["joint-linucb", "--epsilon", "1"], "it is what is varied"),
        (["joint-linucb", "--epsilons", "a,b"], "Expected --epsilons to be numbers"),
        (["joint-linucb", "--epsilons", "-1"], "Expected epsilon > 0"),
        (["usca"], "which learns a function"),
        (["joint-linucb", "--environment", "rkhs"], "Expected a world with lists of actions"),
        (["joint-linucb", "--ratios", "3"], "Did you mean --ratio"),
    ],
)
def test_what_cannot_be_traced_is_refused(capsys, words, said):
    assert main(["frontier", *words]) == 2
    assert said in capsys.readouterr().err


def test_policies_of_one_name_are_refused():
    with pytest.raises(BadInput, match="Expected policies of different names"):
        tacit.frontier([tacit.JointLinUCB, tacit.JointLinUCB], SPHERE)
