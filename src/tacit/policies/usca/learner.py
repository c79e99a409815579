"""USCA at work: uniform exploration, a secret sum, and two doors out of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import positive, real
from tacit.core.functions import FunctionLearner
from tacit.core.learner import POLICY
from tacit.errors import BadInput, BudgetSpent, HorizonSpent
from tacit.mechanisms.exponential import diameter, draw_by_rejection, draw_candidate, published_rate, range_rate
from tacit.noise.plain import Numbers
from tacit.policies.usca.function import FeatureFunction, as_actions, as_context, pairs
from tacit.policies.usca.records import Domain, records_of
from tacit.privacy.card import Card
from tacit.privacy.event import ExponentialEvent, GaussianEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.promise import Promise

if TYPE_CHECKING:
    from tacit.policies.usca import USCA

#: Less of the promised μ than this is what rounding left over: a function of it would be noise.
_LEAST_SHARE = 0.01


@dataclass(frozen=True, repr=False)
class FunctionDiagnostics:
    """VAULT: these numbers depend on people's data and are not covered by the guarantee. Do not publish them."""

    rows: int
    clipped_contexts: int
    clipped_actions: int
    clipped_rewards: int
    releases: int

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"FunctionDiagnostics(VAULT, not private, do not publish: {facts})"


class USCALearner(FunctionLearner):
    """A policy at work. `choose` reads nothing, `learn` writes the vault, and what leaves it is in the ledger first."""

    def __init__(self, config: USCA, *, seed: int | None, trial: int = 0) -> None:
        super().__init__()
        self._config, self._public = config, config.public
        self._numbers = Numbers(seed, trial, POLICY)
        self._domain = Domain(self._public.actions, self._public.contexts, config.middle, config.bound)
        self._sum = np.zeros(self._public.size)  # v; the exact form keeps its records instead
        self._kept: list[tuple[Floats, float]] = []
        self._rows = self._moved_contexts = self._moved_actions = self._moved_rewards = 0
        self._ledger = Ledger(config.promise, trust=config.trust, protects=config.protects)
        self._asked: Floats | None = None  # the candidates of this budget

    # What it is -------------------------------------------------------------------------------------------------

    @property
    def config(self) -> USCA:
        """The configuration this learner was started from."""
        return self._config

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to whoever it learns from, for all that will ever be released."""
        found = self._config.guarantee
        return found.with_seed() if self._numbers.seeded else found

    @property
    def spent(self) -> Guarantee:
        """What has been released so far costs this much."""
        return self._ledger.guarantee

    @property
    def left(self) -> Any:
        """What can still be spent: on one function, or on one draw."""
        return self._ledger.left

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
                releases=len(self._ledger.events),
            )

    # Learning ---------------------------------------------------------------------------------------------------

    def choose(self, context: ArrayLike | None = None) -> Floats:
        """The action to take while learning: uniform on its box, whatever the context and whatever was learned."""
        if context is not None:
            if self._public.contexts is None:
                raise BadInput("Expected no context, got one: there are none here (context_box=None).")
            as_context(context, self._public.contexts)  # refuses what cannot be one
        with self._lock:
            places = self._numbers.uniforms(1, self._public.actions.dim)
        found: Floats = self._public.actions.from_unit(places)[0]
        return found

    def learn(self, action: ArrayLike, reward: float, context: ArrayLike | None = None) -> None:
        """Learn that `action` earned `reward` in `context`. Any time after the choice, in any order, each once.

        What lies outside its box or bound is moved to it, and counted. Whether a record comes must not depend on what
        is in it: where the reward never comes, learn the middle of its interval.
        """
        actions = np.atleast_1d(np.asarray(action))[None, ...]
        contexts = None if context is None else np.atleast_1d(np.asarray(context))[None, ...]
        self.learn_many(actions, np.array([real("reward", reward)]), contexts)

    def learn_many(self, actions: ArrayLike, rewards: ArrayLike, contexts: ArrayLike | None = None) -> None:
        """Learn n records at once: actions (n, d), rewards (n,), contexts (n, c). If one is bad, none is learned."""
        public, config = self._public, self._config
        found = records_of(self._domain, actions, rewards, contexts)
        with self._lock:
            if self._rows + len(found.points) > config.records:
                raise HorizonSpent(
                    f"Expected at most {config.records - self._rows:,} more of {config.records:,} records, got "
                    f"{len(found.points):,}. The operator is made for the declared horizon: start a new learner for "
                    "more."
                )
            if public.operator is None:
                self._kept.extend(zip(found.points, found.rewards.tolist(), strict=True))
            else:
                self._sum += public.operator.weighted_sum(found.points, found.rewards, public.leverage)
            self._rows += len(found.points)
            self._moved_actions += found.moved_actions
            self._moved_contexts += found.moved_contexts
            self._moved_rewards += found.moved_rewards

    # The two doors ----------------------------------------------------------------------------------------------

    def release_function(self, epsilon: float | None = None, delta: float | None = None) -> FeatureFunction:
        """Spend (ε, δ), by default all that is left, on the whole function: it may then be asked about any number of
        contexts, stored and shared.

        Formal guarantee: v + s·N(0, I) with s = 2BS/μ(ε, δ), drawn once: (ε, δ)-DP for one replaced record.
        """
        public, config = self._public, self._config
        if public.operator is None:
            raise BadInput('Expected form="features" to release a function, got form="exact". Use predict_once there.')
        if (epsilon is None) != (delta is None):
            raise BadInput(f"Expected epsilon and delta together, got epsilon={epsilon!r}, delta={delta!r}.")
        with self._lock:
            if epsilon is not None and delta is not None:
                event = config.function_event(Promise(epsilon, delta))
            elif not self._ledger.events:
                event = config.function_event(config.promise)
            else:
                left = self._ledger.left.mu
                if left < _LEAST_SHARE * config.promise.mu:
                    raise BudgetSpent(
                        f"Expected enough of the budget for a function, got {self._ledger.left} left: it would be "
                        "nothing but noise. Nothing was spent."
                    )
                event = GaussianEvent(config.sensitivity / left * (1 + 1e-9), config.sensitivity)
            self._ledger.spend(event)  # before anything is drawn: what is refused leaves no trace
            noised = self._sum + event.scale * self._numbers.normals(public.size)
            share = config.records / max(self._rows, 1)
        guarantee = Guarantee.priced(
            event,
            trust=config.trust,
            protects=config.protects,
            unit=config.unit,
            delta=config.delta if delta is None else delta,
        )
        return FeatureFunction(
            features=public.operator.features,
            coefficients=public.operator.coefficients(noised) * share,
            actions=public.actions,
            contexts=public.contexts,
            middle=config.middle,
            rows=self._rows,
            guarantee=guarantee.with_seed() if self._numbers.seeded else guarantee,
        )

    def predict_once(
        self,
        context: ArrayLike | None,
        epsilon: float,
        candidates: ArrayLike | None = None,
        *,
        public_candidates: bool = False,
    ) -> Floats:
        """One action for one context, drawn by the exponential mechanism at a price of `epsilon`.

        `candidates`, of shape (K, d), are what it is drawn from: by default the public grid of the configuration. They
        must not depend on the data. So they stay the same for one budget, unless `public_candidates` says that they are
        public every time. "continuous" draws from the whole box, exactly and by rejection: how long that takes depends
        on the data, which the guarantee does not cover.

        Formal guarantee: ε-DP for one replaced record, other than the one whose context is asked about.
        """
        promised = positive("epsilon", epsilon)
        public, config = self._public, self._config
        whole_box = isinstance(candidates, str)
        if whole_box and candidates != "continuous":
            raise BadInput(f'Expected candidates to be an array or "continuous", got {candidates!r}.')
        if whole_box and public.operator is None:
            raise BadInput('Expected form="features" for candidates="continuous", got form="exact".')
        actions = (
            None if whole_box else as_actions(config.grid if candidates is None else candidates, public.actions.dim)
        )
        row = None if public.contexts is None else as_context(context, public.contexts)[0][0]
        points = None if actions is None else pairs(actions, context, public.actions, public.contexts)
        with self._lock:
            if actions is not None:
                self._refuse_other(actions, public_candidates)
            scores = None if points is None else self._means(points)
            rate = self._rate(promised, points)
            self._ledger.spend(ExponentialEvent(promised))
            if actions is not None and not public_candidates:
                self._asked = actions
            if scores is None or actions is None:
                return self._draw_anywhere(row, rate)
            place = draw_candidate(scores, rate, self._numbers.generator)
        found: Floats = public.actions.clip(actions[place : place + 1])[0][0]
        return found

    def _means(self, points: Floats) -> Floats:
        """μ at these points. Vault."""
        if self._public.operator is not None:
            return self._public.operator.mean(points, self._sum)
        assert self._public.exact is not None
        if not self._kept:
            return np.zeros(len(points))
        records = np.array([record for record, _ in self._kept])
        return self._public.exact.mean(points, records, np.array([reward for _, reward in self._kept]))

    def _rate(self, epsilon: float, points: Floats | None) -> float:
        """η: by how much the logarithm of a probability grows with μ."""
        public, config = self._public, self._config
        if config.calibration == "published" or public.operator is None:
            return published_rate(epsilon, config.bound, public.supremum)
        # Two points of a continuous box are at most twice the certified length apart.
        apart = 2 * math.sqrt(public.supremum) if points is None else diameter(public.operator.u(points))
        return range_rate(epsilon, config.bound, public.leverage, apart)

    def _draw_anywhere(self, row: Floats | None, rate: float) -> Floats:
        public = self._public
        upper = public.upper_bound(self._sum, row, tolerance=1.0 / max(rate, 1e-300))

        def score(actions: Floats) -> Floats:
            beside = actions if row is None else np.hstack([actions, np.repeat(row[None, :], len(actions), axis=0)])
            return self._means(beside)

        return draw_by_rejection(score, public.actions, rate, upper, self._numbers.generator).point

    def _refuse_other(self, actions: Floats, public_candidates: bool) -> None:
        if public_candidates or self._asked is None:
            return
        if self._asked.shape != actions.shape or not np.array_equal(self._asked, actions):
            raise BadInput(
                f"Expected the {len(self._asked):,} candidates of this budget's first prediction, got other ones: "
                "chosen with an eye on the data they would reveal it. If they are public, say public_candidates=True."
            )

    def __repr__(self) -> str:
        return f"<USCALearner of {self._config.slug}: {self._ledger}>"
