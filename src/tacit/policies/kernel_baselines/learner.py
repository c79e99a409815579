"""What the learners of the baselines have in common: records are checked and counted, and nothing is copied."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import real
from tacit.core.functions import FunctionLearner
from tacit.core.learner import POLICY
from tacit.errors import BadInput, HorizonSpent
from tacit.noise.plain import Numbers
from tacit.policies.usca.function import FeatureFunction, as_context
from tacit.policies.usca.learner import FunctionDiagnostics
from tacit.policies.usca.records import records_of
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from tacit.policies.kernel_baselines.common import Baseline


class BaselineLearner(FunctionLearner):
    """A baseline at work: exploration is even unless it says otherwise."""

    def __init__(self, config: Baseline, *, seed: int | None) -> None:
        super().__init__()
        self._config, self._domain = config, config.bounds
        self._numbers = Numbers(seed, 0, POLICY)
        self._rows = self._moved_contexts = self._moved_actions = self._moved_rewards = self._releases = 0

    # What it is -------------------------------------------------------------------------------------------------

    @property
    def config(self) -> Baseline:
        """The configuration this learner was started from."""
        return self._config

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to whoever it learns from, for all that will ever be released."""
        found = self._config.guarantee
        return found.with_seed() if self._numbers.seeded else found

    def card(self) -> Card:
        """The privacy card of this learner."""
        return self._config.card(seeded=self._numbers.seeded)

    def diagnostics(self) -> FunctionDiagnostics:
        """Counts for the operator's eyes only: they come from the vault and are not private."""
        with self._lock:
            return FunctionDiagnostics(
                rows=self._rows,
                clipped_contexts=self._moved_contexts,
                clipped_actions=self._moved_actions,
                clipped_rewards=self._moved_rewards,
                releases=self._releases,
            )

    # Learning ---------------------------------------------------------------------------------------------------

    def choose(self, context: ArrayLike | None = None) -> Floats:
        """The action to take while learning: uniform on its box, whatever the context and whatever was learned."""
        if context is not None:
            self._context(context)  # refuses what cannot be one
        with self._lock:
            places = self._numbers.uniforms(1, self._domain.actions.dim)
        found: Floats = self._domain.actions.from_unit(places)[0]
        return found

    def learn(self, action: ArrayLike, reward: float, context: ArrayLike | None = None) -> None:
        """Learn that `action` earned `reward` in `context`. Any time after the choice, in any order, each once.

        What lies outside its box or bound is moved to it, and counted. Whether a record comes must not depend on what
        is in it.
        """
        actions = np.atleast_1d(np.asarray(action))[None, ...]
        contexts = None if context is None else np.atleast_1d(np.asarray(context))[None, ...]
        self.learn_many(actions, np.array([real("reward", reward)]), contexts)

    def learn_many(self, actions: ArrayLike, rewards: ArrayLike, contexts: ArrayLike | None = None) -> None:
        """Learn n records at once: actions (n, d), rewards (n,), contexts (n, c). If one is bad, none is learned."""
        found = records_of(self._domain, actions, rewards, contexts)
        limit = self._config.horizon
        with self._lock:
            if limit is not None and self._rows + len(found.points) > limit:
                raise HorizonSpent(
                    f"Expected at most {limit - self._rows:,} more of {limit:,} records, got {len(found.points):,}. "
                    "Start a new learner with a longer horizon."
                )
            self._absorb(found.points, found.rewards)
            self._rows += len(found.points)
            self._moved_actions += found.moved_actions
            self._moved_contexts += found.moved_contexts
            self._moved_rewards += found.moved_rewards

    @abstractmethod
    def _absorb(self, points: Floats, rewards: Floats) -> None:
        """Add records that have been checked and centred."""

    # For whoever derives from it --------------------------------------------------------------------------------

    def _context(self, context: ArrayLike | None) -> Floats | None:
        """One context in its box, shape (1, c); None where there are none."""
        if self._domain.contexts is not None:
            return as_context(context, self._domain.contexts)[0]
        if context is not None:
            raise BadInput("Expected no context, got one: there are none here (context_box=None).")
        return None

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
