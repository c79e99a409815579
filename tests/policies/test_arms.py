"""JointLinUCB with a parameter per arm: what is summed where, what is published, and who may be chosen."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tacit
from tacit.core.session import Session
from tacit.errors import BadInput, HorizonSpent, OutOfBounds
from tacit.linalg import block_size
from tacit.noise import stream, tape_of
from tacit.preparation import Preparation
from tacit.privacy.accountant import price
from tests.core.worlds import contents
from tests.offers import laid_out

ARMS, DIM = 3, 2
#: Views soon, and little noise: of an example that people could have.
SMALL = Preparation(centre_rounds=6)


def config(**changes):
    options = {"arms": ARMS, "dim": DIM, "epsilon": 10.0, "delta": 0.1, "preparation": SMALL, **changes}
    return tacit.JointLinUCB(**options)


def plain(**changes):
    return config(preparation="none", **changes)


def rows(count, seed=1):
    """Contexts within the unit ball, arms and rewards."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(count, DIM))
    contexts /= np.maximum(1.0, np.linalg.norm(contexts, axis=1))[:, None] * 1.01
    return contexts, rng.integers(ARMS, size=count), rng.uniform(0.0, 1.0, count)


def blocks_of(numbers, width):
    """Matrix and vector of each arm."""
    found = []
    for packed in np.reshape(numbers, (ARMS, -1)):
        upper = np.zeros((width, width))
        upper[np.triu_indices(width)] = packed[:-width]
        found.append((upper + np.triu(upper, 1).T, packed[-width:]))
    return found


# Sums -----------------------------------------------------------------------------------------------------------------


def test_each_arm_has_the_sums_of_its_own_rows():
    one = plain(reward_high=1.0)
    learner = one.start(seed=1)
    told = list(zip(*rows(30), strict=True))
    for x, arm, y in told[: int(one.plan().params.schedule.times[0]) - 1]:
        learner.learn(x, int(arm), float(y))
    seen = told[: learner.diagnostics().rows]
    assert len(seen) >= 1
    for arm, (matrix, vector) in enumerate(blocks_of(learner._session.vault.sums, DIM)):
        mine = [(x, y) for x, which, y in seen if which == arm]
        np.testing.assert_allclose(matrix, sum((np.outer(x, x) for x, _ in mine), np.zeros((DIM, DIM))), atol=1e-12)
        expected = sum((x * one.reward_scale * (y - 0.5) for x, y in mine), np.zeros(DIM))
        np.testing.assert_allclose(vector, expected, atol=1e-12)


@pytest.mark.parametrize("arm", range(ARMS))
@pytest.mark.parametrize("sampler", ["double", "secure"])
def test_a_row_of_an_arm_leaves_the_blocks_of_all_others(arm, sampler):
    learner = plain().start(seed=1, sampler=sampler)
    learner.learn([0.6, 0.5], arm, 0.9)
    sums = np.atleast_2d(learner._session.vault.sums)[0].reshape(ARMS, -1)
    assert sums.shape[1] == block_size(DIM)
    assert (sums[arm] != 0).all()
    assert not np.delete(sums, arm, axis=0).any()


def test_nothing_is_added_by_what_stands_for_a_missing_row():
    """A silent decision, a row that is no number, one of a person who has had enough: each is a tick and no more."""
    learner = plain(person_rounds=1, epsilon=1.0, delta=1e-6).start(seed=1)
    learner.expire(learner.decide([0.6, 0.5], person="ann"))
    learner.learn([0.6, float("nan")], 1, 0.5, person="bob")
    learner.learn([0.6, 0.5], 1, float("inf"), person="eve")
    learner.learn([0.6, 0.5], 1, 0.5, person="ann")
    assert learner.diagnostics().rows == 4
    assert (learner.diagnostics().dropped, learner.diagnostics().unfit) == (1, 2)
    assert not learner._session.vault.sums.any()
    learner.learn([0.6, 0.5], 1, 0.5, person="joe")
    assert learner._session.vault.sums.any()


def test_rewards_are_measured_from_the_middle_and_clipped():
    """In the middle nothing is added to the vector; at the ends, and beyond them, ±ζB."""
    for low, high in ((0.0, 1.0), (-3.0, 1.0), (10.0, 12.0)):
        one = plain(reward_low=low, reward_high=high)
        reach = one.reward_scale * (high - low) / 2
        assert reach == pytest.approx(np.sqrt(0.5))
        for reward, expected in (((low + high) / 2, 0.0), (high, 1.0), (low, -1.0), (1e9, 1.0), (-1e9, -1.0)):
            learner = one.start(seed=1)
            learner.learn([1.0, 0.0], 0, reward)
            assert learner._session.vault.sums[3] == pytest.approx(expected * reach)


# What is published ----------------------------------------------------------------------------------------------------


def test_without_noise_the_view_is_the_regression_of_each_arm_on_its_rows():
    """Toeplitz noise of zeros on a lattice: ridge regression on the exact sums, but for rounding."""
    one = plain(releases="toeplitz", horizon=100)
    session = Session(one.plan("secure"), DIM, seed=1, source=tape_of(np.zeros(10**5), np.zeros(64)))
    told = list(zip(*rows(20), strict=True))
    for x, arm, y in told:
        session.learn(np.append(x, arm), float(y))
    ridge = one.plan("secure").params.estimate.ridge[-1]
    for arm in range(ARMS):
        mine = [(x, y) for x, which, y in told if which == arm]
        gram = sum(np.outer(x, x) for x, _ in mine) + ridge * np.eye(DIM)
        expected = np.linalg.solve(gram, sum(x * (y - 0.5) for x, y in mine))
        np.testing.assert_allclose(session.view.theta[arm], expected, atol=1e-6)


def test_the_published_sums_are_the_exact_ones_and_one_draw_of_noise():
    """The same noise on other rows: what is published differs by the rows."""
    one = plain(releases="toeplitz", horizon=100)
    plan, published = one.plan(), []
    for seed in (1, 2):
        session = Session(plan, DIM, source=stream(5))
        for x, arm, y in zip(*rows(12, seed), strict=True):
            session.learn(np.append(x, arm), float(y))
        exact = np.zeros(one.size)
        for x, arm, y in zip(*rows(12, seed), strict=True):
            at = arm * block_size(DIM)
            exact[at : at + 3] += np.outer(x, x)[np.triu_indices(DIM)]
            exact[at + 3 : at + 5] += one.reward_scale * (y - 0.5) * x
        published.append(session.vault.memory[-1] - exact)
    np.testing.assert_allclose(published[0], published[1], atol=1e-8 * np.abs(published[0]).max())
    assert np.abs(published[0]).min() > 0


def test_the_first_release_is_the_centre_and_no_row_of_it_is_in_a_sum():
    learner = config().start(seed=1)
    told = list(zip(*rows(7), strict=True))
    for x, arm, y in told[:6]:
        assert not learner.view.centre.any()
        learner.learn(x, int(arm), float(y))
        assert not learner._session.vault.sums.any()
    assert learner.view.stage[0] == 1
    assert learner.view.centre.any()
    assert not learner.view.theta.any()
    assert not learner._session.vault.contexts.any(), "a sum that has been released is not kept"
    learner.learn(*told[6][:1], int(told[6][1]), float(told[6][2]))
    assert learner._session.vault.sums.any()
    assert not learner._session.vault.contexts.any()


def test_a_late_row_of_the_opening_is_in_the_sums_and_not_in_the_centre():
    """It came after the centre was released: it is prepared with it, and counts once."""
    learners = [config().start(seed=1) for _ in range(2)]
    for learner, comes in zip(learners, (True, False), strict=True):
        late = learner.decide([0.3, 0.4])
        for _ in range(6):
            learner.reward(learner.decide([0.6, 0.1]), 0.5)
        assert learner.view.stage[0] == 1
        if comes:
            learner.reward(late, 1.0)
    one, other = learners
    assert np.array_equal(one.view.centre, other.view.centre), "and the centre is that of the others"
    assert one._session.vault.sums.any()
    z = one._session.report[: one.config.block]
    at = int(one._session.report[one.config.block + 1]) * block_size(one.config.block)
    moved = one._session.vault.sums - other._session.vault.sums
    upper = np.outer(z, z)[np.triu_indices(len(z))]
    np.testing.assert_allclose(moved[at : at + len(upper)], upper, atol=1e-12)


# Choosing -------------------------------------------------------------------------------------------------------------


def practised(one, seed=3, count=120):
    learner = one.start(seed=seed)
    for number, (x, arm, y) in enumerate(zip(*rows(count), strict=True)):
        who = {"person": f"p{number}"} if one.person_rounds else {}
        learner.learn(x, int(arm), float(y), **who)
    return learner


@pytest.mark.parametrize("exploration", ["optimism", "thompson"])
@pytest.mark.parametrize("count", [0, 6, 120])
def test_a_forbidden_arm_is_never_chosen(exploration, count):
    """Before there is a view, after the centre alone, and by a view."""
    learner = practised(config(exploration=exploration), count=count)
    assert (learner.view.stage[0] > 1) == (count == 120)
    contexts = rows(60, seed=9)[0]
    for allowed in ([0], [1], [2], [0, 2], [1, 2], [0, 1]):
        mask = np.isin(np.arange(ARMS), allowed)
        chosen = [learner.choose(x, allowed) for x in contexts] + [learner.choose(x, mask) for x in contexts]
        chosen += learner.choose_many(contexts, allowed).tolist()
        assert set(chosen) <= set(allowed)
        if count < 120:
            assert set(chosen) == set(allowed), "and evenly, where nothing is known"
    for allowed in ([0], [1], [1, 2]):
        assert {learner.decide(x, allowed=allowed).arm for x in contexts[:9]} <= set(allowed)


def test_among_allowed_arms_the_best_score_wins():
    """A mask takes arms away and changes nothing else: the best of two is the better of the two."""
    learner = practised(config())
    for x in rows(80, seed=4)[0]:
        first = learner.choose(x)
        assert all(learner.choose(x, [first, other]) == first for other in range(ARMS) if other != first)


def test_a_choice_is_the_best_score_of_what_is_published():
    learner = practised(config())
    view, share = learner.view, np.sqrt(1 - SMALL.constant**2)
    for x in rows(50, seed=6)[0]:
        z = x / np.linalg.norm(x) - view.centre
        z = np.append(share * z / np.linalg.norm(z), SMALL.constant)
        scores = [theta @ z + width * np.sqrt(z @ spread @ z) for theta, spread, width in zip(*view[:3], strict=True)]
        assert learner.choose(x) == int(np.argmax(scores))


def test_thompson_draws_around_the_estimate_with_the_spread_of_the_view():
    """With two arms: the share of arm 0 is Φ of the difference of means over the deviation of the difference.

    Error level: a share of 4,000 draws is within 0.04 of its probability but once in 10⁶.
    """
    from scipy import special

    one = tacit.JointLinUCB(arms=2, dim=1, epsilon=1, delta=0.1, preparation="none", exploration="thompson")
    for sampler in ("double", "secure"):
        session = Session(one.plan(sampler), 1, seed=4)
        session.view.theta[:, 0] = (0.3, 0.1)
        session.view.spread[:, 0, 0] = (0.5, 2.0)
        session.view.width[:] = 0.4
        arms = np.array([session.choose(session.view, laid_out(one, [[1.0]])) for _ in range(4000)])
        expected = special.ndtr(0.2 / (0.4 * np.sqrt(2.5)))
        assert np.mean(arms == 0) == pytest.approx(expected, abs=0.04)


# Persons, the end, going on -------------------------------------------------------------------------------------------


def test_a_person_has_at_most_so_many_rows_in_the_sums_or_in_the_centre():
    learner = config(person_rounds=2).start(seed=1)
    for number in range(5):
        learner.learn([0.9, 0.1], number % ARMS, 1.0, person="ann")
    assert learner.diagnostics().dropped == 3
    np.testing.assert_allclose(learner._session.vault.contexts[0], 2 * np.array([0.9, 0.1]) / np.hypot(0.9, 0.1))


def test_a_person_costs_more_noise_and_the_promise_is_kept():
    one, two = config().plan(), config(person_rounds=2).plan()
    assert two.noise_scale > 1.9 * one.noise_scale
    assert price(two.event) <= config().promise.mu


@pytest.mark.parametrize("sampler", ["double", "secure"])
def test_a_learner_goes_on_elsewhere_and_a_copy_has_noise_of_its_own(sampler, tmp_path):
    key = tacit.new_key()
    straight, moved = (config().start(seed=7, sampler=sampler) for _ in range(2))
    told = list(zip(*rows(60), strict=True))
    for learner in (straight, moved):
        for x, arm, y in told[:30]:
            learner.learn(x, int(arm), float(y))
    moved = tacit.resume(moved.checkpoint(tmp_path / "one", key), key)
    assert type(moved) is type(straight)
    for learner in (straight, moved):
        for x, arm, y in told[30:]:
            learner.learn(x, int(arm), float(y))
    assert contents(straight)["vault/sums"] == contents(moved)["vault/sums"]
    assert all(np.array_equal(one, other) for one, other in zip(straight.view, moved.view, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_fork_of_a_checkpoint_is_priced(tmp_path):
    key, learner = tacit.new_key(), config().start()
    learner.learn([0.6, 0.1], 0, 0.5)
    path = learner.checkpoint(tmp_path / "one", key, keep_running=True)
    copy = tacit.resume(path, key, fork=True)
    assert copy.guarantee.mu > config().guarantee.mu
    learners = (learner, copy)
    for one in learners:
        for x, arm, y in zip(*rows(6), strict=True):
            one.learn(x, int(arm), float(y))
    assert not np.array_equal(learner.view.centre, copy.view.centre), "the same rows under other noise"


def test_a_horizon_ends_it():
    learner = config(horizon=40).start(seed=1)
    for x, arm, y in zip(*rows(40), strict=True):
        learner.choose(x)
        learner.learn(x, int(arm), float(y))
    with pytest.raises(HorizonSpent):
        learner.choose([0.1, 0.1])
    with pytest.raises(HorizonSpent):
        learner.learn([0.1, 0.1], 0, 0.5)


# Configurations -------------------------------------------------------------------------------------------------------


def test_words_settle_to_what_goes_with_arms():
    one = config()
    assert (one.releases, one.width, one.reward_low, one.reward_high) == ("discounted", "noise-aware", 0.0, 1.0)
    shared = tacit.JointLinUCB(dim=2, epsilon=1, delta=0.1)
    assert (shared.releases, shared.width, shared.reward_low, shared.preparation) == (
        "geometric",
        "noise-aware",
        -1.0,
        None,
    )
    assert config(width="theory").releases == config(window=5).releases == "geometric"


def test_all_arms_have_the_noise_of_one():
    """A row is in the block of one arm: more arms are more numbers, and no more noise in each."""
    few, many = (config(arms=arms).plan() for arms in (2, 200))
    assert many.noise_scale == few.noise_scale
    assert many.draws.learn_normals == 100 * few.draws.learn_normals


def test_sensitivity_is_the_formula():
    """2 + 2q + q²/2 squared distance in L⁴ for q ≤ 2, and 4q beyond: with symmetric noise half of it under the root."""
    for weight in (0.25, 1.0, 2.0, 3.0):
        for length, low, high in ((1.0, 0.0, 1.0), (2.5, -3.0, 1.0)):
            one = plain(reward_weight=weight, action_norm=length, reward_low=low, reward_high=high)
            squared = 2 + 2 * weight + weight**2 / 2 if weight <= 2 else 4 * weight
            assert one.sensitivity == pytest.approx(length**2 * np.sqrt(squared / 2))


BAD = {
    "one arm": ({"arms": 1}, "arms"),
    "half an arm": ({"arms": 2.5}, "arms"),
    "a prior": ({"prior": tacit.Prior.from_rows(np.eye(2), np.ones(2))}, "prior"),
    "published constants": ({"calibration": "published", "releases": "tree", "horizon": 100}, "arms|published"),
    "an interval upside down": ({"reward_low": 1.0, "reward_high": 0.0}, "reward_low < reward_high"),
    "discounted with a proved width": ({"releases": "discounted", "width": "theory"}, 'width="noise-aware"'),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_go_with_arms_is_refused_in_one_line(case):
    changes, message = BAD[case]
    with pytest.raises(BadInput, match=message) as refused:
        config(**changes)
    assert "\n" not in str(refused.value)


def test_strict_refuses_contexts_that_would_be_clipped():
    learner = plain(strict=True).start(seed=1)
    with pytest.raises(OutOfBounds, match="norm <= 1"):
        learner.choose([2.0, 0.0])
    assert learner.choose([1.0, 0.0]) in range(ARMS), "the arms behind a context are none of its length"


# The live program, without a seed -------------------------------------------------------------------------------------


def past_two_releases():
    """A live learner that has released its centre and its sums."""
    live = tacit.JointLinUCB(
        arms=2, dim=3, epsilon=1, delta=1e-6, preparation=tacit.Preparation(centre_rounds=5)
    ).start()
    while live.view.stage[0] < 2:
        live.learn([0.1, 0.2, 0.3], 0, 1.0)
    return live


def test_what_a_live_learner_releases_is_in_whole_steps():
    """So its last bits are those of no datum: doubles in their place are no whole numbers (the twin)."""
    live = past_two_releases()
    session = live._session
    released, centre = session.vault.memory[2], live.view.centre * 5 / session.params.centre.step
    assert np.array_equal(released, np.round(released))
    np.testing.assert_allclose(centre, np.round(centre), rtol=0, atol=1e-3)
    # No number is without noise, those of the arm that was never taken included. One in 10⁷ draws is 0, three of them
    # together are once in 10¹⁷.
    assert np.count_nonzero(released == 0) < 3
    doubles = tacit.JointLinUCB(arms=2, dim=3, epsilon=1, delta=1e-6, preparation="none").start(seed=1)
    while doubles.view.stage[0] < 1:
        doubles.learn([0.1, 0.2, 0.3], 0, 1.0)
    assert not np.array_equal(doubles._session.vault.memory[1], np.round(doubles._session.vault.memory[1]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_live_learner_at_work_refuses_in_a_forked_process():
    live = past_two_releases()
    child = os.fork()
    if child == 0:
        try:
            live.learn([0.1, 0.2, 0.3], 0, 1.0)
        except tacit.errors.Moved:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    live.learn([0.1, 0.2, 0.3], 0, 1.0)
