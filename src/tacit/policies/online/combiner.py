"""Several guesses of the least eigenvalue, combined (Algorithm 2 of the local paper, corrected)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._types import Floats
from tacit._validate import at_least, positive, probability, whole
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.estimators.online.learner import LONGEST
from tacit.policies._options import failure_or_default
from tacit.policies.online.combination import PUBLISHED_PENALTY, combination_of, default_bases, guesses
from tacit.policies.online.common import Bank, OnlinePolicy, bank_of
from tacit.policies.online.params import Combination
from tacit.policies.online.widths import practical_growth

#: c of the practical width before it is divided by d·λ_i: decision 0013.
DEFAULT_WIDTH = 2.0
#: k of the base that restarts.
_DECAY = 1 / 8


@dataclass(frozen=True, kw_only=True)
class Combiner(OnlinePolicy):
    """Plays one of several `OnlineLinUCB`, each made for another least eigenvalue of E xxᵀ, and finds out which.

    Formal guarantee: that of `OnlineLinUCB`. Which base is played follows from earlier reports and is public: a device
    is told, and its report carries the number along.

    Base 1 is `AnytimeLinUCB` with decay 1/8; base i > 1 is `OnlineLinUCB` without perturbation for the guess
    λ_i = 2^(i−1)·T^(−1/8). Each counts its own plays only. A round goes to the base with the largest
    mean + min(1, allowance/n) − R_i/T; one whose rewards fall short of their running mean by more than its allowance is
    dropped, and when all are, the one played most goes on (ours: the paper does not say).

    Widths must depend on the guess, or all bases but the first are the same: base i has the practical width divided by
    d·λ_i (ours). With the published constants the R_i/T differ by more than any rewards can, so that one base, the one
    of the least R_i, is played for ever: `penalty=0` and smaller constants make it a contest.

    "Improved rate for Locally Differentially Private Linear Bandits", Algorithm 2 and Theorem 4.1.
    """

    slug: ClassVar[str] = "combiner"
    summary: ClassVar[str] = "online-linucb for several guesses of the least eigenvalue: plays the one that does best"
    needs: ClassVar[str] = "bounds on actions and rewards; a horizon"

    horizon: int = option("number of rounds T; it tunes, and more are served")
    bases: int | None = option("number of bases M (default: ceil(log2(horizon)/8) + 1)", None)
    first_constant: float = option("P: of the regret granted to base 1", 1.0)
    other_constant: float = option("P': of the regret granted to the other bases", 1.0)
    deviation_constant: float = option("p: of the deviation of rewards granted to every base", 1.0)
    penalty: float = option("multiplies R_i, which is held against base i from the start; 0 leaves it out", 1.0)
    penalty_constant: float | None = option(
        "the constant in the third term of R_i; none: 8*p**2*(1 + sigma**2), which noised rewards would need",
        PUBLISHED_PENALTY,
    )
    width: float | str = option(
        '"practical": a heuristic that is proved nowhere; a number: the same rule with this constant c (default: 2), '
        "divided by dim times the guess",
        "practical",
    )
    failure: float | None = option("failure probability alpha (default: 1/horizon)", None)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("horizon", self.horizon, low=2)
        if self.bases is not None and whole("bases", self.bases, low=2) > 64:
            raise BadInput(f"Expected at most 64 bases, got bases={self.bases!r}: guesses double from one to the next.")
        for name in ("first_constant", "other_constant", "deviation_constant"):
            positive(name, getattr(self, name))
        at_least("penalty", self.penalty, 0.0)
        if self.failure is not None:
            probability("failure", self.failure)
        if self.penalty_constant is not None:
            at_least("penalty_constant", self.penalty_constant, 0.0)

    @classmethod
    def examples(cls, dim: int) -> tuple[Combiner, ...]:
        return (cls(dim=dim, epsilon=10.0, delta=0.1, horizon=1000),)

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon."""
        return failure_or_default(self.failure, self.horizon)

    @property
    def multiplier(self) -> float:
        """c of the practical width, before it is divided by d·λ_i."""
        return DEFAULT_WIDTH if isinstance(self.width, str) else float(self.width)

    @property
    def count(self) -> int:
        """M: as given, else ⌈log2(T)/8⌉ + 1."""
        return default_bases(self.horizon) if self.bases is None else self.bases

    @property
    def guesses(self) -> Floats:
        """λ_i."""
        return guesses(self.horizon, self.count)

    def combination(self, scale: float | None = None) -> Combination:
        """L_i, a_i, R_i/T and the other numbers that bases are judged by."""
        return combination_of(
            bases=self.count,
            dim=self.dim,
            epsilon=self.epsilon,
            horizon=self.horizon,
            failure=self.failure_probability,
            first=self.first_constant,
            other=self.other_constant,
            deviation=self.deviation_constant,
            penalty=self.penalty,
            penalty_constant=self.penalty_constant,
            scale=self.scale if scale is None else scale,
            reward=self.reward_size,
        )

    def bank(self, scale: float) -> Bank:
        others = self.count - 1
        growth = practical_growth(self.multiplier, self.reward_noise_level, scale, self.parameter_norm, self.dim)
        return bank_of(
            self,
            scale,
            horizons=(1, *[self.horizon] * others),
            longest=LONGEST,
            growth=growth / (self.dim * self.guesses),
            perturbation=[1.0, *[0.0] * others],
            decay=[_DECAY, *[0.0] * others],
            restarts=[True, *[False] * others],
            combination=self.combination(scale),
        )

    def said(self) -> tuple[str, ...]:
        listed = ", ".join(f"{guess:.3g}" for guess in self.guesses)
        said = [
            f"{self.count} bases, for least eigenvalues of {listed}. Which one is played follows from reports, and is "
            "public."
        ]
        most = self.action_norm**2 / self.dim
        beyond = int(np.sum(self.guesses > most))
        if beyond:
            said.append(
                f"{beyond} of these guesses cannot be right: no E xx' of actions up to {self.action_norm:g} long in "
                f"{self.dim} features has a least eigenvalue above {most:.3g}. The paper's grid needs more rounds."
            )
        said.append(
            f"The width of a base is a heuristic, {self.multiplier:g}·(R + σ + Dσ)·√(d·ln(1 + n)) divided by d times "
            "its guess: nothing is proved of its coverage. Privacy does not depend on it."
        )
        return tuple(said)
