"""Runs of a learner of functions that has one record, and whose only chance is its noise: a batch at a time.

A learner is made ready once for a batch, by its own `learn`, and then releases the whole batch: through the very code
that releases once, handed many numbers where it would draw a few.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from tacit._types import Floats, Ints
from tacit.auditing.attack import BEYOND
from tacit.auditing.scores import Score, table
from tacit.mechanisms.exponential import probabilities
from tacit.mechanisms.exponential.candidates import placed
from tacit.mechanisms.exponential.uniforms import from_words
from tacit.mechanisms.vector import scale_of
from tacit.noise.plain import Numbers
from tacit.policies.kernel_baselines.moments import unit_rows
from tacit.policies.kernel_baselines.one_shot import noise_bound, noised, solved_shifted

#: Candidates of a draw: one that the record pulls at, and all others in one place. The more there are, the less the
#: pull on the one changes the sum of all weights, which would take back part of what the odds show.
CANDIDATES = 32


class Case(NamedTuple):
    """The point (action and context side by side) of the record whose reward is turned."""

    point: Floats
    share: float  #: how much of the sensitivity that the noise is set for this record attains


class Choice(NamedTuple):
    """What a draw is asked for: one candidate and another, and the context they are asked about."""

    here: Floats
    there: Floats
    context: Floats | None


@dataclass(frozen=True)
class OneRecord(ABC):
    """A learner that has one record, and its twins. What it releases is for those who derive from this to say."""

    config: Any
    case: Case
    clipped: bool = True
    sampler: str = "double"  #: how noise is drawn
    sharper: float = 1.0  #: how many times too little noise there is, or how many times too steep a rate
    reads: int = 1  #: how often the same thing is drawn anew

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> Floats:
        """See `Sampler`."""
        learner = self._ready(world)
        found = [self._released(learner, runs, Numbers(seed, *path, read)) for read in range(self.reads)]
        return np.concatenate(found, axis=1)

    def vectors(self, world: int, runs: int, numbers: Any, part: float) -> Floats:
        """The noised sums, before anything is made of them: of a record whose reward adds nothing, or in the other
        world this part of the largest."""
        learner = self._taught(world * part * float(self.config.bound))
        return self._summed(learner, runs, numbers)

    def _summed(self, learner: Any, runs: int, numbers: Any) -> Floats:
        raise TypeError(f"{type(self).__name__} releases no sums.")

    def _ready(self, world: int) -> Any:
        """A learner that has learned the record of this world."""
        return self._taught(reward_of(self.config, world))

    def _taught(self, reward: float) -> Any:
        """A learner that has learned the record with this reward. Its seed is used for nothing."""
        learner: Any = self.config.start(seed=0, sampler=self.sampler)
        action, context = self._split(self.case.point)
        if self.clipped:
            learner.learn(action, self.config.middle + reward, context)
        else:
            # Past the check of records, where rewards are clipped.
            learner._absorb(self.case.point[None, :], np.array([reward]))
        return learner

    def _split(self, point: Floats) -> tuple[Floats, Floats | None]:
        dim = self.config.actions.dim
        return point[:dim], None if self.config.context_box is None else point[dim:]

    @abstractmethod
    def _released(self, learner: Any, runs: int, numbers: Numbers) -> Floats:
        """What so many releases of this learner show, of shape (runs, numbers)."""


@dataclass(frozen=True)
class Functions(OneRecord):
    """USCA's `release_function`: the value of the released function at the record's own point.

    That value is u(w)ᵀ(v + noise) for the record's w: of all that is released, the one number that depends on the
    record, and so as good as all of it.
    """

    def _released(self, learner: Any, runs: int, numbers: Numbers) -> Floats:
        # A new learner for each batch, since a learner releases once. What it runs is `release_function` itself, ledger
        # and calibration included; only where it draws one vector of noise it is handed one for every run, and where it
        # solves for one vector of coefficients it solves for all.
        learner = self._again(learner)
        operator = learner._public.operator
        learner._numbers = _ManyNumbers(numbers, runs, self.sharper)
        learner._public = replace(learner._public, operator=_ManyVectors(operator))
        coefficients = learner.release_function().coefficients
        found: Floats = coefficients @ operator.features.psi(self.case.point[None, :]).T
        return found

    def _summed(self, learner: Any, runs: int, numbers: Any) -> Floats:
        learner = self._again(learner)
        learner._numbers = _ManyNumbers(numbers, runs, self.sharper)
        learner._rows = self.config.records  # as many as planned: nothing is multiplied
        learner._public = replace(learner._public, operator=_Unsolved(learner._public.operator.features))
        found: Floats = learner.release_function().coefficients
        return found

    def _again(self, learner: Any) -> Any:
        """Another learner with the same sum: reads of one sum are what a twin does."""
        other: Any = self.config.start(seed=0, sampler=self.sampler)
        other._sum, other._rows = learner._sum.copy(), learner._rows
        return other


class _ManyNumbers:
    """`Numbers` that hands out as many arrays as there are runs, in one."""

    seeded = True

    def __init__(self, numbers: Any, runs: int, sharper: float) -> None:
        self._numbers, self._runs, self._sharper = numbers, runs, sharper

    def normals(self, *shape: int) -> Floats:
        return np.asarray(self._numbers.normals(self._runs, *shape) / self._sharper)

    def discrete(self, scale: float, count: int) -> Floats:
        found: Floats = self._numbers.discrete(scale / self._sharper, self._runs * count)
        return found.reshape(self._runs, count)


class _ManyVectors:
    """An `Operator` that finds the coefficients of many vectors, in one product."""

    def __init__(self, operator: Any) -> None:
        self.features, self.size = operator.features, operator.size
        self._solved = np.array([operator.coefficients(row) for row in np.eye(operator.size)])

    def coefficients(self, vectors: Floats) -> Floats:
        found: Floats = vectors @ self._solved
        return found


@dataclass(frozen=True)
class _Unsolved:
    """An `Operator` that leaves vectors as they are."""

    features: Any

    def coefficients(self, vectors: Floats) -> Floats:
        return vectors


@dataclass(frozen=True)
class Draws(OneRecord):
    """USCA's `predict_once` at the whole ε: whether the one candidate was drawn, or which of the others."""

    choice: Choice = field(kw_only=True)
    candidates: int = CANDIDATES

    def _released(self, learner: Any, runs: int, numbers: Numbers) -> Floats:
        actions = np.array([self.choice.here] + [self.choice.there] * (self.candidates - 1))
        context = self.choice.context
        points = actions if context is None else np.hstack([actions, np.tile(context, (len(actions), 1))])
        # Scores and rate as `predict_once` works them out. What is left out of it comes between that and the draw: the
        # ledger, which would take one draw and refuse the second.
        scores, rate = learner._means(points), self.sharper * learner._rate(self.config.epsilon, points)
        if self.sampler == "secure":
            found = exact_candidates(scores, rate, numbers, runs)
        else:
            assert numbers.generator is not None
            found = drawn_candidates(scores, rate, numbers.generator, runs)
        # The others are alike: which of them it was says nothing, and would blur the table.
        return np.minimum(found.astype(np.float64), 1.0)[:, None]


def exact_candidates(scores: Floats, rate: float, numbers: Numbers, runs: int) -> Ints:
    """What so many calls of `draw_candidate` give that draw exactly from these words, and nothing is checked in."""
    x = np.maximum(rate * (scores.max() - scores), 0.0)
    return np.array([placed(x, numbers.words) for _ in range(runs)], np.int64)


def drawn_candidates(scores: Floats, rate: float, rng: np.random.Generator, runs: int) -> Ints:
    """What so many calls of `draw_candidate` with this generator give, to the bit and at a fiftieth of the time."""
    count = len(scores)
    words = rng.integers(0, 2**64, size=(runs, 2, count), dtype=np.uint64)
    uniform = from_words(np.ascontiguousarray(words.transpose(1, 0, 2)).ravel()).reshape(runs, count)
    with np.errstate(divide="ignore"):  # a candidate of no weight never comes first
        weights = np.log(probabilities(scores, rate))
    found: Ints = np.argmin(np.log(-np.log1p(-uniform)) - weights, axis=1)
    return found


@dataclass(frozen=True)
class Sums(OneRecord):
    """`FeatureLinUCB`, one-shot: its two noised sums, in the direction in which the two records differ."""

    def _released(self, learner: Any, runs: int, numbers: Numbers) -> Floats:
        row = unit_rows(self.config.map, self.case.point[None, :])[0]
        matrices, vectors = self._noised(learner, runs, numbers)
        return np.stack([vectors @ row, np.einsum("nij,i,j->n", matrices, row, row)], axis=1)

    def _summed(self, learner: Any, runs: int, numbers: Any) -> Floats:
        return self._noised(learner, runs, numbers)[1]

    def _noised(self, learner: Any, runs: int, numbers: Any) -> tuple[Floats, Floats]:
        """By the one line of `release_function` that reads the sums: all that follows it is post-processing."""
        many: Any = _ManyNumbers(numbers, runs, self.sharper)
        return noised(learner._moments, learner._event(None, None)[0], many)


@dataclass(frozen=True)
class Solved(Sums):
    """`FeatureLinUCB`, one-shot: the value at the record's point of the function that is solved for."""

    def _released(self, learner: Any, runs: int, numbers: Numbers) -> Floats:
        config = self.config
        matrices, vectors = self._noised(learner, runs, numbers)
        bound = noise_bound(config, scale_of(learner._event(None, None)[0]))
        shift = max(config.shift * bound, config.tau)
        shifted = matrices + shift * np.eye(matrices.shape[1])
        solved = np.linalg.solve(shifted, vectors[:, :, None])[:, :, 0]
        # A matrix that has to be repaired is left to the code that repairs it.
        for run in np.flatnonzero(np.linalg.eigvalsh(shifted)[:, 0] <= 0):
            solved[run] = solved_shifted(matrices[run], vectors[run], shift, bound)
        found: Floats = solved @ config.map.psi(self.case.point[None, :]).T
        return found


def tables(first: Floats, second: Floats) -> Score:
    """The sum of a table for each column: for draws that are independent of each other."""
    scores = [table(first[:, [at]], second[:, [at]]) for at in range(first.shape[1])]

    def score(seen: Floats) -> Floats:
        found: Floats = sum((one(seen[:, [at]]) for at, one in enumerate(scores)), np.zeros(len(seen)))
        return found

    return score


def reward_of(config: Any, world: int) -> float:
    """Of the one record, from the middle."""
    return BEYOND * float(config.bound) * (1.0, -1.0)[world]
