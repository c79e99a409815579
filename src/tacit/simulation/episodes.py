"""The compiled loop by episodes: the same law as round by round, in as many steps as there are episodes.

Within an episode one arm is played, and its rewards enter what is released through their total alone. Where rewards
take two values the total is binomial, and one draw stands for them all: a run of T rounds over K arms in doubling
episodes costs O(K log T) instead of O(T). Released totals, arms and regret have exactly the law of the loop in
`loop.py`; the random numbers are others, so a seed gives another run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats, Ints
from tacit.core.plan import Plan
from tacit.core.round import ROWS
from tacit.core.verbs import pay_many, release
from tacit.environments import Environment
from tacit.environments._fixed_list import FixedListParams
from tacit.environments.environment import World
from tacit.errors import BadInput
from tacit.policies.episodic.verbs import EpisodeParams


def refuse_rounds_only(slug: str, plan: Plan, environment: Environment, world: World) -> None:
    """By episodes only where both sides have them, and where no reward would have been clipped on the way."""
    params = plan.params
    if not isinstance(params, EpisodeParams):
        raise BadInput(
            f'Expected a policy that learns in episodes with by="episodes", got {slug}, which learns every round. '
            'Use by="rounds".'
        )
    if not isinstance(world.params, FixedListParams):
        raise BadInput(
            f'Expected an environment with the same actions in every round with by="episodes", got '
            f'{environment.slug}. Use by="rounds".'
        )
    if not (params.reward_low <= world.params.low and params.reward_high >= 1.0):
        raise BadInput(
            f"Expected a policy whose rewards may be from {world.params.low:g} to 1, as those of {environment.slug} "
            f"are, got reward_low={params.reward_low:g}, reward_high={params.reward_high:g}: each reward would be "
            'clipped before it is summed. Widen the interval, or use by="rounds".'
        )


@kernel
def run_episodes(
    params: Any,
    vault: Any,
    view: Any,
    noise: Any,
    environment: Any,
    means: Floats,
    stream: Any,
    checkpoints: Ints,
    curve: Floats,
    clock: Ints,
    total: Floats,
    rounds: int,
    most: int,
    ends: Ints,
) -> int:
    """Run episodes until `rounds` rounds have passed in all or `most` episodes were begun; returns how many were.

    `clock` = (rounds so far, checkpoints passed), `total` = (regret so far,). The first `ends.shape[0]` episodes leave
    their arm and last round there.
    """
    best = means[0]
    for k in range(1, means.shape[0]):
        best = max(best, means[k])
    now, passed, regret = clock[0], clock[1], total[0]
    begun = 0
    while now < rounds and begun < most:
        arm = view.arm[0]
        count = min(view.length[0] - vault.sizes[arm], rounds - now)
        gap = best - means[arm]
        vault.sums[arm] += pay_many(environment, means[arm], count, stream)
        vault.sizes[arm] += count
        vault.counters[ROWS] += count
        release(params, vault, view, noise)
        while passed < curve.shape[0] and checkpoints[passed] <= now + count:
            curve[passed] = regret + gap * (checkpoints[passed] - now)
            passed += 1
        regret += gap * count
        now += count
        if begun < ends.shape[0]:
            ends[begun, 0] = arm
            ends[begun, 1] = now
        begun += 1
    clock[0], clock[1], total[0] = now, passed, regret
    return begun


#: No record of episodes is kept.
NO_RECORD: Ints = np.zeros((0, 2), np.int64)
