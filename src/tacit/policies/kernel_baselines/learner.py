"""What the learners of the baselines have in common: a grid to choose from, and functions to hand out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit.errors import BadInput
from tacit.policies.usca.exploring import ExploringLearner
from tacit.policies.usca.function import FeatureFunction
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from tacit.policies.kernel_baselines.common import Baseline


class BaselineLearner(ExploringLearner):
    """A baseline at work."""

    def __init__(self, config: Baseline, *, seed: int | None, sampler: str) -> None:
        super().__init__(config, config.bounds, seed=seed, sampler=sampler)
        self._config = config
        self._releases = 0

    @property
    def config(self) -> Baseline:
        """The configuration this learner was started from."""
        return self._config

    def _released(self) -> int:
        return self._releases

    def _candidates(self, context: ArrayLike | None) -> Floats:
        """The public grid of actions beside one context, shape (K, d)."""
        row, grid = self._context(context), self._config.grid
        return grid if row is None else np.hstack([grid, np.repeat(row, len(grid), axis=0)])

    def _function(self, coefficients: Floats, guarantee: Guarantee) -> FeatureFunction:
        """What is released, in the units of rewards."""
        self._releases += 1
        return FeatureFunction(
            features=self._config.map,
            coefficients=coefficients,
            actions=self._domain.actions,
            contexts=self._domain.contexts,
            middle=self._domain.middle,
            rows=self._rows,
            guarantee=guarantee.with_seed() if self._numbers.seeded else guarantee,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._config.slug}: {self._rows:,} records>"


def refuse_budget(slug: str, epsilon: float | None, delta: float | None, why: str) -> None:
    """Unless no budget was named, where there is none to spend by asking."""
    if epsilon is not None or delta is not None:
        raise BadInput(
            f"Expected release_function() without a budget for {slug}, got epsilon={epsilon!r}, delta={delta!r}: {why}"
        )
