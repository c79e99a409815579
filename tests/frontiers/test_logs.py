"""What privacy costs on a log: against `tacit.replay`, against values that are known, and what is said of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.frontiers import Asked
from tacit.frontiers.choices import choices_after, marks_of
from tacit.frontiers.logged import _Judge, _judged, _share
from tacit.replaying import replay

from ..replaying.worlds import ARMS, BEST, MEANS, write

SECOND = np.array([0, 1, 2, 2])  #: the best arm in three of four contexts


@pytest.fixture(scope="module")
def log():
    return write(1200, 1)[0]


@pytest.fixture(scope="module")
def found(log):
    # Contexts of this log have one length and a constant already; no row is spent on their centre.
    asked = Asked("joint-linucb", tacit.JointLinUCB, {"preparation": "none"})
    return tacit.frontier([asked], log, epsilons=(0.1, 300.0), trials=3, progress=False)


def test_the_estimate_is_that_of_replay(log, found):
    single = tacit.frontier([tacit.JointLinUCB], log, epsilons=(100.0,), trials=1, seed=7, progress=False)
    config = single.points[0].config
    expected = replay(config, log, seed=7)["DR"]
    assert single.points[0].value.mean == pytest.approx(expected.value, rel=1e-12)
    assert single.points[0].value.low == pytest.approx(expected.low, rel=1e-3)
    assert any("first 400 rows for the centre" in note for note in single.setting.notes)
    assert (config.arms, config.dim) == (log.arms, log.context_dim)  # a parameter per arm, without being told
    line = replay(tacit.LinUCB(arms=log.arms, dim=log.context_dim, failure=1 / 600), log)["DR"]
    assert found.without_privacy.value.mean == pytest.approx(line.value, rel=1e-12)


def test_looser_promises_keep_more_and_the_log_s_own_policy_is_shown(log, found):
    strict, loose = found.of("joint-linucb")
    assert strict.share.mean < 0.6 < 0.9 < loose.share.mean
    assert loose.needed in marks_of(600)
    assert strict.needed is None
    [logged] = found.others
    assert logged.value.mean == log.rewards[600:].mean()
    # Of a uniform log both are what was logged, give or take what the regression says of the contexts.
    assert found.evenly.value.mean == pytest.approx(MEANS.mean(), abs=4 * found.evenly.value.se)


def test_on_a_log_gain_is_counted_from_the_best_single_action(log, found):
    first, rest = log.part(0, 600), log.part(600, 1200)
    earned = [(first.rewards / first.propensities)[first.actions == arm].sum() for arm in range(ARMS)]
    arm = int(np.argmax(earned))
    assert f"always arm {arm}" in found.single_note
    assert found.floor is found.single
    assert found.single.value.mean == pytest.approx(MEANS[:, arm].mean(), abs=4 * found.single.value.se)
    assert found.evenly.value.mean < found.single.value.mean < found.without_privacy.value.mean
    weights = np.where(rest.actions == arm, 1 / rest.propensities, 0.0)
    by_replay = replay(found.points[0].config, log)["best single"]
    assert by_replay.value == pytest.approx(float((weights * rest.rewards).mean()))


def test_choices_on_the_way_are_those_of_a_learner_that_saw_no_more(log):
    config = tacit.LinUCB(dim=log.dim)
    marks = marks_of(600)
    assert marks.tolist() == [18, 37, 75, 150, 300, 600]
    chosen = choices_after(config, log, 600, seed=0, run=0)
    short = log.part(0, 300)
    alone = choices_after(config, type(log)(
        actions=np.concatenate([short.actions, log.actions[600:]]),
        rewards=np.concatenate([short.rewards, log.rewards[600:]]),
        propensities=np.concatenate([short.propensities, log.propensities[600:]]),
        contexts=np.concatenate([short.contexts, log.contexts[600:]]),
        arms=ARMS,
    ), 300, seed=0, run=0)  # fmt: skip
    assert np.array_equal(chosen[-2], alone[-1])
    assert not np.array_equal(chosen[0], chosen[-1])


def covered(seeds, leaning, off=0.0):
    """In how many logs the band holds the true share of a policy that is wrong in one context of four."""
    evenly = MEANS.mean()
    truth = (MEANS[np.arange(4), SECOND].mean() - evenly) / (MEANS.max(axis=1).mean() - evenly) + off
    hits = 0
    for seed in seeds:
        log, shown = write(500, 10_000 + seed, leaning)
        judge = _Judge.of(log)
        top, second = (_judged(judge, [choice[shown][None, :]]) for choice in (BEST, SECOND))
        share = _share(second, top, judge.evenly())
        hits += share.low <= truth <= share.high
    return hits


@pytest.mark.parametrize("leaning", [False, True])
def test_bands_hold_the_true_share(leaning):
    """At a true coverage of 95 % fewer than 180 of 200 happen once in 700 times; the seeds are fixed."""
    assert covered(range(200), leaning) >= 180


def test_the_test_of_bands_rejects_a_share_that_is_off():
    assert covered(range(60), False, off=0.4) < 54


def test_page_json_and_text_say_that_it_is_not_private(found, tmp_path):
    said = "not private, do not publish"
    assert said in found.text()
    assert said in found.to_dict()["warning"]
    page = found.write(tmp_path)[-1].read_text("utf-8")
    assert said in page
    assert "rows learned from" in page
    facts = json.loads((tmp_path / "frontier.json").read_text("utf-8"))
    assert facts["rows"] == 600
    assert facts["measure"] == "reward"
    assert "after 600 rows" in found.advice()[0]


def test_thin_support_is_said():
    log, _ = write(60, 1)
    short = tacit.frontier([tacit.JointLinUCB], log, epsilons=(1.0,), trials=1, progress=False)
    assert any("Thin support" in line for line in short.setting.warnings)
    assert "warning: " in short.text()
    assert any("Thin support" in line for line in short.to_dict()["warnings"])


def test_what_a_log_cannot_tell_is_refused(log):
    with pytest.raises(BadInput, match="it plans its own pulls"):
        tacit.frontier([tacit.RenyiUCB], log)
    with pytest.raises(BadInput, match="Expected no rounds on a log, got rounds=100"):
        tacit.frontier([tacit.JointLinUCB], log, rounds=100)
    with pytest.raises(BadInput, match="measure='reward' on a log, got measure='regret'"):
        tacit.frontier([tacit.JointLinUCB], log, measure="regret")
    with pytest.raises(BadInput, match="at least 20 rows, got 10"):
        tacit.frontier([tacit.JointLinUCB], log.part(0, 10))
