"""USCA: smooth functions of actions and contexts, learned by uniform exploration and released with privacy.

The configuration and what it refuses are here; `shared` has what every learner of a smooth function is told, `public`
what follows from it without data, `learner` the live one, `function` what it releases, `tuning` how τ is tuned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from tacit._validate import one_of, positive, real
from tacit.core.functions import FunctionPlan
from tacit.core.settings import drawn_by, option
from tacit.errors import BadInput
from tacit.kernels import Matern, SquaredExponential
from tacit.mechanisms.vector import scale_of, vector_event
from tacit.policies.usca import words
from tacit.policies.usca.function import FeatureFunction
from tacit.policies.usca.learner import USCALearner
from tacit.policies.usca.public import Public, public_of
from tacit.policies.usca.shared import KernelPolicy
from tacit.policies.usca.tuning import tuned_tau
from tacit.privacy.accountant import theorem_for
from tacit.privacy.card import SpendingPath
from tacit.privacy.event import ExponentialEvent, GaussianEvent, LatticeEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.promise import Promise
from tacit.privacy.scope import Neighbours, Protects, Trust, Unit
from tacit.privacy.theorem import Theorem

__all__ = ["USCA", "FeatureFunction", "USCALearner"]

#: τ = a·B/ε where none is given: a heuristic, flat about its optimum. docs/decisions/0018-usca.md.
TAU_RULE = 100.0


@dataclass(frozen=True, kw_only=True)
class USCA(KernelPolicy):
    """A function of a continuous action and a context, under joint differential privacy.

    While it learns, actions are drawn evenly from their box, whatever has been learned: exploration reveals nothing and
    costs nothing. A record (action x, context c, reward y) becomes y times a vector u(x, c) that depends on public
    things alone, with ‖u‖ ≤ S and |y| ≤ B by clipping, and is added to a secret sum v. Budget is spent by
    `release_function`, which publishes v once with Gaussian noise and can then be asked about any number of contexts,
    or by `predict_once`, one draw of the exponential mechanism for one context.

    Formal guarantee: (ε, δ)-joint DP for one replaced record, context and reward, of everything that is ever released;
    a ledger refuses what would exceed it. It holds for every finite input. Beyond that point, μ-GDP holds where a
    function is released first and ε-DP where draws alone add up to ε at most: the card has each. The answer to a query
    may depend on the query's own context, which is not protected from its own answer.

    `form="exact"` is the published Gram form, an oracle for up to 1,000 records. `calibration="published"` is the
    paper's exponential mechanism, with a certified supremum of σ² and no clipping of leverage.
    """

    slug: ClassVar[str] = "usca"
    summary: ClassVar[str] = "smooth functions by uniform exploration under joint DP; the function is released once"
    trust: ClassVar[Trust] = Trust.JOINT
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = "a kernel, boxes of actions and contexts, a bound on rewards, a horizon"
    unit: ClassVar[Unit] = Unit.round()

    epsilon: float = option("promised epsilon, for everything that is ever released")
    delta: float = option("promised delta")
    form: str = option('"features" (any horizon), or "exact": the published Gram form, up to 1,000 records', "features")
    tau: float | str | None = option(
        'regulariser: a number, "tuned" on public synthetic functions, or by default 100*B/epsilon (a heuristic)', None
    )
    clip: float = option("the leverage of records is clipped at this quantile of its public distribution", 0.95)
    calibration: str = option('"exact": clipped leverage and the range rule; "published": the paper\'s rule', "exact")

    def __post_init__(self) -> None:
        super().__post_init__()
        Promise(self.epsilon, self.delta)
        one_of("form", self.form, ("features", "exact"))
        one_of("calibration", self.calibration, ("exact", "published"))
        if isinstance(self.tau, str):
            one_of("tau", self.tau, ("tuned",), hint="Or give a number.")
        elif self.tau is not None:
            positive("tau", self.tau)
        if not 0 < real("clip", self.clip) <= 1:
            raise BadInput(f"Expected 0 < clip <= 1, a quantile, got clip={self.clip!r}.")
        if self.form == "exact" and self.tau == "tuned":
            raise BadInput('Expected a number for tau with form="exact", got tau="tuned": it is tuned on features.')

    @classmethod
    def examples(cls) -> tuple[USCA, ...]:
        every: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "action_box": ((0.0, 1.0),), "horizon": 500}
        smooth = SquaredExponential(length_scale=0.3)
        return (
            cls(**every, context_box=((0.0, 1.0),), kernel=smooth, reward_bound=1.3, features=49),
            cls(**every, kernel=Matern(2.5, length_scale=0.3), reward_low=0.0, reward_high=1.0, features=30, tau=5.0),
            cls(
                **{**every, "horizon": 60},
                context_box=((0.0, 1.0),),
                kernel=smooth,
                reward_bound=1.3,
                form="exact",
                calibration="published",
                tau=10.0,
                candidates=21,
            ),
        )

    # What was asked for -----------------------------------------------------------------------------------------

    @property
    def promise(self) -> Promise:
        return Promise(self.epsilon, self.delta)

    @property
    def calibrated(self) -> str:
        return self.calibration

    # What follows from it ---------------------------------------------------------------------------------------

    @cached_property
    def regulariser(self) -> float:
        """τ: as given, as tuned, or 100·B/ε."""
        if self.tau == "tuned":
            return tuned_tau(self)
        return TAU_RULE * self.bound / self.epsilon if self.tau is None else float(self.tau)

    @cached_property
    def public(self) -> Public:
        """Everything that is fixed before anyone comes."""
        return public_of(self)

    @property
    def sensitivity(self) -> float:
        """2BS: how far one replaced record can move v."""
        return 2 * self.bound * self.public.leverage

    def function_event(self, wanted: Promise | float, sampler: str) -> GaussianEvent | LatticeEvent:
        """What a function release is that keeps this promise, or has this price in μ."""
        return vector_event(self.sensitivity, self.public.size, self.records, wanted, sampler)

    def plan(self, sampler: str = "double") -> FunctionPlan:
        function = None if self.form == "exact" else self.function_event(self.promise, sampler)
        notes = [] if function is None else [words.ONCE]
        if self.tau is None:
            notes.append(words.HEURISTIC_TAU)
        elif self.tau == "tuned":
            notes.append(words.TUNED_TAU)
        if self.calibration == "published":
            notes.append(words.PUBLISHED)
        if function is not None:
            notes.append(words.CONTINUOUS)
        paths = self._paths(function)
        return FunctionPlan(
            paths=paths,
            guarantee=paths[-1].guarantee,
            noise_scale=None if function is None else scale_of(function),
            noise_scales={"leverage S": self.public.leverage, "tau": self.regulariser},
            assumptions=words.ASSUMPTIONS,
            notes=tuple(notes),
        )

    def _paths(self, function: GaussianEvent | LatticeEvent | None) -> tuple[SpendingPath, ...]:
        """What the ledger lets pass, by what was asked for first. The last covers all the others."""
        promise = self.promise
        scope = (self.trust, self.protects, Neighbours.REPLACE_ONE, self.unit)
        curve = Guarantee(*scope, promise.mu, promise.delta)
        draw = ExponentialEvent(promise.epsilon)
        pure = Guarantee(*scope, None, None, theorem=theorem_for(draw))
        point = Theorem(promise.epsilon, promise.delta, words.LEDGER)
        draws = SpendingPath("draws", words.DRAWS.format(epsilon=promise.epsilon), pure, draw)
        asked = words.MANY_DRAWS if function is None else words.MIXED
        mixed = SpendingPath("mixed", asked, Guarantee(*scope, None, None, theorem=point))
        if function is None:
            return (draws, mixed)
        return (SpendingPath("function", words.FUNCTION, curve, function), draws, mixed)

    def start(self, *, seed: int | None = None, sampler: str | None = None) -> USCALearner:
        seed, sampler = drawn_by(seed, sampler)
        return USCALearner(self, seed=seed, sampler=sampler)
