"""What privacy costs: shares against a definition, advice, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import BadInput
from tacit.frontiers import Asked, Frontier, Point
from tacit.frontiers.measures import REGRET, measure_in
from tacit.frontiers.result import about
from tacit.frontiers.shares import Share, rounds_needed, share_of, shares_over_time
from tacit.simulation.best_single import INSTEAD

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


def test_the_share_is_gain_over_possible_gain():
    evenly, best, half = np.array([100.0, 120.0]), np.array([10.0, 20.0]), np.array([55.0, 60.0])
    assert share_of(half, best, evenly).mean == pytest.approx((45 + 60) / (90 + 100))
    assert share_of(best, best, evenly).mean == 1
    assert share_of(evenly, best, evenly).mean == 0
    share = share_of(half, best, evenly)
    assert share.low < share.mean < share.high
    assert math.isnan(share_of(half[:1], best[:1], evenly[:1]).low)
    assert math.isnan(share_of(half, evenly, evenly).mean)  # there is nothing to gain
    lucky = share_of(half, np.array([100.0, 20.0]), evenly)  # all that can be gained is gained in one trial
    assert lucky.mean == pytest.approx(1.05)
    assert math.isnan(lucky.low)


def test_bands_of_values_are_two_standard_errors(found):
    value = found.points[0].value
    regret = found.points[0].result.regret
    assert value.mean == regret.mean()
    assert value.high - value.low == pytest.approx(2 * 1.96 * regret.std(ddof=1) / math.sqrt(len(regret)))


def test_rounds_are_needed_until_the_share_stays(found):
    plain = found.evenly.result
    evenly, best = with_regret(plain, 100.0), with_regret(plain, 0.0)
    marks = plain.checkpoints
    late = with_regret(plain, 5.0)
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
    assert "30.0 % at epsilon = 100" in advice(0.1, 0.2, 0.3)
    assert "the strictest that was tested" in advice(0.95, 0.95, 0.97)
    assert "nothing can be gained" in advice(math.nan, math.nan, math.nan)


@pytest.fixture(scope="module")
def clicks() -> Frontier:
    """A world where the most popular arm is most of what can be earned, and a promise too strict for it."""
    world = tacit.environments.SharedContext(arms=10, context_dim=2, relevant=1, low=0.0, high=1.0)
    return tacit.frontier(
        [Asked("joint-linucb", tacit.JointLinUCB, {"width": 0.1})], world, epsilons=(0.1, 100.0), rounds=3000, trials=3,
        without_privacy=tacit.LinUCB(dim=20, width=0.1), progress=False,
    )  # fmt: skip


def test_what_earns_less_than_the_best_single_action_keeps_less_than_nothing(clicks):
    strict, loose = clicks.of("joint-linucb")
    assert strict.value.mean > clicks.single.value.mean > loose.value.mean > clicks.without_privacy.value.mean
    assert clicks.floor is clicks.single
    assert clicks.evenly.value.mean > strict.value.mean  # of the gain over an even choice it would have kept a share
    assert strict.share.mean < 0 < loose.share.mean
    assert clicks.below(strict)
    assert not clicks.below(loose)
    kept = {level.label: share for level, _, share in clicks.levels()}
    assert kept["best single action"] == 0
    assert kept["context-blind"] < strict.share.mean
    assert kept["linucb"] == 1


def test_advice_names_what_to_do_below_the_best_single_action(clicks):
    assert f"(kept is negative), {INSTEAD}." in clicks.advice()[0]
    strict = replace(clicks, points=clicks.points[:1])
    assert strict.advice()[0].endswith(f"within 3,000 rounds: {INSTEAD}.")
    assert "kept" not in strict.advice()[0]
    beaten = replace(clicks, points=tuple(replace(one, share=Share.unknown()) for one in clicks.points[1:]))
    assert f"nothing can be gained over the best single action, with or without privacy: {INSTEAD}." in str(beaten)


def test_the_line_of_the_best_single_action_stands_in_every_form(clicks, tmp_path):
    facts = clicks.to_dict()
    assert facts["kept_counts_from"] == "best single action"
    assert "best single action" in list(clicks.to_pandas()["label"])
    assert clicks.single_note in clicks.text()
    assert "best single action" in clicks._repr_html_()
    assert "best single action" in clicks.plot(what="value").get_figure().axes[0].texts[-1].get_text()
    assert "best single action" in clicks.write(tmp_path)[-1].read_text("utf-8")


def test_gain_is_counted_from_an_even_choice_where_there_is_nothing_better(found, clicks):
    assert found.single is None
    assert "not applicable in sphere" in found.text()
    assert found.floor is found.evenly
    assert replace(clicks, single=replace(clicks.single, optimal=True)).floor is clicks.evenly
    assert replace(clicks, single=replace(clicks.single, value=clicks.evenly.value)).floor is clicks.evenly


@pytest.mark.parametrize(("count", "said"), [(7, 7), (217, 220), (18_001, 19_000), (20_000, 20_000), (99_100, 100_000)])
def test_rounds_in_a_sentence_have_two_digits_and_are_never_too_few(count, said):
    assert about(count) == said


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


def test_pictures_and_notebooks_show_what_the_table_says(found):
    axes = found.plot()
    assert axes.get_ylabel() == "share of the non-private gain"
    assert axes.get_lines()[0].get_xdata().tolist() == [point.true for point in found.of("joint-linucb")]
    regret = found.plot(what="value")
    assert regret.get_lines()[0].get_ydata().tolist() == [point.value.mean for point in found.of("joint-linucb")]
    page = found._repr_html_()
    assert found.advice()[0] in page
    assert "WARNING" not in page
    assert "joint-linucb in sphere: 2,000 rounds" in repr(found)
    assert str(found) == found.text()
    with pytest.raises(BadInput, match="what to be one of 'kept', 'value'"):
        found.plot(what="all")


def test_a_table_can_be_written_and_read_back(found, tmp_path):
    back = pd.read_parquet(found.save(tmp_path / "frontier.parquet"))
    assert back["value"].tolist() == [row["value"] for row in found.rows()]


def test_nothing_to_gain_is_said_and_not_drawn(found, tmp_path):
    points = tuple(replace(point, share=Share.unknown(), needed=None) for point in found.points)
    nothing = replace(found, points=points)
    page = nothing.write(tmp_path)[-1].read_text("utf-8")
    assert "nothing can be gained here" in page
    assert "What is kept of the non-private gain" not in page
    json.dumps(nothing.to_dict(), allow_nan=False)
    with pytest.raises(BadInput, match="nothing was gained without privacy"):
        nothing.plot()


def test_people_s_data_are_never_left_without_a_warning(found, tmp_path):
    raw = replace(found, raw=True)
    said = "not private, do not publish"
    assert said in raw.text()
    assert said in raw.to_dict()["warning"]
    assert said in raw._repr_html_()
    assert all(said in warning for warning in raw.to_pandas()["warning"])
    assert said in raw.plot().texts[-1].get_text()
    paths = raw.write(tmp_path, "tacit frontier")
    assert said in paths[-1].read_text("utf-8")
    assert said in json.loads((tmp_path / "frontier.json").read_text("utf-8"))["warning"]
    assert said not in found.write(tmp_path / "synthetic")[-1].read_text("utf-8")


def test_reward_is_offered_where_it_follows_from_the_regret(found):
    digits = tacit.environments.Table(data="digits", projection=2)
    assert measure_in(digits, "reward").name == "reward"
    assert measure_in(digits, None) is measure_in(digits, "regret") is REGRET
    with pytest.raises(BadInput, match="what the best action pays differs from round to round"):
        tacit.frontier([tacit.JointLinUCB], SPHERE, measure="reward")
    with pytest.raises(BadInput, match="measure to be one of 'regret', 'reward', got measure='error'"):
        tacit.frontier([tacit.JointLinUCB], SPHERE, measure="error")


def test_policies_of_one_name_are_refused():
    with pytest.raises(BadInput, match="Expected policies of different names"):
        tacit.frontier([tacit.JointLinUCB, tacit.JointLinUCB], SPHERE)


def test_a_private_policy_is_no_line_without_privacy():
    private = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6)
    with pytest.raises(BadInput, match="Expected a policy without privacy as the line, got joint-linucb"):
        tacit.frontier([tacit.LocalLinUCB], SPHERE, without_privacy=private)


def test_what_is_no_place_is_refused():
    with pytest.raises(BadInput, match="Expected an environment or a log, got str"):
        tacit.frontier([tacit.JointLinUCB], "sphere")
