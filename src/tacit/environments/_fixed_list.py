"""What worlds have in common that offer the same actions in every round: luck, and many rewards in one draw."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.core.slate import Slate
from tacit.core.verbs import pay, pay_many, show
from tacit.mechanisms.shuffle.binomial import draw_binomial
from tacit.noise import fill_normals, fill_uniforms

#: Gaussian rewards are drawn so many at a time where many are paid at once.
_AT_ONCE = 256
#: A binomial draw asks for so many uniform numbers at a time.
_PROPOSAL = 2


class FixedListParams(NamedTuple):
    """How rewards fall about their means. One type for all such worlds: another would be compiled again with every
    policy."""

    low: float  # the reward of a failure; a success pays 1
    spread: float  # σ of Gaussian rewards, which are clipped to [low, 1]; 0: every reward is a failure or a success
    means: Floats  # Gaussian rewards: their means, and in the same place where they stood before they were clipped
    locations: Floats
    luck: Floats  # scratch; the luck of the round comes first


def two_rewards(low: float) -> FixedListParams:
    """Rewards are `low` or 1."""
    return FixedListParams(low, 0.0, np.zeros(1), np.zeros(1), np.zeros(_PROPOSAL))


def clipped_rewards(low: float, spread: float, means: Floats, locations: Floats) -> FixedListParams:
    """Rewards are normal about their location, clipped to [low, 1], which gives them another mean."""
    return FixedListParams(low, spread, means, locations, np.zeros(_AT_ONCE))


@implements(show, FixedListParams)
@kernel
def _show(environment: FixedListParams, slate: Slate, means: Floats, stream: Any) -> None:
    """Actions and means stay; only the luck of the round is drawn."""
    if environment.spread > 0.0:
        fill_normals(stream, environment.luck[:1])
    else:
        fill_uniforms(stream, environment.luck[:1])


@implements(pay, FixedListParams)
@kernel
def _pay(environment: FixedListParams, mean: float, stream: Any) -> float:
    low = environment.low
    luck: float = environment.luck[0]
    if environment.spread > 0.0:
        return min(max(_location(environment, mean) + environment.spread * luck, low), 1.0)
    return 1.0 if luck < (mean - low) / (1.0 - low) else low


@implements(pay_many, FixedListParams)
@kernel
def _pay_many(environment: FixedListParams, mean: float, count: int, stream: Any) -> float:
    """One binomial number where there are two rewards. Clipped normals have no such law: they are drawn and added."""
    low, luck = environment.low, environment.luck
    if environment.spread > 0.0:
        location, total, left = _location(environment, mean), 0.0, count
        while left > 0:
            take = min(left, luck.shape[0])
            fill_normals(stream, luck[:take])
            for i in range(take):
                total += min(max(location + environment.spread * luck[i], low), 1.0)
            left -= take
        return total
    # The rarer of the two rewards is counted: draws are made for probabilities up to a half.
    success = (mean - low) / (1.0 - low)
    hits = (
        draw_binomial(float(count), success, luck, stream)
        if success <= 0.5
        else count - draw_binomial(float(count), 1.0 - success, luck, stream)
    )
    return low * count + (1.0 - low) * hits


@kernel
def _location(environment: FixedListParams, mean: float) -> float:
    """Where the rewards of this mean stood before they were clipped. Means are told apart to the bit: they come from
    this very list."""
    place = 0
    while place < environment.means.shape[0] - 1 and environment.means[place] != mean:
        place += 1
    return environment.locations[place]  # type: ignore[no-any-return]
