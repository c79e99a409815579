"""What learners of functions have in common: even exploration, and records that are checked, counted and not kept."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import numbers
from tacit._types import Floats
from tacit._validate import any_datum
from tacit.core import forks
from tacit.core.functions import FunctionLearner, FunctionPlan
from tacit.core.learner import POLICY
from tacit.errors import BadInput, HorizonSpent
from tacit.noise.plain import Numbers
from tacit.policies.usca.function import as_context
from tacit.policies.usca.records import Domain, records_of
from tacit.policies.usca.shared import KernelPolicy
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Bill


@dataclass(frozen=True, repr=False)
class FunctionDiagnostics:
    """VAULT: these numbers depend on people's data and are not covered by the guarantee. Do not publish them."""

    rows: int
    clipped_contexts: int
    clipped_actions: int
    clipped_rewards: int
    unfit: int  #: records with a number that was not finite, or beyond 1e100
    releases: int

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"FunctionDiagnostics(VAULT, not private, do not publish: {facts})"


class ExploringLearner(FunctionLearner):
    """A learner at work: exploration is even unless it says otherwise."""

    def __init__(self, config: KernelPolicy, domain: Domain, *, seed: int | None, sampler: str, trial: int = 0) -> None:
        super().__init__()
        self._sampler = sampler
        self._settings, self._domain = config, domain
        self._numbers = Numbers(seed, trial, POLICY)
        self._limit = config.horizon  # records at most
        self._rows = self._moved_contexts = self._moved_actions = self._moved_rewards = self._unfit = 0
        if seed is None:
            forks.watch(self)

    def in_child(self) -> None:
        """After a fork: records and budget of one that has been at work belong to the parent, and no call works here;
        one that has not draws noise of its own."""
        self._lock = forks.Elsewhere() if self._rows or self._released() else Lock()

    @property
    def _rng(self) -> np.random.Generator | None:
        """What draws in double precision, in a simulation; None: noise is drawn exactly."""
        return self._numbers.generator if self._sampler == "double" else None

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to those it learns from, for all that has been and will ever be released."""
        found = self._plan().guarantee
        return found.with_seed() if self._numbers.seeded else found

    def card(self) -> Card:
        """The privacy card of this learner: what has been spent, what is left, and which ways of asking are open."""
        seeded = self._numbers.seeded
        return self._settings.card_of(self._plan(), self._sampler, seeded=seeded, spent=self._bill())

    def _plan(self) -> FunctionPlan:
        """The plan, or what is left of it."""
        return self._settings.plan(self._sampler)

    def _bill(self) -> Bill | None:
        """What has been spent, where asking spends."""
        return None

    def diagnostics(self) -> FunctionDiagnostics:
        """Counts for the operator's eyes only: they come from the vault and are not private."""
        with self._lock:
            return FunctionDiagnostics(
                rows=self._rows,
                clipped_contexts=self._moved_contexts,
                clipped_actions=self._moved_actions,
                clipped_rewards=self._moved_rewards,
                unfit=self._unfit,
                releases=self._released(),
            )

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
        is in it: where no reward comes give `float("nan")`. A record with a number that is not finite counts as one in
        the middle of everything.
        """
        actions = np.atleast_1d(numbers("action", action))[None, ...]
        contexts = None if context is None else np.atleast_1d(numbers("context", context))[None, ...]
        self.learn_many(actions, np.array([any_datum("reward", reward)]), contexts)

    def learn_many(self, actions: ArrayLike, rewards: ArrayLike, contexts: ArrayLike | None = None) -> None:
        """Learn n records at once: actions (n, d), rewards (n,), contexts (n, c). If they do not go together, none is
        learned."""
        found = records_of(self._domain, actions, rewards, contexts)
        limit = self._limit
        with self._lock:
            if limit is not None and self._rows + len(found.points) > limit:
                raise HorizonSpent(
                    f"Expected at most {limit - self._rows:,} more of {limit:,} records, got {len(found.points):,}. "
                    "Start a new learner with a longer horizon."
                )
            # Counted first: an interrupt, or a fork, in between leaves a record out, and never one in uncounted.
            self._rows += len(found.points)
            self._absorb(found.points, found.rewards)
            self._moved_actions += found.moved_actions
            self._moved_contexts += found.moved_contexts
            self._moved_rewards += found.moved_rewards
            self._unfit += found.unfit

    @abstractmethod
    def _absorb(self, points: Floats, rewards: Floats) -> None:
        """Add records that have been checked and centred."""

    @abstractmethod
    def _released(self) -> int:
        """How many releases there have been."""

    def _context(self, context: ArrayLike | None) -> Floats | None:
        """One context in its box, shape (1, c); None where there are none."""
        if self._domain.contexts is not None:
            return as_context(context, self._domain.contexts)[0]
        if context is not None:
            raise BadInput("Expected no context, got one: there are none here (context_box=None).")
        return None
