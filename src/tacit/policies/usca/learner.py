"""USCA at work: uniform exploration, a secret sum, and two doors out of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit._validate import positive
from tacit.core.functions import FunctionPlan
from tacit.errors import BadInput, BudgetSpent
from tacit.mechanisms.exponential import (
    diameter,
    draw_by_rejection,
    draw_candidate,
    published_rate,
    range_rate,
    with_rounding,
)
from tacit.mechanisms.vector import released
from tacit.policies.usca.exploring import ExploringLearner
from tacit.policies.usca.function import FeatureFunction, as_actions, as_context, pairs
from tacit.policies.usca.records import Domain
from tacit.privacy.event import ExponentialEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Bill, Ledger, Left
from tacit.privacy.promise import Promise

if TYPE_CHECKING:
    from tacit.policies.usca import USCA

#: Less of the promised μ than this is what rounding left over: a function of it would be noise.
_LEAST_SHARE = 0.01


class USCALearner(ExploringLearner):
    """A policy at work. `choose` reads nothing, `learn` writes the vault, and what leaves it is in the ledger first."""

    def __init__(self, config: USCA, *, seed: int | None, sampler: str, trial: int = 0) -> None:
        public = config.public
        domain = Domain(public.actions, public.contexts, config.middle, config.bound)
        super().__init__(config, domain, seed=seed, sampler=sampler, trial=trial)
        self._config, self._public = config, public
        self._sum = np.zeros(self._public.size)  # v; the exact form keeps its records instead
        self._kept: list[tuple[Floats, float]] = []
        self._ledger = Ledger(config.promise, trust=config.trust, protects=config.protects)
        self._asked: Floats | None = None  # the candidates of this budget

    # What it is -------------------------------------------------------------------------------------------------

    @property
    def config(self) -> USCA:
        """The configuration this learner was started from."""
        return self._config

    @property
    def spent(self) -> Guarantee:
        """What has been released so far costs this much."""
        return self._ledger.guarantee

    @property
    def left(self) -> Left:
        """What can still be spent: on one function, or on one draw."""
        return self._ledger.left

    def _plan(self) -> FunctionPlan:
        plan = self._config.plan(self._sampler)
        match self._ledger.ways:
            case ("curve",):
                return plan.left("function")
            case ("pure",):
                return replace(plan.left("draws"), noise_scale=None)
        # All paths before the first event; after it a function is not the first any more.
        return plan.left("draws", "mixed") if self._ledger.events else plan

    def _bill(self) -> Bill:
        return self._ledger.bill

    def _released(self) -> int:
        return len(self._ledger.events)

    def _absorb(self, points: Floats, rewards: Floats) -> None:
        if self._public.operator is None:
            self._kept.extend(zip(points, rewards.tolist(), strict=True))
        else:
            self._sum += self._public.operator.weighted_sum(points, rewards, self._public.leverage)

    # The two doors ----------------------------------------------------------------------------------------------

    def release_function(self, epsilon: float | None = None, delta: float | None = None) -> FeatureFunction:
        """Spend (ε, δ), by default all that is left, on the whole function: it may then be asked about any number of
        contexts, stored and shared.

        Formal guarantee: v in whole steps plus discrete Gaussians of scale s = 2BS/μ(ε, δ), drawn once: (ε, δ)-DP for
        one replaced record (`mechanisms/vector.py`).
        """
        public, config = self._public, self._config
        if public.operator is None:
            raise BadInput('Expected form="features" to release a function, got form="exact". Use predict_once there.')
        if (epsilon is None) != (delta is None):
            raise BadInput(f"Expected epsilon and delta together, got epsilon={epsilon!r}, delta={delta!r}.")
        with self._lock:
            if epsilon is not None and delta is not None:
                event = config.function_event(Promise(epsilon, delta), self._sampler)
            elif not self._ledger.events:
                event = config.function_event(config.promise, self._sampler)
            else:
                left = self._ledger.left.mu
                if left < _LEAST_SHARE * config.promise.mu:
                    raise BudgetSpent(
                        f"Expected enough of the budget for a function, got {self._ledger.left} left: it would be "
                        "nothing but noise. Nothing was spent."
                    )
                event = config.function_event(left, self._sampler)
            self._ledger.spend(event)  # before anything is drawn: what is refused leaves no trace
            noised = released(self._sum, event, self._numbers)
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
        public every time. "continuous" draws from the whole box, exactly and by rejection: it never gives up, and how
        long it takes depends on the data, which the guarantee does not cover.

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
            if scores is not None and actions is not None:
                place = draw_candidate(scores, rate, self._rng, words=self._numbers.words)
                found: Floats = public.actions.clip(actions[place : place + 1])[0][0]
                return found
            vector = self._sum.copy()
        return self._draw_anywhere(vector, row, rate)  # which may take long: nobody waits for it

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
        if points is None:
            # Two points of a continuous box are at most twice the certified length apart.
            apart, longest = 2 * math.sqrt(public.supremum), math.sqrt(public.supremum)
        else:
            rows = public.operator.u(points)
            apart, longest = diameter(rows), math.sqrt(float(np.einsum("ij,ij->i", rows, rows).max()))
        return range_rate(
            epsilon, config.bound, public.leverage, with_rounding(apart, longest, public.size, config.records)
        )

    def _draw_anywhere(self, vector: Floats, row: Floats | None, rate: float) -> Floats:
        public = self._public
        assert public.operator is not None
        mean = public.operator.mean
        upper = public.upper_bound(vector, row, tolerance=1.0 / max(rate, 1e-300))

        def score(actions: Floats) -> Floats:
            beside = actions if row is None else np.hstack([actions, np.repeat(row[None, :], len(actions), axis=0)])
            return mean(beside, vector)

        return draw_by_rejection(score, public.actions, rate, upper, self._rng, words=self._numbers.words).point

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
