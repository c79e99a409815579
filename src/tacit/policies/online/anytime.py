"""Online LinUCB that needs no horizon (Algorithm 9 of the local paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit._validate import positive
from tacit.core.settings import option
from tacit.estimators.online.learner import LONGEST
from tacit.policies.online import words
from tacit.policies.online.common import Bank, OnlinePolicy, bank_of
from tacit.policies.online.widths import practical_growth

#: c of the practical width: decision 0013.
DEFAULT_WIDTH = 1.0


@dataclass(frozen=True, kw_only=True)
class AnytimeLinUCB(OnlinePolicy):
    """`OnlineLinUCB` in epochs of 1, 2, 4, … rounds, each of which begins with nothing.

    Formal guarantee: that of `OnlineLinUCB`; what the server does with reports costs nothing.

    Epoch m has 2^m rounds, tells its learner so, and perturbs actions by Δ² = 2^(−mk) on top of the noise, k = `decay`.
    Forgetting is what the regret theorem pays for not knowing the horizon; expect two to three times the regret.

    "Improved rate for Locally Differentially Private Linear Bandits", Algorithm 9 and Theorem E.1.
    """

    slug: ClassVar[str] = "anytime-linucb"
    summary: ClassVar[str] = "online-linucb without a horizon: begins anew after 1, 3, 7, 15, … rounds"
    needs: ClassVar[str] = "bounds on actions and rewards"

    width: float | str = option(
        '"practical": a heuristic that is proved nowhere; a number: the same rule with this constant c (default: 1)',
        "practical",
    )
    decay: float = option("k: actions are perturbed by the variance 2**(-m*k) in epoch m", 0.25)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("decay", self.decay)

    @classmethod
    def examples(cls, dim: int) -> tuple[AnytimeLinUCB, ...]:
        return (cls(dim=dim, epsilon=10.0, delta=0.1, learner="maler"),)

    @property
    def multiplier(self) -> float:
        """c of the practical width."""
        return DEFAULT_WIDTH if isinstance(self.width, str) else float(self.width)

    def bank(self, scale: float) -> Bank:
        growth = practical_growth(self.multiplier, self.reward_noise_level, scale, self.parameter_norm, self.dim)
        return bank_of(
            self,
            scale,
            horizons=(1,),
            longest=LONGEST,
            growth=[growth],
            perturbation=[1.0],
            decay=[self.decay],
            restarts=[True],
        )

    def said(self) -> tuple[str, ...]:
        return (
            "Epoch m begins anew after 2**m - 1 rounds, and perturbs actions by noise of variance "
            f"2**(-{self.decay:g}*m) on top of that of the guarantee.",
            words.of_width(self.multiplier),
        )
