"""A tacit policy with MABWiser's methods: the same learner, the same guarantee, and nothing half done."""

from __future__ import annotations

import copy
import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.adapters import TacitMAB
from tacit.errors import BadInput, HorizonSpent, OutOfBounds, VaultSealed

from .common import ARMS, FEATURES, config, contexts, rows_of

NAMES = ["a", "b", "c"]


def decisions(count: int) -> list[str]:
    return [NAMES[place % ARMS] for place in range(count)]


def rewards(count: int) -> np.ndarray:
    return np.random.default_rng(9).uniform(-1, 1, count)


def test_it_is_the_learner_that_one_would_drive_by_hand():
    mab, learner = TacitMAB(config(), NAMES, seed=1), config().start(seed=1)
    seen, earned = contexts(60), rewards(60)
    mab.fit(decisions(40), earned[:40], seen[:40])
    mab.partial_fit(decisions(60)[40:], earned[40:], seen[40:])
    for at, (context, reward) in enumerate(zip(seen, earned, strict=True)):
        learner.learn(tacit.features.per_arm(context, ARMS)[at % ARMS], float(reward))
    assert learner.view.stage[0] > 2
    for ours, theirs in zip(mab._deployed.learner.view, learner.view, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    fresh = contexts(20, seed=5)
    offered = tacit.features.per_arm(fresh, ARMS)
    assert mab.predict(fresh) == [NAMES[arm] for arm in learner.choose_many(offered)]
    expected = offered @ learner.view.theta
    np.testing.assert_allclose([list(row.values()) for row in mab.predict_expectations(fresh)], expected)


BY_ARM = tacit.JointLinUCB(
    **{"arms": ARMS, "dim": FEATURES, "epsilon": 100.0, "delta": 0.1, "reward_low": -1.0},
    preparation=tacit.Preparation(centre_rounds=20),
)


def test_a_policy_with_arms_takes_contexts_as_they_are():
    mab, learner = TacitMAB(BY_ARM, NAMES, seed=1), BY_ARM.start(seed=1)
    seen, earned = contexts(80), rewards(80)
    mab.partial_fit(decisions(80), earned, seen)
    for at, (context, reward) in enumerate(zip(seen, earned, strict=True)):
        learner.learn(context, at % ARMS, float(reward))
    assert learner.view.stage[0] > 2  # the centre, and views
    for ours, theirs in zip(mab._deployed.learner.view, learner.view, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    fresh = contexts(20, seed=5)
    assert mab.predict(fresh) == [NAMES[arm] for arm in learner.choose_many(fresh)]


@pytest.mark.parametrize(
    "config",
    [
        tacit.JointLinUCB(arms=ARMS, dim=FEATURES, epsilon=3000.0, delta=0.1),
        tacit.JointLinUCB(dim=ARMS * FEATURES, epsilon=3000.0, delta=0.1, reward_low=0.0),
    ],
    ids=["arms", "vectors"],
)
def test_expectations_are_of_rewards_as_they_came(config):
    """Arm k pays 0.4 + 0.2·k on contexts of one kind. Error level: with this ε what is left is the ridge, which takes a
    hundredth off; without the middle of the interval 0.5 would be missing."""
    mab = TacitMAB(config, NAMES, seed=1)
    context = np.array([0.8, 0.6])
    paid = [0.4 + 0.2 * (place % ARMS) for place in range(3000)]
    mab.fit(decisions(3000), paid, np.tile(context, (3000, 1)))
    np.testing.assert_allclose(list(mab.predict_expectations(context).values()), [0.4, 0.6, 0.8], atol=0.03)


def test_as_many_arms_as_the_policy_has():
    with pytest.raises(BadInput, match="as many arms as the policy has, 3, got 2"):
        TacitMAB(BY_ARM, NAMES[:2])


def test_large_batches_are_served_and_learned_in_portions(monkeypatch):
    whole, parts = (TacitMAB(config(), NAMES, seed=1) for _ in range(2))
    monkeypatch.setattr(parts._offers, "portions", lambda count: [slice(i, i + 7) for i in range(0, count, 7)])
    for mab in (whole, parts):
        mab.fit(decisions(50), rewards(50), contexts(50))
    assert rows_of(parts) == 50
    assert whole.predict(contexts(30, seed=2)) == parts.predict(contexts(30, seed=2))


def test_one_context_gives_one_arm_and_several_give_a_list():
    mab = TacitMAB(config(), NAMES, seed=1)
    mab.fit(decisions(6), rewards(6), contexts(6))
    assert mab.predict([0.1, 0.2]) in NAMES
    assert mab.predict([[0.1, 0.2]]) in NAMES
    assert len(mab.predict(pd.DataFrame(contexts(4)))) == 4
    assert mab.predict(np.zeros((0, FEATURES))) == []
    assert list(mab.predict_expectations([0.1, 0.2])) == NAMES
    assert [list(row) for row in mab.predict_expectations(contexts(2))] == [NAMES, NAMES]


def test_tables_of_pandas_are_taken_as_they_are():
    mab = TacitMAB(config(), [1, 2, 3], seed=1)
    table = pd.DataFrame({"arm": [1, 2, 3, 3], "paid": [0, 1, 1, 0], "x": [0.1, 0.2, 0.3, 0.4], "y": [0.0, 0.1, 0, 0]})
    mab.fit(table["arm"], table["paid"], table[["x", "y"]])
    assert rows_of(mab) == 4


def test_expectations_are_read_off_the_view_and_never_off_the_vault():
    mab = TacitMAB(config(), NAMES, seed=1)
    mab.fit(decisions(40), rewards(40), contexts(40))
    before = mab.predict_expectations(contexts(5))
    mab._deployed.learner._session.vault.sums[:] += 100.0
    assert mab.predict_expectations(contexts(5)) == before


BAD = {
    "an unknown arm": lambda: (["a", "b", "d"], [0, 0, 0], contexts(3)),
    "an arm that cannot be a key": lambda: (["a", "b", ["c"]], [0, 0, 0], contexts(3)),
    "too few rewards": lambda: (["a", "b", "c"], [0, 0], contexts(3)),
    "a reward that is no number": lambda: (["a", "b", "c"], [0, 0, "1"], contexts(3)),
    "no contexts": lambda: (["a", "b", "c"], [0, 0, 0], None),
    "too few contexts": lambda: (["a", "b", "c"], [0, 0, 0], contexts(2)),
    "contexts of another length": lambda: (["a", "b", "c"], [0, 0, 0], np.zeros((3, 4))),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("rows", BAD.values(), ids=BAD)
def test_a_bad_row_leaves_everything_as_it_was(rows, method):
    mab = TacitMAB(config(), NAMES, seed=1)
    mab.fit(decisions(5), rewards(5), contexts(5))
    learner = mab._deployed.learner
    with pytest.raises(BadInput):
        getattr(mab, method)(*rows())
    assert mab._deployed.learner is learner
    assert rows_of(mab) == 5
    assert mab.deployments == 1


def test_strict_refuses_contexts_when_they_are_asked_about_and_rows_never():
    mab = TacitMAB(config(strict=True), NAMES, seed=1)
    with pytest.raises(OutOfBounds, match="actions of norm <= 1"):
        mab.predict([[0.1, 0.1], [1.0, 1.0]])
    assert mab._deployed.served == 0
    mab.fit(["a", "b"], [0, 1.5], [[0.1, 0.1], [1.0, 1.0]])
    assert rows_of(mab) == 2


def test_rows_that_are_not_finite_are_rows_of_zeros():
    mab = TacitMAB(config(), NAMES, seed=1)
    mab.fit(["a", "b", "c"], [0.5, np.nan, 0.5], [[0.0, np.nan], [0.1, 0.2], [0.0, 1e200]])
    assert (rows_of(mab), mab._deployed.learner.diagnostics().unfit) == (3, 3)
    assert not mab._deployed.learner._session.vault.sums.any()


def test_a_horizon_ends_batches_before_they_begin():
    mab = TacitMAB(tacit.JointLinUCB(dim=6, epsilon=1.0, delta=1e-6, releases="tree", horizon=8), NAMES, seed=1)
    # Nothing is learned or served here: what is refused is refused by counting.
    with pytest.raises(HorizonSpent, match="at most 8 more rows to learn"):
        mab.fit(decisions(9), rewards(9), contexts(9))
    with pytest.raises(HorizonSpent, match="at most 8 more rounds to serve"):
        mab.predict(contexts(9))
    assert mab._deployed.rows == mab._deployed.served == 0


def test_a_second_fit_is_a_second_deployment_and_is_priced():
    mab = TacitMAB(config(), NAMES)
    mab.fit(decisions(5), rewards(5), contexts(5))
    once = mab.guarantee
    assert once == config().guarantee
    assert mab.card() == config().card()
    mab.partial_fit(decisions(5), rewards(5), contexts(5))
    assert mab.guarantee == once
    mab.fit(decisions(5), rewards(5), contexts(5))
    assert mab.deployments == 2
    assert mab.guarantee.mu == pytest.approx(2**0.5 * once.mu)
    assert mab.guarantee.epsilon > 10.0
    card = mab.card()
    assert card.keeps_its_claim is False
    assert "Started 2 times" in card.text()
    assert "2 deployments" in repr(mab)


def test_starting_over_costs_nothing_while_nothing_was_learned():
    mab = TacitMAB(config(), NAMES)
    mab.predict(contexts(3))
    mab.fit(decisions(5), rewards(5), contexts(5))
    assert mab.deployments == 1


def test_each_deployment_draws_noise_of_its_own():
    """Of a seeded adapter too: the same noise twice would cancel in a difference."""
    views = []
    mab = TacitMAB(config(), NAMES, seed=1)
    for _ in range(2):
        mab.fit(decisions(30), rewards(30), contexts(30))
        views.append(mab._deployed.learner.view.theta)
    assert not np.array_equal(*views)
    assert mab.guarantee.seeded
    assert not TacitMAB(config(), NAMES).guarantee.seeded


def test_persons_are_counted_where_the_guarantee_is_for_them():
    mab = TacitMAB(config(person_rounds=1), NAMES, seed=1)
    with pytest.raises(BadInput, match="one id for each row"):
        mab.fit(decisions(4), rewards(4), contexts(4))
    with pytest.raises(BadInput, match="one person for each of 4"):
        mab.fit(decisions(4), rewards(4), contexts(4), persons=[1, 2])
    with pytest.raises(BadInput, match="got float"):
        mab.fit(decisions(4), rewards(4), contexts(4), persons=[1, 2, 3, 4.0])
    mab.fit(decisions(4), rewards(4), contexts(4), persons=np.array([1, 2, 2, 1]))
    found = mab._deployed.learner.diagnostics()
    assert (found.rows, found.people, found.dropped) == (4, 2, 2)
    with pytest.raises(BadInput, match="Expected no persons"):
        TacitMAB(config(), NAMES).fit(decisions(4), rewards(4), contexts(4), persons=[1, 2, 3, 4])


def test_an_adapter_can_be_copied_until_it_is_used():
    mab = TacitMAB(config(), NAMES)
    copied = copy.deepcopy(mab)
    copied.fit(decisions(5), rewards(5), contexts(5))
    assert (rows_of(copied), rows_of(mab)) == (5, 0)
    with pytest.raises(VaultSealed):
        copy.deepcopy(copied)


class Recorder:
    """A learner over a list that only writes down what it is told: compiles nothing."""

    def __init__(self) -> None:
        self.told: list[tuple] = []

    def choose(self) -> int:
        return 2

    def learn(self, *row) -> None:
        self.told.append(row)

    def diagnostics(self) -> SimpleNamespace:
        return SimpleNamespace(rows=len(self.told))


def test_a_policy_over_a_list_of_arms_takes_no_contexts():
    mab = TacitMAB(tacit.UCB1(arms=ARMS), NAMES)
    mab._deployed._learner = recorder = Recorder()  # type: ignore[assignment]
    assert not mab.is_contextual
    assert mab.predict() == "c"
    mab.partial_fit(["b", "a"], [0.5, 1])
    assert recorder.told == [(1, 0.5, None), (0, 1.0, None)]
    with pytest.raises(BadInput, match="Expected no contexts"):
        mab.partial_fit(["b", "a"], [0.5, 1], contexts(2))
    with pytest.raises(BadInput, match="Expected no contexts"):
        mab.predict(contexts(2))
    with pytest.raises(BadInput, match="Use predict"):
        mab.predict_expectations()
    with pytest.raises(BadInput, match="as many arms as the policy's list has, 4, got 3"):
        TacitMAB(tacit.UCB1(arms=4), NAMES)


def test_what_does_not_fit_together_is_refused_at_once():
    with pytest.raises(BadInput, match="dim=6 for 4 arms"):
        TacitMAB(config(), ["a", "b", "c", "d"])
    with pytest.raises(BadInput, match="one of them twice"):
        TacitMAB(config(), ["a", "b", "a"])
    with pytest.raises(BadInput, match="at least one arm"):
        TacitMAB(config(), [])
    with pytest.raises(BadInput, match="cannot be a key"):
        TacitMAB(config(), [["a"], "b", "c"])
    with pytest.raises(BadInput, match="got a Learner"):
        TacitMAB(config().start(), NAMES)  # type: ignore[arg-type]


def test_the_real_library_has_these_methods_and_returns_these_shapes():
    mab = pytest.importorskip("mabwiser.mab", reason="MABWiser is not installed: protocol tests only")
    theirs = mab.MAB(NAMES, mab.LearningPolicy.LinUCB())
    ours = TacitMAB(config(), NAMES)
    for method in ("fit", "partial_fit", "predict", "predict_expectations"):
        names = list(inspect.signature(getattr(theirs, method)).parameters)
        assert list(inspect.signature(getattr(ours, method)).parameters)[: len(names)] == names
    for one in (theirs, ours):
        one.fit(decisions(9), rewards(9), contexts(9))
        one.partial_fit(decisions=decisions(9), rewards=rewards(9), contexts=contexts(9))
    assert ours.is_contextual == theirs.is_contextual
    assert ours.arms == theirs.arms
    for seen in (contexts(1), contexts(4)):
        for method in ("predict", "predict_expectations"):
            mine, other = getattr(ours, method)(seen), getattr(theirs, method)(seen)
            assert type(mine) is type(other)
            assert np.shape(mine) == np.shape(other)
            if isinstance(mine, dict):
                assert list(mine) == list(other)
