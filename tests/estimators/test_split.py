"""The split width: the formula, never wider than Proposition 4's, as wide as it must be, and true in every view."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.core.slate import slate
from tacit.errors import BadInput
from tacit.estimators.ridge import empty_view, fit
from tacit.estimators.split import WIDTHS
from tacit.explorations import Optimism, SplitOptimism, explore

DIM = 4
PROMISE = {"dim": DIM, "epsilon": 1.0, "delta": 0.1}
SCHEDULES = {
    "geometric": {},
    "toeplitz": {"releases": "toeplitz", "horizon": 4096},
    "tree": {"releases": "tree", "horizon": 4096},
}


def configs(schedule, **options):
    """The split width and Proposition 4's, with the same constants."""
    every = {**PROMISE, "shift": 2.5, "parameter_norm": 0.8, "noise_level": 0.7, **SCHEDULES[schedule], **options}
    return (tacit.JointLinUCB(**every, width=width) for width in ("split", "theory"))


def viewed(estimate, gram, vector, stage, widths=WIDTHS):
    view = empty_view(len(vector), widths)
    view.stage[0] = stage
    fit(estimate, np.concatenate([gram[np.triu_indices(len(vector))], vector]), view)
    return view


def scores(rule, view, actions):
    offered = slate(*actions.T.shape)
    offered.columns[:] = actions.T
    explore(rule, view, offered, None)
    return offered.scores.copy()


def worlds(count=40):
    """Sums of 0 to 10⁷ rows that lie in one direction or in all, and actions of every length."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        turn = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
        gram = turn @ np.diag(10.0 ** rng.uniform(0, 7, DIM) * (rng.random(DIM) < 0.7)) @ turn.T
        actions = rng.normal(size=(12, DIM)) * 10.0 ** rng.uniform(-3, 1, (12, 1))
        yield (gram + gram.T) / 2, rng.normal(size=DIM) * 100, actions, int(rng.integers(0, 50))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_is_the_formula_and_never_wider_than_proposition_4(schedule):
    split, theory = (one.plan().params.estimate for one in configs(schedule))
    narrower = 0
    for gram, vector, actions, stage in worlds():
        view, plain = viewed(split, gram, vector, stage), viewed(theory, gram, vector, stage, 1)
        assert view.width[0] == plain.width[0]
        found, at_most = scores(SplitOptimism(), view, actions), scores(Optimism(), plain, actions)
        whole = np.triu(view.factor).T @ np.triu(view.factor)
        solved = np.linalg.solve(whole, actions.T)
        steep, flat = np.sqrt((actions.T * solved).sum(axis=0)), np.linalg.norm(solved, axis=0)
        gamma, tail, root, most = view.width[1:]
        rewards = view.width[0] - gamma - root  # the martingale's share of Proposition 4's
        parts = rewards * steep + np.minimum(gamma * steep, tail * flat) + np.minimum(root * steep, most * flat)
        np.testing.assert_allclose(found, actions @ view.theta + parts, rtol=1e-7)
        assert (found <= at_most * (1 + np.sign(at_most) * 1e-12)).all()
        narrower += (found < at_most * 0.99).sum()
    assert narrower > 20, "the second entries were never the smaller ones, so nothing was tested"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_its_shares_are_the_numbers_of_the_event(schedule):
    """γ, ν = γ√ρ_min, S√ρ_max and S·ρ_max, by the formulas at the head of `joint_linucb`."""
    split, _ = configs(schedule)
    plan = split.plan()
    bound = plan.params.estimate.confidence.regulariser / split.shift_factor
    gamma, tail, root, most = plan.params.estimate.shares.T
    np.testing.assert_allclose(root, split.parameter_norm * np.sqrt((split.shift_factor + 1) * bound))
    np.testing.assert_allclose(most * split.parameter_norm, root**2)
    np.testing.assert_allclose(tail, gamma * np.sqrt((split.shift_factor - 1) * bound))
    np.testing.assert_allclose(gamma + root, plan.params.estimate.confidence.bias)


def test_nothing_smaller_holds():
    """Without rows, with as much regulariser as the event allows, the estimate is off by the bound itself: S·‖x‖."""
    split, _ = configs("geometric")
    estimate = split.plan().params.estimate
    most = estimate.shares[0, 3] / split.parameter_norm  # ρ_max
    view = viewed(estimate, (most - estimate.confidence.regulariser[0]) * np.eye(DIM), np.zeros(DIM), 0)
    view.width[0] = view.width[3]  # no rewards, so no martingale, and no noise on the vector
    view.width[1] = view.width[2] = 0.0
    x = np.eye(DIM)[0]
    assert scores(SplitOptimism(), view, x[None])[0] == pytest.approx(split.parameter_norm, rel=1e-9)


def test_it_covers_the_parameter_in_every_direction():
    """Fifty draws of rewards and noise at a failure probability of a half: at every view, in 200 directions and in the
    worst one by Proposition 4's norm. The bound is loose, so none is expected outside."""
    config = tacit.JointLinUCB(**PROMISE, width="split", failure=0.5, noise_level=0.5)
    plan = config.plan()
    spread = plan.noise_scales["first view"]
    rng = np.random.default_rng(3)
    for _ in range(50):
        theta = rng.normal(size=DIM)
        theta /= np.linalg.norm(theta)
        rows = rng.normal(size=(2000, DIM)) * np.array([1.0, 0.3, 0.1, 0.0])
        rows /= np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]
        noise = np.triu(rng.normal(size=(DIM, DIM)), 1)
        noise = spread * (noise + noise.T + np.diag(math.sqrt(2) * rng.normal(size=DIM)))
        vector = rows.T @ (rows @ theta + 0.5 * rng.choice([-1.0, 1.0], 2000)) + spread * rng.normal(size=DIM)
        view = viewed(plan.params.estimate, rows.T @ rows + noise, vector, 0)
        whole = np.triu(view.factor).T @ np.triu(view.factor)
        error = view.theta - theta
        directions = np.concatenate([rng.normal(size=(200, DIM)), [whole @ error, error], np.eye(DIM)])
        upper = scores(SplitOptimism(), view, np.concatenate([directions, -directions]))
        lowest = np.concatenate([directions, -directions]) @ theta
        assert (lowest <= upper).all()


def test_the_plan_plays_it_and_says_nothing_is_given_up():
    split, theory = configs("geometric")
    assert split.plan().params.exploration == SplitOptimism()
    assert split.plan().view().width.shape == (WIDTHS,)
    assert split.card().notes == theory.card().notes
    assert split.plan().guarantee == theory.plan().guarantee
    assert tacit.JointLinUCB(**PROMISE, width="split").shift_factor == 2.0


@pytest.mark.parametrize(
    "options",
    [
        {"arms": 3},
        {"exploration": "thompson"},
        {"releases": "tree", "horizon": 100, "calibration": "published"},
    ],
)
def test_what_it_is_not_proved_for_is_refused(options):
    with pytest.raises(BadInput, match="split"):
        tacit.JointLinUCB(**PROMISE, width="split", **options)
