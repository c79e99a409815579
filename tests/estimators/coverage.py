"""Whether θ* is inside the confidence set of every view of a run: what the width is for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit._kernel import kernel
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.core.round import REPAIRS, learn_round
from tacit.core.verbs import choose, pay, show
from tacit.noise import stream


class Covered(NamedTuple):
    """Of one run."""

    outside: int  # views that leave θ* out
    views: int
    repairs: int
    first: bool  # θ* is inside what is known before any row
    least: float  # the smallest eigenvalue of the last V


def covered(plan_for, environment, rounds, seed, trial):
    """Play `rounds` rounds of `plan_for(θ*)` and look at every view on the way."""
    source = stream(seed, trial, ENVIRONMENT)
    world = environment.start(source)
    plan = plan_for(world.theta)
    vault, view, dim = plan.vault(), plan.view(), len(world.theta)
    first = inside(view, world.theta)
    outside, views = _cover(
        plan.params,
        vault,
        view,
        np.zeros(plan.report_size),
        stream(seed, trial, POLICY),
        world.params,
        world.slate,
        world.means,
        source,
        np.zeros(dim),
        world.theta,
        np.zeros(dim),
        rounds,
    )
    least = np.linalg.eigvalsh(np.triu(view.factor).T @ np.triu(view.factor))[0]
    return Covered(outside, views, int(vault.counters[REPAIRS]), first, least)


def inside(view, theta):
    """‖θ − θ̃‖_V ≤ β."""
    return bool(np.linalg.norm(np.triu(view.factor) @ (theta - view.theta)) <= view.width[0])


@kernel
def _cover(params, vault, view, report, noise, world, slate, means, source, x, theta, gap, rounds):
    """How many views leave θ* outside, of how many."""
    outside, views = 0, 0
    for _ in range(rounds):
        show(world, slate, means, source)
        arm = choose(params, view, slate, noise)
        reward = pay(world, means[arm], source)
        for i in range(x.shape[0]):
            x[i] = slate.columns[i, arm]
        before = view.stage[0]
        learn_round(params, vault, view, x, reward, report, noise)
        if view.stage[0] > before:
            views += 1
            distance = 0.0
            for i in range(x.shape[0]):
                gap[i] = theta[i] - view.theta[i]
            for i in range(x.shape[0]):
                total = 0.0
                for j in range(i, x.shape[0]):
                    total += view.factor[i, j] * gap[j]
                distance += total * total
            if not math.sqrt(distance) <= view.width[0]:
                outside += 1
    return outside, views
