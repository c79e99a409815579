"""What is said about the regret of Rényi-private bandits: the theorem by its numbers, rates by their shape."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.environments import Arms
from tacit.errors import BadInput
from tacit.policies import renyi_bounds as bounds
from tacit.policies.oful import RenyiOFUL

MEANS = Arms().means
ROUNDS = np.array([10, 1000, 10**5, 10**7])


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (tacit.UCB1(doubling=True), 6910),
        (tacit.RenyiUCB(rho=1.0), 7136),
        (tacit.RenyiUCB(rho=0.1), 7625),
        (tacit.RenyiUCB(rho=0.01), 9172),
        (tacit.RenyiUCB(rho=0.001), 14063),
        (tacit.RenyiUCB(rho=1e-4), 29530),
        (tacit.Episodic(rho=1e-4, index="ucb1"), 29530),
        (tacit.RenyiUCB(alpha=2.0, epsilon=0.02, calibration="published"), 9172),
    ],
)
def test_theorem_5_has_the_values_it_should_have_after_ten_million_rounds(config, expected):
    assert bounds.theorem_5(config, MEANS, 10**7) == pytest.approx(expected, abs=1)


def test_theorem_5_is_its_formula():
    """From the paper, with α and ε and one arm that is not the best."""
    alpha, epsilon, beta, gap, rounds = 4.0, 0.3, 3.5, 0.2, 12_345
    config = tacit.RenyiUCB(alpha=alpha, epsilon=epsilon, optimism=beta)
    expected = (
        8 * beta / gap * math.log(rounds)
        + 8 * math.sqrt(beta * alpha / epsilon) * math.sqrt(math.log(rounds))
        + 2 * beta / (beta - 3)
    )
    assert bounds.theorem_5(config, (0.7, 0.5, 0.7), rounds) == pytest.approx(expected, rel=1e-5)
    assert bounds.theorem_5(config, (0.7, 0.7), rounds) == 0, "no arm is worse than another"


def test_theorem_5_counts_the_noise_of_a_person():
    """Three rewards in one total take three times the noise, and nine times the budget of one."""
    person = tacit.RenyiUCB(rho=0.09, person_rounds=3)
    assert bounds.theorem_5(person, MEANS, ROUNDS) == pytest.approx(
        bounds.theorem_5(tacit.RenyiUCB(rho=0.01), MEANS, ROUNDS), rel=1e-5
    )


def test_theorem_5_refuses_what_it_is_not_about():
    for config, words in (
        (tacit.RenyiUCB(rho=1.0, optimism=3.0), "optimism > 3, got optimism=3.0"),
        (tacit.RenyiUCB(rho=1.0, reward_low=-1.0), r"rewards in \[0, 1\], got reward_low=-1.0"),
        (tacit.RenyiUCB(rho=1.0, reward_high=2.0), "reward_high=2.0"),
        (tacit.UCB1(), "AdaR-UCB or its twin"),
        (tacit.Episodic(rho=1.0, index="kl-ucb"), "AdaR-UCB or its twin"),
    ):
        with pytest.raises(BadInput, match=words):
            bounds.theorem_5(config, MEANS, 100)
    for means in ((), (0.5, 1.2), (-0.1,), ("a",)):
        with pytest.raises(BadInput, match="means"):
            bounds.theorem_5(tacit.RenyiUCB(rho=1.0), means, 100)
    for rounds in (0, math.nan, [5, -1], None):
        with pytest.raises(BadInput, match="rounds"):
            bounds.theorem_5(tacit.RenyiUCB(rho=1.0), MEANS, rounds)


RATES = {
    "corollary 6": lambda rounds, rho: bounds.corollary_6_rate(5, rounds, rho),
    "theorem 8": lambda rounds, rho: bounds.theorem_8_rate(5, 20, rounds, rho),
    "theorem 10": lambda rounds, rho: bounds.theorem_10_rate(5, rounds, rho),
}


@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
def test_rates_are_additive_in_the_root_of_one_over_rho(rate):
    """r(ρ) = a + b/√ρ: three budgets, and none at all."""
    plain = rate(ROUNDS, math.inf)
    first, fourth, ninth = (rate(ROUNDS, 1 / k) - plain for k in (1, 4, 9))
    assert (first > 0).all()
    assert fourth == pytest.approx(2 * first, rel=1e-9)
    assert ninth == pytest.approx(3 * first, rel=1e-9)
    assert (np.diff(plain) > 0).all()
    with pytest.raises(BadInput, match="rho > 0, got rho=0"):
        rate(ROUNDS, 0)


def test_rates_are_their_formulas():
    """Each once more, from the paper."""
    n, rho, logs = 10**6, 0.01, math.log(10**6)
    assert bounds.corollary_6_rate(7, n, rho) == pytest.approx(math.sqrt(7 * n * logs) + 7 * math.sqrt(logs / rho))
    both = math.log(20 * n)
    assert bounds.theorem_8_rate(5, 20, n, rho) == pytest.approx(math.sqrt(5 * n * both) + 25 * 10 * both**1.5)
    assert bounds.theorem_10_rate(5, n, rho) == pytest.approx(5 * logs * 1000 + 25 * 10 * logs**2)
    assert bounds.conjectured_floor(rho, n) == pytest.approx(math.sqrt(logs / rho))


def test_the_fitted_constant_is_the_least_that_puts_a_rate_above_everything():
    rate, measured = np.array([1.0, 2.0, 4.0]), np.array([3.0, 3.0, 4.0])
    fitted = bounds.fitted_constant(rate, measured)
    assert fitted == 3
    assert (fitted * rate >= measured).all()
    assert not (0.999 * fitted * rate >= measured).all()


@pytest.mark.parametrize(
    ("rate", "measured"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [math.nan]), ([math.inf], [1.0])]
)
def test_what_cannot_be_fitted_is_refused(rate, measured):
    with pytest.raises(BadInput, match="Expected"):
        bounds.fitted_constant(rate, measured)


def test_the_switch_bound_is_that_of_the_policy():
    config = RenyiOFUL(dim=5, horizon=10**5, rho=0.1, ridge=1.0, switch=1.0)
    assert bounds.switch_bound(5, 10**5) == pytest.approx(71.44, abs=0.01)
    assert config.most_views == 72
