"""`FeatureLinUCB(mode="releases")`: the rows go to `JointLinUCB`, which releases views at public times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit.core.functions import FunctionPlan
from tacit.errors import BadInput, HorizonSpent
from tacit.estimators.rkhs.blocks import blocks
from tacit.policies.joint_linucb import JointLinUCB
from tacit.policies.kernel_baselines import words
from tacit.policies.kernel_baselines.learner import BaselineLearner, refuse_budget
from tacit.policies.kernel_baselines.moments import unit_rows
from tacit.policies.usca.function import FeatureFunction
from tacit.privacy.card import SpendingPath
from tacit.privacy.event.fact import counted

if TYPE_CHECKING:
    from tacit.policies.kernel_baselines.feature_linucb import FeatureLinUCB

#: Views at most, and the ratio of their times where none is asked for.
_MOST_VIEWS, _DEFAULT_RATIO = 2048, 1.2


def linear_policy(config: FeatureLinUCB) -> JointLinUCB:
    """The linear policy on m features, with rewards in units of B and just as many views as the horizon needs: each
    one that could be made is paid for, made or not."""

    def with_views(views: int) -> JointLinUCB:
        return JointLinUCB(
            dim=config.map.size,
            epsilon=config.epsilon,
            delta=config.delta,
            horizon=max(2, config.records),
            noise_level=None if config.noise_level is None else config.noise_level / config.bound,
            failure=config.failure,
            width=config.width,
            shift=config.shift,
            ridge=config.tau,
            ratio=_DEFAULT_RATIO if config.ratio is None else config.ratio,
            views=views,
        )

    few, many = 1, _MOST_VIEWS
    # More views need more noise, so the first one comes later, and the last one later still.
    while few < many:
        middle = (few + many) // 2
        if with_views(middle).plan().params.schedule.times[-1] >= config.records:
            many = middle
        else:
            few = middle + 1
    found = with_views(few)
    times = found.plan().params.schedule.times
    if times[0] > config.records:
        raise BadInput(
            f'Expected a horizon of at least {times[0]:,} records with mode="releases", got {config.records:,}: before '
            'that a view would be mostly regulariser, and none is released. Use mode="one-shot", fewer features, or a '
            "larger epsilon."
        )
    if times[-1] < config.records:
        raise BadInput(
            f"Expected a ratio whose {_MOST_VIEWS:,} views last for {config.records:,} records, got "
            f"ratio={config.ratio!r}, which ends at {times[-1]:,}. Use a larger ratio."
        )
    return found


def plan_of(config: FeatureLinUCB, sampler: str) -> FunctionPlan:
    """The plan of the linear policy, in the words of a function."""
    linear = config.linear.plan(sampler)
    times = linear.params.schedule.times
    made = int((times <= config.records).sum())
    return FunctionPlan(
        paths=(SpendingPath("views", words.VIEWS, linear.guarantee, linear.event),),
        guarantee=linear.guarantee,
        noise_scale=linear.noise_scale,
        noise_scales=linear.noise_scales,
        assumptions=words.ASSUMPTIONS,
        notes=(
            f"{counted(made, 'view')} on the way, the first after {times[0]:,} records and the last after "
            f"{times[made - 1]:,}; asking for a function costs nothing more.",
            words.STAND_IN,
        ),
    )


class ReleasesLearner(BaselineLearner):
    """A learner of `JointLinUCB` that is shown features. Its view is all that leaves it."""

    def __init__(self, config: FeatureLinUCB, *, seed: int | None, sampler: str) -> None:
        super().__init__(config, seed=seed, sampler=sampler)
        self._route = config
        self._linear = config.linear.start(seed=seed, sampler=sampler)
        self._served = 0

    def choose(self, context: ArrayLike | None = None) -> Floats:
        """The candidate that may be best in this context, by the last view; any of them, evenly, before the first."""
        points = self._candidates(context)
        limit = self._route.records
        with self._lock:
            if self._served >= limit:
                raise HorizonSpent(
                    f"All {limit:,} rounds are served. Release the function and ask that, or start a new learner with "
                    "a longer horizon."
                )
            place = self._linear.choose(unit_rows(self._config.map, points))
            self._served += 1
        found: Floats = self._config.grid[place].copy()
        return found

    def _absorb(self, points: Floats, rewards: Floats) -> None:
        scaled = rewards / self._domain.reach
        for part, block in blocks(points):
            for row, reward in zip(unit_rows(self._config.map, block), scaled[part].tolist(), strict=True):
                self._linear.learn(row, reward)

    def release_function(self, epsilon: float | None = None, delta: float | None = None) -> FeatureFunction:
        """The function of the last view, which has been paid for; zero everywhere before the first.

        Formal guarantee: that of `JointLinUCB` on the features, for all views together, whatever was chosen in between.
        """
        refuse_budget(
            self._config.slug,
            epsilon,
            delta,
            'with mode="releases" all of it is spent on the views. Leave both out.',
        )
        with self._lock:
            theta = np.array(self._linear.view.theta)
            return self._function(theta * self._domain.reach, self._config.plan(self._sampler).guarantee)
