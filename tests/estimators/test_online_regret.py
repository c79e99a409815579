"""Regret within what is proved, on losses of every curvature, drawn at random and chosen by an adversary.

Nothing here is random when it is run: seeds are fixed, and the bounds hold for every sequence of losses, so a test can
only fail if the learner is wrong. What is *measured* beyond the bounds (how regret grows) has wide margins.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.estimators.online import (
    OnlineLearner,
    convex_regret_bound,
    descent_regret_bound,
    exp_concave_regret_bound,
    gradient_descent,
    maler,
    strongly_convex_regret_bound,
)
from tests.estimators.online_reference import ReferenceDescent, ReferenceMaler, nearest_in_ball

DIM = 4


def play(learner, gradient, rounds):
    """The points and the gradients at them: `gradient(t, point)` may look at the point, as an adversary does."""
    points, found = np.empty((rounds, DIM)), np.empty((rounds, DIM))
    for t in range(rounds):
        points[t] = learner.point
        found[t] = gradient(t, points[t])
        learner.step(found[t])
    return points, found


def directions(rounds, seed, dim=DIM):
    rows = np.random.default_rng(seed).normal(size=(rounds, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# Convex losses ----------------------------------------


def linear(kind, rounds, clip):
    """Gradients of length `clip` or less, as functions of time and point."""
    rng = np.random.default_rng(1)
    signs, rows = rng.choice([-1.0, 1.0], size=rounds), directions(rounds, 2)
    return {
        "coins": lambda t, point: clip * signs[t] * np.full(DIM, 1 / math.sqrt(DIM)),
        "directions": lambda t, point: clip * rows[t],
        "away from the point": lambda t, point: clip * _unit(point),
        "absolute loss": lambda t, point: clip * np.sign(rows[t] @ point - 0.4 * signs[t]) * rows[t],
        "constant": lambda t, point: clip * rows[0],
        "turning": lambda t, point: clip * rows[0] * math.copysign(1, math.sin(12 * t / rounds)),
    }[kind]


LINEAR = ["coins", "directions", "away from the point", "absolute loss", "constant", "turning"]


def _unit(point):
    length = np.linalg.norm(point)
    return point / length if length else np.eye(DIM)[0]


def linear_regret(learner, kind, rounds, radius, clip):
    """max over u in the ball of Σ <g_t, θ_t − u>: at least the regret of convex losses with these gradients."""
    points, found = play(learner, linear(kind, rounds, clip), rounds)
    return (points * found).sum() + radius * np.linalg.norm(found.sum(axis=0))


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize(
    ("radius", "clip", "factor"), [(1.0, 1.0, 1.0), (3.0, 0.5, 1.0), (1.0, 2.0, 0.2), (1.0, 2.0, 5.0)]
)
def test_descent_keeps_its_bound_on_convex_losses(kind, radius, clip, factor):
    """(2D²/a + a·G²)·√T, with the best step and with others."""
    step = factor * math.sqrt(2) * radius / clip
    for rounds in (1, 10, 2000):
        learner = OnlineLearner(gradient_descent(DIM, radius, step, clip))
        assert linear_regret(learner, kind, rounds, radius, clip) <= descent_regret_bound(radius, step, clip, rounds)


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize(("radius", "clip"), [(1.0, 1.0), (3.0, 0.5)])
def test_maler_keeps_its_bound_on_convex_losses(kind, radius, clip):
    """(2 ln 3 + 2)·G·2D·√T, also before the horizon."""
    for rounds, horizon in ((1, 1), (10, 10), (2000, 2000), (300, 2000)):
        learner = OnlineLearner(maler(DIM, radius, clip, horizon))
        assert linear_regret(learner, kind, rounds, radius, clip) <= convex_regret_bound(radius, clip, horizon)


@pytest.mark.parametrize("kind", ["descent", "maler"])
def test_the_bounds_on_convex_losses_reject_a_learner_that_climbs(kind):
    twin = {
        "descent": ReferenceDescent(DIM, 1.0, math.sqrt(2), 1.0, sign=-1.0),
        "maler": ReferenceMaler(DIM, 1.0, 1.0, 400, sign=-1.0),
    }[kind]
    regret = linear_regret(twin, "constant", 400, 1.0, 1.0)
    assert regret > convex_regret_bound(1.0, 1.0, 400) > descent_regret_bound(1.0, math.sqrt(2), 1.0, 400)


# Strongly convex losses ----------------------------------------


def targets(kind, rounds):
    """Targets z of f(θ) = ½·‖θ − z‖² in the unit ball, as functions of time and point."""
    rows = directions(rounds, 3)
    return {
        "random": lambda t, point: 0.5 * np.eye(DIM)[0] + 0.5 * rows[t],
        "alternating": lambda t, point: np.eye(DIM)[0] * (1.0 if t % 2 else -0.5),
        "away from the point": lambda t, point: -_unit(point),
    }[kind]


def quadratic_regret(learner, kind, rounds):
    """μ = 1, D = 1, G = 2. The best point is the mean of the targets."""
    target = targets(kind, rounds)
    points, found = play(learner, lambda t, point: point - target(t, point), rounds)
    chosen = points - found
    return 0.5 * (found**2).sum() - 0.5 * ((chosen.mean(axis=0) - chosen) ** 2).sum()


@pytest.mark.parametrize("kind", ["random", "alternating", "away from the point"])
@pytest.mark.parametrize("rounds", [1, 10, 4000])
def test_maler_keeps_its_bound_on_strongly_convex_losses(kind, rounds):
    """(10·G·2D + 9G²/2μ)·(2 ln(√3·(½·log2 T + 3)) + ½·(1 + ln T))."""
    regret = quadratic_regret(OnlineLearner(maler(DIM, 1.0, 2.0, rounds)), kind, rounds)
    assert regret <= strongly_convex_regret_bound(1.0, 2.0, rounds, 1.0)


def test_the_bound_on_strongly_convex_losses_rejects_a_learner_that_climbs():
    twin = ReferenceMaler(DIM, 1.0, 2.0, 1000, sign=-1.0)
    assert quadratic_regret(twin, "random", 1000) > strongly_convex_regret_bound(1.0, 2.0, 1000, 1.0)


# Exp-concave losses ----------------------------------------


def square_problem(kind, rounds):
    """Rows w of length 1, of rank 3 out of 4 (so the sum of losses is not strongly convex), and values in [−1, 1]."""
    rows = np.hstack([directions(rounds, 4, DIM - 1), np.zeros((rounds, 1))])
    if kind == "rare direction":
        rows[np.arange(rounds) % 50 != 0, 2] *= 1e-3
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    noise = np.random.default_rng(5).normal(size=rounds)
    best = np.array([0.6, -0.5, 0.3, 0.0]) * (3.0 if kind == "best outside the ball" else 1.0)
    return rows, np.clip(rows @ best + 0.3 * noise, -1, 1)


def square_regret(learner, kind, rounds):
    """f = (<w, θ> − y)²: residuals of at most 2, D = 1, G = 4, ρ = 1/8. The best point is constrained least squares."""
    rows, values = square_problem(kind, rounds)
    points, _ = play(learner, lambda t, point: 2 * (rows[t] @ point - values[t]) * rows[t], rounds)
    gram = rows.T @ rows + 1e-9 * np.eye(DIM)
    best = nearest_in_ball(gram, 1.0, np.linalg.solve(gram, rows.T @ values))
    losses = ((points * rows).sum(axis=1) - values) ** 2
    return losses.sum() - ((rows @ best - values) ** 2).sum()


@pytest.mark.parametrize("kind", ["random", "rare direction", "best outside the ball"])
@pytest.mark.parametrize("rounds", [1, 10, 4000])
def test_maler_keeps_its_bound_on_squares_with_rank_one_gradients(kind, rounds):
    """(10·G·2D + 9/2ρ)·(2 ln(√3·(½·log2 T + 3)) + 1.12·d·ln(1 + T/64d) + 0.28)."""
    regret = square_regret(OnlineLearner(maler(DIM, 1.0, 4.0, rounds)), kind, rounds)
    assert regret <= exp_concave_regret_bound(DIM, 1.0, 4.0, rounds, 1 / 8)


def test_the_bound_on_squares_rejects_a_learner_that_climbs():
    rounds = 1000
    twin = ReferenceMaler(DIM, 1.0, 4.0, rounds, sign=-1.0)
    regret = square_regret(twin, "best outside the ball", rounds)
    assert regret > exp_concave_regret_bound(DIM, 1.0, 4.0, rounds, 1 / 8)


def wealth_regret(learner, rounds):
    """f = −ln(1 + ½<w, θ>), ‖w‖ = 1: D = 1, G = 1, 1-exp-concave, so ρ = ½·min{1/8, 1}."""
    rows = directions(rounds, 6) + np.array([0.7, 0.0, 0.0, 0.0])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def slope(w, point):
        return -0.5 * w / (1 + 0.5 * (w @ point))

    points, _ = play(learner, lambda t, point: slope(rows[t], point), rounds)
    best = minimize(
        lambda x: -np.log1p(0.5 * rows @ x).mean(),
        np.zeros(DIM),
        jac=lambda x: (-0.5 * rows / (1 + 0.5 * rows @ x)[:, None]).mean(axis=0),
        constraints={"type": "ineq", "fun": lambda x: 1 - x @ x, "jac": lambda x: -2 * x},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert best.success
    return -np.log1p(0.5 * (points * rows).sum(axis=1)).sum() - rounds * best.fun


@pytest.mark.parametrize("rounds", [10, 4000])
def test_maler_keeps_its_bound_on_logarithmic_losses(rounds):
    regret = wealth_regret(OnlineLearner(maler(DIM, 1.0, 1.0, rounds)), rounds)
    assert regret <= exp_concave_regret_bound(DIM, 1.0, 1.0, rounds, 1 / 16)


# How regret grows ----------------------------------------


def growth(learner, regret):
    """Regret at 64,000 rounds over regret at 4,000: 4 if it grows as √T; ln T makes it 1.3."""
    return regret(learner(64_000), 64_000) / regret(learner(4000), 4000)


def test_maler_gains_from_strong_convexity_and_descent_does_not():
    """The same learner, told nothing about the losses. Measured: 1.4 and 3.9."""

    def regret(learner, rounds):
        return quadratic_regret(learner, "away from the point", rounds)

    assert growth(lambda rounds: OnlineLearner(maler(DIM, 1.0, 2.0, rounds)), regret) < 2
    assert growth(lambda rounds: OnlineLearner(gradient_descent(DIM, 1.0, math.sqrt(2) / 2, 2.0)), regret) > 3


def test_maler_gains_from_exp_concavity_and_descent_does_not():
    """On logarithmic losses, whose best point is on the edge of the ball. Measured: 1.5 and 3.5."""
    assert growth(lambda rounds: OnlineLearner(maler(DIM, 1.0, 1.0, rounds)), wealth_regret) < 2
    assert growth(lambda rounds: OnlineLearner(gradient_descent(DIM, 1.0, math.sqrt(2), 1.0)), wealth_regret) > 2.8


# The bounds themselves ----------------------------------------


def test_the_bounds_are_what_their_formulas_say():
    """Worked by hand at T = 2¹⁰, D = 1, G = 2, d = 4."""
    assert descent_regret_bound(1.0, 0.5, 2.0, 1024) == pytest.approx((4 + 2) * 32)
    assert convex_regret_bound(1.0, 2.0, 1024) == pytest.approx((2 * math.log(3) + 2) * 128)
    meta = 2 * math.log(math.sqrt(3) * 8)
    assert strongly_convex_regret_bound(1.0, 2.0, 1024, 0.5) == pytest.approx(
        (40 + 36) * (meta + 0.5 * (1 + math.log(1024)))
    )
    assert exp_concave_regret_bound(4, 1.0, 2.0, 1024, 0.5) == pytest.approx(
        (40 + 9) * (meta + 1.12 * 4 * math.log(5) + 0.28)
    )


def test_the_cost_of_following_the_best_expert_covers_every_prior():
    """ln 1/π ≤ 2 ln(√3·(½·log2 T + 3)) for all experts and horizons: a term of two of the bounds."""
    for horizon in [1, 2, 3, 5, 17, 1000, 4097, 20_000, 10**9, 2**62]:
        least = maler(1, 1.0, 1.0, horizon).state().log_weights.min()
        assert -least <= 2 * math.log(math.sqrt(3) * (0.5 * math.log2(horizon) + 3))
