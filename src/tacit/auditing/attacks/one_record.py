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
from tacit.mechanisms.exponential.uniforms import from_words
from tacit.noise.plain import Numbers
from tacit.policies.kernel_baselines.moments import unit_rows
from tacit.policies.kernel_baselines.one_shot import noise_bound, noised, solved_shifted

#: Candidates of a draw: one that the record pulls at, and all others in one place. The more there are, the less the
#: pull on the one changes the sum of all weights, which would take back part of what the odds show.
CANDIDATES = 32
#: Up to so many numbers a linear function of them is worked out beforehand.
_FEW_NUMBERS = 200


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
    sharper: float = 1.0  #: how many times too little noise there is, or how many times too steep a rate
    reads: int = 1  #: how often the same thing is drawn anew

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> Floats:
        """See `Sampler`."""
        learner = self._ready(world)
        found = [self._released(learner, runs, Numbers(seed, *path, read)) for read in range(self.reads)]
        return np.concatenate(found, axis=1)

    def _ready(self, world: int) -> Any:
        """A learner that has learned the record of this world. Its seed is used for nothing."""
        learner: Any = self.config.start(seed=0)
        reward = reward_of(self.config, world)
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

    def _again(self, learner: Any) -> Any:
        """Another learner with the same sum: reads of one sum are what a twin does."""
        other: Any = self.config.start(seed=0)
        other._sum, other._rows = learner._sum.copy(), learner._rows
        return other


class _ManyNumbers:
    """`Numbers` that hands out as many arrays as there are runs, in one."""

    seeded = True

    def __init__(self, numbers: Numbers, runs: int, sharper: float) -> None:
        self._numbers, self._runs, self._sharper = numbers, runs, sharper

    def normals(self, *shape: int) -> Floats:
        return self._numbers.normals(self._runs, *shape) / self._sharper


class _ManyVectors:
    """An `Operator` that finds the coefficients of many vectors, in one product."""

    def __init__(self, operator: Any) -> None:
        self.features, self.size = operator.features, operator.size
        self._solved = np.array([operator.coefficients(row) for row in np.eye(operator.size)])

    def coefficients(self, vectors: Floats) -> Floats:
        found: Floats = vectors @ self._solved
        return found


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
        assert numbers.generator is not None
        found = drawn_candidates(scores, rate, numbers.generator, runs)
        # The others are alike: which of them it was says nothing, and would blur the table.
        return np.minimum(found.astype(np.float64), 1.0)[:, None]


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

    def _noised(self, learner: Any, runs: int, numbers: Numbers) -> tuple[Floats, Floats]:
        """By the one line of `release_function` that reads the sums: all that follows it is post-processing."""
        moments, scale = learner._moments, learner._event(None, None)[0].scale / self.sharper
        size = len(moments.vector) * (len(moments.vector) + 3) // 2
        if size > _FEW_NUMBERS:
            drawn = [noised(moments, scale, numbers) for _ in range(runs)]
            return np.array([matrix for matrix, _ in drawn]), np.array([vector for _, vector in drawn])
        # What comes out is the exact sums plus a linear function of the numbers that are drawn. Both are found by
        # asking the mechanism itself, one number at a time; then a batch is one product, and to rounding the same.
        matrix, vector = noised(moments, scale, _Handed(np.zeros(size)))  # type: ignore[arg-type]
        each = [noised(moments, scale, _Handed(one)) for one in np.eye(size)]  # type: ignore[arg-type]
        normals = numbers.normals(runs, size)
        return (
            matrix + np.tensordot(normals, np.array([one - matrix for one, _ in each]), 1),
            vector + normals @ np.array([one - vector for _, one in each]),
        )


class _Handed:
    """In place of `Numbers`: one array, given beforehand."""

    def __init__(self, drawn: Floats) -> None:
        self._drawn = drawn

    def normals(self, count: int) -> Floats:
        # Another count would mean another mechanism than the one whose batches are made here.
        assert count == len(self._drawn)
        return self._drawn


@dataclass(frozen=True)
class Solved(Sums):
    """`FeatureLinUCB`, one-shot: the value at the record's point of the function that is solved for."""

    def _released(self, learner: Any, runs: int, numbers: Numbers) -> Floats:
        config = self.config
        matrices, vectors = self._noised(learner, runs, numbers)
        bound = noise_bound(config, learner._event(None, None)[0].scale)
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
