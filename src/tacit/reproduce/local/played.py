"""Which actions a policy plays: a compiled loop that remembers them, where the simulator forgets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.core.plan import Plan
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, pay, release, show
from tacit.environments import Environment
from tacit.noise import stream


@kernel
def _remember(
    params: Any,
    vault: Any,
    view: Any,
    report: Floats,
    noise: Any,
    environment: Any,
    slate: Slate,
    means: Floats,
    luck: Any,
    x: Floats,
    every: Floats,
    late: Floats,
) -> None:
    """The rounds of `simulation.loop.run`; adds x xᵀ of round t to `every[t]`, and of the later half to `late`."""
    rounds, dim = every.shape[0], x.shape[0]
    for t in range(rounds):
        show(environment, slate, means, luck)
        arm = choose(params, view, slate, noise)
        reward = pay(environment, means[arm], luck)
        for i in range(dim):
            x[i] = slate.columns[i, arm]
        encode(params, view, x, reward, report, noise)
        absorb(params, vault, report)
        release(params, vault, view, noise)
        for i in range(dim):
            for j in range(dim):
                product = x[i] * x[j]
                every[t, i, j] += product
                if 2 * t >= rounds:
                    late[i, j] += product


def remember(plan: Plan, environment: Environment, trial: int, seed: int, every: Floats) -> Floats:
    """Play one trial of `len(every)` rounds, add its x xᵀ round by round, and return the mean over its later half."""
    luck, noise = stream(seed, trial, ENVIRONMENT), stream(seed, trial, POLICY)
    started = environment.start(luck)
    dim, rounds = environment.features, len(every)
    late = np.zeros((dim, dim))
    _remember(
        plan.params,
        plan.vault(),
        plan.view(),
        np.zeros(plan.report_size),
        noise,
        started.params,
        started.slate,
        started.means,
        luck,
        np.zeros(dim),
        every,
        late,
    )
    return late / (rounds - (rounds + 1) // 2)
