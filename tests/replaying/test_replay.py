"""The whole of it: estimates, what they warn of, and the words that go with them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.cli import main
from tacit.errors import BadInput
from tacit.replaying import NOT_PRIVATE, Log, replay
from tacit.replaying.fixed import Judged
from tacit.replaying.single import best_arm
from tacit.replaying.support import log_warnings, support_of

from .worlds import best_of, write

CONFIG = tacit.LinUCB(dim=9, width=0.3)


@pytest.fixture(scope="module")
def found():
    log, _ = write(600, 1)
    return replay(CONFIG, log)


def test_every_form_of_a_result_says_that_it_is_not_private(found):
    assert NOT_PRIVATE in repr(found)
    assert found.to_dict()["warning"] == NOT_PRIVATE
    assert set(found.frame()["warning"]) == {NOT_PRIVATE}
    json.dumps(found.to_dict(), allow_nan=False)


def test_every_number_says_what_it_is_of(found):
    assert [estimate.name for estimate in found.estimates] == [
        "logged",
        "best single",
        "replay",
        "IPS",
        "SNIPS",
        "DR",
    ]
    assert "while it learns" in found["replay"].of
    assert "held fixed" in found["IPS"].of
    assert "first 300 rows" in found["DR"].of
    assert found.warnings == ()


def test_the_best_single_action_is_chosen_on_one_part_and_judged_on_the_other():
    log, _ = write(600, 1)
    found = replay(CONFIG, log)
    first, rest = log.part(0, 300), log.part(300, 600)
    earned = [(first.rewards / first.propensities)[first.actions == arm].sum() for arm in range(log.arms)]
    arm = int(np.argmax(earned))
    weights = np.where(rest.actions == arm, 1 / rest.propensities, 0.0)
    single = found["best single"]
    assert single.value == pytest.approx(float((weights * rest.rewards).mean()))
    assert single.low < single.value < single.high
    assert f"always taking arm {arm}, by IPS on the rows after the first 300" in single.of
    assert not any("most popular" in note for note in found.notes)


def test_an_arm_without_a_row_is_never_the_best_single_action():
    log, _ = write(600, 1)
    losses = replace(log, rewards=log.rewards - 2.0, arms=log.arms + 1)
    assert best_arm(losses, 300) < log.arms


def test_a_policy_below_the_best_single_action_is_told_what_to_do_instead():
    log, _ = write(600, 1)
    popular = replace(log, rewards=np.where(log.actions == 1, 1.0, log.rewards / 10))
    noisy = tacit.JointLinUCB(dim=9, epsilon=0.01, delta=1e-6)
    found = replay(noisy, popular)
    assert found["DR"].value < found["best single"].value
    assert "By DR the fixed policy earns less than the best single action: show the most popular item" in repr(found)


def test_the_same_seed_gives_the_same_estimates(found):
    log, _ = write(600, 1)
    assert replay(CONFIG, log).to_dict() == found.to_dict()


def test_a_table_can_be_written(found, tmp_path):
    back = pd.read_parquet(found.save(tmp_path / "estimates.parquet"))
    assert back["value"].tolist() == [estimate.value for estimate in found.estimates]


def test_a_short_log_is_called_thin():
    log, _ = write(90, 2)
    said = " ".join(replay(CONFIG, log).warnings)
    assert "Thin support: replay accepted" in said
    assert "weigh as much as" in said


def test_arms_that_were_never_logged_are_counted():
    log, shown = write(3000, 3)
    wider = replace(log, arms=4, propensities=log.propensities)
    support = support_of(Judged(wider, np.where(shown == 0, 3, best_of(log, shown).chosen), 0, 1), wider)
    assert support.unseen_arms == 1
    assert support.unseen_share == pytest.approx((shown == 0).mean())
    assert any("arms that were never logged" in sentence for sentence in support.warnings())
    assert any("1 of 4 arms have no row" in sentence for sentence in log_warnings(wider))


def test_one_row_with_a_tiny_propensity_is_pointed_out():
    log, shown = write(3000, 4)
    judged = best_of(log, shown)
    propensities = log.propensities.copy()
    propensities[np.flatnonzero(judged.chosen == log.actions)[0]] = 1e-4
    support = support_of(replace(judged, log=replace(log, propensities=propensities)), log)
    assert any("One row carries" in sentence for sentence in support.warnings())
    assert support.effective_rows < 2


def test_effective_rows_of_equal_weights_are_the_rows_that_match():
    log, shown = write(300, 5)
    support = support_of(best_of(log, shown), log)
    assert support.effective_rows == pytest.approx(support.matched)


@pytest.mark.parametrize(("factor", "word"), [(0.5, "smaller than how often"), (1.5, "cannot be taken")])
def test_propensities_that_do_not_fit_the_log_are_found_out(factor, word):
    log, shown = write(3000, 6, leaning=True)
    assert log_warnings(log) == []
    assert support_of(best_of(log, shown), log).warnings() == []
    wrong = replace(log, propensities=log.propensities * factor)
    assert any(word in sentence for sentence in log_warnings(wrong))
    assert any("mean weight" in sentence for sentence in support_of(best_of(wrong, shown), wrong).warnings())


def test_a_policy_of_another_size_is_told_the_right_one():
    log, _ = write(50, 7)
    with pytest.raises(BadInput, match=r"Expected dim=9 for this log .*, got dim=5"):
        replay(tacit.LinUCB(dim=5), log)


def test_a_log_says_what_a_policy_must_be_told():
    log, _ = write(50, 7)
    assert log.shape(tacit.LinUCB, {}) == {"arms": 3, "dim": 3}
    assert log.shape(tacit.LinUCB, {"dim": 9}) == {}  # whoever says how long actions are wants them as vectors
    assert log.shape(tacit.OFUL, {}) == {"dim": 9}
    assert log.shape(tacit.UCB1, {}) == {}
    items = replace(log, model="shared", arm_features=np.eye(3))
    assert items.shape(tacit.LinUCB, {}) == {"dim": 9}
    with pytest.raises(BadInput, match="or arms=3 and dim=3, for a parameter per arm"):
        replay(tacit.LinUCB(dim=5), log)


def test_with_arms_no_vector_of_all_features_is_ever_made(monkeypatch):
    log, _ = write(300, 7)
    expected = replay(tacit.LinUCB(arms=3, dim=3), log)
    monkeypatch.setattr(type(log), "offers", None)
    from tacit.replaying.teaching import rows_of

    assert list(rows_of(tacit.LinUCB(arms=3, dim=3), log, np.arange(2))) == [(0, None), (1, None)]
    assert replay(tacit.LinUCB(arms=3, dim=3), log)["replay"].value == expected["replay"].value


def test_a_policy_over_a_list_wants_a_log_without_features():
    log, _ = write(50, 7)
    with pytest.raises(BadInput, match="Expected a log without features for ucb1"):
        replay(tacit.UCB1(), log)


@pytest.mark.long
def test_a_policy_over_a_list_is_replayed_and_not_judged_by_weights():
    """It compiles UCB1. Error level: the mean of a run that finds the arm of 0.8 is above that of the log, 0.5, by more
    than ten standard errors."""
    rng = np.random.default_rng(9)
    arms = rng.integers(0, 3, 900)
    paid = (rng.random(900) < np.array([0.2, 0.5, 0.8])[arms]).astype(float)
    log = Log(actions=arms, rewards=paid, propensities=np.full(900, 1 / 3), contexts=np.ones((900, 1)), arms=3)
    found = replay(tacit.UCB1(), log)
    assert [estimate.name for estimate in found.estimates] == ["logged", "best single", "replay"]
    assert found["replay"].low > found["logged"].high
    assert found.support is None


def test_a_log_of_a_handful_of_rows_is_refused():
    log, _ = write(9, 7)
    with pytest.raises(BadInput, match="a log of at least 10 rows, got 9"):
        replay(CONFIG, log)
    with pytest.raises(BadInput, match="at least one row"):
        Log(actions=[], rewards=[], propensities=[], contexts=np.zeros((0, 1)), arms=3)


@pytest.fixture
def path(tmp_path):
    log, _ = write(600, 8)
    columns = {"action": log.actions, "reward": log.rewards, "propensity": log.propensities}
    contexts = {f"x_{place}": log.contexts[:, place] for place in range(2)}
    pd.DataFrame({**columns, **contexts}).to_csv(tmp_path / "log.csv", index=False)
    return tmp_path / "log.csv"


BOUNDS = ("--low=-1", "--high", "x_0=1,x_1=1")


def test_the_command_prints_a_table_or_json(path, tmp_path, capsys):
    asked = ["replay", str(path), "linucb:width=0.3", *BOUNDS]
    assert main([*asked, "--output", str(tmp_path / "out.csv")]) == 0
    printed = capsys.readouterr().out
    assert "log.csv: 600 rows, 3 arms, 9 features" in printed
    assert "linucb width=0.3  SNIPS" in printed
    assert NOT_PRIVATE in printed
    assert len(pd.read_csv(tmp_path / "out.csv")) == 6
    assert main([*asked, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["warning"] == NOT_PRIVATE
    assert facts["results"][0]["estimates"][1]["name"] == "best single"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["linucb", *BOUNDS, "--widht", "1"], "widht"),
        (["usca", *BOUNDS], "learns a function"),
        (["linucb", "--low", "little", "--high", "1"], "Expected --low to be a number"),
    ],
)
def test_the_command_refuses_what_it_does_not_know(path, arguments, said, capsys):
    assert main(["replay", str(path), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_evaluation_can_be_drawn_and_shown_in_a_notebook():
    log, _ = write(600, 8)
    found = replay(CONFIG, log)
    assert len(found.to_pandas()) == len(found.estimates)
    assert NOT_PRIVATE in found._repr_html_()
    assert found.plot().get_xlabel()
