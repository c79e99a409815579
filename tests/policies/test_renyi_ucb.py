"""Policies over plain arms: episodes, references of regret, and what is refused.

Error level: where regret is compared with a reference the tolerance stands in the test; each comparison of two laws is
at 1e-6 or below, with fixed seeds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize, stats

import tacit
from tacit._kernel import implements, kernel
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.environments import Arms, Sphere
from tacit.errors import BadInput
from tacit.noise import stream
from tacit.policies.episodic.index import KLUCBIndex, UCBIndex, relative_entropy, upper_bound
from tacit.policies.episodic.verbs import FOREVER
from tacit.simulation.episodes import run_episodes
from tests.statistics.checks import LEVEL

WORLD = Arms()


def episodes(config, rounds: int, seed: int, trial: int, means=None) -> tuple[np.ndarray, float]:
    """Arm and last round of each episode of one trial by episodes, and its regret."""
    environment = Arms(means=means) if means else WORLD
    plan = config.offered(environment.fixed_actions).plan()
    source = stream(seed, trial, ENVIRONMENT)
    world = environment.start(source)
    vault, view, total, ends = plan.vault(), plan.view(), np.zeros(1), np.zeros((200, 2), np.int64)
    begun = run_episodes(
        plan.params,
        vault,
        view,
        stream(seed, trial, POLICY),
        world.params,
        world.means,
        source,
        np.array([-1]),
        np.zeros(0),
        np.zeros(2, np.int64),
        total,
        rounds,
        10**9,
        ends,
    )
    return ends[:begun], float(total[0])


def test_an_arm_is_played_for_as_long_as_before():
    ends, _ = episodes(tacit.RenyiUCB(rho=1.0), 100_000, seed=1, trial=0)
    lengths = np.diff(ends[:, 1], prepend=0)
    assert ends[:5, 0].tolist() == [0, 1, 2, 3, 4], "every arm once, each an episode of its own"
    for arm in range(5):
        of_arm = lengths[ends[:, 0] == arm]
        cut = len(of_arm) - (ends[-1, 0] == arm)  # the last episode is cut by the horizon
        assert of_arm[:cut].tolist() == [1, *(2**k for k in range(cut - 1))]
    assert ends[-1, 1] == 100_000


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (tacit.UCB1(doubling=True), 936),
        (tacit.RenyiUCB(rho=0.1), 978),
        (tacit.RenyiUCB(rho=0.01), 1324),
        (tacit.RenyiUCB(rho=0.001), 2824),
        (tacit.RenyiUCB(rho=0.1, optimism=1.0), 359),
        (tacit.RenyiUCB(epsilon=1.0, delta=1e-6), 1094),
    ],
    ids=["no noise", "rho .1", "rho .01", "rho .001", "beta 1", "(1, 1e-6)"],
)
def test_regret_of_adar_ucb_is_what_it_should_be(config, expected):
    """Within 5 %, over 400 runs of 10⁶ rounds."""
    result = tacit.simulate(config, WORLD, 10**6, trials=400, seed=1, by="episodes")
    assert result.regret_mean == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(tacit.LaplaceUCB(epsilon=1.0), 1704, id="AdaP-UCB"),
        pytest.param(tacit.SuccessiveElimination(epsilon=1.0, horizon=10**6), 3723, id="DP-SE", marks=pytest.mark.long),
    ],
)
def test_regret_under_pure_dp_is_what_our_reading_gave_before(config, expected):
    result = tacit.simulate(config, WORLD, 10**6, trials=400, seed=1, by="episodes")
    assert result.regret_mean == pytest.approx(expected, rel=0.05)


def test_ucb1_is_far_below_its_doubling_twin():
    """Doubling and forgetting cost more than most noise: 259 ± 5 without against 658 ± 9 with them at 10⁵ rounds."""
    every = tacit.simulate(tacit.UCB1(), WORLD, 10**5, trials=20, seed=1)
    assert every.regret_mean == pytest.approx(259, abs=5 * (5 + every.regret_se))


# The two ways to simulate ----------------------------------------------------------------------------------------


def test_by_episodes_regret_has_the_law_of_round_by_round():
    config = tacit.RenyiUCB(rho=0.05, optimism=1.0)
    slow = tacit.simulate(config, WORLD, 400, trials=3000, seed=3).regret
    fast = tacit.simulate(config, WORLD, 400, trials=3000, seed=4, by="episodes").regret
    assert stats.ks_2samp(slow, fast).pvalue > LEVEL
    other = tacit.simulate(config, Arms(means=(0.75, 0.65, 0.5, 0.375, 0.25)), 400, trials=3000, seed=3).regret
    assert stats.ks_2samp(other, fast).pvalue < LEVEL, "and a mean that is off by 0.025 is told apart"


def test_by_episodes_the_sequence_of_episodes_has_the_law_of_round_by_round():
    """Which arms came after the first five, and until which round: 2,000 runs each way, by chi-square."""
    config, rounds, runs = tacit.RenyiUCB(rho=0.05, optimism=1.0, arms=5), 16, 2000

    def by_rounds(trial: int) -> tuple[tuple[int, int], ...]:
        learner = config.start(seed=10**5 + trial)
        luck, ends = np.random.default_rng(trial), []
        for t in range(rounds):
            arm, stage = learner.choose(), int(learner._session.view.stage[0])
            learner.learn(arm, float(luck.random() < WORLD.means[arm]))
            if learner._session.view.stage[0] > stage:
                ends.append((arm, t + 1))
        return tuple(ends[5:8])

    def by_episodes(trial: int) -> tuple[tuple[int, int], ...]:
        found = [(int(arm), int(end)) for arm, end in episodes(config, 100, seed=4, trial=trial)[0] if end <= rounds]
        return tuple(found[5:8])

    slow = [by_rounds(trial) for trial in range(runs)]
    fast = [by_episodes(trial) for trial in range(runs)]
    kinds = sorted(set(slow) | set(fast))
    table = np.array([[found.count(kind) for kind in kinds] for found in (slow, fast)])
    common = table.sum(0) >= 20
    table = np.column_stack([table[:, common], table[:, ~common].sum(1)])
    table = table[:, table.sum(0) > 0]
    assert stats.chi2_contingency(table).pvalue > LEVEL


def test_by_episodes_is_refused_where_it_would_not_be_the_same():
    with pytest.raises(BadInput, match="linucb, which learns every round"):
        tacit.simulate(tacit.LinUCB(dim=5), WORLD, 100, by="episodes")
    with pytest.raises(BadInput, match="clipped before it is summed"):
        tacit.simulate(tacit.RenyiUCB(rho=1.0, reward_high=0.5), WORLD, 100, by="episodes")
    with pytest.raises(BadInput, match="by"):
        tacit.simulate(tacit.RenyiUCB(rho=1.0), WORLD, 100, by="days")


def test_regret_curves_by_episodes_are_exact_between_ends():
    """A checkpoint inside an episode has the regret of the rounds so far, not of the episode."""
    result = tacit.simulate(tacit.RenyiUCB(rho=1.0), WORLD, 5000, trials=2, seed=5, by="episodes")
    steps = np.diff(result.curves, axis=1) / np.diff(result.checkpoints)
    gaps = max(WORLD.means) - np.array(WORLD.means)
    single = np.diff(result.checkpoints) == 1
    assert np.isin(np.round(steps[:, single], 9), np.round(gaps, 9)).all()
    assert result.curves[:, -1] == pytest.approx(result.regret)


# Indices ----------------------------------------------------------------------------------------------------------


def test_kl_ucb_is_the_root_of_its_equation():
    for mean, size, scale, log_term in [
        (0.3, 10, 0.0, 2.0),
        (0.9, 100, 3.0, 5.0),
        (0.0, 1, 0.0, 0.7),
        (0.2, 7, 1.0, 9.0),
    ]:
        start = min(1.0, max(0.0, mean + scale * math.sqrt(2 * log_term) / size))
        budget = log_term / size
        if relative_entropy(start, 1 - 1e-15) <= budget:
            expected = 1.0
        else:
            expected = optimize.brentq(lambda q, p=start, b=budget: relative_entropy(p, q) - b, start, 1 - 1e-15)
        assert upper_bound(KLUCBIndex(), mean, size, 1.0, scale, False, log_term) == pytest.approx(expected, abs=1e-9)


def test_kl_ucb_is_below_ucb1_without_noise():
    for mean in (0.0, 0.1, 0.5, 0.95, 1.0):
        kl = upper_bound(KLUCBIndex(), mean, 50, 1.0, 0.0, False, 4.0)
        assert mean <= kl <= upper_bound(UCBIndex(), mean, 50, 1.0, 0.0, False, 4.0) + 1e-12


def test_an_index_bounds_the_mean_as_often_as_it_says():
    """P(index < mean) ≤ e^−L for both indices and both noises: 40,000 draws at L = 3, 99.99 % confidence."""
    rng, runs, size, mean, log_term = np.random.default_rng(1), 40_000, 20, 0.3, 3.0
    totals = rng.binomial(size, mean, runs)
    for laplace, noise in ((False, rng.normal(size=runs)), (True, rng.laplace(size=runs))):
        for scale in (0.0, 4.0):
            found = (totals + scale * noise) / size
            for index, failures in ((UCBIndex(), 1 + (laplace and scale > 0)), (KLUCBIndex(), 1 + (scale > 0))):
                missed = sum(upper_bound(index, m, size, 1.0, scale, laplace, log_term) < mean for m in found)
                most = stats.binom.ppf(0.9999, runs, min(1.0, failures * math.exp(-log_term)))
                assert missed <= most


def test_episodic_ucb1_is_renyi_ucb():
    one = tacit.simulate(tacit.Episodic(rho=0.1, index="ucb1"), WORLD, 2000, trials=3, seed=2, by="episodes")
    two = tacit.simulate(tacit.RenyiUCB(rho=0.1), WORLD, 2000, trials=3, seed=2, by="episodes")
    assert np.array_equal(one.curves, two.curves)


class Greedy(NamedTuple):
    """No optimism at all."""


@implements(upper_bound, Greedy)
@kernel
def _greedy(index, mean, size, span, scale, laplace, log_term):
    return mean


def test_an_index_of_ones_own_is_made_private():
    config = tacit.Episodic(rho=0.1, index=Greedy(), arms=5)
    assert config.guarantee == tacit.RenyiUCB(rho=0.1, arms=5).guarantee
    learner = config.start(seed=1)
    for _ in range(50):
        learner.learn(learner.choose(), 1.0)
    assert learner.diagnostics().rows == 50
    with pytest.raises(BadInput, match="Expected index to be"):
        tacit.Episodic(rho=0.1, index=3)


# The learner of a fixed list --------------------------------------------------------------------------------------


def test_a_learner_over_arms_takes_no_actions():
    learner = tacit.RenyiUCB(arms=3, rho=0.5).start(seed=1)
    assert learner.choose() == 0
    with pytest.raises(BadInput, match=r"choose\(\) without actions, got some: this policy has a fixed list of 3"):
        learner.choose(np.eye(3))
    with pytest.raises(BadInput, match="one list for every round"):
        learner.choose_many(np.zeros((2, 3, 3)))
    for wrong in (3, -1, 1.0, "0", True, None, np.zeros(3)):
        with pytest.raises(BadInput, match="Expected an arm from 0 to 2"):
            learner.learn(wrong, 0.5)
    assert learner.diagnostics().rows == 0
    learner.learn(np.int64(0), 1)
    assert learner.choose() == 1, "one reward ends the first episode"


def test_rewards_outside_the_interval_are_clipped_and_counted():
    learner = tacit.RenyiUCB(arms=2, rho=0.5, reward_low=-1.0, reward_high=2.0).start(seed=1)
    for reward in (-5.0, 0.3, 2.0, 7.0):
        learner.learn(1, reward)  # arm 0 is being played: nothing is released
    assert learner._session.vault.sums[1] == -1.0 + 0.3 + 2.0 + 2.0
    assert learner.diagnostics().clipped_rewards == 2


def test_a_late_reward_counts_for_the_next_episode_of_its_arm():
    learner = tacit.UCB1(arms=2, doubling=True).start()
    learner.learn(0, 1.0)
    learner.learn(0, 0.0)  # late: arm 1 is being played by now
    assert learner.choose() == 1
    learner.learn(1, 0.0)
    assert learner.choose() == 0, "the better first reward"
    learner.learn(0, 1.0)  # its episode of one round ends with two rewards in it
    assert learner.view.sizes.tolist() == [2, 1]
    assert learner.view.totals.tolist() == [1.0, 0.0]


def test_decisions_without_a_reward_count_as_zero_and_keep_their_arm():
    learner = tacit.UCB1(arms=2).start()
    decision = learner.decide()
    learner.expire(decision)
    second = learner.decide()
    assert learner.view.totals.tolist() == [0.0, 0.0]
    assert learner.view.pulls.tolist() == [1, 0]
    learner.reward(second, 1.0)
    learner.decide()
    assert learner.view.pulls.tolist() == [1, 1]


def test_rewards_beyond_a_persons_share_count_as_zero():
    learner = tacit.RenyiUCB(arms=2, rho=0.5, person_rounds=1).start(seed=1)
    learner.learn(1, 1.0, person="a")
    learner.learn(1, 1.0, person="a")
    assert learner._session.vault.sums[1] == 1.0
    assert learner._session.vault.sizes[1] == 2
    assert learner.diagnostics().dropped == 1


def test_a_single_survivor_is_played_to_the_end():
    config = tacit.SuccessiveElimination(epsilon=100.0, failure=0.5, arms=2)
    learner = config.start(seed=1)
    while learner.view.length[0] < FOREVER:
        arm = learner.choose()
        learner.learn(arm, float(arm == 1))
    assert learner.choose() == 1
    assert learner.view.active.tolist() == [0, 1]


# What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rho": 0.0}, "rho"),
        ({"rho": -1.0}, "rho"),
        ({"alpha": 1.0, "epsilon": 0.1}, "alpha"),
        ({"alpha": 2.0, "epsilon": 1.0, "delta": 1e-6}, "alpha"),
        ({"rho": 1.0, "epsilon": 1.0, "delta": 1e-6}, "rho"),
        ({}, "promise|rho"),
        ({"epsilon": 1.0}, "delta"),
        ({"rho": 1.0, "reward_low": 1.0}, "reward_low < reward_high"),
        ({"rho": 1.0, "reward_low": 2.0, "reward_high": 1.0}, "reward_low < reward_high"),
        ({"rho": 1.0, "optimism": 0.0}, "optimism"),
        ({"rho": 1.0, "arms": 0}, "arms"),
        ({"rho": 1.0, "calibration": "published"}, "alpha and epsilon"),
        ({"rho": 1.0, "calibration": "loose"}, "calibration"),
    ],
)
def test_a_promise_that_cannot_be_is_refused(options, message):
    with pytest.raises(BadInput, match=message):
        tacit.RenyiUCB(**{"arms": 5, **options})


def test_without_arms_there_is_no_learner():
    with pytest.raises(BadInput, match="know its arms"):
        tacit.RenyiUCB(rho=1.0).start()
    with pytest.raises(BadInput, match="offers the actions of renyi-ucb in every round, got sphere"):
        tacit.simulate(tacit.RenyiUCB(rho=1.0, arms=5), Sphere(dim=5), 100)
    with pytest.raises(BadInput, match="dim to be the environment's 5, got dim=3"):
        tacit.simulate(tacit.RenyiUCB(rho=1.0, arms=3), WORLD, 100)


def test_published_noise_on_another_interval_says_what_it_truly_gives():
    """√(α/2ε) is for rewards in [0, 1]: with twice the range ρ is four times what was claimed."""
    fits = tacit.RenyiUCB(arms=5, alpha=2.0, epsilon=0.1, calibration="published")
    assert fits.guarantee.rho == pytest.approx(0.05)
    assert fits.card().keeps_its_claim
    wide = tacit.RenyiUCB(arms=5, alpha=2.0, epsilon=0.1, calibration="published", reward_high=2.0)
    assert wide.guarantee.rho == pytest.approx(0.2)
    assert wide.card().keeps_its_claim is False


def test_all_currencies_are_one_number():
    rho = tacit.RenyiUCB(arms=5, rho=0.05)
    renyi = tacit.RenyiUCB(arms=5, alpha=2.0, epsilon=0.1)
    assert rho.plan().noise_scale == pytest.approx(renyi.plan().noise_scale)
    assert rho.guarantee.epsilon_at(1e-5) == pytest.approx(1.20, abs=0.005)


def test_laplace_noise_covers_all_rewards_of_a_person():
    one, three = (tacit.LaplaceUCB(arms=3, epsilon=1.0, person_rounds=rounds) for rounds in (None, 3))
    assert three.plan().noise_scale == pytest.approx(3 * one.plan().noise_scale, rel=1e-9)
    assert three.guarantee.epsilon_at(1e-300) <= 1.0
