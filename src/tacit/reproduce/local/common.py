"""What the experiments of the local paper share: its world, its settings, and trials whose end is looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tacit._types import Floats
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.core.plan import Plan
from tacit.core.verbs import show
from tacit.environments import Bias, Environment
from tacit.noise import stream
from tacit.policies.linucb import LinUCB
from tacit.simulation.loop import run

PAPER = '"Improved rate for Locally Differentially Private Linear Bandits" (under review), Section 5.'

DIM, ARMS = 5, 100
DELTA = 0.1
ROUNDS = 20_000
FAILURE = 0.1  # α, which the paper does not give
LEVEL = 0.5  # R: of rewards 0 and 1

Given = TypeVar("Given")
Found = TypeVar("Found")


def world(dim: int = DIM, arms: int = ARMS, **options: Any) -> Bias:
    """Fresh unit vectors every round that share their last feature; rewards 0 or 1."""
    return Bias(dim=dim, arms=arms, **options)


def non_private(dim: int = DIM) -> LinUCB:
    """The baseline of every figure. Its failure probability does not depend on the rounds."""
    return LinUCB(dim=dim, noise_level=LEVEL, failure=FAILURE, width="theory")


def side_by_side(work: Callable[[Given], Found], tasks: Iterable[Given]) -> list[Found]:
    """`work` on every task, on all cores, in the order of the tasks."""
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        return list(pool.map(work, tasks))
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C nothing new is begun


class Ended(NamedTuple):
    """One trial at its end."""

    view: Any
    regret: float


def play(plan: Plan, environment: Environment, rounds: int, trial: int, seed: int) -> Ended:
    """The trial of this number as `simulate` runs it, bit for bit; here its last view is kept."""
    luck, noise = stream(seed, trial, ENVIRONMENT), stream(seed, trial, POLICY)
    started = environment.start(luck)
    vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
    marks, curve = np.array([rounds, -1]), np.zeros(1)
    clock, total, x = np.zeros(2, np.int64), np.zeros(1), np.zeros(environment.features)
    run(
        plan.params,
        vault,
        view,
        report,
        noise,
        started.params,
        started.slate,
        started.means,
        luck,
        x,
        marks,
        curve,
        clock,
        total,
        rounds,
    )
    return Ended(view, float(curve[0]))


def offered(environment: Environment, draws: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Rounds of one trial as they are offered: actions (draws, K, d), their means (draws, K), and θ*."""
    luck = stream(seed, 0, ENVIRONMENT)
    started = environment.start(luck)
    actions, means = [], []
    for _ in range(draws):
        show(started.params, started.slate, started.means, luck)
        actions.append(started.slate.columns.T.copy())
        means.append(started.means.copy())
    return np.array(actions), np.array(means), started.theta


def uniform_loss(environment: Environment, seed: int, draws: int = 1000) -> float:
    """What drawing an arm at random loses per round."""
    _, means, _ = offered(environment, draws, seed)
    return float((means.max(axis=1) - means.mean(axis=1)).mean())


def least_eigenvalue_of_best(environment: Environment, seed: int, draws: int = 4000) -> float:
    """λ_min of E[xxᵀ | θ*] where the best arm is always played: what a policy that has learned meets."""
    actions, means, _ = offered(environment, draws, seed)
    best = actions[np.arange(draws), means.argmax(axis=1)]
    return float(np.linalg.eigvalsh(best.T @ best / draws)[0])
