"""LinUCB without privacy: the line every private policy is measured against.

With `arms` each arm has a regression of its own on the context. Its inverse V⁻¹ and its estimate are kept up to date
row by row (Sherman and Morrison 1950), so a row costs O(p²) and what the other arms have is not touched. With `shared`
features of actions have a parameter that all arms share (Li et al. 2010). What is left of them, r = u − Tᵀz, is one row
of a regression of its own, and counts 1/(1 + zᵀV⁻¹z) times: O(p² + ps + s²) a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import linalg, preparation
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import positive, probability, whole
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.round import COUNTERS
from tacit.core.settings import option
from tacit.core.slate import arms_slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.counters.counter import EveryRow
from tacit.counters.exact import ExactCounter
from tacit.errors import BadInput
from tacit.estimators.by_arm import ArmsView, empty_arms_view
from tacit.estimators.prior import Prior
from tacit.estimators.ridge import Confidence, confidence_of, first_view
from tacit.explorations import Optimism, left_over
from tacit.policies import by_arm
from tacit.policies._options import (
    REACH_WITHOUT_NOISE,
    check_prior,
    check_shared,
    failure_or_default,
    width_multiplier,
    width_word,
)
from tacit.policies.linear import REPORTED, Bounds, Linear, count_row, linear_vault, no_bounds
from tacit.preparation import Preparation, Steps
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust


@dataclass(frozen=True, kw_only=True)
class LinUCB(Policy):
    """Optimism in the face of uncertainty on ridge regression (Abbasi-Yadkori, Pál and Szepesvári 2011).

    Not private: every choice depends on everybody's exact data. Rows are taken as they come, but for numbers that would
    end the learning: they are clipped at 1e20.
    """

    slug: ClassVar[str] = "linucb"
    summary: ClassVar[str] = "LinUCB without privacy: the baseline"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "nothing"

    by_arm: ClassVar[bool] = True

    dim: int = option("number of features of an action, or with arms of a context")
    arms: int | None = option(
        "number of arms that share a context and have a parameter each; none: actions are vectors", None
    )
    shared: int | None = option(
        "number of features that each action has besides, whose parameter all arms share (hybrid); none: no features",
        None,
    )
    preparation: Any = option(
        'how contexts are prepared, with arms: "standard" (without a centre), "none", or a tacit.Preparation', None
    )
    noise_level: float = option("sub-Gaussian level of the reward noise, sigma", 1.0)
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    ridge: float = option("regulariser added to the Gram matrix", 1.0)
    horizon: int | None = option("number of rounds, if known: sets the default failure probability to 1/horizon", None)
    failure: float | None = option("failure probability alpha of a proved width", None)
    width: float | str | None = option(
        '"noise-aware" (no theorem; the default), "theory" (proved), or a number that multiplies the theory\'s', None
    )
    prior: Prior | None = option("sums of public rows to start from", None)

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        object.__setattr__(self, "prior", check_prior(self.prior, self.dim))
        positive("noise_level", self.noise_level)
        positive("parameter_norm", self.parameter_norm)
        positive("ridge", self.ridge)
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2)
        if self.failure is not None:
            probability("failure", self.failure)
        if self.width is None:
            object.__setattr__(self, "width", "noise-aware")
        width_word(self.width)
        self._settle_arms()

    def _settle_arms(self) -> None:
        check_shared(self)
        if self.arms is None:
            if self.preparation is not None:
                raise BadInput(
                    "Expected preparation with arms only, got it without. Prepare actions before they are offered."
                )
            return
        whole("arms", self.arms, low=2)
        if self.prior is not None:
            raise BadInput("Expected no prior with arms, got one: sums of public rows are of one parameter.")
        found = preparation.as_option(self.preparation)
        if self.preparation in (None, "standard"):
            found = replace(found, centre_rounds=0)
        if found.centre_rounds:
            raise BadInput(
                f"Expected centre_rounds=0 of {self.slug}, got {found.centre_rounds}: without noise nothing is gained."
            )
        object.__setattr__(self, "preparation", found)

    @classmethod
    def examples(cls, dim: int) -> tuple[LinUCB, ...]:
        return (
            cls(dim=dim),
            cls(dim=dim, ridge=0.5, width=0.3),
            cls(dim=dim, width="theory"),
            cls(dim=dim, arms=3),
            cls(dim=dim, arms=3, preparation="none", width="theory"),
            cls(dim=dim, arms=3, shared=dim, preparation="none"),
        )

    @property
    def rows_may_come_late(self) -> bool:
        return True  # nothing is promised that an order could break

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    def plan(self, sampler: str = "double") -> Plan:
        if self.arms is not None:
            return self._plan_of_arms(self.arms)
        size, counter = linalg.packed_size(self.dim) + self.dim, ExactCounter()
        known = np.zeros(size) if self.prior is None else self.prior.packed()
        confidence = self._confidence(self.dim)
        return Plan(
            params=Linear(no_bounds(), EveryRow(), counter.in_doubles(0.0), confidence, Optimism()),
            vault=lambda: linear_vault(known.copy(), memory_rows=1),
            view=lambda: first_view(self.dim, confidence, known),  # with nothing known: V = ridge·I, a ball
            report_size=self.dim + REPORTED,
            event=counter.event(0.0, 0.0),
            guarantee=Guarantee.none(),
            notes=() if self.prior is None else (f"Warm start from {self.prior.rows:,} rows.",),
        )

    def _confidence(self, dim: int) -> Confidence:
        """The numbers of β: the theorem's, or a noise-aware width, which is κ₁σ whatever the sums."""
        ridge = np.array([float(self.ridge)])
        if self.width == "noise-aware":
            return confidence_of(
                dim,
                noise_level=0.0,
                multiplier=1.0,
                failure=self.failure_probability,
                floor=self.ridge,
                regulariser=ridge,
                repair=ridge,
                bias=np.array([REACH_WITHOUT_NOISE * self.noise_level]),
            )
        return confidence_of(
            dim,
            noise_level=self.noise_level,
            multiplier=width_multiplier(self.width),
            failure=self.failure_probability / (self.arms or 1),
            floor=self.ridge,
            regulariser=ridge,
            repair=ridge,
            bias=np.array([self.parameter_norm * math.sqrt(self.ridge)]),
        )

    def _plan_of_arms(self, arms: int) -> Plan:
        """Nothing is released but what was learned, exactly."""
        prepared: Preparation = self.preparation
        width, shared = prepared.width(self.dim), self.shared or 0
        steps = prepared.steps(self.dim, 1.0, shared > 0)
        params = Recursive(no_bounds(), steps, float(self.ridge), self._confidence(width), Optimism())
        return Plan(
            params=params,
            vault=lambda: _empty_vault(arms, width, shared, self.ridge),
            view=lambda: _first_view(arms, self.dim, width, shared, params),
            report_size=width + shared + by_arm.REPORTED,
            event=ExactCounter().event(0.0, 0.0),
            guarantee=Guarantee.none(),
            arms=arms,
            slate=lambda offered: arms_slate(self.dim, arms, width, shared),
        )


class Recursive(NamedTuple):
    """Params with a parameter per arm, learned row by row."""

    row: Bounds
    preparation: Steps
    ridge: float
    estimate: Confidence
    exploration: Any


class RecursiveVault(NamedTuple):
    """Exact: V⁻¹, θ̂ and ln det V of each arm, and which of them the view does not have yet."""

    inverse: Floats  # (arms, width, width)
    theta: Floats  # (arms, width)
    growth: Floats  # (arms,) ln det V
    changed: Ints  # (arms,)
    scratch: Floats  # (width,)
    counters: Ints
    shared: Floats  # (shared,) of features, of what they have left
    shared_inverse: Floats  # (shared, shared)
    ties: Floats  # (arms, width, shared)
    residual: Floats  # (2, shared) room


def _empty_vault(arms: int, width: int, shared: int, ridge: float) -> RecursiveVault:
    return RecursiveVault(
        np.tile(np.eye(width) / ridge, (arms, 1, 1)),
        np.zeros((arms, width)),
        np.full(arms, width * math.log(ridge)),
        np.zeros(arms, np.int64),
        np.zeros(width),
        np.zeros(COUNTERS, np.int64),
        np.zeros(shared),
        np.eye(shared) / ridge,
        np.zeros((arms, width, shared)),
        np.zeros((2, shared)),
    )


def _first_view(arms: int, dim: int, width: int, shared: int, params: Recursive) -> ArmsView:
    view = empty_arms_view(arms, dim, width, shared)
    view.spread[:] = np.eye(width) / params.ridge
    view.shared_spread[:] = np.eye(shared) / params.ridge
    view.width[:] = _width(params.estimate, width * math.log(params.ridge))
    return view


implements(choose, Recursive)(by_arm.choose_arm)
implements(encode, Recursive)(by_arm.prepare_row)


@implements(absorb, Recursive)
@kernel
def _absorb(params: Recursive, vault: RecursiveVault, report: Floats) -> None:
    """V ← V + z zᵀ of one arm: V⁻¹ and θ̂ follow, V⁻¹_new z = k·V⁻¹z and θ̂ + k·V⁻¹z·(y − <z, θ̂>). Then the same for what
    features have left, r, and what rewards have left, as a row that counts k times: T ← T + k·V⁻¹z·rᵀ."""
    own, width = vault.scratch.shape[0], report.shape[0] - by_arm.REPORTED
    count_row(report, vault.counters)
    arm = int(report[width + 1])
    if arm < 0:
        return
    z, theta, out = report[:own], vault.theta[arm], vault.scratch
    error = report[width] - linalg.dot(z, theta)
    share = linalg.add_outer_to_inverse(vault.inverse[arm], z, 1.0, out)
    for i in range(own):
        theta[i] += share * error * out[i]
    vault.growth[arm] -= math.log(share)
    vault.changed[arm] = 1
    if width > own:
        learn_left(
            z, report[own:width], error, share, out, vault.ties[arm], vault.shared, vault.shared_inverse, vault.residual
        )


@kernel
def learn_left(
    z: Floats,
    features: Floats,
    error: float,
    share: float,
    direction: Floats,
    ties: Floats,
    shared: Floats,
    inverse: Floats,
    residual: Floats,
) -> None:
    """What a row says of the shared part, given the `error` of its arm, k = `share` and V⁻¹z before it, `direction`."""
    rest, out = residual[0], residual[1]
    left_over(ties, z, features, rest)
    for i in range(z.shape[0]):
        for j in range(rest.shape[0]):
            ties[i, j] += share * direction[i] * rest[j]
    error -= linalg.dot(shared, rest)
    weight = share * linalg.add_outer_to_inverse(inverse, rest, share, out)
    for j in range(rest.shape[0]):
        shared[j] += weight * error * out[j]


@implements(release, Recursive)
@kernel
def _release(params: Recursive, vault: RecursiveVault, view: Any, noise: Any) -> None:
    """Show what was learned of the arms that have new rows. Nothing here is private."""
    for arm in range(vault.changed.shape[0]):
        if vault.changed[arm] != 0:
            vault.changed[arm] = 0
            theta, spread = view.theta[arm], view.spread[arm]
            for i in range(theta.shape[0]):
                theta[i] = vault.theta[arm, i]
                for k in range(theta.shape[0]):
                    spread[i, k] = vault.inverse[arm, i, k]
            view.width[arm] = _width(params.estimate, vault.growth[arm])
            if vault.shared.shape[0] > 0:
                copy_matrix(vault.ties[arm], view.ties[arm])
                copy_matrix(vault.shared_inverse, view.shared_spread)
                for i in range(vault.shared.shape[0]):
                    view.shared[i] = vault.shared[i]
    view.stage[0] += 1


@kernel
def copy_matrix(source: Floats, out: Floats) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            out[i, j] = source[i, j]


@kernel
def _width(estimate: Confidence, growth: float) -> float:
    """β, given ln det V."""
    grown = max(0.0, growth - estimate.log_floor[0])
    beta = estimate.noise_level * math.sqrt(estimate.log_term[0] + grown) + estimate.bias[0]
    width: float = estimate.multiplier * beta
    return width
