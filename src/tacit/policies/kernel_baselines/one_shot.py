"""`FeatureLinUCB(mode="one-shot")`: both sums published once, under symmetric Gaussian noise.

N has standard deviation s off the diagonal and √2·s on it, n has s; m features, failure probability α, shift c > 1:

    Υ = s·(2√m + 2√ln(2/α)),   V = Σψψᵀ + N + max(cΥ, τ)·I,   θ = B·V⁻¹(Σψ·y/B + n).

‖N‖ ≤ Υ with probability 1 − α, by the tail in `joint_linucb.py`, and then V is positive definite: V ⪰ (c − 1)Υ·I.
Where it is not, Υ is added again. That is post-processing, as is all that follows the noise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tacit._types import Floats
from tacit.core.functions import FunctionPlan
from tacit.errors import BadInput
from tacit.mechanisms.vector import released, scale_of, vector_event
from tacit.noise.plain import Numbers
from tacit.policies.kernel_baselines import words
from tacit.policies.kernel_baselines.learner import BaselineLearner
from tacit.policies.kernel_baselines.moments import Moments, solved_ridge
from tacit.policies.usca.function import FeatureFunction
from tacit.privacy.card import SpendingPath
from tacit.privacy.event import GaussianEvent, LatticeEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Bill, Ledger, Left
from tacit.privacy.promise import Promise
from tacit.privacy.scope import Neighbours

if TYPE_CHECKING:
    from tacit.policies.kernel_baselines.feature_linucb import FeatureLinUCB

#: Records that a learner without a horizon takes, where noise is drawn exactly: the fewer, the finer its steps.
_MOST_RECORDS = 2**20
#: A matrix that is not positive definite is repaired so often, by twice as much each time.
_REPAIRS = 200
#: Below this share of the promised μ nothing is left: calibration keeps a millionth of a promise back, and a function
#: under the noise of that would be noise.
_NOTHING = 0.01


def event_for(config: FeatureLinUCB, wanted: Promise | float, sampler: str) -> GaussianEvent | LatticeEvent:
    """One release that keeps this promise, or has this price in μ."""
    size = config.map.size
    return vector_event(config.sensitivity, size * (size + 1) // 2 + size, most_records(config), wanted, sampler)


def most_records(config: FeatureLinUCB) -> int:
    """As the horizon has it; without one, as many as exact noise is planned for."""
    return _MOST_RECORDS if config.horizon is None else config.horizon


def noise_bound(config: FeatureLinUCB, scale: float) -> float:
    """Υ: how large the matrix noise is at most, but for a probability of `failure`."""
    return scale * 2 * (math.sqrt(config.map.size) + math.sqrt(math.log(2 / config.failure)))


def plan_of(config: FeatureLinUCB, sampler: str) -> FunctionPlan:
    """The plan of a single release."""
    event, promise = event_for(config, config.promise, sampler), config.promise
    scale = scale_of(event)
    # All that the ledger lets pass: in parts a little more than in one calibrated release.
    guarantee = Guarantee(config.trust, config.protects, Neighbours.REPLACE_ONE, config.unit, promise.mu, promise.delta)
    return FunctionPlan(
        paths=(SpendingPath("function", words.FUNCTION, guarantee, event),),
        guarantee=guarantee,
        noise_scale=scale,
        noise_scales={"regulariser": max(config.shift * noise_bound(config, scale), config.tau)},
        assumptions=words.ASSUMPTIONS,
        notes=(words.ONCE, words.STAND_IN),
    )


class OneShotLearner(BaselineLearner):
    """Exact sums, and one door out of them."""

    def __init__(self, config: FeatureLinUCB, *, seed: int | None, sampler: str) -> None:
        super().__init__(config, seed=seed, sampler=sampler)
        if sampler == "secure":
            self._limit = most_records(config)
        self._route = config
        self._moments = Moments(config.map)
        self._ledger = Ledger(config.promise, trust=config.trust, protects=config.protects)

    @property
    def spent(self) -> Guarantee:
        """What has been released so far costs this much."""
        return self._ledger.guarantee

    @property
    def left(self) -> Left:
        """What can still be spent on a function."""
        return self._ledger.left

    def _bill(self) -> Bill:
        return self._ledger.bill

    def _absorb(self, points: Floats, rewards: Floats) -> None:
        self._moments.add(points, rewards / self._domain.reach)

    def release_function(self, epsilon: float | None = None, delta: float | None = None) -> FeatureFunction:
        """Spend (ε, δ), by default all that is left, on the whole function: it may then be asked about any number of
        contexts, stored and shared.

        Formal guarantee: Σψψᵀ and Σψ·y/B with symmetric Gaussian noise s, drawn once: μ-GDP for one replaced record,
        μ = 2/s. Proof: `noise/symmetric.py`; `counters/tree.md` has the weight of a row.
        Requires: ‖ψ‖ ≤ 1 and |y| ≤ B (done by `learn_many`).
        """
        config = self._route
        if (epsilon is None) != (delta is None):
            raise BadInput(f"Expected epsilon and delta together, got epsilon={epsilon!r}, delta={delta!r}.")
        with self._lock:
            event, at = self._event(epsilon, delta)
            self._ledger.spend(event)  # before anything is drawn: what is refused leaves no trace
            matrix, vector = noised(self._moments, event, self._numbers)
            bound = noise_bound(config, scale_of(event))
            found = solved_shifted(matrix, vector, max(config.shift * bound, config.tau), bound)
            return self._function(found * self._domain.reach, _priced(config, event, at))

    def _event(self, epsilon: float | None, delta: float | None) -> tuple[GaussianEvent | LatticeEvent, float]:
        """What is about to be released, and the δ its price is read at."""
        config = self._route
        if epsilon is not None and delta is not None:
            return event_for(config, Promise(epsilon, delta), self._sampler), delta
        left = self._ledger.left.mu
        if not self._ledger.events or left < _NOTHING * config.promise.mu:  # the ledger then refuses, and says why
            return event_for(config, config.promise, self._sampler), config.delta
        return event_for(config, left, self._sampler), config.delta

    def __repr__(self) -> str:
        return f"<OneShotLearner of {self._config.slug}: {self._ledger}>"


def noised(moments: Moments, event: GaussianEvent | LatticeEvent, numbers: Numbers) -> tuple[Floats, Floats]:
    """Σψψᵀ and Σψ·y under a fresh draw of symmetric noise: of the event's scale off the diagonal and in the vector, √2
    times that on the diagonal, as in `noise/symmetric.py`. The diagonal is released in units of √2."""
    size = len(moments.vector)
    upper = np.triu_indices(size)
    units = np.where(upper[0] == upper[1], math.sqrt(2.0), 1.0)
    found = released(np.concatenate([moments.gram[upper] / units, moments.vector]), event, numbers)
    matrix = np.zeros((*found.shape[:-1], size, size))
    matrix[..., upper[0], upper[1]] = found[..., : len(units)] * units
    return matrix + np.triu(matrix, 1).swapaxes(-1, -2), found[..., len(units) :]


def solved_shifted(matrix: Floats, vector: Floats, regulariser: float, repair: float) -> Floats:
    """(V + regulariser·I)⁻¹·vector; where that is not positive definite, `repair` is added to the diagonal, twice as
    much each time. All of it is post-processing."""
    for _ in range(_REPAIRS):
        try:
            return solved_ridge(matrix, regulariser, vector)
        except np.linalg.LinAlgError:
            regulariser += repair
            repair *= 2
    raise RuntimeError("The noised matrix stayed indefinite: the sums are not finite.")


def _priced(config: FeatureLinUCB, event: GaussianEvent | LatticeEvent, delta: float) -> Guarantee:
    return Guarantee.priced(event, trust=config.trust, protects=config.protects, unit=config.unit, delta=delta)
